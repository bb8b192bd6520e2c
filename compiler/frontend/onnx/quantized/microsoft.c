// SPDX-License-Identifier: MIT
/*
 * Quantized operators of the domain com.microsoft, which onnxruntime's quantization writes. They
 * are operators of ONNX between values that scales and zero points stand for. Part of the ONNX
 * front end.
 */
#include <errno.h>
#include <string.h>

#include "quantized.h"
#include "frontend/onnx/recurrent/recurrent.h"

#define MOST_VALUES 64 /* quantized operands */

/* An operator's operands: the first; a value, its scale and zero point are three of them */
enum form { ONE, TWO, CHOICE, PARTS };

static struct onnx_value value(struct onnx_node *n, unsigned int i)
{
	struct onnx_value v = { .type = ONNX_FLOAT };

	if (!onnx_in(n, i) || !onnx_in(n, i + 1))
		onnx_fail(n, -EINVAL, "operand %u or its scale is absent", i);
	else
		v.op = quant_value(n, i, i + 1, i + 2, 0);
	return v;
}

/* The operator of ONNX that it is of quantized values */
static const char *standard_of(const struct onnx_node *n)
{
	static const char prefix[] = "QLinear";
	const char *name = n->rule->op_type;

	return strncmp(name, prefix, strlen(prefix)) ? name : name + strlen(prefix);
}

static bool whole_scales(struct onnx_node *n)
{
	for (unsigned int i = 0; i < n->nin; i++)
		if (!n->in[i].op && n->in[i].type) {
			onnx_fail(n, -ENOTSUP, "operand %u is empty, which is not supported", i);
			return false;
		}
	return !n->rc;
}

/* The channels from behind all others to dimension 1, where ONNX has them, or back */
static onnx_op channels_moved(struct onnx_node *n, onnx_op x, bool back)
{
	const unsigned int nd = x ? x->shape.ndim : 0;
	uint8_t perm[NCC_MAX_DIMS] = { 0 };

	for (unsigned int i = 1; i < nd; i++)
		perm[i] = (uint8_t)(back ? i % (nd - 1) + 1 : (i + nd - 3) % (nd - 1) + 1);
	return nd < 3 ? x : ox_transpose(n, x, perm);
}

/* Imports what has its channels last, as onnxruntime's optimizer leaves it, as ONNX has it */
static void with_channels_last(struct onnx_node *n, void (*import)(struct onnx_node *n))
{
	n->in[0].op = channels_moved(n, onnx_in(n, 0), false);
	if (!n->rc)
		import(n);
	if (!n->rc)
		n->out[0].op = channels_moved(n, n->out[0].op, true);
}

static void quantized(struct onnx_node *n)
{
	const enum form form = (enum form)onnx_arg(n);
	struct onnx_value in[MOST_VALUES], out;
	unsigned int count = 0, first = 0, to = 0, end = n->nin;

	if (form == ONE || form == TWO) {
		end = to = form == ONE ? 3 : 6;
	} else if (form == CHOICE) {
		in[count++] = n->in[0];
		first = 1;
		end = to = 7;
	} else {
		first = 2;
	}
	if ((end - first) % 3 || (end - first) / 3 + count > MOST_VALUES) {
		onnx_fail(n, -EINVAL, "%u operands", n->nin);
		return;
	}
	for (; first < end && !n->rc; first += 3)
		in[count++] = value(n, first);
	ox_standard(n, standard_of(n), in, count, &out, 1);
	if (!n->rc)
		quant_give(n, out.op, to, to + 1, 0, ONNX_UINT8);
}

static void import_quantized(struct onnx_node *n)
{
	if (!whole_scales(n))
		return;
	if (onnx_int(n, "channels_last"))
		with_channels_last(n, quantized);
	else
		quantized(n);
}

/* The same as ONNX's, which came later */
static void import_same(struct onnx_node *n)
{
	ox_standard(n, n->rule->op_type, n->in, n->nin, n->out, n->nout);
}

static void import_conv(struct onnx_node *n)
{
	if (onnx_int(n, "channels_last"))
		with_channels_last(n, import_same);
	else
		import_same(n);
}

static void max_pool(struct onnx_node *n)
{
	ox_standard(n, "MaxPool", n->in, n->nin, n->out, 1);
}

static void import_nhwc_max_pool(struct onnx_node *n)
{
	with_channels_last(n, max_pool);
}

static onnx_op turned(struct onnx_node *n, onnx_op x)
{
	static const uint8_t swap[2] = { 1, 0 };

	if (x && x->shape.ndim == 2)
		return ox_transpose(n, x, swap);
	onnx_fail(n, -EINVAL, "an operand has rank %u, expected 2", x ? x->shape.ndim : 0);
	return NULL;
}

/* a, its scale and zero point, b, its own, c of the sums' scale; those of the result, if it is
 * quantized */
static void import_gemm(struct onnx_node *n)
{
	onnx_op zero = onnx_in(n, 8), c = onnx_in(n, 6), scale, sum;

	if (onnx_int(n, "transA"))
		n->in[0].op = turned(n, onnx_in(n, 0));
	if (onnx_int(n, "transB") && !n->rc)
		n->in[3].op = turned(n, onnx_in(n, 3));
	if (n->rc)
		return;
	n->exact = true;
	scale = ox_bin(n, NCC_MUL, onnx_in(n, 1), onnx_in(n, 4));
	scale = ox_binc(n, NCC_MUL, scale, onnx_float(n, "alpha"));
	sum = quant_integer_product(n, 0, onnx_in(n, 2), 3, onnx_in(n, 5));
	sum = c ? ox_bin(n, NCC_ADD, sum, c) : sum;
	if (onnx_in(n, 7) && zero)
		quant_give_scaled(n, sum, scale, onnx_in(n, 7), zero, n->in[8].type);
	else
		onnx_give_as(n, 0, ox_bin(n, NCC_MUL, ox_f32(n, sum), scale), ONNX_FLOAT);
}

/* The product of integers times both scales, plus a bias, or without */
static void give_product(struct onnx_node *n, struct onnx_value in[4], onnx_op a, onnx_op b,
			 onnx_op bias)
{
	struct onnx_value out;
	onnx_op r;

	n->exact = true;
	ox_standard(n, "MatMulInteger", in, 4, &out, 1);
	r = ox_bin(n, NCC_MUL, ox_f32(n, out.op), ox_bin(n, NCC_MUL, a, b));
	onnx_give_as(n, 0, bias ? ox_bin(n, NCC_ADD, r, bias) : r, ONNX_FLOAT);
}

static struct onnx_value operand(const struct onnx_node *n, unsigned int i)
{
	return i < n->nin ? n->in[i] : (struct onnx_value){ .op = NULL };
}

static void import_to_float(struct onnx_node *n)
{
	struct onnx_value in[4] = { n->in[0], n->in[1], operand(n, 4), operand(n, 5) };

	give_product(n, in, onnx_in(n, 2), onnx_in(n, 3), onnx_in(n, 6));
}

static void import_dynamic_matmul(struct onnx_node *n)
{
	struct onnx_value q[3], in[4];

	ox_standard(n, "DynamicQuantizeLinear", n->in, 1, q, 3);
	if (n->rc)
		return;
	in[0] = q[0];
	in[1] = n->in[1];
	in[2] = q[2];
	in[3] = operand(n, 3);
	give_product(n, in, q[1].op, onnx_in(n, 2), onnx_in(n, 4));
}

static const struct onnx_attribute like_dequantize_linear[] = {
	ATTR("axis", INT),
	{ 0 },
};

const struct onnx_rule onnx_microsoft[] = {
	/* clang-format off */
	{ "DequantizeLinear",         2,  3, .import = import_same, .attrs = like_dequantize_linear },
	{ "DynamicQuantizeLSTM",      3, 12, .import = onnx_dynamic_lstm,
	  .attrs = ONNX_ATTRS(
		ATTR("activation_alpha", FLOATS), ATTR("activation_beta", FLOATS),
		ATTR("activations", TEXTS), ATTR("clip", FLOAT),
		ATTR("direction", TEXT, .words = "forward|reverse|bidirectional", .s = "forward"), ATTR("hidden_size", INT),
		ATTR("input_forget", INT)) },
	{ "DynamicQuantizeMatMul",    3,  5, .import = import_dynamic_matmul },
	{ "MatMulIntegerToFloat",     4,  7, .import = import_to_float },
	{ "NhwcMaxPool",              1,  1, .import = import_nhwc_max_pool,
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("ceil_mode", INT),
		ATTR("dilations", INTS), ATTR("kernel_shape", INTS, .needed = true),
		ATTR("pads", INTS), ATTR("strides", INTS)) },
	{ "QGemm",                    6,  9, .import = import_gemm,
	  .attrs = ONNX_ATTRS(
		ATTR("alpha", FLOAT, .f = 1), ATTR("transA", INT), ATTR("transB", INT)) },
	{ "QLinearAdd",               8,  8, .import = import_quantized, .arg = TWO },
	{ "QLinearAveragePool",       5,  5, .import = import_quantized, .arg = ONE,
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("ceil_mode", INT),
		ATTR("channels_last", INT), ATTR("count_include_pad", INT),
		ATTR("kernel_shape", INTS, .needed = true), ATTR("pads", INTS),
		ATTR("strides", INTS)) },
	{ "QLinearConcat",            5, -1, .import = import_quantized, .arg = PARTS, .attrs = ONNX_ATTRS(ATTR("axis", INT, .needed = true)) },
	{ "QLinearConv",              8,  9, .import = import_conv,
	  .attrs = ONNX_ATTRS(
		ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"), ATTR("channels_last", INT),
		ATTR("dilations", INTS), ATTR("group", INT, .i = 1),
		ATTR("kernel_shape", INTS), ATTR("pads", INTS), ATTR("strides", INTS)) },
	{ "QLinearGlobalAveragePool", 5,  5, .import = import_quantized, .arg = ONE, .attrs = ONNX_ATTRS(ATTR("channels_last", INT)) },
	{ "QLinearLeakyRelu",         4,  5, .import = import_quantized, .arg = ONE, .attrs = ONNX_ATTRS(ATTR("alpha", FLOAT, .f = 0.01)) },
	{ "QLinearMul",               7,  8, .import = import_quantized, .arg = TWO },
	{ "QLinearReduceMean",        5,  5, .import = import_quantized, .arg = ONE,
	  .attrs = ONNX_ATTRS(
		ATTR("axes", INTS, .needed = true), ATTR("keepdims", INT, .needed = true)) },
	{ "QLinearSigmoid",           4,  5, .import = import_quantized, .arg = ONE },
	{ "QLinearSoftmax",           5,  5, .import = import_quantized, .arg = ONE,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = -1), ATTR("opset", INT, .needed = true)) },
	{ "QLinearWhere",             9,  9, .import = import_quantized, .arg = CHOICE },
	{ "QuantizeLinear",           2,  3, .import = import_same, .attrs = like_dequantize_linear },
	{ .op_type = NULL },
	/* clang-format on */
};
