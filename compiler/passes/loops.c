// SPDX-License-Identifier: MIT
/*
 * Cuts a module at its loops (loops.h). A loop's body is a program of its own, without jumps, which
 * is executed until its condition is 0: by the runtime, or by the program that it makes of all
 * parts for cores that fetch their instructions. Operands alone say which operations a loop has:
 * those that depend on its state, up to its results. Constants and views are cloned into every part
 * that reads them.
 */
#include "loops_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "piece.h"
#include "unroll.h"

#define KEPT_ALIGN 64 /* bytes */

void ncc_kept_name(int64_t number, char *name)
{
	snprintf(name, NCC_KEPT_NAME, "kept%lld", (long long)number);
}

bool ncc_has_parts(const struct ncc_module *m)
{
	for (const struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind == NCC_LOOP || op->kind == NCC_HOST_CALL || op->kind == NCC_TRANSFER ||
		    op->kind == NCC_RANK)
			return true;
	return false;
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
		l = &c->loop[ncc_cut_loop_of(c, op)];
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

/* A list with room for one behind n: lists grow by powers of two. */
static void *more(struct ncc_module *m, void *list, unsigned int n, size_t each)
{
	const size_t least = 8;
	void *p;

	if (list && (n < least || n & (n - 1)))
		return list;
	p = ncc_alloc(m, (n < least ? least : 2 * (size_t)n) * each);
	if (p && list)
		memcpy(p, list, n * each);
	return p;
}

static bool more_outs(struct ncc_module *to)
{
	const unsigned int n = to->nouts;

	to->outs = more(to, to->outs, n, sizeof(struct ncc_op *));
	to->piece->out = more(to, to->piece->out, n, sizeof(*to->piece->out));
	to->out_dtype = more(to, to->out_dtype, n, sizeof(*to->out_dtype));
	return to->outs && to->piece->out && to->out_dtype;
}

/* The stand-in for a value where one has to be: in a loop's state */
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
	c->cloned[c->ncloned++] = op->id;
	kept = kept && op->kind != NCC_HOST_CALL;
	if (kept) {
		x->kind = NCC_PARAM;
		x->passage = NCC_BETWEEN_PARTS;
		x->index = c->number[op->id];
		x->bounds = c->bounds[op->id];
	}

	for (unsigned int i = 0; i < x->nin; i++) {
		x->in[i] = get(c, to, op->in[i], part);
		if (!x->in[i])
			return NULL;
	}

	if (x->kind == NCC_PARAM) {
		to->params = more(to, to->params, to->nparams, sizeof(struct ncc_op *));
		if (!to->params)
			return NULL;
		to->params[to->nparams++] = x;
	}
	ncc_op_append(to, x);
	return x;
}

static int add_out(struct cut *c, struct ncc_module *to, struct ncc_op *op, unsigned int part,
		   struct ncc_port port)
{
	struct ncc_op *x = get(c, to, op, part);

	if (!x)
		return ncc_no_memory(c->err);
	if (x->kind == NCC_PARAM && port.passage == NCC_BETWEEN_PARTS &&
	    x->passage == NCC_BETWEEN_PARTS && x->index == port.number)
		return 0; /* its value is there already */
	if (!more_outs(to))
		return ncc_no_memory(c->err);
	to->piece->out[to->nouts] = port;
	to->out_dtype[to->nouts] = op->shape.dtype;
	if (port.passage == NCC_OF_MODEL && c->m->out_dtype)
		to->out_dtype[to->nouts] = c->m->out_dtype[port.number];
	to->outs[to->nouts++] = x;
	return 0;
}

/* Adds a value that is kept, of that number. */
static int add_kept(struct cut *c, struct ncc_module *to, struct ncc_op *op, unsigned int part,
		    int64_t number)
{
	return add_out(c, to, op, part, (struct ncc_port){ NCC_BETWEEN_PARTS, number });
}

/* Adds what a loop is given before its first iteration, or after each one. */
static int add_iteration(struct cut *c, struct ncc_module *to, const struct loop *l,
			 unsigned int part)
{
	bool first = part == l->before;
	int rc = add_kept(c, to, first ? l->op->in[0] : l->end->in[1], part, l->condition);

	for (unsigned int k = 2; !rc && k < l->end->nin; k += 2) {
		struct ncc_op *state = l->end->in[k];

		rc = add_kept(c, to, first ? state->in[1] : l->end->in[k + 1], part,
			      c->number[state->id]);
	}
	return rc;
}

static int add_outs(struct cut *c, struct ncc_module *to, unsigned int part)
{
	int rc = 0;

	for (unsigned int k = c->begin[part]; !rc && k < c->begin[part + 1]; k++) {
		struct ncc_op *op = c->line[c->of_part[k]];

		if (c->number[op->id] != NOWHERE && !is_of_loop(op) && !is_given(op))
			rc = add_kept(c, to, op, part, c->number[op->id]);
	}
	for (unsigned int k = 0; !rc && k < c->ntransfers; k++) {
		const struct ncc_op *op = c->transfer[k];

		if (c->loop[c->stage[op->id]].before == part)
			rc = add_kept(c, to, op->in[0], part, c->given[op->id]);
	}
	for (unsigned int l = 0; !rc && l < c->nloops; l++)
		if (has_condition(&c->loop[l]) &&
		    (c->loop[l].before == part || c->loop[l].last == part))
			rc = add_iteration(c, to, &c->loop[l], part);
	for (unsigned int i = 0; !rc && i < c->m->nouts; i++)
		if (c->part[c->m->outs[i]->id] == part)
			rc = add_out(c, to, c->m->outs[i], part,
				     (struct ncc_port){ NCC_OF_MODEL, i });
	return rc;
}

static int fill_part(struct cut *c, struct ncc_module *to, unsigned int part)
{
	while (c->ncloned)
		c->clone[c->cloned[--c->ncloned]] = NULL;
	to->piece = ncc_alloc(to, sizeof(*to->piece));
	if (!to->piece)
		return ncc_no_memory(c->err);
	to->piece->kept = c->place;
	to->piece->kept_end = c->bytes;
	to->out_source = c->m->out_source;
	to->params = more(to, NULL, 0, sizeof(struct ncc_op *));
	if (!to->params || !more_outs(to))
		return ncc_no_memory(c->err);
	for (unsigned int k = c->begin[part]; k < c->begin[part + 1]; k++) {
		struct ncc_op *op = c->line[c->of_part[k]];

		if (!is_of_loop(op) && !is_given(op) && op->kind != NCC_CONST &&
		    !get(c, to, op, part))
			return ncc_no_memory(c->err);
	}
	return add_outs(c, to, part);
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
		to->guard = c->number[l->op->in[first - 1]->id];
	for (unsigned int i = 0; i < nin; i++)
		to->number[i] = c->number[l->op->in[first + i]->id];
	for (unsigned int i = 0; i < nout; i++)
		to->number[nin + i] = NOWHERE;
	return 0;
}

/* The numbers of calls' results; calls are in the order of loops here. */
static int take_results(struct cut *c, struct ncc_parts *parts)
{
	struct ncc_part_call **of = calloc(c->nloops + 1, sizeof(*of));

	if (!of)
		return ncc_no_memory(c->err);
	for (unsigned int l = 0, n = 0; l < c->nloops; l++)
		if (is_call(&c->loop[l]))
			of[l] = &parts->call[n++];
	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		const struct ncc_part_call *call;

		if (op->kind != NCC_HOST_RESULT)
			continue;
		call = of[ncc_cut_loop_of(c, op)];
		call->number[ncc_host_operands(call->call) + op->index] = c->number[i];
	}
	free(of);
	return 0;
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
	for (unsigned int i = 0; i < c->n; i++) {
		const struct ncc_op *op = c->line[i];
		struct ncc_part_transfer *t = &parts->transfer[parts->ntransfers];

		if (!is_given(op))
			continue;
		parts->ntransfers++;
		t->to = c->number[i];
		t->replica = op->kind == NCC_RANK && op->index;
		if (op->kind == NCC_RANK)
			continue;
		t->transfer = &c->m->transfer[op->index];
		t->behind = c->loop[c->stage[i]].before;
		t->from = c->given[i];
		t->bytes = (uint64_t)ncc_elems(&op->in[0]->shape) *
			   ncc_dtype_size(op->in[0]->shape.dtype);
	}
	qsort(parts->transfer, parts->ntransfers, sizeof(*parts->transfer), by_behind);
	return 0;
}

static int alloc_parts(struct cut *c, struct ncc_parts *parts)
{
	size_t given = 0, transfers = 0;

	for (unsigned int i = 0; i < c->n; i++) {
		given += is_given(c->line[i]);
		transfers += c->line[i]->kind == NCC_TRANSFER;
	}
	parts->transfer = ncc_alloc(c->m, (given + 1) * sizeof(*parts->transfer));
	parts->part = ncc_alloc(c->m, c->nparts * sizeof(struct ncc_module *));
	parts->loop = ncc_alloc(c->m, (c->nloops + 1) * sizeof(*parts->loop));
	parts->call = ncc_alloc(c->m, (c->nloops + 1) * sizeof(*parts->call));
	c->transfer = ncc_alloc(c->m, (transfers + 1) * sizeof(struct ncc_op *));
	if (!parts->transfer || !parts->part || !parts->loop || !parts->call || !c->transfer)
		return ncc_no_memory(c->err);
	for (unsigned int i = 0; i < c->n; i++)
		if (c->line[i]->kind == NCC_TRANSFER)
			c->transfer[c->ntransfers++] = c->line[i];
	return 0;
}

/* The steps between parts, in the order in which they are done */
static int list_between(struct cut *c, struct ncc_parts *parts)
{
	int rc = 0;

	for (unsigned int l = 0; l < c->nloops && c->loop[l].end && !rc; l++) {
		if (is_call(&c->loop[l])) {
			rc = take_call(c, &c->loop[l], parts);
			continue;
		}
		parts->loop[parts->nloops++] = (struct ncc_part_loop){
			c->loop[l].first,
			c->loop[l].last,
			c->loop[l].condition,
			ncc_iterations(c->loop[l].end),
		};
	}
	rc = rc ? rc : take_results(c, parts);
	rc = rc ? rc : list_transfers(c, parts);
	qsort(parts->loop, parts->nloops, sizeof(parts->loop[0]), by_first);
	qsort(parts->call, parts->ncalls, sizeof(parts->call[0]), by_order);
	return rc;
}

static int cut(struct cut *c, struct ncc_parts *parts)
{
	int rc = ncc_cut_analyze(c);

	rc = rc ? rc : ncc_cut_number(c);
	if (rc)
		return rc;
	find_numbers(c);
	rc = find_bounds(c);
	rc = rc ? rc : alloc_parts(c, parts);
	rc = rc ? rc : list_between(c, parts);
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
	int rc = ncc_cut_analyze(&c);

	memset(parts, 0, sizeof(*parts));
	ncc_cut_release(&c);
	if (rc)
		return rc;
	/*
	 * A loop whose results nothing uses is checked, and dropped: its last part would be empty.
	 */
	ncc_sweep(m);
	rc = ncc_unroll_loops(m, err);
	if (rc)
		return rc;
	c = (struct cut){ .m = m, .err = err };
	rc = cut(&c, parts);
	ncc_cut_release(&c);
	return rc;
}

void ncc_free_parts(struct ncc_parts *parts)
{
	for (unsigned int i = 0; i < parts->n; i++)
		ncc_module_free(parts->part[i]);
}
