/* SPDX-License-Identifier: MIT */
/*
 * What the checker refuses of the instructions after NeuronCore-v1, and of older ones on engines
 * that do only a part of them (docs/isa.md, sections 8, 9.1, 12 and 13): each case is legal but for
 * one thing. Then those engines' results, and the state of random numbers and registers.
 */
#include "../check_main.h"
#include "machine.h"
#include "ref.h"

#define PART 4096
#define V NEURON_ENG_POOL
#define G NEURON_ENG_GPSIMD
#define S NEURON_ENG_ACT
#define PSUM(b) (NEURON_PSUM_OFFSET + (b))
#define AP(at, type, n)                               \
	{                                             \
		at, NEURON_DT_##type, { 0, 0, 0, 1 }, \
		{                                     \
			1, 1, 1, n                    \
		}                                     \
	}
#define PTR(at, type)                                \
	{                                            \
		NEURON_SCALAR_PTR, NEURON_DT_##type, \
		{                                    \
			.offset = at                 \
		}                                    \
	}
#define LEGAL 0
#define ILLEGAL 1
#define OPERAND(n) (2 + NEURON_OPERAND_##n)
#define CASE(result_, engine_, name, ...)                                         \
	{                                                                         \
		engine_, result_,                                                 \
		{                                                                 \
			.opcode = NEURON_OP_##name, .partitions = 32, __VA_ARGS__ \
		}                                                                 \
	}
#define OPS(a, b) .op0 = NEURON_ALU_##a, .op1 = NEURON_ALU_##b
#define ALIKE .dst = AP(0, FP32, 9), .src0 = AP(64, FP32, 9)
#define THREE ALIKE, .src1 = AP(128, FP32, 9)
#define SEARCH .src0 = AP(64, FP32, 9), .src1 = AP(128, FP32, 8)
#define PATTERN .pattern = { .num = { 1, 3, 3, 1 } }
#define BOUNDS .scalar0 = PTR(0, FP32), .scalar1 = PTR(0, FP32)
#define TOP .dst = AP(0, BF16, 1), .dst1 = AP(64, UINT32, 1), .src0 = AP(128, BF16, 2)

static const struct {
	uint8_t engine;
	unsigned int result;
	struct neuron_insn insn;
} cases[] = {
	CASE(LEGAL, V, TENSOR_TENSOR_SCAN, THREE, OPS(MULT, ADD)),
	CASE(ILLEGAL, V, TENSOR_TENSOR_SCAN, THREE, OPS(MULT, BYPASS)),
	CASE(ILLEGAL, V, TENSOR_TENSOR_SCAN, THREE, OPS(AND, OR)),
	CASE(ILLEGAL, V, TENSOR_TENSOR_SCAN, THREE, OPS(ABS, ADD)),
	CASE(OPERAND(SRC1), V, TENSOR_TENSOR_SCAN, ALIKE, .src1 = AP(128, FP32, 8), OPS(MULT, ADD)),
	CASE(OPERAND(DST), V, TENSOR_TENSOR_SCAN, .dst = AP(0, FP32, 8), .src0 = AP(64, FP32, 9),
	     .src1 = AP(128, FP32, 9), OPS(MULT, ADD)),
	CASE(OPERAND(SRC1), V, TENSOR_TENSOR_SCAN, .dst = AP(0, FP32, 9),
	     .src0 = AP(PSUM(64), FP32, 9), .src1 = AP(PSUM(128), FP32, 9), OPS(MULT, ADD)),
	CASE(LEGAL, V, TENSOR_SCALAR_REDUCE, ALIKE, OPS(SUB, MAX), .reduce_cmd = 4, .scalar1.f = 1),
	CASE(ILLEGAL, V, TENSOR_SCALAR_REDUCE, ALIKE, OPS(SUB, MAX), .reduce_cmd = 5),
	CASE(ILLEGAL, V, TENSOR_SCALAR_REDUCE, ALIKE, OPS(SUB, MAX), .reduce_cmd = 3,
	     .scalar1.f = 1),
	CASE(ILLEGAL, V, TENSOR_SCALAR_REDUCE, ALIKE, OPS(SUB, SUB), .reduce_cmd = 3),
	CASE(ILLEGAL, V, TENSOR_SCALAR_REDUCE, ALIKE, OPS(ABS, ADD), .scalar0.f = 1),
	CASE(ILLEGAL, V, TENSOR_SCALAR_REDUCE, ALIKE, OPS(OR, ADD)),
	CASE(LEGAL, V, TENSOR_SCALAR_CUMULATIVE, ALIKE, OPS(BYPASS, SUB), .reduce_cmd = 3),
	CASE(ILLEGAL, V, TENSOR_SCALAR_CUMULATIVE, ALIKE, OPS(BYPASS, SUB), .reduce_cmd = 1),
	CASE(ILLEGAL, V, TENSOR_SCALAR_CUMULATIVE, ALIKE, OPS(BYPASS, EQ), .reduce_cmd = 3),
	CASE(OPERAND(SRC0), V, TENSOR_SCALAR_CUMULATIVE, .dst = AP(0, FP32, 9),
	     .src0 = AP(64, INT32, 9), OPS(BYPASS, ADD), .reduce_cmd = 3),
	CASE(OPERAND(DST), V, TENSOR_SCALAR_CUMULATIVE, .dst = AP(0, UINT32, 9),
	     .src0 = AP(64, FP32, 9), OPS(BYPASS, ADD), .reduce_cmd = 3),
	CASE(OPERAND(DST), V, VECTOR_READ_ACC, .dst = AP(0, FP32, 2)),
	CASE(LEGAL, V, BN_STATS, .dst = AP(0, FP32, 6), .src0 = AP(64, FP32, 512)),
	CASE(OPERAND(SRC0), V, BN_STATS, .dst = AP(0, FP32, 6), .src0 = AP(64, FP32, 513)),
	CASE(OPERAND(DST), V, BN_STATS, .dst = AP(0, FP32, 5), .src0 = AP(64, FP32, 512)),
	CASE(LEGAL, V, BN_AGGR, .dst = AP(0, FP32, 2), .src0 = AP(64, FP32, 9)),
	CASE(OPERAND(SRC0), V, BN_AGGR, .dst = AP(0, FP32, 2), .src0 = AP(64, FP32, 10)),
	CASE(OPERAND(SRC0), V, MAX8, .dst = AP(0, FP32, 8), .src0 = AP(64, FP32, 7)),
	CASE(OPERAND(SRC0), V, MAX8, .dst = AP(0, FP32, 8),
	     .src0 = { 0, NEURON_DT_INT8, { 0, 0, 0, 0 }, { 1, 1, 1, 16385 } }),
	CASE(LEGAL, V, FIND_INDEX8, .dst = AP(0, UINT16, 8), SEARCH),
	CASE(OPERAND(DST), V, FIND_INDEX8, .dst = AP(0, INT32, 8), SEARCH),
	CASE(OPERAND(SRC1), V, FIND_INDEX8, .dst = AP(0, UINT16, 8), .src0 = AP(64, FP32, 9),
	     .src1 = AP(128, FP32, 9)),
	CASE(LEGAL, V, MATCH_REPLACE8, .dst = AP(0, FP32, 9), SEARCH, .dst1 = AP(192, UINT16, 8)),
	CASE(OPERAND(DST1), V, MATCH_REPLACE8, .dst = AP(0, FP32, 9), SEARCH,
	     .dst1 = AP(192, INT16, 8)),
	CASE(OPERAND(DST1), V, MATCH_REPLACE8, .dst = AP(0, FP32, 9), SEARCH,
	     .dst1 = AP(192, UINT16, 7)),
	CASE(OPERAND(DST1), V, MATCH_REPLACE8, .dst = AP(0, FP32, 9), SEARCH,
	     .dst1 = AP(PART - 2, UINT16, 8)),
	CASE(OPERAND(DST1), V, MATCH_REPLACE8, .dst = AP(0, FP32, 9), SEARCH, .dst1.offset = 64),
	CASE(ILLEGAL, V, MATCH_REPLACE8, .dst = AP(0, FP32, 9), SEARCH, .scalar0 = PTR(0, FP32)),
	CASE(LEGAL, V, SELECT_REDUCE, ALIKE, .src1 = AP(128, UINT8, 9), .reduce_cmd = 3),
	CASE(OPERAND(SRC1), V, SELECT_REDUCE, ALIKE, .src1 = AP(128, INT32, 9)),
	CASE(OPERAND(SRC0), V, SELECT_REDUCE, .dst = AP(0, FP32, 9), .src0 = AP(64, TF32, 9),
	     .src1 = AP(128, UINT8, 9)),
	CASE(OPERAND(SRC1), V, SELECT_REDUCE, ALIKE, .src1 = AP(128, UINT8, 8)),
	CASE(LEGAL, V, RANGE_SELECT, ALIKE, BOUNDS, OPS(GE, LT)),
	CASE(ILLEGAL, V, RANGE_SELECT, ALIKE, BOUNDS, OPS(GE, NE)),
	CASE(ILLEGAL, V, RANGE_SELECT, ALIKE, BOUNDS, OPS(ADD, LT)),
	CASE(OPERAND(SCALAR1), V, RANGE_SELECT, ALIKE, .scalar0 = PTR(0, FP32), OPS(GE, LT)),
	CASE(OPERAND(SCALAR0), V, RANGE_SELECT, ALIKE, .scalar0 = PTR(0, BF16),
	     .scalar1 = PTR(0, FP32), OPS(GE, LT)),
	CASE(OPERAND(SRC0), V, RANGE_SELECT, .dst = AP(0, FP32, 9), .src0 = AP(64, INT16, 9),
	     BOUNDS, OPS(GE, LT)),
	CASE(ILLEGAL, V, RANGE_SELECT, ALIKE, BOUNDS, OPS(GE, LT), .imm = 16777210),
	CASE(ILLEGAL, V, RANGE_SELECT, ALIKE, BOUNDS, OPS(GE, LT), .imm = -16777220),
	CASE(LEGAL, V, STREAM_SHUFFLE, ALIKE, .shuffle = { 31, 255 }),
	CASE(ILLEGAL, V, STREAM_SHUFFLE, ALIKE, .shuffle = { 0, 0, 32ull << 56 }),
	CASE(OPERAND(SRC0), V, STREAM_SHUFFLE, .dst = AP(0, FP32, 9), .src0 = AP(64, INT32, 9)),
	CASE(OPERAND(SRC0), V, STREAM_SHUFFLE,
	     .dst = { 0, NEURON_DT_FP32, { 0 }, { 1, 1, 1, 8193 } },
	     .src0 = { 0, NEURON_DT_FP32, { 0 }, { 1, 1, 1, 8193 } }),
	CASE(LEGAL, V, DROPOUT, .dst = AP(0, INT16, 9), .src0 = AP(64, INT16, 9),
	     .scalar0 = PTR(0, FP32)),
	CASE(OPERAND(SCALAR0), V, DROPOUT, .dst = AP(0, INT16, 9), .src0 = AP(64, INT16, 9),
	     .scalar0 = PTR(0, BF16)),
	CASE(OPERAND(SRC0), V, DROPOUT, .dst = AP(0, BF16, 9), .src0 = AP(64, FP16, 9)),
	CASE(OPERAND(DST), V, RNG, .dst = AP(0, FP32, 9)),
	CASE(ILLEGAL, V, SET_RNG_SEED, .src0 = AP(0, UINT32, 1)), /* 32 partitions */
	CASE(OPERAND(SRC0), V, SET_RNG_SEED, .src0 = AP(0, UINT32, 2)),
	CASE(OPERAND(SRC0), V, SET_RNG_SEED, .src0 = AP(0, FP32, 1)),
	CASE(LEGAL, G, IOTA, .dst = AP(0, INT32, 9), PATTERN),
	CASE(ILLEGAL, G, IOTA, .dst = AP(0, INT32, 8), PATTERN),
	CASE(ILLEGAL, G, IOTA, .dst = AP(0, INT32, 9), .pattern = { .num = { 0, 3, 3, 1 } }),
	/* the number of integers is 9 modulo 2^32 */
	CASE(ILLEGAL, G, IOTA, .dst = AP(0, INT32, 9),
	     .pattern = { .num = { 2237, 577, 121, 165 } }),
	CASE(OPERAND(DST), G, IOTA, .dst = AP(PSUM(0), INT32, 9), PATTERN),
	CASE(LEGAL, G, AFFINE_SELECT, ALIKE, PATTERN, OPS(GE, BYPASS)),
	CASE(ILLEGAL, G, AFFINE_SELECT, ALIKE, PATTERN, OPS(ADD, BYPASS)),
	CASE(ILLEGAL, G, AFFINE_SELECT, ALIKE, PATTERN, OPS(GE, BYPASS), .scalar0 = PTR(0, FP32)),
	CASE(OPERAND(SRC0), G, AFFINE_SELECT, .dst = AP(0, FP32, 9), .src0 = AP(PSUM(0), FP32, 9),
	     PATTERN, OPS(GE, BYPASS)),
	CASE(LEGAL, G, PARTITION_REDUCE, ALIKE, OPS(ADD, BYPASS), .alpha = 1),
	CASE(ILLEGAL, G, PARTITION_REDUCE, ALIKE, OPS(MIN, BYPASS)),
	CASE(OPERAND(SRC0), G, PARTITION_REDUCE, ALIKE, OPS(AND, BYPASS)),
	CASE(ILLEGAL, G, PARTITION_REDUCE, .dst = AP(0, INT8, 9), .src0 = AP(64, INT8, 9),
	     OPS(OR, BYPASS), .alpha = 1),
	CASE(LEGAL, G, LOCAL_GATHER, ALIKE, .src1 = AP(128, UINT16, 1), .count = 1),
	CASE(ILLEGAL, G, LOCAL_GATHER, ALIKE, .src1 = AP(128, UINT16, 1), .count = 3),
	CASE(ILLEGAL, G, LOCAL_GATHER, ALIKE, .src1 = AP(128, UINT16, 1)),
	CASE(OPERAND(DST), G, LOCAL_GATHER, ALIKE, .src1 = AP(128, UINT16, 1), .count = 2),
	CASE(OPERAND(SRC1), G, LOCAL_GATHER, ALIKE, .src1 = AP(128, INT16, 1), .count = 1),
	CASE(OPERAND(SRC1), G, LOCAL_GATHER, .dst = AP(0, FP32, 17), .src0 = AP(128, FP32, 9),
	     .src1 = AP(192, UINT16, 1), .count = 1),
	CASE(OPERAND(SRC0), G, LOCAL_GATHER, .dst = AP(0, FP32, 9), .src0 = AP(128, INT32, 9),
	     .src1 = AP(192, UINT16, 1), .count = 1),
	CASE(OPERAND(SRC1), G, N_GATHER, ALIKE, .src1 = AP(128, INT32, 9)),
	CASE(OPERAND(SRC1), G, N_GATHER, ALIKE, .src1 = AP(128, UINT32, 8)),
	CASE(ILLEGAL, G, SEQUENCE_BOUNDS, .dst = AP(0, FP32, 18), .src0 = AP(128, FP32, 9)),
	CASE(OPERAND(DST), G, SEQUENCE_BOUNDS, .dst = AP(0, FP32, 9), .src0 = AP(128, FP32, 9)),
	CASE(LEGAL, G, NONZERO_WITH_COUNT, .dst = AP(0, INT32, 10), .src0 = AP(64, FP32, 9)),
	CASE(OPERAND(DST), G, NONZERO_WITH_COUNT, .dst = AP(0, INT32, 9), .src0 = AP(64, FP32, 9)),
	CASE(OPERAND(SRC0), G, NONZERO_WITH_COUNT, .dst = AP(0, INT32, 10),
	     .src0 = AP(64, BF16, 9)),
	CASE(ILLEGAL, G, NONZERO_WITH_COUNT, .dst = AP(0, INT32, 10), .src0 = AP(64, FP32, 9),
	     .scalar1 = PTR(0, FP32)),
	CASE(LEGAL, G, TOPK, TOP, .total = 20, .count = 16),
	CASE(OPERAND(SRC0), G, TOPK, TOP, .total = 33, .count = 16),
	CASE(OPERAND(DST), G, TOPK, TOP, .total = 20, .count = 17),
	CASE(OPERAND(DST1), G, TOPK, .dst = AP(0, BF16, 1), .dst1 = AP(64, INT32, 1),
	     .src0 = AP(128, BF16, 2), .total = 20, .count = 16),
	CASE(ILLEGAL, G, TOPK, .dst = AP(0, BF16, 1), .dst1 = AP(64, UINT32, 1),
	     .src0 = AP(128, BF16, 1), .total = 7, .count = 5),
	CASE(ILLEGAL, G, TOPK, TOP, .total = 20, .count = 0),
	CASE(ILLEGAL, G, TOPK, TOP, .total = 20, .count = 21),
	CASE(OPERAND(SRC0), G, RAND_SET_STATE, .src0 = AP(0, UINT32, 5)),
	CASE(OPERAND(SRC0), G, RAND_SET_STATE, .src0 = AP(0, INT32, 6)),
	CASE(OPERAND(DST), G, RAND_GET_STATE, .dst = AP(0, UINT32, 7)),
	/* older ones on engines that do a part of them */
	CASE(LEGAL, S, TENSOR_SCALAR, ALIKE, OPS(MULT, ADD)),
	CASE(ILLEGAL, S, TENSOR_SCALAR, ALIKE, OPS(ADD, MULT)),
	CASE(ILLEGAL, S, TENSOR_SCALAR, ALIKE, OPS(BYPASS, BYPASS)),
	CASE(LEGAL, G, TENSOR_SCALAR, ALIKE, OPS(ADD, RSQRT)),
	CASE(ILLEGAL, G, TENSOR_SCALAR, ALIKE, OPS(ADD, BYPASS)),
	CASE(ILLEGAL, G, TENSOR_TENSOR, .dst = AP(0, INT32, 9), .src0 = AP(64, INT32, 9),
	     .src1 = AP(128, INT32, 9), OPS(AND, BYPASS)),
	CASE(OPERAND(SRC0), G, TENSOR_COPY, .dst = AP(0, FP32, 9), .src0 = AP(PSUM(0), FP32, 9)),
	CASE(OPERAND(DST), G, MEMSET, .dst = AP(PSUM(0), FP32, 9)),
	CASE(ILLEGAL, G, RECIPROCAL, ALIKE),
};

START_TEST(test_refused)
{
	struct neuron_isa_fault fault = { 0 };
	struct neuron_target target = *neuron_gen_trainium2.target;
	int rc;

	target.sbuf_part_size = PART;
	rc = neuron_isa_check(&cases[_i].insn, cases[_i].engine, &target, &fault);
	ck_assert_msg(!rc == (cases[_i].result == LEGAL), "%s",
		      fault.reason ? fault.reason : "legal");
	if (cases[_i].result == ILLEGAL)
		ck_assert_msg(fault.code == NEURON_NERR_ILLEGAL_INSN, "%s", fault.reason);
	if (cases[_i].result < OPERAND(DST))
		return;
	ck_assert_uint_eq(fault.code, NEURON_NERR_ILLEGAL_OPERAND);
	ck_assert_msg(fault.operand == cases[_i].result - 2, "%s", fault.reason);
}
END_TEST

/* 33 partitions are no whole quadrants, nor whole cores */
START_TEST(test_partitions)
{
	struct neuron_insn shuffle = { .opcode = NEURON_OP_STREAM_SHUFFLE,
				       .partitions = 33,
				       ALIKE };
	struct neuron_insn gather = { .opcode = NEURON_OP_LOCAL_GATHER,
				      .partitions = 24,
				      ALIKE,
				      .src1 = AP(128, UINT16, 1),
				      .count = 1 };
	struct neuron_insn top = {
		.opcode = NEURON_OP_TOPK, .partitions = 24, TOP, .total = 20, .count = 16
	};

	ck_assert(neuron_isa_check(&shuffle, V, neuron_gen_trainium2.target, NULL));
	ck_assert(neuron_isa_check(&gather, G, neuron_gen_trainium2.target, NULL));
	ck_assert(neuron_isa_check(&top, G, neuron_gen_trainium2.target, NULL));
}
END_TEST

/* Derivatives and the Scalar engine's tensor_scalar, before there were any */
START_TEST(test_before)
{
	struct neuron_insn act = {
		.opcode = NEURON_OP_ACTIVATE, .partitions = 1, .func = NEURON_ACT_GELU_DX, ALIKE
	};
	struct neuron_insn scalar = {
		.opcode = NEURON_OP_TENSOR_SCALAR, .partitions = 1, OPS(MULT, ADD), ALIKE
	};
	struct neuron_isa_fault fault;

	ck_assert_int_eq(neuron_isa_check(&act, S, &neuron_target_inf1, &fault), -EINVAL);
	ck_assert_uint_eq(fault.code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_int_eq(neuron_isa_check(&act, S, neuron_gen_trainium.target, &fault), 0);
	act.func = NEURON_ACT_COUNT;
	ck_assert_int_eq(neuron_isa_check(&act, S, neuron_gen_trainium.target, &fault), -EINVAL);
	ck_assert_uint_eq(fault.code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_int_eq(neuron_isa_check(&scalar, S, &neuron_target_inf1, &fault), -EINVAL);
	ck_assert_int_eq(neuron_isa_check(&scalar, S, neuron_gen_trainium.target, &fault), -EINVAL);
	ck_assert_uint_eq(fault.code, NEURON_NERR_ILLEGAL_INSN);
}
END_TEST

/* A payload of NaN and an integer beyond 2^24, copied by the Scalar engine of v2 and of v3 */
START_TEST(test_copies)
{
	static const uint32_t word = 0x7f812345;
	static const int32_t number = 16777217;
	const struct neuron_target *target =
		_i ? neuron_gen_trainium2.target : neuron_gen_trainium.target;
	struct neuron_insn copy = { .opcode = NEURON_OP_TENSOR_COPY, .partitions = 1 };
	struct machine m;
	uint32_t got[2];

	machine_init(&m, target, PART);
	memcpy(m.sbuf, &word, 4);
	memcpy(m.sbuf + 4, &number, 4);
	for (unsigned int i = 0; i < 2; i++) {
		copy.src0 = machine_ap(4 * i, i ? NEURON_DT_INT32 : NEURON_DT_FP32, 1);
		copy.dst = machine_ap(64 + 4 * i, i ? NEURON_DT_INT32 : NEURON_DT_FP32, 1);
		machine_run1(&m, S, &copy);
	}
	ck_assert_uint_eq(m.notes, 0);
	memcpy(got, m.sbuf + 64, sizeof(got));
	ck_assert_uint_eq(got[0], _i ? word : 0x7fc00000);
	ck_assert_uint_eq(got[1], _i ? 16777217 : 16777216);
	machine_fini(&m);
}
END_TEST

static float result(struct machine *m, unsigned int engine, const struct neuron_insn *insn)
{
	float got;

	machine_run1(m, engine, insn);
	ck_assert_uint_eq(m->notes, 0);
	memcpy(&got, m->sbuf, sizeof(got));
	return got;
}

/* tensor_scalar on the Scalar engine and on GpSimd, GpSimd's copies and sums */
START_TEST(test_parts)
{
	static const float x = 12, y = 3;
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_SCALAR,
				    .partitions = 1,
				    OPS(MULT, ADD),
				    .scalar0.f = 3,
				    .scalar1.f = 4,
				    .dst = AP(0, FP32, 1),
				    .src0 = AP(64, FP32, 1) };
	struct machine m;

	machine_init(&m, neuron_gen_trainium2.target, PART);
	memcpy(m.sbuf + 64, &x, sizeof(x));
	memcpy(m.sbuf + 68, &y, sizeof(y));
	ck_assert(result(&m, S, &insn) == 40);
	insn.op0 = NEURON_ALU_ADD;
	insn.op1 = NEURON_ALU_RSQRT;
	insn.scalar0.f = 4;
	insn.scalar1.f = 0;
	ck_assert(result(&m, G, &insn) == 0.25f);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_COPY,
				     .partitions = 1,
				     .dst = AP(0, FP32, 1),
				     .src0 = AP(64, FP32, 1) };
	ck_assert(result(&m, G, &insn) == 12);
	insn = (struct neuron_insn){ .opcode = NEURON_OP_TENSOR_TENSOR,
				     .partitions = 1,
				     OPS(SUB, BYPASS),
				     .dst = AP(0, FP32, 1),
				     .src0 = AP(64, FP32, 1),
				     .src1 = AP(68, FP32, 1) };
	ck_assert(result(&m, G, &insn) == 9);
	insn = (struct neuron_insn){
		.opcode = NEURON_OP_MEMSET, .partitions = 1, .scalar0.f = 5, .dst = AP(0, FP32, 1)
	};
	ck_assert(result(&m, G, &insn) == 5);
	machine_fini(&m);
}
END_TEST

/* Registers and generators go on in a core that loads the state, and begin anew after a reset */
START_TEST(test_state)
{
	struct neuron_insn random = { .opcode = NEURON_OP_RNG,
				      .partitions = 128,
				      .dst = AP(0, UINT32, 3) };
	struct neuron_insn sum = { .opcode = NEURON_OP_TENSOR_SCALAR_REDUCE,
				   .partitions = 32,
				   OPS(BYPASS, ADD),
				   .reduce_cmd = NEURON_REDUCE_RESET_REDUCE,
				   .dst = AP(64, FP32, 1),
				   .src0 = AP(64, FP32, 1) };
	static const float x = 7;
	struct ref_core fresh = { 0 };
	struct machine m, other;
	uint8_t *state;
	int64_t size;

	machine_init(&m, neuron_gen_trainium2.target, PART);
	machine_init(&other, neuron_gen_trainium2.target, PART);
	memcpy(m.sbuf + 64, &x, sizeof(x));
	machine_run1(&m, V, &sum);
	machine_run1(&m, V, &random);
	machine_run1(&m, G, &random);
	ck_assert_uint_eq(m.notes, 0);
	ck_assert(m.tpb->vector_acc[0] == 7);
	size = tpb_save(m.tpb, NULL, 0);
	state = malloc((size_t)size);
	ck_assert_int_eq(tpb_save(m.tpb, state, (uint64_t)size), size);
	ck_assert_int_eq(tpb_load(other.tpb, state, (uint64_t)size), 0);
	ck_assert(other.tpb->vector_acc[0] == 7);
	machine_run1(&m, V, &random);
	machine_run1(&other, V, &random);
	ck_assert_mem_eq(m.sbuf, other.sbuf, 12);
	machine_run1(&m, G, &random);
	machine_run1(&other, G, &random);
	ck_assert_mem_eq(m.sbuf + (size_t)127 * PART, other.sbuf + (size_t)127 * PART, 12);
	tpb_reset(m.tpb);
	ref_v2_reset(&fresh);
	ck_assert_mem_eq(m.tpb->xorshift, fresh.xorshift, sizeof(fresh.xorshift));
	ck_assert_mem_eq(m.tpb->xorwow, fresh.xorwow, sizeof(fresh.xorwow));
	ck_assert(m.tpb->vector_acc[0] == 0);
	free(state);
	machine_fini(&other);
	machine_fini(&m);
}
END_TEST

/* Dropout keeps all elements at a rate of 0, none at 1, and about half of them at a half. */
START_TEST(test_dropout)
{
	enum { N = 512 };
	struct neuron_insn drop = { .opcode = NEURON_OP_DROPOUT,
				    .partitions = 128,
				    .src0 = AP(0, UINT16, N),
				    .dst = AP(1024, UINT16, N) };
	const float rates[] = { 0, 1, 0.5f };
	struct machine m;

	machine_init(&m, neuron_gen_trainium.target, PART);
	memset(m.sbuf, 0x55, (size_t)128 * PART);
	for (unsigned int r = 0; r < 3; r++) {
		unsigned int kept = 0;

		drop.scalar0.f = rates[r];
		machine_run1(&m, V, &drop);
		for (unsigned int p = 0; p < 128; p++)
			for (unsigned int i = 0; i < N; i++)
				kept += m.sbuf[p * PART + 1024 + 2 * i] == 0x55;
		ck_assert_uint_eq(kept / (128 * N), !r);
		if (r == 2) /* five standard deviations of 65536 */
			ck_assert(kept > 32768 - 640 && kept < 32768 + 640);
	}
	machine_fini(&m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("later-refused");
	TCase *tc = tcase_create("refused");

	tcase_add_loop_test(tc, test_refused, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tc, test_partitions);
	tcase_add_test(tc, test_before);
	tcase_add_loop_test(tc, test_copies, 0, 2);
	tcase_add_test(tc, test_parts);
	tcase_add_test(tc, test_state);
	tcase_add_test(tc, test_dropout);
	suite_add_tcase(s, tc);
	return check_run(s);
}
