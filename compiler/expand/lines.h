/* SPDX-License-Identifier: MIT */
/*
 * Private to this directory: elements of lines by their places (lines.c). A line is a column of a
 * table, or a row of its own, that lies in a partition; a long one is cut into parts, in each of
 * which the places of the others are outside. As in build.h, an operand that is NULL makes the
 * result NULL.
 */
#ifndef NCC_EXPAND_LINES_H
#define NCC_EXPAND_LINES_H

#include "build/build.h"

/*
 * Times in ns on a host of 2.5 GHz: of an element that POOL takes from its place or combines with
 * what is there; of one that goes to another partition, or is only copied; of a row that a DMA
 * takes from its place, and of each of its bytes; of an operation
 */
#define LINES_PLACE 0.7
#define LINES_TURN 0.5
#define LINES_COPY 0.15
#define LINES_ROW 85.0
#define LINES_BYTE 0.1
#define LINES_OPERATION 1000.0

int64_t lines_parts(int64_t n); /* of a line of n elements */
/* x[lines, n] at place[1 or lines, m], s32; 0 where a place is outside */
struct ncc_op *lines_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place);
/* x combined with u[lines, m] at its places, by NCC_COMBINE's func */
struct ncc_op *lines_combine(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place,
			     struct ncc_op *u, enum ncc_kind func);

/*
 * Tables x[shared, rows, columns] as lines: [shared, rows] of one column, else [columns, shared *
 * rows]; the reverse, of so many rows. lines_places: s32[shared, m], numbers of rows, -1 for none,
 * as places in lines of several columns, s32[1, shared * m]
 */
struct ncc_op *lines_of(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lines_back(struct ncc_build *bl, struct ncc_op *x, int64_t shared, int64_t rows,
			  int64_t columns);
struct ncc_op *lines_places(struct ncc_build *bl, struct ncc_op *row, int64_t rows);

#endif
