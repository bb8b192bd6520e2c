// SPDX-License-Identifier: MIT
/* Rounding to ONNX's 8-bit floats. Part of the ONNX front end. */
#include "ox.h"

onnx_op ox_float8(struct onnx_node *n, onnx_op x, onnx_op sign, int32_t type, bool saturate)
{
	return n->rc ? NULL
		     : ox_expanded(n, expand_float8(&n->b, x, sign, onnx_float8(type), saturate),
				   x);
}
