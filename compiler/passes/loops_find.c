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
	unsigned int l = 0;

	while (loop->kind != NCC_LOOP && loop->kind != NCC_HOST_CALL)
		loop = loop->in[0];
	while (c->loop[l].op != loop)
		l++;
	return l;
}

/* The transfers of a level that have so many before them, which an operation becomes one of */
static int stage_of(struct cut *c, const struct ncc_op *op, int level, unsigned int depth)
{
	unsigned int l = 0;

	while (l < c->nloops &&
	       (c->loop[l].end || c->loop[l].parent != level || c->loop[l].depth != depth))
		l++;
	if (l == NCC_MAX_LOOPS)
		return ncc_fail_op(c->err, -EFBIG, op,
				   "more than %d loops, and collectives one behind the other",
				   NCC_MAX_LOOPS);
	if (l == c->nloops)
		c->loop[c->nloops++] = (struct loop){ .parent = level, .depth = depth };
	return (int)l;
}

static int find_loops(struct cut *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		struct ncc_op *op = c->line[i];

		if (op->kind == NCC_LOOP || op->kind == NCC_HOST_CALL) {
			if (c->nloops == NCC_MAX_LOOPS)
				return ncc_fail_op(c->err, -EFBIG, op, "more than %d loops%s",
						   NCC_MAX_LOOPS,
						   c->ncalls ? " and calls of the host" : "");
			c->ncalls += op->kind == NCC_HOST_CALL;
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
	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];

		for (unsigned int k = 0; k < op->nin; k++) {
			c->in[i] |= c->in[op->in[k]->id];
			c->after[i] |= c->after[op->in[k]->id];
			if (op->in[k]->kind != NCC_HOST_CALL || op->kind == NCC_HOST_RESULT)
				c->needs[i] |= c->needs[op->in[k]->id];
		}
		if (op->kind == NCC_STATE || op->kind == NCC_LOOP_END)
			c->in[i] |= 1ull << ncc_cut_loop_of(c, op);
		if (op->kind == NCC_LOOP_RESULT) {
			c->in[i] &= ~(1ull << ncc_cut_loop_of(c, op));
			c->after[i] |= 1ull << ncc_cut_loop_of(c, op);
		}
		if (op->kind == NCC_HOST_CALL)
			c->after[i] |= 1ull << ncc_cut_loop_of(c, op);
		if (op->kind == NCC_HOST_RESULT)
			c->needs[i] |= 1ull << ncc_cut_loop_of(c, op);
	}
	for (unsigned int l = 0; l < c->nloops; l++) {
		c->loop[l].outer = c->in[c->loop[l].end->id] & ~(1ull << l);
		c->loop[l].after = c->after[c->loop[l].end->id];
		c->loop[l].needs = c->needs[c->loop[l].end->id];
	}
}

/* The innermost of a set of nested loops */
static int innermost(const struct cut *c, uint64_t set)
{
	int found = OUTSIDE;

	for (unsigned int l = 0; l < c->nloops; l++)
		if (set >> l & 1 && !(set & ~(1ull << l) & ~c->loop[l].outer))
			found = (int)l;
	return found;
}

/*
 * Checks that every operation is in nested loops only, and that no result of the module is in one.
 */
static int check_nesting(struct cut *c)
{
	for (unsigned int i = 0; i < c->n; i++)
		if (c->in[i] && innermost(c, c->in[i]) == OUTSIDE)
			return ncc_fail_op(c->err, -EINVAL, c->line[i],
					   "depends on two loops of which none is in the other");

	for (unsigned int l = 0; l < c->nloops; l++) {
		c->loop[l].parent = innermost(c, c->loop[l].outer);
		if (c->loop[l].outer && c->loop[l].parent == OUTSIDE)
			return ncc_fail_op(c->err, -EINVAL, c->loop[l].op,
					   "is in two loops of which none is in the other");
		for (unsigned int k = 0; k < c->nloops; k++)
			if (c->loop[l].outer >> k & 1 && c->loop[k].outer >> l & 1)
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
static int find_stages(struct cut *c)
{
	const unsigned int nloops = c->nloops;

	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		int level = innermost(c, c->in[i]), l;
		unsigned int depth = 0;

		for (unsigned int k = 0; k < op->nin; k++)
			c->after[i] |= c->after[op->in[k]->id];
		if (op->kind != NCC_TRANSFER)
			continue;
		for (unsigned int k = nloops; k < c->nloops; k++)
			if (c->after[i] >> k & 1 && c->loop[k].parent == level &&
			    c->loop[k].depth >= depth)
				depth = c->loop[k].depth + 1;
		l = stage_of(c, op, level, depth);
		if (l < 0)
			return l;
		c->stage[i] = (unsigned int)l;
		c->loop[l].after |= c->after[i];
		c->after[i] |= 1ull << l;
	}
	for (unsigned int l = 0; l < nloops; l++)
		c->loop[l].after = c->after[c->loop[l].end->id];
	return 0;
}

/* Orders the loops of a level so that each comes after those whose results it needs. */
static unsigned int inner_loops(const struct cut *c, int level, unsigned int order[NCC_MAX_LOOPS])
{
	uint64_t left = 0;
	unsigned int n = 0;

	for (unsigned int l = 0; l < c->nloops; l++)
		if (c->loop[l].parent == level)
			left |= 1ull << l;
	for (unsigned int l = 0; left && l < c->nloops; l++) {
		if (!(left >> l & 1) || c->loop[l].after & left & ~(1ull << l))
			continue;
		order[n++] = l;
		left &= ~(1ull << l);
		l = UINT32_MAX; /* starts again from the first one */
	}
	return n;
}

/*
 * Numbers the parts of a level: one before each of its loops, and one after the last. Calls are
 * made behind one part as long as none needs another one's results.
 */
static void number_parts(struct cut *c, int level)
{
	unsigned int order[NCC_MAX_LOOPS], n = inner_loops(c, level, order);
	uint64_t calls = 0; /* between the last two parts */

	c->nparts++;
	for (unsigned int i = 0; i < n; i++) {
		struct loop *l = &c->loop[order[i]];
		const bool together = calls && is_call(l) && !(l->needs & calls);

		l->before = c->nparts - 1 - together;
		l->order = c->norder++;
		calls = is_call(l) ? (together ? calls : 0) | 1ull << order[i] : 0;
		if (is_call(l)) {
			c->nparts += !together;
			continue;
		}
		l->first = c->nparts;
		if (l->end)
			number_parts(c, (int)order[i]);
		l->last = c->nparts - 1;
		c->nparts++;
	}
}

/* Puts every operation into the first part of its innermost loop in which its operands exist. */
static void find_parts(struct cut *c)
{
	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		int level = innermost(c, c->in[i]);
		unsigned int part = level == OUTSIDE ? 0 : c->loop[level].first;

		for (unsigned int k = 0; k < op->nin; k++) {
			unsigned int id = op->in[k]->id;

			if (innermost(c, c->in[id]) == level && c->part[id] > part)
				part = c->part[id];
		}
		if (op->kind == NCC_LOOP_RESULT && c->loop[ncc_cut_loop_of(c, op)].last + 1 > part)
			part = c->loop[ncc_cut_loop_of(c, op)].last + 1;
		if ((op->kind == NCC_HOST_CALL || op->kind == NCC_HOST_RESULT) &&
		    c->loop[ncc_cut_loop_of(c, op)].before + 1 > part)
			part = c->loop[ncc_cut_loop_of(c, op)].before + 1;
		if (op->kind == NCC_TRANSFER && c->loop[c->stage[i]].last + 1 > part)
			part = c->loop[c->stage[i]].last + 1;
		c->part[i] = part;
		if ((op->kind == NCC_BROADCAST || op->kind == NCC_RESHAPE ||
		     op->kind == NCC_TRANSPOSE) &&
		    c->depth[op->in[0]->id] < VIEW_DEPTH)
			c->depth[i] = (uint8_t)(c->depth[op->in[0]->id] + 1);
	}
}

static bool alloc(struct cut *c)
{
	size_t n = c->n;

	c->line = calloc(n, sizeof(struct ncc_op *));
	c->clone = calloc(n, sizeof(struct ncc_op *));
	c->in = calloc(n, sizeof(*c->in));
	c->after = calloc(n, sizeof(*c->after));
	c->needs = calloc(n, sizeof(*c->needs));
	c->part = calloc(n, sizeof(*c->part));
	c->number = calloc(n, sizeof(*c->number));
	c->given = calloc(n, sizeof(*c->given));
	c->stage = calloc(n, sizeof(*c->stage));
	c->depth = calloc(n, sizeof(*c->depth));
	c->bounds = calloc(n, sizeof(*c->bounds));
	c->place = ncc_alloc(c->m, (2 * n + NCC_MAX_LOOPS) * sizeof(*c->place));
	return c->line && c->clone && c->in && c->after && c->needs && c->part && c->number &&
	       c->given && c->stage && c->depth && c->bounds && c->place;
}

void ncc_cut_release(struct cut *c)
{
	free(c->line);
	free(c->clone);
	free(c->in);
	free(c->after);
	free(c->needs);
	free(c->part);
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
	rc = check_nesting(c);
	return rc ? rc : find_stages(c);
}

void ncc_cut_number(struct cut *c)
{
	number_parts(c, OUTSIDE);
	find_parts(c);
}
