// SPDX-License-Identifier: MIT
/*
 * What the tiled forms of operations share: a piece in SBUF, its place in DRAM, and an operation on
 * pieces. Part of the code generator.
 */
#include <string.h>

#include "buffer.h"
#include "move.h"
#include "sbuf.h"
#include "tile.h"

int tile_alloc(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *tile)
{
	int rc = gen_sbuf_view(g, s, pdim, tile);

	if (!rc)
		tile->buf->pin = NCC_PIN_TEMP;
	return rc;
}

static int store(struct ncc_gen *g, struct tile_store *st)
{
	unsigned int mark = g->ntemps;
	int rc = gen_copy(g, &st->to, &st->tile);

	gen_release_temps(g, mark);
	gen_unref(g, st->tile.buf);
	st->full = false;
	return rc;
}

int tile_put(struct ncc_gen *g, struct tile_store *st, const struct ncc_view *tile,
	     const struct ncc_view *to)
{
	int rc = st->full ? store(g, st) : 0;

	st->tile = *tile;
	st->to = *to;
	st->full = true;
	return rc;
}

int tile_flush(struct ncc_gen *g, struct tile_store *st, int rc)
{
	if (st->full && !rc)
		return store(g, st);
	if (st->full)
		gen_unref(g, st->tile.buf);
	st->full = false;
	return rc;
}

void tile_op_init(struct tile_op *t, const struct ncc_op *op, const struct ncc_shape *s, int pdim)
{
	t->op = *op;
	t->op.in = t->in;
	t->note[0] = *op->gen;
	t->op.gen = &t->note[0];
	t->op.shape.ndim = s->ndim;
	memcpy(t->op.shape.dim, s->dim, sizeof(t->op.shape.dim));
	t->op.pdim = pdim;
	for (unsigned int i = 0; i < op->nin && i < TILE_OPERANDS; i++)
		t->in[i] = op->in[i];
}

void tile_op_operand(struct tile_op *t, unsigned int i, const struct ncc_view *v)
{
	struct ncc_op *real = t->in[i], *x = &t->operand[i];

	*x = *real;
	t->note[1 + i] = *real->gen;
	x->gen = &t->note[1 + i];
	x->shape.ndim = v->ndim;
	memcpy(x->shape.dim, v->dim, sizeof(x->shape.dim));
	t->value[i] = (struct ncc_value){ .view = *v };
	x->gen->value = &t->value[i];
	t->in[i] = x;
}

/* Gives op's result its place in DRAM. */
int tile_result(struct ncc_gen *g, struct ncc_op *op)
{
	struct ncc_shape s = op->shape;
	struct ncc_view dst;
	int rc;

	s.dtype = op->plan->dtype;
	rc = gen_scratch(g, &s, op->plan->dram_pdim, &dst);
	if (rc)
		return rc;
	op->gen->value = ncc_alloc(g->m, sizeof(*op->gen->value));
	if (!op->gen->value) {
		gen_unref(g, dst.buf);
		return ncc_no_memory(g->err);
	}
	op->gen->value->view = dst;
	op->gen->value->uses = op->users;
	return 0;
}
