// SPDX-License-Identifier: MIT
/*
 * Reflections of Householder, in LAPACK's form: h = 1 - tau v v', v begins with k zeros and 1, and
 * turns column k of what the ones before it left into beta and zeros. One of them is made, or
 * applied, in each iteration of a loop. Columns of matrices are rows here (rows.h).
 */
#include "rows.h"

static struct ncc_op *yes(struct ncc_build *bl)
{
	struct ncc_op *c = ncc_const_scalar(bl->m, NEURON_DT_INT8, 1);

	if (c)
		c->shape.pred = true;
	return c;
}

static struct ncc_op *number(struct ncc_build *bl, double v)
{
	return ncc_const_scalar(bl->m, NEURON_DT_FP32, v);
}

/* The values of a reflection during its iteration, each [rows, 1] */
struct reflection {
	struct ncc_op *alpha, *beta, *tau;
	struct ncc_op *scale; /* v is this times the column below its first element */
};

static void reflect(struct ncc_build *bl, struct reflection *r, struct ncc_op *rest)
{
	struct ncc_op *square = build_binary(bl, NCC_MUL, r->alpha, r->alpha), *some, *d;

	some = rows_is(bl, NCC_NE, rest, 0);
	r->beta = build_unary(bl, NCC_SQRT, build_binary(bl, NCC_ADD, square, rest));
	r->beta = build_select(bl, rows_is(bl, NCC_GE, r->alpha, 0),
			       build_unary(bl, NCC_NEG, r->beta), r->beta);
	r->beta = build_select(bl, some, r->beta, r->alpha);
	d = build_binary(bl, NCC_SUB, r->alpha, r->beta);
	r->tau = build_binary(bl, NCC_DIV, build_unary(bl, NCC_NEG, d),
			      rows_else(bl, some, r->beta, 1));
	r->scale = d ? build_binary(bl, NCC_DIV, build_splat(bl, &d->shape, 1),
				    rows_else(bl, some, d, 1))
		     : NULL;
	r->scale = rows_else(bl, some, r->scale, 0);
	r->tau = rows_else(bl, some, r->tau, 0);
}

struct factoring {
	struct ncc_build *bl;
	int64_t rows, m; /* of all matrices; elements of each */
	struct ncc_op *row, *base, *place;
};

/*
 * Makes reflection k of x, whose elements k and on lie first and those before them last, and steps
 * on to the next one. Its own row keeps the reflector.
 */
static struct ncc_op *reflect_rows(struct factoring *f, struct ncc_op *x, struct ncc_op *k,
				   struct ncc_op **tau)
{
	struct ncc_build *bl = f->bl;
	int64_t w = f->m - 1;
	struct ncc_op *at = rows_all(bl, k, f->rows), *column, *rest, *a, *left, *own, *u, *change;
	struct reflection r;

	column = rows_fetch(bl, x, build_binary(bl, NCC_ADD, f->base, at));
	left = build_number(bl, NCC_ADD, build_unary(bl, NCC_NEG, at), (double)w);
	u = rows_else(bl, build_compare(bl, NCC_LT, f->place, rows_spread(bl, left, w)),
		      rows_columns(bl, column, 1, w), 0);
	r.alpha = rows_columns(bl, column, 0, 1);
	reflect(bl, &r, rows_dot(bl, u, u));

	a = rows_columns(bl, x, 0, 1);
	rest = rows_columns(bl, x, 1, w);
	change = build_binary(bl, NCC_MUL, r.scale, rows_dot(bl, u, rest));
	change = build_binary(bl, NCC_MUL, r.tau, build_binary(bl, NCC_ADD, a, change));
	change = rows_else(bl, build_compare(bl, NCC_GT, f->row, at), change, 0);

	own = build_compare(bl, NCC_EQ, f->row, at);
	*tau = build_select(bl, own, r.tau, *tau);
	a = build_select(bl, own, r.beta, build_binary(bl, NCC_SUB, a, change));
	change = rows_times(bl, u, build_binary(bl, NCC_MUL, change, r.scale));
	left = rows_spread(bl, rows_else(bl, own, left, 0), w);
	rest = build_select(bl, build_compare(bl, NCC_LT, f->place, left),
			    rows_times(bl, u, r.scale), build_binary(bl, NCC_SUB, rest, change));
	return rows_beside(bl, rest, a);
}

static struct ncc_op *factor(struct factoring *f, struct ncc_op *x, int64_t steps,
			     struct ncc_op *go, struct ncc_op **tau)
{
	struct ncc_build *bl = f->bl;
	struct ncc_op *loop = build_loop(bl, go ? go : yes(bl)), *state[3], *next[3], *end;

	state[0] = build_state(bl, loop, x);
	state[1] = build_state(bl, loop, build_number(bl, NCC_MUL, f->row, 0));
	state[2] = build_state(bl, loop, number(bl, 0));
	next[1] = state[1];
	next[0] = reflect_rows(f, state[0], state[2], &next[1]);
	next[2] = build_number(bl, NCC_ADD, state[2], 1);
	end = build_loop_end(bl, loop, rows_is(bl, NCC_LT, next[2], (double)steps), state, next, 3);
	*tau = end ? build_loop_result(bl, end, state[1]) : NULL;
	return end ? build_loop_result(bl, end, state[0]) : NULL;
}

struct ncc_op *rows_reflectors(struct ncc_build *bl, struct ncc_op *x, int64_t batch,
			       struct ncc_op *go, struct ncc_op **tau)
{
	struct factoring f = { .bl = bl };
	struct ncc_op *scale, *row;
	int64_t n, steps;

	if (!x)
		return NULL;
	f.rows = x->shape.dim[0];
	f.m = x->shape.dim[1];
	n = f.rows / batch;
	steps = n < f.m ? n : f.m;
	f.row = rows_number(bl, batch, n);
	f.base = rows_base(bl, batch, n, n);
	*tau = build_number(bl, NCC_MUL, f.row, 0);
	if (f.m == 1)
		return x;

	f.place = rows_place(bl, f.rows, f.m - 1);
	scale = rows_power(bl, rows_largest(bl, x));
	x = scale ? rows_times(bl, x,
			       build_binary(bl, NCC_DIV, build_splat(bl, &scale->shape, 1), scale))
		  : NULL;
	x = factor(&f, x, steps, go, tau);
	if (steps < f.m)
		x = rows_beside(bl, rows_columns(bl, x, f.m - steps, steps),
				rows_columns(bl, x, 0, f.m - steps));

	row = rows_spread(bl, f.row, f.m);
	return build_select(bl, build_compare(bl, NCC_LE, rows_place(bl, f.rows, f.m), row),
			    rows_times(bl, x, scale), x);
}

/* The reflectors in full, with tau after each */
static struct ncc_op *unpacked(struct ncc_build *bl, struct ncc_op *packed, struct ncc_op *tau,
			       int64_t batch)
{
	int64_t rows = packed->shape.dim[0], m = packed->shape.dim[1];
	struct ncc_op *place = rows_place(bl, rows, m), *v;
	struct ncc_op *row = rows_spread(bl, rows_number(bl, batch, rows / batch), m);

	v = build_cast(bl, build_compare(bl, NCC_EQ, place, row), NEURON_DT_FP32);
	v = build_select(bl, build_compare(bl, NCC_GT, place, row), packed, v);
	return rows_beside(bl, v, tau);
}

struct ncc_op *rows_reflected(struct ncc_build *bl, struct ncc_op *y, struct ncc_op *packed,
			      struct ncc_op *tau, int64_t batch, int64_t k, struct ncc_op *go,
			      bool forward)
{
	struct ncc_op *loop, *state[2], *next[2], *v, *t, *base, *end, *again;
	int64_t rows, m, among;

	if (!y || !packed || !tau)
		return NULL;
	rows = y->shape.dim[0];
	m = y->shape.dim[1];
	among = packed->shape.dim[0] / batch;
	t = unpacked(bl, packed, tau, batch);
	base = rows_base(bl, batch, rows / batch, among);
	loop = build_loop(bl, go ? go : yes(bl));
	state[0] = build_state(bl, loop, y);
	state[1] = build_state(bl, loop, number(bl, forward ? 0 : (double)(k - 1)));

	t = rows_fetch(bl, t, build_binary(bl, NCC_ADD, base, rows_all(bl, state[1], rows)));
	v = rows_columns(bl, t, 0, m);
	t = rows_columns(bl, t, m, 1);
	t = build_binary(bl, NCC_MUL, t, rows_dot(bl, v, state[0]));
	next[0] = build_binary(bl, NCC_SUB, state[0], rows_times(bl, v, t));
	next[1] = build_number(bl, NCC_ADD, state[1], forward ? 1 : -1);
	again = rows_is(bl, forward ? NCC_LT : NCC_GE, next[1], forward ? (double)k : 0);
	end = build_loop_end(bl, loop, again, state, next, 2);
	return end ? build_loop_result(bl, end, state[0]) : NULL;
}

static struct ncc_op *list_back(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s,
				int64_t n)
{
	struct ncc_shape to = *s;

	to.ndim--;
	to.dim[to.ndim - 1] = n;
	return build_cast(bl, build_reshape(bl, x, &to), s->dtype);
}

struct ncc_op *expand_qr(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **tau)
{
	const struct ncc_shape s = x->shape;
	int64_t m = s.dim[s.ndim - 2], n = s.dim[s.ndim - 1], batch = ncc_elems(&s) / (m * n);
	int64_t k = m < n ? m : n;

	x = rows_reflectors(bl, rows_of(bl, x, true), batch, NULL, tau);
	*tau = list_back(bl, x ? rows_cut(bl, *tau, batch, 0, k) : NULL, &s, k);
	return rows_back(bl, x, true, &s);
}

struct ncc_op *expand_reflect(struct ncc_build *bl, struct ncc_op *packed, struct ncc_op *tau,
			      struct ncc_op *y, bool left, bool forward)
{
	const struct ncc_shape s = y ? y->shape : packed->shape;
	int64_t k = tau->shape.dim[tau->shape.ndim - 1], batch = ncc_elems(&tau->shape) / k;
	int64_t m = packed->shape.dim[s.ndim - 2], n = packed->shape.dim[s.ndim - 1];

	tau = rows_as(bl, build_cast(bl, tau, NEURON_DT_FP32), batch * k, 1);
	packed = rows_cut(bl, rows_of(bl, packed, true), batch, 0, k);
	if (y)
		y = rows_of(bl, y, left);
	else
		y = rows_cut(bl, rows_identity(bl, batch, m), batch, 0, n);
	return rows_back(bl, rows_reflected(bl, y, packed, tau, batch, k, NULL, forward), left, &s);
}
