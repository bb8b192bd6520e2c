// SPDX-License-Identifier: MIT
/* An operation's rough cost, before it is known how it is computed */
#include <errno.h>
#include <stdlib.h>

#include "neuron/timing.h"
#include "traits.h"

/* The number of an operation's elements that are the same for every inference */
static uint64_t weights_of(const struct ncc_op *op)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < op->nin; i++) {
		const struct ncc_op *in = op->in[i];

		while (in->nin == 1)
			in = in->in[0];
		if (in->kind == NCC_CONST)
			n += (uint64_t)ncc_elems(&in->shape);
	}
	return n;
}

uint64_t ncc_cost(const struct ncc_op *op)
{
	uint64_t n = (uint64_t)ncc_elems(&op->shape), k = 1;

	if (op->kind == NCC_CONST || op->kind == NCC_PARAM || op->kind == NCC_BROADCAST ||
	    op->kind == NCC_RESHAPE || op->kind == NCC_TRANSPOSE)
		return 0;
	if (op->kind == NCC_DOT)
		for (unsigned int i = 0; i < op->dot->ncontract; i++)
			k *= (uint64_t)op->in[0]->shape.dim[op->dot->lhs_contract[i]];
	if (op->kind == NCC_CONV) {
		k = (uint64_t)op->in[1]->shape.dim[op->conv->k_in];
		for (unsigned int i = 0; i < op->conv->nspatial; i++)
			k *= (uint64_t)op->window[i].size;
	}
	if (op->kind == NCC_DOT || op->kind == NCC_CONV)
		return neuron_product_steps(n, k, weights_of(op));
	if (op->kind == NCC_REDUCE || op->kind == NCC_REDUCE_WINDOW)
		n += (uint64_t)ncc_elems(&op->in[0]->shape);
	return n;
}

static int add(struct ncc_made *made, struct ncc_op *op)
{
	if (!op || op->mark)
		return 0;
	if (made->n == made->cap) {
		unsigned int cap = made->cap ? made->cap * 2 : 256;
		struct ncc_op **more = reallocarray(made->op, cap, sizeof(struct ncc_op *));

		if (!more)
			return -ENOMEM;
		made->op = more;
		made->cap = cap;
	}
	op->mark = 1;
	made->op[made->n++] = op;
	return 0;
}

int ncc_made_since(struct ncc_op *const *value, unsigned int n, unsigned int since,
		   struct ncc_made *made)
{
	int rc = 0;

	*made = (struct ncc_made){ 0 };
	for (unsigned int i = 0; i < n && !rc; i++)
		rc = add(made, value[i]);
	for (unsigned int i = 0; i < made->n && !rc; i++)
		for (unsigned int k = 0; made->op[i]->id >= since && k < made->op[i]->nin && !rc;
		     k++)
			rc = add(made, made->op[i]->in[k]);
	for (unsigned int i = 0; i < made->n; i++)
		made->op[i]->mark = 0;
	return rc;
}
