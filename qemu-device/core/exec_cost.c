/* SPDX-License-Identifier: MIT */
/*
 * Virtual cycles (1.0 GHz) that an engine is busy with the issue of one instruction: docs/isa.md,
 * Costs. Called by tpb.c for instructions that were checked and executed.
 */
#include "exec.h"

static uint64_t exec_at_least(uint64_t cost)
{
	return cost < EXEC_COST_MIN ? EXEC_COST_MIN : cost;
}

static uint64_t exec_ap_count(const struct neuron_ap *ap)
{
	return (uint64_t)ap->num[0] * ap->num[1] * ap->num[2] * ap->num[3];
}

static bool exec_in_psum(const struct neuron_ap *ap)
{
	return ap->offset >= NEURON_PSUM_OFFSET;
}

static bool exec_contiguous_bf16(const struct neuron_ap *ap)
{
	int64_t step = 1;

	for (int d = NEURON_AP_DIMS - 1; d >= 0; d--) {
		if (ap->num[d] > 1 && ap->step[d] != step)
			return false;
		step *= ap->num[d];
	}
	return ap->dtype == NEURON_DT_BF16;
}

static bool exec_is_bf16(const struct neuron_insn *insn)
{
	return insn->dst.dtype == NEURON_DT_BF16 && insn->src0.dtype == NEURON_DT_BF16;
}

static uint64_t exec_cost_pe(const struct tpb *t, const struct neuron_insn *insn)
{
	uint64_t n = exec_ap_count(&insn->src0), columns = t->cfg.target->pe_columns;

	switch (insn->opcode) {
	case NEURON_OP_MATMUL:
		n *= (t->weights.fs + columns - 1) / columns; /* passes */
		return exec_at_least(insn->src0.dtype == NEURON_DT_INT8 ? (n + 1) / 2 : n);
	case NEURON_OP_PE_TRANSPOSE:
		n = n < 64 ? n : 64;
		return exec_at_least(insn->partitions > n ? insn->partitions : n);
	default:
		return exec_at_least(n);
	}
}

static bool exec_tensor_tensor_fast(const struct neuron_insn *insn)
{
	if (exec_in_psum(&insn->dst) || exec_in_psum(&insn->src0) || exec_in_psum(&insn->src1))
		return true;
	return (insn->op0 == NEURON_ALU_ADD || insn->op0 == NEURON_ALU_SUB ||
		insn->op0 == NEURON_ALU_MULT) &&
	       exec_contiguous_bf16(&insn->dst) && exec_contiguous_bf16(&insn->src0) &&
	       exec_contiguous_bf16(&insn->src1);
}

static uint64_t exec_cost_vector(const struct neuron_insn *insn)
{
	uint64_t n = exec_ap_count(&insn->dst);

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		return exec_at_least(exec_tensor_tensor_fast(insn) ? n : 2 * n);
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		if (exec_is_bf16(insn) && insn->src1.dtype == NEURON_DT_BF16 && n % 2 == 0 &&
		    insn->op0 == NEURON_ALU_SUB && insn->op1 == NEURON_ALU_MULT)
			return exec_at_least(n);
		return exec_at_least(2 * n);
	case NEURON_OP_TENSOR_REDUCE:
		n = exec_ap_count(&insn->src0);
		if (exec_is_bf16(insn) &&
		    (insn->op0 == NEURON_ALU_ADD || insn->op0 == NEURON_ALU_MAX))
			n = (n + 1) / 2;
		return exec_at_least(n);
	case NEURON_OP_RECIPROCAL:
		return exec_at_least(8 * n);
	case NEURON_OP_COPY_PREDICATED:
		if (exec_in_psum(&insn->src0) || exec_in_psum(&insn->src1))
			return exec_at_least(n);
		return exec_at_least(2 * n);
	case NEURON_OP_TRANSPOSE:
		return exec_at_least(exec_ap_count(&insn->src0));
	default:
		return exec_at_least(n);
	}
}

uint64_t exec_cost(const struct tpb *t, const struct neuron_insn *insn)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];

	if (!(op->fields & NEURON_FB(PARTITIONS)))
		return EXEC_COST_MIN;
	return op->groups & NEURON_ISA_PE ? exec_cost_pe(t, insn) : exec_cost_vector(insn);
}
