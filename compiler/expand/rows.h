/* SPDX-License-Identifier: MIT */
/*
 * Matrices as rows along the partitions, fp32[batch * rows, columns], for what is computed row by
 * row in loops (reflect.c, jacobi.c). Products are element-wise, so that sums keep fp32's bits
 * whatever --auto-cast says. As in build.h, an operand that is NULL makes the result NULL.
 */
#ifndef NCC_EXPAND_ROWS_H
#define NCC_EXPAND_ROWS_H

#include "expand.h"

/* The rows (transposed: the columns) of matrices in the last two dimensions; the reverse */
struct ncc_op *rows_of(struct ncc_build *bl, struct ncc_op *x, bool transposed);
struct ncc_op *rows_back(struct ncc_build *bl, struct ncc_op *x, bool transposed,
			 const struct ncc_shape *s);
/* x reshaped */
struct ncc_op *rows_as(struct ncc_build *bl, struct ncc_op *x, int64_t rows, int64_t columns);
/* n rows of each of `batch` matrices, from row `first` on */
struct ncc_op *rows_cut(struct ncc_build *bl, struct ncc_op *x, int64_t batch, int64_t first,
			int64_t n);
struct ncc_op *rows_columns(struct ncc_build *bl, struct ncc_op *x, int64_t first, int64_t n);
/* Columns side by side */
struct ncc_op *rows_beside(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);

/* [rows, 1] or a scalar, in each column (row and column) */
struct ncc_op *rows_spread(struct ncc_build *bl, struct ncc_op *x, int64_t columns);
struct ncc_op *rows_all(struct ncc_build *bl, struct ncc_op *scalar, int64_t rows);
/* [rows, 1]: a number of each matrix, [batch, 1], for each of its n rows */
struct ncc_op *rows_each(struct ncc_build *bl, struct ncc_op *x, int64_t n);
/* [rows, 1]: the number of the row in its matrix; of the first row of its matrix among all of so
 * many */
struct ncc_op *rows_number(struct ncc_build *bl, int64_t batch, int64_t n);
struct ncc_op *rows_base(struct ncc_build *bl, int64_t batch, int64_t n, int64_t among);
/* [rows, columns]: the number of the column */
struct ncc_op *rows_place(struct ncc_build *bl, int64_t rows, int64_t columns);
/* The rows of identity matrices */
struct ncc_op *rows_identity(struct ncc_build *bl, int64_t batch, int64_t n);

/* [rows, 1]: the sum of a, of a * b, the largest |a| */
struct ncc_op *rows_sum(struct ncc_build *bl, struct ncc_op *a);
struct ncc_op *rows_dot(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
struct ncc_op *rows_largest(struct ncc_build *bl, struct ncc_op *a);
/* A scalar: the largest element, none of them negative */
struct ncc_op *rows_most(struct ncc_build *bl, struct ncc_op *a);
/* Rows of a table by their numbers, [rows, 1] */
struct ncc_op *rows_fetch(struct ncc_build *bl, struct ncc_op *table, struct ncc_op *at);
/* a * b, b one number of each row */
struct ncc_op *rows_times(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* A predicate: x compared with a number */
struct ncc_op *rows_is(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x, double v);
/* p ? a : v, p ? v : a */
struct ncc_op *rows_else(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a, double v);
/* [rows, 1]: the largest power of two up to x, 1 for 0 */
struct ncc_op *rows_power(struct ncc_build *bl, struct ncc_op *x);

/*
 * reflect.c: reflections of LAPACK's form, of the columns (rows here) x of batch matrices. Row k of
 * the result has the factor r up to place k, and then the reflector; *tau: [rows, 1]. go: a scalar
 * predicate, NULL: true. If it is false the result is any.
 */
struct ncc_op *rows_reflectors(struct ncc_build *bl, struct ncc_op *x, int64_t batch,
			       struct ncc_op *go, struct ncc_op **tau);
/*
 * The rows y of each matrix multiplied by the first k reflections of it, as rows_reflectors gives
 * them, the last one first (or the first one first).
 */
struct ncc_op *rows_reflected(struct ncc_build *bl, struct ncc_op *y, struct ncc_op *packed,
			      struct ncc_op *tau, int64_t batch, int64_t k, struct ncc_op *go,
			      bool forward);

#endif
