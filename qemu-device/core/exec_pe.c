/* SPDX-License-Identifier: MIT */
/*
 * The PE (Tensor engine): LDWEIGHTS, MATMUL, PE_TRANSPOSE (docs/isa.md, Tensor engine). Operands
 * are converted to fp32 once and packed for the kernels. Called by tpb.c.
 */
#include "exec.h"

#include <errno.h>
#include <string.h>

static void exec_ldweights(struct tpb *t, const struct neuron_insn *insn)
{
	struct tpb_weights *w = &t->weights;
	struct exec_operand src;

	exec_operand_init(t, &src, &insn->src0, insn->partitions);
	w->k = insn->partitions;
	w->fs = src.r.count;
	w->dtype = insn->src0.dtype;
	for (unsigned int k = 0; k < w->k; k++) {
		exec_operand_row(&src, k);
		t->kern->weights(src.dtype, w->w, k,
				 exec_stream_get(&src.s, t->scratch->raw, w->fs), w->fs);
	}
}

static void exec_pack_moving(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand src;

	exec_operand_init(t, &src, &insn->src0, insn->partitions);
	for (unsigned int k = 0; k < insn->partitions; k++) {
		exec_operand_row(&src, k);
		t->kern->pack(src.dtype, t->scratch->x, k,
			      exec_stream_get(&src.s, t->scratch->raw, src.r.count), src.r.count);
	}
}

static uint32_t exec_psum_sum(uint32_t old, uint32_t new, bool is_int)
{
	float a, b;

	if (is_int)
		return old + new;
	memcpy(&a, &old, sizeof(a));
	memcpy(&b, &new, sizeof(b));
	a += b;
	if (a != a)
		return 0x7fc00000;
	memcpy(&new, &a, sizeof(a));
	return new;
}

/* Add one row of results to a destination, in element order: an element may come more than once */
static void exec_psum_add(struct exec_stream *dst, const uint32_t *row, uint32_t n, bool is_int)
{
	uint32_t step = exec_stream_distinct(dst) ? n : 1;
	uint32_t old[NEURON_ISA_MAX_MOVING], sum[NEURON_ISA_MAX_MOVING];
	struct exec_stream from = *dst;

	for (uint32_t at = 0; at < n; at += step) {
		const uint8_t *in = exec_stream_get(&from, old, step);

		for (uint32_t i = 0; i < step; i++) {
			uint32_t v;

			memcpy(&v, in + 4ull * i, sizeof(v));
			sum[i] = exec_psum_sum(v, row[at + i], is_int);
		}
		exec_stream_put(dst, sum, step);
	}
}

static void exec_mm_run(struct tpb *t, struct exec_mm *mm, struct exec_operand *dst,
			bool accumulate)
{
	bool is_int = dst->dtype == NEURON_DT_INT32;

	mm->x = t->scratch->x;
	mm->fm = dst->r.count;
	if (dst->s.ndim == 1 && dst->s.step[0] == 4) {
		mm->dst = dst->part0 + dst->s.first;
		mm->dst_stride = dst->stride;
		mm->mode = is_int	? accumulate ? EXEC_MM_ADD_I32 : EXEC_MM_SET_I32
			   : accumulate ? EXEC_MM_ADD_F32
					: EXEC_MM_SET_F32;
		t->kern->matmul(mm);
		return;
	}
	mm->dst = (uint8_t *)t->scratch->result;
	mm->dst_stride = sizeof(t->scratch->result[0]);
	mm->mode = is_int ? EXEC_MM_SET_I32 : EXEC_MM_SET_F32;
	t->kern->matmul(mm);
	for (unsigned int r = 0; r < mm->fs; r++) {
		exec_operand_row(dst, r);
		if (accumulate)
			exec_psum_add(&dst->s, t->scratch->result[r], mm->fm, is_int);
		else
			exec_stream_put(&dst->s, t->scratch->result[r], mm->fm);
	}
}

static int exec_matmul(struct tpb *t, const struct neuron_insn *insn,
		       struct neuron_isa_fault *fault)
{
	struct tpb_weights *w = &t->weights;
	struct exec_mm mm = { .w = w->w, .k = w->k, .fs = w->fs };
	struct exec_operand dst;

	if (!w->dtype)
		return neuron_isa_illegal(fault, "no weights are loaded");
	if (neuron_isa_check_matmul(insn, t->cfg.sbuf_part_size, w->k, w->fs, w->dtype, fault))
		return -EINVAL;
	exec_pack_moving(t, insn);
	exec_operand_init(t, &dst, &insn->dst, w->fs);
	exec_mm_run(t, &mm, &dst, insn->accumulate);
	return 0;
}

/* The source as the stationary operand, the identity as the moving one; loaded weights stay */
static void exec_pe_transpose(struct tpb *t, const struct neuron_insn *insn)
{
	static const uint32_t one[] = {
		[NEURON_DT_INT8] = 1, [NEURON_DT_BF16] = 0x3f80, [NEURON_DT_FP16] = 0x3c00
	};
	unsigned int k = insn->partitions;
	struct exec_mm mm = { .k = k };
	struct exec_operand src, dst;
	float *w = t->scratch->w;

	exec_operand_init(t, &src, &insn->src0, k);
	mm.fs = src.r.count;
	mm.w = w;
	memset(w, 0, sizeof(t->scratch->w));
	for (unsigned int i = 0; i < k; i++) {
		uint16_t row16[NEURON_PARTITIONS] = { 0 };
		uint8_t row8[NEURON_PARTITIONS] = { 0 };

		exec_operand_row(&src, i);
		t->kern->weights(src.dtype, w, i, exec_stream_get(&src.s, t->scratch->raw, mm.fs),
				 mm.fs);
		row16[i] = one[src.dtype];
		row8[i] = one[src.dtype];
		t->kern->pack(src.dtype, t->scratch->x, i,
			      src.r.size == 1 ? (void *)row8 : (void *)row16, k);
	}
	exec_operand_init(t, &dst, &insn->dst, mm.fs);
	exec_mm_run(t, &mm, &dst, false);
}

int exec_pe(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault)
{
	switch (insn->opcode) {
	case NEURON_OP_LDWEIGHTS:
		exec_ldweights(t, insn);
		return 0;
	case NEURON_OP_MATMUL:
		return exec_matmul(t, insn, fault);
	default:
		exec_pe_transpose(t, insn);
		return 0;
	}
}
