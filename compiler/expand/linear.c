// SPDX-License-Identifier: MIT
/*
 * Triangular systems and factors of matrices, row by row in fp32. Products of the tensor engine are
 * avoided: sums of element-wise products keep fp32's bits whatever --auto-cast says. Matrices are
 * [batch, rows, columns] here. Called by the front ends.
 */
#include <errno.h>
#include <string.h>

#include "expand.h"

/* x as [batch, rows, columns] in fp32, transposed if asked for */
static struct ncc_op *matrices(struct ncc_build *bl, struct ncc_op *x, bool transposed)
{
	static const uint8_t map[3] = { 0, 2, 1 };
	const struct ncc_shape *s = &x->shape;
	struct ncc_shape flat = { .ndim = 3,
				  .dim = { 1, s->dim[s->ndim - 2], s->dim[s->ndim - 1] } };

	for (unsigned int i = 0; i + 2 < s->ndim; i++)
		flat.dim[0] *= s->dim[i];
	x = build_reshape(bl, build_cast(bl, x, NEURON_DT_FP32), &flat);
	return transposed ? build_transpose(bl, x, map) : x;
}

/* The reverse: such matrices in shape s */
static struct ncc_op *back(struct ncc_build *bl, struct ncc_op *x, bool transposed,
			   const struct ncc_shape *s)
{
	static const uint8_t map[3] = { 0, 2, 1 };

	if (transposed)
		x = build_transpose(bl, x, map);
	return build_cast(bl, build_reshape(bl, x, s), s->dtype);
}

/* x, which has one row or one column or both, broadcast to rows x columns */
static struct ncc_op *over(struct ncc_build *bl, struct ncc_op *x, int64_t rows, int64_t columns)
{
	struct ncc_shape to = { .ndim = 3 }, kept = { 0 };
	uint8_t map[3] = { 0 };

	if (!x)
		return NULL;
	to.dtype = x->shape.dtype;
	to.pred = x->shape.pred;
	to.dim[0] = x->shape.dim[0];
	to.dim[1] = rows;
	to.dim[2] = columns;
	for (uint8_t d = 0; d < 3; d++) {
		if (d && x->shape.dim[d] != to.dim[d])
			continue;
		map[kept.ndim] = d;
		kept.dim[kept.ndim++] = to.dim[d];
	}
	return build_spread(bl, &to, build_reshape(bl, x, &kept), map);
}

static struct ncc_op *part(struct ncc_build *bl, struct ncc_op *x, int64_t row, int64_t rows,
			   int64_t column, int64_t columns)
{
	return build_slice(bl, build_slice(bl, x, 1, row, rows), 2, column, columns);
}

/* x - column * row, an outer product */
static struct ncc_op *less_outer(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *column,
				 struct ncc_op *row)
{
	int64_t n, m;

	if (!x)
		return NULL;
	n = x->shape.dim[1];
	m = x->shape.dim[2];
	return build_binary(bl, NCC_SUB, x,
			    build_binary(bl, NCC_MUL, over(bl, column, n, m), over(bl, row, n, m)));
}

/* x / d, d one number of each matrix */
static struct ncc_op *divided(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *d)
{
	return x ? build_binary(bl, NCC_DIV, x, over(bl, d, x->shape.dim[1], x->shape.dim[2]))
		 : NULL;
}

/*
 * Computes the rows of the unknown one after the other; what each contributes is subtracted from
 * the rest of the right-hand side. With an upper triangle the last row comes first.
 */
static struct ncc_op *substitute(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				 bool lower, bool unit)
{
	int64_t n = a->shape.dim[1], m = b->shape.dim[2];
	struct ncc_op **row = ncc_alloc(bl->m, (size_t)n * sizeof(struct ncc_op *));

	for (int64_t k = 0; row && b && k < n; k++) {
		int64_t j = lower ? k : n - 1 - k, left = n - 1 - k;
		int64_t rest = lower ? j + 1 : 0; /* the first row of those still to do */
		struct ncc_op *x = build_slice(bl, b, 1, lower ? 0 : left, 1);

		if (!unit)
			x = divided(bl, x, part(bl, a, j, 1, j, 1));
		row[j] = x;
		if (!x || !left)
			break;
		b = less_outer(bl, part(bl, b, lower, left, 0, m), part(bl, a, rest, left, j, 1),
			       x);
	}
	return row && b ? build_concat(bl, row, (unsigned int)n, 1) : NULL;
}

struct ncc_op *expand_triangular(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				 const struct ncc_triangle *t)
{
	const struct ncc_shape s = b->shape;
	/* x a = b is a' x' = b'. */
	bool transposed = t->transposed != t->right;

	a = matrices(bl, a, transposed);
	b = matrices(bl, b, t->right);
	if (!a || !b)
		return NULL;
	return back(bl, substitute(bl, a, b, t->lower != transposed, t->unit), t->right, &s);
}

/* A row of a triangle, with zeros in front */
static struct ncc_op *shifted(struct ncc_build *bl, struct ncc_op *x, int64_t n)
{
	int64_t low[3] = { 0 }, high[3] = { 0 };

	if (!x)
		return NULL;
	low[2] = n - x->shape.dim[2];
	return build_pad(bl, x, build_scalar(bl, &x->shape, 0), low, high);
}

/* s32[batch, 1, 1]: k where at is 0 and p holds, else at */
static struct ncc_op *noted(struct ncc_build *bl, struct ncc_op *at, struct ncc_op *p, int64_t k)
{
	struct ncc_op *none =
		at ? build_compare(bl, NCC_EQ, at, build_splat(bl, &at->shape, 0)) : NULL;

	return at ? build_select(bl, build_binary(bl, NCC_AND, none, p),
				 build_splat(bl, &at->shape, (double)k), at)
		  : NULL;
}

static struct ncc_op *nothing_noted(struct ncc_build *bl, const struct ncc_op *x)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 3, .dim = { 1, 1, 1 } };

	s.dim[0] = x->shape.dim[0];
	return build_splat(bl, &s, 0);
}

/*
 * The upper triangle u with u' u = x; only x's upper triangle is read. *bad: the number (from 1) of
 * the first row whose root would be of something that is not positive
 */
static struct ncc_op *factor(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **bad)
{
	static const uint8_t map[3] = { 0, 2, 1 };
	int64_t n = x->shape.dim[1];
	struct ncc_op **row = ncc_alloc(bl->m, (size_t)n * sizeof(struct ncc_op *));

	*bad = nothing_noted(bl, x);
	for (int64_t k = 0; row && x && k < n; k++) {
		int64_t left = n - 1 - k;
		struct ncc_op *d = part(bl, x, 0, 1, 0, 1), *fine, *u, *rest;

		if (!d)
			return NULL;
		fine = build_compare(bl, NCC_GT, d, build_splat(bl, &d->shape, 0));
		fine = build_unary(bl, NCC_NOT, fine);
		*bad = noted(bl, *bad, fine, k + 1);
		d = build_unary(bl, NCC_SQRT, d);
		u = divided(bl, build_slice(bl, x, 1, 0, 1), d);
		row[k] = shifted(bl, u, n);
		if (!row[k])
			return NULL;
		if (!left)
			break;
		rest = build_slice(bl, u, 2, 1, left);
		x = less_outer(bl, part(bl, x, 1, left, 1, left), build_transpose(bl, rest, map),
			       rest);
	}
	return row && x ? build_concat(bl, row, (unsigned int)n, 1) : NULL;
}

/* [batch, 1, 1], or a list of them, as [batch dimensions..., n] */
static struct ncc_op *listed(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s,
			     int64_t n)
{
	struct ncc_shape to = *s;

	to.ndim -= 2;
	if (n)
		to.dim[to.ndim++] = n;
	return build_reshape(bl, x, &to);
}

struct ncc_op *expand_cholesky(struct ncc_build *bl, struct ncc_op *x, bool lower,
			       struct ncc_op **bad)
{
	const struct ncc_shape s = x->shape;

	x = matrices(bl, x, lower);
	x = x ? factor(bl, x, bad) : NULL;
	*bad = x ? listed(bl, *bad, &s, 0) : NULL;
	return back(bl, x, lower, &s);
}

/* x reduced over some of its dimensions, which become 1 */
static struct ncc_op *reduced(struct ncc_build *bl, struct ncc_op *x, enum ncc_kind func,
			      uint32_t mask, double init)
{
	struct ncc_shape s;

	if (!x)
		return NULL;
	s = x->shape;
	for (unsigned int d = 0; d < s.ndim; d++)
		s.dim[d] = mask >> d & 1 ? 1 : s.dim[d];
	x = build_reduce_from(bl, x, build_scalar(bl, &x->shape, init), func, mask);
	return build_reshape(bl, x, &s);
}

/*
 * s32[batch, 1, 1]: the index of a column's largest element, the first of equal ones; 0 if that is
 * NaN
 */
static struct ncc_op *largest(struct ncc_build *bl, struct ncc_op *column, struct ncc_op *count)
{
	int64_t rows = column->shape.dim[1];
	struct ncc_op *a = build_unary(bl, NCC_ABS, column), *p, *at;

	p = over(bl, reduced(bl, a, NCC_MAX, 6, 0), rows, 1);
	p = p ? build_compare(bl, NCC_EQ, a, p) : NULL;
	at = build_select(bl, p, count, build_splat(bl, &count->shape, (double)rows));
	at = reduced(bl, at, NCC_MIN, 6, (double)rows);
	if (!at)
		return NULL;
	p = build_compare(bl, NCC_LT, at, build_splat(bl, &at->shape, (double)rows));
	return build_select(bl, p, at, build_splat(bl, &at->shape, 0));
}

/*
 * The rest of a factorization: the rows of the matrix that are left, whole, the current one first
 */
struct elimination {
	struct ncc_build *bl;
	struct ncc_op *x;
	struct ncc_op *row; /* the row that comes first, once it is found */
	struct ncc_op *pivot; /* s32: the number (from 1) that it had */
	struct ncc_op *bad; /* s32: the first row, from 1 on, that begins with 0 */
};

/* Exchanges the first row with the one that has the largest element in column k. */
static int take_pivot(struct elimination *e, int64_t k)
{
	struct ncc_build *bl = e->bl;
	int64_t rows = e->x->shape.dim[1], n = e->x->shape.dim[2];
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 3, .dim = { 1, rows, 1 } };
	static const uint8_t of_row = 1;
	struct ncc_op *count = build_count(bl, rows), *at, *hit, *all, *first;

	s.dim[0] = e->x->shape.dim[0];
	count = build_spread(bl, &s, count, &of_row);
	first = build_slice(bl, e->x, 2, k, 1);
	at = count && first ? largest(bl, first, count) : NULL;
	hit = at ? build_compare(bl, NCC_EQ, count, over(bl, at, rows, 1)) : NULL;
	all = over(bl, hit, rows, n);
	e->row = reduced(bl, build_select(bl, all, e->x, build_splat(bl, &e->x->shape, 0)), NCC_ADD,
			 2, 0);
	if (!e->row)
		return -ENOMEM;
	e->pivot = build_binary(bl, NCC_ADD, at, build_splat(bl, &at->shape, (double)(k + 1)));
	if (rows == 1) {
		e->x = NULL;
		return 0;
	}

	first = over(bl, build_slice(bl, e->x, 1, 0, 1), rows - 1, n);
	e->x = build_select(bl, build_slice(bl, all, 1, 1, rows - 1), first,
			    build_slice(bl, e->x, 1, 1, rows - 1));
	return e->x ? 0 : -ENOMEM;
}

/*
 * Turns column k of the other rows into factors, and subtracts the first row times its factor from
 * each.
 */
static int eliminate(struct elimination *e, int64_t k)
{
	struct ncc_build *bl = e->bl;
	int64_t n = e->row->shape.dim[2], left = n - 1 - k, rows;
	struct ncc_op *d = build_slice(bl, e->row, 2, k, 1), *zero, *column, *piece[3];
	unsigned int np = 0;

	zero = d ? build_compare(bl, NCC_EQ, d, build_splat(bl, &d->shape, 0)) : NULL;
	e->bad = noted(bl, e->bad, zero, k + 1);
	if (!zero || !e->bad)
		return -ENOMEM;
	if (!e->x)
		return 0;

	rows = e->x->shape.dim[1];
	column = build_slice(bl, e->x, 2, k, 1);
	column = build_select(bl, over(bl, zero, rows, 1), column, divided(bl, column, d));
	if (k)
		piece[np++] = build_slice(bl, e->x, 2, 0, k);
	piece[np++] = column;
	if (left)
		piece[np++] = less_outer(bl, build_slice(bl, e->x, 2, k + 1, left), column,
					 build_slice(bl, e->row, 2, k + 1, left));
	e->x = build_concat(bl, piece, np, 2);
	return e->x ? 0 : -ENOMEM;
}

struct ncc_op *expand_lu(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **pivots,
			 struct ncc_op **bad)
{
	const struct ncc_shape s = x->shape;
	struct elimination e = { .bl = bl, .x = matrices(bl, x, false) };
	int64_t m = s.dim[s.ndim - 2], n = s.dim[s.ndim - 1], steps = m < n ? m : n;
	struct ncc_op **row = ncc_alloc(bl->m, (size_t)(steps + 1) * sizeof(struct ncc_op *));
	struct ncc_op **pivot = ncc_alloc(bl->m, (size_t)steps * sizeof(struct ncc_op *));

	if (!row || !pivot || !e.x)
		return NULL;
	e.bad = nothing_noted(bl, e.x);
	for (int64_t k = 0; k < steps; k++) {
		if (take_pivot(&e, k) || eliminate(&e, k))
			return NULL;
		row[k] = e.row;
		pivot[k] = e.pivot;
	}
	row[steps] = e.x;
	x = build_concat(bl, row, (unsigned int)steps + (m > n), 1);
	*pivots = listed(bl, build_concat(bl, pivot, (unsigned int)steps, 1), &s, steps);
	*bad = listed(bl, e.bad, &s, 0);
	return back(bl, x, false, &s);
}
