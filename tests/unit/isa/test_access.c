/* SPDX-License-Identifier: MIT */
/*
 * Which memory instructions read and write, in how many partitions, and what they do to the weights
 * (docs/isa.md, sections 3 and 7 to 9): the scheduler and the checkers rely on it for their order
 */
#include "fixture.h"

#define COLUMNS 40 /* of the weights that are loaded */

struct touched {
	bool psum, write;
	unsigned int start, partitions, lo, hi;
};

#define SBUF_READ(...)                    \
	{                                 \
		false, false, __VA_ARGS__ \
	}
#define SBUF_WRITE(...)                  \
	{                                \
		false, true, __VA_ARGS__ \
	}
#define PSUM_READ(...)                   \
	{                                \
		true, false, __VA_ARGS__ \
	}
#define PSUM_WRITE(...)                 \
	{                               \
		true, true, __VA_ARGS__ \
	}

static const struct {
	uint8_t engine;
	struct neuron_insn insn;
	struct touched want[NEURON_ISA_MAX_ACCESS]; /* ends with no partitions */
} cases[] = {
	{ NEURON_ENG_SP, { .opcode = NEURON_OP_NOP }, { { 0 } } },
	{ NEURON_ENG_PE,
	  { .opcode = NEURON_OP_LDWEIGHTS, .partitions = 9, .src0 = AP1(SBUF(32, 64), BF16, 100) },
	  { SBUF_READ(32, 9, 64, 264) } },
	{ NEURON_ENG_PE,
	  { .opcode = NEURON_OP_MATMUL,
	    .partitions = 9,
	    .src0 = AP1(0, BF16, 50),
	    .dst = AP1(PSUM(64, 512), FP32, 50) },
	  { SBUF_READ(0, 9, 0, 100), PSUM_WRITE(64, COLUMNS, 512, 712) } },
	{ NEURON_ENG_PE,
	  { .opcode = NEURON_OP_PE_TRANSPOSE,
	    .partitions = 9,
	    .src0 = AP1(0, BF16, 20),
	    .dst = AP1(PSUM(0, 0), FP32, 9) },
	  { SBUF_READ(0, 9, 0, 40), PSUM_WRITE(0, 20, 0, 36) } },
	{ NEURON_ENG_ACT,
	  { .opcode = NEURON_OP_ACTIVATE,
	    .partitions = 5,
	    .src0 = AP1(PSUM(0, 4), FP32, 3),
	    .dst = AP1(SBUF(96, 0), BF16, 3),
	    .scalar0.f = 2,
	    .scalar1 = { .kind = NEURON_SCALAR_PTR, .dtype = NEURON_DT_FP32, .offset = 128 } },
	  { PSUM_READ(0, 5, 4, 16), SBUF_READ(0, 5, 128, 132), SBUF_WRITE(96, 5, 0, 6) } },
	{ NEURON_ENG_ACT,
	  { .opcode = NEURON_OP_ACT_READ_ACC, .partitions = 128, .dst = AP1(8, FP32, 1) },
	  { SBUF_WRITE(0, 128, 8, 12) } },
	{ NEURON_ENG_POOL,
	  { .opcode = NEURON_OP_SCALAR_TENSOR_TENSOR,
	    .partitions = 2,
	    .op0 = NEURON_ALU_ADD,
	    .op1 = NEURON_ALU_ADD,
	    .src0 = AP1(0, FP32, 4),
	    .src1 = AP1(64, BF16, 4),
	    .dst = { 256, NEURON_DT_FP32, { 0, 0, 0, -2 }, { 1, 1, 1, 4 } },
	    .scalar0 = { .kind = NEURON_SCALAR_PTR, .dtype = NEURON_DT_BF16, .offset = 32 } },
	  { SBUF_READ(0, 2, 0, 16), SBUF_READ(0, 2, 64, 72), SBUF_READ(0, 2, 32, 34),
	    SBUF_WRITE(0, 2, 232, 260) } },
	{ NEURON_ENG_POOL,
	  { .opcode = NEURON_OP_MEMSET, .partitions = 64, .dst = AP1(SBUF(64, 4), INT8, 3) },
	  { SBUF_WRITE(64, 64, 4, 7) } },
	/* one block that is not full, and two that are */
	{ NEURON_ENG_POOL,
	  { .opcode = NEURON_OP_TRANSPOSE,
	    .partitions = 7,
	    .src0 = AP1(0, FP32, 30),
	    .dst = AP1(512, FP32, 7) },
	  { SBUF_READ(0, 7, 0, 120), SBUF_WRITE(0, 30, 512, 540) } },
	{ NEURON_ENG_POOL,
	  { .opcode = NEURON_OP_TRANSPOSE,
	    .partitions = 64,
	    .src0 = AP1(0, FP32, 32),
	    .dst = AP1(512, FP32, 32) },
	  { SBUF_READ(0, 64, 0, 128), SBUF_WRITE(0, 64, 512, 640) } },
	/* the whole of a table, whatever the indices are */
	{ NEURON_ENG_POOL,
	  { .opcode = NEURON_OP_SCATTER,
	    .partitions = 3,
	    .op0 = NEURON_ALU_ADD,
	    .src0 = AP1(0, FP32, 5),
	    .src1 = AP1(64, INT32, 5),
	    .dst = AP1(512, FP32, 100) },
	  { SBUF_READ(0, 3, 0, 20), SBUF_READ(0, 3, 64, 84), SBUF_WRITE(0, 3, 512, 912) } },
	{ NEURON_ENG_POOL,
	  { .opcode = NEURON_OP_GATHER,
	    .partitions = 3,
	    .src0 = AP1(512, BF16, 100),
	    .src1 = AP1(64, INT32, 5),
	    .dst = AP1(0, BF16, 5) },
	  { SBUF_READ(0, 3, 512, 712), SBUF_READ(0, 3, 64, 84), SBUF_WRITE(0, 3, 0, 10) } },
	/* two destinations; the first of the partitions alone */
	{ NEURON_ENGINES_MAX,
	  { .opcode = NEURON_OP_MATCH_REPLACE8,
	    .partitions = 3,
	    .src0 = AP1(0, FP32, 9),
	    .src1 = AP1(64, FP32, 8),
	    .dst1 = AP1(128, INT32, 8),
	    .dst = AP1(512, FP32, 9) },
	  { SBUF_READ(0, 3, 0, 36), SBUF_READ(0, 3, 64, 96), SBUF_WRITE(0, 3, 128, 160),
	    SBUF_WRITE(0, 3, 512, 548) } },
	{ NEURON_ENGINES_MAX,
	  { .opcode = NEURON_OP_PARTITION_REDUCE,
	    .partitions = 96,
	    .op0 = NEURON_ALU_ADD,
	    .src0 = AP1(0, FP32, 9),
	    .dst = AP1(SBUF(96, 512), FP32, 9) },
	  { SBUF_READ(0, 96, 0, 36), SBUF_WRITE(96, 1, 512, 548) } },
	/* in no memory, because no engine executes it */
	{ NEURON_ENGINES_MAX,
	  { .opcode = NEURON_OP_MEMSET, .partitions = 1, .dst = AP1(PSUM(128, 0), FP32, 1) },
	  { { 0 } } },
};

START_TEST(test_accesses)
{
	const struct neuron_insn *insn = &cases[_i].insn;
	struct neuron_isa_access got[NEURON_ISA_MAX_ACCESS];
	unsigned int n = neuron_isa_accesses(insn, &neuron_target_inf1, COLUMNS, got), i;

	if (cases[_i].engine < neuron_target_inf1.engines)
		ck_assert(!neuron_isa_check(insn, cases[_i].engine, &neuron_target_inf1, NULL));
	for (i = 0; i < n; i++) {
		const struct touched *want = &cases[_i].want[i];

		ck_assert_uint_eq(got[i].where.psum, want->psum);
		ck_assert_uint_eq(got[i].write, want->write);
		ck_assert_uint_eq(got[i].where.start, want->start);
		ck_assert_uint_eq(got[i].partitions, want->partitions);
		ck_assert_uint_eq(got[i].where.lo, want->lo);
		ck_assert_uint_eq(got[i].where.hi, want->hi);
	}
	ck_assert(i == NEURON_ISA_MAX_ACCESS || !cases[_i].want[i].partitions);
}
END_TEST

START_TEST(test_weights)
{
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
				    .partitions = 8,
				    .src0 = { 0, NEURON_DT_BF16, { 0, 0, 5, 1 }, { 1, 1, 8, 5 } } };
	struct neuron_insn mm = { .opcode = NEURON_OP_MATMUL,
				  .partitions = 8,
				  .src0 = AP1(0, BF16, 4),
				  .dst = AP1(PSUM(0, 0), FP32, 4) };
	struct neuron_insn turn = { .opcode = NEURON_OP_PE_TRANSPOSE,
				    .partitions = 4,
				    .src0 = AP1(0, BF16, 8),
				    .dst = AP1(PSUM(0, 0), FP32, 4) };
	const struct neuron_target *target = &neuron_target_inf1;
	struct neuron_isa_array array = { 0 };
	const struct neuron_isa_weights *w = neuron_isa_weights_for(&array, &mm);
	struct neuron_isa_fault fault;

	ck_assert_int_eq(neuron_isa_check_weights(&mm, target, w, &fault), -EINVAL);
	ck_assert_uint_eq(fault.code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_int_eq(neuron_isa_check_weights(&turn, target, w, &fault), 0);
	neuron_isa_load_weights(&array, &load);
	neuron_isa_load_weights(&array, &turn); /* these stay */
	neuron_isa_load_weights(&array, &mm);
	ck_assert_uint_eq(w->k, 8);
	ck_assert_uint_eq(w->columns, 40);
	ck_assert_uint_eq(w->dtype, NEURON_DT_BF16);
	ck_assert_int_eq(neuron_isa_check_weights(&mm, target, w, &fault), 0);
	ck_assert_uint_eq(neuron_isa_macs(&mm, w), 8 * 40 * 4);
	ck_assert_uint_eq(neuron_isa_macs(&turn, w), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("access");
	TCase *tc = tcase_create("access");

	LOOP(tc, test_accesses, cases);
	tcase_add_test(tc, test_weights);
	suite_add_tcase(s, tc);
	return check_run(s);
}
