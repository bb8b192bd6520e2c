// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Rules of the instructions of NeuronCore-v2 and later (docs/isa.md, sections 9 and 10), and of
 * those of v1 on engines that do only a part of them. Called by check.c.
 */
#include "checker.h"

#include <errno.h>

#define INTS                                                                             \
	(NEURON_DTB(INT8) | NEURON_DTB(UINT8) | NEURON_DTB(INT16) | NEURON_DTB(UINT16) | \
	 NEURON_DTB(INT32) | NEURON_DTB(UINT32))
#define WORDS (NEURON_DTB(INT32) | NEURON_DTB(UINT32))
#define NUMBERS (NEURON_DTB(UINT16) | NEURON_DTB(UINT32)) /* of elements */
#define FLAGS (INTS & ~WORDS)
#define ANY (~0ull)
#define EXACT24 16777216.0f /* integers up to it are exact in fp32 */

/* The number of elements of a dst that is not a number */
#define ALIKE 0 /* those of src0 */
#define OWN 0xffff /* see the rule's own check */

struct rule {
	uint64_t dst, src0, src1; /* types */
	uint16_t elements; /* of dst */
	uint16_t least, most; /* of src0; 0: as a pattern may have */
	bool same; /* src0 is of dst's type */
	int (*more)(struct checker *c);
};

static int fail(struct checker *c, unsigned int operand, const char *reason)
{
	const struct neuron_insn *insn = c->insn;
	const uint32_t offset[] = {
		[NEURON_OPERAND_DST] = insn->dst.offset,
		[NEURON_OPERAND_SRC0] = insn->src0.offset,
		[NEURON_OPERAND_SRC1] = insn->src1.offset,
		[NEURON_OPERAND_SCALAR0] = insn->scalar0.offset,
		[NEURON_OPERAND_SCALAR1] = insn->scalar1.offset,
		[NEURON_OPERAND_DST1] = insn->dst1.offset,
	};

	return isa_fail(c, operand, offset[operand], reason);
}

static bool is_constant(const struct neuron_scalar *s)
{
	return s->kind == NEURON_SCALAR_IMM;
}

/* An arithmetic operation of two operands */
static bool is_binary(uint8_t op)
{
	return neuron_isa_alu_class(op) & NEURON_ALU_ARITH;
}

static bool is_comparison(uint8_t op)
{
	return op >= NEURON_ALU_EQ && op <= NEURON_ALU_LT;
}

/* The command to the accumulator registers, and what they begin with */
static int check_acc(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (insn->reduce_cmd > NEURON_REDUCE_LOAD_REDUCE)
		return neuron_isa_illegal(c->fault, "unknown accumulator command");
	if (insn->opcode != NEURON_OP_RANGE_SELECT &&
	    insn->reduce_cmd != NEURON_REDUCE_LOAD_REDUCE &&
	    (insn->scalar1.kind || insn->scalar1.bits))
		return neuron_isa_illegal(c->fault, "scalar1 is 0 but for load_reduce");
	return 0;
}

static int check_scan(struct checker *c)
{
	return is_binary(c->insn->op0) && is_binary(c->insn->op1)
		       ? 0
		       : neuron_isa_illegal(c->fault,
					    "op0 and op1 are arithmetic, of two operands");
}

/* op0 with scalar0, which a unary one has not */
static int check_first(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint8_t klass = neuron_isa_alu_class(insn->op0);

	if (!klass || klass & NEURON_ALU_BITVEC)
		return neuron_isa_illegal(c->fault, "op0 is arithmetic");
	if (!is_binary(insn->op0) && (insn->scalar0.kind || insn->scalar0.bits || insn->reverse0))
		return neuron_isa_illegal(c->fault, "op0 has no second operand: scalar0 is 0");
	return check_acc(c);
}

static bool is_ordered_or_extreme(uint8_t op)
{
	return op == NEURON_ALU_ADD || op == NEURON_ALU_MULT || op == NEURON_ALU_MAX ||
	       op == NEURON_ALU_MIN;
}

static int check_scalar_reduce(struct checker *c)
{
	if (!is_ordered_or_extreme(c->insn->op1))
		return neuron_isa_illegal(c->fault, "op1 is add, mult, max or min");
	return check_first(c);
}

static int check_cumulative(struct checker *c)
{
	if (!is_ordered_or_extreme(c->insn->op1) && c->insn->op1 != NEURON_ALU_SUB)
		return neuron_isa_illegal(c->fault, "op1 is add, sub, mult, max or min");
	if (c->insn->reduce_cmd < NEURON_REDUCE_REDUCE)
		return neuron_isa_illegal(c->fault,
					  "the command is reduce, reset_reduce or load_reduce");
	return check_first(c);
}

static int check_bn_aggr(struct checker *c)
{
	return c->at->src0.count % 3 ? fail(c, NEURON_OPERAND_SRC0, "elements are triples") : 0;
}

static int check_eight(struct checker *c)
{
	return c->at->src1.count == 8 ? 0 : fail(c, NEURON_OPERAND_SRC1, "eight values");
}

static int check_match_replace(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	const struct neuron_ap *ap = &insn->dst1;
	int rc = check_eight(c);

	if (rc)
		return rc;
	if (!is_constant(&insn->scalar0))
		return neuron_isa_illegal(c->fault, "the value is a constant");
	if (ap->dtype == NEURON_DT_INVALID)
		return ap->offset || ap->num[0] || ap->num[1] || ap->num[2] || ap->num[3]
			       ? fail(c, NEURON_OPERAND_DST1, "a place without a type")
			       : 0;
	rc = isa_check_ap(c, NEURON_OPERAND_DST1, ap, insn->partitions, &c->at->dst1);
	if (rc)
		return rc;
	if (!(NUMBERS >> ap->dtype & 1))
		return fail(c, NEURON_OPERAND_DST1, "numbers of elements are uint16 or uint32");
	return c->at->dst1.count == 8 ? 0 : fail(c, NEURON_OPERAND_DST1, "eight elements");
}

static int check_alike(struct checker *c)
{
	return c->at->src1.count == c->at->src0.count
		       ? 0
		       : fail(c, NEURON_OPERAND_SRC1, "element counts differ");
}

static int check_select(struct checker *c)
{
	int rc = check_alike(c);

	return rc ? rc : check_acc(c);
}

static int check_range(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	const struct neuron_scalar *bound[2] = { &insn->scalar0, &insn->scalar1 };

	for (unsigned int i = 0; i < 2; i++) {
		uint8_t op = i ? insn->op1 : insn->op0;

		if (!is_comparison(op) || op == NEURON_ALU_NE)
			return neuron_isa_illegal(c->fault, "op0 and op1 are eq, ge, gt, le or lt");
		if (is_constant(bound[i]) || bound[i]->dtype != NEURON_DT_FP32)
			return fail(c, NEURON_OPERAND_SCALAR0 + i, "a bound is fp32 in memory");
	}
	if (!(insn->imm >= -EXACT24 && insn->imm + (float)c->at->src0.count <= EXACT24))
		return neuron_isa_illegal(c->fault, "places of elements lie within 2^24");
	return check_acc(c);
}

static int check_shuffle(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (insn->partitions % NEURON_ISA_QUADRANT)
		return neuron_isa_illegal(c->fault, "partitions are a multiple of 32");
	for (unsigned int i = 0; i < NEURON_ISA_QUADRANT; i++)
		if (neuron_isa_shuffle(insn, i) >= NEURON_ISA_QUADRANT &&
		    neuron_isa_shuffle(insn, i) != NEURON_ISA_SHUFFLE_KEEP)
			return neuron_isa_illegal(c->fault, "a partition is 0 to 31, or 255");
	return (uint64_t)c->at->src0.count * c->at->src0.size <= NEURON_ISA_MAX_SHUFFLE
		       ? 0
		       : fail(c, NEURON_OPERAND_SRC0, "too many bytes");
}

static int check_dropout(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if (is_constant(&insn->scalar0) || !neuron_isa_dtypes[insn->src0.dtype].integer ||
	    insn->scalar0.dtype == NEURON_DT_FP32)
		return 0;
	return fail(c, NEURON_OPERAND_SCALAR0, "the probability for integers is fp32");
}

static int check_rng(struct checker *c)
{
	return c->runs != NEURON_ISA_GPSIMD || c->target->core >= 3
		       ? 0
		       : neuron_isa_illegal(c->fault, "the engine has no such instruction");
}

static int check_one_partition(struct checker *c)
{
	return c->insn->partitions == 1 ? 0 : neuron_isa_illegal(c->fault, "one partition");
}

static int check_seed(struct checker *c)
{
	return c->at->src0.count == 1 ? check_one_partition(c)
				      : fail(c, NEURON_OPERAND_SRC0, "one element");
}

static int check_bounds(struct checker *c)
{
	return c->at->dst.count == 2 * c->at->src0.count
		       ? check_one_partition(c)
		       : fail(c, NEURON_OPERAND_DST, "two elements for each of src0");
}

/* A pattern makes as many integers as the destination has elements. */
static int check_pattern(struct checker *c)
{
	const uint16_t *num = c->insn->pattern.num;
	uint64_t n = (uint64_t)num[0] * num[1] * num[2] * num[3];

	return n == c->at->dst.count
		       ? 0
		       : neuron_isa_illegal(c->fault, "the pattern has as many integers as dst");
}

static int check_affine(struct checker *c)
{
	if (!is_comparison(c->insn->op0))
		return neuron_isa_illegal(c->fault, "op0 is a comparison");
	if (!is_constant(&c->insn->scalar0))
		return neuron_isa_illegal(c->fault, "the other value is a constant");
	return check_pattern(c);
}

static int check_partition_reduce(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	switch (insn->op0) {
	case NEURON_ALU_ADD:
	case NEURON_ALU_MAX:
		return 0;
	case NEURON_ALU_AND:
	case NEURON_ALU_OR:
		break;
	default:
		return neuron_isa_illegal(c->fault, "op0 is add, max, and or or");
	}
	if (insn->alpha != 0)
		return neuron_isa_illegal(c->fault, "bitvec reductions have no scale");
	return INTS >> insn->dst.dtype & 1 && insn->src0.dtype == insn->dst.dtype
		       ? 0
		       : fail(c, NEURON_OPERAND_SRC0, "bitvec operands are integers of one type");
}

/* Whole cores, 16 partitions each */
static int check_cores(struct checker *c)
{
	return c->insn->partitions % NEURON_ISA_GPSIMD_PARTITIONS
		       ? neuron_isa_illegal(c->fault, "partitions are a multiple of 16")
		       : 0;
}

static int check_local_gather(struct checker *c)
{
	const uint32_t each = c->insn->count, n = c->at->dst.count;

	if (!each || each > 32 || each & (each - 1))
		return neuron_isa_illegal(c->fault, "elements of an index: 1, 2, 4, 8, 16 or 32");
	if (n % each || n / each > NEURON_ISA_MAX_LOCAL)
		return fail(c, NEURON_OPERAND_DST, "elements of at most 4096 indices");
	if (n / each > c->at->src1.count * NEURON_ISA_GPSIMD_PARTITIONS)
		return fail(c, NEURON_OPERAND_SRC1, "fewer indices than dst has");
	return check_cores(c);
}

static int check_n_gather(struct checker *c)
{
	return c->at->src1.count == c->at->dst.count
		       ? 0
		       : fail(c, NEURON_OPERAND_SRC1, "element counts differ");
}

static int check_nonzero(struct checker *c)
{
	if (!is_constant(&c->insn->scalar0) || !is_constant(&c->insn->scalar1))
		return neuron_isa_illegal(c->fault, "offset and padding are constants");
	return c->at->dst.count == c->at->src0.count + 1
		       ? 0
		       : fail(c, NEURON_OPERAND_DST, "one element more than src0");
}

/* Columns that n elements of a core's partitions fill */
static uint32_t columns(uint32_t n)
{
	return (n + NEURON_ISA_GPSIMD_PARTITIONS - 1) / NEURON_ISA_GPSIMD_PARTITIONS;
}

static int check_topk(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	int rc = isa_check_ap(c, NEURON_OPERAND_DST1, &insn->dst1, insn->partitions, &c->at->dst1);

	if (rc)
		return rc;
	if (insn->total < NEURON_ISA_MIN_SEARCH || !insn->count || insn->count > insn->total ||
	    insn->count >= 32768)
		return neuron_isa_illegal(c->fault, "1 to 32767 of 8 to 65535 elements");
	if (c->at->src0.count != columns(insn->total))
		return fail(c, NEURON_OPERAND_SRC0, "an element for each 16 of all");
	if (c->at->dst.count != columns(insn->count))
		return fail(c, NEURON_OPERAND_DST, "an element for each 16 results");
	if (c->at->dst1.count != columns(insn->count))
		return fail(c, NEURON_OPERAND_DST1, "an element for each 16 results");
	if (insn->dst1.dtype != NEURON_DT_UINT32)
		return fail(c, NEURON_OPERAND_DST1, "numbers of elements are uint32");
	return check_cores(c);
}

#define BF16 NEURON_DTB(BF16)
#define FP32 NEURON_DTB(FP32)
#define INT32 NEURON_DTB(INT32)
#define UINT32 NEURON_DTB(UINT32)

/* dst, src0, src1, elements of dst, least and most of src0, src0 of dst's type, more */
static const struct rule rules[256] = {
	[NEURON_OP_TENSOR_TENSOR_SCAN] = { ANY, ANY, ANY, ALIKE, 0, 0, false, check_scan },
	[NEURON_OP_TENSOR_SCALAR_REDUCE] = { ANY, ANY, 0, ALIKE, 0, 0, false, check_scalar_reduce },
	[NEURON_OP_TENSOR_SCALAR_CUMULATIVE] = { ~WORDS, ~WORDS, 0, ALIKE, 0, 0, false,
						 check_cumulative },
	[NEURON_OP_VECTOR_READ_ACC] = { ANY, 0, 0, 1, 0, 0, false, NULL },
	[NEURON_OP_BN_STATS] = { ANY, ANY, 0, 6, 1, NEURON_ISA_MAX_STATS, false, NULL },
	[NEURON_OP_BN_AGGR] = { ANY, ANY, 0, 2, 0, 0, false, check_bn_aggr },
	[NEURON_OP_MAX8] = { ANY, ANY, 0, 8, NEURON_ISA_MIN_SEARCH, NEURON_ISA_MAX_SEARCH, false,
			     NULL },
	[NEURON_OP_FIND_INDEX8] = { NUMBERS, ANY, ANY, 8, NEURON_ISA_MIN_SEARCH,
				    NEURON_ISA_MAX_SEARCH, false, check_eight },
	[NEURON_OP_MATCH_REPLACE8] = { ANY, ANY, ANY, ALIKE, NEURON_ISA_MIN_SEARCH,
				       NEURON_ISA_MAX_SEARCH, false, check_match_replace },
	[NEURON_OP_SELECT_REDUCE] = { ANY, ~(WORDS | NEURON_DTB(TF32)), FLAGS, ALIKE, 0, 0, false,
				      check_select },
	[NEURON_OP_RANGE_SELECT] = { ANY, ~INTS, 0, ALIKE, 0, 0, false, check_range },
	[NEURON_OP_STREAM_SHUFFLE] = { ANY, ANY, 0, ALIKE, 0, 0, true, check_shuffle },
	[NEURON_OP_DROPOUT] = { ANY, ANY, 0, ALIKE, 0, 0, true, check_dropout },
	[NEURON_OP_RNG] = { INTS, 0, 0, OWN, 0, 0, false, check_rng },
	[NEURON_OP_SET_RNG_SEED] = { 0, WORDS, 0, OWN, 0, 0, false, check_seed },
	[NEURON_OP_IOTA] = { ANY, 0, 0, OWN, 0, 0, false, check_pattern },
	[NEURON_OP_AFFINE_SELECT] = { ANY, ANY, 0, ALIKE, 0, 0, false, check_affine },
	[NEURON_OP_PARTITION_REDUCE] = { ANY, ANY, 0, ALIKE, 0, 0, false, check_partition_reduce },
	[NEURON_OP_LOCAL_GATHER] = { ANY, ANY, NEURON_DTB(UINT16), OWN, 0, 0, true,
				     check_local_gather },
	[NEURON_OP_N_GATHER] = { ANY, ANY, UINT32, OWN, 0, 0, true, check_n_gather },
	[NEURON_OP_SEQUENCE_BOUNDS] = { FP32 | INT32, FP32 | INT32, 0, OWN, 0, 0, false,
					check_bounds },
	[NEURON_OP_NONZERO_WITH_COUNT] = { INT32, FP32 | INT32, 0, OWN, 0, 0, false,
					   check_nonzero },
	[NEURON_OP_TOPK] = { BF16, BF16, 0, OWN, 0, 0, false, check_topk },
	[NEURON_OP_RAND_SET_STATE] = { 0, UINT32, 0, OWN, NEURON_ISA_XORWOW_WORDS,
				       NEURON_ISA_XORWOW_WORDS, false, NULL },
	[NEURON_OP_RAND_GET_STATE] = { UINT32, 0, 0, NEURON_ISA_XORWOW_WORDS, 0, 0, false, NULL },
};

bool isa_is_v2(const struct neuron_insn *insn)
{
	return rules[insn->opcode].dst || rules[insn->opcode].src0;
}

int isa_check_v2(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	const struct rule *r = &rules[insn->opcode];
	uint32_t n;
	int rc = isa_check_operands(c);

	if (rc)
		return rc;
	if (r->dst && !(r->dst >> insn->dst.dtype & 1))
		return fail(c, NEURON_OPERAND_DST, "not a type of the destination");
	if (r->src0 && !(r->src0 >> insn->src0.dtype & 1))
		return fail(c, NEURON_OPERAND_SRC0, "not a type of the source");
	if (r->src1 && !(r->src1 >> insn->src1.dtype & 1))
		return fail(c, NEURON_OPERAND_SRC1, "not a type of the second source");
	if (r->same && insn->src0.dtype != insn->dst.dtype)
		return fail(c, NEURON_OPERAND_SRC0, "source and destination have one type");
	if (r->most && (c->at->src0.count < r->least || c->at->src0.count > r->most))
		return fail(c, NEURON_OPERAND_SRC0, "too few elements, or too many");
	n = r->elements == ALIKE ? c->at->src0.count : r->elements;
	if (r->elements != OWN && c->at->dst.count != n)
		return fail(c, NEURON_OPERAND_DST, "element counts differ");
	if (r->src1 && c->at->src0.psum && c->at->src1.psum)
		return fail(c, NEURON_OPERAND_SRC1, "two inputs in PSUM");
	if (insn->opcode == NEURON_OP_TENSOR_TENSOR_SCAN)
		rc = check_alike(c);
	return rc || !r->more ? rc : r->more(c);
}

/* TENSOR_SCALAR's part on the Scalar engine: a product, a sum, or the sum of a product */
static int check_scalar_engine(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	bool product = insn->op0 == NEURON_ALU_MULT, sum = insn->op0 == NEURON_ALU_ADD;

	if (c->target->core < 3)
		return neuron_isa_illegal(c->fault, "the engine has no such instruction");
	if ((product && insn->op1 == NEURON_ALU_ADD) ||
	    ((product || sum) && insn->op1 == NEURON_ALU_BYPASS))
		return 0;
	return neuron_isa_illegal(c->fault, "the engine does mult and add, mult, or add");
}

static int check_gpsimd(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;

	if ((neuron_isa_alu_class(insn->op0) | neuron_isa_alu_class(insn->op1)) & NEURON_ALU_BITVEC)
		return neuron_isa_illegal(c->fault, "GpSimd does arithmetic only");
	if (insn->opcode == NEURON_OP_TENSOR_SCALAR && insn->op0 != NEURON_ALU_RSQRT &&
	    insn->op1 != NEURON_ALU_RSQRT)
		return neuron_isa_illegal(c->fault, "GpSimd does rsqrt, alone or with another one");
	return 0;
}

int isa_check_engine(struct checker *c)
{
	if (c->runs == NEURON_ISA_GPSIMD)
		return check_gpsimd(c);
	if (c->runs == NEURON_ISA_ACT && c->insn->opcode == NEURON_OP_TENSOR_SCALAR)
		return check_scalar_engine(c);
	return 0;
}
