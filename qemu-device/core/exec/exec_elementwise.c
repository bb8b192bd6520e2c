/* SPDX-License-Identifier: MIT */
/*
 * Element-wise instructions, which ACT, POOL and GpSimd have (docs/isa.md, Vector engine): operands
 * are located here, and the kernels walk them. Called by exec_act.c, exec_pool.c and exec_gpsimd.c.
 */
#include "exec_walk.h"

#include <string.h>

/* An element-wise instruction as (src0 op0 scalar) op1 src1 or scalar, its operands located */
static void exec_arith_init(struct exec_arith *x, struct tpb *t, const struct neuron_insn *insn)
{
	bool one = insn->opcode == NEURON_OP_RECIPROCAL,
	     two = insn->opcode == NEURON_OP_TENSOR_TENSOR;

	/* member by member: it would be cleared first, which takes as long as all the rest */
	x->has_src1 = neuron_isa_ops[insn->opcode].fields & NEURON_FB(SRC1);
	x->op0 = one ? NEURON_ALU_RECIP : two ? NEURON_ALU_BYPASS : insn->op0;
	x->op1 = one ? NEURON_ALU_BYPASS : two ? insn->op0 : insn->op1;
	x->reverse0 = !one && !two && insn->reverse0;
	x->reverse1 = !one && !two && insn->reverse1;
	x->choose = insn->opcode == NEURON_OP_COPY_PREDICATED;
	x->partitions = insn->partitions;
	x->scalar[0] = exec_scalar_place(t, &insn->scalar0);
	x->scalar[1] = exec_scalar_place(t, &insn->scalar1);
	x->scratch = t->scratch;
	exec_operand_init(t, &x->dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &x->src0, &insn->src0, &t->at.src0);
	x->direct = exec_chunks_safe(&x->dst, &x->src0);
	if (!x->has_src1) {
		x->src1.part0 = NULL;
		x->src1.stride = 0;
		x->src1.s.first = 0;
		return;
	}
	exec_operand_init(t, &x->src1, &insn->src1, &t->at.src1);
	x->direct = x->direct && exec_chunks_safe(&x->dst, &x->src1);
	if (x->choose) /* what is there is read too */
		x->direct = x->direct && exec_stream_distinct(&x->dst.s);
}

/* The results of each partition as fp32 first: kernels round as they write, and to nearest */
static void exec_arith_at_random(struct tpb *t, struct exec_arith *x)
{
	struct exec_operand dst = x->dst;
	const unsigned int partitions = x->partitions;

	x->dst.dtype = NEURON_DT_FP32;
	x->dst.s = (struct exec_stream){
		.ndim = 1, .size = 4, .step = { 4 }, .num = { dst.r.count }, .count = dst.r.count
	};
	x->dst.part0 = (uint8_t *)t->scratch->acc;
	x->dst.r = (struct neuron_isa_region){ .count = dst.r.count,
					       .size = 4,
					       .hi = 4 * dst.r.count };
	x->partitions = 1;
	x->direct = true;
	for (unsigned int p = 0; p < partitions; p++) {
		t->kern->arith(x);
		exec_operand_row(&dst, p);
		exec_stream_store(t, &dst.s, dst.dtype, t->scratch->acc, dst.r.count);
		x->src0.part0 += x->src0.stride;
		if (x->has_src1)
			x->src1.part0 += x->src1.stride;
		for (unsigned int i = 0; i < 2; i++)
			if (x->scalar[i].at)
				x->scalar[i].at += x->scalar[i].stride;
	}
}

void exec_elementwise(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_arith x;
	bool raw = insn->opcode == NEURON_OP_COPY_PREDICATED ||
		   ((neuron_isa_alu_class(insn->op0) | neuron_isa_alu_class(insn->op1)) &
		    NEURON_ALU_BITVEC);

	exec_arith_init(&x, t, insn);
	if (raw)
		t->kern->bits(&x);
	else if (exec_rounds_at_random(t, insn->dst.dtype))
		exec_arith_at_random(t, &x);
	else
		t->kern->arith(&x);
}
