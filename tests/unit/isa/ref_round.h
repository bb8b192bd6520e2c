/* SPDX-License-Identifier: MIT */
/* Stochastic rounding of the scalar reference, written from docs/isa.md (4.6) */
#ifndef ISA_REF_ROUND_H
#define ISA_REF_ROUND_H

#include <stdbool.h>
#include <stdint.h>

struct ref_draws {
	bool on;
	uint64_t seed, count;
	uint32_t core, engine;
};

void ref_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
uint32_t ref_word(const struct ref_draws *d, uint64_t i);
/* a number that the type holds, or one beyond its greatest */
float ref_round(uint8_t dtype, float x, uint32_t word);
/* the same by the next word, where they are on and the type narrows */
float ref_draw(struct ref_draws *d, uint8_t dtype, float x);

#endif
