// SPDX-License-Identifier: MIT
/*
 * Operators that choose by index: gathers of whole slices, of elements and of parts, and those that
 * find the index of the largest element. Part of the ONNX front end.
 */
#include <errno.h>

#include "moves.h"
#include "frontend/onnx/values/kept.h"
#include "ir/range.h"

static void import_gather(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);

	if (!n->rc)
		onnx_give(n, 0, ox_take(n, x, onnx_in(n, 1), axis));
	if (n->nout && n->out[0].op)
		n->out[0].type = n->in[0].type;
}

/* A predicate with a new last dimension of size: is its index the value of idx (s32, from 0 on)? */
static onnx_op places(struct onnx_node *n, onnx_op idx, int64_t size)
{
	idx = idx ? ox_insert(n, idx, idx->shape.ndim) : NULL;
	return idx ? ox_bin(n, NCC_EQ, idx, ox_iota(n, NEURON_DT_INT32, size)) : NULL;
}

static onnx_op from_last(struct onnx_node *n, onnx_op x, unsigned int axis)
{
	uint8_t perm[NCC_MAX_DIMS];
	unsigned int nd, k = 0;

	if (!x)
		return NULL;
	nd = x->shape.ndim;
	for (unsigned int i = 0; i < nd; i++)
		perm[i] = (uint8_t)(i == axis ? nd - 1 : k++);
	return ox_transpose(n, x, perm);
}

onnx_op onnx_covered(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis)
{
	for (unsigned int i = 0; x && i < x->shape.ndim && !n->rc; i++) {
		if (i == axis)
			continue;
		if (idx->shape.dim[i] > x->shape.dim[i])
			onnx_fail(n, -EINVAL,
				  "dimension %u of the indices is larger than the data's", i);
		else
			x = ox_slice(n, x, i, 0, idx->shape.dim[i], 1);
	}
	return n->rc ? NULL : x;
}

/* Takes the elements of each row along axis that idx names. */
static onnx_op take_elements(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis)
{
	const int64_t size = x->shape.dim[axis];
	struct ncc_shape s = idx->shape;
	onnx_op at;

	if (idx->shape.ndim != x->shape.ndim) {
		onnx_fail(n, -EINVAL, "indices of rank %u for rank %u", idx->shape.ndim,
			  x->shape.ndim);
		return NULL;
	}
	x = onnx_covered(n, x, idx, axis);
	at = ox_from_end(n, idx, size);
	if (!x || !at)
		return NULL;
	at = expand_as_rows(&n->b, expand_clamp_index(&n->b, at, size - 1), axis);
	at = expand_take_places(&n->b, expand_as_rows(&n->b, x, axis), at);
	return ox_expanded(n, at ? expand_from_rows(&n->b, at, &s, axis) : NULL, x);
}

static void import_gather_elements(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);

	if (n->rc)
		return;
	onnx_give_as(n, 0, take_elements(n, x, onnx_in(n, 1), axis), n->in[0].type);
}

static void import_gather_nd(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), idx = onnx_in(n, 1), flat, base;
	int64_t b = onnx_int(n, "batch_dims"), k, dim[NCC_MAX_DIMS + 1], rows = 1, batch = 1;
	unsigned int nd = 1;

	k = idx->shape.ndim ? idx->shape.dim[idx->shape.ndim - 1] : 0;
	if (b < 0 || b >= idx->shape.ndim || k < 1 || b + k > x->shape.ndim) {
		onnx_fail(n, -EINVAL, "%lld batch dimensions and %lld coordinates for rank %u",
			  (long long)b, (long long)k, x->shape.ndim);
		return;
	}

	for (int64_t i = 0; i < b + k; i++) {
		rows *= x->shape.dim[i];
		batch *= i < b ? x->shape.dim[i] : 1;
		if (i < b && x->shape.dim[i] != idx->shape.dim[i])
			onnx_fail(n, -EINVAL, "batch dimension %lld differs", (long long)i);
	}

	flat = ox_flat_index(n, idx, (unsigned int)k, x->shape.dim + b);
	if (b && flat) { /* batch i begins at row i * rows / batch */
		for (unsigned int i = 0; i < NCC_MAX_DIMS; i++)
			dim[i] = i < b ? idx->shape.dim[i] : 1;
		base = ox_binc(n, NCC_MUL, ox_iota(n, NEURON_DT_INT32, batch),
			       (double)(rows / batch));
		flat = ox_bin(n, NCC_ADD, flat, ox_reshape(n, base, flat->shape.ndim, dim));
	}

	dim[0] = rows;
	for (unsigned int i = (unsigned int)(b + k); i < x->shape.ndim; i++)
		dim[nd++] = x->shape.dim[i];
	x = ox_reshape(n, x, nd, dim);
	if (x && flat)
		onnx_give_as(n, 0, ox_take(n, x, flat, 0), n->in[0].type);
}

static void import_one_hot(struct onnx_node *n)
{
	onnx_op idx = onnx_in(n, 0), values = onnx_in(n, 2), hot, on, off;
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), idx->shape.ndim + 1);
	double depth;

	if (!onnx_in_scalar(n, 1, &depth))
		return;
	if (values->shape.ndim != 1 || values->shape.dim[0] != 2 || depth < 1 ||
	    depth > NCC_MAX_ELEMS) {
		onnx_fail(n, -EINVAL, "depth %g, or the values are not two", depth);
		return;
	}
	hot = from_last(n, places(n, ox_from_end(n, idx, (int64_t)depth), (int64_t)depth), axis);
	off = ox_reshape(n, ox_slice(n, values, 0, 0, 1, 1), 0, NULL);
	on = ox_reshape(n, ox_slice(n, values, 0, 1, 1, 1), 0, NULL);
	onnx_give_as(n, 0, ox_select(n, hot, on, off), n->in[2].type);
}

/* The index along axis of every element of x */
static onnx_op numbers(struct onnx_node *n, onnx_op x, unsigned int axis)
{
	const uint8_t map = (uint8_t)axis;

	return x ? ox_spread(n, ox_iota(n, NEURON_DT_INT32, x->shape.dim[axis]), &x->shape, &map)
		 : NULL;
}

onnx_op ox_best_place(struct onnx_node *n, onnx_op x, unsigned int axis, enum ncc_kind func,
		      bool last, double otherwise)
{
	onnx_op at = numbers(n, x, axis), none, there = NULL, y = x, first;

	if (!at)
		return NULL;
	if (ncc_is_float(x->shape.dtype)) {
		there = ox_bin(n, NCC_EQ, x, x);
		y = ox_select(n, there, x, ox_scalar(n, &x->shape, ncc_neutral(func, &x->shape)));
	}
	y = ox_bin(n, NCC_EQ, x, ox_reduce(n, y, func, 1u << axis, true));
	none = ox_scalar(n, &at->shape, last ? -1 : (double)at->shape.dim[axis]);
	y = ox_select(n, y, at, none);
	y = ox_reduce(n, y, last ? NCC_MAX : NCC_MIN, 1u << axis, true);
	if (!there || !y)
		return y;
	first = ox_slice(n, there, axis, 0, 1, 1);
	return ox_select(n, first, y, ox_scalar(n, &y->shape, otherwise));
}

static void import_arg(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), at;
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim), k = 0;
	int64_t dim[NCC_MAX_DIMS];

	if (n->rc)
		return;
	at = ox_best_place(n, x, axis, (enum ncc_kind)onnx_arg(n), onnx_int(n, "select_last_index"),
			   0);
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		if (i != axis)
			dim[k++] = x->shape.dim[i];
	if (!onnx_int(n, "keepdims"))
		at = ox_reshape(n, at, k, dim);
	onnx_give_as(n, 0, at, ONNX_INT64);
}

static void import_hardmax(struct onnx_node *n)
{
	onnx_op given = onnx_in(n, 0), x = given, at;
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);
	int64_t dim[2] = { 1, 1 };

	if (n->rc)
		return;
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		dim[i >= axis] *= x->shape.dim[i];
	if (n->opset < 13) { /* as a matrix then */
		x = ox_reshape(n, x, 2, dim);
		axis = 1;
	}
	if (!x)
		return;
	at = ox_best_place(n, x, axis, NCC_MAX, false, -1);
	at = ox_bin(n, NCC_EQ, numbers(n, x, axis), at);
	at = ox_reshape(n, at, given->shape.ndim, given->shape.dim);
	onnx_give(n, 0, ox_cast_like(n, at, given));
}

/* The best k, by their places in order. Zeros are equal, whatever their signs. */
static void top_by_place(struct onnx_node *n, onnx_op x, unsigned int axis, int64_t k, bool largest)
{
	struct ncc_shape s = x->shape, places;
	onnx_op key = x, at;

	if (ncc_is_float(x->shape.dtype))
		key = ox_select(n, ox_binc(n, NCC_EQ, x, 0), ox_scalar(n, &x->shape, 0), x);
	s.dim[axis] = k;
	places = s;
	places.dtype = NEURON_DT_INT32;
	at = key ? expand_order(&n->b, expand_as_rows(&n->b, key, axis), k, largest) : NULL;
	x = expand_take_places(&n->b, expand_as_rows(&n->b, x, axis), at);
	x = ox_expanded(n, expand_from_rows(&n->b, x, &s, axis), key);
	at = ox_expanded(n, expand_from_rows(&n->b, at, &places, axis), key);
	if (!n->rc) {
		onnx_give(n, 0, x);
		onnx_give_as(n, 1, at, ONNX_INT64);
	}
}

static void import_top_k(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);
	double k = 0;

	if (n->rc || !onnx_in_scalar(n, 1, &k))
		return;
	if (k == 0) {
		struct ncc_shape s = x->shape;

		s.dim[axis] = 0;
		onnx_give_empty(n, 0, &s, n->in[0].type);
		onnx_give_empty(n, 1, &s, ONNX_INT64);
		return;
	}
	if (k < 1 || k > (double)x->shape.dim[axis] ||
	    !expand_has_order(&x->shape, axis, (int64_t)k)) {
		onnx_fail(n, -ENOTSUP, "the best %g of %lld, in so many rows", k,
			  (long long)x->shape.dim[axis]);
		return;
	}
	top_by_place(n, x, axis, (int64_t)k, onnx_int(n, "largest"));
}

/* Sums 1, 2, 4, ... neighbours: each iteration adds the sums that lie so far before. */
static void import_cum_sum(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), moved, zero;
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };
	bool exclusive = onnx_int(n, "exclusive"), reverse = onnx_int(n, "reverse");
	unsigned int axis;
	double v;

	if (!onnx_in_scalar(n, 1, &v))
		return;
	axis = onnx_axis(n, (int64_t)v, x->shape.ndim);
	zero = ox_scalar(n, &x->shape, 0);
	for (int64_t step = exclusive ? 0 : 1; !n->rc && step < x->shape.dim[axis];
	     step = step ? 2 * step : 1) {
		int64_t by = step ? step : 1;

		low[axis] = reverse ? -by : by;
		high[axis] = -low[axis];
		if (by < x->shape.dim[axis])
			moved = ox_pad(n, x, zero, low, high);
		else
			moved = ox_expand(n, zero, x->shape.ndim, x->shape.dim);
		x = step ? ox_bin(n, NCC_ADD, x, moved) : moved;
		if (!x)
			return;
	}
	onnx_give(n, 0, x);
}

static const struct onnx_attribute like_arg_max[] = {
	ATTR("axis", INT),
	ATTR("keepdims", INT, .i = 1),
	ATTR("select_last_index", INT, .from = 12),
	{ 0 },
};

static const struct onnx_attribute like_gather[] = {
	ATTR("axis", INT),
	{ 0 },
};

const struct onnx_rule onnx_index[] = {
	/* clang-format off */
	{ "ArgMax",         1,  1, .import = import_arg,             .arg = NCC_MAX, .sized = sized_arg, .neutral = NCC_MAX, .takes = ONNX_ALL, .attrs = like_arg_max },
	{ "ArgMin",         1,  1, .import = import_arg,             .arg = NCC_MIN, .sized = sized_arg, .neutral = NCC_MIN, .takes = ONNX_ALL, .attrs = like_arg_max },
	{ "CumSum",         2,  2, .import = import_cum_sum, .sized = sized_cum_sum, .takes = ONNX_OPERAND(0), .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("exclusive", INT), ATTR("reverse", INT)) },
	{ "Gather",         2,  2, .import = import_gather, .sized = sized_gather, .takes = ONNX_ALL, .attrs = like_gather },
	{ "GatherElements", 2,  2, .import = import_gather_elements, .sized = sized_gather_elements, .takes = ONNX_ALL, .since = 11, .attrs = like_gather },
	{ "GatherND",       2,  2, .import = import_gather_nd, .sized = sized_gather_nd, .takes = ONNX_ALL, .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("batch_dims", INT, .from = 12)) },
	{ "Hardmax",        1,  1, .import = import_hardmax,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = 1, .until = 12), ATTR("axis", INT, .i = -1, .from = 13)) },
	{ "OneHot",         3,  3, .import = import_one_hot, .sized = sized_one_hot, .takes = ONNX_OPERAND(0), .since = 9,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = -1)) },
	{ "TopK",           2,  2, .import = import_top_k, .sized = sized_top_k, .takes = ONNX_OPERAND(0), .lists = ONNX_OPERAND(1),
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = -1), ATTR("k", INT, .needed = true, .until = 9),
		ATTR("largest", INT, .i = 1, .from = 11), ATTR("sorted", INT, .i = 1, .from = 11)) },
	{ .op_type = NULL },
	/* clang-format on */
};
