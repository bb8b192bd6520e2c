/* SPDX-License-Identifier: MIT */
/*
 * Private to the tiled forms of operations (gen_tile*.c): values too large for SBUF lie row-major
 * in DRAM, and an operation on them is done piece by piece. gen_tiled is what gen.c calls; each
 * piece is an operation of its own, of which the usual functions (gen_elementwise, ...) see nothing
 * but the box.
 */
#ifndef NCC_GEN_TILE_H
#define NCC_GEN_TILE_H

#include "gen.h"

/*
 * Bytes of a partition that one piece may take, operands and result: a third of SBUF with room for
 * fragments, so that the next piece's operands come while this one is computed and the last stored.
 */
#define TILE_BYTES 36864
#define TILE_OPERANDS 3

/* Boxes of equal size over dimensions, the last of each dimension cut short; outermost first */
struct tile_box {
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS], step[NCC_MAX_DIMS]; /* of everything, of a box */
	int64_t lo[NCC_MAX_DIMS], size[NCC_MAX_DIMS]; /* of this box */
};
void tile_first(struct tile_box *b, unsigned int ndim, const int64_t *dim, const int64_t *step);
bool tile_next(struct tile_box *b);
/*
 * Make a box smaller: along pdim down to 128, then the outermost of the other dimensions in mask.
 * false: there is nothing left to cut
 */
bool tile_halve(int64_t *step, unsigned int ndim, int pdim, uint32_t mask);

/* Bytes of a partition of a box of v in SBUF, pdim along the partitions */
int64_t tile_bytes(const struct ncc_view *v, const int64_t *size, int pdim, uint8_t dtype);
/* The dimension of v to lie along the partitions of a piece: wish, unless that makes short runs */
int tile_pdim(const struct ncc_view *v, int wish, uint32_t not_these);

/* A long dimension of v as two, 128 of equal length, and what is left over (maybe nothing) */
bool tile_can_split(const struct ncc_view *v, int d);
bool tile_should_split(const struct ncc_view *v, int d); /* and rows along it are short */
struct ncc_view tile_split(const struct ncc_view *v, unsigned int d);
struct ncc_view tile_rest(const struct ncc_view *v, unsigned int d);

/* As one dimension, if it is contiguous in DRAM or the same element throughout */
bool tile_flatten(struct ncc_view *v);
/* rows x columns elements of that, from lo on */
struct ncc_view tile_flat_piece(const struct ncc_view *v, int64_t lo, int64_t rows,
				int64_t columns);

/* A result in SBUF and its place in DRAM: stored once the next piece's instructions are there */
struct tile_store {
	struct ncc_view tile, to;
	bool full;
};
/* an SBUF view that stays until it is stored */
int tile_alloc(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *tile);
int tile_put(struct ncc_gen *g, struct tile_store *st, const struct ncc_view *tile,
	     const struct ncc_view *to);
int tile_flush(struct ncc_gen *g, struct tile_store *st, int rc);

/* A copy of an operation whose operands are boxes of the real ones */
struct tile_op {
	struct ncc_op op, operand[TILE_OPERANDS], *in[TILE_OPERANDS];
	struct ncc_value value[TILE_OPERANDS];
};
void tile_op_init(struct tile_op *t, const struct ncc_op *op, const struct ncc_shape *s, int pdim);
void tile_op_operand(struct tile_op *t, unsigned int i, const struct ncc_view *v);

/* group.c */
bool tile_is_elementwise(const struct ncc_op *op);
bool tile_is_immediate(const struct ncc_op *op,
		       unsigned int i); /* such an operand needs no place */
int tile_elementwise(struct ncc_gen *g, struct ncc_op *last); /* with its group, if it has one */

int tile_result(struct ncc_gen *g, struct ncc_op *op); /* its value, in DRAM, not yet made */
/* The operation op (not what is fused behind it) in pieces to dst, in DRAM */
int tile_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_reduce(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_window(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_dot(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int tile_conv(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

#endif
