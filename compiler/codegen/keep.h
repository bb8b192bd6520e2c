/* SPDX-License-Identifier: MIT */
/* Operands from DRAM that stay in SBUF for later readers (keep.c). */
#ifndef NCC_GEN_KEEP_H
#define NCC_GEN_KEEP_H

#include "gen.h"

/* A view that was fetched so before and stayed; the caller takes a reference. False: none did */
bool gen_keep_find(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
		   struct ncc_view *out);
/* Lets out, as which v was just fetched, stay while there is room, if no instruction changes v. */
void gen_keep_add(struct ncc_gen *g, const struct ncc_view *v, int pdim, uint8_t dtype,
		  const struct ncc_view *out);
bool gen_keep_drop(struct ncc_gen *g); /* gives up one of them; false: none can go */
/* A variable changes: nothing that was fetched from it is what lies there. */
void gen_keep_forget(struct ncc_gen *g, uint32_t var);
/* Forgets what instructions that were dropped since have fetched. */
void gen_keep_rewind(struct ncc_gen *g);
void gen_keep_free(struct ncc_gen *g);

#endif
