/* SPDX-License-Identifier: MIT */
/* Boxes of a view, and long dimensions split in two. */
#ifndef NCC_GEN_BOX_H
#define NCC_GEN_BOX_H

#include "view.h"

/*
 * Bytes that a piece with its operands and result may take in a partition: a third of SBUF less
 * some room for fragments, so that the next piece is loaded while this one is computed and the last
 * one stored.
 */
#define TILE_BYTES 36864

/*
 * A walk over boxes of equal size, the outermost dimension slowest; a dimension's last box may be
 * shorter.
 */
struct tile_box {
	unsigned int ndim;
	int64_t dim[NCC_MAX_DIMS], step[NCC_MAX_DIMS]; /* of the whole, of a box */
	int64_t lo[NCC_MAX_DIMS], size[NCC_MAX_DIMS]; /* of this box */
};
void tile_first(struct tile_box *b, unsigned int ndim, const int64_t *dim, const int64_t *step);
bool tile_next(struct tile_box *b);
/*
 * Makes a box smaller: along pdim while it is longer than 128, then along the outermost of the
 * other dimensions in mask. false: nothing is left to cut.
 */
bool tile_halve(int64_t *step, unsigned int ndim, int pdim, uint32_t mask);

/* Bytes that a box of v takes in a partition of SBUF with pdim along the partitions */
int64_t tile_bytes(const struct ncc_view *v, const int64_t *size, int pdim, uint8_t dtype);
/*
 * The dimension of v that should lie along the partitions of a piece: wish, unless that makes short
 * runs
 */
int tile_pdim(const struct ncc_view *v, int wish, uint32_t not_these);

/*
 * A long dimension of v can be split in two: 128 runs of equal length, and a rest (maybe nothing).
 */
bool tile_can_split(const struct ncc_view *v, int d);
bool tile_should_split(const struct ncc_view *v, int d); /* and should be: its rows are short */
struct ncc_view tile_split(const struct ncc_view *v, unsigned int d);
struct ncc_view tile_rest(const struct ncc_view *v, unsigned int d);

/* Makes v one dimension if it is contiguous in DRAM or one element throughout. */
bool tile_flatten(struct ncc_view *v);
/* rows x columns elements of such a view, from lo on */
struct ncc_view tile_flat_piece(const struct ncc_view *v, int64_t lo, int64_t rows,
				int64_t columns);

#define FEWEST_SPARSE 1024 /* elements: with fewer, the descriptors cost little */
#define SPARSE_RUN 64 /* bytes: shorter ones are taken together with the gaps between them */

/*
 * The dimension of a large view along which neighbours are 2 to 4 elements apart or lie backwards,
 * so that a DMA would go element by element while an engine can step over the gaps; -1: none
 */
int gen_sparse_dim(const struct ncc_view *v, int pdim);
/*
 * Runs of a few elements with gaps of up to three times as many between them, likewise: the
 * dimension that goes from run to run; -1: none. *inner: the dimension along a run
 */
int gen_short_runs(const struct ncc_view *v, int pdim, int *inner);

#endif
