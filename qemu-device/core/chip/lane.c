/* SPDX-License-Identifier: MIT */
/*
 * Lanes: the right to execute one, and what others write to it while it executes. executor.c is
 * who has that right.
 */
#include "lane.h"

#include "chip.h"
#include "pool.h"
#include "word.h"

#include <errno.h>
#include <string.h>

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
	unsigned int n = NCORE_INBOX; /* Posters may be as fast as this loop. */

	while (atomic_load(&lane->inbox.count) && n-- && take_post(lane, &post))
		ncore_core_word_write(lane, post.addr, post.value, post.time, NCORE_BY_OTHERS);
}

uint64_t ncore_lane_until(const struct ncore_lane *lane, const struct ncore_queue *q,
			  const struct ncore_queue *other)
{
	uint64_t next, until = TPB_NEVER;

	if (!lane->tpb)
		return other ? 0 : until;
	if (other)
		until = ncore_queue_time(other) + ncore_queue_before(q, other);
	next = tpb_next(lane->tpb);
	return next < until ? next : until;
}

bool ncore_lane_refillable(struct ncore_lane *lane, struct ncore_queue *q)
{
	return tpb_fifo_space(lane->tpb, q->stall_engine) >= TPB_FIFO_REFILL;
}

bool ncore_lane_has_work(struct ncore_lane *lane)
{
	struct ncore_queue *q;

	if (lane->ready.first || atomic_load(&lane->inbox.count) || lane->out_count)
		return true;
	if (!lane->tpb)
		return false;
	for (q = lane->stalled.first; q; q = q->next)
		if (ncore_lane_refillable(lane, q))
			return true;
	return tpb_runnable(lane->tpb);
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
	/* What was done while the lane was stopped may have left it idle, for which a thread may
	 * wait. */
	pthread_cond_broadcast(&lane->chip->cond);
}

void ncore_lanes_stop(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->lanes; i++)
		ncore_lane_stop(&chip->lane[i]);
}

void ncore_lanes_start(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->lanes; i++)
		ncore_lane_start(&chip->lane[i]);
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
	lane->left = NULL;
	memset(lane->shared.dma, 0, lane->chip->gen->dma_engines * sizeof(*lane->shared.dma));
	lane->shared = (struct ncore_shared){ .dma = lane->shared.dma };
}
