/* SPDX-License-Identifier: MIT */
/*
 * Programs in a window of the device's memory, for tests of what sequencers do from NeuronCore-v2
 * on: one window an engine, instructions put one behind the other. Header-only.
 */
#ifndef ISA_PROGRAM_H
#define ISA_PROGRAM_H

#include "fixture.h"
#include "neuron/hw/gen.h"

#define WINDOW 0x1000u /* bytes of each engine's in the device's memory */
#define DATA 0x7000u /* in the device's memory, behind them */
#define HBM(off) (MACHINE_HBM + (off))

static uint32_t length[NEURON_ENGINES_MAX]; /* of each engine's program */

static inline void setup_v2(void)
{
	machine_init(&m, neuron_target_of_name("trn1"), PART);
	memset(length, 0, sizeof(length));
}

static inline uint8_t *word_of(unsigned int e, uint32_t pc)
{
	return m.hbm + e * WINDOW + pc;
}

/* Puts an instruction behind the others; returns its place */
static inline uint32_t put(unsigned int e, struct neuron_insn insn)
{
	uint32_t at = length[e];
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int n = neuron_isa_encode(&insn, words);

	ck_assert_int_gt(n, 0);
	ck_assert_uint_le(at + (uint32_t)n * 64, WINDOW);
	memcpy(word_of(e, at), words, (size_t)n * 64);
	length[e] += (uint32_t)n * 64;
	return at;
}

static inline struct neuron_insn move(uint8_t rd, uint32_t value)
{
	return (struct neuron_insn){
		.opcode = NEURON_OP_MOVE, .rd = rd, .immediate = true, .value = value
	};
}

static inline struct neuron_insn alu(uint8_t op, uint8_t rd, uint8_t ra, uint8_t rb)
{
	return (struct neuron_insn){
		.opcode = NEURON_OP_ALU, .rop = op, .rd = rd, .ra = ra, .rb = rb
	};
}

static inline struct neuron_insn alu_value(uint8_t op, uint8_t rd, uint8_t ra, uint32_t value)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_ALU,
				     .rop = op,
				     .rd = rd,
				     .ra = ra,
				     .immediate = true,
				     .value = value };
}

/* target: from this instruction, in words */
static inline struct neuron_insn branch(uint8_t rel, uint8_t ra, uint32_t value, int32_t target)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_COMPARE_BRANCH,
				     .rop = rel,
				     .ra = ra,
				     .immediate = rel != NEURON_REL_ALWAYS,
				     .value = value,
				     .target = target * 64 };
}

static inline struct neuron_insn load(uint8_t rd, uint8_t type, uint64_t address, bool device)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_LOAD,
				     .rd = rd,
				     .rtype = type,
				     .device = device,
				     .address = address };
}

static inline struct neuron_insn store(uint8_t rb, uint8_t type, uint64_t address, bool device)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_STORE,
				     .rb = rb,
				     .rtype = type,
				     .device = device,
				     .address = address };
}

static inline struct neuron_insn with_index(struct neuron_insn insn, uint8_t ra, int32_t scale)
{
	insn.indexed = true;
	insn.ra = ra;
	insn.scale = scale;
	return insn;
}

static inline struct neuron_insn fetch_of(unsigned int e, uint32_t pc)
{
	return (struct neuron_insn){
		.opcode = NEURON_OP_FETCH, .address = HBM(e * WINDOW), .length = length[e], .pc = pc
	};
}

/* Lets the engine go on in its window, from its beginning on */
static inline void start(unsigned int e)
{
	struct neuron_insn insn = fetch_of(e, 0);

	machine_push(&m, e, &insn, 0);
}

/* Ends the program of an engine and runs it to where nothing goes on */
static inline void run_program(unsigned int e)
{
	put(e, (struct neuron_insn){ .opcode = NEURON_OP_FETCH_END });
	start(e);
	ck_assert_int_eq(tpb_run(m.tpb, 100000), TPB_BLOCKED);
}

static inline uint32_t reg(unsigned int e, unsigned int r)
{
	return m.tpb->eng[e].reg[r];
}

#endif
