/* SPDX-License-Identifier: MIT */
/*
 * A queue between its registers (udma.c) and its work (dma.c): whether it can go on, on which list
 * it is, and what is left of it when it stops.
 */
#include "queue.h"

#include "chip.h"

#include <string.h>

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

bool ncore_made_due(const struct ncore_queue *q)
{
	const struct ncore_transfers *w = q->made;
	const struct ncore_ring *m = &q->ring[NCORE_M2S];

	if (w->open)
		return true;
	return atomic_load_explicit(&w->count, memory_order_relaxed) && !q->in_packet && !m->open &&
	       !q->ring[NCORE_S2M].open && (int32_t)(m->closed - w->entry[w->first].after) >= 0;
}

void ncore_made_forget(struct ncore_queue *q)
{
	struct ncore_transfers *w = q->made;

	if (atomic_load(&w->count) || w->at || w->open) { /* else its pages stay untouched */
		atomic_store(&w->count, 0);
		w->at = 0;
		w->open = false;
	}
}

bool ncore_queue_runnable(struct ncore_chip *chip, struct ncore_queue *q)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];
	const uint32_t enable = NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULER;

	if (atomic_load(&q->stopped) || atomic_load(&chip->udma[q->engine].disabled))
		return false;
	if (ncore_made_due(q))
		return true;
	return ncore_ring_credit(m) && ncore_ring_credit(s) &&
	       (ncore_queue_reg(m, NEURON_UDMA_Q_CFG) & enable) == enable &&
	       (ncore_queue_reg(s, NEURON_UDMA_Q_CFG) & enable) == enable;
}

/* chip->lock: put an idle queue that can go on to work in a strand */
struct ncore_strand *ncore_queue_start(struct ncore_chip *chip, struct ncore_queue *q,
				       unsigned int strand)
{
	if (q->state != NCORE_Q_IDLE || !ncore_queue_runnable(chip, q))
		return NULL;
	q->strand = (uint8_t)strand;
	q->state = NCORE_Q_READY;
	ncore_list_add(&chip->strand[strand].ready, q, false);
	return &chip->strand[strand];
}

static void queue_unlist(struct ncore_chip *chip, struct ncore_queue *q)
{
	struct ncore_strand *strand = &chip->strand[q->strand];

	if (q->state == NCORE_Q_READY)
		ncore_list_del(&strand->ready, q);
	else if (q->state == NCORE_Q_STALLED)
		ncore_list_del(&strand->stalled, q);
	if (strand->left == q)
		strand->left = NULL;
	q->state = NCORE_Q_IDLE;
}

static void ring_reset(struct ncore_ring *r)
{
	atomic_store(&r->credit, 0);
	atomic_store(&r->head, 0);
	atomic_store(&r->tail, 0);
	r->ring_id = 1;
	r->open = false;
	r->done = 0;
	r->cached = 0;
}

/* The queue's strand is stopped, or the queue is idle */
void ncore_queue_reset(struct ncore_chip *chip, struct ncore_queue *q, unsigned int half)
{
	unsigned int other = !half;

	queue_unlist(chip, q);
	ncore_made_forget(q);
	ring_reset(&q->ring[half]);
	/* A packet does not survive the loss of one of its sides. */
	q->ring[other].open = false;
	q->ring[other].done = 0;
	q->in_packet = false;
	memset(q->packet_descs, 0, sizeof(q->packet_descs));
	atomic_store(&q->stopped, NCORE_Q_RUNS);
	q->home = (uint8_t)chip->gen->cores;
}

void ncore_queue_abort(struct ncore_chip *chip, struct ncore_queue *q)
{
	unsigned int half;

	queue_unlist(chip, q);
	ncore_made_forget(q);
	for (half = 0; half < NCORE_HALVES; half++) {
		struct ncore_ring *r = &q->ring[half];
		uint32_t len = ncore_queue_reg(r, NEURON_UDMA_Q_LEN) & 0xffffff;
		uint32_t credit = atomic_exchange(&r->credit, 0);

		if (len && (uint64_t)atomic_load(&r->head) + credit >= len)
			r->ring_id = (r->ring_id + 1) & 3;
		atomic_store(&r->head, atomic_load(&r->tail));
		r->open = false;
		r->done = 0;
		r->cached = 0;
	}
	q->in_packet = false;
	memset(q->packet_descs, 0, sizeof(q->packet_descs));
}

void ncore_queue_rest(struct ncore_chip *chip, struct ncore_queue *q)
{
	ncore_queue_abort(chip, q);
	atomic_store(&q->stopped, NCORE_Q_RUNS);
}
