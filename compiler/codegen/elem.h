/* SPDX-License-Identifier: MIT */
/* Element-wise operations, whose result is a fresh SBUF view with op->pdim. */
#ifndef NCC_GEN_ELEM_H
#define NCC_GEN_ELEM_H

#include "gen.h"

uint8_t gen_act_func(enum ncc_kind kind); /* ACT's function for it; 0: none */
int gen_elementwise(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

#endif
