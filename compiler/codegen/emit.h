/* SPDX-License-Identifier: MIT */
/* Instructions and DMAs appended to the program. */
#ifndef NCC_GEN_EMIT_H
#define NCC_GEN_EMIT_H

#include "gen.h"

int gen_insn(struct ncc_gen *g, unsigned int engine, const struct neuron_insn *insn);
int gen_dma_list(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *src,
		 unsigned int n); /* n pairs of views, one DMA */
/* A DMA of one descriptor, which is the program's from here on, also on failure */
int gen_dma_desc(struct ncc_gen *g, struct neff_desc *desc);
int gen_memset(struct ncc_gen *g, const struct ncc_view *dst, double v);

#endif
