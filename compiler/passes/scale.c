// SPDX-License-Identifier: MIT
/*
 * Folds what is done to each feature of a convolution with constants, one operation after the other
 * (a batch normalization: minus the mean, times a scale, plus an offset), into a scaled kernel and
 * one sum. The sum's constant is computed in double; where the terms cancel, the convolution's own
 * sum has lost as much by rounding.
 */
#include <math.h>
#include <stdlib.h>

#include "pass.h"

struct affine {
	int64_t n; /* features */
	double *scale, *shift; /* result = scale * product + shift */
	bool scaled;
};

/*
 * The number for feature f in a constant that has one for each index of its user's dimension d, or
 * one for all
 */
static bool number(const struct ncc_op *op, unsigned int d, int64_t f, double *v)
{
	const struct ncc_op *c = op->kind == NCC_BROADCAST ? op->in[0] : op;
	int64_t step[NCC_MAX_DIMS], each = 0;

	if (c->kind != NCC_CONST)
		return false;
	ncc_steps(&c->shape, step);
	for (unsigned int i = 0; i < c->shape.ndim; i++) {
		if (c->shape.dim[i] == 1)
			continue;
		if ((op == c ? i : op->map[i]) != d)
			return false;
		each = step[i];
	}
	*v = ncc_get(NEURON_DT_FP32, c->data, f * each);
	return true;
}

/*
 * Adds an operation to the chain; false: it is of another kind, or a number becomes infinite or
 * NaN.
 */
static bool add_op(struct affine *a, const struct ncc_op *op, const struct ncc_op *x,
		   unsigned int d)
{
	bool first = op->nin && op->in[0] == x;
	double c;

	if (op->kind != NCC_ADD && op->kind != NCC_SUB && op->kind != NCC_MUL)
		return false;
	if (op->shape.dtype != NEURON_DT_FP32 || op->exact || op->in[0] == op->in[1])
		return false;

	for (int64_t f = 0; f < a->n; f++)
		if (!number(op->in[first ? 1 : 0], d, f, &c) || !isfinite(c))
			return false;

	for (int64_t f = 0; f < a->n; f++) {
		number(op->in[first ? 1 : 0], d, f, &c);
		if (op->kind == NCC_MUL) {
			a->scale[f] *= c;
			a->shift[f] *= c;
		} else if (op->kind == NCC_ADD || first) {
			a->shift[f] += op->kind == NCC_ADD ? c : -c;
		} else {
			a->scale[f] = -a->scale[f];
			a->shift[f] = c - a->shift[f];
		}
	}

	a->scaled = a->scaled || op->kind == NCC_MUL || !first;
	return true;
}

static struct ncc_op *only_user(const struct ncc_op *x)
{
	struct ncc_op *op = x->next;

	for (; x->users == 1 && op; op = op->next)
		for (unsigned int i = 0; i < op->nin; i++)
			if (op->in[i] == x)
				return op;
	return NULL;
}

static bool is_one(const struct ncc_op *op)
{
	return op->kind == NCC_CONV && op->shape.dtype == NEURON_DT_FP32 && !op->exact &&
	       op->in[0]->shape.dtype == NEURON_DT_FP32 && op->in[1]->kind == NCC_CONST &&
	       op->in[1]->shape.dtype == NEURON_DT_FP32;
}

/* The kernel with each feature scaled; NULL without a message: a number grew too large. */
static struct ncc_op *scaled_kernel(struct ncc_build *bl, const struct ncc_op *op,
				    const struct affine *a)
{
	const struct ncc_shape *s = &op->in[1]->shape;
	struct ncc_op *k = build_const(bl, s);
	int64_t step[NCC_MAX_DIMS], n = ncc_elems(s);

	ncc_steps(s, step);
	for (int64_t i = 0; k && i < n; i++) {
		int64_t f = i / step[op->conv->k_out] % a->n;
		float v = (float)(ncc_get(NEURON_DT_FP32, op->in[1]->data, i) * a->scale[f]);

		if (!isfinite(v))
			return NULL;
		((float *)k->data)[i] = v;
	}
	return k;
}

static struct ncc_op *shifts(struct ncc_build *bl, const struct ncc_op *op, const struct affine *a)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { a->n } };
	struct ncc_op *c = build_const(bl, &s);

	for (int64_t f = 0; c && f < a->n; f++)
		((float *)c->data)[f] = (float)a->shift[f];
	return c ? build_spread(bl, &op->shape, c, &op->conv->out_feature) : NULL;
}

/* Replaces the last operation of the chain; those before it go with their last user. */
static int rewrite(struct ncc_pass *p, struct ncc_op *op, struct ncc_op *last,
		   const struct affine *a)
{
	int64_t bytes = 0;
	struct ncc_build bl = pass_build(p, op, &bytes);
	struct ncc_op *k = scaled_kernel(&bl, op, a), *c, *y;

	for (int64_t f = 0; k && f < a->n; f++)
		if (!isfinite((float)a->shift[f]))
			return 0;
	if (!k)
		return 0;
	c = shifts(&bl, op, a);
	y = c ? pass_new(p, NCC_CONV, op, &op->shape, op->in[0], k) : NULL;
	if (!y)
		return ncc_no_memory(p->err);
	ncc_copy_attrs(y, op);
	last->replaced = pass_new(p, NCC_ADD, last, &last->shape, y, c);
	return last->replaced ? 0 : ncc_no_memory(p->err);
}

static int chain(struct ncc_pass *p, struct ncc_op *op)
{
	int64_t n = op->shape.dim[op->conv->out_feature];
	double *numbers = malloc((size_t)n * 2 * sizeof(*numbers));
	struct affine a = { .n = n, .scale = numbers, .shift = numbers + n };
	struct ncc_op *last = op, *next;
	int rc = 0;

	if (!numbers)
		return ncc_no_memory(p->err);
	for (int64_t f = 0; f < n; f++) {
		a.scale[f] = 1;
		a.shift[f] = 0;
	}
	while ((next = only_user(last)) && add_op(&a, next, last, op->conv->out_feature))
		last = next;
	if (a.scaled)
		rc = rewrite(p, op, last, &a);
	free(numbers);
	return rc;
}

int pass_scale(struct ncc_pass *p)
{
	int rc = 0;

	for (struct ncc_op *op = p->m->first; !rc && op; op = op->next)
		if (is_one(op))
			rc = chain(p, op);
	return rc;
}
