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

static int tile_one(struct ncc_gen *g, struct ncc_op *op)
{
	const struct ncc_view *dst;
	int rc;

	g->nepilogue = 0;
	if (ncc_is_elementwise(op->kind))
		return tile_elementwise(g, op);
	rc = sees_to_places(op) ? 0 : place_operands(g, op);
	rc = rc ? rc : tile_result(g, op);
	if (rc)
		return rc;
	dst = &op->gen->value->view;
	switch (op->kind) {
	case NCC_CONCAT:
		return tile_concat(g, op, dst);
	case NCC_PAD:
		return gen_pad(g, op, dst);
	case NCC_GATHER:
		return gen_gather(g, op, dst);
	case NCC_TAKE:
		return gen_take(g, op, dst);
	case NCC_COMBINE:
		return gen_combine(g, op, dst);
	case NCC_ORDER:
		return gen_order(g, op, dst);
	case NCC_RANDOM:
		return gen_random(g, op, dst);
	case NCC_REDUCE:
		return tile_reduce(g, op, dst);
	case NCC_REDUCE_WINDOW:
		return tile_window(g, op, dst);
	case NCC_DOT:
		return tile_dot(g, op, dst);
	default:
		return tile_conv(g, op, dst);
	}
}

/* Generates the epilogue of a product that has been computed, as a group. */
static int tile_epilogue(struct ncc_gen *g, struct ncc_op *last)
{
	struct ncc_op *product = last->gen->fused;
	int rc;

	g->nepilogue = 0;
	for (unsigned int i = 0; product->gen->nepilogue > 1 && i < product->gen->nepilogue; i++) {
		struct ncc_op *x = product->gen->epilogue[i];

		x->gen->group = last;
		x->gen->group_next = x == last ? NULL : product->gen->epilogue[i + 1];
	}
	last->gen->group_first = product->gen->epilogue[0];
	rc = tile_elementwise(g, last);
	for (unsigned int i = 0; i < product->gen->nepilogue; i++)
		product->gen->epilogue[i]->gen->group = NULL;
	return rc;
}

int gen_tiled(struct ncc_gen *g, struct ncc_op *op)
{
	int rc = tile_one(g, op->gen->fused ? op->gen->fused : op);

	return rc || !op->gen->fused ? rc : tile_epilogue(g, op);
}
