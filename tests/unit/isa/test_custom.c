/* SPDX-License-Identifier: MIT */
/*
 * CUSTOM_OP and GpSimd's processors (docs/gpsimd.md): programs of a few words, the calls, turns,
 * and a state saved in between. Single instructions are compared with another implementation in
 * tests/unit/gpsimd.
 */
#include "custom.h"

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

/* Each processor that takes part writes how many there are to a place of its own. */
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

/*
 * If several processors print, the text of the first is kept; a ring keeps the end of a long one.
 */
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

/* The last words of one that fails are kept, whichever it is */
START_TEST(test_last_words)
{
	uint64_t head;

	call(NEURON_GPS_CPU_ID);
	bnez(A0, 3);
	call(NEURON_GPS_EXIT);
	li(A0, NEURON_GPS_LIB + 128);
	addi(A1, 0, 8);
	call(NEURON_GPS_FAIL);
	while (words < 32)
		put(0);
	memcpy(program + words, "no room!", 8);
	words += 2;
	run(0x14);
	assert_fault(NEURON_GPS_FAILED, 4);
	memcpy(&head, m.dram + RING, 8);
	ck_assert_uint_eq(head, 8);
	ck_assert_int_eq(memcmp(m.dram + RING + 64, "no room!", 8), 0);
}
END_TEST

/* An operator finds nothing in the TCM of what the operator before it left there. */
START_TEST(test_cleared)
{
	li(S0, 0x1000);
	li(T0, 0x5ec4e7);
	sw(T0, S0, 0);
	call(NEURON_GPS_EXIT);
	run(1);
	words = 0;
	move_call(NEURON_GPS_WRITE, 1, 0, 1, 0x1000);
	call(NEURON_GPS_EXIT);
	memset(m.dram + RESULT, 0xff, 4);
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_uint_eq(*(uint32_t *)(m.dram + RESULT), 0);
}
END_TEST

/* A processor is told all of an argument but where it lies; of a scalar that is its value */
START_TEST(test_described)
{
	struct neuron_gps_arg want[2], *scalar = add_arg(0x1234, NEURON_DT_FP32, 1, 0);

	scalar->kind = NEURON_GPS_SCALAR;
	for (uint32_t i = 0; i < 2; i++) {
		want[i] = *arg(2 * i);
		li(A0, 2 * i);
		li(A1, 0x1000 + 72 * i);
		call(NEURON_GPS_ARG);
	}
	want[0].place = 0;
	move_call(NEURON_GPS_WRITE, 1, 0, 36, 0x1000);
	call(NEURON_GPS_EXIT);
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_int_eq(memcmp(m.dram + RESULT, want, sizeof(want)), 0);
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
	uint8_t *state;
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
	state = move(&other, &size);
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
			state[(uint64_t)size - 1 - machine_random(&seed) % (8 * 67871)] ^=
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

int main(void)
{
	Suite *s = suite_create("custom");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_reads_computes_writes);
	tcase_add_test(tc, test_pattern_on_chip);
	tcase_add_loop_test(tc, test_processors, 0, 2);
	tcase_add_test(tc, test_print);
	tcase_add_test(tc, test_last_words);
	tcase_add_test(tc, test_cleared);
	tcase_add_test(tc, test_described);
	tcase_add_test(tc, test_endless);
	tcase_add_test(tc, test_time);
	tcase_add_loop_test(tc, test_save_and_load, 0, 8);
	tcase_add_test(tc, test_damaged_state);
	suite_add_tcase(s, tc);
	return check_run(s);
}
