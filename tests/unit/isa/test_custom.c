/* SPDX-License-Identifier: MIT */
/*
 * CUSTOM_OP and GpSimd's processors (docs/gpsimd.md): programs of a few words, the calls, what is
 * refused, faults, and a state saved in between. Single instructions are compared with another
 * implementation in tests/gpsimd.
 */
#include "../check_main.h"
#include "gps.h"
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

static void put(uint32_t word)
{
	ck_assert_uint_lt(words, MOST);
	program[words++] = word;
}

static void i_type(uint32_t op, int rd, uint32_t f3, int rs1, int32_t imm)
{
	put((uint32_t)imm << 20 | (uint32_t)rs1 << 15 | f3 << 12 | (uint32_t)rd << 7 | op);
}

static void li(int rd, uint32_t v)
{
	put(((v + 0x800) & ~0xfffu) | (uint32_t)rd << 7 | 0x37);
	i_type(0x13, rd, 0, rd, (int32_t)(v << 20) >> 20);
}

static void addi(int rd, int rs1, int32_t imm)
{
	i_type(0x13, rd, 0, rs1, imm);
}

static void lw(int rd, int rs1, int32_t imm)
{
	i_type(0x03, rd, 2, rs1, imm);
}

static void sw(int rs2, int rs1, int32_t imm)
{
	put(((uint32_t)imm >> 5 & 0x7f) << 25 | (uint32_t)rs2 << 20 | (uint32_t)rs1 << 15 |
	    2 << 12 | ((uint32_t)imm & 31) << 7 | 0x23);
}

static void jump(int distance) /* words */
{
	uint32_t d = (uint32_t)distance * 4;

	put((d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
	    (d >> 12 & 0xff) << 12 | 0x6f);
}

static void bnez(int rs1, int distance) /* words */
{
	uint32_t d = (uint32_t)distance * 4;

	put((d >> 12 & 1) << 31 | (d >> 5 & 0x3f) << 25 | (uint32_t)rs1 << 15 | 1 << 12 |
	    (d >> 1 & 15) << 8 | (d >> 11 & 1) << 7 | 0x63);
}

static void call(uint32_t number)
{
	addi(A7, 0, (int32_t)number);
	put(0x73);
}

static void move_call(uint32_t number, uint32_t arg, uint32_t first, uint32_t n, uint32_t at)
{
	li(A0, arg);
	li(A1, first);
	li(A2, n);
	li(A3, at);
	call(number);
}

/* Arguments */

static struct neuron_gps_block *block(void)
{
	return (struct neuron_gps_block *)(m.dram + ARGS);
}

static struct neuron_gps_arg *arg(unsigned int k)
{
	return (struct neuron_gps_arg *)(m.dram + ARGS + sizeof(*block())) + k;
}

static struct neuron_gps_arg *add_arg(uint32_t place, uint8_t dtype, uint32_t n, uint8_t access)
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

static void setup(void)
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

static void teardown(void)
{
	free(m.dram);
	machine_fini(&m);
}

static struct neuron_insn custom(uint8_t mask)
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

static void run(uint8_t mask)
{
	struct neuron_insn insn = custom(mask);

	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 100000), TPB_BLOCKED);
}

static uint64_t executed(unsigned int engine)
{
	struct tpb_perf perf;

	tpb_perf(m.tpb, &perf);
	return perf.eng[engine].insn;
}

static void assert_fault(enum neuron_gps_cause cause, unsigned int core)
{
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_CUSTOM_OP);
	ck_assert_uint_eq(m.note[0].engine, NEURON_ENG_GPSIMD);
	ck_assert_uint_eq(m.note[0].data >> 40, cause);
	ck_assert_uint_eq(m.note[0].data >> 32 & 0xff, core);
}

/* Elements 100 to 199 come in, one is added to each as fp32, and they go out */
static void write_adder(void)
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

START_TEST(test_reads_computes_writes)
{
	float *in = (float *)(m.dram + DATA), *out = (float *)(m.dram + RESULT);

	for (int i = 0; i < 1024; i++)
		in[i] = (float)i / 3;
	write_adder();
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	for (int i = 0; i < 1024; i++)
		ck_assert(out[i] == (i >= 100 && i < 200 ? (float)i / 3 + 1 : 0));
	ck_assert_uint_eq(executed(NEURON_ENG_GPSIMD), 1);
}
END_TEST

/* A pattern over partitions: its elements are those of the partitions one after the other */
START_TEST(test_pattern_on_chip)
{
	struct neuron_gps_arg *a =
		add_arg(0, NEURON_DT_FP32, 96, NEURON_GPS_READS | NEURON_GPS_WRITES);
	const uint32_t first = 3 * 4 | (uint32_t)NEURON_DT_FP32 << 26;
	const int16_t step[4] = { 0, 0, 20, 2 };
	const uint16_t num[4] = { 1, 1, 4, 3 };
	float *out = (float *)(m.dram + RESULT);

	a->kind = NEURON_GPS_ONCHIP;
	a->place = 0;
	a->partitions = 8;
	memcpy(a->pattern, &first, 4);
	memcpy(a->pattern + 4, step, sizeof(step));
	memcpy(a->pattern + 12, num, sizeof(num));
	for (int p = 0; p < 8; p++)
		for (int i = 0; i < PART / 4; i++)
			((float *)(m.sbuf + p * PART))[i] = (float)(p * 1000 + i);
	move_call(NEURON_GPS_READ, 2, 7, 60, 0x1000);
	move_call(NEURON_GPS_WRITE, 1, 0, 60, 0x1000);
	move_call(NEURON_GPS_READ, 0, 0, 30, 0x1000); /* zeros */
	move_call(NEURON_GPS_WRITE, 2, 5, 30, 0x1000);
	call(NEURON_GPS_EXIT);
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	for (int i = 0; i < 60; i++) {
		int e = i + 7, p = e / 12, k = e % 12;

		ck_assert(out[i] == (float)(p * 1000 + 3 + k / 3 * 20 + k % 3 * 2));
	}
	for (int e = 0; e < 96; e++) {
		int p = e / 12, k = e % 12, at = 3 + k / 3 * 20 + k % 3 * 2;
		float v = ((float *)(m.sbuf + p * PART))[at];

		ck_assert(v == (e >= 5 && e < 35 ? 0 : (float)(p * 1000 + at)));
	}
}
END_TEST

/* Each processor writes what it is told of itself to its own place */
START_TEST(test_processors)
{
	const uint8_t mask = _i ? 0xb2 : 0xff;
	uint32_t *out = (uint32_t *)(m.dram + RESULT);
	unsigned int n = (unsigned int)__builtin_popcount(mask);

	li(S0, 0x1000);
	call(NEURON_GPS_CPU_COUNT);
	sw(A0, S0, 0);
	call(NEURON_GPS_CPU_ID);
	addi(A1, A0, 0);
	addi(A0, 0, 1);
	addi(A2, 0, 1);
	li(A3, 0x1000);
	call(NEURON_GPS_WRITE);
	call(NEURON_GPS_EXIT);
	run(mask);
	ck_assert_uint_eq(m.notes, 0);
	for (unsigned int i = 0; i < 9; i++)
		ck_assert_uint_eq(out[i], i < n ? n : 0);
}
END_TEST

/* Of several processors the first one's text is kept; a ring keeps the last of it */
START_TEST(test_print)
{
	static const char text[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEF";
	uint64_t head;

	li(A0, NEURON_GPS_LIB + 128);
	addi(A1, 0, 40);
	call(NEURON_GPS_PRINT);
	li(A0, NEURON_GPS_LIB + 128);
	addi(A1, 0, 40);
	call(NEURON_GPS_PRINT);
	call(NEURON_GPS_EXIT);
	while (words < 32)
		put(0);
	memcpy(program + words, text, 40);
	words += 10;
	run(3);
	ck_assert_uint_eq(m.notes, 0);
	memcpy(&head, m.dram + RING, 8);
	ck_assert_uint_eq(head, 80);
	ck_assert_int_eq(memcmp(m.dram + RING + 64, text + 24, 16), 0);
	ck_assert_int_eq(memcmp(m.dram + RING + 64 + 16, text + 16, 24), 0);
	ck_assert_int_eq(memcmp(m.dram + RING + 64 + 40, text, 24), 0);
}
END_TEST

/* Faults */

static void fault_illegal(void)
{
	put(0);
}

static void fault_compressed(void)
{
	put(0x00010001); /* c.nop, twice */
}

static void fault_atomic(void)
{
	put(0x0000202f);
}

static void fault_csr(void)
{
	put(0xc00022f3); /* rdcycle */
}

static void fault_mode(void)
{
	addi(T0, 0, 1);
	put(0x00229073); /* fsrm t0 */
}

static void fault_ebreak(void)
{
	put(0x00100073);
}

static void fault_end(void)
{
	addi(T0, 0, 1);
}

static void fault_branch(void)
{
	jump(1000);
}

static void fault_jump(void)
{
	li(T0, 0x1000);
	i_type(0x67, 0, 0, T0, 0);
}

static void fault_jump_half(void)
{
	li(T0, NEURON_GPS_LIB + 2);
	i_type(0x67, 0, 0, T0, 0);
}

static void fault_load(void)
{
	li(T0, 0x20000);
	lw(T0, T0, 0);
}

static void fault_load_behind(void)
{
	li(T0, NEURON_GPS_LIB + NEURON_GPS_LIB_MAX);
	lw(T0, T0, 0);
}

static void fault_store_library(void)
{
	li(T0, NEURON_GPS_LIB);
	sw(T0, T0, 0);
}

static void fault_store_behind(void)
{
	li(T0, NEURON_GPS_TCM);
	sw(T0, T0, 0);
}

static void fault_align(void)
{
	li(T0, 0x1002);
	lw(T0, T0, 0);
}

static void fault_null(void)
{
	sw(0, 0, 0);
}

/* Calls itself for ever, 16 bytes of stack each time */
static void fault_stack(void)
{
	li(2, 0x2000);
	addi(2, 2, -16);
	sw(1, 2, 12);
	put(0xff9ff0ef); /* jal ra, -8 */
}

static void fault_large_frame(void)
{
	li(2, 0x2000);
	li(T0, 0x3000);
	put(0x40510133); /* sub sp, sp, t0 */
	sw(0, 2, 0);
}

static void fault_call(void)
{
	call(99);
}

static void fault_no_argument(void)
{
	move_call(NEURON_GPS_READ, 2, 0, 1, 0x1000);
}

static void fault_write_input(void)
{
	move_call(NEURON_GPS_WRITE, 0, 0, 1, 0x1000);
}

static void fault_behind_argument(void)
{
	move_call(NEURON_GPS_WRITE, 1, 1020, 5, 0x1000);
}

static void fault_wrapped(void)
{
	move_call(NEURON_GPS_WRITE, 1, 0xffffffff, 2, 0x1000);
}

static void fault_long(void)
{
	move_call(NEURON_GPS_READ, 0, 0, 0x40000001, 0x1000);
}

static void fault_read_to_library(void)
{
	move_call(NEURON_GPS_READ, 0, 0, 1, NEURON_GPS_LIB);
}

static void fault_read_behind_tcm(void)
{
	move_call(NEURON_GPS_READ, 0, 0, 2, NEURON_GPS_TCM - 4);
}

static void fault_copy(void)
{
	li(A0, 0x1000);
	li(A1, 0x2000);
	li(A2, 0xf000);
	call(NEURON_GPS_COPY);
}

static void fault_print(void)
{
	li(A0, 0xfff0);
	li(A1, 0x20);
	call(NEURON_GPS_PRINT);
}

static void fault_fail(void)
{
	li(A0, NEURON_GPS_LIB);
	li(A1, 4);
	call(NEURON_GPS_FAIL);
}

static const struct {
	void (*write)(void);
	enum neuron_gps_cause cause;
} faults[] = {
	{ fault_illegal, NEURON_GPS_ILLEGAL },
	{ fault_compressed, NEURON_GPS_ILLEGAL },
	{ fault_atomic, NEURON_GPS_ILLEGAL },
	{ fault_csr, NEURON_GPS_ILLEGAL },
	{ fault_mode, NEURON_GPS_ILLEGAL },
	{ fault_ebreak, NEURON_GPS_ILLEGAL },
	{ fault_end, NEURON_GPS_FETCH },
	{ fault_branch, NEURON_GPS_ILLEGAL },
	{ fault_jump, NEURON_GPS_FETCH },
	{ fault_jump_half, NEURON_GPS_FETCH },
	{ fault_load, NEURON_GPS_LOAD },
	{ fault_load_behind, NEURON_GPS_LOAD },
	{ fault_store_library, NEURON_GPS_STORE },
	{ fault_store_behind, NEURON_GPS_STORE },
	{ fault_align, NEURON_GPS_ALIGN },
	{ fault_null, NEURON_GPS_STACK },
	{ fault_stack, NEURON_GPS_STACK },
	{ fault_large_frame, NEURON_GPS_STACK },
	{ fault_call, NEURON_GPS_CALL },
	{ fault_no_argument, NEURON_GPS_CALL },
	{ fault_write_input, NEURON_GPS_CALL },
	{ fault_behind_argument, NEURON_GPS_CALL },
	{ fault_wrapped, NEURON_GPS_CALL },
	{ fault_long, NEURON_GPS_CALL },
	{ fault_read_to_library, NEURON_GPS_CALL },
	{ fault_read_behind_tcm, NEURON_GPS_CALL },
	{ fault_copy, NEURON_GPS_CALL },
	{ fault_print, NEURON_GPS_CALL },
	{ fault_fail, NEURON_GPS_FAILED },
};

/* The engine stops, nothing of the arguments has changed, and the other engines and a reset core go
 * on */
START_TEST(test_fault)
{
	uint8_t *before = malloc(DRAM_SIZE);
	struct neuron_insn insn;

	faults[_i].write();
	insn = custom(4);
	ck_assert_ptr_nonnull(before);
	memset(m.dram + DATA, 0x5a, 0x20000);
	memcpy(before, m.dram, DRAM_SIZE);
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_NOP };
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	machine_push(&m, NEURON_ENG_ACT, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 100000), TPB_BLOCKED);
	assert_fault(faults[_i].cause, 2);
	ck_assert_int_eq(memcmp(m.dram + DATA, before + DATA, 0x20000), 0);
	ck_assert_uint_eq(executed(NEURON_ENG_ACT), 1);
	ck_assert_uint_eq(executed(NEURON_ENG_GPSIMD), 0);
	free(before);

	tpb_reset(m.tpb);
	m.notes = 0;
	words = 0;
	write_adder();
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_uint_eq(executed(NEURON_ENG_GPSIMD), 1);
}
END_TEST

/* A loop without end is ended by the instruction's limit, or by a reset */
START_TEST(test_endless)
{
	struct neuron_insn insn;

	jump(0);
	insn = custom(0x81);
	insn.custom.limit = 5;
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	assert_fault(NEURON_GPS_LIMIT, 0);
	tpb_reset(m.tpb);
	m.notes = 0;
	insn.custom.limit = 0;
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BUDGET);
	ck_assert_uint_eq(m.notes, 0);
	tpb_reset(m.tpb);
	ck_assert(!tpb_runnable(m.tpb));
	words = 0;
	write_adder();
	run(1);
	ck_assert_uint_eq(executed(NEURON_ENG_GPSIMD), 1);
}
END_TEST

/* The other engines have their turns in between, by virtual time */
START_TEST(test_time)
{
	const struct neuron_target *target = &m.target;
	struct neuron_insn insn, later = { .opcode = NEURON_OP_NOP };
	uint64_t cycle = target->engine[NEURON_ENG_GPSIMD].cycle;

	addi(S1, 0, 0);
	li(S1, 50000);
	addi(S1, S1, -1);
	bnez(S1, -1);
	call(NEURON_GPS_EXIT);
	insn = custom(0xff);
	insn.update = NEURON_UPD_SEM_INC;
	later.wait = NEURON_WAIT_SEM_GE;
	later.wait_value = 1;
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	machine_push(&m, NEURON_ENG_ACT, &later, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_uint_eq(tpb_time(m.tpb, NEURON_ENG_GPSIMD), (100000 + 5) * cycle);
	ck_assert_uint_ge(tpb_time(m.tpb, NEURON_ENG_ACT), (100000 + 5) * cycle);
}
END_TEST

/* Wherever the run is cut and its state taken to another core, the same comes out */
START_TEST(test_save_and_load)
{
	struct machine other;
	struct neuron_insn insn;
	uint8_t *state, *again;
	int64_t size;

	for (int i = 0; i < 1024; i++)
		((float *)(m.dram + DATA))[i] = (float)i;
	li(S1, 30000);
	addi(S1, S1, -1);
	bnez(S1, -1);
	write_adder();
	insn = custom(0x0f);
	insn.wait = NEURON_WAIT_SEM_EQ;
	insn.wait_value = 1;
	tpb_sem_write(m.tpb, TPB_SEM_SET, 0, 1, 0);
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, (unsigned int)(_i * 7 + 1)), TPB_BUDGET);
	tpb_sem_write(m.tpb, TPB_SEM_SET, 0, 2, 1); /* it has begun: nobody looks any more */
	machine_init(&other, neuron_target_of_name("trn1"), PART);
	other.dram = m.dram;
	other.dram_size = m.dram_size;
	size = tpb_save(m.tpb, NULL, 0);
	state = malloc((size_t)size);
	again = malloc((size_t)size);
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), 0);
	ck_assert_int_eq(tpb_save(other.tpb, again, (uint64_t)size), size);
	ck_assert_int_eq(memcmp(state, again, (size_t)size), 0);
	memset(m.dram + LIB, 0xff, 64); /* what runs has its library */
	ck_assert_int_eq(tpb_run(other.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(other.notes, 0);
	for (int i = 100; i < 200; i++)
		ck_assert(((float *)(m.dram + RESULT))[i] == (float)i + 1);
	memset(m.dram + RESULT, 0, 4096);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	ck_assert(((float *)(m.dram + RESULT))[150] == 151);
	ck_assert_uint_eq(tpb_time(m.tpb, NEURON_ENG_GPSIMD),
			  tpb_time(other.tpb, NEURON_ENG_GPSIMD));
	free(state);
	free(again);
	machine_fini(&other);
}
END_TEST

/* A state comes from a file: of any that is damaged, something is refused or it runs as it is */
START_TEST(test_damaged_state)
{
	struct neuron_insn insn;
	uint8_t *state;
	int64_t size;
	uint64_t seed = 77;

	li(S1, 30000);
	addi(S1, S1, -1);
	bnez(S1, -1);
	write_adder();
	insn = custom(0xff);
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	tpb_run(m.tpb, 3);
	size = tpb_save(m.tpb, NULL, 0);
	state = malloc((size_t)size);
	for (int i = 0; i < 200; i++) {
		ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
		for (int k = 0; k < 8; k++)
			state[(uint64_t)size - 1 - machine_random(&seed) % (8 * 65800)] ^=
				(uint8_t)machine_random(&seed);
		if (!tpb_load(m.tpb, state, (uint64_t)size))
			tpb_run(m.tpb, 100);
		m.notes = 0;
		tpb_reset(m.tpb);
		machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
		tpb_run(m.tpb, 3);
		if (tpb_save(m.tpb, NULL, 0) != size)
			break;
	}
	free(state);
}
END_TEST

/* What the instruction and its arguments are refused for */

START_TEST(test_refused_instruction)
{
	struct neuron_isa_fault fault;
	struct neuron_insn insn;

	write_adder();
	insn = custom(1);
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_GPSIMD, &m.target, &fault), 0);
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_POOL, &m.target, &fault), -EINVAL);
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_SP, &m.target, &fault), -EINVAL);
	insn.custom.mask = 0;
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_GPSIMD, &m.target, &fault), -EINVAL);
	insn = custom(1);
	insn.custom.bytes = 2;
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_GPSIMD, &m.target, &fault), -EINVAL);
	insn.custom.bytes = NEURON_GPS_LIB_MAX + 4;
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_GPSIMD, &m.target, &fault), -EINVAL);
	insn = custom(1);
	insn.custom.entry = insn.custom.bytes;
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_GPSIMD, &m.target, &fault), -EINVAL);
	insn.custom.entry = 2;
	ck_assert_int_eq(neuron_isa_check(&insn, NEURON_ENG_GPSIMD, &m.target, &fault), -EINVAL);
}
END_TEST

static void no_library(struct neuron_insn *insn)
{
	insn->custom.library = MACHINE_DRAM + DRAM_SIZE - 4;
}

static void no_block(struct neuron_insn *insn)
{
	insn->custom.args = MACHINE_DRAM + DRAM_SIZE - 4;
}

static void bad_magic(struct neuron_insn *insn)
{
	block()->magic++;
}

static void too_many(struct neuron_insn *insn)
{
	block()->count = NEURON_GPS_ARGS + 1;
}

static void bad_ring(struct neuron_insn *insn)
{
	block()->ring_bytes = 48;
}

static void foreign_ring(struct neuron_insn *insn)
{
	block()->ring = MACHINE_DRAM + DRAM_SIZE - 64;
}

static void bad_kind(struct neuron_insn *insn)
{
	arg(1)->kind = 9;
}

static void bad_type(struct neuron_insn *insn)
{
	arg(1)->dtype = 1;
}

static void bad_access(struct neuron_insn *insn)
{
	arg(1)->access = 4;
}

static void bad_dims(struct neuron_insn *insn)
{
	arg(1)->ndim = 9;
}

static void empty_dim(struct neuron_insn *insn)
{
	arg(1)->size[0] = 0;
}

static void unused_dim(struct neuron_insn *insn)
{
	arg(1)->size[3] = 2;
}

static void large(struct neuron_insn *insn)
{
	arg(1)->ndim = 8;
	memset(arg(1)->size, 0xff, sizeof(arg(1)->size));
}

static void outside(struct neuron_insn *insn)
{
	arg(1)->place = MACHINE_DRAM + DRAM_SIZE - 4095;
}

static void wrapped(struct neuron_insn *insn)
{
	arg(1)->place = UINT64_MAX - 4;
}

static void pattern_outside(struct neuron_insn *insn)
{
	arg(1)->kind = NEURON_GPS_ONCHIP;
	arg(1)->partitions = 128;
}

static const struct {
	void (*spoil)(struct neuron_insn *insn);
	enum neuron_gps_cause cause;
	uint32_t data2; /* the argument */
} refused[] = {
	{ no_library, NEURON_GPS_LIBRARY, (uint32_t)(MACHINE_DRAM + DRAM_SIZE - 4) },
	{ no_block, NEURON_GPS_ARGUMENT, NEURON_GPS_ARGS },
	{ bad_magic, NEURON_GPS_ARGUMENT, NEURON_GPS_ARGS },
	{ too_many, NEURON_GPS_ARGUMENT, NEURON_GPS_ARGS },
	{ bad_ring, NEURON_GPS_ARGUMENT, NEURON_GPS_ARGS },
	{ foreign_ring, NEURON_GPS_ARGUMENT, NEURON_GPS_ARGS },
	{ bad_kind, NEURON_GPS_ARGUMENT, 1 },
	{ bad_type, NEURON_GPS_ARGUMENT, 1 },
	{ bad_access, NEURON_GPS_ARGUMENT, 1 },
	{ bad_dims, NEURON_GPS_ARGUMENT, 1 },
	{ empty_dim, NEURON_GPS_ARGUMENT, 1 },
	{ unused_dim, NEURON_GPS_ARGUMENT, 1 },
	{ large, NEURON_GPS_ARGUMENT, 1 },
	{ outside, NEURON_GPS_ARGUMENT, 1 },
	{ wrapped, NEURON_GPS_ARGUMENT, 1 },
	{ pattern_outside, NEURON_GPS_ARGUMENT, 1 },
};

START_TEST(test_refused)
{
	struct neuron_insn insn;

	write_adder();
	insn = custom(1);
	refused[_i].spoil(&insn);
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, 100), TPB_BLOCKED);
	assert_fault(refused[_i].cause, 0);
	ck_assert_uint_eq(m.note[0].data2, refused[_i].data2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("custom");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_reads_computes_writes);
	tcase_add_test(tc, test_pattern_on_chip);
	tcase_add_loop_test(tc, test_processors, 0, 2);
	tcase_add_test(tc, test_print);
	tcase_add_loop_test(tc, test_fault, 0, sizeof(faults) / sizeof(faults[0]));
	tcase_add_test(tc, test_endless);
	tcase_add_test(tc, test_time);
	tcase_add_loop_test(tc, test_save_and_load, 0, 8);
	tcase_add_test(tc, test_damaged_state);
	tcase_add_test(tc, test_refused_instruction);
	tcase_add_loop_test(tc, test_refused, 0, sizeof(refused) / sizeof(refused[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
