/* SPDX-License-Identifier: MIT */
/* What values an integer operation can have: bounds that hold whatever the inputs are (range.c). */
#ifndef NCC_RANGE_H
#define NCC_RANGE_H

#include "ir.h"

struct ncc_range {
	int64_t lo, hi;
};

/* of a type; floats have none (lo > hi) */
struct ncc_range ncc_type_range(const struct ncc_shape *s);
/* of an operation whose operands' ranges are in r, by their ids; shape: its own before any change */
struct ncc_range ncc_range_of(const struct ncc_op *op, const struct ncc_shape *shape,
			      const struct ncc_range *const *in);
static inline bool ncc_range_within(const struct ncc_range *r, int64_t lo, int64_t hi)
{
	return r->lo >= lo && r->hi <= hi;
}

#endif
