// SPDX-License-Identifier: MIT
/*
 * Finds out of a module where it is cut (loops_find.h): which operations a loop has, what comes
 * after what, and in which part each operation is.
 */
#include "loops_find.h"

#include <errno.h>
#include <stdlib.h>

#define VIEW_DEPTH 16 /* depth of views that are cloned; deeper ones are values */

unsigned int ncc_cut_loop_of(const struct cut *c, const struct ncc_op *op)
{
	const struct ncc_op *loop = op;

	while (loop->kind != NCC_LOOP && loop->kind != NCC_HOST_CALL)
		loop = loop->in[0];
	return c->stage[loop->id];
}

/*
 * The transfers of a level that have so many before them, which an operation becomes one of; the
 * sets have room for each of a stage of its own.
 */
static unsigned int stage_of(struct cut *c, unsigned int first, int level, unsigned int depth)
{
	unsigned int l = first;

	while (l < c->nloops && (c->loop[l].parent != level || c->loop[l].depth != depth))
		l++;
	if (l == c->nloops)
		c->loop[c->nloops++] = (struct loop){ .parent = level, .depth = depth };
	return l;
}

static int find_loops(struct cut *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		struct ncc_op *op = c->line[i];

		if (op->kind == NCC_LOOP || op->kind == NCC_HOST_CALL) {
			c->stage[i] = c->nloops;
			c->loop[c->nloops].end = op->kind == NCC_HOST_CALL ? op : NULL;
			c->loop[c->nloops++].op = op;
		}
		if (op->kind == NCC_LOOP_END) {
			struct loop *l = &c->loop[ncc_cut_loop_of(c, op)];

			if (l->end)
				return ncc_fail_op(c->err, -EINVAL, op, "a second end of the loop");
			l->end = op;
		}
	}
	for (unsigned int l = 0; l < c->nloops; l++)
		if (!c->loop[l].end)
			return ncc_fail_op(c->err, -EINVAL, c->loop[l].op, "has no end");
	return 0;
}

static void find_dependences(struct cut *c)
{
	struct ncc_subsets *s = &c->sets;

	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		const unsigned int l = is_of_loop(op) ? ncc_cut_loop_of(c, op) : 0;

		for (unsigned int k = 0; k < op->nin; k++) {
			c->in[i] = ncc_subset_both(s, c->in[i], c->in[op->in[k]->id]);
			c->after[i] = ncc_subset_both(s, c->after[i], c->after[op->in[k]->id]);
			if (op->in[k]->kind != NCC_HOST_CALL || op->kind == NCC_HOST_RESULT)
				c->needs[i] =
					ncc_subset_both(s, c->needs[i], c->needs[op->in[k]->id]);
		}
		if (op->kind == NCC_STATE || op->kind == NCC_LOOP_END)
			c->in[i] = ncc_subset_with(s, c->in[i], l);
		if (op->kind == NCC_LOOP_RESULT)
			c->in[i] = ncc_subset_without(s, c->in[i], l);
		if (op->kind == NCC_LOOP_RESULT || op->kind == NCC_HOST_CALL)
			c->after[i] = ncc_subset_with(s, c->after[i], l);
		if (op->kind == NCC_HOST_RESULT)
			c->needs[i] = ncc_subset_with(s, c->needs[i], l);
	}
	for (unsigned int k = 0; k < c->nloops; k++) {
		struct loop *l = &c->loop[k];

		l->outer = ncc_subset_without(s, c->in[l->end->id], k);
		l->nouter = ncc_subset_count(s, l->outer);
		l->after = c->after[l->end->id];
		l->needs = c->needs[l->end->id];
	}
}

/* The innermost of a set of nested loops: all others are around it */
static int innermost(const struct cut *c, ncc_subset set)
{
	int found = ncc_subset_next(&c->sets, set, 0);

	for (int l = found; l >= 0; l = ncc_subset_next(&c->sets, set, (unsigned int)l + 1))
		if (c->loop[l].nouter >= c->loop[found].nouter)
			found = l;
	return found >= 0 && ncc_subset_within(&c->sets, set, (unsigned int)found,
					       c->loop[found].outer)
		       ? found
		       : OUTSIDE;
}

static void find_levels(struct cut *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		c->level[i] =
			i && c->in[i] == c->in[i - 1] ? c->level[i - 1] : innermost(c, c->in[i]);
}

/*
 * Checks that every operation is in nested loops only, and that no result of the module is in one.
 */
static int check_nesting(struct cut *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->in[i] && c->level[i] == OUTSIDE)
			return ncc_fail_op(c->err, -EINVAL, c->line[i],
					   "depends on two loops of which none is in the other");

	for (unsigned int l = 0; l < c->nloops; l++) {
		c->loop[l].parent = innermost(c, c->loop[l].outer);
		if (c->loop[l].outer && c->loop[l].parent == OUTSIDE)
			return ncc_fail_op(c->err, -EINVAL, c->loop[l].op,
					   "is in two loops of which none is in the other");
		for (int k = ncc_subset_next(&c->sets, c->loop[l].outer, 0); k >= 0;
		     k = ncc_subset_next(&c->sets, c->loop[l].outer, (unsigned int)k + 1))
			if (ncc_subset_has(c->loop[k].outer, l))
				return ncc_fail_op(c->err, -EINVAL, c->loop[l].op,
						   "is in a loop that is in it");
	}

	for (unsigned int i = 0; i < c->m->nouts; i++) {
		const struct ncc_op *out = c->m->outs[i];

		if (c->in[out->id] || out->kind == NCC_LOOP)
			return ncc_fail_op(c->err, -EINVAL, out,
					   "a result of the module that is of one iteration of a "
					   "loop");
	}
	return 0;
}

/*
 * Puts transfers together that can be made at the same time, of which each then is as a loop's
 * result. After the nesting of the loops is known.
 */
static void find_stages(struct cut *c)
{
	const unsigned int nloops = c->nloops;
	struct ncc_subsets *s = &c->sets;

	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		unsigned int depth = 0, l;
		int k;

		for (unsigned int j = 0; j < op->nin; j++)
			c->after[i] = ncc_subset_both(s, c->after[i], c->after[op->in[j]->id]);
		if (op->kind != NCC_TRANSFER)
			continue;
		for (k = ncc_subset_next(s, c->after[i], nloops); k >= 0;
		     k = ncc_subset_next(s, c->after[i], (unsigned int)k + 1))
			if (c->loop[k].parent == c->level[i] && c->loop[k].depth >= depth)
				depth = c->loop[k].depth + 1;
		l = stage_of(c, nloops, c->level[i], depth);
		c->stage[i] = l;
		c->loop[l].after = ncc_subset_both(s, c->loop[l].after, c->after[i]);
		c->after[i] = ncc_subset_with(s, c->after[i], l);
	}
	for (unsigned int l = 0; l < nloops; l++)
		c->loop[l].after = c->after[c->loop[l].end->id];
}

/* The number of loops of its level that a loop comes after, and whether k is one of them */
static bool comes_after(const struct cut *c, unsigned int l, unsigned int k)
{
	return k != l && c->loop[k].parent == c->loop[l].parent &&
	       ncc_subset_has(c->loop[l].after, k);
}

/*
 * Orders the loops of each level so that each comes after those whose results it needs: of those
 * that can be next the first one. 0 or -ENOMEM
 */
static int order_loops(struct cut *c)
{
	unsigned int *waits = calloc(c->nloops + 1, sizeof(*waits));
	int *last = malloc((c->nloops + 1) * sizeof(*last)); /* of each level; 0: outside */

	c->first = -1;
	for (unsigned int l = 0; waits && last && l < c->nloops; l++) {
		c->loop[l].inner = c->loop[l].next = -1;
		for (unsigned int k = 0; k < c->nloops; k++)
			waits[l] += comes_after(c, l, k);
	}
	for (unsigned int l = 0; waits && last && l <= c->nloops; l++)
		last[l] = -1;
	for (unsigned int l = 0, from; waits && last && l < c->nloops; l = from) {
		struct loop *of = c->loop + c->loop[l].parent; /* not used of the outside */
		int *end = &last[c->loop[l].parent + 1];

		from = l + 1;
		if (waits[l])
			continue;
		*(*end >= 0			 ? &c->loop[*end].next
		  : c->loop[l].parent == OUTSIDE ? &c->first
						 : &of->inner) = (int)l;
		*end = (int)l;
		waits[l] = UINT32_MAX; /* it has its place */
		for (unsigned int k = 0; k < c->nloops; k++)
			if (comes_after(c, k, l) && !--waits[k] && k < from)
				from = k;
	}
	free(last);
	free(waits);
	return waits && last ? 0 : -ENOMEM;
}

/*
 * Numbers the parts: one before each loop of a level, and one after the last. Calls are made behind
 * one part as long as none needs another one's results.
 */
static void number_parts(struct cut *c)
{
	ncc_subset calls = NULL; /* between the last two parts */
	int at = c->first;

	c->nparts = 1;
	while (at >= 0) {
		struct loop *l = &c->loop[at];
		const bool together =
			calls && is_call(l) && !ncc_subset_intersects(&c->sets, l->needs, calls);

		l->before = c->nparts - 1 - together;
		l->order = c->norder++;
		calls = is_call(l) ? ncc_subset_with(&c->sets, together ? calls : NULL,
						     (unsigned int)at)
				   : NULL;
		c->nparts += is_call(l) && !together;
		l->first = c->nparts;
		c->nparts += has_condition(l); /* the first part of its body */
		if (l->inner >= 0) {
			at = l->inner;
			continue;
		}
		while (at >= 0) { /* what ends here */
			l = &c->loop[at];
			if (!is_call(l)) {
				l->last = c->nparts++ - 1;
				calls = NULL;
			}
			if (l->next >= 0)
				break;
			at = l->parent;
		}
		at = at >= 0 ? l->next : at;
	}
}

/* The part behind a loop, call or transfer, or its result, of which an operation is */
static unsigned int part_behind(const struct cut *c, const struct ncc_op *op)
{
	if (op->kind == NCC_LOOP_RESULT)
		return c->loop[ncc_cut_loop_of(c, op)].last + 1;
	if (op->kind == NCC_HOST_CALL || op->kind == NCC_HOST_RESULT)
		return c->loop[ncc_cut_loop_of(c, op)].before + 1;
	return op->kind == NCC_TRANSFER ? c->loop[c->stage[op->id]].last + 1 : 0;
}

/* Puts every operation into the first part of its innermost loop in which its operands exist. */
static void find_parts(struct cut *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		const int level = c->level[i];
		unsigned int part = level == OUTSIDE ? 0 : c->loop[level].first;
		const unsigned int behind = part_behind(c, op);

		for (unsigned int k = 0; k < op->nin; k++) {
			unsigned int id = op->in[k]->id;

			if (c->level[id] == level && c->part[id] > part)
				part = c->part[id];
		}
		c->part[i] = behind > part ? behind : part;
		if ((op->kind == NCC_BROADCAST || op->kind == NCC_RESHAPE ||
		     op->kind == NCC_TRANSPOSE) &&
		    c->depth[op->in[0]->id] < VIEW_DEPTH)
			c->depth[i] = (uint8_t)(c->depth[op->in[0]->id] + 1);
	}
}

/* Lists the operations of each part. 0 or -ENOMEM */
static int list_parts(struct cut *c)
{
	c->begin = calloc(c->nparts + 2, sizeof(*c->begin));
	if (!c->begin)
		return -ENOMEM;
	for (unsigned int i = 0; i < c->n; i++)
		c->begin[c->part[i] + 2]++;
	for (unsigned int p = 0; p < c->nparts; p++)
		c->begin[p + 2] += c->begin[p + 1];
	for (unsigned int i = 0; i < c->n; i++)
		c->of_part[c->begin[c->part[i] + 1]++] = i;
	return 0;
}

static bool alloc(struct cut *c)
{
	size_t n = c->n;
	unsigned int most = 0;

	for (const struct ncc_op *op = c->m->first; op; op = op->next)
		most += op->kind == NCC_LOOP || op->kind == NCC_HOST_CALL ||
			op->kind == NCC_TRANSFER;
	ncc_subsets_begin(&c->sets, most);
	c->loop = calloc(most + 1, sizeof(*c->loop));
	c->line = calloc(n, sizeof(struct ncc_op *));
	c->clone = calloc(n, sizeof(struct ncc_op *));
	c->in = calloc(n, sizeof(*c->in));
	c->after = calloc(n, sizeof(*c->after));
	c->needs = calloc(n, sizeof(*c->needs));
	c->level = calloc(n, sizeof(*c->level));
	c->part = calloc(n, sizeof(*c->part));
	c->of_part = calloc(n, sizeof(*c->of_part));
	c->cloned = calloc(n, sizeof(*c->cloned));
	c->number = calloc(n, sizeof(*c->number));
	c->given = calloc(n, sizeof(*c->given));
	c->stage = calloc(n, sizeof(*c->stage));
	c->depth = calloc(n, sizeof(*c->depth));
	c->bounds = calloc(n, sizeof(*c->bounds));
	c->place = ncc_alloc(c->m, (2 * n + most) * sizeof(*c->place));
	return c->loop && c->line && c->clone && c->in && c->after && c->needs && c->level &&
	       c->part && c->of_part && c->cloned && c->number && c->given && c->stage &&
	       c->depth && c->bounds && c->place;
}

void ncc_cut_release(struct cut *c)
{
	ncc_subsets_end(&c->sets);
	free(c->loop);
	free(c->line);
	free(c->clone);
	free(c->in);
	free(c->after);
	free(c->needs);
	free(c->level);
	free(c->part);
	free(c->of_part);
	free(c->begin);
	free(c->cloned);
	free(c->number);
	free(c->given);
	free(c->stage);
	free(c->depth);
	free(c->bounds);
}

int ncc_cut_analyze(struct cut *c)
{
	int rc = ncc_verify(c->m, c->err);

	if (rc)
		return rc;
	c->n = c->m->nops;
	if (!alloc(c))
		return ncc_no_memory(c->err);
	for (struct ncc_op *op = c->m->first; op; op = op->next)
		c->line[op->id] = op;
	rc = find_loops(c);
	if (rc)
		return rc;
	find_dependences(c);
	find_levels(c);
	if (c->sets.failed)
		return ncc_no_memory(c->err);
	rc = check_nesting(c);
	if (rc)
		return rc;
	find_stages(c);
	return c->sets.failed ? ncc_no_memory(c->err) : 0;
}

int ncc_cut_number(struct cut *c)
{
	int rc = order_loops(c);

	if (!rc)
		number_parts(c);
	if (rc || c->sets.failed)
		return ncc_no_memory(c->err);
	find_parts(c);
	return list_parts(c) ? ncc_no_memory(c->err) : 0;
}
