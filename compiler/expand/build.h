/* SPDX-License-Identifier: MIT */
/*
 * Making operations of the tensor IR for one operation of a front end, whichever it is (build.c).
 * They are named after the front end's operation and keep their types (ncc_op.exact). An operand
 * that could not be made (NULL) makes the result NULL, so that only the last need be looked at.
 */
#ifndef NCC_BUILD_H
#define NCC_BUILD_H

#include "ir/ir.h"

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
 * iteration's of the states, build_loop_end with both in order (a state that stays as it is:
 * itself), a build_loop_result for each. Conditions are scalar predicates.
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

#endif
