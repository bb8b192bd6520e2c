// SPDX-License-Identifier: MIT
/*
 * Convolution as a sum of matrix products (matmul.c), one for each kernel position and each 128
 * input features. The moving operand is the input itself, read with the window's strides, so
 * nothing is unfolded. passes/windows.c has made padding, base dilation and reversal operations of
 * their own. Part of the code generator.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "contract.h"
#include "move.h"
#include "place.h"
#include "view.h"

struct conv {
	const struct ncc_op *op;
	struct ncc_view x, k; /* one group's input features and kernel */
	struct mm_term *term;
	unsigned int nterms;
};

/* The input that a kernel position sees: [features, the result's other dimensions in order] */
static struct ncc_view moving(const struct conv *c, const int64_t *at, int64_t k0, int64_t kn)
{
	const struct ncc_conv *d = c->op->conv;
	struct ncc_view v = view_slice(&c->x, d->in_feature, k0, kn, 1);
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 1;

	for (unsigned int i = 0; i < d->nspatial; i++) {
		const struct ncc_window *w = &c->op->window[i];

		v = view_slice(&v, d->in_spatial[i], at[i] * w->window_dilation,
			       c->op->shape.dim[d->out_spatial[i]], w->stride);
	}
	map[0] = d->in_feature;
	for (unsigned int r = 0; r < c->op->shape.ndim; r++) {
		if (r == d->out_batch)
			map[n++] = d->in_batch;
		for (unsigned int i = 0; i < d->nspatial; i++)
			if (r == d->out_spatial[i])
				map[n++] = d->in_spatial[i];
	}
	return view_permute(&v, map, n);
}

/* The kernel at a position: [input features, output features] */
static struct ncc_view stationary(const struct conv *c, const int64_t *at, int64_t k0, int64_t kn,
				  int64_t s0, int64_t sn)
{
	const struct ncc_conv *d = c->op->conv;
	const uint8_t map[2] = { d->k_in, d->k_out };
	struct ncc_view v = view_slice(&c->k, d->k_in, k0, kn, 1);

	v = view_slice(&v, d->k_out, s0, sn, 1);
	for (unsigned int i = 0; i < d->nspatial; i++)
		v = view_slice(&v, d->k_spatial[i], at[i], 1, 1);
	return view_permute(&v, map, 2);
}

static void make_terms(struct conv *c, int64_t s0, int64_t sn)
{
	const struct ncc_conv *d = c->op->conv;
	int64_t at[NCC_MAX_DIMS] = { 0 }, features = c->x.dim[d->in_feature];
	bool more = true;

	c->nterms = 0;
	while (more) {
		for (int64_t k0 = 0; k0 < features; k0 += NEURON_PARTITIONS) {
			int64_t kn = features - k0 < NEURON_PARTITIONS ? features - k0
								       : NEURON_PARTITIONS;

			c->term[c->nterms++] =
				(struct mm_term){ .st = stationary(c, at, k0, kn, s0, sn),
						  moving(c, at, k0, kn) };
		}
		more = false;
		for (unsigned int i = d->nspatial; i-- > 0 && !more;) {
			more = ++at[i] < c->op->window[i].size;
			if (!more)
				at[i] = 0;
		}
	}
}

static int terms_alloc(struct ncc_gen *g, struct conv *c)
{
	const struct ncc_conv *d = c->op->conv;
	int64_t n = (c->op->in[1]->shape.dim[d->k_in] + NEURON_PARTITIONS - 1) / NEURON_PARTITIONS;

	for (unsigned int i = 0; i < d->nspatial; i++) {
		n *= c->op->window[i].size; /* at most 2^31 each, and the loop ends early */
		if (n > 65536) {
			g->no_room = true;
			return gen_fail(g, -EFBIG, "too large: more than 65536 matrix products");
		}
	}
	c->term = calloc((size_t)n, sizeof(*c->term));
	return c->term ? 0 : ncc_no_memory(g->err);
}

/* Computes output features [s0, s0 + sn) of the group whose first one is feature first. */
static int run_features(struct ncc_gen *g, struct conv *c, const struct ncc_view *dst,
			int64_t first, int64_t s0, int64_t sn)
{
	const struct ncc_conv *d = c->op->conv;
	struct ncc_view to = view_slice(dst, d->out_feature, first + s0, sn, 1);
	uint8_t map[NCC_MAX_DIMS] = { d->out_feature };
	unsigned int n = 1;

	for (unsigned int r = 0; r < dst->ndim; r++)
		if (r != d->out_feature)
			map[n++] = (uint8_t)r;
	to = view_permute(&to, map, n);
	make_terms(c, s0, sn);
	return gen_matmul(g, &to, c->term, c->nterms);
}

/* Fetches a group's kernel to SBUF, neighbours along its output features as in DRAM. */
static int fetch_kernel(struct ncc_gen *g, struct conv *c, const struct ncc_view *k)
{
	const struct ncc_conv *d = c->op->conv;
	uint8_t map[NCC_MAX_DIMS] = { d->k_in }, back[NCC_MAX_DIMS];
	struct ncc_view v;
	int rc;

	memcpy(map + 1, d->k_spatial, d->nspatial);
	map[d->nspatial + 1] = d->k_out;
	for (unsigned int i = 0; i < k->ndim; i++)
		back[map[i]] = (uint8_t)i;
	v = view_permute(k, map, k->ndim);
	rc = gen_fetch(g, &v, 0, c->op->in[1]->shape.dtype, &v);
	if (!rc)
		c->k = view_permute(&v, back, k->ndim);
	return rc;
}

static int run_group(struct ncc_gen *g, struct conv *c, const struct ncc_view *dst, int64_t group)
{
	const struct ncc_conv *d = c->op->conv;
	int64_t in = c->op->in[1]->shape.dim[d->k_in],
		out = c->op->shape.dim[d->out_feature] / d->groups;
	struct ncc_view x =
		view_slice(&c->op->in[0]->gen->value->view, d->in_feature, group * in, in, 1);
	struct ncc_view k;
	int rc = gen_place_inner(g, c->op->in[1], d->k_in, d->k_out);

	if (rc)
		return rc;
	k = view_slice(&c->op->in[1]->gen->value->view, d->k_out, group * out, out, 1);
	rc = gen_fetch(g, &x, d->in_feature, c->op->in[0]->shape.dtype, &c->x);
	if (!rc && k.stride[d->k_out] == 1)
		rc = fetch_kernel(g, c, &k);
	else if (!rc)
		rc = gen_fetch(g, &k, d->k_in, c->op->in[1]->shape.dtype, &c->k);
	for (int64_t s0 = 0; !rc && s0 < out; s0 += NEURON_PARTITIONS)
		rc = run_features(g, c, dst, group * out, s0,
				  out - s0 < NEURON_PARTITIONS ? out - s0 : NEURON_PARTITIONS);
	return rc;
}

int gen_conv(struct ncc_gen *g, const struct ncc_op *op, const struct ncc_view *dst)
{
	struct conv c = { .op = op };
	int rc = terms_alloc(g, &c);

	for (int64_t group = 0; !rc && group < op->conv->groups; group++) {
		unsigned int mark = g->ntemps;

		rc = run_group(g, &c, dst, group);
		gen_release_temps(g, mark);
	}
	free(c.term);
	return rc;
}
