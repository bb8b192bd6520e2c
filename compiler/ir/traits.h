/* SPDX-License-Identifier: MIT */
/*
 * What is known about a kind of operation wherever it occurs: one row each (traits.c). What only
 * one pass or the generator knows is in a table of its own.
 */
#ifndef NCC_TRAITS_H
#define NCC_TRAITS_H

#include "ir.h"

enum ncc_class {
	NCC_CLASS_NONE, /* parameters, constants, loops */
	NCC_CLASS_UNARY, /* element by element, one operand */
	NCC_CLASS_BINARY, /* element by element, two operands of one shape */
	NCC_CLASS_COMPARE, /* of two operands, giving a predicate */
	NCC_CLASS_SELECT,
	NCC_CLASS_MOVE, /* the same bits in other places */
	NCC_CLASS_PRODUCT,
	NCC_CLASS_REDUCTION,
};

enum ncc_attrs {
	NCC_ATTRS_INLINE, /* none, or in the operation itself */
	NCC_ATTRS_SLICE, /* start, stride */
	NCC_ATTRS_PAD, /* low, high, interior */
	NCC_ATTRS_WINDOW,
	NCC_ATTRS_DOT,
	NCC_ATTRS_CONV, /* conv, window */
};

#define NCC_ANY_NUMBER (-1)

struct ncc_traits {
	const char *name; /* its name in the IR's text form and in messages */
	enum ncc_class class;
	int nin; /* number of operands; NCC_ANY_NUMBER: the verifier's rule */
	enum ncc_attrs attrs;
	/*
	 * One element of real numbers, before it is rounded to the type; NULL: it has none, or does
	 * not change
	 */
	double (*unary)(double a);
	double (*binary)(double a, double b);
	bool as_datapath; /* in fp32 the chip computes binary, rounded once */
	/*
	 * One element of integers, of which the low bits count; s: the result's shape. NULL: it has
	 * none
	 */
	int64_t (*whole)(const struct ncc_shape *s, int64_t a, int64_t b);
};

const struct ncc_traits *ncc_traits_of(enum ncc_kind kind);
/* cost.c: the cost of an operation, in elements that a vector engine takes */
uint64_t ncc_cost(const struct ncc_op *op);
/*
 * The operations that values are made of: those that were made when `since` others had been, before
 * they are in their order, and the older ones that these have as operands. The caller
 * frees op. 0 or -ENOMEM
 */
struct ncc_made {
	struct ncc_op **op;
	unsigned int n, cap;
};
int ncc_made_since(struct ncc_op *const *value, unsigned int n, unsigned int since,
		   struct ncc_made *made);

#endif
