/* SPDX-License-Identifier: MIT */
/* Random bits of generators that encrypt a counter (random.c) */
#ifndef NCC_RANDOM_H
#define NCC_RANDOM_H

#include "expand.h"

#define RANDOM_COUNTER 4 /* words of the longest counter */

enum ncc_random {
	NCC_RANDOM_THREEFRY, /* Threefry2x32, 20 rounds */
	NCC_RANDOM_PHILOX, /* Philox4x32, 10 rounds */
	NCC_RANDOM_HARDWARE, /* the chip's generator; the state is Philox's, and becomes what that
				does */
};

/*
 * The bits of XLA's RngBitGenerator in shape s, of any integer type. state: the halves of its
 * 64-bit numbers, u32[numbers, 2] with the lower one first, 2 numbers or, for Philox, 3 of them;
 * *next: what becomes of it. wide: of 64-bit numbers; *bits are their halves, with a last dimension
 * of 2. false: out of memory or too many constants, as bl->err says
 */
bool expand_random(struct ncc_build *bl, enum ncc_random by, struct ncc_op *state,
		   const struct ncc_shape *s, bool wide, struct ncc_op **bits,
		   struct ncc_op **next);

/*
 * Random numbers of our own, the same in every execution: Philox4x32-10 with a key and a counter
 * from 0 on, in the order of the elements; or the chip's generator, seeded with the key, if the
 * module asks for that
 */
struct ncc_random_key {
	uint32_t text, number;
};
/* fp32 in [0, 1): the upper 24 bits of a word */
struct ncc_op *expand_uniform(struct ncc_build *bl, const struct ncc_random_key *key,
			      const struct ncc_shape *s);
/* fp32 of mean 0 and variance 1 */
struct ncc_op *expand_normal(struct ncc_build *bl, const struct ncc_random_key *key,
			     const struct ncc_shape *s);
/* Integers from low to high, which is left out: u32 of s's dimensions; the result has its type. */
struct ncc_op *expand_uniform_whole(struct ncc_build *bl, const struct ncc_random_key *key,
				    struct ncc_op *low, struct ncc_op *high,
				    const struct ncc_shape *s);
/* 32-bit FNV-1a of a text */
uint32_t expand_random_text(const char *text);

#endif
