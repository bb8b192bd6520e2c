// SPDX-License-Identifier: MIT
/* Exact 32-bit integers made of 16-bit halves and 8-bit parts (words.h) */
#include "words.h"

static struct ncc_shape word_shape(const struct ncc_op *like)
{
	struct ncc_shape s = like->shape;

	s.dtype = NEURON_DT_INT32;
	s.pred = false;
	return s;
}

static struct ncc_shape float_shape(const struct ncc_op *like)
{
	struct ncc_shape s = like->shape;

	s.dtype = NEURON_DT_FP32;
	s.pred = false;
	return s;
}

struct ncc_op *word_splat(struct ncc_build *bl, const struct ncc_op *like, uint32_t v)
{
	struct ncc_shape s;

	if (!like)
		return NULL;
	s = word_shape(like);
	return build_splat(bl, &s, (int32_t)v);
}

struct ncc_op *word_small(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			  struct ncc_op *b)
{
	struct ncc_shape s;

	if (!a || !b)
		return NULL;
	s = word_shape(a);
	return build_node(bl, kind, &s, a, b, NULL);
}

struct ncc_op *word_bits(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a, uint32_t c)
{
	return word_small(bl, kind, a, word_splat(bl, a, c));
}

/*
 * (x >> shift) & mask, masked only if the shift leaves other bits; a constant's is computed at
 * once.
 */
static struct ncc_op *part(struct ncc_build *bl, struct ncc_op *x, unsigned int shift,
			   uint32_t mask)
{
	double v;

	if (x && ncc_scalar_value(x, &v))
		return word_splat(bl, x, (uint32_t)(int32_t)v >> shift & mask);
	if (shift)
		x = word_bits(bl, NCC_SHR, x, shift);
	return mask < UINT32_MAX >> shift ? word_bits(bl, NCC_AND, x, mask) : x;
}

static bool is_zero(const struct ncc_op *x)
{
	double v;

	return x && ncc_scalar_value(x, &v) && v == 0;
}

/* Joins halves that may have outgrown 16 bits: hi * 2^16 + lo, wrapped around. */
static struct ncc_op *join(struct ncc_build *bl, struct ncc_op *hi, struct ncc_op *lo)
{
	hi = word_small(bl, NCC_ADD, hi, word_bits(bl, NCC_SHR, lo, 16));
	return word_small(bl, NCC_OR, word_bits(bl, NCC_SHL, hi, 16),
			  word_bits(bl, NCC_AND, lo, 0xffff));
}

struct ncc_op *word_add(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *lo, *hi;

	if (is_zero(a) || is_zero(b))
		return is_zero(a) ? b : a;
	lo = word_small(bl, NCC_ADD, part(bl, a, 0, 0xffff), part(bl, b, 0, 0xffff));
	hi = word_small(bl, NCC_ADD, part(bl, a, 16, 0xffff), part(bl, b, 16, 0xffff));
	return join(bl, hi, lo);
}

/* This is 2^32 + a - b, so that no half is negative. */
struct ncc_op *word_sub(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *lo, *hi;

	if (is_zero(b))
		return a;
	lo = word_small(bl, NCC_SUB, part(bl, a, 0, 0xffff), part(bl, b, 0, 0xffff));
	hi = word_small(bl, NCC_SUB, part(bl, a, 16, 0xffff), part(bl, b, 16, 0xffff));
	return join(bl, word_bits(bl, NCC_ADD, hi, 0xffff), word_bits(bl, NCC_ADD, lo, 0x10000));
}

/* sum += (p & mask) << shift, or >> -shift; p is a product below 2^24. */
static void add_product(struct ncc_build *bl, struct ncc_op **sum, struct ncc_op *p, uint32_t mask,
			int shift)
{
	if (mask)
		p = word_bits(bl, NCC_AND, p, mask);
	if (shift)
		p = word_bits(bl, shift > 0 ? NCC_SHL : NCC_SHR, p,
			      (uint32_t)(shift > 0 ? shift : -shift));
	*sum = *sum ? word_small(bl, NCC_ADD, *sum, p) : p;
}

/*
 * a is split into halves and b into bytes, whose products have 24 bits at most. What they add to
 * the low 16 bits of the result and to the high ones is summed separately.
 */
struct ncc_op *word_mul(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *low, *high, *lo = NULL, *hi = NULL;
	double v;

	if (a && ncc_scalar_value(a, &v)) {
		struct ncc_op *t = a;

		a = b;
		b = t;
	}

	if (!a || !b)
		return NULL;
	low = part(bl, a, 0, 0xffff);

	high = part(bl, a, 16, 0xffff);
	for (unsigned int j = 0; j < 4; j++) {
		struct ncc_op *byte = part(bl, b, 8 * j, 0xff), *p;

		if (is_zero(byte))
			continue;
		p = word_small(bl, NCC_MUL, low, byte);
		if (j == 0) {
			add_product(bl, &lo, p, 0xffff, 0);
			add_product(bl, &hi, p, 0, -16);
		} else if (j == 1) {
			add_product(bl, &lo, p, 0xff, 8);
			add_product(bl, &hi, p, 0, -8);
		} else {
			add_product(bl, &hi, p, j == 2 ? 0xffff : 0xff, j == 2 ? 0 : 8);
		}
		if (j < 2) {
			p = word_small(bl, NCC_MUL, high, byte);
			add_product(bl, &hi, p, j ? 0xff : 0xffff, j ? 8 : 0);
		}
	}

	lo = lo ? lo : word_splat(bl, a, 0);
	hi = hi ? hi : word_splat(bl, a, 0);
	return join(bl, hi, lo);
}

struct ncc_op *word_abs(struct ncc_build *bl, struct ncc_op *a)
{
	struct ncc_op *sign = word_bits(bl, NCC_SHR, a, 31);
	struct ncc_op *mask = word_small(bl, NCC_SUB, word_splat(bl, a, 0), sign);

	return word_add(bl, word_small(bl, NCC_XOR, a, mask), sign);
}

static struct ncc_op *float_of(struct ncc_build *bl, struct ncc_op *a)
{
	return build_cast(bl, a, NEURON_DT_FP32);
}

static struct ncc_op *float_op(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			       struct ncc_op *b)
{
	struct ncc_shape s;

	if (!a || !b)
		return NULL;
	s = float_shape(a);
	return build_node(bl, kind, &s, a, b, NULL);
}

static struct ncc_op *float_const(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
				  double c)
{
	struct ncc_shape s;

	if (!a)
		return NULL;
	s = float_shape(a);
	return float_op(bl, kind, a, build_splat(bl, &s, c));
}

/* The sign of (ah - bh) * 2^16 + (al - bl) is right whatever the last sum rounds away. */
struct ncc_op *word_compare(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			    struct ncc_op *b, bool is_signed)
{
	struct ncc_op *hi, *lo;
	struct ncc_shape s;

	if (kind == NCC_EQ || kind == NCC_NE) {
		a = word_small(bl, NCC_XOR, a, b);
		return build_compare(bl, kind, a, word_splat(bl, a, 0));
	}

	if (is_signed) {
		a = word_bits(bl, NCC_XOR, a, 0x80000000u);
		b = word_bits(bl, NCC_XOR, b, 0x80000000u);
	}

	hi = float_op(bl, NCC_SUB, float_of(bl, part(bl, a, 16, 0xffff)),
		      float_of(bl, part(bl, b, 16, 0xffff)));
	lo = float_op(bl, NCC_SUB, float_of(bl, part(bl, a, 0, 0xffff)),
		      float_of(bl, part(bl, b, 0, 0xffff)));
	hi = float_op(bl, NCC_ADD, float_const(bl, NCC_MUL, hi, 65536), lo);
	if (!hi)
		return NULL;
	s = hi->shape;
	return build_compare(bl, kind, hi, build_splat(bl, &s, 0));
}

struct ncc_op *word_extend(struct ncc_build *bl, struct ncc_op *a, unsigned int bits)
{
	uint32_t half = 1u << (bits - 1);

	a = word_bits(bl, NCC_XOR, word_bits(bl, NCC_AND, a, 2 * half - 1), half);
	return word_bits(bl, NCC_SUB, a, half);
}

struct ncc_op *word_to_f32(struct ncc_build *bl, struct ncc_op *a, bool is_signed)
{
	struct ncc_op *hi;

	if (is_signed)
		return float_of(bl, a);
	hi = float_const(bl, NCC_MUL, float_of(bl, part(bl, a, 16, 0xffff)), 65536);
	return float_op(bl, NCC_ADD, hi, float_of(bl, part(bl, a, 0, 0xffff)));
}

struct ncc_op *word_from_f32(struct ncc_build *bl, struct ncc_op *x, bool is_signed)
{
	struct ncc_op *big, *low, *top;
	struct ncc_shape s;

	if (is_signed)
		return build_cast(bl, x, NEURON_DT_INT32);
	x = float_const(bl, NCC_MAX, x, 0);
	if (!x)
		return NULL;
	s = x->shape;
	big = build_compare(bl, NCC_GE, x, build_splat(bl, &s, 0x1p31));
	low = build_select(bl, big, float_const(bl, NCC_SUB, x, 0x1p31), x);
	low = build_cast(bl, low, NEURON_DT_INT32);
	top = word_bits(bl, NCC_SHL, build_cast(bl, big, NEURON_DT_INT32), 31);
	return word_small(bl, NCC_XOR, low, top);
}

/* An integer that is at most a / b (of unsigned words) and at least that less 2^-19 of it and 1 */
static struct ncc_op *estimate(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *q = float_op(bl, NCC_DIV, word_to_f32(bl, a, false), b);

	q = float_const(bl, NCC_MUL, q, 1 - 0x1p-20);
	/* Rounding a number that is less by a half to nearest never gives more. */
	return word_from_f32(bl, float_const(bl, NCC_SUB, q, 0.5), false);
}

/*
 * The first estimate leaves a remainder below 2^13.3 b, the second one below 1.01 b; one comparison
 * settles that.
 */
static struct ncc_op *divide_unsigned(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *f = word_to_f32(bl, b, false), *q, *r, *q1, *more;

	q = estimate(bl, a, f);
	r = word_sub(bl, a, word_mul(bl, q, b));
	q1 = estimate(bl, r, f);
	r = word_sub(bl, r, word_mul(bl, q1, b));
	more = build_cast(bl, word_compare(bl, NCC_GE, r, b, false), NEURON_DT_INT32);
	return word_add(bl, word_add(bl, q, q1), more);
}

struct ncc_op *word_divide(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b, bool is_signed)
{
	struct ncc_op *q, *minus, *none = word_compare(bl, NCC_EQ, b, word_splat(bl, b, 0), false);

	if (is_signed) {
		minus = word_bits(bl, NCC_SHR, word_small(bl, NCC_XOR, a, b), 31);
		q = divide_unsigned(bl, word_abs(bl, a), word_abs(bl, b));
		minus = word_small(bl, NCC_SUB, word_splat(bl, a, 0), minus);
		q = word_sub(bl, word_small(bl, NCC_XOR, q, minus), minus);
	} else {
		q = divide_unsigned(bl, a, b);
	}
	return build_select(bl, none, word_splat(bl, a, UINT32_MAX), q);
}
