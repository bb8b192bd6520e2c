// SPDX-License-Identifier: MIT
/*
 * Numbers that depend on data, as far as they are known when a model is read: a list that says how
 * to reshape has constants and, for a dimension whose size depends on the data (dynamic.c), that
 * size. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "onnx.h"

#define MOST_VISITS 4096 /* operations that are looked at to find one number */
#define NO_LIMIT INT32_MAX

/* A conversion between integers that loses no bit */
static bool keeps_values(const struct ncc_op *op)
{
	const struct ncc_shape *to = &op->shape;
	const struct ncc_shape *from = op->kind == NCC_CONVERT ? &op->in[0]->shape : NULL;

	return from && !ncc_is_float(to->dtype) && !ncc_is_float(from->dtype) && !to->pred &&
	       ncc_dtype_size(to->dtype) >= ncc_dtype_size(from->dtype);
}

/* Operand and element that a move's element i is; false: op is no move */
static bool moved(const struct ncc_op **op, int64_t *i)
{
	const struct ncc_op *x = *op;
	int64_t step[NCC_MAX_DIMS], index[NCC_MAX_DIMS], at = *i, start = 0;

	if (x->kind == NCC_RESHAPE || keeps_values(x)) {
		*op = x->in[0];
		return true;
	}
	if (x->kind == NCC_CONCAT && !x->axis) {
		unsigned int k = 0;

		while (at >= ncc_elems(&x->in[k]->shape))
			at -= ncc_elems(&x->in[k++]->shape);
		*op = x->in[k];
		*i = at;
		return true;
	}
	if (x->kind != NCC_SLICE && x->kind != NCC_BROADCAST)
		return false;
	for (unsigned int d = x->shape.ndim; d--; at /= x->shape.dim[d])
		index[d] = at % x->shape.dim[d];
	if (x->kind == NCC_SLICE) {
		start = ncc_move_steps(x, step);
		for (unsigned int d = 0; d < x->shape.ndim; d++)
			start += index[d] * step[d];
	} else {
		ncc_steps(&x->in[0]->shape, step);
		for (unsigned int d = 0; d < x->in[0]->shape.ndim; d++)
			start += index[x->map[d]] * step[d];
	}
	*op = x->in[0];
	*i = start;
	return true;
}

struct bound {
	bool known;
	int64_t most; /* the value, if it is known */
};

static struct bound bound_of(const struct ncc_op *op, int64_t i, unsigned int *visits);

static struct bound combined(enum ncc_kind kind, struct bound a, struct bound b)
{
	struct bound r = { a.known && b.known, NO_LIMIT };

	if (kind == NCC_MIN)
		r.most = a.most < b.most ? a.most : b.most;
	else if (kind == NCC_MAX)
		r.most = a.most > b.most ? a.most : b.most;
	else if (kind == NCC_ADD && a.most < NO_LIMIT && b.most < NO_LIMIT)
		r.most = a.most + b.most;
	else if (kind == NCC_SUB && a.most < NO_LIMIT && b.known)
		r.most = a.most - b.most;
	else if (kind == NCC_MUL && a.most < NO_LIMIT && b.most < NO_LIMIT && a.most >= 0 &&
		 b.most >= 0 && (!b.most || a.most <= NO_LIMIT / b.most))
		r.most = a.most * b.most;
	else
		r.known = false;
	return r;
}

static struct bound bound_of_all(const struct ncc_op *op, unsigned int *visits)
{
	struct bound r = bound_of(op->in[0], 0, visits);

	for (int64_t k = 1; k < ncc_elems(&op->in[0]->shape) && *visits; k++)
		r = combined(op->func, r, bound_of(op->in[0], k, visits));
	return r;
}

/* Sizes are not negative, and sums of predicates have as many terms as there are. */
static struct bound bound_of(const struct ncc_op *op, int64_t i, unsigned int *visits)
{
	struct bound r = { false, NO_LIMIT };

	while (*visits && moved(&op, &i))
		--*visits;
	if (!*visits)
		return r;
	--*visits;
	if (op->kind == NCC_CONST && !ncc_is_float(op->shape.dtype))
		return (struct bound){ true, (int64_t)ncc_get(op->shape.dtype, op->data, i) };
	if (ncc_is_float(op->shape.dtype))
		return r;
	if (op->kind == NCC_ADD || op->kind == NCC_SUB || op->kind == NCC_MUL ||
	    op->kind == NCC_MIN || op->kind == NCC_MAX)
		return combined(op->kind, bound_of(op->in[0], i, visits),
				bound_of(op->in[1], i, visits));
	if (op->kind == NCC_SELECT) {
		struct bound a = bound_of(op->in[1], i, visits), b = bound_of(op->in[2], i, visits);

		r.most = a.most > b.most ? a.most : b.most;
		return r;
	}
	if (op->kind == NCC_REDUCE && !op->shape.ndim)
		return bound_of_all(op, visits);
	return r;
}

bool onnx_number(struct onnx_node *n, onnx_op list, int64_t i, struct onnx_number *v)
{
	unsigned int visits = MOST_VISITS;
	const struct ncc_op *op = list;
	struct bound b;
	onnx_op x;

	if (n->rc || !list)
		return false;
	b = bound_of(list, i, &visits);
	*v = (struct onnx_number){ .value = b.most };
	if (b.known)
		return true;
	while (moved(&op, &i))
		;
	x = (onnx_op)op;
	if (ncc_elems(&x->shape) > 1)
		x = ox_slice(n, ox_reshape(n, x, 1, (int64_t[]){ ncc_elems(&x->shape) }), 0, i, 1,
			     1);
	v->op = ox_cast(n, ox_reshape(n, x, 0, NULL), NEURON_DT_INT32, false);
	return v->op;
}

onnx_op onnx_number_op(struct onnx_node *n, const struct onnx_number *v)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_INT32 };

	return v->op ? v->op : ox_scalar(n, &s, (double)v->value);
}

static bool same_data(const struct ncc_op *a, const struct ncc_op *b)
{
	size_t size = (size_t)ncc_elems(&a->shape) * ncc_dtype_size(a->shape.dtype);

	return !memcmp(a->data, b->data, size);
}

static bool same_attributes(const struct ncc_op *a, const struct ncc_op *b)
{
	switch (a->kind) {
	case NCC_BROADCAST:
		return !memcmp(a->map, b->map, a->in[0]->shape.ndim);
	case NCC_REDUCE:
		return a->mask == b->mask && a->func == b->func;
	case NCC_CONCAT:
		return a->axis == b->axis;
	case NCC_SLICE:
		return !memcmp(a->start, b->start, a->shape.ndim * sizeof(*a->start)) &&
		       !memcmp(a->stride, b->stride, a->shape.ndim * sizeof(*a->stride));
	default:
		return a->kind == NCC_RESHAPE || ncc_is_elementwise(a->kind);
	}
}

static bool same(const struct ncc_op *a, const struct ncc_op *b, unsigned int *visits)
{
	if (a == b)
		return true;
	if (!*visits || a->kind != b->kind || a->nin != b->nin ||
	    a->shape.dtype != b->shape.dtype || a->shape.pred != b->shape.pred ||
	    !ncc_same_dims(&a->shape, &b->shape))
		return false;
	--*visits;
	if (a->kind == NCC_CONST)
		return same_data(a, b);
	if (!a->nin || !same_attributes(a, b))
		return false;
	for (unsigned int i = 0; i < a->nin; i++)
		if (!same(a->in[i], b->in[i], visits))
			return false;
	return true;
}

bool onnx_same(const struct ncc_op *a, const struct ncc_op *b)
{
	unsigned int visits = MOST_VISITS;

	return same(a, b, &visits);
}
