// SPDX-License-Identifier: MIT
/*
 * Floats of 8 and 4 bits by operations of wider ones: their values are kept in bf16, which has each
 * of them.
 * Called by the front ends and the passes.
 */
#include <math.h>

#include "expand.h"

static struct ncc_op *masked(struct ncc_build *bl, struct ncc_op *x, int32_t mask)
{
	return build_number(bl, NCC_AND, build_bitcast(bl, x, NEURON_DT_INT32), mask);
}

static struct ncc_op *compared(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x, double v)
{
	return x ? build_compare(bl, kind, x, build_splat(bl, &x->shape, v)) : NULL;
}

/* x, but a number where the predicate holds */
static struct ncc_op *number_if(struct ncc_build *bl, struct ncc_op *p, double v, struct ncc_op *x)
{
	return x ? build_select(bl, p, build_splat(bl, &x->shape, v), x) : NULL;
}

static struct ncc_op *with_sign(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *sign)
{
	x = build_binary(bl, NCC_OR, masked(bl, x, INT32_MAX), masked(bl, sign, INT32_MIN));
	return build_bitcast(bl, x, NEURON_DT_FP32);
}

/*
 * x, in fp32 and at most a power of two above the greatest number, to the nearest of the format,
 * ties to even: added to 1.5 * 2^23 units in its last place, and subtracted again
 */
static struct ncc_op *rounded(struct ncc_build *bl, struct ncc_op *x, const struct ncc_float8 *f)
{
	struct ncc_op *power = build_bitcast(bl, masked(bl, x, 0x7f800000), NEURON_DT_FP32);

	power = build_number(bl, NCC_MAX, power, ldexp(1, f->least));
	power = build_number(bl, NCC_MUL, power, ldexp(1.5, 23 - (int)f->fraction));
	return build_binary(bl, NCC_SUB, build_binary(bl, NCC_ADD, x, power), power);
}

static struct ncc_op *is_nan(struct ncc_build *bl, struct ncc_op *x)
{
	return x ? build_compare(bl, NCC_NE, x, x) : NULL;
}

/* NCC_FLOAT8_POWERS: the codes' values, in fp32 */
static struct ncc_op *powers(struct ncc_build *bl, struct ncc_op *code)
{
	struct ncc_op *x = build_number(bl, NCC_SHL, code, 23);

	x = number_if(bl, compared(bl, NCC_EQ, code, 0), 1 << 22, x); /* 2^-127, a subnormal */
	x = number_if(bl, compared(bl, NCC_EQ, code, 0xff), 0x7fc00000, x);
	return build_bitcast(bl, x, NEURON_DT_FP32);
}

/*
 * The next power of two from halfway on; what is below the least one but for zero is the least. Of
 * zero, what is negative and what would be 2^128: NaN
 */
static struct ncc_op *nearest_power(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *bits = build_bitcast(bl, x, NEURON_DT_INT32), *code;

	code = build_number(bl, NCC_SHR, build_number(bl, NCC_ADD, bits, 1 << 22), 23);
	code = number_if(bl, compared(bl, NCC_EQ, bits, 1 << 22), 0, code);
	code = number_if(bl, compared(bl, NCC_GE, bits, 0x7f400000), 0xff, code);
	code = number_if(bl, compared(bl, NCC_LE, bits, 0), 0xff, code);
	return powers(bl, code);
}

struct ncc_op *expand_float8(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *sign,
			     const struct ncc_float8 *f, bool saturate)
{
	const bool ends = saturate || f->end == NCC_FLOAT8_FINITE;
	const double limit = ends ? (double)f->most : 2 * exp2(floor(log2((double)f->most)));
	struct ncc_op *y, *over;

	if (f->end == NCC_FLOAT8_POWERS)
		return build_cast(bl, nearest_power(bl, x), NEURON_DT_BF16);
	y = build_number(bl, NCC_MIN, build_number(bl, NCC_MAX, x, -limit), limit);
	y = with_sign(bl, rounded(bl, y, f), sign);
	if (f->end == NCC_FLOAT8_UNSIGNED_ZERO)
		y = number_if(bl, compared(bl, NCC_EQ, y, 0), 0, y);
	over = compared(bl, NCC_GT, build_unary(bl, NCC_ABS, y), (double)f->most);
	if (!ends && f->end == NCC_FLOAT8_INFINITE)
		y = build_select(bl, over, build_number(bl, NCC_MUL, y, INFINITY), y);
	else if (!ends)
		y = number_if(bl, over, NAN, y);
	if (f->end == NCC_FLOAT8_FINITE)
		y = number_if(bl, is_nan(bl, x), -0.0, y);
	else
		y = build_select(bl, is_nan(bl, x), x, y);
	return build_cast(bl, y, NEURON_DT_BF16);
}

/* All bits of a code but its sign */
static int32_t ones_of(const struct ncc_float8 *f)
{
	return (1 << (f->bits - 1)) - 1;
}

/* The code, without a sign, above the greatest number's: infinity, or NaN where there is none */
static int32_t code_above(const struct ncc_float8 *f)
{
	const int32_t ones = ones_of(f);

	return f->end == NCC_FLOAT8_INFINITE ? ones >> f->fraction << f->fraction : ones;
}

/* The code of NaN, of those that there are the one without a sign and with the highest bit */
static int32_t code_of_nan(const struct ncc_float8 *f)
{
	switch (f->end) {
	case NCC_FLOAT8_INFINITE:
		return code_above(f) | 1 << (f->fraction - 1);
	case NCC_FLOAT8_NAN:
		return ones_of(f);
	default:
		return ones_of(f) + 1;
	}
}

/* The factor of a code, as fp32's upper bits: the biases differ */
static double scale_of(const struct ncc_float8 *f)
{
	return ldexp(1, 126 + f->least);
}

/* The others: the same */
static struct ncc_op *numbers(struct ncc_build *bl, struct ncc_op *u, const struct ncc_float8 *f)
{
	struct ncc_op *code = build_number(bl, NCC_AND, u, ones_of(f));
	struct ncc_op *x = build_number(bl, NCC_SHL, code, 23 - f->fraction);

	x = build_number(bl, NCC_MUL, build_bitcast(bl, x, NEURON_DT_FP32), scale_of(f));
	if (f->end == NCC_FLOAT8_INFINITE || f->end == NCC_FLOAT8_NAN)
		x = number_if(bl, compared(bl, NCC_GE, code, code_above(f)), NAN, x);
	if (f->end == NCC_FLOAT8_INFINITE)
		x = number_if(bl, compared(bl, NCC_EQ, code, code_above(f)), INFINITY, x);
	x = with_sign(bl, x, build_number(bl, NCC_SHL, u, 32 - f->bits));
	if (f->end == NCC_FLOAT8_UNSIGNED_ZERO)
		x = number_if(bl, compared(bl, NCC_EQ, u, code_of_nan(f)), NAN, x);
	return x;
}

struct ncc_op *expand_float8_values(struct ncc_build *bl, struct ncc_op *bytes,
				    const struct ncc_float8 *f)
{
	struct ncc_op *u = build_cast(bl, bytes, NEURON_DT_INT32);

	u = f->end != NCC_FLOAT8_POWERS ? numbers(bl, u, f) : powers(bl, u);
	return build_cast(bl, u, NEURON_DT_BF16);
}

struct ncc_op *expand_float8_bytes(struct ncc_build *bl, struct ncc_op *values,
				   const struct ncc_float8 *f)
{
	struct ncc_op *x = build_cast(bl, values, NEURON_DT_FP32),
		      *size = build_unary(bl, NCC_ABS, x);
	struct ncc_op *code, *sign = build_bitcast(bl, x, NEURON_DT_INT32);

	if (f->end == NCC_FLOAT8_POWERS)
		return build_cast(bl, build_number(bl, NCC_SHR, sign, 23), NEURON_DT_UINT8);
	code = build_number(bl, NCC_MUL, size, 1 / scale_of(f));
	code = build_bitcast(bl, code, NEURON_DT_INT32);
	code = build_number(bl, NCC_SHR, code, 23 - f->fraction);
	if (f->end == NCC_FLOAT8_INFINITE)
		code = number_if(bl, compared(bl, NCC_EQ, size, INFINITY), code_above(f), code);
	sign = build_number(bl, NCC_SHR, sign, 32 - f->bits);
	sign = build_number(bl, NCC_AND, sign, ones_of(f) + 1);
	code = build_binary(bl, NCC_OR, code, sign);
	code = number_if(bl, is_nan(bl, x), code_of_nan(f), code);
	return build_cast(bl, code, NEURON_DT_UINT8);
}
