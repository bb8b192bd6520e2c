/* SPDX-License-Identifier: MIT */
/* Random bits of generators that encrypt a counter (random.c) */
#ifndef NCC_RANDOM_H
#define NCC_RANDOM_H

#include "expand.h"

#define RANDOM_COUNTER 4 /* words of the longest counter */

enum ncc_random {
	NCC_RANDOM_THREEFRY, /* Threefry2x32, 20 rounds */
	NCC_RANDOM_PHILOX, /* Philox4x32, 10 rounds */
};

/*
 * The bits of XLA's RngBitGenerator in shape s, of any integer type. state: the halves of its 64-bit
 * numbers, u32[numbers, 2] with the lower one first, 2 numbers or, for Philox, 3 of them; *next: what
 * becomes of it. wide: of 64-bit numbers; *bits are their halves, with a last dimension of 2. false:
 * out of memory or too many constants, as bl->err says
 */
bool expand_random(struct ncc_build *bl, enum ncc_random by, struct ncc_op *state,
		   const struct ncc_shape *s, bool wide, struct ncc_op **bits,
		   struct ncc_op **next);

#endif
