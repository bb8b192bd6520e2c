// SPDX-License-Identifier: MIT
/*
 * A cache of which each sample of a batch is written from a place of its own on. What is written is
 * a choice of each place of the cache. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "attention.h"

/* The number of the row that is written at each place, s32 with x's rank, from start: [batch] */
static onnx_op row_at(struct onnx_node *n, onnx_op x, onnx_op at, unsigned int axis, bool circular)
{
	int64_t batch[NCC_MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 1 }, places[NCC_MAX_DIMS];
	onnx_op row;

	if (!x || !at || n->rc)
		return NULL;
	memcpy(places, batch, sizeof(batch));
	batch[0] = at->shape.dim[0];
	places[axis] = x->shape.dim[axis];
	if (circular)
		at = expand_rest_whole(&n->b, at,
				       ox_expand(n, ox_scalar(n, &at->shape, (double)places[axis]),
						 1, at->shape.dim));
	row = ox_reshape(n, ox_iota(n, NEURON_DT_INT32, places[axis]), x->shape.ndim, places);
	row = ox_bin(n, NCC_SUB, row, ox_reshape(n, at, x->shape.ndim, batch));
	if (!circular || !row)
		return row;
	return ox_select(n, ox_binc(n, NCC_LT, row, 0),
			 ox_binc(n, NCC_ADD, row, (double)places[axis]), row);
}

/* The rows of u at the places of a cache, of one sample; another where there is none */
static onnx_op rows_at(struct onnx_node *n, onnx_op u, onnx_op row, unsigned int axis)
{
	const int64_t last = u->shape.dim[axis] - 1;
	int64_t count;

	row = ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, row, 0), (double)last);
	if (!row)
		return NULL;
	count = ncc_elems(&row->shape);
	return ox_take(n, u, ox_reshape(n, row, 1, &count), axis);
}

/* The same of each sample */
static onnx_op rows_of_batch(struct onnx_node *n, onnx_op u, onnx_op row, unsigned int axis)
{
	const int64_t batch = row->shape.dim[0], all = u->shape.dim[0];
	onnx_op *part;

	if (u->shape.dim[axis] == 1)
		return u;
	if (batch == 1)
		return rows_at(n, u, row, axis);
	part = ncc_alloc(n->imp->m, (size_t)all * sizeof(*part));
	if (!part) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return NULL;
	}
	for (int64_t b = 0; b < all && !n->rc; b++)
		part[b] =
			rows_at(n, ox_slice(n, u, 0, b, 1, 1), ox_slice(n, row, 0, b, 1, 1), axis);
	return n->rc ? NULL : ox_concat(n, part, (unsigned int)all, 0);
}

onnx_op ox_cached(struct onnx_node *n, onnx_op x, onnx_op u, onnx_op at, unsigned int axis,
		  bool circular)
{
	onnx_op row = row_at(n, x, at, axis, circular), here;

	if (!row || !u || n->rc)
		return NULL;
	here = ox_bin(n, NCC_AND, ox_binc(n, NCC_GE, row, 0),
		      ox_binc(n, NCC_LT, row, (double)u->shape.dim[axis]));
	return n->rc ? NULL : ox_select(n, here, rows_of_batch(n, u, row, axis), x);
}

static bool fits(struct onnx_node *n, unsigned int axis)
{
	const struct ncc_shape *x = &onnx_in(n, 0)->shape, *u = &onnx_in(n, 1)->shape;
	bool ok = axis && x->ndim == u->ndim && x->dtype == u->dtype;

	for (unsigned int i = 0; i < x->ndim && ok; i++)
		ok = i == axis ? u->dim[i] <= x->dim[i] : u->dim[i] == x->dim[i];
	if (!ok)
		onnx_fail(n, -EINVAL, "the update does not fit the cache along axis %u", axis);
	return ok;
}

static void import_tensor_scatter(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), at = onnx_in(n, 2) ? ox_words(n, 2) : NULL;
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);
	const struct ncc_shape one = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { 1 } };
	const bool circular = onnx_string_is(n, "mode", "circular");

	if (n->rc || !fits(n, axis))
		return;
	at = at ? at : ox_data(n, &one);
	if (at && at->shape.dim[0] != 1 && at->shape.dim[0] != x->shape.dim[0])
		onnx_fail(n, -EINVAL, "%lld places for %lld samples", (long long)at->shape.dim[0],
			  (long long)x->shape.dim[0]);
	onnx_give_as(n, 0, ox_cached(n, x, onnx_in(n, 1), at, axis, circular), n->in[0].type);
}

const struct onnx_rule onnx_cache[] = {
	{ "TensorScatter", 2, 3, .import = import_tensor_scatter, .since = 24,
	  .attrs = ONNX_ATTRS(ATTR("axis", INT, .i = -2),
			      ATTR("mode", TEXT, .words = "linear|circular", .s = "linear")) },
	{ .op_type = NULL },
};
