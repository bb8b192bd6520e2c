/* SPDX-License-Identifier: MIT */
/*
 * Private to gather.c and scatter.c: an operand's dimensions sorted by what an index does with them
 */
#ifndef NCC_SLICES_H
#define NCC_SLICES_H

#include "expand.h"

/*
 * Operand and indices as matrices: shared x rows x columns, and shared x slices. A row is a
 * position in the dimensions that an index moves in; a slice that is longer than 1 there is several
 * rows.
 */
struct slices {
	struct ncc_build *bl;
	const struct ncc_slices *g;
	const struct ncc_op *x, *idx;
	/* The operand's row dimensions, and its others except shared ones */
	unsigned int nrow, ncol;
	uint8_t row[NCC_MAX_DIMS], col[NCC_MAX_DIMS];
	unsigned int nq; /* the indices' dimensions but the vector, shared ones first */
	uint8_t q[NCC_MAX_DIMS];
	bool packed; /* those are one on the way, since there would be too many dimensions */
	int64_t shared, rows, columns, slices;
};

/* 0, or -EINVAL with the reason in bl->err */
int slices_init(struct slices *s, struct ncc_build *bl, const struct ncc_op *x,
		const struct ncc_op *idx, const struct ncc_slices *g);
/*
 * s32[shared, slices]: the row of each. outside: -1 where a slice is not wholly inside; otherwise
 * starts are clamped
 */
struct ncc_op *slices_rows(const struct slices *s, bool outside);
/*
 * The same of slices of one row each in one matrix, as the indices have them: those that are
 * outside are not -1. NULL: there is more to them
 */
struct ncc_op *slices_places(const struct slices *s);
/* x as [shared, rows, columns]; for a gather (cut) only the columns that a slice has */
struct ncc_op *slices_matrix(const struct slices *s, struct ncc_op *x, bool cut);
/*
 * map[i]: which of [q dimensions, row dimensions, column dimensions] is dimension i of the result
 * (or the updates). *dims: their sizes in that order, without the dropped ones
 */
int slices_order(const struct slices *s, unsigned int ndim, struct ncc_shape *dims, uint8_t *map);

#endif
