// SPDX-License-Identifier: MIT
/* Element-wise operators except activations (act.c). Part of the ONNX front end. */
#include <errno.h>
#include <math.h>

#include "elements.h"

static bool is_logic(enum ncc_kind kind)
{
	return kind == NCC_AND || kind == NCC_OR || kind == NCC_XOR || kind == NCC_NOT ||
	       kind == NCC_SHL || kind == NCC_SHR;
}

/* Refuses bit operations of floats and arithmetic of predicates. */
static bool check_type(struct onnx_node *n, enum ncc_kind kind)
{
	const struct ncc_shape *s = &onnx_in(n, 0)->shape;

	if (is_logic(kind) ? ncc_is_float(s->dtype) : s->pred)
		onnx_fail(n, -EINVAL, "of %s", ncc_dtype_name(s));
	return !n->rc;
}

/* Operators that are one kind of the IR, in the operand's own type */
static void import_unary(struct onnx_node *n)
{
	if (check_type(n, (enum ncc_kind)onnx_arg(n)))
		onnx_give(n, 0, ox_un(n, (enum ncc_kind)onnx_arg(n), onnx_in(n, 0)));
}

static void import_float(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	if (x && !ncc_is_float(x->shape.dtype))
		onnx_fail(n, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	import_unary(n);
}

/* Operators that expand/math.c expands, in fp32 */
static void import_expanded(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	if (!ncc_is_float(x->shape.dtype))
		onnx_fail(n, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	else
		onnx_give(n, 0,
			  ox_cast_like(n, ox_expanded(n, n->rule->expand(&n->b, ox_f32(n, x)), x),
				       x));
}

static void import_reciprocal(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	onnx_give(n, 0, ox_bin(n, NCC_DIV, ox_scalar(n, &x->shape, 1), x));
}

/* ln((1 + x) / (1 - x)) / 2 = (log1p(x) - log1p(-x)) / 2 */
static onnx_op atanh_of(struct onnx_node *n, onnx_op x)
{
	onnx_op a = expand_log1p(&n->b, x), b = expand_log1p(&n->b, ox_un(n, NCC_NEG, x));

	return ox_binc(n, NCC_MUL, ox_bin(n, NCC_SUB, a, b), 0.5);
}

#define MOST_SQUARED 0x1p20 /* above, x^2 + 1 and x^2 - 1 are x^2 as far as their roots go */
#define LN2 0.69314718055994531

/* ln(2 x) for large x, which may be infinite, else small */
static onnx_op for_large(struct onnx_node *n, onnx_op x, onnx_op small)
{
	onnx_op large = ox_binc(n, NCC_ADD, ox_un(n, NCC_LOG, x), LN2);

	return ox_select(n, ox_binc(n, NCC_GT, x, MOST_SQUARED), large, small);
}

/* s(x) ln(|x| + sqrt(x^2 + 1)) = s(x) log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))) */
static onnx_op asinh_of(struct onnx_node *n, onnx_op x)
{
	onnx_op a = ox_un(n, NCC_ABS, x), q = ox_bin(n, NCC_MUL, x, x);
	onnx_op root = ox_un(n, NCC_SQRT, ox_binc(n, NCC_ADD, q, 1));

	q = ox_bin(n, NCC_DIV, q, ox_binc(n, NCC_ADD, root, 1));
	q = for_large(n, a, expand_log1p(&n->b, ox_bin(n, NCC_ADD, a, q)));
	return ox_bin(n, NCC_MUL, q, ox_un(n, NCC_SIGN, x));
}

/* d = x - 1: log1p(d + sqrt(d) sqrt(d + 2)) */
static onnx_op acosh_of(struct onnx_node *n, onnx_op x)
{
	onnx_op d = ox_binc(n, NCC_SUB, x, 1), r = ox_un(n, NCC_SQRT, d);

	r = ox_bin(n, NCC_MUL, r, ox_un(n, NCC_SQRT, ox_binc(n, NCC_ADD, d, 2)));
	return for_large(n, x, expand_log1p(&n->b, ox_bin(n, NCC_ADD, d, r)));
}

#define ONE_EXP 20 /* above, exp(-x) is nothing beside exp(x) */

/* exp(x) / 2 for large x, of which exp(x) may be infinite, else small */
static onnx_op half_exp(struct onnx_node *n, onnx_op x, onnx_op small)
{
	onnx_op root = ox_un(n, NCC_EXP, ox_binc(n, NCC_MUL, x, 0.5));
	onnx_op large = ox_bin(n, NCC_MUL, ox_binc(n, NCC_MUL, root, 0.5), root);

	return ox_select(n, ox_binc(n, NCC_GT, x, ONE_EXP), large, small);
}

/* (expm1(x) + expm1(x) / (expm1(x) + 1)) / 2 */
static onnx_op sinh_of(struct onnx_node *n, onnx_op x)
{
	onnx_op a = ox_un(n, NCC_ABS, x), e = expand_expm1(&n->b, a);
	onnx_op sum = ox_bin(n, NCC_ADD, e, ox_bin(n, NCC_DIV, e, ox_binc(n, NCC_ADD, e, 1)));

	sum = half_exp(n, a, ox_binc(n, NCC_MUL, sum, 0.5));
	return ox_bin(n, NCC_MUL, sum, ox_un(n, NCC_SIGN, x));
}

static onnx_op cosh_of(struct onnx_node *n, onnx_op x)
{
	onnx_op a = ox_un(n, NCC_EXP, x), b = ox_un(n, NCC_EXP, ox_un(n, NCC_NEG, x));

	return half_exp(n, ox_un(n, NCC_ABS, x),
			ox_binc(n, NCC_MUL, ox_bin(n, NCC_ADD, a, b), 0.5));
}

/* asin x = atan(x / sqrt((1 - x)(1 + x))) */
static onnx_op asin_of(struct onnx_node *n, onnx_op x)
{
	onnx_op one = ox_scalar(n, &x->shape, 1);
	onnx_op d = ox_bin(n, NCC_MUL, ox_bin(n, NCC_SUB, one, x), ox_bin(n, NCC_ADD, one, x));

	return ox_un(n, NCC_ATAN, ox_bin(n, NCC_DIV, x, ox_un(n, NCC_SQRT, d)));
}

/* acos x = 2 atan(sqrt((1 - x) / (1 + x))) */
static onnx_op acos_of(struct onnx_node *n, onnx_op x)
{
	onnx_op one = ox_scalar(n, &x->shape, 1);
	onnx_op q = ox_bin(n, NCC_DIV, ox_bin(n, NCC_SUB, one, x), ox_bin(n, NCC_ADD, one, x));

	return ox_binc(n, NCC_MUL, ox_un(n, NCC_ATAN, ox_un(n, NCC_SQRT, q)), 2);
}

static void import_formula(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	if (!ncc_is_float(x->shape.dtype)) {
		onnx_fail(n, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
		return;
	}
	n->exact = true;
	onnx_give(n, 0, ox_cast_like(n, n->rule->formula(n, ox_f32(n, x)), x));
}

/* Before version 7 the second operand's dimensions may begin at an axis of the first's */
static onnx_op second(struct onnx_node *n)
{
	onnx_op a = onnx_in(n, 0), b = onnx_in(n, 1);
	int64_t axis = onnx_int(n, "axis"), dim[NCC_MAX_DIMS];
	unsigned int nd;

	if (n->opset >= 7 || !onnx_int(n, "broadcast") || axis < 0)
		return b;
	nd = a->shape.ndim;
	if (axis > nd || b->shape.ndim > nd - axis) {
		onnx_fail(n, -EINVAL, "axis %lld of rank %u", (long long)axis, nd);
		return NULL;
	}
	for (unsigned int i = 0; i < nd - axis; i++)
		dim[i] = i < b->shape.ndim ? b->shape.dim[i] : 1;
	return ox_reshape(n, b, nd - (unsigned int)axis, dim);
}

static void import_binary(struct onnx_node *n)
{
	if (!check_type(n, (enum ncc_kind)onnx_arg(n)))
		return;
	onnx_give(n, 0, ox_bin(n, (enum ncc_kind)onnx_arg(n), onnx_in(n, 0), second(n)));
}

static void import_compare(struct onnx_node *n)
{
	onnx_op r = ox_bin(n, (enum ncc_kind)onnx_arg(n), onnx_in(n, 0), second(n));

	onnx_give_as(n, 0, r, ONNX_BOOL);
}

/*
 * The remainder has the dividend's sign with fmod, else the divisor's: then b is added where the
 * signs differ.
 */
static void import_mod(struct onnx_node *n)
{
	onnx_op a = onnx_in(n, 0), b = onnx_in(n, 1), x, y, r, other;

	if (!onnx_int(n, "fmod") && ncc_is_float(a->shape.dtype)) {
		onnx_fail(n, -EINVAL, "of %s needs fmod=1", ncc_dtype_name(&a->shape));
		return;
	}

	x = a;
	y = b;
	if (!ox_common(n, &x, &y))
		return;
	if (ncc_is_float(a->shape.dtype))
		r = expand_remainder(&n->b, ox_f32(n, x), ox_f32(n, y));
	else
		r = expand_rest_whole(&n->b, x, y);
	r = ox_cast_like(n, ox_expanded(n, r, onnx_is_const(x) ? y : x), a);
	if (!onnx_int(n, "fmod") && r) {
		other = ox_bin(n, NCC_XOR, ox_binc(n, NCC_LT, r, 0), ox_binc(n, NCC_LT, b, 0));
		other = ox_bin(n, NCC_AND, other, ox_binc(n, NCC_NE, r, 0));
		r = ox_select(n, other, ox_bin(n, NCC_ADD, r, b), r);
	}
	onnx_give(n, 0, r);
}

/* Integers to the power of integers, all their bits */
static onnx_op whole_power(struct onnx_node *n, onnx_op a, onnx_op b)
{
	const uint8_t dtype = a->shape.dtype;
	onnx_op x = ncc_dtype_size(dtype) < 4 ? ox_cast(n, a, NEURON_DT_INT32, false) : a;

	b = x ? ox_cast(n, b, x->shape.dtype, false) : NULL;
	if (!ox_common(n, &x, &b))
		return NULL;
	x = ox_expanded(n, expand_power_whole(&n->b, x, b), onnx_is_const(x) ? b : x);
	return ox_cast(n, x, dtype, false);
}

#define POW_ERROR 0x1p-20 /* of POW, which may fall short of a whole number by less */

/* Integers to the power of floats: of those that are whole as of integers, else towards zero */
static onnx_op mixed_power(struct onnx_node *n, onnx_op a, onnx_op b)
{
	onnx_op whole = ox_cast(n, b, NEURON_DT_INT32, false), r, near, off;
	onnx_op is_whole = ox_bin(n, NCC_EQ, ox_f32(n, whole), ox_f32(n, b));

	r = ox_bin(n, NCC_POW, ox_f32(n, a), ox_f32(n, b));
	near = ox_expanded(n, expand_round_even(&n->b, r), r);
	off = ox_un(n, NCC_ABS, ox_bin(n, NCC_SUB, r, near));
	off = ox_bin(n, NCC_LE, off, ox_binc(n, NCC_MUL, ox_un(n, NCC_ABS, near), POW_ERROR));
	r = ox_cast(n, ox_select(n, off, near, r), a->shape.dtype, false);
	return ox_select(n, is_whole, whole ? whole_power(n, a, whole) : NULL, r);
}

/* The result has the base's type */
static void import_pow(struct onnx_node *n)
{
	onnx_op a = onnx_in(n, 0), b = second(n), r;
	double v;

	if (!b)
		return;
	if (ncc_scalar_value(b, &v) && (v == 2 || v == 3)) {
		r = ox_bin(n, NCC_MUL, a, a);
		r = v == 3 ? ox_bin(n, NCC_MUL, r, a) : r;
		b = ox_cast_like(n, b, a);
		if (ox_common(n, &r, &b)) /* The exponent's dimensions, too */
			onnx_give(n, 0, r);
		return;
	}
	if (ncc_is_float(a->shape.dtype))
		r = ox_cast_like(n, ox_bin(n, NCC_POW, ox_f32(n, a), ox_f32(n, b)), a);
	else if (!ncc_is_float(b->shape.dtype) || (ncc_scalar_value(b, &v) && v == trunc(v)))
		r = onnx_is_const(a) && onnx_is_const(b)
			    ? ox_bin(n, NCC_POW, a, ox_cast_like(n, b, a))
			    : whole_power(n, a, b);
	else
		r = mixed_power(n, a, b);
	onnx_give(n, 0, r);
}

static void import_shift(struct onnx_node *n)
{
	enum ncc_kind kind = onnx_string_is(n, "direction", "LEFT") ? NCC_SHL : NCC_SHR;
	onnx_op x = onnx_in(n, 0), by = onnx_in(n, 1);

	if (!check_type(n, kind))
		return;
	if (kind == NCC_SHL || ox_least(&x->shape) >= 0)
		onnx_give(n, 0, ox_bin(n, kind, x, by));
	else if (ox_common(n, &x, &by)) /* filled with the sign */
		onnx_give(n, 0, ox_expanded(n, expand_shift_arithmetic(&n->b, x, by), x));
}

/* Max, Min, Sum and Mean of any number of operands */
static void import_many(struct onnx_node *n)
{
	const bool mean = onnx_arg(n) == NCC_DIV; /* of a sum that need not fit 16 bits */
	enum ncc_kind kind = mean ? NCC_ADD : (enum ncc_kind)onnx_arg(n);
	onnx_op r = mean ? ox_f32(n, onnx_in(n, 0)) : onnx_in(n, 0);

	for (unsigned int i = 1; i < n->nin; i++)
		r = ox_bin(n, kind, r, mean ? ox_f32(n, onnx_in(n, i)) : onnx_in(n, i));
	if (mean)
		r = ox_cast_like(n, ox_binc(n, NCC_MUL, r, 1.0 / n->nin), onnx_in(n, 0));
	onnx_give(n, 0, r);
}

static void import_where(struct onnx_node *n)
{
	onnx_give(n, 0, ox_select(n, onnx_in(n, 0), onnx_in(n, 1), onnx_in(n, 2)));
}

static void import_clip(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	if (n->opset < 11 && onnx_attr(n, "min"))
		x = ox_binc(n, NCC_MAX, x, onnx_float(n, "min"));
	if (n->opset < 11 && onnx_attr(n, "max"))
		x = ox_binc(n, NCC_MIN, x, onnx_float(n, "max"));
	if (onnx_in(n, 1))
		x = ox_bin(n, NCC_MAX, x, onnx_in(n, 1));
	if (onnx_in(n, 2))
		x = ox_bin(n, NCC_MIN, x, onnx_in(n, 2));
	onnx_give(n, 0, x);
}

static void cast_to(struct onnx_node *n, int32_t type)
{
	onnx_op x = onnx_in(n, 0);
	struct ncc_shape s;

	if (onnx_dtype(type, &s)) {
		onnx_fail(n, -ENOTSUP, "type %s is not supported", onnx_type_name(type));
		return;
	}
	if (onnx_float8(type)) {
		x = ox_f32(n, x);
		x = ox_float8(n, x, x, type, onnx_int(n, "saturate"));
	} else {
		x = ox_cast(n, x, s.dtype, s.pred);
	}
	onnx_give_as(n, 0, x, type);
}

static void import_cast(struct onnx_node *n)
{
	cast_to(n, (int32_t)onnx_int(n, "to"));
}

/* The same bits; what has not the type's in the IR is refused. */
static void import_bit_cast(struct onnx_node *n)
{
	const int32_t from = n->in[0].type, to = (int32_t)onnx_int(n, "to");
	onnx_op x = onnx_in(n, 0);
	struct ncc_shape s, own;

	if (onnx_dtype(from, &own) || onnx_dtype(to, &s) || onnx_is_wide(from) ||
	    onnx_is_wide(to) || onnx_float8(from) || onnx_float8(to) || s.pred || x->shape.pred)
		onnx_fail(n, -ENOTSUP, "of %s to %s", onnx_type_name(from), onnx_type_name(to));
	else if (ncc_dtype_size(s.dtype) != ncc_dtype_size(x->shape.dtype))
		onnx_fail(n, -EINVAL, "of %s to %s, which has not as many bits",
			  onnx_type_name(from), onnx_type_name(to));
	else
		onnx_give_as(n, 0, build_bitcast(onnx_now(n), x, s.dtype), to);
}

static void import_cast_like(struct onnx_node *n)
{
	cast_to(n, n->in[1].type);
}

static void import_is_nan(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	onnx_give_as(n, 0, ox_bin(n, NCC_NE, x, x), ONNX_BOOL);
}

static void import_is_inf(struct onnx_node *n)
{
	bool plus = onnx_int(n, "detect_positive"), minus = onnx_int(n, "detect_negative");
	onnx_op x = onnx_in(n, 0);

	if (plus && minus)
		x = ox_binc(n, NCC_EQ, ox_un(n, NCC_ABS, x), INFINITY);
	else if (plus || minus)
		x = ox_binc(n, NCC_EQ, x, plus ? INFINITY : -INFINITY);
	else
		x = ox_bin(n, NCC_LT, x, x);
	onnx_give_as(n, 0, x, ONNX_BOOL);
}

static const struct onnx_attribute consumed[] = {
	ATTR("consumed_inputs", INTS, .until = 5),
	{ 0 },
};

static const struct onnx_attribute like_add[] = {
	ATTR("axis", INT, .i = -1, .until = 6),
	ATTR("broadcast", INT, .until = 6),
	{ 0 },
};

const struct onnx_rule onnx_math[] = {
	/* clang-format off */
	{ "Abs",            1,  1, .import = import_unary,      .arg = NCC_ABS, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Acos",           1,  1, .import = import_formula,    .formula = acos_of, .sized = sized_by_element, .takes = ONNX_ALL, .since = 7 },
	{ "Acosh",          1,  1, .import = import_formula,    .formula = acosh_of, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Add",            2,  2, .import = import_binary,     .arg = NCC_ADD, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "And",            2,  2, .import = import_binary,     .arg = NCC_AND, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "Asin",           1,  1, .import = import_formula,    .formula = asin_of, .sized = sized_by_element, .takes = ONNX_ALL, .since = 7 },
	{ "Asinh",          1,  1, .import = import_formula,    .formula = asinh_of, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Atan",           1,  1, .import = import_float,      .arg = NCC_ATAN, .sized = sized_by_element, .takes = ONNX_ALL, .since = 7 },
	{ "Atanh",          1,  1, .import = import_formula,    .formula = atanh_of, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "BitCast",        1,  1, .import = import_bit_cast, .sized = sized_by_element, .takes = ONNX_ALL, .since = 26,
	  .attrs = ONNX_ATTRS(ATTR("to", INT, .needed = true)) },
	{ "BitShift",       2,  2, .import = import_shift, .sized = sized_by_element, .takes = ONNX_ALL, .since = 11,
	  .attrs = ONNX_ATTRS(
		ATTR("direction", TEXT, .words = "LEFT|RIGHT", .needed = true)) },
	{ "BitwiseAnd",     2,  2, .import = import_binary,     .arg = NCC_AND, .sized = sized_by_element, .takes = ONNX_ALL, .since = 18 },
	{ "BitwiseNot",     1,  1, .import = import_unary,      .arg = NCC_NOT, .sized = sized_by_element, .takes = ONNX_ALL, .since = 18 },
	{ "BitwiseOr",      2,  2, .import = import_binary,     .arg = NCC_OR, .sized = sized_by_element, .takes = ONNX_ALL, .since = 18 },
	{ "BitwiseXor",     2,  2, .import = import_binary,     .arg = NCC_XOR, .sized = sized_by_element, .takes = ONNX_ALL, .since = 18 },
	{ "Cast",           1,  1, .import = import_cast, .sized = sized_by_element, .takes = ONNX_ALL,
	  .attrs = ONNX_ATTRS(
		ATTR("round_mode", TEXT, .s = "up", .from = 24),
		ATTR("saturate", INT, .i = 1, .from = 19), ATTR("to", INT, .needed = true)) },
	{ "CastLike",       2,  2, .import = import_cast_like, .sized = sized_like_first, .takes = ONNX_OPERAND(0), .since = 15,
	  .attrs = ONNX_ATTRS(
		ATTR("round_mode", TEXT, .s = "up", .from = 24),
		ATTR("saturate", INT, .i = 1, .from = 19)) },
	{ "Ceil",           1,  1, .import = import_expanded,   .expand = expand_ceil, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Clip",           1,  3, .import = import_clip, .sized = sized_like_first, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("max", FLOAT, .f = 3.4028234663852886e+38, .until = 10),
		ATTR("min", FLOAT, .f = -3.4028234663852886e+38, .until = 10)) },
	{ "Cos",            1,  1, .import = import_expanded,   .expand = expand_cos, .sized = sized_by_element, .takes = ONNX_ALL, .since = 7 },
	{ "Cosh",           1,  1, .import = import_formula,    .formula = cosh_of, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Div",            2,  2, .import = import_binary,     .arg = NCC_DIV, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "Equal",          2,  2, .import = import_compare,    .arg = NCC_EQ, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "Erf",            1,  1, .import = import_float,      .arg = NCC_ERF, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Exp",            1,  1, .import = import_float,      .arg = NCC_EXP, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Floor",          1,  1, .import = import_expanded,   .expand = expand_floor, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Greater",        2,  2, .import = import_compare,    .arg = NCC_GT, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "GreaterOrEqual", 2,  2, .import = import_compare,    .arg = NCC_GE, .sized = sized_by_element, .takes = ONNX_ALL, .since = 12 },
	{ "IsInf",          1,  1, .import = import_is_inf, .sized = sized_by_element, .takes = ONNX_ALL, .since = 10,
	  .attrs = ONNX_ATTRS(
		ATTR("detect_negative", INT, .i = 1), ATTR("detect_positive", INT, .i = 1)) },
	{ "IsNaN",          1,  1, .import = import_is_nan, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Less",           2,  2, .import = import_compare,    .arg = NCC_LT, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "LessOrEqual",    2,  2, .import = import_compare,    .arg = NCC_LE, .sized = sized_by_element, .takes = ONNX_ALL, .since = 12 },
	{ "Log",            1,  1, .import = import_float,      .arg = NCC_LOG, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Max",            1, -1, .import = import_many,       .arg = NCC_MAX, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Mean",           1, -1, .import = import_many,       .arg = NCC_DIV, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Min",            1, -1, .import = import_many,       .arg = NCC_MIN, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Mod",            2,  2, .import = import_mod, .sized = sized_by_element, .takes = ONNX_ALL, .since = 10, .attrs = ONNX_ATTRS(ATTR("fmod", INT)) },
	{ "Mul",            2,  2, .import = import_binary,     .arg = NCC_MUL, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "Neg",            1,  1, .import = import_unary,      .arg = NCC_NEG, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Not",            1,  1, .import = import_unary,      .arg = NCC_NOT, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Or",             2,  2, .import = import_binary,     .arg = NCC_OR, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "Pow",            2,  2, .import = import_pow, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "Reciprocal",     1,  1, .import = import_reciprocal, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Round",          1,  1, .import = import_expanded,   .expand = expand_round_even, .sized = sized_by_element, .takes = ONNX_ALL, .since = 11 },
	{ "Sigmoid",        1,  1, .import = import_float,      .arg = NCC_LOGISTIC, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Sign",           1,  1, .import = import_unary,      .arg = NCC_SIGN, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Sin",            1,  1, .import = import_expanded,   .expand = expand_sin, .sized = sized_by_element, .takes = ONNX_ALL, .since = 7 },
	{ "Sinh",           1,  1, .import = import_formula,    .formula = sinh_of, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Sqrt",           1,  1, .import = import_float,      .arg = NCC_SQRT, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Sub",            2,  2, .import = import_binary,     .arg = NCC_SUB, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ "Sum",            1, -1, .import = import_many,       .arg = NCC_ADD, .sized = sized_by_element, .takes = ONNX_ALL },
	{ "Tan",            1,  1, .import = import_expanded,   .expand = expand_tan, .sized = sized_by_element, .takes = ONNX_ALL, .since = 7 },
	{ "Tanh",           1,  1, .import = import_float,      .arg = NCC_TANH, .unchanged = true, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = consumed },
	{ "Where",          3,  3, .import = import_where, .sized = sized_by_element, .takes = ONNX_ALL, .since = 9 },
	{ "Xor",            2,  2, .import = import_binary,     .arg = NCC_XOR, .sized = sized_by_element, .takes = ONNX_ALL, .attrs = like_add },
	{ .op_type = NULL },
	/* clang-format on */
};
