/* SPDX-License-Identifier: MIT */
/* Concatenations, pads and gathers, whose result is a fresh SBUF view. */
#ifndef NCC_GEN_JOIN_H
#define NCC_GEN_JOIN_H

#include "gen.h"

int gen_concat(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/* Fills the current operation's result, or a view of its size, with one number. */
int gen_fill(struct ncc_gen *g, const struct ncc_view *dst, double v);
/* Operations whose results lie in DRAM */
int gen_scatter(struct ncc_gen *g, const struct plan_op *p);
int gen_custom(struct ncc_gen *g, const struct plan_op *p);
int gen_kernel(struct ncc_gen *g, const struct plan_op *p);
int gen_gather(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/*
 * A value that only a pad reads is computed where the pad would copy it. gen_pad_place gives op a
 * place in the result of op->plan->pad and fills the borders; gen_padded is the pad's result around
 * such a value.
 */
int gen_pad_place(struct ncc_gen *g, const struct ncc_op *op, uint8_t dtype, struct ncc_view *dst);
struct ncc_view gen_padded(const struct ncc_op *pad);
int gen_pad(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);
/*
 * An element-wise value that only a concatenation reads is computed where that would copy it.
 * gen_join_place gives op a place in the result of op->plan->joined; gen_join_result is the result
 * of the concatenation op. False: there is no such place, as in a result that left SBUF meanwhile.
 */
bool gen_join_place(struct ncc_gen *g, const struct ncc_op *op, uint8_t dtype,
		    struct ncc_view *dst);
bool gen_join_result(struct ncc_gen *g, const struct ncc_op *op, struct ncc_view *dst);

#endif
