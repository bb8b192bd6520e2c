// SPDX-License-Identifier: MIT
/*
 * A convolution whose stride is its kernel's size (a vision transformer's patches) uses each
 * element of the input once. With few features, a product for each position of the kernel would
 * leave most of the matrix unit's rows empty; instead a patch becomes one row of a single product.
 */
#include "pass.h"

#define MOST_FEATURES 64 /* with more, the features of one position fill the rows well */

static bool is_patches(const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	int64_t positions = 1;

	if (op->kind != NCC_CONV || c->groups != 1 || !ncc_is_float(op->shape.dtype) ||
	    op->in[0]->shape.dim[c->in_feature] >= MOST_FEATURES ||
	    op->shape.ndim + c->nspatial > NCC_MAX_DIMS)
		return false;
	for (unsigned int i = 0; i < c->nspatial; i++) {
		const struct ncc_window *w = &op->window[i];

		if (w->stride != w->size || w->low || w->high || w->reversal ||
		    (w->size > 1 && w->window_dilation != 1) || w->base_dilation != 1)
			return false;
		positions *= w->size;
	}
	return positions > 1;
}

/* [batch, out..., patch]: a patch's elements by position, then by feature */
static struct ncc_op *patches(struct ncc_build *bl, const struct ncc_op *op, int64_t *patch)
{
	const struct ncc_conv *c = op->conv;
	struct ncc_op *x = op->in[0];
	struct ncc_shape s = { .ndim = x->shape.ndim + c->nspatial }, merged = { .ndim = 1 };
	uint8_t at[NCC_MAX_DIMS], map[NCC_MAX_DIMS];
	unsigned int n = 0;

	for (unsigned int i = 0; x && i < c->nspatial; i++)
		x = build_slice(bl, x, c->in_spatial[i], 0,
				op->shape.dim[c->out_spatial[i]] * op->window[i].size);

	if (!x)
		return NULL;
	for (unsigned int d = 0; d < x->shape.ndim; d++) {
		at[d] = (uint8_t)n;
		s.dim[n++] = x->shape.dim[d];
		for (unsigned int i = 0; i < c->nspatial; i++)
			if (c->in_spatial[i] == d) {
				s.dim[n - 1] = op->shape.dim[c->out_spatial[i]];
				s.dim[n++] = op->window[i].size;
			}
	}

	s.dtype = x->shape.dtype;
	x = build_reshape(bl, x, &s);
	map[0] = at[c->in_batch];
	merged.dtype = s.dtype;
	merged.dim[0] = s.dim[map[0]];
	*patch = s.dim[at[c->in_feature]];

	for (unsigned int i = 0; i < c->nspatial; i++) {
		map[1 + i] = at[c->in_spatial[i]];
		map[1 + c->nspatial + i] = (uint8_t)(map[1 + i] + 1);
		merged.dim[merged.ndim++] = s.dim[map[1 + i]];
		*patch *= op->window[i].size;
	}

	map[1 + 2 * c->nspatial] = at[c->in_feature];
	merged.dim[merged.ndim++] = *patch;
	x = x ? build_transpose(bl, x, map) : NULL;
	return x ? build_reshape(bl, x, &merged) : NULL;
}

/* [patch, features]: the kernel in the same order */
static struct ncc_op *weights(struct ncc_build *bl, const struct ncc_op *op, int64_t patch)
{
	const struct ncc_conv *c = op->conv;
	struct ncc_op *k = op->in[1];
	struct ncc_shape s = { .dtype = k->shape.dtype,
			       .ndim = 2,
			       .dim = { patch, k->shape.dim[c->k_out] } };
	uint8_t map[NCC_MAX_DIMS];

	for (unsigned int i = 0; i < c->nspatial; i++)
		map[i] = c->k_spatial[i];
	map[c->nspatial] = c->k_in;
	map[c->nspatial + 1] = c->k_out;
	k = build_transpose(bl, k, map);
	return k ? build_reshape(bl, k, &s) : NULL;
}

static struct ncc_op *expand(struct ncc_build *bl, const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	struct ncc_shape s = { .dtype = op->shape.dtype, .ndim = op->shape.ndim };
	uint8_t map[NCC_MAX_DIMS] = { 0 };
	struct ncc_op *x, *k, *r;
	int64_t patch;

	x = patches(bl, op, &patch);
	k = x ? weights(bl, op, patch) : NULL;
	if (!k)
		return NULL;
	for (unsigned int d = 0; d + 1 < s.ndim; d++)
		s.dim[d] = x->shape.dim[d];
	s.dim[s.ndim - 1] = k->shape.dim[1];
	r = build_node(bl, NCC_DOT, &s, x, k, NULL);
	if (!r)
		return NULL;

	*r->dot = (struct ncc_dot){ .ncontract = 1 };
	r->dot->lhs_contract[0] = (uint8_t)(s.ndim - 1);
	map[c->out_batch] = 0;
	for (unsigned int i = 0; i < c->nspatial; i++)
		map[c->out_spatial[i]] = (uint8_t)(1 + i);
	map[c->out_feature] = (uint8_t)(s.ndim - 1);
	return build_transpose(bl, r, map);
}

int pass_patches(struct ncc_pass *p)
{
	return pass_expand(p, is_patches, expand);
}
