// SPDX-License-Identifier: MIT
/*
 * Rows of matrices combined with updates. What POOL combines (sums, extremes, replacements) lies in
 * lines (lines.h), or, if there are far fewer updates than rows, the rows that updates hit are
 * fetched, combined in such lines and moved back. Rows that replace others may be moved at once
 * (NCC_SCATTER). Updates of another operation are combined one after the other. Called by scatter.c.
 */
#include "updates.h"

#include <errno.h>
#include <string.h>

#include "lines.h"
#include "portions.h"

#define MOST 2048 /* updates that are combined one after the other */
#define MOST_TABLES 64 /* more rows are not moved */
#define TABLE (NCC_MAX_TABLE - 1) /* rows; one number more stands for none */
#define MOST_PARTS 1024 /* of a line */
#define EXACT (1ll << 24) /* whole numbers up to it are fp32 */

static int64_t rows_of(const struct scatter *s)
{
	return s->x[0]->shape.dim[1];
}

static int64_t columns_of(const struct scatter *s)
{
	return s->x[0]->shape.dim[2];
}

/* Moving rows */

static bool can_move(const struct scatter *s)
{
	return s->x[0]->shape.dim[0] * rows_of(s) <= MOST_TABLES * (int64_t)TABLE;
}

/* The row of n, from lo on of all matrices, that each update replaces; n: none. s32[updates] */
static struct ncc_op *targets(const struct scatter *s, int64_t lo, int64_t n)
{
	int64_t shared = s->x[0]->shape.dim[0];
	struct ncc_shape flat = { .ndim = 1, .dim = { shared * s->slices } };
	struct ncc_op *at = NULL, *row = s->row, *outside;
	const uint8_t map = 0;

	outside = build_compare(s->bl, NCC_LT, row, build_splat(s->bl, &row->shape, 0));
	if (shared > 1) {
		at = build_number(s->bl, NCC_MUL, build_count(s->bl, shared), (double)rows_of(s));
		row = build_binary(s->bl, NCC_ADD, row,
				   at ? build_spread(s->bl, &row->shape, at, &map) : NULL);
	}
	if (lo && row) {
		row = build_number(s->bl, NCC_SUB, row, (double)lo);
		outside = build_binary(s->bl, NCC_OR, outside,
				       row ? build_compare(s->bl, NCC_LT, row,
							   build_splat(s->bl, &row->shape, 0))
					   : NULL);
	}
	if (!row)
		return NULL;
	row = build_select(s->bl, outside, build_splat(s->bl, &row->shape, (double)n), row);
	return build_reshape(s->bl, build_number(s->bl, NCC_MIN, row, (double)n), &flat);
}

/* The n rows of a table from lo on, updated */
static struct ncc_op *move_part(const struct scatter *s, struct ncc_op *x, struct ncc_op *u,
				int64_t lo, int64_t n)
{
	struct ncc_op *row = targets(s, lo, n);

	x = build_slice(s->bl, x, 0, lo, n);
	return x && row ? build_node(s->bl, NCC_SCATTER, &x->shape, x, row, u) : NULL;
}

static struct ncc_op *move_rows(const struct scatter *s, struct ncc_op *u);

/* In how many tables the rows lie, each of which takes every update */
static int64_t tables(const struct scatter *s)
{
	return (s->x[0]->shape.dim[0] * rows_of(s) + TABLE - 1) / TABLE;
}

/* x, of all matrices, with its rows replaced by some of the updates */
static struct ncc_op *move_portion(const void *opaque, struct ncc_op *x, struct ncc_op *row,
				   struct ncc_op *u)
{
	const struct scatter *all = opaque;
	struct ncc_shape table = { .ndim = 3, .dim = { 1, 0, columns_of(all) } };
	struct ncc_shape flat = { .ndim = 2, .dim = { 1 } };
	struct scatter s = *all;

	if (!x || !row)
		return NULL;
	table.dim[1] = x->shape.dim[0];
	flat.dim[1] = s.slices = row->shape.dim[0];
	s.x[0] = build_reshape(s.bl, x, &table);
	s.row = build_reshape(s.bl, row, &flat);
	if (!s.x[0] || !s.row)
		return NULL;
	return build_reshape(s.bl, move_rows(&s, u), &x->shape);
}

/* x with its rows replaced by u, of the updates' shape, in order */
static struct ncc_op *move_rows(const struct scatter *s, struct ncc_op *u)
{
	struct ncc_shape flat = { .ndim = 2, .dim = { 0, columns_of(s) } };
	int64_t all = s->x[0]->shape.dim[0] * rows_of(s), n = 0, each;
	struct ncc_op *x, *part[MOST_TABLES];

	flat.dim[0] = all;
	x = build_reshape(s->bl, s->x[0], &flat);
	flat.dim[0] = s->x[0]->shape.dim[0] * s->slices;
	u = build_reshape(s->bl, u, &flat);
	if (!x || !u)
		return NULL;
	each = portions_each(s->bl, flat.dim[0], tables(s));
	if (each < flat.dim[0]) {
		const struct portions_updates p = { x, targets(s, 0, all), u, all, move_portion, s };

		return build_reshape(s->bl, portions_update(s->bl, &p, each), &s->x[0]->shape);
	}
	for (int64_t lo = 0; lo < all; lo += TABLE) {
		part[n] = move_part(s, x, u, lo, all - lo < TABLE ? all - lo : TABLE);
		if (!part[n++])
			return NULL;
	}
	x = n > 1 ? build_concat(s->bl, part, (unsigned int)n, 0) : part[0];
	return build_reshape(s->bl, x, &s->x[0]->shape);
}

/* Combining in lines */

static struct ncc_op *in_lines(const struct scatter *s)
{
	struct ncc_op *x = lines_of(s->bl, s->x[0]), *u = lines_of(s->bl, s->u[0]), *row = s->row;

	if (s->place && x && lines_parts(x->shape.dim[1]) == 1)
		row = s->place;
	row = columns_of(s) > 1 ? lines_places(s->bl, row, rows_of(s)) : row;
	x = lines_combine(s->bl, x, row, u,
			  s->c->by == NCC_COMBINE_SECOND ? NCC_SELECT : s->c->kind);
	return lines_back(s->bl, x, s->x[0]->shape.dim[0], rows_of(s), columns_of(s));
}

/*
 * s32[1, updates]: of all updates of a row the number of the last one, for each of them; -1 for an
 * update that hits none. row: [1, updates], among those of all matrices
 */
static struct ncc_op *last_of_row(const struct scatter *s, struct ncc_op *row,
				  struct ncc_op *number)
{
	struct ncc_shape line = { .dtype = NEURON_DT_INT32, .ndim = 2, .dim = { 1 } };
	struct ncc_op *last, *none;

	line.dim[1] = s->x[0]->shape.dim[0] * rows_of(s);
	last = lines_combine(s->bl, build_splat(s->bl, &line, 0), row, number, NCC_SELECT);
	last = lines_take(s->bl, last, row);
	none = build_compare(s->bl, NCC_LT, row, build_splat(s->bl, &row->shape, 0));
	return build_select(s->bl, none, build_splat(s->bl, &row->shape, -1), last);
}

/* The rows that the updates hit, in the updates' shape; where they hit none it does not matter */
static struct ncc_op *fetch_rows(const struct scatter *s)
{
	double same;

	if (ncc_scalar_value(s->x[0], &same))
		return build_cast(s->bl, build_splat(s->bl, &s->u[0]->shape, same),
				  s->x[0]->shape.dtype);
	return expand_choose_rows(s->bl, s->x[0],
				  expand_clamp_index(s->bl, s->row, rows_of(s) - 1));
}

/*
 * Combines the rows that updates hit, all with the last update of each, and moves them in order, so
 * that it is that one which stays. All updates are one matrix, [1, updates, columns].
 */
static struct ncc_op *in_rows(const struct scatter *s)
{
	struct ncc_shape all = { .ndim = 3, .dim = { 1, 0, columns_of(s) } };
	struct ncc_shape flat = { .ndim = 2, .dim = { 1 } };
	struct ncc_op *row = lines_places(s->bl, s->row, rows_of(s)), *number, *last, *x, *u;

	all.dim[1] = flat.dim[1] = s->x[0]->shape.dim[0] * s->slices;
	number = build_reshape(s->bl, build_count(s->bl, flat.dim[1]), &flat);
	last = row && number ? last_of_row(s, row, number) : NULL;
	x = lines_of(s->bl, build_reshape(s->bl, fetch_rows(s), &all));
	u = lines_of(s->bl, build_reshape(s->bl, s->u[0], &all));
	x = lines_back(s->bl, lines_combine(s->bl, x, last, u, s->c->kind), 1, all.dim[1],
		       all.dim[2]);
	return x ? move_rows(s, build_reshape(s->bl, x, &s->u[0]->shape)) : NULL;
}

/* The time that each way takes */

static double time_of_lines(const struct scatter *s)
{
	double columns = (double)columns_of(s), shared = (double)s->x[0]->shape.dim[0];
	double updates = shared * (double)s->slices * columns;
	double elements = shared * (double)rows_of(s) * columns;
	int64_t n = rows_of(s) * (columns > 1 ? s->x[0]->shape.dim[0] : 1);

	return (double)lines_parts(n) * (LINES_OPERATION + updates * LINES_PLACE) +
	       (columns > 1 ? LINES_TURN : LINES_COPY) * (updates + 2 * elements);
}

static double time_of_rows(const struct scatter *s)
{
	double rows = (double)s->x[0]->shape.dim[0] * (double)s->slices;
	double bytes = (double)columns_of(s) * ncc_dtype_size(s->x[0]->shape.dtype);

	rows *= s->bl->m->most_rows ? (double)tables(s) : 1;
	return LINES_OPERATION + rows * (LINES_ROW + LINES_BYTE * bytes) +
	       2 * LINES_COPY * (double)ncc_elems(&s->x[0]->shape);
}

#define FEW_OPERATIONS 16 /* that find the last update of each row */

/* Rows are fetched and moved back, and combined between. */
static double time_of_some(const struct scatter *s)
{
	double updates = (double)s->x[0]->shape.dim[0] * (double)s->slices;
	double parts = (double)lines_parts(s->x[0]->shape.dim[0] * rows_of(s));

	return 2 * time_of_rows(s) - 2 * LINES_COPY * (double)ncc_elems(&s->x[0]->shape) +
	       updates * (double)columns_of(s) * (LINES_PLACE + 3 * LINES_TURN) +
	       FEW_OPERATIONS * LINES_OPERATION +
	       parts * (2 * updates * LINES_PLACE + 2 * LINES_OPERATION);
}

static bool has_lines(const struct scatter *s)
{
	return lines_parts(s->x[0]->shape.dim[0] * rows_of(s)) <= MOST_PARTS;
}

/*
 * Does POOL combine them? Then those of a type that it has not become of one that holds them:
 * floats are fp32 until all are combined.
 */
static bool widen(struct scatter *s, struct ncc_combine *c)
{
	const struct ncc_shape *x = &s->x[0]->shape;
	bool to_max = c->kind == NCC_MAX || (x->pred && c->kind == NCC_OR);
	bool to_min = c->kind == NCC_MIN || (x->pred && c->kind == NCC_AND);
	uint8_t dtype = ncc_is_float(x->dtype) ? NEURON_DT_FP32 : NEURON_DT_INT32;

	if (s->n > 1 || c->by == NCC_COMBINE_FN)
		return false;
	if (c->by == NCC_COMBINE_SECOND)
		return true;
	if (!to_max && !to_min && (c->kind != NCC_ADD || x->pred))
		return false;
	c->kind = to_max ? NCC_MAX : to_min ? NCC_MIN : NCC_ADD;
	s->c = c;
	if (ncc_dtype_size(x->dtype) == 4)
		return true;
	s->x[0] = build_cast(s->bl, s->x[0], dtype);
	s->u[0] = build_cast(s->bl, s->u[0], dtype);
	return true;
}

static struct ncc_op *narrow(const struct scatter *s, struct ncc_op *r, const struct ncc_shape *to)
{
	if (r && to->pred)
		return r->shape.pred
			       ? r
			       : build_compare(s->bl, NCC_NE, r, build_splat(s->bl, &r->shape, 0));
	return build_cast(s->bl, r, to->dtype);
}

/* In lines, or, if a loop does not take longer, as rows that are moved */
static struct ncc_op *at_once(const struct scatter *s)
{
	const bool replaces = s->c->by == NCC_COMBINE_SECOND;
	const double lines = time_of_lines(s), rows = replaces ? time_of_rows(s) : time_of_some(s);

	if (!can_move(s) || (rows >= lines && has_lines(s)))
		return in_lines(s);
	return replaces ? move_rows(s, s->u[0]) : in_rows(s);
}

/* One matrix combined with a portion of the updates, none of which has the number behind the last */
static struct ncc_op *combine_portion(const void *opaque, struct ncc_op *x, struct ncc_op *row,
				      struct ncc_op *u)
{
	struct scatter s = *(const struct scatter *)opaque;
	struct ncc_shape flat = { .ndim = 2, .dim = { 1 } };
	struct ncc_shape table = { .ndim = 3, .dim = { 1, 0, columns_of(&s) } };
	struct ncc_op *none;

	if (!x || !row || !u)
		return NULL;
	table.dim[1] = x->shape.dim[0];
	s.x[0] = build_reshape(s.bl, x, &table);
	flat.dim[1] = table.dim[1] = s.slices = row->shape.dim[0];
	s.u[0] = build_reshape(s.bl, u, &table);
	none = build_compare(s.bl, NCC_GE, row,
			     build_splat(s.bl, &row->shape, (double)x->shape.dim[0]));
	row = build_select(s.bl, none, build_splat(s.bl, &row->shape, -1), row);
	s.row = build_reshape(s.bl, row, &flat);
	s.place = NULL;
	if (!s.x[0] || !s.u[0] || !s.row)
		return NULL;
	return build_reshape(s.bl, at_once(&s), &x->shape);
}

/* All updates; those of a module that bounds them portion by portion, in one matrix */
static struct ncc_op *in_portions(const struct scatter *s)
{
	const int64_t shared = s->x[0]->shape.dim[0], all = shared * rows_of(s);
	const int64_t n = shared * s->slices, each = portions_each(s->bl, n, 1);
	struct ncc_shape flat = { .ndim = 2, .dim = { all, columns_of(s) } };
	struct portions_updates p = { .none = all, .apply = combine_portion, .opaque = s };

	if (each >= n)
		return at_once(s);
	p.x = build_reshape(s->bl, s->x[0], &flat);
	flat.dim[0] = n;
	p.u = build_reshape(s->bl, s->u[0], &flat);
	p.row = targets(s, 0, all);
	return build_reshape(s->bl, portions_update(s->bl, &p, each), &s->x[0]->shape);
}

/* Combines with all updates at once; NULL as *out: that is not possible */
static int all_at_once(const struct scatter *given, struct ncc_op **out)
{
	struct ncc_combine c = *given->c;
	struct scatter s = *given;
	bool replaces = c.by == NCC_COMBINE_SECOND;

	*out = NULL;
	if (!widen(&s, &c))
		return 0;
	if (!s.x[0] || !s.u[0])
		return -ENOMEM;
	if (!has_lines(&s) && !(replaces && can_move(&s)))
		return 0;
	*out = in_portions(&s);
	*out = narrow(&s, *out, &given->x[0]->shape);
	return *out ? 0 : -ENOMEM;
}

/* One after the other */

int updates_combine(const struct scatter *s, struct ncc_op **a, struct ncc_op *const *b)
{
	if (s->c->by == NCC_COMBINE_FN)
		return s->c->fn(s->c->opaque, a, b);
	a[0] = s->c->by == NCC_COMBINE_SECOND ? b[0] : build_binary(s->bl, s->c->kind, a[0], b[0]);
	return a[0] ? 0 : -ENOMEM;
}

/* Index k of dimension 1 of v, [shared, n] or [shared, n, columns], broadcast to x's shape */
static struct ncc_op *spread_one(const struct scatter *s, struct ncc_op *v, unsigned int d,
				 int64_t k, const uint8_t *map)
{
	struct ncc_shape shape = { 0 }, to = s->x[0]->shape;

	v = build_slice(s->bl, v, d, k, 1);
	if (!v)
		return NULL;
	for (unsigned int i = 0; i < v->shape.ndim; i++)
		if (i != d)
			shape.dim[shape.ndim++] = v->shape.dim[i];
	v = build_reshape(s->bl, v, &shape);
	if (!v)
		return NULL;
	to.dtype = v->shape.dtype;
	to.pred = v->shape.pred;
	return build_spread(s->bl, &to, v, map);
}

/* Applies update k to x where it hits. */
static int one_update(const struct scatter *s, struct ncc_op *hit, int64_t k, struct ncc_op **x)
{
	static const uint8_t of_hit[2] = { 0, 1 }, of_update[2] = { 0, 2 };
	struct ncc_op *p = spread_one(s, hit, 2, k, of_hit), *u[NCC_MANY], *r[NCC_MANY];
	int rc;

	for (unsigned int i = 0; i < s->n; i++) {
		r[i] = x[i];
		u[i] = spread_one(s, s->u[i], 1, k, of_update);
		if (!p || !u[i])
			return -ENOMEM;
	}
	rc = updates_combine(s, r, u);
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		x[i] = build_select(s->bl, p, r[i], x[i]);
		rc = x[i] ? 0 : -ENOMEM;
	}
	return rc;
}

/* pred[shared, rows, slices]: does an update hit a row? */
static struct ncc_op *compare_with_all(const struct scatter *s)
{
	const uint8_t of_row[2] = { 0, 2 }, of_count = 1;
	struct ncc_op *number = build_count(s->bl, rows_of(s)), *row = s->row;
	struct ncc_shape all = { .ndim = 3, .dim = { 0, rows_of(s), s->slices } };

	if (rows_of(s) <= EXACT) { /* floats are compared as they are */
		row = build_cast(s->bl, row, NEURON_DT_FP32);
		number = build_cast(s->bl, number, NEURON_DT_FP32);
	}
	if (!row || !number)
		return NULL;
	all.dim[0] = row->shape.dim[0];
	all.dtype = row->shape.dtype;
	return build_compare(s->bl, NCC_EQ, build_spread(s->bl, &all, row, of_row),
			     build_spread(s->bl, &all, number, &of_count));
}

static int one_by_one(const struct scatter *s, struct ncc_op **out)
{
	struct ncc_op *hit = compare_with_all(s);
	int rc = hit ? 0 : -ENOMEM;

	memcpy(out, s->x, s->n * sizeof(out[0]));
	for (int64_t k = 0; !rc && k < s->slices; k++)
		rc = one_update(s, hit, k, out);
	return rc;
}

/* Many, two by two */

#define MOST_SPREAD (1ll << 24) /* elements of the updates of some slices, spread over all rows */

/* The updates' common result: of every row, if one of them hits it */
struct together {
	struct ncc_op *hit, *u[NCC_MANY]; /* [shared, rows, updates, columns] */
};

/* The updates of n slices from lo on, each for every row */
static int spread_slices(const struct scatter *s, struct ncc_op *hit, int64_t lo, int64_t n,
			 struct together *t)
{
	static const uint8_t of_hit[3] = { 0, 1, 2 }, of_update[3] = { 0, 2, 3 };
	struct ncc_shape to = { .ndim = 4,
				.dim = { s->x[0]->shape.dim[0], rows_of(s), n, columns_of(s) } };

	to.dtype = NEURON_DT_INT8;
	to.pred = true;
	hit = build_slice(s->bl, hit, 2, lo, n);
	t->hit = hit ? build_spread(s->bl, &to, hit, of_hit) : NULL;
	for (unsigned int i = 0; t->hit && i < s->n; i++) {
		struct ncc_op *u = build_slice(s->bl, s->u[i], 1, lo, n);

		to.dtype = u ? u->shape.dtype : 0;
		to.pred = u && u->shape.pred;
		t->u[i] = u ? build_spread(s->bl, &to, u, of_update) : NULL;
		if (!t->u[i])
			return -ENOMEM;
	}
	return t->hit ? 0 : -ENOMEM;
}

/* Every second of n updates, from lo on */
static struct ncc_op *every_second(const struct scatter *s, struct ncc_op *x, int64_t lo, int64_t n)
{
	struct ncc_op *r = x && x->shape.dim[2] > 1 ? build_slice(s->bl, x, 2, lo, n) : NULL;

	if (r)
		r->stride[2] = n > 1 ? 2 : 1;
	return r;
}

/* Each update with the one behind it; the last one of an odd number stays. */
static int combine_pairs(const struct scatter *s, struct together *t)
{
	const int64_t all = t->hit->shape.dim[2], n = all / 2;
	struct ncc_op *a[NCC_MANY], *b[NCC_MANY], *both[NCC_MANY], *hit[2], *last[2];
	int rc;

	hit[0] = every_second(s, t->hit, 0, n);
	hit[1] = every_second(s, t->hit, 1, n);
	for (unsigned int i = 0; i < s->n; i++) {
		both[i] = a[i] = every_second(s, t->u[i], 0, n);
		b[i] = every_second(s, t->u[i], 1, n);
		if (!a[i] || !b[i])
			return -ENOMEM;
	}
	rc = hit[0] && hit[1] ? updates_combine(s, both, b) : -ENOMEM;
	for (unsigned int i = 0; !rc && i < s->n; i++) {
		last[0] = build_select(s->bl, hit[1], build_select(s->bl, hit[0], both[i], b[i]),
				       a[i]);
		last[1] = build_slice(s->bl, t->u[i], 2, all - 1, 1);
		t->u[i] = build_concat(s->bl, last, 1 + all % 2, 2);
		rc = t->u[i] ? 0 : -ENOMEM;
	}
	last[0] = rc ? NULL : build_binary(s->bl, NCC_OR, hit[0], hit[1]);
	last[1] = build_slice(s->bl, t->hit, 2, all - 1, 1);
	t->hit = build_concat(s->bl, last, 1 + all % 2, 2);
	return t->hit ? 0 : -ENOMEM;
}

static int in_trees(const struct scatter *s, int64_t each, struct ncc_op **out)
{
	struct ncc_op *all = compare_with_all(s), *r[NCC_MANY];
	struct together t;
	int rc = all ? 0 : -ENOMEM;

	memcpy(out, s->x, s->n * sizeof(out[0]));
	for (int64_t lo = 0; !rc && lo < s->slices; lo += each) {
		rc = spread_slices(s, all, lo, s->slices - lo < each ? s->slices - lo : each, &t);
		while (!rc && t.hit->shape.dim[2] > 1)
			rc = combine_pairs(s, &t);
		memcpy(r, out, s->n * sizeof(r[0]));
		for (unsigned int i = 0; !rc && i < s->n; i++)
			t.u[i] = build_reshape(s->bl, t.u[i], &s->x[i]->shape);
		t.hit = rc ? NULL : build_reshape(s->bl, t.hit, &s->x[0]->shape);
		rc = t.hit ? updates_combine(s, r, t.u) : -ENOMEM;
		for (unsigned int i = 0; !rc && i < s->n; i++) {
			out[i] = build_select(s->bl, t.hit, r[i], out[i]);
			rc = out[i] ? 0 : -ENOMEM;
		}
	}
	return rc;
}

int updates_apply(const struct scatter *s, struct ncc_op **out)
{
	int64_t each = MOST_SPREAD / (ncc_elems(&s->x[0]->shape));
	int rc = all_at_once(s, out);

	if (rc || *out)
		return rc;
	if (s->slices <= MOST)
		return one_by_one(s, out);
	each = each > 1 ? each : 1;
	if (s->slices / each <= MOST)
		return in_trees(s, each, out);
	return build_fail(s->bl, -ENOTSUP,
			  "%lld updates of %lld elements are more than are supported of this "
			  "operation",
			  (long long)s->slices, (long long)ncc_elems(&s->x[0]->shape));
}

/* One part of a tensor */

#define FEWEST_MOVED 8192 /* elements of a tensor whose rows are moved */
#define MOST_MOVED 4096 /* rows of the part */

/* The leading dimensions that are numbers of rows: behind them the part has all elements. */
static unsigned int row_dims(const struct ncc_shape *x, const struct ncc_shape *u)
{
	unsigned int n = x->ndim;

	while (n && x->dim[n - 1] == u->dim[n - 1])
		n--;
	return n;
}

static int64_t rows_in(const struct ncc_shape *s, unsigned int n)
{
	int64_t rows = 1;

	for (unsigned int d = 0; d < n; d++)
		rows *= s->dim[d];
	return rows;
}

bool expand_has_update(const struct ncc_shape *x, const struct ncc_shape *u)
{
	unsigned int n = row_dims(x, u);

	return ncc_elems(x) >= FEWEST_MOVED && rows_in(x, n) <= TABLE &&
	       rows_in(u, n) <= MOST_MOVED;
}

/* The row of x that each row of u would be if all starts that are not constant were 0 */
static struct ncc_op *row_numbers(struct ncc_build *bl, const struct ncc_shape *x,
				  const struct ncc_shape *u, const int64_t *at, unsigned int n)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { rows_in(u, n) } };
	struct ncc_op *c = build_const(bl, &s);

	for (int64_t i = 0; c && i < s.dim[0]; i++) {
		int64_t row = 0, rest = i, step = 1;

		for (unsigned int d = n; d--;) {
			row += step * (at[d] + rest % u->dim[d]);
			rest /= u->dim[d];
			step *= x->dim[d];
		}
		ncc_set(s.dtype, c->data, i, (double)row);
	}
	return c;
}

struct ncc_op *expand_update(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *u,
			     struct ncc_op *const *start, const int64_t *at)
{
	unsigned int n = row_dims(&x->shape, &u->shape);
	struct ncc_op *row = row_numbers(bl, &x->shape, &u->shape, at, n), *base = NULL;
	struct ncc_shape table = { .ndim = 2, .dim = { rows_in(&x->shape, n) } }, s = x->shape;
	int64_t step = 1;

	for (unsigned int d = n; d--; step *= s.dim[d]) {
		struct ncc_op *from =
			start[d] ? build_number(bl, NCC_MUL, start[d], (double)step) : NULL;

		if (start[d])
			base = base ? build_binary(bl, NCC_ADD, base, from) : from;
	}
	if (base && row)
		row = build_binary(bl, NCC_ADD, row, build_spread(bl, &row->shape, base, NULL));
	table.dim[1] = table.dim[0] ? ncc_elems(&s) / table.dim[0] : 0;
	x = build_reshape(bl, x, &table);
	table.dim[0] = rows_in(&u->shape, n);
	u = build_reshape(bl, u, &table);
	if (!x || !u || !row)
		return NULL;
	x = build_node(bl, NCC_SCATTER, &x->shape, x, row, u);
	return build_reshape(bl, x, &s);
}
