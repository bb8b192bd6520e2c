// SPDX-License-Identifier: MIT
/*
 * Products of many pairs of small matrices (rotations, outer products) are an instruction or more
 * for each pair on the matrix unit, which they leave empty. They become element-wise operations in
 * fp32: for each contracted index, the columns of one side times the rows of the other. The pairs
 * then lie along the partitions.
 */
#include "pass.h"

#define FEWEST_PAIRS 64
#define MOST_CONTRACTED 4 /* of more, a DMA would fetch the elements of one index one by one */
#define MOST_WORK 1024 /* multiplications of a pair */

static bool is_float(const struct ncc_op *op)
{
	return op->shape.dtype == NEURON_DT_FP32 || op->shape.dtype == NEURON_DT_BF16 ||
	       op->shape.dtype == NEURON_DT_FP16;
}

static bool is_batch(const struct ncc_op *op)
{
	int64_t pairs = 1, contracted = 1;

	if (op->kind != NCC_DOT || op->dot->neighbours || !is_float(op) || !is_float(op->in[0]) ||
	    !is_float(op->in[1]))
		return false;
	for (unsigned int i = 0; i < op->dot->nbatch; i++)
		pairs *= op->shape.dim[i];
	for (unsigned int i = 0; i < op->dot->ncontract; i++)
		contracted *= op->in[0]->shape.dim[op->dot->lhs_contract[i]];
	return pairs >= FEWEST_PAIRS && contracted <= MOST_CONTRACTED &&
	       ncc_elems(&op->shape) / pairs * contracted <= MOST_WORK;
}

/* An operand, in fp32, with its dimensions in the order of the result's, the contracted ones last */
struct side {
	struct ncc_op *x;
	unsigned int kept; /* dimensions that the result has */
	uint8_t map[NCC_MAX_DIMS]; /* and where it has them */
};

static struct side side_of(struct ncc_build *bl, const struct ncc_op *op, unsigned int i)
{
	const struct ncc_dot *dot = op->dot;
	const uint8_t *batch = i ? dot->rhs_batch : dot->lhs_batch;
	const uint8_t *contract = i ? dot->rhs_contract : dot->lhs_contract;
	const struct ncc_op *in = op->in[i];
	struct side s = { 0 };
	uint8_t order[NCC_MAX_DIMS];
	uint32_t used = 0;
	unsigned int n, free;

	for (unsigned int k = 0; k < dot->ncontract; k++)
		used |= 1u << contract[k];
	for (; s.kept < dot->nbatch; s.kept++) {
		order[s.kept] = batch[s.kept];
		s.map[s.kept] = (uint8_t)s.kept;
		used |= 1u << batch[s.kept];
	}
	free = i ? op->shape.ndim + dot->nbatch + dot->ncontract - in->shape.ndim : dot->nbatch;
	for (unsigned int d = 0; d < in->shape.ndim; d++) {
		if (used >> d & 1)
			continue;
		order[s.kept] = (uint8_t)d;
		s.map[s.kept++] = (uint8_t)free++;
	}
	n = s.kept;
	for (unsigned int k = 0; k < dot->ncontract; k++)
		order[n++] = contract[k];
	s.x = build_transpose(bl, build_cast(bl, op->in[i], NEURON_DT_FP32), order);
	return s;
}

/* A side's value at an index of the contracted dimensions, spread over the result's shape */
static struct ncc_op *part(struct ncc_build *bl, const struct side *s, const struct ncc_shape *to,
			   const int64_t *at)
{
	struct ncc_shape kept;
	struct ncc_op *x = s->x;

	if (!x)
		return NULL;
	kept = x->shape;
	kept.ndim = s->kept;
	for (unsigned int d = s->kept; x && d < s->x->shape.ndim; d++)
		x = build_slice(bl, x, d, at[d - s->kept], 1);
	x = build_reshape(bl, x, &kept);
	return x ? build_spread(bl, to, x, s->map) : NULL;
}

static bool next(int64_t *at, const struct ncc_op *op)
{
	for (unsigned int i = op->dot->ncontract; i-- > 0;) {
		if (++at[i] < op->in[0]->shape.dim[op->dot->lhs_contract[i]])
			return true;
		at[i] = 0;
	}
	return false;
}

static struct ncc_op *expand(struct ncc_build *bl, const struct ncc_op *op)
{
	const struct side l = side_of(bl, op, 0), r = side_of(bl, op, 1);
	struct ncc_shape s = op->shape;
	int64_t at[NCC_MAX_DIMS] = { 0 };
	struct ncc_op *sum = NULL;

	s.dtype = NEURON_DT_FP32;
	do {
		struct ncc_op *term =
			build_binary(bl, NCC_MUL, part(bl, &l, &s, at), part(bl, &r, &s, at));

		sum = sum ? build_binary(bl, NCC_ADD, sum, term) : term;
	} while (sum && next(at, op));
	return build_cast(bl, sum, op->shape.dtype);
}

int pass_batches(struct ncc_pass *p)
{
	return pass_expand(p, is_batch, expand);
}
