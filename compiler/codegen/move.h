/* SPDX-License-Identifier: MIT */
/* Moves: copies by engine or DMA, transposes, and operands brought to where they are read. */
#ifndef NCC_GEN_MOVE_H
#define NCC_GEN_MOVE_H

#include "gen.h"

int gen_dma(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src);
int gen_copy(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src);
/*
 * Brings a value to SBUF as type dtype (0: its own), pdim along the partitions from 0 on (128 to a
 * chunk): the view itself if it already lies so, else a temporary copy. Dimensions of stride 0 stay
 * so.
 */
int gen_fetch(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
	      struct ncc_view *out);
/*
 * The same of what is read again: a constant or an input, which no instruction changes, stays where
 * it was fetched to while there is room (keep.h).
 */
int gen_fetch_kept(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
		   struct ncc_view *out);

/*
 * transpose.c: would a DMA go element by element? Then the copy goes through blocks that POOL
 * transposes.
 */
bool gen_is_transpose(const struct ncc_view *dst, const struct ncc_view *src);
/* Are both sides whole blocks in SBUF, which POOL transposes many at a time? */
bool gen_is_blocks(const struct ncc_view *dst, const struct ncc_view *src);
int gen_transpose(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src);

/*
 * across.c: would elements go one by one from partition to partition? Then POOL transposes them, by
 * way of a tile where a side lies in DRAM.
 */
bool gen_is_across(const struct ncc_view *dst, const struct ncc_view *src);
int gen_across(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src);

#endif
