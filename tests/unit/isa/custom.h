/* SPDX-License-Identifier: MIT */
/*
 * A core with a library of a few words in its DRAM as a test fixture, for test_custom.c and
 * test_custom_refused.c.
 */
#ifndef ISA_CUSTOM_H
#define ISA_CUSTOM_H

#include "../check_main.h"
#include "gps/gps.h"
#include "machine.h"
#include "neuron/hw/gpsimd.h"

#define PART 4096
#define LIB 0x1000 /* in the test's DRAM */
#define ARGS 0x8000
#define RING 0x9000
#define DATA 0x10000
#define RESULT 0x20000
#define DRAM_SIZE 0x30000
#define MOST 256 /* words of a program */

static struct machine m;
static uint32_t program[MOST];
static unsigned int words;

/* Just enough of an assembler. Registers by their numbers: a0 is 10, a7 17, s0 8, t0 5 */
enum { T0 = 5, T1 = 6, S0 = 8, S1 = 9, A0 = 10, A1, A2, A3, A7 = 17 };

static inline void put(uint32_t word)
{
	ck_assert_uint_lt(words, MOST);
	program[words++] = word;
}

static inline void i_type(uint32_t op, int rd, uint32_t f3, int rs1, int32_t imm)
{
	put((uint32_t)imm << 20 | (uint32_t)rs1 << 15 | f3 << 12 | (uint32_t)rd << 7 | op);
}

static inline void li(int rd, uint32_t v)
{
	put(((v + 0x800) & ~0xfffu) | (uint32_t)rd << 7 | 0x37);
	i_type(0x13, rd, 0, rd, (int32_t)(v << 20) >> 20);
}

static inline void addi(int rd, int rs1, int32_t imm)
{
	i_type(0x13, rd, 0, rs1, imm);
}

static inline void lw(int rd, int rs1, int32_t imm)
{
	i_type(0x03, rd, 2, rs1, imm);
}

static inline void sw(int rs2, int rs1, int32_t imm)
{
	put(((uint32_t)imm >> 5 & 0x7f) << 25 | (uint32_t)rs2 << 20 | (uint32_t)rs1 << 15 |
	    2 << 12 | ((uint32_t)imm & 31) << 7 | 0x23);
}

static inline void jump(int distance) /* words */
{
	uint32_t d = (uint32_t)distance * 4;

	put((d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
	    (d >> 12 & 0xff) << 12 | 0x6f);
}

static inline void bnez(int rs1, int distance) /* words */
{
	uint32_t d = (uint32_t)distance * 4;

	put((d >> 12 & 1) << 31 | (d >> 5 & 0x3f) << 25 | (uint32_t)rs1 << 15 | 1 << 12 |
	    (d >> 1 & 15) << 8 | (d >> 11 & 1) << 7 | 0x63);
}

static inline void call(uint32_t number)
{
	addi(A7, 0, (int32_t)number);
	put(0x73);
}

static inline void move_call(uint32_t number, uint32_t arg, uint32_t first, uint32_t n, uint32_t at)
{
	li(A0, arg);
	li(A1, first);
	li(A2, n);
	li(A3, at);
	call(number);
}

/* Arguments */

static inline struct neuron_gps_block *block(void)
{
	return (struct neuron_gps_block *)(m.dram + ARGS);
}

static inline struct neuron_gps_arg *arg(unsigned int k)
{
	return (struct neuron_gps_arg *)(m.dram + ARGS + sizeof(*block())) + k;
}

static inline struct neuron_gps_arg *add_arg(uint32_t place, uint8_t dtype, uint32_t n,
					     uint8_t access)
{
	struct neuron_gps_arg *a = arg(block()->count++);

	*a = (struct neuron_gps_arg){ .kind = NEURON_GPS_DRAM,
				      .dtype = dtype,
				      .access = access,
				      .ndim = 1,
				      .place = MACHINE_DRAM + place,
				      .size = { n, 1, 1, 1, 1, 1, 1, 1 } };
	return a;
}

static inline void setup(void)
{
	machine_init(&m, neuron_target_of_name("trn1"), PART);
	m.dram_size = DRAM_SIZE;
	m.dram = calloc(1, m.dram_size);
	ck_assert_ptr_nonnull(m.dram);
	words = 0;
	block()->magic = NEURON_GPS_MAGIC;
	block()->ring = MACHINE_DRAM + RING;
	block()->ring_bytes = 64;
	add_arg(DATA, NEURON_DT_FP32, 1024, NEURON_GPS_READS);
	add_arg(RESULT, NEURON_DT_FP32, 1024, NEURON_GPS_READS | NEURON_GPS_WRITES);
}

static inline void teardown(void)
{
	free(m.dram);
	machine_fini(&m);
}

static inline struct neuron_insn custom(uint8_t mask)
{
	struct neuron_insn insn = {
		.opcode = NEURON_OP_CUSTOM_OP,
		.custom = { .library = MACHINE_DRAM + LIB,
			    .args = MACHINE_DRAM + ARGS,
			    .bytes = words * 4,
			    .mask = mask },
	};

	memcpy(m.dram + LIB, program, words * 4);
	return insn;
}

static inline void run(uint8_t mask)
{
	struct neuron_insn insn = custom(mask);

	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 100000), TPB_BLOCKED);
}

/* Makes another core, which takes this one's state as it is. The state, of so many bytes; free() it
 */
static inline uint8_t *move(struct machine *other, int64_t *size)
{
	uint8_t *state, *again;

	machine_init(other, neuron_target_of_name("trn1"), PART);
	other->dram = m.dram;
	other->dram_size = m.dram_size;
	*size = tpb_save(m.tpb, NULL, 0);
	state = malloc((size_t)*size);
	again = malloc((size_t)*size);
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)*size), *size);
	ck_assert_int_eq(tpb_load(other->tpb, state, (uint64_t)*size), 0);
	ck_assert_int_eq(tpb_save(other->tpb, again, (uint64_t)*size), *size);
	ck_assert_int_eq(memcmp(state, again, (size_t)*size), 0);
	free(again);
	return state;
}

static inline uint64_t executed(unsigned int engine)
{
	struct tpb_perf perf;

	tpb_perf(m.tpb, &perf);
	return perf.eng[engine].insn;
}

static inline void assert_fault(enum neuron_gps_cause cause, unsigned int core)
{
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_CUSTOM_OP);
	ck_assert_uint_eq(m.note[0].engine, NEURON_ENG_GPSIMD);
	ck_assert_uint_eq(m.note[0].data >> 40, cause);
	ck_assert_uint_eq(m.note[0].data >> 32 & 0xff, core);
}

/* Elements 100 to 199 come in, one is added to each as fp32, and they go out */
static inline void write_adder(void)
{
	move_call(NEURON_GPS_READ, 0, 100, 100, 0x1000);
	li(S0, 0x1000);
	li(S1, 100);
	li(T0, 0x3f800000);
	put(0xf0028053); /* fmv.w.x f0, t0 */
	i_type(0x07, 1, 2, S0, 0); /* flw f1, (s0) */
	put(0x0000f0d3 | 1 << 15); /* fadd.s f1, f1, f0 */
	put(0x00142027 | 0 << 7); /* fsw f1, 0(s0) */
	addi(S0, S0, 4);
	addi(S1, S1, -1);
	bnez(S1, -5);
	move_call(NEURON_GPS_WRITE, 1, 100, 100, 0x1000);
	call(NEURON_GPS_EXIT);
}

#endif
