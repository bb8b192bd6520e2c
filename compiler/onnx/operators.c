// SPDX-License-Identifier: MIT
/* The operators of ONNX: a list of the tables, one for each family. */
#include <string.h>

#include "onnx.h"

static const struct onnx_rule *const tables[] = {
	onnx_math, onnx_act,	 onnx_dot,    onnx_einsum, onnx_window, onnx_reduce,  onnx_norm,
	onnx_move, onnx_slice,	 onnx_index,  onnx_quant,  onnx_rnn,	onnx_control, onnx_resize,
	onnx_loss, onnx_scatter, onnx_sample, onnx_signal, onnx_matrix,
};

const struct onnx_rule *onnx_find(const char *op_type)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct onnx_rule *r = tables[t]; r->op_type; r++)
			if (!strcmp(r->op_type, op_type))
				return r;
	return NULL;
}

const char *ncc_onnx_operator(unsigned int i)
{
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct onnx_rule *r = tables[t]; r->op_type; r++)
			if (!i--)
				return r->op_type;
	return NULL;
}
