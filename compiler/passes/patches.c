// SPDX-License-Identifier: MIT
/*
 * A convolution whose stride is its kernel's size (a vision transformer's patches) uses each
 * element of the input once. With few features, a product for each position of the kernel would
 * leave most of the matrix unit's rows empty; instead a patch becomes one row of a single product.
 * So does a window of many positions over few features that overlaps with its neighbours (the
 * frames of a spectrogram): its row is put together from blocks of a stride's length.
 */
#include "pass.h"

#define MOST_FEATURES 64 /* with more, the features of one position fill the rows well */
#define MANY_POSITIONS 16 /* from here on overlapping windows are written out */
#define MOST_BLOCKS 16 /* so many times an element is written */

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

/* The rows of x [batch, out..., patch] times k [patch, features], in the result's order */
static struct ncc_op *multiplied(struct ncc_build *bl, const struct ncc_op *op, struct ncc_op *x,
				 struct ncc_op *k)
{
	const struct ncc_conv *c = op->conv;
	const unsigned int last = op->shape.ndim - 1;
	const struct ncc_dot rows = { .ncontract = 1, .lhs_contract = { (uint8_t)last } };
	uint8_t map[NCC_MAX_DIMS] = { 0 };

	map[c->out_batch] = 0;
	for (unsigned int i = 0; i < c->nspatial; i++)
		map[c->out_spatial[i]] = (uint8_t)(1 + i);
	map[c->out_feature] = (uint8_t)last;
	return build_transpose(bl, build_dot(bl, x, k, &rows, op->shape.dtype), map);
}

static struct ncc_op *expand(struct ncc_build *bl, const struct ncc_op *op)
{
	int64_t patch;
	struct ncc_op *x = patches(bl, op, &patch);

	return x ? multiplied(bl, op, x, weights(bl, op, patch)) : NULL;
}

static bool is_frames(const struct ncc_op *op)
{
	const struct ncc_conv *c = op->conv;
	const struct ncc_window *w = op->window;

	return op->kind == NCC_CONV && c->groups == 1 && c->nspatial == 1 &&
	       ncc_is_float(op->shape.dtype) && w->stride > 1 && w->size > w->stride &&
	       w->size >= MANY_POSITIONS && w->size <= MOST_BLOCKS * w->stride &&
	       op->in[0]->shape.dim[c->in_feature] < MOST_FEATURES && !w->low && !w->high &&
	       !w->reversal && w->window_dilation == 1 && w->base_dilation == 1;
}

/* x with n elements along dimension d: the first ones, or zeros behind them */
static struct ncc_op *sized(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t n)
{
	struct ncc_op *part[2] = { x };
	struct ncc_shape s = x->shape;

	if (s.dim[d] >= n)
		return build_slice(bl, x, d, 0, n);
	s.dim[d] = n - s.dim[d];
	part[1] = build_splat(bl, &s, 0);
	return part[1] ? build_concat(bl, part, 2, d) : NULL;
}

/* [batch, out, patch]: of each frame its blocks, of each block the features' elements */
static struct ncc_op *frames(struct ncc_build *bl, const struct ncc_op *op, int64_t blocks)
{
	const struct ncc_conv *c = op->conv;
	const int64_t out = op->shape.dim[c->out_spatial[0]], stride = op->window->stride;
	const uint8_t map[3] = { c->in_batch, c->in_feature, c->in_spatial[0] };
	const uint8_t turn[4] = { 0, 2, 1, 3 };
	struct ncc_op *x = build_transpose(bl, op->in[0], map), *part[MOST_BLOCKS];
	const int64_t all = out - 1 + blocks;
	struct ncc_shape s;

	x = x ? sized(bl, x, 2, all * stride) : NULL;
	if (!x)
		return NULL;
	s = x->shape;
	s.ndim = 4;
	s.dim[2] = all;
	s.dim[3] = stride;
	x = build_reshape(bl, x, &s);
	x = x ? build_transpose(bl, x, turn) : NULL;
	s.ndim = 3;
	s.dim[2] = s.dim[1] * stride;
	s.dim[1] = all;
	x = x ? build_reshape(bl, x, &s) : NULL;
	for (int64_t i = 0; x && i < blocks; i++) {
		part[i] = build_slice(bl, x, 1, i, out);
		if (!part[i])
			return NULL;
	}
	return x ? build_concat(bl, part, (unsigned int)blocks, 2) : NULL;
}

/* [patch, features]: the kernel in that order, zeros where the last block reaches beyond it */
static struct ncc_op *blocked(struct ncc_build *bl, const struct ncc_op *op, int64_t blocks)
{
	const struct ncc_conv *c = op->conv;
	const int64_t stride = op->window->stride;
	const uint8_t map[3] = { c->k_spatial[0], c->k_in, c->k_out }, turn[4] = { 0, 2, 1, 3 };
	struct ncc_op *k = build_transpose(bl, op->in[1], map);
	struct ncc_shape s;

	k = k ? sized(bl, k, 0, blocks * stride) : NULL;
	if (!k)
		return NULL;
	s = (struct ncc_shape){ .dtype = k->shape.dtype,
				.ndim = 4,
				.dim = { blocks, stride, k->shape.dim[1], k->shape.dim[2] } };
	k = build_reshape(bl, k, &s);
	k = k ? build_transpose(bl, k, turn) : NULL;
	s.ndim = 2;
	s.dim[0] = blocks * stride * s.dim[2];
	s.dim[1] = s.dim[3];
	return k ? build_reshape(bl, k, &s) : NULL;
}

static struct ncc_op *expand_frames(struct ncc_build *bl, const struct ncc_op *op)
{
	const struct ncc_window *w = op->window;
	const int64_t blocks = (w->size + w->stride - 1) / w->stride;
	struct ncc_op *x = frames(bl, op, blocks);

	return x ? multiplied(bl, op, x, blocked(bl, op, blocks)) : NULL;
}

int pass_patches(struct ncc_pass *p)
{
	int rc = pass_expand(p, is_patches, expand);

	return rc ? rc : pass_expand(p, is_frames, expand_frames);
}
