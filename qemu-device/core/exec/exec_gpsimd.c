/* SPDX-License-Identifier: MIT */
/*
 * The GpSimd engine (docs/isa.md): integers of 32 bits that stay integers, what goes across
 * partitions, and what it shares with the Vector engine. Called by tpb.c.
 */
#include "exec_row.h"

#define GROUP NEURON_ISA_GPSIMD_PARTITIONS

/* r[i] = an expression of a[i] and b[i]; they may be signed */
#define EACH(type, expr)                             \
	for (uint32_t i = 0; i < n; i++) {           \
		type a = (type)x[i], b = (type)y[i]; \
                                                     \
		(void)b;                             \
		r[i] = (uint32_t)(expr);             \
	}                                            \
	break

static void unsigned_row(uint8_t op, uint32_t *r, const uint32_t *x, const uint32_t *y, uint32_t n)
{
	switch (op) {
	case NEURON_ALU_ADD:
		EACH(uint32_t, a + b);
	case NEURON_ALU_SUB:
		EACH(uint32_t, a - b);
	case NEURON_ALU_MULT:
		EACH(uint32_t, a * b);
	case NEURON_ALU_MAX:
	case NEURON_ALU_ABS_MAX:
		EACH(uint32_t, a > b ? a : b);
	case NEURON_ALU_MIN:
		EACH(uint32_t, a < b ? a : b);
	case NEURON_ALU_EQ:
		EACH(uint32_t, a == b);
	case NEURON_ALU_NE:
		EACH(uint32_t, a != b);
	case NEURON_ALU_GE:
		EACH(uint32_t, a >= b);
	case NEURON_ALU_GT:
		EACH(uint32_t, a > b);
	case NEURON_ALU_LE:
		EACH(uint32_t, a <= b);
	case NEURON_ALU_LT:
		EACH(uint32_t, a < b);
	case NEURON_ALU_LOGICAL_AND:
		EACH(uint32_t, a && b);
	case NEURON_ALU_LOGICAL_OR:
		EACH(uint32_t, a || b);
	default: /* logical_xor */
		EACH(uint32_t, !a != !b);
	}
}

static inline uint32_t magnitude(int32_t v)
{
	return v < 0 ? 0u - (uint32_t)v : (uint32_t)v;
}

/* Operations in which the sign matters; false: the operation is none of them */
static bool signed_row(uint8_t op, uint32_t *r, const uint32_t *x, const uint32_t *y, uint32_t n)
{
	switch (op) {
	case NEURON_ALU_MAX:
		EACH(int32_t, a > b ? a : b);
	case NEURON_ALU_MIN:
		EACH(int32_t, a < b ? a : b);
	case NEURON_ALU_GE:
		EACH(int32_t, a >= b);
	case NEURON_ALU_GT:
		EACH(int32_t, a > b);
	case NEURON_ALU_LE:
		EACH(int32_t, a <= b);
	case NEURON_ALU_LT:
		EACH(int32_t, a < b);
	case NEURON_ALU_ABS_MAX:
		EACH(int32_t, magnitude(a) > magnitude(b) ? magnitude(a) : magnitude(b));
	default:
		return false;
	}
	return true;
}

static void integer_tensor_tensor(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_operand dst, src0, src1;
	uint32_t *r = (uint32_t *)t->scratch->pairs;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src0, &insn->src0, &t->at.src0);
	exec_operand_init(t, &src1, &insn->src1, &t->at.src1);
	for (unsigned int p = 0; p < insn->partitions; p++) {
		const uint32_t *x = exec_row_raw(&src0, p, t->scratch->acc);
		const uint32_t *y = exec_row_raw(&src1, p, t->scratch->x);

		if (dst.dtype != NEURON_DT_INT32 || !signed_row(insn->op0, r, x, y, dst.r.count))
			unsigned_row(insn->op0, r, x, y, dst.r.count);
		exec_row_put(&dst, p, r);
	}
}

/* Over the partitions, in their order, into the first one of dst */
static void partition_reduce(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_scratch *s = t->scratch;
	struct exec_operand dst, src;
	const uint32_t n = t->at.src0.count;
	float *acc = (float *)s->pairs[0];

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_row_floats(t, &src, 0, acc);
	for (unsigned int p = 1; p < insn->partitions; p++) {
		exec_row_floats(t, &src, p, s->acc);
		t->kern->alu(insn->op0, acc, exec_array(acc), exec_array(s->acc), n);
	}
	if (insn->alpha != 0)
		exec_alu_scalar(t, NEURON_ALU_MULT, false, acc, insn->alpha, n);
	exec_row_store(t, &dst, 0, acc);
}

static void partition_reduce_bits(struct tpb *t, const struct neuron_insn *insn)
{
	uint8_t *acc = (uint8_t *)t->scratch->pairs;
	struct exec_operand dst, src;
	size_t bytes;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	bytes = (size_t)src.r.count * src.r.size;
	memcpy(acc, exec_row_raw(&src, 0, t->scratch->acc), bytes);
	for (unsigned int p = 1; p < insn->partitions; p++) {
		const uint8_t *x = exec_row_raw(&src, p, t->scratch->acc);

		if (insn->op0 == NEURON_ALU_AND)
			for (size_t i = 0; i < bytes; i++)
				acc[i] &= x[i];
		else
			for (size_t i = 0; i < bytes; i++)
				acc[i] |= x[i];
	}
	exec_row_put(&dst, 0, acc);
}

/*
 * Gathers in each core's 16 partitions by the indices that lie in them, partition by partition
 * first
 */
static void local_gather(struct tpb *t, const struct neuron_insn *insn)
{
	struct exec_scratch *s = t->scratch;
	const uint32_t each = insn->count, n = t->at.dst.count, valid = n / each;
	int32_t *at = (int32_t *)s->x;
	struct exec_operand dst, src, index;

	exec_operand_init(t, &dst, &insn->dst, &t->at.dst);
	exec_operand_init(t, &src, &insn->src0, &t->at.src0);
	exec_operand_init(t, &index, &insn->src1, &t->at.src1);
	for (unsigned int p = 0; p < insn->partitions; p += GROUP) {
		for (unsigned int q = 0; q < GROUP; q++) {
			const uint16_t *row = exec_row_raw(&index, p + q, s->acc);

			for (uint32_t i = q; i < valid; i += GROUP)
				for (uint32_t j = 0; j < each; j++)
					at[i * each + j] = (int32_t)(row[i / GROUP] * each + j);
		}
		for (unsigned int q = 0; q < GROUP; q++) {
			const void *table = exec_row_raw(&src, p + q, s->acc);

			t->kern->gather(s->row, table, dst.r.size, src.r.count, at, n);
			exec_row_put(&dst, p + q, s->row);
		}
	}
}

static void gpsimd_tensor_tensor(struct tpb *t, const struct neuron_insn *insn)
{
	if (neuron_isa_native_integers(insn))
		integer_tensor_tensor(t, insn);
	else
		exec_elementwise(t, insn);
}

int exec_gpsimd(struct tpb *t, const struct neuron_insn *insn, struct neuron_isa_fault *fault)
{
	switch (insn->opcode) {
	case NEURON_OP_TENSOR_COPY:
		exec_tensor_copy(t, insn, false);
		break;
	case NEURON_OP_MEMSET:
		exec_memset(t, insn);
		break;
	case NEURON_OP_TENSOR_TENSOR:
		gpsimd_tensor_tensor(t, insn);
		break;
	case NEURON_OP_TENSOR_SCALAR:
		exec_elementwise(t, insn);
		break;
	case NEURON_OP_RNG:
		exec_rng(t, insn, false);
		break;
	case NEURON_OP_IOTA:
		exec_iota(t, insn);
		break;
	case NEURON_OP_AFFINE_SELECT:
		exec_affine_select(t, insn);
		break;
	case NEURON_OP_PARTITION_REDUCE:
		if (neuron_isa_alu_class(insn->op0) & NEURON_ALU_BITVEC)
			partition_reduce_bits(t, insn);
		else
			partition_reduce(t, insn);
		break;
	case NEURON_OP_LOCAL_GATHER:
		local_gather(t, insn);
		break;
	case NEURON_OP_N_GATHER:
		exec_indexed_gather(t, insn);
		break;
	case NEURON_OP_SEQUENCE_BOUNDS:
		exec_sequence_bounds(t, insn);
		break;
	case NEURON_OP_NONZERO_WITH_COUNT:
		exec_nonzero(t, insn);
		break;
	case NEURON_OP_TOPK:
		exec_topk(t, insn);
		break;
	case NEURON_OP_RAND_SET_STATE:
		exec_rand_set_state(t, insn);
		break;
	case NEURON_OP_RAND_GET_STATE:
		exec_rand_get_state(t, insn);
		break;
	default:
		return neuron_isa_illegal(fault, "the engine has no such instruction");
	}
	return 0;
}
