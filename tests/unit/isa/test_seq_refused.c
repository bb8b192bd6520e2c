/* SPDX-License-Identifier: MIT */
/*
 * What sequencers refuse from NeuronCore-v2 on, and how: jumps out of a window, windows and
 * elements that are not the core's, fields that no instruction has (docs/isa.md, Registers and
 * control flow).
 */
#include "program.h"

#define E NEURON_ENG_SP

static void stopped_with(uint16_t code, uint64_t data, uint32_t data2)
{
	struct neuron_insn insn = nop();
	uint64_t before = executed(E);

	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].type, NEURON_NQ_ERROR);
	ck_assert_uint_eq(m.note[0].engine, E);
	ck_assert_uint_eq(m.note[0].code, code);
	ck_assert_uint_eq(m.note[0].data, data);
	ck_assert_uint_eq(m.note[0].data2, data2);
	machine_run1(&m, E, &insn); /* it stays so until a reset */
	ck_assert_uint_eq(executed(E), before);
	tpb_reset(m.tpb);
	machine_run1(&m, E, &insn);
	ck_assert_uint_eq(executed(E), before + 1);
}

/* Beyond the end, exactly at it, before the beginning, far away */
START_TEST(wild_jump)
{
	static const int32_t target[] = { 3, 2, -1, 0x1ffffff, -0x2000000 };

	put(E, branch(NEURON_REL_ALWAYS, 0, 0, target[_i]));
	put(E, nop());
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	stopped_with(NEURON_NERR_PC, (uint64_t)((int64_t)target[_i] * 64), length[E]);
}
END_TEST

START_TEST(off_the_end)
{
	put(E, nop());
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	stopped_with(NEURON_NERR_PC, 64, 64);
}
END_TEST

/* The second word of an instruction is not in the window */
START_TEST(cut_at_the_end)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_ACTIVATE, .partitions = 1 };
	const unsigned int e = NEURON_ENG_ACT;

	insn.src0 = insn.dst = machine_ap(0, NEURON_DT_FP32, 1);
	put(e, insn);
	length[e] -= 64;
	start(e);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_PC);
	ck_assert_uint_eq(m.note[0].data, 0);
	ck_assert_uint_eq(m.note[0].data2, 64);
}
END_TEST

START_TEST(illegal_in_window)
{
	put(E, nop());
	length[E] += 64; /* zeros */
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	stopped_with(NEURON_NERR_ILLEGAL_INSN, 0, 0);
}
END_TEST

START_TEST(refused_fetch)
{
	put(E, nop());
	m.refuses = true;
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	stopped_with(NEURON_NERR_FETCH_REFUSED, HBM(E * WINDOW), 64);
}
END_TEST

/* A window that the guard takes from the core while it executes there stops the engine. */
START_TEST(refused_meanwhile)
{
	put(E, nop());
	put(E, branch(NEURON_REL_ALWAYS, 0, 0, -1));
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 100), TPB_BUDGET);
	tpb_windows_again(m.tpb);
	ck_assert_int_eq(tpb_run(m.tpb, 100), TPB_BUDGET);
	m.refuses = true;
	tpb_windows_again(m.tpb);
	ck_assert_int_eq(tpb_run(m.tpb, 100), TPB_BLOCKED);
	stopped_with(NEURON_NERR_FETCH_REFUSED, HBM(E * WINDOW), 128);
}
END_TEST

/* Addresses of elements, known when the instruction is executed: r1 is -8 */
static const struct {
	uint64_t address;
	bool device;
	int32_t scale;
	int64_t want;
} bad_elements[] = {
	{ SBUF(0, 0), false, 1, -8 }, /* below */
	{ SBUF(5, 0), false, 8, SBUF(5, 0) - 64 }, /* between partitions */
	{ SBUF(5, 0), false, -PART / 8, SBUF(5, PART) },
	{ PSUM(127, 0), false, -0x4000 / 8, PSUM(128, 0) },
	{ SBUF(0, 0), false, -0x20000000, 0x100000000 },
	{ 0, true, -4, 32 }, /* no memory of the device */
	{ MACHINE_HBM + MACHINE_HBM_SIZE - 8, true, -1, MACHINE_HBM + MACHINE_HBM_SIZE },
	{ MACHINE_HBM, true, 1, MACHINE_HBM - 8 },
	{ MACHINE_HBM + 4, true, INT32_MIN, MACHINE_HBM + 4 + 0x400000000 },
	{ SBUF(0, 64) + 2, false, -1, SBUF(0, 74) }, /* not aligned */
};

START_TEST(refused_element)
{
	struct neuron_insn insn = load(2, NEURON_DT_INT32, bad_elements[_i / 2].address & ~3ull,
				       bad_elements[_i / 2].device);

	insn.address = bad_elements[_i / 2].address;
	if (_i % 2) {
		insn.opcode = NEURON_OP_TENSOR_STORE;
		insn.rd = 0;
	}
	put(E, move(1, -8));
	put(E, with_index(insn, 1, bad_elements[_i / 2].scale));
	start(E);
	ck_assert_int_eq(tpb_run(m.tpb, 1000), TPB_BLOCKED);
	stopped_with(NEURON_NERR_ELEMENT_REFUSED, (uint64_t)bad_elements[_i / 2].want, insn.opcode);
}
END_TEST

/* Fields that no sequencer takes, and places where an instruction may not stand */
static const struct neuron_insn illegal[] = {
	{ .opcode = NEURON_OP_FETCH_END },
	{ .opcode = NEURON_OP_COMPARE_BRANCH },
	{ .opcode = NEURON_OP_COMPARE_BRANCH, .rop = NEURON_REL_COUNT },
	{ .opcode = NEURON_OP_COMPARE_BRANCH, .ra = 1 },
	{ .opcode = NEURON_OP_COMPARE_BRANCH, .immediate = true },
	{ .opcode = NEURON_OP_COMPARE_BRANCH, .target = 32 },
	{ .opcode = NEURON_OP_MOVE, .rd = 64 },
	{ .opcode = NEURON_OP_MOVE, .rb = 64 },
	{ .opcode = NEURON_OP_ALU, .ra = 64 },
	{ .opcode = NEURON_OP_ALU, .rop = NEURON_REG_ALU_COUNT },
	{ .opcode = NEURON_OP_TENSOR_LOAD, .rtype = NEURON_DT_FP32 },
	{ .opcode = NEURON_OP_TENSOR_LOAD, .rtype = NEURON_DT_INT64 },
	{ .opcode = NEURON_OP_TENSOR_LOAD, .rtype = NEURON_DT_INT32, .address = 2 },
	{ .opcode = NEURON_OP_TENSOR_LOAD, .rtype = NEURON_DT_INT32, .address = PART },
	{ .opcode = NEURON_OP_TENSOR_LOAD, .rtype = NEURON_DT_INT32, .address = PSUM(128, 0) },
	{ .opcode = NEURON_OP_TENSOR_STORE, .rtype = NEURON_DT_INT32, .device = true, .address = 2 },
	{ .opcode = NEURON_OP_TENSOR_STORE, .rtype = NEURON_DT_INT32, .indexed = true, .ra = 64 },
	{ .opcode = NEURON_OP_FETCH, .address = MACHINE_HBM },
	{ .opcode = NEURON_OP_FETCH, .address = MACHINE_HBM + 32, .length = 64 },
	{ .opcode = NEURON_OP_FETCH, .address = MACHINE_HBM, .length = 96 },
	{ .opcode = NEURON_OP_FETCH, .address = MACHINE_HBM, .length = 64, .pc = 64 },
	{ .opcode = NEURON_OP_FETCH, .address = MACHINE_HBM, .length = 64, .pc = 32 },
	{ .opcode = NEURON_OP_FETCH, .address = -64ull, .length = 128 },
};

START_TEST(illegal_insn)
{
	machine_run1(&m, E, &illegal[_i]);
	stopped_with(NEURON_NERR_ILLEGAL_INSN, illegal[_i].opcode, 0);
}
END_TEST

/* NeuronCore-v1 has none of it */
START_TEST(not_on_v1)
{
	static const uint8_t ops[] = { NEURON_OP_FETCH,		 NEURON_OP_FETCH_END,
				       NEURON_OP_MOVE,		 NEURON_OP_ALU,
				       NEURON_OP_COMPARE_BRANCH, NEURON_OP_TENSOR_LOAD,
				       NEURON_OP_TENSOR_STORE };
	struct neuron_insn insn = { .opcode = ops[_i] };

	ck_assert_uint_eq(neuron_isa_ops[ops[_i]].since, 2);
	if (insn.opcode == NEURON_OP_FETCH)
		insn.length = 64;
	teardown();
	setup();
	machine_run1(&m, E, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("seq-refused");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup_v2, teardown);
	tcase_add_loop_test(tc, wild_jump, 0, 5);
	tcase_add_test(tc, off_the_end);
	tcase_add_test(tc, cut_at_the_end);
	tcase_add_test(tc, illegal_in_window);
	tcase_add_test(tc, refused_fetch);
	tcase_add_test(tc, refused_meanwhile);
	tcase_add_loop_test(tc, refused_element, 0,
			    2 * sizeof(bad_elements) / sizeof(bad_elements[0]));
	LOOP(tc, illegal_insn, illegal);
	tcase_add_loop_test(tc, not_on_v1, 0, 7);
	suite_add_tcase(s, tc);
	return check_run(s);
}
