// SPDX-License-Identifier: MIT
/*
 * Fourier transforms, as products with a constant matrix of cosines and sines, and the mel filter
 * bank. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>

#include "onnx.h"

/*
 * Part `part` (0: real, 1: imaginary) of what part `from` of sample t contributes to bin k of a
 * transform of size n
 */
static double factor(int64_t t, int64_t k, int64_t n, unsigned int from, unsigned int part,
		     bool inverse)
{
	double angle = 2 * M_PI * (double)(t * k % n) / (double)n;
	double s = inverse ? sin(angle) : -sin(angle), v;

	if (from == part)
		v = cos(angle);
	else
		v = part ? s : -s;
	return inverse ? v / (double)n : v;
}

struct transform {
	int64_t size, taken, bins; /* taken: samples that are not 0 */
	unsigned int parts; /* parts of a sample: 1 or 2 */
	bool inverse;
};

/* [samples, parts, bins, 2], or for a convolution [bins * 2, parts, samples] */
static onnx_op matrix(struct onnx_node *n, const struct transform *t, bool kernel)
{
	struct ncc_shape s = { NEURON_DT_FP32, false, 4, { t->taken, t->parts, t->bins, 2 } };
	const struct ncc_shape kernel_shape = {
		NEURON_DT_FP32, false, 3, { t->bins * 2, t->parts, t->taken }
	};
	onnx_op op = ox_data(n, kernel ? &kernel_shape : &s);
	int64_t at = 0;

	for (int64_t i = 0; op && i < t->taken; i++) {
		for (unsigned int from = 0; from < t->parts; from++) {
			for (int64_t k = 0; k < 2 * t->bins; k++, at++) {
				double v = factor(i, k / 2, t->size, from, k & 1, t->inverse);
				int64_t to = kernel ? (k * t->parts + from) * t->taken + i : at;

				ncc_set(s.dtype, op->data, to, v);
			}
		}
	}
	return op;
}

/* Transforms along axis; the last dimension is 1, or 2 for complex numbers. */
static onnx_op transformed(struct onnx_node *n, onnx_op x, unsigned int axis,
			   const struct transform *t)
{
	const unsigned int last = x->shape.ndim - 1;
	struct ncc_dot d = { .ncontract = 2,
			     .lhs_contract = { (uint8_t)axis, (uint8_t)last },
			     .rhs_contract = { 0, 1 } };
	uint8_t perm[NCC_MAX_DIMS] = { 0 };

	x = ox_slice(n, ox_f32(n, x), axis, 0, t->taken, 1);
	x = ox_dot(n, x, matrix(n, t, false), &d, NEURON_DT_FP32);
	for (unsigned int i = 0; i <= last; i++)
		perm[i] = (uint8_t)(i < axis ? i : i == axis ? last - 1 : i == last ? last : i - 1);
	return ox_transpose(n, x, perm);
}

static bool check_parts(struct onnx_node *n, onnx_op x, unsigned int least)
{
	const struct ncc_shape *s = &x->shape;

	if (s->ndim < least || s->dim[s->ndim - 1] > 2)
		onnx_fail(n, -EINVAL,
			  "rank %u with last dimension %lld, expected 1 or 2 in the last of %u",
			  s->ndim, s->ndim ? (long long)s->dim[s->ndim - 1] : 0LL, least);
	return !n->rc;
}

static void import_dft(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);
	int64_t axis = n->opset < 20 ? onnx_int(n, "axis", 1) : -2, size = 0;
	bool half = onnx_int(n, "onesided", 0);
	struct transform t = { .inverse = onnx_int(n, "inverse", 0) };
	unsigned int a, one = 1;

	if (!check_parts(n, x, 2) ||
	    (onnx_in(n, 2) && (!onnx_in_ints(n, 2, &axis, 1, &one) || !one)) ||
	    (onnx_in(n, 1) && (!onnx_in_ints(n, 1, &size, 1, &one) || !one)))
		return;
	a = onnx_axis(n, axis, x->shape.ndim);
	if (!n->rc && a == x->shape.ndim - 1)
		onnx_fail(n, -EINVAL, "along the last dimension, which is of the numbers' parts");
	if (half && t.inverse)
		onnx_fail(n, -ENOTSUP, "onesided of an inverse is not supported");
	if (onnx_in(n, 1) && (size < 1 || size > ONNX_MAX_DATA))
		onnx_fail(n, -EINVAL, "a length of %lld", (long long)size);
	if (n->rc)
		return;

	t.parts = (unsigned int)x->shape.dim[x->shape.ndim - 1];
	t.size = onnx_in(n, 1) ? size : x->shape.dim[a];
	t.taken = t.size < x->shape.dim[a] ? t.size : x->shape.dim[a];
	t.bins = half ? t.size / 2 + 1 : t.size;
	onnx_give(n, 0, ox_cast_like(n, transformed(n, x, a, &t), x));
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

/* The window is multiplied into the kernel of a convolution along the signal. */
static void import_stft(struct onnx_node *n)
{
	static const uint8_t swap[] = { 0, 2, 1 };
	onnx_op x = onnx_in(n, 0), window = onnx_in(n, 2), kernel, y;
	struct transform t = { 0 };
	const uint8_t map = 2;
	double step, size;

	/* Exporters write real samples without the last dimension, of 1. */
	if (x->shape.ndim == 2)
		x = ox_insert(n, x, 2);
	if (!x || !take_frames(n, x, window, &step, &size))
		return;

	t.size = t.taken = (int64_t)size;
	t.bins = onnx_int(n, "onesided", 1) ? t.size / 2 + 1 : t.size;
	t.parts = (unsigned int)x->shape.dim[2];
	kernel = matrix(n, &t, true);
	if (window && kernel)
		kernel = ox_bin(n, NCC_MUL, kernel,
				ox_spread(n, ox_f32(n, window), &kernel->shape, &map));
	y = ox_transpose(n, ox_f32(n, x), swap);
	y = ox_transpose(n, ox_conv_line(n, y, kernel, (int64_t)step), swap);
	if (y)
		y = ox_reshape(n, y, 4, (int64_t[]){ y->shape.dim[0], y->shape.dim[1], t.bins, 2 });
	onnx_give(n, 0, ox_cast_like(n, y, x));
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
	int32_t type = (int32_t)onnx_int(n, "output_datatype", ONNX_FLOAT);
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
	{ "DFT",             1,  3, .import = import_dft },
	{ "MelWeightMatrix", 5,  5, .import = import_mel },
	{ "STFT",            2,  4, .import = import_stft },
	{ .op_type = NULL },
	/* clang-format on */
};
