/* SPDX-License-Identifier: MIT */
/*
 * ACT (Scalar engine): ACTIVATE with its accumulator registers, and the copies it shares with POOL
 * (docs/isa.md, Scalar engine). Called by tpb.c.
 */
#include "exec_walk.h"

#include <string.h>

#define EXEC_FEW 64 /* elements of rows that are taken many at a time */

/* Short rows as fp32, side by side in scratch->a: together at most a chunk */
static void exec_rows_in(struct tpb *t, struct exec_operand *src, unsigned int first,
			 unsigned int rows)
{
	const size_t bytes = src->r.count * sizeof(float);
	const uint8_t *at = src->part0 + first * src->stride + src->s.first;
	uint8_t *to = (uint8_t *)t->scratch->a;
	float x[EXEC_FEW + 16];

	if (exec_flat(src) && src->dtype == NEURON_DT_FP32) {
		for (unsigned int r = 0; r < rows; r++, at += src->stride)
			exec_copy_few(to + r * bytes, at, bytes);
		return;
	}
	for (unsigned int r = 0; r < rows; r++) {
		exec_operand_row(src, first + r);
		memcpy(to + r * bytes, exec_stream_floats(t, &src->s, src->dtype, x, src->r.count),
		       bytes);
	}
}

/* Short rows from scratch->a to dst, converted */
static void exec_rows_out(struct tpb *t, struct exec_operand *dst, unsigned int first,
			  unsigned int rows)
{
	const size_t bytes = (size_t)dst->r.count * dst->r.size;
	uint8_t *at = dst->part0 + first * dst->stride + dst->s.first;
	const uint8_t *from = (const uint8_t *)t->scratch->row;

	exec_store(t, dst->dtype, t->scratch->row, t->scratch->a, (size_t)rows * dst->r.count);
	for (unsigned int r = 0; r < rows; r++, from += bytes, at += dst->stride) {
		if (exec_flat(dst)) {
			exec_copy_few(at, from, bytes);
			continue;
		}
		exec_operand_row(dst, first + r);
		exec_stream_put(&dst->s, from, dst->r.count);
	}
}

/* The steps of an ACTIVATE on each element */
struct exec_activation {
	uint8_t func;
	float alpha;
	struct exec_vec scale, bias; /* one for all, or for each element its own */
};

/* func(data * scale + bias) of a into x: two fp32 roundings, then the function */
static void exec_activate_chunk(struct tpb *t, const struct exec_activation *f, float *x,
				const float *a, size_t n)
{
	if (f->scale.step || *f->scale.p != 1.0f) { /* 1 changes nothing */
		t->kern->alu(NEURON_ALU_MULT, x, exec_array(a), f->scale, n);
		a = x;
	}
	t->kern->alu(NEURON_ALU_ADD, x, exec_array(a), f->bias, n);
	t->kern->act(f->func, f->alpha, x, n);
}

/* The accumulator registers add in element order, with one fp32 rounding a step. */
static float exec_accumulate(float acc, const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		acc += x[i];
	return acc;
}

static void exec_activate_row(struct tpb *t, const struct neuron_insn *insn,
			      struct exec_operand *dst, struct exec_operand *src, bool direct,
			      unsigned int p)
{
	struct exec_scratch *s = t->scratch;
	bool reduce = insn->reduce_cmd & 2;
	float acc = insn->reduce_cmd & 1 ? 0 : t->acc[p], scale[16], bias[16];
	const struct exec_activation f = {
		.func = insn->func,
		.alpha = insn->alpha,
		.scale = exec_const(scale, exec_scalar_f32(t, &insn->scalar0, p)),
		.bias = exec_const(bias, exec_scalar_f32(t, &insn->scalar1, p)),
	};
	uint8_t *row = (uint8_t *)s->row;

	exec_operand_row(src, p);
	exec_operand_row(dst, p);
	if (p + 1 < insn->partitions) {
		exec_operand_ahead(src);
		exec_operand_ahead(dst);
	}
	for (uint32_t done = 0, n; done < src->r.count; done += n) {
		n = src->r.count - done < EXEC_CHUNK ? src->r.count - done : EXEC_CHUNK;
		exec_activate_chunk(t, &f, s->a,
				    exec_stream_floats(t, &src->s, src->dtype, s->a, n), n);
		if (reduce)
			acc = exec_accumulate(acc, s->a, n);
		if (direct)
			exec_stream_store(t, &dst->s, dst->dtype, s->a, n);
		else
			exec_store(t, dst->dtype, row + (size_t)done * dst->r.size, s->a, n);
	}
	if (!direct)
		exec_stream_put(&dst->s, row, dst->r.count);
	t->acc[p] = exec_canonical(acc);
}

/* A scalar for each of the elements of rows that stand side by side, in buf */
static struct exec_vec exec_spread(struct tpb *t, const struct neuron_scalar *scalar, float *buf,
				   unsigned int first, unsigned int rows, uint32_t count)
{
	if (scalar->kind == NEURON_SCALAR_IMM)
		return exec_const(buf, scalar->f);
	for (unsigned int r = 0; r < rows; r++) {
		float value = exec_scalar_f32(t, scalar, first + r);

		for (uint32_t i = 0; i < count; i++)
			buf[r * count + i] = value;
	}
	return exec_array(buf);
}

static void exec_accumulate_rows(struct tpb *t, uint8_t cmd, unsigned int first, unsigned int rows,
				 uint32_t count)
{
	for (unsigned int r = 0; r < rows; r++) {
		float acc = cmd & 1 ? 0 : t->acc[first + r];

		if (cmd & 2)
			acc = exec_accumulate(acc, t->scratch->a + r * count, count);
		t->acc[first + r] = exec_canonical(acc);
	}
}

/* Short rows side by side: what surrounds the function costs as much for one element as for many */
static void exec_activate_rows(struct tpb *t, const struct neuron_insn *insn,
			       struct exec_operand *dst, struct exec_operand *src,
			       unsigned int first, unsigned int rows)
{
	const uint32_t count = src->r.count;
	struct exec_scratch *s = t->scratch;
	const struct exec_activation f = {
		.func = insn->func,
		.alpha = insn->alpha,
		.scale = exec_spread(t, &insn->scalar0, s->b, first, rows, count),
		.bias = exec_spread(t, &insn->scalar1, s->c, first, rows, count),
	};

	exec_rows_in(t, src, first, rows);
	exec_activate_chunk(t, &f, s->a, s->a, (size_t)rows * count);
	exec_accumulate_rows(t, insn->reduce_cmd, first, rows, count);
	exec_rows_out(t, dst, first, rows);
}

static void exec_activate_few(struct tpb *t, const struct neuron_insn *insn,
			      struct exec_operand *dst, struct exec_operand *src)
{
	unsigned int most = EXEC_CHUNK / src->r.count;

	for (unsigned int p = 0; p < insn->partitions; p += most)
		exec_activate_rows(t, insn, dst, src, p,
				   insn->partitions - p < most ? insn->partitions - p : most);
}

static void exec_activate(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src;
	bool direct;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	if (src.r.count <= EXEC_FEW) {
		exec_activate_few(t, insn, &dst, &src);
		return;
	}
	direct = exec_chunks_safe(&dst, &src);
	for (unsigned int p = 0; p < insn->partitions; p++)
		exec_activate_row(t, insn, &dst, &src, direct, p);
}

static void exec_read_acc(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst;
	float x[16] = { 0 };
	uint32_t raw[16];

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		x[0] = t->acc[p];
		exec_store(t, dst.dtype, raw, x, 1);
		exec_operand_row(&dst, p);
		exec_stream_put(&dst.s, raw, 1);
	}
}

/* The next n elements as they are; what is still to be read may be written */
static void exec_copy_bits(struct tpb *t, struct exec_stream *dst, struct exec_stream *src,
			   uint32_t n)
{
	void *at = exec_stream_at(dst, n);
	const void *in = exec_stream_get(src, at ? at : t->scratch->raw, n);

	if (!at)
		exec_stream_put(dst, in, n);
	else if (in != at)
		memcpy(at, in, (size_t)n * src->size);
}

static void exec_copy_row(struct tpb *t, struct exec_operand *dst, struct exec_operand *src,
			  bool bits, bool direct)
{
	struct exec_scratch *s = t->scratch;
	uint8_t *row = (uint8_t *)s->row;

	for (uint32_t done = 0, n; done < src->r.count; done += n) {
		uint8_t *at = row + (size_t)done * dst->r.size;

		n = src->r.count - done < EXEC_CHUNK ? src->r.count - done : EXEC_CHUNK;
		if (!bits) {
			const float *x = exec_stream_floats(t, &src->s, src->dtype, s->a, n);

			if (direct)
				exec_stream_store(t, &dst->s, dst->dtype, x, n);
			else
				exec_store(t, dst->dtype, at, x, n);
		} else if (direct) {
			exec_copy_bits(t, &dst->s, &src->s, n);
		} else {
			memcpy(at, exec_stream_get(&src->s, s->raw, n), (size_t)n * src->r.size);
		}
	}
	if (!direct)
		exec_stream_put(&dst->s, row, dst->r.count);
}

/* Rows whose elements lie side by side in both operands; they may overlap */
static bool exec_copy_flat(const struct exec_operand *dst, const struct exec_operand *src,
			   unsigned int partitions)
{
	size_t bytes = (size_t)dst->r.count * dst->r.size;

	if (!exec_flat(dst) || !exec_flat(src))
		return false;
	for (unsigned int p = 0; p < partitions; p++) {
		uint8_t *to = dst->part0 + p * dst->stride + dst->s.first;
		const uint8_t *from = src->part0 + p * src->stride + src->s.first;

		if (p + 1 < partitions) {
			__builtin_prefetch(from + src->stride);
			__builtin_prefetch(to + dst->stride);
		}
		if (bytes == 4) /* as often as not */
			memcpy(to, from, 4);
		else
			memmove(to, from, bytes);
	}
	return true;
}

/* Short rows through fp32, many at a time */
static void exec_copy_few_rows(struct tpb *t, struct exec_operand *dst, struct exec_operand *src,
			       unsigned int partitions)
{
	unsigned int most = EXEC_CHUNK / src->r.count, n;

	for (unsigned int p = 0; p < partitions; p += n) {
		n = partitions - p < most ? partitions - p : most;
		exec_rows_in(t, src, p, n);
		exec_rows_out(t, dst, p, n);
	}
}

/* Numbers whose biases are not those of their types: a whole row is read before it is written */
static void exec_copy_biased(struct tpb *t, const struct neuron_insn *insn,
			     struct exec_operand *dst, struct exec_operand *src)
{
	const float scale = exec_bias_scale(insn->src_bias) / exec_bias_scale(insn->dst_bias);
	struct exec_scratch *s = t->scratch;

	for (unsigned int p = 0; p < insn->partitions; p++) {
		exec_operand_row(src, p);
		exec_operand_row(dst, p);
		for (uint32_t done = 0, n; done < src->r.count; done += n) {
			const float *x;

			n = src->r.count - done < EXEC_CHUNK ? src->r.count - done : EXEC_CHUNK;
			x = exec_stream_floats(t, &src->s, src->dtype, s->a, n);
			for (uint32_t i = 0; i < n; i++)
				s->acc[done + i] = x[i] * scale;
		}
		exec_stream_store(t, &dst->s, dst->dtype, s->acc, dst->r.count);
	}
}

/* Equal types keep their bits, unless the engine's path is fp32 (ACT) */
void exec_tensor_copy(struct tpb *t, const struct neuron_insn *insn, bool through_fp32)
{
	bool bits = insn->dst.dtype == insn->src0.dtype && !through_fp32 &&
		    insn->src_bias == insn->dst_bias,
	     direct;
	struct exec_operand dst, src;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	if (!bits && (insn->src_bias || insn->dst_bias)) {
		exec_copy_biased(t, insn, &dst, &src);
		return;
	}
	direct = exec_chunks_safe(&dst, &src);
	if (bits && exec_copy_flat(&dst, &src, insn->partitions))
		return;
	if (!bits && src.r.count <= EXEC_FEW) {
		exec_copy_few_rows(t, &dst, &src, insn->partitions);
		return;
	}
	for (unsigned int p = 0; p < insn->partitions; p++) {
		exec_operand_row(&src, p);
		exec_operand_row(&dst, p);
		if (p + 1 < insn->partitions) {
			exec_operand_ahead(&src);
			exec_operand_ahead(&dst);
		}
		exec_copy_row(t, &dst, &src, bits, direct);
	}
}

void exec_memset(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_scratch *s = t->scratch;
	const uint32_t count = t->at.dst.count, most = count < EXEC_CHUNK ? count : EXEC_CHUNK;
	struct exec_operand dst;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	for (uint32_t i = 0; i < most; i++)
		s->a[i] = insn->scalar0.f;
	if (!exec_rounds_at_random(t, dst.dtype))
		exec_store(t, dst.dtype, s->row, s->a, most);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		exec_operand_row(&dst, p);
		for (uint32_t done = 0, n; done < dst.r.count; done += n) {
			n = dst.r.count - done < EXEC_CHUNK ? dst.r.count - done : EXEC_CHUNK;
			if (exec_rounds_at_random(t, dst.dtype))
				exec_store(t, dst.dtype, s->row, s->a, n);
			exec_stream_put(&dst.s, s->row, n);
		}
	}
}

int exec_act(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault)
{
	switch (insn->opcode) {
	case NEURON_OP_ACTIVATE:
		exec_activate(t, insn);
		break;
	case NEURON_OP_ACT_READ_ACC:
		exec_read_acc(t, insn);
		break;
	case NEURON_OP_TENSOR_COPY:
		exec_tensor_copy(t, insn, t->cfg.target->core < 3);
		break;
	case NEURON_OP_TENSOR_SCALAR:
		exec_elementwise(t, insn);
		break;
	default:
		exec_memset(t, insn);
	}
	return 0;
}
