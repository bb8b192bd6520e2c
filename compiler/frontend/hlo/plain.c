// SPDX-License-Identifier: MIT
/*
 * Operations of HLO that are one operation of the tensor IR: their attributes. The IR's verifier
 * checks every result against its operands.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "operations.h"

static struct ncc_op *operand(const struct hlo_inst *in, unsigned int i)
{
	return in->in[i].op[0];
}

/* Take a list of dimension numbers, each below ndim */
static int take_dims(struct hlo_inst *in, size_t n, const int64_t *v, unsigned int ndim,
		     uint8_t *out)
{
	if (n > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers", n);
	for (size_t i = 0; i < n; i++) {
		if (v[i] < 0 || v[i] >= ndim)
			return hlo_fail(in, -EINVAL, "dimension number %lld of rank %u",
					(long long)v[i], ndim);
		out[i] = (uint8_t)v[i];
	}
	return 0;
}

static int take_mask(struct hlo_inst *in, unsigned int ndim, uint32_t *mask)
{
	uint8_t dims[NCC_MAX_DIMS];
	int rc = take_dims(in, in->p->n_dimensions, in->p->dimensions, ndim, dims);

	*mask = 0;
	for (size_t i = 0; !rc && i < in->p->n_dimensions; i++) {
		if (*mask >> dims[i] & 1)
			return hlo_fail(in, -EINVAL, "dimension %u twice", dims[i]);
		*mask |= 1u << dims[i];
	}
	return rc;
}

static int compare_in_total(struct hlo_inst *in, struct ncc_op *op)
{
	if (!hlo_is_total(in->p) || !ncc_is_float(op->in[0]->shape.dtype) ||
	    op->in[0]->shape.dtype != op->in[1]->shape.dtype)
		return 0;
	for (unsigned int i = 0; i < 2; i++) {
		op->in[i] = expand_total_order(&in->b, op->in[i]);
		if (!op->in[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

int hlo_attrs_compare(struct hlo_inst *in, struct ncc_op *op)
{
	static const struct {
		const char *name;
		enum ncc_kind kind;
	} dir[] = {
		{ "EQ", NCC_EQ }, { "NE", NCC_NE }, { "GE", NCC_GE },
		{ "GT", NCC_GT }, { "LE", NCC_LE }, { "LT", NCC_LT },
	};

	for (size_t i = 0; i < sizeof(dir) / sizeof(dir[0]); i++) {
		if (!strcmp(dir[i].name, in->p->comparison_direction)) {
			op->kind = dir[i].kind;
			return compare_in_total(in, op);
		}
	}
	return hlo_fail(in, -EINVAL, "comparison direction '%.20s'", in->p->comparison_direction);
}

int hlo_attrs_broadcast(struct hlo_inst *in, struct ncc_op *op)
{
	const unsigned int rank = op->shape.ndim;

	/* A scalar of what is called for each element, as a scalar */
	if (in->imp->lift && !in->p->shape->n_dimensions && op->in[0]->shape.ndim == rank) {
		for (unsigned int i = 0; i < rank; i++)
			op->map[i] = i;
		return 0;
	}
	if (in->p->n_dimensions != op->in[0]->shape.ndim)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers for an operand of rank %u",
				in->p->n_dimensions, op->in[0]->shape.ndim);
	return take_dims(in, in->p->n_dimensions, in->p->dimensions, rank, op->map);
}

int hlo_attrs_transpose(struct hlo_inst *in, struct ncc_op *op)
{
	if (in->p->n_dimensions != op->shape.ndim)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers for rank %u",
				in->p->n_dimensions, op->shape.ndim);
	return take_dims(in, in->p->n_dimensions, in->p->dimensions, op->in[0]->shape.ndim,
			 op->map);
}

int hlo_attrs_slice(struct hlo_inst *in, struct ncc_op *op)
{
	if (in->p->n_slice_dimensions != op->in[0]->shape.ndim)
		return hlo_fail(in, -EINVAL, "%zu ranges for rank %u", in->p->n_slice_dimensions,
				op->in[0]->shape.ndim);
	for (size_t i = 0; i < in->p->n_slice_dimensions; i++) {
		const Ncc__Hlo__SliceDimensions *s = in->p->slice_dimensions[i];

		op->start[i] = s->start;
		op->stride[i] = s->stride;
		if (s->start < 0 || s->limit <= s->start || s->stride < 1 ||
		    s->limit > op->in[0]->shape.dim[i] ||
		    (i < op->shape.ndim &&
		     (s->limit - s->start - 1) / s->stride + 1 != op->shape.dim[i]))
			return hlo_fail(in, -EINVAL, "range %zu does not fit the shapes", i);
	}
	return 0;
}

int hlo_attrs_reverse(struct hlo_inst *in, struct ncc_op *op)
{
	return take_mask(in, op->shape.ndim, &op->mask);
}

int hlo_attrs_concat(struct hlo_inst *in, struct ncc_op *op)
{
	uint8_t axis = 0;

	if (in->p->n_dimensions != 1 || !in->nin)
		return hlo_fail(in, -EINVAL, "needs one dimension and an operand");
	if (take_dims(in, 1, in->p->dimensions, op->shape.ndim, &axis))
		return -EINVAL;
	op->axis = axis;
	return 0;
}

int hlo_attrs_pad(struct hlo_inst *in, struct ncc_op *op)
{
	const Ncc__Hlo__PaddingConfig *c = in->p->padding_config;

	if (!c || c->n_dimensions != op->in[0]->shape.ndim)
		return hlo_fail(in, -EINVAL, "padding configuration does not fit the operand");
	for (size_t i = 0; i < c->n_dimensions; i++) {
		op->low[i] = c->dimensions[i]->edge_padding_low;
		op->high[i] = c->dimensions[i]->edge_padding_high;
		op->interior[i] = c->dimensions[i]->interior_padding;
	}
	return 0;
}

int hlo_attrs_dot(struct hlo_inst *in, struct ncc_op *op)
{
	const Ncc__Hlo__DotDimensionNumbers *d = in->p->dot_dimension_numbers;
	unsigned int l = op->in[0]->shape.ndim, r = op->in[1]->shape.ndim;

	if (!d || d->n_lhs_batch_dimensions != d->n_rhs_batch_dimensions ||
	    d->n_lhs_contracting_dimensions != d->n_rhs_contracting_dimensions ||
	    d->n_lhs_batch_dimensions + d->n_lhs_contracting_dimensions > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "bad dimension numbers");
	op->dot->nbatch = (unsigned int)d->n_lhs_batch_dimensions;
	op->dot->ncontract = (unsigned int)d->n_lhs_contracting_dimensions;
	return take_dims(in, op->dot->nbatch, d->lhs_batch_dimensions, l, op->dot->lhs_batch) ?:
	       take_dims(in, op->dot->nbatch, d->rhs_batch_dimensions, r, op->dot->rhs_batch) ?:
	       take_dims(in, op->dot->ncontract, d->lhs_contracting_dimensions, l, op->dot->lhs_contract) ?:
	       take_dims(in, op->dot->ncontract, d->rhs_contracting_dimensions, r, op->dot->rhs_contract);
}

static int take_window(struct hlo_inst *in, struct ncc_op *op, unsigned int ndim)
{
	const Ncc__Hlo__Window *w = in->p->window;

	if ((w ? w->n_dimensions : 0) != ndim)
		return hlo_fail(in, -EINVAL, "the window has %zu dimensions, expected %u",
				w ? w->n_dimensions : 0, ndim);
	for (unsigned int i = 0; i < ndim; i++) {
		const Ncc__Hlo__WindowDimension *d = w->dimensions[i];

		op->window[i] = (struct ncc_window){
			d->size,	   d->stride,	       d->padding_low,
			d->padding_high,   d->window_dilation, d->base_dilation,
			d->window_reversal
		};
	}
	return 0;
}

/*
 * Groups of the batch have outputs of their own, as groups of features have; so the input's batch
 * [groups, b] moves in front of its features.
 */
static int batches_to_features(struct hlo_inst *in, struct ncc_op *op)
{
	const int64_t groups = in->p->batch_group_count;
	struct ncc_conv *c = op->conv;
	struct ncc_op *x = op->in[0];
	struct ncc_shape split = { 0 }, s = x->shape;
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;

	if (c->groups != 1 || s.dim[c->in_batch] % groups || s.ndim == NCC_MAX_DIMS ||
	    c->in_batch == c->in_feature)
		return hlo_fail(in, -EINVAL, "batch_group_count %lld does not fit",
				(long long)groups);

	for (unsigned int d = 0; d < s.ndim; d++) {
		if (d == c->in_batch)
			split.dim[split.ndim++] = groups;
		split.dim[split.ndim++] = s.dim[d] / (d == c->in_batch ? groups : 1);
	}

	for (unsigned int d = 0; d < s.ndim; d++) {
		if (d == c->in_feature)
			map[n++] = c->in_batch;
		map[n++] = (uint8_t)(d + (d >= c->in_batch));
	}

	s.dim[c->in_batch] /= groups;
	s.dim[c->in_feature] *= groups;
	c->groups = groups;
	x = build_transpose(&in->b, build_reshape(&in->b, x, &split), map);
	op->in[0] = build_reshape(&in->b, x, &s);
	return op->in[0] ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_attrs_conv(struct hlo_inst *in, struct ncc_op *op)
{
	const Ncc__Hlo__ConvolutionDimensionNumbers *d = in->p->convolution_dimension_numbers;
	const unsigned int x = op->in[0]->shape.ndim, k = op->in[1]->shape.ndim, y = op->shape.ndim;
	struct ncc_conv *c = op->conv;
	unsigned int n;
	int rc;

	if (!d || x < 2 || d->n_input_spatial_dimensions != x - 2 ||
	    d->n_kernel_spatial_dimensions != x - 2 || d->n_output_spatial_dimensions != x - 2)
		return hlo_fail(in, -EINVAL, "bad dimension numbers");
	n = c->nspatial = x - 2;
	c->groups = in->p->feature_group_count ? in->p->feature_group_count : 1;
	rc = take_dims(in, 1, &d->input_batch_dimension, x, &c->in_batch) ?:
	       take_dims(in, 1, &d->input_feature_dimension, x, &c->in_feature) ?:
	       take_dims(in, n, d->input_spatial_dimensions, x, c->in_spatial) ?:
	       take_dims(in, 1, &d->kernel_input_feature_dimension, k, &c->k_in) ?:
	       take_dims(in, 1, &d->kernel_output_feature_dimension, k, &c->k_out) ?:
	       take_dims(in, n, d->kernel_spatial_dimensions, k, c->k_spatial) ?:
	       take_dims(in, 1, &d->output_batch_dimension, y, &c->out_batch) ?:
	       take_dims(in, 1, &d->output_feature_dimension, y, &c->out_feature) ?:
	       take_dims(in, n, d->output_spatial_dimensions, y, c->out_spatial) ?:
	       take_window(in, op, n);
	return rc || in->p->batch_group_count <= 1 ? rc : batches_to_features(in, op);
}

/* Attributes of a reduction by one operation; reduce.c and window.c have the others. */
int hlo_attrs_reduce(struct hlo_inst *in, struct ncc_op *op)
{
	op->func = hlo_of_truth(hlo_combiner(in, 0, 1).kind, &in->shape);
	return take_mask(in, op->in[0]->shape.ndim, &op->mask);
}

int hlo_attrs_reduce_window(struct hlo_inst *in, struct ncc_op *op)
{
	op->func = hlo_of_truth(hlo_combiner(in, 0, 1).kind, &in->shape);
	return take_window(in, op, op->in[0]->shape.ndim);
}

static struct ncc_op *make(struct hlo_inst *in, enum ncc_kind kind, const struct ncc_shape *s,
			   struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *op = build_node(&in->b, kind, s, a, b, NULL);

	if (op)
		op->exact = false;
	return op;
}

/* clamp(low, x, high); the bounds may be scalars */
int hlo_clamp(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *bound[2] = { operand(in, 0), operand(in, 2) }, *x = operand(in, 1);

	for (unsigned int i = 0; i < 2; i++) {
		if (!bound[i]->shape.ndim && x->shape.ndim) {
			struct ncc_shape s = x->shape;

			s.dtype = bound[i]->shape.dtype;
			bound[i] = make(in, NCC_BROADCAST, &s, bound[i], NULL);
			if (!bound[i])
				return hlo_fail(in, -ENOMEM, "out of memory");
		}
	}
	x = make(in, NCC_MAX, &in->shape, x, bound[0]);
	*out = x ? make(in, NCC_MIN, &in->shape, x, bound[1]) : NULL;
	if (!*out)
		return hlo_fail(in, -ENOMEM, "out of memory");
	return ncc_verify_op(x, in->imp->err) ?: ncc_verify_op(*out, in->imp->err);
}

/* One operation of the rule's kind, its attributes set */
static int one_operation(struct hlo_inst *in, struct ncc_op **out)
{
	const struct hlo_rule *rule = in->rule;
	struct ncc_op *op =
		ncc_op_new(in->imp->m, hlo_of_truth(rule->kind, &in->shape), in->p->name, in->nin);
	int rc;

	if (!op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	op->where = in->b.where;
	op->shape = in->shape;
	for (unsigned int i = 0; i < in->nin; i++)
		op->in[i] = operand(in, i);
	*out = op;
	rc = rule->attrs ? rule->attrs(in, op) : 0;
	return rc ? rc : ncc_verify_op(op, in->imp->err);
}

int hlo_convert(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *op;
	int rc = one_operation(in, &op);

	if (rc)
		return rc;
	*out = expand_convert(&in->b, op->in[0], &op->shape);
	if (*out && (*out)->kind == NCC_CONVERT && (*out)->in[0] == op->in[0])
		(*out)->exact = false;
	return *out ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

/* A product; of predicates: is any pair of both true? Sums of zeros and ones say so in any type. */
int hlo_dot(struct hlo_inst *in, struct ncc_op **out)
{
	const struct ncc_shape result = in->shape;
	struct ncc_op *sum;
	int rc;

	if (!in->in[0].op[0]->shape.pred || !in->in[1].op[0]->shape.pred || !result.pred)
		return hlo_plain(in, out);
	for (unsigned int i = 0; i < 2; i++) {
		struct ncc_op **op = ncc_alloc(in->imp->m, sizeof(*op));

		if (!op)
			return hlo_fail(in, -ENOMEM, "out of memory");
		*op = build_cast(&in->b, in->in[i].op[0], NEURON_DT_FP32);
		if (!*op)
			return hlo_fail(in, -ENOMEM, "out of memory");
		in->in[i].op = op;
	}
	in->shape.dtype = NEURON_DT_FP32;
	in->shape.pred = false;
	rc = hlo_plain(in, &sum);
	if (rc)
		return rc;
	*out = build_compare(&in->b, NCC_GT, sum, build_splat(&in->b, &sum->shape, 0));
	return *out ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_plain(struct hlo_inst *in, struct ncc_op **out)
{
	int rc = one_operation(in, out);

	if (!rc)
		hlo_fold(in, *out);
	return rc;
}

int hlo_array(struct hlo_inst *in, struct hlo_value *v)
{
	int rc = hlo_shape(in, in->p->shape, &in->shape) ?: hlo_no_tuples(in, in->nin);

	if (rc)
		return rc;
	v->n = 1;
	v->op = ncc_alloc(in->imp->m, sizeof(struct ncc_op *));
	if (!v->op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	return in->rule->array ? in->rule->array(in, v->op) : hlo_plain(in, v->op);
}
