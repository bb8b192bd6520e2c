// SPDX-License-Identifier: MIT
/*
 * Tridiagonal systems by elimination with partial pivoting, as LAPACK's gtsv solves them. Each row
 * is unrolled. Called by the HLO front end.
 */
#include "expand.h"

/*
 * A row of the matrix, which elimination has come to: its diagonal and what follows that, [batch,
 * 1], and its right-hand sides, [batch, sides]
 */
struct row {
	struct ncc_op *d, *u, *b;
};

/* The factors: of each row the diagonal, the two elements behind it, and its right-hand sides */
struct factors {
	struct ncc_build *bl;
	struct ncc_op **d, **u, **u2, **b;
	struct ncc_op *bad; /* s32[batch, 1]: the first row, from 1 on, whose pivot is 0 */
	int64_t n;
};

static struct ncc_op *zero_of(struct ncc_build *bl, struct ncc_op *x)
{
	return x ? build_splat(bl, &x->shape, 0) : NULL;
}

/* x[batch, 1] for each of the right-hand sides b */
static struct ncc_op *for_sides(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *b)
{
	const struct ncc_shape one = { .ndim = 1, .dim = { x ? x->shape.dim[0] : 1 } };
	static const uint8_t map[1] = { 0 };
	struct ncc_shape s;

	if (!x || !b)
		return NULL;
	s = b->shape;
	s.dtype = x->shape.dtype;
	s.pred = x->shape.pred;
	return s.dim[1] == 1 ? x : build_spread(bl, &s, build_reshape(bl, x, &one), map);
}

/* a - f c */
static struct ncc_op *less(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *f,
			   struct ncc_op *c)
{
	return build_binary(bl, NCC_SUB, a, build_binary(bl, NCC_MUL, f, c));
}

/* Notes the row i if its pivot, p, is 0, and none before it was. */
static void note(struct factors *f, struct ncc_op *p, int64_t i)
{
	struct ncc_build *bl = f->bl;
	struct ncc_op *zero = p ? build_compare(bl, NCC_EQ, p, zero_of(bl, p)) : NULL;
	struct ncc_op *none =
		f->bad ? build_compare(bl, NCC_EQ, f->bad, zero_of(bl, f->bad)) : NULL;
	struct ncc_op *number = f->bad ? build_splat(bl, &f->bad->shape, (double)(i + 1)) : NULL;

	f->bad = build_select(bl, build_binary(bl, NCC_AND, zero, none), number, f->bad);
}

/* Eliminates l, which is below r's diagonal, from the next row, or exchanges them before. */
static void eliminate(struct factors *f, int64_t i, struct row *r, struct ncc_op *l,
		      const struct row *next)
{
	struct ncc_build *bl = f->bl;
	struct ncc_op *keep, *keep_b, *factor, *low, *u;

	keep = r->d && l ? build_compare(bl, NCC_GE,
					 build_node(bl, NCC_ABS, &r->d->shape, r->d, NULL, NULL),
					 build_unary(bl, NCC_ABS, l))
			 : NULL;
	keep_b = for_sides(bl, keep, r->b);
	f->d[i] = build_select(bl, keep, r->d, l);
	note(f, f->d[i], i);
	factor = build_binary(bl, NCC_DIV, build_select(bl, keep, l, r->d), f->d[i]);
	f->u[i] = build_select(bl, keep, r->u, next->d);
	low = build_select(bl, keep, next->d, r->u);
	r->d = less(bl, low, factor, f->u[i]);
	f->u2[i] = build_select(bl, keep, zero_of(bl, next->u), next->u);
	u = less(bl, zero_of(bl, next->u), factor, next->u);
	r->u = build_select(bl, keep, next->u, u);
	f->b[i] = build_select(bl, keep_b, r->b, next->b);
	low = build_select(bl, keep_b, next->b, r->b);
	r->b = less(bl, low, for_sides(bl, factor, r->b), f->b[i]);
}

/* Substitutes backwards, from the last row on; b becomes the solution. */
static void substitute(struct factors *f)
{
	struct ncc_build *bl = f->bl;

	for (int64_t i = f->n; i-- > 0;) {
		struct ncc_op *x = f->b[i];

		if (i + 1 < f->n)
			x = less(bl, x, for_sides(bl, f->u[i], x), f->b[i + 1]);
		if (i + 2 < f->n)
			x = less(bl, x, for_sides(bl, f->u2[i], x), f->b[i + 2]);
		f->b[i] = build_binary(bl, NCC_DIV, x, for_sides(bl, f->d[i], x));
	}
}

static struct row row_of(struct ncc_build *bl, const struct ncc_tridiagonal *t, struct ncc_op *b,
			 int64_t i)
{
	struct ncc_shape s = b->shape;

	s.ndim = 2;
	s.dim[1] = s.dim[2];
	return (struct row){ build_slice(bl, t->d, 1, i, 1), build_slice(bl, t->upper, 1, i, 1),
			     build_reshape(bl, build_slice(bl, b, 1, i, 1), &s) };
}

static int make_room(struct factors *f)
{
	struct ncc_op ***list[] = { &f->d, &f->u, &f->u2, &f->b };

	for (unsigned int i = 0; i < 4; i++) {
		*list[i] = ncc_alloc(f->bl->m, (size_t)f->n * sizeof(struct ncc_op *));
		if (!*list[i])
			return -1;
	}
	return 0;
}

/* The factors' diagonals in the places of the matrix's; what is not one stays as it was. */
static struct ncc_op *joined(struct factors *f, struct ncc_op **list, const struct ncc_shape *s)
{
	return build_reshape(f->bl, build_concat(f->bl, list, (unsigned int)f->n, 1), s);
}

struct ncc_op *expand_tridiagonal(struct ncc_build *bl, struct ncc_tridiagonal *t, struct ncc_op *b)
{
	const struct ncc_shape line = t->d->shape, sides = b->shape;
	const int64_t n = line.dim[line.ndim - 1], m = sides.dim[sides.ndim - 1];
	const int64_t batch = ncc_elems(&line) / n;
	struct ncc_shape two = { .ndim = 2, .dim = { batch, n } };
	struct ncc_shape three = { .ndim = 3, .dim = { batch, n, m } };
	struct ncc_shape numbers = { .dtype = NEURON_DT_INT32, .ndim = 2, .dim = { batch, 1 } };
	struct factors f = { .bl = bl, .n = n, .bad = build_splat(bl, &numbers, 0) };
	struct row r;

	t->lower = build_reshape(bl, t->lower, &two);
	t->d = build_reshape(bl, t->d, &two);
	t->upper = build_reshape(bl, t->upper, &two);
	b = build_reshape(bl, b, &three);
	if (make_room(&f) || !t->lower || !t->d || !t->upper || !b)
		return NULL;
	r = row_of(bl, t, b, 0);
	for (int64_t i = 0; i + 1 < n; i++) {
		struct row next = row_of(bl, t, b, i + 1);

		eliminate(&f, i, &r, build_slice(bl, t->lower, 1, i + 1, 1), &next);
	}
	f.d[n - 1] = r.d;
	f.u[n - 1] = build_slice(bl, t->upper, 1, n - 1, 1);
	f.b[n - 1] = r.b;
	note(&f, r.d, n - 1);
	substitute(&f);
	/* the second diagonal above takes the place of the lower one, but for its ends */
	for (int64_t i = n - 1; i > 0; i--)
		f.u2[i] = i + 1 < n ? f.u2[i - 1] : build_slice(bl, t->lower, 1, i, 1);
	f.u2[0] = build_slice(bl, t->lower, 1, 0, 1);
	t->lower = joined(&f, f.u2, &line);
	t->d = joined(&f, f.d, &line);
	t->upper = joined(&f, f.u, &line);
	numbers = line;
	numbers.ndim--;
	t->bad = build_reshape(bl, f.bad, &numbers);
	return joined(&f, f.b, &sides);
}
