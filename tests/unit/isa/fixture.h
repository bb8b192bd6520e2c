/* SPDX-License-Identifier: MIT */
/*
 * One core as a test fixture, and short ways to write operands; for test_tpb.c and test_refused.c
 */
#ifndef ISA_FIXTURE_H
#define ISA_FIXTURE_H

#include "../check_main.h"
#include "machine.h"

#define PART 4096

static struct machine m;

static inline void setup(void)
{
	machine_init(&m, &neuron_target_inf1, PART);
}

static inline void setup_second(void)
{
	machine_init(&m, &neuron_target_second, PART);
}

static inline void teardown(void)
{
	machine_fini(&m);
}

static inline struct neuron_insn nop(void)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_NOP };
}

static inline struct neuron_insn memset_insn(uint32_t offset, float value)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_MEMSET,
				    .partitions = 1,
				    .scalar0.f = value };

	insn.dst = machine_ap(offset, NEURON_DT_FP32, 1);
	return insn;
}

static inline uint64_t executed(unsigned int engine)
{
	struct tpb_perf perf;

	tpb_perf(m.tpb, &perf);
	return perf.eng[engine].insn;
}

#define SBUF(p, b) ((p)*NEURON_SBUF_PART_STRIDE + (b))
#define PSUM(p, b) (NEURON_PSUM_OFFSET + (p)*NEURON_PSUM_PART_STRIDE + (b))
#define AP1(off, type, n)                              \
	{                                              \
		off, NEURON_DT_##type, { 0, 0, 0, 1 }, \
		{                                      \
			1, 1, 1, n                     \
		}                                      \
	}
#define LOOP(tc, test, table) tcase_add_loop_test(tc, test, 0, sizeof(table) / sizeof(table[0]))

#endif
