/* SPDX-License-Identifier: MIT */
/*
 * The chips that a fuzz target drives, of the type that names.h means: two linked ones and one
 * alone, with guard pages around their memories, poisoned padding inside, and a small host memory.
 * They live as long as the process and are reset before each input. Used by the targets of this
 * directory only.
 */
#ifndef FUZZ_CHIPS_H
#define FUZZ_CHIPS_H

#include "fuzz.h"
#include "ncore.h"
#include "names.h"

#define CHIPS 3 /* 0 and 1 are linked */
#define HOST_SIZE 0x100000u
#define HOST(off) (GEN(WINDOW_HOST) | (uint64_t)(off))

struct fuzz_chip {
	struct ncore_chip *core;
	uint8_t *host; /* one for all chips */
	_Atomic bool used; /* by this input; a chip that was not used needs no reset */
};

struct fuzz_chip *chips_begin(void); /* resets the chips and clears the host's memory */
/* Whatever the input did, the chips come to rest, and after a reset they copy and answer. */
void chips_end(void);

void chip_write(struct fuzz_chip *c, uint64_t off, uint32_t value);
uint32_t chip_read(struct fuzz_chip *c, uint64_t off);
/*
 * Chooses a device address: windows, memories, doorbells and their edges more often than anything
 * else.
 */
uint64_t fuzz_address(struct fuzz_in *in);
/* Chooses the offset of a register in BAR0. */
uint64_t fuzz_register(struct fuzz_in *in);
#if GEN(TOPSPS)
/* Chooses a TOP_SP and an offset in its window: words and their edges */
uint32_t fuzz_topsp(struct fuzz_in *in, unsigned int *topsp);
#endif
/* The bytes behind a device address where a ring may lie (host or DRAM), or NULL */
uint8_t *chip_bytes(struct fuzz_chip *c, uint64_t addr, uint64_t len);
/* True if the chip is idle in time; some programs never end */
void chip_settle(struct fuzz_chip *c, unsigned int ms);

static inline void fuzz_put(uint8_t *p, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

uint32_t fuzz_crc32c(const uint8_t *p, size_t n);
/* Writes descriptor i of a ring in memory. */
void chip_desc(struct fuzz_chip *c, uint64_t ring, unsigned int i, uint32_t ctrl, uint32_t meta,
	       uint64_t addr);
/* Resets one queue and gives it its rings, as the driver does. */
void chip_queue(struct fuzz_chip *c, unsigned int engine, unsigned int queue, uint64_t tx,
		uint64_t rx, uint32_t len);
static inline uint64_t chip_q(unsigned int engine, unsigned int half, unsigned int queue)
{
	return GEN(APB_UDMA)(engine) + (half ? NEURON_UDMA_S2M_Q(queue) : NEURON_UDMA_M2S_Q(queue));
}

#endif
