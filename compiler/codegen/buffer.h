/* SPDX-License-Identifier: MIT */
/* Buffers: places in SBUF and variables in DRAM, counted, and temporaries. */
#ifndef NCC_GEN_BUFFER_H
#define NCC_GEN_BUFFER_H

#include "gen.h"

struct ncc_buf *gen_sbuf_alloc(struct ncc_gen *g, uint64_t bytes);
/* the buffer's bytes without the buffer: it goes on to live in DRAM (room.c) */
void gen_sbuf_leave(struct ncc_gen *g, struct ncc_buf *buf);
struct ncc_buf *gen_dram_buf(uint32_t var);
/* a new variable, or its error: -EFBIG when the chip's DRAM has no room for it */
int gen_var(struct ncc_gen *g, enum neff_var_type type, const char *name, uint64_t size);
/*
 * a scratch variable, row-major, but pdim (or -1) outermost if it is the last dimension; a large
 * one that is idle serves again. 0 or -errno
 */
int gen_scratch(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v);
void gen_unref(struct ncc_gen *g, struct ncc_buf *buf);
int gen_temp(struct ncc_gen *g, struct ncc_buf *buf); /* released when the operation is done */
void gen_release_temps(struct ncc_gen *g, unsigned int mark); /* all after the first mark */
/* a PSUM bank's index, round robin */
unsigned int gen_psum_bank(struct ncc_gen *g);

#endif
