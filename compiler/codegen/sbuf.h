/* SPDX-License-Identifier: MIT */
/* Room in SBUF for a view, made at the cost of values that are needed later. */
#ifndef NCC_GEN_SBUF_H
#define NCC_GEN_SBUF_H

#include "buffer.h"

/* A new SBUF buffer for the shape, pdim along the partitions, the rest row-major. May move or spill
 * others. */
int gen_sbuf_view(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v);
/* A new SBUF view of the shape, its dimensions in the order in which v's lie in DRAM */
int gen_view_like(struct ncc_gen *g, const struct ncc_view *v, const struct ncc_shape *s, int pdim,
		  struct ncc_view *dst);
/* Spills a buffer of SBUF to DRAM; its views stay valid. */
int gen_spill_buf(struct ncc_gen *g, struct ncc_buf *b);

#endif
