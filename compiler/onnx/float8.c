// SPDX-License-Identifier: MIT
/*
 * ONNX's 8-bit floats float8e4m3fn and float8e5m2. The chip's formats are others (its e4m3 ends at
 * 240), so their values are kept in bf16, which has all of them. Part of the ONNX front end.
 */
#include <math.h>

#include "onnx.h"

static const struct onnx_float8 formats[] = {
	{ ONNX_FLOAT8E4M3FN, 3, -6, 448, false },
	{ ONNX_FLOAT8E5M2, 2, -14, 57344, true },
};

const struct onnx_float8 *onnx_float8(int32_t type)
{
	for (unsigned int i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].type == type)
			return &formats[i];
	return NULL;
}

double onnx_float8_value(int32_t type, uint8_t bits)
{
	const struct onnx_float8 *f = onnx_float8(type);
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
