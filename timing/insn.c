/* SPDX-License-Identifier: MIT */
/*
 * What an instruction costs: docs/isa.md, Costs, with the numbers of the target's table. The core
 * keeps virtual time by it, the compiler's report estimates.
 */
#include "neuron/timing.h"

#include "neuron/hw/ext.h"

#define GATHERED 512 /* elements of an N_GATHER that GpSimd takes at a time */

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

/* Parts of the array work at once: of its time each takes its share */
static uint64_t share(uint8_t tile, uint64_t n)
{
	const struct neuron_isa_tile t = neuron_isa_tile(tile), all = neuron_isa_tile(0);

	return divide_up(n * t.rows * t.columns, (uint64_t)all.rows * all.columns);
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
		return divide_up(n / insn->src0.num[0], target->cost.weights);
	case NEURON_OP_LDWEIGHTS:
		return divide_up(n, target->cost.weights);
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

static bool is_half(const struct neuron_ap *ap)
{
	return ap->dtype == NEURON_DT_BF16 || ap->dtype == NEURON_DT_FP16;
}

/* Are the elements of the fastest dimension side by side? */
static bool inner_contiguous(const struct neuron_ap *ap)
{
	for (int d = NEURON_AP_DIMS - 1; d >= 0; d--)
		if (ap->num[d] > 1)
			return ap->step[d] == 1;
	return true;
}

/* Elements a cycle of the mode that the Vector engine chooses */
static unsigned int quickness(const struct neuron_insn *insn, const struct neuron_costs *cost)
{
	const struct neuron_ap *dst = &insn->dst, *src = &insn->src0;
	bool halves = is_half(dst) && is_half(src), psum = in_psum(dst) || in_psum(src);

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_COPY:
	case NEURON_OP_TENSOR_SCALAR:
		if (halves && !psum && inner_contiguous(dst) && inner_contiguous(src))
			return cost->quickest;
		if (!halves && (dst->dtype != NEURON_DT_FP32 || src->dtype != NEURON_DT_FP32))
			return 1;
		return in_psum(dst) && in_psum(src) ? 1 : cost->quick;
	case NEURON_OP_TENSOR_TENSOR:
		return halves && is_half(&insn->src1) && !in_psum(src) && !in_psum(&insn->src1)
			       ? cost->quick
			       : 1;
	default:
		return 1;
	}
}

/* An instruction without a number of its own takes a while to begin, then an element a cycle */
static uint64_t gpsimd_cycles(const struct neuron_insn *insn, const struct neuron_costs *cost)
{
	uint64_t n = elements(&insn->dst), width, bytes;

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_COPY:
	case NEURON_OP_MEMSET:
		return n;
	case NEURON_OP_TENSOR_TENSOR:
		return tensor_tensor_fast(insn) ? n : cost->two_operands * n;
	case NEURON_OP_TENSOR_SCALAR:
		return cost->gpsimd_rsqrt * n;
	case NEURON_OP_LOCAL_GATHER:
		width = 4 / neuron_isa_dtypes[insn->dst.dtype].size;
		width = width < insn->count ? width : insn->count;
		bytes = 4ull * insn->count;
		return cost->gpsimd + divide_up(n * bytes * width, 28 + bytes);
	case NEURON_OP_N_GATHER:
		return cost->gpsimd * divide_up(n, GATHERED) + n;
	case NEURON_OP_TOPK:
		return cost->topk * insn->total + insn->count;
	case NEURON_OP_PARTITION_REDUCE:
	case NEURON_OP_SEQUENCE_BOUNDS:
	case NEURON_OP_NONZERO_WITH_COUNT:
	case NEURON_OP_RAND_SET_STATE:
		return cost->gpsimd + elements(&insn->src0);
	default:
		return cost->gpsimd + n;
	}
}

static uint64_t vector_cycles(const struct neuron_insn *insn, const struct neuron_costs *cost)
{
	uint64_t n = elements(&insn->dst);

	switch (insn->opcode) {
	case NEURON_OP_TENSOR_TENSOR:
		return divide_up(tensor_tensor_fast(insn) ? n : cost->two_operands * n,
				 quickness(insn, cost));
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
	case NEURON_OP_TENSOR_COPY:
	case NEURON_OP_TENSOR_SCALAR:
		return divide_up(n, quickness(insn, cost));
	case NEURON_OP_TENSOR_TENSOR_SCAN:
		return cost->two_operands * n;
	case NEURON_OP_BN_STATS:
	case NEURON_OP_MAX8:
	case NEURON_OP_FIND_INDEX8:
		return elements(&insn->src0);
	case NEURON_OP_BN_AGGR:
		return 13 * elements(&insn->src0) / 3; /* which are triples */
	default:
		return n;
	}
}

uint64_t neuron_insn_cost(const struct neuron_insn *insn, unsigned int engine,
			  const struct neuron_target *target, unsigned int columns)
{
	const uint32_t runs = neuron_isa_ops[insn->opcode].groups & target->engine[engine].runs;
	uint64_t n = 0;

	if (neuron_isa_datapath(insn)) {
		if (runs & NEURON_ISA_PE)
			n = pe_cycles(insn, target, columns);
		else if (runs & NEURON_ISA_POOL)
			n = vector_cycles(insn, &target->cost);
		else if (runs & NEURON_ISA_GPSIMD)
			n = gpsimd_cycles(insn, &target->cost);
		else
			n = elements(&insn->dst);
	}
	n = n < target->cost.least ? target->cost.least : n;
	return neuron_isa_ops[insn->opcode].fields & NEURON_FB(TILE) ? share(insn->tile, n) : n;
}
