// SPDX-License-Identifier: MIT
/*
 * Rotary position embeddings: pairs of a head's numbers are turned by angles that its place has in
 * a table. Part of the ONNX front end.
 */
#include <errno.h>
#include <string.h>

#include "attention.h"

/* Where the operators have their operands, and what they call the places */
enum form { STANDARD, MICROSOFT };

/* One number of each pair: pairs are side by side, or their halves are */
static onnx_op half_of(struct onnx_node *n, onnx_op x, int64_t pairs, bool second, bool interleaved)
{
	if (interleaved)
		return ox_slice(n, x, 3, second, pairs, 2);
	return ox_slice(n, x, 3, second ? pairs : 0, pairs, 1);
}

static onnx_op paired(struct onnx_node *n, onnx_op first, onnx_op second, bool interleaved)
{
	onnx_op part[2] = { first, second }, x;
	int64_t dim[NCC_MAX_DIMS];

	if (!first || !second || n->rc)
		return NULL;
	if (!interleaved)
		return ox_concat(n, part, 2, 3);
	part[0] = ox_insert(n, first, 4);
	part[1] = ox_insert(n, second, 4);
	x = ox_concat(n, part, 2, 4);
	memcpy(dim, first->shape.dim, sizeof(dim));
	dim[3] *= 2;
	return ox_reshape(n, x, 4, dim);
}

/* [batch or 1, sequence, pairs], beside each head */
static onnx_op beside_heads(struct onnx_node *n, onnx_op angle)
{
	return angle ? ox_insert(n, ox_f32(n, angle), 1) : NULL;
}

onnx_op ox_turned(struct onnx_node *n, onnx_op x, onnx_op cosine, onnx_op sine, bool interleaved)
{
	onnx_op f = ox_f32(n, x), a, b, part[2];
	int64_t pairs, size;

	if (!f || !cosine || !sine || n->rc)
		return NULL;
	pairs = cosine->shape.ndim == 3 ? cosine->shape.dim[2] : 0;
	size = x->shape.dim[3];
	if (!pairs || sine->shape.ndim != 3 || 2 * pairs > size || sine->shape.dim[2] != pairs) {
		onnx_fail(n, -EINVAL,
			  "%lld pairs of cosines and sines of rank %u for heads of %lld",
			  (long long)pairs, cosine->shape.ndim, (long long)size);
		return NULL;
	}
	cosine = beside_heads(n, cosine);
	sine = beside_heads(n, sine);
	a = half_of(n, f, pairs, false, interleaved);
	b = half_of(n, f, pairs, true, interleaved);
	part[0] = paired(
		n, ox_bin(n, NCC_SUB, ox_bin(n, NCC_MUL, cosine, a), ox_bin(n, NCC_MUL, sine, b)),
		ox_bin(n, NCC_ADD, ox_bin(n, NCC_MUL, sine, a), ox_bin(n, NCC_MUL, cosine, b)),
		interleaved);
	if (2 * pairs == size)
		return ox_cast_like(n, part[0], x);
	part[1] = ox_slice(n, f, 3, 2 * pairs, size - 2 * pairs, 1);
	return ox_cast_like(n, ox_concat(n, part, 2, 3), x);
}

/* The rows of a table for each place of the sequence */
static onnx_op angles(struct onnx_node *n, onnx_op table, onnx_op at)
{
	if (!at || !table || n->rc)
		return table;
	if (table->shape.ndim == 2 && at->shape.ndim == 2)
		return ox_take(n, table, at, 0);
	onnx_fail(n, -EINVAL, "position_ids of rank %u for a table of rank %u, expected 2",
		  at->shape.ndim, table->shape.ndim);
	return NULL;
}

/* One number is where a sequence begins. */
static onnx_op places_of(struct onnx_node *n, onnx_op at, int64_t sequence)
{
	const int64_t one[2] = { 1, 1 };

	if (!at || n->rc || at->shape.ndim != 1 || at->shape.dim[0] != 1)
		return at;
	at = ox_reshape(n, ox_cast(n, at, NEURON_DT_INT32, false), 2, one);
	return ox_bin(n, NCC_ADD, at, ox_iota(n, NEURON_DT_INT32, sequence));
}

static int64_t heads_in(struct onnx_node *n, onnx_op x, onnx_op cosine)
{
	int64_t heads = onnx_int(n, "num_heads"), pairs;

	if (heads || onnx_arg(n) == STANDARD || !cosine)
		return heads;
	pairs = cosine->shape.dim[cosine->shape.ndim - 1];
	return x->shape.dim[2] / (2 * pairs);
}

static bool fits(struct onnx_node *n, onnx_op x, onnx_op cosine)
{
	const int64_t size = onnx_int(n, "rotary_embedding_dim");
	const unsigned int nd = cosine->shape.ndim;

	if (onnx_arg(n) == MICROSOFT && onnx_float(n, "scale") != 1)
		onnx_fail(n, -ENOTSUP, "scale of %g is not supported", onnx_float(n, "scale"));
	if ((x->shape.ndim != 3 && x->shape.ndim != 4) || nd < 2)
		onnx_fail(n, -EINVAL, "rank %u, expected 3 or 4, and tables of rank %u",
			  x->shape.ndim, nd);
	else if (size && size != 2 * cosine->shape.dim[nd - 1])
		onnx_fail(n, -EINVAL, "rotary_embedding_dim of %lld with tables of %lld columns",
			  (long long)size, (long long)cosine->shape.dim[nd - 1]);
	return !n->rc;
}

static void import_rotary(struct onnx_node *n)
{
	const bool standard = onnx_arg(n) == STANDARD;
	onnx_op x = onnx_in(n, 0), at = onnx_in(n, standard ? 3 : 1), r = x;
	onnx_op cosine = onnx_in(n, standard ? 1 : 2), sine = onnx_in(n, standard ? 2 : 3);
	const bool flat = x->shape.ndim == 3;

	if (!fits(n, x, cosine))
		return;
	at = standard ? at : places_of(n, at, x->shape.dim[flat ? 1 : 2]);
	r = flat ? ox_split_heads(n, x, heads_in(n, x, cosine)) : x;
	r = ox_turned(n, r, angles(n, cosine, at), angles(n, sine, at), onnx_int(n, "interleaved"));
	onnx_give_as(n, 0, flat ? ox_join_heads(n, r) : r, n->in[0].type);
}

const struct onnx_rule onnx_rotary[] = {
	{ "RotaryEmbedding", 3, 4, .import = import_rotary, .arg = STANDARD, .since = 23,
	  .attrs = ONNX_ATTRS(ATTR("interleaved", INT), ATTR("num_heads", INT),
			      ATTR("rotary_embedding_dim", INT)) },
	{ .op_type = NULL },
};

const struct onnx_rule onnx_microsoft_rotary[] = {
	{ "RotaryEmbedding", 4, 4, .import = import_rotary, .arg = MICROSOFT,
	  .attrs = ONNX_ATTRS(ATTR("interleaved", INT),
			      ATTR("is_packed_batching", INT, .only = true), ATTR("num_heads", INT),
			      ATTR("rotary_embedding_dim", INT), ATTR("scale", FLOAT, .f = 1)) },
	{ .op_type = NULL },
};
