/* SPDX-License-Identifier: MIT */
/*
 * Vectors of GpSimd's processors (docs/gpsimd.md, Vectors): what there is no instruction for and no
 * memory, what a load stops at, what they cost, and a state saved in between. Results of single
 * instructions are compared with another implementation in tests/unit/gpsimd.
 */
#include "custom.h"

#define VSETVLI_E32_M1 0x0d0072d7u /* t0, x0, ta, ma */
#define VSETVLI_E32_M2 0x0d1072d7u
#define VSETVLI_E32_M8 0x0d3072d7u
#define VSETVLI_E16_M1 0x0c8072d7u
#define VSETVLI_E8_M8 0x0c3072d7u
#define VSETVLI_E64_M1 0x0d8072d7u
#define VSETVLI_E32_MF2 0x0d7072d7u
#define VLE32_V4_T1 0x02036207u
#define VLE32FF_V4_T1 0x03036207u
#define VSE32_V4_T1 0x02036227u
#define VSE32_V8_T1 0x02036427u

/* Vector instructions that fault, each executed with an address in t1 and with vstart set */
static const struct {
	const char *what;
	uint32_t type, word, t1, data2; /* data2 of a fault of memory */
	enum neuron_gps_cause cause;
	int vstart;
} refused[] = {
	{ "no type", 0, 0x02860257, .cause = NEURON_GPS_ILLEGAL },
	{ "64 bits", VSETVLI_E64_M1, 0x02860257, .cause = NEURON_GPS_ILLEGAL },
	{ "half a register of 32 bits", VSETVLI_E32_MF2, 0x02860257, .cause = NEURON_GPS_ILLEGAL },
	{ "result between groups", VSETVLI_E32_M2, 0x028602d7, .cause = NEURON_GPS_ILLEGAL },
	{ "operand between groups", VSETVLI_E32_M2, 0x02960257, .cause = NEURON_GPS_ILLEGAL },
	{ "masked, to v0", VSETVLI_E32_M1, 0x00860057, .cause = NEURON_GPS_ILLEGAL },
	{ "merged, to v0", VSETVLI_E32_M1, 0x5c860057, .cause = NEURON_GPS_ILLEGAL },
	{ "32 bits widened", VSETVLI_E32_M1, 0xc6862257, .cause = NEURON_GPS_ILLEGAL },
	{ "wide over its operand", VSETVLI_E16_M1, 0xc6862457, .cause = NEURON_GPS_ILLEGAL },
	{ "extended over its operand", VSETVLI_E32_M2, 0x4a832457, .cause = NEURON_GPS_ILLEGAL },
	{ "fp16", VSETVLI_E16_M1, 0x02861257, .cause = NEURON_GPS_ILLEGAL },
	{ "fp64", VSETVLI_E32_M1, 0xc2861257, .cause = NEURON_GPS_ILLEGAL },
	{ "gathered over its operand", VSETVLI_E32_M1, 0x32460257, .cause = NEURON_GPS_ILLEGAL },
	{ "slid up over its operand", VSETVLI_E32_M1, 0x3a40b257, .cause = NEURON_GPS_ILLEGAL },
	{ "set before first over it", VSETVLI_E32_M1, 0x5240a257, .cause = NEURON_GPS_ILLEGAL },
	{ "compressed by its operand", VSETVLI_E32_M1, 0x5e822257, .cause = NEURON_GPS_ILLEGAL },
	{ "two registers at v5", VSETVLI_E32_M1, 0x9e80b2d7, .cause = NEURON_GPS_ILLEGAL },
	{ "a sum from the middle", VSETVLI_E32_M1, 0x02862257, .vstart = 1,
	  .cause = NEURON_GPS_ILLEGAL },
	{ "vl written", VSETVLI_E32_M1, 0xc2029073, .cause = NEURON_GPS_ILLEGAL },
	{ "elements of 64 bits", VSETVLI_E32_M1, 0x02037207, 0x1000, .cause = NEURON_GPS_ILLEGAL },
	{ "16 registers loaded", VSETVLI_E32_M2, 0xe2036207, 0x1000, .cause = NEURON_GPS_ILLEGAL },
	{ "registers beyond v31", VSETVLI_E32_M1, 0xe2036e07, 0x1000, .cause = NEURON_GPS_ILLEGAL },
	{ "two registers loaded at v5", VSETVLI_E32_M1, 0x22836287, 0x1000,
	  .cause = NEURON_GPS_ILLEGAL },
	{ "three registers loaded", VSETVLI_E32_M1, 0x42836207, 0x1000,
	  .cause = NEURON_GPS_ILLEGAL },
	{ "a register stored as words", VSETVLI_E32_M1, 0x02836227, 0x1000,
	  .cause = NEURON_GPS_ILLEGAL },
	{ "a word of nothing", VSETVLI_E32_M1, 0x840072d7, .cause = NEURON_GPS_ILLEGAL },
	{ "load at 0", VSETVLI_E32_M1, VLE32_V4_T1, 0, 0, .cause = NEURON_GPS_STACK },
	{ "load over the end", VSETVLI_E32_M1, VLE32_V4_T1, 0xffc4, 0x10000,
	  .cause = NEURON_GPS_LOAD },
	{ "load beside", VSETVLI_E32_M1, VLE32_V4_T1, 0x1002, 0x1002, .cause = NEURON_GPS_ALIGN },
	{ "first-fault load of nothing", VSETVLI_E32_M1, VLE32FF_V4_T1, 0x10000, 0x10000,
	  .cause = NEURON_GPS_LOAD },
	{ "store over the end", VSETVLI_E32_M1, VSE32_V4_T1, 0xffc4, 0x10000,
	  .cause = NEURON_GPS_STORE },
	{ "store to the library", VSETVLI_E32_M1, VSE32_V4_T1, NEURON_GPS_LIB, NEURON_GPS_LIB,
	  .cause = NEURON_GPS_STORE },
};

START_TEST(test_refused)
{
	const uint32_t word = refused[_i].word;

	li(T1, refused[_i].t1);
	if (refused[_i].type)
		put(refused[_i].type);
	if (refused[_i].vstart)
		put(0x0080d073);
	put(word);
	call(NEURON_GPS_EXIT);
	run(1);
	ck_assert_msg(m.notes == 1, "%s", refused[_i].what);
	assert_fault(refused[_i].cause, 0);
	ck_assert_uint_eq(m.note[0].data2,
			  refused[_i].cause == NEURON_GPS_ILLEGAL ? word : refused[_i].data2);
}
END_TEST

/* A first-fault load ends where the memory does */
START_TEST(test_first_fault)
{
	li(T1, 0xfff4);
	put(VSETVLI_E32_M8);
	put(VLE32FF_V4_T1 + 0x200); /* v8 */
	put(0xc20022f3); /* csrr t0, vl */
	li(S0, 0x1000);
	sw(T0, S0, 0);
	move_call(NEURON_GPS_WRITE, 1, 0, 1, 0x1000);
	call(NEURON_GPS_EXIT);
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_uint_eq(*(uint32_t *)(m.dram + RESULT), 3);
}
END_TEST

/* To integers towards zero, which the other implementation has no word for */
START_TEST(test_towards_zero)
{
	static const float in[16] = { 0,     -0.0f,  0.5f, -0.5f, 1.5f,	 -1.5f,	 2.99f, -2.99f,
				      1e10f, -1e10f, 3e9f, -1,	  32768, -32769, 65536, 7 };
	static const uint32_t words_of[4] = { 0x4a839257, 0x4a831257, 0x4a8b9257, 0x4a8b1257 };
	const bool narrow = _i >= 2, is_unsigned = _i & 1;

	memcpy(m.dram + DATA, in, sizeof(in));
	move_call(NEURON_GPS_READ, 0, 0, 16, 0x1000);
	li(T1, 0x1000);
	put(VSETVLI_E32_M1);
	put(VLE32_V4_T1 + 0x200); /* v8 */
	if (narrow)
		put(0x0cf072d7); /* vsetvli t0, x0, e16, mf2, ta, ma */
	put(words_of[_i]);
	put(VSETVLI_E32_M1);
	put(VSE32_V4_T1);
	move_call(NEURON_GPS_WRITE, 1, 0, 16, 0x1000);
	call(NEURON_GPS_EXIT);
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	for (int i = 0; i < 16; i++) {
		double least = is_unsigned ? 0 : narrow ? INT16_MIN : INT32_MIN;
		double most = is_unsigned ? (narrow ? UINT16_MAX : UINT32_MAX)
					  : (narrow ? INT16_MAX : INT32_MAX);
		double want = in[i] < least ? least : in[i] > most ? most : in[i];
		const uint8_t *out = m.dram + RESULT;

		if (narrow)
			ck_assert_uint_eq(((uint16_t *)out)[i], (uint16_t)(int64_t)want);
		else
			ck_assert_uint_eq(((uint32_t *)out)[i], (uint32_t)(int64_t)want);
	}
}
END_TEST

/* A cycle for each 64 bytes of elements, and for each element that is reached by itself */
START_TEST(test_cost)
{
	static const struct {
		uint32_t type, word, cycles;
	} costs[] = {
		{ VSETVLI_E8_M8, 0x03080457, 8 }, /* vadd.vv v8, v16, v16 */
		{ VSETVLI_E32_M1, 0x02860257, 1 },  { VSETVLI_E32_M1, VLE32_V4_T1, 1 },
		{ VSETVLI_E32_M1, 0x0a736207, 16 }, /* vlse32.v v4, (t1), t2 */
		{ VSETVLI_E32_M1, 0x02862257, 16 }, /* vredsum.vs */
	};
	uint64_t cycle = m.target.engine[NEURON_ENG_GPSIMD].cycle;

	li(T1, 0x1000); /* two instructions, as a call of exit */
	put(costs[_i].type);
	put(costs[_i].word);
	call(NEURON_GPS_EXIT);
	run(1);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert_uint_eq(tpb_time(m.tpb, NEURON_ENG_GPSIMD), (5 + costs[_i].cycles) * cycle);
}
END_TEST

/* Registers and their types go with a state; sums of what was loaded before it */
START_TEST(test_save_and_load)
{
	struct machine other;
	struct neuron_insn insn;
	uint8_t *state;
	int64_t size;

	for (uint32_t i = 0; i < 16; i++)
		((uint32_t *)(m.dram + DATA))[i] = i * 3 + 1;
	move_call(NEURON_GPS_READ, 0, 0, 16, 0x1000);
	li(T1, 0x1000);
	put(VSETVLI_E32_M1);
	put(VLE32_V4_T1 + 0x200); /* v8 */
	li(S1, 20000);
	put(0x0280b457); /* vadd.vi v8, v8, 1 */
	addi(S1, S1, -1);
	bnez(S1, -2);
	put(VSE32_V8_T1);
	move_call(NEURON_GPS_WRITE, 1, 0, 16, 0x1000);
	call(NEURON_GPS_EXIT);
	insn = custom(0x03);
	machine_push(&m, NEURON_ENG_GPSIMD, &insn, 0);
	ck_assert_int_eq(tpb_run(m.tpb, (unsigned int)(_i * 3 + 1)), TPB_BUDGET);
	state = move(&other, &size);
	ck_assert_int_eq(tpb_run(other.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(other.notes, 0);
	for (uint32_t i = 0; i < 16; i++)
		ck_assert_uint_eq(((uint32_t *)(m.dram + RESULT))[i], i * 3 + 1 + 20000);
	state[0]--; /* a state of before there were vectors */
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), -EINVAL);
	free(state);
	machine_fini(&other);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("custom-vector");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, test_refused, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, test_first_fault);
	tcase_add_loop_test(tc, test_towards_zero, 0, 4);
	tcase_add_loop_test(tc, test_cost, 0, 5);
	tcase_add_loop_test(tc, test_save_and_load, 0, 5);
	suite_add_tcase(s, tc);
	return check_run(s);
}
