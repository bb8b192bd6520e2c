// SPDX-License-Identifier: MIT
/*
 * Convolutions and pooling: batch, channels, then one to six spatial dimensions. Part of the ONNX
 * front end.
 */
#include <errno.h>
#include <string.h>

#include "products.h"

#define MAX_SPATIAL (NCC_MAX_DIMS - 2)
#define MAX_PLACES 256 /* in a kernel, if the largest element's index is asked for */

/* A window's strides, dilations, pads and auto_pad; extra: what ceil_mode adds after padding */
struct spatial {
	unsigned int n;
	int64_t size[MAX_SPATIAL], kernel[MAX_SPATIAL], stride[MAX_SPATIAL], dilation[MAX_SPATIAL];
	int64_t low[MAX_SPATIAL], high[MAX_SPATIAL], extra[MAX_SPATIAL], out[MAX_SPATIAL];
};

static bool in_range(struct onnx_node *n, const int64_t *v, unsigned int count, int64_t least,
		     const char *what)
{
	for (unsigned int i = 0; i < count && !n->rc; i++)
		if (v[i] < least || v[i] >= NCC_MAX_ELEMS)
			onnx_fail(n, -EINVAL, "%s of %lld", what, (long long)v[i]);
	return !n->rc;
}

/* One number for each spatial dimension, 1 if absent */
static bool take_list(struct onnx_node *n, const char *name, int64_t *v, unsigned int count)
{
	onnx_ints_each(n, name, v, count, 1);
	return in_range(n, v, count, 1, name);
}

static void take_pads(struct onnx_node *n, struct spatial *s)
{
	int64_t v[2 * MAX_SPATIAL];
	unsigned int have;

	if (!onnx_ints(n, "pads", v, 2 * MAX_SPATIAL, &have))
		return;
	if (have != 2 * s->n) {
		onnx_fail(n, -EINVAL, "%u numbers in 'pads', expected %u", have, 2 * s->n);
		return;
	}
	if (!in_range(n, v, have, -NCC_MAX_ELEMS + 1, "pads"))
		return;
	memcpy(s->low, v, s->n * sizeof(*v));
	memcpy(s->high, v + s->n, s->n * sizeof(*v));
}

static int64_t span_of(const struct spatial *s, unsigned int i)
{
	return (s->kernel[i] - 1) * s->dilation[i] + 1;
}

static bool same_pads(struct onnx_node *n, bool *upper)
{
	*upper = onnx_string_is(n, "auto_pad", "SAME_UPPER");
	return *upper || onnx_string_is(n, "auto_pad", "SAME_LOWER");
}

static bool take_spatial(struct onnx_node *n, onnx_op x, const int64_t *kernel, struct spatial *s)
{
	bool upper;

	memset(s, 0, sizeof(*s));
	if (x->shape.ndim < 3 || x->shape.ndim > MAX_SPATIAL + 2) {
		onnx_fail(n, -EINVAL, "operand 0 has rank %u, at least 3 is expected",
			  x->shape.ndim);
		return false;
	}

	s->n = x->shape.ndim - 2;
	memcpy(s->size, x->shape.dim + 2, s->n * sizeof(*s->size));
	if (kernel)
		memcpy(s->kernel, kernel, s->n * sizeof(*kernel));
	else if (!take_list(n, "kernel_shape", s->kernel, s->n))
		return false;
	if (!take_list(n, "strides", s->stride, s->n) ||
	    !take_list(n, "dilations", s->dilation, s->n))
		return false;
	take_pads(n, s);

	for (unsigned int i = 0; i < s->n; i++) {
		if (s->dilation[i] > NCC_MAX_ELEMS / s->kernel[i]) {
			onnx_fail(n, -EINVAL, "a dilated kernel that is too large");
			return false;
		}
		if (same_pads(n, &upper)) {
			int64_t out = (s->size[i] + s->stride[i] - 1) / s->stride[i];
			int64_t pad = (out - 1) * s->stride[i] + span_of(s, i) - s->size[i];

			pad = pad < 0 ? 0 : pad;
			s->low[i] = upper ? pad / 2 : pad - pad / 2;
			s->high[i] = pad - s->low[i];
		}
	}
	return !n->rc;
}

/* Counts the windows; with ceil_mode the last one may end, but not begin, after the padding. */
static bool take_out(struct onnx_node *n, struct spatial *s)
{
	bool ceil_mode = onnx_int(n, "ceil_mode");

	for (unsigned int i = 0; i < s->n; i++) {
		int64_t room = s->size[i] + s->low[i] + s->high[i] - span_of(s, i);
		int64_t steps =
			ceil_mode ? (room + s->stride[i] - 1) / s->stride[i] : room / s->stride[i];

		if (room < 0) {
			onnx_fail(n, -EINVAL, "the window of %lld is larger than its operand",
				  (long long)span_of(s, i));
			return false;
		}
		if (steps * s->stride[i] >= s->size[i] + s->low[i])
			steps--;
		s->out[i] = steps + 1;
		s->extra[i] = steps * s->stride[i] - room;
		s->extra[i] = s->extra[i] < 0 ? 0 : s->extra[i];
	}
	return true;
}

/* Sets the window for every dimension of the operand. */
static void take_window(const struct spatial *s, struct ncc_window *w)
{
	for (unsigned int i = 0; i < s->n + 2; i++)
		w[i] = (struct ncc_window){ 1, 1, 0, 0, 1, 1, false };
	for (unsigned int i = 0; i < s->n; i++)
		w[i + 2] = (struct ncc_window){ s->kernel[i],	s->stride[i],
						s->low[i],	s->high[i] + s->extra[i],
						s->dilation[i], 1,
						false };
}

static struct ncc_conv plain_conv(unsigned int nspatial, int64_t groups)
{
	struct ncc_conv c = {
		.nspatial = nspatial, .groups = groups, .in_feature = 1, .k_in = 1, .out_feature = 1
	};

	for (unsigned int i = 0; i < nspatial; i++)
		c.in_spatial[i] = c.k_spatial[i] = c.out_spatial[i] = (uint8_t)(i + 2);
	return c;
}

/* Makes a convolution. The result's spatial dimensions follow from the window, which is checked. */
static onnx_op make_conv(struct onnx_node *n, onnx_op x, onnx_op k, const struct ncc_conv *c,
			 const struct ncc_window *w, uint8_t dtype)
{
	struct ncc_shape s;
	onnx_op op;

	if (!x || !k || n->rc)
		return NULL;
	s = x->shape;
	s.dtype = dtype;
	s.dim[1] = k->shape.dim[c->k_out];
	for (unsigned int i = 0; i < c->nspatial; i++) {
		int64_t span = (w[i].size - 1) * w[i].window_dilation + 1;
		int64_t size =
			(x->shape.dim[i + 2] - 1) * w[i].base_dilation + 1 + w[i].low + w[i].high;

		if (size < span) {
			onnx_fail(n, -EINVAL, "the kernel of %lld is larger than its operand",
				  (long long)span);
			return NULL;
		}
		s.dim[i + 2] = (size - span) / w[i].stride + 1;
	}
	op = ox_node(n, NCC_CONV, &s, x, k, NULL);
	if (!op)
		return NULL;
	*op->conv = *c;
	memcpy(op->window, w, c->nspatial * sizeof(*w));
	return ox_done(n, op);
}

static onnx_op add_bias(struct onnx_node *n, onnx_op x, onnx_op bias)
{
	const uint8_t map = 1;

	if (!bias || !x)
		return x;
	if (bias->shape.ndim != 1 || bias->shape.dim[0] != x->shape.dim[1]) {
		onnx_fail(n, -EINVAL, "the bias does not have one number for each of %lld channels",
			  (long long)x->shape.dim[1]);
		return NULL;
	}
	return ox_bin(n, NCC_ADD, x, ox_spread(n, bias, &x->shape, &map));
}

/* Do operands, ranks, kernel_shape and group agree? */
static bool check_conv(struct onnx_node *n, onnx_op x, onnx_op k, int64_t groups)
{
	int64_t v[MAX_SPATIAL];
	unsigned int have;

	if (x->shape.ndim < 3 || k->shape.ndim != x->shape.ndim) {
		onnx_fail(n, -EINVAL, "operands of rank %u and %u, expected the same, at least 3",
			  x->shape.ndim, k->shape.ndim);
		return false;
	}

	if (groups < 1 || x->shape.dim[1] % groups || k->shape.dim[0] % groups) {
		onnx_fail(n, -EINVAL, "%lld groups of %lld channels and %lld filters",
			  (long long)groups, (long long)x->shape.dim[1],
			  (long long)k->shape.dim[0]);
		return false;
	}

	if (onnx_ints(n, "kernel_shape", v, MAX_SPATIAL, &have))
		for (unsigned int i = 0; i < have; i++)
			if (have != x->shape.ndim - 2 || v[i] != k->shape.dim[i + 2])
				onnx_fail(n, -EINVAL, "kernel_shape is not the kernel's");
	return !n->rc;
}

/* Makes the padding an operation of its own, if it has something in it. */
static onnx_op filled(struct onnx_node *n, onnx_op x, onnx_op with, struct spatial *s)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };

	if (!with)
		return x;
	memcpy(low + 2, s->low, s->n * sizeof(*low));
	memcpy(high + 2, s->high, s->n * sizeof(*high));
	memset(s->low, 0, sizeof(s->low));
	memset(s->high, 0, sizeof(s->high));
	return ox_pad(n, x, with, low, high);
}

/* x and k have the types that are multiplied. */
onnx_op ox_conv(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op padding, uint8_t dtype)
{
	int64_t groups = onnx_int(n, "group");
	struct ncc_window w[NCC_MAX_DIMS];
	struct ncc_conv c;
	struct spatial s;

	if (!x || !k || n->rc || !check_conv(n, x, k, groups) ||
	    !take_spatial(n, x, k->shape.dim + 2, &s))
		return NULL;
	x = filled(n, x, padding, &s);
	take_window(&s, w);
	c = plain_conv(s.n, groups);
	return make_conv(n, x, k, &c, w + 2, dtype);
}

static bool of_floats(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	if (!ncc_is_float(x->shape.dtype))
		onnx_fail(n, -ENOTSUP, "of %s is not supported", ncc_dtype_name(&x->shape));
	return !n->rc;
}

/* Has each channel a convolution of its own, with one filter? */
static bool is_depthwise(const struct onnx_node *n, onnx_op x, onnx_op k)
{
	int64_t groups = onnx_int(n, "group");

	return groups > 1 && x->shape.dim[1] == groups && k->shape.dim[0] == groups &&
	       k->shape.dim[1] == 1;
}

onnx_op ox_quantized_conv(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias)
{
	struct onnx_bytes b;
	onnx_op padding;
	bool known;

	if (!x || !k || x->shape.ndim < 3 || k->shape.ndim != x->shape.ndim)
		return NULL;
	if (onnx_int(n, "group") == 1)
		known = ox_bytes(n, x, k, bias, 0, &b);
	else
		known = is_depthwise(n, x, k) && ox_wholes(n, x, k, bias, &b);
	if (!known)
		return NULL;
	padding = b.padding ? ox_scalar(n, &b.x->shape, b.padding) : NULL;
	return ox_sum_of_bytes(n, ox_conv(n, b.x, b.k, padding, NEURON_DT_FP32), &b, 1);
}

static void import_conv(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), k = onnx_in(n, 1), bias = onnx_in(n, 2), r;

	if (!of_floats(n))
		return;
	r = ox_quantized_conv(n, x, k, bias);
	onnx_give(n, 0, r ? r : add_bias(n, ox_conv(n, x, k, NULL, x->shape.dtype), bias));
}

/* [C, M/g] filters as [M, C/g] */
static onnx_op transpose_filters(struct onnx_node *n, onnx_op k, int64_t groups)
{
	const unsigned int nd = k->shape.ndim;
	int64_t dim[NCC_MAX_DIMS + 1], in = k->shape.dim[0] / groups, out = k->shape.dim[1];
	uint8_t perm[NCC_MAX_DIMS] = { 0, 2, 1, 3, 4, 5, 6, 7 };

	if (nd == NCC_MAX_DIMS) {
		onnx_fail(n, -ENOTSUP, "more than 5 spatial dimensions");
		return NULL;
	}
	dim[0] = groups;
	dim[1] = in;
	dim[2] = out;
	memcpy(dim + 3, k->shape.dim + 2, (nd - 2) * sizeof(*dim));
	k = ox_transpose(n, ox_reshape(n, k, nd + 1, dim), perm);
	dim[1] = groups * out;
	dim[2] = in;
	return ox_reshape(n, k, nd, dim + 1);
}

/*
 * Takes pads, output_shape and auto_pad of a transposed convolution: what they cut off the full
 * result.
 */
static bool take_cut(struct onnx_node *n, struct spatial *s, const int64_t *output_padding)
{
	int64_t shape[MAX_SPATIAL];
	unsigned int have;
	bool upper, same = same_pads(n, &upper);
	bool given = onnx_ints(n, "output_shape", shape, MAX_SPATIAL, &have);

	if (given && have != s->n)
		onnx_fail(n, -EINVAL, "%u numbers in 'output_shape', expected %u", have, s->n);
	if (given && !in_range(n, shape, have, 1, "output_shape"))
		return false;
	for (unsigned int i = 0; i < s->n && !n->rc; i++) {
		int64_t full = s->stride[i] * (s->size[i] - 1) + output_padding[i] + span_of(s, i);
		int64_t cut = full - (given ? shape[i] : s->size[i] * s->stride[i]);

		if (!given && !same)
			continue;
		cut = !given && cut < 0 ? 0 : cut;
		/* one more is cut at the end */
		s->low[i] = cut < 0 ? 0 : upper ? cut / 2 : cut - cut / 2;
		s->high[i] = cut - s->low[i];
	}
	return !n->rc;
}

static void import_conv_transpose(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), k = onnx_in(n, 1);
	int64_t groups = onnx_int(n, "group"), more[MAX_SPATIAL] = { 0 };
	struct ncc_window w[MAX_SPATIAL];
	unsigned int have;
	struct ncc_conv c;
	struct spatial s;

	if (!of_floats(n) || !check_conv(n, x, k, groups) ||
	    !take_spatial(n, x, k->shape.dim + 2, &s))
		return;
	if (x->shape.dim[1] != k->shape.dim[0])
		onnx_fail(n, -EINVAL, "%lld channels, the kernel has %lld",
			  (long long)x->shape.dim[1], (long long)k->shape.dim[0]);
	onnx_ints(n, "output_padding", more, MAX_SPATIAL, &have);
	if (!in_range(n, more, s.n, 0, "output_padding") || !take_cut(n, &s, more))
		return;

	for (unsigned int i = 0; i < s.n; i++)
		w[i] = (struct ncc_window){ s.kernel[i],
					    1,
					    span_of(&s, i) - 1 - s.low[i],
					    span_of(&s, i) - 1 - s.high[i] + more[i],
					    s.dilation[i],
					    s.stride[i],
					    true };

	c = plain_conv(s.n, groups);
	x = make_conv(n, x, transpose_filters(n, k, groups), &c, w, x->shape.dtype);
	onnx_give(n, 0, add_bias(n, x, onnx_in(n, 2)));
}

/*
 * The number of each of x's elements, row by row, or (storage_order 1) column by column of the
 * spatial ones
 */
static onnx_op numbers(struct onnx_node *n, onnx_op x)
{
	const bool columns = onnx_int(n, "storage_order");
	const unsigned int nd = x->shape.ndim;
	int64_t dim[NCC_MAX_DIMS];
	uint8_t perm[NCC_MAX_DIMS];

	for (unsigned int i = 0; i < nd; i++) {
		perm[i] = (uint8_t)(columns && i > 1 ? nd + 1 - i : i);
		dim[i] = x->shape.dim[perm[i]];
	}
	x = ox_iota(n, NEURON_DT_INT32, ncc_elems(&x->shape));
	return ox_transpose(n, ox_reshape(n, x, nd, dim), perm);
}

/* Every window's element at one place of the kernel, whose number is k */
static onnx_op at_place(struct onnx_node *n, onnx_op x, const struct spatial *s, int64_t k)
{
	for (unsigned int i = s->n; i-- > 0 && x;) {
		x = ox_slice(n, x, i + 2, k % s->kernel[i] * s->dilation[i], s->out[i],
			     s->stride[i]);
		k /= s->kernel[i];
	}
	return x;
}

/*
 * Gives the number of the first largest element of each window, going through the places of the
 * kernel.
 */
static void give_indices(struct onnx_node *n, onnx_op x, const struct spatial *s)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 }, places = 1;
	onnx_op at, best = NULL, which = NULL;

	for (unsigned int i = 0; i < s->n; i++) {
		low[i + 2] = s->low[i];
		high[i + 2] = s->high[i] + s->extra[i];
		places *= s->kernel[i] <= MAX_PLACES ? s->kernel[i] : MAX_PLACES + 1;
		places = places <= MAX_PLACES ? places : MAX_PLACES + 1;
	}

	if (places > MAX_PLACES) {
		onnx_fail(n, -ENOTSUP, "indices of a kernel of more than %d places", MAX_PLACES);
		return;
	}

	at = numbers(n, x);
	at = at ? ox_pad(n, at, ox_scalar(n, &at->shape, 0), low, high) : NULL;
	x = ox_pad(n, x, ox_scalar(n, &x->shape, ox_least(&x->shape)), low, high);
	for (int64_t k = 0; k < places && !n->rc; k++) {
		onnx_op v = at_place(n, x, s, k), i = at_place(n, at, s, k);
		onnx_op more = k ? ox_bin(n, NCC_GT, v, best) : NULL;

		best = k ? ox_select(n, more, v, best) : v;
		which = k ? ox_select(n, more, i, which) : i;
	}
	onnx_give_as(n, 1, which, ONNX_INT64);
}

static void import_max_pool(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	struct ncc_window w[NCC_MAX_DIMS];
	struct spatial s;

	if (!take_spatial(n, x, NULL, &s) || !take_out(n, &s))
		return;
	if (n->nout > 1 && *n->p->output[1])
		give_indices(n, x, &s);
	take_window(&s, w);
	onnx_give(n, 0, ox_reduce_window(n, x, NCC_MAX, ox_least(&x->shape), w));
}

/* The number of a window's elements in from..to: those k with from <= first + k dilation < to */
static int64_t inside(const struct spatial *s, unsigned int i, int64_t first, int64_t from,
		      int64_t to)
{
	const int64_t d = s->dilation[i];
	int64_t low = from > first ? (from - first + d - 1) / d : 0;
	int64_t high = to > first ? (to - first + d - 1) / d : 0;

	high = high < s->kernel[i] ? high : s->kernel[i];
	return high > low ? high - low : 0;
}

/* 1 / (the elements that each window averages over): the operand's, or the padding's too */
static onnx_op weights(struct onnx_node *n, onnx_op like, const struct spatial *s, bool padding)
{
	struct ncc_shape shape = { .dtype = NEURON_DT_FP32, .ndim = s->n };
	int64_t at[MAX_SPATIAL] = { 0 }, elems = 1;
	onnx_op op;

	for (unsigned int i = 0; i < s->n; i++)
		elems *= shape.dim[i] = like->shape.dim[i + 2];
	op = ox_data(n, &shape);
	for (int64_t e = 0; op && e < elems; e++) {
		double count = 1;

		for (unsigned int i = 0; i < s->n; i++)
			count *= (double)inside(s, i, at[i] * s->stride[i] - s->low[i],
						padding ? -s->low[i] : 0,
						s->size[i] + (padding ? s->high[i] : 0));
		ncc_set(NEURON_DT_FP32, op->data, e, 1 / count);
		for (int d = (int)s->n - 1; d >= 0 && ++at[d] == shape.dim[d]; d--)
			at[d] = 0;
	}
	return op ? ox_cast_like(n, op, like) : NULL;
}

static void import_average_pool(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), r;
	bool padding = onnx_int(n, "count_include_pad");
	struct ncc_window w[NCC_MAX_DIMS];
	struct spatial s;

	if (!of_floats(n) || !take_spatial(n, x, NULL, &s) || !take_out(n, &s))
		return;
	take_window(&s, w);
	r = ox_reduce_window(n, ox_f32(n, x), NCC_ADD, 0, w);
	if (r)
		r = ox_bin(n, NCC_MUL, r, weights(n, r, &s, padding));
	onnx_give(n, 0, ox_cast_like(n, r, x));
}

/* (sum of |x|^p)^(1/p) */
static onnx_op root(struct onnx_node *n, onnx_op x, int64_t p)
{
	return p == 1	? x
	       : p == 2 ? ox_un(n, NCC_SQRT, x)
			: ox_binc(n, NCC_POW, x, 1.0 / (double)p);
}

static onnx_op powered(struct onnx_node *n, onnx_op x, int64_t p)
{
	return p == 1	? ox_un(n, NCC_ABS, x)
	       : p == 2 ? ox_bin(n, NCC_MUL, x, x)
			: ox_binc(n, NCC_POW, ox_un(n, NCC_ABS, x), (double)p);
}

static void import_lp_pool(struct onnx_node *n)
{
	int64_t p = onnx_int(n, "p");
	onnx_op x = onnx_in(n, 0), r;
	struct ncc_window w[NCC_MAX_DIMS];
	struct spatial s;

	if (!of_floats(n) || !take_spatial(n, x, NULL, &s) || !take_out(n, &s))
		return;
	take_window(&s, w);
	r = root(n, ox_reduce_window(n, powered(n, ox_f32(n, x), p), NCC_ADD, 0, w), p);
	onnx_give(n, 0, ox_cast_like(n, r, x));
}

enum { GLOBAL_AVERAGE, GLOBAL_MAX, GLOBAL_LP };

static void import_global(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), f;
	int64_t p = onnx_int(n, "p"), count = 1;
	uint32_t mask;

	if (!of_floats(n))
		return;
	if (x->shape.ndim < 3) {
		onnx_fail(n, -EINVAL, "rank %u, at least 3 is expected", x->shape.ndim);
		return;
	}

	mask = (1u << x->shape.ndim) - 4;
	for (unsigned int i = 2; i < x->shape.ndim; i++)
		count *= x->shape.dim[i];
	f = ox_f32(n, x);
	if (onnx_arg(n) == GLOBAL_MAX)
		f = ox_reduce(n, x, NCC_MAX, mask, true);
	else if (onnx_arg(n) == GLOBAL_LP)
		f = root(n, ox_reduce(n, powered(n, f, p), NCC_ADD, mask, true), p);
	else
		f = ox_binc(n, NCC_MUL, ox_reduce(n, f, NCC_ADD, mask, true), 1.0 / (double)count);
	onnx_give(n, 0, ox_cast_like(n, f, x));
}

const struct onnx_rule onnx_window[] = {
	/* clang-format off */
	{ "AveragePool",       1,  1, .import = import_average_pool,   .unchanged = true, .sized = sized_average_pool, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("ceil_mode", INT, .from = 10),
		ATTR("count_include_pad", INT, .from = 7), ATTR("dilations", INTS, .from = 19),
		ATTR("kernel_shape", INTS, .needed = true), ATTR("pads", INTS),
		ATTR("strides", INTS)) },
	{ "Conv",              2,  3, .import = import_conv,           .unchanged = true, .sized = sized_conv, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("dilations", INTS),
		ATTR("group", INT, .i = 1), ATTR("kernel_shape", INTS), ATTR("pads", INTS),
		ATTR("strides", INTS)) },
	{ "ConvTranspose",     2,  3, .import = import_conv_transpose, .sized = sized_batch, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("dilations", INTS),
		ATTR("group", INT, .i = 1), ATTR("kernel_shape", INTS),
		ATTR("output_padding", INTS), ATTR("output_shape", INTS), ATTR("pads", INTS),
		ATTR("strides", INTS)) },
	{ "GlobalAveragePool", 1,  1, .import = import_global,         .arg = GLOBAL_AVERAGE, .unchanged = true, .sized = sized_global_mean, .takes = ONNX_OPERAND(0) },
	{ "GlobalLpPool",      1,  1, .import = import_global,         .arg = GLOBAL_LP, .attrs = ONNX_ATTRS(ATTR("p", INT, .i = 2)) },
	{ "GlobalMaxPool",     1,  1, .import = import_global,         .arg = GLOBAL_MAX, .unchanged = true, .sized = sized_global_max, .takes = ONNX_OPERAND(0) },
	{ "LpPool",            1,  1, .import = import_lp_pool,
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("ceil_mode", INT, .from = 18),
		ATTR("dilations", INTS, .from = 18), ATTR("kernel_shape", INTS, .needed = true),
		ATTR("p", INT, .i = 2), ATTR("pads", INTS), ATTR("strides", INTS)) },
	{ "MaxPool",           1,  1, .import = import_max_pool,       .unchanged = true, .sized = sized_max_pool, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("ceil_mode", INT, .from = 10),
		ATTR("dilations", INTS, .from = 10), ATTR("kernel_shape", INTS, .needed = true),
		ATTR("pads", INTS), ATTR("storage_order", INT, .from = 8),
		ATTR("strides", INTS)) },
	{ .op_type = NULL },
	/* clang-format on */
};
