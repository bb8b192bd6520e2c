// SPDX-License-Identifier: MIT
/*
 * 8-bit floats by operations of wider ones: their values are kept in bf16, which has each of them.
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

struct ncc_op *expand_float8(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *sign,
			     const struct ncc_float8 *f, bool saturate)
{
	const double limit = saturate ? (double)f->most : 2 * exp2(floor(log2((double)f->most)));
	struct ncc_op *y = build_number(bl, NCC_MIN, build_number(bl, NCC_MAX, x, -limit), limit);
	struct ncc_op *over;

	y = with_sign(bl, rounded(bl, y, f), sign);
	over = compared(bl, NCC_GT, build_unary(bl, NCC_ABS, y), (double)f->most);
	if (!saturate && f->infinite)
		y = build_select(bl, over, build_number(bl, NCC_MUL, y, INFINITY), y);
	else if (!saturate)
		y = number_if(bl, over, NAN, y);
	y = build_select(bl, x ? build_compare(bl, NCC_NE, x, x) : NULL, x, y);
	return build_cast(bl, y, NEURON_DT_BF16);
}

/* The code, without a sign, above the greatest number's: infinity, or NaN where there is none */
static int32_t code_above(const struct ncc_float8 *f)
{
	return f->infinite ? 0x7f >> f->fraction << f->fraction : 0x7f;
}

/* The factor of a code, as fp32's upper bits: the biases differ */
static double scale_of(const struct ncc_float8 *f)
{
	return ldexp(1, 126 + f->least);
}

struct ncc_op *expand_float8_values(struct ncc_build *bl, struct ncc_op *bytes,
				    const struct ncc_float8 *f)
{
	struct ncc_op *u = build_cast(bl, bytes, NEURON_DT_INT32);
	struct ncc_op *code = build_number(bl, NCC_AND, u, 0x7f);
	struct ncc_op *x = build_number(bl, NCC_SHL, code, 23 - f->fraction);

	x = build_number(bl, NCC_MUL, build_bitcast(bl, x, NEURON_DT_FP32), scale_of(f));
	x = number_if(bl, compared(bl, NCC_GE, code, code_above(f)), NAN, x);
	if (f->infinite)
		x = number_if(bl, compared(bl, NCC_EQ, code, code_above(f)), INFINITY, x);
	x = with_sign(bl, x, build_number(bl, NCC_SHL, u, 24));
	return build_cast(bl, x, NEURON_DT_BF16);
}

struct ncc_op *expand_float8_bytes(struct ncc_build *bl, struct ncc_op *values,
				   const struct ncc_float8 *f)
{
	struct ncc_op *x = build_cast(bl, values, NEURON_DT_FP32),
		      *size = build_unary(bl, NCC_ABS, x);
	struct ncc_op *code = build_number(bl, NCC_MUL, size, 1 / scale_of(f)), *sign;

	code = build_bitcast(bl, code, NEURON_DT_INT32);
	code = build_number(bl, NCC_SHR, code, 23 - f->fraction);
	if (f->infinite)
		code = number_if(bl, compared(bl, NCC_EQ, size, INFINITY), code_above(f), code);
	sign = build_number(bl, NCC_AND,
			    build_number(bl, NCC_SHR, build_bitcast(bl, x, NEURON_DT_INT32), 24),
			    0x80);
	code = build_binary(bl, NCC_OR, code, sign);
	code = number_if(bl, x ? build_compare(bl, NCC_NE, x, x) : NULL,
			 f->infinite ? code_above(f) | 1 << (f->fraction - 1) : 0x7f, code);
	return build_cast(bl, code, NEURON_DT_UINT8);
}
