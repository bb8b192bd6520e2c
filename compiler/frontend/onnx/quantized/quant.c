// SPDX-License-Identifier: MIT
/*
 * Quantized tensors: numbers as multiples of a scale, rounded as division would round them. Part of
 * the ONNX front end.
 */
#include <errno.h>
#include <float.h>
#include <math.h>

#include "quantized.h"
#include "frontend/onnx/products/products.h"

bool quant_is_zero(onnx_op zero)
{
	double v;

	return !zero || (ncc_scalar_value(zero, &v) && !v);
}

onnx_op quant_along(struct onnx_node *n, onnx_op v, onnx_op x, int64_t axis)
{
	int64_t dim[NCC_MAX_DIMS] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	if (!v || !x || n->rc)
		return NULL;
	if (ncc_elems(&v->shape) == 1)
		return ox_reshape(n, quant_unpacked(n, v), 0, NULL);
	if (quant_has_blocks(n) || (v->shape.ndim == x->shape.ndim && v->shape.ndim > 1))
		return ox_f32(n, quant_of_blocks(n, v, &x->shape, axis));
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
			if (sum - i < 3 && !quant_is_zero(y[sum - i]))
				left = ox_bin(n, NCC_SUB, left,
					      ox_bin(n, NCC_MUL, x[i], y[sum - i]));
	return ox_bin(n, NCC_ADD, q, ox_bin(n, NCC_DIV, left, b));
}

/* Splits b into two parts of twelve bits. */
static void take_halves(struct onnx_node *n, onnx_op b, onnx_op half[2])
{
	onnx_op c = ox_binc(n, NCC_MUL, b, 0x1p12 + 1);

	half[0] = ox_bin(n, NCC_SUB, c, ox_bin(n, NCC_SUB, c, b));
	half[1] = ox_bin(n, NCC_SUB, b, half[0]);
}

/* The number nearest to 1 / b, also for b = 0 */
static onnx_op inverse(struct onnx_node *n, onnx_op b)
{
	return b ? ox_binc(n, NCC_MIN, ox_bin(n, NCC_DIV, ox_scalar(n, &b->shape, 1), b), FLT_MAX)
		 : NULL;
}

/* 1 / b rounded up: the next number if 1 - b / b is positive, which is exact in this order. */
static onnx_op inverse_up(struct onnx_node *n, onnx_op b)
{
	onnx_op r = inverse(n, b), left = b ? ox_scalar(n, &b->shape, 1) : NULL, x[2], y[2];

	take_halves(n, b, x);
	take_halves(n, r, y);
	for (unsigned int i = 0; i < 4; i++)
		left = ox_bin(n, NCC_SUB, left, ox_bin(n, NCC_MUL, x[i / 2], y[i % 2]));
	left = left ? ox_f32(n, ox_binc(n, NCC_GT, left, 0)) : NULL;
	return ox_bin(n, NCC_ADD, r, ox_bin(n, NCC_MUL, r, ox_binc(n, NCC_MUL, left, 0x1p-24)));
}

/*
 * a / b for 8 bits, of which the nearest integer is that of IEEE's quotient: half is the quotient
 * rounded to halves, and what is left of a without it is exact, since half has ten bits. A half is
 * a tie, and what is left says how far from it a lies; the quotient is the tie itself if that is
 * less than half a unit of its last place. An inverse that is not too small, and at most a unit too
 * large, keeps to that side: what is left is off from half a unit by 2^-24 of it or more.
 */
static onnx_op short_quotient(struct onnx_node *n, onnx_op a, onnx_op b)
{
	onnx_op times = inverse_up(n, b), part[2],
		half = quant_rounded(n, ox_bin(n, NCC_MUL, a, times), 0.5), left = a;

	take_halves(n, b, part);
	for (unsigned int i = 0; i < 2; i++)
		left = ox_bin(n, NCC_SUB, left, ox_bin(n, NCC_MUL, half, part[i]));
	return ox_bin(n, NCC_ADD, half, ox_bin(n, NCC_MUL, left, times));
}

/* The least or greatest number of a type less its zero point */
static onnx_op bound(struct onnx_node *n, onnx_op x, double most, onnx_op zero)
{
	onnx_op v = x ? ox_scalar(n, &x->shape, most) : NULL;

	return zero ? ox_bin(n, NCC_SUB, v, zero) : v;
}

static onnx_op clamped(struct onnx_node *n, onnx_op x, onnx_op low, onnx_op high)
{
	return ox_bin(n, NCC_MIN, ox_bin(n, NCC_MAX, x, low), high);
}

/* A NaN becomes the least number of the type, as in onnxruntime. */
static onnx_op numbers_of(struct onnx_node *n, onnx_op x)
{
	return x ? ox_select(n, ox_bin(n, NCC_EQ, x, x), x, ox_scalar(n, &x->shape, -INFINITY))
		 : NULL;
}

static void set_bounds(struct onnx_node *n, onnx_op whole, onnx_op zero, const struct ncc_shape *to)
{
	int64_t *bounds = whole ? ncc_alloc(n->imp->m, 2 * sizeof(*bounds)) : NULL;
	double v = 0;

	if (!bounds || (zero && !ncc_scalar_value(zero, &v)))
		return;
	bounds[0] = (int64_t)(ox_least(to) - v);
	bounds[1] = (int64_t)(ox_most(to) - v);
	whole->bounds = bounds;
}

/* Integers in fp32 that are less by their zero point than numbers of the type */
static onnx_op with_zero(struct onnx_node *n, onnx_op whole, onnx_op zero,
			 const struct ncc_shape *to)
{
	set_bounds(n, whole, zero, to);
	return quant_packed(n, quant_is_zero(zero) ? whole : ox_bin(n, NCC_ADD, whole, zero),
			    to->dtype);
}

/* x rounded to the nearest number of a type, ties to even, with the zero point added */
static onnx_op quantized(struct onnx_node *n, onnx_op x, onnx_op zero, const struct ncc_shape *to)
{
	x = clamped(n, x, bound(n, x, ox_least(to), zero), bound(n, x, ox_most(to), zero));
	return with_zero(n, quant_rounded(n, x, 1), zero, to);
}

#define SUM_DEPTH 8 /* operations after a sum */

/*
 * Is x made of a sum of products, or of floats, of which ONNX does not say the order? It lies
 * closer to a tie than its own error as often as a quotient's error decides.
 */
static bool has_sum(onnx_op x, unsigned int depth)
{
	if (x->exact || !ncc_is_float(x->shape.dtype))
		return false;
	switch (x->kind) {
	case NCC_CONV:
	case NCC_DOT:
		return true;
	case NCC_REDUCE:
	case NCC_REDUCE_WINDOW:
		if (x->func == NCC_ADD)
			return true;
		break;
	case NCC_BROADCAST:
	case NCC_RESHAPE:
	case NCC_TRANSPOSE:
	case NCC_SLICE:
		break;
	default:
		if (!ncc_is_elementwise(x->kind))
			return false;
	}
	for (unsigned int i = 0; depth && i < x->nin; i++)
		if (has_sum(x->in[i], depth - 1))
			return true;
	return false;
}

/*
 * x / scale rounded, where x was quantized before and its product with the scale's inverse has the
 * same nearest integer, of each value that it can have; NULL: another x
 */
static onnx_op requantized(struct onnx_node *n, onnx_op x, onnx_op scale, onnx_op low, onnx_op high)
{
	struct quant_each e = { 0 };
	double v[3];

	if (!x || !low || !high || !ncc_scalar_value(scale, &v[0]) ||
	    !ncc_scalar_value(low, &v[1]) || !ncc_scalar_value(high, &v[2]))
		return NULL;
	e.scale = (float)v[0];
	e.times = 1 / e.scale;
	e.low = (float)v[1];
	e.high = (float)v[2];
	if (!isnormal(e.scale) || !isnormal(e.times) ||
	    !quant_holds(&e, quant_product_is_quotient, x))
		return NULL;
	if (!quant_holds(&e, quant_is_within, x))
		x = clamped(n, x, low, high);
	return quant_rounded(n, ox_binc(n, NCC_MUL, x, e.times), 1);
}

/* Whole numbers times their scale: what requantized() made of such is taken from there. */
static onnx_op scaled(struct onnx_node *n, onnx_op whole, onnx_op scale)
{
	onnx_op by = whole && quant_is_rounded(whole) ? whole->in[0]->in[0] : NULL;
	struct quant_each e = { 0 };
	double v[2];

	if (by && scale && by->kind == NCC_MUL && ncc_scalar_value(scale, &v[0]) &&
	    ncc_scalar_value(by->in[1], &v[1])) {
		e.scale = (float)v[0];
		e.times = (float)v[1];
		if (quant_holds(&e, quant_is_kept, by->in[0]))
			return by->in[0];
	}
	return ox_bin(n, NCC_MUL, whole, scale);
}

/* x / scale as a number of a type; sum: x has_sum() */
static onnx_op quantized_by(struct onnx_node *n, onnx_op x, onnx_op scale, onnx_op zero,
			    const struct ncc_shape *to, bool sum)
{
	onnx_op low, high, whole;

	if (ncc_dtype_size(to->dtype) > 1) {
		high = ox_binc(n, NCC_MUL, ox_un(n, NCC_ABS, scale), 3 * ox_most(to));
		x = clamped(n, numbers_of(n, x), ox_un(n, NCC_NEG, high), high);
		return quantized(n, quotient(n, x, scale), zero, to);
	}
	whole = quant_of_bytes(n, x, scale, zero, to);
	if (whole)
		return with_zero(n, whole, zero, to);
	low = ox_bin(n, NCC_MUL, bound(n, scale, ox_least(to), zero), scale);
	high = ox_bin(n, NCC_MUL, bound(n, scale, ox_most(to), zero), scale);
	whole = sum ? NULL : requantized(n, x, scale, low, high);
	if (whole)
		return with_zero(n, whole, zero, to);
	x = clamped(n, numbers_of(n, x), low, high);
	x = sum ? ox_bin(n, NCC_MUL, x, inverse(n, scale)) : short_quotient(n, x, scale);
	return with_zero(n, quant_rounded(n, x, 1), zero, to);
}

/* Is the zero point of 8-bit floats, which says their type only, 0? */
static bool has_no_zero(struct onnx_node *n, onnx_op z)
{
	bool none = quant_is_zero(z);

	if (!none && z->kind == NCC_CONST) {
		int64_t i = 0;

		while (i < ncc_elems(&z->shape) && ncc_get(z->shape.dtype, z->data, i) == 0)
			i++;
		none = i == ncc_elems(&z->shape);
	}
	if (!none)
		onnx_fail(n, -ENOTSUP, "a zero point of 8-bit floats that is not 0");
	return none;
}

/* x / scale, in fp32, as an 8-bit float; x that is too large stays so, and has a quotient */
static onnx_op quantized_float8(struct onnx_node *n, onnx_op x, onnx_op scale, int32_t type)
{
	onnx_op most =
		ox_binc(n, NCC_MUL, ox_un(n, NCC_ABS, scale), 2 * (double)onnx_float8(type)->most);
	onnx_op sign = ox_bin(n, NCC_MUL, x, scale);

	x = quotient(n, clamped(n, x, ox_un(n, NCC_NEG, most), most), scale);
	return ox_float8(n, x, sign, type, onnx_int(n, "saturate"));
}

void quant_give(struct onnx_node *n, onnx_op x, unsigned int scale, unsigned int zero, int64_t axis,
		int32_t otherwise)
{
	struct ncc_shape to = { .dtype = NEURON_DT_UINT8 };
	onnx_op z = onnx_in(n, zero), s;
	int32_t type = z ? n->in[zero].type : otherwise;
	bool sum = x && has_sum(x, SUM_DEPTH);

	if (onnx_float8(type)) {
		n->exact = true;
		s = quant_along(n, onnx_in(n, scale), x, axis);
		if (has_no_zero(n, z))
			onnx_give_as(n, 0, quantized_float8(n, ox_f32(n, x), s, type), type);
		return;
	}
	if (onnx_dtype(type, &to) || ncc_is_float(to.dtype)) {
		onnx_fail(n, -ENOTSUP, "to %s is not supported", onnx_type_name(type));
		return;
	}
	n->exact = true;
	s = quant_along(n, onnx_in(n, scale), x, axis);
	z = quant_along(n, z, x, axis);
	onnx_give_as(n, 0, quantized_by(n, ox_f32(n, x), s, z, &to, sum), type);
}

static void import_quantize(struct onnx_node *n)
{
	int64_t type = onnx_int_or(n, "output_dtype", ONNX_UINT8);

	quant_give(n, onnx_in(n, 0), 1, 2, onnx_int(n, "axis"), type ? (int32_t)type : ONNX_UINT8);
}

/* Are they one number, or the same one computed? */
static bool are_same(onnx_op a, onnx_op b)
{
	double x, y;

	if (ncc_scalar_value(a, &x) && ncc_scalar_value(b, &y))
		return x == y;
	while (a->kind == NCC_BROADCAST || a->kind == NCC_RESHAPE)
		a = a->in[0];
	while (b->kind == NCC_BROADCAST || b->kind == NCC_RESHAPE)
		b = b->in[0];
	return a == b && ncc_elems(&a->shape) == 1;
}

onnx_op quant_dequantized(struct onnx_node *n, onnx_op x, onnx_op zero)
{
	onnx_op f = quant_unpacked(n, x);

	if (!f || quant_is_zero(zero))
		return f;
	if (f->kind == NCC_ADD && quant_is_rounded(f->in[0]) && are_same(f->in[1], zero))
		return f->in[0];
	return ox_bin(n, NCC_SUB, f, zero);
}

onnx_op quant_value(struct onnx_node *n, unsigned int i, unsigned int scale, unsigned int zero,
		    int64_t axis)
{
	onnx_op x = onnx_in(n, i), s = onnx_in(n, scale), z = onnx_in(n, zero), whole = NULL, r;
	bool exact = n->exact;

	n->exact = true;
	if (x && s && onnx_is_const(x) && quant_is_zero(z))
		whole = x;
	else if (x && s && z && onnx_is_const(x) && ncc_elems(&z->shape) == 1)
		whole = quant_constant(n, x, z);
	z = quant_along(n, z, x, axis);
	r = scaled(n, quant_dequantized(n, x, z), quant_along(n, s, x, axis));
	r = ox_cast_like(n, r, s);
	n->exact = exact;
	if (r && !quant_has_blocks(n))
		quant_remember(n, r, whole, s,
			       ncc_elems(&s->shape) == 1 ? 0 : onnx_axis(n, axis, x->shape.ndim));
	return r;
}

static void import_dequantize(struct onnx_node *n)
{
	const int64_t axis = onnx_int(n, "axis");
	onnx_op x = onnx_in(n, 0);

	n->exact = true;
	if (!onnx_float8(n->in[0].type)) {
		x = quant_value(n, 0, 1, 2, axis);
	} else if (has_no_zero(n, onnx_in(n, 2))) {
		x = ox_bin(n, NCC_MUL, ox_f32(n, x), quant_along(n, onnx_in(n, 1), x, axis));
		x = ox_cast_like(n, x, onnx_in(n, 1));
	}
	onnx_give_as(n, 0, x, n->in[1].type);
}

/*
 * x / 255 rounded as IEEE does. What is left of x is exact, and the quotient is never so close to a
 * tie that the error of its correction decides.
 */
static onnx_op a_255th(struct onnx_node *n, onnx_op x)
{
	onnx_op q = ox_binc(n, NCC_MUL, x, (double)(1 / 255.0f)), left;

	left = ox_bin(n, NCC_SUB, ox_binc(n, NCC_MUL, x, 0x1p-8), q);
	left = ox_bin(n, NCC_ADD, left, ox_binc(n, NCC_MUL, q, 0x1p-8));
	return ox_bin(n, NCC_ADD, q, ox_binc(n, NCC_MUL, left, (double)(0x1p8f / 255)));
}

/*
 * x / scale as a number of eight bits less its zero point, which the range makes: it lies within
 * the type but for what its rounding adds
 */
static onnx_op dynamic_quotient(struct onnx_node *n, onnx_op x, onnx_op scale, bool sum)
{
	return sum ? ox_bin(n, NCC_MUL, x, inverse(n, scale)) : short_quotient(n, x, scale);
}

/* A 255th of the range; of none 1, as in onnxruntime; of an endless one infinity */
static onnx_op dynamic_scale(struct onnx_node *n, onnx_op range)
{
	onnx_op scale = a_255th(n, range), one = ox_number(n, 1);

	scale = ox_select(n, ox_binc(n, NCC_EQ, range, 0), one, scale);
	return ox_select(n, ox_binc(n, NCC_EQ, range, INFINITY), range, scale);
}

/* The range is that of the values, and includes 0. */
static void import_dynamic(struct onnx_node *n)
{
	const struct ncc_shape to = { .dtype = NEURON_DT_UINT8 };
	onnx_op x = onnx_in(n, 0), low, high, scale, zero, value;
	uint32_t all = (1u << x->shape.ndim) - 1;
	bool sum = has_sum(x, SUM_DEPTH);

	n->exact = true;
	low = ox_binc(n, NCC_MIN, ox_reduce(n, x, NCC_MIN, all, false), 0);
	high = ox_binc(n, NCC_MAX, ox_reduce(n, x, NCC_MAX, all, false), 0);
	scale = dynamic_scale(n, ox_bin(n, NCC_SUB, high, low));
	zero = quant_rounded(n, dynamic_quotient(n, ox_un(n, NCC_NEG, low), scale, sum), 1);
	value = quantized_by(n, x, scale, zero, &to, sum);
	quant_note_dynamic(n, value, dynamic_quotient(n, x, scale, sum));
	zero = with_zero(n, zero, NULL, &to);
	onnx_give_as(n, 0, value, ONNX_UINT8);
	onnx_give_as(n, 1, scale, ONNX_FLOAT);
	onnx_give_as(n, 2, zero, ONNX_UINT8);
}

void quant_give_scaled(struct onnx_node *n, onnx_op x, onnx_op scale, onnx_op to, onnx_op zero,
		       int32_t type)
{
	scale = ox_bin(n, NCC_DIV, scale, to);
	x = ox_bin(n, NCC_MUL, ox_f32(n, x), scale);
	if (x && zero)
		onnx_give_as(n, 0, quantized(n, x, quant_along(n, zero, x, 1), &zero->shape), type);
}

const struct onnx_rule onnx_quant[] = {
	/* clang-format off */
	{ "DequantizeLinear",      2,  3, .import = import_dequantize, .sized = sized_like_first, .takes = ONNX_OPERAND(0), .since = 10,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = 1, .from = 13), ATTR("block_size", INT, .from = 21),
		ATTR("output_dtype", INT, .from = 23)) },
	{ "DynamicQuantizeLinear", 1,  1, .import = import_dynamic, .sized = sized_range_of, .takes = ONNX_OPERAND(0), .since = 11 },
	{ "QuantizeLinear",        2,  3, .import = import_quantize, .sized = sized_like_first, .takes = ONNX_OPERAND(0), .since = 10,
	  .attrs = ONNX_ATTRS(
		ATTR("axis", INT, .i = 1, .from = 13), ATTR("block_size", INT, .from = 21),
		ATTR("output_dtype", INT, .from = 21), ATTR("precision", INT, .from = 23),
		ATTR("saturate", INT, .i = 1, .from = 19)) },
	{ .op_type = NULL },
	/* clang-format on */
};
