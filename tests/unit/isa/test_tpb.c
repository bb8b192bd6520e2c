/* SPDX-License-Identifier: MIT */
/*
 * The sequencers: waits, updates, FIFOs, costs, saved state (docs/isa.md, sections 3, 6 and 10).
 * Errors are tested in test_refused.c, datapath results in test_insn.c.
 */
#include <fenv.h>
#include <math.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "fixture.h"

/* Waits */

static const struct {
	uint8_t wait;
	uint32_t value, sem;
	bool met;
} waits[] = {
	{ NEURON_WAIT_SEM_EQ, 3, 3, true },	      { NEURON_WAIT_SEM_EQ, 3, 4, false },
	{ NEURON_WAIT_SEM_GE, 3, 3, true },	      { NEURON_WAIT_SEM_GE, 3, 2, false },
	{ NEURON_WAIT_SEM_GE, 1, 0x80000000u, true }, { NEURON_WAIT_SEM_LE, 3, 3, true },
	{ NEURON_WAIT_SEM_LE, 3, 4, false },	      { NEURON_WAIT_SEM_LE, 1, 0x80000000u, false },
};

START_TEST(test_wait_semaphore)
{
	struct neuron_insn insn = nop();

	insn.wait = waits[_i].wait;
	insn.wait_index = m.target.semaphores - 1;
	insn.wait_value = waits[_i].value;
	tpb_sem_write(m.tpb, TPB_SEM_SET, insn.wait_index, waits[_i].sem, 0);
	machine_push(&m, NEURON_ENG_SP, &insn, 0);
	ck_assert(tpb_runnable(m.tpb) == waits[_i].met);
	ck_assert_int_eq(tpb_run(m.tpb, 10), TPB_BLOCKED);
	ck_assert_uint_eq(executed(NEURON_ENG_SP), waits[_i].met);
}
END_TEST

START_TEST(test_wait_event)
{
	struct neuron_insn set = nop(), clear = nop();
	unsigned int last = m.target.events - 1;

	set.wait = NEURON_WAIT_EVT_SET;
	set.wait_index = last;
	clear.wait = NEURON_WAIT_EVT_CLR;
	clear.wait_index = last;
	machine_push(&m, NEURON_ENG_ACT, &set, 0);
	machine_push(&m, NEURON_ENG_ACT, &clear, 0);
	ck_assert(!tpb_runnable(m.tpb));
	tpb_event_write(m.tpb, last, 7, 0);
	ck_assert_uint_eq(tpb_event_read(m.tpb, last), 7); /* the word that was written */
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(executed(NEURON_ENG_ACT), 1);
	tpb_event_write(m.tpb, last, 0, 0);
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(executed(NEURON_ENG_ACT), 2);
}
END_TEST

/* Updates: from, value, result; refused ones notify and leave the value */

static const struct {
	uint8_t update;
	uint32_t from, value, to;
	bool overflow;
} updates[] = {
	{ NEURON_UPD_SEM_INC, 1, 0, 2, false },
	{ NEURON_UPD_SEM_INC, UINT32_MAX, 0, UINT32_MAX, true },
	{ NEURON_UPD_SEM_DEC, 1, 0, 0, false },
	{ NEURON_UPD_SEM_DEC, 0, 0, 0, true },
	{ NEURON_UPD_SEM_ADD_IMM, 5, UINT32_MAX - 5, UINT32_MAX, false },
	{ NEURON_UPD_SEM_ADD_IMM, 5, UINT32_MAX - 4, 5, true },
	{ NEURON_UPD_SEM_SUB_IMM, 5, 5, 0, false },
	{ NEURON_UPD_SEM_SUB_IMM, 5, 6, 5, true },
	{ NEURON_UPD_SEM_WR_IMM, 5, 77, 77, false },
};

START_TEST(test_update_semaphore)
{
	struct neuron_insn insn = nop();

	insn.update = updates[_i].update;
	insn.update_index = 9;
	insn.update_value = updates[_i].value;
	tpb_sem_write(m.tpb, TPB_SEM_SET, 9, updates[_i].from, 0);
	machine_run1(&m, NEURON_ENG_POOL, &insn);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 9), updates[_i].to);
	ck_assert_uint_eq(m.notes, updates[_i].overflow);
	if (updates[_i].overflow) {
		ck_assert_uint_eq(m.note[0].type, NEURON_NQ_ERROR);
		ck_assert_uint_eq(m.note[0].code, NEURON_NERR_SEM_OVERFLOW);
		ck_assert_uint_eq(m.note[0].engine, NEURON_ENG_POOL);
		ck_assert_uint_eq(m.note[0].id, 9);
	}
	insn = nop();
	machine_run1(&m, NEURON_ENG_POOL, &insn); /* execution goes on */
	ck_assert_uint_eq(executed(NEURON_ENG_POOL), 2);
}
END_TEST

START_TEST(test_update_event)
{
	struct neuron_insn set = nop(), clear = nop();

	set.update = NEURON_UPD_EVT_SET;
	clear.update = NEURON_UPD_EVT_CLR;
	set.update_index = clear.update_index = 100;
	machine_run1(&m, NEURON_ENG_SP, &set);
	ck_assert_uint_eq(tpb_event_read(m.tpb, 100), 1);
	machine_run1(&m, NEURON_ENG_SP, &set);
	machine_run1(&m, NEURON_ENG_SP, &clear);
	ck_assert_uint_eq(tpb_event_read(m.tpb, 100), 0);
	machine_run1(&m, NEURON_ENG_SP, &clear);
	ck_assert_uint_eq(m.notes, 2);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_EVT_DOUBLE_SET);
	ck_assert_uint_eq(m.note[1].code, NEURON_NERR_EVT_DOUBLE_CLEAR);
	ck_assert_uint_eq(m.note[1].id, 100);
}
END_TEST

START_TEST(test_semaphores_from_outside)
{
	tpb_sem_write(m.tpb, TPB_SEM_SET, 0, UINT32_MAX - 1, 0);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 0, 1, 0);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 0), UINT32_MAX);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 0, 1, 0);
	tpb_sem_write(m.tpb, TPB_SEM_DEC, 1, 1, 0);
	ck_assert_uint_eq(m.notes, 2);
	ck_assert_uint_eq(m.note[1].engine, m.target.no_engine);
	ck_assert_uint_eq(m.note[1].id, 1);
	tpb_reset(m.tpb);
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 0), 0);
}
END_TEST

/* Sequencing instructions */

START_TEST(test_range_clear)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_SEM_RANGE_CLEAR, .first = 2, .last = 4 };

	for (int i = 0; i < 6; i++)
		tpb_sem_write(m.tpb, TPB_SEM_SET, i, 10, 0);
	machine_run1(&m, NEURON_ENG_PE, &insn);
	for (int i = 0; i < 6; i++)
		ck_assert_uint_eq(tpb_sem_read(m.tpb, i), i >= 2 && i <= 4 ? 0 : 10);
}
END_TEST

START_TEST(test_notify_and_write)
{
	struct neuron_insn note = { .opcode = NEURON_OP_NOTIFY, .id = 0xdeadbeef };
	struct neuron_insn wr = { .opcode = NEURON_OP_WRITE };

	wr.write[0].addr = 0xfffc2701200;
	wr.write[0].value = 1;
	wr.write[1].addr = 0xfffc2701204;
	wr.write[1].value = 2;
	machine_run1(&m, NEURON_ENG_ACT, &note);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].type, NEURON_NQ_NOTIFY);
	ck_assert_uint_eq(m.note[0].engine, NEURON_ENG_ACT);
	ck_assert_uint_eq(m.note[0].id, 0xdeadbeef);
	machine_run1(&m, NEURON_ENG_ACT, &wr);
	ck_assert_uint_eq(m.writes, 2);
	ck_assert_uint_eq(m.write[1].addr, 0xfffc2701204);
	ck_assert_uint_eq(m.write[1].value, 2);
	m.write_result = -EACCES;
	wr.update = NEURON_UPD_SEM_INC;
	wr.update_index = 3;
	machine_run1(&m, NEURON_ENG_ACT, &wr);
	ck_assert_uint_eq(m.note[1].code, NEURON_NERR_WRITE_REFUSED);
	ck_assert_uint_eq(m.note[1].data, 0xfffc2701200);
	/* it was not executed, and that is not reported */
	ck_assert_uint_eq(tpb_sem_read(m.tpb, 3), 0);
	machine_run1(&m, NEURON_ENG_ACT, &note); /* stopped: stays in the FIFO */
	ck_assert_uint_eq(m.notes, 2);
	ck_assert_uint_eq(tpb_fifo_space(m.tpb, NEURON_ENG_ACT), NEURON_FIFO_WORDS - 1);
}
END_TEST

START_TEST(test_program_start)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_PROGRAM_START,
				    .isa_version = m.target.isa_version };

	machine_run1(&m, NEURON_ENG_PE, &insn);
	ck_assert_uint_eq(m.notes, 0);
	insn.isa_version++;
	machine_run1(&m, NEURON_ENG_PE, &insn);
	ck_assert_uint_eq(m.notes, 1);
	ck_assert_uint_eq(m.note[0].code, NEURON_NERR_ISA_VERSION);
	ck_assert_uint_eq(m.note[0].data, m.target.isa_version + 1);
	ck_assert_uint_eq(m.note[0].data2, m.target.isa_version);
}
END_TEST

/* FIFOs */

START_TEST(test_fifo_half_an_instruction)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_TENSOR_TENSOR,
				    .partitions = 1,
				    .op0 = NEURON_ALU_ADD,
				    .dst = AP1(0, FP32, 1),
				    .src0 = AP1(4, FP32, 1),
				    .src1 = AP1(4, FP32, 1) };
	uint8_t words[128];

	ck_assert_int_eq(neuron_isa_encode(&insn, words), 2);
	tpb_fifo_push(m.tpb, NEURON_ENG_POOL, words, 1, 0);
	ck_assert(!tpb_runnable(m.tpb));
	ck_assert_int_eq(tpb_run(m.tpb, 5), TPB_BLOCKED);
	tpb_fifo_push(m.tpb, NEURON_ENG_POOL, words + 64, 1, 0);
	ck_assert(tpb_runnable(m.tpb));
	tpb_run(m.tpb, 5);
	ck_assert_uint_eq(executed(NEURON_ENG_POOL), 1);
}
END_TEST

/* Two-word instructions wrap around the FIFO's end */
START_TEST(test_fifo_wraps)
{
	struct neuron_insn one = nop();
	struct neuron_insn two = { .opcode = NEURON_OP_ACTIVATE,
				   .partitions = 1,
				   .func = NEURON_ACT_COPY,
				   .dst = AP1(0, FP32, 1),
				   .src0 = AP1(0, FP32, 1),
				   .scalar0.f = 1,
				   .scalar1.f = 1 };
	float count;

	machine_run1(&m, NEURON_ENG_ACT, &one);
	for (int lap = 0; lap < 400; lap++) {
		machine_push(&m, NEURON_ENG_ACT, &two, 0);
		machine_push(&m, NEURON_ENG_ACT, &two, 0);
		tpb_run(m.tpb, 10);
	}
	memcpy(&count, m.sbuf, 4);
	ck_assert_float_eq(count, 800);
	ck_assert_uint_eq(m.notes, 0);
}
END_TEST

/* Virtual time */

static uint64_t ps(unsigned int engine, uint64_t cycles)
{
	return cycles * m.target.engine[engine].cycle;
}

static const struct {
	uint8_t engine;
	struct neuron_insn insn;
	uint64_t cost;
} costs[] = {
#define COST(cycles, engine_, ...)               \
	{                                        \
		engine_, { __VA_ARGS__ }, cycles \
	}
	COST(64, NEURON_ENG_SP, .opcode = NEURON_OP_NOP),
	COST(128, NEURON_ENG_PE, .opcode = NEURON_OP_LDWEIGHTS, .partitions = 4,
	     .src0 = AP1(0, BF16, 128)),
	COST(100, NEURON_ENG_PE, .opcode = NEURON_OP_PE_TRANSPOSE, .partitions = 100,
	     .src0 = AP1(0, BF16, 128), .dst = AP1(PSUM(0, 0), FP32, 100)),
	COST(300, NEURON_ENG_ACT, .opcode = NEURON_OP_ACTIVATE, .partitions = 1,
	     .src0 = AP1(0, FP32, 300), .dst = AP1(0, FP32, 300)),
	COST(64, NEURON_ENG_ACT, .opcode = NEURON_OP_ACT_READ_ACC, .partitions = 9,
	     .dst = AP1(0, FP32, 1)),
	COST(600, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .src0 = AP1(0, FP32, 300), .src1 = AP1(0, FP32, 300),
	     .dst = AP1(0, FP32, 300)),
	COST(300, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .src0 = AP1(0, BF16, 300), .src1 = AP1(0, BF16, 300),
	     .dst = AP1(0, BF16, 300)),
	COST(300, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_TENSOR, .partitions = 1,
	     .op0 = NEURON_ALU_MAX, .src0 = AP1(PSUM(0, 0), FP32, 300), .src1 = AP1(0, FP32, 300),
	     .dst = AP1(0, FP32, 300)),
	COST(300, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_REDUCE, .partitions = 1,
	     .op0 = NEURON_ALU_ADD, .reduce_dims = 1, .src0 = AP1(0, FP32, 300),
	     .dst = AP1(0, FP32, 1)),
	COST(150, NEURON_ENG_POOL, .opcode = NEURON_OP_TENSOR_REDUCE, .partitions = 1,
	     .op0 = NEURON_ALU_MAX, .reduce_dims = 1, .src0 = AP1(0, BF16, 300),
	     .dst = AP1(0, BF16, 1)),
	COST(2400, NEURON_ENG_POOL, .opcode = NEURON_OP_RECIPROCAL, .partitions = 1,
	     .src0 = AP1(0, FP32, 300), .dst = AP1(0, FP32, 300)),
	COST(600, NEURON_ENG_POOL, .opcode = NEURON_OP_COPY_PREDICATED, .partitions = 1,
	     .src0 = AP1(0, FP32, 300), .src1 = AP1(0, INT8, 300), .dst = AP1(0, FP32, 300)),
	COST(400, NEURON_ENG_POOL, .opcode = NEURON_OP_GATHER, .partitions = 1,
	     .src0 = AP1(0, FP32, 300), .src1 = AP1(0, INT32, 100), .dst = AP1(0, FP32, 100)),
	COST(400, NEURON_ENG_POOL, .opcode = NEURON_OP_SCATTER, .partitions = 1,
	     .src0 = AP1(0, FP32, 100), .src1 = AP1(0, INT32, 100), .dst = AP1(0, FP32, 300)),
	COST(1210, NEURON_ENG_POOL, .opcode = NEURON_OP_SORT, .partitions = 1,
	     .src0 = AP1(0, INT32, 300), .dst = AP1(0, INT32, 10)),
};

START_TEST(test_costs)
{
	struct tpb_perf perf;

	machine_run1(&m, costs[_i].engine, &costs[_i].insn);
	ck_assert_uint_eq(m.notes, 0);
	tpb_perf(m.tpb, &perf);
	ck_assert_uint_eq(perf.eng[costs[_i].engine].busy, costs[_i].cost);
	ck_assert_uint_eq(tpb_time(m.tpb, costs[_i].engine), ps(costs[_i].engine, costs[_i].cost));
}
END_TEST

/* Passes of the array for one product */
START_TEST(test_passes)
{
	static const struct {
		uint8_t dtype;
		unsigned int passes;
	} types[] = { { NEURON_DT_BF16, 1 },
		      { NEURON_DT_FP8_E4, 1 },
		      { NEURON_DT_TF32, 1 },
		      { NEURON_DT_FP32, 4 },
		      { NEURON_DT_FP32R, 4 } };
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
				    .partitions = 16,
				    .src0 = AP1(0, BF16, 128) };
	struct neuron_insn mm = { .opcode = NEURON_OP_MATMUL,
				  .partitions = 16,
				  .src0 = AP1(1024, BF16, 200),
				  .dst = AP1(PSUM(0, 0), FP32, 200) };
	struct tpb_perf perf;

	load.src0.dtype = mm.src0.dtype = types[_i].dtype;
	machine_run1(&m, NEURON_ENG_PE, &load);
	machine_run1(&m, NEURON_ENG_PE, &mm);
	ck_assert_uint_eq(m.notes, 0);
	tpb_perf(m.tpb, &perf);
	ck_assert_uint_eq(perf.eng[0].busy, 64 + 200 * types[_i].passes);
}
END_TEST

START_TEST(test_matmul_counters)
{
	struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
				    .partitions = 16,
				    .src0 = AP1(0, BF16, 100) };
	struct neuron_insn mm = { .opcode = NEURON_OP_MATMUL,
				  .partitions = 16,
				  .src0 = AP1(0, BF16, 200),
				  .dst = AP1(PSUM(0, 0), FP32, 200) };
	/* an array of 64 columns takes two passes for 100 */
	const uint64_t cost = 200 * (m.target.pe_columns < 100 ? 2 : 1);
	struct tpb_perf perf;

	mm.wait = NEURON_WAIT_SEM_GE;
	mm.wait_index = 1;
	mm.wait_value = 1;
	machine_push(&m, NEURON_ENG_PE, &load, ps(NEURON_ENG_PE, 1000));
	machine_push(&m, NEURON_ENG_PE, &mm, ps(NEURON_ENG_PE, 1000));
	tpb_run(m.tpb, 10);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 1, 1, ps(NEURON_ENG_PE, 5000));
	tpb_run(m.tpb, 10);
	tpb_perf(m.tpb, &perf);
	ck_assert_uint_eq(perf.macs, 16 * 100 * 200);
	ck_assert_uint_eq(perf.eng[0].insn, 2);
	ck_assert_uint_eq(perf.eng[0].matmul_insn, 1);
	ck_assert_uint_eq(perf.eng[0].idle, 1000);
	ck_assert_uint_eq(perf.eng[0].wait, 5000 - 1100);
	ck_assert_uint_eq(perf.eng[0].matmul_wait, 5000 - 1100);
	ck_assert_uint_eq(perf.eng[0].busy, 100 + cost);
	ck_assert_uint_eq(tpb_time(m.tpb, 0), ps(NEURON_ENG_PE, 5000 + cost));
}
END_TEST

/*
 * The word that an engine waits for, as other threads read it: that of its FIFO's head, and none
 * once it came
 */
START_TEST(test_stands)
{
	struct neuron_insn sem = nop(), event = nop();
	uint64_t at;

	sem.wait = NEURON_WAIT_SEM_EQ;
	sem.wait_index = 5;
	sem.wait_value = 2;
	event.wait = NEURON_WAIT_EVT_SET;
	event.wait_index = 3;
	ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0);
	machine_push(&m, 1, &sem, 0);
	machine_push(&m, 1, &event, 0);
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0x40000005);
	ck_assert_uint_eq(at, 0);
	ck_assert_uint_eq(tpb_stands(m.tpb, 0, &at), 0);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 5, 1, 0);
	ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0x40000005);
	tpb_sem_write(m.tpb, TPB_SEM_INC, 5, 1, 0);
	ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0);
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0x80000003);
	tpb_event_write(m.tpb, 3, 1, 0);
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0);
	ck_assert_uint_eq(executed(1), 2);
	/* one that takes back what it waited for waits no more, whatever comes behind it */
	sem.update = NEURON_UPD_SEM_DEC;
	sem.update_index = 5;
	sem.wait_value = 1;
	sem.wait = NEURON_WAIT_SEM_GE;
	for (unsigned int i = 0; i < 2; i++) {
		machine_push(&m, 1, &sem, 0);
		tpb_run(m.tpb, 10);
		ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0);
	}
	machine_push(&m, 1, &sem, 0);
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(executed(1), 4);
	ck_assert_uint_eq(tpb_stands(m.tpb, 1, &at), 0x40000005);
}
END_TEST

/* A semaphore carries the time it was changed: issue, plus start-up for a datapath instruction */
START_TEST(test_time_through_semaphores)
{
	struct neuron_insn from = memset_insn(0, 1), to = nop();

	from.update = NEURON_UPD_SEM_INC;
	from.trigger = _i ? NEURON_TRIG_READ : NEURON_TRIG_COMPLETE;
	to.wait = NEURON_WAIT_SEM_GE;
	to.wait_value = 1;
	machine_push(&m, NEURON_ENG_SP, &to, 0);
	machine_push(&m, NEURON_ENG_POOL, &from, 0);
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(tpb_time(m.tpb, NEURON_ENG_SP),
			  ps(NEURON_ENG_POOL, _i ? 64 : 124) + ps(NEURON_ENG_SP, 64));
}
END_TEST

/* The order of execution is the same wherever budgets end and state is saved */

static void push_race(struct machine *x)
{
	uint64_t seed = 77;

	for (int i = 0; i < 60; i++) {
		for (unsigned int e = NEURON_ENG_ACT; e <= NEURON_ENG_POOL; e++) {
			struct neuron_insn insn = {
				.opcode = e == NEURON_ENG_ACT ? NEURON_OP_ACTIVATE
							      : NEURON_OP_TENSOR_SCALAR,
				.partitions = 2,
				.dst = AP1(0, FP32, 4),
				.src0 = AP1(4, FP32, 4),
				.scalar0.f = 1.25f,
				.scalar1.f = 0.5f,
			};

			if (e == NEURON_ENG_POOL) {
				insn.op0 = NEURON_ALU_ADD;
				insn.op1 = NEURON_ALU_MULT;
			}
			insn.dst.offset = machine_random(&seed) % 8 * 4;
			if (machine_random(&seed) % 4 == 0) {
				insn.wait = NEURON_WAIT_SEM_GE;
				insn.wait_index = e == NEURON_ENG_ACT ? 2 : 1;
				insn.wait_value = i / 8;
			}
			insn.update = NEURON_UPD_SEM_INC;
			insn.update_index = e;
			machine_push(x, e, &insn, 0);
		}
	}
}

START_TEST(test_budget_does_not_matter)
{
	struct machine other;

	machine_init(&other, &m.target, PART);
	push_race(&m);
	push_race(&other);
	while (tpb_run(m.tpb, 1) == TPB_BUDGET)
		;
	ck_assert_int_eq(tpb_run(other.tpb, 1000), TPB_BLOCKED);
	ck_assert_uint_eq(executed(NEURON_ENG_POOL), 60);
	ck_assert_mem_eq(m.sbuf, other.sbuf, (size_t)NEURON_PARTITIONS * PART);
	ck_assert_uint_eq(tpb_time(m.tpb, NEURON_ENG_POOL), tpb_time(other.tpb, NEURON_ENG_POOL));
	machine_fini(&other);
}
END_TEST

START_TEST(test_save_and_load)
{
	struct machine other, resumed;
	uint8_t *state, *again;
	int64_t size;

	machine_init(&other, &m.target, PART);
	machine_init(&resumed, &m.target, PART);
	push_race(&m);
	push_race(&other);
	tpb_run(other.tpb, 1000);
	tpb_run(m.tpb, 41);
	size = tpb_save(m.tpb, NULL, 0);
	state = malloc(size);
	again = malloc(size);
	ck_assert_int_eq(tpb_save(m.tpb, state, size), size);
	ck_assert_int_eq(tpb_save(m.tpb, state, size - 1), -ENOSPC);
	ck_assert_int_eq(tpb_load(resumed.tpb, state, size), 0);
	ck_assert_int_eq(tpb_save(resumed.tpb, again, size), size);
	ck_assert_mem_eq(state, again, size);
	memcpy(resumed.sbuf, m.sbuf, (size_t)NEURON_PARTITIONS * PART);
	ck_assert_int_eq(tpb_run(resumed.tpb, 1000), TPB_BLOCKED);
	ck_assert_mem_eq(resumed.sbuf, other.sbuf, (size_t)NEURON_PARTITIONS * PART);
	ck_assert_int_eq(tpb_load(resumed.tpb, state, size - 1), -EINVAL);
	state[0]++; /* the version */
	ck_assert_int_eq(tpb_load(resumed.tpb, state, size), -EINVAL);
	machine_fini(&other);
	machine_fini(&resumed);
	free(state);
	free(again);
}
END_TEST

/* NaN of any sign and payload, and that of Inf - Inf, which processors give a sign of their own */
START_TEST(test_accumulator_nan)
{
	static const uint32_t rows[][2] = { { 0xffc12345, 0x3f800000 },
					    { 0x3f800000, 0x7f812345 },
					    { 0x7f800000, 0xff800000 },
					    { 0xffc78000, 0x7fc00001 } };
	struct neuron_insn insn = nop();

	insn.opcode = NEURON_OP_ACTIVATE;
	insn.func = 0;
	insn.scalar0.f = 1;
	insn.reduce_cmd = 3;
	insn.partitions = 4;
	insn.src0 = (struct neuron_ap)AP1(0, FP32, 2);
	insn.dst = (struct neuron_ap)AP1(64, FP32, 2);
	for (unsigned int p = 0; p < 4; p++)
		memcpy(m.sbuf + (size_t)p * PART, rows[p], sizeof(rows[p]));
	machine_run1(&m, NEURON_ENG_ACT, &insn);
	ck_assert_uint_eq(executed(NEURON_ENG_ACT), 1);
	for (unsigned int p = 0; p < 4; p++) {
		uint32_t bits;

		memcpy(&bits, &m.tpb->acc[p], sizeof(bits));
		ck_assert_uint_eq(bits, 0x7fc00000);
	}
}
END_TEST

/* Sums go on, or begin again, whether rows are taken many at a time or one by one */
START_TEST(test_accumulators)
{
	static const struct {
		unsigned int cmd, times; /* what the sum is then, in rows */
	} steps[] = { { 3, 1 }, { 2, 2 }, { 0, 2 }, { 2, 3 }, { 3, 1 }, { 1, 0 } };
	const unsigned int n = _i ? 70 : 3;
	struct neuron_insn insn = nop();

	insn.opcode = NEURON_OP_ACTIVATE;
	insn.scalar0.f = 1;
	insn.partitions = 5;
	insn.src0 = (struct neuron_ap)AP1(0, FP32, n);
	insn.dst = (struct neuron_ap)AP1(512, FP32, n);
	for (unsigned int i = 0; i < 5 * n; i++) {
		float x = (float)(i / n + 1);

		memcpy(m.sbuf + (size_t)(i / n) * PART + i % n * 4, &x, sizeof(x));
	}
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		insn.reduce_cmd = (uint8_t)steps[i].cmd;
		machine_run1(&m, NEURON_ENG_ACT, &insn);
		for (unsigned int p = 0; p < 5; p++)
			ck_assert_float_eq(m.tpb->acc[p], (float)(steps[i].times * n * (p + 1)));
	}
}
END_TEST

START_TEST(test_hostile_state)
{
	int64_t size = tpb_save(m.tpb, NULL, 0);
	uint8_t *state = malloc(size), *bad = malloc(size);
	uint64_t seed = 4;

	push_race(&m);
	tpb_save(m.tpb, state, size);
	for (int r = 0; r < 300; r++) {
		memcpy(bad, state, size);
		for (int i = 0; i < 40; i++)
			bad[4 + machine_random(&seed) % (size - 4)] = machine_random(&seed);
		if (!tpb_load(m.tpb, bad, size))
			tpb_run(m.tpb, 300);
	}
	free(state);
	free(bad);
}
END_TEST

/*
 * The layout of a state (tpb_state.c): the version, each engine, semaphores and events, their past
 * (two bytes each where they never changed), and so on
 */
#define ENGINE_HEAD (NEURON_FIFO_WORDS * (NEURON_INSN_WORD + 8))
#define ENGINE_SIZE (ENGINE_HEAD + 4 + 4 + 1 + 8 + 2 + 8)
#define WORDS (4 + m.target.engines * ENGINE_SIZE)
#define PASTS (WORDS + 4 * (m.target.semaphores + m.target.events))
#define ENGINE_PERF (6 * 8)
#define WEIGHTS \
	(PASTS + 2 * (m.target.semaphores + m.target.events) + m.target.engines * ENGINE_PERF + 8)

/* A value that is out of its range by one is refused, and one that is just inside is not. */
START_TEST(test_state_limits)
{
	const struct {
		unsigned int at, in, out;
	} limits[] = {
		{ 4 + ENGINE_HEAD, NEURON_FIFO_WORDS - 1, NEURON_FIFO_WORDS },
		{ 4 + 3 * ENGINE_SIZE + ENGINE_HEAD + 4, NEURON_FIFO_WORDS, NEURON_FIFO_WORDS + 1 },
		{ WEIGHTS, NEURON_PARTITIONS, NEURON_PARTITIONS + 1 },
		{ WEIGHTS, 1, 0 },
		{ WEIGHTS + 4, NEURON_ISA_MAX_STATIONARY, NEURON_ISA_MAX_STATIONARY + 1 },
		{ WEIGHTS + 4, 1, 0 },
	};
	const uint32_t one = 1;
	int64_t size = tpb_save(m.tpb, NULL, 0);
	uint8_t *state = malloc(size);

	for (unsigned int i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		tpb_reset(m.tpb);
		ck_assert_int_eq(tpb_save(m.tpb, state, size), size);
		memcpy(state + WEIGHTS, &one, 4);
		memcpy(state + WEIGHTS + 4, &one, 4);
		state[WEIGHTS + 8] = NEURON_DT_BF16;
		memcpy(state + limits[i].at, &limits[i].in, 4);
		ck_assert_msg(!tpb_load(m.tpb, state, size), "%u at %u", limits[i].in,
			      limits[i].at);
		memcpy(state + limits[i].at, &limits[i].out, 4);
		ck_assert_msg(tpb_load(m.tpb, state, size) == -EINVAL, "%u at %u", limits[i].out,
			      limits[i].at);
	}
	free(state);
}
END_TEST

#ifdef __SSE2__
/* A thread that flushes denormals and rounds down gets the same bits, and its own mode back */
START_TEST(test_floating_point_environment)
{
	struct neuron_insn insn = memset_insn(0, 0x1p-126f);
	struct neuron_insn half = { .opcode = NEURON_OP_TENSOR_SCALAR,
				    .partitions = 1,
				    .op0 = NEURON_ALU_MULT,
				    .scalar0.f = 0.5f,
				    .dst = AP1(0, FP32, 1),
				    .src0 = AP1(0, FP32, 1) };
	unsigned int mode = 0x1f80 | 0x8040 | 0x2000, saved = _mm_getcsr();
	uint32_t got;

	machine_push(&m, NEURON_ENG_POOL, &insn, 0);
	machine_push(&m, NEURON_ENG_POOL, &half, 0);
	_mm_setcsr(mode);
	tpb_run(m.tpb, 10);
	ck_assert_uint_eq(_mm_getcsr() & 0xffc0, mode);
	_mm_setcsr(saved);
	memcpy(&got, m.sbuf, 4);
	ck_assert_uint_eq(got, 0x00400000);
}
END_TEST
#endif

/* A TPB has what its target says: engines, semaphores, events, bytes of a partition */
START_TEST(test_second_target)
{
	const uint32_t part = neuron_target_second.sbuf_part_size;
	struct neuron_insn add = { .opcode = NEURON_OP_TENSOR_SCALAR,
				   .partitions = 1,
				   .op0 = NEURON_ALU_ADD,
				   .scalar0.f = 3,
				   .dst = AP1(0, FP32, 1),
				   .src0 = AP1(0, FP32, 1) };
	struct neuron_insn after = nop();
	struct machine whole;
	float got;

	machine_init(&whole, &neuron_target_second, part);
	add.dst.offset = part - 4;
	add.update = NEURON_UPD_SEM_INC;
	add.update_index = 255;
	after.wait = NEURON_WAIT_SEM_EQ;
	after.wait_index = 255;
	after.wait_value = 1;
	machine_push(&whole, NEURON_ENG_SP, &after, 0);
	machine_run1(&whole, SECOND_ENG_GP, &add);
	ck_assert_uint_eq(whole.notes, 0);
	memcpy(&got, whole.sbuf + part - 4, sizeof(got));
	ck_assert_float_eq(got, 3);
	ck_assert_uint_eq(tpb_fifo_space(whole.tpb, NEURON_ENG_SP), NEURON_FIFO_WORDS);
	add.dst.offset = part;
	machine_run1(&whole, SECOND_ENG_GP, &add);
	ck_assert_uint_eq(whole.notes, 1);
	ck_assert_uint_eq(whole.note[0].engine, SECOND_ENG_GP);
	ck_assert_uint_eq(whole.note[0].code, NEURON_NERR_ILLEGAL_OPERAND);
	tpb_reset(whole.tpb);
	ck_assert_uint_eq(tpb_sem_read(whole.tpb, 255), 0);
	machine_fini(&whole);
}
END_TEST

static TCase *sequencing(const char *name, SFun set_up)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, set_up, teardown);
	LOOP(tc, test_wait_semaphore, waits);
	tcase_add_test(tc, test_wait_event);
	LOOP(tc, test_update_semaphore, updates);
	tcase_add_test(tc, test_update_event);
	tcase_add_test(tc, test_semaphores_from_outside);
	tcase_add_test(tc, test_range_clear);
	tcase_add_test(tc, test_notify_and_write);
	tcase_add_test(tc, test_program_start);
	tcase_add_test(tc, test_fifo_half_an_instruction);
	tcase_add_test(tc, test_fifo_wraps);
	LOOP(tc, test_costs, costs);
	tcase_add_test(tc, test_matmul_counters);
	tcase_add_test(tc, test_stands);
	tcase_add_loop_test(tc, test_time_through_semaphores, 0, 2);
	tcase_add_test(tc, test_budget_does_not_matter);
	tcase_add_test(tc, test_save_and_load);
	tcase_add_test(tc, test_accumulator_nan);
	tcase_add_loop_test(tc, test_accumulators, 0, 2);
	tcase_add_test(tc, test_hostile_state);
	tcase_add_test(tc, test_state_limits);
#ifdef __SSE2__
	tcase_add_test(tc, test_floating_point_environment);
#endif
	return tc;
}

static void setup_trainium(void)
{
	machine_init(&m, neuron_gen_trainium.target, PART);
}

static TCase *v2_types(void)
{
	TCase *tc = tcase_create("later types");

	tcase_add_checked_fixture(tc, setup_trainium, teardown);
	tcase_add_loop_test(tc, test_passes, 0, 5);
	return tc;
}

static TCase *second_target(void)
{
	TCase *tc = tcase_create("second target");

	tcase_add_test(tc, test_second_target);
	return tc;
}

int main(void)
{
	Suite *s = suite_create("tpb");

	suite_add_tcase(s, sequencing("inf1", setup));
	suite_add_tcase(s, sequencing("second", setup_second));
	suite_add_tcase(s, v2_types());
	suite_add_tcase(s, second_target());
	return check_run(s);
}
