/* SPDX-License-Identifier: MIT */
/*
 * The pool: constants of one number for each partition (biases, the kernels of depthwise
 * convolutions), side by side in SBUF, as long as nothing else needs the room. A DMA of one such
 * constant alone would be a piece of 4 bytes for each partition.
 */
#ifndef NCC_GEN_POOL_H
#define NCC_GEN_POOL_H

#include "gen.h"

/* Before anything is generated: makes room in a file for the module's constants of that kind. */
int gen_pool_begin(struct ncc_gen *g);
/*
 * Makes *out a view of v in the pool, with pdim along the partitions. 1: done; 0: v is no such
 * constant, or there is no room for it; or -errno.
 */
int gen_pool_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, struct ncc_view *out);
/* Gives its room in SBUF back. false: it has none, or the current operation reads it. */
bool gen_pool_drop(struct ncc_gen *g);
/* Follows code that was taken back, perhaps with what loads the pool of constants. */
void gen_pool_rewind(struct ncc_gen *g);
/* The pool is complete: makes its file and DMA as long as what is in it. */
void gen_pool_finish(struct ncc_gen *g);
void gen_pool_free(struct ncc_gen *g);

#endif
