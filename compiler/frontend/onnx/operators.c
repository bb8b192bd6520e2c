// SPDX-License-Identifier: MIT
/* The operators of ONNX: a list of the tables, one for each family. */
#include <string.h>

#include "model.h"
#include "attention/attention.h"
#include "control/control.h"
#include "elements/elements.h"
#include "images/images.h"
#include "ml/ml.h"
#include "moves/moves.h"
#include "products/products.h"
#include "quantized/quantized.h"
#include "recurrent/recurrent.h"
#include "reductions/reductions.h"

static const struct onnx_rule *const standard[] = {
	onnx_math,   onnx_act,	   onnx_dot,	  onnx_einsum, onnx_window,  onnx_reduce,
	onnx_norm,   onnx_move,	   onnx_slice,	  onnx_index,  onnx_quant,   onnx_integers,
	onnx_rnn,    onnx_control, onnx_resize,	  onnx_loss,   onnx_scatter, onnx_sample,
	onnx_signal, onnx_matrix,  onnx_choose,	  onnx_nms,    onnx_random,  onnx_attention,
	onnx_rotary, onnx_cache,   onnx_sequence, onnx_patch,  onnx_grid,    NULL,
};

static const struct onnx_rule *const ml[] = { onnx_ml, onnx_ml_svm, onnx_ml_tree, NULL };

static const struct onnx_rule *const microsoft[] = {
	onnx_microsoft,	     onnx_microsoft_rotary, onnx_microsoft_attention, onnx_microsoft_group,
	onnx_microsoft_norm, onnx_microsoft_fused,  onnx_microsoft_bits,      NULL
};

static const struct {
	const char *domain;
	const struct onnx_rule *const *tables; /* up to a NULL */
} domains[] = { { "", standard },
		{ "ai.onnx", standard },
		{ "ai.onnx.ml", ml },
		{ "com.microsoft", microsoft } };

bool onnx_is_standard(const char *domain)
{
	return !*domain || !strcmp(domain, "ai.onnx");
}

const struct onnx_rule *onnx_find(const char *domain, const char *op_type)
{
	if (!strcmp(domain, "neuron"))
		return &onnx_custom;
	for (size_t d = 0; d < sizeof(domains) / sizeof(domains[0]); d++) {
		if (strcmp(domains[d].domain, domain))
			continue;
		for (const struct onnx_rule *const *t = domains[d].tables; *t; t++)
			for (const struct onnx_rule *r = *t; r->op_type; r++)
				if (!strcmp(r->op_type, op_type))
					return r;
	}
	return NULL;
}

const char *ncc_onnx_operator(unsigned int i)
{
	for (size_t d = 1; d < sizeof(domains) / sizeof(domains[0]); d++) /* each table once */
		for (const struct onnx_rule *const *t = domains[d].tables; *t; t++)
			for (const struct onnx_rule *r = *t; r->op_type; r++)
				if (!i--)
					return r->op_type;
	return NULL;
}
