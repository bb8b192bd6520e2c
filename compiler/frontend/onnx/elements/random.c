// SPDX-License-Identifier: MIT
/*
 * Random numbers, of which ONNX says the distribution only: the compiler's own (expand/random.h),
 * the same in every execution. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "expand/random.h"
#include "frontend/onnx/reductions/reductions.h"
#include "elements.h"

#define INTEGER 2 /* AttributeProto.AttributeType */
#define SEEDED UINT32_MAX /* the key's number of those that have a seed, whose bits are its text */

static uint32_t bits_of(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	return u;
}

static struct ncc_random_key key_of(struct onnx_node *n)
{
	const Ncc__Onnx__Attribute *a = onnx_attr(n, "seed");
	struct ncc_random_key key = { expand_random_text(n->imp->m->name), n->imp->randoms };

	if (n->imp->guard)
		onnx_fail(n, -ENOTSUP,
			  "in a loop or a branch is not supported: all iterations would have the "
			  "same numbers");
	if (a) {
		/* Dropout's is an integer */
		key.text = a->type == INTEGER ? (uint32_t)a->i : bits_of(a->f);
		key.number = SEEDED;
	} else {
		n->imp->randoms++;
	}
	return key;
}

/* The result's type: the attribute, or what the operator has without it */
static bool take_type(struct onnx_node *n, int32_t otherwise, struct ncc_shape *s, int32_t *type)
{
	*type = (int32_t)onnx_int_or(n, "dtype", otherwise);
	if (onnx_dtype(*type, s))
		onnx_fail(n, -ENOTSUP, "of type %s", onnx_type_name(*type));
	return !n->rc;
}

/* A shape's random numbers in fp32, by the operator's two attributes */
static onnx_op draw(struct onnx_node *n, const struct ncc_shape *like)
{
	const struct ncc_random_key key = key_of(n);
	struct ncc_shape s = *like;
	onnx_op x;

	s.dtype = NEURON_DT_FP32;
	s.pred = false;
	if (onnx_arg(n)) {
		x = expand_normal(&n->b, &key, &s);
		x = ox_binc(n, NCC_MUL, x, onnx_float(n, "scale"));
		return ox_binc(n, NCC_ADD, x, onnx_float(n, "mean"));
	}
	x = expand_uniform(&n->b, &key, &s);
	x = ox_binc(n, NCC_MUL, x, onnx_float(n, "high") - onnx_float(n, "low"));
	return ox_binc(n, NCC_ADD, x, onnx_float(n, "low"));
}

static void give_drawn(struct onnx_node *n, const struct ncc_shape *like, int32_t otherwise)
{
	struct ncc_shape s;
	int32_t type;

	if (!take_type(n, otherwise, &s, &type))
		return;
	if (!ncc_is_float(s.dtype))
		onnx_fail(n, -ENOTSUP, "of type %s", onnx_type_name(type));
	else
		onnx_give_as(n, 0, ox_cast(n, draw(n, like), s.dtype, false), type);
}

static void import_random(struct onnx_node *n)
{
	int64_t dim[NCC_MAX_DIMS] = { 0 };
	struct ncc_shape s = { 0 };

	if (!onnx_ints(n, "shape", dim, NCC_MAX_DIMS, &s.ndim) && !n->rc)
		onnx_fail(n, -EINVAL, "no shape");
	memcpy(s.dim, dim, sizeof(dim));
	for (unsigned int d = 0; d < s.ndim && !n->rc; d++)
		if (dim[d] < 1)
			onnx_fail(n, -ENOTSUP, "a dimension of %lld is not supported",
				  (long long)dim[d]);
	if (!n->rc)
		give_drawn(n, &s, ONNX_FLOAT);
}

static void import_random_like(struct onnx_node *n)
{
	give_drawn(n, &onnx_in(n, 0)->shape, n->in[0].type);
}

/* 1 with the operand's probability */
static void import_bernoulli(struct onnx_node *n)
{
	const struct ncc_random_key key = key_of(n);
	onnx_op p = ox_f32(n, onnx_in(n, 0)), u, one;
	struct ncc_shape s;
	int32_t type;

	if (!p || !take_type(n, n->in[0].type, &s, &type))
		return;
	u = expand_uniform(&n->b, &key, &p->shape);
	one = ox_bin(n, NCC_LT, u, p);
	onnx_give_as(n, 0, ox_cast(n, one, s.dtype, s.pred), type);
}

/* x[rows, classes]: the sums of each row up to each class, in log2 steps */
static onnx_op sums(struct onnx_node *n, onnx_op x)
{
	for (int64_t by = 1; x && by < x->shape.dim[1]; by *= 2) {
		onnx_op moved = ox_pad(n, x, ox_scalar(n, &x->shape, 0), (int64_t[]){ 0, by },
				       (int64_t[]){ 0, -by });

		x = ox_bin(n, NCC_ADD, x, moved);
	}
	return x;
}

/* The class drawn: the number of sums of probabilities that a uniform number has reached */
static void import_multinomial(struct onnx_node *n)
{
	const struct ncc_random_key key = key_of(n);
	int64_t count = onnx_int(n, "sample_size");
	onnx_op x = ox_f32(n, onnx_in(n, 0)), u;
	struct ncc_shape s;
	int32_t type;

	if (!x || !take_type(n, ONNX_INT32, &s, &type))
		return;
	if (x->shape.ndim != 2 || count < 1 || (type != ONNX_INT32 && type != ONNX_INT64)) {
		onnx_fail(n, -EINVAL, "of rank %u, %lld samples of type %s", x->shape.ndim,
			  (long long)count, onnx_type_name(type));
		return;
	}
	s = (struct ncc_shape){ .dtype = NEURON_DT_FP32,
				.ndim = 3,
				.dim = { x->shape.dim[0], count, 1 } };
	u = expand_uniform(&n->b, &key, &s);
	x = ox_insert(n, sums(n, ox_softmax(n, x, 1, false)), 1);
	x = ox_cast(n, ox_bin(n, NCC_GE, u, x), NEURON_DT_INT32, false);
	x = ox_reduce(n, x, NCC_ADD, 1u << 2, false);
	x = x ? ox_binc(n, NCC_MIN, x, (double)onnx_in(n, 0)->shape.dim[1] - 1) : NULL;
	onnx_give_as(n, 0, x, type);
}

/* x where the mask is, scaled so that its mean stays */
static onnx_op dropped(struct onnx_node *n, onnx_op x, double ratio, onnx_op *mask)
{
	const struct ncc_random_key key = key_of(n);
	onnx_op u = expand_uniform(&n->b, &key, &x->shape), y;

	*mask = u ? ox_bin(n, NCC_GE, u, ox_scalar(n, &u->shape, ratio)) : NULL;
	y = ox_binc(n, NCC_MUL, ox_f32(n, x), 1 / (1 - ratio));
	y = y ? ox_select(n, *mask, y, ox_scalar(n, &y->shape, 0)) : NULL;
	return ox_cast_like(n, y, x);
}

/* Dropout: in inference the operand is the result, and the mask is all true. */
static void import_dropout(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), mask;
	struct ncc_shape s = x->shape;
	double training = 0, ratio = 0.5;

	if ((onnx_in(n, 2) && !onnx_in_scalar(n, 2, &training)) ||
	    (training != 0 && onnx_in(n, 1) && !onnx_in_scalar(n, 1, &ratio)))
		return;
	if (!(ratio >= 0 && ratio < 1)) {
		onnx_fail(n, -EINVAL, "a ratio of %g, expected 0 to less than 1", ratio);
		return;
	}
	s.dtype = NEURON_DT_INT8;
	s.pred = true;
	if (training != 0 && ratio != 0)
		x = dropped(n, x, ratio, &mask);
	else
		mask = ox_expand(n, ox_scalar(n, &s, 1), s.ndim, s.dim);
	onnx_give(n, 0, x);
	onnx_give_as(n, 1, mask, ONNX_BOOL);
}

const struct onnx_rule onnx_random[] = {
	/* clang-format off */
	{ "Bernoulli",         1, 1, .import = import_bernoulli, .since = 15, .attrs = ONNX_ATTRS(ATTR("dtype", INT), ATTR("seed", FLOAT)) },
	{ "Dropout",           1, 3, .import = import_dropout, .sized = sized_like_first, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("is_test", INT, .until = 6), ATTR("ratio", FLOAT, .f = 0.5, .until = 11),
		ATTR("seed", INT, .from = 12)) },
	{ "Multinomial",       1, 1, .import = import_multinomial, .since = 7,
	  .attrs = ONNX_ATTRS(
		ATTR("dtype", INT, .i = 6), ATTR("sample_size", INT, .i = 1),
		ATTR("seed", FLOAT)) },
	{ "RandomNormal",      0, 0, .import = import_random,      .arg = true,
	  .attrs = ONNX_ATTRS(
		ATTR("dtype", INT, .i = 1), ATTR("mean", FLOAT), ATTR("scale", FLOAT, .f = 1),
		ATTR("seed", FLOAT), ATTR("shape", INTS, .needed = true)) },
	{ "RandomNormalLike",  1, 1, .import = import_random_like, .arg = true,
	  .attrs = ONNX_ATTRS(
		ATTR("dtype", INT), ATTR("mean", FLOAT), ATTR("scale", FLOAT, .f = 1),
		ATTR("seed", FLOAT)) },
	{ "RandomUniform",     0, 0, .import = import_random,
	  .attrs = ONNX_ATTRS(
		ATTR("dtype", INT, .i = 1), ATTR("high", FLOAT, .f = 1), ATTR("low", FLOAT),
		ATTR("seed", FLOAT), ATTR("shape", INTS, .needed = true)) },
	{ "RandomUniformLike", 1, 1, .import = import_random_like,
	  .attrs = ONNX_ATTRS(
		ATTR("dtype", INT), ATTR("high", FLOAT, .f = 1), ATTR("low", FLOAT),
		ATTR("seed", FLOAT)) },
	{ .op_type = NULL },
	/* clang-format on */
};
