// SPDX-License-Identifier: MIT
/*
 * Simplifies windows: padding and base dilation become pad operations, a reversed kernel a reverse
 * operation, and a reduction over a window of several dimensions one for each dimension, so that
 * the code generator sees only sizes, strides and window dilations. Long windows, and those of
 * integers, become element-wise operations of slices. What of a kernel meets only padding is cut
 * off.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "pass.h"
#include "ir/range.h"

#define LONG 16 /* windows from here on are combined from shorter ones */

/* pad(x) for the windows of the given dimensions; x itself if there is nothing to pad */
static struct ncc_op *pad_for(struct ncc_pass *p, struct ncc_op *like, struct ncc_op *x,
			      struct ncc_op *value, struct ncc_window *w, const uint8_t *dim,
			      unsigned int n)
{
	struct ncc_op *pad;
	bool any = false;

	for (unsigned int i = 0; i < n; i++)
		any = any || w[i].low || w[i].high || w[i].base_dilation != 1;
	if (!any)
		return x;
	pad = pass_new(p, NCC_PAD, like, &x->shape, x, value);
	if (!pad)
		return NULL;
	for (unsigned int i = 0; i < n; i++) {
		unsigned int d = dim ? dim[i] : i;

		pad->low[d] = w[i].low;
		pad->high[d] = w[i].high;
		pad->interior[d] = w[i].base_dilation - 1;
		pad->shape.dim[d] +=
			(pad->shape.dim[d] - 1) * pad->interior[d] + w[i].low + w[i].high;
		w[i].low = w[i].high = 0;
		w[i].base_dilation = 1;
	}
	return ncc_verify_op(pad, p->err) ? NULL : pad;
}

static bool is_finite_constant(const struct ncc_op *op)
{
	if (op->kind != NCC_CONST)
		return false;
	for (int64_t i = 0; i < ncc_elems(&op->shape); i++)
		if (!isfinite(ncc_get(op->shape.dtype, op->data, i)))
			return false;
	return true;
}

/*
 * How many elements of a kernel, from its first (or last) one on, meet only padding, whose products
 * are zeros, and with them no more than this padding
 */
static int64_t in_padding(const struct ncc_window *w, int64_t in, int64_t out, bool last)
{
	const int64_t pad = last ? w->high : w->low, step = w->window_dilation;
	int64_t n = 0, padded = in + w->low + w->high;

	while (n < w->size - 1 && (n + 1) * step <= pad) {
		int64_t first = (last ? w->size - 1 - n : n) * step,
			end = first + (out - 1) * w->stride;

		if (last ? first < padded - w->high : end >= w->low)
			break;
		n++;
	}
	return n;
}

/* Cuts what meets only padding off the kernel: far dilations reach beyond a small operand. */
static struct ncc_op *cut_kernel(struct ncc_pass *p, struct ncc_op *op)
{
	struct ncc_op *k = op->in[1], *cut;
	int64_t low[NCC_MAX_DIMS] = { 0 };
	struct ncc_shape s = k->shape;

	for (unsigned int i = 0; i < op->conv->nspatial; i++) {
		struct ncc_window *w = &op->window[i];
		int64_t in = op->in[0]->shape.dim[op->conv->in_spatial[i]],
			out = op->shape.dim[op->conv->out_spatial[i]], high;

		if (w->base_dilation != 1)
			continue;
		low[op->conv->k_spatial[i]] = in_padding(w, in, out, false);
		w->low -= low[op->conv->k_spatial[i]] * w->window_dilation;
		w->size -= low[op->conv->k_spatial[i]];
		high = in_padding(w, in, out, true);
		w->high -= high * w->window_dilation;
		w->size -= high;
		s.dim[op->conv->k_spatial[i]] = w->size;
	}
	if (ncc_same_dims(&s, &k->shape))
		return k;
	cut = pass_new(p, NCC_SLICE, op, &s, k, NULL);
	for (unsigned int d = 0; cut && d < s.ndim; d++) {
		cut->start[d] = low[d];
		cut->stride[d] = 1;
	}
	return cut;
}

static int plain_conv(struct ncc_pass *p, struct ncc_op *op)
{
	struct ncc_op *zero = ncc_const_scalar(p->m, op->in[0]->shape.dtype, 0), *rev, *pad;
	uint32_t mask = 0;

	for (unsigned int i = 0; i < op->conv->nspatial; i++) {
		if (op->window[i].reversal)
			mask |= 1u << op->conv->k_spatial[i];
		op->window[i].reversal = false;
	}

	if (mask) {
		rev = pass_new(p, NCC_REVERSE, op, &op->in[1]->shape, op->in[1], NULL);
		if (!rev)
			return ncc_no_memory(p->err);
		rev->mask = mask;
		op->in[1] = rev;
	}

	if (is_finite_constant(op->in[1])) {
		op->in[1] = cut_kernel(p, op);
		if (!op->in[1])
			return ncc_no_memory(p->err);
	}

	p->err->text[0] = 0;
	pad = zero ? pad_for(p, op, op->in[0], zero, op->window, op->conv->in_spatial,
			     op->conv->nspatial)
		   : NULL;
	if (!pad)
		return p->err->text[0] ? -EFBIG : ncc_no_memory(p->err);
	op->in[0] = pad;
	return 0;
}

/* Elements start, start + stride, ... of dimension d */
static struct ncc_op *every(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t start,
			    int64_t n, int64_t stride)
{
	struct ncc_op *op = build_slice(bl, x, d, start, n);

	if (op && op != x)
		op->stride[d] = stride;
	return op;
}

/* A window's elements one after the other, of its stride's places only */
static struct ncc_op *single_elements(struct ncc_build *bl, enum ncc_kind func, struct ncc_op *x,
				      unsigned int d, const struct ncc_window *w, int64_t out)
{
	struct ncc_op *r = NULL;

	for (int64_t at = 0; x && at < w->size; at++) {
		struct ncc_op *p = every(bl, x, d, at * w->window_dilation, out, w->stride);

		r = r ? build_binary(bl, func, r, p) : p;
	}
	return r;
}

/* Are those fewer elements than the windows of all places are, of which a stride leaves most out? */
static bool is_cheaper_singly(const struct ncc_window *w)
{
	int64_t work = 0;

	for (int64_t n = 1; n <= w->size; n *= 2)
		work += (w->size & n ? 1 : 0) + (2 * n <= w->size ? w->stride : 0);
	return w->stride > 1 && w->size <= work;
}

/*
 * A window of n elements is the windows of 1, 2, 4, ... elements that add up to n, side by side;
 * each of those is two of the one before. So a cumulative sum of n elements takes log2(n) steps.
 */
static struct ncc_op *long_window(struct ncc_build *bl, enum ncc_kind func, struct ncc_op *x,
				  unsigned int d, const struct ncc_window *w, int64_t out)
{
	struct ncc_op *r = NULL;
	int64_t at = 0;

	if (is_cheaper_singly(w))
		return single_elements(bl, func, x, d, w, out);
	for (int64_t n = 1; x && n <= w->size; n *= 2) {
		int64_t step = n * w->window_dilation;

		if (w->size & n) {
			struct ncc_op *p = every(bl, x, d, at * w->window_dilation, out, w->stride);

			r = r ? build_binary(bl, func, r, p) : p;
			at += n;
		}
		if (2 * n <= w->size)
			x = build_binary(bl, func, build_slice(bl, x, d, 0, x->shape.dim[d] - step),
					 build_slice(bl, x, d, step, x->shape.dim[d] - step));
	}
	return r;
}

static bool is_long(const struct ncc_op *op)
{
	bool integer = !op->shape.pred && !ncc_is_float(op->shape.dtype);

	for (unsigned int d = 0; d < op->shape.ndim; d++)
		if (op->window[d].size > (integer ? 1 : LONG - 1))
			return true;
	return integer;
}

/* Does the initial value change the sum or product, so that it may be applied only once? */
static bool adds_once(const struct ncc_op *op)
{
	double v;

	return (op->func == NCC_ADD || op->func == NCC_MUL) &&
	       (!ncc_scalar_value(op->in[1], &v) || v != (op->func == NCC_MUL));
}

/*
 * Is it the least or greatest integer of elements, of which each window has the first one if it
 * reaches before it, and the last one if it reaches beyond?
 */
static bool is_extreme(const struct ncc_op *op)
{
	double v;

	if ((op->func != NCC_MAX && op->func != NCC_MIN) || op->shape.pred ||
	    ncc_is_float(op->shape.dtype) || !ncc_scalar_value(op->in[1], &v) ||
	    v != ncc_neutral(op->func, &op->shape) || !ncc_elems(&op->in[0]->shape))
		return false;
	for (unsigned int d = 0; d < op->shape.ndim; d++) {
		const struct ncc_window *w = &op->window[d];

		if (w->base_dilation != 1 || w->window_dilation != 1 || w->low < 0 || w->high < 0 ||
		    w->low >= w->size || w->high >= w->size)
			return false;
	}
	return true;
}

/* The first or last element of dimension d, n times */
static struct ncc_op *edge(struct ncc_build *bl, struct ncc_op *x, unsigned int d, int64_t at,
			   int64_t n)
{
	struct ncc_shape s = x->shape, one = s;
	uint8_t map[NCC_MAX_DIMS];

	one.ndim--;
	for (unsigned int i = 0; i < one.ndim; i++) {
		map[i] = (uint8_t)(i + (i >= d));
		one.dim[i] = s.dim[map[i]];
	}
	s.dim[d] = n;
	x = build_reshape(bl, build_slice(bl, x, d, at, 1), &one);
	return x ? build_spread(bl, &s, x, map) : NULL;
}

/*
 * x for windows of extremes: padded with its own elements, which change none, rather than with the
 * largest integer there is, so that what is known of their bounds stays known.
 */
static struct ncc_op *pad_extremes(struct ncc_build *bl, struct ncc_op *x, struct ncc_window *w)
{
	for (unsigned int d = 0; x && d < x->shape.ndim; d++) {
		struct ncc_op *part[3];
		unsigned int n = 0;

		if (w[d].low)
			part[n++] = edge(bl, x, d, 0, w[d].low);
		part[n++] = x;
		if (w[d].high)
			part[n++] = edge(bl, x, d, x->shape.dim[d] - 1, w[d].high);
		x = n > 1 ? build_concat(bl, part, n, d) : x;
		w[d].low = w[d].high = 0;
	}
	return x;
}

static int extreme_window(struct ncc_pass *p, struct ncc_op *op)
{
	int64_t const_bytes = 0;
	struct ncc_build bl = pass_build(p, op, &const_bytes);
	struct ncc_op *x = pad_extremes(&bl, op->in[0], op->window);

	for (unsigned int d = 0; d < op->shape.ndim; d++)
		x = long_window(&bl, op->func, x, d, &op->window[d], op->shape.dim[d]);
	if (!x)
		return ncc_no_memory(p->err);
	op->replaced = x;
	return 0;
}

static int split_reduce_window(struct ncc_pass *p, struct ncc_op *op, struct ncc_op *x)
{
	int64_t const_bytes = 0;
	struct ncc_build bl = pass_build(p, op, &const_bytes);
	struct ncc_shape s = op->shape;
	struct ncc_op *init = op->in[1];

	if (ncc_is_float(s.dtype)) { /* rounded once, at the end */
		x = build_cast(&bl, x, NEURON_DT_FP32);
		init = build_cast(&bl, init, NEURON_DT_FP32);
		s.dtype = NEURON_DT_FP32;
	}
	for (unsigned int d = 0; d < op->shape.ndim; d++)
		x = long_window(&bl, op->func, x, d, &op->window[d], op->shape.dim[d]);
	init = s.ndim && init ? build_spread(&bl, &s, init, NULL) : init;
	x = build_binary(&bl, op->func, x, init);
	if (x && op->shape.dtype != s.dtype)
		x = build_cast(&bl, x, op->shape.dtype);
	if (!x)
		return ncc_no_memory(p->err);
	op->replaced = x;
	return 0;
}

static int plain_reduce_window(struct ncc_pass *p, struct ncc_op *op)
{
	const struct ncc_window one = { 1, 1, 0, 0, 1, 1, false };
	struct ncc_op *x;
	unsigned int last = 0, left = 0;

	if (is_extreme(op))
		return extreme_window(p, op);
	p->err->text[0] = 0;
	x = pad_for(p, op, op->in[0], op->in[1], op->window, NULL, op->shape.ndim);
	if (!x)
		return p->err->text[0] ? -EFBIG : ncc_no_memory(p->err);
	if (is_long(op) || adds_once(op))
		return split_reduce_window(p, op, x);

	for (unsigned int d = 0; d < op->shape.ndim; d++) {
		if (op->window[d].size > 1 || op->window[d].stride > 1) {
			last = d;
			left++;
		}
	}

	/*
	 * All dimensions but the last get an operation of their own; for min, max, and, or it does
	 * no harm to apply the initial value twice.
	 */
	for (unsigned int d = 0; d < last; d++) {
		struct ncc_op *r;

		if (op->window[d].size == 1 && op->window[d].stride == 1)
			continue;
		r = pass_new(p, NCC_REDUCE_WINDOW, op, &x->shape, x, op->in[1]);
		if (!r)
			return ncc_no_memory(p->err);
		r->func = op->func;
		r->shape.dim[d] = op->shape.dim[d];
		for (unsigned int k = 0; k < op->shape.ndim; k++)
			r->window[k] = one;
		r->window[d] = op->window[d];
		op->window[d] = one;
		x = r;
	}

	op->in[0] = x;
	return 0;
}

int pass_windows(struct ncc_pass *p)
{
	for (struct ncc_op *op = p->m->first; op; op = op->next) {
		int rc = 0;

		for (unsigned int i = 0; i < op->nin; i++)
			while (op->in[i]->replaced)
				op->in[i] = op->in[i]->replaced;
		if (op->kind == NCC_CONV)
			rc = plain_conv(p, op);
		else if (op->kind == NCC_REDUCE_WINDOW)
			rc = plain_reduce_window(p, op);
		if (rc)
			return rc;
	}
	return 0;
}
