// SPDX-License-Identifier: MIT
/* Constructors (build.h) of loops and of what is chosen between branches */
#include "build.h"

#include <assert.h>

struct ncc_op *build_loop(struct ncc_build *bl, struct ncc_op *first)
{
	return first ? build_node(bl, NCC_LOOP, &first->shape, first, NULL, NULL) : NULL;
}

struct ncc_op *build_state(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *before)
{
	return before ? build_node(bl, NCC_STATE, &before->shape, loop, before, NULL) : NULL;
}

struct ncc_op *build_loop_end(struct ncc_build *bl, struct ncc_op *loop, struct ncc_op *again,
			      struct ncc_op *const *state, struct ncc_op *const *next,
			      unsigned int n)
{
	struct ncc_op *op;

	op = loop && again ? ncc_op_new(bl->m, NCC_LOOP_END, bl->name, 2 * n + 2) : NULL;
	if (!op)
		return NULL;
	op->where = bl->where;
	op->shape = again->shape;
	op->in[0] = loop;
	op->in[1] = again;
	for (unsigned int i = 0; i < n; i++) {
		if (!state[i] || !next[i])
			return NULL;
		op->in[2 * i + 2] = state[i];
		op->in[2 * i + 3] = next[i];
	}
	return op;
}

struct ncc_op *build_loop_result(struct ncc_build *bl, struct ncc_op *end, struct ncc_op *state)
{
	return state ? build_node(bl, NCC_LOOP_RESULT, &state->shape, end, state, NULL) : NULL;
}

bool build_begin(struct ncc_build *bl, struct ncc_looping *l, struct ncc_op *first,
		 unsigned int most)
{
	*l = (struct ncc_looping){ .loop = build_loop(bl, first), .most = most };
	l->state = ncc_alloc(bl->m, (most + 1) * sizeof(struct ncc_op *));
	l->next = ncc_alloc(bl->m, (most + 1) * sizeof(struct ncc_op *));
	return l->loop && l->state && l->next;
}

void build_carry(struct ncc_looping *l, struct ncc_op *state, struct ncc_op *next)
{
	assert(l->n < l->most);
	l->state[l->n] = state;
	l->next[l->n++] = next;
}

struct ncc_op *build_end(struct ncc_build *bl, const struct ncc_looping *l, struct ncc_op *again)
{
	return build_loop_end(bl, l->loop, again, l->state, l->next, l->n);
}

struct ncc_op *build_both(struct ncc_build *bl, struct ncc_op *a, struct ncc_op *b)
{
	return a && b ? build_binary(bl, NCC_AND, a, b) : a ? a : b;
}

struct ncc_op *build_choice(struct ncc_build *bl, struct ncc_op *p, struct ncc_op *a,
			    struct ncc_op *b)
{
	if (!a || !b || a == b)
		return a && b ? a : NULL;
	return build_select(bl, build_spread(bl, &a->shape, p, NULL), a, b);
}
