/* SPDX-License-Identifier: MIT */
/*
 * What a queue does: fetch descriptors, check them, copy packets. A TX packet runs from a
 * descriptor with "first" to one with "last"; its bytes flow into RX descriptors in order, and its
 * end closes the RX descriptor at hand. Pieces like the one before are copied as a series
 * (series.c). Called by lane.c with the lane's right to execute; every way out is a boundary at
 * which the queue can be saved.
 */
#include "dma.h"

#include <errno.h>

#include "neuron/isa/cost.h"

static uint32_t ring_len(struct ncore_ring *r)
{
	return ncore_load(ncore_ring_reg(r, NEURON_UDMA_Q_LEN)) & 0xffffff;
}

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
	uint32_t len = ring_len(r);

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
	if (n > ring_len(r) - head)
		n = ring_len(r) - head;
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

void ncore_ring_close(struct ncore_ring *r, uint32_t n)
{
	uint32_t head = atomic_load(&r->head) + n;

	r->open = false;
	r->done = 0;
	r->closed += n;
	r->cache_at += n;
	if (head >= ring_len(r)) {
		head = 0;
		r->ring_id = (r->ring_id + 1) & 3;
		r->cached = 0;
	}
	atomic_store_explicit(&r->head, head, memory_order_relaxed);
	atomic_store_explicit(&r->taken, r->taken + n, memory_order_relaxed);
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
static bool struck(struct ncore_chip *chip, struct ncore_queue *q)
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

static int open_tx(struct ncore_chip *chip, struct ncore_queue *q)
{
	if (ring_open(chip, q, NCORE_M2S) || check_packet(chip, q))
		return -EINVAL;
	return ncore_fault_injected(chip, ~0u) && struck(chip, q) ? -EIO : 0;
}

int ncore_open_source(struct ncore_turn *t)
{
	return open_tx(t->lane->chip, t->q);
}

static int open_rx(struct ncore_chip *chip, struct ncore_queue *q)
{
	if (ring_open(chip, q, NCORE_S2M))
		return -EINVAL;
	if (q->packet_descs[NCORE_S2M] <= chip->gen->target->packet_max)
		return 0;
	ncore_stop_queue(chip, q, NEURON_NERR_DMA_DESC, q->ring[NCORE_S2M].cur.addr);
	return -EINVAL;
}

int ncore_open_destination(struct ncore_turn *t)
{
	return open_rx(t->lane->chip, t->q);
}

/* Opens the descriptors that are not open yet. Returns 0, or the step to return with. */
static int open_both(struct ncore_chip *chip, struct ncore_queue *q, enum ncore_step *step)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];

	*step = NCORE_STEP_STARVED;
	if (q->made->open)
		return 0;
	if (ncore_made_due(q)) {
		ncore_made_open(q);
		return ncore_fault_injected(chip, ~0u) && struck(chip, q) ? -EIO : 0;
	}
	if (!m->open && open_tx(chip, q))
		return -EINVAL;
	return s->open ? 0 : open_rx(chip, q);
}

/* The time at which the queue's next bytes begin: when its engine has done what came before */
static uint64_t begin_time(struct ncore_lane *lane, struct ncore_queue *q, bool shared)
{
	uint64_t time = ncore_queue_time(q);
	uint64_t engine = shared ? lane->shared.dma[q->engine] : 0;

	return engine > time ? engine : time;
}

/* The time at which a copied run is through one shared server, behind the runs before it, or end */
static uint64_t pass(struct ncore_lane *lane, const struct ncore_copy *c, unsigned int way,
		     uint64_t end)
{
	uint64_t *free = &lane->shared.way[way];

	if (way == NCORE_WAY_FREE)
		return end;
	*free = (*free > c->time ? *free : c->time) +
		neuron_transfer_time(c->done, lane->chip->way_kib[way]);
	return *free > end ? *free : end;
}

/* The time at which a copy is over: the slowest server that it went through decides */
static uint64_t end_time(struct ncore_lane *lane, const struct ncore_copy *c)
{
	const struct neuron_costs *cost = &lane->chip->gen->target->cost;
	uint64_t end = c->time + neuron_transfer_time(c->done, cost->dma_kib);

	if (!c->shares)
		return end;
	return pass(lane, c, c->to, pass(lane, c, c->from, end)) +
	       c->beyond * neuron_transfer_time(c->done, cost->link_kib);
}

static void set_time(struct ncore_lane *lane, struct ncore_queue *q, const struct ncore_copy *c,
		     uint64_t time)
{
	atomic_store_explicit(&q->time, time, memory_order_relaxed);
	if (c->shares)
		lane->shared.dma[q->engine] = time;
}

static void end_packet(struct ncore_queue *q)
{
	q->in_packet = false;
	q->packet_descs[NCORE_M2S] = q->packet_descs[NCORE_S2M] = 0;
}

/* The same for a run of a transfer that an instruction made: each is a packet */
static bool advance_made(struct ncore_lane *lane, struct ncore_queue *q, const struct ncore_copy *c,
			 uint64_t time)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S];
	bool whole = m->done == ncore_desc_len(&m->cur);

	if (whole) {
		time += lane->chip->gen->target->cost.descriptor;
		ncore_made_close(q);
	}
	set_time(lane, q, c, time);
	return whole;
}

/* Accounts for copied bytes and closes descriptors; true: the packet is complete. */
static bool advance(struct ncore_lane *lane, struct ncore_queue *q, const struct ncore_copy *c)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];
	struct ncore_chip *chip = lane->chip;
	uint64_t time = end_time(lane, c);
	bool last = false;

	/* A reader that sees a later descriptor's word (a completion, a semaphore) sees these
	 * bytes. */
	atomic_thread_fence(memory_order_release);
	m->done += (uint32_t)c->done;
	s->done += (uint32_t)c->done;
	q->step_bytes += c->done;
	if (q->made->open)
		return advance_made(lane, q, c, time);
	if (m->done == ncore_desc_len(&m->cur)) {
		last = ncore_desc_ctrl(&m->cur) & NEURON_UDMA_DESC_LAST;
		time += chip->gen->target->cost.descriptor;
		ncore_ring_close(m, 1);
	}
	set_time(lane, q, c, time);
	if (last && s->done < ncore_desc_len(&s->cur))
		ncore_guest_error(chip, NCORE_GE_IMPL_DEFINED, s->cur.addr, s->done);
	if (last || s->done == ncore_desc_len(&s->cur))
		ncore_ring_close(s, 1);
	if (last)
		end_packet(q);
	return last;
}

void ncore_computed(struct ncore_turn *t, const struct ncore_copy *c, uint64_t extra, bool last)
{
	struct ncore_queue *q = t->q;

	atomic_thread_fence(memory_order_release); /* as in advance() */
	q->step_bytes += c->done;
	set_time(t->lane, q, c, end_time(t->lane, c) + extra);
	ncore_ring_close(&q->ring[NCORE_S2M], 1);
	if (last)
		end_packet(q);
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
static bool copy_plain(struct ncore_lane *lane, struct ncore_queue *q, struct ncore_copy *c)
{
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];
	struct ncore_chip *chip = lane->chip;
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
static int copy_routed(struct ncore_turn *t, struct ncore_copy *c)
{
	int ret = ncore_copy(t->lane, c);

	t->until = ncore_lane_until(t->lane, t->q, t->other);
	return ret;
}

static enum ncore_step copy_some(struct ncore_turn *t)
{
	struct ncore_lane *lane = t->lane;
	struct ncore_queue *q = t->q;
	struct ncore_ring *m = &q->ring[NCORE_M2S], *s = &q->ring[NCORE_S2M];
	uint32_t ml = ncore_desc_len(&m->cur) - m->done, sl = ncore_desc_len(&s->cur) - s->done;
	bool shared = ncore_queue_shares(lane, q);
	struct ncore_copy c = {
		.src = m->cur.addr + m->done,
		.dst = s->cur.addr + s->done,
		.len = ml < sl ? ml : sl,
		.time = begin_time(lane, q, shared),
		.shares = shared,
		.domain = ncore_guard_queue_domain(lane->chip, q),
		.src_hit = &m->work->data_hit,
		.dst_hit = &s->work->data_hit,
	};

	if (ncore_computes(lane->chip, &s->cur))
		return ncore_is_stream(&s->cur) ? ncore_stream(t, &c) : ncore_compute(t, &c);
	switch (copy_plain(lane, q, &c) ? 0 : copy_routed(t, &c)) {
	case 0:
		break;
	case -EAGAIN:
		if (q->made->open && c.why == NCORE_STEP_MOVE) {
			ncore_stop_queue(lane->chip, q, NEURON_NERR_DMA_ABORT, c.dst);
			return NCORE_STEP_STARVED;
		}
		*t->move = c.why == NCORE_STEP_MOVE ? c.move : c.stall_engine;
		return c.why;
	default:
		ncore_stop_queue(lane->chip, q, NEURON_NERR_DMA_ABORT, c.bad);
		return NCORE_STEP_STARVED;
	}
	ncore_event(lane->chip, NCORE_EV_DESC, q->engine, q->index, c.src, c.dst);
	t->budget->bytes -= (int64_t)c.done;
	t->budget->descs--;
	return advance(lane, q, &c) ? NCORE_STEP_PACKET : NCORE_STEP_LEAVE;
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

static enum ncore_step run(struct ncore_turn *t)
{
	struct ncore_budget *budget = t->budget;
	enum ncore_step step;

	for (;;) {
		if (!ncore_queue_runnable(t->lane->chip, t->q))
			return NCORE_STEP_STARVED;
		if (budget->bytes <= 0 || budget->descs <= 0 || atomic_load(&t->lane->stops))
			return NCORE_STEP_LEAVE;
		if (ncore_made_due(t->q) &&
		    ncore_made_finish(t->lane, t->q, ncore_queue_time(t->q)))
			return NCORE_STEP_PACKET;
		if (open_both(t->lane->chip, t->q, &step))
			return step;
		step = copy_some(t);
		if (step != NCORE_STEP_LEAVE &&
		    (step != NCORE_STEP_PACKET || !ncore_goes_on(t, ncore_queue_time(t->q))))
			return step;
		if (atomic_load_explicit(&t->q->made->count, memory_order_relaxed))
			continue; /* one of those, or the descriptors before it, each by itself */
		if (!ncore_series(t))
			return NCORE_STEP_PACKET;
	}
}

enum ncore_step ncore_queue_step(struct ncore_lane *lane, struct ncore_queue *q,
				 const struct ncore_queue *other, struct ncore_budget *budget,
				 unsigned int *move)
{
	struct ncore_turn t = {
		.lane = lane,
		.q = q,
		.other = other,
		.until = ncore_lane_until(lane, q, other),
		.budget = budget,
		.move = move,
	};
	enum ncore_step step = run(&t);

	settle(lane->chip, q);
	return step;
}
