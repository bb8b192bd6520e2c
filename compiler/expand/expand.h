/* SPDX-License-Identifier: MIT */
/*
 * What the tensor IR does not have as several operations that it has, for the front ends and the
 * passes. As with build.h, an operand that is NULL makes the result NULL.
 */
#ifndef NCC_EXPAND_H
#define NCC_EXPAND_H

#include "build.h"

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
struct ncc_op *expand_remainder(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* of integers below 2^24 in fp32, towards zero, b not 0 */
struct ncc_op *expand_divide_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* atan(y / x) in the quadrant of (x, y) */
struct ncc_op *expand_atan2(struct ncc_build *bl, struct ncc_op *y, struct ncc_op *x);
/* to that many bits of exponent and of fraction, ties to even; the rest is zeros */
struct ncc_op *expand_reduce_precision(struct ncc_build *bl, struct ncc_op *x,
				       unsigned int exponent, unsigned int fraction);
/* integers of one type: the rest of a division towards zero; a for b = 0 */
struct ncc_op *expand_rest_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* integers of one type: a to the power of b; of a negative b what 1 / a^-b is, towards zero */
struct ncc_op *expand_power_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* a predicate */
struct ncc_op *expand_is_finite(struct ncc_build *bl, struct ncc_op *x);
/* x >> n of integers of one type, the sign coming in */
struct ncc_op *expand_shift_arithmetic(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *n);
/* how many bits are set; how many zeros there are above the highest that is */
struct ncc_op *expand_popcount(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *expand_leading_zeros(struct ncc_build *bl, struct ncc_op *x);
/* x of a smaller type, its elements' parts, lowest first, along a new last dimension; the reverse */
struct ncc_op *expand_split_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
struct ncc_op *expand_join_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
/* s32 that is ordered as floats are with -NaN first, -0 before 0 and NaN last */
struct ncc_op *expand_total_order(struct ncc_build *bl, struct ncc_op *x);
/* any type to any: towards zero from a float to an integer, != 0 to a predicate */
struct ncc_op *expand_convert(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *to);

/*
 * linear.c: matrices are the last two dimensions of floats; each step of n is unrolled.
 * The system that right sides b have with a triangle of a, of which only that is read
 */
struct ncc_triangle {
	bool lower; /* the one of a that is read */
	bool unit; /* its diagonal is ones */
	bool transposed; /* solve a' x = b */
	bool right; /* solve x a = b (or x a' = b) */
};
struct ncc_op *expand_triangular(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				 const struct ncc_triangle *t);
/*
 * The triangle l with l l' = x (lower), or u with u' u = x; of x only that triangle is read. *bad:
 * s32, the first row, from 1 on, where x is seen not to be positive definite; 0: it is
 */
struct ncc_op *expand_cholesky(struct ncc_build *bl, struct ncc_op *x, bool lower,
			       struct ncc_op **bad);
/*
 * l u = x with its rows exchanged: l without its diagonal of ones below, u above. *pivots: s32[...,
 * k]: with which row, from 1 on, each was exchanged in turn; *bad: s32, the first, from 1 on, whose
 * pivot is 0; 0: none
 */
struct ncc_op *expand_lu(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **pivots,
			 struct ncc_op **bad);

/* index.c: what is chosen by an index */
/* idx as s32 in 0 .. most */
struct ncc_op *expand_clamp_index(struct ncc_build *bl, struct ncc_op *idx, int64_t most);
/* fp16[idx dims..., n]: 1 where the last index is the value of idx, else 0 */
struct ncc_op *expand_one_hot(struct ncc_build *bl, struct ncc_op *idx, int64_t n);
/*
 * x with dimension d chosen by the ones of hot[..., n], every bit of it: [hot's others..., x's
 * others...]; the first so many dimensions of both are shared
 */
struct ncc_op *expand_choose(struct ncc_build *bl, struct ncc_op *hot, struct ncc_op *x,
			     unsigned int d, unsigned int shared);
/*
 * Rows of a table by DMA: is that better for one of shared parts of rows by columns of x's
 * elements? Then x is such a table in any shape, idx s32 inside the rows, its first dimension the
 * shared one; the result is [idx's elements, columns]
 */
bool expand_has_rows(const struct ncc_op *x, int64_t shared, int64_t rows, int64_t columns);
struct ncc_op *expand_rows(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
			   int64_t shared, int64_t rows);
/*
 * x with dimension d replaced by idx's dimensions, which come in its place: [x's before d...,
 * idx's, x's behind d...]. Indices out of range are clamped.
 */
struct ncc_op *expand_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
			   unsigned int d);
/* the same with indices, s32, that are inside */
struct ncc_op *expand_take_inside(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
				  unsigned int d);

/* Where slices are gathered from or scattered to: HLO's dimension numbers (gather.c) */
struct ncc_slices {
	unsigned int nwindow; /* dimensions of the result (or the updates) that lie in a slice */
	uint8_t window[NCC_MAX_DIMS];
	uint32_t dropped; /* mask: dimensions of the operand that a slice lacks (of size 1) */
	unsigned int nbatch; /* shared dimensions: the operand's, and the indices' */
	uint8_t batch[NCC_MAX_DIMS], index_batch[NCC_MAX_DIMS];
	unsigned int nmap; /* component i of an index is along dimension map[i] of the operand */
	uint8_t map[NCC_MAX_DIMS];
	unsigned int vector; /* dimension of the indices along which an index's components lie */
	int64_t size[NCC_MAX_DIMS]; /* of a slice, for each dimension of the operand */
};
/* 0, or -errno and bl->err; *out of shape s. Starts out of range are clamped. */
int expand_gather(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
		  const struct ncc_slices *g, const struct ncc_shape *s, struct ncc_op **out);

/*
 * scatter.c: n operands x of one shape with slices of them combined with their updates, in
 * their order; a slice that is not all inside is left out.
 */
enum ncc_combine_by {
	NCC_COMBINE_KIND, /* an operation of the IR, NCC_ADD, ... */
	NCC_COMBINE_SECOND, /* the update takes the place of what was there */
	NCC_COMBINE_FN, /* of several operands too: old becomes the result; 0, or -errno */
};
struct ncc_combine {
	enum ncc_combine_by by;
	enum ncc_kind kind;
	int (*fn)(void *opaque, struct ncc_op **old, struct ncc_op *const *update);
	void *opaque;
};
int expand_scatter(struct ncc_build *bl, unsigned int n, struct ncc_op *const *x,
		   struct ncc_op *idx, struct ncc_op *const *updates, const struct ncc_slices *g,
		   const struct ncc_combine *c, struct ncc_op **out);

#endif
