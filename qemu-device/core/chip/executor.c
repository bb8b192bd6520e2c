/* SPDX-License-Identifier: MIT */
/*
 * Who executes a lane, and in which order (chip.h has the locking). A core's lane runs what starts
 * first in virtual time, an instruction of an engine or a packet of a queue; in equal cases engines
 * come before queues, the lower number before the higher. The host's lane, where no time is known,
 * serves its queues in turn. A packet may be left at any descriptor and is taken up there before
 * anything else, so stopping a lane changes no order.
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
int ncore_lane_out(struct ncore_lane *lane, uint64_t addr, uint32_t value, uint64_t time)
{
	uint64_t local = addr & ~lane->chip->gen->window.alias;
	uint8_t domain = ncore_guard_core_domain(lane->chip, lane->index);
	struct neuron_place at;

	if (lane->out_count == NCORE_OUTBOX)
		return -EACCES;
	if (ncore_word_owner(lane->chip, local) < 0 &&
	    (local & 3 || !ncore_find(lane->chip, local, &at) || at.kind != NEURON_BLOCK_UDMA ||
	     !ncore_udma_is_doorbell((uint32_t)at.rel)))
		return -EACCES;
	if (!ncore_guard_word(lane->chip, domain, local))
		return -EACCES;
	lane->out[lane->out_count++] =
		(struct ncore_post){ .addr = local, .value = value, .time = time };
	return 0;
}

/* The device's memory that an instruction of the lane's core reaches; NULL: none, or not all of it */
static uint8_t *core_memory(struct ncore_lane *lane, uint64_t addr, uint64_t len,
			    struct ncore_ep *ep)
{
	uint8_t domain = ncore_guard_core_domain(lane->chip, lane->index);

	if (ncore_route_own(lane->chip, addr, ep) || ep->kind != NCORE_EP_MEM ||
	    ep->core != NCORE_EP_NO_CORE || len > ep->len ||
	    !ncore_guard_whole(lane->chip, domain, NULL, ep, len))
		return NULL;
	return ep->ptr;
}

const uint8_t *ncore_lane_window(struct ncore_lane *lane, uint64_t addr, uint64_t len)
{
	struct ncore_ep ep;

	return core_memory(lane, addr, len, &ep);
}

int ncore_lane_memory(struct ncore_lane *lane, uint64_t addr, void *buf, uint64_t len, bool write)
{
	struct ncore_ep ep;

	if (!core_memory(lane, addr, len, &ep))
		return -EACCES;
	return buf && ncore_ep_rw(lane->chip, &ep, buf, len, write) ? -EACCES : 0;
}

static int deliver(struct ncore_lane *lane, const struct ncore_post *post)
{
	int core = ncore_core_word(lane->chip, post->addr);

	if (core < 0 &&
	    !ncore_topsp_word_write(lane->chip, post->addr, post->value, post->time, NCORE_BY_LANE))
		return 0;
	if (core < 0)
		return ncore_reg_post(lane->chip, lane, post->addr, post->value, post->time);
	if ((unsigned int)core != lane->index)
		return ncore_lane_post(&lane->chip->lane[core], post);
	ncore_core_word_write(lane, post->addr, post->value, post->time, NCORE_BY_LANE);
	return 0;
}

/* false: another lane's inbox is full, and this lane waits for it. */
static bool flush_out(struct ncore_lane *lane)
{
	unsigned int i, n;

	for (n = 0; n < lane->out_count; n++)
		if (deliver(lane, &lane->out[n]) == -EAGAIN)
			break;
	for (i = n; i < lane->out_count; i++)
		lane->out[i - n] = lane->out[i];
	lane->out_count -= n;
	return !lane->out_count;
}

static void wake_stalled(struct ncore_lane *lane)
{
	struct ncore_queue *q, *next;
	uint32_t engines = 0;

	for (q = lane->stalled.first; q; q = next) {
		next = q->next;
		if (!ncore_lane_refillable(lane, q)) {
			engines |= 1u << q->stall_engine;
			continue;
		}
		pthread_mutex_lock(&lane->chip->lock);
		ncore_list_del(&lane->stalled, q);
		q->state = NCORE_Q_READY;
		pthread_mutex_unlock(&lane->chip->lock);
		ncore_list_add(&lane->taken, q, false);
	}
	tpb_refill(lane->tpb, engines);
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
static void take_ready(struct ncore_lane *lane)
{
	if (!atomic_load(&lane->ready.count))
		return;
	pthread_mutex_lock(&lane->chip->lock);
	append(&lane->taken, &lane->ready);
	pthread_mutex_unlock(&lane->chip->lock);
}

/* chip->lock */
static void give_back(struct ncore_lane *lane)
{
	append(&lane->taken, &lane->ready);
	append(&lane->ready, &lane->taken);
}

static bool before(const struct ncore_queue *a, const struct ncore_queue *b)
{
	uint64_t at = ncore_queue_time(a), bt = ncore_queue_time(b);

	if (at != bt)
		return at < bt;
	return ncore_queue_before(a, b);
}

/* The first in order of the taken queues, without one of them; NULL: no other */
static struct ncore_queue *first_queue(struct ncore_lane *lane, const struct ncore_queue *without)
{
	struct ncore_queue *q, *first = NULL;

	for (q = lane->taken.first; q; q = q->next) {
		if (q == without || (first && !before(q, first)))
			continue;
		first = q;
		if (!lane->tpb) /* in turn */
			break;
	}
	return first;
}

/* chip->lock: where a queue goes that cannot go on here; a lane to kick, or NULL */
static struct ncore_lane *put_off(struct ncore_lane *lane, struct ncore_queue *q,
				  enum ncore_step step, unsigned int arg)
{
	struct ncore_chip *chip = lane->chip;

	switch (step) {
	case NCORE_STEP_STARVED:
		if (ncore_queue_runnable(chip, q)) /* rung meanwhile */
			ncore_list_add(&lane->taken, q, false);
		else
			q->state = NCORE_Q_IDLE;
		return NULL;
	case NCORE_STEP_STALLED:
		q->stall_engine = (uint8_t)arg;
		q->state = NCORE_Q_STALLED;
		q->home = (uint8_t)lane->index;
		ncore_list_add(&lane->stalled, q, false);
		return NULL;
	default: /* NCORE_STEP_MOVE */
		q->lane = q->home = (uint8_t)arg;
		ncore_list_add(&chip->lane[arg].ready, q, false);
		return &chip->lane[arg];
	}
}

static void leave_taken(struct ncore_lane *lane, struct ncore_queue *q, enum ncore_step step,
			unsigned int arg)
{
	struct ncore_lane *kick;

	ncore_list_del(&lane->taken, q);
	pthread_mutex_lock(&lane->chip->lock);
	kick = put_off(lane, q, step, arg);
	pthread_mutex_unlock(&lane->chip->lock);
	if (kick)
		ncore_lane_kick(kick);
}

/* One queue, as long as its packets come first. false: left in the middle, or cannot go on now */
static bool serve(struct ncore_lane *lane, struct ncore_queue *q, struct ncore_budget *budget)
{
	struct ncore_queue *other = first_queue(lane, q);
	unsigned int arg = 0;
	enum ncore_step step = ncore_queue_step(lane, q, other, budget, &arg);

	lane->left = step == NCORE_STEP_LEAVE ? q : NULL;
	switch (step) {
	case NCORE_STEP_LEAVE:
		return false;
	case NCORE_STEP_PACKET:
	case NCORE_STEP_RETRY:
		if (!lane->tpb) {
			ncore_list_del(&lane->taken, q);
			ncore_list_add(&lane->taken, q, false);
		}
		return step == NCORE_STEP_PACKET;
	default:
		leave_taken(lane, q, step, arg);
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
static bool step_lane(struct ncore_lane *lane, struct ncore_budget *budget)
{
	struct ncore_queue *q;
	uint64_t last;

	take_ready(lane);
	q = lane->left ? lane->left : first_queue(lane, NULL);
	if (lane->left || !lane->tpb)
		return q && serve(lane, q, budget);
	last = q ? ncore_queue_time(q) : TPB_NEVER;
	if (tpb_runnable(lane->tpb) && tpb_next(lane->tpb) <= last) {
		lane->ran = true;
		tpb_run_until(lane->tpb, last, budget->until_ns ? 1 : STEP_INSNS);
		return true;
	}
	return q && serve(lane, q, budget);
}

/* Executes a batch. The executor leaves early when someone wants the lane to stop. */
static void run_batch(struct ncore_lane *lane, struct ncore_budget *budget)
{
	unsigned int steps;

	for (steps = 0; budget->until_ns || steps < BATCH_STEPS; steps++) {
		if (atomic_load(&lane->stops))
			return;
		if (budget->until_ns && now_ns() >= budget->until_ns)
			return;
		if (atomic_load(&lane->inbox.count))
			ncore_lane_drain(lane);
		if (!flush_out(lane))
			return;
		if (lane->stalled.first)
			wake_stalled(lane);
		if (!step_lane(lane, budget))
			return;
	}
}

/* chip->lock is held. Whether a thread may begin to execute */
static bool enter(struct ncore_lane *lane)
{
	if (lane->running || lane->chip->paused || atomic_load(&lane->stops))
		return false;
	lane->running = true;
	return true;
}

static bool leave(struct ncore_lane *lane)
{
	bool stop = lane->chip->paused || atomic_load(&lane->stops);
	bool work;

	give_back(lane);
	work = ncore_lane_has_work(lane);
	lane->running = false;
	if (!work || stop)
		pthread_cond_broadcast(&lane->chip->cond);
	return work && !stop;
}

static bool work(struct ncore_lane *lane)
{
	struct ncore_budget budget = { .bytes = BATCH_BYTES, .descs = BATCH_DESCS };
	struct ncore_chip *chip = lane->chip;
	bool more;

	pthread_mutex_lock(&chip->lock);
	if (!enter(lane)) {
		pthread_mutex_unlock(&chip->lock);
		return false; /* The thread that stopped the lane kicks it when it is done. */
	}
	pthread_mutex_unlock(&chip->lock);
	run_batch(lane, &budget);
	pthread_mutex_lock(&chip->lock);
	more = leave(lane);
	pthread_mutex_unlock(&chip->lock);
	return more;
}

void ncore_lane_inline(struct ncore_lane *lane)
{
	struct ncore_budget budget = { .bytes = NCORE_INLINE_BYTES, .descs = NCORE_INLINE_DESCS };
	struct ncore_chip *chip = lane->chip;

	if (lane->tpb)
		budget = (struct ncore_budget){ BATCH_BYTES, BATCH_DESCS,
						now_ns() + NCORE_INLINE_NS };

	if (!enter(lane)) {
		ncore_lane_kick(lane);
		return;
	}
	pthread_mutex_unlock(&chip->lock);
	run_batch(lane, &budget);
	pthread_mutex_lock(&chip->lock);
	if (leave(lane))
		ncore_lane_kick(lane);
}

int ncore_lane_init(struct ncore_chip *chip, unsigned int index)
{
	struct ncore_lane *lane = &chip->lane[index];

	lane->chip = chip;
	lane->index = index;
	lane->work = work;
	lane->tpb = index < chip->gen->cores ? chip->core[index].tpb : NULL;
	pthread_mutex_init(&lane->inbox.lock, NULL);
	lane->shared.dma = calloc(chip->gen->dma_engines, sizeof(*lane->shared.dma));
	if (chip->gen->target->core > 1)
		lane->streams = malloc(sizeof(*lane->streams));
	return lane->shared.dma && (lane->streams || chip->gen->target->core == 1) ? 0 : -ENOMEM;
}

void ncore_lane_fini(struct ncore_lane *lane)
{
	free(lane->shared.dma);
	free(lane->streams);
	pthread_mutex_destroy(&lane->inbox.lock);
}
