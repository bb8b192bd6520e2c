/* SPDX-License-Identifier: MIT */
/*
 * Who executes a strand, and in which order (chip.h has the locking). A core's strand runs what
 * starts first in virtual time, an instruction of an engine or a packet of a queue; in equal cases
 * engines come before queues, the lower number before the higher. The host's strand, where no time
 * is known, serves its queues in turn. A packet may be left at any descriptor and is taken up there
 * before anything else, so stopping a strand changes no order.
 */
#include "block.h"
#include "dma.h"
#include "guard.h"
#include "pool.h"
#include "route.h"
#include "stream.h"
#include "word.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_STEPS 256
#define STEP_INSNS 16
#define BATCH_BYTES (4 << 20)
#define BATCH_DESCS 1024

/* An instruction's write: only recorded, delivered when it is over */
int ncore_strand_out(struct ncore_strand *strand, uint64_t addr, uint32_t value, uint64_t time)
{
	uint64_t local = addr & ~strand->chip->gen->window.alias;
	uint8_t domain = ncore_guard_core_domain(strand->chip, strand->index);
	struct neuron_place at;

	if (strand->out_count == NCORE_OUTBOX)
		return -EACCES;
	if (ncore_word_owner(strand->chip, local) < 0 &&
	    (local & 3 || !ncore_find(strand->chip, local, &at) || at.kind != NEURON_BLOCK_UDMA ||
	     !ncore_udma_is_doorbell((uint32_t)at.rel)))
		return -EACCES;
	if (!ncore_guard_word(strand->chip, domain, local))
		return -EACCES;
	strand->out[strand->out_count++] =
		(struct ncore_post){ .addr = local, .value = value, .time = time };
	return 0;
}

/*
 * The device's memory that an instruction of the strand's core reaches; NULL: none, or not all of
 * it
 */
static uint8_t *core_memory(struct ncore_strand *strand, uint64_t addr, uint64_t len,
			    struct ncore_ep *ep)
{
	uint8_t domain = ncore_guard_core_domain(strand->chip, strand->index);

	if (ncore_route_own(strand->chip, addr, ep) || ep->kind != NCORE_EP_MEM ||
	    ep->core != NCORE_EP_NO_CORE || len > ep->len ||
	    !ncore_guard_whole(strand->chip, domain, NULL, ep, len))
		return NULL;
	return ep->ptr;
}

const uint8_t *ncore_strand_window(struct ncore_strand *strand, uint64_t addr, uint64_t len)
{
	struct ncore_ep ep;

	return core_memory(strand, addr, len, &ep);
}

int ncore_strand_memory(struct ncore_strand *strand, uint64_t addr, void *buf, uint64_t len,
			bool write)
{
	struct ncore_ep ep;

	if (!core_memory(strand, addr, len, &ep))
		return -EACCES;
	return buf && ncore_ep_rw(strand->chip, &ep, buf, len, write) ? -EACCES : 0;
}

static int deliver(struct ncore_strand *strand, const struct ncore_post *post)
{
	int core = ncore_core_word(strand->chip, post->addr);

	if (core < 0 && !ncore_topsp_word_write(strand->chip, post->addr, post->value, post->time,
						NCORE_BY_STRAND))
		return 0;
	if (core < 0)
		return ncore_reg_post(strand->chip, strand, post->addr, post->value, post->time);
	if ((unsigned int)core != strand->index)
		return ncore_strand_post(&strand->chip->strand[core], post);
	ncore_core_word_write(strand, post->addr, post->value, post->time, NCORE_BY_STRAND);
	return 0;
}

/* false: another strand's inbox is full, and this strand waits for it. */
static bool flush_out(struct ncore_strand *strand)
{
	unsigned int i, n;

	for (n = 0; n < strand->out_count; n++)
		if (deliver(strand, &strand->out[n]) == -EAGAIN)
			break;
	for (i = n; i < strand->out_count; i++)
		strand->out[i - n] = strand->out[i];
	strand->out_count -= n;
	return !strand->out_count;
}

static void wake_stalled(struct ncore_strand *strand)
{
	struct ncore_queue *q, *next;
	uint32_t engines = 0;

	for (q = strand->stalled.first; q; q = next) {
		next = q->next;
		if (!ncore_strand_refillable(strand, q)) {
			engines |= 1u << q->stall_engine;
			continue;
		}
		pthread_mutex_lock(&strand->chip->lock);
		ncore_list_del(&strand->stalled, q);
		q->state = NCORE_Q_READY;
		pthread_mutex_unlock(&strand->chip->lock);
		ncore_list_add(&strand->taken, q, false);
	}
	tpb_refill(strand->tpb, engines);
}

static void append(struct ncore_queue_list *list, struct ncore_queue_list *more)
{
	if (!more->first)
		return;
	if (list->last)
		list->last->next = more->first;
	else
		list->first = more->first;
	list->last = more->last;
	list->count += more->count;
	more->first = more->last = NULL;
	more->count = 0;
}

/* Takes the queues that became ready: they are the executor's alone until it leaves. */
static void take_ready(struct ncore_strand *strand)
{
	if (!atomic_load(&strand->ready.count))
		return;
	pthread_mutex_lock(&strand->chip->lock);
	append(&strand->taken, &strand->ready);
	pthread_mutex_unlock(&strand->chip->lock);
}

/* chip->lock */
static void give_back(struct ncore_strand *strand)
{
	append(&strand->taken, &strand->ready);
	append(&strand->ready, &strand->taken);
}

static bool before(const struct ncore_queue *a, const struct ncore_queue *b)
{
	uint64_t at = ncore_queue_time(a), bt = ncore_queue_time(b);

	if (at != bt)
		return at < bt;
	return ncore_queue_before(a, b);
}

/* The first in order of the taken queues, without one of them; NULL: no other */
static struct ncore_queue *first_queue(struct ncore_strand *strand,
				       const struct ncore_queue *without)
{
	struct ncore_queue *q, *first = NULL;

	for (q = strand->taken.first; q; q = q->next) {
		if (q == without || (first && !before(q, first)))
			continue;
		first = q;
		if (!strand->tpb) /* in turn */
			break;
	}
	return first;
}

/* chip->lock: where a queue goes that cannot go on here; a strand to kick, or NULL */
static struct ncore_strand *put_off(struct ncore_strand *strand, struct ncore_queue *q,
				    enum ncore_step step, unsigned int arg)
{
	struct ncore_chip *chip = strand->chip;

	switch (step) {
	case NCORE_STEP_STARVED:
		if (ncore_queue_runnable(chip, q)) /* rung meanwhile */
			ncore_list_add(&strand->taken, q, false);
		else
			q->state = NCORE_Q_IDLE;
		return NULL;
	case NCORE_STEP_STALLED:
		q->stall_engine = (uint8_t)arg;
		q->state = NCORE_Q_STALLED;
		q->home = (uint8_t)strand->index;
		ncore_list_add(&strand->stalled, q, false);
		return NULL;
	default: /* NCORE_STEP_MOVE */
		q->strand = q->home = (uint8_t)arg;
		ncore_list_add(&chip->strand[arg].ready, q, false);
		return &chip->strand[arg];
	}
}

static void leave_taken(struct ncore_strand *strand, struct ncore_queue *q, enum ncore_step step,
			unsigned int arg)
{
	struct ncore_strand *kick;

	ncore_list_del(&strand->taken, q);
	pthread_mutex_lock(&strand->chip->lock);
	kick = put_off(strand, q, step, arg);
	pthread_mutex_unlock(&strand->chip->lock);
	if (kick)
		ncore_strand_kick(kick);
}

/* One queue, as long as its packets come first. false: left in the middle, or cannot go on now */
static bool serve(struct ncore_strand *strand, struct ncore_queue *q, struct ncore_budget *budget)
{
	struct ncore_queue *other = first_queue(strand, q);
	unsigned int arg = 0;
	enum ncore_step step = ncore_queue_step(strand, q, other, budget, &arg);

	strand->left = step == NCORE_STEP_LEAVE ? q : NULL;
	switch (step) {
	case NCORE_STEP_LEAVE:
		return false;
	case NCORE_STEP_PACKET:
	case NCORE_STEP_RETRY:
		if (!strand->tpb) {
			ncore_list_del(&strand->taken, q);
			ncore_list_add(&strand->taken, q, false);
		}
		return step == NCORE_STEP_PACKET;
	default:
		leave_taken(strand, q, step, arg);
		return true;
	}
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Executes what comes first. false: nothing can go on now, or the budget is used. */
static bool step_strand(struct ncore_strand *strand, struct ncore_budget *budget)
{
	struct ncore_queue *q;
	uint64_t last;

	take_ready(strand);
	q = strand->left ? strand->left : first_queue(strand, NULL);
	if (strand->left || !strand->tpb)
		return q && serve(strand, q, budget);
	last = q ? ncore_queue_time(q) : TPB_NEVER;
	if (tpb_runnable(strand->tpb) && tpb_next(strand->tpb) <= last) {
		strand->ran = true;
		tpb_run_until(strand->tpb, last, budget->until_ns ? 1 : STEP_INSNS);
		return true;
	}
	return q && serve(strand, q, budget);
}

/* Executes a batch. The executor leaves early when someone wants the strand to stop. */
static void run_batch(struct ncore_strand *strand, struct ncore_budget *budget)
{
	unsigned int steps;

	for (steps = 0; budget->until_ns || steps < BATCH_STEPS; steps++) {
		if (atomic_load(&strand->stops))
			return;
		if (budget->until_ns && now_ns() >= budget->until_ns)
			return;
		if (atomic_load(&strand->inbox.count))
			ncore_strand_drain(strand);
		if (!flush_out(strand))
			return;
		if (strand->stalled.first)
			wake_stalled(strand);
		if (!step_strand(strand, budget))
			return;
	}
}

/* chip->lock is held. Whether a thread may begin to execute */
static bool enter(struct ncore_strand *strand)
{
	if (strand->running || strand->chip->paused || atomic_load(&strand->stops))
		return false;
	strand->running = true;
	return true;
}

static bool leave(struct ncore_strand *strand)
{
	bool stop = strand->chip->paused || atomic_load(&strand->stops);
	bool work;

	give_back(strand);
	work = ncore_strand_has_work(strand);
	strand->running = false;
	if (!work || stop)
		pthread_cond_broadcast(&strand->chip->cond);
	return work && !stop;
}

static bool work(struct ncore_strand *strand)
{
	struct ncore_budget budget = { .bytes = BATCH_BYTES, .descs = BATCH_DESCS };
	struct ncore_chip *chip = strand->chip;
	bool more;

	pthread_mutex_lock(&chip->lock);
	if (!enter(strand)) {
		pthread_mutex_unlock(&chip->lock);
		return false; /* The thread that stopped the strand kicks it when it is done. */
	}
	pthread_mutex_unlock(&chip->lock);
	run_batch(strand, &budget);
	pthread_mutex_lock(&chip->lock);
	more = leave(strand);
	pthread_mutex_unlock(&chip->lock);
	return more;
}

void ncore_strand_inline(struct ncore_strand *strand)
{
	struct ncore_budget budget = { .bytes = NCORE_INLINE_BYTES, .descs = NCORE_INLINE_DESCS };
	struct ncore_chip *chip = strand->chip;

	if (strand->tpb)
		budget = (struct ncore_budget){ BATCH_BYTES, BATCH_DESCS,
						now_ns() + NCORE_INLINE_NS };

	if (!enter(strand)) {
		ncore_strand_kick(strand);
		return;
	}
	pthread_mutex_unlock(&chip->lock);
	run_batch(strand, &budget);
	pthread_mutex_lock(&chip->lock);
	if (leave(strand))
		ncore_strand_kick(strand);
}

int ncore_strand_init(struct ncore_chip *chip, unsigned int index)
{
	struct ncore_strand *strand = &chip->strand[index];

	strand->chip = chip;
	strand->index = index;
	strand->work = work;
	strand->tpb = index < chip->gen->cores ? chip->core[index].tpb : NULL;
	pthread_mutex_init(&strand->inbox.lock, NULL);
	strand->shared.dma = calloc(chip->gen->dma_engines, sizeof(*strand->shared.dma));
	if (chip->gen->target->core > 1)
		strand->streams = malloc(sizeof(*strand->streams));
	return strand->shared.dma && (strand->streams || chip->gen->target->core == 1) ? 0
										       : -ENOMEM;
}

void ncore_strand_fini(struct ncore_strand *strand)
{
	free(strand->shared.dma);
	free(strand->streams);
	pthread_mutex_destroy(&strand->inbox.lock);
}
