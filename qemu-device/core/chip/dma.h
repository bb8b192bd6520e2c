/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: the work of a queue. dma.c copies packet after packet; packet.c
 * takes descriptors; series.c copies pieces that are alike; dma_compute.c and dma_stream.c compute.
 */
#ifndef NCORE_DMA_H
#define NCORE_DMA_H

#include <string.h>

#include "chip.h"
#include "copy.h"
#include "neuron/timing.h"

#define NCORE_META_UNKNOWN \
	(NEURON_UDMA_META_OP_MASK | 0x00077fc0u) /* operation, CRC, endian fields */

static inline uint32_t ncore_desc_ctrl(const struct ncore_desc *d)
{
	return (uint32_t)d->head;
}

static inline uint32_t ncore_desc_meta(const struct ncore_desc *d)
{
	return (uint32_t)(d->head >> 32);
}

/* Are the bytes of an RX descriptor computed, and not copied? */
static inline bool ncore_computes(const struct ncore_chip *chip, const struct ncore_desc *rx)
{
	return ncore_desc_meta(rx) && chip->gen->target->core > 1;
}

static inline uint32_t ncore_desc_len(const struct ncore_desc *d)
{
	uint32_t len = ncore_desc_ctrl(d) & NEURON_UDMA_DESC_LEN_MASK;

	return len ? len : NEURON_UDMA_DESC_LEN_MAX;
}

/* One service of a queue by its strand: as long as it is the strand's first, its packets follow
 * each other */
struct ncore_service {
	struct ncore_strand *strand;
	struct ncore_queue *q;
	const struct ncore_queue *other; /* the first in order of the strand's others, or NULL */
	uint64_t until; /* when other or an engine comes first */
	struct ncore_budget *budget;
	unsigned int *move;
};

/*
 * Virtual time. A doorbell of the host may come at any virtual time, so what it starts takes no
 * share of what others would have to wait for: their times are the same on every run.
 */
static inline bool ncore_queue_shares(const struct ncore_strand *strand,
				      const struct ncore_queue *q)
{
	return strand->tpb && !atomic_load_explicit(&q->hosted, memory_order_relaxed);
}

/* Is the packet that follows at a time the first of all that is to be done? */
static inline bool ncore_goes_on(const struct ncore_service *t, uint64_t time)
{
	return !atomic_load(&t->strand->ready.count) && !atomic_load(&t->strand->inbox.count) &&
	       time < t->until;
}

/* Between n and 2 n bytes: its ends, which may overlap, are read before any byte is written */
static inline void ncore_move_ends(uint8_t *dst, const uint8_t *src, uint64_t len, uint64_t n)
{
	uint8_t head[32], tail[32];

	memcpy(head, src, n);
	memcpy(tail, src + len - n, n);
	memcpy(dst, head, n);
	memcpy(dst + len - n, tail, n);
}

/* Most pieces of a strided transfer are too short for a call */
static inline void ncore_move(uint8_t *dst, const uint8_t *src, uint64_t len)
{
	if (len > 64)
		ncore_mem_copy(dst, src, len);
	else if (len >= 32)
		ncore_move_ends(dst, src, len, 32);
	else if (len >= 16)
		ncore_move_ends(dst, src, len, 16);
	else if (len >= 8)
		ncore_move_ends(dst, src, len, 8);
	else if (len >= 4)
		ncore_move_ends(dst, src, len, 4);
	else if (len >= 2)
		ncore_move_ends(dst, src, len, 2);
	else
		*dst = *src;
}

static inline uint32_t ncore_ring_len(struct ncore_ring *r)
{
	return ncore_load(ncore_ring_reg(r, NEURON_UDMA_Q_LEN)) & 0xffffff;
}

/* Done with n descriptors */
static inline void ncore_ring_close(struct ncore_ring *r, uint32_t n)
{
	uint32_t head = atomic_load(&r->head) + n;

	r->open = false;
	r->done = 0;
	r->closed += n;
	r->cache_at += n;
	if (head >= ncore_ring_len(r)) {
		head = 0;
		r->ring_id = (r->ring_id + 1) & 3;
		r->cached = 0;
	}
	atomic_store_explicit(&r->head, head, memory_order_relaxed);
	atomic_store_explicit(&r->taken, r->taken + n, memory_order_relaxed);
}

/* The time at which a copied run is through one shared server, behind the runs before it, or end */
static inline uint64_t ncore_pass(struct ncore_strand *strand, const struct ncore_copy *c,
				  unsigned int way, uint64_t end)
{
	uint64_t through;

	if (way == NCORE_WAY_FREE)
		return end;
	through = neuron_shared_time(&strand->shared.way[way], c->time, c->done,
				     strand->chip->way_kib[way]);
	return through > end ? through : end;
}

/* The time at which a copy is over: the slowest server that it went through decides */
static inline uint64_t ncore_end_time(struct ncore_strand *strand, const struct ncore_copy *c)
{
	const struct neuron_costs *cost = &strand->chip->gen->target->cost;
	uint64_t end = c->time + neuron_dma_time(cost, 0, c->done);

	if (!c->shares)
		return end;
	return ncore_pass(strand, c, c->to, ncore_pass(strand, c, c->from, end)) +
	       neuron_links_time(cost, c->beyond, c->done);
}

static inline void ncore_set_time(struct ncore_strand *strand, struct ncore_queue *q,
				  const struct ncore_copy *c, uint64_t time)
{
	atomic_store_explicit(&q->time, time, memory_order_relaxed);
	if (c->shares)
		strand->shared.dma[q->engine] = time;
}

static inline void ncore_end_packet(struct ncore_queue *q)
{
	q->in_packet = false;
	q->packet_descs[NCORE_M2S] = q->packet_descs[NCORE_S2M] = 0;
}

/* packet.c: takes descriptors of a queue's packets and checks them */

/* Reports an error that the guest made. */
void ncore_stop_queue(struct ncore_chip *chip, struct ncore_queue *q, uint16_t code, uint64_t addr);
/* Reports a compressed stream that is wrong, for a reason of enum neuron_stream_error. */
void ncore_refuse_stream(struct ncore_chip *chip, struct ncore_queue *q, uint64_t addr,
			 uint32_t reason);
/* Opens the next TX descriptor, which goes on with the packet. -errno: the queue stopped */
int ncore_open_source(struct ncore_chip *chip, struct ncore_queue *q);
/* Opens the next RX descriptor. -errno: the queue stopped */
int ncore_open_destination(struct ncore_chip *chip, struct ncore_queue *q);
/* Does an injected fault strike the open TX descriptor? The queue no longer runs then. */
bool ncore_struck(struct ncore_chip *chip, struct ncore_queue *q);
/* Accounts for bytes that went through all of the descriptors that are open; last: of a packet */
void ncore_computed(struct ncore_service *t, const struct ncore_copy *c, uint64_t extra, bool last);

/* dma_compute.c: what the open RX descriptor's second word asks for */
enum ncore_step ncore_compute(struct ncore_service *t, struct ncore_copy *c);
/* dma_stream.c: compresses, decompresses or transposes, where that word asks for it */
static inline bool ncore_is_stream(const struct ncore_desc *rx)
{
	return (ncore_desc_meta(rx) & NEURON_DMA_COMPUTE_OP) >> 12 >= NEURON_DMA_COMPRESS;
}
enum ncore_step ncore_stream(struct ncore_service *t, struct ncore_copy *c);

/* series.c: pieces like the one that is over. false: something else comes before the next one */
bool ncore_series(struct ncore_service *t);

/* dma.c: packets up to one that is not before other's, or its start not before the next
 * instruction's */
enum ncore_step ncore_queue_step(struct ncore_strand *strand, struct ncore_queue *q,
				 const struct ncore_queue *other, struct ncore_budget *budget,
				 unsigned int *move);

#endif
