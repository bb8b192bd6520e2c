// SPDX-License-Identifier: MIT
/*
 * Reductions, windows and products of dynamic dimensions: what lies beyond a size becomes what does
 * not count. Part of the HLO front end.
 */
#include <errno.h>

#include "call.h"
#include "ir/range.h"
#include "operations.h"
#include "sizes.h"

/*
 * Fills operand i of n that are reduced: with the operation's identity where it is one of the
 * IR's, else, as XLA does, with the initial value.
 */
static int fill_reduced(struct hlo_inst *in, unsigned int i, unsigned int n, unsigned int d,
			struct ncc_op *size)
{
	const struct hlo_value *x = &in->in[i], *init = &in->in[n + i];
	const struct ncc_combine c = hlo_combiner(in, 0, 1);

	if (n == 1 && c.by == NCC_COMBINE_KIND && (!x->complex || c.kind == NCC_ADD)) {
		const struct ncc_shape *s = &x->op[0]->shape;

		return hlo_fill_number(in, i, d, size, ncc_neutral(hlo_of_truth(c.kind, s), s));
	}
	if (init->n != x->n)
		return hlo_fail(in, -EINVAL, "initial value %u does not fit", i);
	return hlo_fill(in, i, d, size, init->op);
}

int hlo_sizes_reduce(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const unsigned int n = in->nin / 2,
			   ndim = in->nin && in->in[0].n ? in->in[0].op[0]->shape.ndim : 0;
	struct hlo_sizes s;
	uint32_t mask = 0;
	int rc = 0;

	hlo_merge_sizes(in, 0, n, &s);
	for (size_t i = 0; i < in->p->n_dimensions; i++)
		if (in->p->dimensions[i] >= 0 && in->p->dimensions[i] < ndim)
			mask |= 1u << in->p->dimensions[i];
	for (unsigned int d = 0; d < ndim; d++)
		for (unsigned int i = 0; s.dim[d] && mask >> d & 1 && i < n && !rc; i++)
			rc = fill_reduced(in, i, n, d, s.dim[d]);
	rc = rc ? rc : run(in, v);
	return rc ? rc : hlo_follow(in, v);
}

static bool is_trivial(const Ncc__Hlo__WindowDimension *w)
{
	return w->size == 1 && w->stride == 1 && !w->padding_low && !w->padding_high &&
	       w->base_dilation <= 1;
}

/* The number of windows in so many elements, of which there are at most `bound` */
static struct ncc_op *count_windows(struct hlo_inst *in, struct ncc_op *size,
				    const Ncc__Hlo__WindowDimension *w, int64_t bound)
{
	const struct ncc_follow f = { .bl = &in->b, .clamped = true };
	const struct ncc_window of = {
		.size = w->size,
		.stride = w->stride,
		.low = w->padding_low,
		.high = w->padding_high,
		.window_dilation = w->window_dilation,
		.base_dilation = w->base_dilation,
	};

	return sizes_windows(&f, size, &of, bound);
}

/* Elements that negative padding cuts off the end do not count. */
static struct ncc_op *less_padding(struct hlo_inst *in, struct ncc_op *size,
				   const Ncc__Hlo__WindowDimension *w)
{
	return w->padding_high < 0 ? build_number(&in->b, NCC_ADD, size, (double)w->padding_high)
				   : size;
}

/* Are its numbers such that sums of them are exact? */
static bool is_sane(const Ncc__Hlo__WindowDimension *w)
{
	const int64_t most = 1 << 20;

	return w->size > 0 && w->size < most && w->stride > 0 && w->stride < most &&
	       w->padding_low > -most && w->padding_low < most && w->padding_high > -most &&
	       w->padding_high < most && w->window_dilation < most && w->base_dilation < most;
}

int hlo_sizes_window(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const Ncc__Hlo__Window *w = in->p->window;
	const unsigned int n = in->nin / 2;
	struct hlo_sizes s;
	int rc = 0;

	hlo_merge_sizes(in, 0, n, &s);
	for (unsigned int d = 0; w && d < w->n_dimensions && d < NCC_MAX_DIMS; d++) {
		const Ncc__Hlo__WindowDimension *wd = w->dimensions[d];

		if (!s.dim[d] || is_trivial(wd))
			continue;
		if (!is_sane(wd))
			return hlo_fail(in, -EINVAL, "bad window of dimension %u", d);
		for (unsigned int i = 0; i < n && !rc; i++)
			rc = fill_reduced(in, i, n, d, less_padding(in, s.dim[d], wd));
	}
	rc = rc ? rc : run(in, v);
	return rc ? rc : hlo_follow(in, v);
}

/* Fills both operands beyond the smaller of two sizes. */
static int fill_both(struct hlo_inst *in, int64_t a, int64_t b)
{
	struct ncc_op *size = hlo_smaller(in, hlo_size(in, 0, a), hlo_size(in, 1, b));

	return size ? hlo_fill_number(in, 0, (unsigned int)a, size, 0)
			       ?: hlo_fill_number(in, 1, (unsigned int)b, size, 0)
		    : 0;
}

int hlo_sizes_dot(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const Ncc__Hlo__DotDimensionNumbers *d = in->p->dot_dimension_numbers;
	int rc = 0;

	for (size_t i = 0;
	     d && i < d->n_lhs_contracting_dimensions && i < d->n_rhs_contracting_dimensions && !rc;
	     i++)
		rc = fill_both(in, d->lhs_contracting_dimensions[i],
			       d->rhs_contracting_dimensions[i]);
	rc = rc ? rc : run(in, v);
	return rc ? rc : hlo_follow(in, v);
}

/* Along the image's dimensions: zeros beyond the size */
static int fill_spatial(struct hlo_inst *in, const Ncc__Hlo__ConvolutionDimensionNumbers *c)
{
	const Ncc__Hlo__Window *w = in->p->window;
	int rc = 0;

	for (size_t i = 0; i < c->n_input_spatial_dimensions && !rc; i++) {
		int64_t d = c->input_spatial_dimensions[i];
		struct ncc_op *size = hlo_size(in, 0, d);

		if (i < c->n_kernel_spatial_dimensions &&
		    hlo_size(in, 1, c->kernel_spatial_dimensions[i]))
			return hlo_refuse_size(in, 1,
					       (unsigned int)c->kernel_spatial_dimensions[i]);
		if (!size)
			continue;
		if (!w || i >= w->n_dimensions || !is_sane(w->dimensions[i]))
			return hlo_fail(in, -EINVAL, "bad window");
		rc = hlo_fill_number(in, 0, (unsigned int)d,
				     less_padding(in, size, w->dimensions[i]), 0);
	}
	return rc;
}

int hlo_sizes_conv(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	const Ncc__Hlo__ConvolutionDimensionNumbers *c = in->p->convolution_dimension_numbers;
	const bool groups = in->p->feature_group_count > 1, parts = in->p->batch_group_count > 1;
	struct hlo_sizes s = { 0 };
	int rc;

	if (!c)
		return run(in, v);
	if (parts && hlo_size(in, 0, c->input_batch_dimension))
		return hlo_refuse_size(in, 0, (unsigned int)c->input_batch_dimension);
	if (groups && hlo_size(in, 0, c->input_feature_dimension))
		return hlo_refuse_size(in, 0, (unsigned int)c->input_feature_dimension);
	if (groups && hlo_size(in, 1, c->kernel_input_feature_dimension))
		return hlo_refuse_size(in, 1, (unsigned int)c->kernel_input_feature_dimension);
	if ((groups || parts) && hlo_size(in, 1, c->kernel_output_feature_dimension))
		return hlo_refuse_size(in, 1, (unsigned int)c->kernel_output_feature_dimension);
	rc = fill_both(in, c->input_feature_dimension, c->kernel_input_feature_dimension) ?:
	     fill_spatial(in, c) ?: run(in, v);
	if (rc)
		return rc;
	s.dim[c->output_batch_dimension] = hlo_size(in, 0, c->input_batch_dimension);
	s.dim[c->output_feature_dimension] = hlo_size(in, 1, c->kernel_output_feature_dimension);
	for (size_t i = 0; i < c->n_output_spatial_dimensions; i++) {
		int64_t d = c->output_spatial_dimensions[i];
		struct ncc_op *size = hlo_size(in, 0, c->input_spatial_dimensions[i]);

		if (size)
			s.dim[d] = count_windows(in, size, in->p->window->dimensions[i],
						 v->op[0]->shape.dim[d]);
	}
	return hlo_give_sizes(in, v, &s);
}

int hlo_sizes_top(struct hlo_inst *in, struct hlo_value *v, hlo_run run)
{
	unsigned int last = in->in[0].n == 1 ? in->in[0].op[0]->shape.ndim - 1 : NCC_MAX_DIMS;
	struct ncc_op *size = hlo_size(in, 0, last);
	struct hlo_sizes s;
	int rc = 0;

	hlo_merge_sizes(in, 0, 1, &s);
	if (size) {
		s.dim[last] = NULL;
		rc = hlo_fill_number(in, 0, last, size,
				     ncc_neutral(in->p->largest ? NCC_MAX : NCC_MIN,
						 &in->in[0].op[0]->shape));
	}
	rc = rc ? rc : run(in, v);
	return rc ? rc : hlo_give_sizes(in, v, &s);
}
