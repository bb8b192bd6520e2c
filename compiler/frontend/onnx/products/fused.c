// SPDX-License-Identifier: MIT
/*
 * Operators of ONNX with what onnxruntime's optimizer puts before or behind them: a bias, an
 * activation, a transposition. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "products.h"
#include "frontend/onnx/elements/elements.h"

static onnx_op gelu(struct onnx_node *n, onnx_op x)
{
	return ox_un(n, NCC_GELU, x);
}

static onnx_op fast_gelu(struct onnx_node *n, onnx_op x)
{
	return ox_un(n, NCC_GELU_TANH, x);
}

static onnx_op quick_gelu(struct onnx_node *n, onnx_op x)
{
	const double alpha = onnx_float(n, "alpha");

	return ox_bin(n, NCC_MUL, x, ox_un(n, NCC_LOGISTIC, ox_binc(n, NCC_MUL, x, alpha)));
}

/* Of operand 0, plus a bias if there is one */
static void import_biased(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), f = ox_f32(n, x), bias = ox_f32(n, onnx_in(n, 1));

	f = bias ? ox_bin(n, NCC_ADD, f, bias) : f;
	onnx_give(n, 0, ox_cast_like(n, n->rule->formula(n, f), x));
}

/* Activations by name, with up to two numbers that follow in a list or have names of their own */
struct activation {
	const char *name;
	enum ncc_kind kind; /* of one operand; NCC_PARAM: make does it */
	onnx_op (*make)(struct onnx_node *n, onnx_op x, const double *v);
	double v[2];
};

static onnx_op relu(struct onnx_node *n, onnx_op x, const double *v)
{
	(void)v;
	return ox_relu(n, x);
}

static onnx_op leaky(struct onnx_node *n, onnx_op x, const double *v)
{
	return ox_leaky(n, x, v[0]);
}

static onnx_op clip(struct onnx_node *n, onnx_op x, const double *v)
{
	return ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, x, v[0]), v[1]);
}

static onnx_op hard_sigmoid(struct onnx_node *n, onnx_op x, const double *v)
{
	return ox_hard_sigmoid(n, x, v[0], v[1]);
}

static onnx_op hard_swish(struct onnx_node *n, onnx_op x, const double *v)
{
	(void)v;
	return ox_bin(n, NCC_MUL, x, ox_hard_sigmoid(n, x, 1.0 / 6, 0.5));
}

static const struct activation activations[] = {
	{ "Relu", NCC_PARAM, relu, { 0 } },
	{ "Tanh", NCC_TANH, NULL, { 0 } },
	{ "Sigmoid", NCC_LOGISTIC, NULL, { 0 } },
	{ "LeakyRelu", NCC_PARAM, leaky, { 0.01 } },
	{ "Clip", NCC_PARAM, clip, { -INFINITY, INFINITY } },
	{ "HardSigmoid", NCC_PARAM, hard_sigmoid, { (double)0.2f, 0.5 } },
	{ "HardSwish", NCC_PARAM, hard_swish, { 0 } },
};

static const struct activation *activation_of(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "activation");

	for (size_t i = 0; a && i < sizeof(activations) / sizeof(activations[0]); i++)
		if (onnx_string_is(n, "activation", activations[i].name))
			return &activations[i];
	if (a)
		onnx_fail(n, -ENOTSUP, "activation '%.*s' is not supported",
			  (int)(a->s.len < 40 ? a->s.len : 40), (const char *)a->s.data);
	return NULL;
}

static onnx_op activated(struct onnx_node *n, onnx_op x)
{
	const struct activation *a = activation_of(n);
	const Ncc__Onnx__Attribute *list = onnx_attr(n, "activation_params");
	double v[2];
	onnx_op r = ox_f32(n, x);

	if (!a || n->rc)
		return n->rc ? NULL : x;
	v[0] = onnx_float_or(n, "activation_alpha", a->v[0]);
	v[1] = onnx_float_or(n, "activation_beta", a->v[1]);
	for (size_t i = 0; list && i < 2 && i < list->n_floats; i++)
		v[i] = (double)list->floats[i];
	r = a->make ? a->make(n, r, v) : ox_un(n, a->kind, r);
	return ox_cast_like(n, r, x);
}

/* What the operator of ONNX gives, plus what operand 3 is of a convolution, then the activation */
static void import_activated(struct onnx_node *n)
{
	const char *name = n->rule->op_type + strlen("Fused");
	onnx_op more = onnx_in(n, 3);
	struct onnx_value out;

	ox_standard(n, name, n->in, n->nin < 3 ? n->nin : 3, &out, 1);
	if (more)
		out.op = ox_bin(n, NCC_ADD, out.op, more);
	onnx_give_as(n, 0, activated(n, out.op), n->in[0].type);
}

/* A matrix whose rows may be dimension 0, before those of the batch, or columns */
static onnx_op arranged(struct onnx_node *n, onnx_op x, bool rows_first, bool turned)
{
	const unsigned int nd = x ? x->shape.ndim : 0;
	uint8_t perm[NCC_MAX_DIMS], last;

	if (nd < 2 || n->rc)
		return x;
	for (unsigned int i = 0; i < nd; i++)
		perm[i] = (uint8_t)i;
	for (unsigned int i = 0; rows_first && i + 1 < nd; i++)
		perm[i] = (uint8_t)(i + 2 < nd ? i + 1 : 0);
	last = perm[nd - 1];
	if (turned) {
		perm[nd - 1] = perm[nd - 2];
		perm[nd - 2] = last;
	}
	return ox_transpose(n, x, perm);
}

static void import_fused_matmul(struct onnx_node *n)
{
	const double alpha = onnx_float(n, "alpha");
	onnx_op a, b, r;

	if (!ox_multiplies(n))
		return;
	a = arranged(n, onnx_in(n, 0), onnx_int(n, "transBatchA"), onnx_int(n, "transA"));
	b = arranged(n, onnx_in(n, 1), onnx_int(n, "transBatchB"), onnx_int(n, "transB"));
	if (n->rc)
		return;
	if (!ncc_is_float(a->shape.dtype) && alpha != trunc(alpha))
		onnx_fail(n, -ENOTSUP, "of integers, by alpha %g", alpha);
	r = ox_matmul(n, a, b, a->shape.dtype);
	onnx_give(n, 0, alpha == 1 ? r : ox_binc(n, NCC_MUL, r, alpha));
}

const struct onnx_rule onnx_microsoft_fused[] = {
	/* clang-format off */
	{ "BiasGelu",    2, 2, .import = import_biased, .formula = gelu },
	{ "FastGelu",    1, 2, .import = import_biased, .formula = fast_gelu },
	{ "FusedConv",   2, 4, .import = import_activated,
	  .attrs = ONNX_ATTRS(
		ATTR("activation", TEXT), ATTR("activation_params", FLOATS),
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("dilations", INTS),
		ATTR("group", INT, .i = 1), ATTR("kernel_shape", INTS), ATTR("pads", INTS),
		ATTR("strides", INTS)) },
	{ "FusedGemm",   2, 3, .import = import_activated,
	  .attrs = ONNX_ATTRS(
		ATTR("activation", TEXT), ATTR("activation_alpha", FLOAT),
		ATTR("activation_beta", FLOAT), ATTR("activation_gamma", FLOAT),
		ATTR("alpha", FLOAT, .f = 1), ATTR("beta", FLOAT, .f = 1), ATTR("transA", INT),
		ATTR("transB", INT)) },
	{ "FusedMatMul", 2, 2, .import = import_fused_matmul,
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = 1), ATTR("transA", INT), ATTR("transB", INT),
		ATTR("transBatchA", INT), ATTR("transBatchB", INT)) },
	{ "Gelu",        1, 1, .import = import_biased, .formula = gelu },
	{ "QuickGelu",   1, 1, .import = import_biased, .formula = quick_gelu, .attrs = ONNX_ATTRS(ATTR("alpha", FLOAT, .f = (double)1.702f)) },
	{ .op_type = NULL },
	/* clang-format on */
};
