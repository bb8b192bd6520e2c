/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of a queue's packets: fetched as far as a doorbell allows, checked, opened; a queue
 * whose descriptor is wrong stops and says so. Called by dma.c and what computes for it.
 */
#include "dma.h"

#include "event.h"
#include "guard.h"
#include "notify.h"
#include "route.h"

#include <errno.h>

static uint64_t ring_base(struct ncore_ring *r)
{
	return (uint64_t)ncore_load(ncore_ring_reg(r, NEURON_UDMA_Q_BASE_HI)) << 32 |
	       ncore_load(ncore_ring_reg(r, NEURON_UDMA_Q_BASE_LO));
}

static void report_stop(struct ncore_chip *chip, struct ncore_queue *q, uint16_t code,
			uint64_t addr, uint32_t data2)
{
	atomic_store(&q->stopped, NCORE_Q_ERROR);
	ncore_event(chip, NCORE_EV_DMA_ERROR, q->engine, q->index, code, addr);
	ncore_notify(chip, neuron_gen_queue_core(chip->gen, q->engine, q->index), NEURON_NQ_ERROR,
		     chip->gen->target->no_engine, code, (uint32_t)q->engine << 8 | q->index, addr,
		     data2, atomic_load(&q->time));
}

/* A stop that is the program's fault */
static void stop_queue(struct ncore_chip *chip, struct ncore_queue *q, uint16_t code, uint64_t addr,
		       uint32_t data2)
{
	ncore_guest_error(chip, NCORE_GE_UNDEFINED, addr, code);
	report_stop(chip, q, code, addr, data2);
}

void ncore_stop_queue(struct ncore_chip *chip, struct ncore_queue *q, uint16_t code, uint64_t addr)
{
	stop_queue(chip, q, code, addr, 0);
}

void ncore_refuse_stream(struct ncore_chip *chip, struct ncore_queue *q, uint64_t addr,
			 uint32_t reason)
{
	unsigned int core = neuron_gen_queue_core(chip->gen, q->engine, q->index);

	atomic_fetch_add(&chip->core[core].streams[NEURON_PERF_STREAMS - 1], 1);
	stop_queue(chip, q, NEURON_NERR_DMA_STREAM, addr, reason);
}

static bool ring_valid(struct ncore_ring *r)
{
	uint32_t len = ncore_ring_len(r);

	return len >= NEURON_UDMA_RING_MIN && !(len % NEURON_UDMA_RING_GRAIN) &&
	       !(ring_base(r) % NEURON_UDMA_RING_ALIGN) && atomic_load(&r->head) < len;
}

/* Fills the cache with descriptors from the head on, as far as the doorbell allows. */
static int ring_fetch(struct ncore_chip *chip, struct ncore_queue *q, struct ncore_ring *r)
{
	uint32_t head = atomic_load(&r->head);
	uint32_t n = ncore_ring_credit(r);
	struct ncore_ep ep;
	uint64_t addr, bytes;

	if (!ring_valid(r)) {
		ncore_stop_queue(chip, q, NEURON_NERR_DMA_DESC, ring_base(r));
		return -EINVAL;
	}
	if (n > NCORE_DESC_CACHE)
		n = NCORE_DESC_CACHE;
	if (n > ncore_ring_len(r) - head)
		n = ncore_ring_len(r) - head;
	addr = ring_base(r) + (uint64_t)head * NEURON_UDMA_DESC_SIZE;
	bytes = (uint64_t)n * NEURON_UDMA_DESC_SIZE;
	if (ncore_route_own(chip, addr, &ep) ||
	    !ncore_guard_whole(chip, ncore_guard_queue_domain(chip, q), &r->work->ring_hit, &ep,
			       bytes) ||
	    ncore_ep_rw(chip, &ep, r->work->cache, bytes, false)) {
		ncore_stop_queue(chip, q, NEURON_NERR_DMA_ABORT, addr);
		return -EFAULT;
	}
	r->cached = n;
	r->cache_at = 0;
	return 0;
}

/* Takes the descriptor at the head and checks what does not depend on its packet. */
static inline int ring_open(struct ncore_chip *chip, struct ncore_queue *q, unsigned int half)
{
	struct ncore_ring *r = &q->ring[half];
	const uint8_t *p;

	if (r->cache_at >= r->cached) {
		int ret = ring_fetch(chip, q, r);

		if (ret)
			return ret;
	}
	p = r->work->cache + r->cache_at * NEURON_UDMA_DESC_SIZE;
	r->cur.head = ncore_get64(p);
	r->cur.addr = ncore_get64(p + 8);
	if (!chip->cfg.no_ring_id_check &&
	    (ncore_desc_ctrl(&r->cur) & NEURON_UDMA_DESC_RING_ID_MASK) >>
			    NEURON_UDMA_DESC_RING_ID_SHIFT !=
		    r->ring_id) {
		ncore_stop_queue(chip, q, NEURON_NERR_DMA_DESC,
				 ring_base(r) + (uint64_t)r->head * NEURON_UDMA_DESC_SIZE);
		return -EINVAL;
	}
	r->open = true;
	r->done = 0;
	q->packet_descs[half]++;
	return 0;
}

static int check_packet(struct ncore_chip *chip, struct ncore_queue *q)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S];
	bool first = ncore_desc_ctrl(&m->cur) & NEURON_UDMA_DESC_FIRST;

	if (first == q->in_packet || q->packet_descs[NCORE_M2S] > chip->gen->target->packet_max ||
	    q->packet_descs[NCORE_S2M] > chip->gen->target->packet_max) {
		ncore_stop_queue(chip, q, NEURON_NERR_DMA_DESC,
				 ring_base(m) + (uint64_t)m->head * NEURON_UDMA_DESC_SIZE);
		return -EINVAL;
	}
	if (ncore_desc_meta(&m->cur) & NCORE_META_UNKNOWN)
		ncore_guest_error(chip, NCORE_GE_UNIMPLEMENTED, m->cur.addr,
				  ncore_desc_meta(&m->cur));
	q->in_packet = true;
	return 0;
}

/* Injected faults strike when a TX descriptor begins; true when the queue no longer runs */
bool ncore_struck(struct ncore_chip *chip, struct ncore_queue *q)
{
	uint64_t addr = q->ring[NCORE_M2S].cur.addr;
	uint16_t code = 0;

	switch (ncore_fault_desc(chip, q, addr, &code)) {
	case NCORE_Q_ERROR:
		report_stop(chip, q, code, addr, 0);
		return true;
	case NCORE_Q_HUNG:
		atomic_store(&q->stopped, NCORE_Q_HUNG);
		return true;
	default:
		return false;
	}
}

int ncore_open_source(struct ncore_chip *chip, struct ncore_queue *q)
{
	if (ring_open(chip, q, NCORE_M2S) || check_packet(chip, q))
		return -EINVAL;
	return ncore_fault_injected(chip, ~0u) && ncore_struck(chip, q) ? -EIO : 0;
}

int ncore_open_destination(struct ncore_chip *chip, struct ncore_queue *q)
{
	if (ring_open(chip, q, NCORE_S2M))
		return -EINVAL;
	if (q->packet_descs[NCORE_S2M] <= chip->gen->target->packet_max)
		return 0;
	ncore_stop_queue(chip, q, NEURON_NERR_DMA_DESC, q->ring[NCORE_S2M].cur.addr);
	return -EINVAL;
}

void ncore_computed(struct ncore_service *t, const struct ncore_copy *c, uint64_t extra, bool last)
{
	struct ncore_queue *q = t->q;

	atomic_thread_fence(memory_order_release); /* as in advance() */
	q->step_bytes += c->done;
	ncore_set_time(t->strand, q, c, ncore_end_time(t->strand, c) + extra);
	ncore_ring_close(&q->ring[NCORE_S2M], 1);
	if (last)
		ncore_end_packet(q);
}
