/* SPDX-License-Identifier: MIT */
/*
 * Does a program leave its core at rest? Whoever executes next finds what it left, so when SP has
 * executed its last instruction every other engine has to be through, every DMA complete, every
 * semaphore 0 and every event clear (docs/neff.md, Rules a program keeps). Called by neff_check.c,
 * which hands over each instruction.
 *
 * A walk back from SP's end collects what must have happened before it, whatever the speed of
 * engines and queues. A wait for n of a semaphore means that its n-th increment has happened, if
 * one engine or one queue increments it by one and nobody changes it otherwise: from 0 on
 * increments then come in one order. An engine that did an instruction did all before it, a queue
 * that completed a DMA completed all before it, and a DMA that is complete was triggered. Other
 * waits tell nothing and are no error. A wait that is never satisfied, if SP's end needs it, means
 * that SP never ends: such an execution is over by its timeout, and the core is reset.
 */
#include "neff_rest.h"

#include <errno.h>
#include <stdlib.h>

#include "neff_priv.h"

#define SP NEURON_ENG_SP
#define NOBODY UINT32_MAX
#define QUEUE(q) (NEURON_ENGINES_MAX + (q)) /* as an actor */

/* An instruction that waits for a semaphore to be at least value */
struct wait {
	uint32_t at; /* instruction */
	uint32_t value;
	uint8_t semaphore;
};

struct engine {
	uint32_t n, next_dma;
	uint32_t end; /* behind its last instruction that does something */
	size_t last; /* byte offset of that one */
	struct wait *wait;
	uint32_t nwaits, cap;
	uint32_t known, seen; /* instructions that are done before SP's end; waits looked at */
};

struct queue {
	uint32_t *trigger; /* of each DMA: the owner's instruction */
	uint32_t n, cap, known;
};

struct semaphore {
	uint32_t producer; /* engine, or QUEUE */
	bool free; /* more than one increments it, or somebody does something else */
	bool changed; /* by anything but a clear */
	bool set; /* to a value, or cleared on the way */
	int64_t sum;
	uint32_t *by; /* of each increment: the producer's instruction or DMA */
	uint32_t n, cap;
};

struct neff_rest {
	const struct neff_subgraph *sg;
	const struct neuron_target *target;
	struct engine engine[NEURON_ENGINES_MAX];
	struct queue *queue;
	struct semaphore sem[NEURON_SEMAPHORES_MAX];
	int64_t events[NEURON_EVENTS_MAX]; /* set, less cleared */
	uint8_t clear_first, clear_last; /* SP's last instruction */
	bool clears;
	bool endless; /* SP's end is never reached */
};

static int grow(void **list, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t wanted = *cap ? *cap * 2 : 16;
	void *p;

	if (n < *cap)
		return 0;
	p = reallocarray(*list, wanted, size);
	if (!p)
		return -ENOMEM;
	*list = p;
	*cap = wanted;
	return 0;
}

struct neff_rest *neff_rest_new(const struct neff_subgraph *sg, const struct neuron_target *target)
{
	struct neff_rest *rest = calloc(1, sizeof(*rest));

	if (!rest)
		return NULL;
	rest->sg = sg;
	rest->target = target;
	rest->queue = calloc(sg->nqueues + 1, sizeof(*rest->queue));
	if (!rest->queue) {
		free(rest);
		return NULL;
	}
	for (unsigned int i = 0; i < rest->target->semaphores; i++)
		rest->sem[i].producer = NOBODY;
	return rest;
}

void neff_rest_free(struct neff_rest *rest)
{
	if (!rest)
		return;
	for (unsigned int e = 0; e < rest->target->engines; e++)
		free(rest->engine[e].wait);
	for (unsigned int q = 0; q < rest->sg->nqueues; q++)
		free(rest->queue[q].trigger);
	for (unsigned int i = 0; i < rest->target->semaphores; i++)
		free(rest->sem[i].by);
	free(rest->queue);
	free(rest);
}

/* The program, instruction by instruction */

static int add_increment(struct neff_rest *rest, unsigned int index, uint32_t producer, uint32_t by)
{
	struct semaphore *s = &rest->sem[index];

	s->sum++;
	s->changed = true;
	if (s->producer == NOBODY)
		s->producer = producer;
	if (s->producer != producer)
		s->free = true;
	if (s->free)
		return 0;
	if (grow((void **)&s->by, s->n, &s->cap, sizeof(*s->by)))
		return -ENOMEM;
	s->by[s->n++] = by;
	return 0;
}

static int add_trigger(struct neff_rest *rest, unsigned int eng)
{
	struct engine *e = &rest->engine[eng];
	const struct neff_dma *dma = &rest->sg->engine[eng].dma[e->next_dma++];
	struct queue *q = &rest->queue[dma->queue];
	int err = grow((void **)&q->trigger, q->n, &q->cap, sizeof(*q->trigger));

	if (err)
		return err;
	q->trigger[q->n++] = e->n;
	return dma->semaphore < 0 ? 0
				  : add_increment(rest, (unsigned int)dma->semaphore,
						  QUEUE(dma->queue), q->n - 1);
}

static void cleared_early(struct neff_rest *rest, unsigned int first, unsigned int last)
{
	for (unsigned int i = first; i <= last; i++)
		rest->sem[i].set = true;
}

/* What SP clears with its last instruction, if that leaves nothing itself, is 0 at the end */
static void add_clear(struct neff_rest *rest, unsigned int eng, const struct neuron_insn *insn)
{
	if (eng == SP && rest->clears)
		cleared_early(rest, rest->clear_first, rest->clear_last);
	if (eng == SP)
		rest->clears = false;
	if (insn->opcode != NEURON_OP_SEM_RANGE_CLEAR)
		return;
	if (eng != SP || insn->update != NEURON_UPD_NONE) {
		cleared_early(rest, insn->first, insn->last);
		return;
	}
	rest->clears = true;
	rest->clear_first = insn->first;
	rest->clear_last = insn->last;
}

static int add_update(struct neff_rest *rest, unsigned int eng, const struct neuron_insn *insn)
{
	struct semaphore *s = &rest->sem[insn->update_index % rest->target->semaphores];
	uint32_t at = rest->engine[eng].n;

	switch (insn->update) {
	case NEURON_UPD_SEM_INC:
		return add_increment(rest, insn->update_index, eng, at);
	case NEURON_UPD_SEM_DEC:
		s->sum--;
		break;
	case NEURON_UPD_SEM_ADD_IMM:
		s->sum += insn->update_value;
		break;
	case NEURON_UPD_SEM_SUB_IMM:
		s->sum -= insn->update_value;
		break;
	case NEURON_UPD_SEM_WR_IMM:
		s->set = true;
		break;
	case NEURON_UPD_EVT_SET:
		rest->events[insn->update_index]++;
		return 0;
	case NEURON_UPD_EVT_CLR:
		rest->events[insn->update_index]--;
		return 0;
	default:
		return 0;
	}
	s->free = true;
	s->changed = true;
	return 0;
}

static int add_wait(struct engine *e, const struct neuron_insn *insn)
{
	if ((insn->wait != NEURON_WAIT_SEM_GE && insn->wait != NEURON_WAIT_SEM_EQ) ||
	    !insn->wait_value)
		return 0;
	if (grow((void **)&e->wait, e->nwaits, &e->cap, sizeof(*e->wait)))
		return -ENOMEM;
	e->wait[e->nwaits++] = (struct wait){ e->n, insn->wait_value, insn->wait_index };
	return 0;
}

/* Whenever it is executed, nobody sees it: the whole program of an engine that has nothing to do */
static bool is_idle(const struct neuron_insn *insn)
{
	return (insn->opcode == NEURON_OP_PROGRAM_START || insn->opcode == NEURON_OP_NOP) &&
	       insn->wait == NEURON_WAIT_NONE && insn->update == NEURON_UPD_NONE;
}

int neff_rest_insn(struct neff_rest *rest, unsigned int eng, const struct neuron_insn *insn,
		   size_t offset)
{
	struct engine *e = &rest->engine[eng];
	int err = add_wait(e, insn);

	if (!err && insn->opcode == NEURON_OP_PSEUDO_DMA_TRIGGER)
		err = add_trigger(rest, eng);
	add_clear(rest, eng, insn);
	if (!err)
		err = add_update(rest, eng, insn);
	e->n++;
	if (!is_idle(insn)) {
		e->last = offset;
		e->end = e->n;
	}
	return err;
}

/* The walk back from SP's end */

static void know(struct neff_rest *rest, uint32_t actor, uint32_t n)
{
	struct queue *q;

	if (actor < QUEUE(0)) {
		if (rest->engine[actor].known < n)
			rest->engine[actor].known = n;
		return;
	}
	q = &rest->queue[actor - QUEUE(0)];
	if (q->known < n) {
		unsigned int owner = rest->sg->queues[actor - QUEUE(0)].owner;

		q->known = n;
		know(rest, owner, q->trigger[n - 1] + 1);
	}
}

/* What the waits of an engine mean, up to where it is known to have come; true: there were some */
static bool look_back(struct neff_rest *rest, struct engine *e)
{
	uint32_t from = e->seen;

	for (; e->seen < e->nwaits && e->wait[e->seen].at < e->known; e->seen++) {
		const struct wait *w = &e->wait[e->seen];
		const struct semaphore *s = &rest->sem[w->semaphore];

		if (s->free || s->set)
			continue;
		if (w->value > s->n)
			rest->endless = true;
		else
			know(rest, s->producer, s->by[w->value - 1] + 1);
	}
	return e->seen > from;
}

static void walk(struct neff_rest *rest)
{
	bool more;

	know(rest, SP, rest->engine[SP].n);
	do {
		more = false;
		for (unsigned int e = 0; e < rest->target->engines; e++)
			more |= look_back(rest, &rest->engine[e]);
	} while (more);
}

static int fail_dma(const struct neff_rest *rest, unsigned int q, struct neff_error *err)
{
	unsigned int owner = rest->sg->queues[q].owner;
	const struct neff_engine *e = &rest->sg->engine[owner];
	uint32_t skip = rest->queue[q].known;
	unsigned int i = 0;

	while (e->dma[i].queue != q || skip--)
		i++;
	return neff_fail(err, "%s/%s.json: dma[%u]: sp does not wait until it is complete",
			 rest->sg->name, rest->target->engine[owner].name, i);
}

static int check_done(const struct neff_rest *rest, struct neff_error *err)
{
	for (unsigned int e = 0; e < rest->target->engines; e++)
		if (rest->engine[e].known < rest->engine[e].end)
			return neff_fail(err,
					 "%s/%s.bin: instruction at %zu: sp does not "
					 "wait until it is done",
					 rest->sg->name, rest->target->engine[e].name,
					 rest->engine[e].last);
	for (unsigned int q = 0; q < rest->sg->nqueues; q++)
		if (rest->queue[q].known < rest->queue[q].n)
			return fail_dma(rest, q, err);
	return 0;
}

/* Errors of semaphores and events end an execution and reset the core, so sums hold */
static int check_zero(const struct neff_rest *rest, struct neff_error *err)
{
	for (unsigned int i = 0; i < rest->target->semaphores; i++) {
		const struct semaphore *s = &rest->sem[i];
		bool cleared = rest->clears && i >= rest->clear_first && i <= rest->clear_last;

		if (!cleared && ((s->set && s->changed) || s->sum))
			return neff_fail(err, "%s/sp.bin: semaphore %u is not 0 at the end",
					 rest->sg->name, i);
	}
	for (unsigned int i = 0; i < rest->target->events; i++)
		if (rest->events[i])
			return neff_fail(err,
					 "%s/def.json: event %u is not set as often as cleared",
					 rest->sg->name, i);
	return 0;
}

int neff_rest_check(struct neff_rest *rest, struct neff_error *err)
{
	int ret;

	walk(rest);
	if (rest->endless)
		return 0;
	ret = check_done(rest, err);
	return ret ? ret : check_zero(rest, err);
}
