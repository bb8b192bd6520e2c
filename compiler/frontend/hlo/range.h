/* SPDX-License-Identifier: MIT */
/* Private to the HLO front end: what the elements of a 64-bit array can be (range.c) */
#ifndef NCC_HLO_RANGE_H
#define NCC_HLO_RANGE_H

#include "hlo.h"

#define HLO_RANGES 64 /* operands of an instruction that is looked at */

/* A range of integers: from low to high. Of floats (real): is a number among them that fp32 has
 * not? */
struct hlo_range {
	int64_t low, high;
	bool rounded, real;
};

/* An instruction's result, from what its operands can be. Returns false: not known */
bool hlo_range(const Ncc__Hlo__Instruction *in, const struct hlo_range *r,
	       struct hlo_range *result);
/* The range of any array of a type of at most 32 bits. Returns false: there is none of that type */
bool hlo_range_of_type(int32_t type, struct hlo_range *r);
/* Does the type that stands for a 64-bit one have all of it? */
bool hlo_range_fits(int32_t type, const struct hlo_range *r);

#endif
