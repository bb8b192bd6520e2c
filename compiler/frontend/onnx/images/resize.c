// SPDX-License-Identifier: MIT
/*
 * Resize and Upsample: one dimension after the other. Each result is a weighted sum of one, two or
 * four elements at places that the compiler knows. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>

#include "images.h"

enum mode { NEAREST, LINEAR, CUBIC };
enum coordinates { HALF_PIXEL, SYMMETRIC, PYTORCH, ALIGN, ASYMMETRIC, TF_HALF_PIXEL, CROP };
enum policy { STRETCH, NOT_LARGER, NOT_SMALLER };
enum rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL };

struct resize {
	enum mode mode;
	enum coordinates coordinates;
	enum rounding rounding;
	double a; /* the cubic's coefficient */
	bool exclude, antialias;
	double outside; /* with CROP: the value outside */
	double scale[NCC_MAX_DIMS];
	int64_t size[NCC_MAX_DIMS];
	double from[NCC_MAX_DIMS], to[NCC_MAX_DIMS]; /* with CROP, as fractions of the dimension */
};

/* The place of result o among in elements */
static double place(const struct resize *r, unsigned int d, int64_t in, int64_t o)
{
	const double x = (double)o, scale = r->scale[d], out = scale * (double)in;
	double adjusted, offset;

	switch (r->coordinates) {
	case SYMMETRIC: /* the size is not scale * in, but a whole number */
		adjusted = (double)r->size[d] / out;
		offset = (double)in / 2 * (1 - adjusted);
		return offset + (x + 0.5) / scale - 0.5;
	case PYTORCH:
		return out > 1 ? (x + 0.5) / scale - 0.5 : 0;
	case ALIGN:
		return out > 1 ? x * (double)(in - 1) / (out - 1) : 0;
	case ASYMMETRIC:
		return x / scale;
	case TF_HALF_PIXEL:
		return (x + 0.5) / scale;
	case CROP:
		if (out > 1)
			return r->from[d] * (double)(in - 1) +
			       x * (r->to[d] - r->from[d]) * (double)(in - 1) / (out - 1);
		return 0.5 * (r->from[d] + r->to[d]) * (double)(in - 1);
	default:
		return (x + 0.5) / scale - 0.5;
	}
}

static double nearest(const struct resize *r, double x)
{
	switch (r->rounding) {
	case FLOOR:
		return floor(x);
	case CEIL:
		return ceil(x);
	case PREFER_CEIL:
		return floor(x + 0.5);
	default:
		return ceil(x - 0.5);
	}
}

static double cubic(double a, double t)
{
	t = fabs(t);
	if (t <= 1)
		return ((a + 2) * t - (a + 3)) * t * t + 1;
	return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

static double weight(const struct resize *r, double t)
{
	if (r->mode == NEAREST)
		return 1;
	return r->mode == LINEAR ? 1 - fabs(t) : cubic(r->a, t);
}

/* Takes the element and weight of each tap for each result of a dimension. */
static void take_taps(const struct resize *r, unsigned int d, int64_t in, unsigned int taps,
		      onnx_op *index, onnx_op *factor)
{
	for (int64_t o = 0; o < r->size[d]; o++) {
		double x = place(r, d, in, o), sum = 0, w[4], at[4];
		double first = r->mode == NEAREST ? nearest(r, x) : floor(x) - (taps == 4);

		for (unsigned int t = 0; t < taps; t++) {
			at[t] = first + t;
			w[t] = weight(r, x - at[t]);
			if (r->exclude && (at[t] < 0 || at[t] >= (double)in))
				w[t] = 0;
			sum += w[t];
		}
		for (unsigned int t = 0; t < taps; t++) {
			double i = at[t] < 0 ? 0 : at[t] >= (double)in ? (double)(in - 1) : at[t];

			ncc_set(NEURON_DT_INT32, index[t]->data, o, i);
			ncc_set(NEURON_DT_FP32, factor[t]->data, o, w[t] / (r->exclude ? sum : 1));
		}
	}
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * How many results in turn, at least, have the same element: the length of all runs but the first
 * and the last one is a multiple of it. The first run is one of them and *rest.
 */
static int64_t run_length(onnx_op index, int64_t *rest)
{
	const int64_t count = ncc_elems(&index->shape);
	int64_t first = 0, last = 0, k = 0;

	for (int64_t i = 1; i < count; i++) {
		if (ncc_get(NEURON_DT_INT32, index->data, i) ==
		    ncc_get(NEURON_DT_INT32, index->data, i - 1))
			continue;
		k = last ? common_divisor(k, i - last) : 0;
		first = first ? first : i;
		last = i;
	}
	k = k ? k : first > count - first ? first : count - first;
	*rest = first % k;
	return k;
}

/* Dimension d of a result cut into runs of k; the first one begins before it. */
struct runs {
	int64_t before, n, k;
};

/* The runs that indices have in common; k is 1 if there are none. */
static struct runs find_runs(onnx_op *index, unsigned int taps)
{
	const int64_t count = ncc_elems(&index[0]->shape);
	struct runs r = { .k = 0 };
	int64_t rest = 0;

	for (unsigned int t = 0; t < taps; t++) {
		int64_t other, k = run_length(index[t], &other);

		if (t && (k != r.k || other != rest))
			return (struct runs){ .k = 1 };
		r.k = k;
		rest = other;
	}
	r.before = rest ? r.k - rest : 0;
	r.n = (r.before + count + r.k - 1) / r.k;
	return r;
}

/*
 * The elements of an index times their factors, with a dimension d of runs and one more within
 * them, along which an element is repeated
 */
static onnx_op in_runs(struct onnx_node *n, onnx_op x, unsigned int d, const struct runs *r,
		       onnx_op index, onnx_op factor)
{
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { r->n } };
	const int64_t count = ncc_elems(&index->shape);
	uint8_t map[NCC_MAX_DIMS] = { 0 }, both[2] = { (uint8_t)d, (uint8_t)(d + 1) };
	onnx_op one = ox_data(n, &s), times;

	s = (struct ncc_shape){ .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { r->n, r->k } };
	times = ox_data(n, &s);
	for (int64_t i = 0; !n->rc && i < r->n * r->k; i++) {
		int64_t at = i > r->before ? i - r->before : 0;

		if (!(i % r->k))
			ncc_set(NEURON_DT_INT32, one->data, i / r->k,
				ncc_get(NEURON_DT_INT32, index->data, at));
		at = at < count ? at : count - 1;
		ncc_set(s.dtype, times->data, i, factor ? ncc_get(s.dtype, factor->data, at) : 1);
	}
	x = n->rc ? NULL : ox_take(n, x, one, d);
	if (!x)
		return NULL;
	s = x->shape;
	s.ndim++;
	for (unsigned int i = 0; i < s.ndim; i++) {
		s.dim[i] = i <= d ? x->shape.dim[i] : i == d + 1 ? r->k : x->shape.dim[i - 1];
		if (i < x->shape.ndim)
			map[i] = (uint8_t)(i <= d ? i : i + 1);
	}
	x = ox_spread(n, x, &s, map);
	return factor ? ox_bin(n, NCC_MUL, x, ox_spread(n, times, &s, both)) : x;
}

/* One run after the other, as many elements as there are results */
static onnx_op in_line(struct onnx_node *n, onnx_op x, unsigned int d, const struct runs *r,
		       int64_t count)
{
	int64_t dim[NCC_MAX_DIMS];

	if (!x)
		return NULL;
	for (unsigned int i = 0; i + 1 < x->shape.ndim; i++)
		dim[i] = x->shape.dim[i <= d ? i : i + 1];
	dim[d] = r->n * r->k;
	x = ox_reshape(n, x, x->shape.ndim - 1, dim);
	return x ? ox_slice(n, x, d, r->before, count, 1) : NULL;
}

static onnx_op weighted(struct onnx_node *n, onnx_op x, unsigned int d, onnx_op index,
			onnx_op factor)
{
	const uint8_t map = (uint8_t)d;

	x = ox_take(n, x, index, d);
	return x && factor ? ox_bin(n, NCC_MUL, x, ox_spread(n, factor, &x->shape, &map)) : x;
}

static onnx_op one_dimension(struct onnx_node *n, const struct resize *r, onnx_op x, unsigned int d)
{
	const unsigned int taps = r->mode == NEAREST ? 1 : r->mode == LINEAR ? 2 : 4;
	struct ncc_shape s = { .dtype = NEURON_DT_INT32, .ndim = 1, .dim = { r->size[d] } };
	onnx_op index[4], factor[4], sum = NULL;
	struct runs runs;

	for (unsigned int t = 0; t < taps; t++) {
		s.dtype = NEURON_DT_INT32;
		index[t] = ox_data(n, &s);
		s.dtype = NEURON_DT_FP32;
		factor[t] = ox_data(n, &s);
	}
	if (n->rc)
		return NULL;
	take_taps(r, d, x->shape.dim[d], taps, index, factor);
	runs = find_runs(index, taps);
	if (x->shape.ndim == NCC_MAX_DIMS)
		runs.k = 1;
	for (unsigned int t = 0; t < taps; t++) {
		onnx_op times = taps > 1 ? factor[t] : NULL,
			part = runs.k > 1 ? in_runs(n, x, d, &runs, index[t], times)
					  : weighted(n, x, d, index[t], times);

		sum = sum ? ox_bin(n, NCC_ADD, sum, part) : part;
	}
	return runs.k > 1 ? in_line(n, sum, d, &runs, r->size[d]) : sum;
}

/*
 * The weight of each element of a dimension in result o, whose kernel is as wide as results are
 * apart; elements outside are those at the ends, or nothing
 */
static void take_weights(const struct resize *r, unsigned int d, int64_t in, int64_t o, float *w)
{
	const double x = place(r, d, in, o), wide = r->scale[d] < 1 ? 1 / r->scale[d] : 1;
	const double reach = (r->mode == LINEAR ? 1 : 2) * wide;
	double sum = 0, all[2] = { floor(x - reach), ceil(x + reach) };

	for (double at = all[0]; at <= all[1]; at++) {
		double t = weight(r, (x - at) / wide);

		if ((r->exclude && (at < 0 || at >= (double)in)) || (r->mode == LINEAR && t < 0))
			continue;
		sum += t;
	}
	for (double at = all[0]; at <= all[1] && sum != 0; at++) {
		double t = weight(r, (x - at) / wide);
		int64_t i = at < 0 ? 0 : at >= (double)in ? in - 1 : (int64_t)at;

		if (!(r->exclude && (at < 0 || at >= (double)in)) && (r->mode != LINEAR || t > 0))
			w[i] += (float)(t / sum);
	}
}

/* Results of as many elements as the kernel covers: a product with a matrix of their weights */
static onnx_op filtered(struct onnx_node *n, const struct resize *r, onnx_op x, unsigned int d)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32,
				     .ndim = 2,
				     .dim = { r->size[d], x->shape.dim[d] } };
	const struct ncc_dot dot = { .ncontract = 1,
				     .lhs_contract = { (uint8_t)d },
				     .rhs_contract = { 1 } };
	onnx_op w = ox_data(n, &s);
	uint8_t back[NCC_MAX_DIMS];

	for (int64_t o = 0; w && o < s.dim[0]; o++)
		take_weights(r, d, s.dim[1], o, (float *)w->data + o * s.dim[1]);
	for (unsigned int i = 0; i < x->shape.ndim; i++)
		back[i] = (uint8_t)(i < d ? i : i == d ? x->shape.ndim - 1 : i - 1);
	return ox_transpose(n, ox_dot(n, x, w, &dot, NEURON_DT_FP32), back);
}

/* With CROP, results outside of the operand have a value of their own. */
static onnx_op extrapolated(struct onnx_node *n, const struct resize *r, onnx_op x, onnx_op y,
			    unsigned int d)
{
	struct ncc_shape s = { NEURON_DT_INT8, true, 1, { r->size[d] } };
	const uint8_t map = (uint8_t)d;
	onnx_op out = ox_data(n, &s);

	if (!out || !y)
		return NULL;
	for (int64_t o = 0; o < r->size[d]; o++) {
		double at = place(r, d, x->shape.dim[d], o);

		((uint8_t *)out->data)[o] = at < 0 || at > (double)(x->shape.dim[d] - 1);
	}
	s = y->shape;
	out = ox_spread(n, out, &s, &map);
	return ox_select(n, out, ox_scalar(n, &s, r->outside), y);
}

/* The numbers of a list, which may be floats */
static bool numbers(struct onnx_node *n, unsigned int i, double *v, unsigned int max,
		    unsigned int *count)
{
	onnx_op op = onnx_in(n, i);

	*count = 0;
	if (!op || n->rc)
		return false;
	if (op->kind == NCC_BROADCAST && ncc_elems(&op->shape) <= max)
		ncc_eval(n->imp->m, op);
	if (op->kind != NCC_CONST || op->shape.ndim != 1 || op->shape.dim[0] > max) {
		onnx_fail(n, -ENOTSUP, "operand %u ('%.80s') must be a constant", i,
			  n->p->input[i]);
		return false;
	}
	*count = (unsigned int)op->shape.dim[0];
	for (unsigned int k = 0; k < *count; k++)
		v[k] = ncc_get(op->shape.dtype, op->data, k);
	return true;
}

/* Takes scales or sizes of the dimensions that axes names; roi has only those, too. */
static void take_sizes(struct onnx_node *n, struct resize *r, onnx_op x, unsigned int first)
{
	double v[NCC_MAX_DIMS], roi[2 * NCC_MAX_DIMS];
	int64_t axes[NCC_MAX_DIMS];
	unsigned int nd = x->shape.ndim, count, nroi, naxes;
	bool scales = numbers(n, first, v, NCC_MAX_DIMS, &count);

	if (!scales && !numbers(n, first + 1, v, NCC_MAX_DIMS, &count)) {
		onnx_fail(n, -EINVAL, "neither scales nor sizes");
		return;
	}

	if (!onnx_ints(n, "axes", axes, NCC_MAX_DIMS, &naxes))
		for (naxes = 0; naxes < nd; naxes++)
			axes[naxes] = naxes;
	if (count != naxes)
		onnx_fail(n, -EINVAL, "%u scales or sizes for %u dimensions", count, naxes);

	for (unsigned int i = 0; i < nd; i++) {
		r->scale[i] = r->to[i] = 1;
		r->size[i] = x->shape.dim[i];
	}

	for (unsigned int i = 0; i < count && !n->rc; i++) {
		unsigned int d = onnx_axis(n, axes[i], nd);
		double in = (double)x->shape.dim[d];

		r->scale[d] = scales ? v[i] : v[i] / in;
		if (!(v[i] > 0) || v[i] * (scales ? in : 1) >= NCC_MAX_ELEMS)
			onnx_fail(n, -EINVAL, "a scale or size of %g", v[i]);
		else
			r->size[d] = (int64_t)(scales ? floor(in * v[i]) : v[i]);
	}

	if (r->coordinates != CROP || n->rc)
		return;
	if (!numbers(n, 1, roi, 2 * NCC_MAX_DIMS, &nroi) || nroi != 2 * naxes) {
		onnx_fail(n, -EINVAL, "no roi of %u numbers", 2 * naxes);
		return;
	}

	for (unsigned int i = 0; i < naxes && !n->rc; i++) {
		r->from[onnx_axis(n, axes[i], nd)] = roi[i];
		r->to[onnx_axis(n, axes[i], nd)] = roi[naxes + i];
	}
}

/* One scale for all dimensions that have sizes: the smallest of theirs, or the largest */
static void keep_aspect(struct onnx_node *n, struct resize *r, onnx_op x)
{
	const bool larger = onnx_string_is(n, "keep_aspect_ratio_policy", "not_smaller");
	int64_t axes[NCC_MAX_DIMS];
	unsigned int count;
	double scale = 0;

	if (onnx_in(n, 2)) { /* It says nothing of scales. */
		return;
	}
	if (!onnx_ints(n, "axes", axes, NCC_MAX_DIMS, &count))
		for (count = 0; count < x->shape.ndim; count++)
			axes[count] = count;
	for (unsigned int i = 0; i < count; i++) {
		double s = r->scale[onnx_axis(n, axes[i], x->shape.ndim)];

		scale = !i || (larger ? s > scale : s < scale) ? s : scale;
	}
	for (unsigned int i = 0; i < count; i++) {
		unsigned int d = onnx_axis(n, axes[i], x->shape.ndim);

		r->scale[d] = scale;
		r->size[d] = (int64_t)floor(scale * (double)x->shape.dim[d] + 0.5);
		if (r->size[d] >= NCC_MAX_ELEMS)
			onnx_fail(n, -EINVAL, "a size of %g", scale * (double)x->shape.dim[d]);
	}
}

static void run(struct onnx_node *n, struct resize *r)
{
	onnx_op x = onnx_in(n, 0), y = r->mode == NEAREST ? x : ox_f32(n, x);

	for (unsigned int d = 0; d < x->shape.ndim && y && !n->rc; d++) {
		bool same = r->size[d] == x->shape.dim[d] && r->scale[d] == 1 && r->from[d] == 0 &&
			    r->to[d] == 1;

		if (!r->size[d])
			onnx_fail(n, -ENOTSUP, "dimension %u becomes 0", d);
		else if (!same)
			y = r->antialias && r->scale[d] < 1 ? filtered(n, r, y, d)
							    : one_dimension(n, r, y, d);
		if (!same && r->coordinates == CROP && !n->rc)
			y = extrapolated(n, r, x, y, d);
	}
	onnx_give(n, 0, ox_cast_like(n, y, x));
}

static void import_resize(struct onnx_node *n)
{
	struct resize r = { .coordinates = ASYMMETRIC, .rounding = FLOOR };

	r.mode = (enum mode)onnx_choice(n, "mode");
	if (n->opset >= 11) {
		r.coordinates = (enum coordinates)onnx_choice(n, "coordinate_transformation_mode");
		r.rounding = (enum rounding)onnx_choice(n, "nearest_mode");
	}
	r.a = onnx_float(n, "cubic_coeff_a");
	r.exclude = onnx_int(n, "exclude_outside");
	r.outside = onnx_float(n, "extrapolation_value");
	r.antialias = r.mode != NEAREST && onnx_int(n, "antialias");
	if (r.antialias && r.coordinates == CROP)
		onnx_fail(n, -ENOTSUP, "antialias with tf_crop_and_resize is not supported");
	take_sizes(n, &r, onnx_in(n, 0), n->opset < 11 ? 1 : 2);
	if (!n->rc && onnx_choice(n, "keep_aspect_ratio_policy") != STRETCH)
		keep_aspect(n, &r, onnx_in(n, 0));
	if (!n->rc)
		run(n, &r);
}

static void import_upsample(struct onnx_node *n)
{
	struct resize r = { .coordinates = ASYMMETRIC, .rounding = FLOOR };

	r.mode = (enum mode)onnx_choice(n, "mode");
	take_sizes(n, &r, onnx_in(n, 0), 1);
	if (!n->rc)
		run(n, &r);
}

const struct onnx_rule onnx_resize[] = {
	/* clang-format off */
	{ "Resize",   1,  4, .import = import_resize, .sized = sized_batch, .takes = ONNX_OPERAND(0), .since = 10,
	  .attrs = ONNX_ATTRS(
		ATTR("antialias", INT, .from = 18), ATTR("axes", INTS, .from = 18),
		ATTR("coordinate_transformation_mode", TEXT, .words = "half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|tf_half_pixel_for_nn|tf_crop_and_resize", .s = "half_pixel", .from = 11),
		ATTR("cubic_coeff_a", FLOAT, .f = -0.75, .from = 11),
		ATTR("exclude_outside", INT, .from = 11),
		ATTR("extrapolation_value", FLOAT, .from = 11),
		ATTR("keep_aspect_ratio_policy", TEXT, .words = "stretch|not_larger|not_smaller", .s = "stretch", .from = 18),
		ATTR("mode", TEXT, .words = "nearest|linear|cubic", .s = "nearest"),
		ATTR("nearest_mode", TEXT, .words = "round_prefer_floor|round_prefer_ceil|floor|ceil", .s = "round_prefer_floor", .from = 11)) },
	{ "Upsample", 2,  2, .import = import_upsample,
	  .attrs = ONNX_ATTRS(
		ATTR("height_scale", FLOAT, .needed = true, .until = 6),
		ATTR("mode", TEXT, .words = "nearest|linear", .s = "nearest"),
		ATTR("scales", FLOATS, .needed = true, .from = 7, .until = 8),
		ATTR("width_scale", FLOAT, .needed = true, .until = 6)) },
	{ .op_type = NULL },
	/* clang-format on */
};
