// SPDX-License-Identifier: MIT
/*
 * Quantized tensors. 8-bit integers less their zero point are exact in bf16, and sums of 256 of
 * their products in fp32, so they are multiplied in that way. Part of the ONNX front end.
 */
#include <errno.h>

#include "onnx.h"

#define EXACT_TERMS 256 /* 256 * 255^2 < 2^24 */

/* A scale or zero point, one number or one for each index of axis, as fp32 of x's rank */
static onnx_op along(struct onnx_node *n, onnx_op v, onnx_op x, int64_t axis)
{
	int64_t dim[NCC_MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	if (!v || !x || n->rc)
		return NULL;
	if (ncc_elems(&v->shape) == 1)
		return ox_f32(n, ox_reshape(n, v, 0, NULL));
	if (v->shape.ndim == x->shape.ndim && v->shape.ndim > 1)
		return ox_f32(n, v);
	if (v->shape.ndim != 1) {
		onnx_fail(n, -ENOTSUP, "scales or zero points of rank %u", v->shape.ndim);
		return NULL;
	}
	dim[onnx_axis(n, axis, x->shape.ndim)] = v->shape.dim[0];
	return ox_f32(n, ox_reshape(n, v, x->shape.ndim, dim));
}

/* Splits x into parts of eight bits, whose products with each other are exact. */
static void take_parts(struct onnx_node *n, onnx_op x, onnx_op part[3])
{
	for (unsigned int i = 0; i < 3; i++) {
		part[i] = i == 2 ? x : ox_f32(n, ox_cast(n, x, NEURON_DT_BF16, false));
		x = ox_bin(n, NCC_SUB, x, part[i]);
	}
}

/*
 * a / b rounded as IEEE does, which decides where a tie goes: the engine's quotient, which is up to
 * one unit off, corrected by the remainder. That is small and exact if the larger products are
 * subtracted first.
 */
static onnx_op quotient(struct onnx_node *n, onnx_op a, onnx_op b)
{
	onnx_op q = ox_bin(n, NCC_DIV, a, b), left = a, x[3], y[3];

	take_parts(n, q, x);
	take_parts(n, b, y);
	for (unsigned int sum = 0; sum < 5; sum++)
		for (unsigned int i = 0; i <= sum && i < 3; i++)
			if (sum - i < 3)
				left = ox_bin(n, NCC_SUB, left,
					      ox_bin(n, NCC_MUL, x[i], y[sum - i]));
	return ox_bin(n, NCC_ADD, q, ox_bin(n, NCC_DIV, left, b));
}

/* x rounded to the nearest number of a type, ties to even, with the zero point added */
static onnx_op quantized(struct onnx_node *n, onnx_op x, onnx_op zero, const struct ncc_shape *to)
{
	onnx_op r = ox_expanded(n, expand_round_even(&n->b, x), x);

	if (zero)
		r = ox_bin(n, NCC_ADD, r, zero);
	r = ox_binc(n, NCC_MIN, ox_binc(n, NCC_MAX, r, ox_least(to)), ox_most(to));
	return ox_cast(n, r, to->dtype, false);
}

static void import_quantize(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), zero = onnx_in(n, 2), q;
	int64_t axis = onnx_int(n, "axis", 1);
	struct ncc_shape to = { .dtype = NEURON_DT_UINT8 };
	int32_t type = zero ? n->in[2].type : (int32_t)onnx_int(n, "output_dtype", ONNX_UINT8);

	type = type ? type : ONNX_UINT8;
	if (onnx_dtype(type, &to) || ncc_is_float(to.dtype)) {
		onnx_fail(n, -ENOTSUP, "to %s is not supported", onnx_type_name(type));
		return;
	}
	n->exact = true;
	q = quotient(n, ox_f32(n, x), along(n, onnx_in(n, 1), x, axis));
	onnx_give_as(n, 0, quantized(n, q, along(n, zero, x, axis), &to), type);
}

static onnx_op dequantized(struct onnx_node *n, onnx_op x, onnx_op zero)
{
	onnx_op f = ox_f32(n, x);

	return zero ? ox_bin(n, NCC_SUB, f, zero) : f;
}

static void import_dequantize(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), r;
	int64_t axis = onnx_int(n, "axis", 1);

	n->exact = true;
	r = dequantized(n, x, along(n, onnx_in(n, 2), x, axis));
	r = ox_bin(n, NCC_MUL, r, along(n, onnx_in(n, 1), x, axis));
	onnx_give_as(n, 0, ox_cast_like(n, r, onnx_in(n, 1)), n->in[1].type);
}

/* The range is that of the values, and includes 0. */
static void import_dynamic(struct onnx_node *n)
{
	const struct ncc_shape to = { .dtype = NEURON_DT_UINT8 };
	onnx_op x = onnx_in(n, 0), low, high, scale, zero;
	uint32_t all = (1u << x->shape.ndim) - 1;

	n->exact = true;
	low = ox_binc(n, NCC_MIN, ox_reduce(n, x, NCC_MIN, all, false), 0);
	high = ox_binc(n, NCC_MAX, ox_reduce(n, x, NCC_MAX, all, false), 0);
	scale = ox_bin(n, NCC_SUB, high, low);
	scale = scale ? quotient(n, scale, ox_scalar(n, &scale->shape, 255)) : NULL;
	zero = quotient(n, ox_un(n, NCC_NEG, low), scale);
	zero = quantized(n, zero, NULL, &to);
	onnx_give_as(n, 0, quantized(n, quotient(n, x, scale), ox_f32(n, zero), &to), ONNX_UINT8);
	onnx_give_as(n, 1, scale, ONNX_FLOAT);
	onnx_give_as(n, 2, zero, ONNX_UINT8);
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
	x = dequantized(n, x, along(n, zero, x, axis));
	return ox_cast(n, x, NEURON_DT_BF16, false);
}

/* A product in s32 that adds as many terms at a time as fp32 adds exactly */
static onnx_op product(struct onnx_node *n, onnx_op a, onnx_op b)
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
	for (int64_t k = 0; k < a->shape.dim[ka] && !n->rc; k += EXACT_TERMS) {
		int64_t left = a->shape.dim[ka] - k,
			terms = left < EXACT_TERMS ? left : EXACT_TERMS;

		part = ox_matmul(n, ox_slice(n, a, ka, k, terms, 1),
				 ox_slice(n, b, kb, k, terms, 1), NEURON_DT_FP32);
		part = ox_cast(n, part, NEURON_DT_INT32, false);
		sum = sum ? ox_bin(n, NCC_ADD, sum, part) : part;
	}
	return sum;
}

static void import_matmul_integer(struct onnx_node *n)
{
	onnx_op a, b;

	n->exact = true;
	a = operand(n, 0, onnx_in(n, 2), -2);
	b = operand(n, 1, onnx_in(n, 3), -1);
	onnx_give_as(n, 0, product(n, a, b), ONNX_INT32);
}

/* Gives x times a scale of fp32, in the type of the zero point. */
static void give_scaled(struct onnx_node *n, onnx_op x, onnx_op scale, onnx_op to, onnx_op zero,
			int32_t type)
{
	scale = ox_bin(n, NCC_DIV, scale, to);
	x = ox_bin(n, NCC_MUL, ox_f32(n, x), scale);
	if (x && zero)
		onnx_give_as(n, 0, quantized(n, x, along(n, zero, x, 1), &zero->shape), type);
}

static void import_qlinear_matmul(struct onnx_node *n)
{
	onnx_op a, b, r, scale;

	n->exact = true;
	a = operand(n, 0, onnx_in(n, 2), -2);
	b = operand(n, 3, onnx_in(n, 5), -1);
	r = product(n, a, b);
	if (!r)
		return;
	scale = ox_bin(n, NCC_MUL, along(n, onnx_in(n, 1), r, -2), along(n, onnx_in(n, 4), r, -1));
	give_scaled(n, r, scale, along(n, onnx_in(n, 6), r, -1), onnx_in(n, 7), n->in[7].type);
}

/* A convolution of as many channels at a time as fp32 adds exactly */
static onnx_op convolved(struct onnx_node *n, onnx_op x, onnx_op k)
{
	int64_t terms = 1, each, channels;
	onnx_op sum = NULL, part;

	if (!x || !k || n->rc)
		return NULL;
	channels = k->shape.dim[k->shape.ndim > 1];
	for (unsigned int i = 2; i < k->shape.ndim; i++)
		terms *= k->shape.dim[i];
	each = EXACT_TERMS / terms;
	if (channels <= each)
		return ox_cast(n, ox_conv(n, x, k, NEURON_DT_FP32), NEURON_DT_INT32, false);
	if (!each || onnx_int(n, "group", 1) != 1 || x->shape.dim[1] != channels) {
		onnx_fail(n, -ENOTSUP, "more than %d terms in a sum", EXACT_TERMS);
		return NULL;
	}
	for (int64_t c = 0; c < channels && !n->rc; c += each) {
		int64_t here = channels - c < each ? channels - c : each;

		part = ox_conv(n, ox_slice(n, x, 1, c, here, 1), ox_slice(n, k, 1, c, here, 1),
			       NEURON_DT_FP32);
		part = ox_cast(n, part, NEURON_DT_INT32, false);
		sum = sum ? ox_bin(n, NCC_ADD, sum, part) : part;
	}
	return sum;
}

static void import_conv_integer(struct onnx_node *n)
{
	onnx_op x, k;

	n->exact = true;
	x = operand(n, 0, onnx_in(n, 2), 1);
	k = operand(n, 1, onnx_in(n, 3), 0);
	onnx_give_as(n, 0, convolved(n, x, k), ONNX_INT32);
}

static void import_qlinear_conv(struct onnx_node *n)
{
	onnx_op x, k, r, bias = onnx_in(n, 8), scale;
	const uint8_t map = 1;

	n->exact = true;
	x = operand(n, 0, onnx_in(n, 2), 1);
	k = operand(n, 3, onnx_in(n, 5), 0);
	r = convolved(n, x, k);
	if (!r)
		return;
	if (bias && (bias->shape.ndim != 1 || bias->shape.dim[0] != r->shape.dim[1]))
		onnx_fail(n, -EINVAL, "the bias does not have one number for each channel");
	else if (bias)
		r = ox_bin(n, NCC_ADD, r, ox_spread(n, bias, &r->shape, &map));
	scale = ox_bin(n, NCC_MUL, along(n, onnx_in(n, 1), r, 1), along(n, onnx_in(n, 4), r, 1));
	give_scaled(n, r, scale, along(n, onnx_in(n, 6), r, 1), onnx_in(n, 7), n->in[7].type);
}

const struct onnx_rule onnx_quant[] = {
	/* clang-format off */
	{ "ConvInteger",           2,  4, .import = import_conv_integer },
	{ "DequantizeLinear",      2,  3, .import = import_dequantize },
	{ "DynamicQuantizeLinear", 1,  1, .import = import_dynamic },
	{ "MatMulInteger",         2,  4, .import = import_matmul_integer },
	{ "QLinearConv",           8,  9, .import = import_qlinear_conv },
	{ "QLinearMatMul",         8,  8, .import = import_qlinear_matmul },
	{ "QuantizeLinear",        2,  3, .import = import_quantize },
	{ .op_type = NULL },
	/* clang-format on */
};
