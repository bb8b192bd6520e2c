// SPDX-License-Identifier: MIT
/*
 * ONNX's 8-bit floats float8e4m3fn and float8e5m2. The chip's formats are others (its e4m3 ends at
 * 240), so their values are kept in bf16, which has all of them, and rounding to them is exact
 * arithmetic in fp32, as ONNX's Cast says. Part of the ONNX front end.
 */
#include <math.h>

#include "onnx.h"

struct float8 {
	int32_t type;
	unsigned int fraction; /* bits */
	int least; /* the exponent of the smallest normal number */
	float most;
	bool infinite; /* it has infinities; else what would be one is NaN */
};

static const struct float8 formats[] = {
	{ ONNX_FLOAT8E4M3FN, 3, -6, 448, false },
	{ ONNX_FLOAT8E5M2, 2, -14, 57344, true },
};

static const struct float8 *format(int32_t type)
{
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].type == type)
			return &formats[i];
	return NULL;
}

bool onnx_is_float8(int32_t type)
{
	return format(type);
}

double onnx_float8_most(int32_t type)
{
	return (double)format(type)->most;
}

double onnx_float8_value(int32_t type, uint8_t bits)
{
	const struct float8 *f = format(type);
	const unsigned int fraction = bits & ((1u << f->fraction) - 1);
	const unsigned int exponent = (bits & 0x7f) >> f->fraction;
	const double sign = bits & 0x80 ? -1 : 1;

	if (f->infinite && exponent == 0x7fu >> f->fraction)
		return fraction ? NAN : sign * INFINITY;
	if (!f->infinite && (bits & 0x7f) == 0x7f)
		return NAN;
	if (!exponent)
		return sign * ldexp(fraction, f->least - (int)f->fraction);
	return sign *
	       ldexp(fraction | 1u << f->fraction, (int)exponent - 1 + f->least - (int)f->fraction);
}

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
static onnx_op rounded(struct onnx_node *n, onnx_op x, const struct float8 *f)
{
	onnx_op power = as(n, masked(n, as(n, x, NEURON_DT_INT32), 0x7f800000), NEURON_DT_FP32);

	power = ox_binc(n, NCC_MAX, power, ldexp(1, f->least));
	power = ox_binc(n, NCC_MUL, power, ldexp(1.5, 23 - (int)f->fraction));
	return ox_bin(n, NCC_SUB, ox_bin(n, NCC_ADD, x, power), power);
}

onnx_op ox_float8(struct onnx_node *n, onnx_op x, onnx_op sign, int32_t type, bool saturate)
{
	const struct float8 *f = format(type);
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
