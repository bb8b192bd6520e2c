/* SPDX-License-Identifier: MIT */
/*
 * The encoding: round trips, the places that docs/isa.md names, reserved bits, hostile words, and
 * the manual's tables against the code's.
 */
#include <stdio.h>

#include "../check_main.h"
#include "random_insn.h"

#define ROUNDS 300

static bool same_insn(const struct neuron_insn *a, const struct neuron_insn *b)
{
	return !memcmp(a, b, sizeof(*a));
}

START_TEST(test_round_trip)
{
	uint64_t seed = 11 + _i;

	if (!neuron_isa_ops[_i].name)
		return;
	for (int r = 0; r < ROUNDS; r++) {
		struct neuron_insn insn = random_fields(_i, &seed), back;
		uint8_t words[128], again[128];
		int n = neuron_isa_encode(&insn, words);

		ck_assert_int_eq(n, neuron_isa_patched(&insn) ? 2 : neuron_isa_ops[_i].words);
		ck_assert_int_eq(neuron_isa_decode_for(words, n, neuron_isa_ops[_i].since - 1,
						       &back),
				 -EINVAL);
		if (neuron_isa_ops[_i].since == 1)
			ck_assert_int_eq(neuron_isa_decode_for(words, n, 1, &back),
					 neuron_isa_patched(&insn) ? -EINVAL : n);
		ck_assert_int_eq(neuron_isa_decode(words, n, &back), n);
		ck_assert(same_insn(&insn, &back));
		ck_assert_int_eq(neuron_isa_encode(&back, again), n);
		ck_assert_mem_eq(words, again, (size_t)n * 64);
	}
}
END_TEST

/* An instruction's words with another one's conditions are those of both in one. */
START_TEST(test_put_head)
{
	uint64_t seed = 17 + _i;

	if (!neuron_isa_ops[_i].name)
		return;
	for (int r = 0; r < ROUNDS / 10; r++) {
		struct neuron_insn a = random_fields(_i, &seed), b = random_fields(_i, &seed);
		const bool check = neuron_isa_ops[_i].fields & NEURON_FB(CHECK);
		uint8_t words[128], want[128];
		int n = neuron_isa_encode(&a, words);

		neuron_isa_put_head(&b, NEURON_FB(SYNC), words);
		if (check)
			neuron_isa_put_head(&b, NEURON_FB(CHECK), words);
		a.trigger = b.trigger;
		a.wait = b.wait;
		a.wait_index = b.wait_index;
		a.wait_value = b.wait_value;
		a.update = b.update;
		a.update_index = b.update_index;
		a.update_value = b.update_value;
		a.check = check ? b.check : a.check;
		ck_assert_int_eq(neuron_isa_encode(&a, want), n);
		ck_assert_mem_eq(words, want, (size_t)n * 64);
	}
}
END_TEST

/* Bytes written by hand from docs/isa.md, section 2 */
START_TEST(test_layout)
{
	static const uint8_t want[64] = {
		0x11, 0x06, 0x12, 0x80, 0x05, 0x06, 0,	  0, 1,	   2,	 3,    4,    0,	   0,
		0,    0,    0x00, 0x08, 0x00, 0x2a, 0,	  0, 0,	   0,	 0xff, 0xff, 0x02, 0x00,
		0x01, 0,    0x01, 0,	0x10, 0,    0x20, 0, 0x40, 0x10, 0x04, 0x18, 0,	   0,
		0,    0,    0,	  0,	0x01, 0x00, 0x01, 0, 0x01, 0,	 0x01, 0,    0x00, 0x02,
	};
	struct neuron_insn insn = {
		.opcode = NEURON_OP_MATMUL,
		.trigger = NEURON_TRIG_READ,
		.accumulate = true,
		.wait = NEURON_WAIT_SEM_GE,
		.wait_index = 5,
		.wait_value = 0x04030201,
		.update = NEURON_UPD_SEM_INC,
		.update_index = 6,
		.partitions = 128,
		.dst = { 0x2000800, NEURON_DT_FP32, { 0, 0, -1, 2 }, { 1, 1, 16, 32 } },
		.src0 = { 0x41040, NEURON_DT_BF16, { 0, 0, 0, 1 }, { 1, 1, 1, 512 } },
	};
	uint8_t words[128];

	ck_assert_int_eq(neuron_isa_encode(&insn, words), 1);
	ck_assert_mem_eq(words, want, 64);
}
END_TEST

START_TEST(test_layout_two_words)
{
	struct neuron_insn insn = {
		.opcode = NEURON_OP_SCALAR_TENSOR_TENSOR,
		.partitions = 1,
		.op0 = 3,
		.op1 = 2,
		.reverse1 = true,
		.scalar0 = { .kind = NEURON_SCALAR_PTR, .dtype = NEURON_DT_FP32, .offset = 0x40 },
		.src1 = { 0x80, NEURON_DT_INT8, { 0, 0, 0, 7 }, { 1, 1, 1, 9 } },
	};
	uint8_t words[128];

	ck_assert_int_eq(neuron_isa_encode(&insn, words), 2);
	ck_assert_uint_eq(words[0], 0x33);
	ck_assert_uint_eq(words[1], 0x61); /* ext, reverse1, scalar0 in memory */
	ck_assert_uint_eq(words[6], 3);
	ck_assert_uint_eq(words[7], 2);
	ck_assert_uint_eq(words[56], 0x40);
	ck_assert_uint_eq(words[59], NEURON_DT_FP32 << 2);
	ck_assert_uint_eq(words[64], 0x80);
	ck_assert_uint_eq(words[67], NEURON_DT_INT8 << 2);
	ck_assert_uint_eq(words[64 + 10], 7);
	ck_assert_uint_eq(words[64 + 18], 9);
}
END_TEST

/* Section 2.3's bytes of what works on registers */
START_TEST(test_layout_registers)
{
	static const uint8_t window[16] = { 0x40, 0x02, 0, 0,	 0x10, 0, 0, 0,
					    0x00, 0x01, 0, 0x80, 0xc0, 0, 0, 0 };
	struct neuron_insn fetch = {
		.opcode = NEURON_OP_FETCH, .address = 0x1000000240, .length = 0x80000100, .pc = 0xc0
	};
	struct neuron_insn branch = { .opcode = NEURON_OP_COMPARE_BRANCH,
				      .rop = NEURON_REL_LTU,
				      .ra = 3,
				      .immediate = true,
				      .value = 0xfffefdfc,
				      .target = -128 };
	struct neuron_insn load = { .opcode = NEURON_OP_TENSOR_LOAD,
				    .rd = 63,
				    .rtype = NEURON_DT_INT16,
				    .device = true,
				    .indexed = true,
				    .ra = 2,
				    .scale = -2,
				    .address = 0x123456789a };
	static const uint8_t branched[16] = { 0,    3,	  0,	7,    1,    0,	  0,	0,
					      0xfc, 0xfd, 0xfe, 0xff, 0x80, 0xff, 0xff, 0xff };
	static const uint8_t loaded[24] = { 63,	  2,	0,    4,    6,	  0,	0,    0,
					    0,	  0,	0,    0,    0xfe, 0xff, 0xff, 0xff,
					    0x9a, 0x78, 0x56, 0x34, 0x12, 0,	0,    0 };
	uint8_t words[128];

	ck_assert_int_eq(neuron_isa_encode(&fetch, words), 1);
	ck_assert_uint_eq(words[0], 0x08);
	ck_assert_mem_eq(words + 16, window, sizeof(window));
	ck_assert_int_eq(neuron_isa_encode(&branch, words), 1);
	ck_assert_uint_eq(words[0], 0x0c);
	ck_assert_mem_eq(words + 16, branched, sizeof(branched));
	ck_assert_int_eq(neuron_isa_encode(&load, words), 1);
	ck_assert_uint_eq(words[0], 0x0d);
	ck_assert_mem_eq(words + 16, loaded, sizeof(loaded));
}
END_TEST

/* Patches lie at the end of the second word, of an instruction of one as well as of two */
START_TEST(test_layout_patches)
{
	static const uint8_t patches[32] = {
		[8] = 2,     [9] = 7,	[12] = 0xfe, [13] = 0xff, [14] = 0xff,
		[15] = 0xff, [24] = 19, [25] = 63,   [28] = 1
	};
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_COPY,
				    .patch = { 0, NEURON_PATCH_SRC0, 0, NEURON_PATCH_SRC1_NUM + 3 },
				    .patch_reg = { 0, 7, 0, 63 },
				    .patch_scale = { 0, -2, 0, 1 } },
			   back;
	static const uint8_t ops[] = { NEURON_OP_TENSOR_COPY, NEURON_OP_TENSOR_TENSOR };
	uint8_t words[128], none[32] = { 0 };

	insn.opcode = ops[_i];
	ck_assert_int_eq(neuron_isa_encode(&insn, words), 2);
	ck_assert_uint_eq(words[1] & 1, 1);
	ck_assert_mem_eq(words + 64, none, 32);
	ck_assert_mem_eq(words + 96, patches, 32);
	ck_assert_int_eq(neuron_isa_decode(words, 1, &back), -EAGAIN);
	memset(words + 96, 0, 32); /* two words where one does */
	ck_assert_int_eq(neuron_isa_decode(words, 2, &back), _i ? 2 : -EINVAL);
	words[97] = 1; /* a register of no patch */
	ck_assert_int_eq(neuron_isa_decode(words, 2, &back), -EINVAL);
	ck_assert_int_eq(neuron_isa_decode_for(words, 2, 1, &back), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_NOP, .patch = { 1 } };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_MEMSET, .patch_scale = { 1 } };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
}
END_TEST

/* Every bit of an instruction is meaningful or refused */
START_TEST(test_every_bit)
{
	uint64_t seed = 5;
	struct neuron_insn insn, back;
	uint8_t words[128], again[128];
	int n;

	if (!neuron_isa_ops[_i].name)
		return;
	insn = random_fields(_i, &seed);
	n = neuron_isa_encode(&insn, words);
	for (int bit = 0; bit < n * 512; bit++) {
		int rc;

		words[bit / 8] ^= 1 << bit % 8;
		rc = neuron_isa_decode(words, n, &back);
		if (rc > 0) {
			ck_assert(!same_insn(&insn, &back));
			ck_assert_int_eq(neuron_isa_encode(&back, again), rc);
			ck_assert_mem_eq(words, again, (size_t)rc * 64);
		} else {
			ck_assert(rc == -EINVAL || rc == -EAGAIN);
		}
		words[bit / 8] ^= 1 << bit % 8;
	}
}
END_TEST

START_TEST(test_random_words)
{
	uint64_t seed = 99;
	struct neuron_isa_fault fault;
	struct neuron_insn insn;
	uint8_t words[128], again[128];

	for (int r = 0; r < 200000; r++) {
		int rc;

		for (int i = 0; i < 128; i++)
			words[i] = machine_random(&seed) % 3 ? 0 : machine_random(&seed);
		rc = neuron_isa_decode(words, 1 + r % 2, &insn);
		if (rc <= 0)
			continue;
		ck_assert_int_eq(neuron_isa_encode(&insn, again), rc);
		ck_assert_mem_eq(words, again, (size_t)rc * 64);
		neuron_isa_check(&insn, r % 4, &neuron_target_inf1, &fault);
		neuron_isa_check(&insn, r % 5, &neuron_target_second, &fault);
	}
}
END_TEST

START_TEST(test_refused)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_NOP }, back;
	uint8_t words[128] = { 0 };

	ck_assert_int_eq(neuron_isa_decode(words, 2, &back), -EINVAL); /* zeroed memory */
	ck_assert_int_eq(neuron_isa_decode(words, 0, &back), -EAGAIN);
	insn.opcode = 0xff;
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn.opcode = NEURON_OP_NOP;
	insn.partitions = 1; /* a field that NOP does not have */
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_NOP, .wait_value = 1 };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_NOP,
				     .update = NEURON_UPD_SEM_INC,
				     .update_value = 1 };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_MOVE, .rb = 1, .immediate = true };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_MOVE, .value = 1 };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_LOAD, .scale = 1 };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_LOAD, .address = 1u << 26 };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_LDWEIGHTS, .src0.offset = 1u << 26 };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), -EINVAL);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_TENSOR };
	ck_assert_int_eq(neuron_isa_encode(&insn, words), 2);
	ck_assert_int_eq(neuron_isa_decode(words, 1, &back), -EAGAIN);
	words[1] &= ~1; /* without its ext bit */
	ck_assert_int_eq(neuron_isa_decode(words, 2, &back), -EINVAL);
}
END_TEST

/* The manual has each row of the code's tables, with its number. */

static char *manual(void)
{
	FILE *f = fopen(ISA_MANUAL, "r");
	char *text = calloc(1, 1 << 20);

	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_gt(fread(text, 1, (1 << 20) - 1, f), 1000);
	fclose(f);
	return text;
}

static void has(const char *text, const char *fmt, unsigned int code, const char *name)
{
	char row[128];

	snprintf(row, sizeof(row), fmt, code, name);
	ck_assert_msg(strstr(text, row), "docs/isa.md has no row '%s'", row);
}

START_TEST(test_manual)
{
	const struct neuron_target *trn1 = neuron_target_of_name("trn1");
	char *text = manual(), since[64];

	for (unsigned int i = 0; i < 256; i++)
		if (neuron_isa_ops[i].name) {
			snprintf(since, sizeof(since), "%s` | v%u", neuron_isa_ops[i].name,
				 neuron_isa_ops[i].since);
			has(text, "| 0x%02x | `%s |", i, since);
		}
	for (unsigned int i = 0; i < NEURON_ISA_ALU_COUNT; i++)
		if (neuron_isa_alus[i].name)
			has(text, "| %u | `%s` |", i, neuron_isa_alus[i].name);
	for (unsigned int i = 0; i < NEURON_ACT_COUNT; i++)
		has(text, "| %u | `%s` |", i, neuron_isa_funcs[i]);
	for (unsigned int i = 0; i < 64; i++)
		if (neuron_isa_dtypes[i].name)
			has(text, "| 0x%x | `%s` |", i, neuron_isa_dtypes[i].name);
	for (unsigned int i = 0; i < NEURON_PATCH_COUNT; i++)
		if (neuron_isa_patches[i])
			has(text, "| %u | `%s` |", i, neuron_isa_patches[i]);
	for (unsigned int i = 0; i < NEURON_REG_ALU_COUNT; i++)
		has(text, "| %u | `%s` |", i, neuron_isa_reg_alus[i]);
	for (unsigned int i = 0; i < NEURON_REL_COUNT; i++)
		has(text, "| %u | `%s` |", i, neuron_isa_relations[i]);
	for (unsigned int i = 0; i < NEURON_ISA_REDUCE_CMDS; i++)
		has(text, "| %u | `%s` |", i, neuron_isa_reduce_cmds[i]);
	for (unsigned int i = 0; i < neuron_target_inf1.engines; i++)
		has(text, "| %u | `%s` |", i, neuron_target_inf1.engine[i].name);
	for (unsigned int i = 0; i < trn1->engines; i++)
		has(text, "| %u | `%s` |", i, trn1->engine[i].name);
	has(text, "| %u | %s |", NEURON_NERR_ILLEGAL_INSN, "ILLEGAL_INSN");
	has(text, "| %u | %s |", NEURON_NERR_ILLEGAL_OPERAND, "ILLEGAL_OPERAND");
	has(text, "| %u | %s |", NEURON_NERR_ISA_VERSION, "ISA_VERSION");
	has(text, "| %u | %s |", NEURON_NERR_SEM_OVERFLOW, "SEM_OVERFLOW");
	has(text, "| %u | %s |", NEURON_NERR_EVT_DOUBLE_SET, "EVT_DOUBLE_SET");
	has(text, "| %u | %s |", NEURON_NERR_EVT_DOUBLE_CLEAR, "EVT_DOUBLE_CLEAR");
	has(text, "| %u | %s |", NEURON_NERR_WRITE_REFUSED, "WRITE_REFUSED");
	has(text, "| %u | %s |", NEURON_NERR_NUMERICAL, "NUMERICAL");
	has(text, "| %u | %s |", NEURON_NERR_CUSTOM_OP, "CUSTOM_OP");
	has(text, "| %u | %s |", NEURON_NERR_PC, "PC");
	has(text, "| %u | %s |", NEURON_NERR_FETCH_REFUSED, "FETCH_REFUSED");
	has(text, "| %u | %s |", NEURON_NERR_ELEMENT_REFUSED, "ELEMENT_REFUSED");
	has(text, "| %u | %s |", NEURON_NERR_DMA_REFUSED, "DMA_REFUSED");
	has(text, "| %u | %s |", NEURON_NERR_DMA_OOB, "DMA_OOB");
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("codec");
	TCase *tc = tcase_create("codec");

	tcase_add_loop_test(tc, test_round_trip, 0, 256);
	tcase_add_loop_test(tc, test_put_head, 0, 256);
	tcase_add_loop_test(tc, test_every_bit, 0, 256);
	tcase_add_test(tc, test_layout);
	tcase_add_test(tc, test_layout_two_words);
	tcase_add_test(tc, test_layout_registers);
	tcase_add_loop_test(tc, test_layout_patches, 0, 2);
	tcase_add_test(tc, test_random_words);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_manual);
	suite_add_tcase(s, tc);
	return check_run(s);
}
