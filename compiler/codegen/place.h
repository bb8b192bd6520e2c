/* SPDX-License-Identifier: MIT */
/* Places of the values of operations. */
#ifndef NCC_GEN_PLACE_H
#define NCC_GEN_PLACE_H

#include "gen.h"
#include "passes/piece.h"

/* Makes op's value, with as many uses as op has; NULL: out of memory. */
struct ncc_value *gen_value(struct ncc_gen *g, struct ncc_op *op, const struct ncc_view *view);
/* Is this variable where all parts keep that value? */
bool gen_is_kept(const struct ncc_gen *g, uint32_t var, struct ncc_port port);
/* Is one of the module's results, once all is computed, written to this variable? */
bool gen_is_overwritten(const struct ncc_gen *g, uint32_t var);
/* Does a logical core's other core read or write it? */
bool gen_is_touched(const struct ncc_gen *g, uint32_t var);
/* Places a constant in DRAM, laid out for pdim along the partitions, unless it has been placed. */
int gen_place(struct ncc_gen *g, struct ncc_op *op, int pdim);
/* The same, contiguous along inner */
int gen_place_inner(struct ncc_gen *g, struct ncc_op *op, int pdim, int inner);
/* The operand row-major in DRAM: as it lies, or a copy, a temporary */
int gen_in_dram(struct ncc_gen *g, struct ncc_op *op, struct ncc_view *out);
int gen_fetch_op(struct ncc_gen *g, struct ncc_op *op, int pdim, uint8_t dtype,
		 struct ncc_view *out);
/*
 * Broadcast, transpose, slice, reverse, bitcast, reshape: a view of the operand where it can be one
 */
int gen_view(struct ncc_gen *g, const struct plan_op *p);

#endif
