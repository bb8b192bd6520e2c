/* SPDX-License-Identifier: MIT */
/*
 * Pieces like the one before, copied as a series (dma.c copies all others).
 *
 * A strided transfer is many short pieces, and nothing but addresses and the ends of packets
 * differs between them. What such pieces would be asked one by one is asked once of those in the
 * cache. Each is a descriptor of one half or of both; the other half's is open before and behind
 * all of them. Each takes the same time if what it goes through is free when it begins, as it then
 * is for all behind it.
 */
#include "dma.h"

#include "guard.h"

#define SHORT 8192 /* bytes: beside the copy of a longer piece nothing counts */
#define ENDS ((uint64_t)(NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST))

struct series {
	uint64_t head[NCORE_HALVES]; /* of its descriptors, but for the ends of packets */
	bool whole[NCORE_HALVES]; /* a descriptor for each piece; else one for all, which is open */
	const uint8_t *desc[NCORE_HALVES]; /* the next descriptor in the cache */
	uint64_t addr[NCORE_HALVES]; /* where the open one goes on */
	struct ncore_plain plain[NCORE_HALVES]; /* the memories of the piece before */
	uint32_t packet[NCORE_HALVES], packet_max; /* descriptors of the packet so far */
	bool in_packet;
	uint32_t len, count, max;
	uint64_t time, each; /* when the next one begins; from there to the one behind it */
	bool shares; /* the queue takes its part of what other queues use */
	bool over; /* behind the last one something else comes first */
};

/* Is there nothing that would have to be looked at piece by piece? */
static bool is_quiet(struct ncore_chip *chip, struct ncore_queue *q)
{
	uint8_t domain = ncore_guard_queue_domain(chip, q);

	return !(chip->event_mask >> NCORE_EV_DESC & 1) && !ncore_fault_injected(chip, ~0u) &&
	       ncore_guard_memory(chip, domain, q->ring[NCORE_M2S].work->plain.core) &&
	       ncore_guard_memory(chip, domain, q->ring[NCORE_S2M].work->plain.core);
}

static const uint8_t *cached(const struct ncore_ring *r)
{
	return r->work->cache + r->cache_at * NEURON_UDMA_DESC_SIZE;
}

/* A half's part of a series: how many pieces there may be */
static uint32_t series_half(const struct ncore_ring *r, unsigned int half, struct series *e)
{
	e->whole[half] = !r->open;
	e->head[half] = r->cur.head & (half == NCORE_M2S ? ~ENDS : ~0ull);
	e->desc[half] = cached(r);
	e->addr[half] = r->cur.addr + r->done;
	e->plain[half] = r->work->plain;
	if (r->open)
		return (ncore_desc_len(&r->cur) - r->done - 1) / e->len;
	return ncore_desc_len(&r->cur) == e->len ? r->cached - r->cache_at : 0;
}

/* Pieces like the last one; false: there are none, or they have to be looked at */
static bool find_series(const struct ncore_service *t, struct series *e)
{
	const struct ncore_ring *m = &t->q->ring[NCORE_M2S], *s = &t->q->ring[NCORE_S2M];
	int64_t tx, rx, descs = t->budget->descs;

	e->len = ncore_desc_len(m->open ? &s->cur : &m->cur);
	if (e->len > SHORT || ncore_computes(t->strand->chip, &s->cur) ||
	    (!m->open && ncore_desc_meta(&m->cur) & NCORE_META_UNKNOWN) ||
	    !is_quiet(t->strand->chip, t->q))
		return false;
	e->packet_max = t->strand->chip->gen->target->packet_max;
	e->packet[NCORE_M2S] = t->q->packet_descs[NCORE_M2S];
	e->packet[NCORE_S2M] = t->q->packet_descs[NCORE_S2M];
	e->in_packet = t->q->in_packet;
	tx = series_half(m, NCORE_M2S, e);
	rx = series_half(s, NCORE_S2M, e);
	tx = tx < rx ? tx : rx;
	tx = tx < descs ? tx : descs;
	e->max = tx > 0 ? (uint32_t)tx : 0;
	return e->max;
}

static uint64_t way_time(const struct ncore_strand *strand, const struct ncore_queue *q,
			 unsigned int half, uint32_t len)
{
	return neuron_transfer_time(len, strand->chip->way_kib[q->ring[half].work->plain.way]);
}

/* The time of each piece. false: what it goes through is not free */
static bool time_each(const struct ncore_strand *strand, const struct ncore_queue *q,
		      struct series *e)
{
	const struct neuron_costs *cost = &strand->chip->gen->target->cost;
	unsigned int from = q->ring[NCORE_M2S].work->plain.way,
		     to = q->ring[NCORE_S2M].work->plain.way;
	uint64_t a = way_time(strand, q, NCORE_M2S, e->len),
		 b = way_time(strand, q, NCORE_S2M, e->len);
	uint64_t time = neuron_dma_time(cost, 0, e->len);
	const struct ncore_shared *s = &strand->shared;

	e->shares = ncore_queue_shares(strand, q);
	if (!e->shares)
		a = b = 0;
	else if (s->dma[q->engine] > e->time || s->way[from] > e->time || s->way[to] > e->time)
		return false;
	if (from == to)
		a = b += a;
	a = a > b ? a : b;
	e->each = (time > a ? time : a) + (e->whole[NCORE_M2S] ? cost->descriptor : 0);
	return true;
}

/* The shared servers, as the last piece left them */
static void pass_series(struct ncore_strand *strand, const struct ncore_queue *q,
			const struct series *e)
{
	unsigned int from = q->ring[NCORE_M2S].work->plain.way,
		     to = q->ring[NCORE_S2M].work->plain.way;
	uint64_t begin = e->time - e->each;

	strand->shared.dma[q->engine] = e->time;
	strand->shared.way[from] = begin + way_time(strand, q, NCORE_M2S, e->len);
	strand->shared.way[to] = (from == to ? strand->shared.way[from] : begin) +
				 way_time(strand, q, NCORE_S2M, e->len);
}

/* May the next descriptor of a half be one of the series? Ends of packets: of TX ones only */
static inline bool is_like(const struct series *e, unsigned int half)
{
	uint64_t head = ncore_get64(e->desc[half]);
	bool first = head & NEURON_UDMA_DESC_FIRST;

	if (e->packet[half] >= e->packet_max)
		return false;
	if (half == NCORE_S2M)
		return head == e->head[half];
	return (head & ~ENDS) == e->head[half] && first != e->in_packet &&
	       (e->whole[NCORE_S2M] || !(head & ENDS));
}

static inline uint8_t *piece_of(const struct series *e, unsigned int half)
{
	if (!e->whole[half])
		return ncore_plain_at(&e->plain[half], e->addr[half], e->len);
	return is_like(e, half)
		       ? ncore_plain_at(&e->plain[half], ncore_get64(e->desc[half] + 8), e->len)
		       : NULL;
}

/* One piece. false: it is another kind, or not within the memories of the one before */
static inline bool copy_like(struct ncore_chip *chip, const struct series *e)
{
	uint8_t *src = piece_of(e, NCORE_M2S);
	uint8_t *dst = src ? piece_of(e, NCORE_S2M) : NULL;

	if (!dst)
		return false;
	ncore_move(dst, src, e->len);
	if (chip->ops->mark_dirty)
		ncore_mem_dirty(chip, e->plain[NCORE_S2M].mem, dst, e->len);
	return true;
}

/* Accounts for one piece; whether its packet ends */
static inline bool count_like(struct series *e)
{
	bool last = e->whole[NCORE_M2S] && ncore_get64(e->desc[NCORE_M2S]) & NEURON_UDMA_DESC_LAST;

	e->count++;
	e->time += e->each;
	e->in_packet = !last;
	for (unsigned int half = 0; half < NCORE_HALVES; half++) {
		e->packet[half] = last ? 0 : e->packet[half] + e->whole[half];
		e->desc[half] += e->whole[half] * NEURON_UDMA_DESC_SIZE;
		e->addr[half] += e->len;
	}
	return last;
}

static void copy_series(const struct ncore_service *t, struct series *series)
{
	struct series e = *series; /* not what the bytes copied might lie in: kept in registers */
	struct ncore_chip *chip = t->strand->chip;
	int64_t bytes = t->budget->bytes;

	for (; e.count < e.max && !e.over && bytes > 0 && copy_like(chip, &e); bytes -= e.len)
		if (count_like(&e))
			e.over = !ncore_goes_on(t, e.time);
	atomic_thread_fence(memory_order_release);
	*series = e;
}

static void close_series(struct ncore_service *t, const struct series *e)
{
	struct ncore_queue *q = t->q;

	q->in_packet = e->in_packet;
	for (unsigned int half = 0; half < NCORE_HALVES; half++) {
		struct ncore_ring *r = &q->ring[half];
		const uint8_t *desc = e->desc[half] - NEURON_UDMA_DESC_SIZE;

		q->packet_descs[half] = (uint16_t)e->packet[half];
		if (!e->whole[half]) {
			r->done += e->count * e->len;
			continue;
		}
		r->cur = (struct ncore_desc){ ncore_get64(desc), ncore_get64(desc + 8) };
		ncore_ring_close(r, e->count);
	}
	q->step_bytes += (uint64_t)e->count * e->len;
	t->budget->bytes -= (int64_t)e->count * e->len;
	t->budget->descs -= e->count;
	atomic_store_explicit(&q->time, e->time, memory_order_relaxed);
	if (e->shares)
		pass_series(t->strand, q, e);
}

static bool copy_next(struct ncore_service *t)
{
	struct series e = { .time = ncore_queue_time(t->q) };

	if (!find_series(t, &e) || !time_each(t->strand, t->q, &e))
		return true;
	copy_series(t, &e);
	if (e.count)
		close_series(t, &e);
	return !e.over;
}

static bool any_next(const struct ncore_ring *r)
{
	return r->open || r->cached > r->cache_at;
}

bool ncore_series(struct ncore_service *t)
{
	return !any_next(&t->q->ring[NCORE_M2S]) || !any_next(&t->q->ring[NCORE_S2M]) ||
	       copy_next(t);
}
