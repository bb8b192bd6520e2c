// SPDX-License-Identifier: MIT
/* Windows of convolutions and reductions, and the dimensions of convolutions */
#include <errno.h>

#include "convert.h"

/* The attributes that a window is in; NULL: the operation has no such */
struct names {
	const char *size, *stride, *window_dilation, *base_dilation, *reversal;
};

struct lists {
	size_t n; /* dimensions */
	int64_t *size, *stride, *window_dilation, *base_dilation, *reversal, *padding;
};

/* A list of n numbers, or none where each has its default */
static int take(struct scope *s, const struct mlir_op *op, const char *name, size_t n, int64_t **v)
{
	size_t have = 0;
	int rc = name ? attr_list(s, op, name, &have, v) : 0;

	if (!have)
		*v = NULL;
	if (!rc && have && have != n)
		rc = convert_fail(s, -EINVAL, "%zu numbers in %s, of %zu dimensions", have, name,
				  n);
	return rc;
}

static int take_lists(struct scope *s, const struct mlir_op *op, const struct names *a,
		      struct lists *l)
{
	return take(s, op, a->stride, l->n, &l->stride)
	       ?: take(s, op, a->window_dilation, l->n, &l->window_dilation)
	       ?: take(s, op, a->base_dilation, l->n, &l->base_dilation)
	       ?: take(s, op, a->reversal, l->n, &l->reversal)
	       ?: take(s, op, "padding", 2 * l->n, &l->padding);
}

static int add_window(struct scope *s, const struct lists *l, hlo_instruction *p)
{
	Ncc__Hlo__Window *w = convert_alloc(s->v, 1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	ncc__hlo__window__init(w);
	p->window = w;
	w->dimensions = convert_alloc(s->v, l->n + 1, sizeof(*w->dimensions));
	for (size_t i = 0; w->dimensions && i < l->n; i++) {
		Ncc__Hlo__WindowDimension *d = convert_alloc(s->v, 1, sizeof(*d));

		if (!d)
			return -ENOMEM;
		ncc__hlo__window_dimension__init(d);
		d->size = l->size ? l->size[i] : 1;
		d->stride = l->stride ? l->stride[i] : 1;
		d->padding_low = l->padding ? l->padding[2 * i] : 0;
		d->padding_high = l->padding ? l->padding[2 * i + 1] : 0;
		d->window_dilation = l->window_dilation ? l->window_dilation[i] : 1;
		d->base_dilation = l->base_dilation ? l->base_dilation[i] : 1;
		d->window_reversal = l->reversal && l->reversal[i];
		w->dimensions[w->n_dimensions++] = d;
	}
	return w->dimensions ? 0 : -ENOMEM;
}

int fields_reduce_window(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct names names = { NULL, "window_strides", "window_dilations", "base_dilations",
				     NULL };
	struct lists l = { 0 };
	int rc = attr_list(s, op, "window_dimensions", &l.n, &l.size)
			 ?: take_lists(s, op, &names, &l);

	return rc ? rc : add_window(s, &l, p);
}

int fields_select_and_scatter(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct names names = { NULL, "window_strides", NULL, NULL, NULL };
	struct lists l = { .n = op->in[0]->type->ndim };
	int rc = take(s, op, "window_dimensions", l.n, &l.size) ?: take_lists(s, op, &names, &l);

	return rc ? rc : add_window(s, &l, p);
}

static int take_numbers(struct scope *s, const struct mlir_op *op,
			Ncc__Hlo__ConvolutionDimensionNumbers *d)
{
	return attr_int(s, op, "input_batch_dimension", &d->input_batch_dimension)
	       ?: attr_int(s, op, "input_feature_dimension", &d->input_feature_dimension)
	       ?: attr_int(s, op, "kernel_input_feature_dimension",
			   &d->kernel_input_feature_dimension)
	       ?: attr_int(s, op, "kernel_output_feature_dimension",
			   &d->kernel_output_feature_dimension)
	       ?: attr_int(s, op, "output_batch_dimension", &d->output_batch_dimension)
	       ?: attr_int(s, op, "output_feature_dimension", &d->output_feature_dimension)
	       ?: attr_list(s, op, "input_spatial_dimensions", &d->n_input_spatial_dimensions,
			    &d->input_spatial_dimensions)
	       ?: attr_list(s, op, "kernel_spatial_dimensions", &d->n_kernel_spatial_dimensions,
			    &d->kernel_spatial_dimensions)
	       ?: attr_list(s, op, "output_spatial_dimensions", &d->n_output_spatial_dimensions,
			    &d->output_spatial_dimensions);
}

/* A window is as large as the kernel. */
static int kernel_sizes(struct scope *s, const struct mlir_type *kernel,
			const Ncc__Hlo__ConvolutionDimensionNumbers *d, struct lists *l)
{
	l->n = d->n_kernel_spatial_dimensions;
	l->size = convert_alloc(s->v, l->n + 1, sizeof(*l->size));
	if (!l->size)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		const int64_t dim = d->kernel_spatial_dimensions[i];

		if (dim < 0 || dim >= kernel->ndim)
			return convert_fail(s, -EINVAL, "the kernel has no dimension %lld",
					    (long long)dim);
		l->size[i] = kernel->dim[dim];
	}
	return 0;
}

int fields_convolution(struct scope *s, const struct mlir_op *op, hlo_instruction *p)
{
	const struct names names = { NULL, "window_strides", "rhs_dilation", "lhs_dilation",
				     "window_reversal" };
	Ncc__Hlo__ConvolutionDimensionNumbers *d = convert_alloc(s->v, 1, sizeof(*d));
	struct lists l = { 0 };
	int rc;

	if (!d)
		return -ENOMEM;
	ncc__hlo__convolution_dimension_numbers__init(d);
	p->convolution_dimension_numbers = d;
	p->feature_group_count = p->batch_group_count = 1;
	rc = take_numbers(s, op, d) ?: attr_int(s, op, "feature_group_count", &p->feature_group_count)
	     ?: attr_int(s, op, "batch_group_count", &p->batch_group_count)
	     ?: kernel_sizes(s, op->in[1]->type, d, &l) ?: take_lists(s, op, &names, &l);
	return rc ? rc : add_window(s, &l, p);
}
