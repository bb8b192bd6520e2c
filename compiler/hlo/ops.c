// SPDX-License-Identifier: MIT
/*
 * The operations of HLO, one by one: a table from opcode to the function that makes it in the
 * tensor IR. Part of the HLO front end; the IR's verifier checks every result against its operands.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "hlo.h"
#include "make.h"

typedef int (*import_fn)(struct hlo_inst *in, struct ncc_op *op);

struct op_rule {
	const char *opcode;
	enum ncc_kind kind;
	int nin; /* -1: any */
	import_fn attrs;
};

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
	if (strcmp(in->p->comparison_type, "TOTALORDER") || !ncc_is_float(op->in[0]->shape.dtype) ||
	    op->in[0]->shape.dtype != op->in[1]->shape.dtype)
		return 0;
	for (unsigned int i = 0; i < 2; i++) {
		op->in[i] = expand_total_order(&in->b, op->in[i]);
		if (!op->in[i])
			return hlo_fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

static int attrs_compare(struct hlo_inst *in, struct ncc_op *op)
{
	static const struct {
		const char *name;
		enum ncc_kind kind;
	} dir[] = { { "EQ", NCC_EQ }, { "NE", NCC_NE }, { "GE", NCC_GE },
		    { "GT", NCC_GT }, { "LE", NCC_LE }, { "LT", NCC_LT } };

	for (size_t i = 0; i < sizeof(dir) / sizeof(dir[0]); i++) {
		if (!strcmp(dir[i].name, in->p->comparison_direction)) {
			op->kind = dir[i].kind;
			return compare_in_total(in, op);
		}
	}
	return hlo_fail(in, -EINVAL, "comparison direction '%.20s'", in->p->comparison_direction);
}

static int attrs_broadcast(struct hlo_inst *in, struct ncc_op *op)
{
	if (in->p->n_dimensions != op->in[0]->shape.ndim)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers for an operand of rank %u",
				in->p->n_dimensions, op->in[0]->shape.ndim);
	return take_dims(in, in->p->n_dimensions, in->p->dimensions, op->shape.ndim, op->map);
}

static int attrs_transpose(struct hlo_inst *in, struct ncc_op *op)
{
	if (in->p->n_dimensions != op->shape.ndim)
		return hlo_fail(in, -EINVAL, "%zu dimension numbers for rank %u",
				in->p->n_dimensions, op->shape.ndim);
	return take_dims(in, in->p->n_dimensions, in->p->dimensions, op->in[0]->shape.ndim,
			 op->map);
}

static int attrs_slice(struct hlo_inst *in, struct ncc_op *op)
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

static int attrs_reverse(struct hlo_inst *in, struct ncc_op *op)
{
	return take_mask(in, op->shape.ndim, &op->mask);
}

static int attrs_concat(struct hlo_inst *in, struct ncc_op *op)
{
	uint8_t axis = 0;

	if (in->p->n_dimensions != 1 || !in->nin)
		return hlo_fail(in, -EINVAL, "needs one dimension and an operand");
	if (take_dims(in, 1, in->p->dimensions, op->shape.ndim, &axis))
		return -EINVAL;
	op->axis = axis;
	return 0;
}

static int attrs_pad(struct hlo_inst *in, struct ncc_op *op)
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

static int attrs_dot(struct hlo_inst *in, struct ncc_op *op)
{
	const Ncc__Hlo__DotDimensionNumbers *d = in->p->dot_dimension_numbers;
	unsigned int l = op->in[0]->shape.ndim, r = op->in[1]->shape.ndim;

	if (!d || d->n_lhs_batch_dimensions != d->n_rhs_batch_dimensions ||
	    d->n_lhs_contracting_dimensions != d->n_rhs_contracting_dimensions ||
	    d->n_lhs_batch_dimensions + d->n_lhs_contracting_dimensions > NCC_MAX_DIMS)
		return hlo_fail(in, -EINVAL, "bad dimension numbers");
	op->dot.nbatch = (unsigned int)d->n_lhs_batch_dimensions;
	op->dot.ncontract = (unsigned int)d->n_lhs_contracting_dimensions;
	return take_dims(in, op->dot.nbatch, d->lhs_batch_dimensions, l, op->dot.lhs_batch) ?:
	       take_dims(in, op->dot.nbatch, d->rhs_batch_dimensions, r, op->dot.rhs_batch) ?:
	       take_dims(in, op->dot.ncontract, d->lhs_contracting_dimensions, l, op->dot.lhs_contract) ?:
	       take_dims(in, op->dot.ncontract, d->rhs_contracting_dimensions, r, op->dot.rhs_contract);
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
 * Each part of the batch with outputs of its own: the same as each part of the features, so the
 * input's batch [groups, b] goes in front of its features
 */
static int batches_to_features(struct hlo_inst *in, struct ncc_op *op)
{
	const int64_t groups = in->p->batch_group_count;
	struct ncc_conv *c = &op->conv;
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

static int attrs_conv(struct hlo_inst *in, struct ncc_op *op)
{
	const Ncc__Hlo__ConvolutionDimensionNumbers *d = in->p->convolution_dimension_numbers;
	const unsigned int x = op->in[0]->shape.ndim, k = op->in[1]->shape.ndim, y = op->shape.ndim;
	struct ncc_conv *c = &op->conv;
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

static const struct {
	const char *name;
	enum ncc_kind kind;
} reducers[] = { { "add", NCC_ADD },	 { "multiply", NCC_MUL }, { "maximum", NCC_MAX },
		 { "minimum", NCC_MIN }, { "and", NCC_AND },	  { "or", NCC_OR } };

static bool is_parameter(const Ncc__Hlo__Instruction *p, unsigned int n)
{
	return p && !strcmp(p->opcode, "parameter") && p->parameter_number == n;
}

/* One operation on parameters a and b of c; 0 (a parameter): it is something else */
static enum ncc_kind reducer_of(const Ncc__Hlo__Computation *c, const Ncc__Hlo__Instruction *r,
				unsigned int a, unsigned int b)
{
	const Ncc__Hlo__Instruction *x, *y;

	if (is_parameter(r, b))
		return NCC_SELECT;
	if (!r || r->n_operand_ids != 2)
		return NCC_PARAM;
	x = hlo_by_id(c, r->operand_ids[0]);
	y = hlo_by_id(c, r->operand_ids[1]);
	if (!(is_parameter(x, a) && is_parameter(y, b)) &&
	    !(is_parameter(x, b) && is_parameter(y, a)))
		return NCC_PARAM;
	for (size_t i = 0; i < sizeof(reducers) / sizeof(reducers[0]); i++)
		if (!strcmp(reducers[i].name, r->opcode))
			return reducers[i].kind;
	return NCC_PARAM;
}

enum ncc_kind hlo_combiner(const struct hlo_inst *in, unsigned int i, unsigned int n)
{
	const Ncc__Hlo__Computation *c = NULL;
	const Ncc__Hlo__Instruction *root;

	if (in->p->n_called_computation_ids == 1)
		c = hlo_computation(in->imp, in->p->called_computation_ids[0]);
	root = c ? hlo_by_id(c, c->root_id) : NULL;
	if (root && n > 1)
		root = !strcmp(root->opcode, "tuple") && root->n_operand_ids == n
			       ? hlo_by_id(c, root->operand_ids[i])
			       : NULL;
	return reducer_of(c, root, i, n + i);
}

static enum ncc_kind reducer(const struct hlo_inst *in)
{
	enum ncc_kind kind = hlo_combiner(in, 0, 1);

	return kind == NCC_SELECT ? NCC_PARAM : kind;
}

bool hlo_simple_reducer(struct hlo_inst *in)
{
	return reducer(in) != NCC_PARAM;
}

/* XLA's arithmetic on truth values: a sum is "or", a product "and" */
enum ncc_kind hlo_of_truth(enum ncc_kind kind, const struct ncc_shape *s)
{
	if (!s->pred)
		return kind;
	return kind == NCC_ADD ? NCC_OR : kind == NCC_MUL ? NCC_AND : kind;
}

/* By one operation: others are many.c's and window.c's */
static int attrs_reduce(struct hlo_inst *in, struct ncc_op *op)
{
	op->func = hlo_of_truth(reducer(in), &in->shape);
	return take_mask(in, op->in[0]->shape.ndim, &op->mask);
}

static int attrs_reduce_window(struct hlo_inst *in, struct ncc_op *op)
{
	op->func = hlo_of_truth(reducer(in), &in->shape);
	return take_window(in, op, op->in[0]->shape.ndim);
}

static const struct op_rule rules[] = {
	{ "constant", NCC_CONST, 0, hlo_literal },
	{ "iota", NCC_CONST, 0, hlo_iota },
	{ "negate", NCC_NEG, 1, NULL },
	{ "abs", NCC_ABS, 1, NULL },
	{ "sign", NCC_SIGN, 1, NULL },
	{ "exponential", NCC_EXP, 1, NULL },
	{ "log", NCC_LOG, 1, NULL },
	{ "tanh", NCC_TANH, 1, NULL },
	{ "logistic", NCC_LOGISTIC, 1, NULL },
	{ "sqrt", NCC_SQRT, 1, NULL },
	{ "rsqrt", NCC_RSQRT, 1, NULL },
	{ "erf", NCC_ERF, 1, NULL },
	{ "not", NCC_NOT, 1, NULL },
	{ "convert", NCC_CONVERT, 1, NULL },
	{ "copy", NCC_CONVERT, 1, NULL },
	{ "add", NCC_ADD, 2, NULL },
	{ "subtract", NCC_SUB, 2, NULL },
	{ "multiply", NCC_MUL, 2, NULL },
	{ "divide", NCC_DIV, 2, NULL },
	{ "maximum", NCC_MAX, 2, NULL },
	{ "minimum", NCC_MIN, 2, NULL },
	{ "power", NCC_POW, 2, NULL },
	{ "and", NCC_AND, 2, NULL },
	{ "or", NCC_OR, 2, NULL },
	{ "xor", NCC_XOR, 2, NULL },
	{ "shift-left", NCC_SHL, 2, NULL },
	{ "shift-right-logical", NCC_SHR, 2, NULL },
	{ "compare", NCC_EQ, 2, attrs_compare },
	{ "select", NCC_SELECT, 3, NULL },
	{ "broadcast", NCC_BROADCAST, 1, attrs_broadcast },
	{ "reshape", NCC_RESHAPE, 1, NULL },
	{ "transpose", NCC_TRANSPOSE, 1, attrs_transpose },
	{ "slice", NCC_SLICE, 1, attrs_slice },
	{ "reverse", NCC_REVERSE, 1, attrs_reverse },
	{ "concatenate", NCC_CONCAT, -1, attrs_concat },
	{ "pad", NCC_PAD, 2, attrs_pad },
	{ "dot", NCC_DOT, 2, attrs_dot },
	{ "convolution", NCC_CONV, 2, attrs_conv },
	{ "reduce", NCC_REDUCE, 2, attrs_reduce },
	{ "reduce-window", NCC_REDUCE_WINDOW, 2, attrs_reduce_window },
};

static struct ncc_op *make(struct hlo_inst *in, enum ncc_kind kind, const struct ncc_shape *s,
			   struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *op = build_node(&in->b, kind, s, a, b, NULL);

	if (op)
		op->exact = false;
	return op;
}

static int import_convert(struct hlo_inst *in, struct ncc_op *op, struct ncc_op **out)
{
	*out = expand_convert(&in->b, op->in[0], &op->shape);
	if (*out && (*out)->kind == NCC_CONVERT && (*out)->in[0] == op->in[0])
		(*out)->exact = false;
	return *out ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

/* clamp(low, x, high); the bounds may be scalars */
static int import_clamp(struct hlo_inst *in, struct ncc_op **out)
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

static const struct op_rule *find_rule(const char *opcode)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!strcmp(rules[i].opcode, opcode))
			return &rules[i];
	return NULL;
}

int hlo_unsupported(struct hlo_inst *in)
{
	if (in->p->custom_call_target && *in->p->custom_call_target)
		return hlo_fail(in, -ENOTSUP, "operation not supported (target '%.80s')",
				in->p->custom_call_target);
	return hlo_fail(in, -ENOTSUP, "operation not supported");
}

/* What is constant decides loops and indices; large constants wait for the passes */
#define FOLD_MOST 4096

void hlo_fold(struct hlo_inst *in, struct ncc_op *op)
{
	if (op->kind != NCC_CONST && ncc_elems(&op->shape) <= FOLD_MOST &&
	    !ncc_fold(in->imp->m, op))
		ncc_fold_elementwise(in->imp->m, op);
}

/* A scalar's constant in a computation that runs on tensors: one number all over */
static int lifted_constant(struct hlo_inst *in, struct ncc_op **out)
{
	const struct ncc_shape *s = in->imp->lift;
	struct ncc_shape to = in->shape;
	int rc;

	in->imp->lift = NULL;
	rc = hlo_shape(in, in->p->shape, &in->shape) ?: hlo_import_op(in, out);
	in->imp->lift = s;
	if (rc || (*out)->shape.ndim)
		return rc;
	*out = build_spread(&in->b, &to, *out, NULL);
	return *out ? 0 : hlo_fail(in, -ENOMEM, "out of memory");
}

int hlo_import_op(struct hlo_inst *in, struct ncc_op **out)
{
	const struct op_rule *rule = find_rule(in->p->opcode);
	struct ncc_op *op;
	int rc = hlo_expand(in, out);

	rc = rc == 1 ? hlo_index(in, out) : rc;
	if (rc != 1) {
		rc = rc ? rc : ncc_verify_op(*out, in->imp->err);
		if (!rc)
			hlo_fold(in, *out);
		return rc;
	}
	if (!strcmp(in->p->opcode, "clamp") && in->nin == 3)
		return import_clamp(in, out);
	if (!rule)
		return hlo_unsupported(in);
	if (rule->nin >= 0 && in->nin != (unsigned int)rule->nin)
		return hlo_fail(in, -EINVAL, "%u operands, expected %d", in->nin, rule->nin);
	op = ncc_op_new(in->imp->m, hlo_of_truth(rule->kind, &in->shape), in->p->name, in->nin);
	if (!op)
		return hlo_fail(in, -ENOMEM, "out of memory");
	op->where = in->b.where;
	op->shape = in->shape;
	for (unsigned int i = 0; i < in->nin; i++)
		op->in[i] = operand(in, i);
	*out = op;
	if (rule->kind == NCC_CONST && in->imp->lift)
		return lifted_constant(in, out);
	if (rule->kind == NCC_CONST) { /* its data come in the shape, so that is checked first */
		op->data = op;
		rc = ncc_verify_op(op, in->imp->err);
		return rc ? rc : rule->attrs(in, op);
	}
	rc = rule->attrs ? rule->attrs(in, op) : 0;
	rc = rc ? rc : ncc_verify_op(op, in->imp->err);
	if (!rc && rule->kind == NCC_CONVERT)
		return import_convert(in, op, out);
	if (!rc)
		hlo_fold(in, op);
	return rc;
}
