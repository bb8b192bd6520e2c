/* SPDX-License-Identifier: MIT */
/*
 * Checks that a program leaves its core at rest. The next program finds what this one left, so when
 * SP has executed its last instruction, every other engine must have finished, every DMA must be
 * complete, every semaphore 0 and every event clear (docs/neff.md, Rules a program keeps).
 * neff_check.c calls this and hands over each instruction.
 *
 * A walk back from SP's end collects what must have happened before it, whatever the speed of
 * engines and queues. A wait for n of a semaphore means that its n-th increment has happened, if
 * one engine or one queue increments it by one and nobody changes it otherwise: increments then
 * come in one order, from 0 on. An engine that executed an instruction has executed all before it,
 * a queue that completed a DMA has completed all before it, and a DMA that is complete was
 * triggered. Other waits prove nothing and are no error. If SP's end depends on a wait that is
 * never satisfied, SP never ends: such an execution ends by its timeout, and the core is reset.
 */
#include "neff_rest.h"

#include <errno.h>
#include <stdlib.h>

#include "neff_priv.h"

#define SP NEURON_ENG_SP
#define NOBODY UINT32_MAX
#define QUEUE(q) (NEURON_ENGINES_MAX + (q)) /* a queue as a producer */

/* An instruction that waits for a semaphore to be at least value */
struct wait {
	uint32_t at; /* index of the instruction */
	uint32_t value;
	uint8_t semaphore;
};

struct engine {
	uint32_t n, next_dma;
	uint32_t end; /* index behind its last instruction that has an effect */
	size_t last; /* byte offset of that instruction */
	struct wait *wait;
	uint32_t nwaits, cap;
	/* instructions that are known to be done before SP's end; waits that were looked at */
	uint32_t known, seen;
};

struct queue {
	uint32_t *trigger; /* for each DMA: the owner's instruction that triggers it */
	uint32_t n, cap, known;
};

struct semaphore {
	uint32_t producer; /* an engine, or QUEUE(q) */
	bool free; /* more than one producer increments it, or something else changes it */
	bool changed; /* by anything other than a clear */
	bool set; /* to a value, or cleared on the way */
	/* barriers of the logical core's other core that raise it; and they are known to be past */
	uint32_t raised;
	bool arrived;
	int64_t sum;
	uint32_t *by; /* for each increment: the producer's instruction or DMA */
	uint32_t n, cap;
};

struct neff_rest {
	const struct neff_subgraph *sg;
	const struct neuron_target *target;
	struct engine engine[NEURON_ENGINES_MAX];
	struct queue *queue;
	struct semaphore sem[NEURON_SEMAPHORES_MAX];
	int64_t events[NEURON_EVENTS_MAX]; /* sets less clears */
	uint8_t clear_first, clear_last; /* the range that SP's last instruction clears */
	bool clears;
	bool endless; /* SP never reaches its end */
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

struct neff_rest *neff_rest_new(const struct neff_subgraph *sg, const struct neuron_target *target,
				const uint32_t *raised)
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
	for (unsigned int i = 0; i < rest->target->semaphores; i++) {
		rest->sem[i].producer = NOBODY;
		rest->sem[i].raised = raised[i];
	}
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

/*
 * The range that SP's last instruction clears is 0 at the end, if that instruction itself leaves
 * nothing.
 */
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

/*
 * An instruction without an effect, wherever it stands: the whole program of an engine that has
 * nothing to do
 */
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

/*
 * Follows the waits of an engine up to the instruction that is known to be done; true if there were
 * any.
 */
static bool look_back(struct neff_rest *rest, struct engine *e)
{
	uint32_t from = e->seen;

	for (; e->seen < e->nwaits && e->wait[e->seen].at < e->known; e->seen++) {
		const struct wait *w = &e->wait[e->seen];
		struct semaphore *s = &rest->sem[w->semaphore];

		if (s->raised) {
			s->arrived |= w->value >= s->raised;
			continue;
		}
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
					 "%s/%s.bin: instruction at %zu: "
					 "sp does not wait until it is done",
					 rest->sg->name, rest->target->engine[e].name,
					 rest->engine[e].last);
	for (unsigned int q = 0; q < rest->sg->nqueues; q++)
		if (rest->queue[q].known < rest->queue[q].n)
			return fail_dma(rest, q, err);
	return 0;
}

/*
 * A semaphore that the other core raises: that is over, and what it raised is taken back one by
 * one, or was waited for as a whole and is cleared.
 */
static bool is_taken(const struct semaphore *s, bool cleared)
{
	return !s->set && s->sum <= 0 &&
	       (s->sum + s->raised == 0 || (cleared && s->arrived && !s->changed));
}

/* Sums are enough: an error of a semaphore or an event ends the execution and resets the core. */
static int check_zero(const struct neff_rest *rest, struct neff_error *err)
{
	for (unsigned int i = 0; i < rest->target->semaphores; i++) {
		const struct semaphore *s = &rest->sem[i];
		bool cleared = rest->clears && i >= rest->clear_first && i <= rest->clear_last;

		if (s->raised && !is_taken(s, cleared))
			return neff_fail(err,
					 "%s/sp.bin: semaphore %u: sp does not wait for all %u "
					 "barriers of the other core, or does not leave it 0",
					 rest->sg->name, i, s->raised);
		if (s->raised)
			continue;
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
