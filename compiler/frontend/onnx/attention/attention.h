/* SPDX-License-Identifier: MIT */
/*
 * Attention of heads: what ONNX's operator (attention.c) and onnxruntime's (microsoft.c,
 * group.c) share. Part of the ONNX front end.
 */
#ifndef NCC_ONNX_ATTENTION_H
#define NCC_ONNX_ATTENTION_H

#include "frontend/onnx/dynamic/dynamic.h"

extern const struct onnx_rule onnx_attention[], onnx_rotary[], onnx_cache[];
extern const struct onnx_rule onnx_microsoft_attention[], onnx_microsoft_group[];
extern const struct onnx_rule onnx_microsoft_rotary[];

/* What a fourth result shows: products after the scale, the cap, bias and mask, or the softmax */
enum attention_shown { SHOWN_PRODUCT, SHOWN_CAPPED, SHOWN_MASKED, SHOWN_SHARE, SHOWN_NONE };

/* The scaled product of heads, [batch, heads, sequence, size] */
struct attention {
	onnx_op q, k, v; /* k and v have as many heads as q, or a divisor of them */
	double scale, cap; /* of the products; a cap of 0: none */
	onnx_op bias; /* in fp32, broadcasts to the products; NULL: none */
	onnx_op allowed; /* a predicate that broadcasts to them: which keys a query sees; NULL: all */
	bool lonely; /* A query may see no key: its result is 0 then. */
	onnx_op sink; /* for each head one more product, without a value, [heads]; NULL: none */
	enum attention_shown what;
	onnx_op shown; /* a result, in q's type */
};
onnx_op ox_attention(struct onnx_node *n, struct attention *a);

/* [batch, sequence, heads * size] to [batch, heads, sequence, size], and the reverse */
onnx_op ox_split_heads(struct onnx_node *n, onnx_op x, int64_t heads);
onnx_op ox_join_heads(struct onnx_node *n, onnx_op x);

/* Keys or values behind those of operand i, which may be absent */
onnx_op ox_with_past(struct onnx_node *n, unsigned int i, onnx_op x);

/* Which keys a query sees by its place */
struct attention_places {
	int64_t queries, keys;
	int64_t before; /* keys before the first query */
	onnx_op offset; /* s32, [batch]: in place of it; NULL: none */
	int64_t left, right; /* how many beside its own place; -1: all */
};
/* A predicate, [queries, keys] or [batch, 1, queries, keys]; NULL: all of them, or n->rc is set */
onnx_op ox_seen(struct onnx_node *n, const struct attention_places *p);
/* Which of so many keys come before count, s32, [batch]: [batch, 1, 1, keys] */
onnx_op ox_first_keys(struct onnx_node *n, onnx_op count, int64_t keys);
/* Of two predicates, either of which may be NULL, where both hold */
onnx_op ox_both_hold(struct onnx_node *n, onnx_op a, onnx_op b);
/* An operand's numbers as s32 of rank 1 */
onnx_op ox_words(struct onnx_node *n, unsigned int i);
/* An attribute that is absent where it is 0 */
double onnx_scale_of(const struct onnx_node *n, const char *name, double otherwise);
/* Refuses a node that has an operand, by name. */
bool onnx_without_operand(struct onnx_node *n, unsigned int i, const char *name);

/*
 * rotary.c: pairs of numbers of x, [batch, heads, sequence, size], turned by angles of which the
 * cosines and sines are [batch or 1, sequence, pairs]; numbers behind the pairs stay
 */
onnx_op ox_turned(struct onnx_node *n, onnx_op x, onnx_op cosine, onnx_op sine, bool interleaved);

/* cache.c: x with u from the place at, s32, [batch], on along an axis; circular: round its end */
onnx_op ox_cached(struct onnx_node *n, onnx_op x, onnx_op u, onnx_op at, unsigned int axis,
		  bool circular);

#endif
