/* SPDX-License-Identifier: MIT */
/*
 * What engines refuse, and how (docs/isa.md, section 3.3): each kind of illegal instruction and
 * operand, and hostile streams.
 */
#include "fixture.h"

START_TEST(test_illegal_word)
{
	uint8_t word[64] = { 0xee, 0, 0, 0, 0, 0, 0, 1 };
	struct neuron_insn insn = memset_insn(0, 1);

	tpb_fifo_push(m.tpb, NEURON_ENG_POOL, word, 1, 0);
	machine_push(&m, NEURON_ENG_POOL, &insn, 0);
	ck_assert(tpb_runnable(m.tpb));
	ck_assert_int_eq(tpb_run(m.tpb, 10), TPB_BLOCKED);
	ck_assert(!tpb_runnable(m.tpb));
	ck_assert_uint_eq(m.notes, 1); /* once, and nothing after it ran */
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_uint_eq(m.note[0].data, 0x01000000000000eeull);
	ck_assert_uint_eq(m.sbuf[3], 0);
	machine_run1(&m, NEURON_ENG_ACT, &insn); /* the others go on */
	ck_assert_uint_eq(m.sbuf[3], 0x3f);
	tpb_reset(m.tpb);
	ck_assert_uint_eq(tpb_fifo_space(m.tpb, NEURON_ENG_POOL), NEURON_FIFO_WORDS);
	m.sbuf[3] = 0;
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(m.sbuf[3], 0x3f);
}
END_TEST

#define OPERAND(i) ((i) + 1)
#define ILLEGAL 0

/* Instructions that an engine refuses, and the operand that the fault names, or ILLEGAL */
static const struct {
	uint8_t engine;
	struct neuron_insn insn;
	unsigned int fault;
} refused[] = {
#define CASE(fault_, engine_, ...)               \
	{                                        \
		engine_, { __VA_ARGS__ }, fault_ \
	}
#define COPY_CASE(fault_, parts, d, s)                                                      \
	CASE(fault_, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_COPY, .partitions = parts, \
	     .dst = d, .src0 = s)
#define INDEXED(fault_, op_, alu, d, a, b)                                                \
	CASE(fault_, NEURON_ENG_POOL, .opcode = NEURON_OP_##op_, .op0 = NEURON_ALU_##alu, \
	     .partitions = 1, .dst = d, .src0 = a, .src1 = b)
#define A(...) __VA_ARGS__
	COPY_CASE(OPERAND(0), 0, A(AP1(0, FP32, 1)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(0), 129, A(AP1(0, FP32, 1)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(0), 1, A(AP1(SBUF(1, 0), FP32, 1)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(0), 33, A(AP1(SBUF(32, 0), FP32, 1)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(0), 65, A(AP1(SBUF(64, 0), FP32, 1)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 1)), A(AP1(2, FP32, 1))),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 1)), A(AP1(0, UINT8, 1))),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 1)), A(AP1(0, INVALID, 1))),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 1)), A(AP1(PSUM(128, 0), FP32, 1))),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 1)), A(AP1(PART, FP32, 1))),
	COPY_CASE(OPERAND(0), 1, A(AP1(0, FP32, 1025)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(1), 1, A(AP1(PSUM(0, 0), FP32, 1025)), A(AP1(0, FP32, 1025))),
	COPY_CASE(OPERAND(0), 1, A(AP1(0, FP32, 2)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(0), 1, A(AP1(0, FP32, 0)), A(AP1(0, FP32, 1))),
	COPY_CASE(OPERAND(0), 1, A(AP1(0, FP32, 0)), A(AP1(0, FP32, 0))),
	COPY_CASE(OPERAND(0), 1, A({ 0, NEURON_DT_FP32, { 0, 0, 0, 0 }, { 1, 1, 1, 0 } }),
		  A({ 0, NEURON_DT_FP32, { 0, 0, 0, 0 }, { 1, 1, 1, 0 } })),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 1)), A(AP1(PSUM(256, 0), FP32, 1))),
	COPY_CASE(OPERAND(0), 1, A({ 0, NEURON_DT_FP32, { 0, 0, 0, 0 }, { 1, 1, 2, 40000 } }),
		  A({ 0, NEURON_DT_FP32, { 0, 0, 0, 0 }, { 1, 1, 2, 40000 } })),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 2)),
		  A({ 0, NEURON_DT_FP32, { 0, 0, 0, -1 }, { 1, 1, 1, 2 } })),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, FP32, 2)),
		  A({ 0,
		      NEURON_DT_FP32,
		      { 32767, 32767, 32767, 32767 },
		      { 65535, 65535, 65535, 65535 } })),
	COPY_CASE(OPERAND(1), 1, A(AP1(0, INT8, 2)),
		  A({ PSUM(0, 0), NEURON_DT_INT8, { 0, 0, 0, 0 }, { 1, 1, 1, 4097 } })),
	CASE(ILLEGAL, NEURON_ENG_SP, .opcode = NEURON_OP_TENSOR_COPY, .partitions = 1,
	     .dst = AP1(0, FP32, 1), .src0 = AP1(0, FP32, 1)),
	CASE(ILLEGAL, NEURON_ENG_ACT, .opcode = NEURON_OP_RECIPROCAL, .partitions = 1,
	     .dst = AP1(0, FP32, 1), .src0 = AP1(0, FP32, 1)),
	CASE(ILLEGAL, NEURON_ENG_PE, .opcode = NEURON_OP_PSEUDO_DMA_TRIGGER),
	CASE(ILLEGAL, NEURON_ENG_PE, .opcode = NEURON_OP_SEM_RANGE_CLEAR, .first = 3, .last = 2),
	CASE(OPERAND(1), NEURON_ENG_PE, .opcode = NEURON_OP_LDWEIGHTS, .partitions = 1,
	     .src0 = AP1(PSUM(0, 0), BF16, 1)),
	CASE(OPERAND(1), NEURON_ENG_PE, .opcode = NEURON_OP_LDWEIGHTS, .partitions = 1,
	     .src0 = AP1(0, FP32, 1)),
	CASE(OPERAND(1), NEURON_ENG_PE, .opcode = NEURON_OP_LDWEIGHTS, .partitions = 1,
	     .src0 = AP1(0, BF16, 129)),
	CASE(ILLEGAL, NEURON_ENG_PE, .opcode = NEURON_OP_MATMUL, .partitions = 1,
	     .src0 = AP1(0, BF16, 1), .dst = AP1(PSUM(0, 0), FP32, 1)),
	CASE(OPERAND(0), NEURON_ENG_PE, .opcode = NEURON_OP_MATMUL, .partitions = 1,
	     .src0 = AP1(0, BF16, 1), .dst = AP1(0, FP32, 1)),
	CASE(OPERAND(0), NEURON_ENG_PE, .opcode = NEURON_OP_PE_TRANSPOSE, .partitions = 4,
	     .src0 = AP1(0, BF16, 8), .dst = AP1(PSUM(0, 0), FP32, 8)),
	CASE(OPERAND(0), NEURON_ENG_PE, .opcode = NEURON_OP_PE_TRANSPOSE, .partitions = 4,
	     .src0 = AP1(0, BF16, 8), .dst = AP1(PSUM(0, 0), INT32, 4)),
	CASE(ILLEGAL, NEURON_ENG_ACT, .opcode = NEURON_OP_ACTIVATE, .partitions = 1,
	     .func = NEURON_ACT_COUNT, .src0 = AP1(0, FP32, 1), .dst = AP1(0, FP32, 1)),
	CASE(ILLEGAL, NEURON_ENG_ACT, .opcode = NEURON_OP_ACTIVATE, .partitions = 1,
	     .reduce_cmd = 4, .src0 = AP1(0, FP32, 1), .dst = AP1(0, FP32, 1)),
	CASE(OPERAND(NEURON_OPERAND_SCALAR1), NEURON_ENG_ACT, .opcode = NEURON_OP_ACTIVATE,
	     .partitions = 1, .src0 = AP1(0, FP32, 1), .dst = AP1(0, FP32, 1),
	     .scalar1 = { .kind = NEURON_SCALAR_PTR, .dtype = NEURON_DT_FP32, .offset = PART }),
	CASE(OPERAND(0), NEURON_ENG_ACT, .opcode = NEURON_OP_ACT_READ_ACC, .partitions = 1,
	     .dst = AP1(0, FP32, 2)),
	CASE(OPERAND(2), NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .dst = AP1(0, FP32, 1), .src0 = AP1(PSUM(0, 0), FP32, 1),
	     .src1 = AP1(PSUM(0, 0), FP32, 1)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_ABS, .dst = AP1(0, FP32, 1), .src0 = AP1(0, FP32, 1),
	     .src1 = AP1(0, FP32, 1)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = 30, .dst = AP1(0, FP32, 1), .src0 = AP1(0, FP32, 1), .src1 = AP1(0, FP32, 1)),
	CASE(OPERAND(0), NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_AND, .dst = AP1(0, FP32, 1), .src0 = AP1(0, INT32, 1),
	     .src1 = AP1(0, INT32, 1)),
	CASE(OPERAND(2), NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_AND, .dst = AP1(0, INT32, 1), .src0 = AP1(0, INT32, 1),
	     .src1 = AP1(0, INT8, 1)),
	CASE(OPERAND(1), NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_AND, .dst = AP1(0, INT32, 1), .src0 = AP1(0, INT8, 1),
	     .src1 = AP1(0, INT32, 1)),
	CASE(OPERAND(2), NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .dst = AP1(0, FP32, 1), .src0 = AP1(0, FP32, 1),
	     .src1 = AP1(0, FP32, 2)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_SCALAR, .partitions = 1,
	     .op0 = NEURON_ALU_AND, .op1 = NEURON_ALU_ADD, .dst = AP1(0, INT32, 1),
	     .src0 = AP1(0, INT32, 1)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_SCALAR, .partitions = 1,
	     .op0 = NEURON_ALU_ABS, .scalar0.f = 1, .dst = AP1(0, FP32, 1),
	     .src0 = AP1(0, FP32, 1)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_SCALAR_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_AND, .op1 = NEURON_ALU_AND, .dst = AP1(0, INT32, 1),
	     .src0 = AP1(0, INT32, 1), .src1 = AP1(0, INT32, 1)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_REDUCE, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .dst = AP1(0, FP32, 1), .src0 = AP1(0, FP32, 1)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_REDUCE, .partitions = 1,
	     .op0 = NEURON_ALU_POW, .reduce_dims = 1, .dst = AP1(0, FP32, 1),
	     .src0 = AP1(0, FP32, 4)),
	CASE(OPERAND(0), NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_REDUCE, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .reduce_dims = 1, .dst = AP1(0, FP32, 4),
	     .src0 = AP1(0, FP32, 4)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_REDUCE, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .reduce_dims = 5, .dst = AP1(0, FP32, 1),
	     .src0 = AP1(0, FP32, 4)),
	CASE(ILLEGAL, NEURON_ENG_POOL, .opcode = NEURON_OP_MEMSET, .partitions = 1,
	     .dst = AP1(0, FP32, 1),
	     .scalar0 = { .kind = NEURON_SCALAR_PTR, .dtype = NEURON_DT_FP32 }),
	CASE(OPERAND(1), NEURON_ENG_POOL, .opcode = NEURON_OP_TRANSPOSE, .partitions = 33,
	     .dst = AP1(0, FP32, 32), .src0 = AP1(0, FP32, 32)),
	CASE(OPERAND(1), NEURON_ENG_POOL, .opcode = NEURON_OP_TRANSPOSE, .partitions = 32,
	     .dst = AP1(0, INT8, 2080), .src0 = AP1(0, INT8, 2080)),
	CASE(OPERAND(1), NEURON_ENG_POOL, .opcode = NEURON_OP_TRANSPOSE, .partitions = 32,
	     .dst = AP1(0, BF16, 32), .src0 = AP1(0, FP16, 32)),
	CASE(OPERAND(2), NEURON_ENG_POOL, .opcode = NEURON_OP_COPY_PREDICATED, .partitions = 1,
	     .dst = AP1(0, FP32, 1), .src0 = AP1(0, FP32, 1), .src1 = AP1(0, FP32, 1)),
	CASE(OPERAND(1), NEURON_ENG_POOL, .opcode = NEURON_OP_COPY_PREDICATED, .partitions = 1,
	     .dst = AP1(0, FP32, 1), .src0 = AP1(0, INT32, 1), .src1 = AP1(0, INT8, 1)),
	INDEXED(OPERAND(1), GATHER, BYPASS, A(AP1(0, FP32, 4)), A(AP1(0, INT32, 9)),
		A(AP1(0, INT32, 4))),
	INDEXED(OPERAND(2), GATHER, BYPASS, A(AP1(0, FP32, 4)), A(AP1(0, FP32, 9)),
		A(AP1(0, INT16, 4))),
	INDEXED(OPERAND(2), GATHER, BYPASS, A(AP1(0, FP32, 4)), A(AP1(0, FP32, 9)),
		A(AP1(0, INT32, 9))),
	INDEXED(OPERAND(2), GATHER, BYPASS, A(AP1(0, FP32, 4)), A(AP1(PSUM(0, 0), FP32, 9)),
		A(AP1(PSUM(0, 0), INT32, 4))),
	INDEXED(OPERAND(1), SCATTER, BYPASS, A(AP1(0, FP32, 9)), A(AP1(0, INT32, 4)),
		A(AP1(0, INT32, 4))),
	INDEXED(OPERAND(2), SCATTER, BYPASS, A(AP1(0, FP32, 9)), A(AP1(0, FP32, 4)),
		A(AP1(0, INT32, 9))),
	INDEXED(OPERAND(0), SCATTER, ADD, A(AP1(0, BF16, 9)), A(AP1(0, BF16, 4)),
		A(AP1(0, INT32, 4))),
	INDEXED(ILLEGAL, SCATTER, MULT, A(AP1(0, FP32, 9)), A(AP1(0, FP32, 4)),
		A(AP1(0, INT32, 4))),
	CASE(OPERAND(1), NEURON_ENG_POOL, .opcode = NEURON_OP_SORT, .partitions = 1,
	     .dst = AP1(0, INT32, 1), .src0 = AP1(0, FP32, 1)),
	CASE(OPERAND(0), NEURON_ENG_POOL, .opcode = NEURON_OP_SORT, .partitions = 1,
	     .dst = AP1(0, INT16, 1), .src0 = AP1(0, INT32, 1)),
	CASE(OPERAND(0), NEURON_ENG_POOL, .opcode = NEURON_OP_SORT, .partitions = 1,
	     .dst = AP1(0, INT32, 3), .src0 = AP1(0, INT32, 2)),
};

/* Instructions and operands that one generation has and the other has not */
static const struct lack {
	uint8_t engine;
	struct neuron_insn insn;
	unsigned int fault;
} inf1_lacks[] = {
	CASE(ILLEGAL, NEURON_ENG_PE, .opcode = NEURON_OP_SEM_RANGE_CLEAR, .first = 3, .last = 32),
	CASE(OPERAND(NEURON_OPERAND_WAIT), NEURON_ENG_PE, .opcode = NEURON_OP_NOP,
	     .wait = NEURON_WAIT_SEM_EQ, .wait_index = 32, .wait_value = 5),
	CASE(OPERAND(NEURON_OPERAND_UPDATE), NEURON_ENG_PE, .opcode = NEURON_OP_NOP,
	     .update = NEURON_UPD_SEM_INC, .update_index = 32),
	CASE(OPERAND(NEURON_OPERAND_DST), NEURON_ENG_POOL, .opcode = NEURON_OP_MEMSET,
	     .partitions = 1, .dst = AP1(NEURON_V1_SBUF_PART_SIZE, FP32, 1)),
}, second_lacks[] = {
	CASE(OPERAND(NEURON_OPERAND_WAIT), NEURON_ENG_PE, .opcode = NEURON_OP_NOP,
	     .wait = NEURON_WAIT_EVT_SET, .wait_index = 128),
	CASE(OPERAND(NEURON_OPERAND_UPDATE), NEURON_ENG_PE, .opcode = NEURON_OP_NOP,
	     .update = NEURON_UPD_EVT_SET, .update_index = 128),
	CASE(OPERAND(NEURON_OPERAND_DST), NEURON_ENG_POOL, .opcode = NEURON_OP_MEMSET,
	     .partitions = 1, .dst = AP1(PSUM(0, 0x2000), FP32, 1)),
	CASE(ILLEGAL, SECOND_ENG_GP, .opcode = NEURON_OP_ACT_READ_ACC, .partitions = 1,
	     .dst = AP1(0, FP32, 1)),
};

static void check_lacks(const struct neuron_target *lacks, const struct neuron_target *has,
			const struct lack *l)
{
	struct neuron_isa_fault fault;

	ck_assert_int_eq(neuron_isa_check(&l->insn, l->engine, lacks, &fault), -EINVAL);
	ck_assert_uint_eq(fault.code,
			  l->fault ? NEURON_NERR_ILLEGAL_OPERAND : NEURON_NERR_ILLEGAL_INSN);
	if (l->fault)
		ck_assert_uint_eq(fault.operand, l->fault - 1);
	if (l->engine < has->engines)
		ck_assert_int_eq(neuron_isa_check(&l->insn, l->engine, has, &fault), 0);
}

START_TEST(test_inf1_lacks)
{
	check_lacks(&neuron_target_inf1, &neuron_target_second, &inf1_lacks[_i]);
}
END_TEST

START_TEST(test_second_lacks)
{
	check_lacks(&neuron_target_second, &neuron_target_inf1, &second_lacks[_i]);
}
END_TEST

/* The tests' own generation has the fifth engine, and it executes what POOL does */
START_TEST(test_fifth_engine)
{
	struct neuron_insn insn = memset_insn(0, 1);
	struct neuron_isa_fault fault;

	ck_assert_int_eq(neuron_isa_check(&insn, SECOND_ENG_GP, &neuron_target_second, NULL), 0);
	ck_assert_int_eq(neuron_isa_check(&insn, SECOND_ENG_GP, &neuron_target_inf1, &fault),
			 -EINVAL);
	ck_assert_uint_eq(fault.code, NEURON_NERR_ILLEGAL_INSN);
	ck_assert_int_eq(neuron_isa_check(&insn, 5, &neuron_target_second, NULL), -EINVAL);
	for (unsigned int op = 0; op < 256; op++) {
		uint32_t groups = neuron_isa_ops[op].groups;
		uint32_t pool = groups & neuron_target_second.engine[NEURON_ENG_POOL].runs;

		ck_assert_uint_eq(pool, groups & neuron_target_second.engine[SECOND_ENG_GP].runs);
	}
	ck_assert_int_eq(neuron_isa_engine(&neuron_target_second, "gp"), SECOND_ENG_GP);
	ck_assert_int_eq(neuron_isa_engine(&neuron_target_inf1, "gp"), -1);
	ck_assert_int_eq(neuron_isa_engine(&neuron_target_inf1, "sp"), NEURON_ENG_SP);
	ck_assert_ptr_eq(neuron_target_of_name("inf1"), &neuron_target_inf1);
	ck_assert_ptr_eq(neuron_target_of_name("trn1"), neuron_gen_trainium.target);
	ck_assert_ptr_eq(neuron_target_of_name("inf2"), neuron_gen_inferentia2.target);
	ck_assert_ptr_eq(neuron_target_of_name("trn2"), neuron_gen_trainium2.target);
	ck_assert_ptr_null(neuron_target_of_name("second"));
	ck_assert_uint_eq(neuron_target_program_semaphores(&neuron_target_inf1), 28);
	ck_assert_uint_eq(neuron_target_program_semaphores(&neuron_target_second), 250);
}
END_TEST

/* A wait for something that does not exist is refused, and not waited for. */
START_TEST(test_waits_for_nothing)
{
	const struct lack *l = m.target.events > 128 ? &inf1_lacks[1] : &second_lacks[0];

	machine_run1(&m, l->engine, &l->insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_OPERAND);
	ck_assert_uint_eq(m.note[0].data >> 32, NEURON_OPERAND_WAIT);
}
END_TEST

START_TEST(test_refused_instructions)
{
	unsigned int fault = refused[_i].fault;
	uint8_t *before = malloc((size_t)NEURON_PARTITIONS * PART);

	for (size_t i = 0; i < (size_t)NEURON_PARTITIONS * PART; i++)
		m.sbuf[i] = i * 7;
	memcpy(before, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	machine_run1(&m, refused[_i].engine, &refused[_i].insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].engine, refused[_i].engine);
	ck_assert_uint_eq(m.note[0].code,
			  fault ? NEURON_NERR_ILLEGAL_OPERAND : NEURON_NERR_ILLEGAL_INSN);
	if (fault)
		ck_assert_uint_eq(m.note[0].data >> 32, fault - 1);
	ck_assert_mem_eq(m.sbuf, before, (size_t)NEURON_PARTITIONS * PART);
	ck_assert_uint_eq(executed(refused[_i].engine), 0);
	free(before);
}
END_TEST

/* MATMUL against the weights that are loaded */
START_TEST(test_matmul_mismatch)
{
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
				    .partitions = 8,
				    .src0 = AP1(0, BF16, 40) };
	struct neuron_insn mm = { .opcode = NEURON_OP_MATMUL,
				  .partitions = 8,
				  .src0 = AP1(0, BF16, 4),
				  .dst = AP1(PSUM(0, 0), FP32, 4) };

	machine_run1(&m, NEURON_ENG_PE, &load);
	machine_run1(&m, NEURON_ENG_PE, &mm);
	ck_assert_uint_eq(m.notes, 0);
	switch (_i) {
	case 0:
		mm.partitions = 7;
		break;
	case 1:
		mm.src0.dtype = NEURON_DT_INT8;
		mm.dst.dtype = NEURON_DT_INT32;
		break;
	case 2:
		mm.dst.offset = PSUM(96, 0); /* 40 rows do not fit there */
		break;
	}
	machine_run1(&m, NEURON_ENG_PE, &mm);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ILLEGAL_OPERAND);
	ck_assert_uint_eq(m.note[0].id, 2);
}
END_TEST

/* Random legal-looking and illegal instructions on all engines: errors, never a crash */
START_TEST(test_hostile_stream)
{
	uint64_t seed = 8 + _i;

	for (int r = 0; r < 3000; r++) {
		uint8_t words[128];
		unsigned int e = machine_random(&seed) % m.target.engines;

		for (int i = 0; i < 128; i++)
			words[i] = machine_random(&seed) % 4 ? 0 : machine_random(&seed);
		if (machine_random(&seed) % 8) {
			do
				words[0] = machine_random(&seed);
			while (!neuron_isa_ops[words[0]].name);
			words[1] = neuron_isa_ops[words[0]].words - 1;
		}
		m.writes = 0;
		tpb_fifo_push(m.tpb, e, words, 1 + machine_random(&seed) % 2, 0);
		tpb_run(m.tpb, 20);
		if (machine_random(&seed) % 4 == 0)
			tpb_reset(m.tpb);
		for (unsigned int i = 0; i < m.target.engines; i++)
			if (tpb_fifo_space(m.tpb, i) < 2)
				tpb_reset(m.tpb);
	}
}
END_TEST

static void setup_trainium(void)
{
	machine_init(&m, neuron_gen_trainium.target, PART);
}

/* Types as docs/isa.md lists them: who has them, and whose tensor engine */
static const struct {
	uint8_t dtype, first, pe;
} types[] = {
	{ NEURON_DT_INT8, 1, 1 },   { NEURON_DT_UINT8, 2, 0 },	{ NEURON_DT_INT16, 1, 0 },
	{ NEURON_DT_UINT16, 2, 0 }, { NEURON_DT_BF16, 1, 1 },	{ NEURON_DT_FP16, 1, 1 },
	{ NEURON_DT_INT32, 1, 0 },  { NEURON_DT_UINT32, 2, 0 }, { NEURON_DT_FP32, 1, 2 },
	{ NEURON_DT_FP32R, 2, 2 },  { NEURON_DT_FP8_E3, 2, 2 }, { NEURON_DT_FP8_E4, 2, 2 },
	{ NEURON_DT_FP8_E5, 2, 2 }, { NEURON_DT_TF32, 2, 2 },
};

static bool takes(uint8_t dtype, unsigned int version, bool on_pe)
{
	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].dtype == dtype) {
			uint8_t since = on_pe ? types[i].pe : types[i].first;

			return since && since <= version;
		}
	return false;
}

START_TEST(test_types)
{
	const unsigned int version = m.target.dtypes >> NEURON_DT_TF32 & 1 ? 2 : 1;
	struct neuron_insn copy = { .opcode = NEURON_OP_TENSOR_COPY,
				    .partitions = 1,
				    .dst = AP1(0, FP32, 1),
				    .src0 = AP1(64, FP32, 1) };
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
				    .partitions = 1,
				    .src0 = AP1(64, FP32, 1) };

	for (unsigned int t = 0; t < NEURON_ISA_DTYPE_COUNT; t++) {
		struct neuron_isa_fault fault = { 0 };

		copy.src0.dtype = load.src0.dtype = (uint8_t)t;
		ck_assert_int_eq(!neuron_isa_check(&copy, NEURON_ENG_POOL, &m.target, &fault),
				 takes((uint8_t)t, version, false));
		ck_assert_int_eq(!neuron_isa_check(&load, NEURON_ENG_PE, &m.target, &fault),
				 takes((uint8_t)t, version, true));
	}
}
END_TEST

/* fp32 and tf32 multiply each other, int8 itself, and the narrow floats each other */
START_TEST(test_kinds_of_products)
{
	static const uint8_t kinds[][6] = {
		{ NEURON_DT_INT8 },
		{ NEURON_DT_FP32, NEURON_DT_FP32R, NEURON_DT_TF32 },
		{ NEURON_DT_BF16, NEURON_DT_FP16, NEURON_DT_FP8_E3, NEURON_DT_FP8_E4,
		  NEURON_DT_FP8_E5 },
	};
	unsigned int legal = 0;

	for (unsigned int i = 0; i < 18; i++) {
		for (unsigned int j = 0; j < 18; j++) {
			const uint8_t a = kinds[i / 6][i % 6], b = kinds[j / 6][j % 6];
			const struct neuron_isa_weights w = { .k = 1, .columns = 1, .dtype = a };
			struct neuron_insn mm = { .opcode = NEURON_OP_MATMUL,
						  .partitions = 1,
						  .src0 = AP1(0, FP32, 1),
						  .dst = AP1(PSUM(0, 0), FP32, 1) };
			int rc;

			if (!a || !b)
				continue;
			mm.src0.dtype = b;
			if (b == NEURON_DT_INT8)
				mm.dst.dtype = NEURON_DT_INT32;
			ck_assert_int_eq(neuron_isa_check(&mm, NEURON_ENG_PE, &m.target, NULL), 0);
			rc = neuron_isa_check_weights(&mm, &m.target, &w, NULL);
			ck_assert_int_eq(!rc, i / 6 == j / 6);
			legal += !rc;
		}
	}
	ck_assert_uint_eq(legal, 1 + 9 + 25);
}
END_TEST

static TCase *types_of(const char *name, SFun set_up, bool products)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, set_up, teardown);
	tcase_add_test(tc, test_types);
	if (products)
		tcase_add_test(tc, test_kinds_of_products);
	return tc;
}

static TCase *errors(const char *name, SFun set_up)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, set_up, teardown);
	tcase_add_test(tc, test_illegal_word);
	LOOP(tc, test_refused_instructions, refused);
	tcase_add_loop_test(tc, test_matmul_mismatch, 0, 3);
	tcase_add_loop_test(tc, test_hostile_stream, 0, 4);
	tcase_add_test(tc, test_waits_for_nothing);
	return tc;
}

static TCase *targets(void)
{
	TCase *tc = tcase_create("targets");

	LOOP(tc, test_inf1_lacks, inf1_lacks);
	LOOP(tc, test_second_lacks, second_lacks);
	tcase_add_test(tc, test_fifth_engine);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("refused");

	suite_add_tcase(s, errors("inf1", setup));
	suite_add_tcase(s, errors("second", setup_second));
	suite_add_tcase(s, targets());
	suite_add_tcase(s, types_of("types of v1", setup, false));
	suite_add_tcase(s, types_of("types of v2", setup_trainium, true));
	return check_run(s);
}
