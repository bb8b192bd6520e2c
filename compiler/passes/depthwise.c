// SPDX-License-Identifier: MIT
/*
 * Depthwise convolutions have no sum over features that the matrix unit could do: as one product
 * for each feature they take an instruction or more for each. They become element-wise operations
 * in fp32, with the features along the partitions: for each position of the kernel, the input
 * shifted by it times the kernel's numbers at that position.
 */
#include "pass.h"

#define FEWEST_FEATURES 8
#define MOST_POSITIONS 64

static bool is_depthwise(const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	int64_t positions = 1;

	if (op->kind != NCC_CONV || c->groups < FEWEST_FEATURES ||
	    op->in[0]->shape.dim[c->in_feature] != c->groups ||
	    op->shape.dim[c->out_feature] != c->groups || op->shape.dtype != NEURON_DT_FP32 ||
	    op->in[0]->shape.dtype != NEURON_DT_FP32 || op->in[1]->shape.dtype != NEURON_DT_FP32 ||
	    c->in_batch != c->out_batch || c->in_feature != c->out_feature)
		return false;
	for (unsigned int i = 0; i < c->nspatial; i++) {
		positions *= op->window[i].size;
		if (c->in_spatial[i] != c->out_spatial[i] || positions > MOST_POSITIONS)
			return false;
	}
	return true;
}

/* The input shifted so that the kernel's position at lies over the result */
static struct ncc_op *moved(struct ncc_build *bl, const struct ncc_op *op, const int64_t *at)
{
	struct ncc_op *x = op->in[0];

	for (unsigned int i = 0; x && i < op->conv->nspatial; i++) {
		const struct ncc_window *w = &op->window[i];
		unsigned int d = op->conv->in_spatial[i];
		struct ncc_op *cut =
			build_slice(bl, x, d, at[i] * w->window_dilation, op->shape.dim[d]);

		if (cut && cut != x)
			cut->stride[d] = w->stride;
		x = cut;
	}
	return x;
}

/* The kernel's numbers at a position, one for each feature, in the result's shape */
static struct ncc_op *numbers(struct ncc_build *bl, const struct ncc_op *op, const int64_t *at)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32,
				     .ndim = 1,
				     .dim = { op->conv->groups } };
	struct ncc_op *k = op->in[1];

	for (unsigned int i = 0; k && i < op->conv->nspatial; i++)
		k = build_slice(bl, k, op->conv->k_spatial[i], at[i], 1);
	k = k ? build_reshape(bl, k, &s) : NULL;
	return k ? build_spread(bl, &op->shape, k, &op->conv->out_feature) : NULL;
}

static bool next(int64_t *at, const struct ncc_op *op)
{
	for (unsigned int i = op->conv->nspatial; i-- > 0;) {
		if (++at[i] < op->window[i].size)
			return true;
		at[i] = 0;
	}
	return false;
}

static struct ncc_op *expand(struct ncc_build *bl, const struct ncc_op *op)
{
	int64_t at[NCC_MAX_DIMS] = { 0 };
	struct ncc_op *sum = NULL;

	do {
		struct ncc_op *x = moved(bl, op, at), *k = numbers(bl, op, at), *term;

		term = x && k ? build_node(bl, NCC_MUL, &op->shape, x, k, NULL) : NULL;
		if (!term)
			return NULL;
		sum = sum ? build_node(bl, NCC_ADD, &op->shape, sum, term, NULL) : term;
	} while (sum && next(at, op));
	return sum;
}

int pass_depthwise(struct ncc_pass *p)
{
	return pass_expand(p, is_depthwise, expand);
}
