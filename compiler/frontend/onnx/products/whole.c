// SPDX-License-Identifier: MIT
/*
 * Whole numbers in fp32, as quantized values are computed in, and the scales of blocks. Part of the
 * ONNX front end.
 */
#include <errno.h>
#include <math.h>

#include "products.h"
#include "whole.h"

/* x rounded to a multiple of unit, a power of two */
onnx_op quant_rounded(struct onnx_node *n, onnx_op x, double unit)
{
	return ox_binc(n, NCC_SUB, ox_binc(n, NCC_ADD, x, QUANT_WHOLE * unit), QUANT_WHOLE * unit);
}

bool quant_is_rounded(const struct ncc_op *x)
{
	double v;

	return x->kind == NCC_SUB && ncc_scalar_value(x->in[1], &v) && v == QUANT_WHOLE &&
	       x->in[0]->kind == NCC_ADD && ncc_scalar_value(x->in[0]->in[1], &v) &&
	       v == QUANT_WHOLE;
}

/* Integers in fp32, of a type's range, as numbers of the type */
onnx_op quant_packed(struct onnx_node *n, onnx_op whole, uint8_t dtype)
{
	struct ncc_shape s;

	if (!whole)
		return NULL;
	s = whole->shape;
	s.dtype = dtype;
	return ox_done(n, ox_node(n, NCC_CONVERT, &s, whole, NULL, NULL));
}

bool quant_is_whole(const struct ncc_op *x, struct ncc_range *r)
{
	int64_t by;
	double v;

	if (x->bounds) {
		*r = (struct ncc_range){ x->bounds[0], x->bounds[1] };
		return ncc_range_within(r, -UINT16_MAX, UINT16_MAX);
	}
	if (x->kind == NCC_CONVERT) {
		*r = ncc_type_range(&x->in[0]->shape);
		return ncc_range_within(r, INT16_MIN, UINT16_MAX) && r->lo < r->hi;
	}
	if ((x->kind != NCC_ADD && x->kind != NCC_SUB) || !ncc_scalar_value(x->in[1], &v) ||
	    v != nearbyint(v) || fabs(v) > UINT16_MAX || !quant_is_whole(x->in[0], r))
		return false;
	by = (int64_t)(x->kind == NCC_ADD ? v : -v);
	*r = (struct ncc_range){ r->lo + by, r->hi + by };
	return true;
}

/*
 * x in fp32. What with_zero() made of integers in fp32 is taken from there: it is within the range
 * of the type. NaN stays what it is then.
 */
onnx_op quant_unpacked(struct onnx_node *n, onnx_op x)
{
	onnx_op f = x && x->kind == NCC_CONVERT ? x->in[0] : NULL;

	if (f && (quant_is_rounded(f) || (f->kind == NCC_ADD && quant_is_rounded(f->in[0]))))
		return f;
	return ox_f32(n, x);
}

onnx_op quant_word(struct onnx_node *n, onnx_op sum)
{
	static const int64_t bounds[2] = { -ONNX_EXACT_MOST, ONNX_EXACT_MOST };

	if (sum && sum->kind != NCC_CONST)
		sum->bounds = bounds;
	return quant_packed(n, sum, NEURON_DT_INT32);
}

bool quant_has_blocks(const struct onnx_node *n)
{
	return onnx_int(n, "block_size");
}

onnx_op quant_of_blocks(struct onnx_node *n, onnx_op v, const struct ncc_shape *x, int64_t axis)
{
	int64_t size = onnx_int(n, "block_size"), flat[3] = { 1, 1, 1 };
	struct ncc_shape all = v->shape;
	unsigned int d;

	if (!size)
		return v;
	d = onnx_axis(n, axis, x->ndim);
	if (n->rc)
		return NULL;
	for (unsigned int i = 0; i < x->ndim && size > 0 && v->shape.ndim == x->ndim; i++) {
		int64_t want = i == d ? (x->dim[i] - 1) / size + 1 : x->dim[i];

		if (v->shape.dim[i] != want)
			size = -1;
		flat[i <= d ? 0 : 2] *= v->shape.dim[i];
	}
	if (size < 0 || v->shape.ndim != x->ndim) {
		onnx_fail(n, -EINVAL,
			  "block_size %lld does not divide the operand as its scales or zero "
			  "points are",
			  (long long)onnx_int(n, "block_size"));
		return NULL;
	}
	v = ox_reshape(n, v, 3, flat);
	flat[1] = size < x->dim[d] ? size : x->dim[d];
	all.dim[d] *= flat[1];
	v = ox_reshape(n, ox_expand(n, v, 3, flat), all.ndim, all.dim);
	return ox_slice(n, v, d, 0, x->dim[d], 1);
}
