// SPDX-License-Identifier: MIT
/*
 * The activation functions, each a formula in fp32 that takes its attributes from the node. Part of
 * the ONNX front end.
 */
#include <errno.h>
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
	return ox_leaky(n, x, onnx_float(n, "alpha"));
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
	return ox_elu(n, x, onnx_float(n, "alpha"));
}

static onnx_op celu(struct onnx_node *n, onnx_op x)
{
	double a = onnx_float(n, "alpha");

	return elu_of(n, x, a, a);
}

static onnx_op selu(struct onnx_node *n, onnx_op x)
{
	double a = onnx_float(n, "alpha");

	return ox_binc(n, NCC_MUL, elu_of(n, x, a, 1), onnx_float(n, "gamma"));
}

onnx_op ox_hard_sigmoid(struct onnx_node *n, onnx_op x, double a, double b)
{
	return clamp(n, ox_binc(n, NCC_ADD, ox_binc(n, NCC_MUL, x, a), b), 0, 1);
}

static onnx_op hard_sigmoid(struct onnx_node *n, onnx_op x)
{
	return ox_hard_sigmoid(n, x, onnx_float(n, "alpha"), onnx_float(n, "beta"));
}

static onnx_op hard_swish(struct onnx_node *n, onnx_op x)
{
	return ox_bin(n, NCC_MUL, x, ox_hard_sigmoid(n, x, 1.0 / 6, 0.5));
}

static onnx_op gelu(struct onnx_node *n, onnx_op x)
{
	bool tanh = onnx_string_is(n, "approximate", "tanh");

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
	double a = onnx_float(n, "alpha");
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
	return ox_thresholded(n, x, onnx_float(n, "alpha"));
}

/* x + bias where x < -lambd, x - bias where x > lambd, else 0 */
static onnx_op shrink(struct onnx_node *n, onnx_op x)
{
	double bias = onnx_float(n, "bias"), lambd = onnx_float(n, "lambd");
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
/* A gate, and what goes through it: both are of one shape. */
static void import_swi_glu(struct onnx_node *n)
{
	onnx_op gate = onnx_in(n, 0), x = onnx_in(n, 1);

	if (!ncc_same_dims(&gate->shape, &x->shape))
		onnx_fail(n, -EINVAL, "operands of two shapes");
	gate = swish(n, ox_f32(n, gate));
	onnx_give(n, 0, ox_cast_like(n, ox_bin(n, NCC_MUL, gate, ox_f32(n, x)), x));
}

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

static const struct onnx_attribute like_celu[] = {
	ATTR("alpha", FLOAT, .f = 1),
	{ 0 },
};

const struct onnx_rule onnx_act[] = {
	/* clang-format off */
	{ "Celu",            1,  1, .import = import_act,   .formula = celu, .sized = sized_by_element, .takes = ONNX_ALL, .since = 12, .attrs = like_celu },
	{ "Elu",             1,  1, .import = import_act,   .formula = elu, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = 1), ATTR("consumed_inputs", INTS, .until = 5)) },
	{ "Gelu",            1,  1, .import = import_act,   .formula = gelu, .sized = sized_by_element, .takes = ONNX_ALL, .since = 20,
	  .attrs = ONNX_ATTRS(
		ATTR("approximate", TEXT, .words = "none|tanh", .s = "none")) },
	{ "HardSigmoid",     1,  1, .import = import_act,   .formula = hard_sigmoid, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = (double)0.2f), ATTR("beta", FLOAT, .f = 0.5),
		ATTR("consumed_inputs", INTS, .until = 5)) },
	{ "HardSwish",       1,  1, .import = import_act,   .formula = hard_swish, .sized = sized_by_element, .takes = ONNX_ALL, .since = 14 },
	{ "LeakyRelu",       1,  1, .import = import_act,   .formula = leaky_relu, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = 0.01), ATTR("consumed_inputs", INTS, .until = 5)) },
	{ "Mish",            1,  1, .import = import_act,   .formula = mish, .sized = sized_by_element, .takes = ONNX_ALL, .since = 18 },
	{ "PRelu",           2,  2, .import = import_prelu, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Relu",            1,  1, .import = import_relu,  .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("consumed_inputs", INTS, .until = 5)) },
	{ "Selu",            1,  1, .import = import_act,   .formula = selu, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = 1.6732, .until = 5),
		ATTR("alpha", FLOAT, .f = 1.67326319217681884765625, .from = 6),
		ATTR("consumed_inputs", INTS, .until = 5),
		ATTR("gamma", FLOAT, .f = 1.0507, .until = 5),
		ATTR("gamma", FLOAT, .f = 1.05070102214813232421875, .from = 6)) },
	{ "Shrink",          1,  1, .import = import_act,   .formula = shrink, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9,
	  .attrs = ONNX_ATTRS(
		ATTR("bias", FLOAT), ATTR("lambd", FLOAT, .f = 0.5)) },
	{ "Softplus",        1,  1, .import = import_act,   .formula = softplus, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Softsign",        1,  1, .import = import_act,   .formula = ox_softsign, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "SwiGLU",          2,  2, .import = import_swi_glu, .sized = sized_by_element, .takes = ONNX_ALL, .since = 28, .attrs = like_celu },
	{ "Swish",           1,  1, .import = import_act,   .formula = swish, .sized = sized_by_element, .takes = ONNX_ALL, .since = 24, .attrs = like_celu },
	{ "ThresholdedRelu", 1,  1, .import = import_act,   .formula = thresholded, .sized = sized_by_element, .takes = ONNX_ALL, .since = 10, .attrs = like_celu },
	{ .op_type = NULL },
	/* clang-format on */
};
