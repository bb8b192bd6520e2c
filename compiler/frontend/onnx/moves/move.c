// SPDX-License-Identifier: MIT
/* Operators that move, reshape or repeat data, or give its shape. Part of the ONNX front end. */
#include <errno.h>
#include <stdlib.h>

#include "moves.h"

static void import_identity(struct onnx_node *n)
{
	if (n->nout)
		n->out[0] = n->in[0];
}

/* Reshape: 0 in the shape stands for the operand's dimension, and one -1 for what is left. */
static void import_reshape(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t dim[NCC_MAX_DIMS], left = x ? ncc_elems(&x->shape) : 0;
	int open = -1;
	unsigned int count;

	if (!onnx_in_ints(n, 1, dim, NCC_MAX_DIMS, &count))
		return;
	for (unsigned int i = 0; i < count; i++) {
		if (!dim[i] && !onnx_int(n, "allowzero") && i < x->shape.ndim)
			dim[i] = x->shape.dim[i];
		if (dim[i] == -1 && open < 0)
			open = (int)i;
		else if (dim[i] < 1 || left % dim[i])
			onnx_fail(n, -EINVAL, "dimension %u of %lld does not fit the operand", i,
				  (long long)dim[i]);
		else
			left /= dim[i];
		if (n->rc)
			return;
	}

	if (open >= 0)
		dim[open] = left;
	onnx_give(n, 0, ox_reshape(n, x, count, dim));
}

static void import_flatten(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t axis = onnx_int(n, "axis"), dim[2] = { 1, 1 };

	axis = axis < 0 ? axis + x->shape.ndim : axis;
	if (axis < 0 || axis > x->shape.ndim) {
		onnx_fail(n, -EINVAL, "axis %lld of rank %u", (long long)axis, x->shape.ndim);
		return;
	}
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		dim[i >= axis] *= x->shape.dim[i];
	onnx_give(n, 0, ox_reshape(n, x, 2, dim));
}

/* Axes are an operand from opset 13 on, an attribute before */
static bool take_axes(struct onnx_node *n, int64_t *axes, unsigned int *count)
{
	if (n->opset < 13)
		return onnx_ints(n, "axes", axes, NCC_MAX_DIMS, count);
	*count = 0;
	return n->nin > 1 && onnx_in_ints(n, 1, axes, NCC_MAX_DIMS, count);
}

static void import_squeeze(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t axes[NCC_MAX_DIMS], dim[NCC_MAX_DIMS];
	unsigned int count, k = 0;
	uint32_t mask = 0;

	if (take_axes(n, axes, &count)) {
		for (unsigned int i = 0; i < count; i++)
			mask |= 1u << onnx_axis(n, axes[i], x->shape.ndim);
	} else {
		for (unsigned int i = 0; i < x->shape.ndim; i++)
			mask |= x->shape.dim[i] == 1 ? 1u << i : 0;
	}
	for (unsigned int i = 0; i < x->shape.ndim && !n->rc; i++) {
		if (!(mask >> i & 1))
			dim[k++] = x->shape.dim[i];
		else if (x->shape.dim[i] != 1)
			onnx_fail(n, -EINVAL, "dimension %u is %lld, not 1", i,
				  (long long)x->shape.dim[i]);
	}
	onnx_give(n, 0, ox_reshape(n, x, k, dim));
}

static void import_unsqueeze(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t axes[NCC_MAX_DIMS], dim[NCC_MAX_DIMS];
	unsigned int count, k = 0;
	uint32_t mask = 0;

	if (!take_axes(n, axes, &count)) {
		onnx_fail(n, -EINVAL, "no axes");
		return;
	}

	count += x->shape.ndim;
	if (count > NCC_MAX_DIMS) {
		onnx_fail(n, -ENOTSUP, "rank %u, at most %u is supported", count, NCC_MAX_DIMS);
		return;
	}

	for (unsigned int i = 0; i + x->shape.ndim < count; i++)
		mask |= 1u << onnx_axis(n, axes[i], count);
	for (unsigned int i = 0; i < count; i++) {
		if (!(mask >> i & 1) && k == x->shape.ndim)
			onnx_fail(n, -EINVAL, "an axis twice");
		dim[i] = mask >> i & 1 || k == x->shape.ndim ? 1 : x->shape.dim[k++];
	}
	onnx_give(n, 0, ox_reshape(n, x, count, dim));
}

static void import_transpose(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t v[NCC_MAX_DIMS];
	uint8_t perm[NCC_MAX_DIMS];
	unsigned int count, ndim = x->shape.ndim;
	bool given = onnx_ints(n, "perm", v, NCC_MAX_DIMS, &count);

	if (given && count != ndim)
		onnx_fail(n, -EINVAL, "%u numbers in 'perm', expected %u", count, ndim);
	for (unsigned int i = 0; i < ndim && !n->rc; i++)
		perm[i] = (uint8_t)(given ? onnx_axis(n, v[i], ndim) : ndim - 1 - i);
	onnx_give(n, 0, ox_transpose(n, x, perm));
}

/* Both shapes broadcast, so a 1 in the wanted one keeps the operand's dimension. */
static void import_expand(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	struct ncc_shape s = x->shape;
	int64_t want[NCC_MAX_DIMS];
	unsigned int count;
	bool any = true;

	if (!onnx_in_ints(n, 1, want, NCC_MAX_DIMS, &count))
		return;
	s.ndim = count > x->shape.ndim ? count : x->shape.ndim;
	for (unsigned int i = 0; i < s.ndim; i++) {
		int64_t p = i < x->shape.ndim ? x->shape.dim[x->shape.ndim - 1 - i] : 1;
		int64_t q = i < count ? want[count - 1 - i] : 1;

		if (!q && p != 1)
			onnx_fail(n, -EINVAL, "dimensions of %lld and 0 do not broadcast",
				  (long long)p);
		any = any && q;
		s.dim[s.ndim - 1 - i] = q == 1 ? p : q;
	}
	if (any)
		onnx_give(n, 0, ox_expand(n, x, s.ndim, s.dim));
	else
		onnx_give_empty(n, 0, &s, n->in[0].type);
}

/* Concat of empty operands, whose sizes along the axis count */
static void give_nothing(struct onnx_node *n)
{
	struct ncc_shape s = onnx_shape_of(&n->in[0]);
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), s.ndim);

	for (unsigned int i = 1; i < n->nin && !n->rc; i++) {
		const struct ncc_shape other = onnx_shape_of(&n->in[i]);

		if (other.ndim != s.ndim)
			onnx_fail(n, -EINVAL, "operands of rank %u and %u", s.ndim, other.ndim);
		else
			s.dim[axis] += other.dim[axis];
	}
	onnx_give_empty(n, 0, &s, n->in[0].type);
}

static void import_concat(struct onnx_node *n)
{
	onnx_op *part = calloc(n->nin, sizeof(*part)), x;
	unsigned int count = 0, axis;

	for (unsigned int i = 0; part && i < n->nin; i++)
		if (onnx_in(n, i)) /* empty operands are left out */
			part[count++] = onnx_in(n, i);
	x = count ? part[0] : NULL;
	if (!part) {
		onnx_fail(n, -ENOMEM, "out of memory");
	} else if (!x) {
		give_nothing(n);
	} else {
		axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);
		onnx_give(n, 0, ox_concat(n, part, count, axis));
	}
	free(part);
}

/* Gives an integer list as the node's result. */
static void give_list(struct onnx_node *n, const int64_t *v, unsigned int count, bool scalar)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = !scalar, .dim = { count } };
	onnx_op op;

	if (!count) {
		onnx_give_empty(n, 0, &s, ONNX_INT64);
		return;
	}
	op = ox_data(n, &s);
	for (unsigned int i = 0; op && i < count; i++)
		ncc_set(NEURON_DT_INT32, op->data, i, (double)v[i]);
	onnx_give_as(n, 0, op, ONNX_INT64);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

static void import_shape(struct onnx_node *n)
{
	const struct ncc_shape s = onnx_shape_of(&n->in[0]);
	int64_t nd = s.ndim, from = onnx_int(n, "start"), to = onnx_int_or(n, "end", nd);

	from = clamp(from < 0 ? from + nd : from, 0, nd);
	to = clamp(to < 0 ? to + nd : to, from, nd);
	if (n->nout)
		give_list(n, s.dim + from, (unsigned int)(to - from), false);
}

static void import_size(struct onnx_node *n)
{
	const struct ncc_shape s = onnx_shape_of(&n->in[0]);
	int64_t elems = ncc_elems(&s);

	if (n->nout)
		give_list(n, &elems, 1, true);
}

static void import_constant(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "value");
	struct ncc_shape s = { .dtype = NEURON_DT_FP32 };
	onnx_op op;
	int rc;

	if (!n->nout)
		return;
	if (a && a->t) {
		rc = onnx_tensor(n->imp, a->t, n->b.name, &n->out[0]);
		n->rc = n->rc ? n->rc : rc;
		return;
	}

	a = onnx_attr(n, "value_float");
	if (a) {
		onnx_give_as(n, 0, ox_scalar(n, &s, (double)a->f), ONNX_FLOAT);
		return;
	}

	a = onnx_attr(n, "value_floats");
	if (a && a->n_floats) {
		s.ndim = 1;
		s.dim[0] = (int64_t)a->n_floats;
		op = ox_data(n, &s);
		for (size_t i = 0; op && i < a->n_floats; i++)
			ncc_set(s.dtype, op->data, (int64_t)i, (double)a->floats[i]);
		onnx_give_as(n, 0, op, ONNX_FLOAT);
		return;
	}

	a = onnx_attr(n, "value_int");
	if (a) {
		give_list(n, &a->i, 1, true);
		return;
	}

	a = onnx_attr(n, "value_ints");
	if (a)
		give_list(n, a->ints, (unsigned int)a->n_ints, false);
	else
		onnx_fail(n, -ENOTSUP, "no value, or of a kind that is not supported");
}

const struct onnx_rule onnx_move[] = {
	/* clang-format off */
	{ "Concat",    1, -1, .import = import_concat,    .unchanged = true, .empty = ONNX_EMPTY_ANY, .sized = sized_concat, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .until = 3), ATTR("axis", INT, .needed = true, .from = 4)) },
	{ "Constant",  0,  0, .import = import_constant,  .unchanged = true,
	  .attrs = ONNX_ATTRS(
		ATTR("sparse_value", SPARSE, .from = 11),
		ATTR("value", TENSOR, .needed = true, .until = 10),
		ATTR("value", TENSOR, .from = 11), ATTR("value_float", FLOAT, .from = 12),
		ATTR("value_floats", FLOATS, .from = 12), ATTR("value_int", INT, .from = 12),
		ATTR("value_ints", INTS, .from = 12), ATTR("value_string", TEXT, .from = 12),
		ATTR("value_strings", TEXTS, .from = 12)) },
	{ "Expand",    2,  2, .import = import_expand,    .empty = ONNX_EMPTY_REST, .sized = sized_expand, .takes = ONNX_OPERAND(0), .lists = ONNX_OPERAND(1), .since = 8 },
	{ "Flatten",   1,  1, .import = import_flatten,   .unchanged = true, .sized = sized_flatten, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = 1)) },
	{ "Identity",  1,  1, .import = import_identity,  .unchanged = true, .empty = ONNX_EMPTY_ANY, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Reshape",   2,  2, .import = import_reshape,   .empty = ONNX_EMPTY_REST, .sized = sized_reshape, .takes = ONNX_OPERAND(0), .lists = ONNX_OPERAND(1),
	  .attrs = ONNX_ATTRS(
		ATTR("allowzero", INT, .from = 14)) },
	{ "Shape",     1,  1, .import = import_shape,     .empty = ONNX_EMPTY_ANY, .sized = sized_shape, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("end", INT, .from = 15), ATTR("start", INT, .from = 15)) },
	{ "Size",      1,  1, .import = import_size,      .empty = ONNX_EMPTY_ANY, .sized = sized_size, .takes = ONNX_ALL },
	{ "Squeeze",   1,  2, .import = import_squeeze, .sized = sized_squeeze, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("axes", INTS, .until = 12)) },
	{ "Transpose", 1,  1, .import = import_transpose, .unchanged = true, .sized = sized_transpose, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("perm", INTS)) },
	{ "Unsqueeze", 1,  2, .import = import_unsqueeze, .empty = ONNX_EMPTY_REST, .sized = sized_unsqueeze, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("axes", INTS, .needed = true, .until = 12)) },
	{ .op_type = NULL },
	/* clang-format on */
};
