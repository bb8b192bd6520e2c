/* SPDX-License-Identifier: MIT */
/* Concatenations, pads and gathers, whose result is a fresh SBUF view. */
#ifndef NCC_GEN_JOIN_H
#define NCC_GEN_JOIN_H

#include "gen.h"

int gen_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/* Fills the current operation's result, or a view of its size, with one number. */
int gen_fill(struct ncc_gen *g, const struct ncc_view *dst, double v);
/* Its result lies in DRAM. */
int gen_scatter(struct ncc_gen *g, struct ncc_op *op);
int gen_gather(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/*
 * A value that only a pad reads is computed where the pad would copy it. gen_pad_place gives op a
 * place in the result of op->pad and fills the borders; gen_padded is the pad's result around such
 * a value.
 */
void gen_find_pads(struct ncc_module *m);
int gen_pad_place(struct ncc_gen *g, const struct ncc_op *op, uint8_t dtype, struct ncc_view *dst);
struct ncc_view gen_padded(const struct ncc_op *pad);
int gen_pad(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

#endif
