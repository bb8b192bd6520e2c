/* SPDX-License-Identifier: MIT */
/*
 * One chip as a test fixture, and programs for its cores: streams in host memory that queues fetch,
 * rings that they start, notifications; for test_strands.c and test_time.c
 */
#ifndef CORE_PROGRAM_H
#define CORE_PROGRAM_H

#include <string.h>

#include "chip_fixture.h"
#include "neuron/isa/codec.h"

#define FIRST_LAST (NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST)
#define CORE(nc) (GEN(TPB)(nc))
#define PROG 0x800000 /* host: programs, 512 KiB an engine */
#define PROG_SIZE 0x80000
#define NOTIFY 0x1000000 /* host: notify queues, 256 KiB an engine */
#define NOTIFY_SIZE 0x40000
#define CHUNK 0x4000 /* one FIFO window a descriptor */

static struct fixture f;
static uint32_t prog_len[GEN(ENGINES)];

static inline void setup(void)
{
	fixture_init(&f, 2);
	fixture_new_chip(&f);
	memset(prog_len, 0, sizeof(prog_len));
}

static inline void teardown(void)
{
	fixture_free(&f);
}

static inline void emit(unsigned int e, const struct neuron_insn *insn)
{
	uint8_t words[128];
	int n = neuron_isa_encode(insn, words);

	ck_assert_int_gt(n, 0);
	memcpy(f.host + PROG + e * PROG_SIZE + prog_len[e], words, 64u * (unsigned int)n);
	prog_len[e] += 64u * (unsigned int)n;
}

static inline void emit_start(unsigned int e)
{
	emit(e,
	     &(struct neuron_insn){ .opcode = NEURON_OP_PROGRAM_START, .isa_version = GEN(ISA) });
}

static inline void emit_notify(unsigned int e, uint32_t id)
{
	emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOTIFY, .id = id });
}

static inline void notify_queue(unsigned int nc, unsigned int e, uint64_t base, uint32_t size)
{
	uint64_t regs = GEN(APB_PUTILS)(nc) + GEN(NQ_NOTIFY_REGS)(e);

	apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)base);
	apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	apb_write(&f, regs + GEN(NQ_SIZE), size);
}

/* Lets queue e of the core's first DMA engine fetch engine e's program into its FIFO. */
static inline void fetch(unsigned int nc, unsigned int e, struct ring *q)
{
	uint64_t rings = HOST(0x400000 + e * 0x20000);
	uint32_t at, n = 0;

	queue_init(&f, q, nc * 3, e, rings, rings + 0x10000, 256);
	for (at = 0; at < prog_len[e]; at += CHUNK, n++) {
		uint32_t len = prog_len[e] - at < CHUNK ? prog_len[e] - at : CHUNK;

		push(&f, q, 0, HOST(PROG + e * PROG_SIZE + at), len, FIRST_LAST);
		push(&f, q, 1, CORE(nc) + GEN(TPB_FIFO)(e), len, 0);
	}
	doorbell(&f, q, 1, n);
	doorbell(&f, q, 0, n);
}

static inline const uint8_t *entry(unsigned int e, unsigned int i)
{
	return f.host + NOTIFY + e * NOTIFY_SIZE + i * NEURON_NQ_ENTRY_SIZE;
}

static inline void write_desc(uint8_t *ring, uint32_t i, uint64_t addr, uint32_t len, bool tx)
{
	uint8_t *d = ring + 16 * i;

	put32(d, len | 1u << NEURON_UDMA_DESC_RING_ID_SHIFT | (tx ? FIRST_LAST : 0));
	put32(d + 4, tx ? NEURON_UDMA_META_DEFAULT : 0);
	put64(d + 8, addr);
}

/* Programs wait for semaphore 31 at their start. */
static inline void emit_wait(unsigned int e, unsigned int semaphore, uint32_t value)
{
	emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
				       .wait = NEURON_WAIT_SEM_GE,
				       .wait_index = (uint8_t)semaphore,
				       .wait_value = value });
}

static inline void go(void)
{
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_SET) + 4 * 31, 4, 1);
}

static inline uint64_t tail_inc(unsigned int engine, unsigned int queue, bool s2m)
{
	return GEN(REG)(GEN(APB_UDMA)(engine)) +
	       (s2m ? NEURON_UDMA_S2M_Q(queue) : NEURON_UDMA_M2S_Q(queue)) + NEURON_UDMA_Q_TAIL_INC;
}

#endif
