/* SPDX-License-Identifier: MIT */
/* What puts operands together, or takes rows of them: the result is a fresh SBUF view. */
#ifndef NCC_GEN_JOIN_H
#define NCC_GEN_JOIN_H

#include "gen.h"

int gen_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_gather(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/*
 * What only a pad reads is made where the pad would copy it to. A place for op in the
 * result of op->pad, borders filled; the pad's result around a value that lies so
 */
void gen_find_pads(struct ncc_module *m);
int gen_pad_place(struct ncc_gen *g, const struct ncc_op *op, uint8_t dtype, struct ncc_view *dst);
struct ncc_view gen_padded(const struct ncc_op *pad);
int gen_pad(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

#endif
