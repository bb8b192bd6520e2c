// SPDX-License-Identifier: MIT
/*
 * Rounding to 8-bit floats, as ONNX's Cast says, by arithmetic that is exact in fp32. Part of the
 * ONNX front end.
 */
#include <math.h>

#include "onnx.h"

static onnx_op masked(struct onnx_node *n, onnx_op bits, int32_t mask)
{
	return ox_binc(n, NCC_AND, bits, mask);
}

static onnx_op as(struct onnx_node *n, onnx_op x, uint8_t dtype)
{
	return x && !n->rc ? ox_expanded(n, build_bitcast(&n->b, x, dtype), x) : NULL;
}

/*
 * x, in fp32 and at most a power of two above the greatest number, to the nearest of the format,
 * ties to even: added to 1.5 * 2^23 units in its last place, and subtracted again
 */
static onnx_op rounded(struct onnx_node *n, onnx_op x, const struct onnx_float8 *f)
{
	onnx_op power = as(n, masked(n, as(n, x, NEURON_DT_INT32), 0x7f800000), NEURON_DT_FP32);

	power = ox_binc(n, NCC_MAX, power, ldexp(1, f->least));
	power = ox_binc(n, NCC_MUL, power, ldexp(1.5, 23 - (int)f->fraction));
	return ox_bin(n, NCC_SUB, ox_bin(n, NCC_ADD, x, power), power);
}

onnx_op ox_float8(struct onnx_node *n, onnx_op x, onnx_op sign, int32_t type, bool saturate)
{
	const struct onnx_float8 *f = onnx_float8(type);
	const double limit = saturate ? (double)f->most : 2 * exp2(floor(log2((double)f->most)));
	const bool exact = n->exact;
	onnx_op y;

	n->exact = true;
	y = rounded(n, ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, x, -limit), limit), f);
	sign = masked(n, as(n, sign, NEURON_DT_INT32), INT32_MIN);
	y = as(n, ox_bin(n, NCC_OR, masked(n, as(n, y, NEURON_DT_INT32), INT32_MAX), sign),
	       NEURON_DT_FP32);
	if (!saturate)
		y = ox_select(n, ox_binc(n, NCC_GT, ox_un(n, NCC_ABS, y), (double)f->most),
			      f->infinite ? ox_binc(n, NCC_MUL, y, INFINITY) : ox_number(n, NAN),
			      y);
	y = ox_select(n, ox_bin(n, NCC_NE, x, x), x, y);
	y = ox_cast(n, y, NEURON_DT_BF16, false);
	n->exact = exact;
	return y;
}
