// SPDX-License-Identifier: MIT
/*
 * Convolutions and products of quantized values. PE multiplies signed bytes and adds them exactly,
 * so what is a scale times whole numbers of eight bits goes into them as bytes, and the sum is
 * scaled once. A byte is the number plus an offset that brings its range to -128; what that adds to
 * each sum is known, as the kernel is. Part of the ONNX front end.
 */
#include <math.h>

#include "products.h"
#include "whole.h"

#define BYTE_DEPTH 8 /* moves between a scale and its convolution */
#define BYTE_LEAST (-128)

struct bytes {
	float scale;
	struct ncc_range whole; /* of the whole numbers */
};

void quant_remember(struct onnx_node *n, onnx_op value, onnx_op whole, onnx_op scale,
		    unsigned int axis)
{
	struct onnx_multiple *m;

	if (!value || !whole || !scale || n->rc)
		return;
	m = ncc_alloc(n->imp->m, sizeof(*m));
	if (!m)
		return;
	*m = (struct onnx_multiple){ value, whole, scale, axis, n->imp->multiples };
	n->imp->multiples = m;
}

static const struct onnx_multiple *multiple_of(const struct onnx_node *n, const struct ncc_op *x)
{
	const struct onnx_multiple *m = x ? n->imp->multiples : NULL;

	for (; m && m->value != x; m = m->next)
		n->imp->steps++;
	return m;
}

/* The number that was added to a whole number to make a byte of it */
static int64_t offset_of(const struct bytes *b)
{
	return BYTE_LEAST - b->whole.lo;
}

static bool is_byte_sum(const struct ncc_op *x)
{
	struct ncc_range r;

	for (unsigned int i = 0; x->kind == NCC_ADD && i < BYTE_DEPTH; i++)
		x = x->in[0];
	return (x->kind == NCC_CONV || x->kind == NCC_DOT) &&
	       (x->in[0]->shape.dtype == NEURON_DT_INT8 || quant_is_whole(x->in[0], &r));
}

/* Is number v, times `times`, limited by the type of bytes too? */
static bool is_limit(const struct ncc_op *x, const struct bytes *b, float times)
{
	double v;

	if ((x->kind != NCC_MAX && x->kind != NCC_MIN) || !ncc_scalar_value(x->in[1], &v))
		return false;
	v = (double)((float)v * times);
	return x->kind == NCC_MIN ? nearbyint(v) >= (double)b->whole.hi
				  : nearbyint(v) <= (double)b->whole.lo;
}

/*
 * x is rounded: the number without limits that a byte has too. What is too large for adding
 * QUANT_WHOLE stays large.
 */
static onnx_op unlimited(struct onnx_node *n, onnx_op x, const struct bytes *b)
{
	onnx_op of = x;
	double times;

	while (is_limit(of, b, 1))
		of = of->in[0];
	if (of->kind != NCC_MUL || !ncc_scalar_value(of->in[1], &times) ||
	    !is_limit(of->in[0], b, (float)times))
		return of;
	x = of->in[0];
	while (is_limit(x, b, (float)times))
		x = x->in[0];
	return ox_bin(n, NCC_MUL, x, of->in[1]);
}

/* x rounded, as bytes */
static onnx_op rounded_byte(struct onnx_node *n, onnx_op x, const struct bytes *b)
{
	x = ox_binc(n, NCC_ADD, x, QUANT_WHOLE);
	x = ox_binc(n, NCC_SUB, x, QUANT_WHOLE - (double)offset_of(b));
	return quant_packed(n, x, NEURON_DT_INT8);
}

static onnx_op bytes_of(struct onnx_node *n, onnx_op x, const struct bytes *b, unsigned int depth);

/* The numbers of a concatenation rounded, where each part's nearest one is a number that it has */
static onnx_op joined(struct onnx_node *n, onnx_op x, const struct bytes *b, unsigned int depth)
{
	onnx_op part[NCC_MAX_OPERANDS], of = x->in[0];

	if (of->nin > NCC_MAX_OPERANDS)
		return NULL;
	for (unsigned int i = 0; i < of->nin && !n->rc; i++) {
		part[i] = bytes_of(n, of->in[i], b, depth - 1);
		if (!part[i])
			part[i] = rounded_byte(n, ox_binc(n, NCC_MUL, of->in[i], 1 / b->scale), b);
	}
	return n->rc ? NULL : ox_concat(n, part, of->nin, of->axis);
}

/* Whole numbers as bytes */
static onnx_op packed(struct onnx_node *n, onnx_op whole, const struct bytes *b, unsigned int depth)
{
	double v;
	onnx_op x;

	if (!quant_is_rounded(whole))
		return quant_packed(n, ox_binc(n, NCC_ADD, whole, (double)offset_of(b)),
				    NEURON_DT_INT8);
	x = whole->in[0]->in[0];
	if (depth && x->kind == NCC_MUL && x->in[0]->kind == NCC_CONCAT &&
	    ncc_scalar_value(x->in[1], &v) && (float)v == 1 / b->scale)
		return joined(n, x, b, depth);
	return rounded_byte(n, unlimited(n, x, b), b);
}

/* The number that x is a multiple of: the first of its parts that says so */
static bool find(const struct ncc_op *x, struct bytes *b, unsigned int depth)
{
	double v;

	if (x->shape.dtype != NEURON_DT_FP32)
		return false;
	if (x->kind == NCC_MUL && quant_is_whole(x->in[0], &b->whole) &&
	    ncc_scalar_value(x->in[1], &v)) {
		b->scale = (float)v;
		return b->whole.hi - b->whole.lo <= UINT8_MAX && b->whole.lo <= 0 &&
		       b->whole.hi >= 0 && isnormal(b->scale) && b->scale > 0;
	}
	switch (x->kind) {
	case NCC_REDUCE_WINDOW:
	case NCC_CONCAT:
	case NCC_RESHAPE:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
	case NCC_MAX:
	case NCC_MIN:
		return depth && find(x->in[0], b, depth - 1);
	default:
		return false;
	}
}

/* t, bytes, with x's limit, which leaves each multiple as it is or is 0; NULL: another */
static onnx_op limited(struct onnx_node *n, onnx_op t, const struct ncc_op *x,
		       const struct bytes *b)
{
	double v;

	if (!ncc_scalar_value(x->in[1], &v))
		return NULL;
	if (x->kind == NCC_MAX ? v <= (double)((float)b->whole.lo * b->scale)
			       : v >= (double)((float)b->whole.hi * b->scale))
		return t;
	return v ? NULL : ox_binc(n, x->kind, t, (double)offset_of(b));
}

static onnx_op concatenated(struct onnx_node *n, onnx_op x, const struct bytes *b,
			    unsigned int depth)
{
	onnx_op part[NCC_MAX_OPERANDS];

	if (x->nin > NCC_MAX_OPERANDS)
		return NULL;
	for (unsigned int i = 0; i < x->nin; i++) {
		part[i] = bytes_of(n, x->in[i], b, depth);
		if (!part[i])
			return NULL;
	}
	return ox_concat(n, part, x->nin, x->axis);
}

/* x, multiples of b's scale or moved ones, as bytes; NULL: something else is among them */
static onnx_op bytes_of(struct onnx_node *n, onnx_op x, const struct bytes *b, unsigned int depth)
{
	struct bytes own;
	onnx_op t;

	if (!depth || n->rc)
		return NULL;
	if (x->kind == NCC_MUL)
		return find(x, &own, 0) && own.scale == b->scale && own.whole.lo == b->whole.lo &&
				       own.whole.hi == b->whole.hi
			       ? packed(n, x->in[0], b, depth)
			       : NULL;
	if (x->kind == NCC_CONCAT)
		return concatenated(n, x, b, depth - 1);
	t = x->nin ? bytes_of(n, x->in[0], b, depth - 1) : NULL;
	if (!t)
		return NULL;
	switch (x->kind) {
	case NCC_MAX:
	case NCC_MIN:
		return limited(n, t, x, b);
	case NCC_REDUCE_WINDOW:
		return x->func == NCC_MAX ? ox_reduce_window(n, t, NCC_MAX, BYTE_LEAST, x->window)
					  : NULL;
	case NCC_RESHAPE:
		return ox_reshape(n, t, x->shape.ndim, x->shape.dim);
	case NCC_TRANSPOSE:
		return ox_transpose(n, t, x->map);
	default:
		return NULL;
	}
}

/* A number of a constant that has one, or one for each channel, in order */
static double channel(const struct ncc_op *c, int64_t i)
{
	return ncc_get(c->shape.dtype, c->data, ncc_elems(&c->shape) == 1 ? 0 : i);
}

static bool is_channels(const struct ncc_op *c, int64_t count)
{
	return c->kind == NCC_CONST && c->data &&
	       (ncc_elems(&c->shape) == 1 || ncc_elems(&c->shape) == count);
}

/* A vector to fill in, one number for each channel */
static onnx_op channels(struct onnx_node *n, int64_t count)
{
	const struct ncc_shape s = { .dtype = NEURON_DT_FP32, .ndim = 1, .dim = { count } };

	return ox_data(n, &s);
}

static onnx_op spread(struct onnx_node *n, onnx_op vector, onnx_op like, unsigned int axis)
{
	const uint8_t map = (uint8_t)axis;

	return vector && like ? ox_spread(n, vector, &like->shape, &map) : NULL;
}

/* A convolution or product of bytes that is being made */
struct sum {
	bool whole; /* of whole numbers in fp32 instead */
	struct bytes in;
	int64_t offset; /* what was added to the input's whole numbers */
	double most; /* the greatest magnitude of those then */
	const struct onnx_multiple *kernel, *bias;
	unsigned int axis; /* the kernel's dimension of channels */
	int64_t channels;
};

/* The scale of a channel's sum */
static float sum_scale(const struct sum *s, int64_t c)
{
	return s->in.scale * (float)channel(s->kernel->scale, c);
}

/* The number that is added to a channel's sum of bytes; false: it might not be exact in fp32 */
static bool sum_shift(const struct sum *s, int64_t c, double *shift)
{
	const struct ncc_op *k = s->kernel->whole;
	int64_t inner = 1, each = ncc_elems(&k->shape) / s->channels;
	double sum = 0, size = 0;

	for (unsigned int d = s->axis + 1; d < k->shape.ndim; d++)
		inner *= k->shape.dim[d];
	for (int64_t i = 0; i < each; i++) {
		int64_t at = (i / inner * s->channels + c) * inner + i % inner;
		double v = ncc_get(k->shape.dtype, k->data, at);

		sum += v;
		size += fabs(v);
	}
	*shift = (s->bias ? channel(s->bias->whole, c) : 0) - (double)s->offset * sum;
	return fabs(*shift) + size * s->most <= ONNX_EXACT_MOST;
}

/* Has the bias one number for each channel, or one, and the sums' scale? */
static bool bias_fits(const struct sum *s)
{
	const struct ncc_shape *b = s->bias ? &s->bias->whole->shape : NULL;

	if (!b)
		return true;
	if (!is_channels(s->bias->whole, s->channels) || !is_channels(s->bias->scale, s->channels))
		return false;
	if (ncc_elems(b) > 1 && b->dim[b->ndim - 1] != s->channels)
		return false;
	for (int64_t c = 0; c < s->channels; c++)
		if ((float)channel(s->bias->scale, c) != sum_scale(s, c))
			return false;
	return true;
}

static bool take_sum(const struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, struct sum *s)
{
	double shift;

	s->kernel = multiple_of(n, k);
	s->bias = multiple_of(n, bias);
	s->channels = k->shape.dim[s->axis];
	if (!s->kernel || (bias && !s->bias) || s->kernel->whole->kind != NCC_CONST ||
	    s->kernel->whole->shape.dtype != NEURON_DT_INT8 ||
	    !is_channels(s->kernel->scale, s->channels) ||
	    (s->kernel->axis != s->axis && ncc_elems(&s->kernel->scale->shape) > 1) ||
	    !find(x, &s->in, s->whole ? 0 : BYTE_DEPTH) || !bias_fits(s))
		return false;
	s->offset = s->whole ? 0 : offset_of(&s->in);
	s->most = fmax((double)(s->in.whole.hi + s->offset), -(double)(s->in.whole.lo + s->offset));
	for (int64_t c = 0; c < s->channels; c++)
		if (!sum_shift(s, c, &shift))
			return false;
	return true;
}

static bool take_operands(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, struct sum *s,
			  struct onnx_bytes *b)
{
	double shift;

	if (!x || !k || n->rc || !take_sum(n, x, k, bias, s))
		return false;
	n->exact = true;
	b->x = s->whole ? x->in[0] : bytes_of(n, x, &s->in, BYTE_DEPTH);
	n->exact = b->x; /* else it is a convolution as others are */
	b->k = s->whole ? ox_f32(n, s->kernel->whole) : s->kernel->whole;
	b->padding = (double)s->offset;
	b->shift = b->x ? channels(n, s->channels) : NULL;
	b->scale = b->x ? channels(n, s->channels) : NULL;
	for (int64_t c = 0; b->shift && b->scale && c < s->channels; c++) {
		sum_shift(s, c, &shift);
		((float *)b->shift->data)[c] = (float)shift;
		((float *)b->scale->data)[c] = sum_scale(s, c);
	}
	return b->shift && b->scale;
}

bool ox_bytes(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, unsigned int axis,
	      struct onnx_bytes *b)
{
	struct sum s = { .axis = axis };

	return take_operands(n, x, k, bias, &s, b);
}

bool ox_wholes(struct onnx_node *n, onnx_op x, onnx_op k, onnx_op bias, struct onnx_bytes *b)
{
	struct sum s = { .whole = true };

	return take_operands(n, x, k, bias, &s, b);
}

onnx_op ox_sum_of_bytes(struct onnx_node *n, onnx_op sum, const struct onnx_bytes *b,
			unsigned int axis)
{
	onnx_op x;

	sum = ox_bin(n, NCC_ADD, sum, spread(n, b->shift, sum, axis));
	x = ox_bin(n, NCC_MUL, sum, spread(n, b->scale, sum, axis));
	quant_remember(n, x, sum, b->scale, axis);
	return x;
}

/* The whole numbers that x is multiples of, as bytes and what is to be added to each; false: x is
 * not */
static bool take_bytes(struct onnx_node *n, onnx_op x, struct quant_eight *e, float *scale)
{
	struct bytes b;

	if (!x || n->rc || !find(x, &b, BYTE_DEPTH))
		return false;
	*scale = b.scale;
	e->byte = bytes_of(n, x, &b, BYTE_DEPTH);
	e->plus = NULL;
	if (e->byte && offset_of(&b))
		e->plus = ox_number(n, -(double)offset_of(&b));
	return e->byte;
}

onnx_op ox_product_of_bytes(struct onnx_node *n, onnx_op a, onnx_op b)
{
	struct quant_eight x, y;
	onnx_op sum, r, by;
	float scale[2];

	if (!a || !b || n->rc || a->shape.ndim < 2 || b->shape.ndim < 2)
		return NULL;
	n->exact = true;
	sum = take_bytes(n, a, &x, &scale[0]) && take_bytes(n, b, &y, &scale[1])
		      ? quant_product_of(n, &x, &y)
		      : NULL;
	n->exact = sum;
	by = sum ? ox_number(n, (double)(scale[0] * scale[1])) : NULL;
	r = ox_bin(n, NCC_MUL, sum, by);
	quant_remember(n, r, sum, by, 0);
	return r;
}

/* Takes activations off that are limits of the result: *low, *high in x's own numbers */
static onnx_op before_limits(onnx_op x, float *low, float *high)
{
	double v;

	*low = -INFINITY;
	*high = INFINITY;
	while ((x->kind == NCC_MAX || x->kind == NCC_MIN) && ncc_scalar_value(x->in[1], &v)) {
		/* What comes later holds: it is not limited any more. */
		if (x->kind == NCC_MAX && *high == INFINITY)
			*low = fmaxf(*low, (float)v);
		else if (x->kind == NCC_MIN)
			*high = fminf(*high, (float)v);
		else
			break;
		x = x->in[0];
	}
	return x;
}

onnx_op quant_of_bytes(struct onnx_node *n, onnx_op x, onnx_op scale, onnx_op zero,
		       const struct ncc_shape *to)
{
	const struct onnx_multiple *m;
	double by, z = 0;
	float low, high;
	onnx_op times;

	if (!x || n->rc || !ncc_scalar_value(scale, &by) || by <= 0 ||
	    (zero && !ncc_scalar_value(zero, &z)))
		return NULL;
	x = before_limits(x, &low, &high);
	m = multiple_of(n, x);
	times = m && is_byte_sum(m->whole) ? channels(n, m->whole->shape.dim[m->axis]) : NULL;
	if (!times)
		return NULL;
	for (int64_t c = 0; c < times->shape.dim[0]; c++)
		((float *)times->data)[c] = (float)channel(m->scale, c) / (float)by;
	low = fmaxf(low / (float)by, (float)(ox_least(to) - z));
	high = fminf(high / (float)by, (float)(ox_most(to) - z));
	x = ox_bin(n, NCC_MUL, m->whole, spread(n, times, m->whole, m->axis));
	x = ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, x, low), high);
	return quant_rounded(n, x, 1);
}
