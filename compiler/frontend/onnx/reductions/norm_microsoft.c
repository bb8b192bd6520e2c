// SPDX-License-Identifier: MIT
/*
 * Layers' normalization together with the sum that it is of, as onnxruntime's optimizer writes it.
 * Part of the ONNX front end.
 */
#include <errno.h>

#include "reductions.h"

/* Where an operator has its bias; a simplified one subtracts no mean and has no beta */
enum form { WHOLE, SIMPLIFIED };

/* The sum's normalization over the last dimension, times gamma plus beta, as operand like has it */
static void give_normalized(struct onnx_node *n, onnx_op sum, unsigned int like, onnx_op gamma,
			    onnx_op beta)
{
	const double epsilon = onnx_float(n, "epsilon");
	onnx_op r, m = NULL, inv = NULL;
	uint32_t last;

	if (!sum || !gamma || n->rc)
		return;
	last = 1u << (sum->shape.ndim - 1);
	r = onnx_arg(n) == SIMPLIFIED ? ox_rms_normalize(n, sum, last, epsilon, &inv)
				      : ox_normalize(n, sum, last, epsilon, &m, &inv);
	r = ox_bin(n, NCC_MUL, r, ox_f32(n, gamma));
	r = beta ? ox_bin(n, NCC_ADD, r, ox_f32(n, beta)) : r;
	onnx_give_as(n, 0, ox_cast_like(n, r, onnx_in(n, like)), n->in[like].type);
	onnx_give_as(n, 1, m, ONNX_FLOAT);
	onnx_give_as(n, 2, inv, ONNX_FLOAT);
}

static void import_skip(struct onnx_node *n)
{
	const enum form form = (enum form)onnx_arg(n);
	onnx_op x = onnx_in(n, 0), bias = onnx_in(n, form == SIMPLIFIED ? 3 : 4), sum;

	if (!x->shape.ndim) {
		onnx_fail(n, -EINVAL, "of a scalar");
		return;
	}
	sum = ox_bin(n, NCC_ADD, ox_f32(n, x), ox_f32(n, onnx_in(n, 1)));
	sum = bias ? ox_bin(n, NCC_ADD, sum, ox_f32(n, bias)) : sum;
	give_normalized(n, sum, 0, onnx_in(n, 2), form == SIMPLIFIED ? NULL : onnx_in(n, 3));
	onnx_give_as(n, 3, ox_cast_like(n, sum, x), n->in[0].type);
}

static onnx_op number_of_ones(struct onnx_node *n, onnx_op mask, const struct ncc_shape *ids)
{
	const struct ncc_shape none = { .dtype = NEURON_DT_INT32,
					.ndim = 1,
					.dim = { ids->dim[0] } };

	if (!mask)
		return ox_data(n, &none);
	mask = ox_f32(n, ox_binc(n, NCC_EQ, mask, 1));
	return ox_cast(n, ox_reduce(n, mask, NCC_ADD, 2, false), NEURON_DT_INT32, false);
}

/* The rows of three tables: of the words, of their places and, if there are any, of segments */
static onnx_op embedded(struct onnx_node *n)
{
	onnx_op ids = onnx_in(n, 0), segment = onnx_in(n, 1), at = onnx_in(n, 8), sum, rows;

	sum = ox_f32(n, ox_take(n, onnx_in(n, 2), ids, 0));
	rows = at ? ox_take(n, onnx_in(n, 3), at, 0)
		  : ox_slice(n, onnx_in(n, 3), 0, 0, ids->shape.dim[1], 1);
	sum = ox_bin(n, NCC_ADD, sum, ox_f32(n, rows));
	if (!segment || !onnx_in(n, 4))
		return sum;
	return ox_bin(n, NCC_ADD, sum, ox_f32(n, ox_take(n, onnx_in(n, 4), segment, 0)));
}

static void import_embed(struct onnx_node *n)
{
	static const unsigned int needed[] = { 2, 3, 5, 6 };
	onnx_op sum;

	for (unsigned int i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		onnx_has(n, needed[i], needed[i]);
	for (unsigned int i = 2; i < 5 && !n->rc; i++)
		if (onnx_in(n, i) && onnx_in(n, i)->shape.ndim != 2)
			onnx_fail(n, -EINVAL, "operand %u has rank %u, expected 2", i,
				  onnx_in(n, i)->shape.ndim);
	if (!n->rc && onnx_in(n, 0)->shape.ndim != 2)
		onnx_fail(n, -EINVAL, "input_ids has rank %u, expected 2",
			  onnx_in(n, 0)->shape.ndim);
	if (n->rc)
		return;
	sum = embedded(n);
	give_normalized(n, sum, 2, onnx_in(n, 5), onnx_in(n, 6));
	onnx_give_as(n, 1, number_of_ones(n, onnx_in(n, 7), &onnx_in(n, 0)->shape), ONNX_INT32);
	onnx_give_as(n, 2, ox_cast_like(n, sum, onnx_in(n, 2)), n->in[2].type);
}

static const struct onnx_attribute like_skip_layer_normalization[] = {
	ATTR("epsilon", FLOAT, .f = 1e-12),
	{ 0 },
};

const struct onnx_rule onnx_microsoft_norm[] = {
	/* clang-format off */
	{ "EmbedLayerNormalization",          7, 9, .import = import_embed, .empty = ONNX_EMPTY_REST,
	  .attrs = ONNX_ATTRS(
		ATTR("epsilon", FLOAT, .f = 1e-12), ATTR("mask_index_type", INT)) },
	{ "SkipLayerNormalization",           3, 5, .import = import_skip,  .arg = WHOLE, .attrs = like_skip_layer_normalization },
	{ "SkipSimplifiedLayerNormalization", 3, 4, .import = import_skip,  .arg = SIMPLIFIED, .attrs = like_skip_layer_normalization },
	{ .op_type = NULL },
	/* clang-format on */
};
