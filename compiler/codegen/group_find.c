// SPDX-License-Identifier: MIT
/*
 * Finds groups: element-wise operations of one shape that follow from each other, which group.c
 * generates together. Part of the code generator.
 */
#include "group.h"

#define GROUP_AHEAD 1024 /* operations that are searched for one group */
#define GROUP_DEPTH 8 /* operations that a member's operand is the last of */

static bool can_join(const struct ncc_op *op)
{
	return ncc_is_elementwise(op->kind) && !op->gen->fused && !op->gen->group &&
	       ncc_elems(&op->shape) >= GROUP_ELEMS;
}

static bool reads_group(const struct ncc_op *op, const struct ncc_op *last)
{
	for (unsigned int i = 0; i < op->nin; i++)
		if (op->in[i]->gen->group == last)
			return true;
	return false;
}

/* A group that grows; its members are marked with their first one. */
struct growth {
	struct ncc_op *first, *last;
	unsigned int n;
};

static bool fits(const struct growth *w, const struct ncc_op *op)
{
	return w->n < GROUP_MEMBERS && can_join(op) && op->pdim == w->first->pdim &&
	       ncc_same_dims(&op->shape, &w->first->shape);
}

static void add_member(struct growth *w, struct ncc_op *op)
{
	op->gen->group = w->first;
	w->last->gen->group_next = op;
	w->last = op;
	w->n++;
}

/*
 * Adds a member, and before it what only it reads: a product is made where it is summed, rather
 * than kept until the group is generated.
 */
static void join(struct growth *w, struct ncc_op *op, unsigned int depth)
{
	w->n++; /* op itself, which follows */
	for (unsigned int i = 0; i < op->nin; i++)
		if (depth < GROUP_DEPTH && op->in[i]->users == 1 && fits(w, op->in[i]))
			join(w, op->in[i], depth + 1);
	w->n--;
	add_member(w, op);
}

/* The members of a group are linked from its first one; all name the last one as their group */
static void grow(struct ncc_op *first)
{
	struct growth w = { .first = first, .last = first, .n = 1 };
	unsigned int ahead = 0;

	first->gen->group = first;
	for (struct ncc_op *x = first->next; x && ahead < GROUP_AHEAD; x = x->next, ahead++) {
		if (x->gen->group == first || !reads_group(x, first))
			continue;
		if (!fits(&w, x))
			break;
		join(&w, x, 0);
	}

	for (struct ncc_op *x = first; x; x = x->gen->group_next)
		x->gen->group = w.n > 1 ? w.last : NULL;
	w.last->gen->group_first = first;
}

void gen_find_groups(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next)
		op->gen->group = op->gen->group_next = op->gen->group_first = NULL;
	for (struct ncc_op *op = m->first; op; op = op->next)
		if (can_join(op))
			grow(op);
}
