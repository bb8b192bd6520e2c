/* SPDX-License-Identifier: MIT */
/*
 * What is known of a kind of operation wherever it occurs: one row each (traits.c). What a pass or
 * the generator alone knows of it is a table of theirs.
 */
#ifndef NCC_TRAITS_H
#define NCC_TRAITS_H

#include "ir.h"

enum ncc_class {
	NCC_CLASS_NONE, /* parameters, constants, loops */
	NCC_CLASS_UNARY, /* element by element, of one operand */
	NCC_CLASS_BINARY, /* of two of one shape */
	NCC_CLASS_COMPARE, /* of two: a predicate */
	NCC_CLASS_SELECT,
	NCC_CLASS_MOVE, /* bits as they are, elsewhere */
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
	const char *name; /* in the IR's text form and in messages */
	enum ncc_class class;
	int nin; /* operands; NCC_ANY_NUMBER: the verifier's rule says */
	enum ncc_attrs attrs;
	/* one element of reals, before it is rounded to the type; NULL: it has none, or is the same
	 */
	double (*unary)(double a);
	double (*binary)(double a, double b);
	bool as_datapath; /* in fp32, binary rounded once is what the chip computes */
	/* of integers, whose low bits count; s: the result's. NULL: it has none */
	int64_t (*whole)(const struct ncc_shape *s, int64_t a, int64_t b);
};

const struct ncc_traits *ncc_traits_of(enum ncc_kind kind);

#endif
