// SPDX-License-Identifier: MIT
/*
 * Tiling: operations whose result and operands do not fit SBUF together. The result is a scratch
 * variable in DRAM and is computed piece by piece. A piece is stored after the instructions of the
 * next one, so that loading, computing and storing of three pieces overlap. This file has what all
 * tiled operations share; group.c has the element-wise ones. Part of the code generator.
 */
#include "tile.h"

#include "join.h"
#include "line.h"
#include "place.h"
#include "sbuf.h"

#define LARGE 4096 /* bytes of a partition: pieces want the room */

static int leave_sbuf(struct ncc_gen *g, struct ncc_buf *buf)
{
	return buf->space == NCC_SBUF && buf->bytes > LARGE ? gen_spill_buf(g, buf) : 0;
}

/* Gives what an operation reads a place, nothing large of it in SBUF. */
static int place_operands(struct ncc_gen *g, const struct plan_op *p)
{
	const struct ncc_op *op = p->op;
	int rc = 0;

	for (unsigned int i = 0; !rc && i < p->pieces.n; i++) {
		if (op->kind == NCC_CONV && i == 1)
			rc = gen_place_inner(g, op->in[i], op->conv->k_in, op->conv->k_out);
		else
			rc = gen_place(g, op->in[i], i ? p->pieces.rest : p->pieces.pdim);
		rc = rc ? rc : leave_sbuf(g, op->in[i]->gen->value->view.buf);
	}
	return rc;
}

static const gen_fn pieces[NCC_KINDS] = {
	[NCC_CONCAT] = tile_concat, [NCC_PAD] = gen_pad,	 [NCC_GATHER] = gen_gather,
	[NCC_TAKE] = gen_take,	    [NCC_COMBINE] = gen_combine, [NCC_ORDER] = gen_order,
	[NCC_RANDOM] = gen_random,  [NCC_REDUCE] = tile_reduce,	 [NCC_REDUCE_WINDOW] = tile_window,
	[NCC_DOT] = tile_dot,	    [NCC_CONV] = tile_conv,
};

static int tile_one(struct ncc_gen *g, struct ncc_op *op)
{
	int rc;

	g->nepilogue = 0;
	if (!pieces[op->kind])
		return tile_elementwise(g, op);
	rc = place_operands(g, op->plan);
	rc = rc ? rc : tile_result(g, op);
	return rc ? rc : pieces[op->kind](g, op, &op->gen->value->view);
}

/* The epilogue of a product that has been computed is done as a group. */
int gen_tiled(struct ncc_gen *g, const struct plan_op *p)
{
	int rc = tile_one(g, plan_computed(p));

	return rc || !p->first ? rc : tile_elementwise(g, p->first->plan->next);
}
