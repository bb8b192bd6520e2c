/* SPDX-License-Identifier: MIT */
/*
 * Making operations of the tensor IR for one operation of a front end, whichever it is (build.c),
 * and what the IR does not have as several operations that it has (lower_*.c). They are named after
 * the front end's operation and keep their types (ncc_op.exact). An operand that could not be made
 * (NULL) makes the result NULL, so that only the last need be looked at.
 */
#ifndef NCC_BUILD_H
#define NCC_BUILD_H

#include "ir.h"

#define NCC_MANY 16 /* operands of what may have several */
#define NCC_MAX_CONST (1ll << 30) /* bytes, all constants of a module */

/* The operation being read: what a front end fills in once and hands to everything here */
struct ncc_build {
	struct ncc_module *m;
	struct ncc_error *err;
	const char *kind; /* as the front end calls the operation, for messages */
	const char *name;
	char *where; /* "file:line" or NULL */
	int64_t *const_bytes; /* of the module, so far */
};

/* one line with the operation's kind, name and place in front; returns code */
int build_fail(const struct ncc_build *bl, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* up to three operands; those after the first NULL are absent, the first must be there */
struct ncc_op *build_node(struct ncc_build *bl, enum ncc_kind kind, const struct ncc_shape *s,
			  struct ncc_op *a, struct ncc_op *b, struct ncc_op *c);
/* a constant of a shape, its data zero; NULL also when the module has too many (bl->err says so) */
struct ncc_op *build_const(struct ncc_build *bl, const struct ncc_shape *s);
/* one number all over a shape */
struct ncc_op *build_splat(struct ncc_build *bl, const struct ncc_shape *s, double v);
/* s32[n]: 0, 1, 2, ... */
struct ncc_op *build_count(struct ncc_build *bl, int64_t n);
struct ncc_op *build_cast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
struct ncc_op *build_bitcast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
/* a predicate of a's shape */
struct ncc_op *build_compare(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			     struct ncc_op *b);
struct ncc_op *build_select(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a,
			    struct ncc_op *b);
/* x with its dimensions spread over a shape: map[i] is where dimension i goes */
struct ncc_op *build_spread(struct ncc_build *bl, const struct ncc_shape *s, struct ncc_op *x,
			    const uint8_t *map);
/* the dimensions of s, the type of x */
struct ncc_op *build_reshape(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s);
/* map[i]: x's dimension of result dimension i */
struct ncc_op *build_transpose(struct ncc_build *bl, struct ncc_op *x, const uint8_t *map);

/*
 * A loop (NCC_LOOP): build_loop, a build_state for each value that changes, what makes the next
 * turn's of the states, build_loop_end with both in order (a state that stays as it is: itself), a
 * build_loop_result for each. Conditions are scalar predicates.
 */
struct ncc_op *build_loop(struct ncc_build *bl, struct ncc_op *first);
struct ncc_op *build_state(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *before);
struct ncc_op *build_loop_end(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *again,
			      struct ncc_op *const *state, struct ncc_op *const *next,
			      unsigned int n);
struct ncc_op *build_loop_result(struct ncc_build *bl, struct ncc_op *end, struct ncc_op *state);

typedef struct ncc_op *(*build_fn)(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* n indices of dimension d from start on */
struct ncc_op *build_slice(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			   int64_t n);
struct ncc_op *build_concat(struct ncc_build *bl, struct ncc_op *const *x, unsigned int n,
			    unsigned int d);
/* dimension d to 1: its halves against each other, log2 times; an odd one waits */
struct ncc_op *build_halves(struct ncc_build *bl, struct ncc_op *x, unsigned int d, build_fn fn);

/* lower_math.c: fp32 operands and results of one shape, whatever --auto-cast all says */
struct ncc_op *lower_round_even(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_round_away(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_floor(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_ceil(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_cbrt(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_log1p(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_expm1(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_sin(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_cos(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_tan(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_remainder(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* of integers below 2^24 in fp32, towards zero, b not 0 */
struct ncc_op *lower_divide_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* atan(y / x) in the quadrant of (x, y) */
struct ncc_op *lower_atan2(struct ncc_build *bl, struct ncc_op *y, struct ncc_op *x);
/* to that many bits of exponent and of fraction, ties to even; the rest is zeros */
struct ncc_op *lower_reduce_precision(struct ncc_build *bl, struct ncc_op *x, unsigned int exponent,
				      unsigned int fraction);
/* integers of one type: the rest of a division towards zero; a for b = 0 */
struct ncc_op *lower_rest_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* integers of one type: a to the power of b; of a negative b what 1 / a^-b is, towards zero */
struct ncc_op *lower_power_whole(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* a predicate */
struct ncc_op *lower_is_finite(struct ncc_build *bl, struct ncc_op *x);
/* x >> n of integers of one type, the sign coming in */
struct ncc_op *lower_shift_arithmetic(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *n);
/* how many bits are set; how many zeros there are above the highest that is */
struct ncc_op *lower_popcount(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *lower_leading_zeros(struct ncc_build *bl, struct ncc_op *x);
/* x of a smaller type, its elements' parts, lowest first, along a new last dimension; the reverse */
struct ncc_op *lower_split_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
struct ncc_op *lower_join_bits(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
/* s32 that is ordered as floats are with -NaN first, -0 before 0 and NaN last */
struct ncc_op *lower_total_order(struct ncc_build *bl, struct ncc_op *x);
/* any type to any: towards zero from a float to an integer, != 0 to a predicate */
struct ncc_op *lower_convert(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *to);

/*
 * lower_linear.c: matrices are the last two dimensions of floats; each step of n is unrolled.
 * The system that right sides b have with a triangle of a, of which only that is read
 */
struct ncc_triangle {
	bool lower; /* the one of a that is read */
	bool unit; /* its diagonal is ones */
	bool transposed; /* solve a' x = b */
	bool right; /* solve x a = b (or x a' = b) */
};
struct ncc_op *lower_triangular(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
				const struct ncc_triangle *t);
/*
 * The triangle l with l l' = x (lower), or u with u' u = x; of x only that triangle is read. *bad:
 * s32, the first row, from 1 on, where x is seen not to be positive definite; 0: it is
 */
struct ncc_op *lower_cholesky(struct ncc_build *bl, struct ncc_op *x, bool lower,
			      struct ncc_op **bad);
/*
 * l u = x with its rows exchanged: l without its diagonal of ones below, u above. *pivots: s32[...,
 * k]: with which row, from 1 on, each was exchanged in turn; *bad: s32, the first, from 1 on, whose
 * pivot is 0; 0: none
 */
struct ncc_op *lower_lu(struct ncc_build *bl, struct ncc_op *x, struct ncc_op **pivots,
			struct ncc_op **bad);

/* lower_index.c: what is chosen by an index */
/* idx as s32 in 0 .. most */
struct ncc_op *lower_clamp_index(struct ncc_build *bl, struct ncc_op *idx, int64_t most);
/* fp16[idx dims..., n]: 1 where the last index is the value of idx, else 0 */
struct ncc_op *lower_one_hot(struct ncc_build *bl, struct ncc_op *idx, int64_t n);
/*
 * x with dimension d chosen by the ones of hot[..., n], every bit of it: [hot's others..., x's
 * others...]; the first so many dimensions of both are shared
 */
struct ncc_op *lower_choose(struct ncc_build *bl, struct ncc_op *hot, struct ncc_op *x,
			    unsigned int d, unsigned int shared);
/*
 * Rows of a table by DMA: is that better for one of shared parts of rows by columns of x's
 * elements? Then x is such a table in any shape, idx s32 inside the rows, its first dimension the
 * shared one; the result is [idx's elements, columns]
 */
bool lower_has_rows(const struct ncc_op *x, int64_t shared, int64_t rows, int64_t columns);
struct ncc_op *lower_rows(struct ncc_build *bl, struct ncc_op *idx, struct ncc_op *x,
			  int64_t shared, int64_t rows);
/*
 * x with dimension d replaced by idx's dimensions, which come in its place: [x's before d...,
 * idx's, x's behind d...]. Indices out of range are clamped.
 */
struct ncc_op *lower_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
			  unsigned int d);
/* the same with indices, s32, that are inside */
struct ncc_op *lower_take_inside(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
				 unsigned int d);

/* Where slices are gathered from or scattered to: HLO's dimension numbers (lower_gather.c) */
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
int lower_gather(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
		 const struct ncc_slices *g, const struct ncc_shape *s, struct ncc_op **out);

/*
 * lower_scatter.c: n operands x of one shape with slices of them combined with their updates, in
 * their order; a slice that is not all inside is left out. func: NCC_ADD, ...; NCC_SELECT: the
 * update takes its place; NCC_PARAM: what fn does, which alone takes several operands: old becomes
 * the result (0, or -errno).
 */
struct ncc_combine {
	enum ncc_kind func;
	int (*fn)(void *opaque, struct ncc_op **old, struct ncc_op *const *update);
	void *opaque;
};
int lower_scatter(struct ncc_build *bl, unsigned int n, struct ncc_op *const *x, struct ncc_op *idx,
		  struct ncc_op *const *updates, const struct ncc_slices *g,
		  const struct ncc_combine *c, struct ncc_op **out);

#endif
