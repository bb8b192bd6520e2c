/* SPDX-License-Identifier: MIT */
/*
 * Strands: the right to execute one, and what others write to it while it executes. executor.c is
 * who has that right.
 */
#include "strand.h"

#include "chip.h"
#include "pool.h"
#include "word.h"

#include <errno.h>
#include <string.h>

int ncore_strand_post(struct ncore_strand *strand, const struct ncore_post *post)
{
	unsigned int n;
	int ret = -EAGAIN;

	pthread_mutex_lock(&strand->inbox.lock);
	n = atomic_load(&strand->inbox.count);
	if (n < NCORE_INBOX) {
		strand->inbox.post[(strand->inbox.first + n) % NCORE_INBOX] = *post;
		atomic_store(&strand->inbox.count, n + 1);
		ret = 0;
	}
	pthread_mutex_unlock(&strand->inbox.lock);
	if (!ret)
		ncore_strand_kick(strand);
	return ret;
}

int ncore_core_word_post(struct ncore_chip *chip, uint64_t local, uint32_t value, uint64_t time)
{
	struct ncore_post post = { .addr = local, .value = value, .time = time };

	return ncore_strand_post(&chip->strand[ncore_core_word(chip, local)], &post);
}

static bool take_post(struct ncore_strand *strand, struct ncore_post *post)
{
	bool any;

	pthread_mutex_lock(&strand->inbox.lock);
	any = atomic_load(&strand->inbox.count) > 0;
	if (any) {
		*post = strand->inbox.post[strand->inbox.first];
		strand->inbox.first = (strand->inbox.first + 1) % NCORE_INBOX;
		atomic_fetch_sub(&strand->inbox.count, 1);
	}
	pthread_mutex_unlock(&strand->inbox.lock);
	return any;
}

void ncore_strand_drain(struct ncore_strand *strand)
{
	struct ncore_post post;
	unsigned int n = NCORE_INBOX; /* Posters may be as fast as this loop. */

	while (atomic_load(&strand->inbox.count) && n-- && take_post(strand, &post))
		ncore_core_word_write(strand, post.addr, post.value, post.time, NCORE_BY_OTHERS);
}

uint64_t ncore_strand_until(const struct ncore_strand *strand, const struct ncore_queue *q,
			    const struct ncore_queue *other)
{
	uint64_t next, until = TPB_NEVER;

	if (!strand->tpb)
		return other ? 0 : until;
	if (other)
		until = ncore_queue_time(other) + ncore_queue_before(q, other);
	next = tpb_next(strand->tpb);
	return next < until ? next : until;
}

bool ncore_strand_refillable(struct ncore_strand *strand, struct ncore_queue *q)
{
	return tpb_fifo_space(strand->tpb, q->stall_engine) >= TPB_FIFO_REFILL;
}

bool ncore_strand_has_work(struct ncore_strand *strand)
{
	struct ncore_queue *q;

	if (strand->ready.first || atomic_load(&strand->inbox.count) || strand->out_count)
		return true;
	if (!strand->tpb)
		return false;
	for (q = strand->stalled.first; q; q = q->next)
		if (ncore_strand_refillable(strand, q))
			return true;
	return tpb_runnable(strand->tpb);
}

void ncore_strand_kick(struct ncore_strand *strand)
{
	ncore_pool_submit(strand->chip->cfg.pool, strand);
}

void ncore_strand_stop(struct ncore_strand *strand)
{
	atomic_fetch_add(&strand->stops, 1);
	while (strand->running)
		pthread_cond_wait(&strand->chip->cond, &strand->chip->lock);
}

void ncore_strand_start(struct ncore_strand *strand)
{
	if (atomic_fetch_sub(&strand->stops, 1) == 1 && !strand->running &&
	    ncore_strand_has_work(strand))
		ncore_strand_kick(strand);
	/* What was done while the strand was stopped may have left it idle, for which a thread may
	 * wait. */
	pthread_cond_broadcast(&strand->chip->cond);
}

void ncore_strands_stop(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->strands; i++)
		ncore_strand_stop(&chip->strand[i]);
}

void ncore_strands_start(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->strands; i++)
		ncore_strand_start(&chip->strand[i]);
}

void ncore_strand_sync(struct ncore_strand *strand)
{
	if (!atomic_load(&strand->inbox.count))
		return;
	ncore_strand_stop(strand);
	ncore_strand_drain(strand);
	ncore_strand_start(strand);
}

void ncore_strand_reset(struct ncore_strand *strand)
{
	pthread_mutex_lock(&strand->inbox.lock);
	atomic_store(&strand->inbox.count, 0);
	strand->inbox.first = 0;
	pthread_mutex_unlock(&strand->inbox.lock);
	strand->out_count = 0;
	strand->left = NULL;
	memset(strand->shared.dma, 0, strand->chip->gen->dma_engines * sizeof(*strand->shared.dma));
	strand->shared = (struct ncore_shared){ .dma = strand->shared.dma };
}
