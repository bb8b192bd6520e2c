/* SPDX-License-Identifier: MIT */
/*
 * What an instruction costs: docs/isa.md, Costs, with the numbers of the target's table. The core
 * keeps virtual time by it, the compiler's report estimates.
 */
#include "neuron/isa/cost.h"

#include "neuron/hw/ext.h"

static uint64_t elements(const struct neuron_ap *ap)
{
	return (uint64_t)ap->num[0] * ap->num[1] * ap->num[2] * ap->num[3];
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
	return (n + by - 1) / by;
}

static bool in_psum(const struct neuron_ap *ap)
{
	return ap->offset >= NEURON_PSUM_OFFSET;
}

static bool contiguous_bf16(const struct neuron_ap *ap)
{
	int64_t step = 1;

	for (int d = NEURON_AP_DIMS - 1; d >= 0; d--) {
		if (ap->num[d] > 1 && ap->step[d] != step)
			return false;
		step *= ap->num[d];
	}
	return ap->dtype == NEURON_DT_BF16;
}

static bool is_bf16(const struct neuron_insn *insn)
{
	return insn->dst.dtype == NEURON_DT_BF16 && insn->src0.dtype == NEURON_DT_BF16;
}

static uint64_t pe_cycles(const struct neuron_insn *insn, const struct neuron_target *target,
			  unsigned int columns)
{
	uint64_t n = elements(&insn->src0);

	switch (insn->opcode) {
	case NEURON_OP_MATMUL:
	case NEURON_OP_MATMUL_DOUBLE:
	case NEURON_OP_MATMUL_SPARSE:
		if (insn->opcode != NEURON_OP_MATMUL) /* what a partition has comes at once */
			n /= insn->src0.num[0];
		n *= divide_up(columns, target->pe_columns); /* passes */
		if (insn->src0.dtype == NEURON_DT_FP32 || insn->src0.dtype == NEURON_DT_FP32R)
			return n * target->cost.fp32_passes;
		return insn->src0.dtype == NEURON_DT_INT8 ? divide_up(n, target->cost.int8_columns)
							  : n;
	case NEURON_OP_PE_TRANSPOSE:
		n = n < target->cost.transpose ? n : target->cost.transpose;
		return insn->partitions > n ? insn->partitions : n;
	case NEURON_OP_LDWEIGHTS_DOUBLE:
		return n / insn->src0.num[0];
	default:
		return n;
	}
}

static bool tensor_tensor_fast(const struct neuron_insn *insn)
{
	if (in_psum(&insn->dst) || in_psum(&insn->src0) || in_psum(&insn->src1))
		return true;
	return (insn->op0 == NEURON_ALU_ADD || insn->op0 == NEURON_ALU_SUB ||
		insn->op0 == NEURON_ALU_MULT) &&
	       contiguous_bf16(&insn->dst) && contiguous_bf16(&insn->src0) &&
	       contiguous_bf16(&insn->src1);
}

static bool scalar_tensor_tensor_fast(const struct neuron_insn *insn, uint64_t n)
{
	return is_bf16(insn) && insn->src1.dtype == NEURON_DT_BF16 && n % 2 == 0 &&
	       insn->op0 == NEURON_ALU_SUB && insn->op1 == NEURON_ALU_MULT;
}

static bool reduce_fast(const struct neuron_insn *insn)
{
	return is_bf16(insn) && (insn->op0 == NEURON_ALU_ADD || insn->op0 == NEURON_ALU_MAX);
}

static uint64_t vector_cycles(const struct neuron_insn *insn, const struct neuron_costs *cost)
{
	uint64_t n = elements(&insn->dst);

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		return tensor_tensor_fast(insn) ? n : cost->two_operands * n;
	case NEURON_OP_SCALAR_TENSOR_TENSOR:
		return scalar_tensor_tensor_fast(insn, n) ? n : cost->two_operands * n;
	case NEURON_OP_TENSOR_REDUCE:
		n = elements(&insn->src0);
		return reduce_fast(insn) ? divide_up(n, cost->bf16_reduced) : n;
	case NEURON_OP_RECIPROCAL:
		return cost->reciprocal * n;
	case NEURON_OP_COPY_PREDICATED:
		return in_psum(&insn->src0) || in_psum(&insn->src1) ? n : cost->two_operands * n;
	case NEURON_OP_TRANSPOSE:
		return elements(&insn->src0);
	case NEURON_OP_GATHER:
	case NEURON_OP_SCATTER:
		return cost->indexed * elements(&insn->src1);
	case NEURON_OP_SORT:
		return cost->sorted * elements(&insn->src0) + n;
	default:
		return n;
	}
}

uint64_t neuron_isa_cost(const struct neuron_insn *insn, const struct neuron_target *target,
			 unsigned int columns)
{
	uint64_t n = 0;

	if (neuron_isa_datapath(insn))
		n = neuron_isa_ops[insn->opcode].groups & NEURON_ISA_PE
			    ? pe_cycles(insn, target, columns)
			    : vector_cycles(insn, &target->cost);
	return n < target->cost.least ? target->cost.least : n;
}
