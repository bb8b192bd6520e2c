// SPDX-License-Identifier: MIT
/*
 * Fourier transforms, of a signal's frames too, and the mel filter bank. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>

#include "products.h"

#define MOST_PIECES 32 /* of which a frame of an STFT is made */

struct transform {
	int64_t size, bins; /* bins: those of the result */
	bool inverse;
	bool to_real; /* of the first half of what real numbers' transform is */
};

static bool check_parts(struct onnx_node *n, onnx_op x, unsigned int least)
{
	const struct ncc_shape *s = &x->shape;

	if (s->ndim < least || s->dim[s->ndim - 1] > 2)
		onnx_fail(n, -EINVAL,
			  "rank %u with last dimension %lld, expected 1 or 2 in the last of %u",
			  s->ndim, s->ndim ? (long long)s->dim[s->ndim - 1] : 0LL, least);
	return !n->rc;
}

/* Part i of numbers whose last dimension is that of their parts */
static onnx_op part_of(struct onnx_node *n, onnx_op x, unsigned int i)
{
	const unsigned int last = x->shape.ndim - 1;
	const struct ncc_shape s = x->shape;

	if (i >= s.dim[last])
		return NULL;
	return ox_reshape(n, ox_slice(n, ox_f32(n, x), last, i, 1, 1), last, s.dim);
}

static onnx_op with_parts(struct onnx_node *n, struct ncc_complex x)
{
	const unsigned int last = x.re ? x.re->shape.ndim : 0;
	onnx_op part[2] = { x.re ? ox_insert(n, x.re, last) : NULL,
			    x.im ? ox_insert(n, x.im, last) : NULL };

	return ox_concat(n, part, 2, last);
}

/* The first `size` along dimension d, with zeros behind if there are fewer */
static onnx_op fitted(struct onnx_node *n, onnx_op x, unsigned int d, int64_t size)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };

	if (!x || x->shape.dim[d] >= size)
		return ox_slice(n, x, d, 0, size, 1);
	high[d] = size - x->shape.dim[d];
	return ox_pad(n, x, ox_scalar(n, &x->shape, 0), low, high);
}

/* Transforms along dimension d; the result has one more, of the parts. */
static onnx_op transformed(struct onnx_node *n, struct ncc_complex x, unsigned int d,
			   const struct transform *t)
{
	onnx_op of = x.re, y;

	if (n->rc || !of)
		return NULL;
	if (t->size > NCC_MOST_FFT) {
		onnx_fail(n, -EFBIG, "too large: a length of %lld, at most %d is supported",
			  (long long)t->size, NCC_MOST_FFT);
		return NULL;
	}
	if (t->to_real) {
		if (!x.im)
			x.im = ox_expand(n, ox_scalar(n, &of->shape, 0), of->shape.ndim,
					 of->shape.dim);
		y = expand_fft_to_real(&n->b, x, d, t->size);
		y = y ? ox_insert(n, y, y->shape.ndim) : NULL;
	} else {
		x = expand_fft(&n->b, x, d, t->inverse);
		x.re = x.re ? ox_slice(n, x.re, d, 0, t->bins, 1) : NULL;
		x.im = x.im ? ox_slice(n, x.im, d, 0, t->bins, 1) : NULL;
		y = with_parts(n, x);
	}
	if (!y && !n->rc)
		onnx_fail(n, -ENOMEM, "out of memory, or too many constants");
	return ox_expanded(n, y, of);
}

static void import_dft(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t axis = n->opset < 20 ? onnx_int(n, "axis") : -2, size = 0, there;
	bool half = onnx_int(n, "onesided");
	struct transform t = { .inverse = onnx_int(n, "inverse") };
	struct ncc_complex v;
	unsigned int a, one = 1;

	if (!check_parts(n, x, 2) ||
	    (onnx_in(n, 2) && (!onnx_in_ints(n, 2, &axis, 1, &one) || !one)) ||
	    (onnx_in(n, 1) && (!onnx_in_ints(n, 1, &size, 1, &one) || !one)))
		return;
	a = onnx_axis(n, axis, x->shape.ndim);
	if (!n->rc && a == x->shape.ndim - 1)
		onnx_fail(n, -EINVAL, "along the last dimension, which is of the numbers' parts");
	t.to_real = half && t.inverse;
	there = n->rc ? 1 : x->shape.dim[a];
	t.size = onnx_in(n, 1) ? size : t.to_real ? 2 * (there - 1) : there;
	if (t.size < 1)
		onnx_fail(n, -EINVAL, "a length of %lld", (long long)t.size);
	if (n->rc)
		return;

	t.bins = half ? t.size / 2 + 1 : t.size;
	there = t.to_real ? t.bins : t.size;
	v.re = fitted(n, part_of(n, x, 0), a, there);
	v.im = x->shape.dim[x->shape.ndim - 1] == 2 ? fitted(n, part_of(n, x, 1), a, there) : NULL;
	onnx_give(n, 0, ox_cast_like(n, transformed(n, v, a, &t), x));
}

static bool take_frames(struct onnx_node *n, onnx_op x, onnx_op window, double *step, double *size)
{
	*size = window && window->shape.ndim == 1 ? (double)window->shape.dim[0] : 0;
	if (!check_parts(n, x, 3) || !onnx_in_scalar(n, 1, step) ||
	    (onnx_in(n, 3) && !onnx_in_scalar(n, 3, size)))
		return false;
	if (x->shape.ndim != 3 || !(*step >= 1) || !(*size >= 1) || *step > (double)ONNX_MAX_DATA ||
	    *size > (double)x->shape.dim[1] ||
	    (window && (window->shape.ndim != 1 || window->shape.dim[0] != (int64_t)*size)))
		onnx_fail(n, -EINVAL,
			  "frames of %g, every %g, of rank %u, or a window of another size", *size,
			  *step, x->shape.ndim);
	return !n->rc;
}

/* x[batch, signal] as [batch, frames, size]: pieces of `step`, of which frames share all but one */
static onnx_op framed(struct onnx_node *n, onnx_op x, int64_t step, int64_t size)
{
	onnx_op piece[MOST_PIECES];
	int64_t frames, pieces = (size + step - 1) / step;

	if (!x)
		return NULL;
	frames = (x->shape.dim[1] - size) / step + 1;
	x = fitted(n, x, 1, (frames + pieces - 1) * step);
	if (x)
		x = ox_reshape(n, x, 3, (int64_t[]){ x->shape.dim[0], frames + pieces - 1, step });
	for (int64_t i = 0; i < pieces; i++)
		piece[i] = ox_slice(n, ox_slice(n, x, 1, i, frames, 1), 2, 0,
				    i + 1 < pieces ? step : size - i * step, 1);
	return ox_concat(n, piece, (unsigned int)pieces, 2);
}

/* The same of frames that have most of their samples in common: one of the signal for each sample */
static onnx_op framed_densely(struct onnx_node *n, onnx_op x, int64_t step, int64_t size)
{
	struct ncc_shape s = { NEURON_DT_INT32, false, 2, { 0, size } };
	onnx_op idx;

	if (!x)
		return NULL;
	s.dim[0] = (x->shape.dim[1] - size) / step + 1;
	idx = ox_data(n, &s);
	for (int64_t i = 0; idx && i < ncc_elems(&s); i++)
		ncc_set(s.dtype, idx->data, i, (double)(i / size * step + i % size));
	return ox_take(n, x, idx, 1);
}

static onnx_op windowed(struct onnx_node *n, onnx_op x, onnx_op window, int64_t step, int64_t size)
{
	x = (size - 1) / step < MOST_PIECES ? framed(n, x, step, size)
					    : framed_densely(n, x, step, size);
	return window ? ox_bin(n, NCC_MUL, x, ox_f32(n, window)) : x;
}

static void import_stft(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), window = onnx_in(n, 2);
	struct transform t = { 0 };
	struct ncc_complex v = { NULL, NULL };
	double step, size;

	/* Exporters write real samples without the last dimension, of 1. */
	if (x->shape.ndim == 2)
		x = ox_insert(n, x, 2);
	if (!x || !take_frames(n, x, window, &step, &size))
		return;

	t.size = (int64_t)size;
	t.bins = onnx_int(n, "onesided") ? t.size / 2 + 1 : t.size;
	v.re = windowed(n, part_of(n, x, 0), window, (int64_t)step, t.size);
	if (x->shape.dim[2] == 2)
		v.im = windowed(n, part_of(n, x, 1), window, (int64_t)step, t.size);
	onnx_give(n, 0, ox_cast_like(n, transformed(n, v, 2, &t), x));
}

static double mel(double hertz)
{
	return 2595 * log10(1 + hertz / 700);
}

struct bank {
	double bins, size, rate, low, high;
};

/* The bin of the spectrum where filter i begins; the next one begins at its middle. */
static double corner(const struct bank *b, int64_t i)
{
	double step = (mel(b->high) - mel(b->low)) / (b->bins + 2);
	double hertz = 700 * (pow(10, ((double)i * step + mel(b->low)) / 2595) - 1);

	return floor((b->size + 1) * hertz / b->rate);
}

/* The value at bin j of a filter, a triangle with its begin, middle and end in at */
static double filter(const double *at, double j)
{
	const double from = at[0], middle = at[1], to = at[2];

	if (j >= middle && j < to)
		return (to - j) / (to - middle);
	if (j == middle && from == middle)
		return 1;
	return j >= from && j <= middle ? (j - from) / (middle - from) : 0;
}

static void import_mel(struct onnx_node *n)
{
	int32_t type = (int32_t)onnx_int(n, "output_datatype");
	struct ncc_shape s = { .ndim = 2 };
	struct bank b;
	onnx_op op;

	if (!onnx_in_scalar(n, 0, &b.bins) || !onnx_in_scalar(n, 1, &b.size) ||
	    !onnx_in_scalar(n, 2, &b.rate) || !onnx_in_scalar(n, 3, &b.low) ||
	    !onnx_in_scalar(n, 4, &b.high))
		return;
	if (onnx_dtype(type, &s) || !(b.bins >= 1 && b.bins <= ONNX_MAX_DATA) || !(b.size >= 1) ||
	    b.size > ONNX_MAX_DATA || !(b.rate > 0) || !(b.low >= 0) || !(b.high > b.low)) {
		onnx_fail(n, -ENOTSUP, "%g bins of %g at %g Hz, from %g to %g, of type %s", b.bins,
			  b.size, b.rate, b.low, b.high, onnx_type_name(type));
		return;
	}
	s.dim[0] = (int64_t)b.size / 2 + 1;
	s.dim[1] = (int64_t)b.bins;
	op = ox_data(n, &s);
	for (int64_t i = 0; op && i < s.dim[1]; i++) {
		const double at[] = { corner(&b, i), corner(&b, i + 1), corner(&b, i + 2) };

		for (int64_t j = 0; j < s.dim[0]; j++)
			ncc_set(s.dtype, op->data, j * s.dim[1] + i, filter(at, (double)j));
	}
	onnx_give_as(n, 0, op, type);
}

const struct onnx_rule onnx_signal[] = {
	/* clang-format off */
	{ "DFT",             1,  3, .import = import_dft, .since = 17,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = 1, .until = 19), ATTR("inverse", INT),
		ATTR("onesided", INT)) },
	{ "MelWeightMatrix", 5,  5, .import = import_mel, .since = 17, .attrs = ONNX_ATTRS(ATTR("output_datatype", INT, .i = 1)) },
	{ "STFT",            2,  4, .import = import_stft, .since = 17, .attrs = ONNX_ATTRS(ATTR("onesided", INT, .i = 1)) },
	{ .op_type = NULL },
	/* clang-format on */
};
