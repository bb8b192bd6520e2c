// SPDX-License-Identifier: MIT
/*
 * The activation functions, each a formula in fp32 that takes its attributes from the node. Part of
 * the ONNX front end.
 */
#include <math.h>

#include "elements.h"

onnx_op ox_relu(struct onnx_node *n, onnx_op x)
{
	return ox_binc(n, NCC_MAX, x, 0);
}

static onnx_op negative(struct onnx_node *n, onnx_op x)
{
	return ox_binc(n, NCC_MIN, x, 0);
}

static onnx_op clamp(struct onnx_node *n, onnx_op x, double low, double high)
{
	return ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, x, low), high);
}

/* max(x, 0) + a min(x, 0) */
onnx_op ox_leaky(struct onnx_node *n, onnx_op x, double a)
{
	return ox_bin(n, NCC_ADD, ox_relu(n, x), ox_binc(n, NCC_MUL, negative(n, x), a));
}

static onnx_op leaky_relu(struct onnx_node *n, onnx_op x)
{
	return ox_leaky(n, x, onnx_float(n, "alpha", 0.01));
}

/* max(x, 0) + a expm1(min(x, 0) / c) */
static onnx_op elu_of(struct onnx_node *n, onnx_op x, double a, double c)
{
	onnx_op low = negative(n, x);

	low = expand_expm1(&n->b, c == 1 ? low : ox_binc(n, NCC_MUL, low, 1 / c));
	return ox_bin(n, NCC_ADD, ox_relu(n, x), ox_binc(n, NCC_MUL, low, a));
}

onnx_op ox_elu(struct onnx_node *n, onnx_op x, double a)
{
	return elu_of(n, x, a, 1);
}

static onnx_op elu(struct onnx_node *n, onnx_op x)
{
	return ox_elu(n, x, onnx_float(n, "alpha", 1));
}

static onnx_op celu(struct onnx_node *n, onnx_op x)
{
	double a = onnx_float(n, "alpha", 1);

	return elu_of(n, x, a, a);
}

static onnx_op selu(struct onnx_node *n, onnx_op x)
{
	double a = onnx_float(n, "alpha", 1.67326319217681884765625);

	return ox_binc(n, NCC_MUL, elu_of(n, x, a, 1),
		       onnx_float(n, "gamma", 1.05070102214813232421875));
}

onnx_op ox_hard_sigmoid(struct onnx_node *n, onnx_op x, double a, double b)
{
	return clamp(n, ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, x, a), b), 0, 1);
}

static onnx_op hard_sigmoid(struct onnx_node *n, onnx_op x)
{
	return ox_hard_sigmoid(n, x, onnx_float(n, "alpha", (double)0.2f),
			       onnx_float(n, "beta", 0.5));
}

static onnx_op hard_swish(struct onnx_node *n, onnx_op x)
{
	return ox_bin(n, NCC_MUL, x, ox_hard_sigmoid(n, x, 1.0 / 6, 0.5));
}

static onnx_op gelu(struct onnx_node *n, onnx_op x)
{
	bool tanh = onnx_string_is(n, "approximate", "tanh", "none");

	return ox_un(n, tanh ? NCC_GELU_TANH : NCC_GELU, x);
}

static onnx_op softplus(struct onnx_node *n, onnx_op x)
{
	return ox_un(n, NCC_SOFTPLUS, x);
}

static onnx_op mish(struct onnx_node *n, onnx_op x)
{
	return ox_un(n, NCC_MISH, x);
}

static onnx_op swish(struct onnx_node *n, onnx_op x)
{
	double a = onnx_float(n, "alpha", 1);
	onnx_op t = a == 1 ? x : ox_binc(n, NCC_MUL, x, a);

	return ox_bin(n, NCC_MUL, x, ox_un(n, NCC_LOGISTIC, t));
}

onnx_op ox_softsign(struct onnx_node *n, onnx_op x)
{
	return ox_bin(n, NCC_DIV, x, ox_binc(n, NCC_ADD, ox_un(n, NCC_ABS, x), 1));
}

onnx_op ox_thresholded(struct onnx_node *n, onnx_op x, double a)
{
	return x ? ox_select(n, ox_binc(n, NCC_GT, x, a), x, ox_scalar(n, &x->shape, 0)) : NULL;
}

static onnx_op thresholded(struct onnx_node *n, onnx_op x)
{
	return ox_thresholded(n, x, onnx_float(n, "alpha", 1));
}

/* x + bias where x < -lambd, x - bias where x > lambd, else 0 */
static onnx_op shrink(struct onnx_node *n, onnx_op x)
{
	double bias = onnx_float(n, "bias", 0), lambd = onnx_float(n, "lambd", 0.5);
	onnx_op r = ox_select(n, ox_binc(n, NCC_GT, x, lambd), ox_binc(n, NCC_SUB, x, bias),
			      ox_scalar(n, &x->shape, 0));

	return ox_select(n, ox_binc(n, NCC_LT, x, -lambd), ox_binc(n, NCC_ADD, x, bias), r);
}

static void import_act(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	onnx_give(n, 0, ox_cast_like(n, n->rule->formula(n, ox_f32(n, x)), x));
}

static void import_relu(struct onnx_node *n)
{
	onnx_give(n, 0, ox_relu(n, onnx_in(n, 0)));
}

static bool is_finite(onnx_op x)
{
	double v;

	if (ncc_scalar_value(x, &v))
		return isfinite(v);
	for (int64_t i = 0; x->kind == NCC_CONST && i < ncc_elems(&x->shape); i++)
		if (!isfinite(ncc_get(x->shape.dtype, x->data, i)))
			return false;
	return x->kind == NCC_CONST;
}

/*
 * The slope broadcasts to x, but not x to the slope; before version 7 it is one number for each
 * channel. One that may be an infinity or NaN counts for negative numbers only.
 */
static void import_prelu(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), slope = onnx_in(n, 1), low;
	int64_t dim[NCC_MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	if (n->opset < 7 && slope->shape.ndim == 1 && x->shape.ndim > 1) {
		dim[1] = slope->shape.dim[0];
		slope = ox_reshape(n, slope, x->shape.ndim, dim);
	}
	if (!slope || is_finite(slope)) {
		low = ox_bin(n, NCC_MUL, negative(n, x), slope);
		onnx_give(n, 0, ox_bin(n, NCC_ADD, ox_relu(n, x), low));
		return;
	}
	low = ox_bin(n, NCC_MUL, x, slope);
	onnx_give(n, 0, ox_select(n, ox_binc(n, NCC_LT, x, 0), low, x));
}

const struct onnx_rule onnx_act[] = {
	/* clang-format off */
	{ "Celu",            1,  1, .import = import_act,   .formula = celu, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Elu",             1,  1, .import = import_act,   .formula = elu, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Gelu",            1,  1, .import = import_act,   .formula = gelu, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "HardSigmoid",     1,  1, .import = import_act,   .formula = hard_sigmoid, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "HardSwish",       1,  1, .import = import_act,   .formula = hard_swish, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "LeakyRelu",       1,  1, .import = import_act,   .formula = leaky_relu, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Mish",            1,  1, .import = import_act,   .formula = mish, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "PRelu",           2,  2, .import = import_prelu, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Relu",            1,  1, .import = import_relu,  .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Selu",            1,  1, .import = import_act,   .formula = selu, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Shrink",          1,  1, .import = import_act,   .formula = shrink, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Softplus",        1,  1, .import = import_act,   .formula = softplus, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Softsign",        1,  1, .import = import_act,   .formula = ox_softsign, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Swish",           1,  1, .import = import_act,   .formula = swish, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "ThresholdedRelu", 1,  1, .import = import_act,   .formula = thresholded, .sized = sized_by_element, .takes = ONNX_ALL },
	{ .op_type = NULL },
	/* clang-format on */
};
