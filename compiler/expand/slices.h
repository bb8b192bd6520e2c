/* SPDX-License-Identifier: MIT */
/* Private to gather.c and scatter.c: an operand's dimensions sorted by what an index
 * does */
#ifndef NCC_SLICES_H
#define NCC_SLICES_H

#include "expand.h"

/*
 * Operand and indices as matrices: shared x rows x columns and shared x slices. A row is a place in
 * the dimensions that an index moves in; slices that are longer than 1 there are as many rows.
 */
struct slices {
	struct ncc_build *bl;
	const struct ncc_slices *g;
	const struct ncc_op *x, *idx;
	unsigned int nrow,
		ncol; /* dimensions of the operand: those, and the others but shared ones */
	uint8_t row[NCC_MAX_DIMS], col[NCC_MAX_DIMS];
	unsigned int nq; /* dimensions of the indices without the vector: shared ones first */
	uint8_t q[NCC_MAX_DIMS];
	int64_t shared, rows, columns, slices;
};

/* 0, or -EINVAL with the reason in bl->err */
int slices_init(struct slices *s, struct ncc_build *bl, const struct ncc_op *x,
		const struct ncc_op *idx, const struct ncc_slices *g);
/*
 * s32[shared, slices]: the row of each. outside: -1 where a slice is not all inside; else clamped
 */
struct ncc_op *slices_rows(const struct slices *s, bool outside);
/* x as [shared, rows, columns] (columns of a gather: what a slice has of them) */
struct ncc_op *slices_matrix(const struct slices *s, struct ncc_op *x, bool cut);
/*
 * map[i]: which of [q dimensions, row dimensions, column dimensions] dimension i of the result (or
 * the updates) is; *dims: their sizes in that order, dropped ones left out
 */
int slices_order(const struct slices *s, unsigned int ndim, struct ncc_shape *dims, uint8_t *map);

#endif
