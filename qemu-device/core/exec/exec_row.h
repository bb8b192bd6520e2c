/* SPDX-License-Identifier: MIT */
/*
 * Whole rows of an operand, as fp32 or as they are, and single ALU operations: for instructions
 * whose results depend on what came before in the row. Private to exec_*.c.
 */
#ifndef NCORE_EXEC_ROW_H
#define NCORE_EXEC_ROW_H

#include "exec_walk.h"

/* Partition p's elements as fp32, in buf, which has room for a vector more */
static inline void exec_row_floats(const struct tpb *t, struct exec_operand *o, unsigned int p,
				   float *buf)
{
	exec_operand_row(o, p);
	for (uint32_t done = 0, n; done < o->r.count; done += n) {
		const float *x;

		n = o->r.count - done < EXEC_CHUNK ? o->r.count - done : EXEC_CHUNK;
		x = exec_stream_floats(t, &o->s, o->dtype, buf + done, n);
		if (x != buf + done)
			memcpy(buf + done, x, n * sizeof(*x));
	}
}

/* A row's elements as they lie: in place where they are side by side, else in buf */
static inline const void *exec_row_raw(struct exec_operand *o, unsigned int p, void *buf)
{
	exec_operand_row(o, p);
	return exec_stream_get(&o->s, buf, o->r.count);
}

static inline void exec_row_put(struct exec_operand *o, unsigned int p, const void *raw)
{
	exec_operand_row(o, p);
	exec_stream_put(&o->s, raw, o->r.count);
}

/* Partition p's elements converted from fp32 and written; uses scratch->row */
static inline void exec_row_store(const struct tpb *t, struct exec_operand *o, unsigned int p,
				  const float *x)
{
	exec_operand_row(o, p);
	exec_stream_store(t, &o->s, o->dtype, x, o->r.count);
}

/* Integers of 32 bits into dst: bits where it has as many, else through fp32. In place */
static inline void exec_row_integers(const struct tpb *t, struct exec_operand *o, unsigned int p,
				     int32_t *v)
{
	float *x = (float *)(void *)v;

	if (neuron_isa_dtypes[o->dtype].integer && o->r.size == 4) {
		exec_row_put(o, p, v);
		return;
	}
	t->kern->load(NEURON_DT_INT32, x, v, o->r.count);
	exec_row_store(t, o, p, x);
}

/* docs/isa.md, 4.4: NaN wins, +0 is greater than -0 */
static inline float exec_max(float a, float b)
{
	uint32_t x, y;

	if (a != a || b != b)
		return a + b;
	if (a != b)
		return a > b ? a : b;
	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	x &= y;
	memcpy(&a, &x, sizeof(a));
	return a;
}

static inline float exec_min(float a, float b)
{
	return -exec_max(-a, -b);
}

/* One operation of two operands, as kern->alu does many */
static inline float exec_alu(const struct tpb *t, uint8_t op, float a, float b)
{
	float x[16] = { a }, y[16] = { b };

	switch (op) {
	case NEURON_ALU_ADD:
		return a + b;
	case NEURON_ALU_SUB:
		return a - b;
	case NEURON_ALU_MULT:
		return a * b;
	case NEURON_ALU_MAX:
		return exec_max(a, b);
	case NEURON_ALU_MIN:
		return exec_min(a, b);
	default:
		t->kern->alu(op, x, exec_array(x), exec_array(y), 1);
		return x[0];
	}
}

/* r = a op scalar, or scalar op a */
static inline void exec_alu_scalar(const struct tpb *t, uint8_t op, bool reverse, float *r,
				   float scalar, size_t n)
{
	float c[16];
	struct exec_vec k = exec_const(c, scalar);

	t->kern->alu(op, r, reverse ? k : exec_array(r), reverse ? exec_array(r) : k, n);
}

#endif
