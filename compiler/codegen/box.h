/* SPDX-License-Identifier: MIT */
/* Boxes of a view, and long dimensions as two. */
#ifndef NCC_GEN_BOX_H
#define NCC_GEN_BOX_H

#include "view.h"

/*
 * Bytes of a partition that one piece may take, operands and result: a third of SBUF with room for
 * fragments, so that the next piece's operands come while this one is computed and the last stored.
 */
#define TILE_BYTES 36864

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

/*
 * The dimension along which neighbours of much data are 2 to 4 elements apart or lie backwards, so
 * that a DMA would go element by element while an engine can step so; -1: none
 */
int gen_sparse_dim(const struct ncc_view *v, int pdim);

#endif
