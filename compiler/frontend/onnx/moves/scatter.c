// SPDX-License-Identifier: MIT
/*
 * Operators that write where indices say, and those that reverse sequences. A place that several
 * indices name gets their sum, product, largest or smallest element; without a reduction, where
 * ONNX leaves the winner open, the last one. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "moves.h"
#include "ir/range.h"

/*
 * How several updates of one place are combined; without a reduction an update replaces the place.
 */
static struct ncc_combine reduction(const struct onnx_node *n)
{
	static const enum ncc_kind kinds[] = { NCC_ADD, NCC_MUL, NCC_MAX, NCC_MIN };
	const int i = onnx_choice(n, "reduction"); /* the first word is none */

	if (!i)
		return (struct ncc_combine){ .by = NCC_COMBINE_SECOND };
	return (struct ncc_combine){ .by = NCC_COMBINE_KIND, .kind = kinds[i - 1] };
}

/* hot with only the last update for each place, along dimension d */
static onnx_op last_of(struct onnx_node *n, onnx_op hot, unsigned int d)
{
	const uint8_t map = (uint8_t)d;
	onnx_op at =
		ox_spread(n, ox_iota(n, NEURON_DT_INT32, hot->shape.dim[d]), &hot->shape, &map);
	onnx_op last = at ? ox_select(n, hot, at, ox_scalar(n, &at->shape, -1)) : NULL;

	last = ox_reduce(n, last, NCC_MAX, 1u << d, true);
	return ox_bin(n, NCC_AND, hot, ox_bin(n, NCC_EQ, at, last));
}

/* x combined with the updates u where hot holds; both have one more dimension, d. */
static onnx_op merged(struct onnx_node *n, onnx_op x, onnx_op u, onnx_op hot, unsigned int d)
{
	const struct ncc_combine c = reduction(n);
	const bool replaces = c.by == NCC_COMBINE_SECOND;
	enum ncc_kind func = !replaces ? c.kind : x && x->shape.pred ? NCC_OR : NCC_MAX;
	onnx_op any, all;

	if (!x || !u || !hot || n->rc)
		return NULL;
	if (x->shape.pred && !replaces) {
		onnx_fail(n, -ENOTSUP, "of predicates is not supported");
		return NULL;
	}
	hot = replaces ? last_of(n, hot, d) : hot;
	all = ox_scalar(n, &u->shape, ncc_neutral(func, &u->shape));
	all = ox_reduce(n, ox_select(n, hot, u, all), func, 1u << d, false);
	if (!replaces)
		return ox_bin(n, c.kind, x, all);
	any = ox_reduce(n, hot, NCC_OR, 1u << d, false);
	return ox_select(n, any, all, x);
}

/* Does POOL combine elements of x so? Predicates are only replaced. */
static bool combines(const struct ncc_combine *c, const struct ncc_op *x)
{
	return c->by == NCC_COMBINE_SECOND || (c->kind != NCC_MUL && !x->shape.pred);
}

/* x with the updates u combined with what the indices name, in order; NULL: merged() does it */
static onnx_op combined(struct onnx_node *n, onnx_op x, onnx_op idx, onnx_op u,
			const struct ncc_slices *g)
{
	const struct ncc_combine c = reduction(n);
	onnx_op y = NULL;
	int rc;

	if (n->rc || !x || !idx || !u || !combines(&c, x) ||
	    (onnx_is_const(x) && onnx_is_const(idx) && onnx_is_const(u)))
		return NULL;
	rc = expand_scatter(&n->b, 1, &x, idx, &u, g, &c, &y);
	if (rc && !n->rc)
		n->rc = rc;
	n->imp->made += 16; /* an estimate */
	return n->rc ? NULL : y;
}

/* Replaces the part of x that the indices' other dimensions cover. */
static onnx_op put_back(struct onnx_node *n, onnx_op x, onnx_op part)
{
	for (unsigned int d = 0; part && x && d < x->shape.ndim; d++) {
		int64_t have = part->shape.dim[d], want = x->shape.dim[d];
		onnx_op rest[2] = { part, x };

		if (have == want)
			continue;
		for (unsigned int i = 0; i < x->shape.ndim; i++)
			rest[1] = i == d  ? ox_slice(n, rest[1], i, have, want - have, 1)
				  : i > d ? ox_slice(n, rest[1], i, 0, part->shape.dim[i], 1)
					  : rest[1];
		part = ox_concat(n, rest, 2, d);
	}
	return part;
}

/* Whole rows along dimension 0, by their numbers, in order; NULL: they are not that */
static onnx_op combined_rows(struct onnx_node *n, onnx_op x, onnx_op idx, onnx_op u)
{
	struct ncc_slices g = {
		.nwindow = 1, .window = { 1 }, .dropped = 1, .nmap = 1, .vector = 1
	};
	int64_t columns = ncc_elems(&x->shape) / x->shape.dim[0];
	struct ncc_shape s = x->shape;
	onnx_op row = onnx_index_rows(idx, 0), y;

	s.dim[0] = u->shape.dim[0];
	if (n->rc || !row || !ncc_same_dims(&s, &u->shape))
		return NULL;
	g.size[0] = 1;
	g.size[1] = columns;
	row = ox_insert(n, ox_from_end(n, row, x->shape.dim[0]), 1);
	u = ox_reshape(n, u, 2, (int64_t[]){ u->shape.dim[0], columns });
	s = x->shape;
	x = ox_reshape(n, x, 2, (int64_t[]){ x->shape.dim[0], columns });
	y = combined(n, x, row, u, &g);
	return y ? ox_reshape(n, y, s.ndim, s.dim) : NULL;
}

/* The elements of x along axis that idx, of u's shape, names: each line by itself */
static onnx_op combined_elements(struct onnx_node *n, onnx_op x, onnx_op idx, onnx_op u,
				 unsigned int axis)
{
	struct ncc_slices g = { .dropped = 1u << axis, .nmap = 1, .map = { (uint8_t)axis } };

	if (!x || !idx)
		return NULL;
	g.vector = idx->shape.ndim;
	for (unsigned int d = 0; d < x->shape.ndim; d++) {
		g.size[d] = 1;
		if (d == axis)
			continue;
		g.index_batch[g.nbatch] = (uint8_t)d;
		g.batch[g.nbatch++] = (uint8_t)d;
	}
	return combined(n, x, idx, u, &g);
}

/* x with the updates u along axis, at indices from 0 on, of x's rank and u's shape */
static onnx_op scattered(struct onnx_node *n, onnx_op x, onnx_op idx, onnx_op u, unsigned int axis)
{
	onnx_op y = combined_elements(n, x, idx, u, axis), hot;
	const uint8_t map = (uint8_t)axis;
	struct ncc_shape s;

	if (n->rc || y)
		return y;
	/* [.., size, k, ..]: the index along axis, then the update */
	idx = idx ? ox_insert(n, idx, axis) : NULL;
	u = u ? ox_insert(n, u, axis) : NULL;
	if (n->rc || !x || !idx || !u)
		return NULL;
	s = idx->shape;
	s.dim[axis] = x->shape.dim[axis];
	hot = ox_spread(n, ox_iota(n, NEURON_DT_INT32, s.dim[axis]), &s, &map);
	hot = ox_bin(n, NCC_EQ, hot, idx);
	return merged(n, x, ox_expand(n, u, s.ndim, s.dim), hot, axis + 1);
}

static void import_scatter_elements(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), idx = onnx_in(n, 1), u = onnx_in(n, 2), part;
	unsigned int nd = x->shape.ndim, axis = onnx_axis(n, onnx_int(n, "axis"), nd);

	if (n->rc)
		return;
	if (idx->shape.ndim != nd || !ncc_same_dims(&idx->shape, &u->shape) || nd == NCC_MAX_DIMS) {
		onnx_fail(n, -EINVAL, "indices and updates of rank %u and %u for rank %u",
			  idx->shape.ndim, u->shape.ndim, nd);
		return;
	}

	part = axis ? NULL : combined_rows(n, x, idx, u);
	if (!n->rc && !part) {
		idx = ox_from_end(n, idx, x->shape.dim[axis]);
		part = idx ? onnx_covered(n, x, idx, axis) : NULL;
		part = put_back(n, x, scattered(n, part, idx, u, axis));
	}
	onnx_give_as(n, 0, part, n->in[0].type);
}

/* The slices of x that the k coordinates of each index name */
static onnx_op combined_slices(struct onnx_node *n, onnx_op x, onnx_op flat, onnx_op u)
{
	struct ncc_slices g = {
		.nwindow = 1, .window = { 1 }, .dropped = 1, .nmap = 1, .vector = 1
	};

	if (!x || !flat)
		return NULL;
	g.size[0] = 1;
	g.size[1] = x->shape.dim[1];
	return combined(n, x, ox_reshape(n, flat, 2, (int64_t[]){ ncc_elems(&flat->shape), 1 }),
			ox_reshape(n, u, 2, (int64_t[]){ ncc_elems(&flat->shape), g.size[1] }), &g);
}

static void import_scatter_nd(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), idx = onnx_in(n, 1), u = onnx_in(n, 2), hot;
	int64_t k = idx->shape.ndim ? idx->shape.dim[idx->shape.ndim - 1] : 0, rows = 1, rest = 1;
	int64_t many, all[3];
	struct ncc_shape s;
	const uint8_t map = 1;

	if (k < 1 || k > x->shape.ndim) {
		onnx_fail(n, -EINVAL, "%lld coordinates for rank %u", (long long)k, x->shape.ndim);
		return;
	}

	many = ncc_elems(&idx->shape) / k;
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		*(i < k ? &rows : &rest) *= x->shape.dim[i];
	if (ncc_elems(&u->shape) != many * rest) {
		onnx_fail(n, -EINVAL, "%lld updates of %lld elements, expected %lld",
			  (long long)many, (long long)ncc_elems(&u->shape),
			  (long long)(many * rest));
		return;
	}

	idx = ox_flat_index(n, idx, (unsigned int)k, x->shape.dim);
	hot = combined_slices(n, ox_reshape(n, x, 2, (int64_t[]){ rows, rest }), idx, u);
	if (n->rc || hot) {
		onnx_give_as(n, 0, ox_reshape(n, hot, x->shape.ndim, x->shape.dim), n->in[0].type);
		return;
	}

	all[0] = many;
	all[1] = all[2] = 1;
	idx = ox_reshape(n, idx, 3, all);
	s = (struct ncc_shape){ x->shape.dtype, x->shape.pred, 3, { many, rows, rest } };
	hot = ox_spread(n, ox_iota(n, NEURON_DT_INT32, rows), &s, &map);
	hot = ox_bin(n, NCC_EQ, hot, idx);
	all[2] = rest;
	u = ox_expand(n, ox_reshape(n, u, 3, all), 3, s.dim);
	hot = merged(n, ox_reshape(n, x, 2, s.dim + 1), u, hot, 0);
	onnx_give_as(n, 0, ox_reshape(n, hot, x->shape.ndim, x->shape.dim), n->in[0].type);
}

/* The result's spatial dimensions, before output_shape */
static bool unpooled(struct onnx_node *n, onnx_op x, int64_t *dim)
{
	int64_t kernel[NCC_MAX_DIMS], stride[NCC_MAX_DIMS], pads[2 * NCC_MAX_DIMS];
	unsigned int k = x->shape.ndim - 2, have, strides, padded;

	onnx_ints(n, "kernel_shape", kernel, NCC_MAX_DIMS, &have);
	onnx_ints(n, "strides", stride, NCC_MAX_DIMS, &strides);
	onnx_ints(n, "pads", pads, 2 * NCC_MAX_DIMS, &padded);
	if (x->shape.ndim < 3 || have != k || (strides && strides != k) ||
	    (padded && padded != 2 * k)) {
		onnx_fail(n, -EINVAL, "rank %u, or lists of other lengths", x->shape.ndim);
		return false;
	}
	for (unsigned int i = 0; i < k && !n->rc; i++) {
		int64_t cut[2] = { padded ? pads[i] : 0, padded ? pads[k + i] : 0 };
		int64_t s = strides ? stride[i] : 1;

		if (s < 1 || s >= NCC_MAX_ELEMS || kernel[i] < 1 || kernel[i] >= NCC_MAX_ELEMS ||
		    cut[0] < 0 || cut[1] < 0 || cut[0] >= NCC_MAX_ELEMS || cut[1] >= NCC_MAX_ELEMS)
			onnx_fail(n, -EINVAL, "a kernel of %lld every %lld", (long long)kernel[i],
				  (long long)s);
		else
			dim[i] = (x->shape.dim[i + 2] - 1) * s + kernel[i] - cut[0] - cut[1];
		if (!n->rc && (dim[i] < 1 || dim[i] >= NCC_MAX_ELEMS))
			onnx_fail(n, -EINVAL, "dimension %u becomes %lld", i + 2,
				  (long long)dim[i]);
	}
	return !n->rc;
}

/* Elements that output_shape adds come after the rest and are 0. */
static onnx_op grown(struct onnx_node *n, onnx_op y)
{
	int64_t shape[NCC_MAX_DIMS], low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS];
	unsigned int have;

	if (!y || !onnx_in_ints(n, 2, shape, NCC_MAX_DIMS, &have))
		return y;
	if (have != y->shape.ndim) {
		onnx_fail(n, -EINVAL, "an output_shape of %u dimensions, expected %u", have,
			  y->shape.ndim);
		return NULL;
	}
	for (unsigned int i = 0; i < have; i++) {
		high[i] = shape[i] - y->shape.dim[i];
		if (high[i] < 0)
			onnx_fail(n, -EINVAL, "output_shape is smaller than what is pooled");
	}
	return n->rc ? NULL : ox_pad(n, y, ox_scalar(n, &y->shape, 0), low, high);
}

/* Each plane is unpooled by itself; its indices count from the first plane on. */
static void import_max_unpool(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), idx = onnx_in(n, 1), first, y;
	int64_t dim[NCC_MAX_DIMS] = { 0 }, planes, each, plane = 1;

	if (!unpooled(n, x, dim + 2))
		return;
	if (!ncc_same_dims(&idx->shape, &x->shape)) {
		onnx_fail(n, -EINVAL, "indices of another shape");
		return;
	}

	dim[0] = x->shape.dim[0];
	dim[1] = x->shape.dim[1];
	planes = dim[0] * dim[1];
	each = ncc_elems(&x->shape) / planes;
	for (unsigned int i = 2; i < x->shape.ndim; i++)
		plane = plane < NCC_MAX_ELEMS ? plane * dim[i] : plane;
	first = ox_binc(n, NCC_MUL, ox_iota(n, NEURON_DT_INT32, planes), (double)plane);
	idx = ox_reshape(n, ox_cast(n, idx, NEURON_DT_INT32, false), 2,
			 (int64_t[]){ planes, each });
	idx = ox_bin(n, NCC_SUB, idx, ox_reshape(n, first, 2, (int64_t[]){ planes, 1 }));
	y = ox_expand(n, ox_scalar(n, &x->shape, 0), 2, (int64_t[]){ planes, plane });
	y = scattered(n, y, idx, ox_reshape(n, x, 2, (int64_t[]){ planes, each }), 1);
	onnx_give(n, 0, grown(n, ox_reshape(n, y, x->shape.ndim, dim)));
}

/* The first lens[b] elements of each sequence in reverse order: a gather of whole steps */
static void import_reverse_sequence(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), lens = onnx_in(n, 1), t, reversed, row;
	int64_t time = onnx_int(n, "time_axis"), steps, batch, dim[NCC_MAX_DIMS];
	static const uint8_t swap[NCC_MAX_DIMS] = { 1, 0, 2, 3, 4, 5, 6, 7 };

	if (x->shape.ndim < 2 || time < 0 || time > 1 || onnx_int(n, "batch_axis") != 1 - time) {
		onnx_fail(n, -EINVAL, "axes that are not 0 and 1");
		return;
	}

	x = time ? x : ox_transpose(n, x, swap); /* batch, time */
	if (!x)
		return;
	batch = x->shape.dim[0];
	steps = x->shape.dim[1];
	if (lens->shape.ndim != 1 || lens->shape.dim[0] != batch) {
		onnx_fail(n, -EINVAL, "not one length for each sequence");
		return;
	}

	lens = ox_reshape(n, ox_cast(n, lens, NEURON_DT_INT32, false), 2, (int64_t[]){ batch, 1 });
	t = ox_iota(n, NEURON_DT_INT32, steps);
	reversed = ox_bin(n, NCC_SUB, ox_binc(n, NCC_SUB, lens, 1), t);
	reversed = ox_select(n, ox_binc(n, NCC_GE, reversed, 0), reversed, t);
	row = ox_binc(n, NCC_MUL, ox_iota(n, NEURON_DT_INT32, batch), (double)steps);
	reversed = ox_bin(n, NCC_ADD, reversed, ox_reshape(n, row, 2, (int64_t[]){ batch, 1 }));
	memcpy(dim, x->shape.dim, sizeof(dim));
	dim[1] *= dim[0];
	t = ox_reshape(n, x, x->shape.ndim - 1, dim + 1);
	t = t && reversed ? ox_take(n, t, reversed, 0) : NULL;
	onnx_give(n, 0, time ? t : ox_transpose(n, t, swap));
}

/* a - b cos(2 pi i / m) + c cos(4 pi i / m) */
static void import_window(struct onnx_node *n)
{
	static const double terms[3][3] = { { 0.5, 0.5, 0 },
					    { 25.0 / 46, 21.0 / 46, 0 },
					    { 0.42, 0.5, 0.08 } };
	const double *k = terms[onnx_arg(n)];
	int32_t type = (int32_t)onnx_int(n, "output_datatype");
	struct ncc_shape s = { .ndim = 1 };
	double size, m;
	onnx_op op;

	if (!onnx_in_scalar(n, 0, &size))
		return;
	if (onnx_dtype(type, &s) || !(size >= 1) || size > NCC_MAX_ELEMS) {
		onnx_fail(n, -ENOTSUP, "of size %g and type %s", size, onnx_type_name(type));
		return;
	}
	s.dim[0] = (int64_t)size;
	m = onnx_int(n, "periodic") ? size : size - 1;
	op = ox_data(n, &s);
	for (int64_t i = 0; op && i < s.dim[0]; i++) {
		double w = 2 * M_PI * (double)i / (m > 0 ? m : 1);

		ncc_set(s.dtype, op->data, i, k[0] - k[1] * cos(w) + k[2] * cos(2 * w));
	}
	onnx_give_as(n, 0, op, type);
}

static const struct onnx_attribute like_blackman_window[] = {
	ATTR("output_datatype", INT, .i = 1),
	ATTR("periodic", INT, .i = 1),
	{ 0 },
};

const struct onnx_rule onnx_scatter[] = {
	/* clang-format off */
	{ "BlackmanWindow",  1,  1, .import = import_window,           .arg = 2, .since = 17, .attrs = like_blackman_window },
	{ "HammingWindow",   1,  1, .import = import_window,           .arg = 1, .since = 17, .attrs = like_blackman_window },
	{ "HannWindow",      1,  1, .import = import_window, .since = 17, .attrs = like_blackman_window },
	{ "MaxUnpool",       2,  3, .import = import_max_unpool, .since = 9,
	  .attrs = ONNX_ATTRS(
		ATTR("kernel_shape", INTS, .needed = true), ATTR("pads", INTS),
		ATTR("strides", INTS)) },
	{ "ReverseSequence", 2,  2, .import = import_reverse_sequence, .since = 10,
	  .attrs = ONNX_ATTRS(
		ATTR("batch_axis", INT, .i = 1), ATTR("time_axis", INT)) },
	{ "Scatter",         3,  3, .import = import_scatter_elements, .since = 9, .attrs = ONNX_ATTRS(ATTR("axis", INT)) },
	{ "ScatterElements", 3,  3, .import = import_scatter_elements, .sized = sized_scatter, .takes = ONNX_ALL, .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT), ATTR("reduction", TEXT, .words = "none|add|mul|max|min", .s = "none", .from = 16)) },
	{ "ScatterND",       3,  3, .import = import_scatter_nd, .sized = sized_scatter_nd, .takes = ONNX_ALL, .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("reduction", TEXT, .words = "none|add|mul|max|min", .s = "none", .from = 16)) },
	{ .op_type = NULL },
	/* clang-format on */
};
