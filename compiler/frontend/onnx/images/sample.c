// SPDX-License-Identifier: MIT
/*
 * GridSample and RoiAlign: images read at places that data give. An image becomes a table with a
 * row for each pixel; each result is a weighted sum of rows. Part of the ONNX front end.
 */
#include <errno.h>

#include "images.h"

#define MAX_SPATIAL 3
#define MAX_TAPS 4
#define ROW 64 /* bytes that make a row worth a DMA */
#define ROWS 512 /* rows that make a table worth it */

enum mode { NEAREST, LINEAR, CUBIC };
enum outside { ZEROS, BORDER, REFLECTION };

/* A dimension of the image: the elements (s32) and weights of its taps for every result */
struct axis {
	int64_t size;
	unsigned int taps;
	onnx_op index[MAX_TAPS], weight[MAX_TAPS]; /* weight NULL: 1 */
	onnx_op inside[MAX_TAPS]; /* NULL: it always is */
};

static onnx_op floor_of(struct onnx_node *n, onnx_op x)
{
	return x && !n->rc ? ox_expanded(n, expand_floor(&n->b, x), x) : NULL;
}

static onnx_op nearest_to(struct onnx_node *n, onnx_op x)
{
	return x && !n->rc ? ox_expanded(n, expand_round_even(&n->b, x), x) : NULL;
}

static onnx_op clamp(struct onnx_node *n, onnx_op x, double low, double high)
{
	return ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, x, low), high);
}

/*
 * [batch, channels, spatial...] as rows of channels; one more row, of zeros, stands for what is
 * outside.
 */
static onnx_op table_of(struct onnx_node *n, onnx_op x)
{
	const unsigned int nd = x->shape.ndim;
	int64_t channels = x->shape.dim[1], rows = ncc_elems(&x->shape) / channels;
	int64_t low[2] = { 0 }, high[2] = { 1, 0 };
	uint8_t perm[NCC_MAX_DIMS] = { 0 };

	for (unsigned int i = 1; i < nd; i++)
		perm[i] = (uint8_t)(i + 1 < nd ? i + 1 : 1);
	x = ox_transpose(n, ox_f32(n, x), perm);
	x = ox_reshape(n, x, 2, (int64_t[]){ rows, channels });
	if (rows >= ROWS && channels * 4 < ROW)
		high[1] = ROW / 4 - channels;
	return x ? ox_pad(n, x, ox_scalar(n, &x->shape, 0), low, high) : NULL;
}

/* The sum over all taps; base: the batch's first row, of the same rank as the axes' operands */
static onnx_op sample(struct onnx_node *n, onnx_op x, onnx_op base, const struct axis *axis,
		      unsigned int naxes)
{
	const int64_t channels = x->shape.dim[1], rows = ncc_elems(&x->shape) / channels;
	onnx_op table = table_of(n, x), sum = NULL;
	unsigned int all = 1;

	for (unsigned int i = 0; i < naxes; i++)
		all *= axis[i].taps;
	for (unsigned int tap = 0; tap < all && !n->rc; tap++) {
		onnx_op at = NULL, weight = NULL, inside = NULL, row;
		unsigned int rest = tap;

		for (unsigned int i = 0; i < naxes; i++) {
			const struct axis *a = &axis[i];
			const unsigned int t = rest % a->taps;
			onnx_op w = a->weight[t], in = a->inside[t];

			rest /= a->taps;
			at = at ? ox_bin(n, NCC_ADD, ox_binc(n, NCC_MUL, at, (double)a->size),
					 a->index[t])
				: a->index[t];
			weight = weight && w ? ox_bin(n, NCC_MUL, weight, w) : w ? w : weight;
			inside = inside && in ? ox_bin(n, NCC_AND, inside, in) : in ? in : inside;
		}
		at = ox_bin(n, NCC_ADD, at, base);
		if (inside && at)
			at = ox_select(n, inside, at, ox_scalar(n, &at->shape, (double)rows));
		row = at && table ? ox_take(n, table, at, 0) : NULL;
		row = row ? ox_slice(n, row, row->shape.ndim - 1, 0, channels, 1) : NULL;
		if (weight && row)
			row = ox_bin(n, NCC_MUL, row, ox_insert(n, weight, weight->shape.ndim));
		sum = sum ? ox_bin(n, NCC_ADD, sum, row) : row;
	}
	return n->rc ? NULL : sum;
}

/* Transposes [batch, spatial..., channels] to [batch, channels, spatial...]. */
static onnx_op channels_first(struct onnx_node *n, onnx_op y)
{
	uint8_t perm[NCC_MAX_DIMS] = { 0 };

	for (unsigned int i = 1; y && i < y->shape.ndim; i++)
		perm[i] = (uint8_t)(i == 1 ? y->shape.ndim - 1 : i - 1);
	return ox_transpose(n, y, perm);
}

/* x mirrored at low and high until it lies between */
static onnx_op reflected(struct onnx_node *n, onnx_op x, double low, double high)
{
	const double range = high - low;
	onnx_op periods;

	if (range <= 0)
		return ox_binc(n, NCC_MUL, x, 0);
	x = ox_binc(n, NCC_SUB, x, low);
	periods = floor_of(n, ox_binc(n, NCC_MUL, x, 1 / (2 * range)));
	x = ox_bin(n, NCC_SUB, x, ox_binc(n, NCC_MUL, periods, 2 * range));
	x = ox_un(n, NCC_ABS, ox_binc(n, NCC_SUB, x, range));
	return ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, x, -1), range + low);
}

struct grid {
	enum mode mode;
	enum outside outside;
	bool align;
};

/*
 * Maps places from -1 to 1 to places among size elements; those far outside are clamped. Four taps
 * that reach over a border are each put back on their own, as PyTorch does.
 */
static onnx_op unnormalized(struct onnx_node *n, const struct grid *g, onnx_op x, int64_t size)
{
	const double last = (double)size - 1, low = g->align ? 0 : -0.5;

	if (g->align)
		x = ox_binc(n, NCC_MUL, ox_binc(n, NCC_ADD, x, 1), last / 2);
	else
		x = ox_binc(n, NCC_MUL,
			    ox_binc(n, NCC_SUB,
				    ox_binc(n, NCC_MUL, ox_binc(n, NCC_ADD, x, 1), (double)size),
				    1),
			    0.5);
	if (g->mode == NEAREST)
		x = nearest_to(n, x);
	switch (g->outside) {
	case BORDER:
		return g->mode == CUBIC ? clamp(n, x, -4, last + 4) : clamp(n, x, 0, last);
	case REFLECTION:
		return reflected(n, x, low, last - low);
	default:
		return clamp(n, x, -4, last + 4);
	}
}

/* Sets a tap at t, an integer: its index, and whether it is inside. */
static void place_tap(struct onnx_node *n, const struct grid *g, struct axis *a, unsigned int tap,
		      onnx_op t)
{
	const double last = (double)a->size - 1, low = g->align ? 0 : -0.5;
	onnx_op in;

	if (g->outside == REFLECTION)
		t = nearest_to(n, reflected(n, t, low, last - low));
	in = clamp(n, t, 0, last);
	if (g->outside == ZEROS)
		a->inside[tap] = ox_bin(n, NCC_EQ, in, t);
	a->index[tap] = ox_cast(n, in, NEURON_DT_INT32, false);
}

/* ((p t + q) t + r) t + s */
static onnx_op polynomial(struct onnx_node *n, onnx_op t, double p, double q, double r, double s)
{
	onnx_op y = ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, t, p), q);

	y = ox_binc(n, NCC_ADD, ox_bin(n, NCC_MUL, y, t), r);
	y = ox_bin(n, NCC_MUL, y, t);
	return s != 0 ? ox_binc(n, NCC_ADD, y, s) : y;
}

/* The four weights of a cubic convolution with a = -0.75 at t after the second tap */
static void cubic_weights(struct onnx_node *n, struct axis *a, onnx_op t)
{
	const double c = -0.75;

	a->weight[0] = polynomial(n, t, c, -2 * c, c, 0);
	a->weight[1] = polynomial(n, t, c + 2, -(c + 3), 0, 1);
	a->weight[2] = polynomial(n, t, -(c + 2), 2 * c + 3, -c, 0);
	a->weight[3] = polynomial(n, t, -c, c, 0, 0);
}

/* The taps of places among a's elements */
static void place_axis(struct onnx_node *n, const struct grid *g, onnx_op x, struct axis *a)
{
	onnx_op first, t;

	a->taps = g->mode == NEAREST ? 1 : g->mode == LINEAR ? 2 : 4;
	if (g->mode == NEAREST) {
		place_tap(n, g, a, 0, nearest_to(n, x));
		return;
	}

	first = floor_of(n, x);
	t = ox_bin(n, NCC_SUB, x, first);
	if (g->mode == LINEAR) {
		a->weight[1] = t;
		a->weight[0] = ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, t, -1), 1);
	} else {
		cubic_weights(n, a, t);
	}

	for (unsigned int i = 0; i < a->taps; i++)
		place_tap(n, g, a, i,
			  ox_binc(n, NCC_ADD, first, (double)i - (g->mode == CUBIC ? 1 : 0)));
}

static void grid_axis(struct onnx_node *n, const struct grid *g, onnx_op x, struct axis *a)
{
	place_axis(n, g, unnormalized(n, g, x, a->size), a);
}

static bool take_grid(struct onnx_node *n, struct grid *g, onnx_op x, onnx_op at)
{
	const unsigned int k = x->shape.ndim - 2;
	const int mode = onnx_choice(n, "mode");

	g->mode = (enum mode)(mode > 2 ? mode - 2 : mode);
	g->outside = (enum outside)onnx_choice(n, "padding_mode");
	g->align = onnx_int(n, "align_corners");
	if (x->shape.ndim < 3 || k > MAX_SPATIAL || at->shape.ndim != k + 2 ||
	    at->shape.dim[0] != x->shape.dim[0] || at->shape.dim[k + 1] != k)
		onnx_fail(n, -EINVAL,
			  "a grid of rank %u for an operand of rank %u, or of another size",
			  at->shape.ndim, x->shape.ndim);
	return !n->rc;
}

/* The row where each batch begins, with rank nd */
static onnx_op batch_rows(struct onnx_node *n, onnx_op x, unsigned int nd)
{
	int64_t dim[NCC_MAX_DIMS] = { x->shape.dim[0], 1, 1, 1, 1, 1, 1, 1 };
	int64_t rows = ncc_elems(&x->shape) / x->shape.dim[0] / x->shape.dim[1];
	onnx_op first = ox_iota(n, NEURON_DT_INT32, dim[0]);

	return ox_reshape(n, ox_binc(n, NCC_MUL, first, (double)rows), nd, dim);
}

onnx_op ox_sample(struct onnx_node *n, onnx_op x, const onnx_op *place)
{
	const unsigned int k = x ? x->shape.ndim - 2 : 0;
	const struct grid g = { .mode = LINEAR, .outside = ZEROS };
	struct axis axis[MAX_SPATIAL] = { 0 };

	for (unsigned int i = 0; i < k && !n->rc; i++) {
		axis[i].size = x->shape.dim[i + 2];
		place_axis(n, &g, clamp(n, place[i], -4, (double)axis[i].size + 3), &axis[i]);
	}
	if (n->rc || !place[0])
		return NULL;
	return sample(n, x, batch_rows(n, x, place[0]->shape.ndim), axis, k);
}

static void import_grid_sample(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), at = onnx_in(n, 1), y;
	struct axis axis[MAX_SPATIAL] = { 0 };
	struct grid g;
	unsigned int k;

	if (!take_grid(n, &g, x, at))
		return;
	k = x->shape.ndim - 2;
	at = ox_f32(n, at);
	for (unsigned int i = 0; i < k && !n->rc; i++) {
		onnx_op one = ox_slice(n, at, k + 1, k - 1 - i, 1, 1); /* x comes first */

		one = one ? ox_reshape(n, one, k + 1, one->shape.dim) : NULL;
		axis[i].size = x->shape.dim[i + 2];
		grid_axis(n, &g, one, &axis[i]);
	}
	y = n->rc ? NULL : sample(n, x, batch_rows(n, x, k + 1), axis, k);
	onnx_give(n, 0, ox_cast_like(n, channels_first(n, y), x));
}

/* RoiAlign: along one dimension of the image, count bins of samples each */
struct bins {
	int64_t count, samples;
	double scale, offset;
};

/* Column i of the regions, as [regions, 1] */
static onnx_op edge(struct onnx_node *n, const struct bins *b, onnx_op rois, unsigned int i)
{
	onnx_op x = ox_binc(n, NCC_MUL, ox_slice(n, rois, 1, i, 1, 1), b->scale);

	return b->offset > 0 ? ox_binc(n, NCC_SUB, x, b->offset) : x;
}

static void roi_axis(struct onnx_node *n, const struct bins *b, onnx_op low, onnx_op high,
		     struct axis *a)
{
	const int64_t places = b->count * b->samples;
	struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 2, .dim = { 1, places } };
	onnx_op length = ox_bin(n, NCC_SUB, high, low), part = ox_data(n, &s), x, first, in;
	const double last = (double)a->size - 1;

	for (int64_t i = 0; part && i < places; i++)
		ncc_set(s.dtype, part->data, i, ((double)i + 0.5) / (double)places);
	if (!(b->offset > 0)) /* malformed regions have size 1 */
		length = ox_binc(n, NCC_MAX, length, 1);
	x = ox_bin(n, NCC_ADD, ox_bin(n, NCC_MUL, length, part), low);
	in = ox_bin(n, NCC_AND, ox_binc(n, NCC_GE, x, -1), ox_binc(n, NCC_LE, x, last + 1));
	x = clamp(n, x, 0, last);
	first = floor_of(n, x);
	a->taps = 2;
	a->weight[1] = ox_bin(n, NCC_SUB, x, first);
	a->weight[0] = ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, a->weight[1], -1), 1);
	a->index[0] = ox_cast(n, first, NEURON_DT_INT32, false);
	a->index[1] = ox_cast(n, ox_binc(n, NCC_MIN, ox_binc(n, NCC_ADD, first, 1), last),
			      NEURON_DT_INT32, false);
	a->inside[0] = a->inside[1] = in;
}

/* Inserts a dimension of 1 into [regions, places], before or after the places. */
static void spread_axis(struct onnx_node *n, struct axis *a, unsigned int at)
{
	for (unsigned int t = 0; t < a->taps; t++) {
		a->index[t] = ox_insert(n, a->index[t], at);
		a->weight[t] = ox_insert(n, a->weight[t], at);
		a->inside[t] = ox_insert(n, a->inside[t], at);
	}
}

static bool check_roi(struct onnx_node *n, onnx_op x, onnx_op rois, onnx_op batch, struct bins *b)
{
	int64_t regions;

	if (x->shape.ndim != 4 || rois->shape.ndim != 2 || rois->shape.dim[1] != 4 ||
	    batch->shape.ndim != 1 || batch->shape.dim[0] != rois->shape.dim[0]) {
		onnx_fail(n, -EINVAL,
			  "operands of other shapes than an image, regions x 4, regions");
		return false;
	}

	regions = rois->shape.dim[0];
	if (!onnx_string_is(n, "mode", "avg"))
		onnx_fail(n, -ENOTSUP, "only the mode avg is supported");
	if (b[0].samples < 1)
		onnx_fail(n, -ENOTSUP,
			  "sampling_ratio 0 takes as many samples as the regions say, "
			  "which is not supported");

	for (unsigned int i = 0; i < 2 && !n->rc; i++)
		if (b[i].count < 1 || b[i].count > ONNX_MAX_DATA || b[i].samples > ONNX_MAX_DATA ||
		    b[i].count * b[i].samples > ONNX_MAX_DATA / regions)
			onnx_fail(n, -EINVAL, "%lld bins of %lld samples", (long long)b[i].count,
				  (long long)b[i].samples);
	return !n->rc;
}

static void import_roi_align(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), rois = onnx_in(n, 1), batch = onnx_in(n, 2), y;
	const bool half =
		n->opset >= 16 && onnx_string_is(n, "coordinate_transformation_mode", "half_pixel");
	struct bins b[2] = { { .count = onnx_int(n, "output_height"),
			       .samples = onnx_int(n, "sampling_ratio"),
			       .scale = onnx_float(n, "spatial_scale"),
			       .offset = half ? 0.5 : 0 } };
	struct axis axis[2] = { { 0 } };
	int64_t regions;

	b[1] = b[0];
	b[1].count = onnx_int(n, "output_width");
	if (!check_roi(n, x, rois, batch, b))
		return;
	regions = rois->shape.dim[0];

	rois = ox_f32(n, rois);
	for (unsigned int i = 0; i < 2 && !n->rc; i++) { /* x1 y1 x2 y2 */
		axis[i].size = x->shape.dim[i + 2];
		roi_axis(n, &b[i], edge(n, &b[i], rois, 1 - i), edge(n, &b[i], rois, 3 - i),
			 &axis[i]);
		spread_axis(n, &axis[i], 2 - i);
	}

	batch = ox_reshape(n, ox_from_end(n, batch, x->shape.dim[0]), 3,
			   (int64_t[]){ regions, 1, 1 });
	batch = ox_binc(n, NCC_MUL, batch, (double)(axis[0].size * axis[1].size));
	y = n->rc ? NULL : sample(n, x, batch, axis, 2);
	y = ox_reshape(n, y, 6,
		       (int64_t[]){ regions, b[0].count, b[0].samples, b[1].count, b[1].samples,
				    x->shape.dim[1] });
	y = ox_reduce(n, y, NCC_ADD, 1u << 2 | 1u << 4, false);
	y = ox_binc(n, NCC_MUL, y, 1 / (double)(b[0].samples * b[1].samples));
	onnx_give(n, 0, ox_cast_like(n, channels_first(n, y), x));
}

const struct onnx_rule onnx_sample[] = {
	/* clang-format off */
	{ "GridSample", 2,  2, .import = import_grid_sample, .since = 16,
	  .attrs = ONNX_ATTRS(
		ATTR("align_corners", INT), ATTR("mode", TEXT, .words = "nearest|bilinear|bicubic|linear|cubic", .s = "bilinear", .until = 19),
		ATTR("mode", TEXT, .words = "nearest|bilinear|bicubic|linear|cubic", .s = "linear", .from = 20),
		ATTR("padding_mode", TEXT, .words = "zeros|border|reflection", .s = "zeros")) },
	{ "RoiAlign",   3,  3, .import = import_roi_align, .sized = sized_roi_align, .takes = ONNX_OPERAND(1) | ONNX_OPERAND(2), .since = 10,
	  .attrs = ONNX_ATTRS(
		ATTR("coordinate_transformation_mode", TEXT, .words = "output_half_pixel|half_pixel", .s = "half_pixel", .from = 16),
		ATTR("mode", TEXT, .words = "avg|max", .s = "avg"), ATTR("output_height", INT, .i = 1),
		ATTR("output_width", INT, .i = 1), ATTR("sampling_ratio", INT),
		ATTR("spatial_scale", FLOAT, .f = 1)) },
	{ .op_type = NULL },
	/* clang-format on */
};
