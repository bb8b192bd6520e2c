// SPDX-License-Identifier: MIT
/*
 * A convolution whose window is the whole input, as the gradient of a kernel of one position is, is
 * one product, which contracts batch and window together. Done as others are, its input would be
 * read from DRAM for each position of the window, of features that PyTorch's arrays have far
 * apart: in pieces of one number.
 */
#include "pass.h"

static bool is_gradient(const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	bool many = false;

	if (op->kind != NCC_CONV || c->groups != 1 || !ncc_is_float(op->shape.dtype) ||
	    c->in_batch == op->in[0]->shape.ndim - 1)
		return false;
	for (unsigned int i = 0; i < c->nspatial; i++) {
		const struct ncc_window *w = &op->window[i];

		if (op->shape.dim[c->out_spatial[i]] != 1 || w->low || w->high || w->reversal ||
		    w->base_dilation != 1)
			return false;
		many = many || w->size > 1;
	}
	return many;
}

/* What the window sees of the input */
static struct ncc_op *seen(struct ncc_build *bl, const struct ncc_op *op)
{
	struct ncc_op *x = op->in[0];

	for (unsigned int i = 0; x && i < op->conv->nspatial; i++)
		x = build_strided(bl, x, op->conv->in_spatial[i], 0, op->window[i].size,
				  op->window[i].window_dilation);
	return x;
}

static struct ncc_op *expand(struct ncc_build *bl, const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	const bool features_first = c->out_feature < c->out_batch;
	struct ncc_dot d = { .ncontract = c->nspatial + 1 };
	uint8_t *of_input = features_first ? d.rhs_contract : d.lhs_contract;
	uint8_t *of_kernel = features_first ? d.lhs_contract : d.rhs_contract;
	struct ncc_op *x = seen(bl, op), *k = op->in[1];

	of_input[0] = c->in_feature;
	of_kernel[0] = c->k_in;
	for (unsigned int i = 0; i < c->nspatial; i++) {
		of_input[1 + i] = c->in_spatial[i];
		of_kernel[1 + i] = c->k_spatial[i];
	}
	if (!x)
		return NULL;
	x = build_dot(bl, features_first ? k : x, features_first ? x : k, &d, op->shape.dtype);
	if (!x)
		return NULL;
	x->exact = op->exact;
	return build_reshape(bl, x, &op->shape);
}

int pass_gradients(struct ncc_pass *p)
{
	return pass_expand(p, is_gradient, expand);
}
