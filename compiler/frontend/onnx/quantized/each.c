// SPDX-License-Identifier: MIT
/*
 * What holds for each value that quantized numbers can have: those are so few that all are tried,
 * with what is computed of them too. Part of the ONNX front end.
 */
#include <math.h>

#include "quantized.h"

#define VALUE_DEPTH 8 /* operations between two scales */
#define ROOTS 2 /* quantized numbers that meet */

/* Whole numbers times a scale */
struct root {
	const struct ncc_op *op;
	struct ncc_range range;
	float scale;
};

static bool is_root(const struct ncc_op *x, struct root *r)
{
	double v;

	if (x->kind != NCC_MUL || !quant_is_whole(x->in[0], &r->range) ||
	    !ncc_scalar_value(x->in[1], &v))
		return false;
	r->op = x;
	r->scale = (float)v;
	return true;
}

/* The values of one moment */
struct moment {
	struct root root[ROOTS];
	float value[ROOTS];
	unsigned int n;
};

/* Finds what x is computed of; false: of more, or in a way that compute() does not know. */
static bool find_roots(const struct ncc_op *x, struct moment *m, unsigned int depth)
{
	struct root r;
	double v;

	if (ncc_scalar_value(x, &v))
		return true;
	for (unsigned int i = 0; i < m->n; i++)
		if (m->root[i].op == x)
			return true;
	if (is_root(x, &r)) {
		if (m->n == ROOTS || r.range.hi - r.range.lo > UINT8_MAX)
			return false;
		m->root[m->n++] = r;
		return true;
	}
	if (!depth || x->shape.dtype != NEURON_DT_FP32 ||
	    (x->kind != NCC_ADD && x->kind != NCC_SUB && x->kind != NCC_MUL && x->kind != NCC_MAX &&
	     x->kind != NCC_MIN && x->kind != NCC_BROADCAST && x->kind != NCC_RESHAPE))
		return false;
	for (unsigned int i = 0; i < x->nin; i++)
		if (!find_roots(x->in[i], m, depth - 1))
			return false;
	return true;
}

/* Computes as the chip does: in fp32, each operation rounded */
static float compute(const struct ncc_op *x, const struct moment *m)
{
	float a, b;
	double v;

	if (ncc_scalar_value(x, &v))
		return (float)v;
	for (unsigned int i = 0; i < m->n; i++)
		if (m->root[i].op == x)
			return m->value[i];
	a = compute(x->in[0], m);
	if (x->nin == 1)
		return a;
	b = compute(x->in[1], m);
	switch (x->kind) {
	case NCC_ADD:
		return a + b;
	case NCC_SUB:
		return a - b;
	case NCC_MUL:
		return a * b;
	case NCC_MAX:
		return fmaxf(a, b);
	default:
		return fminf(a, b);
	}
}

/* Does the condition hold for all values of the roots from number i on? */
static bool for_all(const struct quant_each *e, const struct ncc_op *x, struct moment *m,
		    unsigned int i)
{
	if (i == m->n || i == ROOTS)
		return e->holds(e, compute(x, m));
	for (int64_t k = m->root[i].range.lo; k <= m->root[i].range.hi; k++) {
		m->value[i] = (float)k * m->root[i].scale;
		if (!for_all(e, x, m, i + 1))
			return false;
	}
	return true;
}

static bool computed(const struct quant_each *e, const struct ncc_op *x)
{
	struct moment m = { .n = 0 };

	return find_roots(x, &m, VALUE_DEPTH) && m.n && for_all(e, x, &m, 0);
}

static bool for_value(const struct quant_each *e, const struct ncc_op *x, unsigned int depth)
{
	struct root r;
	double v;

	if (ncc_scalar_value(x, &v))
		return e->holds(e, (float)v);
	if (!depth || x->shape.dtype != NEURON_DT_FP32)
		return false;
	if (is_root(x, &r)) {
		for (int64_t i = r.range.lo; i <= r.range.hi; i++)
			if (!e->holds(e, (float)i * r.scale))
				return false;
		return true;
	}
	switch (x->kind) {
	case NCC_ADD:
	case NCC_SUB:
	case NCC_MUL:
		return computed(e, x);
	case NCC_REDUCE:
	case NCC_REDUCE_WINDOW:
		if (x->func != NCC_MAX && x->func != NCC_MIN)
			return false;
		/* fall through */
	case NCC_CONCAT:
	case NCC_RESHAPE:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
	case NCC_BROADCAST:
	case NCC_PAD:
	case NCC_MAX:
	case NCC_MIN:
		break;
	default:
		return false;
	}
	for (unsigned int i = 0; i < x->nin; i++)
		if (!for_value(e, x->in[i], depth - 1))
			return false;
	return true;
}

bool quant_product_is_quotient(const struct quant_each *e, float v)
{
	v = fminf(fmaxf(v, e->low), e->high);
	return nearbyintf(v * e->times) == nearbyintf(v / e->scale);
}

bool quant_is_within(const struct quant_each *e, float v)
{
	return v >= e->low && v <= e->high;
}

bool quant_is_kept(const struct quant_each *e, float v)
{
	return nearbyintf(v * e->times) * e->scale == v;
}

bool quant_holds(struct quant_each *e, bool (*what)(const struct quant_each *, float),
		 const struct ncc_op *x)
{
	e->holds = what;
	return for_value(e, x, VALUE_DEPTH);
}
