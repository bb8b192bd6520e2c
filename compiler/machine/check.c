// SPDX-License-Identifier: MIT
/*
 * The static checker: from the words of an emitted model alone it proves that every access lies in
 * its memory, that the program ends whatever the speed of engines and queues, that every two
 * accesses that clash are ordered by semaphores, and that the semaphores are 0 at the end.
 *
 * It replays the streams with vector clocks. The rules that make one replay stand for all: a
 * semaphore has one producer, which only increments it, and waits are "at least n". Then the n-th
 * increment is always the same event, and what a wait makes known does not depend on timing. A
 * program outside these rules is refused. Two DMAs of one queue are not taken to be ordered unless
 * the second one's trigger knows that the first is complete: queues read ahead.
 *
 * The two programs of a logical core are replayed together: each raises semaphores of the other by
 * its barriers, and they share inputs, outputs and virtual variables.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/codec.h"
#include "records.h"

#define MAX_QUEUES 16
#define QUEUE(q) (NEURON_ENGINES_MAX + (q)) /* a queue as an actor; the engines come before */
#define ACTORS QUEUE(MAX_QUEUES) /* of a core; the second one's come behind them */
#define CORES 2

struct clock {
	uint32_t n[CORES * ACTORS]; /* the number of each actor's events known to be complete */
};

struct stream {
	const uint8_t *words; /* of the next instruction */
	size_t left; /* words from there on */
	struct neuron_insn insn; /* the next one, once it is decoded */
	unsigned int nwords; /* of which so many are it; 0: it is not decoded yet */
	unsigned int at, events;
	unsigned int used; /* the last of its events that accesses memory */
	struct neuron_isa_array array;
	unsigned int next_dma;
	struct clock now;
};

struct semaphore {
	int producer; /* an actor; -1: none yet */
	uint32_t *after; /* what is known after the n-th increment, the clock's first width each */
	unsigned int n, cap;
	bool taken; /* all increments were subtracted, and no wait comes any more */
};

struct check {
	struct check *sibling; /* the other core of a logical one, or NULL */
	bool second; /* it is the second core */
	bool ends_at_fence; /* behind it both cores go on by themselves (docs/neff.md, Loops) */
	unsigned int base; /* the first of its actors */
	unsigned int width; /* the last actor that there is, of either core, + 1 */
	const struct neff_subgraph *sg;
	const struct neuron_target *target;
	unsigned int semaphores; /* semaphores that the program may use */
	struct stream s[NEURON_ENGINES_MAX];
	struct clock queue[MAX_QUEUES]; /* what is known after its last completed DMA */
	uint32_t queue_events[MAX_QUEUES];
	struct semaphore sem[NEURON_SEMAPHORES_MAX];
	struct ncc_records *rec; /* who: the actor, when: the event; both cores' */
	bool cleared;
	struct clock last; /* what is known then */
	struct ncc_error *err;
};

static int bad(struct check *c, unsigned int e, const char *what)
{
	return ncc_fail(c->err, -EINVAL, "checker: %s, instruction %u: %s",
			c->target->engine[e].name, c->s[e].at, what);
}

static void merge(const struct check *c, struct clock *to, const uint32_t *from)
{
	for (unsigned int i = 0; i < c->width; i++)
		to->n[i] = from[i] > to->n[i] ? from[i] : to->n[i];
}

/* Decodes the next instruction, unless it is. */
static int decode(struct check *c, unsigned int e)
{
	struct stream *s = &c->s[e];
	int n;

	if (s->nwords)
		return 0;
	n = neuron_isa_decode(s->words, s->left, &s->insn);
	if (n < 0)
		return bad(c, e, "does not decode");
	s->nwords = (unsigned int)n;
	return 0;
}

static bool is_shared(const struct neff_var *v)
{
	return v->type == NEFF_VAR_INPUT || v->type == NEFF_VAR_OUTPUT ||
	       v->type == NEFF_VAR_VIRTUAL;
}

/* The number of a variable among those of both cores: what they share is the first one's */
static uint32_t variable(const struct check *c, uint32_t var)
{
	const struct neff_subgraph *first = c->second ? c->sibling->sg : NULL;

	for (uint32_t i = 0; first && is_shared(&c->sg->vars[var]) && i < first->nvars; i++)
		if (is_shared(&first->vars[i]) &&
		    !strcmp(first->vars[i].name, c->sg->vars[var].name))
			return CORES * i;
	return CORES * var + c->second;
}

/* Places of one core become places of both. */
static void localise(const struct check *c, struct ncc_access *acc, int nacc)
{
	for (int i = 0; i < nacc; i++) {
		if (acc[i].space == NCC_DRAM) {
			acc[i].var = variable(c, acc[i].var);
		} else if (c->second) {
			acc[i].p0 += NEURON_PARTITIONS;
			acc[i].p1 += NEURON_PARTITIONS;
		}
	}
}

/*
 * Checks an access of an event against all earlier ones that may clash; start is what the event
 * knows when it starts.
 */
static int order(struct check *c, unsigned int e, const struct clock *start,
		 const struct ncc_access *acc, int nacc)
{
	struct clock need = { { 0 } };

	for (int i = 0; i < nacc; i++)
		if (ncc_records_clash(c->rec, &acc[i], start->n, need.n))
			return bad(c, e,
				   "an access that is not ordered behind an earlier one it clashes "
				   "with");
	return 0;
}

static int remember(struct check *c, unsigned int actor, uint32_t event,
		    const struct ncc_access *acc, int nacc)
{
	for (int i = 0; i < nacc; i++)
		if (ncc_records_add(c->rec, &acc[i], c->base + actor, event))
			return ncc_no_memory(c->err);
	return 0;
}

/* Do the other core's barriers raise it? */
static bool is_siblings(const struct check *c, const struct semaphore *s)
{
	return s->n && (unsigned int)s->producer / ACTORS != c->second;
}

/* actor: of both cores' */
static int increment(struct check *c, unsigned int e, unsigned int index, unsigned int actor,
		     const struct clock *after)
{
	struct semaphore *s = index < c->semaphores ? &c->sem[index] : NULL;

	if (!s)
		return bad(c, e, "a semaphore that is the runtime's");
	if (s->producer >= 0 && s->producer != (int)actor)
		return bad(c, e, "a semaphore with two producers");
	s->producer = (int)actor;
	if (s->n == s->cap) {
		unsigned int cap = s->cap ? s->cap * 2 : 64;
		uint32_t *p = realloc(s->after, (size_t)cap * c->width * sizeof(*p));

		if (!p)
			return ncc_no_memory(c->err);
		s->after = p;
		s->cap = cap;
	}
	memcpy(&s->after[(size_t)s->n++ * c->width], after->n, c->width * sizeof(*s->after));
	return 0;
}

/* Does a side of a DMA lie in its variable? */
static bool in_bounds(const struct check *c, const struct neff_pattern *p)
{
	int64_t lo = 0, hi = (int64_t)(p->size[0] - 1), off = (int64_t)p->offset;
	struct ncc_access a;

	if (p->var >= c->sg->nvars || !p->ndim || p->ndim > 4 || p->step[0] != 1)
		return false;
	for (unsigned int d = 1; d < p->ndim; d++) {
		int64_t span = (int64_t)(p->size[d] - 1) * p->step[d];

		*(span < 0 ? &lo : &hi) += span;
	}
	if (off + lo < 0 || (uint64_t)(off + hi) >= c->sg->vars[p->var].size)
		return false;
	if (c->sg->vars[p->var].type != NEFF_VAR_STATE_BUFFER)
		return true;
	ncc_pattern_access(p, true, false, &a);
	return a.hi <= c->target->sbuf_part_size && a.p1 <= NEURON_PARTITIONS && a.p0 < a.p1;
}

/* Have both sides as many elements, of which no piece ends within one? */
static bool elements_fit(const struct neff_desc *d)
{
	const uint64_t from = neuron_isa_dtypes[d->from_dtype & 63].size,
		       to = neuron_isa_dtypes[d->to_dtype & 63].size,
		       n = to ? ncc_pattern_bytes(&d->to) / to : 0;

	return from && to && !d->nmore && !(d->from.size[0] % from) && !(d->to.size[0] % to) &&
	       ncc_pattern_bytes(&d->from) == n * from &&
	       (d->op == NEFF_CAST ||
		(uint64_t)d->shape[0] * d->shape[1] * d->shape[2] * d->shape[3] == n);
}

/* Do both sides lie in their variables, and do their sizes fit? */
static bool desc_fits(const struct check *c, const struct neff_desc *d)
{
	const struct neff_pattern *table = neff_table(d);
	struct neff_pattern index;

	if (!in_bounds(c, &d->from) || !in_bounds(c, &d->to))
		return false;
	if (d->op == NEFF_COPY)
		return ncc_pattern_bytes(&d->from) == ncc_pattern_bytes(&d->to);
	if (d->op == NEFF_DECOMPRESS)
		return d->from.ndim == 1 && d->from.size[0] <= NEURON_UDMA_DESC_LEN_MAX &&
		       ncc_pattern_bytes(&d->to) <= NEURON_UDMA_DESC_LEN_MAX;
	if (neff_computes(d))
		return (d->op == NEFF_CAST || d->op == NEFF_TRANSPOSE) && elements_fit(d);
	index = ncc_index_of(d);
	return table->var && table->ndim == 2 && table->size[1] <= NEFF_MAX_ROWS &&
	       table->size[0] == neff_rows(d)->size[0] && in_bounds(c, &index);
}

static int trigger(struct check *c, unsigned int e, uint32_t id)
{
	struct stream *s = &c->s[e];
	const struct neff_dma *d = &c->sg->engine[e].dma[s->next_dma];
	unsigned int actor;
	struct clock after;
	int rc = 0;

	if (s->next_dma >= c->sg->engine[e].ndma || d->id != id)
		return bad(c, e, "triggers a DMA that is not the next of its list");
	if (d->queue >= c->sg->nqueues || d->queue >= MAX_QUEUES ||
	    c->sg->queues[d->queue].owner != e)
		return bad(c, e, "triggers a queue that is not its own");
	s->next_dma++;
	actor = QUEUE(d->queue);
	for (unsigned int i = 0; !rc && i < d->ndesc; i++) {
		struct ncc_access acc[NCC_DESC_ACCESS];

		if (!desc_fits(c, &d->desc[i]))
			return bad(c, e, "a DMA outside its variable, or of two sizes");
		int n = (int)ncc_desc_access(&d->desc[i], acc);

		localise(c, acc, n);
		rc = order(c, e, &s->now, acc, n);
	}
	for (unsigned int i = 0; !rc && i < d->ndesc; i++) {
		struct ncc_access acc[NCC_DESC_ACCESS];
		int n = (int)ncc_desc_access(&d->desc[i], acc);

		localise(c, acc, n);
		rc = remember(c, actor, c->queue_events[d->queue], acc, n);
	}
	after = s->now;
	merge(c, &after, c->queue[d->queue].n);
	after.n[c->base + actor] = ++c->queue_events[d->queue];
	c->queue[d->queue] = after;
	if (!rc && d->semaphore >= 0)
		rc = increment(c, e, (unsigned int)d->semaphore, c->base + actor, &after);
	return rc;
}

static int check_insn(struct check *c, unsigned int e, const struct neuron_insn *insn)
{
	struct stream *s = &c->s[e];
	struct neuron_isa_fault fault;

	if (neuron_isa_check(insn, e, c->target, &fault) ||
	    neuron_isa_check_weights(insn, c->target, neuron_isa_weights_for(&s->array, insn),
				     &fault))
		return bad(c, e, fault.reason);
	neuron_isa_load_weights(&s->array, insn);
	if ((insn->opcode == NEURON_OP_PROGRAM_START) != !s->at)
		return bad(c, e, "PROGRAM_START is the first instruction and no other");
	return 0;
}

/*
 * SP's last instruction: all others are known to be complete, and every semaphore that was used is
 * cleared.
 */
static int check_clear(struct check *c, unsigned int e, const struct neuron_insn *insn)
{
	const struct clock *now = &c->s[e].now;

	if (e != NEURON_ENG_SP || c->s[e].left != c->s[e].nwords)
		return bad(c, e, "semaphores are cleared by SP's last instruction only");
	/* one that has nothing to do but to begin is not fed */
	for (unsigned int a = 0; a < c->target->engines; a++)
		if (a != e && ((c->s[a].left && c->s[a].left + c->s[a].at > 1) ||
			       now->n[c->base + a] < c->s[a].events))
			return bad(c, e, "SP ends before another engine");
	for (unsigned int q = 0; q < MAX_QUEUES; q++)
		if (now->n[c->base + QUEUE(q)] < c->queue_events[q])
			return bad(c, e, "SP ends before a DMA");
	for (unsigned int i = 0; i < c->semaphores; i++)
		if (c->sem[i].n && (i < insn->first || i > insn->last) == !c->sem[i].taken)
			return bad(c, e, "a semaphore is not 0 at the end");
	c->cleared = true;
	c->last = *now;
	return 0;
}

/* Raises a semaphore of the other core, which knows then what this engine does. */
static int barrier(struct check *c, unsigned int e, uint32_t semaphore)
{
	struct stream *s = &c->s[e];

	if (!c->sibling)
		return bad(c, e, "a barrier in a program for one core");
	s->now.n[c->base + e] = ++s->events;
	return increment(c->sibling, e, semaphore, c->base + e, &s->now);
}

/*
 * Takes the barriers of the other core back. What that raises meanwhile for the next program stays,
 * which a clear would lose.
 */
static int take_back(struct check *c, unsigned int e, const struct neuron_insn *insn)
{
	struct semaphore *s =
		insn->update_index < c->semaphores ? &c->sem[insn->update_index] : NULL;

	if (!c->ends_at_fence || e != NEURON_ENG_SP || !s || !is_siblings(c, s) || s->taken)
		return bad(c, e,
			   "subtracts from a semaphore that is not the other core's to raise");
	if (insn->update_value != s->n)
		return bad(c, e, "does not subtract all that the other core's barriers have added");
	s->taken = true;
	return 0;
}

/* Does a core know at its end all that the other one did in the memory of both? */
static int check_fence(struct check *c)
{
	const struct check *sibling = c->sibling;

	for (unsigned int e = 0; e < c->target->engines; e++)
		if (c->last.n[sibling->base + e] < sibling->s[e].used)
			return bad(c, NEURON_ENG_SP, "ends before an engine of the other core");
	for (unsigned int q = 0; q < MAX_QUEUES; q++)
		if (c->last.n[sibling->base + QUEUE(q)] < sibling->queue_events[q])
			return bad(c, NEURON_ENG_SP, "ends before a DMA of the other core");
	return 0;
}

/* When a core clears its semaphores, are all the other one's barriers past? */
static int check_barriers(struct check *c)
{
	for (unsigned int i = 0; i < c->semaphores; i++) {
		const struct semaphore *s = &c->sem[i];
		unsigned int by = (unsigned int)s->producer;

		if (!is_siblings(c, s))
			continue;
		if (c->last.n[by] < s->after[(size_t)(s->n - 1) * c->width + by])
			return bad(c, NEURON_ENG_SP, "ends before a barrier of the other core");
		if (c->ends_at_fence && !s->taken)
			return bad(c, NEURON_ENG_SP, "clears what the other core may raise again");
	}
	return c->ends_at_fence ? check_fence(c) : 0;
}

/* 1: executed, 0: waits, or -errno */
static int step(struct check *c, unsigned int e)
{
	struct stream *s = &c->s[e];
	const struct neuron_insn *insn = &s->insn;
	struct ncc_access acc[NCC_MAX_ACCESS];
	int rc = decode(c, e), n;

	if (rc)
		return rc;
	if (insn->wait != NEURON_WAIT_NONE) {
		const struct semaphore *sem = &c->sem[insn->wait_index % c->semaphores];

		if (insn->wait != NEURON_WAIT_SEM_GE || insn->wait_index >= c->semaphores)
			return bad(c, e,
				   "waits for something else than a semaphore to be at least a "
				   "number");
		if (insn->wait_value > sem->n)
			return 0;
		if (sem->taken)
			return bad(c, e, "waits for barriers that were taken back");
		if (insn->wait_value)
			merge(c, &s->now, &sem->after[(size_t)(insn->wait_value - 1) * c->width]);
	}

	rc = check_insn(c, e, insn);
	if (rc)
		return rc;
	if (insn->opcode == NEURON_OP_CUSTOM_OP && insn->custom.args >= c->sg->ncustom)
		return bad(c, e, "a custom operator without arguments");
	n = insn->opcode == NEURON_OP_CUSTOM_OP
		    ? (int)ncc_custom_access(&c->sg->custom[insn->custom.args], acc)
		    : (int)ncc_insn_access(insn, c->target,
					   neuron_isa_weights_for(&s->array, insn)->columns, acc);
	localise(c, acc, n);
	rc = order(c, e, &s->now, acc, n);
	if (!rc)
		rc = remember(c, e, s->events, acc, n);
	if (!rc && insn->opcode == NEURON_OP_PSEUDO_DMA_TRIGGER)
		rc = trigger(c, e, insn->id);
	if (!rc && insn->opcode == NEURON_OP_PSEUDO_CORE_BARRIER)
		rc = barrier(c, e, insn->id);
	if (!rc && insn->opcode == NEURON_OP_SEM_RANGE_CLEAR)
		rc = check_clear(c, e, insn);
	if (rc)
		return rc;
	if (n > 0 || insn->update != NEURON_UPD_NONE)
		s->now.n[c->base + e] = ++s->events;
	if (n > 0)
		s->used = s->events;
	if (insn->update == NEURON_UPD_SEM_SUB_IMM && take_back(c, e, insn))
		return -EINVAL;
	if (insn->update != NEURON_UPD_NONE && insn->update != NEURON_UPD_SEM_INC &&
	    insn->update != NEURON_UPD_SEM_SUB_IMM)
		return bad(c, e, "updates a semaphore in another way than by one");
	if (insn->update == NEURON_UPD_SEM_INC &&
	    increment(c, e, insn->update_index, c->base + e, &s->now))
		return -EINVAL;
	s->words += s->nwords * NEURON_INSN_WORD;
	s->left -= s->nwords;
	s->nwords = 0;
	s->at++;
	return 1;
}

/* Executes an engine as far as it goes by itself. 1: it did something, 0: it waits, or -errno */
static int go(struct check *c, unsigned int e)
{
	int moved = 0, rc;

	for (; c->s[e].left; moved = 1) {
		rc = step(c, e);
		if (rc < 0)
			return rc;
		if (!rc)
			break;
	}
	return moved;
}

static int check_end(struct check *c)
{
	for (unsigned int e = 0; e < c->target->engines; e++) {
		if (c->s[e].left)
			return bad(c, e, "waits for ever");
		if (c->s[e].next_dma != c->sg->engine[e].ndma)
			return bad(c, e, "does not trigger all of its DMAs");
	}
	if (!c->cleared)
		return ncc_fail(c->err, -EINVAL, "checker: SP does not clear the semaphores");
	return check_barriers(c);
}

static int replay(struct check *c, unsigned int n)
{
	bool progress = true;
	int rc = 0;

	while (progress) {
		progress = false;
		for (unsigned int i = 0; i < n * c->target->engines; i++) {
			rc = go(&c[i % n], i / n);
			if (rc < 0)
				return rc;
			progress |= rc;
		}
	}
	for (unsigned int i = 0; i < n; i++) {
		rc = check_end(&c[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static void begin(struct check *c, const struct neff_subgraph *sg,
		  const struct neuron_target *target, struct ncc_error *err)
{
	c->sg = sg;
	c->target = target;
	c->semaphores = neuron_target_program_semaphores(target);
	c->err = err;
	for (unsigned int i = 0; i < c->semaphores; i++)
		c->sem[i].producer = -1;
	for (unsigned int e = 0; e < c->target->engines; e++) {
		c->s[e].words = sg->engine[e].instr;
		c->s[e].left = sg->engine[e].instr_size / NEURON_INSN_WORD;
	}
}

static void release(struct check *c)
{
	for (unsigned int i = 0; i < c->semaphores; i++)
		free(c->sem[i].after);
}

/* The most queues that one of the cores has, of those that it may have */
static unsigned int most_queues(const struct check *c, unsigned int n)
{
	unsigned int most = 0;

	for (unsigned int i = 0; i < n; i++)
		most = c[i].sg->nqueues > most ? c[i].sg->nqueues : most;
	return most < MAX_QUEUES ? most : MAX_QUEUES;
}

/* A program, or those of both cores of a logical one: number k of each */
static int check_programs(const struct neff_model *model, unsigned int k, struct ncc_error *err)
{
	const unsigned int n = model->header.lnc_size > 1 ? CORES : 1;
	const unsigned int each = neff_programs(model);
	struct ncc_records *rec = calloc(1, sizeof(*rec));
	struct check *c = calloc(n, sizeof(*c));
	int rc = rec && c ? 0 : ncc_no_memory(err);

	for (unsigned int i = 0; !rc && i < n; i++) {
		c[i].sibling = n > 1 ? &c[!i] : NULL;
		c[i].second = i;
		c[i].base = i * ACTORS;
		c[i].rec = rec;
		c[i].ends_at_fence = n > 1 && neff_in_parts(model);
		begin(&c[i], &model->subgraphs[i * each + k], model->target, err);
	}
	for (unsigned int i = 0; !rc && i < n; i++)
		c[i].width = (n - 1) * ACTORS + QUEUE(most_queues(c, n));
	if (!rc)
		rc = replay(c, n);
	for (unsigned int i = 0; c && i < n; i++)
		release(&c[i]);
	if (rec)
		ncc_records_free(rec);
	free(rec);
	free(c);
	return rc;
}

int ncc_check_model(const struct neff_model *model, struct ncc_error *err)
{
	int rc = 0;

	for (unsigned int k = 0; k < neff_programs(model) && !rc; k++)
		rc = check_programs(model, k, err);
	return rc;
}
