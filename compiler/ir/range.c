// SPDX-License-Identifier: MIT
/* Intervals of integer operations (range.h). Called by passes/integers.c. */
#include "range.h"

#define EMPTY ((struct ncc_range){ 1, 0 })

struct ncc_range ncc_type_range(const struct ncc_shape *s)
{
	unsigned int bits = 8 * ncc_dtype_size(s->dtype);

	if (s->pred)
		return (struct ncc_range){ 0, 1 };
	if (ncc_is_float(s->dtype))
		return EMPTY;
	if (ncc_is_unsigned(s->dtype))
		return (struct ncc_range){ 0, (1ll << bits) - 1 };
	return (struct ncc_range){ -(1ll << (bits - 1)), (1ll << (bits - 1)) - 1 };
}

static struct ncc_range hull(struct ncc_range a, struct ncc_range b)
{
	if (a.lo > a.hi || b.lo > b.hi)
		return EMPTY;
	return (struct ncc_range){ a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

static struct ncc_range of_data(const struct ncc_op *op, const struct ncc_shape *s)
{
	int64_t n = ncc_elems(s);
	struct ncc_range r = EMPTY;

	for (int64_t i = 0; i < n; i++) {
		int64_t v = (int64_t)ncc_get(s->dtype, op->data, i);

		r = i ? hull(r, (struct ncc_range){ v, v }) : (struct ncc_range){ v, v };
	}
	return r;
}

/* Bounds of types have 33 bits: what does not fit 64 leaves every type */
static struct ncc_range product(struct ncc_range a, struct ncc_range b)
{
	int64_t v[4], most;
	struct ncc_range r;

	if (__builtin_mul_overflow(a.hi > -a.lo ? a.hi : -a.lo, b.hi > -b.lo ? b.hi : -b.lo, &most))
		return EMPTY;
	v[0] = a.lo * b.lo;
	v[1] = a.lo * b.hi;
	v[2] = a.hi * b.lo;
	v[3] = a.hi * b.hi;
	r = (struct ncc_range){ v[0], v[0] };
	for (unsigned int i = 1; i < 4; i++)
		r = hull(r, (struct ncc_range){ v[i], v[i] });
	return r;
}

static struct ncc_range magnitude(struct ncc_range a)
{
	int64_t lo = a.lo < 0 ? -a.lo : a.lo, hi = a.hi < 0 ? -a.hi : a.hi;
	int64_t most = lo > hi ? lo : hi;

	if (a.lo >= 0 || a.hi <= 0)
		return (struct ncc_range){ lo < hi ? lo : hi, most };
	return (struct ncc_range){ 0, most };
}

/* 2^k - 1 that v fits in */
static int64_t all_ones(int64_t v)
{
	int64_t m = 0;

	while (m < v)
		m = 2 * m + 1;
	return m;
}

static struct ncc_range of_bits(enum ncc_kind kind, struct ncc_range a, struct ncc_range b,
				struct ncc_range all)
{
	int64_t most = a.hi > b.hi ? a.hi : b.hi;

	if (kind == NCC_AND && (a.lo >= 0 || b.lo >= 0)) {
		if (a.lo < 0 || b.lo < 0)
			return (struct ncc_range){ 0, a.lo < 0 ? b.hi : a.hi };
		return (struct ncc_range){ 0, a.hi < b.hi ? a.hi : b.hi };
	}
	if (kind == NCC_SHR && a.lo >= 0)
		return (struct ncc_range){ 0, b.lo == b.hi && b.lo >= 0
						      ? (b.lo > 62 ? 0 : a.hi >> b.lo)
						      : a.hi };
	if ((kind == NCC_OR || kind == NCC_XOR) && a.lo >= 0 && b.lo >= 0)
		return (struct ncc_range){ 0, all_ones(most) };
	return all;
}

static struct ncc_range of_binary(enum ncc_kind kind, struct ncc_range a, struct ncc_range b,
				  struct ncc_range all)
{
	struct ncc_range m;

	switch (kind) {
	case NCC_ADD:
		return (struct ncc_range){ a.lo + b.lo, a.hi + b.hi };
	case NCC_SUB:
		return (struct ncc_range){ a.lo - b.hi, a.hi - b.lo };
	case NCC_MUL:
		return product(a, b);
	case NCC_MAX:
		return (struct ncc_range){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
	case NCC_MIN:
		return (struct ncc_range){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
	case NCC_DIV: /* by 0 it is all ones */
		m = magnitude(a);
		if (b.lo <= 0 && b.hi >= 0)
			return all;
		return (struct ncc_range){ a.lo >= 0 && b.lo > 0 ? 0 : -m.hi, m.hi };
	default:
		return of_bits(kind, a, b, all);
	}
}

static struct ncc_range of_reduce(const struct ncc_op *op, const struct ncc_range *const *in,
				  struct ncc_range all)
{
	int64_t n = 1;

	if (op->func == NCC_MAX || op->func == NCC_MIN)
		return hull(*in[0], *in[1]);
	for (unsigned int d = 0; d < op->in[0]->shape.ndim; d++) {
		if (op->kind == NCC_REDUCE_WINDOW)
			n *= op->window[d].size < 1 << 16 ? op->window[d].size : 1 << 16;
		else if (op->mask >> d & 1)
			n *= op->in[0]->shape.dim[d];
		if (n > 1 << 24)
			return all;
	}
	if (op->func != NCC_ADD || !ncc_range_within(in[0], -(1 << 24), 1 << 24))
		return all;
	return (struct ncc_range){ (in[0]->lo < 0 ? in[0]->lo * n : 0) + in[1]->lo,
				   (in[0]->hi > 0 ? in[0]->hi * n : 0) + in[1]->hi };
}

static struct ncc_range of_kind(const struct ncc_op *op, const struct ncc_shape *shape,
				const struct ncc_range *const *in, struct ncc_range all)
{
	struct ncc_range r;

	switch (op->kind) {
	case NCC_CONST:
		return of_data(op, shape);
	case NCC_BROADCAST:
	case NCC_RESHAPE:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
	case NCC_REVERSE:
	case NCC_CONVERT:
	case NCC_GATHER:
		return *in[0];
	case NCC_PAD:
		return hull(*in[0], *in[1]);
	case NCC_SELECT:
		return hull(*in[1], *in[2]);
	case NCC_CONCAT:
		r = *in[0];
		for (unsigned int i = 1; i < op->nin; i++)
			r = hull(r, *in[i]);
		return r;
	case NCC_NEG:
		return (struct ncc_range){ -in[0]->hi, -in[0]->lo };
	case NCC_ABS:
		return magnitude(*in[0]);
	case NCC_SIGN:
		return (struct ncc_range){ -1, 1 };
	case NCC_REDUCE:
	case NCC_REDUCE_WINDOW:
		return of_reduce(op, in, all);
	default:
		if (ncc_is_binary(op->kind) && !ncc_is_compare(op->kind))
			return of_binary(op->kind, *in[0], *in[1], all);
		return all;
	}
}

struct ncc_range ncc_range_of(const struct ncc_op *op, const struct ncc_shape *shape,
			      const struct ncc_range *const *in)
{
	struct ncc_range all = ncc_type_range(shape), r;

	if (all.lo > all.hi || shape->pred)
		return all;
	r = of_kind(op, shape, in, all);
	/* what leaves the type wraps around in it */
	return r.lo > r.hi || r.lo < all.lo || r.hi > all.hi ? all : r;
}
