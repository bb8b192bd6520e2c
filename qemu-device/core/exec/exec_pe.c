/* SPDX-License-Identifier: MIT */
/*
 * The PE (Tensor engine): LDWEIGHTS, MATMUL, PE_TRANSPOSE (docs/isa.md, Tensor engine). Operands
 * are converted to fp32 once, the weights in blocks as the kernels want them. exec_mm.c runs
 * products; exec_pe_forms.c has the forms of NeuronCore-v3 and later. Called by tpb.c.
 */
#include "exec_walk.h"

#include <errno.h>
#include <string.h>

/* The operand's elements in every partition as rows of fp32 in scratch->x */
static void exec_rows(struct tpb *t, struct exec_operand *src, unsigned int rows)
{
	struct exec_runs *runs = &t->scratch->runs;

	exec_operand_row(src, 0);
	exec_stream_runs(&src->s, runs);
	t->kern->moving(src->dtype, t->scratch->x, src->part0, src->stride, rows, runs);
}

/* Rows of one partition after the other, the first at in */
static struct exec_pair_rows exec_pair_rows(const struct exec_operand *src, const uint8_t *in,
					    unsigned int rows)
{
	return (struct exec_pair_rows){ .in = in,
					.stride = 2 * src->stride,
					.low = (int64_t)src->stride,
					.rows = rows,
					.dtype = src->dtype };
}

static void exec_weights(struct tpb *t, float *w, struct exec_operand *src, unsigned int rows)
{
	const uint8_t *in;

	exec_operand_row(src, 0);
	in = exec_stream_at(&src->s, src->r.count);
	if (in) {
		const struct exec_pair_rows at = exec_pair_rows(src, in, rows);

		t->kern->weights(w, &at, src->r.count);
		return;
	}
	exec_rows(t, src, rows);
	exec_weights_floats(t, w, t->scratch->x, EXEC_MM_X_ROW, rows, src->r.count);
}

/* Types whose numbers bf16 holds */
static bool exec_pairable(const struct tpb *t, uint8_t dtype)
{
	switch (dtype) {
	case NEURON_DT_BF16:
	case NEURON_DT_FP8_E3:
	case NEURON_DT_FP8_E4:
	case NEURON_DT_FP8_E5:
		return t->kern->pairs;
	default:
		return false;
	}
}

static float *exec_part_row(struct tpb *t, uint8_t tile, unsigned int k)
{
	const struct neuron_isa_tile at = neuron_isa_tile(tile);

	return &t->part_weights[at.row + k][at.column];
}

static void exec_scale_weights(float *w, unsigned int k, unsigned int columns, uint8_t bias)
{
	for (unsigned int r = 0; r < columns; r += EXEC_MM_ROWS)
		exec_scale_rows(w + (size_t)(r / EXEC_MM_ROWS) * EXEC_MM_W_BLOCK, EXEC_MM_ROWS, k,
				EXEC_MM_ROWS, bias);
}

/* Loads the weights of a part of the array; those of the whole are gone then. */
static void exec_ldweights_part(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand src;
	float *w = t->scratch->w;

	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_weights(t, w, &src, insn->partitions);
	exec_scale_weights(w, insn->partitions, src.r.count, insn->src_bias);
	for (unsigned int k = 0; k < insn->partitions; k++) {
		float *row = exec_part_row(t, insn->tile, k);

		for (unsigned int r = 0; r < src.r.count; r++)
			row[r] = *exec_weight(w, k, r);
	}
	t->weights.dtype = NEURON_DT_INVALID;
	neuron_isa_load_weights(&t->parts, insn);
}

static void exec_ldweights(struct tpb *t, const struct neuron_insn *insn)
{
	const struct exec_pairs *pairs = t->kern->pairs;
	struct tpb_weights *w = &t->weights;
	struct exec_operand src;
	const uint8_t *in;

	if (insn->tile) {
		exec_ldweights_part(t, insn);
		return;
	}
	memset(&t->parts, 0, sizeof(t->parts));
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	w->k = insn->partitions;
	w->fs = src.r.count;
	w->dtype = insn->src0.dtype;
	w->doubled = false;
	w->in_quads = t->kern->quads && w->dtype == NEURON_DT_INT8;
	w->paired = !insn->src_bias && exec_pairable(t, w->dtype);
	exec_operand_row(&src, 0);
	if (w->in_quads && src.s.ndim == 1) {
		t->kern->quads->weights(w->w, src.part0 + src.s.first, src.stride, w->k,
					src.s.step[0], w->fs);
		return;
	}
	w->in_quads = false;
	in = exec_stream_at(&src.s, src.r.count);
	if (w->paired && in) {
		const struct exec_pair_rows rows = exec_pair_rows(&src, in, w->k);

		w->least = pairs->weights(w->w, &rows, w->fs);
		return;
	}
	exec_weights(t, w->w, &src, w->k);
	exec_scale_weights(w->w, w->k, w->fs, insn->src_bias);
	if (w->paired)
		w->least = pairs->pack_weights(w->w, w->k, w->fs);
}

/* The moving operand in pairs. False: it cannot be, or its products would not be exact */
static bool exec_moving_pairs(struct tpb *t, struct exec_operand *src, unsigned int rows)
{
	const struct exec_pairs *pairs = t->kern->pairs;
	struct exec_runs *runs = &t->scratch->runs;
	unsigned int least;

	if (!t->weights.paired || !exec_pairable(t, src->dtype))
		return false;
	exec_operand_row(src, 0);
	exec_stream_runs(&src->s, runs);
	if (runs->step == src->r.size || (src->dtype == NEURON_DT_BF16 && runs->step == 4)) {
		const struct exec_pair_rows pair = exec_pair_rows(src, src->part0, rows);

		least = pairs->moving(t->scratch->x, &pair, runs);
	} else {
		exec_rows(t, src, rows);
		least = pairs->pack_moving(t->scratch->x, rows, src->r.count);
	}
	return exec_pairs_exact(t->weights.least, least);
}

static void exec_moving_quads(struct tpb *t, struct exec_operand *src, unsigned int rows)
{
	struct exec_runs *runs = &t->scratch->runs;

	exec_operand_row(src, 0);
	exec_stream_runs(&src->s, runs);
	t->kern->quads->moving(t->scratch->x, src->part0, src->stride, rows, runs);
}

/* May the kernel widen the moving operand while it multiplies? */
static bool exec_widens(struct tpb *t, const struct exec_operand *src)
{
	struct exec_runs *runs = &t->scratch->runs;

	if (!t->kern->widening)
		return false;
	exec_stream_runs(&src->s, runs);
	switch (src->dtype) {
	case NEURON_DT_BF16:
		return runs->step == 2 || runs->step == 4;
	case NEURON_DT_FP16:
	case NEURON_DT_INT8:
	case NEURON_DT_FP8_E3:
	case NEURON_DT_FP8_E4:
	case NEURON_DT_FP8_E5:
		return runs->step == src->s.size;
	default:
		return false;
	}
}

/* A product with weights of fp32 */
static void exec_matmul_plain(struct tpb *t, const struct neuron_insn *insn, struct exec_mm *mm,
			      struct exec_operand *src, struct exec_operand *dst)
{
	struct exec_moving moving = { .in = src->part0,
				      .stride = src->stride,
				      .dtype = src->dtype,
				      .runs = &t->scratch->runs,
				      .x = t->scratch->x };

	if (!insn->src_bias && exec_widens(t, src)) {
		mm->moving = &moving;
		exec_mm_run(t, mm, dst, insn->accumulate, t->kern->widening);
		return;
	}
	exec_rows(t, src, mm->k);
	exec_scale_rows(t->scratch->x, EXEC_MM_X_ROW, mm->k, src->r.count, insn->src_bias);
	exec_mm_run(t, mm, dst, insn->accumulate, t->kern->matmul);
}

static int exec_matmul(struct tpb *t, const struct neuron_insn *insn,
		       struct neuron_isa_fault *fault)
{
	struct tpb_weights *w = &t->weights;
	const struct neuron_isa_weights loaded = exec_weights_for(t, insn);
	struct exec_mm mm = { .w = w->w, .k = w->k, .fs = w->fs };
	struct exec_operand dst, src;

	if (neuron_isa_check_weights(insn, t->cfg.target, &loaded, fault))
		return -EINVAL;
	if (insn->opcode == NEURON_OP_MATMUL_DOUBLE) {
		exec_matmul_double(t, insn);
		return 0;
	}
	if (insn->opcode == NEURON_OP_MATMUL_SPARSE) {
		exec_matmul_sparse(t, insn);
		return 0;
	}
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	if (insn->tile) {
		exec_weights_floats(t, t->scratch->w, exec_part_row(t, insn->tile, 0),
				    sizeof(t->part_weights[0]) / sizeof(float), loaded.k,
				    loaded.columns);
		mm = (struct exec_mm){ .w = t->scratch->w, .k = loaded.k, .fs = loaded.columns };
		exec_matmul_plain(t, insn, &mm, &src, &dst);
		return 0;
	}
	if (w->in_quads) {
		exec_moving_quads(t, &src, w->k);
		mm.k = (w->k + 3) / 4;
		exec_mm_run(t, &mm, &dst, insn->accumulate, t->kern->quads->matmul);
		return 0;
	}
	if (!insn->src_bias && exec_moving_pairs(t, &src, w->k)) {
		mm.k = (w->k + 1) / 2;
		exec_mm_run(t, &mm, &dst, insn->accumulate, t->kern->pairs->matmul);
		return 0;
	}
	exec_weights_plain(w);
	exec_matmul_plain(t, insn, &mm, &src, &dst);
	return 0;
}

/* The source as the stationary operand, the identity as the moving one; loaded weights stay */
static void exec_pe_transpose(struct tpb *t, const struct neuron_insn *insn)
{
	unsigned int k = insn->partitions;
	struct exec_operand src, dst;
	struct exec_mm mm = { .w = t->scratch->w, .k = k };

	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	mm.fs = src.r.count;
	exec_weights(t, t->scratch->w, &src, k);
	for (unsigned int i = 0; i < k; i++) {
		float *row = t->scratch->x + (size_t)i * EXEC_MM_X_ROW;

		memset(row, 0, NEURON_PARTITIONS * sizeof(*row));
		row[i] = 1;
	}
	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_mm_run(t, &mm, &dst, false, t->kern->matmul);
}

int exec_pe(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault)
{
	switch (insn->opcode) {
	case NEURON_OP_LDWEIGHTS:
		exec_ldweights(t, insn);
		return 0;
	case NEURON_OP_LDWEIGHTS_DOUBLE:
		exec_ldweights_double(t, insn);
		return 0;
	case NEURON_OP_PE_TRANSPOSE:
		if (neuron_isa_moves_bits(insn, t->cfg.target))
			exec_transpose_bits(t, insn);
		else
			exec_pe_transpose(t, insn);
		return 0;
	default:
		return exec_matmul(t, insn, fault);
	}
}
