// SPDX-License-Identifier: MIT
/*
 * Rows of tables chosen by an index: by DMA (index.c) or from lines (lines.c), whichever takes less
 * time. Called by gather.c, updates.c and the front ends.
 */
#include <errno.h>

#include "expand.h"
#include "lines.h"

#define MOST_PARTS 1024

/* A choice of m rows of each of `shared` tables */
struct choice {
	int64_t shared, rows, columns, m, size;
	double fetched; /* how often a row is fetched by DMA, of a module that bounds that; 1 */
	bool same; /* the rows of all tables are the same */
	bool constant; /* so is the table: it is laid out for its reader */
};

static bool is_constant(const struct ncc_op *x)
{
	while (x->kind == NCC_RESHAPE || x->kind == NCC_TRANSPOSE || x->kind == NCC_SLICE)
		x = x->in[0];
	return x->kind == NCC_CONST;
}

/*
 * If the rows are the same the tables' columns are lines beside each other: [shared * columns,
 * rows]
 */
static double time_of_lines(const struct choice *c)
{
	double all = (double)c->shared * (double)c->columns, lines = all;
	int64_t n = c->rows, m = c->m;

	if (!c->same && c->columns > 1) {
		n *= c->shared;
		m *= c->shared;
		lines = (double)c->columns;
	}
	return lines_parts(n) * (LINES_OPERATION + lines * (double)m * LINES_PLACE) +
	       (c->columns > 1 ? LINES_TURN : LINES_COPY) * all * (double)c->m +
	       (c->columns > 1 && !c->constant ? LINES_TURN : LINES_COPY) * lines * (double)n;
}

static double time_of_rows(const struct choice *c)
{
	return LINES_OPERATION + (double)c->shared * (double)c->m * c->fetched *
					 (LINES_ROW + LINES_BYTE * (double)(c->columns * c->size));
}

/*
 * Elements of one short line, for places that fill the partitions: each has the line, so that
 * neither they nor what is taken move to one. 0: it is better to have the line once
 */
static int64_t lanes_of(const struct choice *c)
{
	int64_t lanes = c->shared == 1 && c->columns == 1 ? ncc_even_rows(c->m) : 0;

	return lanes * c->rows <= 2 * c->m && c->rows <= NCC_MAX_LINE ? lanes : 0;
}

static struct ncc_op *choose_in_lanes(struct ncc_build *bl, const struct choice *c,
				      struct ncc_op *x, struct ncc_op *row, int64_t lanes)
{
	struct ncc_shape line = { .ndim = 1, .dim = { c->rows } }, s = { .ndim = 2 };
	const uint8_t map = 1;

	s.dim[0] = lanes;
	s.dim[1] = c->m / lanes;
	row = build_reshape(bl, row, &s);
	s.dim[1] = c->rows;
	s.dtype = x->shape.dtype;
	s.pred = x->shape.pred;
	x = lines_take(bl, build_spread(bl, &s, build_reshape(bl, x, &line), &map), row);
	s = (struct ncc_shape){ .ndim = 3, .dim = { 1, c->m, 1 } };
	return build_reshape(bl, x, &s);
}

static struct ncc_op *choose_lines(struct ncc_build *bl, const struct choice *c, struct ncc_op *x,
				   struct ncc_op *row)
{
	static const uint8_t map[3] = { 0, 2, 1 };
	struct ncc_shape s = { .ndim = 3, .dim = { c->shared, c->columns, c->m } };
	struct ncc_shape lines = { .ndim = 2, .dim = { c->shared * c->columns, c->rows } };

	if (lanes_of(c))
		return choose_in_lanes(bl, c, x, row, lanes_of(c));
	if (!c->same) {
		row = c->columns > 1 ? lines_places(bl, row, c->rows) : row;
		x = lines_take(bl, lines_of(bl, x), row);
		return lines_back(bl, x, c->shared, c->m, c->columns);
	}
	x = build_reshape(bl, c->columns > 1 ? build_transpose(bl, x, map) : x, &lines);
	x = build_reshape(bl, lines_take(bl, x, row), &s);
	return build_transpose(bl, x, map);
}

static struct ncc_op *choose_by_dma(struct ncc_build *bl, const struct choice *c, struct ncc_op *x,
				    struct ncc_op *row)
{
	struct ncc_shape s = { .ndim = 3, .dim = { c->shared, c->m, c->columns } };
	struct ncc_shape each = row->shape, flat = { .ndim = 1, .dim = { c->m } };
	const uint8_t map = 1;

	each.dim[0] = c->shared;
	if (c->same && c->shared > 1)
		row = build_spread(bl, &each, build_reshape(bl, row, &flat), &map);
	return build_reshape(bl, expand_rows(bl, row, x, c->shared, c->rows), &s);
}

struct ncc_op *expand_choose_rows(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *row)
{
	struct choice c;
	bool rows;

	if (!x || !row)
		return NULL;
	c = (struct choice){ .shared = x->shape.dim[0],
			     .rows = x->shape.dim[1],
			     .columns = x->shape.dim[2],
			     .m = row->shape.dim[1],
			     .size = ncc_dtype_size(x->shape.dtype),
			     .same = row->shape.dim[0] == 1,
			     .constant = is_constant(x) };
	c.fetched =
		bl->m->most_rows ? (double)expand_table_parts(x, c.shared * c.rows, c.columns) : 1;
	rows = expand_has_rows(x, c.shared, c.rows, c.columns);
	if (rows && time_of_rows(&c) < time_of_lines(&c))
		return choose_by_dma(bl, &c, x, row);
	if (lines_parts(c.rows * (c.same || c.columns == 1 ? 1 : c.shared)) <= MOST_PARTS)
		return choose_lines(bl, &c, x, row);
	if (rows || expand_has_long_table(x, c.shared, c.rows, c.columns))
		return choose_by_dma(bl, &c, x, row);
	build_fail(bl, -EFBIG, "too large: %lld rows to choose from", (long long)c.rows);
	return NULL;
}

static int64_t product_of(const struct ncc_shape *s, unsigned int first, unsigned int last)
{
	int64_t n = 1;

	for (unsigned int i = first; i < last; i++)
		n *= s->dim[i];
	return n;
}

/* The dimensions before d are shared, those after it are a row. */
struct ncc_op *expand_take_inside(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
				  unsigned int d)
{
	struct ncc_shape s = { 0 }, table = { .ndim = 3 }, row = { .ndim = 2, .dim = { 1 } };

	if (!x || !idx || idx->shape.ndim + x->shape.ndim - 1 > NCC_MAX_DIMS)
		return NULL;
	for (unsigned int i = 0; i < d; i++)
		s.dim[s.ndim++] = x->shape.dim[i];
	for (unsigned int i = 0; i < idx->shape.ndim; i++)
		s.dim[s.ndim++] = idx->shape.dim[i];
	for (unsigned int i = d + 1; i < x->shape.ndim; i++)
		s.dim[s.ndim++] = x->shape.dim[i];
	table.dim[0] = product_of(&x->shape, 0, d);
	table.dim[1] = x->shape.dim[d];
	table.dim[2] = product_of(&x->shape, d + 1, x->shape.ndim);
	row.dim[1] = ncc_elems(&idx->shape);
	x = expand_choose_rows(bl, build_reshape(bl, x, &table), build_reshape(bl, idx, &row));
	return build_reshape(bl, x, &s);
}

struct ncc_op *expand_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
			   unsigned int d)
{
	if (!x || !idx || d >= x->shape.ndim)
		return NULL;
	return expand_take_inside(bl, x, expand_clamp_index(bl, idx, x->shape.dim[d] - 1), d);
}
