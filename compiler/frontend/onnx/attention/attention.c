// SPDX-License-Identifier: MIT
/*
 * Attention: of each query the mean of values, weighted by the softmax of its products with the
 * keys. Queries whose heads share a key are rows of one product. Part of the ONNX front end.
 */
#include "attention.h"
#include "frontend/onnx/reductions/reductions.h"

#include <errno.h>
#include <math.h>
#include <string.h>

onnx_op ox_split_heads(struct onnx_node *n, onnx_op x, int64_t heads)
{
	static const uint8_t perm[4] = { 0, 2, 1, 3 };
	int64_t dim[4];

	if (!x || n->rc)
		return NULL;
	if (x->shape.ndim != 3 || heads < 1 || x->shape.dim[2] % heads) {
		onnx_fail(n, -EINVAL, "%lld heads do not fit an operand of rank %u and size %lld",
			  (long long)heads, x->shape.ndim,
			  x->shape.ndim ? (long long)x->shape.dim[x->shape.ndim - 1] : 1);
		return NULL;
	}
	dim[0] = x->shape.dim[0];
	dim[1] = x->shape.dim[1];
	dim[2] = heads;
	dim[3] = x->shape.dim[2] / heads;
	return ox_transpose(n, ox_reshape(n, x, 4, dim), perm);
}

onnx_op ox_join_heads(struct onnx_node *n, onnx_op x)
{
	static const uint8_t perm[4] = { 0, 2, 1, 3 };
	int64_t dim[3];

	if (!x || n->rc)
		return NULL;
	dim[0] = x->shape.dim[0];
	dim[1] = x->shape.dim[2];
	dim[2] = x->shape.dim[1] * x->shape.dim[3];
	return ox_reshape(n, ox_transpose(n, x, perm), 3, dim);
}

/* x of rank 4 with its heads and rows in other proportions */
static onnx_op regrouped(struct onnx_node *n, onnx_op x, int64_t heads)
{
	int64_t dim[4];

	if (!x || n->rc)
		return NULL;
	memcpy(dim, x->shape.dim, sizeof(dim));
	dim[1] = heads;
	dim[2] = x->shape.dim[1] * x->shape.dim[2] / heads;
	return ox_reshape(n, x, 4, dim);
}

/* a's rows times b's rows, or columns, of each head */
static onnx_op product(struct onnx_node *n, onnx_op a, onnx_op b, bool rows, uint8_t dtype)
{
	const struct ncc_dot d = { .nbatch = 2,
				   .ncontract = 1,
				   .lhs_batch = { 0, 1 },
				   .rhs_batch = { 0, 1 },
				   .lhs_contract = { 3 },
				   .rhs_contract = { rows ? 3 : 2 } };

	return ox_dot(n, a, b, &d, dtype);
}

static bool fit(struct onnx_node *n, const struct attention *a)
{
	const struct ncc_shape *q = &a->q->shape, *k = &a->k->shape, *v = &a->v->shape;

	if (q->ndim == 4 && k->ndim == 4 && v->ndim == 4 && q->dim[0] == k->dim[0] &&
	    k->dim[0] == v->dim[0] && q->dim[1] % k->dim[1] == 0 && k->dim[1] == v->dim[1] &&
	    k->dim[2] == v->dim[2] && q->dim[3] == k->dim[3] && q->dtype == k->dtype &&
	    q->dtype == v->dtype && ncc_is_float(q->dtype))
		return true;
	onnx_fail(n, -EINVAL, "query, key and value do not have heads of one type that fit");
	return false;
}

/* The softmax of rows in which there may be nothing but -inf: their numbers are 0. */
static onnx_op shares_or_none(struct onnx_node *n, onnx_op x)
{
	onnx_op most = ox_reduce(n, x, NCC_MAX, 1u << 3, true), e, sum;

	most = ox_binc(n, NCC_MAX, most, -3e38);
	e = ox_un(n, NCC_EXP, ox_bin(n, NCC_SUB, x, most));
	sum = ox_reduce(n, e, NCC_ADD, 1u << 3, true);
	sum = sum ? ox_select(n, ox_binc(n, NCC_EQ, sum, 0), ox_scalar(n, &sum->shape, 1), sum)
		  : NULL;
	return ox_bin(n, NCC_DIV, e, sum);
}

static onnx_op shares(struct onnx_node *n, const struct attention *a, onnx_op x)
{
	const int64_t column[4] = { 1, a->q->shape.dim[1], 1, 1 };
	onnx_op both[2] = { x, NULL };
	int64_t dim[4], keys;

	if (!x || n->rc)
		return NULL;
	keys = x->shape.dim[3];
	if (a->sink) {
		memcpy(dim, x->shape.dim, sizeof(dim));
		dim[3] = 1;
		both[1] = ox_expand(n, ox_reshape(n, ox_f32(n, a->sink), 4, column), 4, dim);
		x = ox_concat(n, both, 2, 3);
	}
	x = a->lonely && !a->sink ? shares_or_none(n, x) : x ? ox_softmax(n, x, 3, false) : NULL;
	return x ? ox_slice(n, x, 3, 0, keys, 1) : NULL;
}

static void show(struct onnx_node *n, struct attention *a, enum attention_shown what, onnx_op x)
{
	if (a->what == what)
		a->shown = ox_cast_like(n, x, a->q);
}

static onnx_op capped(struct onnx_node *n, onnx_op x, double cap)
{
	if (cap == 0)
		return x;
	return ox_binc(n, NCC_MUL, ox_un(n, NCC_TANH, ox_binc(n, NCC_MUL, x, 1 / cap)), cap);
}

onnx_op ox_attention(struct onnx_node *n, struct attention *a)
{
	onnx_op x;
	int64_t heads;

	if (!a->q || !a->k || !a->v || n->rc || !fit(n, a))
		return NULL;
	heads = a->k->shape.dim[1];
	x = product(n, regrouped(n, a->q, heads), a->k, true, NEURON_DT_FP32);
	x = ox_binc(n, NCC_MUL, regrouped(n, x, a->q->shape.dim[1]), a->scale);
	show(n, a, SHOWN_PRODUCT, x);
	x = capped(n, x, a->cap);
	show(n, a, SHOWN_CAPPED, x);
	x = a->bias ? ox_bin(n, NCC_ADD, x, a->bias) : x;
	if (a->allowed && x)
		x = ox_select(n, a->allowed, x, ox_scalar(n, &x->shape, -INFINITY));
	show(n, a, SHOWN_MASKED, x);
	x = shares(n, a, x);
	show(n, a, SHOWN_SHARE, x);
	x = product(n, regrouped(n, ox_cast_like(n, x, a->q), heads), a->v, false,
		    a->q->shape.dtype);
	return regrouped(n, x, a->q->shape.dim[1]);
}

/* s32, of rank 4 if it is of a batch: the place among the keys of each query */
static onnx_op query_places(struct onnx_node *n, const struct attention_places *p)
{
	const int64_t dim[2] = { p->queries, 1 };
	onnx_op at = ox_reshape(n, ox_iota(n, NEURON_DT_INT32, p->queries), 2, dim), of = p->offset;
	int64_t batch[4] = { 1, 1, 1, 1 };

	if (!of)
		return ox_binc(n, NCC_ADD, at, (double)p->before);
	batch[0] = of->shape.dim[0];
	return ox_bin(n, NCC_ADD, ox_reshape(n, of, 4, batch), at);
}

onnx_op ox_both_hold(struct onnx_node *n, onnx_op a, onnx_op b)
{
	return a && b ? ox_bin(n, NCC_AND, a, b) : a ? a : b;
}

onnx_op ox_seen(struct onnx_node *n, const struct attention_places *p)
{
	onnx_op at, key, left, right;

	if (p->left < 0 && p->right < 0)
		return NULL;
	at = query_places(n, p);
	key = ox_iota(n, NEURON_DT_INT32, p->keys);
	left = p->left < 0 ? NULL
			   : ox_bin(n, NCC_GE, key, ox_binc(n, NCC_SUB, at, (double)p->left));
	right = p->right < 0 ? NULL
			     : ox_bin(n, NCC_LE, key, ox_binc(n, NCC_ADD, at, (double)p->right));
	return ox_both_hold(n, left, right);
}

onnx_op ox_first_keys(struct onnx_node *n, onnx_op count, int64_t keys)
{
	int64_t dim[4] = { 1, 1, 1, 1 };

	if (!count || n->rc)
		return NULL;
	dim[0] = count->shape.dim[0];
	return ox_bin(n, NCC_LT, ox_iota(n, NEURON_DT_INT32, keys), ox_reshape(n, count, 4, dim));
}

onnx_op ox_words(struct onnx_node *n, unsigned int i)
{
	onnx_op x = ox_cast(n, onnx_in(n, i), NEURON_DT_INT32, false);
	const int64_t count = x ? ncc_elems(&x->shape) : 0;

	return ox_reshape(n, x, 1, &count);
}

bool onnx_without_operand(struct onnx_node *n, unsigned int i, const char *name)
{
	if (onnx_in(n, i))
		onnx_fail(n, -ENOTSUP, "operand %u, %s, is not supported", i, name);
	return !n->rc;
}

double onnx_scale_of(const struct onnx_node *n, const char *name, double otherwise)
{
	double v = onnx_float(n, name);

	return v == 0 ? otherwise : v;
}

/* Operands of rank 3 have their heads side by side. */
static onnx_op heads_of(struct onnx_node *n, unsigned int i, const char *attribute)
{
	onnx_op x = onnx_in(n, i);

	return x && x->shape.ndim == 3 ? ox_split_heads(n, x, onnx_int(n, attribute)) : x;
}

onnx_op ox_with_past(struct onnx_node *n, unsigned int i, onnx_op x)
{
	onnx_op both[2] = { onnx_in(n, i), x };

	if (!both[0] || !x || n->rc)
		return x;
	if (both[0]->shape.ndim != 4 || x->shape.ndim != 4) {
		onnx_fail(n, -EINVAL, "operand %u has rank %u, expected 4", i, both[0]->shape.ndim);
		return NULL;
	}
	return ox_concat(n, both, 2, 2);
}

/* A mask of fewer keys hides the others. */
static void take_mask(struct onnx_node *n, struct attention *a)
{
	onnx_op mask = onnx_in(n, 3), none;
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 }, keys;
	unsigned int nd;

	if (!mask || !a->k || n->rc)
		return;
	keys = a->k->shape.ndim == 4 ? a->k->shape.dim[2] : 0;
	nd = mask->shape.ndim;
	if (!nd || nd > 4 || mask->shape.dim[nd - 1] > keys) {
		onnx_fail(n, -EINVAL, "operand 3 does not mask %lld keys", (long long)keys);
		return;
	}
	a->lonely = true;
	mask = mask->shape.pred ? mask : ox_f32(n, mask);
	high[nd - 1] = keys - onnx_in(n, 3)->shape.dim[nd - 1];
	none = mask ? ox_scalar(n, &mask->shape, mask->shape.pred ? 0 : -INFINITY) : NULL;
	mask = ox_pad(n, mask, none, low, high);
	*(mask && mask->shape.pred ? &a->allowed : &a->bias) = mask;
}

static void take_places(struct onnx_node *n, struct attention *a, int64_t past)
{
	struct attention_places p = { .before = past,
				      .left = onnx_int(n, "left_window_size"),
				      .right = onnx_int(n, "right_window_size") };
	onnx_op count = onnx_in(n, 6) ? ox_words(n, 6) : NULL;

	if (n->rc || !a->q || !a->k || a->q->shape.ndim != 4 || a->k->shape.ndim != 4)
		return;
	p.queries = a->q->shape.dim[2];
	p.keys = a->k->shape.dim[2];
	if (onnx_int(n, "is_causal"))
		p.right = 0;
	if (count && past) {
		onnx_fail(n, -EINVAL, "nonpad_kv_seqlen beside past_key");
		return;
	}
	if (count) {
		a->lonely = true;
		p.offset = ox_binc(n, NCC_SUB, count, (double)p.queries);
		a->allowed = ox_both_hold(n, a->allowed, ox_first_keys(n, count, p.keys));
	}
	a->lonely = a->lonely || p.left >= 0;
	a->allowed = ox_both_hold(n, a->allowed, ox_seen(n, &p));
}

static void import_attention(struct onnx_node *n)
{
	struct attention a = { .q = heads_of(n, 0, "q_num_heads"),
			       .k = heads_of(n, 1, "kv_num_heads"),
			       .v = heads_of(n, 2, "kv_num_heads") };
	const int64_t past = onnx_in(n, 4) ? onnx_in(n, 4)->shape.dim[2] : 0;
	const int64_t what = onnx_int(n, "qk_matmul_output_mode");
	onnx_op r;

	if (!onnx_has(n, 0, 2))
		return;
	if (!onnx_in(n, 4) != !onnx_in(n, 5) || what < 0 || what > 3) {
		onnx_fail(n, -EINVAL, "past_key without past_value, or an output mode of %lld",
			  (long long)what);
		return;
	}
	a.k = ox_with_past(n, 4, a.k);
	a.v = ox_with_past(n, 5, a.v);
	a.scale = onnx_float_or(n, "scale", 1 / sqrt((double)a.q->shape.dim[3]));
	a.cap = onnx_float(n, "softcap");
	a.what = n->nout > 3 ? (enum attention_shown)what : SHOWN_NONE;
	take_mask(n, &a);
	take_places(n, &a, past);
	r = ox_attention(n, &a);
	onnx_give_as(n, 0, onnx_in(n, 0)->shape.ndim == 3 ? ox_join_heads(n, r) : r, n->in[0].type);
	onnx_give_as(n, 1, a.k, n->in[1].type);
	onnx_give_as(n, 2, a.v, n->in[2].type);
	onnx_give_as(n, 3, a.shown, n->in[0].type);
}

const struct onnx_rule onnx_attention[] = {
	{ "Attention", 3, 7, .import = import_attention, .empty = ONNX_EMPTY_REST, .since = 23,
	  .attrs = ONNX_ATTRS(ATTR("is_causal", INT), ATTR("kv_num_heads", INT),
			      ATTR("left_window_size", INT, .i = -1, .from = 25),
			      ATTR("q_num_heads", INT), ATTR("qk_matmul_output_mode", INT),
			      ATTR("right_window_size", INT, .i = -1, .from = 25),
			      ATTR("scale", FLOAT), ATTR("softcap", FLOAT),
			      ATTR("softmax_precision", INT)) },
	{ .op_type = NULL },
};
