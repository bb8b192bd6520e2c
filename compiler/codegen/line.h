/* SPDX-License-Identifier: MIT */
/*
 * Elements of rows by their places (NCC_TAKE, NCC_COMBINE), and the places of those in order
 * (NCC_ORDER): a row lies in a partition, from where POOL takes elements, or where it combines them
 * with others, or draws them (NCC_RANDOM).
 */
#ifndef NCC_GEN_LINE_H
#define NCC_GEN_LINE_H

#include "gen.h"

/* dst: a fresh SBUF view, that of operand 0 if a combination may change it, or in DRAM */
int gen_order(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_random(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_take(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_combine(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

#endif
