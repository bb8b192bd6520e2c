// SPDX-License-Identifier: MIT
/*
 * Rows of matrices combined with updates. Rows that replace others are moved, in order
 * (NCC_SCATTER). Sums and extremes are found for each row that updates hit: over a matrix of
 * predicates of rows and updates or, if there are far fewer updates than rows, of updates and
 * updates, whose rows are fetched before and moved back after. Few updates, or those of another
 * operation, are combined one after the other. Called by scatter.c.
 */
#include "updates.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "ir/range.h"

#define FEW 16 /* updates are combined one by one, whatever the operation */
#define MOST 2048 /* and at most so many, if there is no other way */
#define MOST_TABLES 64 /* more rows are not moved */
#define TABLE (NCC_MAX_TABLE - 1) /* rows; one number more stands for none */
#define PRODUCTS 16 /* multiply-adds that take as long as one element elsewhere */
#define MOST_MASKED (1ll << 28) /* elements of which those of a row are chosen */

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
	return s->n == 1 && s->slices > FEW &&
	       s->x[0]->shape.dim[0] * rows_of(s) <= MOST_TABLES * (int64_t)TABLE;
}

/* Which of n rows from lo on of all matrices each update replaces; n: none of them. s32[updates] */
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

/* x with its rows replaced by u, of the updates' shape, in order */
static struct ncc_op *move_rows(const struct scatter *s, struct ncc_op *u)
{
	struct ncc_shape flat = { .ndim = 2, .dim = { 0, columns_of(s) } };
	int64_t all = s->x[0]->shape.dim[0] * rows_of(s), n = 0;
	struct ncc_op *x, *part[MOST_TABLES];

	flat.dim[0] = all;
	x = build_reshape(s->bl, s->x[0], &flat);
	flat.dim[0] = s->x[0]->shape.dim[0] * s->slices;
	u = build_reshape(s->bl, u, &flat);
	if (!x || !u)
		return NULL;
	for (int64_t lo = 0; lo < all; lo += TABLE) {
		part[n] = move_part(s, x, u, lo, all - lo < TABLE ? all - lo : TABLE);
		if (!part[n++])
			return NULL;
	}
	x = n > 1 ? build_concat(s->bl, part, (unsigned int)n, 0) : part[0];
	return build_reshape(s->bl, x, &s->x[0]->shape);
}

/* The rows that the updates hit, in the updates' shape; where they hit none it does not matter */
static struct ncc_op *fetch_rows(const struct scatter *s)
{
	struct ncc_op *x = s->x[0], *row = expand_clamp_index(s->bl, s->row, rows_of(s) - 1);
	int64_t shared = x->shape.dim[0];
	double same;

	if (ncc_scalar_value(x, &same))
		return build_cast(s->bl, build_splat(s->bl, &s->u[0]->shape, same), x->shape.dtype);
	if (!expand_has_rows(x, shared, rows_of(s), columns_of(s)))
		return expand_choose(s->bl, expand_one_hot(s->bl, row, rows_of(s)), x, 1, 1);
	return build_reshape(s->bl, expand_rows(s->bl, row, x, shared, rows_of(s)),
			     &s->u[0]->shape);
}

/* Which updates hit which rows */

/*
 * Where updates are added up they are [lanes, each] in place of [slices], so that each partition
 * has some that lie one behind the other.
 */
struct hits {
	int64_t n; /* rows, or updates that stand for the row that each hits */
	int64_t lanes;
	struct ncc_op *hit; /* pred[shared, n, slices] */
	/* For sums bf16 0 or 1, [shared, lanes, each, n / step] and [shared, lanes, each, step] */
	struct ncc_op *high, *low;
	int64_t step;
};

/* x[shared, slices, ...] as [shared, lanes, each, ...] */
static struct ncc_op *in_lanes(const struct scatter *s, struct ncc_op *x, int64_t lanes)
{
	struct ncc_shape to;

	if (!x)
		return NULL;
	to = x->shape;
	for (unsigned int d = to.ndim++; d > 2; d--)
		to.dim[d] = to.dim[d - 1];
	to.dim[2] = to.dim[1] / lanes;
	to.dim[1] = lanes;
	return build_reshape(s->bl, x, &to);
}

/* row, [shared, slices], and number spread over a shape and compared */
static struct ncc_op *compare_rows(const struct scatter *s, const struct ncc_shape *shape,
				   struct ncc_op *row, const uint8_t *of_row, struct ncc_op *number,
				   const uint8_t *of_number)
{
	struct ncc_shape all = *shape;

	row = updates_numbers(s, row);
	number = updates_numbers(s, number);
	if (!row || !number)
		return NULL;
	all.dtype = row->shape.dtype;
	return build_compare(s->bl, NCC_EQ, build_spread(s->bl, &all, row, of_row),
			     build_spread(s->bl, &all, number, of_number));
}

/* pred[shared, n, slices]: does a row of this number hit? */
static struct ncc_op *compare_all(const struct scatter *s, struct ncc_op *number,
				  const uint8_t *of_number, int64_t n)
{
	const struct ncc_shape all = { .ndim = 3, .dim = { s->x[0]->shape.dim[0], n, s->slices } };
	static const uint8_t of_row[2] = { 0, 2 };

	return compare_rows(s, &all, s->row, of_row, number, of_number);
}

/* The same for sums, as numbers: bf16[shared, lanes, each, n] */
static struct ncc_op *compare_lanes(const struct scatter *s, struct ncc_op *row, int64_t lanes,
				    struct ncc_op *number, const uint8_t *of_number, int64_t n)
{
	const struct ncc_shape all = {
		.ndim = 4, .dim = { s->x[0]->shape.dim[0], lanes, s->slices / lanes, n }
	};
	static const uint8_t of_row[3] = { 0, 1, 2 };

	return build_cast(s->bl,
			  compare_rows(s, &all, in_lanes(s, row, lanes), of_row, number, of_number),
			  NEURON_DT_BF16);
}

static struct ncc_op *compare_with_all(const struct scatter *s)
{
	static const uint8_t of_count[1] = { 1 };

	return compare_all(s, build_count(s->bl, rows_of(s)), of_count, rows_of(s));
}

/* Of sums: how many rows have one number of the high part */
static int64_t step_of(const struct scatter *s)
{
	int64_t step = 1;

	while (3 * columns_of(s) * 4 * step * step < rows_of(s))
		step *= 2;
	return step;
}

/*
 * Are there so few updates that it is better to add up those that hit the same row, and to move
 * rows?
 */
static bool moves_sums(const struct scatter *s)
{
	int64_t columns = columns_of(s), step = step_of(s);
	int64_t moved = s->slices + s->slices * columns / PRODUCTS;
	int64_t all = rows_of(s) / step + 3 * step * columns + rows_of(s) * columns / PRODUCTS;

	return moved < all;
}

static bool find_hits(const struct scatter *s, bool moved, struct hits *h)
{
	static const uint8_t of_update[2] = { 0, 1 };

	*h = (struct hits){ .n = moved ? s->slices : rows_of(s), .lanes = 1, .step = 1 };
	h->hit = moved ? compare_all(s, s->row, of_update, h->n) : compare_with_all(s);
	return h->hit;
}

static bool find_lanes(const struct scatter *s, bool moved, struct hits *h)
{
	static const uint8_t of_update[2] = { 0, 3 }, of_count[1] = { 3 };
	int64_t lanes = ncc_even_rows(s->slices), groups;
	struct ncc_op *row = s->row;

	lanes = lanes ? lanes : 1;
	*h = (struct hits){ .n = moved ? s->slices : rows_of(s), .lanes = lanes, .step = 1 };
	if (moved) {
		h->high = compare_lanes(s, row, lanes, row, of_update, h->n);
		return h->high;
	}
	h->step = step_of(s);
	groups = (h->n + h->step - 1) / h->step;
	if (h->step > 1) {
		struct ncc_op *low = build_number(s->bl, NCC_AND, row, (double)(h->step - 1));

		h->low = compare_lanes(s, low, lanes, build_count(s->bl, h->step), of_count,
				       h->step);
		row = build_number(s->bl, NCC_SHR, row, __builtin_ctzll((uint64_t)h->step));
	}
	h->high = compare_lanes(s, row, lanes, build_count(s->bl, groups), of_count, groups);
	return h->high && (h->low || h->step == 1);
}

/*
 * parts[shared, lanes, each, n * columns] in the places of the rows' low parts, and 0 elsewhere:
 * [shared, lanes, each, n * step * columns]
 */
static struct ncc_op *by_low(const struct scatter *s, const struct hits *h, struct ncc_op *parts,
			     int64_t columns)
{
	static const uint8_t of_low[4] = { 0, 1, 2, 4 }, of_part[5] = { 0, 1, 2, 3, 5 };
	struct ncc_shape all, flat, split;

	if (!parts)
		return NULL;
	all = flat = split = parts->shape;
	split.ndim = 5;
	split.dim[3] /= columns;
	split.dim[4] = columns;
	all.ndim = 6;
	all.dim[3] = split.dim[3];
	all.dim[4] = h->step;
	all.dim[5] = columns;
	flat.dim[3] *= h->step;
	parts = build_reshape(s->bl, parts, &split);
	parts = build_binary(s->bl, NCC_MUL, build_spread(s->bl, &all, h->low, of_low),
			     build_spread(s->bl, &all, parts, of_part));
	return build_reshape(s->bl, parts, &flat);
}

/* fp32[shared, n / step, of parts]: the sums of those of the updates that hit each group of rows */
static struct ncc_op *sums(const struct scatter *s, const struct hits *h, struct ncc_op *parts)
{
	struct ncc_shape shape = { .dtype = NEURON_DT_FP32, .ndim = 3 };
	struct ncc_op *r;

	if (!parts)
		return NULL;
	shape.dim[0] = h->high->shape.dim[0];
	shape.dim[1] = h->high->shape.dim[3];
	shape.dim[2] = parts->shape.dim[3];
	r = build_node(s->bl, NCC_DOT, &shape, h->high, parts, NULL);
	if (!r)
		return NULL;
	*r->dot = (struct ncc_dot){ .nbatch = 1, .ncontract = 2 };
	for (unsigned int i = 0; i < 2; i++) {
		r->dot->lhs_contract[i] = (uint8_t)(1 + i);
		r->dot->rhs_contract[i] = (uint8_t)(1 + i);
	}
	return r;
}

#define MOST_PARTS 5 /* of which the sums are found by one product */

/*
 * The sums of n parts, each [shared, lanes, each, columns] and exact in its type:
 * fp32[shared, rows, columns]; false: out of memory
 */
static bool sums_of_parts(const struct scatter *s, const struct hits *h, struct ncc_op **part,
			  unsigned int n)
{
	int64_t columns = columns_of(s), each = h->step * columns;
	struct ncc_shape shape = { .ndim = 3 };
	struct ncc_op *all;

	for (unsigned int k = 0; k < n; k++)
		if (!part[k])
			return false;
	all = build_concat(s->bl, part, n, 3);
	all = sums(s, h, h->step > 1 ? by_low(s, h, all, columns) : all);
	if (!all)
		return false;
	shape.dim[0] = all->shape.dim[0];
	shape.dim[1] = all->shape.dim[1] * h->step;
	shape.dim[2] = columns;
	for (unsigned int k = 0; k < n; k++) {
		part[k] = build_slice(s->bl, all, 2, k * each, each);
		part[k] = build_slice(s->bl, build_reshape(s->bl, part[k], &shape), 1, 0, h->n);
		if (!part[k])
			return false;
	}
	return true;
}

/* bf16 1 where an update is infinite, of that sign, or a NaN */
static struct ncc_op *infinite(const struct scatter *s, struct ncc_op *u, double inf)
{
	struct ncc_op *p = build_compare(s->bl, NCC_EQ, u, build_splat(s->bl, &u->shape, inf));
	struct ncc_op *nan = build_compare(s->bl, NCC_NE, u, u);

	return build_cast(s->bl, build_binary(s->bl, NCC_OR, p, nan), NEURON_DT_BF16);
}

/*
 * Makes infinite what an infinite update hits: in a product the infinity times 0 would be NaN
 * elsewhere.
 */
static struct ncc_op *add_infinite(const struct scatter *s, struct ncc_op *sum, struct ncc_op *hits,
				   double inf)
{
	struct ncc_op *p = build_compare(s->bl, NCC_GT, hits, build_splat(s->bl, &hits->shape, 0));

	return build_select(s->bl, p, build_number(s->bl, NCC_ADD, sum, inf), sum);
}

static struct ncc_op *add_floats(const struct scatter *s, const struct hits *h, struct ncc_op *x)
{
	struct ncc_op *u = in_lanes(s, build_cast(s->bl, s->u[0], NEURON_DT_FP32), h->lanes);
	struct ncc_op *left, *sum, *part[MOST_PARTS];

	if (!u)
		return NULL;
	left = build_select(s->bl, expand_is_finite(s->bl, u), u, build_splat(s->bl, &u->shape, 0));
	for (unsigned int k = 0; k < 3; k++) {
		part[k] = left ? build_cast(s->bl, left, NEURON_DT_BF16) : NULL;
		left = build_binary(s->bl, NCC_SUB, left,
				    build_cast(s->bl, part[k], NEURON_DT_FP32));
	}
	part[3] = infinite(s, u, INFINITY);
	part[4] = infinite(s, u, -INFINITY);
	if (!sums_of_parts(s, h, part, 5))
		return NULL;
	sum = build_cast(s->bl, x, NEURON_DT_FP32);
	for (unsigned int k = 0; k < 3; k++)
		sum = build_binary(s->bl, NCC_ADD, sum, part[k]);
	sum = add_infinite(s, sum, part[3], INFINITY);
	sum = add_infinite(s, sum, part[4], -INFINITY);
	return build_cast(s->bl, sum, x->shape.dtype);
}

/* Bytes are summed separately, which is exact for up to 2^16 of them. */
static struct ncc_op *add_integers(const struct scatter *s, const struct hits *h, struct ncc_op *x)
{
	struct ncc_op *u = in_lanes(s, build_cast(s->bl, s->u[0], NEURON_DT_INT32), h->lanes);
	struct ncc_op *sum, *part[MOST_PARTS];

	for (unsigned int k = 0; k < 4; k++) {
		part[k] = k ? build_number(s->bl, NCC_SHR, u, 8 * k) : u;
		part[k] = build_cast(s->bl, build_number(s->bl, NCC_AND, part[k], 0xff),
				     NEURON_DT_BF16);
	}
	if (!sums_of_parts(s, h, part, 4))
		return NULL;
	sum = build_cast(s->bl, x, NEURON_DT_INT32);
	for (unsigned int k = 0; k < 4; k++) {
		struct ncc_op *p = build_cast(s->bl, part[k], NEURON_DT_INT32);

		p = k ? build_number(s->bl, NCC_SHL, p, 8 * k) : p;
		sum = build_binary(s->bl, NCC_ADD, sum, p);
	}
	return build_cast(s->bl, sum, x->shape.dtype);
}

/* The largest or smallest of the updates that hit each row, and of the row itself */
static struct ncc_op *extremes(const struct scatter *s, const struct hits *h, struct ncc_op *x)
{
	static const uint8_t of_hit[3] = { 0, 1, 2 }, of_update[3] = { 0, 2, 3 };
	struct ncc_shape all = s->x[0]->shape, pred, kept;
	struct ncc_op *v, *init;

	all.ndim = 4;
	all.dim[1] = h->n;
	all.dim[2] = s->slices;
	all.dim[3] = columns_of(s);
	pred = all;
	pred.dtype = NEURON_DT_INT8;
	pred.pred = true;
	v = build_select(s->bl, build_spread(s->bl, &pred, h->hit, of_hit),
			 build_spread(s->bl, &all, s->u[0], of_update),
			 build_splat(s->bl, &all, ncc_neutral(s->c->kind, &all)));
	init = ncc_const_scalar(s->bl->m, all.dtype, ncc_neutral(s->c->kind, &all));
	kept = x ? x->shape : all;
	v = v && init ? build_node(s->bl, NCC_REDUCE, &kept, v, init, NULL) : NULL;
	if (!v)
		return NULL;
	v->func = s->c->kind;
	v->mask = 1u << 2;
	return build_binary(s->bl, s->c->kind, x, v);
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

static int one_by_one(const struct scatter *s, struct ncc_op **out)
{
	struct ncc_op *hit = compare_with_all(s);
	int rc = hit ? 0 : -ENOMEM;

	memcpy(out, s->x, s->n * sizeof(out[0]));
	for (int64_t k = 0; !rc && k < s->slices; k++)
		rc = one_update(s, hit, k, out);
	return rc;
}

/* Combines with all updates at once; NULL as *out: that is not possible */
static int all_at_once(const struct scatter *s, struct ncc_op **out)
{
	const struct ncc_shape *shape = &s->x[0]->shape;
	bool moved, sum, extreme, blocks;
	struct ncc_op *x = s->x[0], *r;
	struct hits h;

	*out = NULL;
	if (s->c->by != NCC_COMBINE_KIND || shape->pred || s->slices <= FEW)
		return 0;
	sum = s->c->kind == NCC_ADD &&
	      (ncc_is_float(shape->dtype) || s->slices <= 1 << 16); /* add_integers() */
	moved = can_move(s) && (sum ? moves_sums(s) : s->slices < rows_of(s));
	extreme = (s->c->kind == NCC_MAX || s->c->kind == NCC_MIN) &&
		  (moved ? s->slices : rows_of(s)) * s->slices * shape->dim[0] * shape->dim[2] <=
			  MOST_MASKED;
	if (!sum && !extreme)
		return 0;
	x = moved ? fetch_rows(s) : x;
	blocks = extreme && updates_fit_blocks(s, moved ? s->slices : rows_of(s));
	if (!x || !(blocks || (sum ? find_lanes(s, moved, &h) : find_hits(s, moved, &h))))
		return -ENOMEM;
	r = blocks    ? build_binary(s->bl, s->c->kind, x, updates_extremes(s, moved))
	    : extreme ? extremes(s, &h, x)
	    : ncc_is_float(shape->dtype) ? add_floats(s, &h, x)
					 : add_integers(s, &h, x);
	*out = moved && r ? move_rows(s, r) : r;
	return *out ? 0 : -ENOMEM;
}

int updates_apply(const struct scatter *s, struct ncc_op **out)
{
	int rc;

	if (s->c->by == NCC_COMBINE_SECOND && can_move(s)) {
		*out = move_rows(s, s->u[0]);
		return *out ? 0 : -ENOMEM;
	}
	rc = all_at_once(s, out);
	if (rc || *out)
		return rc;
	if (s->slices > MOST)
		return build_fail(s->bl, -ENOTSUP,
				  "%lld updates, at most %d are supported of this operation",
				  (long long)s->slices, MOST);
	return one_by_one(s, out);
}

/* One part of a tensor */

#define FEWEST_MOVED 8192 /* elements of a tensor whose rows are moved */
#define MOST_MOVED 4096 /* rows of the part */

/* How many of the first dimensions are numbers of rows: behind them the part has all elements. */
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

/* Which row of x each row of u would be if all starts that are not constant were 0 */
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
