/* SPDX-License-Identifier: MIT */
/* Element-wise operations, whose result is a fresh SBUF view with op->pdim. */
#ifndef NCC_GEN_ELEM_H
#define NCC_GEN_ELEM_H

#include "gen.h"

/* Is it one element for each partition, whatever the free index? */
bool elem_per_partition(const struct ncc_view *v);
int gen_elementwise(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst);

/* A binary operation of two numbers that may be the first or the second of two in one instruction */
bool elem_can_chain(enum ncc_kind kind);
bool elem_can_end_chain(enum ncc_kind kind);
/* One step of a chain of element-wise operations: what was computed before it, and this operand */
struct elem_step {
	enum ncc_kind kind;
	bool second; /* what was computed before is its second operand */
	const struct ncc_view *view; /* NULL: an immediate */
	double value;
};
/*
 * dst = (a step[0]) step[1], in one instruction where step[0]'s operand is a scalar or one number
 * for each partition. What lies between is fp32.
 */
int gen_chain(struct ncc_gen *g, const struct ncc_view *dst, const struct ncc_view *a,
	      const struct elem_step step[2]);

#endif
