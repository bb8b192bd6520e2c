/* SPDX-License-Identifier: MIT */
/*
 * TENSOR_REDUCE (docs/isa.md): each result combines its elements in element order. Many results go
 * side by side, element after element; few results walk the row. Maximum, minimum and the logical
 * operations give the same bits in any order. Called by exec_pool.c.
 */
#include "exec_walk.h"

#include <string.h>

/* An operation on raw elements of so many bits */
static uint32_t exec_bitvec(uint8_t op, uint32_t a, uint32_t b, unsigned int bits)
{
	uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;

	a &= mask;
	b &= mask;
	switch (op) {
	case NEURON_ALU_AND:
		return a & b;
	case NEURON_ALU_OR:
		return a | b;
	case NEURON_ALU_XOR:
		return a ^ b;
	case NEURON_ALU_NOT:
		return ~a & mask;
	case NEURON_ALU_SHL:
		return b >= bits ? 0 : a << b & mask;
	case NEURON_ALU_SHR:
		return b >= bits ? 0 : a >> b;
	default: /* bypass */
		return a;
	}
}

#define REDUCE_WIDE 16 /* With this many results or more they are computed side by side. */

struct exec_reduce {
	struct tpb *t;
	const struct neuron_insn *insn;
	struct exec_operand dst, src;
	struct exec_operand outer; /* src without the reduced dimensions */
	uint32_t results, length; /* elements of each result */
	int64_t step; /* bytes from a result's element to its next; 0: or not the same everywhere */
	bool logical, bitvec;
};

/* The step of the one reduced dimension of more than one element */
static int64_t exec_reduce_step(const struct neuron_insn *insn, unsigned int size)
{
	int64_t step = 0;
	int dims = 0;

	for (int d = NEURON_AP_DIMS - insn->reduce_dims; d < NEURON_AP_DIMS; d++) {
		if (insn->src0.num[d] == 1)
			continue;
		step = (int64_t)insn->src0.step[d] * size;
		dims++;
	}
	return dims == 1 ? step : 0;
}

static void exec_reduce_init(struct exec_reduce *x, struct tpb *t, const struct neuron_insn *insn)
{
	struct neuron_ap outer = insn->src0;
	struct neuron_isa_region r;

	x->t = t;
	x->insn = insn;
	exec_operand_init(t, &x->dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &x->src, &insn->src0, &t->at.src0);
	for (int d = NEURON_AP_DIMS - insn->reduce_dims; d < NEURON_AP_DIMS; d++) {
		outer.step[d] = 0;
		outer.num[d] = 1;
	}
	neuron_isa_locate(&outer, insn->partitions, t->cfg.target, &r);
	exec_operand_init(t, &x->outer, &outer, &r);
	x->results = x->dst.r.count;
	x->length = x->src.r.count / x->results;
	x->logical = insn->op0 >= NEURON_ALU_LOGICAL_AND && insn->op0 <= NEURON_ALU_LOGICAL_XOR;
	x->step = exec_reduce_step(insn, x->src.r.size);
	x->bitvec = neuron_isa_alu_class(insn->op0) & NEURON_ALU_BITVEC;
}

static const float *exec_truth(struct tpb *t, float *x, const float *a, size_t n)
{
	float zero[16];

	t->kern->alu(NEURON_ALU_NE, x, exec_array(a), exec_const(zero, 0), n);
	return x;
}

/* Byte distance of element r of a result from its element 0 */
static int64_t exec_reduce_offset(const struct exec_reduce *x, uint32_t r)
{
	const struct neuron_ap *ap = &x->insn->src0;
	int64_t off = 0;

	for (int i = 0; i < x->insn->reduce_dims; i++) {
		int d = NEURON_AP_DIMS - 1 - i;

		off += (int64_t)(r % ap->num[d]) * ap->step[d];
		r /= ap->num[d];
	}
	return off * x->src.r.size;
}

/* Results that lie side by side, whole runs of them: each element of all its results at once */
static bool exec_reduce_across(struct exec_reduce *x, unsigned int p, float *acc)
{
	struct exec_stream *s = &x->outer.s;

	if (!x->step || x->logical || x->src.dtype != NEURON_DT_FP32 ||
	    s->step[s->ndim - 1] != s->size || s->num[s->ndim - 1] < REDUCE_WIDE)
		return false;
	exec_operand_row(&x->outer, p);
	for (uint32_t done = 0, n; done < x->results; done += n) {
		n = exec_stream_run(s, x->results - done);
		if (!x->t->kern->across(x->insn->op0, acc + done, s->base + s->pos, x->step,
					x->length, n))
			return false;
		exec_stream_advance(s, n);
	}
	return true;
}

static void exec_reduce_wide(struct exec_reduce *x, unsigned int p, float *acc)
{
	struct exec_scratch *s = x->t->scratch;

	if (exec_reduce_across(x, p, acc))
		return;
	for (uint32_t r = 0; r < x->length; r++) {
		exec_operand_row(&x->outer, p);
		x->outer.s.pos += exec_reduce_offset(x, r);
		for (uint32_t done = 0, n; done < x->results; done += n) {
			n = x->results - done < EXEC_CHUNK ? x->results - done : EXEC_CHUNK;
			x->t->kern->load(x->src.dtype, s->a,
					 exec_stream_get(&x->outer.s, s->raw, n), n);
			if (x->logical)
				exec_truth(x->t, s->a, s->a, n);
			if (r)
				x->t->kern->alu(x->insn->op0, s->b, exec_array(acc + done),
						exec_array(s->a), n);
			memcpy(acc + done, r ? s->b : s->a, n * sizeof(*acc));
		}
	}
}

/* acc op x[0] op x[1] ..., in order */
static float exec_fold_ordered(uint8_t op, float acc, const float *x, size_t n)
{
	if (op == NEURON_ALU_ADD)
		for (size_t i = 0; i < n; i++)
			acc += x[i];
	else if (op == NEURON_ALU_SUB)
		for (size_t i = 0; i < n; i++)
			acc -= x[i];
	else
		for (size_t i = 0; i < n; i++)
			acc *= x[i];
	return acc;
}

static bool exec_is_ordered(uint8_t op)
{
	return op == NEURON_ALU_ADD || op == NEURON_ALU_SUB || op == NEURON_ALU_MULT;
}

static float exec_reduce_one(struct exec_reduce *x)
{
	struct exec_scratch *s = x->t->scratch;
	uint8_t op = x->insn->op0;
	float acc = 0;

	for (uint32_t done = 0, n; done < x->length; done += n) {
		size_t first = done == 0;
		const float *a;

		n = x->length - done < EXEC_CHUNK ? x->length - done : EXEC_CHUNK;
		a = exec_stream_floats(x->t, &x->src.s, x->src.dtype, s->a, n);
		if (x->logical)
			a = exec_truth(x->t, s->a, a, n);
		if (first)
			acc = a[0];
		if (exec_is_ordered(op)) {
			acc = exec_fold_ordered(op, acc, a + first, n - first);
		} else {
			s->b[0] = acc;
			s->b[1] = x->t->kern->fold(op, a, n);
			acc = first ? s->b[1] : x->t->kern->fold(op, s->b, 2);
		}
	}
	return acc;
}

static void exec_reduce_scale(struct exec_reduce *x, float *acc, size_t n)
{
	const struct exec_kernels *kern = x->t->kern;
	float c[16];

	if (x->insn->alpha != 0)
		kern->alu(NEURON_ALU_MULT, acc, exec_array(acc), exec_const(c, x->insn->alpha), n);
	if (x->insn->negate)
		kern->alu(NEURON_ALU_MULT, acc, exec_array(acc), exec_const(c, -1), n);
}

static void exec_reduce_row(struct exec_reduce *x, unsigned int p)
{
	struct exec_scratch *s = x->t->scratch;
	float *acc = s->acc;

	exec_reduce_wide(x, p, acc);
	exec_operand_row(&x->dst, p);
	for (uint32_t done = 0, n; done < x->results; done += n) {
		n = x->results - done < EXEC_CHUNK ? x->results - done : EXEC_CHUNK;
		memcpy(s->a, acc + done, n * sizeof(*acc));
		exec_reduce_scale(x, s->a, n);
		exec_store(x->t, x->dst.dtype, s->raw, s->a, n);
		exec_stream_put(&x->dst.s, s->raw, n);
	}
}

#define SIDE 8 /* rows side by side: as many sums that do not wait for each other */

/* acc[j] op the rest of row j, in order */
static void exec_fold_side(uint8_t op, float acc[SIDE], const float *const row[SIDE], size_t n)
{
#define FOLD(operation)                                 \
	for (size_t i = 1; i < n; i++)                  \
		for (unsigned int j = 0; j < SIDE; j++) \
	acc[j] = acc[j] operation row[j][i]

	if (op == NEURON_ALU_ADD)
		FOLD(+);
	else if (op == NEURON_ALU_SUB)
		FOLD(-);
	else
		FOLD(*);
#undef FOLD
}

/* The results of SIDE partitions, one of each, whose order does matter */
static void exec_reduce_side(struct exec_reduce *x, unsigned int p, float acc[SIDE])
{
	struct exec_scratch *s = x->t->scratch;
	const float *row[SIDE];

	for (unsigned int j = 0; j < SIDE; j++) {
		float *buf = s->x + (size_t)j * EXEC_MM_X_ROW;
		const void *in;

		exec_operand_row(&x->src, p + j);
		in = exec_stream_get(&x->src.s, s->raw, x->length);
		row[j] = in;
		if (x->src.dtype != NEURON_DT_FP32 || in == s->raw) {
			x->t->kern->load(x->src.dtype, buf, in, x->length);
			row[j] = buf;
		}
		acc[j] = row[j][0];
	}
	exec_fold_side(x->insn->op0, acc, row, x->length);
}

/* Few results of each partition: first all of them */
static void exec_reduce_few(struct exec_reduce *x)
{
	const unsigned int partitions = x->insn->partitions;
	const bool side = x->results == 1 && exec_is_ordered(x->insn->op0) &&
			  x->length <= NEURON_ISA_MAX_MOVING;
	struct exec_scratch *s = x->t->scratch;
	const uint8_t *out = (const uint8_t *)s->row;
	float *acc = s->acc;
	unsigned int p = 0;

	for (; side && p + SIDE <= partitions; p += SIDE)
		exec_reduce_side(x, p, acc + p);
	for (; p < partitions; p++) {
		exec_operand_row(&x->src, p);
		for (uint32_t i = 0; i < x->results; i++)
			acc[p * x->results + i] = exec_reduce_one(x);
	}
	exec_reduce_scale(x, acc, (size_t)partitions * x->results);
	exec_store(x->t, x->dst.dtype, s->row, acc, (size_t)partitions * x->results);
	for (p = 0; p < partitions; p++, out += (size_t)x->results * x->dst.r.size) {
		exec_operand_row(&x->dst, p);
		exec_stream_put(&x->dst.s, out, x->results);
	}
}

static uint32_t exec_raw_next(struct exec_stream *s)
{
	uint32_t buf = 0, v = 0;

	memcpy(&v, exec_stream_get(s, &buf, 1), s->size);
	return v;
}

static void exec_reduce_bitvec_row(struct exec_reduce *x, unsigned int p)
{
	struct exec_scratch *s = x->t->scratch;
	uint8_t *out = (uint8_t *)s->row;

	exec_operand_row(&x->src, p);
	for (uint32_t i = 0; i < x->results; i++) {
		uint32_t acc = exec_raw_next(&x->src.s);

		for (uint32_t r = 1; r < x->length; r++)
			acc = exec_bitvec(x->insn->op0, acc, exec_raw_next(&x->src.s),
					  8 * x->src.r.size);
		memcpy(out + (size_t)i * x->dst.r.size, &acc, x->dst.r.size);
	}
	exec_operand_row(&x->dst, p);
	exec_stream_put(&x->dst.s, out, x->results);
}

void exec_tensor_reduce(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_reduce x;

	exec_reduce_init(&x, t, insn);
	if (!x.bitvec && x.results < REDUCE_WIDE) {
		exec_reduce_few(&x);
		return;
	}
	for (unsigned int p = 0; p < insn->partitions; p++)
		if (x.bitvec)
			exec_reduce_bitvec_row(&x, p);
		else
			exec_reduce_row(&x, p);
}
