/* SPDX-License-Identifier: MIT */
/*
 * What chooses between elements, or makes them from their places (docs/isa.md): the Vector engine's
 * SELECT_REDUCE, RANGE_SELECT and STREAM_SHUFFLE, GpSimd's IOTA and AFFINE_SELECT. Called by
 * exec_pool.c and exec_gpsimd.c.
 */
#include "exec_row.h"

#define FP32_MIN (-0x1.fffffep+127f) /* what RANGE_SELECT leaves in place of the rest */

void exec_select_reduce(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src, pred;
	float *x = t->scratch->acc, *y = t->scratch->x;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_operand_init(t, &pred, &insn->src1, &t->at.src1);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		float other = exec_scalar_f32(t, &insn->scalar0, p);

		exec_row_floats(t, &src, p, x);
		exec_row_floats(t, &pred, p, y); /* integers of at most 16 bits: exact */
		for (uint32_t i = 0; i < src.r.count; i++)
			x[i] = (y[i] != 0) != insn->reverse0 ? x[i] : other;
		exec_acc_reduce(t, insn, NEURON_ALU_MAX, p, x, src.r.count);
		exec_row_store(t, &dst, p, x);
	}
}

void exec_range_select(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;
	float *x = t->scratch->acc, *index = t->scratch->x, *keep = index + EXEC_CHUNK;
	float bound[16];

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		float b0 = exec_scalar_f32(t, &insn->scalar0, p);
		float b1 = exec_scalar_f32(t, &insn->scalar1, p);

		exec_row_floats(t, &src, p, x);
		for (uint32_t done = 0, n; done < src.r.count; done += n) {
			n = src.r.count - done < EXEC_CHUNK ? src.r.count - done : EXEC_CHUNK;
			for (uint32_t i = 0; i < n; i++)
				index[i] = insn->imm + (float)(done + i);
			t->kern->alu(insn->op0, keep, exec_array(index), exec_const(bound, b0), n);
			t->kern->alu(insn->op1, index, exec_array(index), exec_const(bound, b1), n);
			for (uint32_t i = 0; i < n; i++)
				if (keep[i] == 0 || index[i] == 0)
					x[done + i] = FP32_MIN;
		}
		exec_acc_reduce(t, insn, NEURON_ALU_MAX, p, x, src.r.count);
		exec_row_store(t, &dst, p, x);
	}
}

/* Shuffles a quadrant, all of which is read before it is written, so dst may lie where src does */
static void shuffle_quadrant(struct tpb *t, const struct neuron_insn *insn,
			     struct exec_operand *dst, struct exec_operand *src, unsigned int first)
{
	uint8_t *rows = (uint8_t *)t->scratch->pairs;
	const size_t bytes = (size_t)src->r.count * src->r.size;

	for (unsigned int i = 0; i < NEURON_ISA_QUADRANT; i++) {
		const void *in = exec_row_raw(src, first + i, rows + i * bytes);

		if (in != rows + i * bytes)
			memcpy(rows + i * bytes, in, bytes);
	}
	for (unsigned int i = 0; i < NEURON_ISA_QUADRANT; i++) {
		uint8_t from = neuron_isa_shuffle(insn, i);

		if (from != NEURON_ISA_SHUFFLE_KEEP)
			exec_row_put(dst, first + i, rows + from * bytes);
	}
}

void exec_stream_shuffle(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	for (unsigned int p = 0; p < insn->partitions; p += NEURON_ISA_QUADRANT)
		shuffle_quadrant(t, insn, &dst, &src, p);
}

/* The pattern's values in partition p, modulo 2^32, in its element order */
static void pattern_values(const struct neuron_insn *insn, unsigned int p, int32_t *out)
{
	const struct neuron_pattern *a = &insn->pattern;
	uint32_t base = (uint32_t)a->base + p * (uint32_t)a->channel, at[NEURON_AP_DIMS];

	for (at[0] = 0; at[0] < a->num[0]; at[0]++)
		for (at[1] = 0; at[1] < a->num[1]; at[1]++)
			for (at[2] = 0; at[2] < a->num[2]; at[2]++) {
				uint32_t v = base;

				for (int d = 0; d < NEURON_AP_DIMS - 1; d++)
					v += at[d] * (uint32_t)a->step[d];
				for (uint32_t i = 0; i < a->num[3]; i++)
					out[i] = (int32_t)(v + i * (uint32_t)a->step[3]);
				out += a->num[3];
			}
}

void exec_iota(struct tpb *t, const struct neuron_insn *insn)
{
	int32_t *v = (int32_t *)t->scratch->acc;
	struct exec_operand dst;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		pattern_values(insn, p, v);
		exec_row_integers(t, &dst, p, v);
	}
}

static inline bool holds(uint8_t op, int32_t v)
{
	switch (op) {
	case NEURON_ALU_EQ:
		return v == 0;
	case NEURON_ALU_NE:
		return v != 0;
	case NEURON_ALU_GE:
		return v >= 0;
	case NEURON_ALU_GT:
		return v > 0;
	case NEURON_ALU_LE:
		return v <= 0;
	default:
		return v < 0;
	}
}

/* n elements of some size: what is there, or the other one where the condition does not hold */
#define CHOOSE(type)                                              \
	do {                                                      \
		type *to = out, fill;                             \
		const type *from = in;                            \
                                                                  \
		memcpy(&fill, other, sizeof(fill));               \
		for (uint32_t i = 0; i < n; i++)                  \
			to[i] = holds(op, v[i]) ? from[i] : fill; \
	} while (0)

static void choose(uint8_t size, uint8_t op, const int32_t *v, void *out, const void *in,
		   const void *other, uint32_t n)
{
	if (size == 1)
		CHOOSE(uint8_t);
	else if (size == 2)
		CHOOSE(uint16_t);
	else
		CHOOSE(uint32_t);
}

void exec_affine_select(struct tpb *t, const struct neuron_insn *insn)
{
	int32_t *v = (int32_t *)t->scratch->acc;
	struct exec_operand dst, src;
	float fill[16];
	uint32_t other[16];
	const void *in;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_const(fill, insn->scalar0.f);
	t->kern->store(dst.dtype, other, fill, 1);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		const uint32_t n = src.r.count;

		pattern_values(insn, p, v);
		in = exec_row_raw(&src, p, t->scratch->x);
		if (dst.dtype != src.dtype) {
			exec_row_floats(t, &src, p, t->scratch->x);
			exec_store(t, dst.dtype, t->scratch->row, t->scratch->x, n);
			in = t->scratch->row;
		}
		choose(dst.r.size, insn->op0, v, t->scratch->pairs, in, other, n);
		exec_row_put(&dst, p, t->scratch->pairs);
	}
}
