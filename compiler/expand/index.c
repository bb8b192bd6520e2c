// SPDX-License-Identifier: MIT
/*
 * Rows of a table by an index, that come by DMA, and parts of a tensor in their places. Called by
 * choose.c, scatter.c and the front ends.
 */
#include <string.h>

#include "neuron/hw/ext.h"
#include "portions.h"

#define SHORT_ROW 64 /* bytes: of shorter ones, descriptors are most of the cost */
#define FEWEST_LANES 64 /* partitions that work on rows which came together */
#define MOST_TABLES 16 /* a longer table is cut into at most so many */
#define LONG_ROW 65536 /* bytes: the most that is fetched at a time, of tables longer than that */

struct ncc_op *expand_clamp_index(struct ncc_build *bl, struct ncc_op *idx, int64_t most)
{
	struct ncc_op *x = idx;

	/* As s32 the largest would be negative. */
	if (idx && idx->shape.dtype == NEURON_DT_UINT32)
		x = build_number(bl, NCC_MIN, x, (double)most);
	x = build_cast(bl, x, NEURON_DT_INT32);
	return build_number(bl, NCC_MIN, build_number(bl, NCC_MAX, x, 0), (double)most);
}

/* The number of short rows fetched as one, so that a table has fewer of them: a power of 2 */
static int64_t short_rows(const struct ncc_op *x, int64_t rows, int64_t columns)
{
	int64_t n = 1;

	while (rows > n * NCC_MAX_TABLE &&
	       2 * n * columns * ncc_dtype_size(x->shape.dtype) <= SHORT_ROW)
		n *= 2;
	return n;
}

/* The same for a table of any length, if its rows allow it */
static int64_t rows_together(const struct ncc_op *x, int64_t rows, int64_t columns)
{
	int64_t n = short_rows(x, rows, columns);

	while (rows > n * MOST_TABLES * NCC_MAX_TABLE &&
	       2 * n * columns * ncc_dtype_size(x->shape.dtype) <= LONG_ROW)
		n *= 2;
	return n;
}

bool expand_has_rows(const struct ncc_op *x, int64_t shared, int64_t rows, int64_t columns)
{
	return shared * rows <= MOST_TABLES * NCC_MAX_TABLE * short_rows(x, shared * rows, columns);
}

bool expand_has_long_table(const struct ncc_op *x, int64_t shared, int64_t rows, int64_t columns)
{
	return shared * rows <=
	       MOST_TABLES * NCC_MAX_TABLE * rows_together(x, shared * rows, columns);
}

int64_t expand_table_parts(const struct ncc_op *x, int64_t rows, int64_t columns)
{
	const int64_t together = rows_together(x, rows, columns);
	const int64_t n = (rows + together - 1) / together;

	return (n + NCC_MAX_TABLE - 1) / NCC_MAX_TABLE;
}

/*
 * Gathers from the n rows from lo on. Indices of other rows are clamped; theirs come from
 * elsewhere.
 */
static struct ncc_op *rows_of_part(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
				   int64_t lo, int64_t n)
{
	struct ncc_shape s = x->shape;

	if (n < s.dim[0]) {
		if (lo)
			idx = build_number(bl, NCC_SUB, idx, (double)lo);
		x = build_slice(bl, x, 0, lo, n);
		idx = idx ? expand_clamp_index(bl, idx, n - 1) : NULL;
	}
	s.dim[0] = idx ? idx->shape.dim[0] : 0;
	return x && idx ? build_node(bl, NCC_GATHER, &s, x, idx, NULL) : NULL;
}

/*
 * Gathers rows of a matrix by a vector of indices from as many parts of the table as are needed.
 * The last part that has the row wins.
 */
static struct ncc_op *rows_of_parts(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x)
{
	struct ncc_op *sum = NULL;
	uint8_t map = 0;

	for (int64_t lo = 0; lo < x->shape.dim[0]; lo += NCC_MAX_TABLE) {
		int64_t left = x->shape.dim[0] - lo;
		struct ncc_op *r = rows_of_part(bl, idx, x, lo,
						left < NCC_MAX_TABLE ? left : NCC_MAX_TABLE),
			      *has;
		struct ncc_shape s;

		if (lo && r) {
			has = build_compare(bl, NCC_GE, idx,
					    build_splat(bl, &idx->shape, (double)lo));
			s = r->shape;
			s.dtype = NEURON_DT_INT8;
			s.pred = true;
			r = build_select(bl, has ? build_spread(bl, &s, has, &map) : NULL, r, sum);
		}
		if (!r)
			return NULL;
		sum = r;
	}
	return sum;
}

static struct ncc_op *pad_to(struct ncc_build *bl, struct ncc_op *v, const struct ncc_shape *to,
			     const int64_t *start)
{
	int64_t high[NCC_MAX_DIMS];

	for (unsigned int d = 0; v && d < to->ndim; d++)
		high[d] = to->dim[d] - start[d] - v->shape.dim[d];
	return v ? build_pad(bl, v, build_scalar(bl, &v->shape, 0), start, high) : NULL;
}

/*
 * Rows of a matrix, `together` of which are fetched at a time: halves of what came are chosen by
 * the index's lowest bits, in a matrix of many partitions; for that there may be a few indices
 * more.
 */
static struct ncc_op *rows_of_groups(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
				     int64_t together)
{
	struct ncc_shape s = x->shape, each = idx->shape, lines, p;
	static const int64_t start[2] = { 0 };
	static const uint8_t map[2] = { 0, 1 };
	int64_t n = idx->shape.dim[0], columns = x->shape.dim[1], lanes = NEURON_PARTITIONS;
	struct ncc_op *high, *r;

	s.dim[0] = (s.dim[0] + together - 1) / together * together;
	x = s.dim[0] > x->shape.dim[0] ? pad_to(bl, x, &s, start) : x;
	s.dim[0] /= together;
	s.dim[1] *= together;
	x = build_reshape(bl, x, &s);
	while (lanes > FEWEST_LANES && n % lanes)
		lanes--;
	if (n % lanes)
		lanes = NEURON_PARTITIONS;
	each.dim[0] = (n + lanes - 1) / lanes * lanes;
	idx = each.dim[0] > n ? pad_to(bl, idx, &each, start) : idx;
	high = idx ? build_node(bl, NCC_SHR, &each, idx,
				build_splat(bl, &each, __builtin_ctzll((uint64_t)together)), NULL)
		   : NULL;
	r = high && x ? rows_of_parts(bl, high, x) : NULL;
	lines = (struct ncc_shape){ .ndim = 3, .dim = { lanes, each.dim[0] / lanes, s.dim[1] } };
	r = build_reshape(bl, r, &lines);
	lines.ndim = 2;
	idx = build_reshape(bl, idx, &lines);
	for (int64_t half = together / 2; half && r; half /= 2) {
		struct ncc_op *second = build_number(bl, NCC_AND, idx, (double)half);

		second = second ? build_compare(bl, NCC_NE, second,
						build_splat(bl, &second->shape, 0))
				: NULL;
		p = r->shape;
		p.dim[2] /= 2;
		p.dtype = NEURON_DT_INT8;
		p.pred = true;
		second = second ? build_spread(bl, &p, second, map) : NULL;
		r = build_select(bl, second, build_slice(bl, r, 2, p.dim[2], p.dim[2]),
				 build_slice(bl, r, 2, 0, p.dim[2]));
	}
	each.ndim = 2;
	each.dim[1] = columns;
	return build_slice(bl, build_reshape(bl, r, &each), 0, 0, n);
}

/* Rows of a matrix by a vector of indices */
static struct ncc_op *rows_of_table(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x)
{
	int64_t together = x ? rows_together(x, x->shape.dim[0], x->shape.dim[1]) : 1;

	if (!idx || !x)
		return NULL;
	return together > 1 ? rows_of_groups(bl, idx, x, together) : rows_of_parts(bl, idx, x);
}

/* Each shared table follows the one before. */
static struct ncc_op *in_its_table(struct ncc_build *bl, struct ncc_op *idx, int64_t shared,
				   int64_t rows)
{
	int64_t each = ncc_elems(&idx->shape) / shared;
	struct ncc_op *at = build_const(bl, &idx->shape);

	for (int64_t i = 0; at && i < each * shared; i++)
		ncc_set(idx->shape.dtype, at->data, i, (double)(i / each * rows));
	return at ? build_node(bl, NCC_ADD, &idx->shape, idx, at, NULL) : NULL;
}

struct ncc_op *expand_rows(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
			   int64_t shared, int64_t rows)
{
	struct ncc_shape table = { .ndim = 2 }, flat = { .ndim = 1 };
	int64_t each;

	if (!idx || !x)
		return NULL;
	if (shared > 1)
		idx = in_its_table(bl, idx, shared, rows);
	if (!idx)
		return NULL;
	flat.dim[0] = ncc_elems(&idx->shape);
	table.dim[0] = shared * rows;
	table.dim[1] = ncc_elems(&x->shape) / (shared * rows);
	x = build_reshape(bl, x, &table);
	idx = build_reshape(bl, idx, &flat);
	if (!x || !idx)
		return NULL;
	each = portions_each(bl, flat.dim[0], expand_table_parts(x, table.dim[0], table.dim[1]));
	return each < flat.dim[0] ? portions_take(bl, idx, x, each, rows_of_table)
				  : rows_of_table(bl, idx, x);
}

struct ncc_op *expand_place(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *v,
			    const int64_t *start)
{
	struct ncc_op *ones, *u;
	struct ncc_shape s;

	if (!x || !v || ncc_same_dims(&v->shape, &x->shape))
		return x ? v : NULL;
	s = v->shape;
	s.dtype = NEURON_DT_INT8;
	s.pred = true;
	ones = build_splat(bl, &s, 1);
	if (!ones)
		return NULL;
	ones->in[0]->shape.pred = true;
	ones = pad_to(bl, ones, &x->shape, start);
	u = pad_to(bl, v, &x->shape, start);
	return ones && u ? build_select(bl, ones, u, x) : NULL;
}
