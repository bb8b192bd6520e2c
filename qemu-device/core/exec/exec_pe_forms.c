/* SPDX-License-Identifier: MIT */
/*
 * The PE's products of more than one row a partition, double rows and sparse weights, and its
 * transposes that move bits (docs/isa.md, Tensor engine). Rows are brought into the order of the
 * sum, which then is one product. Called by exec_pe.c.
 */
#include "exec_walk.h"

#include <string.h>

/*
 * The place in the sum of slot j of partition p: neighbours, of which the slots of one stand one
 * after the other
 */
struct exec_order {
	unsigned int neighbours, slots;
};

static unsigned int exec_order_row(const struct exec_order *o, unsigned int p, unsigned int slot)
{
	const unsigned int m = o->neighbours;

	return p / m * m * o->slots + p % m + m * slot;
}

/* One slot of a pattern whose pair 0 counts them, located */
static void exec_slot(const struct tpb *t, const struct neuron_insn *insn, unsigned int slot,
		      struct exec_operand *o)
{
	struct neuron_ap ap = insn->src0;
	struct neuron_isa_region r;

	ap.offset += (uint32_t)((int32_t)slot * ap.step[0] * (int32_t)t->at.src0.size);
	ap.num[0] = 1;
	ap.step[0] = 0;
	neuron_isa_locate(&ap, insn->partitions, t->cfg.target, &r);
	exec_operand_init(t, o, &ap, &r);
}

/* The moving operand as rows of fp32 in scratch->x, in their order */
static void exec_ordered_rows(struct tpb *t, const struct neuron_insn *insn,
			      const struct exec_order *order)
{
	struct exec_runs *runs = &t->scratch->runs;
	struct exec_operand src;

	for (unsigned int j = 0; j < order->slots; j++) {
		exec_slot(t, insn, j, &src);
		exec_stream_runs(&src.s, runs);
		for (unsigned int p = 0; p < insn->partitions; p++)
			t->kern->moving(src.dtype,
					t->scratch->x +
						(size_t)exec_order_row(order, p, j) * EXEC_MM_X_ROW,
					src.part0 + p * src.stride, src.stride, 1, runs);
	}
	exec_scale_rows(t->scratch->x, EXEC_MM_X_ROW, insn->partitions * order->slots,
			t->at.src0.count / order->slots, insn->src_bias);
}

static const struct exec_order exec_double = { .neighbours = 1, .slots = 2 };

/* The places of both rows of each partition; false: a bias or other elements are in the way */
static bool exec_double_rows(struct tpb *t, const struct neuron_insn *insn,
			     struct exec_pair_rows *rows)
{
	struct exec_operand src;

	exec_slot(t, insn, 0, &src);
	exec_stream_runs(&src.s, &t->scratch->runs);
	*rows = (struct exec_pair_rows){ .in = src.part0,
					 .stride = src.stride,
					 .low = insn->src0.step[0],
					 .rows = 2u * insn->partitions,
					 .dtype = src.dtype };
	return !insn->src_bias && t->scratch->runs.step == 1;
}

void exec_ldweights_double(struct tpb *t, const struct neuron_insn *insn)
{
	struct tpb_weights *w = &t->weights;
	struct exec_pair_rows rows;

	memset(&t->parts, 0, sizeof(t->parts));
	w->k = 2u * insn->partitions;
	w->fs = t->at.src0.count / 2;
	w->dtype = insn->src0.dtype;
	w->doubled = true;
	w->in_quads = false;
	w->paired = false;
	if (exec_double_rows(t, insn, &rows) && t->scratch->runs.count == 1) {
		rows.in += t->scratch->runs.at[0];
		w->paired = t->kern->pairs;
		if (w->paired)
			w->least = t->kern->pairs->weights(w->w, &rows, w->fs);
		else
			t->kern->weights(w->w, &rows, w->fs);
		return;
	}
	exec_ordered_rows(t, insn, &exec_double);
	exec_weights_floats(t, w->w, t->scratch->x, EXEC_MM_X_ROW, w->k, w->fs);
}

/* A product of double rows with weights of fp32 */
static void exec_double_plain(struct tpb *t, const struct neuron_insn *insn, struct exec_mm *mm,
			      struct exec_operand *dst)
{
	struct exec_pair_rows rows;

	if (exec_double_rows(t, insn, &rows) && t->kern->widening) {
		const struct exec_moving moving = { .in = rows.in,
						    .stride = rows.stride,
						    .low = rows.low,
						    .doubled = true,
						    .dtype = rows.dtype,
						    .runs = &t->scratch->runs,
						    .x = t->scratch->x };

		mm->moving = &moving;
		exec_mm_run(t, mm, dst, insn->accumulate, t->kern->widening);
		return;
	}
	exec_ordered_rows(t, insn, &exec_double);
	exec_mm_run(t, mm, dst, insn->accumulate, t->kern->matmul);
}

void exec_matmul_double(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_mm mm = { .w = t->weights.w, .k = t->weights.k, .fs = t->weights.fs };
	struct exec_pair_rows rows;
	struct exec_operand dst;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	if (t->weights.paired && exec_double_rows(t, insn, &rows) &&
	    exec_pairs_exact(t->weights.least,
			     t->kern->pairs->moving(t->scratch->x, &rows, &t->scratch->runs))) {
		mm.k /= 2;
		exec_mm_run(t, &mm, &dst, insn->accumulate, t->kern->pairs->matmul);
		return;
	}
	exec_weights_plain(&t->weights);
	exec_double_plain(t, insn, &mm, &dst);
}

/* Sparse weights: which rows of the sum they take */

struct exec_sparse {
	struct exec_order order;
	unsigned int rows; /* of the sum */
	unsigned int fm;
	/* of each weight, or NOWHERE: the tag names nothing */
	uint16_t at[NEURON_PARTITIONS][NEURON_ISA_MAX_STATIONARY];
	bool shared; /* two weights of a column take one row */
};
#define NOWHERE UINT16_MAX

static void exec_read_tags(struct tpb *t, const struct neuron_insn *insn, struct exec_sparse *x)
{
	const unsigned int m = x->order.neighbours, group = m * x->order.slots;
	bool taken[EXEC_MM_K];
	struct exec_operand tags;

	exec_operand_init(t, &tags, &insn->src1, &t->at.src1);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		const uint8_t *in;

		exec_operand_row(&tags, p);
		in = exec_stream_get(&tags.s, t->scratch->raw, tags.r.count);
		for (unsigned int r = 0; r < t->weights.fs; r++) {
			unsigned int tag = in[r / 2] >> r % 2 * 4 & 15;

			x->at[p][r] = tag < group ? (uint16_t)(p / m * group + tag) : NOWHERE;
		}
	}
	x->shared = false;
	for (unsigned int r = 0; r < t->weights.fs; r++) {
		memset(taken, 0, sizeof(taken));
		for (unsigned int p = 0; p < insn->partitions; p++) {
			if (x->at[p][r] == NOWHERE)
				continue;
			x->shared |= taken[x->at[p][r]];
			taken[x->at[p][r]] = true;
		}
	}
}

static bool exec_finite(const struct tpb *t, unsigned int rows, unsigned int n)
{
	for (unsigned int k = 0; k < rows; k++) {
		const float *x = t->scratch->x + (size_t)k * EXEC_MM_X_ROW;
		bool finite = true;

		for (unsigned int j = 0; j < n; j++)
			finite &= x[j] - x[j] == 0;
		if (!finite)
			return false;
	}
	return true;
}

/* The weights with zeros between them: one product of all columns */
static void exec_sparse_dense(struct tpb *t, const struct neuron_insn *insn,
			      const struct exec_sparse *x, struct exec_operand *dst)
{
	struct exec_mm mm = { .w = t->scratch->w, .k = x->rows, .fs = t->weights.fs };

	for (unsigned int r = 0; r < mm.fs; r += EXEC_MM_ROWS)
		memset(exec_weight(t->scratch->w, 0, r), 0,
		       (size_t)x->rows * EXEC_MM_ROWS * sizeof(float));
	for (unsigned int p = 0; p < insn->partitions; p++)
		for (unsigned int r = 0; r < mm.fs; r++)
			if (x->at[p][r] != NOWHERE)
				*exec_weight(t->scratch->w, x->at[p][r], r) =
					*exec_weight(t->weights.w, p, r);
	exec_mm_run(t, &mm, dst, insn->accumulate, t->kern->matmul);
}

/* The terms of column r in their order: a row for each weight, and the others for a weight of 0 */
static unsigned int exec_column(struct tpb *t, const struct neuron_insn *insn,
				const struct exec_sparse *x, unsigned int r)
{
	struct exec_scratch *s = t->scratch;
	unsigned int n = 0;

	for (unsigned int k = 0; k < x->rows; k++) {
		const unsigned int group = x->order.neighbours * x->order.slots;
		const unsigned int first = k / group * x->order.neighbours;
		const float *from = s->x + (size_t)k * EXEC_MM_X_ROW;
		const unsigned int before = n;
		float *to;

		for (unsigned int p = first; p < first + x->order.neighbours; p++) {
			if (x->at[p][r] != k)
				continue;
			memcpy(s->column + (size_t)n * EXEC_MM_X_ROW, from, x->fm * sizeof(float));
			*exec_weight(s->w, n++, 0) = *exec_weight(t->weights.w, p, r);
		}
		if (n > before)
			continue;
		to = s->column + (size_t)n * EXEC_MM_X_ROW;
		for (unsigned int j = 0; j < x->fm; j++)
			to[j] = from[j] - from[j] == 0 ? from[j] : 0;
		*exec_weight(s->w, n++, 0) = 0;
	}
	return n;
}

static void exec_sparse_columns(struct tpb *t, const struct neuron_insn *insn,
				const struct exec_sparse *x, struct exec_operand *dst)
{
	for (unsigned int r = 0; r < t->weights.fs; r++, dst->part0 += dst->stride) {
		struct exec_mm mm = { .w = t->scratch->w, .x = t->scratch->column, .fs = 1 };

		mm.k = exec_column(t, insn, x, r);
		exec_mm_run(t, &mm, dst, insn->accumulate, t->kern->matmul);
	}
}

void exec_matmul_sparse(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_sparse x = {
		.order = { .neighbours = insn->neighbours, .slots = insn->src0.num[0] },
		.rows = (unsigned int)insn->partitions * insn->src0.num[0],
		.fm = t->at.src0.count / insn->src0.num[0],
	};
	struct exec_operand dst;

	exec_weights_plain(&t->weights);
	exec_read_tags(t, insn, &x);
	exec_ordered_rows(t, insn, &x.order);
	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	if (x.shared || !exec_finite(t, x.rows, x.fm))
		exec_sparse_columns(t, insn, &x, &dst);
	else
		exec_sparse_dense(t, insn, &x, &dst);
}

/* Elements as they are; bytes become 16 bits */
void exec_transpose_bits(struct tpb *t, const struct neuron_insn *insn)
{
	const unsigned int n = t->at.src0.count, rows = insn->partitions;
	const unsigned int from = t->at.src0.size, to = t->at.dst.size;
	struct exec_operand src, dst;
	uint8_t *out = (uint8_t *)t->scratch->result;

	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	for (unsigned int p = 0; p < rows; p++) {
		const uint8_t *in;

		exec_operand_row(&src, p);
		in = exec_stream_get(&src.s, t->scratch->raw, n);
		for (unsigned int i = 0; i < n; i++) {
			uint32_t v = 0;

			memcpy(&v, in + (size_t)i * from, from);
			memcpy(out + ((size_t)i * rows + p) * to, &v, to);
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		exec_operand_row(&dst, i);
		exec_stream_put(&dst.s, out + (size_t)i * rows * to, rows);
	}
}
