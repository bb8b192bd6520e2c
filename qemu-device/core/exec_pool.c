/* SPDX-License-Identifier: MIT */
/*
 * POOL (Vector engine): element-wise arithmetic, copies and transposes (docs/isa.md,
 * Vector engine); reductions are exec_reduce.c's, operations on raw bits exec_bits.c's. Called by
 * tpb.c.
 */
#include "exec.h"

#include <string.h>

/* An element-wise instruction with its operands located */
struct exec_pool {
	struct tpb *t;
	const struct neuron_insn *insn;
	struct exec_operand dst, src0, src1;
	bool has_src1;
	bool direct; /* chunks may be written before the rest of the row is read */
};

static void exec_pool_init(struct exec_pool *x, struct tpb *t, const struct neuron_insn *insn)
{
	x->t = t;
	x->insn = insn;
	x->has_src1 = neuron_isa_ops[insn->opcode].fields & NEURON_FB(SRC1);
	exec_operand_init(t, &x->dst, &insn->dst, insn->partitions);
	exec_operand_init(t, &x->src0, &insn->src0, insn->partitions);
	x->direct = exec_chunks_safe(&x->dst, &x->src0);
	if (!x->has_src1)
		return;
	exec_operand_init(t, &x->src1, &insn->src1, insn->partitions);
	x->direct = x->direct && exec_chunks_safe(&x->dst, &x->src1);
}

static void exec_pool_row(struct exec_pool *x, unsigned int p)
{
	exec_operand_row(&x->dst, p);
	exec_operand_row(&x->src0, p);
	if (x->has_src1)
		exec_operand_row(&x->src1, p);
}

/* r = a op b, or b op a; the result's place, which is a's when nothing is to be done */
static const float *exec_pool_alu(struct tpb *t, uint8_t op, bool reverse, float *r, const float *a,
				  struct exec_vec b, size_t n)
{
	if (op == NEURON_ALU_BYPASS && !reverse)
		return a;
	if (reverse)
		t->kern->alu(op, r, b, exec_array(a), n);
	else
		t->kern->alu(op, r, exec_array(a), b, n);
	return r;
}

/* One chunk of fp32: a is src0, b src1; the result may go to r */
static const float *exec_pool_chunk(struct exec_pool *x, float *r, const float *a, const float *b,
				    float (*c)[16], size_t n)
{
	const struct neuron_insn *insn = x->insn;
	const struct exec_vec c0 = { c[0], 0 }, c1 = { c[1], 0 };
	struct tpb *t = x->t;

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		return exec_pool_alu(t, insn->op0, false, r, a, exec_array(b), n);
	case NEURON_OP_TENSOR_SCALAR:
		a = exec_pool_alu(t, insn->op0, insn->reverse0, r, a, c0, n);
		return exec_pool_alu(t, insn->op1, insn->reverse1, r, a, c1, n);
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		a = exec_pool_alu(t, insn->op0, insn->reverse0, r, a, c0, n);
		return exec_pool_alu(t, insn->op1, insn->reverse1, r, a, exec_array(b), n);
	default:
		return exec_pool_alu(t, NEURON_ALU_RECIP, false, r, a, exec_array(a), n);
	}
}

static void exec_pool_arith_row(struct exec_pool *x, unsigned int p)
{
	struct exec_scratch *s = x->t->scratch;
	const struct exec_kernels *kern = x->t->kern;
	float c[2][16];

	exec_const(c[0], exec_scalar_f32(x->t, &x->insn->scalar0, p));
	exec_const(c[1], exec_scalar_f32(x->t, &x->insn->scalar1, p));
	exec_pool_row(x, p);
	if (p + 1 < x->insn->partitions) {
		exec_operand_ahead(&x->src0);
		exec_operand_ahead(&x->dst);
		if (x->has_src1)
			exec_operand_ahead(&x->src1);
	}
	for (uint32_t done = 0, n; done < x->dst.r.count; done += n) {
		const float *a, *b = NULL;

		n = x->dst.r.count - done < EXEC_CHUNK ? x->dst.r.count - done : EXEC_CHUNK;
		if (x->has_src1) /* not in raw, which src0 may take */
			b = exec_stream_floats(x->t, &x->src1.s, x->src1.dtype, s->b, n);
		if (b == (const float *)s->raw)
			b = memcpy(s->b, b, n * sizeof(*b));
		a = exec_stream_floats(x->t, &x->src0.s, x->src0.dtype, s->a, n);
		a = exec_pool_chunk(x, s->a, a, b, c, n);
		if (x->direct)
			exec_stream_store(x->t, &x->dst.s, x->dst.dtype, a, n);
		else
			kern->store(x->dst.dtype, (uint8_t *)s->row + (size_t)done * x->dst.r.size,
				    a, n);
	}
	if (!x->direct)
		exec_stream_put(&x->dst.s, s->row, x->dst.r.count);
}

static void exec_elementwise(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_pool x;
	bool raw = insn->opcode == NEURON_OP_COPY_PREDICATED ||
		   ((neuron_isa_alu_class(insn->op0) | neuron_isa_alu_class(insn->op1)) &
		    NEURON_ALU_BITVEC);

	exec_pool_init(&x, t, insn);
	for (unsigned int p = 0; p < insn->partitions; p++)
		if (raw)
			exec_bits_row(t, insn, &x.dst, &x.src0, x.has_src1 ? &x.src1 : NULL, p);
		else
			exec_pool_arith_row(&x, p);
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
