// SPDX-License-Identifier: MIT
/*
 * Values of which the data say how many elements there are, and values without elements, for the
 * rules of what operators do with them (dynamic/). Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sizes.h"

struct ncc_shape onnx_shape_of(const struct onnx_value *v)
{
	struct ncc_shape s = { .ndim = 1 };

	if (v->op)
		return v->op->shape;
	if (v->empty)
		s = *v->empty;
	(void)onnx_dtype(v->type, &s);
	return s;
}

void onnx_fill_empty(struct onnx_node *n, struct onnx_value *v)
{
	struct ncc_shape s = onnx_shape_of(v), number = { .dtype = NEURON_DT_INT32 };
	int64_t zeros = 0;

	if (v->sequence) {
		onnx_fail(n, -ENOTSUP, "a sequence, where a tensor is expected");
		return;
	}
	memset(v->size, 0, sizeof(v->size));
	for (unsigned int d = 0; d < s.ndim; d++) {
		if (s.dim[d])
			continue;
		v->size[d] = ox_scalar(n, &number, 0);
		s.dim[d] = 1;
		zeros++;
	}
	if (zeros > 1)
		onnx_fail(n, -ENOTSUP, "an operand with several dimensions of 0");
	if (onnx_dtype(v->type, &s))
		onnx_fail(n, -ENOTSUP, "an empty operand of type %s", onnx_type_name(v->type));
	v->op = ox_expand(n, ox_scalar(n, &s, 0), s.ndim, s.dim);
}

bool onnx_sized_but(const struct onnx_value *v, unsigned int d)
{
	for (unsigned int i = 0; i < NCC_MAX_DIMS; i++)
		if (i != d && v->size[i])
			return true;
	return false;
}

onnx_op onnx_there(struct onnx_node *n, const struct onnx_value *v, uint32_t mask)
{
	const struct ncc_sizes s =
		v->op ? sizes_of(&v->op->shape, v->size) : (struct ncc_sizes){ 0 };

	return n->rc ? NULL : sizes_there(onnx_now(n), &s, mask);
}

onnx_op onnx_filled(struct onnx_node *n, const struct onnx_value *v, uint32_t mask, double with)
{
	struct ncc_sizes s;

	if (!v->op || n->rc)
		return NULL;
	s = sizes_of(&v->op->shape, v->size);
	for (unsigned int d = 0; d < s.ndim; d++)
		if (s.size[d] && mask >> d & 1)
			return sizes_filled(onnx_now(n), v->op, &s, mask,
					    ox_scalar(n, &v->op->shape, with));
	return v->op;
}

void onnx_give_sizes(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type,
		     onnx_op const *size)
{
	struct onnx_value v = { .type = type };

	for (unsigned int d = 0; op && d < op->shape.ndim; d++) {
		struct ncc_shape s = op->shape;
		struct onnx_number k;
		bool over;

		if (!size[d])
			continue;
		if (!onnx_number(n, size[d], 0, &k))
			return;
		over = k.value > s.dim[d];
		if (over)
			k.value = s.dim[d];
		if (k.value < 1) {
			s.dim[d] = 0;
			onnx_give_empty(n, i, &s, type);
			return;
		}
		if (k.op && over) /* says that it is not larger */
			k.op = ox_binc(n, NCC_MIN, k.op, (double)k.value);
		op = ox_slice(n, op, d, 0, k.value, 1);
		if (k.op)
			onnx_note_size(n, k.op);
		v.size[d] = k.op;
	}
	v.op = op;
	if (op && i < n->nout && !n->rc)
		n->out[i] = v;
}

void onnx_give_some(struct onnx_node *n, unsigned int i, onnx_op op, int32_t type, unsigned int d,
		    onnx_op size)
{
	onnx_op all[NCC_MAX_DIMS] = { NULL };

	all[d] = size;
	if (size)
		onnx_give_sizes(n, i, op, type, all);
}

void sized_refuse_dim(struct onnx_node *n, unsigned int i, unsigned int d)
{
	onnx_fail(n, -ENOTSUP,
		  "the size of dimension %u of operand %u ('%.60s') depends on the data, which is "
		  "not supported here",
		  d, i, n->p->input[i]);
}

void sized_refuse_but(struct onnx_node *n, unsigned int i, unsigned int d)
{
	unsigned int at = 0;

	while (at < NCC_MAX_DIMS && (at == d || !n->in[i].size[at]))
		at++;
	sized_refuse_dim(n, i, at);
}

void sized_refuse(struct onnx_node *n, unsigned int i)
{
	sized_refuse_but(n, i, NCC_MAX_DIMS);
}

void sized_import(struct onnx_node *n, onnx_op const *size)
{
	n->rule->import(n);
	for (unsigned int i = 0; i < n->nout && !n->rc; i++) {
		const struct onnx_value v = n->out[i];

		if (v.op)
			onnx_give_sizes(n, i, v.op, v.type, size);
	}
}

void sized_follow(struct onnx_node *n, const struct ncc_op *op, const struct onnx_value *v,
		  onnx_op *size)
{
	const struct ncc_sizes x = sizes_of(&v->op->shape, v->size);

	sizes_follow(&(struct ncc_follow){ .bl = onnx_now(n), .op = op, .in = &x, .alike = true },
		     size);
}

onnx_op sized_both(struct onnx_node *n, onnx_op a, onnx_op b)
{
	return sizes_both(&(struct ncc_follow){ .bl = onnx_now(n), .alike = true }, a, b);
}

onnx_op onnx_size_or_bound(struct onnx_node *n, const struct onnx_value *v, unsigned int d)
{
	const struct ncc_sizes s = sizes_of(&v->op->shape, v->size);

	return sizes_at(onnx_now(n), &s, d);
}

onnx_op sized_mean(struct onnx_node *n, const struct onnx_value *v, uint32_t mask, onnx_op y)
{
	for (unsigned int d = 0; d < v->op->shape.ndim && !n->rc; d++) {
		onnx_op bound;

		if (!(mask >> d & 1) || !v->size[d])
			continue;
		bound = ox_scalar(n, &y->shape, (double)v->op->shape.dim[d]);
		y = ox_bin(n, NCC_MUL, y,
			   ox_bin(n, NCC_DIV, bound, ox_cast_like(n, v->size[d], y)));
	}
	return y;
}

/* The sizes of the operands in the mask, of the others none; NULL: n->rc is set */
static struct ncc_sizes *sizes_in(struct onnx_node *n, uint32_t mask)
{
	struct ncc_sizes *in = ncc_alloc(n->imp->m, (n->nin + 1) * sizeof(*in));

	for (unsigned int i = 0; in && i < n->nin; i++)
		if (mask >> (i < 31 ? i : 31) & 1 && n->in[i].op)
			in[i] = sizes_of(&n->in[i].op->shape, n->in[i].size);
	if (!in)
		onnx_fail(n, -ENOMEM, "out of memory");
	return in;
}

/* Dimension d is not 1, that of another operand has a size. */
static void refuse_pair(struct onnx_node *n, unsigned int d, int64_t dim, const struct ncc_op *size)
{
	double known;

	if (ncc_scalar_value(size, &known))
		onnx_fail(n, -EINVAL, "dimensions of %lld and %.0f do not broadcast",
			  (long long)dim, known);
	else
		onnx_fail(n, -ENOTSUP,
			  "dimension %u of an operand is %lld, that of another depends on the data",
			  d, (long long)dim);
}

/* Operand i's dimension, which has a common size: no more than the smallest bound, or 1 */
static void fit(struct onnx_node *n, unsigned int i, unsigned int d, int64_t least, onnx_op common)
{
	struct onnx_value *x = &n->in[i];

	if (x->size[d])
		x->op = ox_slice(n, x->op, d, 0, least, 1);
	else if (x->op->shape.dim[d] != 1)
		refuse_pair(n, d, x->op->shape.dim[d], common);
}

void sized_broadcast(struct onnx_node *n, uint32_t mask, unsigned int but, onnx_op *size)
{
	struct ncc_sizes *in = sizes_in(n, mask);
	unsigned int ndim = 0;

	for (unsigned int i = 0; in && i < n->nin; i++) {
		ndim = in[i].ndim > ndim ? in[i].ndim : ndim;
		for (unsigned int back = 0; back < but && back < in[i].ndim; back++)
			in[i].size[in[i].ndim - 1 - back] = NULL;
	}
	if (in)
		sizes_of_elements(
			&(struct ncc_follow){ .bl = onnx_now(n), .in = in, .alike = true }, 0,
			n->nin, ndim, size);
	for (unsigned int back = but; in && back < ndim && !n->rc; back++) {
		int64_t least = NCC_MAX_ELEMS;

		for (unsigned int i = 0; i < n->nin; i++)
			if (back < in[i].ndim && in[i].size[in[i].ndim - 1 - back] &&
			    in[i].bound[in[i].ndim - 1 - back] < least)
				least = in[i].bound[in[i].ndim - 1 - back];
		for (unsigned int i = 0; size[ndim - 1 - back] && i < n->nin && !n->rc; i++)
			if (back < in[i].ndim)
				fit(n, i, in[i].ndim - 1 - back, least, size[ndim - 1 - back]);
	}
}

/* Indices that count from the end of a dynamic dimension, from its start instead */
onnx_op sized_from_start(struct onnx_node *n, onnx_op idx, onnx_op size)
{
	double v;

	if (idx && ncc_scalar_value(idx, &v))
		return v >= 0 ? idx
			      : ox_bin(n, NCC_ADD, ox_cast(n, idx, NEURON_DT_INT32, false), size);
	idx = ox_cast(n, idx, NEURON_DT_INT32, false);
	return ox_select(n, ox_binc(n, NCC_LT, idx, 0), ox_bin(n, NCC_ADD, idx, size), idx);
}

/* Axes are an operand from opset 13 on, an attribute before */
bool sized_axes(struct onnx_node *n, unsigned int ndim, uint32_t *mask)
{
	int64_t axes[NCC_MAX_DIMS];
	unsigned int count;
	bool given = onnx_in(n, 1) ? onnx_in_ints(n, 1, axes, NCC_MAX_DIMS, &count)
				   : onnx_ints(n, "axes", axes, NCC_MAX_DIMS, &count);

	*mask = 0;
	for (unsigned int i = 0; given && i < count; i++)
		*mask |= 1u << onnx_axis(n, axes[i], ndim);
	return given && count && !n->rc;
}

bool sized_is_nothing(const struct onnx_value *v)
{
	double size;

	for (unsigned int d = 0; d < NCC_MAX_DIMS; d++)
		if (v->size[d] && ncc_scalar_value(v->size[d], &size) && size < 1)
			return true;
	return false;
}
