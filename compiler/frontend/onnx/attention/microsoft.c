// SPDX-License-Identifier: MIT
/*
 * Attention as onnxruntime's optimizer writes it, with or without the projection of its input. A
 * mask adds a number to what it hides, so that a query all of whose keys are hidden still sees
 * them. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "attention.h"
#include "frontend/onnx/products/products.h"

/* What both operators know of the products, and where they have the operands of it */
struct masked {
	struct attention a;
	unsigned int mask, bias; /* operands */
	int64_t past;
};

static onnx_op batch_of(struct onnx_node *n, onnx_op list, int64_t from, int64_t batch)
{
	const int64_t dim[4] = { batch, 1, 1, 1 };

	return ox_reshape(n, ox_slice(n, list, 0, from, batch, 1), 4, dim);
}

/* A list of where the keys of each sample end and, if it goes on, of where they begin */
static onnx_op listed_keys(struct onnx_node *n, onnx_op list, int64_t batch, int64_t keys)
{
	onnx_op at = ox_iota(n, NEURON_DT_INT32, keys), first = NULL, last;

	last = ox_bin(n, NCC_LT, at, batch_of(n, list, 0, batch));
	if (!n->rc && list->shape.dim[0] == 2 * batch)
		first = ox_bin(n, NCC_GE, at, batch_of(n, list, batch, batch));
	return ox_both_hold(n, first, last);
}

/* Which keys the mask leaves, as a predicate that broadcasts to the products */
static onnx_op kept_keys(struct onnx_node *n, const struct masked *m)
{
	onnx_op mask = ox_cast(n, onnx_in(n, m->mask), NEURON_DT_INT32, false);
	const struct ncc_shape *q = &m->a.q->shape, *s;
	const int64_t keys = m->a.k->shape.dim[2];

	if (!mask || n->rc)
		return NULL;
	s = &mask->shape;
	if (s->ndim == 1 && (s->dim[0] == q->dim[0] || s->dim[0] == 2 * q->dim[0]))
		return listed_keys(n, mask, q->dim[0], keys);
	mask = ox_binc(n, NCC_GT, mask, 0);
	if (s->ndim == 2 && s->dim[1] == keys)
		return ox_insert(n, ox_insert(n, mask, 1), 1);
	if (s->ndim == 3 && s->dim[2] == keys && s->dim[1] == q->dim[2])
		return ox_insert(n, mask, 1);
	onnx_fail(n, -ENOTSUP,
		  "a mask of rank %u is not supported for %lld keys: lengths of each sample, or a "
		  "number for each key",
		  s->ndim, (long long)keys);
	return NULL;
}

static void take_mask(struct onnx_node *n, struct masked *m)
{
	onnx_op kept = onnx_in(n, m->mask) ? kept_keys(n, m) : NULL, number;

	if (!kept || n->rc)
		return;
	number = ox_number(n, onnx_float(n, "mask_filter_value"));
	m->a.bias = ox_select(n, kept, ox_number(n, 0), number);
}

static void take_bias(struct onnx_node *n, struct masked *m)
{
	onnx_op bias = ox_f32(n, onnx_in(n, m->bias));

	if (bias && bias->shape.ndim != 4)
		onnx_fail(n, -EINVAL, "attention_bias has rank %u, expected 4", bias->shape.ndim);
	else if (bias)
		m->a.bias = m->a.bias ? ox_bin(n, NCC_ADD, m->a.bias, bias) : bias;
}

static onnx_op masked_attention(struct onnx_node *n, struct masked *m)
{
	struct attention_places p = { .before = m->past, .left = -1, .right = -1 };

	if (!m->a.q || !m->a.k || !m->a.v || n->rc)
		return NULL;
	p.queries = m->a.q->shape.dim[2];
	p.keys = m->a.k->shape.dim[2];
	p.right = onnx_int(n, "unidirectional") ? 0 : -1;
	m->a.scale = onnx_scale_of(n, "scale", 1 / sqrt((double)m->a.q->shape.dim[3]));
	m->a.allowed = ox_seen(n, &p);
	take_mask(n, m);
	take_bias(n, m);
	return ox_attention(n, &m->a);
}

/* The widths of query, key and value in the projection */
static bool take_widths(struct onnx_node *n, int64_t width[3])
{
	const int64_t all = onnx_in(n, 1)->shape.dim[1];
	unsigned int count;

	if (!onnx_ints(n, "qkv_hidden_sizes", width, 3, &count)) {
		width[0] = width[1] = width[2] = all / 3;
	} else if (count != 3) {
		onnx_fail(n, -EINVAL, "%u numbers in qkv_hidden_sizes, expected 3", count);
	}
	if (!n->rc && (width[0] < 1 || width[1] != width[0] || width[2] < 1 || width[2] > all ||
		       width[0] > all || 2 * width[0] + width[2] != all))
		onnx_fail(n, -EINVAL, "weights of %lld columns for query, key and value",
			  (long long)all);
	return !n->rc;
}

/* What is projected, cut into query, key and value */
static void project(struct onnx_node *n, struct attention *a)
{
	onnx_op x = onnx_in(n, 0), w = onnx_in(n, 1), *part[3] = { &a->q, &a->k, &a->v };
	const int64_t heads = onnx_int(n, "num_heads");
	int64_t width[3], from = 0;

	if (x->shape.ndim != 3 || w->shape.ndim != 2) {
		onnx_fail(n, -EINVAL, "operands of rank %u and %u, expected 3 and 2", x->shape.ndim,
			  w->shape.ndim);
		return;
	}
	if (!take_widths(n, width))
		return;
	x = ox_matmul(n, x, w, x->shape.dtype);
	x = onnx_in(n, 2) ? ox_bin(n, NCC_ADD, x, onnx_in(n, 2)) : x;
	for (unsigned int i = 0; i < 3; from += width[i++])
		*part[i] = ox_split_heads(n, ox_slice(n, x, 2, from, width[i], 1), heads);
}

/* past and present: keys, then values */
static onnx_op with_stacked(struct onnx_node *n, onnx_op past, unsigned int i, onnx_op x)
{
	onnx_op both[2] = { NULL, x };
	int64_t dim[4];

	if (!past || !x || n->rc)
		return x;
	if (past->shape.ndim != 5 || past->shape.dim[0] != 2) {
		onnx_fail(n, -EINVAL, "past is not of keys and values of rank 4");
		return NULL;
	}
	memcpy(dim, &past->shape.dim[1], sizeof(dim));
	both[0] = ox_reshape(n, ox_slice(n, past, 0, i, 1, 1), 4, dim);
	return ox_concat(n, both, 2, 2);
}

static void give_stacked(struct onnx_node *n, const struct attention *a)
{
	onnx_op both[2];

	if (n->nout < 2)
		return;
	both[0] = ox_insert(n, a->k, 0);
	both[1] = ox_insert(n, a->v, 0);
	onnx_give_as(n, 1, ox_concat(n, both, 2, 0), n->in[0].type);
}

static void import_attention(struct onnx_node *n)
{
	struct masked m = { .mask = 3, .bias = 5, .a.what = SHOWN_NONE };
	onnx_op past = onnx_in(n, 4), r;

	if (!onnx_has(n, 0, 1) || !onnx_without_operand(n, 6, "past_sequence_length"))
		return;
	project(n, &m.a);
	m.a.k = with_stacked(n, past, 0, m.a.k);
	m.a.v = with_stacked(n, past, 1, m.a.v);
	m.past = past && !n->rc ? past->shape.dim[3] : 0;
	r = masked_attention(n, &m);
	onnx_give_as(n, 0, ox_join_heads(n, r), n->in[0].type);
	give_stacked(n, &m.a);
}

/* Operand i, side by side or in heads already, with its part of the bias of all three */
static onnx_op heads_of(struct onnx_node *n, unsigned int i, int64_t from)
{
	const int64_t heads = onnx_int(n, "num_heads");
	onnx_op x = onnx_in(n, i), bias = onnx_in(n, 3);

	if (!x || n->rc)
		return NULL;
	if (x->shape.ndim == 4 && i)
		return x;
	if (x->shape.ndim != 3) {
		onnx_fail(n, -ENOTSUP, "operand %u of rank %u is not supported: packed together", i,
			  x->shape.ndim);
		return NULL;
	}
	if (bias && bias->shape.ndim == 1 && from + x->shape.dim[2] <= bias->shape.dim[0])
		x = ox_bin(n, NCC_ADD, x, ox_slice(n, bias, 0, from, x->shape.dim[2], 1));
	else if (bias)
		onnx_fail(n, -EINVAL, "the bias does not have query's, key's and value's");
	return ox_split_heads(n, x, heads);
}

static void import_multi_head(struct onnx_node *n)
{
	struct masked m = { .mask = 4, .bias = 5, .a.what = SHOWN_MASKED };
	const int64_t width = onnx_in(n, 0)->shape.ndim == 3 ? onnx_in(n, 0)->shape.dim[2] : 0;
	onnx_op past = onnx_in(n, 6);

	if (!onnx_without_operand(n, 8, "past_sequence_length") ||
	    !onnx_without_operand(n, 9, "cache_indirection"))
		return;
	if (!onnx_in(n, 1) || !onnx_in(n, 2)) {
		onnx_fail(n, -ENOTSUP, "query, key and value packed together are not supported");
		return;
	}
	m.a.q = heads_of(n, 0, 0);
	m.a.k = heads_of(n, 1, width);
	m.a.v = heads_of(n, 2, 2 * width);
	m.past = past && past->shape.ndim == 4 ? past->shape.dim[2] : 0;
	m.a.k = ox_with_past(n, 6, m.a.k);
	m.a.v = ox_with_past(n, 7, m.a.v);
	onnx_give_as(n, 0, ox_join_heads(n, masked_attention(n, &m)), n->in[0].type);
	onnx_give_as(n, 1, m.a.k, n->in[0].type);
	onnx_give_as(n, 2, m.a.v, n->in[0].type);
	onnx_give_as(n, 3, m.a.shown, n->in[0].type);
}

const struct onnx_rule onnx_microsoft_attention[] = {
	/* clang-format off */
	{ "Attention",           2,  7, .import = import_attention,  .empty = ONNX_EMPTY_REST,
	  .attrs = ONNX_ATTRS(
		ATTR("do_rotary", INT, .only = true), ATTR("mask_filter_value", FLOAT, .f = -10000),
		ATTR("num_heads", INT, .needed = true), ATTR("past_present_share_buffer", INT, .only = true),
		ATTR("qkv_hidden_sizes", INTS), ATTR("rotary_embedding_dim", INT),
		ATTR("scale", FLOAT), ATTR("unidirectional", INT)) },
	{ "MultiHeadAttention",  1, 10, .import = import_multi_head, .empty = ONNX_EMPTY_REST,
	  .attrs = ONNX_ATTRS(
		ATTR("mask_filter_value", FLOAT, .f = -10000),
		ATTR("num_heads", INT, .needed = true), ATTR("scale", FLOAT),
		ATTR("unidirectional", INT)) },
	{ .op_type = NULL },
	/* clang-format on */
};
