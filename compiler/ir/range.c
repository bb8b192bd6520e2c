// SPDX-License-Identifier: MIT
/* Intervals of integer operations (range.h). Called by passes/integers.c. */
#include "range.h"

#include <math.h>

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

double ncc_neutral(enum ncc_kind func, const struct ncc_shape *s)
{
	const struct ncc_range all = ncc_type_range(s);

	switch (func) {
	case NCC_MUL:
		return 1;
	case NCC_AND: /* all ones */
		return all.lo < 0 ? -1 : (double)all.hi;
	case NCC_MAX:
		return ncc_is_float(s->dtype) ? -INFINITY : (double)all.lo;
	case NCC_MIN:
		return ncc_is_float(s->dtype) ? INFINITY : (double)all.hi;
	default:
		return 0;
	}
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

/* The bounds of types have 33 bits at most, so that what overflows 64 is outside of every type. */
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

/* The smallest 2^k - 1 that is not below v */
static int64_t all_ones(int64_t v)
{
	int64_t m = 0;

	while (m < v)
		m = 2 * m + 1;
	return m;
}

/*
 * The bounds of an operation's exact result, before it wraps around in its type (all: the type's)
 */
typedef struct ncc_range (*range_fn)(const struct ncc_op *op, const struct ncc_range *const *in,
				     struct ncc_range all);

static struct ncc_range of_and(const struct ncc_op *op, const struct ncc_range *const *in,
			       struct ncc_range all)
{
	const struct ncc_range a = *in[0], b = *in[1];

	(void)op;
	if (a.lo < 0 && b.lo < 0)
		return all;
	if (a.lo < 0 || b.lo < 0)
		return (struct ncc_range){ 0, a.lo < 0 ? b.hi : a.hi };
	return (struct ncc_range){ 0, a.hi < b.hi ? a.hi : b.hi };
}

static struct ncc_range of_or(const struct ncc_op *op, const struct ncc_range *const *in,
			      struct ncc_range all)
{
	(void)op;
	if (in[0]->lo < 0 || in[1]->lo < 0)
		return all;
	return (struct ncc_range){ 0, all_ones(in[0]->hi > in[1]->hi ? in[0]->hi : in[1]->hi) };
}

static struct ncc_range of_shift_right(const struct ncc_op *op, const struct ncc_range *const *in,
				       struct ncc_range all)
{
	const struct ncc_range a = *in[0], b = *in[1];

	(void)op;
	if (a.lo < 0)
		return all;
	if (b.lo != b.hi || b.lo < 0)
		return (struct ncc_range){ 0, a.hi };
	return (struct ncc_range){ 0, b.lo > 62 ? 0 : a.hi >> b.lo };
}

static struct ncc_range of_add(const struct ncc_op *op, const struct ncc_range *const *in,
			       struct ncc_range all)
{
	(void)op;
	(void)all;
	return (struct ncc_range){ in[0]->lo + in[1]->lo, in[0]->hi + in[1]->hi };
}

static struct ncc_range of_subtract(const struct ncc_op *op, const struct ncc_range *const *in,
				    struct ncc_range all)
{
	(void)op;
	(void)all;
	return (struct ncc_range){ in[0]->lo - in[1]->hi, in[0]->hi - in[1]->lo };
}

static struct ncc_range of_multiply(const struct ncc_op *op, const struct ncc_range *const *in,
				    struct ncc_range all)
{
	(void)op;
	(void)all;
	return product(*in[0], *in[1]);
}

/* A quotient by 0 is all ones. */
static struct ncc_range of_divide(const struct ncc_op *op, const struct ncc_range *const *in,
				  struct ncc_range all)
{
	const struct ncc_range m = magnitude(*in[0]);

	(void)op;
	if (in[1]->lo <= 0 && in[1]->hi >= 0)
		return all;
	return (struct ncc_range){ in[0]->lo >= 0 && in[1]->lo > 0 ? 0 : -m.hi, m.hi };
}

static struct ncc_range of_larger(const struct ncc_op *op, const struct ncc_range *const *in,
				  struct ncc_range all)
{
	const struct ncc_range a = *in[0], b = *in[1];

	(void)op;
	(void)all;
	return (struct ncc_range){ a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi };
}

static struct ncc_range of_smaller(const struct ncc_op *op, const struct ncc_range *const *in,
				   struct ncc_range all)
{
	const struct ncc_range a = *in[0], b = *in[1];

	(void)op;
	(void)all;
	return (struct ncc_range){ a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi };
}

static struct ncc_range of_negate(const struct ncc_op *op, const struct ncc_range *const *in,
				  struct ncc_range all)
{
	(void)op;
	(void)all;
	return (struct ncc_range){ -in[0]->hi, -in[0]->lo };
}

static struct ncc_range of_magnitude(const struct ncc_op *op, const struct ncc_range *const *in,
				     struct ncc_range all)
{
	(void)op;
	(void)all;
	return magnitude(*in[0]);
}

static struct ncc_range of_sign(const struct ncc_op *op, const struct ncc_range *const *in,
				struct ncc_range all)
{
	(void)op;
	(void)in;
	(void)all;
	return (struct ncc_range){ -1, 1 };
}

/* The hull of the operands' bounds, from the first operand with data on */
static struct ncc_range of_operands(const struct ncc_op *op, const struct ncc_range *const *in,
				    struct ncc_range all)
{
	const unsigned int first = op->kind == NCC_SELECT;
	struct ncc_range r = *in[first];

	(void)all;
	for (unsigned int i = first + 1; i < op->nin; i++)
		r = hull(r, *in[i]);
	return r;
}

static struct ncc_range of_scatter(const struct ncc_op *op, const struct ncc_range *const *in,
				   struct ncc_range all)
{
	(void)op;
	(void)all;
	return hull(*in[0], *in[2]);
}

/* A place outside gives 0. */
static struct ncc_range of_take(const struct ncc_op *op, const struct ncc_range *const *in,
				struct ncc_range all)
{
	(void)all;
	if (ncc_range_within(in[1], 0, op->in[0]->shape.dim[1] - 1))
		return *in[0];
	return hull(*in[0], (struct ncc_range){ 0, 0 });
}

/* The range of a sum by place: all elements of a row may go to one place. */
static struct ncc_range of_combine(const struct ncc_op *op, const struct ncc_range *const *in,
				   struct ncc_range all)
{
	int64_t n = op->in[1]->shape.dim[1];
	struct ncc_range u = *in[2];

	if (op->func != NCC_ADD)
		return hull(*in[0], u);
	if (n > 1 << 24 || !ncc_range_within(&u, -(1 << 24), 1 << 24))
		return all;
	return (struct ncc_range){ in[0]->lo + (u.lo < 0 ? u.lo * n : 0),
				   in[0]->hi + (u.hi > 0 ? u.hi * n : 0) };
}

static struct ncc_range of_order(const struct ncc_op *op, const struct ncc_range *const *in,
				 struct ncc_range all)
{
	(void)in;
	(void)all;
	return (struct ncc_range){ 0, op->in[0]->shape.dim[1] - 1 };
}

static struct ncc_range of_first(const struct ncc_op *op, const struct ncc_range *const *in,
				 struct ncc_range all)
{
	(void)op;
	(void)all;
	return *in[0];
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

/* NULL: the bounds of the type */
static const range_fn rules[NCC_KINDS] = {
	[NCC_BROADCAST] = of_first, [NCC_RESHAPE] = of_first,
	[NCC_TRANSPOSE] = of_first, [NCC_SLICE] = of_first,
	[NCC_REVERSE] = of_first,   [NCC_CONVERT] = of_first,
	[NCC_GATHER] = of_first,    [NCC_PAD] = of_operands,
	[NCC_SELECT] = of_operands, [NCC_CONCAT] = of_operands,
	[NCC_SCATTER] = of_scatter, [NCC_NEG] = of_negate,
	[NCC_ABS] = of_magnitude,   [NCC_SIGN] = of_sign,
	[NCC_ADD] = of_add,	    [NCC_SUB] = of_subtract,
	[NCC_MUL] = of_multiply,    [NCC_DIV] = of_divide,
	[NCC_MAX] = of_larger,	    [NCC_MIN] = of_smaller,
	[NCC_AND] = of_and,	    [NCC_OR] = of_or,
	[NCC_XOR] = of_or,	    [NCC_SHR] = of_shift_right,
	[NCC_REDUCE] = of_reduce,   [NCC_REDUCE_WINDOW] = of_reduce,
	[NCC_TAKE] = of_take,	    [NCC_COMBINE] = of_combine,
	[NCC_ORDER] = of_order,
};

struct ncc_range ncc_range_of(const struct ncc_op *op, const struct ncc_shape *shape,
			      const struct ncc_range *const *in)
{
	struct ncc_range all = ncc_type_range(shape), r;

	if (all.lo > all.hi || shape->pred)
		return all;
	if (op->kind == NCC_CONST)
		r = of_data(op, shape);
	else if (op->bounds)
		r = (struct ncc_range){ op->bounds[0], op->bounds[1] };
	else
		r = rules[op->kind] ? rules[op->kind](op, in, all) : all;
	/* Numbers outside the type wrap around in it. */
	return r.lo > r.hi || r.lo < all.lo || r.hi > all.hi ? all : r;
}

#define MOST_LOOKED_AT 4096 /* elements */

struct ncc_range ncc_bounds(const struct ncc_op *op, unsigned int depth)
{
	struct ncc_range r[3] = { { 0 } };
	const struct ncc_range *in[3] = { &r[0], &r[1], &r[2] };

	if ((op->kind != NCC_CONST && (!depth || op->nin > 3)) ||
	    ncc_elems(&op->shape) > MOST_LOOKED_AT)
		return ncc_type_range(&op->shape);
	for (unsigned int i = 0; i < op->nin; i++)
		r[i] = ncc_bounds(op->in[i], depth - 1);
	return ncc_range_of(op, &op->shape, in);
}
