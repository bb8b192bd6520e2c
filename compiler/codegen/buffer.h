/* SPDX-License-Identifier: MIT */
/* Reference-counted buffers in SBUF and DRAM, and temporaries. */
#ifndef NCC_GEN_BUFFER_H
#define NCC_GEN_BUFFER_H

#include "gen.h"

struct ncc_buf *gen_sbuf_alloc(struct ncc_gen *g, uint64_t bytes);
/* Frees the SBUF bytes of a buffer that lives on in DRAM (sbuf.c). */
void gen_sbuf_leave(struct ncc_gen *g, struct ncc_buf *buf);
struct ncc_buf *gen_dram_buf(uint32_t var);
/* A new variable's index, or -errno: -EFBIG when the chip's DRAM has no room for it */
int gen_var(struct ncc_gen *g, enum neff_var_type type, const char *name, uint64_t size);
/*
 * A scratch variable: row-major, or with pdim (unless -1) outermost if that is the last dimension.
 * A large one that is idle is reused. 0 or -errno
 */
int gen_scratch(struct ncc_gen *g, const struct ncc_shape *s, int pdim, struct ncc_view *v);
void gen_unref(struct ncc_gen *g, struct ncc_buf *buf);
/* Makes buf a temporary, which is released when the operation is done. */
int gen_temp(struct ncc_gen *g, struct ncc_buf *buf);
void gen_release_temps(struct ncc_gen *g, unsigned int mark); /* all but the first mark */
/* The index of the next PSUM bank, round robin */
unsigned int gen_psum_bank(struct ncc_gen *g);

#endif
