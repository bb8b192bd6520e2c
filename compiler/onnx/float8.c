// SPDX-License-Identifier: MIT
/* ONNX's 8-bit floats float8e4m3fn and float8e5m2. Part of the ONNX front end. */
#include "onnx.h"

const struct ncc_float8 *onnx_float8(int32_t type)
{
	return type == ONNX_FLOAT8E4M3FN ? ncc_float8(NCC_DT_F8E4M3FN)
	       : type == ONNX_FLOAT8E5M2 ? ncc_float8(NEURON_DT_FP8_E5)
					 : NULL;
}

onnx_op ox_float8(struct onnx_node *n, onnx_op x, onnx_op sign, int32_t type, bool saturate)
{
	return n->rc ? NULL
		     : ox_expanded(n, expand_float8(&n->b, x, sign, onnx_float8(type), saturate),
				   x);
}
