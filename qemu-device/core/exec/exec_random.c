/* SPDX-License-Identifier: MIT */
/*
 * Random numbers (docs/isa.md, Random numbers): the Vector engine's xorshift, one state a lane, and
 * GpSimd's XORWOW; DROPOUT. Called by exec_pool.c and exec_gpsimd.c.
 */
#include "exec_row.h"

#define WORDS NEURON_ISA_XORWOW_WORDS

/* Mixes all bits of a seed and a number into each bit of the result: the finisher of MurmurHash3 */
static uint32_t mix(uint32_t seed, uint32_t number)
{
	uint32_t h = seed + (number + 1) * 0x9e3779b9u;

	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

static void seed_vector(struct tpb *t, uint32_t seed)
{
	for (unsigned int lane = 0; lane < NEURON_PARTITIONS; lane++) {
		uint32_t state = mix(seed, lane);

		t->xorshift[lane] = state ? state : 1;
	}
}

void exec_random_reset(struct tpb *t)
{
	seed_vector(t, 0);
	for (unsigned int lane = 0; lane < NEURON_PARTITIONS; lane++)
		for (unsigned int k = 0; k < WORDS; k++)
			t->xorwow[lane][k] = mix(k, lane);
}

static uint32_t xorshift(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

static uint32_t xorwow(uint32_t state[WORDS])
{
	uint32_t t = state[0] ^ state[0] >> 2, v = state[4];

	memmove(state, state + 1, 4 * sizeof(*state));
	state[4] = (v ^ v << 4) ^ (t ^ t << 1);
	state[5] += 362437;
	return state[5] + state[4];
}

/* The low bits of a word for each element */
static void put_words(struct exec_operand *dst, unsigned int p, uint32_t *word)
{
	uint8_t *byte = (uint8_t *)word;

	if (dst->r.size < 4)
		for (uint32_t i = 0; i < dst->r.count; i++)
			memmove(byte + (size_t)i * dst->r.size, &word[i], dst->r.size);
	exec_row_put(dst, p, word);
}

void exec_rng(struct tpb *t, const struct neuron_insn *insn, bool vector)
{
	uint32_t *word = (uint32_t *)t->scratch->acc;
	struct exec_operand dst;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		for (uint32_t i = 0; i < dst.r.count; i++)
			word[i] = vector ? xorshift(&t->xorshift[p]) : xorwow(t->xorwow[p]);
		put_words(&dst, p, word);
	}
}

void exec_set_rng_seed(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand src;
	uint32_t buf, seed;

	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	memcpy(&seed, exec_row_raw(&src, 0, &buf), sizeof(seed));
	seed_vector(t, seed);
}

void exec_rand_set_state(struct tpb *t, const struct neuron_insn *insn)
{
	uint32_t buf[WORDS];
	struct exec_operand src;

	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++)
		memcpy(t->xorwow[p], exec_row_raw(&src, p, buf), sizeof(buf));
}

void exec_rand_get_state(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	for (unsigned int p = 0; p < insn->partitions; p++)
		exec_row_put(&dst, p, t->xorwow[p]);
}

/* An element that is not dropped keeps its bits. */
void exec_dropout(struct tpb *t, const struct neuron_insn *insn)
{
	uint8_t *row = (uint8_t *)t->scratch->acc;
	struct exec_operand dst, src;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		float rate = exec_scalar_f32(t, &insn->scalar0, p);
		const void *in = exec_row_raw(&src, p, row);
		const uint8_t size = src.r.size;

		if (in != row)
			memcpy(row, in, (size_t)src.r.count * size);
		for (uint32_t i = 0; i < src.r.count; i++) {
			float u = (float)(xorshift(&t->xorshift[p]) >> 8) * 0x1p-24f;

			if (u < rate)
				memset(row + (size_t)i * size, 0, size);
		}
		exec_row_put(&dst, p, row);
	}
}
