/* SPDX-License-Identifier: MIT */
/*
 * POOL (Vector engine): element-wise arithmetic, copies and transposes (docs/isa.md,
 * Vector engine); reductions are exec_reduce.c's, operations on raw bits exec_bits.c's. Called by
 * tpb.c.
 */
#include "exec_walk.h"

#include <string.h>

/* An element-wise instruction as (src0 op0 scalar) op1 src1 or scalar, its operands located */
static void exec_pool_init(struct exec_arith *x, struct tpb *t, const struct neuron_insn *insn)
{
	bool one = insn->opcode == NEURON_OP_RECIPROCAL,
	     two = insn->opcode == NEURON_OP_TENSOR_TENSOR;

	*x = (struct exec_arith){
		.has_src1 = neuron_isa_ops[insn->opcode].fields & NEURON_FB(SRC1),
		.op0 = one   ? NEURON_ALU_RECIP
		       : two ? NEURON_ALU_BYPASS
			     : insn->op0,
		.op1 = one   ? NEURON_ALU_BYPASS
		       : two ? insn->op0
			     : insn->op1,
		.reverse0 = !one && !two && insn->reverse0,
		.reverse1 = !one && !two && insn->reverse1,
		.partitions = insn->partitions,
		.scalar = { exec_scalar_place(t, &insn->scalar0),
			    exec_scalar_place(t, &insn->scalar1) },
		.scratch = t->scratch,
	};
	exec_operand_init(t, &x->dst, &insn->dst, insn->partitions);
	exec_operand_init(t, &x->src0, &insn->src0, insn->partitions);
	x->direct = exec_chunks_safe(&x->dst, &x->src0);
	if (!x->has_src1)
		return;
	exec_operand_init(t, &x->src1, &insn->src1, insn->partitions);
	x->direct = x->direct && exec_chunks_safe(&x->dst, &x->src1);
}

static void exec_elementwise(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_arith x;
	bool raw = insn->opcode == NEURON_OP_COPY_PREDICATED ||
		   ((neuron_isa_alu_class(insn->op0) | neuron_isa_alu_class(insn->op1)) &
		    NEURON_ALU_BITVEC);

	exec_pool_init(&x, t, insn);
	if (!raw) {
		t->kern->arith(&x);
		return;
	}
	for (unsigned int p = 0; p < insn->partitions; p++)
		exec_bits_row(t, insn, &x.dst, &x.src0, x.has_src1 ? &x.src1 : NULL, p);
}

#define EXEC_TURN(type)                                                          \
	do {                                                                     \
		const type *from = in;                                           \
		type *to = out;                                                  \
		for (uint32_t b = 0; b < n; b += cols, to += rows, from += cols) \
			for (uint32_t c = 0; c < cols; c++)                      \
				to[(size_t)c * stride] = from[c];                \
	} while (0)

/* Row r of blocks that lie side by side becomes their column: n elements, stride between rows */
static void exec_turn_row(void *row, unsigned int r, const void *in, uint32_t n, unsigned int rows,
			  unsigned int cols, uint8_t size)
{
	uint32_t stride = n / cols * rows;
	void *out = (uint8_t *)row + (size_t)r * size;

	if (size == 1)
		EXEC_TURN(uint8_t);
	else if (size == 2)
		EXEC_TURN(uint16_t);
	else
		EXEC_TURN(uint32_t);
}

/*
 * One quadrant, or one block that is not full: rows x cols blocks side by side. The whole quadrant
 * is read before it is written.
 */
static void exec_transpose_quadrant(struct tpb *t, struct exec_operand *dst,
				    struct exec_operand *src, unsigned int first, unsigned int rows,
				    unsigned int cols)
{
	struct exec_scratch *s = t->scratch;
	uint32_t n = src->r.count, out = n / cols * rows; /* elements of a row, in and out */
	uint8_t size = src->r.size;

	for (unsigned int r = 0; r < rows; r++) {
		const void *in;

		exec_operand_row(src, first + r);
		in = exec_stream_get(&src->s, s->x, n);
		exec_turn_row(s->row, r, in, n, rows, cols, size);
	}
	for (unsigned int c = 0; c < cols; c++) {
		exec_operand_row(dst, first + c);
		exec_stream_put(&dst->s, (uint8_t *)s->row + (size_t)c * out * size, out);
	}
}

static void exec_transpose(struct tpb *t, const struct neuron_insn *insn)
{
	unsigned int p = insn->partitions, b = NEURON_ISA_TRANSPOSE_BLOCK, cols;
	struct exec_operand dst, src;

	exec_operand_init(t, &src, &insn->src0, p);
	cols = src.r.count < b ? src.r.count : b;
	exec_operand_init(t, &dst, &insn->dst, p <= b ? cols : p);
	for (unsigned int first = 0; first < p; first += b)
		exec_transpose_quadrant(t, &dst, &src, first, p < b ? p : b, cols);
}

int exec_pool(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault)
{
	switch (insn->opcode) {
	case NEURON_OP_TENSOR_COPY:
		exec_tensor_copy(t, insn, false);
		break;
	case NEURON_OP_MEMSET:
		exec_memset(t, insn);
		break;
	case NEURON_OP_TENSOR_REDUCE:
		exec_tensor_reduce(t, insn);
		break;
	case NEURON_OP_TRANSPOSE:
		exec_transpose(t, insn);
		break;
	default:
		exec_elementwise(t, insn);
	}
	return 0;
}
