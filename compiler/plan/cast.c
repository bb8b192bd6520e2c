// SPDX-License-Identifier: MIT
/*
 * Converts that cost nothing: the operation before writes the narrow type at once, or the only user
 * casts as it reads. Products do when the operand comes from DRAM, piece by piece; a pad's copy
 * always does. Part of the plan.
 */
#include "find.h"

/*
 * Can the result be written as this type at once? One instruction writes each element, from fp32.
 */
static bool writes_as(const struct ncc_op *op, uint8_t dtype)
{
	if (op->users != 1 || op->kind == NCC_CONVERT ||
	    !(ncc_is_float(dtype) || dtype == NEURON_DT_INT8))
		return false;
	if (dtype == NEURON_DT_FP32)
		return ncc_is_compare(op->kind);
	return (op->shape.dtype == NEURON_DT_FP32 || ncc_is_compare(op->kind)) &&
	       (ncc_is_unary(op->kind) || ncc_is_binary(op->kind) || op->kind == NCC_DOT ||
		op->kind == NCC_CONV);
}

/* How a convert that only this operation reads, as operand i, is cast by it */
static enum plan_cast cast_by(const struct ncc_op *user, unsigned int i)
{
	if (user->kind == NCC_DOT || user->kind == NCC_CONV)
		return PLAN_CAST_FROM_DRAM;
	return user->kind == NCC_PAD && !i ? PLAN_CAST_COPIED : PLAN_CAST_SELF;
}

/* Does the product contract operand i along the dimension that the operand has in the partitions? */
static bool contracts_partitions(const struct ncc_op *op, unsigned int i)
{
	const uint8_t *d;

	if (op->kind != NCC_DOT || op->dot->ncontract != 1)
		return false;
	d = i ? op->dot->rhs_contract : op->dot->lhs_contract;
	return op->in[i]->pdim == *d;
}

static void read_operands(struct ncc_op *op)
{
	for (unsigned int i = 0; i < op->nin; i++) {
		struct ncc_op *in = op->in[i];

		in->plan->contracting += contracts_partitions(op, i);
		if (in->kind == NCC_CONVERT && in->users == 1)
			in->plan->cast = (uint8_t)cast_by(op, i);
	}
}

void plan_find_casts(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next) {
		read_operands(op);
	}
	/* ... or nobody has to */
	for (struct ncc_op *op = m->first; op; op = op->next) {
		if (op->kind != NCC_CONVERT)
			continue;
		op->plan->turned = op->users >= 2 && op->plan->contracting >= op->users;
		if (!op->shape.pred && writes_as(op->in[0], op->shape.dtype)) {
			op->in[0]->plan->dtype = op->shape.dtype;
			op->plan->cast = PLAN_CAST_BEFORE;
		} else if (op->in[0]->shape.dtype == op->shape.dtype) {
			op->plan->cast = PLAN_CAST_SAME;
		}
	}
}
