/* SPDX-License-Identifier: MIT */
/*
 * The Vector engine's scans, reductions into its accumulator registers, and statistics
 * (docs/isa.md, Vector engine): one fp32 rounding a step, in element order. Called by exec_pool.c.
 */
#include "exec_row.h"

#include <math.h>

#define SIDE 8 /* rows side by side: as many sums that do not wait for each other */

/* The state of SIDE rows, or of one, through all of them; x becomes the results */
static inline __attribute__((always_inline)) void
scan_rows(const struct tpb *t, const struct neuron_insn *insn, uint8_t op0, uint8_t op1, float *x,
	  const float *y, size_t pitch, uint32_t n, float *state, unsigned int rows)
{
	for (uint32_t i = 0; i < n; i++)
		for (unsigned int j = 0; j < rows; j++) {
			float a = x[j * pitch + i], b = y[j * pitch + i], r = state[j];

			r = insn->reverse0 ? exec_alu(t, op0, r, a) : exec_alu(t, op0, a, r);
			r = insn->reverse1 ? exec_alu(t, op1, b, r) : exec_alu(t, op1, r, b);
			x[j * pitch + i] = state[j] = r;
		}
}

static void scan_side(const struct tpb *t, const struct neuron_insn *insn, float *x, const float *y,
		      size_t pitch, uint32_t n, float *state)
{
	/* the two that recurrences and running sums are made of */
	if (insn->op0 == NEURON_ALU_MULT && insn->op1 == NEURON_ALU_ADD)
		scan_rows(t, insn, NEURON_ALU_MULT, NEURON_ALU_ADD, x, y, pitch, n, state, SIDE);
	else if (insn->op0 == NEURON_ALU_ADD && insn->op1 == NEURON_ALU_ADD)
		scan_rows(t, insn, NEURON_ALU_ADD, NEURON_ALU_ADD, x, y, pitch, n, state, SIDE);
	else
		scan_rows(t, insn, insn->op0, insn->op1, x, y, pitch, n, state, SIDE);
}

void exec_scan(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_scratch *s = t->scratch;
	struct exec_operand dst, src0, src1;
	unsigned int p = 0, rows;
	size_t pitch;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src0, &insn->src0, &t->at.src0);
	exec_operand_init(t, &src1, &insn->src1, &t->at.src1);
	pitch = ((size_t)src0.r.count + 15) / 16 * 16 + 16;
	for (; p < insn->partitions; p += rows) {
		float state[SIDE];

		rows = insn->partitions - p >= SIDE && SIDE * pitch <= NEURON_ISA_MAX_ELEMS_SBUF
			       ? SIDE
			       : 1;
		for (unsigned int j = 0; j < rows; j++) {
			state[j] = exec_scalar_f32(t, &insn->scalar0, p + j);
			exec_row_floats(t, &src0, p + j, s->acc + j * pitch);
			exec_row_floats(t, &src1, p + j, s->x + j * pitch);
		}
		if (rows == SIDE)
			scan_side(t, insn, s->acc, s->x, pitch, src0.r.count, state);
		else
			scan_rows(t, insn, insn->op0, insn->op1, s->acc, s->x, pitch, src0.r.count,
				  state, 1);
		for (unsigned int j = 0; j < rows; j++)
			exec_row_store(t, &dst, p + j, s->acc + j * pitch);
	}
}

/* Start values of the registers, before anything is added, multiplied or compared */
static float identity(uint8_t op)
{
	switch (op) {
	case NEURON_ALU_MULT:
		return 1;
	case NEURON_ALU_MAX:
		return -INFINITY;
	case NEURON_ALU_MIN:
		return INFINITY;
	default:
		return 0;
	}
}

/* The register of partition p as the command leaves it for what follows */
static float acc_begin(const struct tpb *t, const struct neuron_insn *insn, uint8_t op,
		       unsigned int p)
{
	switch (insn->reduce_cmd) {
	case NEURON_REDUCE_RESET:
	case NEURON_REDUCE_RESET_REDUCE:
		return identity(op);
	case NEURON_REDUCE_LOAD_REDUCE:
		return exec_scalar_f32(t, &insn->scalar1, p);
	default:
		return t->vector_acc[p];
	}
}

/* acc op x[0] op x[1] ...; of max and min the order does not matter */
static float acc_fold(const struct tpb *t, uint8_t op, float acc, const float *x, uint32_t n)
{
	if (op == NEURON_ALU_ADD)
		for (uint32_t i = 0; i < n; i++)
			acc += x[i];
	else if (op == NEURON_ALU_MULT)
		for (uint32_t i = 0; i < n; i++)
			acc *= x[i];
	else
		acc = exec_alu(t, op, acc, t->kern->fold(op, x, n));
	return acc;
}

void exec_acc_reduce(struct tpb *t, const struct neuron_insn *insn, uint8_t op, unsigned int p,
		     const float *x, uint32_t n)
{
	float acc = acc_begin(t, insn, op, p);

	if (insn->reduce_cmd >= NEURON_REDUCE_REDUCE)
		acc = acc_fold(t, op, acc, x, n);
	t->vector_acc[p] = exec_canonical(acc);
}

void exec_tensor_scalar_reduce(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;
	float *x = t->scratch->acc;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		exec_row_floats(t, &src, p, x);
		exec_alu_scalar(t, insn->op0, insn->reverse0, x,
				exec_scalar_f32(t, &insn->scalar0, p), src.r.count);
		exec_acc_reduce(t, insn, insn->op1, p, x, src.r.count);
		exec_row_store(t, &dst, p, x);
	}
}

void exec_tensor_scalar_cumulative(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;
	float *x = t->scratch->acc;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		float r = acc_begin(t, insn, insn->op1, p);

		exec_row_floats(t, &src, p, x);
		exec_alu_scalar(t, insn->op0, insn->reverse0, x,
				exec_scalar_f32(t, &insn->scalar0, p), src.r.count);
		for (uint32_t i = 0; i < src.r.count; i++)
			x[i] = r = exec_alu(t, insn->op1, x[i], r);
		t->vector_acc[p] = exec_canonical(r);
		exec_row_store(t, &dst, p, x);
	}
}

void exec_vector_read_acc(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst;
	float x[16] = { 0 };

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		x[0] = insn->negate ? -t->vector_acc[p] : t->vector_acc[p];
		exec_row_store(t, &dst, p, x);
	}
}

/* Count, mean, count times variance of every other element */
static void stats_of(const float *x, uint32_t n, float *out)
{
	float sum = 0, squares = 0, count = (float)((n + 1) / 2), mean;

	for (uint32_t i = 0; i < n; i += 2)
		sum += x[i];
	mean = n ? sum / count : 0;
	for (uint32_t i = 0; i < n; i += 2) {
		float d = x[i] - mean;

		squares += d * d;
	}
	out[0] = count;
	out[1] = mean;
	out[2] = squares;
}

void exec_bn_stats(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;
	float *x = t->scratch->acc, out[16];

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		exec_row_floats(t, &src, p, x);
		stats_of(x, src.r.count, out);
		stats_of(x + 1, src.r.count - 1, out + 3);
		exec_row_store(t, &dst, p, out);
	}
}

void exec_bn_aggr(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;
	float *x = t->scratch->acc, out[16];

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		float count = 0, sum = 0, squares = 0, mean;

		exec_row_floats(t, &src, p, x);
		for (uint32_t i = 0; i < src.r.count; i += 3) {
			count += x[i];
			sum += x[i] * x[i + 1];
		}
		mean = sum / count;
		for (uint32_t i = 0; i < src.r.count; i += 3) {
			float d = x[i + 1] - mean;

			squares += x[i + 2] + x[i] * (d * d);
		}
		out[0] = mean;
		out[1] = squares / count;
		exec_row_store(t, &dst, p, out);
	}
}
