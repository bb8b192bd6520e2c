/* SPDX-License-Identifier: MIT */
/*
 * Cuts a module with loops or calls of the host into parts without: they are executed one after the
 * other, some again while a condition holds, and the host is called between two of them. Called by
 * ncc.c before the passes, which see one part at a time.
 */
#ifndef NCC_LOOPS_H
#define NCC_LOOPS_H

#include "ir/ir.h"
#include "neff.h"

/* Parts first to last are executed again while the number's value is not 0. */
struct ncc_part_loop {
	unsigned int first, last;
	int64_t condition; /* between parts; written by last and the part before first */
	int64_t iterations; /* 0: not known */
};

/* A call of the host behind a part */
struct ncc_part_call {
	unsigned int after, order;
	const struct ncc_host_call *call;
	int64_t guard; /* a number; NCC_NOWHERE: there is none */
	/* of the operands' arrays, then of the results': NCC_NOWHERE: nobody needs it */
	int64_t *number;
};
#define NCC_NOWHERE (-1) /* the number of a value that is not kept */

/* Data that devices pass behind a part, or a number that each has before the first one */
struct ncc_part_transfer {
	unsigned int behind;
	const struct ncc_transfer *transfer; /* NULL: the number */
	bool replica; /* it is the replica's */
	int64_t from, to; /* numbers between parts */
	uint64_t bytes; /* of from */
};

/* Lists are the module's memory. */
struct ncc_parts {
	unsigned int n, nloops, ncalls, ntransfers;
	struct ncc_part_transfer *transfer; /* in the order of behind */
	struct ncc_module **part; /* they borrow the module's constants and names */
	struct ncc_part_loop *loop; /* in the order of first */
	struct ncc_part_call *call; /* in the order in which they are made */
};

#define NCC_KEPT_NAME 32
/* The name, of up to NCC_KEPT_NAME bytes, of the variable that keeps a number's value */
void ncc_kept_name(int64_t number, char *name);

/* Is there anything to cut: loops, calls of the host, or what passes among devices? */
bool ncc_has_parts(const struct ncc_module *m);
/*
 * What passes from part to part, or from iteration to iteration, is an output of one and a
 * parameter of the other, of one number between parts, in one place of the shared scratchpad. 0,
 * -EINVAL (malformed loops, values of a loop used outside it), -EFBIG or -ENOMEM; the caller calls
 * ncc_free_parts() in any case.
 */
int ncc_cut_loops(struct ncc_module *m, struct ncc_parts *parts, struct ncc_error *err);
void ncc_free_parts(struct ncc_parts *parts);

#endif
