// SPDX-License-Identifier: MIT
/* Reductions, softmax and hardmax. Part of the ONNX front end. */
#include <errno.h>
#include <math.h>

#include "reductions.h"

/* The dimensions that 'axes' names: an operand from opset 18 (13 of ReduceSum) on */
static uint32_t take_axes(struct onnx_node *n, onnx_op x, bool *noop)
{
	int64_t axes[NCC_MAX_DIMS];
	uint32_t mask = 0;
	unsigned int count;
	bool given = n->nin > 1 && (n->in[1].op || n->in[1].type)
			     ? onnx_in_ints(n, 1, axes, NCC_MAX_DIMS, &count)
			     : onnx_ints(n, "axes", axes, NCC_MAX_DIMS, &count);

	*noop = false;
	if (!given || !count) {
		*noop = onnx_int(n, "noop_with_empty_axes");
		return (1u << x->shape.ndim) - 1;
	}
	for (unsigned int i = 0; i < count && !n->rc; i++)
		mask |= 1u << onnx_axis(n, axes[i], x->shape.ndim);
	return mask;
}

static double count_of(onnx_op x, uint32_t mask)
{
	double count = 1;

	for (unsigned int i = 0; i < x->shape.ndim; i++)
		count *= mask >> i & 1 ? (double)x->shape.dim[i] : 1;
	return count;
}

enum { SUM, MEAN, MAX, MIN, PROD, L1, L2, LOG_SUM, LOG_SUM_EXP, SUM_SQUARE };

/* ln of the sum of exponentials, with the largest subtracted first, unless that is an infinity */
static onnx_op log_sum_exp(struct onnx_node *n, onnx_op x, uint32_t mask, bool keep)
{
	onnx_op top = ox_reduce(n, x, NCC_MAX, mask, true), sum, endless;

	endless = ox_binc(n, NCC_EQ, ox_un(n, NCC_ABS, top), INFINITY);
	top = top ? ox_select(n, endless, ox_scalar(n, &top->shape, 0), top) : NULL;
	sum = ox_un(n, NCC_EXP, ox_bin(n, NCC_SUB, x, top));
	sum = ox_un(n, NCC_LOG, ox_reduce(n, sum, NCC_ADD, mask, keep));
	if (sum && !keep)
		top = ox_reshape(n, top, sum->shape.ndim, sum->shape.dim);
	return ox_bin(n, NCC_ADD, sum, top);
}

#define MOST_MEAN 46340 /* integers, of which the sum of rests fits 32 bits */

/*
 * The mean of integers, towards zero, though their sum may not fit: quotients by their number are
 * added, and rests from 0 on.
 */
static onnx_op whole_mean(struct onnx_node *n, onnx_op x, uint32_t mask, bool keep)
{
	const int64_t count = (int64_t)count_of(x, mask);
	onnx_op q, r, below, rest;

	if (count == 1 || count > MOST_MEAN) {
		x = ox_reduce(n, x, NCC_ADD, mask, keep);
		return ox_binc(n, NCC_DIV, x, (double)count);
	}
	q = ox_binc(n, NCC_DIV, x, (double)count);
	r = ox_bin(n, NCC_SUB, x, ox_binc(n, NCC_MUL, q, (double)count));
	below = ox_cast_like(n, ox_binc(n, NCC_LT, r, 0), x);
	q = ox_reduce(n, ox_bin(n, NCC_SUB, q, below), NCC_ADD, mask, keep);
	r = ox_bin(n, NCC_ADD, r, ox_binc(n, NCC_MUL, below, (double)count));
	r = ox_reduce(n, r, NCC_ADD, mask, keep);
	x = ox_binc(n, NCC_DIV, r, (double)count);
	rest = ox_bin(n, NCC_SUB, r, ox_binc(n, NCC_MUL, x, (double)count));
	q = ox_bin(n, NCC_ADD, q, x);
	below = ox_bin(n, NCC_AND, ox_binc(n, NCC_LT, q, 0), ox_binc(n, NCC_NE, rest, 0));
	return ox_bin(n, NCC_ADD, q, ox_cast_like(n, below, q));
}

static onnx_op reduce_as(struct onnx_node *n, int what, onnx_op x, uint32_t mask, bool keep)
{
	switch (what) {
	case MEAN:
		if (!ncc_is_float(x->shape.dtype))
			return whole_mean(n, x, mask, keep);
		x = ox_reduce(n, x, NCC_ADD, mask, keep);
		return ox_bin(n, NCC_DIV, x,
			      x ? ox_scalar(n, &x->shape, count_of(onnx_in(n, 0), mask)) : x);
	case MAX:
		return ox_reduce(n, x, NCC_MAX, mask, keep);
	case MIN:
		return ox_reduce(n, x, NCC_MIN, mask, keep);
	case PROD:
		return ox_reduce(n, x, NCC_MUL, mask, keep);
	case L1:
		return ox_reduce(n, ox_un(n, NCC_ABS, x), NCC_ADD, mask, keep);
	case L2:
		x = ox_reduce(n, ox_bin(n, NCC_MUL, x, x), NCC_ADD, mask, keep);
		return ox_un(n, NCC_SQRT, x);
	case LOG_SUM:
		return ox_un(n, NCC_LOG, ox_reduce(n, x, NCC_ADD, mask, keep));
	case LOG_SUM_EXP:
		return log_sum_exp(n, x, mask, keep);
	case SUM_SQUARE:
		return ox_reduce(n, ox_bin(n, NCC_MUL, x, x), NCC_ADD, mask, keep);
	default:
		return ox_reduce(n, x, NCC_ADD, mask, keep);
	}
}

static void import_reduce(struct onnx_node *n)
{
	bool noop, keep = onnx_int(n, "keepdims");
	onnx_op x = onnx_in(n, 0);
	uint32_t mask = take_axes(n, x, &noop);
	int what = onnx_arg(n);

	if (n->rc)
		return;
	if (what >= L2 && what <= LOG_SUM_EXP && !ncc_is_float(x->shape.dtype))
		onnx_fail(n, -ENOTSUP, "of %s is not supported", ncc_dtype_name(&x->shape));
	if (noop) {
		onnx_give(n, 0, x);
		return;
	}
	/* A sum need not fit 16 bits before it is divided, or its root taken. */
	if (ncc_is_float(x->shape.dtype) && what != MAX && what != MIN)
		x = ox_f32(n, x);
	onnx_give(n, 0, ox_cast_like(n, reduce_as(n, what, x, mask, keep), onnx_in(n, 0)));
}

onnx_op ox_softmax(struct onnx_node *n, onnx_op x, unsigned int axis, bool log)
{
	const uint32_t mask = 1u << axis;
	onnx_op f = ox_f32(n, x);
	onnx_op e = ox_bin(n, NCC_SUB, f, ox_reduce(n, f, NCC_MAX, mask, true)), sum;

	sum = ox_reduce(n, ox_un(n, NCC_EXP, e), NCC_ADD, mask, true);
	if (log)
		e = ox_bin(n, NCC_SUB, e, ox_un(n, NCC_LOG, sum));
	else
		e = ox_bin(n, NCC_DIV, ox_un(n, NCC_EXP, e), sum);
	return ox_cast_like(n, e, x);
}

static void import_softmax(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0), r;
	int64_t dim[2] = { 1, 1 };
	unsigned int axis = onnx_axis(n, onnx_int(n, "axis"), x->shape.ndim);

	if (!ncc_is_float(x->shape.dtype))
		onnx_fail(n, -EINVAL, "of %s", ncc_dtype_name(&x->shape));
	if (n->opset >= 13) {
		onnx_give(n, 0, ox_softmax(n, x, axis, onnx_arg(n)));
		return;
	}
	for (unsigned int i = 0; i < x->shape.ndim; i++) /* as a matrix then */
		dim[i >= axis] *= x->shape.dim[i];
	r = ox_softmax(n, ox_reshape(n, x, 2, dim), 1, onnx_arg(n));
	onnx_give(n, 0, ox_reshape(n, r, x->shape.ndim, x->shape.dim));
}

static const struct onnx_attribute like_log_softmax[] = {
	ATTR("axis", INT, .i = 1, .until = 12),
	ATTR("axis", INT, .i = -1, .from = 13),
	{ 0 },
};

static const struct onnx_attribute like_reduce_l1[] = {
	ATTR("axes", INTS, .until = 17),
	ATTR("keepdims", INT, .i = 1),
	ATTR("noop_with_empty_axes", INT, .from = 18),
	{ 0 },
};

const struct onnx_rule onnx_reduce[] = {
	/* clang-format off */
	{ "LogSoftmax",      1,  1, .import = import_softmax, .arg = true, .sized = sized_softmax, .neutral = NCC_MAX, .takes = ONNX_ALL, .attrs = like_log_softmax },
	{ "ReduceL1",        1,  2, .import = import_reduce,  .arg = L1, .sized = sized_reduce, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceL2",        1,  2, .import = import_reduce,  .arg = L2, .sized = sized_reduce, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceLogSum",    1,  2, .import = import_reduce,  .arg = LOG_SUM, .unchanged = true, .sized = sized_reduce, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceLogSumExp", 1,  2, .import = import_reduce,  .arg = LOG_SUM_EXP, .sized = sized_reduce, .neutral = NCC_MAX, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceMax",       1,  2, .import = import_reduce,  .arg = MAX, .unchanged = true, .sized = sized_reduce, .neutral = NCC_MAX, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceMean",      1,  2, .import = import_reduce,  .arg = MEAN, .unchanged = true, .sized = sized_reduce_mean, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceMin",       1,  2, .import = import_reduce,  .arg = MIN, .sized = sized_reduce, .neutral = NCC_MIN, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceProd",      1,  2, .import = import_reduce,  .arg = PROD, .sized = sized_reduce, .neutral = NCC_MUL, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "ReduceSum",       1,  2, .import = import_reduce,  .arg = SUM, .unchanged = true, .sized = sized_reduce, .takes = ONNX_OPERAND(0),
	  .attrs = ONNX_ATTRS(
		ATTR("axes", INTS, .until = 12), ATTR("keepdims", INT, .i = 1),
		ATTR("noop_with_empty_axes", INT, .from = 13)) },
	{ "ReduceSumSquare", 1,  2, .import = import_reduce,  .arg = SUM_SQUARE, .sized = sized_reduce, .takes = ONNX_OPERAND(0), .attrs = like_reduce_l1 },
	{ "Softmax",         1,  1, .import = import_softmax, .arg = false, .sized = sized_softmax, .neutral = NCC_MAX, .takes = ONNX_ALL, .attrs = like_log_softmax },
	{ .op_type = NULL },
	/* clang-format on */
};
