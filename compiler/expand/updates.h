/* SPDX-License-Identifier: MIT */
/* Private to scatter.c and updates.c: updates of the rows of matrices */
#ifndef NCC_UPDATES_H
#define NCC_UPDATES_H

#include "slices.h"

struct scatter {
	struct ncc_build *bl;
	const struct ncc_combine *c;
	unsigned int n; /* operands; several are combined by a computation */
	struct ncc_op *x[NCC_MANY]; /* [shared, rows, columns] */
	struct ncc_op *u[NCC_MANY]; /* [shared, slices, columns] */
	struct ncc_op *row; /* s32[shared, slices]; -1: none */
	struct ncc_op *place; /* the same of one matrix with any number outside for none, or NULL */
	int64_t slices;
};

/*
 * Combines rows with their updates, in the order of the slices, or adds those up: out, of x's
 * shapes. 0 or -errno; -ENOMEM also with a reason in bl->err
 */
int updates_apply(const struct scatter *s, struct ncc_op **out);
/* a = a combined with b, for all operands */
int updates_combine(const struct scatter *s, struct ncc_op **a, struct ncc_op *const *b);

#endif
