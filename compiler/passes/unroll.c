// SPDX-License-Identifier: MIT
/*
 * Loops that count (unroll.h): a state starts with a constant, each iteration adds another one, and
 * the loop goes on as long as a comparison with a third one holds.
 */
#include "unroll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COPIES 64 /* of an iteration */
#define MOST_MADE 4096 /* operations of all copies of the body in an iteration */
#define MOST_CONDITIONS 8

struct count {
	int64_t n; /* iterations */
	struct ncc_op *counter; /* the state's value for the next iteration */
	const struct ncc_op *state;
	int64_t first, step;
	bool guarded; /* there is another condition, which holds for all iterations or for none */
};

/* Does p hold whatever the inputs are? */
static bool holds(const struct ncc_op *p)
{
	double a, b;

	if (ncc_scalar_value(p, &a))
		return a != 0;
	return ncc_is_compare(p->kind) && ncc_scalar_value(p->in[0], &a) &&
	       ncc_scalar_value(p->in[1], &b) && ncc_compares(p->kind, a, b);
}

/* The conditions that all have to hold for p, but for those that do. Returns how many there are. */
static unsigned int conditions(struct ncc_op *p, struct ncc_op **list)
{
	struct ncc_op *stack[MOST_CONDITIONS] = { p };
	unsigned int n = 0, left = 1;

	while (left) {
		p = stack[--left];
		if (holds(p))
			continue;
		if (p->kind != NCC_AND || left + 2 > MOST_CONDITIONS) {
			list[n++] = p;
			continue;
		}
		stack[left++] = p->in[1];
		stack[left++] = p->in[0];
	}
	return n;
}

static bool is_counter(const struct ncc_op *x)
{
	return !x->shape.ndim && x->shape.dtype == NEURON_DT_INT32 && !x->shape.pred;
}

/* Is x, of the next iteration, a state and constants, one for each copy of the body? */
static bool find_step(const struct ncc_op *end, struct ncc_op *x, struct count *c)
{
	const struct ncc_op *state = x;
	double v;

	c->counter = x;
	c->step = 0;
	while (state->kind == NCC_ADD || state->kind == NCC_SUB) {
		unsigned int by = !(state->kind == NCC_ADD && ncc_scalar_value(state->in[0], &v));

		if (!is_counter(state) || !ncc_scalar_value(state->in[by], &v))
			return false;
		c->step += state->kind == NCC_ADD ? (int64_t)v : -(int64_t)v;
		state = state->in[!by];
	}
	if (state->kind != NCC_STATE || state->in[0] != end->in[0] || !is_counter(state) ||
	    !ncc_scalar_value(state->in[1], &v))
		return false;
	c->first = (int64_t)v;
	c->state = state;
	for (unsigned int k = 2; k < end->nin; k += 2)
		if (end->in[k] == state)
			return end->in[k + 1] == x;
	return false;
}

static const enum ncc_kind mirrored[] = {
	[NCC_LT] = NCC_GT, [NCC_GT] = NCC_LT, [NCC_LE] = NCC_GE,
	[NCC_GE] = NCC_LE, [NCC_EQ] = NCC_EQ, [NCC_NE] = NCC_NE,
};

/* Does p compare a counter with a constant, so that the loop ends? */
static bool find_count(const struct ncc_op *end, const struct ncc_op *p, struct count *c)
{
	enum ncc_kind kind = p->kind;
	int64_t span, step;
	bool mirror;
	double bound;

	if (!ncc_is_compare(kind) || p->shape.ndim)
		return false;
	mirror = ncc_scalar_value(p->in[0], &bound);
	if (!mirror && !ncc_scalar_value(p->in[1], &bound))
		return false;
	kind = mirror ? mirrored[kind] : kind;
	if (!find_step(end, p->in[mirror], c))
		return false;

	span = (int64_t)bound - c->first;
	step = c->step;
	if (kind == NCC_GT || kind == NCC_GE) { /* counts down */
		span = -span;
		step = -step;
	}
	if (kind == NCC_NE && step < 0) {
		span = -span;
		step = -step;
	}
	span += kind == NCC_LE || kind == NCC_GE;
	if (kind == NCC_EQ || span <= 0 || step <= 0 || (kind == NCC_NE && span % step))
		return false;
	c->n = (span + step - 1) / step;
	bound = (double)(c->first + c->n * c->step);
	return bound >= INT32_MIN && bound <= INT32_MAX;
}

/*
 * Of the conditions for another iteration one counts; the others are those for the first iteration,
 * which the loop does not change.
 */
static bool counts(const struct ncc_op *end, struct count *c)
{
	struct ncc_op *before[2 * MOST_CONDITIONS], *again[2 * MOST_CONDITIONS];
	unsigned int nbefore = conditions(end->in[0]->in[0], before);
	unsigned int n = conditions(end->in[1], again), found = 0, same = 0;

	for (unsigned int i = 0; i < n; i++) {
		unsigned int k = 0;

		while (k < nbefore && before[k] != again[i])
			k++;
		if (k < nbefore)
			same++;
		else if (find_count(end, again[i], c))
			found++;
	}
	c->guarded = same;
	return found == 1 && n == same + 1 && nbefore == same;
}

int64_t ncc_iterations(const struct ncc_op *end)
{
	struct count c;

	return counts(end, &c) ? c.n : 0;
}

/*
 * Whatever else ends the loop: in the first iteration the counter is what it starts with, in others
 * the comparison held for it.
 */
static bool find_counter(const struct ncc_op *end, struct count *c)
{
	struct ncc_op *again[2 * MOST_CONDITIONS];
	unsigned int n = conditions(end->in[1], again);

	for (unsigned int i = 0; i < n; i++)
		if (find_count(end, again[i], c))
			return true;
	return false;
}

const struct ncc_op *ncc_counter(const struct ncc_op *end, int64_t bounds[2])
{
	struct count c;
	int64_t last;

	if (!find_counter(end, &c))
		return NULL;
	last = c.first + (c.n - 1) * c.step;
	bounds[0] = last < c.first ? last : c.first;
	bounds[1] = last < c.first ? c.first : last;
	return c.state;
}

struct unroll {
	struct ncc_module *m;
	unsigned int n; /* operations when it began */
	struct ncc_op **line;
	struct ncc_op *
		*now; /* by id: the operation in the current copy; NULL: the loop has it not */
	struct ncc_op *end;
	unsigned int size; /* operations of a copy of the body */
	unsigned int nstates;
	struct ncc_op **state, **next; /* and what a copy makes of it */
	struct ncc_op **value; /* of each state, for the copy that is being made */
};

static bool is_of_loop(const struct ncc_op *op)
{
	return op->kind >= NCC_LOOP && op->kind <= NCC_LOOP_RESULT;
}

/* Finds what depends on the loop's states: false if a loop does, or what passes among devices. */
static bool find_body(struct unroll *t)
{
	const struct ncc_op *loop = t->end->in[0];

	memset(t->now, 0, t->n * sizeof(struct ncc_op *));
	t->size = 0;
	for (unsigned int i = 0; i < t->n; i++) {
		struct ncc_op *op = t->line[i];
		bool depends = op->kind == NCC_STATE && op->in[0] == loop;

		if (op == t->end || (op->kind == NCC_LOOP_RESULT && op->in[0] == t->end))
			continue;
		for (unsigned int k = 0; k < op->nin; k++)
			depends = depends || t->now[op->in[k]->id];
		if (!depends)
			continue;
		if ((is_of_loop(op) && op->in[0] != loop) || op->kind == NCC_TRANSFER)
			return false;
		t->now[i] = op;
		t->size += !is_of_loop(op);
	}

	t->nstates = 0;
	for (unsigned int k = 2; k < t->end->nin; k += 2) {
		t->state[t->nstates] = t->end->in[k];
		t->next[t->nstates++] = t->end->in[k + 1];
	}
	return true;
}

static struct ncc_op *in_copy(const struct unroll *t, struct ncc_op *op)
{
	return t->now[op->id] ? t->now[op->id] : op;
}

/* The values of the states after the current copy */
static void end_copy(struct unroll *t)
{
	for (unsigned int s = 0; s < t->nstates; s++)
		t->value[s] = in_copy(t, t->next[s]);
}

static int add_copy(struct unroll *t)
{
	for (unsigned int s = 0; s < t->nstates; s++)
		t->now[t->state[s]->id] = t->value[s];
	for (unsigned int i = 0; i < t->n; i++) {
		const struct ncc_op *from = t->line[i];

		if (!t->now[i] || from->kind == NCC_STATE)
			continue;
		t->now[i] = ncc_op_clone(t->m, from, from->nin);
		if (!t->now[i])
			return -ENOMEM;
		for (unsigned int k = 0; k < from->nin; k++)
			t->now[i]->in[k] = in_copy(t, from->in[k]);
	}
	end_copy(t);
	return 0;
}

/* Rows that indices choose in a copy of the body */
static int64_t rows_of(const struct unroll *t)
{
	int64_t n = 0;

	for (unsigned int i = 0; i < t->n; i++)
		if (t->now[i] && (t->now[i]->kind == NCC_GATHER || t->now[i]->kind == NCC_SCATTER))
			n += ncc_elems(&t->now[i]->in[1]->shape);
	return n;
}

/* The number of copies of the body in an iteration: if possible, so many that none is left over */
static int64_t copies(const struct unroll *t, const struct count *c)
{
	int64_t most = MOST_MADE / (t->size + 1);

	if (most < 1) /* a body of more operations than that */
		return 1;
	if (most > MOST_COPIES)
		most = MOST_COPIES;
	if (most > c->n)
		most = c->n;
	if (t->m->most_rows && rows_of(t) * most > t->m->most_rows)
		most = t->m->most_rows / rows_of(t) > 1 ? t->m->most_rows / rows_of(t) : 1;
	for (int64_t k = most; k > (c->guarded ? 1 : most / 2); k--)
		if (c->n % k == 0)
			return k;
	return c->guarded ? 1 : most;
}

/* Does the loop go on, with copies left over? */
static struct ncc_op *goes_on(const struct unroll *t, const struct count *c, int64_t n)
{
	struct ncc_shape pred = { .dtype = NEURON_DT_INT8, .pred = true };
	struct ncc_op *p = ncc_op_new(t->m, c->step > 0 ? NCC_LT : NCC_GT, t->end->name, 2);

	if (!p)
		return NULL;
	p->where = t->end->where;
	p->shape = pred;
	p->exact = true;
	p->in[0] = in_copy(t, c->counter);
	p->in[1] = ncc_const_scalar(t->m, NEURON_DT_INT32, (double)(c->first + c->step * n));
	return p->in[1] ? p : NULL;
}

/* The copies that are left over begin with the loop's results, and have its users. */
static int add_rest(struct unroll *t, int64_t n)
{
	for (unsigned int s = 0; s < t->nstates; s++) {
		struct ncc_op *r = ncc_op_new(t->m, NCC_LOOP_RESULT, t->state[s]->name, 2);

		if (!r)
			return -ENOMEM;
		r->where = t->state[s]->where;
		r->shape = t->state[s]->shape;
		r->in[0] = t->end;
		r->in[1] = t->state[s];
		t->value[s] = r;
	}
	for (int64_t i = 0; i < n; i++)
		if (add_copy(t))
			return -ENOMEM;

	for (unsigned int i = 0; i < t->n; i++) {
		struct ncc_op *op = t->line[i];

		for (unsigned int s = 0; s < t->nstates; s++)
			if (op->kind == NCC_LOOP_RESULT && op->in[0] == t->end &&
			    op->in[1] == t->state[s])
				op->replaced = t->value[s];
	}
	return 0;
}

static int unroll(struct unroll *t, const struct count *c)
{
	int64_t k = copies(t, c), rest = c->n % k;
	struct ncc_op *again;

	if (k < 2)
		return 0;
	end_copy(t);
	for (int64_t i = 1; i < k; i++)
		if (add_copy(t))
			return -ENOMEM;
	again = rest ? goes_on(t, c, c->n - rest) : in_copy(t, t->end->in[1]);
	if (!again)
		return -ENOMEM;
	t->end->in[1] = again;
	for (unsigned int s = 0; s < t->nstates; s++)
		t->end->in[2 * s + 3] = t->value[s];
	return add_rest(t, rest);
}

static void release(struct unroll *t)
{
	free(t->line);
	free(t->now);
	free(t->state);
	free(t->next);
	free(t->value);
}

static int begin(struct unroll *t)
{
	t->n = t->m->nops;
	t->line = calloc(t->n, sizeof(struct ncc_op *));
	t->now = calloc(t->n, sizeof(struct ncc_op *));
	t->state = calloc(t->end->nin, sizeof(struct ncc_op *));
	t->next = calloc(t->end->nin, sizeof(struct ncc_op *));
	t->value = calloc(t->end->nin, sizeof(struct ncc_op *));
	if (!t->line || !t->now || !t->state || !t->next || !t->value)
		return -ENOMEM;
	for (struct ncc_op *op = t->m->first; op; op = op->next)
		t->line[op->id] = op;
	return 0;
}

int ncc_unroll_loops(struct ncc_module *m, struct ncc_error *err)
{
	struct ncc_op **end;
	unsigned int n = 0;
	int rc = 0;

	for (struct ncc_op *op = m->first; op; op = op->next) {
		if (op->kind == NCC_HOST_CALL)
			return 0; /* each call is there once */
		n += op->kind == NCC_LOOP_END;
	}
	end = calloc(n + 1, sizeof(struct ncc_op *));
	if (!end)
		return ncc_no_memory(err);
	n = 0;
	for (struct ncc_op *op = m->first; op; op = op->next)
		if (op->kind == NCC_LOOP_END)
			end[n++] = op;
	for (unsigned int i = 0; i < n && !rc; i++) {
		struct unroll t = { .m = m, .end = end[i] };
		struct count c;

		if (!counts(end[i], &c))
			continue;
		rc = begin(&t);
		if (!rc && find_body(&t))
			rc = unroll(&t, &c);
		release(&t);
		if (!rc)
			ncc_sweep(m);
	}
	free(end);
	return rc ? ncc_no_memory(err) : 0;
}
