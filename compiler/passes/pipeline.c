// SPDX-License-Identifier: MIT
/*
 * NeuronCore Pipeline: cuts the module, after its passes, into stages of about the same cost, each
 * for a core of its own. A value goes from stage to stage up to its last reader, so that a stage
 * talks to its neighbours only; constants, inputs and views are cloned into every stage that reads
 * them. Called by ncc.c.
 */
#include "pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/traits.h"
#include "piece.h"

#define VIEW_DEPTH 16 /* depth of views that are cloned; deeper ones are values */
#define SLACK 8 /* a cut may be off by 1 / SLACK of a stage to cross less */

struct split {
	struct ncc_module *m;
	unsigned int n; /* operations */
	struct ncc_op **line;
	uint64_t *cost; /* by id: of all operations up to this one */
	uint64_t *live; /* by id: bytes that cross a cut after this one */
	uint8_t *depth; /* of views; 0: a value */
	unsigned int *last; /* the last operation that reads it */
	unsigned int *home, *reach; /* its stage, and the last stage that reads it */
	int64_t *edge; /* the number of its first passage to the next stage */
	struct ncc_op **clone; /* its clone in the current stage */
	unsigned int nstages;
	struct ncc_error *err;
};

static bool is_everywhere(const struct ncc_op *op)
{
	return op->kind == NCC_CONST || op->kind == NCC_PARAM;
}

static bool is_view(const struct ncc_op *op)
{
	return op->kind == NCC_BROADCAST || op->kind == NCC_RESHAPE || op->kind == NCC_TRANSPOSE;
}

/* Is it computed in one stage only? */
static bool is_value(const struct split *s, const struct ncc_op *op)
{
	return !is_everywhere(op) && !s->depth[op->id];
}

static uint64_t bytes_of(const struct ncc_op *op)
{
	return (uint64_t)ncc_elems(&op->shape) * ncc_dtype_size(op->shape.dtype);
}

static void measure(struct split *s)
{
	struct ncc_op *op = s->m->first;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->n; i++, op = op->next) {
		s->line[i] = op;
		sum += ncc_cost(op);
		s->cost[i] = sum;
		s->last[i] = i;
		if (is_view(op) && s->depth[op->in[0]->id] < VIEW_DEPTH)
			s->depth[i] = (uint8_t)(s->depth[op->in[0]->id] + 1);
	}
	for (unsigned int i = s->n; i-- > 0;) {
		unsigned int at = s->depth[i] ? s->last[i] : i;

		for (unsigned int k = 0; k < s->line[i]->nin; k++) {
			unsigned int in = s->line[i]->in[k]->id;

			s->last[in] = at > s->last[in] ? at : s->last[in];
		}
	}
	for (unsigned int i = 0; i < s->n; i++) {
		if (!is_value(s, s->line[i]))
			continue;
		s->live[i] += bytes_of(s->line[i]); /* modulo 2^64 until they are summed */
		s->live[s->last[i]] -= bytes_of(s->line[i]);
	}
	for (unsigned int i = 1; i < s->n; i++)
		s->live[i] += s->live[i - 1];
}

/*
 * The end of a stage that should cost about target: the cut nearby that the fewest bytes cross or,
 * if there is none nearby, the nearest one; n if there is nothing to cut.
 */
static unsigned int best_cut(const struct split *s, unsigned int from, uint64_t done,
			     uint64_t target, uint64_t slack)
{
	uint64_t least = UINT64_MAX, nearest = UINT64_MAX;
	unsigned int best = s->n;

	for (unsigned int i = from; i < s->n && s->cost[i] < s->cost[s->n - 1]; i++) {
		uint64_t off = s->cost[i] > target ? s->cost[i] - target : target - s->cost[i];

		if (s->cost[i] == done)
			continue;
		if (off <= slack && s->live[i] < least) {
			least = s->live[i];
			best = i;
		}
		if (least == UINT64_MAX && off < nearest) {
			nearest = off;
			best = i;
		}
		if (s->cost[i] > target && off > slack)
			break;
	}
	return best;
}

static void assign(struct split *s, unsigned int want)
{
	uint64_t total = s->cost[s->n - 1], done = 0;
	unsigned int from = 0, stage = 0;

	while (stage + 1 < want && from + 1 < s->n) {
		uint64_t each = (total - done) / (want - stage);
		unsigned int cut = best_cut(s, from, done, done + each, each / SLACK);

		if (cut == s->n)
			break;
		for (; from <= cut; from++)
			s->home[from] = stage;
		done = s->cost[cut];
		stage++;
	}
	for (; from < s->n; from++)
		s->home[from] = stage;
	s->nstages = stage + 1;
}

/* Finds how far values go, and numbers their passages. */
static void find_edges(struct split *s)
{
	int64_t next = 0;

	for (unsigned int i = 0; i < s->n; i++)
		s->reach[i] = s->depth[i] ? 0 : s->home[i];
	for (unsigned int i = s->n; i-- > 0;) {
		unsigned int at = s->depth[i] ? s->reach[i] : s->home[i];

		for (unsigned int k = 0; k < s->line[i]->nin; k++) {
			unsigned int in = s->line[i]->in[k]->id;

			s->reach[in] = at > s->reach[in] ? at : s->reach[in];
		}
	}
	for (unsigned int i = 0; i < s->n; i++) {
		s->edge[i] = next;
		if (is_value(s, s->line[i]))
			next += s->reach[i] - s->home[i];
	}
}

static struct ncc_op *clone(struct split *s, struct ncc_module *to, const struct ncc_op *op)
{
	struct ncc_op *c = ncc_op_clone(to, op, op->nin);

	if (c)
		s->clone[op->id] = c;
	return c;
}

/* The operation's clone in a stage; a value of an earlier stage becomes a parameter. */
static struct ncc_op *get(struct split *s, struct ncc_module *to, struct ncc_op *op,
			  unsigned int stage)
{
	struct ncc_op *c = s->clone[op->id];

	if (c)
		return c;
	c = clone(s, to, op);
	if (!c)
		return NULL;
	if (is_value(s, op) && s->home[op->id] < stage) {
		c->kind = NCC_PARAM;
		c->nin = 0;
		c->io_dtype = 0;
		c->passage = NCC_BETWEEN_STAGES;
		c->index = s->edge[op->id] + (stage - 1 - s->home[op->id]);
	}

	for (unsigned int i = 0; i < c->nin; i++) {
		c->in[i] = get(s, to, op->in[i], stage);
		if (!c->in[i])
			return NULL;
	}

	ncc_op_append(to, c);
	return c;
}

static unsigned int home_of_output(const struct split *s, const struct ncc_op *op)
{
	while (s->depth[op->id])
		op = op->in[0];
	return is_everywhere(op) ? 0 : s->home[op->id];
}

static int add_out(struct split *s, struct ncc_module *to, struct ncc_op *op, unsigned int stage,
		   struct ncc_port port, uint8_t dtype)
{
	struct ncc_op *c = get(s, to, op, stage);

	if (!c)
		return -ENOMEM;
	to->piece->out[to->nouts] = port;
	to->out_dtype[to->nouts] = dtype;
	to->outs[to->nouts++] = c;
	return 0;
}

static int fill_stage(struct split *s, struct ncc_module *to, unsigned int stage)
{
	unsigned int nouts = s->m->nouts;

	to->out_source = s->m->out_source;
	memset(s->clone, 0, s->n * sizeof(struct ncc_op *));
	for (unsigned int i = 0; i < s->n; i++) {
		bool passes = is_value(s, s->line[i]) && s->home[i] <= stage;

		nouts += passes && s->reach[i] > stage;
		if (!stage && s->line[i]->kind == NCC_PARAM && !s->line[i]->users &&
		    !get(s, to, s->line[i], stage))
			return -ENOMEM; /* the caller frees it nonetheless */
		if (passes && (s->home[i] == stage || s->reach[i] >= stage) &&
		    !get(s, to, s->line[i], stage))
			return -ENOMEM;
	}

	to->outs = ncc_alloc(to, (nouts + 1) * sizeof(struct ncc_op *));
	to->out_dtype = ncc_alloc(to, nouts + 1);
	if (!to->outs || !to->out_dtype || !ncc_make_piece(to, nouts))
		return -ENOMEM;

	for (unsigned int i = 0; i < s->n; i++) {
		const struct ncc_port port = { NCC_BETWEEN_STAGES,
					       s->edge[i] + (stage - s->home[i]) };

		if (is_value(s, s->line[i]) && s->home[i] <= stage && s->reach[i] > stage &&
		    add_out(s, to, s->line[i], stage, port, 0))
			return -ENOMEM;
	}

	for (unsigned int i = 0; i < s->m->nouts; i++)
		if (home_of_output(s, s->m->outs[i]) == stage &&
		    add_out(s, to, s->m->outs[i], stage, (struct ncc_port){ NCC_OF_MODEL, i },
			    s->m->out_dtype ? s->m->out_dtype[i] : 0))
			return -ENOMEM;

	ncc_number(to);
	ncc_count_users(to);
	return 0;
}

static bool alloc(struct split *s)
{
	size_t n = s->n;

	s->line = calloc(n, sizeof(struct ncc_op *));
	s->clone = calloc(n, sizeof(struct ncc_op *));
	s->cost = calloc(n, sizeof(*s->cost));
	s->live = calloc(n, sizeof(*s->live));
	s->depth = calloc(n, sizeof(*s->depth));
	s->last = calloc(n, sizeof(*s->last));
	s->home = calloc(n, sizeof(*s->home));
	s->reach = calloc(n, sizeof(*s->reach));
	s->edge = calloc(n, sizeof(*s->edge));
	return s->line && s->clone && s->cost && s->live && s->depth && s->last && s->home &&
	       s->reach && s->edge;
}

static void release(struct split *s)
{
	free(s->line);
	free(s->clone);
	free(s->cost);
	free(s->live);
	free(s->depth);
	free(s->last);
	free(s->home);
	free(s->reach);
	free(s->edge);
}

int ncc_split(struct ncc_module *m, unsigned int want, struct ncc_module **stage,
	      unsigned int *nstages, struct ncc_error *err)
{
	struct split s = { .m = m, .err = err };
	int rc = 0;

	*nstages = 0;
	ncc_number(m);
	ncc_count_users(m);
	s.n = m->nops;
	if (!alloc(&s))
		rc = -ENOMEM;
	if (!rc) {
		measure(&s);
		assign(&s, want);
		find_edges(&s);
	}

	for (unsigned int i = 0; !rc && i < s.nstages; i++) {
		stage[i] = ncc_module_new(m->name);
		if (!stage[i]) {
			rc = -ENOMEM;
			break;
		}
		++*nstages;
		rc = fill_stage(&s, stage[i], i);
	}

	release(&s);
	if (rc)
		ncc_fail(err, rc, "out of memory");
	return rc;
}
