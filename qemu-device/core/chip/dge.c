/* SPDX-License-Identifier: MIT */
/*
 * Transfers that instructions make (docs/isa.md, dma): they wait in a queue of the core, behind
 * what was rung before them, and are copied run by run as descriptors are (dma.c). Nothing of them
 * lies in memory that a guest sees; they are part of the queue's state (state.c).
 */
#include "chip.h"
#include "guard.h"

#include <errno.h>

#include "neuron/isa/check.h"

static uint32_t runs(const struct tpb_transfer *t)
{
	return (uint32_t)t->num[0][0] * t->num[0][1] * t->num[0][2];
}

/* The address of a side's run */
static uint64_t run_at(const struct tpb_transfer *t, unsigned int side, uint32_t i)
{
	uint64_t at = t->addr[side];

	for (unsigned int d = NEURON_DMA_DIMS; d--; i /= t->num[side][d])
		at += (uint64_t)((int64_t)(i % t->num[side][d]) * t->step[side][d]);
	return at;
}

static int append(struct ncore_strand *strand, struct ncore_queue *q, const struct tpb_transfer *t,
		  uint64_t time)
{
	struct ncore_transfers *w = q->made;
	struct ncore_ring *m = &q->ring[NCORE_M2S];
	uint32_t n = atomic_load(&w->count), at;

	/* another strand is at it, or it would never come to this one */
	if (n == NCORE_TRANSFERS || (q->state != NCORE_Q_IDLE && q->strand != strand->index) ||
	    atomic_load(&q->stopped))
		return -EACCES;
	at = (w->first + n) % NCORE_TRANSFERS;
	w->entry[at].t = *t;
	w->entry[at].after = m->closed + ncore_ring_credit(m);
	atomic_store(&w->count, n + 1);
	atomic_store(&q->hosted, false);
	if (time > atomic_load(&q->time))
		atomic_store(&q->time, time);
	ncore_queue_start(strand->chip, q, strand->index);
	return 0;
}

int ncore_made_append(struct ncore_strand *strand, const struct tpb_transfer *t, uint64_t time)
{
	struct ncore_chip *chip = strand->chip;
	uint8_t domain = ncore_guard_core_domain(chip, strand->index);
	struct ncore_queue *q;
	int ret;

	if (t->engine >= chip->gen->dma_engines || t->queue >= NCORE_QUEUES ||
	    neuron_gen_queue_core(chip->gen, t->engine, t->queue) != strand->index ||
	    neuron_gen_is_copy_queue(chip->gen, t->engine, t->queue))
		return -EACCES;
	pthread_mutex_lock(&chip->lock);
	q = &ncore_udma_use(chip, t->engine)->queue[t->queue];
	if (domain == NEURON_GUARD_HOST || (domain && ncore_guard_queue_domain(chip, q) == domain))
		ret = append(strand, q, t, time);
	else
		ret = -EACCES;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

bool ncore_made_open(struct ncore_queue *q)
{
	struct ncore_transfers *w = q->made;
	const struct tpb_transfer *t = &w->entry[w->first].t;

	if (w->at == runs(t))
		return false;
	for (unsigned int i = 0; i < NCORE_HALVES; i++) {
		struct ncore_ring *r = &q->ring[i]; /* M2S reads, S2M writes */

		r->cur.head = (t->run & NEURON_UDMA_DESC_LEN_MASK) | NEURON_UDMA_DESC_FIRST |
			      NEURON_UDMA_DESC_LAST;
		r->cur.addr = run_at(t, i, w->at);
		r->open = true;
		r->done = 0;
	}
	w->open = true;
	return true;
}

void ncore_made_close(struct ncore_queue *q)
{
	q->made->at++;
	q->made->open = q->ring[NCORE_M2S].open = q->ring[NCORE_S2M].open = false;
	q->ring[NCORE_M2S].done = q->ring[NCORE_S2M].done = 0;
}

bool ncore_made_finish(struct ncore_strand *strand, struct ncore_queue *q, uint64_t time)
{
	struct ncore_transfers *w = q->made;

	if (w->at < runs(&w->entry[w->first].t))
		return false;
	tpb_sem_write(strand->tpb, TPB_SEM_INC, w->entry[w->first].t.semaphore, 1, time);
	w->first = (w->first + 1) % NCORE_TRANSFERS;
	w->at = 0;
	atomic_fetch_sub(&w->count, 1);
	return true;
}
