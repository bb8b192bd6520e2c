// SPDX-License-Identifier: MIT
/*
 * Tiling: operations whose result and operands do not fit SBUF together. The result is a scratch
 * variable in DRAM and is computed piece by piece. A piece is stored after the instructions of the
 * next one, so that loading, computing and storing of three pieces overlap. This file has what all
 * tiled operations share; group.c has the element-wise ones. Part of the code generator.
 */
#include "tile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elem.h"
#include "join.h"
#include "line.h"
#include "place.h"
#include "sbuf.h"

/* Gives everything that an operation reads a place, nothing large of it in SBUF. */
static int place_operands(struct ncc_gen *g, const struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		struct ncc_op *in = op->in[i];
		bool same = in->shape.ndim == op->shape.ndim && op->kind != NCC_DOT;
		double v;
		int rc;

		if (tile_is_immediate(op, i) ||
		    (i == 1 &&
		     (op->kind == NCC_REDUCE || op->kind == NCC_REDUCE_WINDOW ||
		      op->kind == NCC_PAD) &&
		     ncc_scalar_value(in, &v)))
			continue;
		if (op->kind == NCC_CONV && i == 1)
			rc = gen_place_inner(g, in, op->conv->k_in, op->conv->k_out);
		else
			rc = gen_place(g, in, same ? op->pdim : -1);
		if (rc)
			return rc;
		if (in->gen->value->view.buf->space == NCC_SBUF &&
		    in->gen->value->view.buf->bytes > 4096)
			rc = gen_spill_buf(g, in->gen->value->view.buf);
		if (rc)
			return rc;
	}
	return 0;
}

/* Does it give its operands their places itself? */
static bool sees_to_places(const struct ncc_op *op)
{
	return op->kind == NCC_GATHER || op->kind == NCC_TAKE || op->kind == NCC_COMBINE ||
	       op->kind == NCC_ORDER || op->kind == NCC_RANDOM;
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
	rc = sees_to_places(op) ? 0 : place_operands(g, op);
	rc = rc ? rc : tile_result(g, op);
	return rc ? rc : pieces[op->kind](g, op, &op->gen->value->view);
}

/* The epilogue of a product that has been computed is done as a group. */
int gen_tiled(struct ncc_gen *g, const struct plan_op *p)
{
	int rc = tile_one(g, p->first ? p->first : p->op);

	return rc || !p->first ? rc : tile_elementwise(g, p->first->plan->next);
}
