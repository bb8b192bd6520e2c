// SPDX-License-Identifier: MIT
/*
 * GroupQueryAttention of onnxruntime: attention of language models, with a cache of keys and values
 * of which each sample says how long it is. The sizes of what comes and goes do not depend on
 * those: what lies beyond a sample's length is there and is not seen. Part of the ONNX front end.
 */
#include <errno.h>
#include <math.h>

#include "attention.h"

#define MOST_HEADS 65536

enum operand {
	QUERY,
	KEY,
	VALUE,
	PAST_KEY,
	PAST_VALUE,
	LENGTHS,
	TOTAL,
	COSINES,
	SINES,
	PLACES,
	BIAS,
	SINK,
};

struct group {
	struct attention a;
	int64_t queries, total; /* of this run, and the most that there are with it */
	onnx_op lengths; /* s32, [batch]: keys of each sample, with this run's */
	onnx_op before; /* the same without this run's */
};

static bool supported(struct onnx_node *n)
{
	static const char *const operands[] = { "k_scale", "v_scale", "q_norm_weight",
						"k_norm_weight", "query_seqlens" };
	static const char *const types[] = { "k_quant_type", "v_quant_type" };

	for (unsigned int i = 0; i < sizeof(operands) / sizeof(operands[0]); i++)
		onnx_without_operand(n, SINK + 1 + i, operands[i]);
	for (unsigned int i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!onnx_string_is(n, types[i], "NONE"))
			onnx_fail(n, -ENOTSUP, "%s is not supported", types[i]);
	return !n->rc;
}

/* Query, key and value, which may lie side by side in operand 0 */
static void take_heads(struct onnx_node *n, struct attention *a)
{
	const int64_t heads = onnx_int(n, "num_heads"), shared = onnx_int(n, "kv_num_heads");
	onnx_op x = onnx_in(n, QUERY), k = onnx_in(n, KEY), v = onnx_in(n, VALUE);
	const int64_t width = x->shape.ndim == 3 ? x->shape.dim[2] : 0;
	int64_t size;

	if (heads < 1 || shared < 1 || heads > MOST_HEADS || heads % shared || !width || !k != !v) {
		onnx_fail(n, -EINVAL, "%lld heads of %lld keys do not fit the operands",
			  (long long)heads, (long long)shared);
		return;
	}
	if (!k) {
		size = width / (heads + 2 * shared);
		k = ox_slice(n, x, 2, heads * size, shared * size, 1);
		v = ox_slice(n, x, 2, (heads + shared) * size, shared * size, 1);
		x = ox_slice(n, x, 2, 0, heads * size, 1);
	}
	a->q = ox_split_heads(n, x, heads);
	a->k = ox_split_heads(n, k, shared);
	a->v = ox_split_heads(n, v, shared);
}

/* In a first run every sample begins at 0, and may be shorter than the run. */
static void take_lengths(struct onnx_node *n, struct group *g)
{
	double total;

	if (!g->a.q || n->rc || !onnx_in_scalar(n, TOTAL, &total))
		return;
	g->queries = g->a.q->shape.dim[2];
	g->total = (int64_t)total;
	g->lengths = ox_binc(n, NCC_ADD, ox_words(n, LENGTHS), 1);
	if (!n->rc && (g->total < g->queries || g->total > INT32_MAX ||
		       g->lengths->shape.dim[0] != g->a.q->shape.dim[0]))
		onnx_fail(n, -EINVAL, "a total length of %lld, and %lld lengths",
			  (long long)g->total, (long long)g->lengths->shape.dim[0]);
	g->before = ox_binc(n, g->total == g->queries ? NCC_MUL : NCC_SUB, g->lengths,
			    g->total == g->queries ? 0 : (double)g->queries);
}

/* The places of this run's queries, s32, [batch, queries] */
static onnx_op places(struct onnx_node *n, const struct group *g)
{
	onnx_op at = ox_cast(n, onnx_in(n, PLACES), NEURON_DT_INT32, false);
	onnx_op queries = ox_iota(n, NEURON_DT_INT32, g->queries);
	const int64_t one[2] = { 1, 1 };

	if (at && !n->rc && g->total != g->queries)
		return at;
	if (at && !n->rc && at->shape.ndim == 2) /* a first run has the first one only */
		return ox_bin(n, NCC_ADD,
			      ox_reshape(n, ox_slice(n, ox_slice(n, at, 0, 0, 1, 1), 1, 0, 1, 1), 2,
					 one),
			      queries);
	return g->before ? ox_bin(n, NCC_ADD, ox_insert(n, g->before, 1), queries) : NULL;
}

static void turn(struct onnx_node *n, struct group *g)
{
	const bool interleaved = onnx_int(n, "rotary_interleaved");
	onnx_op table[2] = { onnx_in(n, COSINES), onnx_in(n, SINES) }, at = places(n, g);

	if (!table[0] || !table[1] || table[0]->shape.ndim != 2 || table[1]->shape.ndim != 2) {
		onnx_fail(n, -EINVAL, "do_rotary without cos_cache and sin_cache of rank 2");
		return;
	}
	for (unsigned int i = 0; i < 2 && !n->rc; i++)
		table[i] = ox_take(n, table[i], at, 0);
	g->a.q = ox_turned(n, g->a.q, table[0], table[1], interleaved);
	g->a.k = ox_turned(n, g->a.k, table[0], table[1], interleaved);
}

/* The cache of operand i with room for all, and this run's rows in it */
static onnx_op cached(struct onnx_node *n, const struct group *g, unsigned int i, onnx_op rows)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };
	onnx_op past = onnx_in(n, i), whole;
	bool first;

	if (!rows || n->rc)
		return NULL;
	first = !past || g->total == g->queries;
	if (past &&
	    (past->shape.ndim != 4 || past->shape.dim[3] != rows->shape.dim[3] ||
	     past->shape.dim[1] != rows->shape.dim[1] || past->shape.dtype != rows->shape.dtype)) {
		onnx_fail(n, -EINVAL, "operand %u does not fit the keys and values", i);
		return NULL;
	}
	whole = first ? rows : past;
	high[2] = (past && past->shape.dim[2] > g->total ? past->shape.dim[2] : g->total) -
		  whole->shape.dim[2];
	whole = ox_pad(n, whole, ox_scalar(n, &(struct ncc_shape){ .dtype = rows->shape.dtype }, 0),
		       low, high);
	return first ? whole : ox_cached(n, whole, rows, g->before, 2, false);
}

static void take_seen(struct onnx_node *n, struct group *g)
{
	const int64_t causal = onnx_int(n, "causal"), window = onnx_int(n, "local_window_size");
	struct attention_places p = { .queries = g->queries,
				      .keys = g->a.k ? g->a.k->shape.dim[2] : 0,
				      .offset = g->total == g->queries ? NULL : g->before,
				      .left = window > 0 ? window - 1 : -1,
				      .right = causal ? 0 : -1 };

	if (n->rc)
		return;
	if (!causal && p.left >= 0)
		onnx_fail(n, -EINVAL, "local_window_size without causal");
	g->a.allowed = ox_seen(n, &p);
	if (!causal)
		g->a.allowed = ox_first_keys(n, g->lengths, p.keys);
}

/* The bias has a column for each of the total length; the others are not seen. */
static void take_bias(struct onnx_node *n, struct attention *a, int64_t total)
{
	int64_t low[NCC_MAX_DIMS] = { 0 }, high[NCC_MAX_DIMS] = { 0 };
	onnx_op bias = ox_f32(n, onnx_in(n, BIAS));

	if (!bias || !a->k || n->rc)
		return;
	if (bias->shape.ndim != 4 || bias->shape.dim[3] != total) {
		onnx_fail(n, -EINVAL, "attention_bias of rank %u does not have %lld columns",
			  bias->shape.ndim, (long long)total);
		return;
	}
	high[3] = a->k->shape.dim[2] - bias->shape.dim[3];
	a->bias = ox_pad(n, bias, ox_number(n, 0), low, high);
}

static void take_sink(struct onnx_node *n, struct attention *a)
{
	const int64_t heads = onnx_int(n, "num_heads");

	a->sink = onnx_in(n, SINK);
	if (a->sink && (a->sink->shape.ndim != 1 || a->sink->shape.dim[0] != heads))
		onnx_fail(n, -EINVAL, "head_sink does not have one number for each head");
	if (!a->sink && onnx_int(n, "smooth_softmax") > 0)
		a->sink = ox_expand(n, ox_number(n, 0), 1, &heads);
}

static void import_group_query(struct onnx_node *n)
{
	struct group g = { .a.what = SHOWN_NONE };
	onnx_op r;

	if (!supported(n) || !onnx_has(n, LENGTHS, TOTAL))
		return;
	take_heads(n, &g.a);
	take_lengths(n, &g);
	if (n->rc)
		return;
	if (onnx_int(n, "do_rotary"))
		turn(n, &g);
	g.a.k = cached(n, &g, PAST_KEY, g.a.k);
	g.a.v = cached(n, &g, PAST_VALUE, g.a.v);
	take_seen(n, &g);
	take_bias(n, &g.a, g.total);
	take_sink(n, &g.a);
	g.a.cap = onnx_float(n, "softcap");
	if (n->rc)
		return;
	g.a.scale = onnx_scale_of(n, "scale", 1 / sqrt((double)g.a.q->shape.dim[3]));
	r = ox_attention(n, &g.a);
	onnx_give_as(n, 0, ox_join_heads(n, r), n->in[0].type);
	onnx_give_as(n, 1, g.a.k, n->in[0].type);
	onnx_give_as(n, 2, g.a.v, n->in[0].type);
}

const struct onnx_rule onnx_microsoft_group[] = {
	{ "GroupQueryAttention", 7, 17, .import = import_group_query, .empty = ONNX_EMPTY_REST,
	  .attrs = ONNX_ATTRS(
		  ATTR("causal", INT, .i = 1), ATTR("do_rotary", INT),
		  ATTR("k_norm_epsilon", FLOAT), ATTR("k_quant_type", TEXT, .s = "NONE"),
		  ATTR("kv_cache_bit_width", INT), ATTR("kv_num_heads", INT, .needed = true),
		  ATTR("local_window_size", INT, .i = -1), ATTR("num_heads", INT, .needed = true),
		  ATTR("q_norm_epsilon", FLOAT), ATTR("qk_norm_epsilon", FLOAT, .f = 1e-06),
		  ATTR("qk_output", INT, .only = true), ATTR("rotary_interleaved", INT),
		  ATTR("scale", FLOAT), ATTR("sliding_window_cache", INT, .only = true),
		  ATTR("smooth_softmax", INT, .i = -1), ATTR("softcap", FLOAT),
		  ATTR("v_quant_type", TEXT, .s = "NONE")) },
	{ .op_type = NULL },
};
