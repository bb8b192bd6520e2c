/* SPDX-License-Identifier: MIT */
/*
 * POOL's operations on raw bits: the bitvec class of the ALU and predicated copies (docs/isa.md,
 * Arithmetic and Vector engine). Elements of any size are taken as 32 bits, a chunk at a time; the
 * loops are plain, so that the compiler makes vectors of them. Called by exec_pool.c.
 */
#include "exec_walk.h"

#include <string.h>

uint32_t exec_bitvec(uint8_t op, uint32_t a, uint32_t b, unsigned int bits)
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

/* Raw elements of 1, 2 or 4 bytes as 32 bits, and back */
static void exec_bits_load(uint32_t *restrict to, const void *from, uint8_t size, size_t n)
{
	const uint8_t *b = from;
	const uint16_t *h = from; /* elements are aligned to their size */

	if (size == 4)
		memcpy(to, from, 4 * n);
	else if (size == 2)
		for (size_t i = 0; i < n; i++)
			to[i] = h[i];
	else
		for (size_t i = 0; i < n; i++)
			to[i] = b[i];
}

static void exec_bits_store(void *to, const uint32_t *restrict from, uint8_t size, size_t n)
{
	uint8_t *b = to;
	uint16_t *h = to;

	if (size == 4)
		memcpy(to, from, 4 * n);
	else if (size == 2)
		for (size_t i = 0; i < n; i++)
			h[i] = (uint16_t)from[i];
	else
		for (size_t i = 0; i < n; i++)
			b[i] = (uint8_t)from[i];
}

#define EACH(expr)                       \
	for (size_t i = 0; i < n; i++) { \
		uint32_t a = va[i];      \
		va[i] = (expr);          \
	}                                \
	break

/* a = a op c */
static void exec_bits_const(uint8_t op, uint32_t *va, uint32_t c, size_t n, unsigned int bits)
{
	uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;

	c &= mask;
	if ((op == NEURON_ALU_SHL || op == NEURON_ALU_SHR) && c >= bits) {
		memset(va, 0, n * sizeof(*va));
		return;
	}
	switch (op) {
	case NEURON_ALU_AND:
		EACH(a & c);
	case NEURON_ALU_OR:
		EACH(a | c);
	case NEURON_ALU_XOR:
		EACH(a ^ c);
	case NEURON_ALU_NOT:
		EACH(~a & mask);
	case NEURON_ALU_SHL:
		EACH(a << c & mask);
	case NEURON_ALU_SHR:
		EACH(a >> c);
	default: /* bypass */
		break;
	}
}

/* a = a op b */
static void exec_bits_array(uint8_t op, uint32_t *restrict va, const uint32_t *restrict vb,
			    size_t n, unsigned int bits)
{
	switch (op) {
	case NEURON_ALU_AND:
		EACH(a & vb[i]);
	case NEURON_ALU_OR:
		EACH(a | vb[i]);
	case NEURON_ALU_XOR:
		EACH(a ^ vb[i]);
	default:
		EACH(exec_bitvec(op, a, vb[i], bits));
	}
}

/* One operation of TENSOR_SCALAR; only shifts care which operand comes first */
static void exec_bits_scalar(uint8_t op, bool reverse, uint32_t *va, uint32_t c, size_t n,
			     unsigned int bits)
{
	if (reverse && (op == NEURON_ALU_SHL || op == NEURON_ALU_SHR || op == NEURON_ALU_BYPASS))
		for (size_t i = 0; i < n; i++)
			va[i] = exec_bitvec(op, c, va[i], bits);
	else
		exec_bits_const(op, va, c, n, bits);
}

/* Copies a where the predicate b holds, and leaves the destination elsewhere. */
static void exec_bits_choose(uint32_t *restrict va, const uint32_t *restrict vb,
			     const uint32_t *restrict old, size_t n, bool reverse)
{
	uint32_t turn = reverse ? ~0u : 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t take = (vb[i] ? ~0u : 0) ^ turn;

		va[i] = (va[i] & take) | (old[i] & ~take);
	}
}

void exec_bits_row(struct tpb *t, const struct neuron_insn *insn, struct exec_operand *dst,
		   struct exec_operand *src0, struct exec_operand *src1, unsigned int p)
{
	struct exec_scratch *s = t->scratch;
	uint32_t va[EXEC_CHUNK], vb[EXEC_CHUNK], old[EXEC_CHUNK];
	uint32_t c[2] = { exec_scalar_bits(t, &insn->scalar0, p),
			  exec_scalar_bits(t, &insn->scalar1, p) };
	bool choose = insn->opcode == NEURON_OP_COPY_PREDICATED;
	unsigned int bits = 8 * dst->r.size;
	struct exec_stream before;

	exec_operand_row(dst, p);
	exec_operand_row(src0, p);
	if (src1)
		exec_operand_row(src1, p);
	before = dst->s;
	for (uint32_t done = 0, n; done < dst->r.count; done += n) {
		n = dst->r.count - done < EXEC_CHUNK ? dst->r.count - done : EXEC_CHUNK;
		exec_bits_load(va, exec_stream_get(&src0->s, s->raw, n), src0->r.size, n);
		if (src1)
			exec_bits_load(vb, exec_stream_get(&src1->s, s->raw, n), src1->r.size, n);
		if (choose) {
			exec_bits_load(old, exec_stream_get(&before, s->raw, n), dst->r.size, n);
			exec_bits_choose(va, vb, old, n, insn->reverse0);
		} else if (src1) {
			exec_bits_array(insn->op0, va, vb, n, bits);
		} else {
			exec_bits_scalar(insn->op0, insn->reverse0, va, c[0], n, bits);
			exec_bits_scalar(insn->op1, insn->reverse1, va, c[1], n, bits);
		}
		exec_bits_store((uint8_t *)s->row + (size_t)done * dst->r.size, va, dst->r.size, n);
	}
	exec_stream_put(&dst->s, s->row, dst->r.count);
}
