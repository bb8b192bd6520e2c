// SPDX-License-Identifier: MIT
/*
 * Rules (dynamic.h) of operators on batches of images: convolutions, pools, normalization of
 * channels. What is not there is what padding is. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "build/sizes.h"
#include "dynamic.h"

/* Number i of a list of the window; one that is too large for any is refused. */
static int64_t listed(struct onnx_node *n, const char *name, unsigned int i, int64_t otherwise)
{
	int64_t v[2 * NCC_MAX_DIMS];
	unsigned int count;

	if (!onnx_ints(n, name, v, 2 * NCC_MAX_DIMS, &count) || i >= count)
		return otherwise;
	if (v[i] >= 0 && v[i] <= ONNX_MAX_DATA)
		return v[i];
	onnx_fail(n, -EINVAL, "%lld in %s", (long long)v[i], name);
	return otherwise;
}

/* The number of windows along spatial dimension i of `size` elements, given its pads */
static onnx_op windows(struct onnx_node *n, onnx_op size, unsigned int i, int64_t kernel,
		       int64_t pads)
{
	const struct ncc_window w = { .size = kernel,
				      .stride = listed(n, "strides", i, 1),
				      .high = pads,
				      .window_dilation = listed(n, "dilations", i, 1) };
	const int64_t span = (kernel - 1) * w.window_dilation + 1;

	if (w.stride < 1 || span < 1 || span > ONNX_MAX_DATA)
		onnx_fail(n, -EINVAL, "stride %lld, span %lld", (long long)w.stride,
			  (long long)span);
	return n->rc ? NULL : sizes_windows(&(struct ncc_follow){ .bl = onnx_now(n) }, size, &w, 0);
}

/* The padding at the end of spatial dimension d, if it is of a kind that may have a size */
static int64_t end_padding(struct onnx_node *n, unsigned int d)
{
	const unsigned int nd = n->in[0].op->shape.ndim;
	const bool upper =
		!onnx_string_is(n, "auto_pad", "NOTSET") && !onnx_string_is(n, "auto_pad", "VALID");

	if (upper || onnx_int(n, "ceil_mode") || (n->nout > 1 && *n->p->output[1]))
		sized_refuse_dim(n, 0, d);
	return listed(n, "pads", d - 2 + nd - 2, 0);
}

/*
 * Of a spatial dimension the elements that are there come first, and what follows them is as
 * padding is: 0, or below all for a maximum. k: a convolution's kernel
 */
static void window(struct onnx_node *n, onnx_op k, double padding)
{
	struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;
	onnx_op size[NCC_MAX_DIMS];

	memcpy(size, v->size, sizeof(size));
	if (size[1] || (k && k->shape.ndim != nd)) {
		sized_refuse(n, 0);
		return;
	}
	for (unsigned int d = 2; d < nd && !n->rc; d++) {
		int64_t high;

		if (!size[d])
			continue;
		high = end_padding(n, d);
		size[d] = windows(n, size[d], d - 2,
				  k ? k->shape.dim[d] : listed(n, "kernel_shape", d - 2, 1),
				  high + listed(n, "pads", d - 2, 0));
	}
	if (n->rc)
		return;
	v->op = onnx_filled(n, v, ~3u, padding);
	if (!n->rc)
		sized_import(n, size);
}

void sized_conv(struct onnx_node *n)
{
	window(n, onnx_in(n, 1), 0);
}

void sized_max_pool(struct onnx_node *n)
{
	window(n, NULL, ox_least(&n->in[0].op->shape));
}

/* A mean that does not count padding would count what is not there. */
void sized_average_pool(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];
	const unsigned int nd = v->op->shape.ndim;

	for (unsigned int d = 2; d < nd && !n->rc; d++)
		if (v->size[d] && listed(n, "pads", d - 2 + nd - 2, 0) &&
		    !onnx_int(n, "count_include_pad"))
			sized_refuse_dim(n, 0, d);
	if (!n->rc)
		window(n, NULL, 0);
}

/* All spatial dimensions become one element; false: n->rc is set */
static bool pool(struct onnx_node *n, double padding)
{
	struct onnx_value *v = &n->in[0];

	if (v->size[1]) {
		sized_refuse_but(n, 0, 0);
		return false;
	}
	v->op = onnx_filled(n, v, ~3u, padding);
	if (v->op)
		n->rule->import(n);
	return !n->rc;
}

void sized_global_max(struct onnx_node *n)
{
	const onnx_op size[NCC_MAX_DIMS] = { n->in[0].size[0] };

	if (pool(n, ox_least(&n->in[0].op->shape)))
		onnx_give_sizes(n, 0, n->out[0].op, n->out[0].type, size);
}

/* Divided by the sizes of the spatial dimensions */
void sized_global_mean(struct onnx_node *n)
{
	const onnx_op size[NCC_MAX_DIMS] = { n->in[0].size[0] };
	onnx_op y;

	if (!pool(n, 0))
		return;
	y = sized_mean(n, &n->in[0], ~3u, n->out[0].op);
	if (!n->rc)
		onnx_give_sizes(n, 0, y, n->out[0].type, size);
}

/* BatchNormalization with given statistics; training, which computes them of the batch, is refused.
 */
void sized_batch_norm(struct onnx_node *n)
{
	const struct onnx_value *v = &n->in[0];

	if (v->size[1] || onnx_int(n, "training_mode"))
		sized_refuse(n, 0);
	else
		sized_import(n, v->size);
}

/* The first dimension is a batch, whose elements have nothing to do with each other. */
void sized_batch(struct onnx_node *n)
{
	const onnx_op size[NCC_MAX_DIMS] = { n->in[0].size[0] };

	if (onnx_sized_but(&n->in[0], 0))
		sized_refuse_but(n, 0, 0);
	else
		sized_import(n, size);
}

/* Rows of regions and the image of each */
void sized_roi_align(struct onnx_node *n)
{
	const struct onnx_value *rois = &n->in[1], *image = &n->in[2];
	const onnx_op size[NCC_MAX_DIMS] = { rois->size[0] };

	if (!rois->size[0] || !image->size[0] || onnx_sized_but(rois, 0) ||
	    onnx_sized_but(image, 0) || !sizes_same(rois->size[0], image->size[0])) {
		onnx_fail(n, -ENOTSUP,
			  "operands whose sizes depend on the data and may be different");
		return;
	}
	sized_import(n, size);
}
