// SPDX-License-Identifier: MIT
/* What the rules (dynamic.h) share. Part of the ONNX front end. */
#include <errno.h>

#include "dynamic.h"

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
