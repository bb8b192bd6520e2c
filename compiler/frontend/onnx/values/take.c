// SPDX-License-Identifier: MIT
/* Slices that indices choose, and what is known of such indices. Part of the ONNX front end. */
#include <errno.h>

#include "kept.h"

#define MAX_RUNS 64 /* of constant indices: a slice each */

/* Counts negative indices from the end: -1 is size - 1. */
onnx_op ox_from_end(struct onnx_node *n, onnx_op idx, int64_t size)
{
	onnx_op i = ox_cast(n, idx, NEURON_DT_INT32, false);

	return ox_select(n, ox_binc(n, NCC_LT, i, 0), ox_binc(n, NCC_ADD, i, (double)size), i);
}

static double element(onnx_op op, int64_t i)
{
	return ncc_get(op->shape.dtype, op->data, i);
}

/*
 * Takes constant indices as slices, one for each run that counts up; false: there are too many
 * runs.
 */
static bool take_runs(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis, onnx_op *out)
{
	int64_t count = ncc_elems(&idx->shape);
	onnx_op part[MAX_RUNS];
	unsigned int k = 0;

	for (int64_t i = 0, len; i < count; i += len) {
		int64_t first = (int64_t)element(idx, i);

		for (len = 1; i + len < count && element(idx, i + len) == (double)(first + len);)
			len++;
		if (k == MAX_RUNS)
			return false;
		if (first < 0 || first + len > x->shape.dim[axis]) {
			onnx_fail(n, -EINVAL, "index %lld of %lld", (long long)first,
				  (long long)x->shape.dim[axis]);
			return false;
		}
		part[k++] = ox_slice(n, x, axis, first, len, 1);
	}
	*out = ox_concat(n, part, k, axis);
	return true;
}

/*
 * x with dimension axis replaced by the dimensions of idx. Of rows that were taken only those that
 * are taken again have to be there.
 */
onnx_op ox_take(struct onnx_node *n, onnx_op x, onnx_op idx, unsigned int axis)
{
	const struct onnx_taken *before = axis ? NULL : onnx_taken_before(n, x);
	int64_t dim[2 * NCC_MAX_DIMS];
	unsigned int nd = 0;
	onnx_op r = NULL;

	idx = ox_from_end(n, idx, x->shape.dim[axis]);
	if (!idx)
		return NULL;
	r = axis ? NULL : onnx_kept_again(n, x, idx);
	if (r)
		return ox_reshape(n, r, idx->shape.ndim, idx->shape.dim);
	if (before && ncc_elems(&idx->shape) < ncc_elems(&before->idx->shape))
		return ox_take(n, before->from, ox_take(n, before->idx, idx, 0), 0);

	for (unsigned int i = 0; i < x->shape.ndim; i++) {
		if (i != axis)
			dim[nd++] = x->shape.dim[i];
		else
			for (unsigned int d = 0; d < idx->shape.ndim; d++)
				dim[nd++] = idx->shape.dim[d];
	}

	if (nd > NCC_MAX_DIMS) {
		onnx_fail(n, -ENOTSUP, "the result has rank %u, at most %u is supported", nd,
			  NCC_MAX_DIMS);
		return NULL;
	}

	if (idx->kind == NCC_CONST && take_runs(n, x, idx, axis, &r))
		return ox_reshape(n, r, nd, dim);
	r = n->rc ? NULL : expand_take(&n->b, x, idx, axis);
	return axis || idx->shape.ndim != 1 ? r : onnx_remember(n, r, x, idx);
}

onnx_op ox_flat_index(struct onnx_node *n, onnx_op idx, unsigned int k, const int64_t *dim)
{
	const unsigned int last = idx->shape.ndim - 1;
	onnx_op sum = NULL, one;

	for (unsigned int i = 0; i < k && !n->rc; i++) {
		one = ox_slice(n, idx, last, i, 1, 1);
		one = one ? ox_reshape(n, one, last, one->shape.dim) : NULL;
		one = ox_from_end(n, one, dim[i]);
		sum = sum ? ox_bin(n, NCC_ADD, ox_binc(n, NCC_MUL, sum, (double)dim[i]), one) : one;
	}
	return sum;
}

onnx_op onnx_index_rows(onnx_op idx, unsigned int d)
{
	if (!idx || idx->kind != NCC_BROADCAST || idx->in[0]->shape.ndim != 1 || idx->map[0] != d)
		return NULL;
	return idx->in[0];
}
