// SPDX-License-Identifier: MIT
/*
 * Functions of the bits of integers and floats, made of operations that the tensor IR has. Called
 * by the front ends.
 */
#include <math.h>

#include "expand.h"

static uint8_t unsigned_of(uint8_t dtype)
{
	switch (dtype) {
	case NEURON_DT_INT8:
		return NEURON_DT_UINT8;
	case NEURON_DT_INT16:
		return NEURON_DT_UINT16;
	case NEURON_DT_INT32:
		return NEURON_DT_UINT32;
	default:
		return dtype;
	}
}

/* An integer's bits in a u32 */
static struct ncc_op *bits_of(struct ncc_build *bl, struct ncc_op *x)
{
	return x ? build_cast(bl, build_bitcast(bl, x, unsigned_of(x->shape.dtype)),
			      NEURON_DT_UINT32)
		 : NULL;
}

/* Counts the bits that are set: sums of neighbouring bits, then of pairs, fours and bytes. */
static struct ncc_op *count_bits(struct ncc_build *bl, struct ncc_op *u)
{
	static const struct {
		uint32_t mask;
		unsigned int shift;
	} step[] = {
		{ 0x55555555, 1 }, { 0x33333333, 2 }, { 0x0f0f0f0f, 4 },
		{ 0x00ff00ff, 8 }, { 0xffff, 16 },
	};

	for (unsigned int i = 0; i < 5; i++)
		u = build_binary(bl, NCC_ADD, build_number(bl, NCC_AND, u, step[i].mask),
				 build_number(bl, NCC_AND,
					      build_number(bl, NCC_SHR, u, step[i].shift),
					      step[i].mask));
	return u;
}

struct ncc_op *expand_popcount(struct ncc_build *bl, struct ncc_op *x)
{
	return x ? build_cast(bl, count_bits(bl, bits_of(bl, x)), x->shape.dtype) : NULL;
}

struct ncc_op *expand_leading_zeros(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_op *u = bits_of(bl, x);

	if (!u)
		return NULL;
	for (unsigned int shift = 1; shift < 32; shift *= 2) /* fills up below the highest one */
		u = build_binary(bl, NCC_OR, u, build_number(bl, NCC_SHR, u, shift));
	u = count_bits(bl, u);
	u = u ? build_binary(bl, NCC_SUB,
			     build_splat(bl, &u->shape, 8 * ncc_dtype_size(x->shape.dtype)), u)
	      : NULL;
	return build_cast(bl, u, x->shape.dtype);
}

/*
 * r is right for negative powers of 1 and -1, since only b's lowest bit matters; those of other
 * numbers are 0.
 */
static struct ncc_op *inverse_powers(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				     struct ncc_op *r)
{
	struct ncc_op *p = build_compare(bl, NCC_LT, b, build_splat(bl, &b->shape, 0));
	struct ncc_op *one = build_compare(bl, NCC_NE, a, build_splat(bl, &a->shape, 1));
	struct ncc_op *minus = build_compare(bl, NCC_NE, a, build_splat(bl, &a->shape, -1));

	p = build_binary(bl, NCC_AND, p, build_binary(bl, NCC_AND, one, minus));
	return build_select(bl, p, build_splat(bl, &a->shape, 0), r);
}

/* The power is the product of a's repeated squares, one for each bit of b that is set. */
struct ncc_op *expand_power_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	bool is_unsigned = ncc_is_unsigned(b->shape.dtype);
	unsigned int bits = 8 * ncc_dtype_size(b->shape.dtype) - !is_unsigned;
	struct ncc_op *r = build_splat(bl, &a->shape, 1), *square = a;
	double known;

	if (ncc_scalar_value(b, &known) && known >= 0)
		for (bits = 0; bits < 32 && known >= (double)(1ull << bits);)
			bits++;
	for (unsigned int i = 0; r && square && i < bits; i++) {
		struct ncc_op *bit = build_number(bl, NCC_AND, build_number(bl, NCC_SHR, b, i), 1);

		if (i)
			square = build_binary(bl, NCC_MUL, square, square);
		bit = bit ? build_compare(bl, NCC_NE, bit, build_splat(bl, &bit->shape, 0)) : NULL;
		r = build_select(bl, bit, build_binary(bl, NCC_MUL, r, square), r);
	}
	return r && square && !is_unsigned ? inverse_powers(bl, a, b, r) : r;
}

/*
 * Rounding may carry into the exponent, as it should. Numbers that are then too large or too small
 * follow.
 */
struct ncc_op *expand_reduce_precision(struct ncc_build *bl, struct ncc_op *x,
				       unsigned int exponent, unsigned int fraction)
{
	struct ncc_op *f = build_cast(bl, x, NEURON_DT_FP32), *u, *last, *e, *sign, *r;
	unsigned int cut = 23 - fraction;
	uint32_t reach = (1u << (exponent - 1)) - 1;

	u = build_bitcast(bl, f, NEURON_DT_UINT32);
	if (cut) {
		last = build_number(bl, NCC_AND, build_number(bl, NCC_SHR, u, cut), 1);
		u = build_binary(bl, NCC_ADD, u,
				 build_number(bl, NCC_ADD, last, (1u << (cut - 1)) - 1));
		u = build_number(bl, NCC_AND, u, ~((1u << cut) - 1));
	}

	if (exponent < 8) {
		e = build_number(bl, NCC_AND, u, 0x7f800000);
		sign = build_number(bl, NCC_AND, u, 0x80000000u);
		if (!e || !sign)
			return NULL;
		r = build_compare(bl, NCC_GT, e,
				  build_splat(bl, &e->shape, (127.0 + reach) * 0x1p23));
		u = build_select(bl, r, build_number(bl, NCC_OR, sign, 0x7f800000), u);
		r = build_compare(bl, NCC_LE, e,
				  build_splat(bl, &e->shape, (127.0 - reach) * 0x1p23));
		u = build_select(bl, r, sign, u);
	}

	r = build_bitcast(bl, u, NEURON_DT_FP32);
	r = build_select(bl, build_compare(bl, NCC_NE, f, f), f, r);
	return x ? build_cast(bl, r, x->shape.dtype) : NULL;
}

static struct ncc_op *same_as(struct ncc_build *bl, struct ncc_op *x, double v)
{
	return x ? build_splat(bl, &x->shape, v) : NULL;
}

/*
 * The arctangent of the smaller over the larger lies in the first octant; the other octants follow
 * from it.
 */
struct ncc_op *expand_atan2(struct ncc_build *bl, struct ncc_op *y, struct ncc_op *x)
{
	struct ncc_op *ay, *ax, *t, *big, *xbits, *ybits, *r;
	struct ncc_shape s;

	if (!x || !y)
		return NULL;
	s = y->shape;
	ay = build_node(bl, NCC_ABS, &s, y, NULL, NULL);
	ax = build_node(bl, NCC_ABS, &s, x, NULL, NULL);
	big = build_binary(bl, NCC_MAX, ay, ax);
	t = build_binary(bl, NCC_DIV, build_binary(bl, NCC_MIN, ay, ax), big);
	t = build_select(bl, build_compare(bl, NCC_EQ, ay, ax), same_as(bl, y, 1), t);
	t = build_select(bl, build_compare(bl, NCC_EQ, big, same_as(bl, y, 0)), big, t);
	r = t ? build_node(bl, NCC_ATAN, &s, t, NULL, NULL) : NULL;
	r = build_select(bl, build_compare(bl, NCC_GT, ay, ax),
			 build_binary(bl, NCC_SUB, same_as(bl, y, M_PI / 2), r), r);
	xbits = build_bitcast(bl, x, NEURON_DT_INT32);
	r = build_select(bl, build_compare(bl, NCC_LT, xbits, same_as(bl, xbits, 0)),
			 build_binary(bl, NCC_SUB, same_as(bl, y, M_PI), r), r);
	ybits = build_number(bl, NCC_AND, build_bitcast(bl, y, NEURON_DT_UINT32), 0x80000000u);
	r = build_binary(bl, NCC_OR, build_bitcast(bl, r, NEURON_DT_UINT32), ybits);
	return build_bitcast(bl, r, NEURON_DT_FP32);
}

/* The bits of a float, the highest of them being its sign, if it has one */
static struct ncc_op *signed_bits(struct ncc_build *bl, struct ncc_op *x, unsigned int bits)
{
	struct ncc_op *k = build_cast(bl, build_bits(bl, x), NEURON_DT_INT32);

	if (bits % 8 == 0)
		return k;
	k = build_number(bl, NCC_AND, k, (1u << bits) - 1);
	k = build_number(bl, NCC_XOR, k, 1u << (bits - 1));
	return build_number(bl, NCC_SUB, k, 1u << (bits - 1));
}

/*
 * Without the sign bit floats are ordered as integers are; negative ones the other way round. A NaN
 * that has a sign comes before all numbers.
 */
struct ncc_op *expand_total_order(struct ncc_build *bl, struct ncc_op *x)
{
	const struct ncc_float8 *f = x ? ncc_float8(x->shape.dtype) : NULL;
	const unsigned int bits = f ? f->bits : x ? 8 * ncc_dtype_size(x->shape.dtype) : 32;
	struct ncc_op *k, *key;

	if (f && f->end == NCC_FLOAT8_POWERS)
		return build_cast(bl, build_bitcast(bl, x, NEURON_DT_UINT8), NEURON_DT_INT32);
	k = signed_bits(bl, x, bits);
	if (!k)
		return NULL;
	key = build_select(bl, build_compare(bl, NCC_LT, k, build_splat(bl, &k->shape, 0)),
			   build_number(bl, NCC_XOR, k, (1u << (bits - 1)) - 1), k);
	if (!f || f->end != NCC_FLOAT8_UNSIGNED_ZERO)
		return key;
	return build_select(bl, build_compare(bl, NCC_EQ, k, build_splat(bl, &k->shape, -0x80)),
			    build_splat(bl, &k->shape, -0x81), key);
}

static uint8_t unsigned_sized(unsigned int size)
{
	return size == 1 ? NEURON_DT_UINT8 : size == 2 ? NEURON_DT_UINT16 : NEURON_DT_UINT32;
}

struct ncc_op *expand_split_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype)
{
	unsigned int from = ncc_dtype_size(x->shape.dtype), to = ncc_dtype_size(dtype);
	uint32_t mask = to == 1 ? 0xff : 0xffff;
	struct ncc_op *u = build_bitcast(bl, x, unsigned_sized(from)), *part[4];
	struct ncc_shape s = x->shape;

	s.dim[s.ndim++] = 1;
	u = build_cast(bl, u, NEURON_DT_UINT32);
	for (unsigned int i = 0; i < from / to; i++) {
		part[i] = build_number(bl, NCC_AND,
				       i ? build_number(bl, NCC_SHR, u, 8 * to * i) : u, mask);
		part[i] = build_cast(bl, part[i], unsigned_sized(to));
		part[i] = build_reshape(bl, build_bitcast(bl, part[i], dtype), &s);
	}
	return build_concat(bl, part, from / to, s.ndim - 1);
}

struct ncc_op *expand_join_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype)
{
	unsigned int from = ncc_dtype_size(x->shape.dtype), to = ncc_dtype_size(dtype);
	struct ncc_op *u = build_bitcast(bl, x, unsigned_sized(from)), *all = NULL, *part;
	struct ncc_shape s = x->shape;

	s.ndim--;
	u = build_cast(bl, u, NEURON_DT_UINT32);
	for (unsigned int i = 0; i < to / from; i++) {
		part = build_reshape(bl, build_slice(bl, u, s.ndim, i, 1), &s);
		if (i)
			part = build_number(bl, NCC_SHL, part, 8 * from * i);
		all = i ? build_binary(bl, NCC_OR, all, part) : part;
	}
	return build_bitcast(bl, build_cast(bl, all, unsigned_sized(to)), dtype);
}
