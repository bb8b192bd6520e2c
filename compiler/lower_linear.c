// SPDX-License-Identifier: MIT
/*
 * Triangular systems and factors of matrices, row by row in fp32 without products of the tensor
 * engine: sums of products keep fp32's bits whatever --auto-cast says. Matrices are [batch, rows,
 * columns] here. Called by the front ends.
 */
#include <errno.h>
#include <string.h>

#include "build.h"

static struct ncc_op *op2(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			  struct ncc_op *b)
{
	return a && b ? build_node(bl, kind, &a->shape, a, b, NULL) : NULL;
}

/* [batch, rows, columns] in fp32, turned if asked to */
static struct ncc_op *matrices(struct ncc_build *bl, struct ncc_op *x, bool turned)
{
	static const uint8_t map[3] = { 0, 2, 1 };
	const struct ncc_shape *s = &x->shape;
	struct ncc_shape flat = { .ndim = 3,
				  .dim = { 1, s->dim[s->ndim - 2], s->dim[s->ndim - 1] } };

	for (unsigned int i = 0; i + 2 < s->ndim; i++)
		flat.dim[0] *= s->dim[i];
	x = build_reshape(bl, build_cast(bl, x, NEURON_DT_FP32), &flat);
	return turned ? build_transpose(bl, x, map) : x;
}

/* The reverse, of shape s */
static struct ncc_op *back(struct ncc_build *bl, struct ncc_op *x, bool turned,
			   const struct ncc_shape *s)
{
	static const uint8_t map[3] = { 0, 2, 1 };

	if (turned)
		x = build_transpose(bl, x, map);
	return build_cast(bl, build_reshape(bl, x, s), s->dtype);
}

/* x, of one row or one column or both, over rows times columns */
static struct ncc_op *over(struct ncc_build *bl, struct ncc_op *x, int64_t rows, int64_t columns)
{
	struct ncc_shape to = { .dtype = NEURON_DT_FP32, .ndim = 3 }, kept = { 0 };
	uint8_t map[3] = { 0 };

	if (!x)
		return NULL;
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

/* x - column * row, of its rows and columns */
static struct ncc_op *less_outer(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *column,
				 struct ncc_op *row)
{
	int64_t n, m;

	if (!x)
		return NULL;
	n = x->shape.dim[1];
	m = x->shape.dim[2];
	return op2(bl, NCC_SUB, x, op2(bl, NCC_MUL, over(bl, column, n, m), over(bl, row, n, m)));
}

/* x / d, d one number of each matrix */
static struct ncc_op *divided(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *d)
{
	return x ? op2(bl, NCC_DIV, x, over(bl, d, x->shape.dim[1], x->shape.dim[2])) : NULL;
}

/*
 * Rows of the unknown, one after the other; what each contributes is taken from the rest of the
 * right side. The last row comes first of an upper triangle.
 */
static struct ncc_op *substitute(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				 bool lower, bool unit)
{
	int64_t n = a->shape.dim[1], m = b->shape.dim[2];
	struct ncc_op **row = ncc_alloc(bl->m, (size_t)n * sizeof(struct ncc_op *));

	for (int64_t k = 0; row && b && k < n; k++) {
		int64_t j = lower ? k : n - 1 - k, left = n - 1 - k;
		int64_t rest = lower ? j + 1 : 0; /* the rows after this one, or before it */
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

struct ncc_op *lower_triangular(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				const struct ncc_triangle *t)
{
	const struct ncc_shape s = b->shape;
	/* x a = b is a' x' = b' */
	bool turned = t->transposed != t->right;

	a = matrices(bl, a, turned);
	b = matrices(bl, b, t->right);
	if (!a || !b)
		return NULL;
	return back(bl, substitute(bl, a, b, t->lower != turned, t->unit), t->right, &s);
}

/* A row of a triangle with zeros in front */
static struct ncc_op *shifted(struct ncc_build *bl, struct ncc_op *x, int64_t n)
{
	struct ncc_op *zero = ncc_const_scalar(bl->m, NEURON_DT_FP32, 0), *op;
	struct ncc_shape s;

	if (!x || !zero || x->shape.dim[2] == n)
		return zero ? x : NULL;
	s = x->shape;
	s.dim[2] = n;
	op = build_node(bl, NCC_PAD, &s, x, zero, NULL);
	if (op)
		op->low[2] = n - x->shape.dim[2];
	return op;
}

/* The upper triangle u of u' u = x, of which only the upper triangle is read */
static struct ncc_op *factor(struct ncc_build *bl, struct ncc_op *x)
{
	int64_t n = x->shape.dim[1];
	struct ncc_op **row = ncc_alloc(bl->m, (size_t)n * sizeof(struct ncc_op *));
	static const uint8_t map[3] = { 0, 2, 1 };

	for (int64_t k = 0; row && x && k < n; k++) {
		int64_t left = n - 1 - k;
		struct ncc_op *d = part(bl, x, 0, 1, 0, 1), *u, *rest;

		d = d ? build_node(bl, NCC_SQRT, &d->shape, d, NULL, NULL) : NULL;
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

struct ncc_op *lower_cholesky(struct ncc_build *bl, struct ncc_op *x, bool lower)
{
	const struct ncc_shape s = x->shape;

	x = matrices(bl, x, lower);
	return x ? back(bl, factor(bl, x), lower, &s) : NULL;
}
