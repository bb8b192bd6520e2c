// SPDX-License-Identifier: MIT
/*
 * Cuts a module at its loops (loops.h). A loop's body is a program of its own, without jumps, which
 * is executed until its condition is 0: by the runtime, or by the program that it makes of all
 * parts for cores that fetch their instructions. Operands alone say which operations a loop has:
 * those that depend on its state, up to its results. Constants and views are cloned into every part
 * that reads them.
 */
#include "loops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "turns.h"

#define VIEW_DEPTH 16 /* depth of views that are cloned; deeper ones are values */
#define KEPT_ALIGN 64 /* bytes */
#define NOWHERE NCC_NOWHERE
#define OUTSIDE (-1) /* outside of every loop */

/*
 * A loop; a call of the host, which is one of no part; or transfers, of one level, none of which
 * needs another one, as a loop without a body. What the latter two give is there in the part behind
 * them.
 */
struct loop {
	struct ncc_op *op, *end; /* NULL: transfers */
	unsigned int depth; /* of transfers: how many, one behind the other, are before them */
	uint64_t outer; /* the loops around it */
	uint64_t after; /* the loops whose results it needs, or which it comes after */
	uint64_t needs; /* of a call: the calls whose results it needs */
	int parent;
	/* parts; the one after last, and after that before a call, has its results */
	unsigned int before, first, last;
	unsigned int order; /* among the program's calls */
	int64_t condition;
};

struct cut {
	struct ncc_module *m;
	unsigned int n; /* operations */
	struct ncc_op **line;
	uint64_t *in; /* by id: the loops on whose state the operation depends */
	uint64_t *after; /* by id: the loops and transfers whose results it needs, or after which it
			    comes */
	uint64_t *needs; /* by id: the calls of the host whose results it needs */
	unsigned int *part;
	int64_t *number;
	int64_t *given; /* by id: of a transfer's operand */
	unsigned int *stage; /* by id: of a transfer, which of loop[] it belongs to */
	uint8_t *depth; /* of views; 0: a value */
	const int64_t **bounds; /* by id: of states that count iterations */
	struct ncc_op **clone; /* by id: its clone in the current part */
	unsigned int nloops, ncalls, nparts, norder;
	struct loop loop[NCC_MAX_LOOPS];
	int64_t nnumbers;
	uint64_t *place; /* by number, in the shared scratchpad */
	uint64_t bytes;
	struct ncc_error *err;
};

static bool is_call(const struct loop *l)
{
	return l->op && l->op->kind == NCC_HOST_CALL;
}

/* Is it a loop, which neither calls nor transfers are? */
static bool has_condition(const struct loop *l)
{
	return l->end && !is_call(l);
}

void ncc_kept_name(int64_t number, char *name)
{
	snprintf(name, NCC_KEPT_NAME, "kept%lld", (long long)(number - NCC_KEPT));
}

bool ncc_has_parts(const struct ncc_module *m)
{
	for (const struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind == NCC_LOOP || op->kind == NCC_HOST_CALL || op->kind == NCC_TRANSFER ||
		    op->kind == NCC_RANK)
			return true;
	return false;
}

/* Does its value come from somewhere else than a part's program? */
static bool is_given(const struct ncc_op *op)
{
	return op->kind == NCC_TRANSFER || op->kind == NCC_RANK;
}

/* The loop that an operation of one of the four kinds belongs to */
static unsigned int loop_of(const struct cut *c, const struct ncc_op *op)
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
			struct loop *l = &c->loop[loop_of(c, op)];

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
			c->in[i] |= 1ull << loop_of(c, op);
		if (op->kind == NCC_LOOP_RESULT) {
			c->in[i] &= ~(1ull << loop_of(c, op));
			c->after[i] |= 1ull << loop_of(c, op);
		}
		if (op->kind == NCC_HOST_CALL)
			c->after[i] |= 1ull << loop_of(c, op);
		if (op->kind == NCC_HOST_RESULT)
			c->needs[i] |= 1ull << loop_of(c, op);
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
		if (op->kind == NCC_LOOP_RESULT && c->loop[loop_of(c, op)].last + 1 > part)
			part = c->loop[loop_of(c, op)].last + 1;
		if ((op->kind == NCC_HOST_CALL || op->kind == NCC_HOST_RESULT) &&
		    c->loop[loop_of(c, op)].before + 1 > part)
			part = c->loop[loop_of(c, op)].before + 1;
		if (op->kind == NCC_TRANSFER && c->loop[c->stage[i]].last + 1 > part)
			part = c->loop[c->stage[i]].last + 1;
		c->part[i] = part;
		if ((op->kind == NCC_BROADCAST || op->kind == NCC_RESHAPE ||
		     op->kind == NCC_TRANSPOSE) &&
		    c->depth[op->in[0]->id] < VIEW_DEPTH)
			c->depth[i] = (uint8_t)(c->depth[op->in[0]->id] + 1);
	}
}

/* The numbers of values that are kept between parts */

static int64_t new_number(struct cut *c, const struct ncc_shape *s)
{
	c->place[c->nnumbers] = c->bytes;
	c->bytes += (uint64_t)ncc_elems(s) * ncc_dtype_size(s->dtype) + KEPT_ALIGN - 1;
	c->bytes &= ~(uint64_t)(KEPT_ALIGN - 1);
	return c->nnumbers++;
}

/* Numbers a value that a part reads from another part; a token is none. */
static void read_in(struct cut *c, const struct ncc_op *op, unsigned int part)
{
	if (op->kind == NCC_HOST_CALL)
		return;
	while (c->depth[op->id] && c->part[op->id] != part)
		op = op->in[0];
	if (op->kind != NCC_CONST && c->part[op->id] != part && c->number[op->id] == NOWHERE)
		c->number[op->id] = new_number(c, &op->shape);
}

static bool is_of_loop(const struct ncc_op *op)
{
	return op->kind >= NCC_LOOP && op->kind <= NCC_HOST_RESULT;
}

/* The host finds all that it is given in memory, constants too. */
static void number_operands(struct cut *c, const struct ncc_op *op)
{
	const struct ncc_host_call *call = op->data;

	for (unsigned int k = call->effect; k < op->nin; k++)
		if (c->number[op->in[k]->id] == NOWHERE)
			c->number[op->in[k]->id] = new_number(c, &op->in[k]->shape);
}

static void find_numbers(struct cut *c)
{
	const struct ncc_shape pred = { .dtype = NEURON_DT_INT8, .pred = true };

	for (unsigned int i = 0; i < c->n; i++) {
		c->number[i] = NOWHERE;
		if (c->line[i]->kind == NCC_STATE || c->line[i]->kind == NCC_HOST_RESULT ||
		    is_given(c->line[i]))
			c->number[i] = new_number(c, &c->line[i]->shape);
		if (c->line[i]->kind == NCC_LOOP_RESULT)
			c->number[i] = c->number[c->line[i]->in[1]->id];
	}
	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		const struct loop *l;

		if (op->kind == NCC_TRANSFER) {
			c->given[i] = new_number(c, &op->in[0]->shape);
			read_in(c, op->in[0], c->loop[c->stage[i]].before);
			continue;
		}
		if (!is_of_loop(op)) {
			for (unsigned int k = 0; k < op->nin; k++)
				read_in(c, op->in[k], c->part[i]);
			continue;
		}
		l = &c->loop[loop_of(c, op)];
		if (op->kind == NCC_HOST_CALL)
			number_operands(c, op);
		if (op->kind == NCC_LOOP)
			read_in(c, op->in[0], l->before);
		if (op->kind == NCC_STATE)
			read_in(c, op->in[1], l->before);
		for (unsigned int k = 1; op->kind == NCC_LOOP_END && k < op->nin; k += 2)
			read_in(c, op->in[k], l->last);
	}
	for (unsigned int l = 0; l < c->nloops; l++)
		if (has_condition(&c->loop[l]))
			c->loop[l].condition = new_number(c, &pred);
}

static int find_bounds(struct cut *c)
{
	for (unsigned int l = 0; l < c->nloops && c->loop[l].end; l++) {
		int64_t *bounds = ncc_alloc(c->m, 2 * sizeof(*bounds));
		const struct ncc_op *state;

		if (!bounds)
			return ncc_no_memory(c->err);
		state = has_condition(&c->loop[l]) ? ncc_counter(c->loop[l].end, bounds) : NULL;
		if (state)
			c->bounds[state->id] = bounds;
	}
	return 0;
}

/* The parts' modules */

/* What stands for one where a value has to be: in a loop's state */
static struct ncc_op *token(struct ncc_module *to)
{
	struct ncc_op *x = ncc_const_scalar(to, NEURON_DT_INT8, 0);

	if (x)
		x->shape.pred = true;
	return x;
}

/* The operation's clone in a part; a value that is kept becomes a parameter. */
static struct ncc_op *get(struct cut *c, struct ncc_module *to, struct ncc_op *op,
			  unsigned int part)
{
	struct ncc_op *x = c->clone[op->id];
	bool kept = is_of_loop(op) || is_given(op) ||
		    (op->kind != NCC_CONST && !c->depth[op->id] && c->part[op->id] != part);

	if (x)
		return x;
	x = op->kind == NCC_HOST_CALL ? token(to) : ncc_op_clone(to, op, kept ? 0 : op->nin);
	if (!x)
		return NULL;
	c->clone[op->id] = x;
	kept = kept && op->kind != NCC_HOST_CALL;
	if (kept) {
		x->kind = NCC_PARAM;
		x->index = NCC_KEPT + c->number[op->id];
		x->bounds = c->bounds[op->id];
	}

	for (unsigned int i = 0; i < x->nin; i++) {
		x->in[i] = get(c, to, op->in[i], part);
		if (!x->in[i])
			return NULL;
	}

	if (x->kind == NCC_PARAM)
		to->params[to->nparams++] = x;
	ncc_op_append(to, x);
	return x;
}

static int add_out(struct cut *c, struct ncc_module *to, struct ncc_op *op, unsigned int part,
		   int64_t number)
{
	struct ncc_op *x = get(c, to, op, part);

	if (!x)
		return ncc_no_memory(c->err);
	if (x->kind == NCC_PARAM && number >= NCC_KEPT && x->index == number)
		return 0; /* its value is there already */
	to->out_number[to->nouts] = number;
	to->out_dtype[to->nouts] = op->shape.dtype;
	if (number < c->m->nouts && c->m->out_dtype)
		to->out_dtype[to->nouts] = c->m->out_dtype[number];
	to->outs[to->nouts++] = x;
	return 0;
}

/* Adds what a loop is given before its first iteration, or after each one. */
static int add_iteration(struct cut *c, struct ncc_module *to, const struct loop *l,
			 unsigned int part)
{
	bool first = part == l->before;
	int rc =
		add_out(c, to, first ? l->op->in[0] : l->end->in[1], part, NCC_KEPT + l->condition);

	for (unsigned int k = 2; !rc && k < l->end->nin; k += 2) {
		struct ncc_op *state = l->end->in[k];

		rc = add_out(c, to, first ? state->in[1] : l->end->in[k + 1], part,
			     NCC_KEPT + c->number[state->id]);
	}
	return rc;
}

static int add_outs(struct cut *c, struct ncc_module *to, unsigned int part)
{
	int rc = 0;

	for (unsigned int i = 0; !rc && i < c->n; i++)
		if (c->number[i] != NOWHERE && c->part[i] == part && !is_of_loop(c->line[i]) &&
		    !is_given(c->line[i]))
			rc = add_out(c, to, c->line[i], part, NCC_KEPT + c->number[i]);
	for (unsigned int i = 0; !rc && i < c->n; i++)
		if (c->line[i]->kind == NCC_TRANSFER && c->loop[c->stage[i]].before == part)
			rc = add_out(c, to, c->line[i]->in[0], part, NCC_KEPT + c->given[i]);
	for (unsigned int l = 0; !rc && l < c->nloops; l++)
		if (has_condition(&c->loop[l]) &&
		    (c->loop[l].before == part || c->loop[l].last == part))
			rc = add_iteration(c, to, &c->loop[l], part);
	for (unsigned int i = 0; !rc && i < c->m->nouts; i++)
		if (c->part[c->m->outs[i]->id] == part)
			rc = add_out(c, to, c->m->outs[i], part, i);
	return rc;
}

static int fill_part(struct cut *c, struct ncc_module *to, unsigned int part)
{
	size_t most = 2 * (size_t)c->n + c->m->nouts + c->nloops + 1;

	memset(c->clone, 0, c->n * sizeof(struct ncc_op *));
	for (unsigned int l = 0; l < c->nloops && c->loop[l].end; l++)
		most += 2 * c->loop[l].end->nin;
	to->kept = c->place;
	to->kept_end = c->bytes;
	to->out_source = c->m->out_source;
	to->params = ncc_alloc(to, (c->n + 1) * sizeof(struct ncc_op *));
	to->outs = ncc_alloc(to, most * sizeof(struct ncc_op *));
	to->out_number = ncc_alloc(to, most * sizeof(*to->out_number));
	to->out_dtype = ncc_alloc(to, most);
	if (!to->params || !to->outs || !to->out_number || !to->out_dtype)
		return ncc_no_memory(c->err);
	for (unsigned int i = 0; i < c->n; i++) {
		bool of_part = c->part[i] == part && !is_of_loop(c->line[i]) &&
			       !is_given(c->line[i]) && c->line[i]->kind != NCC_CONST;

		if (of_part && !get(c, to, c->line[i], part))
			return ncc_no_memory(c->err);
	}
	return add_outs(c, to, part);
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

static void release(struct cut *c)
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

static int by_first(const void *a, const void *b)
{
	const struct ncc_part_loop *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static int by_order(const void *a, const void *b)
{
	const struct ncc_part_call *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static int take_call(struct cut *c, const struct loop *l, struct ncc_parts *parts)
{
	const struct ncc_host_call *call = l->op->data;
	const unsigned int nin = ncc_host_operands(call), nout = ncc_host_results(call);
	const unsigned int first = call->effect + call->guarded;
	struct ncc_part_call *to = &parts->call[parts->ncalls++];

	*to = (struct ncc_part_call){
		.after = l->before, .order = l->order, .call = call, .guard = NOWHERE
	};
	to->number = ncc_alloc(c->m, (nin + nout + 1) * sizeof(*to->number));
	if (!to->number)
		return ncc_no_memory(c->err);
	if (call->guarded)
		to->guard = NCC_KEPT + c->number[l->op->in[first - 1]->id];
	for (unsigned int i = 0; i < nin; i++)
		to->number[i] = NCC_KEPT + c->number[l->op->in[first + i]->id];
	for (unsigned int i = 0; i < nout; i++)
		to->number[nin + i] = NOWHERE;
	for (unsigned int i = 0; i < c->n; i++)
		if (c->line[i]->kind == NCC_HOST_RESULT && c->line[i]->in[0] == l->op)
			to->number[nin + c->line[i]->index] = NCC_KEPT + c->number[i];
	return 0;
}

/* Finds the loops, and in which of them each operation is. */
static int analyze(struct cut *c)
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

static int by_behind(const void *a, const void *b)
{
	const struct ncc_part_transfer *x = a, *y = b;

	if (x->behind != y->behind)
		return x->behind < y->behind ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* The numbers of devices, which are there from the begin on, and then transfers by their parts */
static int list_transfers(struct cut *c, struct ncc_parts *parts)
{
	parts->transfer = ncc_alloc(c->m, (c->n + 1) * sizeof(*parts->transfer));
	if (!parts->transfer)
		return ncc_no_memory(c->err);
	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		struct ncc_part_transfer *t = &parts->transfer[parts->ntransfers];

		if (!is_given(op))
			continue;
		if (++parts->ntransfers > NCC_MAX_TRANSFERS)
			return ncc_fail_op(c->err, -EFBIG, op, "more than %u collectives",
					   NCC_MAX_TRANSFERS);
		t->to = NCC_KEPT + c->number[i];
		t->replica = op->kind == NCC_RANK && op->index;
		if (op->kind == NCC_RANK)
			continue;
		t->transfer = &c->m->transfer[op->index];
		t->behind = c->loop[c->stage[i]].before;
		t->from = NCC_KEPT + c->given[i];
		t->bytes = (uint64_t)ncc_elems(&op->in[0]->shape) *
			   ncc_dtype_size(op->in[0]->shape.dtype);
	}
	qsort(parts->transfer, parts->ntransfers, sizeof(*parts->transfer), by_behind);
	return 0;
}

static int cut(struct cut *c, struct ncc_parts *parts)
{
	int rc = analyze(c);

	if (rc)
		return rc;
	number_parts(c, OUTSIDE);
	find_parts(c);
	find_numbers(c);
	rc = find_bounds(c);
	if (rc)
		return rc;

	for (unsigned int l = 0; l < c->nloops && c->loop[l].end && !rc; l++) {
		if (is_call(&c->loop[l])) {
			rc = take_call(c, &c->loop[l], parts);
			continue;
		}
		parts->loop[parts->nloops++] = (struct ncc_part_loop){
			c->loop[l].first,
			c->loop[l].last,
			NCC_KEPT + c->loop[l].condition,
			ncc_iterations(c->loop[l].end),
		};
	}

	rc = rc ? rc : list_transfers(c, parts);
	if (rc)
		return rc;
	qsort(parts->loop, parts->nloops, sizeof(parts->loop[0]), by_first);
	qsort(parts->call, parts->ncalls, sizeof(parts->call[0]), by_order);
	for (unsigned int i = 0; !rc && i < c->nparts; i++) {
		parts->part[i] = ncc_module_new(c->m->name);
		if (!parts->part[i])
			return ncc_no_memory(c->err);
		parts->n++;
		rc = fill_part(c, parts->part[i], i);
	}
	return rc;
}

int ncc_cut_loops(struct ncc_module *m, struct ncc_parts *parts, struct ncc_error *err)
{
	struct cut c = { .m = m, .err = err };
	int rc = analyze(&c);

	memset(parts, 0, sizeof(*parts));
	release(&c);
	if (rc)
		return rc;
	/*
	 * A loop whose results nothing uses is checked, and dropped: its last part would be empty.
	 */
	ncc_sweep(m);
	rc = ncc_join_turns(m, err);
	if (rc)
		return rc;
	c = (struct cut){ .m = m, .err = err };
	rc = cut(&c, parts);
	release(&c);
	return rc;
}

void ncc_free_parts(struct ncc_parts *parts)
{
	for (unsigned int i = 0; i < parts->n; i++)
		ncc_module_free(parts->part[i]);
}
