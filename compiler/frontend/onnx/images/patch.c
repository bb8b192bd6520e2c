// SPDX-License-Identifier: MIT
/* Images put together of patches, and cut or padded to a size. Part of the ONNX front end. */
#include <errno.h>

#include "images.h"

#define MOST_PLACES 4096 /* in a block: each is an addition to the image */

/* A dimension of the image: its size, and of the blocks theirs, their number and their places */
struct side {
	int64_t size, block, blocks, stride, dilation, pad;
};

struct patches {
	struct side side[NCC_MAX_DIMS];
	unsigned int n;
	int64_t places; /* in a block */
};

static void take_side(struct side *s, const int64_t *pads, unsigned int i, unsigned int n)
{
	const int64_t span = (s->block - 1) * s->dilation + 1;

	s->pad = pads[i];
	s->blocks = s->stride > 0 ? (s->size + pads[i] + pads[n + i] - span) / s->stride + 1 : 0;
	if (s->size + pads[i] + pads[n + i] < span)
		s->blocks = 0;
}

static bool in_range(const struct patches *p, const int64_t *pads)
{
	bool ok = true;

	for (unsigned int i = 0; i < p->n; i++) {
		const struct side *s = &p->side[i];
		const int64_t v[] = { s->size, s->block, s->stride, s->dilation };

		for (unsigned int k = 0; k < 4; k++)
			ok = ok && v[k] > 0 && v[k] < 1 << 20;
		ok = ok && pads[i] >= 0 && pads[p->n + i] >= 0 && pads[i] < 1 << 20 &&
		     pads[p->n + i] < 1 << 20;
	}
	return ok;
}

static bool take_patches(struct onnx_node *n, struct patches *p)
{
	int64_t size[NCC_MAX_DIMS], block[NCC_MAX_DIMS], stride[NCC_MAX_DIMS];
	int64_t dilation[NCC_MAX_DIMS], pads[2 * NCC_MAX_DIMS];
	unsigned int blocks;

	if (!onnx_in_ints(n, 1, size, NCC_MAX_DIMS - 2, &p->n) ||
	    !onnx_in_ints(n, 2, block, NCC_MAX_DIMS - 2, &blocks))
		return false;
	onnx_ints_each(n, "strides", stride, p->n, 1);
	onnx_ints_each(n, "dilations", dilation, p->n, 1);
	onnx_ints_each(n, "pads", pads, 2 * p->n, 0);
	if (!n->rc && (blocks != p->n || !p->n))
		onnx_fail(n, -EINVAL, "an image of %u dimensions, blocks of %u", p->n, blocks);
	for (unsigned int i = 0; i < p->n && !n->rc; i++)
		p->side[i] = (struct side){ .size = size[i],
					    .block = block[i],
					    .stride = stride[i],
					    .dilation = dilation[i] };
	if (!n->rc && !in_range(p, pads))
		onnx_fail(n, -EINVAL, "a size, stride, dilation or padding out of range");
	p->places = 1;
	for (unsigned int i = 0; i < p->n && !n->rc; i++) {
		take_side(&p->side[i], pads, i, p->n);
		p->places *= p->side[i].block;
		if (p->places > MOST_PLACES)
			onnx_fail(n, -EFBIG, "too large: a block of more than %d places",
				  MOST_PLACES);
	}
	return !n->rc;
}

/* What lies at one place of all blocks, [batch, channels, blocks...], where it lies in the image */
static onnx_op in_image(struct onnx_node *n, const struct patches *p, onnx_op x, int64_t place)
{
	struct ncc_shape s;
	onnx_op op;

	if (!x || n->rc)
		return NULL;
	s = x->shape;
	for (unsigned int i = 0; i < p->n; i++)
		s.dim[i + 2] = p->side[i].size;
	op = ox_node(n, NCC_PAD, &s, x, ox_scalar(n, &s, 0), NULL);
	for (unsigned int i = p->n; op && i-- > 0; place /= p->side[i].block) {
		const struct side *d = &p->side[i];

		op->low[i + 2] = place % d->block * d->dilation - d->pad;
		op->interior[i + 2] = d->stride - 1;
		op->high[i + 2] = d->size - op->low[i + 2] - ((d->blocks - 1) * d->stride + 1);
	}
	return ox_done(n, op);
}

static void import_col2im(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), sum = NULL, part;
	int64_t dim[NCC_MAX_DIMS], blocks = 1;
	struct patches p = { 0 };

	if (!take_patches(n, &p))
		return;
	for (unsigned int i = 0; i < p.n && blocks < NCC_MAX_ELEMS; i++)
		blocks *= dim[i + 2] = p.side[i].blocks;
	if (x->shape.ndim != 3 || x->shape.dim[1] % p.places || x->shape.dim[2] != blocks) {
		onnx_fail(n, -EINVAL, "an operand that does not have %lld blocks of %lld places",
			  (long long)blocks, (long long)p.places);
		return;
	}
	dim[0] = x->shape.dim[0];
	dim[1] = x->shape.dim[1] / p.places;
	x = ox_reshape(n, x, 4, (int64_t[]){ dim[0], dim[1], p.places, blocks });
	for (int64_t i = 0; i < p.places && !n->rc; i++) {
		part = ox_reshape(n, ox_slice(n, x, 2, i, 1, 1), p.n + 2, dim);
		part = in_image(n, &p, part, i);
		sum = sum ? ox_bin(n, NCC_ADD, sum, part) : part;
	}
	onnx_give_as(n, 0, sum, n->in[0].type);
}

/* x with size elements of a dimension, around its middle */
static onnx_op centered(struct onnx_node *n, onnx_op x, unsigned int d, int64_t size)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 }, have, more;

	if (!x || n->rc)
		return NULL;
	have = x->shape.dim[d];
	if (size < 1 || size >= NCC_MAX_ELEMS) {
		onnx_fail(n, -ENOTSUP, "a size of %lld is not supported", (long long)size);
		return NULL;
	}
	if (size <= have)
		return ox_slice(n, x, d, (have - size) / 2, size, 1);
	more = size - have;
	low[d] = more / 2;
	high[d] = more - more / 2;
	return ox_pad(n, x, ox_scalar(n, &x->shape, 0), low, high);
}

static void import_center(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t size[NCC_MAX_DIMS], axes[NCC_MAX_DIMS];
	unsigned int count, naxes;

	if (!onnx_in_ints(n, 1, size, NCC_MAX_DIMS, &count))
		return;
	if (!onnx_ints(n, "axes", axes, NCC_MAX_DIMS, &naxes))
		for (naxes = 0; naxes < x->shape.ndim; naxes++)
			axes[naxes] = naxes;
	if (count != naxes)
		onnx_fail(n, -EINVAL, "%u sizes for %u dimensions", count, naxes);
	for (unsigned int i = 0; i < naxes && !n->rc; i++)
		x = centered(n, x, onnx_axis(n, axes[i], x->shape.ndim), size[i]);
	onnx_give_as(n, 0, x, n->in[0].type);
}

const struct onnx_rule onnx_patch[] = {
	{ "CenterCropPad", 2, 2, .import = import_center, .since = 18,
	  .attrs = ONNX_ATTRS(ATTR("axes", INTS)) },
	{ "Col2Im", 3, 3, .import = import_col2im, .since = 18,
	  .attrs = ONNX_ATTRS(ATTR("dilations", INTS), ATTR("pads", INTS), ATTR("strides", INTS)) },
	{ .op_type = NULL },
};
