/* SPDX-License-Identifier: MIT */
/*
 * What GpSimd's processors, CUSTOM_OP and its arguments are refused for (docs/gpsimd.md, Faults):
 * the engine stops, nothing else has changed, and the core is usable after a reset.
 */
#include "custom.h"

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

/* A CUSTOM_OP instruction is refused for each fault of its own and of its arguments. */

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

static void written_scalar(struct neuron_insn *insn)
{
	arg(1)->kind = NEURON_GPS_SCALAR;
}

/* Twelve elements in each of eight partitions, which are to be n of fp32 */
static void on_chip(uint32_t dtype, uint32_t n)
{
	const uint32_t first = dtype << 26;
	const uint16_t step_num[8] = { 0, 0, 20, 2, 1, 1, 4, 3 };

	arg(1)->kind = NEURON_GPS_ONCHIP;
	arg(1)->place = 0;
	arg(1)->partitions = 8;
	arg(1)->size[0] = n;
	memcpy(arg(1)->pattern, &first, 4);
	memcpy(arg(1)->pattern + 4, step_num, sizeof(step_num));
}

static void pattern_more(struct neuron_insn *insn)
{
	on_chip(NEURON_DT_FP32, 95);
}

static void pattern_less(struct neuron_insn *insn)
{
	on_chip(NEURON_DT_FP32, 97);
}

static void pattern_type(struct neuron_insn *insn)
{
	on_chip(NEURON_DT_INT32, 96);
}

static void reserved(struct neuron_insn *insn)
{
	arg(1)->zero = 1;
}

static void ring_of_nothing(struct neuron_insn *insn)
{
	block()->ring = 0;
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
	{ written_scalar, NEURON_GPS_ARGUMENT, 1 },
	{ pattern_more, NEURON_GPS_ARGUMENT, 1 },
	{ pattern_less, NEURON_GPS_ARGUMENT, 1 },
	{ pattern_type, NEURON_GPS_ARGUMENT, 1 },
	{ reserved, NEURON_GPS_ARGUMENT, 1 },
	{ ring_of_nothing, NEURON_GPS_ARGUMENT, NEURON_GPS_ARGS },
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

/* Any words are executed or refused, and change nothing but the result and the ring */
START_TEST(test_any_words)
{
	static const uint8_t opcodes[] = { 0x37, 0x17, 0x6f, 0x67, 0x63, 0x03, 0x23,
					   0x13, 0x33, 0x73, 0x07, 0x27, 0x43, 0x4b,
					   0x53, 0x0f, 0x57, 0x57, 0x57, 0x33 };
	uint8_t *before = malloc(DRAM_SIZE);
	uint64_t seed = 99;

	ck_assert_ptr_nonnull(before);
	for (int i = 0; i < 1000; i++) {
		struct neuron_insn insn;

		words = 0;
		addi(A7, 0, (int)(machine_random(&seed) % 11));
		li(2, 0x2000);
		put(0x007072d7 | (uint32_t)(machine_random(&seed) & 0x1f) << 20); /* vsetvli */
		while (words < 200) {
			uint32_t word = (uint32_t)machine_random(&seed);

			if (!(word >> 8 & 31)) /* a call, with what the registers have */
				word = 0x73;
			else if (word >> 8 & 7)
				word = (word & ~0x7fu) | opcodes[(word >> 16) % sizeof(opcodes)];
			put(word);
		}
		insn = custom((uint8_t)(i | 1));
		insn.custom.limit = 4;
		memcpy(before, m.dram, DRAM_SIZE);
		machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
		ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
		ck_assert_int_eq(memcmp(m.dram, before, RING), 0);
		ck_assert_int_eq(
			memcmp(m.dram + RING + 128, before + RING + 128, RESULT - RING - 128), 0);
		ck_assert_int_eq(memcmp(m.dram + RESULT + 4096, before + RESULT + 4096,
					DRAM_SIZE - RESULT - 4096),
				 0);
		tpb_reset(m.tpb);
		m.notes = 0;
	}
	free(before);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("custom-refused");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_fault, 0, sizeof(faults) / sizeof(faults[0]));
	tcase_add_test(tc, test_refused_instruction);
	tcase_add_loop_test(tc, test_refused, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, test_any_words);
	suite_add_tcase(s, tc);
	return check_run(s);
}
