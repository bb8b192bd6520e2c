/* SPDX-License-Identifier: MIT */
/*
 * Where the registers of a UDMA engine lie: words that only hold what was written, and queues'.
 * udma.c has what reads and writes of them do.
 */
#include "udma.h"

#include "chip.h"

#include <assert.h>

#define Q_STRIDE 0x1000
#define INIT_WORDS 1088
#define Q_BLOCK(half) ((half) == NCORE_M2S ? NEURON_UDMA_M2S_Q(0) : NEURON_UDMA_S2M_Q(0))

/*
 * Parts of the engine's block that hold words, other than the queues', in order. What drivers
 * write when they initialise an engine comes first in the array, for the sake of the pages behind
 * it: a chip has up to 132 engines, most of which do no more.
 */
static const struct {
	uint32_t base, words, at;
} word_map[] = {
	{ 0x00000, 256, 0 }, /* M2S: AXI, main, read, rate limit */
	{ 0x00400, 256, INIT_WORDS }, /* completion, feature */
	{ 0x20000, 256, 256 }, /* S2M, the same */
	{ 0x20400, 256, INIT_WORDS + 256 },
	{ 0x38000, 64, 512 }, /* GEN: main interrupt controller */
	{ 0x38100, 192, INIT_WORDS + 512 },
	{ 0x3a000, 256, 576 }, /* secondary interrupt controller to the spare register */
	{ 0x3a400, 1088, INIT_WORDS + 704 },
	{ 0x3c000, 256, INIT_WORDS + 1792 }, /* GEN_EX */
	{ 0x3c400, 256, 832 }, /* of it parameters of virtual machines */
};
static_assert(832 + 256 == INIT_WORDS && INIT_WORDS + 1792 + 256 == NCORE_UDMA_WORDS,
	      "the map fills the array");

void ncore_udma_init(struct ncore_chip *chip, struct ncore_udma *u, unsigned int engine)
{
	unsigned int i, half;

	for (i = 0; i < NCORE_QUEUES; i++) {
		struct ncore_queue *q = &u->queue[i];

		q->engine = (uint8_t)engine;
		q->index = (uint8_t)i;
		q->home = (uint8_t)chip->gen->cores;
		q->made = &u->made[i];
		q->made->entry = u->transfer[i];
		for (half = 0; half < NCORE_HALVES; half++) {
			q->ring[half].ring_id = 1;
			q->ring[half].reg = &u->ring_reg[0][i][half];
			q->ring[half].work = &u->work[i][half];
		}
	}
}

struct ncore_udma *ncore_udma_use(struct ncore_chip *chip, unsigned int engine)
{
	struct ncore_udma *u = &chip->udma[engine];

	if (!u->used) {
		ncore_udma_init(chip, u, engine);
		atomic_store(&u->used, true);
	}
	return u;
}

ncore_reg *ncore_udma_word(struct ncore_chip *chip, unsigned int engine, uint32_t rel)
{
	unsigned int i;

	for (i = 0; i < sizeof(word_map) / sizeof(word_map[0]); i++)
		if (rel - word_map[i].base < word_map[i].words * 4)
			return &chip->udma[engine]
					.reg[word_map[i].at + (rel - word_map[i].base) / 4];
	return NULL;
}

ncore_reg *ncore_udma_word_at(struct ncore_udma *u, unsigned int n)
{
	unsigned int i = 0;

	while (n >= word_map[i].words)
		n -= word_map[i++].words;
	return &u->reg[word_map[i].at + n];
}

struct ncore_queue *ncore_udma_queue_at(struct ncore_chip *chip, unsigned int engine, uint32_t rel,
					unsigned int *half, uint32_t *reg)
{
	uint32_t off;

	for (*half = 0; *half < NCORE_HALVES; ++*half) {
		off = rel - Q_BLOCK(*half);
		if (off >= NCORE_QUEUES * Q_STRIDE)
			continue;
		*reg = off % Q_STRIDE;
		if (*reg >= 4 * NCORE_RING_WORDS)
			return NULL;
		return &chip->udma[engine].queue[off / Q_STRIDE];
	}
	return NULL;
}

struct ncore_queue *ncore_udma_queue(struct ncore_chip *chip, unsigned int engine, uint32_t rel)
{
	unsigned int half;
	uint32_t reg;

	return ncore_udma_queue_at(chip, engine, rel, &half, &reg);
}

bool ncore_udma_is_doorbell(uint32_t rel)
{
	return (rel - Q_BLOCK(NCORE_M2S) < NCORE_QUEUES * Q_STRIDE ||
		rel - Q_BLOCK(NCORE_S2M) < NCORE_QUEUES * Q_STRIDE) &&
	       rel % Q_STRIDE == NEURON_UDMA_Q_TAIL_INC;
}

uint32_t ncore_udma_offset(const struct ncore_queue *q, unsigned int half, uint32_t reg)
{
	return Q_BLOCK(half) + q->index * Q_STRIDE + reg;
}
