// SPDX-License-Identifier: MIT
/*
 * C's fmod, to the bit, of any two fp32 numbers: a long division of their fractions, sixteen bits
 * of the quotient a step. The datapath multiplies in fp32, so a step's product is made of parts of
 * eight bits. Called by the front ends.
 */
#include <math.h>

#include "expand.h"

#define BITS 16 /* of the quotient, a step */
#define LIFT 24 /* subnormal numbers are multiplied by 2^24 */
#define LEAST (1 - LIFT) /* exponents of numbers that are then normal, as they are stored */
#define MOST 254

static struct ncc_op *like(struct ncc_build *bl, struct ncc_op *x, double v)
{
	return x ? build_splat(bl, &x->shape, v) : NULL;
}

static struct ncc_op *test(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			   struct ncc_op *b)
{
	return a && b ? build_compare(bl, kind, a, b) : NULL;
}

/* A positive number a: fraction * scale, lifted by 2^24 if it is small */
struct parts {
	struct ncc_op *small; /* is it? */
	struct ncc_op *fraction; /* from 2^23 to 2^24 */
	struct ncc_op *scale; /* a power of two, times 2^23 */
	struct ncc_op *exponent; /* in fp32; as it would be stored if there was no least one */
};

static struct parts take_apart(struct ncc_build *bl, struct ncc_op *a)
{
	struct parts p = { .small = test(bl, NCC_LT, a, like(bl, a, 0x1p-126)) };
	struct ncc_op *u, *e, *scale;

	a = build_select(bl, p.small, build_number(bl, NCC_MUL, a, 0x1p24), a);
	u = build_bitcast(bl, a, NEURON_DT_INT32);
	e = build_cast(bl, build_number(bl, NCC_SHR, u, 23), NEURON_DT_FP32);
	scale = build_number(bl, NCC_AND, u, 0x7f800000);
	p.exponent = build_select(bl, p.small, build_number(bl, NCC_SUB, e, LIFT), e);
	/* the bits of 2^23 + fraction are the fraction's below 2^23's exponent */
	u = build_number(bl, NCC_OR, build_number(bl, NCC_AND, u, 0x7fffff), 0x4b000000);
	p.fraction = build_bitcast(bl, u, NEURON_DT_FP32);
	p.scale = build_bitcast(bl, scale, NEURON_DT_FP32);
	return p;
}

/* Types whose numbers are all multiples of a larger unit have fewer bits and exponents. */
struct range {
	unsigned int bits; /* of a fraction */
	int least, most; /* exponents, as fp32 stores them */
};

static struct range range_of(const struct ncc_op *x)
{
	const struct ncc_op *from = x->kind == NCC_CONVERT ? x->in[0] : x;
	double v;
	int e;

	if (ncc_scalar_value(x, &v) && v != 0 && isfinite(v)) {
		uint32_t f = (uint32_t)ldexp(frexp(fabs(v), &e), 24);

		return (struct range){ 24 - (unsigned int)__builtin_ctz(f), e + 126, e + 126 };
	}
	if (!ncc_is_float(from->shape.dtype))
		return (struct range){ 24, 127, 127 + 32 };
	switch (from->shape.dtype) {
	case NEURON_DT_BF16:
		return (struct range){ 8, LEAST, MOST };
	case NEURON_DT_FP16:
		return (struct range){ 11, 127 - 24, 127 + 15 };
	default:
		return (struct range){ 24, LEAST, MOST };
	}
}

/* A divisor's fraction, in parts of eight bits, and what is nearly its inverse */
struct divisor {
	struct ncc_op *part[3], *inverse;
	unsigned int n;
};

static struct divisor divisor_of(struct ncc_build *bl, struct ncc_op *y, unsigned int bits)
{
	struct divisor d = { .n = (bits + 7) / 8 };
	struct ncc_op *left = y;

	d.inverse = build_binary(bl, NCC_DIV, like(bl, y, 1), y);
	for (unsigned int i = 0; i + 1 < d.n; i++) {
		struct ncc_op *u = build_bitcast(bl, left, NEURON_DT_INT32);

		/* cut, not rounded: eight bits from the highest one on */
		u = build_number(bl, NCC_AND, u, (int32_t)0xffff0000u);
		d.part[i] = build_bitcast(bl, u, NEURON_DT_FP32);
		left = build_binary(bl, NCC_SUB, left, d.part[i]);
	}
	d.part[d.n - 1] = left;
	return d;
}

/*
 * r - q y for the integer q that is nearest to r / y, or next to it: |q| < 2^16 and the result is
 * at most 0.51 y. Products are below 2^24, sums multiples of what the parts are multiples of.
 */
static struct ncc_op *reduced(struct ncc_build *bl, struct ncc_op *r, const struct divisor *d)
{
	struct ncc_op *q = build_binary(bl, NCC_MUL, r, d->inverse);

	q = build_cast(bl, build_cast(bl, q, NEURON_DT_INT32), NEURON_DT_FP32);
	for (unsigned int i = 0; i < d->n; i++)
		r = build_binary(bl, NCC_SUB, r, build_binary(bl, NCC_MUL, q, d->part[i]));
	return r;
}

/* 2^(shift modulo 16): its bits are the exponent's, which fp32 has as a number too */
static struct ncc_op *first_step(struct ncc_build *bl, struct ncc_op *shift)
{
	struct ncc_op *k = build_cast(bl, shift, NEURON_DT_INT32);

	k = build_cast(bl, build_number(bl, NCC_AND, k, BITS - 1), NEURON_DT_FP32);
	k = build_number(bl, NCC_MUL, build_number(bl, NCC_ADD, k, 127), 0x1p23);
	return build_bitcast(bl, build_cast(bl, k, NEURON_DT_INT32), NEURON_DT_FP32);
}

/* x 2^shift modulo y, both fractions; shift is at most `most`; below 0 any number will do */
static struct ncc_op *shifted(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *shift,
			      const struct divisor *d, int most)
{
	struct ncc_op *r, *one, *step;

	r = reduced(bl, build_binary(bl, NCC_MUL, x, first_step(bl, shift)), d);
	one = like(bl, r, 1);
	step = like(bl, r, 1 << BITS);
	for (int done = BITS; done <= most; done += BITS) {
		struct ncc_op *more = test(bl, NCC_GE, shift, like(bl, shift, done));

		r = build_binary(bl, NCC_MUL, r, build_select(bl, more, step, one));
		r = reduced(bl, r, d);
	}
	return r;
}

/* Gives the remainder the sign of x, or NaN if it is not below y: x is infinite or NaN, or y is 0
 * or NaN */
static struct ncc_op *finish(struct ncc_build *bl, struct ncc_op *r, struct ncc_op *x,
			     struct ncc_op *y)
{
	struct ncc_op *ax = build_unary(bl, NCC_ABS, x), *ay = build_unary(bl, NCC_ABS, y), *sign,
		      *good;

	sign = build_number(bl, NCC_AND, build_bitcast(bl, x, NEURON_DT_INT32), INT32_MIN);
	r = build_binary(bl, NCC_OR, build_bitcast(bl, r, NEURON_DT_INT32), sign);
	r = build_bitcast(bl, r, NEURON_DT_FP32);
	r = build_select(bl, test(bl, NCC_LT, ax, ay), x, r);
	good = build_binary(bl, NCC_AND, test(bl, NCC_LT, ax, like(bl, x, INFINITY)),
			    test(bl, NCC_GT, ay, like(bl, y, 0)));
	return build_select(bl, good, r, like(bl, x, NAN));
}

struct ncc_op *expand_remainder(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *y)
{
	struct ncc_op *finite, *r;
	struct range rx, ry;
	struct parts px, py;
	struct divisor d;

	if (!x || !y)
		return NULL;
	rx = range_of(x);
	ry = range_of(y);
	finite =
		build_binary(bl, NCC_MIN, build_unary(bl, NCC_ABS, y), like(bl, y, 0x1.fffffep127));
	px = take_apart(bl, build_unary(bl, NCC_ABS, x));
	py = take_apart(bl, finite);
	d = divisor_of(bl, py.fraction, ry.bits);
	r = shifted(bl, px.fraction, build_binary(bl, NCC_SUB, px.exponent, py.exponent), &d,
		    rx.most - ry.least);
	r = build_select(bl, test(bl, NCC_LT, r, like(bl, r, 0)),
			 build_binary(bl, NCC_ADD, r, py.fraction), r);
	r = build_binary(bl, NCC_MUL, build_number(bl, NCC_MUL, r, 0x1p-23), py.scale);
	r = build_select(bl, py.small, build_number(bl, NCC_MUL, r, 0x1p-24), r);
	return finish(bl, r, x, y);
}
