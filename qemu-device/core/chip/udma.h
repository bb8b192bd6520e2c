/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: UDMA engines. udma_map.c says where an engine's registers lie;
 * udma.c has what reads and writes of them do. chip->lock is held for all but reads.
 */
#ifndef NCORE_UDMA_H
#define NCORE_UDMA_H

#include "strand.h"

/* Register words of a UDMA engine that are not a queue's; udma_map.c maps offsets onto them */
#define NCORE_UDMA_WORDS 3136

/*
 * An engine. Until something is written to it (used) it is all zero, whatever a reset makes of
 * others, and reads as they do: a chip has many that nobody uses, and their pages stay untouched.
 */
struct ncore_udma {
	_Atomic bool used; /* set under chip->lock */
	_Atomic bool disabled;
	ncore_reg tdma[64];
	struct ncore_queue queue[NCORE_QUEUES];
	struct ncore_transfers made[NCORE_QUEUES];
	/* one word of all rings, then the next: drivers that initialise an engine write one of each
	 */
	ncore_reg ring_reg[NCORE_RING_WORDS][NCORE_QUEUES][NCORE_HALVES];
	ncore_reg reg[NCORE_UDMA_WORDS];
	/* at the end: only queues that work touch their part */
	struct ncore_ring_work work[NCORE_QUEUES][NCORE_HALVES];
	struct ncore_transfer transfer[NCORE_QUEUES][NCORE_TRANSFERS];
};

/* udma_map.c: an engine as it is after a reset; use: the chip's, before anything in it changes */
void ncore_udma_init(struct ncore_chip *chip, struct ncore_udma *u, unsigned int engine);
struct ncore_udma *ncore_udma_use(struct ncore_chip *chip, unsigned int engine);
bool ncore_udma_is_doorbell(uint32_t rel);
struct ncore_queue *ncore_udma_queue(struct ncore_chip *chip, unsigned int engine, uint32_t rel);
/* The queue and half that a register belongs to, and its offset there; or NULL */
struct ncore_queue *ncore_udma_queue_at(struct ncore_chip *chip, unsigned int engine, uint32_t rel,
					unsigned int *half, uint32_t *reg);
/* The offset of a register of a queue's half in the engine */
uint32_t ncore_udma_offset(const struct ncore_queue *q, unsigned int half, uint32_t reg);
ncore_reg *ncore_udma_word(struct ncore_chip *chip, unsigned int engine, uint32_t rel);
/* Word number n of an engine, in the order of their offsets */
ncore_reg *ncore_udma_word_at(struct ncore_udma *udma, unsigned int n);

/* udma.c: a block's operations (block.h) */
uint32_t ncore_udma_read(struct ncore_chip *chip, unsigned int engine, uint32_t rel);
void ncore_udma_write(struct ncore_chip *chip, unsigned int engine, uint32_t rel, uint32_t value);
int ncore_udma_post(struct ncore_chip *chip, struct ncore_strand *strand, unsigned int engine,
		    const struct ncore_post *post);
/* Strands are stopped; reset clears all of an engine, rest leaves what software configured. */
void ncore_udma_reset(struct ncore_chip *chip, unsigned int engine);
void ncore_udma_rest(struct ncore_chip *chip, unsigned int engine);

#endif
