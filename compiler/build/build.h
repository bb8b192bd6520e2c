/* SPDX-License-Identifier: MIT */
/*
 * Constructors of operations of the tensor IR, for the front ends, for expand/ and for the passes.
 * What they make has the name of the operation that is being read, and keeps its types
 * (ncc_op.exact). An operand that could not be made (NULL) makes the result NULL, so only the last
 * one need be checked.
 *
 * A builder makes operations as they are told (build.c), or, with `now`, checks and computes them
 * when it makes them (fold.c): that is what a front end needs whose shapes are not in the file but
 * follow from what has been made before.
 */
#ifndef NCC_BUILD_H
#define NCC_BUILD_H

#include "ir/ir.h"

#define NCC_MANY 16 /* operands of an operation with any number of them */
#define NCC_MAX_CONST (1ll << 30) /* bytes, all constants of a module that its file has not */
#define NCC_MAX_FOLD (1 << 22) /* elements of an operation that is computed when it is made */
#define NCC_MAX_FOLDED (1 << 28) /* elements of all of them */
#define NCC_MAX_DATA (1 << 24) /* elements of a constant that is made now */

/*
 * Of a builder that checks and computes at once. Operands are broadcast to each other as NumPy does
 * it, what does not fit is an error, and an operation of constants becomes one.
 */
struct ncc_now {
	int *rc; /* of the first error; after that nothing is made */
	unsigned int *made; /* operations so far, at most NCC_MAX_OPS */
	int64_t *folded; /* elements that were computed so far */
	bool exact; /* ncc_op.exact of what is made */
};

/* The operation being read: a front end fills this in once and hands it to everything here. */
struct ncc_build {
	struct ncc_module *m;
	struct ncc_error *err;
	const char *kind; /* the front end's name of the operation, for messages */
	const char *name;
	char *where; /* "file:line" or NULL */
	int64_t *const_bytes; /* of all constants of the module so far */
	const struct ncc_now *now; /* NULL: the operands fit, and the passes compute */
};

/*
 * Reports one line with the operation's kind, name and place in front; returns code. -ENOMEM is
 * that something is NULL: if err says why, or a module has as many operations as it may, the code
 * is -EFBIG, and err says that.
 */
int build_fail(const struct ncc_build *bl, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * An operation of up to three operands: those after the first NULL are absent, the first is
 * required. Once its attributes are set, build_done verifies and computes it, if that is now.
 */
struct ncc_op *build_node(struct ncc_build *bl, enum ncc_kind kind, const struct ncc_shape *s,
			  struct ncc_op *a, struct ncc_op *b, struct ncc_op *c);
/* The same of any number of operands, for the caller to fill in */
struct ncc_op *build_any(struct ncc_build *bl, enum ncc_kind kind, const struct ncc_shape *s,
			 unsigned int nin);
/* fold.c */
struct ncc_op *build_done(struct ncc_build *bl, struct ncc_op *op);
/* What expand_* has made of x, by a builder without `now`: computed now if x is a constant */
struct ncc_op *build_expanded(struct ncc_build *bl, struct ncc_op *op, struct ncc_op *x);
bool build_is_const(const struct ncc_op *op); /* data, or a broadcast of data */

/* A constant of zeros. NULL also when the module has too many constants (bl->err says so). */
struct ncc_op *build_const(struct ncc_build *bl, const struct ncc_shape *s);
/* A scalar constant of a shape's type */
struct ncc_op *build_scalar(struct ncc_build *bl, const struct ncc_shape *like, double v);
/* [n]: 0, 1, 2, ..., and the same of s32 */
struct ncc_op *build_iota(struct ncc_build *bl, uint8_t dtype, int64_t n);
struct ncc_op *build_count(struct ncc_build *bl, int64_t n);
/* [n], of integers: first, first + step, ... */
struct ncc_op *build_steps(struct ncc_build *bl, uint8_t dtype, int64_t n, int64_t first,
			   int64_t step);
/*
 * broadcast.c: the elements of a table of integers counted from first, row by row, as sums of a
 * number of the row and one of the column
 */
struct ncc_op *build_numbers(struct ncc_build *bl, const struct ncc_shape *table, int64_t first);
/* s32[n]: start, start + 1, ... */
struct ncc_op *build_range(struct ncc_build *bl, struct ncc_op *start, int64_t n);

/*
 * element.c: by one operation of the IR (NCC_CONVERT); expand_convert is what front ends mean by a
 * cast.
 */
struct ncc_op *build_cast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
struct ncc_op *build_bitcast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
/* The bits of floats as integers of their size; integers as they are */
struct ncc_op *build_bits(struct ncc_build *bl, struct ncc_op *x);
struct ncc_op *build_unary(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x);
/*
 * An operation on two operands of one shape, which the result has too; a comparison gives a
 * predicate. The same on x and a number
 */
struct ncc_op *build_binary(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			    struct ncc_op *b);
struct ncc_op *build_number(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x, double v);

static inline struct ncc_op *build_compare(struct ncc_build *bl, enum ncc_kind kind,
					   struct ncc_op *a, struct ncc_op *b)
{
	return build_binary(bl, kind, a, b);
}

/* broadcast.c: x broadcast to the dimensions of s: its dimension i becomes dimension map[i]. */
struct ncc_op *build_spread(struct ncc_build *bl, const struct ncc_shape *s, struct ncc_op *x,
			    const uint8_t *map);
/* One number throughout a shape */
struct ncc_op *build_splat(struct ncc_build *bl, const struct ncc_shape *s, double v);
/* x broadcast as NumPy does it; two operands to their common shape (false: there is none) */
struct ncc_op *build_expand(struct ncc_build *bl, struct ncc_op *x, unsigned int ndim,
			    const int64_t *dim);
bool build_common(struct ncc_build *bl, struct ncc_op **a, struct ncc_op **b);
struct ncc_op *build_select(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a,
			    struct ncc_op *b);

/* move.c: x with the dimensions of s and its own type; with a new dimension of 1 */
struct ncc_op *build_reshape(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s);
struct ncc_op *build_insert(struct ncc_build *bl, struct ncc_op *x, unsigned int at);
/* The result's dimension i is x's dimension map[i]. */
struct ncc_op *build_transpose(struct ncc_build *bl, struct ncc_op *x, const uint8_t *map);
/* The n elements of dimension d from start on; every stride-th of them */
struct ncc_op *build_slice(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			   int64_t n);
struct ncc_op *build_strided(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			     int64_t n, int64_t stride);
struct ncc_op *build_reverse(struct ncc_build *bl, struct ncc_op *x, unsigned int d);
struct ncc_op *build_concat(struct ncc_build *bl, struct ncc_op *const *x, unsigned int n,
			    unsigned int d);
/* x with so many elements more before and behind each dimension, of a scalar's value; or fewer */
struct ncc_op *build_pad(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *value,
			 const int64_t *low, const int64_t *high);

/* contract.c */
struct ncc_op *build_dot(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b,
			 const struct ncc_dot *d, uint8_t dtype);
/* Reduces the dimensions of the mask by func, from a scalar on */
struct ncc_op *build_reduce_from(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *first,
				 enum ncc_kind func, uint32_t mask);
/* The same from what changes nothing on; keep: the dimensions stay, with one element */
struct ncc_op *build_reduce(struct ncc_build *bl, struct ncc_op *x, enum ncc_kind func,
			    uint32_t mask, bool keep);
struct ncc_op *build_reduce_window(struct ncc_build *bl, struct ncc_op *x, enum ncc_kind func,
				   double init, const struct ncc_window *w);
/* Reduces dimension d to 1 by combining its halves log2 times; an odd element waits for the end. */
typedef struct ncc_op *(*build_fn)(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
struct ncc_op *build_halves(struct ncc_build *bl, struct ncc_op *x, unsigned int d, build_fn fn);

/*
 * flow.c. A loop (NCC_LOOP) is made by build_loop, a build_state for each value that changes, the
 * operations that compute the next iteration's states, build_loop_end with both lists in order (a
 * state that does not change is its own next), and a build_loop_result for each. Conditions are
 * scalar predicates.
 */
struct ncc_op *build_loop(struct ncc_build *bl, struct ncc_op *first);
struct ncc_op *build_state(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *before);
struct ncc_op *build_loop_end(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *again,
			      struct ncc_op *const *state, struct ncc_op *const *next,
			      unsigned int n);
struct ncc_op *build_loop_result(struct ncc_build *bl, struct ncc_op *end, struct ncc_op *state);
/*
 * The same for a front end, which finds the values that change while it goes through the body:
 * begin makes the loop and room for `most` of them, each is carried on with what it is in the next
 * iteration, and end has the lists.
 */
struct ncc_looping {
	struct ncc_op *loop, **state, **next;
	unsigned int n, most;
};
bool build_begin(struct ncc_build *bl, struct ncc_looping *l, struct ncc_op *first,
		 unsigned int most);
void build_carry(struct ncc_looping *l, struct ncc_op *state, struct ncc_op *next);
struct ncc_op *build_end(struct ncc_build *bl, const struct ncc_looping *l, struct ncc_op *again);

/*
 * A guard: what is made under it counts if a scalar predicate holds. The predicate that both hold;
 * NULL is one that always holds. The value of the branch that is taken: a where p holds, else b.
 */
struct ncc_op *build_both(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
struct ncc_op *build_choice(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a,
			    struct ncc_op *b);

/* For the constructors: has an error ended what is made now? */
static inline bool build_ended(const struct ncc_build *bl)
{
	return bl->now && *bl->now->rc;
}

#endif
