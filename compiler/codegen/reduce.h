/* SPDX-License-Identifier: MIT */
/* Reductions, whose result is a fresh SBUF view with op->pdim. */
#ifndef NCC_GEN_REDUCE_H
#define NCC_GEN_REDUCE_H

#include "gen.h"

int gen_reduce(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_reduce_window(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/*
 * Steps of them, by their alu: dst = src reduced over the dimensions in mask; acc = alu(acc, part);
 * a window without the initial value; dst = alu(dst, initial value)
 */
int gen_reduce_part(struct ncc_gen *g, uint8_t alu, const struct ncc_view *dst,
		    const struct ncc_view *src, uint32_t mask);
int gen_reduce_combine(struct ncc_gen *g, uint8_t alu, const struct ncc_view *acc,
		       const struct ncc_view *part);
int gen_window_part(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
int gen_reduce_init(struct ncc_gen *g, const struct plan_step *step, const struct ncc_view *dst);

#endif
