// SPDX-License-Identifier: MIT
/*
 * Values that only a pad or a concatenation reads, and that are computed where it would copy them.
 * Part of the plan.
 */
#include "find.h"

/* Does the pad only add borders of one number along free dimensions? */
static bool is_border(const struct ncc_op *pad)
{
	double v;

	for (unsigned int d = 0; d < pad->shape.ndim; d++)
		if (pad->low[d] < 0 || pad->high[d] < 0 || pad->interior[d] ||
		    ((int)d == pad->pdim && pad->low[d] + pad->high[d]))
			return false;
	return pad->pdim >= 0 && plan_number(pad->in[1], &v);
}

static void pad(struct ncc_op *op)
{
	struct ncc_op *x = op->in[0];

	if (x->users != 1 || !is_border(op))
		return;
	if (x->plan->cast == PLAN_CAST_BEFORE)
		x = x->in[0]; /* its only user is the pad */
	if (x->pdim != op->pdim || x->plan->how == PLAN_GROUP || x->plan->how == PLAN_LATER ||
	    !(x->plan->elementwise || x->kind == NCC_DOT || x->kind == NCC_CONV))
		return;
	x->plan->pad = op;
	op->plan->how = PLAN_AROUND;
}

/* Bytes of a partition: a larger result is not kept for what is still to be computed */
#define JOIN_BYTES 32768

static bool is_small(const struct ncc_op *op)
{
	int64_t chunks = (op->shape.dim[op->pdim] + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;

	return ncc_elems(&op->shape) / op->shape.dim[op->pdim] * chunks *
		       ncc_dtype_size(op->shape.dtype) <=
	       JOIN_BYTES;
}

static bool ends_epilogue(const struct ncc_op *op)
{
	return op->plan->first && !op->plan->first->plan->elementwise;
}

static void join(struct ncc_op *op)
{
	if (op->pdim < 0 || op->pdim == (int)op->axis || !is_small(op))
		return;
	for (unsigned int i = 0; i < op->nin; i++) {
		struct ncc_op *x = op->in[i];

		if (x->users == 1 && x->pdim == op->pdim && x->plan->elementwise &&
		    !ends_epilogue(x))
			x->plan->joined = op;
	}
}

void plan_find_places(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next) {
		if (op->kind == NCC_PAD)
			pad(op);
		else if (op->kind == NCC_CONCAT)
			join(op);
	}
}
