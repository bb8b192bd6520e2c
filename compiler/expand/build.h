/* SPDX-License-Identifier: MIT */
/*
 * Constructors of operations of the tensor IR that stand for one operation of a front end
 * (build.c). They take its name and keep their types (ncc_op.exact). An operand that could not be
 * made (NULL) makes the result NULL, so only the last one need be checked.
 */
#ifndef NCC_BUILD_H
#define NCC_BUILD_H

#include "ir/ir.h"

#define NCC_MANY 16 /* operands of an operation with any number of them */
#define NCC_MAX_CONST (1ll << 30) /* bytes, all constants of a module that its file has not */

/* The operation being read: a front end fills this in once and hands it to everything here. */
struct ncc_build {
	struct ncc_module *m;
	struct ncc_error *err;
	const char *kind; /* the front end's name of the operation, for messages */
	const char *name;
	char *where; /* "file:line" or NULL */
	int64_t *const_bytes; /* of all constants of the module so far */
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
 * required.
 */
struct ncc_op *build_node(struct ncc_build *bl, enum ncc_kind kind, const struct ncc_shape *s,
			  struct ncc_op *a, struct ncc_op *b, struct ncc_op *c);
/* A constant of zeros. NULL also when the module has too many constants (bl->err says so). */
struct ncc_op *build_const(struct ncc_build *bl, const struct ncc_shape *s);
/* A constant of one number throughout */
struct ncc_op *build_splat(struct ncc_build *bl, const struct ncc_shape *s, double v);
/* s32[n]: 0, 1, 2, ... */
struct ncc_op *build_count(struct ncc_build *bl, int64_t n);
struct ncc_op *build_cast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
struct ncc_op *build_bitcast(struct ncc_build *bl, struct ncc_op *x, uint8_t dtype);
/* The bits of floats as integers of their size; integers as they are */
struct ncc_op *build_bits(struct ncc_build *bl, struct ncc_op *x);
/* An operation on two operands of one shape, which the result has too; the same on x and a number */
struct ncc_op *build_binary(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			    struct ncc_op *b);
struct ncc_op *build_number(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *x, double v);
/* A predicate of a's shape */
struct ncc_op *build_compare(struct ncc_build *bl, enum ncc_kind kind, struct ncc_op *a,
			     struct ncc_op *b);
struct ncc_op *build_select(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a,
			    struct ncc_op *b);
/* x broadcast to a shape: its dimension i becomes dimension map[i]. */
struct ncc_op *build_spread(struct ncc_build *bl, const struct ncc_shape *s, struct ncc_op *x,
			    const uint8_t *map);
/* x with the dimensions of s and its own type */
struct ncc_op *build_reshape(struct ncc_build *bl, struct ncc_op *x, const struct ncc_shape *s);
/* The result's dimension i is x's dimension map[i]. */
struct ncc_op *build_transpose(struct ncc_build *bl, struct ncc_op *x, const uint8_t *map);

/*
 * A loop (NCC_LOOP) is made by build_loop, a build_state for each value that changes, the
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

typedef struct ncc_op *(*build_fn)(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b);
/* The n elements of dimension d from start on */
struct ncc_op *build_slice(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			   int64_t n);
struct ncc_op *build_concat(struct ncc_build *bl, struct ncc_op *const *x, unsigned int n,
			    unsigned int d);
/* Reduces dimension d to 1 by combining its halves log2 times; an odd element waits for the end. */
struct ncc_op *build_halves(struct ncc_build *bl, struct ncc_op *x, unsigned int d, build_fn fn);

#endif
