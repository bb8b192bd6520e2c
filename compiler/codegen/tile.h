/* SPDX-License-Identifier: MIT */
/*
 * Private to the tiled forms of operations: values too large for SBUF lie row-major in DRAM, and an
 * operation on them is done piece by piece. gen.c calls gen_tiled; each piece is an operation of
 * its own, in which the usual functions (gen_elementwise, ...) see nothing but the box.
 */
#ifndef NCC_GEN_TILE_H
#define NCC_GEN_TILE_H

#include "box.h"

#define TILE_OPERANDS 3

/*
 * A result's piece in SBUF and its place in DRAM: it is stored after the next piece's instructions.
 */
struct tile_store {
	struct ncc_view tile, to;
	bool full;
};
/* Allocates an SBUF view that stays until it is stored. */
int tile_alloc(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *tile);
int tile_put(struct ncc_gen *g, struct tile_store *st, const struct ncc_view *tile,
	     const struct ncc_view *to);
int tile_flush(struct ncc_gen *g, struct tile_store *st, int rc);

/* A copy of an operation whose operands are boxes of the real ones */
struct tile_op {
	struct ncc_op op, operand[TILE_OPERANDS], *in[TILE_OPERANDS];
	struct gen_note note[1 + TILE_OPERANDS]; /* of op, of its operands */
	struct ncc_value value[TILE_OPERANDS];
};
void tile_op_init(struct tile_op *t, const struct ncc_op *op, const struct ncc_shape *s, int pdim);
void tile_op_operand(struct tile_op *t, unsigned int i, const struct ncc_view *v);

/* group.c: first, and what is done with it (plan_op.next) */
int tile_elementwise(struct ncc_gen *g, struct ncc_op *first);

int tile_result(struct ncc_gen *g, struct ncc_op *op); /* places it in DRAM */
/* Compute op, without its epilogue, in pieces to dst, in DRAM. */
int tile_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_reduce(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_window(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_dot(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_conv(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

/* tile.c: computes an operation, or a product and its epilogue, in pieces with the result in DRAM. */
int gen_tiled(struct ncc_gen *g, const struct plan_op *p);

#endif
