// SPDX-License-Identifier: MIT
/*
 * Elements of lines by their places (lines.h): parts of long lines, and tables as lines. Called by
 * choose.c, order.c and updates.c.
 */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

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

/* Only one of several parts has the place inside, the others give zeros: their bits are or-ed. */
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
			r = build_bits(bl, r);
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
