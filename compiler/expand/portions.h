/* SPDX-License-Identifier: MIT */
/*
 * Private to this directory: what many indices choose, a portion of them in each iteration of a
 * loop (portions.c). As in build.h, an operand that is NULL makes the result NULL.
 */
#ifndef NCC_EXPAND_PORTIONS_H
#define NCC_EXPAND_PORTIONS_H

#include "expand.h"

/*
 * How many of n indices make a portion, each of which moves so many rows; n: all of them. In a
 * module that does not bound them (most_rows) that is always so.
 */
int64_t portions_each(const struct ncc_build *bl, int64_t n, int64_t rows);

/* Makes of a portion's indices, s32[each], the rows that they choose */
typedef struct ncc_op *(*portions_take_fn)(struct ncc_build *bl, struct ncc_op *idx,
					   struct ncc_op *x);
/* The rows that idx, s32[n], chooses of x, portion by portion */
struct ncc_op *portions_take(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
			     int64_t each, portions_take_fn take);

/* Updates of the rows of a table, which keeps its shape */
struct portions_updates {
	struct ncc_op *x;
	struct ncc_op *row; /* s32[n]; none stands for no row */
	struct ncc_op *u; /* [n, columns] */
	int64_t none;
	/* x with the updates of a portion, of `each` rows; opaque: the caller's */
	struct ncc_op *(*apply)(const void *opaque, struct ncc_op *x, struct ncc_op *row,
				struct ncc_op *u);
	const void *opaque;
};
/* x updated in the order of the rows, portion by portion */
struct ncc_op *portions_update(struct ncc_build *bl, const struct portions_updates *p,
			       int64_t each);

#endif
