/* SPDX-License-Identifier: MIT */
/* Dividing a module among the two cores of a logical one. */
#ifndef NCC_CORES_H
#define NCC_CORES_H

#include "ir/ir.h"

#define NCC_CORES 2

/*
 * Makes of m, after its passes, a module for each core, which borrow m's constants. Operations that
 * cost something are done in halves, along one dimension of the result; what then reads a value as
 * a whole has the cores exchange their halves (NCC_EXCHANGE), in the same order in both modules.
 * least: the cost of an operation with which a division begins; 0: where it pays. 0, -ENOMEM or
 * -EINVAL; the caller frees those of the modules that are not NULL in either case.
 */
int ncc_divide(struct ncc_module *m, uint64_t least, struct ncc_module *core[NCC_CORES],
	       struct ncc_error *err);

#endif
