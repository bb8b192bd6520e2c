/* SPDX-License-Identifier: MIT */
/*
 * POOL's instructions whose places are data: GATHER and SCATTER (docs/isa.md, Vector engine).
 * Called by exec_pool.c.
 */
#include "exec_walk.h"

#include <math.h>
#include <string.h>

void exec_indexed_gather(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_scratch *s = t->scratch;
	struct exec_operand dst, table, index;
	const unsigned int p = insn->partitions;
	bool direct;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &table, &insn->src0, &t->at.src0);
	exec_operand_init(t, &index, &insn->src1, &t->at.src1);
	direct = exec_apart(&dst, p, &table, p) && exec_apart(&dst, p, &index, p);
	for (unsigned int row = 0; row < p; row++) {
		const void *from;
		const int32_t *at;
		void *to;

		exec_operand_row(&dst, row);
		exec_operand_row(&table, row);
		exec_operand_row(&index, row);
		from = exec_stream_get(&table.s, s->acc, table.r.count);
		at = exec_stream_get(&index.s, s->x, index.r.count);
		to = direct ? exec_stream_at(&dst.s, dst.r.count) : NULL;
		t->kern->gather(to ? to : s->row, from, dst.r.size, table.r.count, at, dst.r.count);
		if (!to)
			exec_stream_put(&dst.s, s->row, dst.r.count);
	}
}

/* An integer that is ordered as the float of these bits is, -0 before 0; NaN are at the ends. */
static inline int32_t exec_ordered(uint32_t a)
{
	return (int32_t)(a ^ -(a >> 31) >> 1);
}

/*
 * The greater (or smaller) of two floats by docs/isa.md, 4.4, in bits; zeros have an order. Which
 * one it is cannot be predicted, so that takes no branch.
 */
static inline uint32_t exec_extreme(uint32_t a, uint32_t b, bool greater)
{
	uint32_t first = -(uint32_t)((exec_ordered(a) > exec_ordered(b)) == greater);
	float x, y;

	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	return isunordered(x, y) ? EXEC_NAN : b ^ ((a ^ b) & first);
}

static inline uint32_t exec_sum(uint32_t a, uint32_t b)
{
	float x, y;

	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	x = exec_canonical(x + y);
	memcpy(&a, &x, sizeof(a));
	return a;
}

/*
 * t[at[i]] becomes value, an expression of what is there, old, and of in[i]. What names no element
 * changes a word that nobody reads, so that nothing has to be predicted.
 */
#define EXEC_SCATTER(type, value)                                 \
	do {                                                      \
		const type *in = from;                            \
		type *t = table, none = 0;                        \
                                                                  \
		for (uint32_t i = 0; i < m; i++) {                \
			type *to = at[i] < n ? t + at[i] : &none; \
			type old = *to, a = in[i];                \
                                                                  \
			(void)old;                                \
			*to = value;                              \
		}                                                 \
	} while (0)

static void exec_scatter_floats(uint8_t op, uint32_t *table, uint32_t n, const void *from,
				const uint32_t *at, uint32_t m)
{
	if (op == NEURON_ALU_ADD)
		EXEC_SCATTER(uint32_t, exec_sum(old, a));
	else if (op == NEURON_ALU_MAX)
		EXEC_SCATTER(uint32_t, exec_extreme(old, a, true));
	else
		EXEC_SCATTER(uint32_t, exec_extreme(old, a, false));
}

static void exec_scatter_integers(uint8_t op, uint32_t *table, uint32_t n, const void *from,
				  const uint32_t *at, uint32_t m)
{
	if (op == NEURON_ALU_ADD)
		EXEC_SCATTER(uint32_t, old + a);
	else if (op == NEURON_ALU_MAX)
		EXEC_SCATTER(uint32_t, (int32_t)old > (int32_t)a ? old : a);
	else
		EXEC_SCATTER(uint32_t, (int32_t)old < (int32_t)a ? old : a);
}

static void exec_scatter_bits(uint8_t size, void *table, uint32_t n, const void *from,
			      const uint32_t *at, uint32_t m)
{
	if (size == 1)
		EXEC_SCATTER(uint8_t, a);
	else if (size == 2)
		EXEC_SCATTER(uint16_t, a);
	else
		EXEC_SCATTER(uint32_t, a);
}

/* m updates of a table of n contiguous elements */
static void exec_scatter_row(const struct neuron_insn *insn, const struct exec_operand *dst,
			     void *table, const void *from, const uint32_t *at, uint32_t m)
{
	uint32_t n = dst->r.count;

	if (insn->op0 == NEURON_ALU_BYPASS)
		exec_scatter_bits(dst->r.size, table, n, from, at, m);
	else if (dst->dtype == NEURON_DT_FP32)
		exec_scatter_floats(insn->op0, table, n, from, at, m);
	else
		exec_scatter_integers(insn->op0, table, n, from, at, m);
}

void exec_indexed_scatter(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_scratch *s = t->scratch;
	struct exec_operand dst, from, index;
	const unsigned int p = insn->partitions;
	bool direct;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &from, &insn->src0, &t->at.src0);
	exec_operand_init(t, &index, &insn->src1, &t->at.src1);
	direct = exec_apart(&dst, p, &from, p) && exec_apart(&dst, p, &index, p);
	for (unsigned int row = 0; row < p; row++) {
		const void *in;
		const uint32_t *at;
		void *table;

		exec_operand_row(&dst, row);
		exec_operand_row(&from, row);
		exec_operand_row(&index, row);
		in = exec_stream_get(&from.s, s->acc, from.r.count);
		at = exec_stream_get(&index.s, s->x, index.r.count);
		table = direct ? exec_stream_at(&dst.s, dst.r.count) : NULL;
		if (!table) {
			const void *old = exec_stream_get(&dst.s, s->row, dst.r.count);

			table = s->row;
			if (old != table)
				memcpy(table, old, (size_t)dst.r.count * dst.r.size);
			exec_operand_row(&dst, row);
		}
		exec_scatter_row(insn, &dst, table, in, at, index.r.count);
		if (table == s->row)
			exec_stream_put(&dst.s, table, dst.r.count);
	}
}
