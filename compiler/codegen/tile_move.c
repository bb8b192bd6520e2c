// SPDX-License-Identifier: MIT
/*
 * Concatenations in DRAM along a short dimension (a stack of tensors along a new last one), where
 * each operand would go to its place element by element. Engines put pieces together in SBUF, and
 * those are stored whole. Part of the code generator.
 */
#include <errno.h>
#include <string.h>

#include "box.h"
#include "buffer.h"
#include "join.h"
#include "move.h"
#include "tile.h"
#include "view.h"

#define SHORT_RUN 16 /* adjacent elements of an operand in the result */
#define FEWEST_ELEMS 65536 /* with fewer, the descriptors cost little */

struct join {
	const struct ncc_op *op;
	struct ncc_view dst;
	unsigned int axis;
	int pdim;
	bool split, rest; /* pdim is taken as 128 rows; and the rest that leaves */
};

static struct ncc_view form(const struct join *j, const struct ncc_view *v)
{
	if (j->rest)
		return tile_rest(v, (unsigned int)j->pdim);
	return j->split ? tile_split(v, (unsigned int)j->pdim) : *v;
}

static int join_piece(struct ncc_gen *g, const struct join *j, struct tile_store *st,
		      const struct tile_box *b)
{
	struct ncc_view to = view_box(&j->dst, b->lo, b->size), tile;
	struct ncc_shape s;
	int64_t at = 0;
	int rc;

	view_shape(&to, &s);
	rc = tile_alloc(g, &s, j->pdim, &tile);
	if (rc)
		return rc;

	for (unsigned int i = 0; !rc && i < j->op->nin; i++) {
		const struct ncc_op *in = j->op->in[i];
		struct ncc_view v = form(j, &in->gen->value->view), part;
		int64_t lo[NCC_MAX_DIMS], size[NCC_MAX_DIMS];
		unsigned int mark = g->ntemps;

		g->stamp++;
		memcpy(lo, b->lo, sizeof(lo));
		memcpy(size, b->size, sizeof(size));
		lo[j->axis] = 0;
		size[j->axis] = v.dim[j->axis];
		v = view_box(&v, lo, size);
		part = view_slice(&tile, j->axis, at, size[j->axis], 1);
		at += size[j->axis];
		rc = gen_fetch(g, &v, j->pdim, in->shape.dtype, &v);
		rc = rc ? rc : gen_copy(g, &part, &v);
		gen_release_temps(g, mark);
	}
	if (!rc)
		return tile_put(g, st, &tile, &to);
	gen_unref(g, tile.buf);
	return rc;
}

static int join_pieces(struct ncc_gen *g, const struct join *j)
{
	uint32_t mask = ~(1u << j->axis);
	struct tile_store st = { 0 };
	int64_t step[NCC_MAX_DIMS];
	struct tile_box b;
	int rc;

	memcpy(step, j->dst.dim, sizeof(step));
	/* Half is for the piece, and half for one operand at a time. */
	while (tile_bytes(&j->dst, step, j->pdim, 0) > TILE_BYTES / 2 &&
	       tile_halve(step, j->dst.ndim, j->pdim, mask))
		;
	tile_first(&b, j->dst.ndim, j->dst.dim, step);
	do {
		rc = join_piece(g, j, &st, &b);
	} while (!rc && tile_next(&b));
	return tile_flush(g, &st, rc);
}

/* Would the operands be written in short runs? */
static bool is_short(const struct ncc_op *op, const struct ncc_view *dst)
{
	int64_t longest = 0, n = ncc_elems(&op->shape);

	for (unsigned int i = 0; i < op->nin; i++) {
		int64_t run = op->in[i]->shape.dim[op->axis] * dst->stride[op->axis];

		longest = run > longest ? run : longest;
	}
	return n >= FEWEST_ELEMS && longest < SHORT_RUN;
}

int tile_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct join j = { .op = op, .dst = *dst, .axis = op->axis }, rest;
	int rc;

	j.pdim = tile_pdim(dst, op->pdim == (int)op->axis ? -1 : op->pdim, 1u << op->axis);
	if (!is_short(op, dst) || j.pdim < 0 || j.pdim == (int)op->axis)
		return gen_concat(g, op, dst);
	rest = j;
	j.split = tile_should_split(dst, j.pdim);
	for (unsigned int i = 0; i < op->nin && j.split; i++)
		j.split = tile_can_split(&op->in[i]->gen->value->view, j.pdim);
	if (!j.split)
		return join_pieces(g, &j);
	j.dst = tile_split(dst, (unsigned int)j.pdim);
	j.axis += (int)op->axis > j.pdim;
	rc = join_pieces(g, &j);
	rest.rest = true;
	rest.dst = tile_rest(dst, (unsigned int)rest.pdim);
	return rc || !rest.dst.dim[rest.pdim] ? rc : join_pieces(g, &rest);
}
