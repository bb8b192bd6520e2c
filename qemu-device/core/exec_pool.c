/* SPDX-License-Identifier: MIT */
/*
 * POOL (Vector engine): element-wise instructions (docs/isa.md, Vector engine); reductions are
 * exec_reduce.c's, transposes exec_transpose.c's, copies exec_act.c's, what has places that are
 * data exec_index.c's, sorts exec_sort.c's; exec_scan.c, exec_search.c, exec_select.c and
 * exec_random.c hold what NeuronCore-v2 has besides. Called by tpb.c.
 */
#include "exec_walk.h"

#include <string.h>

/* An element-wise instruction as (src0 op0 scalar) op1 src1 or scalar, its operands located */
static void exec_pool_init(struct exec_arith *x, struct tpb *t, const struct neuron_insn *insn)
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

	exec_pool_init(&x, t, insn);
	if (raw)
		t->kern->bits(&x);
	else if (exec_rounds_at_random(t, insn->dst.dtype))
		exec_arith_at_random(t, &x);
	else
		t->kern->arith(&x);
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
	case NEURON_OP_GATHER:
		exec_indexed_gather(t, insn);
		break;
	case NEURON_OP_SCATTER:
		exec_indexed_scatter(t, insn);
		break;
	case NEURON_OP_SORT:
		exec_sort(t, insn);
		break;
	case NEURON_OP_TENSOR_TENSOR_SCAN:
		exec_scan(t, insn);
		break;
	case NEURON_OP_TENSOR_SCALAR_REDUCE:
		exec_tensor_scalar_reduce(t, insn);
		break;
	case NEURON_OP_TENSOR_SCALAR_CUMULATIVE:
		exec_tensor_scalar_cumulative(t, insn);
		break;
	case NEURON_OP_VECTOR_READ_ACC:
		exec_vector_read_acc(t, insn);
		break;
	case NEURON_OP_BN_STATS:
		exec_bn_stats(t, insn);
		break;
	case NEURON_OP_BN_AGGR:
		exec_bn_aggr(t, insn);
		break;
	case NEURON_OP_MAX8:
		exec_max8(t, insn);
		break;
	case NEURON_OP_FIND_INDEX8:
		exec_find_index8(t, insn);
		break;
	case NEURON_OP_MATCH_REPLACE8:
		exec_match_replace8(t, insn);
		break;
	case NEURON_OP_SELECT_REDUCE:
		exec_select_reduce(t, insn);
		break;
	case NEURON_OP_RANGE_SELECT:
		exec_range_select(t, insn);
		break;
	case NEURON_OP_STREAM_SHUFFLE:
		exec_stream_shuffle(t, insn);
		break;
	case NEURON_OP_DROPOUT:
		exec_dropout(t, insn);
		break;
	case NEURON_OP_RNG:
		exec_rng(t, insn, true);
		break;
	case NEURON_OP_SET_RNG_SEED:
		exec_set_rng_seed(t, insn);
		break;
	default:
		exec_elementwise(t, insn);
	}
	return 0;
}
