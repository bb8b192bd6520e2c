// SPDX-License-Identifier: MIT
/*
 * Rows that data keep: the number of those kept up to each one is its place, where a scatter puts
 * it. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "kept.h"

#define LANE 128 /* elements that are counted by one product */

/* A constant, bf16[LANE, LANE]: 1 on and above the diagonal */
static onnx_op counting(struct onnx_node *n)
{
	struct ncc_shape s = { .dtype = NEURON_DT_BF16, .ndim = 2, .dim = { LANE, LANE } };
	onnx_op op = ox_data(n, &s);

	for (int64_t i = 0; op && i < LANE * LANE; i++)
		ncc_set(s.dtype, op->data, i, i / LANE <= i % LANE);
	return op;
}

/* Adds to each element of x[n], fp32 whole numbers, all before it. */
static onnx_op summed(struct onnx_node *n, onnx_op x)
{
	for (int64_t step = 1; x && !n->rc && step < x->shape.dim[0]; step *= 2) {
		int64_t low = step, high = -step;

		x = ox_bin(n, NCC_ADD, x, ox_pad(n, x, ox_scalar(n, &x->shape, 0), &low, &high));
	}
	return x;
}

/* The number of keep[n] that hold up to each one: fp32[n], exact below 2^24 */
static onnx_op counted(struct onnx_node *n, onnx_op keep)
{
	const struct ncc_dot d = { .ncontract = 1, .lhs_contract = { 1 }, .rhs_contract = { 0 } };
	int64_t count = keep->shape.dim[0], rows = (count + LANE - 1) / LANE, low = 0;
	int64_t high = rows * LANE - count;
	onnx_op x, before;

	if (count >= 1 << 24) {
		onnx_fail(n, -EFBIG, "too large: of %lld elements", (long long)count);
		return NULL;
	}
	x = ox_pad(n, ox_cast(n, keep, NEURON_DT_BF16, false),
		   ox_scalar(n, &(struct ncc_shape){ .dtype = NEURON_DT_BF16 }, 0), &low, &high);
	x = ox_reshape(n, x, 2, (int64_t[]){ rows, LANE });
	x = ox_dot(n, x, counting(n), &d, NEURON_DT_FP32);
	if (rows > 1) {
		before = ox_reshape(n, ox_slice(n, x, 1, LANE - 1, 1, 1), 1, &rows);
		before = ox_bin(n, NCC_SUB, summed(n, before), before);
		x = ox_bin(n, NCC_ADD, x, ox_reshape(n, before, 2, (int64_t[]){ rows, 1 }));
	}
	high = rows * LANE;
	return ox_slice(n, ox_reshape(n, x, 1, &high), 0, 0, count, 1);
}

struct onnx_places *onnx_places_of(struct onnx_node *n, onnx_op keep)
{
	const bool exact = n->exact;
	struct onnx_places *p;
	onnx_op x, s32;

	for (p = n->imp->places; p; p = p->next)
		if (sizes_same(p->keep, keep))
			return p;
	p = ncc_alloc(n->imp->m, sizeof(*p));
	if (!p) {
		onnx_fail(n, -ENOMEM, "out of memory");
		return NULL;
	}
	n->exact = true;
	x = counted(n, keep);
	n->exact = exact;
	s32 = ox_cast(n, x, NEURON_DT_INT32, false);
	p->keep = keep;
	p->to = ox_binc(n, NCC_SUB, s32, 1);
	p->to = ox_select(n, keep, p->to, p->to ? ox_scalar(n, &p->to->shape, -1) : NULL);
	p->size = ox_reshape(n, ox_slice(n, s32, 0, keep->shape.dim[0] - 1, 1, 1), 0, NULL);
	p->next = n->imp->places;
	if (!n->rc)
		n->imp->places = p;
	return n->rc ? NULL : p;
}

/* x[n, columns] moved to the places `to` of so many rows of zeros */
onnx_op onnx_put_rows(struct onnx_node *n, onnx_op x, onnx_op to, int64_t most)
{
	const struct ncc_combine put = { .by = NCC_COMBINE_SECOND };
	struct ncc_slices g = {
		.nwindow = 1, .window = { 1 }, .dropped = 1, .nmap = 1, .vector = 1
	};
	struct ncc_shape s;
	onnx_op rows, out;
	int rc;

	to = to ? ox_insert(n, to, 1) : NULL;
	if (!x || !to || n->rc)
		return NULL;
	s = x->shape;
	s.dim[0] = most;
	g.size[0] = 1;
	g.size[1] = s.dim[1];
	rows = ox_expand(n, ox_scalar(n, &s, 0), 2, s.dim);
	rc = rows ? expand_scatter(&n->b, 1, &rows, to, &x, &g, &put, &out) : 0;
	if (rc && !n->rc)
		n->rc = rc;
	n->imp->made += 16; /* an estimate */
	return n->rc || !rows ? NULL : out;
}

onnx_op onnx_as_rows(struct onnx_node *n, onnx_op x)
{
	int64_t rows = x ? x->shape.dim[0] : 1;

	return x ? ox_reshape(n, x, 2, (int64_t[]){ rows, ncc_elems(&x->shape) / rows }) : NULL;
}

onnx_op onnx_keep_rows(struct onnx_node *n, onnx_op x, onnx_op keep, int64_t most, onnx_op *size)
{
	const struct onnx_places *p = x && keep && !n->rc ? onnx_places_of(n, keep) : NULL;
	int64_t dim[NCC_MAX_DIMS];

	if (!p)
		return NULL;
	memcpy(dim, x->shape.dim, sizeof(dim));
	dim[0] = most;
	if (size)
		*size = p->size;
	return ox_reshape(n, onnx_put_rows(n, onnx_as_rows(n, x), p->to, most), x->shape.ndim, dim);
}
