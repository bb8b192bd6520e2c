// SPDX-License-Identifier: MIT
/*
 * Finds groups: element-wise operations of one shape that follow from each other, which are done
 * together, piece by piece (codegen/group.c). Part of the plan.
 *
 * A group is done in the place of its last member. Nothing before that place reads a member without
 * being one, so whatever a member reads exists by then, and nobody misses it before.
 */
#include "find.h"

#define GROUP_ELEMS 1024 /* fewer are not worth a group */
#define GROUP_AHEAD 1024 /* operations that are searched for one group */
#define GROUP_DEPTH 8 /* operations that a member's operand is the last of */

static bool can_join(const struct ncc_op *op)
{
	return op->plan->elementwise && !op->plan->first && ncc_elems(&op->shape) >= GROUP_ELEMS;
}

static bool reads_group(const struct ncc_op *op, const struct ncc_op *first)
{
	for (unsigned int i = 0; i < op->nin; i++)
		if (op->in[i]->plan->first == first)
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
	return w->n < PLAN_MAX_GROUP && can_join(op) && op->pdim == w->first->pdim &&
	       ncc_same_dims(&op->shape, &w->first->shape);
}

static void add_member(struct growth *w, struct ncc_op *op)
{
	op->plan->first = w->first;
	w->last->plan->next = op;
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

static void end(const struct growth *w)
{
	if (w->n == 1) {
		w->first->plan->first = NULL;
		return;
	}
	for (struct ncc_op *x = w->first; x; x = x->plan->next) {
		x->plan->how = PLAN_LATER;
		x->plan->with = w->last;
	}
	w->last->plan->how = PLAN_GROUP;
	w->last->plan->n = w->n;
}

static void grow(struct ncc_op *first)
{
	struct growth w = { .first = first, .last = first, .n = 1 };
	unsigned int ahead = 0;

	first->plan->first = first;
	for (struct ncc_op *x = first->next; x && ahead < GROUP_AHEAD; x = x->next, ahead++) {
		if (x->plan->first == first || !reads_group(x, first))
			continue;
		if (!fits(&w, x))
			break;
		join(&w, x, 0);
	}
	end(&w);
}

void plan_find_groups(struct ncc_module *m)
{
	for (struct ncc_op *op = m->first; op; op = op->next)
		if (can_join(op))
			grow(op);
}
