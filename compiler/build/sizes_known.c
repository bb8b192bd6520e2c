// SPDX-License-Identifier: MIT
/*
 * What is known of whole numbers that the data say, before the program runs (sizes.h): how large
 * they may be, which are the same. It is found by following what they are made of.
 */
#include "sizes.h"

#include <string.h>

#define MOST_VISITS 4096 /* operations that are looked at to find one number */
#define MOST_STEPS 64 /* moves and sums that lead to a number or from a constant */
#define NO_LIMIT NCC_NO_BOUND

/* A conversion between integers that loses no bit */
static bool keeps_values(const struct ncc_op *op)
{
	const struct ncc_shape *to = &op->shape;
	const struct ncc_shape *from = op->kind == NCC_CONVERT ? &op->in[0]->shape : NULL;

	return from && !ncc_is_float(to->dtype) && !ncc_is_float(from->dtype) && !to->pred &&
	       ncc_dtype_size(to->dtype) >= ncc_dtype_size(from->dtype);
}

/* Operand and element that a move's element i is; false: op is no move */
static bool moved(const struct ncc_op **op, int64_t *i)
{
	const struct ncc_op *x = *op;
	int64_t step[NCC_MAX_DIMS], index[NCC_MAX_DIMS], at = *i, start = 0;

	if (x->kind == NCC_RESHAPE || keeps_values(x)) {
		*op = x->in[0];
		return true;
	}
	if (x->kind == NCC_CONCAT && !x->axis) {
		unsigned int k = 0;

		while (at >= ncc_elems(&x->in[k]->shape))
			at -= ncc_elems(&x->in[k++]->shape);
		*op = x->in[k];
		*i = at;
		return true;
	}
	if (x->kind != NCC_SLICE && x->kind != NCC_BROADCAST)
		return false;
	for (unsigned int d = x->shape.ndim; d--; at /= x->shape.dim[d])
		index[d] = at % x->shape.dim[d];
	if (x->kind == NCC_SLICE) {
		start = ncc_move_steps(x, step);
		for (unsigned int d = 0; d < x->shape.ndim; d++)
			start += index[d] * step[d];
	} else {
		ncc_steps(&x->in[0]->shape, step);
		for (unsigned int d = 0; d < x->in[0]->shape.ndim; d++)
			start += index[x->map[d]] * step[d];
	}
	*op = x->in[0];
	*i = start;
	return true;
}

/* A walk through what a number is made of */
struct walk {
	const struct ncc_noted *noted;
	unsigned int visits; /* how many operations may still be looked at */
};

static struct ncc_bound bound_of(struct walk *w, const struct ncc_op *op, int64_t i);

static int64_t limited(int64_t v)
{
	return v > NO_LIMIT ? NO_LIMIT : v < -NO_LIMIT ? -NO_LIMIT : v;
}

static bool has_limits(struct ncc_bound b)
{
	return b.least > -NO_LIMIT && b.most < NO_LIMIT;
}

static struct ncc_bound combined(enum ncc_kind kind, struct ncc_bound a, struct ncc_bound b)
{
	const bool whole = has_limits(a) && has_limits(b);
	struct ncc_bound r = { -NO_LIMIT, NO_LIMIT };

	if (kind == NCC_MIN) {
		r.least = a.least < b.least ? a.least : b.least;
		r.most = a.most < b.most ? a.most : b.most;
	} else if (kind == NCC_MAX) {
		r.least = a.least > b.least ? a.least : b.least;
		r.most = a.most > b.most ? a.most : b.most;
	} else if (kind == NCC_ADD && whole) {
		r = (struct ncc_bound){ limited(a.least + b.least), limited(a.most + b.most) };
	} else if (kind == NCC_SUB && whole) {
		r = (struct ncc_bound){ limited(a.least - b.most), limited(a.most - b.least) };
	} else if (kind == NCC_MUL && whole && a.least >= 0 && b.least >= 0) {
		r = (struct ncc_bound){ limited(a.least * b.least), limited(a.most * b.most) };
	}
	return r;
}

/* Does a comparison hold? -1: that is not known */
static int holds(struct walk *w, const struct ncc_op *p, int64_t i)
{
	struct ncc_bound a, b;

	while (w->visits && moved(&p, &i))
		w->visits--;
	if (p->kind == NCC_CONST)
		return ncc_get(p->shape.dtype, p->data, i) != 0;
	if (!ncc_is_compare(p->kind) || ncc_is_float(p->in[0]->shape.dtype))
		return -1;
	a = bound_of(w, p->in[0], i);
	b = bound_of(w, p->in[1], i);
	if (a.least == a.most && b.least == b.most)
		return ncc_compares(p->kind, (double)a.least, (double)b.least);
	if (a.most < b.least)
		return ncc_compares(p->kind, 0, 1);
	if (a.least > b.most)
		return ncc_compares(p->kind, 1, 0);
	if (a.least >= b.most && (p->kind == NCC_LT || p->kind == NCC_GE))
		return p->kind == NCC_GE;
	if (a.most <= b.least && (p->kind == NCC_GT || p->kind == NCC_LE))
		return p->kind == NCC_LE;
	return -1;
}

/* Follows moves and selections that are decided. */
static void follow(struct walk *w, const struct ncc_op **op, int64_t *i)
{
	while (w->visits) {
		int which = -1;

		w->visits--;
		if (moved(op, i))
			continue;
		if ((*op)->kind == NCC_SELECT)
			which = holds(w, (*op)->in[0], *i);
		if (which < 0)
			return;
		*op = (*op)->in[which ? 1 : 2];
	}
}

/* Is element i, which moves bring there, a constant? */
static bool constant_at(const struct ncc_op *op, int64_t i, int64_t *v)
{
	for (unsigned int k = 0; k < MOST_STEPS && moved(&op, &i); k++)
		;
	if (op->kind != NCC_CONST || ncc_is_float(op->shape.dtype))
		return false;
	*v = (int64_t)ncc_get(op->shape.dtype, op->data, i);
	return true;
}

/* Element i, a whole number, as one of another operation and a constant, which it returns */
static int64_t less_constant(const struct ncc_op **op, int64_t *i)
{
	int64_t more = 0, v;

	for (unsigned int k = 0; k < MOST_STEPS; k++) {
		const struct ncc_op *x = *op;

		if (moved(op, i))
			continue;
		if ((x->kind != NCC_ADD && x->kind != NCC_SUB) || ncc_is_float(x->shape.dtype))
			break;
		if (constant_at(x->in[1], *i, &v)) {
			more += x->kind == NCC_ADD ? v : -v;
			*op = x->in[0];
		} else if (x->kind == NCC_ADD && constant_at(x->in[0], *i, &v)) {
			more += v;
			*op = x->in[1];
		} else {
			break;
		}
	}
	return more;
}

/* a less b, if they differ by a constant; false: that is not known */
static bool difference(const struct ncc_op *a, const struct ncc_op *b, int64_t *d)
{
	int64_t i = 0, k = 0;

	*d = less_constant(&a, &i);
	*d -= less_constant(&b, &k);
	return i == k && sizes_same(a, b);
}

static bool is_number(struct ncc_bound b, int64_t v)
{
	return b.least == v && b.most == v;
}

/* The operand whose value the result always has; -1: that is not known */
static int decided(struct walk *w, const struct ncc_op *op, int64_t i)
{
	struct ncc_bound a, b;
	int64_t d;

	if (!ncc_is_binary(op->kind) || ncc_is_compare(op->kind) || ncc_is_float(op->shape.dtype))
		return -1;
	if ((op->kind == NCC_MIN || op->kind == NCC_MAX) && !op->shape.ndim) {
		const struct ncc_op *x = op->in[0], *y = op->in[1];
		int64_t k = 0;

		follow(w, &x, &k);
		k = 0;
		follow(w, &y, &k);
		if (!x->shape.ndim && !y->shape.ndim && difference(x, y, &d))
			return op->kind == NCC_MIN ? d > 0 : d < 0;
	}
	a = bound_of(w, op->in[0], i);
	b = bound_of(w, op->in[1], i);
	switch (op->kind) {
	case NCC_MIN:
		return a.most <= b.least ? 0 : b.most <= a.least ? 1 : -1;
	case NCC_MAX:
		return a.least >= b.most ? 0 : b.least >= a.most ? 1 : -1;
	case NCC_ADD:
		return is_number(b, 0) ? 0 : is_number(a, 0) ? 1 : -1;
	case NCC_SUB:
		return is_number(b, 0) ? 0 : -1;
	case NCC_MUL:
		return is_number(b, 1) ? 0 : is_number(a, 1) ? 1 : -1;
	default:
		return -1;
	}
}

/* The same, and what is always one of its operands */
static void follow_all(struct walk *w, const struct ncc_op **op, int64_t *i)
{
	int which = 0;

	while (w->visits && which >= 0) {
		follow(w, op, i);
		which = decided(w, *op, *i);
		if (which >= 0)
			*op = (*op)->in[which];
	}
}

bool sizes_is_noted(const struct ncc_noted *noted, const struct ncc_op *op)
{
	for (; noted; noted = noted->next)
		if (noted->op == op)
			return true;
	return false;
}

static struct ncc_bound bound_of_all(struct walk *w, const struct ncc_op *op)
{
	struct ncc_bound r = bound_of(w, op->in[0], 0);

	for (int64_t k = 1; k < ncc_elems(&op->in[0]->shape) && w->visits; k++)
		r = combined(op->func, r, bound_of(w, op->in[0], k));
	return r;
}

static struct ncc_bound bound_of(struct walk *w, const struct ncc_op *op, int64_t i)
{
	struct ncc_bound r = { -NO_LIMIT, NO_LIMIT }, other;
	int64_t v;

	follow(w, &op, &i);
	if (!w->visits || ncc_is_float(op->shape.dtype))
		return r;
	if (op->kind == NCC_CONST) {
		v = limited((int64_t)ncc_get(op->shape.dtype, op->data, i));
		return (struct ncc_bound){ v, v };
	}
	if (op->kind == NCC_SELECT) {
		r = bound_of(w, op->in[1], i);
		other = bound_of(w, op->in[2], i);
		r.least = other.least < r.least ? other.least : r.least;
		r.most = other.most > r.most ? other.most : r.most;
	} else if (op->kind == NCC_SUB && !op->shape.ndim && difference(op->in[0], op->in[1], &v)) {
		return (struct ncc_bound){ v, v };
	} else if (ncc_is_binary(op->kind) && !ncc_is_compare(op->kind)) {
		r = combined(op->kind, bound_of(w, op->in[0], i), bound_of(w, op->in[1], i));
	} else if (op->kind == NCC_REDUCE && !op->shape.ndim) {
		r = bound_of_all(w, op);
	}
	if (r.least < 0 && sizes_is_noted(w->noted, op))
		r.least = 0;
	return r;
}

struct ncc_bound sizes_bound(const struct ncc_noted *noted, const struct ncc_op *op, int64_t i)
{
	struct walk w = { noted, MOST_VISITS };

	return bound_of(&w, op, i);
}

const struct ncc_op *sizes_source(const struct ncc_noted *noted, const struct ncc_op *op,
				  int64_t *i)
{
	struct walk w = { noted, MOST_VISITS };

	follow_all(&w, &op, i);
	return op;
}

static bool same_data(const struct ncc_op *a, const struct ncc_op *b)
{
	size_t size = (size_t)ncc_elems(&a->shape) * ncc_dtype_size(a->shape.dtype);

	return !memcmp(a->data, b->data, size);
}

static bool same_attributes(const struct ncc_op *a, const struct ncc_op *b)
{
	switch (a->kind) {
	case NCC_BROADCAST:
		return !memcmp(a->map, b->map, a->in[0]->shape.ndim);
	case NCC_REDUCE:
		return a->mask == b->mask && a->func == b->func;
	case NCC_CONCAT:
		return a->axis == b->axis;
	case NCC_SLICE:
		return !memcmp(a->start, b->start, a->shape.ndim * sizeof(*a->start)) &&
		       !memcmp(a->stride, b->stride, a->shape.ndim * sizeof(*a->stride));
	default:
		return a->kind == NCC_RESHAPE || ncc_is_elementwise(a->kind);
	}
}

static bool same(const struct ncc_op *a, const struct ncc_op *b, unsigned int *visits)
{
	int64_t i = 0, k = 0, d = 0;

	if (a == b)
		return true;
	if (!*visits || a->shape.dtype != b->shape.dtype || a->shape.pred != b->shape.pred ||
	    !ncc_same_dims(&a->shape, &b->shape))
		return false;
	--*visits;
	if (!a->shape.ndim) {
		d = less_constant(&a, &i);
		d -= less_constant(&b, &k);
	}
	if (d || i != k || a->kind != b->kind || a->nin != b->nin ||
	    !ncc_same_dims(&a->shape, &b->shape))
		return false;
	if (a == b)
		return true;
	if (a->kind == NCC_CONST)
		return same_data(a, b);
	if (!a->nin || !same_attributes(a, b))
		return false;
	for (unsigned int i = 0; i < a->nin; i++)
		if (!same(a->in[i], b->in[i], visits))
			return false;
	return true;
}

bool sizes_same(const struct ncc_op *a, const struct ncc_op *b)
{
	unsigned int visits = MOST_VISITS;

	return same(a, b, &visits);
}
