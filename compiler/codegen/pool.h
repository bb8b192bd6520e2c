/* SPDX-License-Identifier: MIT */
/*
 * The pool: constants of one number for each partition (biases, the kernels of depthwise
 * convolutions), side by side in a few blocks of SBUF. A DMA of one such constant alone would be a
 * piece of 4 bytes for each partition.
 */
#ifndef NCC_GEN_POOL_H
#define NCC_GEN_POOL_H

#include "gen.h"

/*
 * Makes *out a view of v in the pool, with pdim along the partitions. 1: done; 0: v is no such
 * constant, or there is no room for it; or -errno.
 */
int gen_pool_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, struct ncc_view *out);
/* What was generated last has been taken back: blocks that were loaded there are not. */
void gen_pool_rewind(struct ncc_gen *g);
/* The blocks are complete: makes files and DMAs as long as what is in them. */
void gen_pool_finish(struct ncc_gen *g);
void gen_pool_free(struct ncc_gen *g);

#endif
