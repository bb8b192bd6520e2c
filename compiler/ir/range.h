/* SPDX-License-Identifier: MIT */
/* Bounds of an integer operation's value that hold whatever the inputs are (range.c) */
#ifndef NCC_RANGE_H
#define NCC_RANGE_H

#include "ir.h"

struct ncc_range {
	int64_t lo, hi;
};

/* The bounds of a type; floats have none (lo > hi). */
struct ncc_range ncc_type_range(const struct ncc_shape *s);
/* The neutral element of a reduction by func of elements of shape s */
double ncc_neutral(enum ncc_kind func, const struct ncc_shape *s);
/*
 * The bounds of an operation's value; in: its operands' bounds, shape: its shape as the front end
 * had it
 */
struct ncc_range ncc_range_of(const struct ncc_op *op, const struct ncc_shape *shape,
			      const struct ncc_range *const *in);
/* The bounds of an integer, derived from at most `depth` operations before it */
struct ncc_range ncc_bounds(const struct ncc_op *op, unsigned int depth);
static inline bool ncc_range_within(const struct ncc_range *r, int64_t lo, int64_t hi)
{
	return r->lo >= lo && r->hi <= hi;
}

#endif
