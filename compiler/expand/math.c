// SPDX-License-Identifier: MIT
/*
 * Functions that the tensor IR lacks, expanded to operations that it has. They are computed in fp32
 * whatever the operand's type and --auto-cast all say (ncc_op.exact). Called by the front ends.
 */
#include <math.h>

#include "expand.h"

#define WHOLE 8388608.0 /* 2^23: from here on every fp32 number is an integer */

static struct ncc_shape as(const struct ncc_op *x, uint8_t dtype)
{
	struct ncc_shape s = { 0 };

	if (!x)
		return s;
	s = x->shape;
	s.dtype = dtype;
	s.pred = false;
	return s;
}

/* An operation with fp32 operands and result */
static struct ncc_op *f1(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a)
{
	struct ncc_shape s = as(a, NEURON_DT_FP32);

	return build_node(bl, kind, &s, a, NULL, NULL);
}

static struct ncc_op *f2(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			 struct ncc_op *b)
{
	struct ncc_shape s = as(a, NEURON_DT_FP32);

	return a && b ? build_node(bl, kind, &s, a, b, NULL) : NULL;
}

static struct ncc_op *number(struct ncc_build *bl, const struct ncc_op *like, double v)
{
	struct ncc_shape s = as(like, NEURON_DT_FP32);

	return like ? build_splat(bl, &s, v) : NULL;
}

/* The same with a constant as its second operand */
static struct ncc_op *fc(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a, double v)
{
	return f2(bl, kind, a, number(bl, a, v));
}

static struct ncc_op *test(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			   struct ncc_op *b)
{
	return a && b ? build_compare(bl, kind, a, b) : NULL;
}

static struct ncc_op *test_c(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a, double v)
{
	return test(bl, kind, a, number(bl, a, v));
}

/* 1 where the test holds, else 0 */
static struct ncc_op *one_if(struct ncc_build *bl, struct ncc_op *p)
{
	return f1(bl, NCC_CONVERT, p);
}

/* The nearest integer to a number that is not negative, ties to even, as the datapath converts */
static struct ncc_op *nearest(struct ncc_build *bl, struct ncc_op *a)
{
	struct ncc_shape s = as(a, NEURON_DT_INT32);
	struct ncc_op *r =
		a ? f1(bl, NCC_CONVERT, build_node(bl, NCC_CONVERT, &s, a, NULL, NULL)) : NULL;

	return build_select(bl, test_c(bl, NCC_LT, a, WHOLE), r, a);
}

struct ncc_op *expand_round_even(struct ncc_build *bl, struct ncc_op *x)
{
	return f2(bl, NCC_MUL, nearest(bl, f1(bl, NCC_ABS, x)), f1(bl, NCC_SIGN, x));
}

struct ncc_op *expand_round_away(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *a = f1(bl, NCC_ABS, x), *r = nearest(bl, a);
	struct ncc_op *half = one_if(bl, test_c(bl, NCC_EQ, f2(bl, NCC_SUB, a, r), 0.5));

	return f2(bl, NCC_MUL, f2(bl, NCC_ADD, r, half), f1(bl, NCC_SIGN, x));
}

struct ncc_op *expand_floor(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *r = expand_round_even(bl, x);

	return f2(bl, NCC_SUB, r, one_if(bl, test(bl, NCC_GT, r, x)));
}

/* This is -(-r - 1); no sum makes +0 of what rounds to -0. */
struct ncc_op *expand_ceil(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *r = expand_round_even(bl, x);
	struct ncc_op *less = one_if(bl, test(bl, NCC_LT, r, x));

	return f1(bl, NCC_NEG, f2(bl, NCC_SUB, f1(bl, NCC_NEG, r), less));
}

/* A power, and one step of Newton's method for the accuracy that it lacks: y - (y - a / y^2) / 3 */
struct ncc_op *expand_cbrt(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *a = f1(bl, NCC_ABS, x), *y = fc(bl, NCC_POW, a, 1.0 / 3), *fix;
	struct ncc_op *inside;

	fix = f2(bl, NCC_SUB, y, f2(bl, NCC_DIV, a, f2(bl, NCC_MUL, y, y)));
	fix = f2(bl, NCC_SUB, y, fc(bl, NCC_MUL, fix, 1.0 / 3));
	fix = f2(bl, NCC_MUL, fix, f1(bl, NCC_SIGN, x));
	inside = test_c(bl, NCC_GT, a, 0);
	fix = build_select(bl, inside, fix, x);
	return build_select(bl, test_c(bl, NCC_LT, a, INFINITY), fix, x);
}

/* log(1 + x): with u = 1 + x, log(u) * x / (u - 1) undoes what the addition rounded away (Kahan). */
struct ncc_op *expand_log1p(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *u = fc(bl, NCC_ADD, x, 1), *d = fc(bl, NCC_SUB, u, 1);
	struct ncc_op *l = f1(bl, NCC_LOG, u), *y = f2(bl, NCC_DIV, f2(bl, NCC_MUL, l, x), d);

	y = build_select(bl, test_c(bl, NCC_EQ, d, 0), x, y);
	return build_select(bl, test_c(bl, NCC_LT, x, 0x1p60), y, l);
}

/* exp(x) - 1: with u = exp(x), (u - 1) * x / log(u) for the same reason; far from 0 it is u - 1. */
struct ncc_op *expand_expm1(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *u = f1(bl, NCC_EXP, x), *d = fc(bl, NCC_SUB, u, 1);
	struct ncc_op *y = f2(bl, NCC_DIV, f2(bl, NCC_MUL, d, x), f1(bl, NCC_LOG, u));
	struct ncc_op *near = test_c(bl, NCC_LT, f1(bl, NCC_ABS, x), 1);

	y = build_select(bl, test_c(bl, NCC_EQ, d, 0), x, y);
	return build_select(bl, near, y, d);
}

/*
 * x - 2 pi k in [-pi, pi]. 2 pi is split into 6.28125 + 0.00193500518798828125 + 3.0199e-7 (8 bits,
 * 11 bits and the rest), so that the products are exact for |k| < 2^13.
 */
static struct ncc_op *reduce_angle(struct ncc_build *bl, struct ncc_op *x)
{
	static const double part[3] = { 6.28125, 0.00193500518798828125, 3.0199159819567529e-07 };
	struct ncc_op *k = expand_round_even(bl, fc(bl, NCC_MUL, x, 0.15915494309189535));

	k = fc(bl, NCC_ADD, k, 0); /* not -0: it would make +0 of x = -0 */
	for (unsigned int i = 0; i < 3; i++)
		x = f2(bl, NCC_SUB, x, fc(bl, NCC_MUL, k, part[i]));
	return x;
}

struct ncc_op *expand_sin(struct ncc_build *bl, struct ncc_op *x)
{
	return f1(bl, NCC_SIN, reduce_angle(bl, x));
}

/* cos(r) is sin(pi/2 - |r|), with pi/2 in two parts. */
struct ncc_op *expand_cos(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *r = f1(bl, NCC_ABS, reduce_angle(bl, x));

	r = f2(bl, NCC_SUB, number(bl, r, 1.5703125), r);
	return f1(bl, NCC_SIN, fc(bl, NCC_ADD, r, 0.00048382679489661923));
}

struct ncc_op *expand_tan(struct ncc_build *bl, struct ncc_op *x)
{
	return f2(bl, NCC_DIV, expand_sin(bl, x), expand_cos(bl, x));
}

/* a / b towards zero of fp32 integers below 2^24 that are not negative */
static struct ncc_op *quotient(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *q = nearest(bl, f2(bl, NCC_DIV, a, b));
	struct ncc_op *r = f2(bl, NCC_SUB, a, f2(bl, NCC_MUL, q, b)), *less, *more;

	less = one_if(bl, test_c(bl, NCC_LT, r, 0));
	more = one_if(bl, test(bl, NCC_GE, r, b));
	return f2(bl, NCC_SUB, f2(bl, NCC_ADD, q, more), less);
}

struct ncc_op *expand_divide_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *q = quotient(bl, f1(bl, NCC_ABS, a), f1(bl, NCC_ABS, b));

	return f2(bl, NCC_MUL, q, f2(bl, NCC_MUL, f1(bl, NCC_SIGN, a), f1(bl, NCC_SIGN, b)));
}

/* a - (a / b) * b; for b = 0 the quotient is -1, and the result a itself. */
struct ncc_op *expand_rest_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *q = a && b ? build_node(bl, NCC_DIV, &a->shape, a, b, NULL) : NULL;

	if (!q)
		return NULL;
	q = build_node(bl, NCC_MUL, &a->shape, q, b, NULL);
	q = q ? build_node(bl, NCC_SUB, &a->shape, a, q, NULL) : NULL;
	return build_select(bl, build_compare(bl, NCC_EQ, b, build_splat(bl, &b->shape, 0)), a, q);
}

struct ncc_op *expand_is_finite(struct ncc_build *bl, struct ncc_op *x)
{
	return test_c(bl, NCC_LT, f1(bl, NCC_ABS, build_cast(bl, x, NEURON_DT_FP32)), INFINITY);
}

/* Shifts as the signed type does, which copies the highest bit whatever the type says. */
static struct ncc_op *expand_shift_unsigned(struct ncc_build *bl, struct ncc_op *x,
					    struct ncc_op *n)
{
	uint8_t dtype = (uint8_t)(x->shape.dtype - 1); /* the codes of nrt.h: signed, unsigned */

	return build_bitcast(bl,
			     expand_shift_arithmetic(bl, build_bitcast(bl, x, dtype),
						     build_bitcast(bl, n, dtype)),
			     x->shape.dtype);
}

/* A negative number is shifted as its complement, which is not negative. */
struct ncc_op *expand_shift_arithmetic(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *n)
{
	struct ncc_op *sign, *minus;
	struct ncc_shape s;

	if (!x || !n)
		return NULL;
	s = x->shape;
	if (ncc_is_unsigned(s.dtype))
		return expand_shift_unsigned(bl, x, n);
	minus = build_compare(bl, NCC_LT, x, build_splat(bl, &s, 0));
	sign = build_node(bl, NCC_NEG, &s, build_node(bl, NCC_CONVERT, &s, minus, NULL, NULL), NULL,
			  NULL);
	if (!sign)
		return NULL;
	x = build_node(bl, NCC_SHR, &s, build_node(bl, NCC_XOR, &s, x, sign, NULL), n, NULL);
	return build_node(bl, NCC_XOR, &s, x, sign, NULL);
}

/*
 * Rounds towards zero. The datapath rounds to nearest: r = round(x) is one too far from zero when
 * |r| > |x|, so this is r - sign(x) * (|r| > |x|). From 2^23 on x is an integer.
 */
static struct ncc_op *truncated(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *r = f1(bl, NCC_CONVERT, build_cast(bl, x, NEURON_DT_INT32)), *far;
	struct ncc_op *size = f1(bl, NCC_ABS, x);

	far = one_if(bl, test(bl, NCC_GT, f1(bl, NCC_ABS, r), size));
	r = f2(bl, NCC_SUB, r, f2(bl, NCC_MUL, f1(bl, NCC_SIGN, x), far));
	return build_select(bl, test_c(bl, NCC_LT, size, WHOLE), r, x);
}

struct ncc_op *expand_convert(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *to)
{
	struct ncc_shape s;

	if (!x)
		return NULL;
	s = x->shape;
	s.dtype = to->dtype;
	s.pred = to->pred;
	if (s.dtype == x->shape.dtype && s.pred == x->shape.pred)
		return x;
	if (s.pred)
		return build_compare(bl, NCC_NE, x, build_splat(bl, &x->shape, 0));
	if (ncc_is_float(x->shape.dtype) && !ncc_is_float(s.dtype))
		x = truncated(bl, build_cast(bl, x, NEURON_DT_FP32));
	return build_node(bl, NCC_CONVERT, &s, x, NULL, NULL);
}
