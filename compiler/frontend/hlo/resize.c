// SPDX-License-Identifier: MIT
/*
 * torch_xla's calls for images, [N, A, B, C] with A and B of another size: ResizeNearest,
 * ResizeBilinear, and the gradients of both by ResizeNearestGrad, ResizeBilinearGrad. The meaning
 * is PyTorch's (interpolate): places are computed in fp32 as it does, values are summed in fp32.
 * Part of the HLO front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "expand/expand.h"
#include "operations.h"

struct resize {
	bool bilinear, gradient;
	bool align_corners, half_pixels;
};

/* The elements of which a result is the sum, along one dimension, and their weights */
struct taps {
	int64_t at[2];
	float weight[2];
};

static struct taps taps_of(const struct resize *r, int64_t from, int64_t to, int64_t o)
{
	const bool corners = r->align_corners && to > 1;
	const float scale = corners ? (float)(from - 1) / (float)(to - 1) : (float)from / (float)to;
	float x = (float)o * scale;
	struct taps t = { .weight = { 1, 0 } };

	if (r->half_pixels)
		x = ((float)o + 0.5f) * scale - (r->bilinear ? 0.5f : 0);
	x = x < 0 ? 0 : x;
	if (!r->bilinear)
		x = r->align_corners ? rintf(x) : floorf(x);
	t.at[0] = (int64_t)x < from ? (int64_t)x : from - 1;
	t.at[1] = t.at[0] + 1 < from ? t.at[0] + 1 : t.at[0];
	if (r->bilinear) {
		t.weight[1] = x - (float)t.at[0];
		t.weight[0] = 1 - t.weight[1];
	}
	return t;
}

static struct ncc_op *resized(struct hlo_inst *in, const struct resize *r, struct ncc_op *x,
			      unsigned int d, int64_t size)
{
	const struct ncc_shape index = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { size } },
			       number = { .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { size } };
	const uint8_t map = (uint8_t)d;
	struct ncc_op *sum = NULL;

	for (unsigned int t = 0; x && t < (r->bilinear ? 2 : 1); t++) {
		struct ncc_op *at = build_const(&in->b, &index), *y;
		struct ncc_op *weight = build_const(&in->b, &number);

		if (!at || !weight)
			return NULL;
		for (int64_t o = 0; o < size; o++) {
			const struct taps taps = taps_of(r, x->shape.dim[d], size, o);

			((int32_t *)at->data)[o] = (int32_t)taps.at[t];
			((float *)weight->data)[o] = taps.weight[t];
		}
		y = expand_take_inside(&in->b, x, at, d);
		if (y && r->bilinear)
			y = build_binary(&in->b, NCC_MUL, y,
					 build_spread(&in->b, &y->shape, weight, &map));
		sum = sum && y ? build_binary(&in->b, NCC_ADD, sum, y) : y;
	}
	return sum;
}

/* Each element gets what the results have that it is in: a product with the matrix of weights */
static struct ncc_op *gradient(struct hlo_inst *in, const struct resize *r, struct ncc_op *x,
			       unsigned int d, int64_t size)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32,
				     .ndim = 2,
				     .dim = { x ? x->shape.dim[d] : 0, size } };
	const struct ncc_dot dot = { .ncontract = 1, .lhs_contract = { (uint8_t)d } };
	struct ncc_op *w = x ? build_const(&in->b, &s) : NULL, *y;
	uint8_t back[NCC_MAX_DIMS];

	if (!w)
		return NULL;
	for (int64_t o = 0; o < s.dim[0]; o++) {
		const struct taps taps = taps_of(r, size, s.dim[0], o);
		float *row = (float *)w->data + o * size;

		row[taps.at[0]] += taps.weight[0];
		row[taps.at[1]] += taps.weight[1];
	}
	y = build_dot(&in->b, x, w, &dot, NEURON_DT_FP32);
	for (unsigned int i = 0; y && i < y->shape.ndim; i++)
		back[i] = (uint8_t)(i < d ? i : i == d ? y->shape.ndim - 1 : i - 1);
	return y ? build_transpose(&in->b, y, back) : NULL;
}

/* backend_config is two digits in quotes: align_corners, half_pixel_centers */
static int take_flags(const struct hlo_inst *in, struct resize *r)
{
	const ProtobufCBinaryData *b = &in->p->backend_config;
	const char *text = (const char *)b->data;
	size_t n = b->len;

	if (n >= 2 && text[0] == '"' && text[n - 1] == '"') {
		text++;
		n -= 2;
	}
	if (n != 2 || (text[0] | 1) != '1' || (text[1] | 1) != '1')
		return hlo_fail(in, -EINVAL,
				"backend_config is '%.*s', expected two digits, 0 or 1, for "
				"align_corners and half_pixel_centers",
				(int)(b->len < 20 ? b->len : 20), (const char *)b->data);
	r->align_corners = text[0] == '1';
	r->half_pixels = text[1] == '1';
	return 0;
}

int hlo_resize(struct hlo_inst *in, struct hlo_value *v)
{
	const char *target = in->p->custom_call_target;
	struct resize r = { .bilinear = strstr(target, "Bilinear"),
			    .gradient = strstr(target, "Grad") };
	struct ncc_op *x = in->in[0].op[0];
	struct ncc_shape to;
	int rc = hlo_shape(in, in->p->shape, &to) ?: take_flags(in, &r);

	if (rc)
		return rc;
	if (to.ndim != 4 || x->shape.ndim != 4 || to.dim[0] != x->shape.dim[0] ||
	    to.dim[3] != x->shape.dim[3])
		return hlo_fail(in, -EINVAL,
				"operand and result are [N, A, B, C], of the same N and C");
	if (r.bilinear || r.gradient)
		x = build_cast(&in->b, x, NEURON_DT_FP32);
	for (unsigned int d = 1; x && d < 3; d++) {
		if (x->shape.dim[d] == to.dim[d])
			continue;
		x = r.gradient ? gradient(in, &r, x, d, to.dim[d])
			       : resized(in, &r, x, d, to.dim[d]);
	}
	x = x ? build_cast(&in->b, x, to.dtype) : NULL;
	return hlo_take_results(in, &x, 1, v);
}
