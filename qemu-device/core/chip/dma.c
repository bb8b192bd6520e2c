/* SPDX-License-Identifier: MIT */
/*
 * What a queue does: take descriptors (packet.c) and copy packets. A TX packet runs from a
 * descriptor with "first" to one with "last"; its bytes flow into RX descriptors in order, and its
 * end closes the RX descriptor at hand. Pieces like the one before are copied as a series
 * (series.c). Called by executor.c with the strand's right to execute; every way out is a boundary
 * at which the queue can be saved.
 */
#include "dma.h"

#include "event.h"
#include "guard.h"
#include "notify.h"

#include <errno.h>

/* Opens the descriptors that are not open yet. Returns 0, or the step to return with. */
static int open_both(struct ncore_chip *chip, struct ncore_queue *q, enum ncore_step *step)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];

	*step = NCORE_STEP_STARVED;
	if (q->made->open)
		return 0;
	if (ncore_made_due(q)) {
		ncore_made_open(q);
		return ncore_fault_injected(chip, ~0u) && ncore_struck(chip, q) ? -EIO : 0;
	}
	if (!m->open && ncore_open_source(chip, q))
		return -EINVAL;
	return s->open ? 0 : ncore_open_destination(chip, q);
}

/* The time at which the queue's next bytes begin: when its engine has done what came before */
static uint64_t begin_time(struct ncore_strand *strand, struct ncore_queue *q, bool shared)
{
	uint64_t time = ncore_queue_time(q);
	uint64_t engine = shared ? strand->shared.dma[q->engine] : 0;

	return engine > time ? engine : time;
}

/* Accounts for bytes of a run that an instruction made: each run is a packet. */
static bool advance_made(struct ncore_strand *strand, struct ncore_queue *q,
			 const struct ncore_copy *c, uint64_t time)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S];
	bool whole = m->done == ncore_desc_len(&m->cur);

	if (whole) {
		time += strand->chip->gen->target->cost.descriptor;
		ncore_made_close(q);
	}
	ncore_set_time(strand, q, c, time);
	return whole;
}

/* Accounts for copied bytes and closes descriptors; true: the packet is complete. */
static bool advance(struct ncore_strand *strand, struct ncore_queue *q, const struct ncore_copy *c)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];
	struct ncore_chip *chip = strand->chip;
	uint64_t time = ncore_end_time(strand, c);
	bool last = false;

	/* A reader that sees a later descriptor's word (a completion, a semaphore) sees these
	 * bytes. */
	atomic_thread_fence(memory_order_release);
	m->done += (uint32_t)c->done;
	s->done += (uint32_t)c->done;
	q->step_bytes += c->done;
	if (q->made->open)
		return advance_made(strand, q, c, time);
	if (m->done == ncore_desc_len(&m->cur)) {
		last = ncore_desc_ctrl(&m->cur) & NEURON_UDMA_DESC_LAST;
		time += chip->gen->target->cost.descriptor;
		ncore_ring_close(m, 1);
	}
	ncore_set_time(strand, q, c, time);
	if (last && s->done < ncore_desc_len(&s->cur))
		ncore_guest_error(chip, NCORE_GE_IMPL_DEFINED, s->cur.addr, s->done);
	if (last || s->done == ncore_desc_len(&s->cur))
		ncore_ring_close(s, 1);
	if (last)
		ncore_end_packet(q);
	return last;
}

/* len bytes in one of the chip's memories, or NULL */
static inline uint8_t *plain_bytes(struct ncore_chip *chip, struct ncore_ring *r, uint64_t addr,
				   uint64_t len)
{
	uint8_t *p = ncore_plain_at(&r->work->plain, addr, len);

	return p || !ncore_plain_find(chip, addr, &r->work->plain)
		       ? p
		       : ncore_plain_at(&r->work->plain, addr, len);
}

/* Copies within the chip's memories at once; false: they are not, or it has to be asked */
static bool copy_plain(struct ncore_strand *strand, struct ncore_queue *q, struct ncore_copy *c)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];
	struct ncore_chip *chip = strand->chip;
	uint8_t *src, *dst;

	src = plain_bytes(chip, m, c->src, c->len);
	dst = src ? plain_bytes(chip, s, c->dst, c->len) : NULL;
	if (!dst || !ncore_guard_memory(chip, c->domain, m->work->plain.core) ||
	    !ncore_guard_memory(chip, c->domain, s->work->plain.core))
		return false;
	ncore_move(dst, src, c->len);
	if (chip->ops->mark_dirty)
		ncore_mem_dirty(chip, s->work->plain.mem, dst, c->len);
	c->from = m->work->plain.way;
	c->to = s->work->plain.way;
	c->done = c->len;
	return true;
}

/* Copies otherwise, which may let something else come first: a word or an instruction is written */
static int copy_routed(struct ncore_service *t, struct ncore_copy *c)
{
	int ret = ncore_copy(t->strand, c);

	t->until = ncore_strand_until(t->strand, t->q, t->other);
	return ret;
}

static enum ncore_step copy_some(struct ncore_service *t)
{
	struct ncore_strand *strand = t->strand;
	struct ncore_queue *q = t->q;
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];
	uint32_t ml = ncore_desc_len(&m->cur) - m->done, sl = ncore_desc_len(&s->cur) - s->done;
	bool shared = ncore_queue_shares(strand, q);
	struct ncore_copy c = {
		.src = m->cur.addr + m->done,
		.dst = s->cur.addr + s->done,
		.len = ml < sl ? ml : sl,
		.time = begin_time(strand, q, shared),
		.shares = shared,
		.domain = ncore_guard_queue_domain(strand->chip, q),
		.src_hit = &m->work->data_hit,
		.dst_hit = &s->work->data_hit,
	};

	if (ncore_computes(strand->chip, &s->cur))
		return ncore_is_stream(&s->cur) ? ncore_stream(t, &c) : ncore_compute(t, &c);
	switch (copy_plain(strand, q, &c) ? 0 : copy_routed(t, &c)) {
	case 0:
		break;
	case -EAGAIN:
		if (q->made->open && c.why == NCORE_STEP_MOVE) {
			ncore_stop_queue(strand->chip, q, NEURON_NERR_DMA_ABORT, c.dst);
			return NCORE_STEP_STARVED;
		}
		*t->move = c.why == NCORE_STEP_MOVE ? c.move : c.stall_engine;
		return c.why;
	default:
		ncore_stop_queue(strand->chip, q, NEURON_NERR_DMA_ABORT, c.bad);
		return NCORE_STEP_STARVED;
	}
	ncore_event(strand->chip, NCORE_EV_DESC, q->engine, q->index, c.src, c.dst);
	t->budget->bytes -= (int64_t)c.done;
	t->budget->descs--;
	return advance(strand, q, &c) ? NCORE_STEP_PACKET : NCORE_STEP_LEAVE;
}

static void settle_ring(struct ncore_ring *r)
{
	uint32_t n = atomic_load_explicit(&r->taken, memory_order_relaxed);

	if (!n)
		return;
	atomic_store_explicit(&r->taken, 0, memory_order_relaxed);
	atomic_fetch_sub(&r->credit, n);
}

/*
 * What others add to as well is counted once a step, not once a descriptor: such an operation waits
 * for every byte copied before it
 */
static void settle(struct ncore_chip *chip, struct ncore_queue *q)
{
	struct ncore_core *core =
		&chip->core[neuron_gen_queue_core(chip->gen, q->engine, q->index)];

	atomic_fetch_add_explicit(&core->dma_descs, q->ring[NCORE_M2S].taken, memory_order_relaxed);
	atomic_fetch_add_explicit(&core->dma_bytes, q->step_bytes, memory_order_relaxed);
	q->step_bytes = 0;
	settle_ring(&q->ring[NCORE_M2S]);
	settle_ring(&q->ring[NCORE_S2M]);
}

static enum ncore_step run(struct ncore_service *t)
{
	struct ncore_budget *budget = t->budget;
	enum ncore_step step;

	for (;;) {
		if (!ncore_queue_runnable(t->strand->chip, t->q))
			return NCORE_STEP_STARVED;
		if (budget->bytes <= 0 || budget->descs <= 0 || atomic_load(&t->strand->stops))
			return NCORE_STEP_LEAVE;
		if (ncore_made_due(t->q) &&
		    ncore_made_finish(t->strand, t->q, ncore_queue_time(t->q)))
			return NCORE_STEP_PACKET;
		if (open_both(t->strand->chip, t->q, &step))
			return step;
		step = copy_some(t);
		if (step != NCORE_STEP_LEAVE &&
		    (step != NCORE_STEP_PACKET || !ncore_goes_on(t, ncore_queue_time(t->q))))
			return step;
		if (atomic_load_explicit(&t->q->made->count, memory_order_relaxed))
			continue; /* a transfer, or the descriptors before it, each by itself */
		if (!ncore_series(t))
			return NCORE_STEP_PACKET;
	}
}

enum ncore_step ncore_queue_step(struct ncore_strand *strand, struct ncore_queue *q,
				 const struct ncore_queue *other, struct ncore_budget *budget,
				 unsigned int *move)
{
	struct ncore_service t = {
		.strand = strand,
		.q = q,
		.other = other,
		.until = ncore_strand_until(strand, q, other),
		.budget = budget,
		.move = move,
	};
	enum ncore_step step = run(&t);

	settle(strand->chip, q);
	return step;
}
