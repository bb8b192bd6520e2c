// SPDX-License-Identifier: MIT
/*
 * Grids of places in an image: those that a matrix maps (AffineGrid), and a convolution that takes
 * each of its numbers from a place that data move (DeformConv). Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "images.h"

#define MOST_SPATIAL 3

/* The place of number i of so many between -1 and 1: of their centers, or of what they fill */
static double evenly(int64_t i, int64_t count, bool align)
{
	if (!align)
		return (double)(2 * i + 1) / (double)count - 1;
	return count > 1 ? 2 * (double)i / (double)(count - 1) - 1 : 0;
}

/* Rows of x, y, z and 1 of each place, [places, nd + 1] */
static onnx_op places_of(struct onnx_node *n, const int64_t *size, unsigned int nd)
{
	const bool align = onnx_int(n, "align_corners");
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { 1, nd + 1 } };
	onnx_op op;

	for (unsigned int d = 0; d < nd; d++) {
		if (size[d] < 1 || size[d] > ONNX_MAX_DATA || s.dim[0] > ONNX_MAX_DATA) {
			onnx_fail(n, -EINVAL, "a size of %lld", (long long)size[d]);
			return NULL;
		}
		s.dim[0] *= size[d];
	}
	op = ox_data(n, &s);
	for (int64_t i = 0; op && i < s.dim[0]; i++) {
		float *row = (float *)op->data + i * (nd + 1);
		int64_t rest = i;

		for (unsigned int d = nd; d-- > 0; rest /= size[d])
			row[nd - 1 - d] = (float)evenly(rest % size[d], size[d], align);
		row[nd] = 1;
	}
	return op;
}

static void import_affine_grid(struct onnx_node *n)
{
	const struct ncc_dot d = { .ncontract = 1, .lhs_contract = { 2 }, .rhs_contract = { 1 } };
	static const uint8_t perm[3] = { 0, 2, 1 };
	onnx_op theta = onnx_in(n, 0), r;
	int64_t size[5], dim[5];
	unsigned int count, nd;

	if (!onnx_in_ints(n, 1, size, 5, &count))
		return;
	nd = count - 2;
	if (count < 4 || theta->shape.ndim != 3 || theta->shape.dim[0] != size[0] ||
	    theta->shape.dim[1] != nd || theta->shape.dim[2] != nd + 1) {
		onnx_fail(n, -EINVAL, "%u sizes, and matrices that do not fit them", count);
		return;
	}
	r = ox_dot(n, ox_f32(n, theta), places_of(n, &size[2], nd), &d, NEURON_DT_FP32);
	dim[0] = size[0];
	memcpy(&dim[1], &size[2], nd * sizeof(*dim));
	dim[nd + 1] = nd;
	r = ox_reshape(n, ox_transpose(n, r, perm), nd + 2, dim);
	onnx_give_as(n, 0, ox_cast_like(n, r, theta), n->in[0].type);
}

/* A convolution's numbers along each dimension of the image */
struct deformed {
	unsigned int nd;
	int64_t stride[MOST_SPATIAL], dilation[MOST_SPATIAL], pad[2 * MOST_SPATIAL];
	int64_t kernel[MOST_SPATIAL], out[MOST_SPATIAL];
	int64_t places, results; /* of a kernel, of an image */
	int64_t groups, moved; /* moved: groups of channels with offsets of their own */
};

static void take_numbers(struct onnx_node *n, const char *name, int64_t *v, unsigned int want,
			 int64_t usual)
{
	onnx_ints_each(n, name, v, want, usual);
	for (unsigned int i = 0; i < want && !n->rc; i++)
		if (v[i] < usual || v[i] > 1 << 20)
			onnx_fail(n, -EINVAL, "%lld in '%s'", (long long)v[i], name);
}

static bool take_deformed(struct onnx_node *n, struct deformed *c)
{
	const struct ncc_shape *x = &onnx_in(n, 0)->shape, *w = &onnx_in(n, 1)->shape;
	const struct ncc_shape *at = &onnx_in(n, 2)->shape;
	bool fits = x->ndim > 2 && x->ndim <= MOST_SPATIAL + 2 && w->ndim == x->ndim &&
		    at->ndim == x->ndim && at->dim[0] == x->dim[0];

	c->nd = fits ? x->ndim - 2 : 0;
	c->groups = onnx_int(n, "group");
	c->moved = onnx_int(n, "offset_group");
	c->places = c->results = 1;
	take_numbers(n, "strides", c->stride, c->nd, 1);
	take_numbers(n, "dilations", c->dilation, c->nd, 1);
	take_numbers(n, "pads", c->pad, 2 * c->nd, 0);
	for (unsigned int d = 0; d < c->nd; d++) {
		c->kernel[d] = w->dim[d + 2];
		c->out[d] = at->dim[d + 2];
		c->places *= c->kernel[d];
		c->results *= c->out[d];
		fits = fits && c->out[d] == (x->dim[d + 2] + c->pad[d] + c->pad[c->nd + d] -
					     c->dilation[d] * (c->kernel[d] - 1) - 1) /
							    c->stride[d] +
						    1;
	}
	fits = fits && c->groups > 0 && c->moved > 0 && c->groups <= NCC_MAX_OPERANDS &&
	       c->moved <= NCC_MAX_OPERANDS && x->dim[1] % c->groups == 0 &&
	       w->dim[0] % c->groups == 0 && x->dim[1] % c->moved == 0 &&
	       w->dim[1] == x->dim[1] / c->groups && at->dim[1] == c->moved * c->places * c->nd;
	if (!fits)
		onnx_fail(n, -EINVAL, "kernel and offsets do not fit the image");
	return !n->rc;
}

/* Where a kernel that nothing moves has its numbers along dimension d, [places, results] */
static onnx_op unmoved(struct onnx_node *n, const struct deformed *c, unsigned int d)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32,
				     .ndim = 2,
				     .dim = { c->places, c->results } };
	int64_t inner = 1, inside = 1;
	onnx_op op = ox_data(n, &s);

	for (unsigned int i = d + 1; i < c->nd; i++) {
		inner *= c->kernel[i];
		inside *= c->out[i];
	}
	for (int64_t i = 0; op && i < c->places * c->results; i++)
		((float *)op->data)[i] =
			(float)(i / c->results / inner % c->kernel[d] * c->dilation[d] +
				i % c->results / inside % c->out[d] * c->stride[d] - c->pad[d]);
	return op;
}

/* What the kernels of a group of channels see, [batch, places, results, channels] */
static onnx_op seen(struct onnx_node *n, const struct deformed *c, int64_t group)
{
	const int64_t channels = onnx_in(n, 0)->shape.dim[1] / c->moved;
	const int64_t batch = onnx_in(n, 0)->shape.dim[0];
	const int64_t dim[4] = { batch, c->places, (int64_t)c->nd, c->results };
	const int64_t each[3] = { batch, c->places, c->results };
	onnx_op x = ox_slice(n, ox_f32(n, onnx_in(n, 0)), 1, group * channels, channels, 1), mask;
	onnx_op at = ox_f32(n, onnx_in(n, 2)), place[MOST_SPATIAL];

	at = ox_slice(n, at, 1, group * c->places * (int64_t)c->nd, c->places * (int64_t)c->nd, 1);
	at = ox_reshape(n, at, 4, dim);
	for (unsigned int d = 0; d < c->nd; d++)
		place[d] = ox_bin(n, NCC_ADD, ox_reshape(n, ox_slice(n, at, 2, d, 1, 1), 3, each),
				  unmoved(n, c, d));
	x = n->rc ? NULL : ox_sample(n, x, place);
	if (!x || !onnx_in(n, 4))
		return x;
	mask = ox_slice(n, ox_f32(n, onnx_in(n, 4)), 1, group * c->places, c->places, 1);
	return ox_bin(n, NCC_MUL, x, ox_insert(n, ox_reshape(n, mask, 3, each), 3));
}

/* The products of a group's kernels with what they see, [batch, results, kernels] */
static onnx_op convolved(struct onnx_node *n, const struct deformed *c, onnx_op x, int64_t group)
{
	const struct ncc_dot d = { .ncontract = 2,
				   .lhs_contract = { 1, 3 },
				   .rhs_contract = { 2, 1 } };
	const int64_t kernels = onnx_in(n, 1)->shape.dim[0] / c->groups;
	const int64_t channels = onnx_in(n, 1)->shape.dim[1];
	const int64_t dim[3] = { kernels, channels, c->places };
	onnx_op w = ox_slice(n, ox_f32(n, onnx_in(n, 1)), 0, group * kernels, kernels, 1);

	return ox_dot(n, ox_slice(n, x, 3, group * channels, channels, 1), ox_reshape(n, w, 3, dim),
		      &d, NEURON_DT_FP32);
}

static void give_image(struct onnx_node *n, const struct deformed *c, onnx_op y)
{
	static const uint8_t perm[3] = { 0, 2, 1 };
	int64_t dim[MOST_SPATIAL + 2];

	if (onnx_in(n, 3))
		y = ox_bin(n, NCC_ADD, y, ox_f32(n, onnx_in(n, 3)));
	if (!y || n->rc)
		return;
	dim[0] = y->shape.dim[0];
	dim[1] = y->shape.dim[2];
	memcpy(&dim[2], c->out, c->nd * sizeof(*dim));
	y = ox_reshape(n, ox_transpose(n, y, perm), c->nd + 2, dim);
	onnx_give_as(n, 0, ox_cast_like(n, y, onnx_in(n, 0)), n->in[0].type);
}

static void import_deform(struct onnx_node *n)
{
	struct deformed c = { 0 };
	onnx_op *part, x;

	if (!take_deformed(n, &c))
		return;
	part = ncc_alloc(n->imp->m, (size_t)(c.moved + c.groups) * sizeof(*part));
	if (!part)
		onnx_fail(n, -ENOMEM, "out of memory");
	for (int64_t i = 0; i < c.moved && !n->rc; i++)
		part[i] = seen(n, &c, i);
	x = n->rc ? NULL : ox_concat(n, part, (unsigned int)c.moved, 3);
	for (int64_t i = 0; i < c.groups && !n->rc; i++)
		part[i] = convolved(n, &c, x, i);
	if (!n->rc)
		give_image(n, &c, ox_concat(n, part, (unsigned int)c.groups, 2));
}

const struct onnx_rule onnx_grid[] = {
	{ "AffineGrid", 2, 2, .import = import_affine_grid, .since = 20,
	  .attrs = ONNX_ATTRS(ATTR("align_corners", INT)) },
	{ "DeformConv", 3, 5, .import = import_deform, .since = 19,
	  .attrs = ONNX_ATTRS(ATTR("dilations", INTS), ATTR("group", INT, .i = 1),
			      ATTR("kernel_shape", INTS), ATTR("offset_group", INT, .i = 1),
			      ATTR("pads", INTS), ATTR("strides", INTS)) },
	{ .op_type = NULL },
};
