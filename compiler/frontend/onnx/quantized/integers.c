// SPDX-License-Identifier: MIT
/*
 * Products and convolutions of integers. Those of 8 bits less their zero point are exact in bf16,
 * and sums of 258 and more of their products in fp32, so they are multiplied in that way. Part of
 * the ONNX front end.
 */
#include <errno.h>

#include "quantized.h"
#include "frontend/onnx/products/products.h"

/* The greatest magnitude of an operand of 8 bits less its zero point */
static int64_t magnitude(struct onnx_node *n, unsigned int i, onnx_op zero)
{
	onnx_op x = onnx_in(n, i);

	return x && x->shape.dtype == NEURON_DT_INT8 && quant_is_zero(zero) ? 128 : 255;
}

/* The number of products of elements of two operands that fp32 adds exactly */
static int64_t exact_terms(struct onnx_node *n, unsigned int a, onnx_op za, unsigned int b,
			   onnx_op zb)
{
	return ONNX_EXACT_MOST / (magnitude(n, a, za) * magnitude(n, b, zb));
}

/* An operand of 8 bits less its zero point */
static onnx_op operand(struct onnx_node *n, unsigned int i, onnx_op zero, int64_t axis)
{
	onnx_op x = onnx_in(n, i);

	if (ncc_dtype_size(x->shape.dtype) != 1) {
		onnx_fail(n, -ENOTSUP, "operand %u has type %s, 8 bits are expected", i,
			  ncc_dtype_name(&x->shape));
		return NULL;
	}
	x = quant_dequantized(n, x, quant_along(n, zero, x, axis));
	return ox_cast(n, x, NEURON_DT_BF16, false);
}

/* A product in s32 that adds as many terms at a time */
static onnx_op product(struct onnx_node *n, onnx_op a, onnx_op b, int64_t each)
{
	onnx_op sum = NULL, part;
	unsigned int ka, kb;

	if (!a || !b || !a->shape.ndim || !b->shape.ndim)
		return NULL;
	ka = a->shape.ndim - 1;
	kb = b->shape.ndim > 1 ? b->shape.ndim - 2 : 0;
	if (a->shape.dim[ka] != b->shape.dim[kb]) {
		onnx_fail(n, -EINVAL, "%lld columns times %lld rows", (long long)a->shape.dim[ka],
			  (long long)b->shape.dim[kb]);
		return NULL;
	}
	for (int64_t k = 0; k < a->shape.dim[ka] && !n->rc; k += each) {
		int64_t left = a->shape.dim[ka] - k, terms = left < each ? left : each;

		part = ox_matmul(n, ox_slice(n, a, ka, k, terms, 1),
				 ox_slice(n, b, kb, k, terms, 1), NEURON_DT_FP32);
		part = quant_word(n, part);
		sum = sum ? ox_bin(n, NCC_ADD, sum, part) : part;
	}
	return sum;
}

onnx_op quant_integer_product(struct onnx_node *n, unsigned int i, onnx_op za, unsigned int k,
			      onnx_op zb)
{
	onnx_op p = quant_product(n, i, za, k, zb);

	if (p || n->rc)
		return p;
	return product(n, operand(n, i, za, -2), operand(n, k, zb, -1),
		       exact_terms(n, i, za, k, zb));
}

static void import_matmul_integer(struct onnx_node *n)
{
	n->exact = true;
	onnx_give_as(n, 0, quant_integer_product(n, 0, onnx_in(n, 2), 1, onnx_in(n, 3)),
		     ONNX_INT32);
}

static void import_qlinear_matmul(struct onnx_node *n)
{
	onnx_op r, scale;

	n->exact = true;
	r = quant_integer_product(n, 0, onnx_in(n, 2), 3, onnx_in(n, 5));
	if (!r)
		return;
	scale = ox_bin(n, NCC_MUL, quant_along(n, onnx_in(n, 1), r, -2),
		       quant_along(n, onnx_in(n, 4), r, -1));
	quant_give_scaled(n, r, scale, quant_along(n, onnx_in(n, 6), r, -1), onnx_in(n, 7),
			  n->in[7].type);
}

/* A convolution of as many channels at a time as have that number of terms */
static onnx_op convolved(struct onnx_node *n, onnx_op x, onnx_op k, int64_t most)
{
	int64_t terms = 1, each, channels;
	onnx_op sum = NULL, part;

	if (!x || !k || n->rc)
		return NULL;
	channels = k->shape.dim[k->shape.ndim > 1];
	for (unsigned int i = 2; i < k->shape.ndim; i++)
		terms *= k->shape.dim[i];
	each = most / terms;
	if (channels <= each)
		return quant_word(n, ox_conv(n, x, k, NULL, NEURON_DT_FP32));
	if (!each || onnx_int(n, "group") != 1 || x->shape.dim[1] != channels) {
		onnx_fail(n, -ENOTSUP, "more than %lld terms in a sum", (long long)most);
		return NULL;
	}
	for (int64_t c = 0; c < channels && !n->rc; c += each) {
		int64_t here = channels - c < each ? channels - c : each;

		part = ox_conv(n, ox_slice(n, x, 1, c, here, 1), ox_slice(n, k, 1, c, here, 1),
			       NULL, NEURON_DT_FP32);
		part = quant_packed(n, part, NEURON_DT_INT32);
		sum = sum ? ox_bin(n, NCC_ADD, sum, part) : part;
	}
	return sum;
}

/* Operand 0, of eight bits less its zero point, and the kernel, operand k, likewise */
static onnx_op integer_convolution(struct onnx_node *n, onnx_op za, unsigned int k, onnx_op zb)
{
	onnx_op sum = quant_convolution(n, 0, za, k, zb);

	if (sum || n->rc)
		return sum;
	return convolved(n, operand(n, 0, za, 1), operand(n, k, zb, 0),
			 exact_terms(n, 0, za, k, zb));
}

static void import_conv_integer(struct onnx_node *n)
{
	n->exact = true;
	onnx_give_as(n, 0, integer_convolution(n, onnx_in(n, 2), 1, onnx_in(n, 3)), ONNX_INT32);
}

/* The bias of a QLinearConv, whose scale is that of the sums, as a value */
static onnx_op bias_value(struct onnx_node *n, onnx_op bias)
{
	onnx_op s = ox_bin(n, NCC_MUL, onnx_in(n, 1), onnx_in(n, 4)), r;

	r = ox_bin(n, NCC_MUL, ox_f32(n, bias), s);
	quant_remember(n, r, bias, s, 0);
	return r;
}

/* Is it a Conv between quantized values, done by integers? false: as a Conv of floats */
static bool is_convolved(struct onnx_node *n)
{
	onnx_op bias = onnx_in(n, 8), r;

	if (ncc_elems(&onnx_in(n, 1)->shape) != 1 || !onnx_is_const(onnx_in(n, 3)))
		return false;
	if (bias && (!onnx_is_const(bias) || !onnx_is_const(onnx_in(n, 1)) ||
		     !onnx_is_const(onnx_in(n, 4))))
		return false;
	r = ox_quantized_conv(n, quant_value(n, 0, 1, 2, 1), quant_value(n, 3, 4, 5, 0),
			      bias ? bias_value(n, bias) : NULL);
	if (r)
		quant_give(n, r, 6, 7, 1, ONNX_UINT8);
	return r;
}

static void import_qlinear_conv(struct onnx_node *n)
{
	onnx_op r, bias = onnx_in(n, 8), scale;
	const uint8_t map = 1;

	n->exact = true;
	if (is_convolved(n) || n->rc)
		return;
	r = integer_convolution(n, onnx_in(n, 2), 3, onnx_in(n, 5));
	if (!r)
		return;
	if (bias && (bias->shape.ndim != 1 || bias->shape.dim[0] != r->shape.dim[1]))
		onnx_fail(n, -EINVAL, "the bias does not have one number for each channel");
	else if (bias)
		r = ox_bin(n, NCC_ADD, r, ox_spread(n, bias, &r->shape, &map));
	scale = ox_bin(n, NCC_MUL, quant_along(n, onnx_in(n, 1), r, 1),
		       quant_along(n, onnx_in(n, 4), r, 1));
	quant_give_scaled(n, r, scale, quant_along(n, onnx_in(n, 6), r, 1), onnx_in(n, 7),
			  n->in[7].type);
}

static const struct onnx_attribute like_conv_integer[] = {
	ATTR("auto_pad", TEXT, .words = "NOTSET|SAME_UPPER|SAME_LOWER|VALID", .s = "NOTSET"),
	ATTR("dilations", INTS),
	ATTR("group", INT, .i = 1),
	ATTR("kernel_shape", INTS),
	ATTR("pads", INTS),
	ATTR("strides", INTS),
	{ 0 },
};

const struct onnx_rule onnx_integers[] = {
	/* clang-format off */
	{ "ConvInteger",           2,  4, .import = import_conv_integer, .since = 10, .attrs = like_conv_integer },
	{ "MatMulInteger",         2,  4, .import = import_matmul_integer, .since = 10 },
	{ "QLinearConv",           8,  9, .import = import_qlinear_conv, .since = 10, .attrs = like_conv_integer },
	{ "QLinearMatMul",         8,  8, .import = import_qlinear_matmul, .since = 10 },
	{ .op_type = NULL },
	/* clang-format on */
};
