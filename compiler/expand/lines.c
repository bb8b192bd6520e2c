// SPDX-License-Identifier: MIT
/*
 * Elements of lines by their places (lines.h), and rows of tables that are chosen so or by DMA,
 * whichever takes less time. Called by gather.c, index.c and updates.c.
 */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include "expand.h"

#define MOST_PARTS 1024

int64_t lines_parts(int64_t n)
{
	return (n + NCC_MAX_LINE - 1) / NCC_MAX_LINE;
}

/* A part of lines, and the places in it */
struct part {
	int64_t lo, n;
	struct ncc_op *x, *place;
};

/* Places that all lines share, for each of them */
static struct ncc_op *for_each(struct ncc_build *bl, struct ncc_op *place, int64_t lines)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 2, .dim = { lines } };
	struct ncc_shape flat = { .ndim = 1 };
	static const uint8_t map = 1;

	if (!place || place->shape.dim[0] == lines)
		return place;
	s.dim[1] = flat.dim[0] = place->shape.dim[1];
	return build_spread(bl, &s, build_reshape(bl, place, &flat), &map);
}

static bool next_part(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place, struct part *p)
{
	int64_t left;

	p->lo += p->n;
	left = x->shape.dim[1] - p->lo;
	if (left <= 0)
		return false;
	p->n = left < NCC_MAX_LINE ? left : NCC_MAX_LINE;
	p->x = build_slice(bl, x, 1, p->lo, p->n);
	place = p->lo ? build_number(bl, NCC_SUB, place, (double)p->lo) : place;
	p->place = for_each(bl, place, x->shape.dim[0]);
	return true;
}

static uint8_t whole_of(const struct ncc_shape *s)
{
	if (!ncc_is_float(s->dtype))
		return s->dtype;
	return ncc_dtype_size(s->dtype) == 4 ? NEURON_DT_INT32 : NEURON_DT_INT16;
}

/* Of several parts only one has a place inside: of their bits the or is taken. */
struct ncc_op *lines_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place)
{
	struct part p = { 0 };
	struct ncc_op *all = NULL, *r = x && place ? x : NULL;
	struct ncc_shape s;
	bool cut;

	if (!r)
		return NULL;
	s = x->shape;
	cut = lines_parts(s.dim[1]) > 1;
	s.dim[1] = place->shape.dim[1];
	while (r && next_part(bl, x, place, &p)) {
		r = p.x && p.place ? build_node(bl, NCC_TAKE, &s, p.x, p.place, NULL) : NULL;
		if (cut && !s.pred)
			r = build_bitcast(bl, r, whole_of(&s));
		all = all ? build_binary(bl, NCC_OR, all, r) : r;
	}
	return r ? build_bitcast(bl, all, s.dtype) : NULL;
}

struct ncc_op *lines_combine(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place,
			     struct ncc_op *u, enum ncc_kind func)
{
	struct ncc_op **part, *r = NULL;
	struct part p = { 0 };
	unsigned int n = 0;

	if (!x || !place || !u)
		return NULL;
	part = calloc((size_t)lines_parts(x->shape.dim[1]), sizeof(struct ncc_op *));
	while (part && next_part(bl, x, place, &p)) {
		part[n] = p.x && p.place ? build_node(bl, NCC_COMBINE, &p.x->shape, p.x, p.place, u)
					 : NULL;
		if (!part[n])
			goto out;
		part[n++]->func = func;
	}
	r = part ? build_concat(bl, part, n, 1) : NULL;
out:
	free(part);
	return r;
}

/* x[a, b] as [b, a] */
static struct ncc_op *turned(struct ncc_build *bl, struct ncc_op *x)
{
	static const uint8_t map[2] = { 1, 0 };

	return build_transpose(bl, x, map);
}

struct ncc_op *lines_of(struct ncc_build *bl, struct ncc_op *x)
{
	struct ncc_shape s = { .ndim = 2 };

	if (!x)
		return NULL;
	memcpy(s.dim, x->shape.dim, 2 * sizeof(s.dim[0]));
	if (x->shape.dim[2] == 1)
		return build_reshape(bl, x, &s);
	s.dim[0] *= s.dim[1];
	s.dim[1] = x->shape.dim[2];
	return turned(bl, build_reshape(bl, x, &s));
}

struct ncc_op *lines_back(struct ncc_build *bl, struct ncc_op *x, int64_t shared, int64_t rows,
			  int64_t columns)
{
	const struct ncc_shape s = { .ndim = 3, .dim = { shared, rows, columns } };

	return build_reshape(bl, columns > 1 ? turned(bl, x) : x, &s);
}

struct ncc_op *lines_places(struct ncc_build *bl, struct ncc_op *row, int64_t rows)
{
	struct ncc_shape flat = { .ndim = 2, .dim = { 1, 1 } };
	const uint8_t map = 0;
	struct ncc_op *at, *none;

	if (!row)
		return NULL;
	flat.dim[1] = ncc_elems(&row->shape);
	if (row->shape.dim[0] > 1) {
		at = build_number(bl, NCC_MUL, build_count(bl, row->shape.dim[0]), (double)rows);
		at = at ? build_spread(bl, &row->shape, at, &map) : NULL;
		none = build_compare(bl, NCC_LT, row, build_splat(bl, &row->shape, 0));
		row = build_select(bl, none, build_splat(bl, &row->shape, -1),
				   build_binary(bl, NCC_ADD, row, at));
	}
	return build_reshape(bl, row, &flat);
}

/* A choice of m rows of each of `shared` tables */
struct choice {
	int64_t shared, rows, columns, m, size;
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
	return LINES_OPERATION + (double)c->shared * (double)c->m *
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
	rows = expand_has_rows(x, c.shared, c.rows, c.columns);
	if (rows && time_of_rows(&c) < time_of_lines(&c))
		return choose_by_dma(bl, &c, x, row);
	if (lines_parts(c.rows * (c.same || c.columns == 1 ? 1 : c.shared)) > MOST_PARTS)
		return rows ? choose_by_dma(bl, &c, x, row) : NULL;
	return choose_lines(bl, &c, x, row);
}
