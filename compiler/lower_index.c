// SPDX-License-Identifier: MIT
/*
 * What is chosen by an index. A core has no indirect addressing: it is a product with a matrix of
 * ones and zeros, which is exact when fp32 values are taken as the sum of three bf16 parts. Called
 * by the front ends.
 */
#include <string.h>

#include "build.h"

/* bf16[idx dims..., n]: 1 where the last index is the value of idx, else 0 */
struct ncc_op *lower_one_hot(struct ncc_build *bl, struct ncc_op *idx, int64_t n)
{
	struct ncc_shape s;
	uint8_t map[NCC_MAX_DIMS], last;
	struct ncc_op *a, *b;

	if (!idx || idx->shape.ndim == NCC_MAX_DIMS)
		return NULL;
	s = idx->shape;
	last = (uint8_t)s.ndim;
	for (unsigned int i = 0; i < s.ndim; i++)
		map[i] = (uint8_t)i;
	s.dim[s.ndim++] = n;
	a = build_spread(bl, &s, idx, map);
	b = build_count(bl, n);
	b = b ? build_spread(bl, &s, b, &last) : NULL;
	return build_cast(bl, build_compare(bl, NCC_EQ, a, b), NEURON_DT_BF16);
}

/* One part of x in bf16, taken from what is left of it; constants now, so that it costs nothing */
static struct ncc_op *take_part(struct ncc_build *bl, struct ncc_op **left, bool last)
{
	struct ncc_op *x = *left, *part = build_cast(bl, x, NEURON_DT_BF16), *r;
	int64_t n = ncc_elems(&x->shape);

	if (!part)
		return NULL;
	if (x->kind == NCC_CONST) {
		struct ncc_shape s = x->shape;

		r = build_const(bl, &s);
		s.dtype = NEURON_DT_BF16;
		part = r ? build_const(bl, &s) : NULL;
		if (!part)
			return NULL;
		for (int64_t i = 0; i < n; i++) {
			double v = ncc_get(NEURON_DT_FP32, x->data, i);

			ncc_set(NEURON_DT_BF16, part->data, i, v);
			ncc_set(NEURON_DT_FP32, r->data, i,
				v - ncc_get(NEURON_DT_BF16, part->data, i));
		}
		*left = r;
		return part;
	}
	r = last ? x : build_cast(bl, part, NEURON_DT_FP32);
	*left = r ? build_node(bl, NCC_SUB, &x->shape, x, r, NULL) : NULL;
	return *left ? part : NULL;
}

/* x with dimension d chosen by the ones of hot[..., n]: [hot's others..., x's others...], fp32 */
static struct ncc_op *choose_part(struct ncc_build *bl, struct ncc_op *hot, struct ncc_op *x,
				  unsigned int d)
{
	struct ncc_shape s = { .dtype = NEURON_DT_FP32 };
	struct ncc_op *op;

	if (!hot || !x)
		return NULL;
	for (unsigned int i = 0; i + 1 < hot->shape.ndim; i++)
		s.dim[s.ndim++] = hot->shape.dim[i];
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		if (i != d)
			s.dim[s.ndim++] = x->shape.dim[i];
	op = build_node(bl, NCC_DOT, &s, hot, x, NULL);
	if (!op)
		return NULL;
	op->dot.ncontract = 1;
	op->dot.lhs_contract[0] = (uint8_t)(hot->shape.ndim - 1);
	op->dot.rhs_contract[0] = (uint8_t)d;
	return op;
}

/* The same of x's own type. idx may be of any rank; its values are in range. */
struct ncc_op *lower_choose(struct ncc_build *bl, struct ncc_op *hot, struct ncc_op *x,
			    unsigned int d)
{
	struct ncc_shape was = x->shape;
	unsigned int parts =
		was.pred || was.dtype == NEURON_DT_BF16 || was.dtype == NEURON_DT_INT8 ? 1 : 3;
	struct ncc_op *sum = NULL, *part[3] = { NULL }, *left;

	if (!hot || hot->shape.ndim - 1 + was.ndim - 1 > NCC_MAX_DIMS)
		return NULL;
	if (parts == 1) {
		sum = choose_part(bl, hot, build_cast(bl, x, NEURON_DT_BF16), d);
	} else {
		left = build_cast(bl, x, NEURON_DT_FP32);
		for (unsigned int i = 0; left && i < parts; i++)
			part[i] = take_part(bl, &left, i + 1 == parts);
		for (unsigned int i = parts; i-- > 0;) {
			struct ncc_op *p = choose_part(bl, hot, part[i], d);

			if (!p)
				return NULL;
			sum = sum ? build_node(bl, NCC_ADD, &p->shape, sum, p, NULL) : p;
		}
	}
	if (!sum)
		return NULL;
	if (was.pred) { /* 0 or 1 */
		struct ncc_op *half = build_splat(bl, &sum->shape, 0.5);

		return build_compare(bl, NCC_GT, sum, half);
	}
	return was.dtype == NEURON_DT_FP32 ? sum : build_cast(bl, sum, was.dtype);
}

struct ncc_op *lower_clamp_index(struct ncc_build *bl, struct ncc_op *idx, int64_t most)
{
	struct ncc_op *x = build_cast(bl, idx, NEURON_DT_INT32);

	x = x ? build_node(bl, NCC_MAX, &x->shape, x, build_splat(bl, &x->shape, 0), NULL) : NULL;
	return x ? build_node(bl, NCC_MIN, &x->shape, x, build_splat(bl, &x->shape, (double)most),
			      NULL)
		 : NULL;
}

/* [idx's, x's others] -> [x's before d, idx's, x's behind d] */
static struct ncc_op *in_place(struct ncc_build *bl, struct ncc_op *r, unsigned int nidx,
			       unsigned int d)
{
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	if (!r || !d)
		return r;
	for (unsigned int i = 0; i < d; i++)
		map[n++] = (uint8_t)(nidx + i);
	for (unsigned int i = 0; i < nidx; i++)
		map[n++] = (uint8_t)i;
	for (unsigned int i = nidx + d; i < r->shape.ndim; i++)
		map[n++] = (uint8_t)i;
	return build_transpose(bl, r, map);
}

struct ncc_op *lower_take(struct ncc_build *bl, struct ncc_op *x, struct ncc_op *idx,
			  unsigned int d)
{
	int64_t n;

	if (!x || !idx || d >= x->shape.ndim)
		return NULL;
	n = x->shape.dim[d];
	idx = lower_clamp_index(bl, idx, n - 1);
	if (!idx)
		return NULL;
	return in_place(bl, lower_choose(bl, lower_one_hot(bl, idx, n), x, d), idx->shape.ndim, d);
}
