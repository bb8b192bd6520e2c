// SPDX-License-Identifier: MIT
/*
 * Custom calls of the vendor's front ends, "AwsNeuron...", and of torch_xla: those whose meaning
 * their callers say in public. Functions are computed in fp32. Others are refused by name. Part of
 * the HLO front end.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operations.h"
#include "order.h"

/* The number that backend_config is, a dimension or how many */
static int take_number(struct hlo_inst *in, int64_t least, int64_t most, int64_t *v)
{
	const ProtobufCBinaryData *b = &in->p->backend_config;
	char text[24] = "", *end = text;

	if (b->len && b->len < sizeof(text))
		memcpy(text, b->data, b->len);
	errno = 0;
	*v = strtoll(text, &end, 10);
	if (errno || end == text || *end || *v < least || *v > most)
		return hlo_fail(in, -EINVAL,
				"backend_config is '%.20s', expected a number from %lld to %lld",
				text, (long long)least, (long long)most);
	return 0;
}

static struct ncc_op *number(struct hlo_inst *in, unsigned int i)
{
	return build_cast(&in->b, in->in[i].op[0], NEURON_DT_FP32);
}

static int take_one(struct hlo_inst *in, struct ncc_op *x, struct hlo_value *v)
{
	struct ncc_shape s;
	int rc = hlo_shape(in, in->p->shape, &s);

	if (rc)
		return rc;
	x = x ? build_cast(&in->b, x, s.dtype) : NULL;
	if (x && !ncc_same_dims(&x->shape, &s))
		return hlo_fail(in, -EINVAL, "the result has another shape");
	return hlo_take_results(in, &x, 1, v);
}

/* Reduces each row along dimension d, and gives the result to all its elements */
static struct ncc_op *reduced(struct hlo_inst *in, struct ncc_op *x, enum ncc_kind func,
			      unsigned int d)
{
	const struct ncc_shape scalar = { .dtype = NEURON_DT_FP32 };
	struct ncc_op *init = build_scalar(&in->b, &scalar, func == NCC_MAX ? -INFINITY : 0), *op;
	uint8_t map[NCC_MAX_DIMS];

	op = build_reduce_from(&in->b, x, init, func, 1u << d);
	if (!op || ncc_verify_op(op, in->imp->err))
		return NULL;
	for (unsigned int i = 0; i < op->shape.ndim; i++)
		map[i] = (uint8_t)(i + (i >= d));
	return build_spread(&in->b, &x->shape, op, map);
}

static struct ncc_op *binary(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a,
			     struct ncc_op *b)
{
	return a && b ? build_binary(&in->b, kind, a, b) : NULL;
}

static int call_erf(struct hlo_inst *in, struct hlo_value *v)
{
	return take_one(in, build_unary(&in->b, NCC_ERF, number(in, 0)), v);
}

static int call_gelu(struct hlo_inst *in, struct hlo_value *v)
{
	return take_one(in, build_unary(&in->b, NCC_GELU, number(in, 0)), v);
}

static int call_gelu_tanh(struct hlo_inst *in, struct hlo_value *v)
{
	return take_one(in, build_unary(&in->b, NCC_GELU_TANH, number(in, 0)), v);
}

static int call_silu(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *x = number(in, 0);

	return take_one(in, binary(in, NCC_MUL, x, build_unary(&in->b, NCC_LOGISTIC, x)), v);
}

static int call_softmax(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *x = number(in, 0);
	int64_t d;
	int rc = take_number(in, 0, (int64_t)in->in[0].op[0]->shape.ndim - 1, &d);

	if (rc)
		return rc;
	x = binary(in, NCC_SUB, x, reduced(in, x, NCC_MAX, (unsigned int)d));
	x = build_unary(&in->b, NCC_EXP, x);
	return take_one(in, binary(in, NCC_DIV, x, reduced(in, x, NCC_ADD, (unsigned int)d)), v);
}

/* x / sqrt(mean(x * x) + epsilon) * weight, along a dimension that the weight has */
static int call_rms_norm(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *x = number(in, 0), *w = number(in, 1), *e = number(in, 2);
	const struct ncc_shape *s = &in->in[0].op[0]->shape;
	uint8_t map;
	int64_t d;
	int rc = take_number(in, 0, (int64_t)s->ndim - 1, &d);

	if (rc)
		return rc;
	if (!x || !w || !e)
		return hlo_fail(in, -ENOMEM, "out of memory");
	if (w->shape.ndim != 1 || w->shape.dim[0] != s->dim[d] || e->shape.ndim)
		return hlo_fail(in, -EINVAL,
				"a weight and a number for dimension %lld are expected",
				(long long)d);
	map = (uint8_t)d;
	w = build_spread(&in->b, &x->shape, w, &map);
	e = build_spread(&in->b, &x->shape, e, NULL);
	map = (uint8_t)d;
	e = binary(in, NCC_ADD,
		   build_number(&in->b, NCC_DIV,
				reduced(in, binary(in, NCC_MUL, x, x), NCC_ADD, map),
				(double)s->dim[d]),
		   e);
	x = binary(in, NCC_MUL, x, build_unary(&in->b, NCC_RSQRT, e));
	return take_one(in, binary(in, NCC_MUL, x, w), v);
}

/* The largest k along the last dimension, and their places */
static int call_top_k(struct hlo_inst *in, struct hlo_value *v)
{
	const Ncc__Hlo__Shape *to = in->p->shape;
	struct ncc_op *x[2] = { in->in[0].op[0], NULL };
	const struct ncc_shape *s = &x[0]->shape;
	struct ncc_shape places;
	int64_t k;
	int rc;

	if (!s->ndim || to->element_type != HLO_TUPLE || to->n_tuple_shapes != 2)
		return hlo_fail(in, -EINVAL,
				"gives values and places of an operand of rank 1 at "
				"least");
	rc = take_number(in, 1, s->dim[s->ndim - 1], &k)
		     ?: hlo_shape(in, to->tuple_shapes[1], &places)
		     ?: hlo_top_by_place(in, x, k, true);
	if (rc)
		return rc;
	x[1] = build_cast(&in->b, x[1], places.dtype);
	return hlo_take_results(in, x, 2, v);
}

/* The place of the largest or smallest of each row along a dimension */
static int call_extreme(struct hlo_inst *in, struct hlo_value *v)
{
	const bool largest = !strcmp(in->p->custom_call_target, "AwsNeuronArgMax");
	struct ncc_op *x[2] = { in->in[0].op[0], NULL };
	struct ncc_shape s = x[0]->shape;
	uint8_t map[NCC_MAX_DIMS];
	unsigned int n = 0;
	int64_t d;
	int rc = take_number(in, 0, (int64_t)s.ndim - 1, &d);

	if (rc)
		return rc;
	for (unsigned int i = 0; i < s.ndim; i++)
		if (i != d)
			map[n++] = (uint8_t)i;
	map[n] = (uint8_t)d;
	x[0] = build_transpose(&in->b, x[0], map);
	if (!x[0])
		return hlo_fail(in, -ENOMEM, "out of memory");
	s = x[0]->shape;
	s.ndim--;
	rc = hlo_top_by_place(in, x, 1, largest);
	return rc ? rc : take_one(in, build_reshape(&in->b, x[1], &s), v);
}

/* Targets that only tell a scheduler or other cores something of their operands */
static int call_nothing(struct hlo_inst *in, struct hlo_value *v)
{
	struct ncc_op *x[HLO_MANY];

	if (!in->nin || in->nin > HLO_MANY)
		return hlo_fail(in, -ENOTSUP, "%u operands", in->nin);
	for (unsigned int i = 0; i < in->nin; i++)
		x[i] = in->in[i].op[0];
	return hlo_take_results(in, x, in->nin, v);
}

static const struct {
	const char *target;
	int nin; /* -1: any number */
	int (*import)(struct hlo_inst *in, struct hlo_value *v);
} calls[] = {
	{ "AwsNeuronArgMax", 1, call_extreme },
	{ "AwsNeuronArgMin", 1, call_extreme },
	{ "AwsNeuronErf", 1, call_erf },
	{ "AwsNeuronGelu", 1, call_gelu },
	{ "AwsNeuronGeluApprxTanh", 1, call_gelu_tanh },
	{ "AwsNeuronLNCShardingConstraint", 1, call_nothing },
	{ "AwsNeuronModuleMarkerEnd-Backward", -1, call_nothing },
	{ "AwsNeuronModuleMarkerEnd-Forward", -1, call_nothing },
	{ "AwsNeuronModuleMarkerStart-Backward", -1, call_nothing },
	{ "AwsNeuronModuleMarkerStart-Forward", -1, call_nothing },
	{ "AwsNeuronRmsNorm", 3, call_rms_norm },
	{ "AwsNeuronSilu", 1, call_silu },
	{ "AwsNeuronSoftmax", 1, call_softmax },
	{ "AwsNeuronTopK", 1, call_top_k },
	{ "AwsNeuronTransferWithStaticRing", 1, call_nothing },
	{ "ResizeBilinear", 1, hlo_resize },
	{ "ResizeBilinearGrad", 1, hlo_resize },
	{ "ResizeNearest", 1, hlo_resize },
	{ "ResizeNearestGrad", 1, hlo_resize },
};

int hlo_vendor(struct hlo_inst *in, struct hlo_value *v)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].target, in->p->custom_call_target))
			continue;
		if (calls[i].nin >= 0 && in->nin != (unsigned int)calls[i].nin)
			return hlo_fail(in, -EINVAL, "%u operands, expected %d", in->nin,
					calls[i].nin);
		return hlo_no_tuples(in, in->nin) ?: calls[i].import(in, v);
	}
	return hlo_unsupported(in);
}
