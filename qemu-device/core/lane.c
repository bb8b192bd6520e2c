/* SPDX-License-Identifier: MIT */
/*
 * Lanes: who executes, in which order (chip.h has the locking). A turn of a core's lane is what
 * other lanes posted, one instruction of each engine, then one packet of each queue that was ready
 * when the turn began, in the order in which they became ready. A turn may be left at any
 * descriptor and is taken up at the same place, so stopping a lane changes no order.
 */
#include "chip.h"

#include <errno.h>
#include <sched.h>

#define BATCH_TURNS 64
#define BATCH_BYTES (4 << 20)
#define BATCH_DESCS 1024
/* A queue that found a FIFO full waits until half of it is free: fewer, larger refills */
#define FIFO_REFILL (NEURON_FIFO_WORDS / 2)

void ncore_list_add(struct ncore_queue_list *list, struct ncore_queue *q, bool front)
{
	q->next = front ? list->first : NULL;
	if (front)
		list->first = q;
	else if (list->last)
		list->last->next = q;
	else
		list->first = q;
	if (!front || !list->last)
		list->last = q;
	list->count++;
}

void ncore_list_del(struct ncore_queue_list *list, struct ncore_queue *q)
{
	struct ncore_queue **p = &list->first, *prev = NULL;

	for (; *p && *p != q; p = &(*p)->next)
		prev = *p;
	if (!*p)
		return;
	*p = q->next;
	if (list->last == q)
		list->last = prev;
	list->count--;
}

void ncore_lane_init(struct ncore_chip *chip, unsigned int index)
{
	struct ncore_lane *lane = &chip->lane[index];

	lane->chip = chip;
	lane->index = index;
	lane->tpb = index < chip->gen->cores ? chip->core[index].tpb : NULL;
	pthread_mutex_init(&lane->inbox.lock, NULL);
}

/* Posts */

int ncore_lane_post(struct ncore_lane *lane, const struct ncore_post *post)
{
	unsigned int n;
	int ret = -EAGAIN;

	pthread_mutex_lock(&lane->inbox.lock);
	n = atomic_load(&lane->inbox.count);
	if (n < NCORE_INBOX) {
		lane->inbox.post[(lane->inbox.first + n) % NCORE_INBOX] = *post;
		atomic_store(&lane->inbox.count, n + 1);
		ret = 0;
	}
	pthread_mutex_unlock(&lane->inbox.lock);
	if (!ret)
		ncore_lane_kick(lane);
	return ret;
}

int ncore_core_word_post(struct ncore_chip *chip, uint64_t local, uint32_t value, uint64_t time)
{
	struct ncore_post post = { .addr = local, .value = value, .time = time };

	return ncore_lane_post(&chip->lane[ncore_core_word(chip, local)], &post);
}

static bool take_post(struct ncore_lane *lane, struct ncore_post *post)
{
	bool any;

	pthread_mutex_lock(&lane->inbox.lock);
	any = atomic_load(&lane->inbox.count) > 0;
	if (any) {
		*post = lane->inbox.post[lane->inbox.first];
		lane->inbox.first = (lane->inbox.first + 1) % NCORE_INBOX;
		atomic_fetch_sub(&lane->inbox.count, 1);
	}
	pthread_mutex_unlock(&lane->inbox.lock);
	return any;
}

void ncore_lane_drain(struct ncore_lane *lane)
{
	struct ncore_post post;
	unsigned int n = NCORE_INBOX; /* posters may be as fast as we are */

	while (atomic_load(&lane->inbox.count) && n-- && take_post(lane, &post))
		ncore_core_word_write(lane, post.addr, post.value, post.time);
}

/* An instruction's write: only recorded, delivered after the turn */
int ncore_lane_out(struct ncore_lane *lane, uint64_t addr, uint32_t value, uint64_t time)
{
	uint64_t local = addr & ~lane->chip->gen->window.alias;
	uint8_t domain = ncore_guard_core_domain(lane->chip, lane->index);
	struct neuron_place at;

	if (lane->out_count == NCORE_OUTBOX)
		return -EACCES;
	if (ncore_core_word(lane->chip, local) < 0 &&
	    (local & 3 || !ncore_find(lane->chip, local, &at) || at.kind != NEURON_BLOCK_UDMA ||
	     !ncore_udma_is_doorbell((uint32_t)at.rel)))
		return -EACCES;
	if (!ncore_guard_word(lane->chip, domain, local))
		return -EACCES;
	lane->out[lane->out_count++] =
		(struct ncore_post){ .addr = local, .value = value, .time = time };
	return 0;
}

static int deliver(struct ncore_lane *lane, const struct ncore_post *post)
{
	int core = ncore_core_word(lane->chip, post->addr);

	if (core < 0)
		return ncore_reg_post(lane->chip, lane, post->addr, post->value, post->time);
	if ((unsigned int)core != lane->index)
		return ncore_lane_post(&lane->chip->lane[core], post);
	ncore_core_word_write(lane, post->addr, post->value, post->time);
	return 0;
}

/* false: another lane's inbox is full, and this core's engines wait */
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

/* Turns */

static bool refillable(struct ncore_lane *lane, struct ncore_queue *q)
{
	return tpb_fifo_space(lane->tpb, q->stall_engine) >= FIFO_REFILL;
}

static void wake_stalled(struct ncore_lane *lane)
{
	struct ncore_chip *chip = lane->chip;
	struct ncore_queue *q, *next;

	if (!lane->stalled.first)
		return;
	pthread_mutex_lock(&chip->lock);
	for (q = lane->stalled.first; q; q = next) {
		next = q->next;
		if (!refillable(lane, q))
			continue;
		ncore_list_del(&lane->stalled, q);
		q->state = NCORE_Q_READY;
		ncore_list_add(&lane->ready, q, false);
	}
	pthread_mutex_unlock(&chip->lock);
}

static struct ncore_queue *take_ready(struct ncore_lane *lane)
{
	struct ncore_queue *q;

	pthread_mutex_lock(&lane->chip->lock);
	q = lane->ready.first;
	if (q)
		ncore_list_del(&lane->ready, q);
	pthread_mutex_unlock(&lane->chip->lock);
	return q;
}

/* Where a queue goes after its step; a lane to kick, or NULL */
static struct ncore_lane *put_back(struct ncore_lane *lane, struct ncore_queue *q,
				   enum ncore_step step, unsigned int arg)
{
	struct ncore_chip *chip = lane->chip;
	struct ncore_lane *target = lane;

	switch (step) {
	case NCORE_STEP_STARVED:
		if (!ncore_queue_runnable(chip, q)) {
			q->state = NCORE_Q_IDLE;
			return NULL;
		}
		break; /* rung meanwhile */
	case NCORE_STEP_STALLED:
		q->stall_engine = (uint8_t)arg;
		q->state = NCORE_Q_STALLED;
		q->home = (uint8_t)lane->index;
		ncore_list_add(&lane->stalled, q, false);
		return NULL;
	case NCORE_STEP_MOVE:
		q->lane = q->home = (uint8_t)arg;
		target = &chip->lane[arg];
		break;
	default:
		break;
	}
	ncore_list_add(&target->ready, q, step == NCORE_STEP_LEAVE);
	return target == lane ? NULL : target;
}

/* Would the next turns be this queue's packets and nothing else? Then they need no ceremony. */
static bool alone(struct ncore_lane *lane)
{
	return !atomic_load(&lane->ready.count) && !atomic_load(&lane->inbox.count) &&
	       !lane->out_count && !(lane->tpb && tpb_runnable(lane->tpb));
}

/* One queue, up to the end of its packet. false: left in the middle, or cannot go on now */
static bool serve(struct ncore_lane *lane, struct ncore_budget *budget)
{
	struct ncore_queue *q = take_ready(lane);
	struct ncore_lane *kick;
	enum ncore_step step;
	unsigned int arg = 0;

	if (!q) {
		lane->turn_left = 0;
		return true;
	}
	do {
		step = ncore_queue_step(lane, q, budget, &arg);
	} while (step == NCORE_STEP_PACKET && alone(lane));
	pthread_mutex_lock(&lane->chip->lock);
	if (step != NCORE_STEP_LEAVE)
		lane->turn_left--;
	kick = put_back(lane, q, step, arg);
	pthread_mutex_unlock(&lane->chip->lock);
	if (kick)
		ncore_lane_kick(kick);
	return step != NCORE_STEP_LEAVE && step != NCORE_STEP_RETRY;
}

static void begin_turn(struct ncore_lane *lane)
{
	ncore_lane_drain(lane);
	if (lane->tpb && flush_out(lane)) {
		lane->ran |= tpb_runnable(lane->tpb);
		tpb_run(lane->tpb, lane->chip->gen->target->engines);
		flush_out(lane);
		wake_stalled(lane);
	}
	pthread_mutex_lock(&lane->chip->lock);
	lane->turn_left = lane->ready.count;
	pthread_mutex_unlock(&lane->chip->lock);
}

bool ncore_lane_has_work(struct ncore_lane *lane)
{
	struct ncore_queue *q;

	if (lane->ready.first || atomic_load(&lane->inbox.count) || lane->out_count)
		return true;
	if (!lane->tpb)
		return false;
	for (q = lane->stalled.first; q; q = q->next)
		if (refillable(lane, q))
			return true;
	return tpb_runnable(lane->tpb);
}

static bool idle_hint(struct ncore_lane *lane)
{
	return !lane->turn_left && !atomic_load(&lane->inbox.count) && !lane->out_count &&
	       !(lane->tpb && tpb_runnable(lane->tpb));
}

/* The executor. Leaves early when someone wants the lane to stop. */
static void run_batch(struct ncore_lane *lane, struct ncore_budget *budget)
{
	unsigned int turns;

	for (turns = 0; turns < BATCH_TURNS; turns++) {
		if (atomic_load(&lane->stops))
			return;
		if (!lane->turn_left) {
			begin_turn(lane);
			if (idle_hint(lane))
				return;
		}
		while (lane->turn_left)
			if (!serve(lane, budget))
				return;
	}
}

/* chip->lock: may someone begin to execute? */
static bool enter(struct ncore_lane *lane)
{
	if (lane->running || lane->chip->paused || atomic_load(&lane->stops))
		return false;
	lane->running = true;
	return true;
}

static bool leave(struct ncore_lane *lane)
{
	bool work = ncore_lane_has_work(lane);
	bool stop = lane->chip->paused || atomic_load(&lane->stops);

	lane->running = false;
	if (!work || stop)
		pthread_cond_broadcast(&lane->chip->cond);
	return work && !stop;
}

bool ncore_lane_work(struct ncore_lane *lane)
{
	struct ncore_budget budget = { .bytes = BATCH_BYTES, .descs = BATCH_DESCS };
	struct ncore_chip *chip = lane->chip;
	bool more;

	pthread_mutex_lock(&chip->lock);
	if (!enter(lane)) {
		pthread_mutex_unlock(&chip->lock);
		return false; /* who stopped it kicks it when done */
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

void ncore_lane_kick(struct ncore_lane *lane)
{
	ncore_pool_submit(lane->chip->cfg.pool, lane);
}

void ncore_lane_stop(struct ncore_lane *lane)
{
	atomic_fetch_add(&lane->stops, 1);
	while (lane->running)
		pthread_cond_wait(&lane->chip->cond, &lane->chip->lock);
}

void ncore_lane_start(struct ncore_lane *lane)
{
	if (atomic_fetch_sub(&lane->stops, 1) == 1 && !lane->running && ncore_lane_has_work(lane))
		ncore_lane_kick(lane);
	/* what was done while it stood may have left it idle, which someone may wait for */
	pthread_cond_broadcast(&lane->chip->cond);
}

void ncore_lane_sync(struct ncore_lane *lane)
{
	if (!atomic_load(&lane->inbox.count))
		return;
	ncore_lane_stop(lane);
	ncore_lane_drain(lane);
	ncore_lane_start(lane);
}

void ncore_lane_reset(struct ncore_lane *lane)
{
	pthread_mutex_lock(&lane->inbox.lock);
	atomic_store(&lane->inbox.count, 0);
	lane->inbox.first = 0;
	pthread_mutex_unlock(&lane->inbox.lock);
	lane->out_count = 0;
	lane->turn_left = 0;
}
