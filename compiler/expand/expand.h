/* SPDX-License-Identifier: MIT */
/*
 * Operations that the tensor IR lacks, expanded to several that it has, for the front ends and the
 * passes. As in build.h, an operand that is NULL makes the result NULL.
 */
#ifndef NCC_EXPAND_H
#define NCC_EXPAND_H

#include "build/sizes.h"

/* math.c: fp32 operands and results of one shape, whatever --auto-cast all says */
struct ncc_op *expand_round_even(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_round_away(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_floor(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_ceil(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_cbrt(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_log1p(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_expm1(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_sin(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_cos(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_tan(struct ncc_build *bl, struct ncc_op *x);
/* The quotient, towards zero, of integers below 2^24 in fp32; b is not 0. */
struct ncc_op *expand_divide_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* atan(y / x) in the quadrant of (x, y) */
struct ncc_op *expand_atan2(struct ncc_build *bl, struct ncc_op *y, struct ncc_op *x);
/* x rounded to so many bits of exponent and fraction, ties to even, in its own type */
struct ncc_op *expand_reduce_precision(struct ncc_build *bl, struct ncc_op *x,
				       unsigned int exponent, unsigned int fraction);
/* The remainder of integers of one type divided towards zero; a for b = 0 */
struct ncc_op *expand_rest_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* a to the power of b, integers of one type; for a negative b 1 / a^-b towards zero */
struct ncc_op *expand_power_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* A predicate */
struct ncc_op *expand_is_finite(struct ncc_build *bl, struct ncc_op *x);
/* x >> n of integers of one type, filled with the sign bit */
struct ncc_op *expand_shift_arithmetic(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *n);
/* The number of bits that are set; the number of zeros above the highest of them */
struct ncc_op *expand_popcount(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_leading_zeros(struct ncc_build *bl, struct ncc_op *x);
/*
 * x split into elements of a smaller type, lowest bits first, along a new last dimension; the
 * reverse
 */
struct ncc_op *expand_split_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
struct ncc_op *expand_join_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
/* An s32 that is ordered as floats are, with -NaN first, -0 before 0 and NaN last */
struct ncc_op *expand_total_order(struct ncc_build *bl, struct ncc_op *x);
/* Converts any type to any: a float to an integer towards zero, anything to a predicate by != 0. */
struct ncc_op *expand_convert(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *to);

/* remainder.c: C's fmod of fp32, exact; what was cast from a type of fewer bits takes fewer steps */
struct ncc_op *expand_remainder(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *y);

/*
 * float8.c, all exact. expand_float8: x, in fp32, rounded to the nearest of the format, as bf16,
 * with the sign of another number, which a zero may have lost. What is too large becomes what the
 * format has behind its largest number, or that number (saturate). The others: of a format's bytes,
 * in u8, their values in bf16, and the reverse, of values that the format has
 */
struct ncc_op *expand_float8(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *sign,
			     const struct ncc_float8 *f, bool saturate);
struct ncc_op *expand_float8_values(struct ncc_build *bl, struct ncc_op *bytes,
				    const struct ncc_float8 *f);
struct ncc_op *expand_float8_bytes(struct ncc_build *bl, struct ncc_op *values,
				   const struct ncc_float8 *f);

/*
 * linear.c: matrices are the last two dimensions of floats, and every step over rows is unrolled.
 * An ncc_triangle says which system expand_triangular solves for right-hand sides b; only the given
 * triangle of a is read.
 */
struct ncc_triangle {
	bool lower; /* a is lower triangular */
	bool unit; /* a's diagonal is ones */
	bool transposed; /* solve a' x = b */
	bool right; /* solve x a = b (or x a' = b) */
};
struct ncc_op *expand_triangular(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				 const struct ncc_triangle *t);
/*
 * The triangle l with l l' = x (lower), or u with u' u = x; only that triangle of x is read. *bad:
 * s32, the number (from 1) of the first row that shows x not to be positive definite; 0: none does
 */
struct ncc_op *expand_cholesky(struct ncc_build *bl, struct ncc_op *x, bool lower,
			       struct ncc_op **bad);
/*
 * The factors l u of x with its rows exchanged: l below the diagonal (its own is ones), u above.
 * *pivots: s32[..., k], the row (from 1) that each row in turn was exchanged with. *bad: s32, the
 * first row (from 1) whose pivot is 0; 0: none
 */
struct ncc_op *expand_lu(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **pivots,
			 struct ncc_op **bad);

/*
 * tridiagonal.c: a x = b for the diagonals of a, [..., n], lower[0] and upper[n - 1] being outside,
 * and b, [..., n, sides]. They become the factors' as LAPACK's gtsv leaves them: upper[n - 1],
 * lower's ends stay, the rest of lower is the diagonal above upper. bad: s32, the first row (from
 * 1) whose pivot is 0; 0: none
 */
struct ncc_tridiagonal {
	struct ncc_op *lower, *d, *upper, *bad;
};
struct ncc_op *expand_tridiagonal(struct ncc_build *bl, struct ncc_tridiagonal *t,
				  struct ncc_op *b);

/*
 * reflect.c: r in the upper triangle of x, the reflectors below it, and *tau, [..., k], as LAPACK's
 * geqrf gives them. expand_reflect: q y (left) or y q, q the product of the reflections, the first
 * k of packed; forward: the first one is applied first, q' y or y q. Without y (NULL): q's first
 * columns, as many as packed has
 */
struct ncc_op *expand_qr(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **tau);
struct ncc_op *expand_reflect(struct ncc_build *bl, struct ncc_op *packed, struct ncc_op *tau,
			      struct ncc_op *y, bool left, bool forward);

/*
 * jacobi.c. expand_eigh: the eigenvectors of a symmetric x, of which the given triangle is read, as
 * columns; *values: ascending; *bad: s32, 1 for a matrix with an infinity or NaN, else 0.
 * expand_svd: x = u s v, the values s descending; 0 or -1
 */
struct ncc_op *expand_eigh(struct ncc_build *bl, struct ncc_op *x, bool lower,
			   struct ncc_op **values, struct ncc_op **bad);
enum ncc_vectors {
	NCC_NO_VECTORS,
	NCC_VECTORS_OF_VALUES, /* one for each value */
	NCC_ALL_VECTORS, /* whole bases */
};
struct ncc_svd {
	struct ncc_op *values, *u, *v, *bad;
};
int expand_svd(struct ncc_build *bl, struct ncc_op *x, enum ncc_vectors which, struct ncc_svd *r);

/*
 * complex.c: complex numbers as pairs of fp32 of one shape. A result of which a part is NULL was
 * not made.
 */
struct ncc_complex {
	struct ncc_op *re, *im;
};
typedef struct ncc_complex (*expand_complex_unary)(struct ncc_build *bl, struct ncc_complex x);
typedef struct ncc_complex (*expand_complex_binary)(struct ncc_build *bl, struct ncc_complex a,
						    struct ncc_complex b);
struct ncc_op *expand_complex_abs(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_divide(struct ncc_build *bl, struct ncc_complex a,
					 struct ncc_complex b);
struct ncc_complex expand_complex_power(struct ncc_build *bl, struct ncc_complex a,
					struct ncc_complex b);
struct ncc_complex expand_complex_exp(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_expm1(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_log(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_log1p(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_logistic(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_sqrt(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_rsqrt(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_sin(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_cos(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_tan(struct ncc_build *bl, struct ncc_complex x);
struct ncc_complex expand_complex_tanh(struct ncc_build *bl, struct ncc_complex x);
/* x / |x|, 0 for 0 */
struct ncc_complex expand_complex_sign(struct ncc_build *bl, struct ncc_complex x);

/*
 * fft.c: discrete Fourier transforms along dimension d, of at most NCC_MOST_FFT numbers; an inverse
 * one divides by their number. x.im may be NULL: x is real.
 */
#define NCC_MOST_FFT (1 << 18)
struct ncc_complex expand_fft(struct ncc_build *bl, struct ncc_complex x, unsigned int d,
			      bool inverse);
/* The inverse one of n numbers that are known to be real: x has the first n / 2 + 1. */
struct ncc_op *expand_fft_to_real(struct ncc_build *bl, struct ncc_complex x, unsigned int d,
				  int64_t n);

/* index.c, choose.c: elements chosen by an index */
/* idx as s32, clamped to 0 .. most */
struct ncc_op *expand_clamp_index(struct ncc_build *bl, struct ncc_op *idx, int64_t most);
/*
 * Rows of x[shared, rows, columns] by row, s32[1 or shared, m], in range and the same for all or
 * not: [shared, m, columns]
 */
struct ncc_op *expand_choose_rows(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *row);
/*
 * expand_has_rows: can rows of a table be fetched by DMA, for x as `shared` tables of rows x
 * columns? expand_has_long_table: is that possible, if slow? expand_table_parts: how often a row of
 * such a table is fetched. expand_rows does it: x is such a table in any shape, idx s32 within the
 * rows, its first dimension the shared one; the result is [idx's elements, columns].
 */
bool expand_has_rows(const struct ncc_op *x, int64_t shared, int64_t rows, int64_t columns);
bool expand_has_long_table(const struct ncc_op *x, int64_t shared, int64_t rows, int64_t columns);
int64_t expand_table_parts(const struct ncc_op *x, int64_t rows, int64_t columns);
struct ncc_op *expand_rows(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
			   int64_t shared, int64_t rows);
/*
 * x with idx's dimensions in place of dimension d: [x's dimensions before d..., idx's..., x's after
 * d...]. Indices out of range are clamped.
 */
struct ncc_op *expand_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
			   unsigned int d);
/* The same with s32 indices that are in range */
struct ncc_op *expand_take_inside(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
				  unsigned int d);

/* x with v, of the same type, in place of its window that begins at start, wholly inside */
struct ncc_op *expand_place(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *v,
			    const int64_t *start);

/*
 * order.c: the places, s32[rows, k], of the first k of each row of x[rows, n], from the smallest
 * (or the largest) on, floats in total order; equal ones in order of their places.
 * expand_has_order: are there the first k along dimension d of shape s? expand_order_pays: is that
 * quicker than a network, to sort n? expand_take_places: x[rows, n] at such places.
 */
bool expand_has_order(const struct ncc_shape *s, unsigned int d, int64_t k);
bool expand_order_pays(int64_t n);
struct ncc_op *expand_order(struct ncc_build *bl, struct ncc_op *x, int64_t k, bool descending);
struct ncc_op *expand_take_places(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *place);

/* x, of any shape, as rows along its dimension d; the reverse, of shape s */
struct ncc_op *expand_as_rows(struct ncc_build *bl, struct ncc_op *x, unsigned int d);
struct ncc_op *expand_from_rows(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s,
				unsigned int d);

/* gather.c: *out has shape s. Starts out of range are clamped. 0, or -errno and bl->err */
int expand_gather(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
		  const struct ncc_slices *g, const struct ncc_shape *s, struct ncc_op **out);

/*
 * scatter.c: n operands x of one shape, into which slices are combined with their updates, in
 * order. A slice that is not wholly inside is left out.
 */
enum ncc_combine_by {
	NCC_COMBINE_KIND, /* by an operation of the IR, NCC_ADD, ... */
	NCC_COMBINE_SECOND, /* the update replaces what was there */
	NCC_COMBINE_FN, /* by a function, also of several operands: it changes old; 0 or -errno */
};
struct ncc_combine {
	enum ncc_combine_by by;
	enum ncc_kind kind;
	int (*fn)(void *opaque, struct ncc_op **old, struct ncc_op *const *update);
	void *opaque;
};
/*
 * x with u in place of the elements from start[d] (s32, inside x) on along each dimension; where it
 * is NULL, at[d]. expand_has_update: is it better to move rows, as expand_update does?
 */
bool expand_has_update(const struct ncc_shape *x, const struct ncc_shape *u);
struct ncc_op *expand_update(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *u,
			     struct ncc_op *const *start, const int64_t *at);
int expand_scatter(struct ncc_build *bl, unsigned int n, struct ncc_op *const *x,
		   struct ncc_op *idx, struct ncc_op *const *updates, const struct ncc_slices *g,
		   const struct ncc_combine *c, struct ncc_op **out);

#endif
