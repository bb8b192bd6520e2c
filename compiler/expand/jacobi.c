// SPDX-License-Identifier: MIT
/*
 * Symmetric eigenproblems and singular values by rotations of Jacobi. Rows of all matrices are
 * rotated in pairs at once, one set of pairs in each iteration of a loop; a sweep of n - 1 of these
 * rounds has all pairs, and the last one is the first that leaves nothing. See rows.h.
 *
 * Singular values (Hestenes): the rows w of j a, j orthogonal, are rotated until they are
 * orthogonal to each other; their lengths are the values. Eigenvalues: the rows of v and of w = v a
 * are rotated until v a v' is diagonal.
 */
#include "rows.h"

#include <math.h>

#define MOST_SWEEPS 30 /* 5 to 10 are usual */
#define EPSILON 0x1p-23
#define TINY 0x1p-120 /* next to any number that matters */

struct jacobi {
	struct ncc_build *bl;
	bool symmetric;
	int64_t batch, n; /* n: rows of each matrix, an even number */
	int64_t w, all; /* columns of w; and of all that is rotated, w first, or v and then w */
	int64_t rows; /* of all matrices */
	struct ncc_op *floor; /* [rows, 1]: what is nothing to the matrix */
};

/* A row's own data behind what is rotated, so that an iteration fetches it as a whole */
enum {
	SQUARE, /* what it has in common with itself: a square of its length, or an eigenvalue */
	EXCESS, /* the largest excess() of it in this sweep */
	TANGENT, /* and the largest tangent of an angle by which it was rotated */
	PARTNER, /* the row that it is paired with in this round, before that is corrected */
	CHANGES, /* the columns up to here change */
	OWN = CHANGES, /* the number of the row in its matrix */
	LAST, /* the number of the matrix's last row */
	BASE, /* the number of the matrix's first row among all rows */
	STRIDE, /* of the partner's number from round to round */
	FLOOR,
	CARRIED,
};

static struct ncc_op *carried(const struct jacobi *t, struct ncc_op *x, int which)
{
	return rows_columns(t->bl, x, t->all + which, 1);
}

/* What two rows have in common: of v and w, the mean of both ways, with the same bits for both rows
 */
static struct ncc_op *common(const struct jacobi *t, struct ncc_op *x, struct ncc_op *y)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *v = rows_columns(bl, x, 0, t->w), *sum;

	if (!t->symmetric)
		return rows_dot(bl, v, rows_columns(bl, y, 0, t->w));
	if (x == y)
		return rows_dot(bl, v, rows_columns(bl, y, t->w, t->w));
	sum = build_binary(bl, NCC_ADD,
			   build_binary(bl, NCC_MUL, v, rows_columns(bl, y, t->w, t->w)),
			   build_binary(bl, NCC_MUL, rows_columns(bl, y, 0, t->w),
					rows_columns(bl, x, t->w, t->w)));
	return build_number(bl, NCC_MUL, rows_sum(bl, sum), 0.5);
}

/*
 * In round r of n - 1, row i is paired with j if i + j = r modulo n - 1. The one that would be
 * paired with itself is paired with the last row.
 */
static struct ncc_op *partners(const struct jacobi *t, struct ncc_op *x)
{
	struct ncc_op *p = carried(t, x, PARTNER);

	return build_select(t->bl, build_compare(t->bl, NCC_EQ, p, carried(t, x, OWN)),
			    carried(t, x, LAST), p);
}

static struct ncc_op *next_partners(const struct jacobi *t, struct ncc_op *x)
{
	struct ncc_build *bl = t->bl;
	double rounds = (double)(t->n - 1);
	struct ncc_op *p = build_binary(bl, NCC_ADD, carried(t, x, PARTNER), carried(t, x, STRIDE));
	struct ncc_op *over = build_cast(bl, rows_is(bl, NCC_GE, p, rounds), NEURON_DT_FP32);

	return build_binary(bl, NCC_SUB, p, build_number(bl, NCC_MUL, over, rounds));
}

/* Is g, which rows with squares (or eigenvalues) a and b share, more than rounding errors? */
static struct ncc_op *excess(const struct jacobi *t, struct ncc_op *a, struct ncc_op *b,
			     struct ncc_op *g, struct ncc_op *floor)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *most, *p;

	g = build_unary(bl, NCC_ABS, g);
	if (t->symmetric) {
		most = build_binary(bl, NCC_MAX, build_unary(bl, NCC_ABS, a),
				    build_unary(bl, NCC_ABS, b));
		most = build_binary(bl, NCC_ADD, most, floor);
		most = build_number(bl, NCC_MAX, build_number(bl, NCC_MUL, most, 2 * EPSILON),
				    TINY);
		return build_binary(bl, NCC_DIV, g, most);
	}
	most = build_unary(bl, NCC_SQRT, build_binary(bl, NCC_MUL, a, b));
	most = build_number(bl, NCC_MAX, build_number(bl, NCC_MUL, most, 4 * EPSILON), TINY);
	p = build_compare(bl, NCC_GT, build_binary(bl, NCC_MIN, a, b), floor);
	return build_binary(bl, NCC_MUL, build_binary(bl, NCC_DIV, g, most),
			    build_cast(bl, p, NEURON_DT_FP32));
}

/*
 * The tangent of the angle by which a row is rotated with its partner, whose square is greater by
 * d; if it is not, the first of the two has a positive one: away is the partner's number minus its
 * own.
 */
static struct ncc_op *tangent(struct ncc_build *bl, struct ncc_op *d, struct ncc_op *g,
			      struct ncc_op *away)
{
	struct ncc_op *twice = build_number(bl, NCC_MUL, g, 2), *root;

	d = build_binary(bl, NCC_ADD, d, build_number(bl, NCC_MUL, away, TINY));
	root = build_binary(bl, NCC_ADD, build_binary(bl, NCC_MUL, d, d),
			    build_binary(bl, NCC_MUL, twice, twice));
	root = build_binary(bl, NCC_ADD, build_unary(bl, NCC_ABS, d),
			    build_unary(bl, NCC_SQRT, root));
	twice = build_binary(bl, NCC_MUL, twice, build_unary(bl, NCC_SIGN, d));
	return build_binary(bl, NCC_DIV, twice, build_number(bl, NCC_MAX, root, TINY));
}

/*
 * Rotates x, [rows, all], with y: cosine x - sine y. What is subtracted, (1 - cosine) x + sine y,
 * is small if the angle is, and so is its error.
 */
static struct ncc_op *rotated(const struct jacobi *t, struct ncc_op *x, struct ncc_op *y,
			      struct ncc_op *tan)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *cos = build_number(bl, NCC_ADD, build_binary(bl, NCC_MUL, tan, tan), 1),
		      *sin;

	cos = cos ? build_binary(bl, NCC_DIV, build_splat(bl, &cos->shape, 1),
				 build_unary(bl, NCC_SQRT, cos))
		  : NULL;
	sin = build_binary(bl, NCC_MUL, tan, cos);
	cos = build_binary(bl, NCC_DIV, build_binary(bl, NCC_MUL, sin, sin),
			   build_number(bl, NCC_ADD, cos, 1));
	y = build_binary(bl, NCC_ADD, rows_times(bl, x, cos), rows_times(bl, y, sin));
	return build_binary(bl, NCC_SUB, x, y);
}

/* The rows after one round */
static struct ncc_op *played(const struct jacobi *t, struct ncc_op *table)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *at = rows_number(bl, 1, t->rows), *own, *other, *x, *y, *g, *tan, *p;
	struct ncc_op *column[6], *a, *b;

	own = rows_fetch(bl, table, at);
	p = partners(t, own);
	other = rows_fetch(bl, table, build_binary(bl, NCC_ADD, carried(t, own, BASE), p));
	x = rows_columns(bl, own, 0, t->all);
	y = rows_columns(bl, other, 0, t->all);
	a = carried(t, own, SQUARE);
	b = carried(t, other, SQUARE);
	g = common(t, x, y);
	tan = tangent(bl, build_binary(bl, NCC_SUB, b, a), g,
		      build_binary(bl, NCC_SUB, p, carried(t, own, OWN)));
	column[0] = rotated(t, x, y, tan);
	column[1] = build_binary(bl, NCC_SUB, a, build_binary(bl, NCC_MUL, tan, g));
	if (!t->symmetric) /* a square, whatever rounding says */
		column[1] = build_number(bl, NCC_MAX, column[1], 0);
	column[2] = excess(t, a, b, g, carried(t, own, FLOOR));
	column[2] = build_binary(bl, NCC_MAX, carried(t, own, EXCESS), column[2]);
	column[3] =
		build_binary(bl, NCC_MAX, carried(t, own, TANGENT), build_unary(bl, NCC_ABS, tan));
	column[4] = next_partners(t, own);
	column[5] = rows_columns(bl, own, t->all + CHANGES, CARRIED - CHANGES);
	return build_concat(bl, column, 6, 1);
}

/* Rows and what they carry before the first round of a sweep, in which the last's partner is row 0 */
static struct ncc_op *begun(const struct jacobi *t, struct ncc_op *x)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *column[CARRIED], *own = rows_number(bl, t->batch, t->n), *last, *p;

	if (!own)
		return NULL;
	last = build_splat(bl, &own->shape, (double)(t->n - 1));
	p = rows_is(bl, NCC_EQ, own, (double)(t->n - 1));
	column[SQUARE] = common(t, x, x);
	column[EXCESS] = column[TANGENT] = build_splat(bl, &own->shape, 0);
	column[PARTNER] = build_select(bl, rows_is(bl, NCC_EQ, own, 0), own,
				       build_binary(bl, NCC_SUB, last, own));
	column[OWN] = own;
	column[LAST] = last;
	column[BASE] = rows_base(bl, t->batch, t->n, t->n);
	column[STRIDE] = build_select(bl, p, build_splat(bl, &own->shape, (double)(t->n / 2)),
				      build_splat(bl, &own->shape, 1));
	column[FLOOR] = t->floor;
	return rows_beside(bl, x, build_concat(bl, column, CARRIED, 1));
}

/* One sweep */
static struct ncc_op *swept(const struct jacobi *t, struct ncc_op *x)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *zero = ncc_const_scalar(bl->m, NEURON_DT_FP32, 0);
	struct ncc_op *loop = build_loop(bl, rows_is(bl, NCC_GE, zero, 0)), *state[2], *next[2];

	state[0] = build_state(bl, loop, begun(t, x));
	state[1] = build_state(bl, loop, zero);
	next[0] = played(t, state[0]);
	next[1] = build_number(bl, NCC_ADD, state[1], 1);
	loop = build_loop_end(bl, loop, rows_is(bl, NCC_LT, next[1], (double)(t->n - 1)), state,
			      next, 2);
	return loop ? build_loop_result(bl, loop, state[0]) : NULL;
}

/*
 * Did a sweep leave too much? Each pair has nothing in common right after its rotation; it gets
 * back at most what the others had, times the tangents of the angles of their rotations.
 */
static struct ncc_op *leaves(const struct jacobi *t, struct ncc_op *x)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *tan = x ? rows_most(bl, carried(t, x, TANGENT)) : NULL;

	tan = build_number(bl, NCC_MIN, build_number(bl, NCC_MUL, tan, 8), 1);
	x = x ? rows_most(bl, carried(t, x, EXCESS)) : NULL;
	return rows_is(bl, NCC_GT, build_binary(bl, NCC_MUL, x, tan), 1);
}

/* x with its rows rotated until they have nothing in common, and their squares or eigenvalues */
static struct ncc_op *sweeps(const struct jacobi *t, struct ncc_op *x)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *zero = ncc_const_scalar(bl->m, NEURON_DT_FP32, 0), *loop;
	struct ncc_op *state[2], *next[2], *go;

	if (t->n > 1) {
		loop = build_loop(bl, rows_is(bl, NCC_GE, zero, 0));
		state[0] = build_state(bl, loop, x);
		state[1] = build_state(bl, loop, zero);
		x = swept(t, state[0]);
		next[0] = x ? rows_columns(bl, x, 0, t->all) : NULL;
		next[1] = build_number(bl, NCC_ADD, state[1], 1);
		go = build_binary(bl, NCC_AND, leaves(t, x),
				  rows_is(bl, NCC_LT, next[1], MOST_SWEEPS));
		loop = build_loop_end(bl, loop, go, state, next, 2);
		x = loop ? build_loop_result(bl, loop, state[0]) : NULL;
	}
	return rows_beside(bl, x, common(t, x, x));
}

/* Reshapes x so that each matrix is one row */
static struct ncc_op *by_matrix(struct ncc_build *bl, struct ncc_op *x, int64_t batch)
{
	return x ? rows_as(bl, x, batch, ncc_elems(&x->shape) / batch) : NULL;
}

/* Are all elements of each matrix finite? s32[batch]: 0, else 1 */
static struct ncc_op *fault(struct ncc_build *bl, struct ncc_op *x, int64_t batch)
{
	struct ncc_op *p = expand_is_finite(bl, x), *r;

	p = build_unary(bl, NCC_NOT, p);
	r = rows_largest(bl, by_matrix(bl, build_cast(bl, p, NEURON_DT_FP32), batch));
	return build_cast(bl, r, NEURON_DT_INT32);
}

/* Adds a row and, if wide, a column of zeros to each matrix that has an odd number of rows */
static struct ncc_op *made_even(struct ncc_build *bl, struct ncc_op *x, int64_t batch, bool wide)
{
	const int64_t low[3] = { 0 }, high[3] = { 0, 1, wide };
	struct ncc_shape s = { .ndim = 3, .dim = { batch } };

	if (!x || x->shape.dim[0] / batch % 2 == 0 || x->shape.dim[0] == batch)
		return x;
	s.dim[1] = x->shape.dim[0] / batch;
	s.dim[2] = x->shape.dim[1];
	x = build_pad(bl, build_reshape(bl, x, &s), build_scalar(bl, &x->shape, 0), low, high);
	return rows_as(bl, x, batch * (s.dim[1] + 1), s.dim[2] + wide);
}

/*
 * Scales each matrix by a power of two, so that its largest element is 1 to 2; *scale: [batch, 1].
 * What is not finite is left out: all matrices of a batch are rotated until nothing is left in any,
 * which NaN would end.
 */
static struct ncc_op *scaled(struct ncc_build *bl, struct ncc_op *x, int64_t batch,
			     struct ncc_op **scale)
{
	struct ncc_op *one;

	x = x ? rows_else(bl, expand_is_finite(bl, x), x, 0) : NULL;
	*scale = rows_power(bl, rows_largest(bl, by_matrix(bl, x, batch)));
	if (!*scale)
		return NULL;
	one = build_binary(bl, NCC_DIV, build_splat(bl, &(*scale)->shape, 1), *scale);
	return rows_times(bl, x, rows_each(bl, one, x->shape.dim[0] / batch));
}

/* The first n rows of each matrix in order of key, [rows, 1] */
static struct ncc_op *ordered(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *key,
			      int64_t batch, int64_t n, bool descending)
{
	struct ncc_op *place = expand_order(bl, by_matrix(bl, key, batch), n, descending);
	struct ncc_op *base;

	if (!place || !x)
		return NULL;
	base = rows_base(bl, batch, n, x->shape.dim[0] / batch);
	place = rows_as(bl, build_cast(bl, place, NEURON_DT_FP32), batch * n, 1);
	return rows_fetch(bl, x, build_binary(bl, NCC_ADD, base, place));
}

static struct ncc_op *list_of(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *scale,
			      const struct ncc_shape *s, int64_t n)
{
	struct ncc_shape to = *s;

	to.ndim--;
	to.dim[to.ndim - 1] = n;
	x = build_binary(bl, NCC_MUL, x, rows_each(bl, scale, n));
	return build_cast(bl, build_reshape(bl, x, &to), s->dtype);
}

static struct ncc_op *fault_of(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s)
{
	struct ncc_shape to = *s;

	to.ndim -= 2;
	return build_reshape(bl, x, &to);
}

/* The square root of a sum of squares of each matrix, for each row, divided by that of n */
static struct ncc_op *mean_length(struct ncc_build *bl, struct ncc_op *x, int64_t batch, int64_t n,
				  int64_t rows)
{
	struct ncc_op *a = by_matrix(bl, x, batch);

	a = build_number(bl, NCC_MUL, rows_dot(bl, a, a), 1.0 / (double)n);
	return rows_each(bl, build_unary(bl, NCC_SQRT, a), rows);
}

/* The given triangle of each matrix, in both */
static struct ncc_op *mirrored(struct ncc_build *bl, struct ncc_op *x, bool lower)
{
	int64_t n = x->shape.dim[x->shape.ndim - 1], batch = ncc_elems(&x->shape) / (n * n);
	struct ncc_op *turned = rows_of(bl, x, true), *p;

	p = build_compare(bl, lower ? NCC_LE : NCC_GE, rows_place(bl, batch * n, n),
			  rows_spread(bl, rows_number(bl, batch, n), n));
	return build_select(bl, p, rows_of(bl, x, false), turned);
}

struct ncc_op *expand_eigh(struct ncc_build *bl, struct ncc_op *x, bool lower,
			   struct ncc_op **values, struct ncc_op **bad)
{
	const struct ncc_shape s = x->shape;
	int64_t n = s.dim[s.ndim - 1];
	struct jacobi t = { .bl = bl, .symmetric = true, .batch = ncc_elems(&s) / (n * n) };
	struct ncc_op *scale, *key, *square, *own;

	x = mirrored(bl, x, lower);
	*bad = fault_of(bl, fault(bl, x, t.batch), &s);
	x = made_even(bl, scaled(bl, x, t.batch, &scale), t.batch, true);
	if (!x)
		return NULL;
	t.rows = x->shape.dim[0];
	t.w = t.n = t.rows / t.batch;
	t.all = 2 * t.w;
	t.floor = mean_length(bl, x, t.batch, n, t.n);
	x = sweeps(&t, rows_beside(bl, rows_identity(bl, t.batch, t.n), x));

	square = x ? rows_columns(bl, x, 0, t.w) : NULL;
	square = rows_dot(bl, square, square);
	key = build_binary(bl, NCC_DIV, rows_columns(bl, x, t.all, 1), square);
	square = build_unary(bl, NCC_SQRT, square);
	x = square ? build_binary(bl, NCC_DIV, rows_columns(bl, x, 0, t.w),
				  rows_spread(bl, square, t.w))
		   : NULL;
	own = rows_number(bl, t.batch, t.n);
	if (t.n > n && own) /* the rows that make the number even come last */
		key = build_select(bl, rows_is(bl, NCC_GE, own, (double)n),
				   build_splat(bl, &own->shape, INFINITY), key);
	x = ordered(bl, rows_beside(bl, x, key), key, t.batch, n, false);
	*values = list_of(bl, x ? rows_columns(bl, x, t.w, 1) : NULL, scale, &s, n);
	x = x ? rows_columns(bl, x, 0, n) : NULL;
	return rows_back(bl, x, true, &s);
}

/* A singular value problem a = u s v, of at least as many rows as columns */
struct singular {
	struct ncc_build *bl;
	int64_t batch, m, n;
	struct ncc_op *a; /* the matrices' rows; then j and w */
	struct ncc_op *packed, *tau; /* of the columns of a, if m > n */
	struct ncc_op *length; /* [batch * n, 1] */
	struct ncc_op *scale;
};

/* The rows of the factor r in front of, or on, the diagonal; of the columns that were reflected */
static struct ncc_op *factor(struct singular *t)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *x = rows_columns(bl, t->packed, 0, t->n);
	struct ncc_shape s = { .dtype = NEURON_DT_FP32,
			       .ndim = 3,
			       .dim = { t->batch, t->n, t->n } };
	struct ncc_op *p = build_compare(bl, NCC_LE, rows_place(bl, t->batch * t->n, t->n),
					 rows_spread(bl, rows_number(bl, t->batch, t->n), t->n));

	x = build_reshape(bl, rows_else(bl, p, x, 0), &s);
	return x ? rows_of(bl, x, true) : NULL;
}

/* Leaves [w, j], the longest w first. */
static int make_values(struct singular *t, bool vectors)
{
	struct jacobi j = { .bl = t->bl, .batch = t->batch };
	struct ncc_op *x = made_even(t->bl, t->a, t->batch, false), *square, *one;

	if (!x)
		return -1;
	j.rows = x->shape.dim[0];
	j.n = j.rows / j.batch;
	j.all = j.w = t->n;
	square = mean_length(t->bl, x, t->batch, t->n, j.n);
	square = build_number(t->bl, NCC_MUL, square, EPSILON / 2);
	j.floor = build_binary(t->bl, NCC_MUL, square, square);
	if (vectors) {
		x = rows_beside(t->bl, x, rows_identity(t->bl, j.batch, j.n));
		j.all += j.n;
	}
	x = sweeps(&j, x);
	square = x ? build_unary(t->bl, NCC_SQRT, rows_columns(t->bl, x, j.all, 1)) : NULL;
	if (vectors && x) {
		one = rows_columns(t->bl, x, t->n, j.n);
		one = build_unary(t->bl, NCC_SQRT, rows_dot(t->bl, one, one));
		square = build_binary(t->bl, NCC_DIV, square, one);
		x = one ? build_binary(t->bl, NCC_DIV, x, rows_spread(t->bl, one, j.all + 1))
			: NULL;
	}
	x = x ? rows_columns(t->bl, x, 0, j.all) : NULL;
	t->a = ordered(t->bl, rows_beside(t->bl, x, square), square, t->batch, t->n, true);
	if (!t->a)
		return -1;
	t->length = rows_columns(t->bl, t->a, j.all, 1);
	t->a = rows_columns(t->bl, t->a, 0, vectors ? 2 * t->n : t->n);
	return 0;
}

/*
 * The rows w as vectors of length 1. Where some are too short to tell a direction, all are what
 * reflections make of them, which are orthogonal to each other in any case.
 */
static struct ncc_op *directions(struct singular *t)
{
	struct ncc_build *bl = t->bl;
	struct ncc_op *w = rows_columns(bl, t->a, 0, t->n), *most, *go, *packed, *tau, *q, *sign;

	most = rows_largest(bl, by_matrix(bl, t->length, t->batch));
	most = rows_each(bl, build_number(bl, NCC_MUL, most, EPSILON * (double)t->n), t->n);
	go = most ? build_compare(bl, NCC_LE, t->length, most) : NULL;
	go = rows_is(bl, NCC_GT, rows_most(bl, build_cast(bl, go, NEURON_DT_FP32)), 0);
	packed = rows_reflectors(bl, w, t->batch, go, &tau);

	q = rows_identity(bl, t->batch, t->n);
	sign = rows_is(bl, NCC_LT, rows_dot(bl, packed, q), 0);
	q = build_select(bl, rows_spread(bl, sign, t->n), build_unary(bl, NCC_NEG, q), q);
	q = rows_reflected(bl, q, packed, tau, t->batch, t->n, go, false);
	if (!q || !w)
		return NULL;
	w = build_binary(bl, NCC_DIV, w, rows_spread(bl, t->length, t->n));
	go = rows_spread(bl, rows_all(bl, go, w->shape.dim[0]), t->n);
	return build_select(bl, go, q, w);
}

/* Each row with zeros after it and, if full, rows of the identity that begin there */
static struct ncc_op *extended(struct singular *t, struct ncc_op *x, bool full)
{
	struct ncc_build *bl = t->bl;
	int64_t more = t->m - t->n;
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2 };
	struct ncc_op *below;

	s.dim[0] = t->batch * t->n;
	s.dim[1] = more;
	x = rows_beside(bl, x, build_splat(bl, &s, 0));
	if (!full || !x)
		return x;
	below = rows_cut(bl, rows_identity(bl, t->batch, t->m), t->batch, t->n, more);
	s.ndim = 3;
	s.dim[0] = t->batch;
	s.dim[1] = t->n;
	s.dim[2] = t->m;
	x = build_reshape(bl, x, &s);
	s.dim[1] = more;
	below = build_reshape(bl, below, &s);
	return rows_as(bl, build_concat(bl, (struct ncc_op *[]){ x, below }, 2, 1), t->batch * t->m,
		       t->m);
}

static struct ncc_op *left_vectors(struct singular *t, bool full)
{
	struct ncc_op *u = rows_columns(t->bl, t->a, t->n, t->n);

	if (t->m == t->n)
		return u;
	return rows_reflected(t->bl, extended(t, u, full), t->packed, t->tau, t->batch, t->n, NULL,
			      false);
}

int expand_svd(struct ncc_build *bl, struct ncc_op *x, enum ncc_vectors which, struct ncc_svd *r)
{
	const struct ncc_shape s = x->shape;
	int64_t rows = s.dim[s.ndim - 2], columns = s.dim[s.ndim - 1];
	bool wide = columns > rows;
	struct singular t = { .bl = bl, .batch = ncc_elems(&s) / (rows * columns) };
	struct ncc_shape left = s, right = s;
	struct ncc_op *u, *v;

	t.m = wide ? columns : rows;
	t.n = wide ? rows : columns;
	x = rows_of(bl, x, t.m > t.n && !wide);
	r->bad = fault_of(bl, fault(bl, x, t.batch), &s);
	t.a = scaled(bl, x, t.batch, &t.scale);
	if (t.m > t.n) {
		t.packed = rows_reflectors(bl, t.a, t.batch, NULL, &t.tau);
		t.a = t.packed ? factor(&t) : NULL;
	}
	if (make_values(&t, which != NCC_NO_VECTORS))
		return -1;
	r->values = list_of(bl, t.length, t.scale, &s, t.n);
	if (which == NCC_NO_VECTORS)
		return 0;

	u = left_vectors(&t, which == NCC_ALL_VECTORS);
	v = directions(&t);
	left.dim[s.ndim - 1] = which == NCC_ALL_VECTORS ? rows : t.n;
	right.dim[s.ndim - 2] = which == NCC_ALL_VECTORS ? columns : t.n;
	r->u = u && v ? rows_back(bl, wide ? v : u, true, &left) : NULL;
	r->v = u && v ? rows_back(bl, wide ? u : v, false, &right) : NULL;
	return 0;
}
