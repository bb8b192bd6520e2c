/* SPDX-License-Identifier: MIT */
/* Dividing a module among the two cores of a logical one. */
#ifndef NCC_CORES_H
#define NCC_CORES_H

#include "piece.h"

#define NCC_CORES 2

/* What a core's module shares with the other one's */
struct ncc_half {
	unsigned int core;
	/* where in the shared scratchpad what exchange i passes lies, from either core */
	uint64_t *exchanged;
	/*
	 * Of outputs that it writes a part of, the whole's shape (NULL: it writes all) and where
	 * the part begins
	 */
	const struct ncc_shape **out_of;
	int64_t *out_start;
	/* of a part: what either core writes, and what the other one reads or writes */
	const struct ncc_port *written, *touched;
	unsigned int nwritten, ntouched;
};

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
