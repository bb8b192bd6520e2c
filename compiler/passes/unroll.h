/* SPDX-License-Identifier: MIT */
/*
 * Loops whose number of iterations is known (unroll.c). Called by loops.c for modules whose loops
 * are well formed and that were just swept.
 */
#ifndef NCC_UNROLL_H
#define NCC_UNROLL_H

#include "ir/ir.h"

/* The iterations of the loop with this end, whatever the inputs are; 0: not known */
int64_t ncc_iterations(const struct ncc_op *end);
/* The state that counts its iterations, and both bounds of what that is in them; NULL: none does */
const struct ncc_op *ncc_counter(const struct ncc_op *end, int64_t bounds[2]);
/*
 * Unrolls loops that have none within them: several copies of the body an iteration, since the
 * runtime takes part in each iteration; copies that are left over follow the loop. 0 or -ENOMEM;
 * the module is swept.
 */
int ncc_unroll_loops(struct ncc_module *m, struct ncc_error *err);

#endif
