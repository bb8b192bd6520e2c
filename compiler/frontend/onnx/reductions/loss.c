// SPDX-License-Identifier: MIT
/* The losses with which exported training graphs end. Part of the ONNX front end. */
#include <errno.h>

#include "reductions.h"

/* Compares [N, 1, d...] with the class numbers along dimension 1: is the target that class? */
static onnx_op chosen(struct onnx_node *n, onnx_op target, onnx_op x)
{
	int64_t dim[NCC_MAX_DIMS], ignore = onnx_int(n, "ignore_index");
	const uint8_t map = 1;
	onnx_op t, hot;

	if (x->shape.ndim < 2 || target->shape.ndim + 1 != x->shape.ndim) {
		onnx_fail(n, -EINVAL, "a target of rank %u for rank %u", target->shape.ndim,
			  x->shape.ndim);
		return NULL;
	}

	dim[0] = target->shape.dim[0];
	dim[1] = 1;
	for (unsigned int i = 1; i < target->shape.ndim; i++)
		dim[i + 1] = target->shape.dim[i];
	t = ox_cast(n, target, NEURON_DT_INT32, false);
	t = ox_reshape(n, t, x->shape.ndim, dim);
	hot = ox_iota(n, NEURON_DT_INT32, x->shape.dim[1]);
	hot = ox_bin(n, NCC_EQ, ox_spread(n, hot, &x->shape, &map), t);
	if (onnx_attr(n, "ignore_index"))
		hot = ox_bin(n, NCC_AND, hot, ox_binc(n, NCC_NE, t, (double)ignore));
	return hot;
}

static onnx_op sum_of(struct onnx_node *n, onnx_op x)
{
	return x ? ox_reduce(n, x, NCC_ADD, (1u << x->shape.ndim) - 1, false) : NULL;
}

/* The loss is -w[target] x[target]; its mean is divided by the sum of the weights. */
static onnx_op loss_of(struct onnx_node *n, onnx_op x, onnx_op target, onnx_op w)
{
	onnx_op hot = chosen(n, target, x), zero = ox_scalar(n, &x->shape, 0), loss;
	const uint8_t map = 1;

	if (!hot || n->rc)
		return NULL;
	if (w && (w->shape.ndim != 1 || w->shape.dim[0] != x->shape.dim[1])) {
		onnx_fail(n, -EINVAL, "not one weight for each class");
		return NULL;
	}
	w = w ? ox_spread(n, w, &x->shape, &map) : ox_scalar(n, &x->shape, 1);
	w = ox_select(n, hot, w, zero);
	loss = ox_select(n, hot, ox_bin(n, NCC_MUL, x, w), zero);
	loss = ox_un(n, NCC_NEG, ox_reduce(n, loss, NCC_ADD, 2, false));
	if (onnx_string_is(n, "reduction", "none"))
		return loss;
	if (onnx_string_is(n, "reduction", "sum"))
		return sum_of(n, loss);
	return ox_bin(n, NCC_DIV, sum_of(n, loss), sum_of(n, w));
}

static void import_nll(struct onnx_node *n)
{
	onnx_give(n, 0, loss_of(n, onnx_in(n, 0), onnx_in(n, 1), onnx_in(n, 2)));
}

static void import_cross_entropy(struct onnx_node *n)
{
	onnx_op x = onnx_in(n, 0);

	if (x->shape.ndim < 2) {
		onnx_fail(n, -EINVAL, "of rank %u", x->shape.ndim);
		return;
	}
	x = ox_softmax(n, x, 1, true);
	if (!x)
		return;
	onnx_give(n, 0, loss_of(n, x, onnx_in(n, 1), onnx_in(n, 2)));
	onnx_give(n, 1, x);
}

static const struct onnx_attribute like_negative_log_likelihood_loss[] = {
	ATTR("ignore_index", INT),
	ATTR("reduction", TEXT, .words = "none|mean|sum", .s = "mean"),
	{ 0 },
};

const struct onnx_rule onnx_loss[] = {
	/* clang-format off */
	{ "NegativeLogLikelihoodLoss", 2,  3, .import = import_nll, .since = 12, .attrs = like_negative_log_likelihood_loss },
	{ "SoftmaxCrossEntropyLoss",   2,  3, .import = import_cross_entropy, .since = 12, .attrs = like_negative_log_likelihood_loss },
	{ .op_type = NULL },
	/* clang-format on */
};
