/* SPDX-License-Identifier: MIT */
/*
 * A NeuronCore alone, for tests: memories, a recorder of what it asks of the chip, and helpers to
 * push instructions. Header-only; used by the tests of this directory.
 */
#ifndef ISA_MACHINE_H
#define ISA_MACHINE_H

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/udma.h"
#include "neuron/isa/codec.h"
#include "second.h"

#define MACHINE_NOTES 64
#define MACHINE_HBM 0x4000000000ull /* where the device's memory lies, of so many bytes */
#define MACHINE_HBM_SIZE 0x8000u

struct machine_note {
	unsigned int type, engine;
	uint16_t code;
	uint32_t id, data2;
	uint64_t data, time;
};

struct machine {
	struct neuron_target target; /* with partitions of the test's size */
	struct tpb *tpb;
	uint8_t *sbuf, *psum, *hbm;
	bool refuses; /* the core may not reach the device's memory */
	struct machine_note note[MACHINE_NOTES];
	unsigned int notes;
	struct {
		uint64_t addr;
		uint32_t value;
	} write[MACHINE_NOTES];
	unsigned int writes;
	int write_result;
	uint8_t *dram; /* the test's, at device address MACHINE_DRAM; NULL: none */
	uint64_t dram_size;
};

#define MACHINE_DRAM 0x10000000ull

static inline int machine_write(void *opaque, uint64_t addr, uint32_t value, uint64_t time)
{
	struct machine *m = opaque;

	if (m->write_result)
		return m->write_result;
	ck_assert_uint_lt(m->writes, MACHINE_NOTES);
	m->write[m->writes].addr = addr;
	m->write[m->writes++].value = value;
	return 0;
}

static inline void machine_notify(void *opaque, unsigned int type, unsigned int engine,
				  uint16_t code, uint32_t id, uint64_t data, uint32_t data2,
				  uint64_t time)
{
	struct machine *m = opaque;

	if (m->notes < MACHINE_NOTES)
		m->note[m->notes++] =
			(struct machine_note){ type, engine, code, id, data2, data, time };
}

static inline const uint8_t *machine_window(void *opaque, uint64_t addr, uint64_t len)
{
	const struct machine *m = opaque;

	addr -= MACHINE_HBM;
	return m->refuses || addr > MACHINE_HBM_SIZE || len > MACHINE_HBM_SIZE - addr
		       ? NULL
		       : m->hbm + addr;
}

static inline int machine_dram(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	struct machine *m = opaque;
	uint8_t *at = (uint8_t *)machine_window(opaque, addr, len);

	addr -= MACHINE_DRAM;
	if (!at && m->dram && addr <= m->dram_size && len <= m->dram_size - addr)
		at = m->dram + addr;
	if (!at)
		return -EACCES;
	if (buf)
		memcpy(write ? at : buf, write ? buf : at, len);
	return 0;
}

static const struct tpb_ops machine_ops = { .write = machine_write,
					    .dram = machine_dram,
					    .window = machine_window,
					    .notify = machine_notify };

/* Partitions back to back, so that sanitizers see an access beyond the last one */
static inline void machine_init(struct machine *m, const struct neuron_target *target,
				uint32_t sbuf_part_size)
{
	struct tpb_config config = { .ops = &machine_ops, .opaque = m };

	memset(m, 0, sizeof(*m));
	m->target = *target;
	m->target.sbuf_part_size = sbuf_part_size;
	m->sbuf = calloc(1, (size_t)NEURON_PARTITIONS * sbuf_part_size + TPB_SLACK);
	m->psum = calloc(1, (size_t)NEURON_PARTITIONS * target->psum_part_size + TPB_SLACK);
	m->hbm = calloc(1, MACHINE_HBM_SIZE);
	ck_assert_ptr_nonnull(m->hbm);
	config.target = &m->target;
	config.sbuf = m->sbuf;
	config.sbuf_host_stride = sbuf_part_size;
	config.psum = m->psum;
	config.psum_host_stride = target->psum_part_size;
	ck_assert_ptr_nonnull(m->sbuf);
	ck_assert_ptr_nonnull(m->psum);
	ck_assert_int_eq(tpb_new(&config, &m->tpb), 0);
}

static inline void machine_fini(struct machine *m)
{
	tpb_free(m->tpb);
	free(m->sbuf);
	free(m->psum);
	free(m->hbm);
}

static inline void machine_push(struct machine *m, unsigned int engine,
				const struct neuron_insn *insn, uint64_t time)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int n = neuron_isa_encode(insn, words);

	ck_assert_int_gt(n, 0);
	ck_assert_uint_ge(tpb_fifo_space(m->tpb, engine), n);
	tpb_fifo_push(m->tpb, engine, words, n, time);
}

static inline void machine_run1(struct machine *m, unsigned int engine,
				const struct neuron_insn *insn)
{
	machine_push(m, engine, insn, 0);
	ck_assert_int_eq(tpb_run(m->tpb, 100), TPB_BLOCKED);
}

/* Contiguous elements at a byte of a partition */
static inline struct neuron_ap machine_ap(uint32_t offset, uint8_t dtype, uint16_t n)
{
	return (struct neuron_ap){
		.offset = offset, .dtype = dtype, .step = { 0, 0, 0, 1 }, .num = { 1, 1, 1, n }
	};
}

#define MACHINE_KERNELS 8

/* The kernels that this machine can run, the plainest first; returns how many */
static inline unsigned int machine_kernels(const struct exec_kernels *out[MACHINE_KERNELS])
{
	unsigned int n = 0, all = 0;

	while (exec_kernels_all[all])
		all++;
	ck_assert_uint_le(all, MACHINE_KERNELS);
	while (all--)
		if (exec_kernels_all[all]->usable())
			out[n++] = exec_kernels_all[all];
	return n;
}

/* xorshift64*: seeded, the same everywhere */
static inline uint64_t machine_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull >> 8;
}

#endif
