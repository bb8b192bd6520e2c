// SPDX-License-Identifier: MIT
/*
 * Operations of HLO that the tensor IR does not have, as several that it has. What they do is
 * computed in fp32 whatever the operand's type and --auto-cast all says (ncc_op.exact). Part of the
 * HLO front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "hlo.h"
#include "hlo_make.h"

#define WHOLE 8388608.0 /* 2^23: from here on every fp32 number is an integer */

static struct ncc_shape as(const struct ncc_op *x, uint8_t dtype)
{
	struct ncc_shape s = { 0 };

	if (!x)
		return s;
	s = x->shape;
	s.dtype = dtype;
	s.pred = false;
	return s;
}

/* a kind of fp32 operands and result */
static struct ncc_op *f1(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a)
{
	struct ncc_shape s = as(a, NEURON_DT_FP32);

	return hlo_node(in, kind, &s, a, NULL, NULL);
}

static struct ncc_op *f2(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a,
			 struct ncc_op *b)
{
	struct ncc_shape s = as(a, NEURON_DT_FP32);

	return a && b ? hlo_node(in, kind, &s, a, b, NULL) : NULL;
}

static struct ncc_op *number(struct hlo_inst *in, const struct ncc_op *like, double v)
{
	struct ncc_shape s = as(like, NEURON_DT_FP32);

	return like ? hlo_splat(in, &s, v) : NULL;
}

/* with a constant */
static struct ncc_op *fc(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a, double v)
{
	return f2(in, kind, a, number(in, a, v));
}

static struct ncc_op *test(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a,
			   struct ncc_op *b)
{
	return a && b ? hlo_compare(in, kind, a, b) : NULL;
}

static struct ncc_op *test_c(struct hlo_inst *in, enum ncc_kind kind, struct ncc_op *a, double v)
{
	return test(in, kind, a, number(in, a, v));
}

static struct ncc_op *choose(struct hlo_inst *in, struct ncc_op *p, struct ncc_op *a,
			     struct ncc_op *b)
{
	return p && a && b ? hlo_node(in, NCC_SELECT, &a->shape, p, a, b) : NULL;
}

/* 1 where the test holds, else 0 */
static struct ncc_op *one_if(struct hlo_inst *in, struct ncc_op *p)
{
	return f1(in, NCC_CONVERT, p);
}

/* The nearest integer of a number that is not negative, ties to even: as the datapath converts */
static struct ncc_op *nearest(struct hlo_inst *in, struct ncc_op *a)
{
	struct ncc_shape s = as(a, NEURON_DT_INT32);
	struct ncc_op *r =
		a ? f1(in, NCC_CONVERT, hlo_node(in, NCC_CONVERT, &s, a, NULL, NULL)) : NULL;

	return choose(in, test_c(in, NCC_LT, a, WHOLE), r, a);
}

static struct ncc_op *round_even(struct hlo_inst *in, struct ncc_op *x)
{
	return f2(in, NCC_MUL, nearest(in, f1(in, NCC_ABS, x)), f1(in, NCC_SIGN, x));
}

static struct ncc_op *round_away(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_op *a = f1(in, NCC_ABS, x), *r = nearest(in, a);
	struct ncc_op *half = one_if(in, test_c(in, NCC_EQ, f2(in, NCC_SUB, a, r), 0.5));

	return f2(in, NCC_MUL, f2(in, NCC_ADD, r, half), f1(in, NCC_SIGN, x));
}

static struct ncc_op *round_down(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_op *r = round_even(in, x);

	return f2(in, NCC_SUB, r, one_if(in, test(in, NCC_GT, r, x)));
}

static struct ncc_op *round_up(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_op *r = round_even(in, x);

	return f2(in, NCC_ADD, r, one_if(in, test(in, NCC_LT, r, x)));
}

/* towards zero, of a number that is not negative */
static struct ncc_op *whole_part(struct hlo_inst *in, struct ncc_op *a)
{
	struct ncc_op *r = nearest(in, a);

	return f2(in, NCC_SUB, r, one_if(in, test(in, NCC_GT, r, a)));
}

/* A power, and a step of Newton's method for what it lacks: y - (y - a / y^2) / 3 */
static struct ncc_op *cube_root(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_op *a = f1(in, NCC_ABS, x), *y = fc(in, NCC_POW, a, 1.0 / 3), *fix;
	struct ncc_op *inside;

	fix = f2(in, NCC_SUB, y, f2(in, NCC_DIV, a, f2(in, NCC_MUL, y, y)));
	fix = f2(in, NCC_SUB, y, fc(in, NCC_MUL, fix, 1.0 / 3));
	fix = f2(in, NCC_MUL, fix, f1(in, NCC_SIGN, x));
	inside = test_c(in, NCC_GT, a, 0);
	fix = choose(in, inside, fix, x);
	return choose(in, test_c(in, NCC_LT, a, INFINITY), fix, x);
}

/* u = 1 + x: log(u) * x / (u - 1), which undoes what the addition rounded away (Kahan) */
static struct ncc_op *log_plus_one(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_op *u = fc(in, NCC_ADD, x, 1), *d = fc(in, NCC_SUB, u, 1);
	struct ncc_op *l = f1(in, NCC_LOG, u), *y = f2(in, NCC_DIV, f2(in, NCC_MUL, l, x), d);

	y = choose(in, test_c(in, NCC_EQ, d, 0), x, y);
	return choose(in, test_c(in, NCC_LT, x, 0x1p60), y, l);
}

/* u = exp(x): (u - 1) * x / log(u) for the same reason; far from 0, u - 1 */
static struct ncc_op *exp_minus_one(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_op *u = f1(in, NCC_EXP, x), *d = fc(in, NCC_SUB, u, 1);
	struct ncc_op *y = f2(in, NCC_DIV, f2(in, NCC_MUL, d, x), f1(in, NCC_LOG, u));
	struct ncc_op *near = test_c(in, NCC_LT, f1(in, NCC_ABS, x), 1);

	y = choose(in, test_c(in, NCC_EQ, d, 0), x, y);
	return choose(in, near, y, d);
}

/*
 * x - 2 pi k in [-pi, pi]. 2 pi is 6.28125 + 0.00193500518798828125 + 3.0199e-7: eight bits, eleven
 * bits, the rest, so that the products are exact for |k| < 2^13.
 */
static struct ncc_op *reduce_angle(struct hlo_inst *in, struct ncc_op *x)
{
	static const double part[3] = { 6.28125, 0.00193500518798828125, 3.0199159819567529e-07 };
	struct ncc_op *k = round_even(in, fc(in, NCC_MUL, x, 0.15915494309189535));

	for (unsigned int i = 0; i < 3; i++)
		x = f2(in, NCC_SUB, x, fc(in, NCC_MUL, k, part[i]));
	return x;
}

static struct ncc_op *sine(struct hlo_inst *in, struct ncc_op *x)
{
	return f1(in, NCC_SIN, reduce_angle(in, x));
}

/* sin(pi/2 - |r|), pi/2 in two parts */
static struct ncc_op *cosine(struct hlo_inst *in, struct ncc_op *x)
{
	struct ncc_op *r = f1(in, NCC_ABS, reduce_angle(in, x));

	r = f2(in, NCC_SUB, number(in, r, 1.5703125), r);
	return f1(in, NCC_SIN, fc(in, NCC_ADD, r, 0.00048382679489661923));
}

static struct ncc_op *tangent(struct hlo_inst *in, struct ncc_op *x)
{
	return f2(in, NCC_DIV, sine(in, x), cosine(in, x));
}

/* a / b towards zero of fp32 integers below 2^24 that are not negative, and the remainder */
static struct ncc_op *quotient(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b,
			       struct ncc_op **rest)
{
	struct ncc_op *q = nearest(in, f2(in, NCC_DIV, a, b));
	struct ncc_op *r = f2(in, NCC_SUB, a, f2(in, NCC_MUL, q, b)), *less, *more;

	less = one_if(in, test_c(in, NCC_LT, r, 0));
	more = one_if(in, test(in, NCC_GE, r, b));
	q = f2(in, NCC_SUB, f2(in, NCC_ADD, q, more), less);
	r = f2(in, NCC_SUB, r, f2(in, NCC_MUL, more, b));
	*rest = f2(in, NCC_ADD, r, f2(in, NCC_MUL, less, b));
	return q;
}

static struct ncc_op *divide_whole(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *rest, *q = quotient(in, f1(in, NCC_ABS, a), f1(in, NCC_ABS, b), &rest);

	return f2(in, NCC_MUL, q, f2(in, NCC_MUL, f1(in, NCC_SIGN, a), f1(in, NCC_SIGN, b)));
}

static struct ncc_op *rest_whole(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *rest = NULL;

	quotient(in, f1(in, NCC_ABS, a), f1(in, NCC_ABS, b), &rest);
	return f2(in, NCC_MUL, rest, f1(in, NCC_SIGN, a));
}

/* |a| - q |b| with b in parts of eight bits, so that the products are exact for q < 2^16 */
static struct ncc_op *remainder_of(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b)
{
	struct ncc_op *x = f1(in, NCC_ABS, a), *y = f1(in, NCC_ABS, b), *left = y, *r = x;
	struct ncc_op *q = whole_part(in, f2(in, NCC_DIV, x, y)), *add, *sub;
	struct ncc_shape s = as(y, NEURON_DT_BF16);

	for (unsigned int i = 0; i < 3; i++) {
		struct ncc_op *part = i == 2 ? left
					     : f1(in, NCC_CONVERT,
						  hlo_node(in, NCC_CONVERT, &s, left, NULL, NULL));

		r = f2(in, NCC_SUB, r, f2(in, NCC_MUL, q, part));
		left = f2(in, NCC_SUB, left, part);
	}
	add = f2(in, NCC_MUL, one_if(in, test_c(in, NCC_LT, r, 0)), y);
	sub = f2(in, NCC_MUL, one_if(in, test(in, NCC_GE, r, y)), y);
	r = f2(in, NCC_SUB, f2(in, NCC_ADD, r, add), sub);
	return f2(in, NCC_MUL, r, f1(in, NCC_SIGN, a));
}

typedef struct ncc_op *(*unary_fn)(struct hlo_inst *in, struct ncc_op *x);
typedef struct ncc_op *(*binary_fn)(struct hlo_inst *in, struct ncc_op *a, struct ncc_op *b);

static const struct {
	const char *opcode;
	unary_fn fn;
} unary[] = {
	{ "floor", round_down },
	{ "ceil", round_up },
	{ "round-nearest-even", round_even },
	{ "round-nearest-afz", round_away },
	{ "cbrt", cube_root },
	{ "log-plus-one", log_plus_one },
	{ "exponential-minus-one", exp_minus_one },
	{ "sine", sine },
	{ "cosine", cosine },
	{ "tan", tangent },
};

static struct ncc_op *to_f32(struct hlo_inst *in, struct ncc_op *x)
{
	return x->shape.dtype == NEURON_DT_FP32 ? x : f1(in, NCC_CONVERT, x);
}

static struct ncc_op *from_f32(struct hlo_inst *in, struct ncc_op *x)
{
	if (!x || in->shape.dtype == NEURON_DT_FP32)
		return x;
	return hlo_node(in, NCC_CONVERT, &in->shape, x, NULL, NULL);
}

static int same_shapes(struct hlo_inst *in, unsigned int n)
{
	if (in->nin != n)
		return hlo_fail(in, -EINVAL, "%u operands, expected %u", in->nin, n);
	for (unsigned int i = 0; i < n; i++) {
		const struct ncc_shape *s = &in->in[i].op[0]->shape;

		if (!ncc_same_dims(s, &in->shape))
			return hlo_fail(in, -EINVAL,
					"the shape of operand %u differs from the result's", i);
		if (s->dtype != in->in[0].op[0]->shape.dtype)
			return hlo_fail(in, -EINVAL, "operands of two types");
	}
	return 0;
}

static bool is_float(uint8_t dtype)
{
	return dtype == NEURON_DT_FP32 || dtype == NEURON_DT_BF16 || dtype == NEURON_DT_FP16;
}

static int expand_unary(struct hlo_inst *in, unary_fn fn, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in, 1);

	if (rc)
		return rc;
	if (!is_float(x->shape.dtype) || x->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -ENOTSUP, "of %s is not supported", ncc_dtype_name(&x->shape));
	*out = from_f32(in, fn(in, to_f32(in, x)));
	return 0;
}

static int expand_binary(struct hlo_inst *in, binary_fn fn, struct ncc_op **out)
{
	int rc = same_shapes(in, 2);

	if (rc)
		return rc;
	if (in->in[0].op[0]->shape.dtype != in->shape.dtype)
		return hlo_fail(in, -EINVAL, "the result's type is not the operands'");
	*out = from_f32(in, fn(in, to_f32(in, in->in[0].op[0]), to_f32(in, in->in[1].op[0])));
	return 0;
}

static int expand_is_finite(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0];
	int rc = same_shapes(in, 1);

	if (rc)
		return rc;
	if (!is_float(x->shape.dtype) || !in->shape.pred)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	*out = test_c(in, NCC_LT, f1(in, NCC_ABS, to_f32(in, x)), INFINITY);
	return 0;
}

/* The arithmetic shift: what is negative is shifted as its complement, which is not */
static int expand_shift_arithmetic(struct hlo_inst *in, struct ncc_op **out)
{
	struct ncc_op *x = in->in[0].op[0], *n = in->in[1].op[0], *sign, *minus;
	const struct ncc_shape *s = &in->shape;
	int rc = same_shapes(in, 2);

	if (rc)
		return rc;
	if (is_float(s->dtype) || s->pred || s->dtype != x->shape.dtype)
		return hlo_fail(in, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	minus = hlo_compare(in, NCC_LT, x, hlo_splat(in, s, 0));
	sign = hlo_node(in, NCC_NEG, s, hlo_node(in, NCC_CONVERT, s, minus, NULL, NULL), NULL,
			NULL);
	x = hlo_node(in, NCC_SHR, s, hlo_node(in, NCC_XOR, s, x, sign, NULL), n, NULL);
	*out = hlo_node(in, NCC_XOR, s, x, sign, NULL);
	return 0;
}

int hlo_expand(struct hlo_inst *in, struct ncc_op **out)
{
	const char *opcode = in->p->opcode;
	bool whole = !is_float(in->shape.dtype) && !in->shape.pred;
	int rc = 1;

	*out = NULL;
	if (!in->nin)
		return rc;
	for (size_t i = 0; i < sizeof(unary) / sizeof(unary[0]); i++)
		if (!strcmp(unary[i].opcode, opcode))
			rc = expand_unary(in, unary[i].fn, out);
	if (!strcmp(opcode, "is-finite"))
		rc = expand_is_finite(in, out);
	else if (!strcmp(opcode, "shift-right-arithmetic"))
		rc = expand_shift_arithmetic(in, out);
	else if (!strcmp(opcode, "remainder"))
		rc = expand_binary(in, whole ? rest_whole : remainder_of, out);
	else if (!strcmp(opcode, "divide") && whole)
		rc = expand_binary(in, divide_whole, out);
	if (!rc && !*out)
		rc = hlo_fail(in, -ENOMEM, "out of memory");
	return rc;
}
