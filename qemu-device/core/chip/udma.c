/* SPDX-License-Identifier: MIT */
/*
 * UDMA engines: what reads and writes of their registers do, doorbells, an engine's state. Where
 * registers lie is udma_map.c's, descriptors are dma.c's.
 */
#include "udma.h"

#include "event.h"
#include "pool.h"

#include <errno.h>

/* Pages of which nothing but 0 was ever written stay untouched. */
static void store_word(ncore_reg *word, uint32_t value)
{
	if (ncore_load(word) != value)
		ncore_store(word, value);
}

/* Status: descriptors rung and not completed (the project's choice; the public record has only the
 * offset) */
#define STATUS_USED_MASK 0x01ffffffu

static uint32_t queue_read(struct ncore_queue *q, unsigned int half, uint32_t reg)
{
	struct ncore_ring *r = &q->ring[half];

	switch (reg & ~3u) {
	case NEURON_UDMA_Q_STATUS:
		return ncore_ring_credit(r) & STATUS_USED_MASK;
	case NEURON_UDMA_Q_HEAD:
	case NEURON_UDMA_Q_CURRENT:
		return atomic_load(&r->head);
	case NEURON_UDMA_Q_TAIL:
		return atomic_load(&r->tail);
	case NEURON_UDMA_Q_TAIL_INC:
	case NEURON_UDMA_Q_COMP_HEAD:
		return 0;
	default:
		return ncore_load(ncore_ring_reg(r, reg));
	}
}

/* One nibble each for completion, stream, data read, prefetch: 1 while a queue works, else idle */
static uint32_t state_read(struct ncore_chip *chip, unsigned int engine, unsigned int half)
{
	unsigned int i;

	for (i = 0; i < NCORE_QUEUES; i++) {
		struct ncore_queue *q = &chip->udma[engine].queue[i];

		if (ncore_ring_credit(&q->ring[half]) &&
		    (atomic_load(&q->stopped) == NCORE_Q_HUNG || ncore_queue_runnable(chip, q)))
			return 0x1111;
	}
	return 0;
}

uint32_t ncore_udma_read(struct ncore_chip *chip, unsigned int engine, uint32_t rel)
{
	struct ncore_queue *q;
	unsigned int half;
	uint32_t reg;
	ncore_reg *word;

	if (rel == NEURON_UDMA_M2S_VERSION)
		return NEURON_UDMA_VERSION;
	if (!chip->udma[engine].used)
		return 0;
	q = ncore_udma_queue_at(chip, engine, rel, &half, &reg);
	if (q)
		return queue_read(q, half, reg);
	if (rel == NEURON_UDMA_M2S_STATE)
		return state_read(chip, engine, NCORE_M2S);
	if (rel == NEURON_UDMA_S2M_STATE)
		return state_read(chip, engine, NCORE_S2M);
	word = ncore_udma_word(chip, engine, rel);
	return word ? ncore_load(word) : 0;
}

/* Stops the strand that executes the queue; it may change until it is stopped. */
static struct ncore_strand *queue_hold(struct ncore_chip *chip, struct ncore_queue *q)
{
	struct ncore_strand *strand;

	while (q->state != NCORE_Q_IDLE) {
		strand = &chip->strand[q->strand];
		ncore_strand_stop(strand);
		if (q->state != NCORE_Q_IDLE && strand == &chip->strand[q->strand])
			return strand;
		ncore_strand_start(strand);
	}
	return NULL;
}

/* Every strand is stopped once, not once for each queue: a stop may wait for many instructions. */
static void engine_abort(struct ncore_chip *chip, unsigned int engine)
{
	unsigned int i;

	ncore_strands_stop(chip);
	for (i = 0; i < NCORE_QUEUES; i++)
		ncore_queue_abort(chip, &chip->udma[engine].queue[i]);
	ncore_strands_start(chip);
}

static void engine_start(struct ncore_chip *chip, unsigned int engine)
{
	unsigned int i;

	for (i = 0; i < NCORE_QUEUES; i++) {
		struct ncore_queue *q = &chip->udma[engine].queue[i];
		struct ncore_strand *strand = ncore_queue_start(chip, q, q->home);

		if (strand)
			ncore_strand_kick(strand);
	}
}

static void change_state(struct ncore_chip *chip, unsigned int engine, uint32_t value)
{
	switch (value) {
	case NEURON_UDMA_STATE_NORMAL:
		atomic_store(&chip->udma[engine].disabled, false);
		engine_start(chip, engine);
		break;
	case NEURON_UDMA_STATE_DISABLE:
		/* Queues that execute see it at their next descriptor. */
		atomic_store(&chip->udma[engine].disabled, true);
		break;
	case NEURON_UDMA_STATE_ABORT:
		atomic_store(&chip->udma[engine].disabled, true);
		engine_abort(chip, engine);
		break;
	default:
		ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_UDMA, engine, 0, value);
	}
}

/* Ring base, length and configuration, which must not change under an executing queue */
static bool is_ring_setup(uint32_t reg)
{
	return reg == NEURON_UDMA_Q_CFG || reg == NEURON_UDMA_Q_BASE_LO ||
	       reg == NEURON_UDMA_Q_BASE_HI || reg == NEURON_UDMA_Q_LEN;
}

static bool is_reset(unsigned int half, uint32_t reg, uint32_t value)
{
	return reg == (half == NCORE_M2S ? NEURON_UDMA_M2S_Q_SW_CTRL : NEURON_UDMA_S2M_Q_SW_CTRL) &&
	       (value & NEURON_UDMA_Q_SW_CTRL_RESET);
}

static void queue_write(struct ncore_chip *chip, struct ncore_queue *q, unsigned int half,
			uint32_t reg, uint32_t value)
{
	struct ncore_ring *r = &q->ring[half];
	struct ncore_strand *strand = NULL;

	if (is_reset(half, reg, value)) {
		strand = queue_hold(chip, q);
		ncore_queue_reset(chip, q, half);
		value &= ~NEURON_UDMA_Q_SW_CTRL_RESET;
	} else if (is_ring_setup(reg)) {
		strand = queue_hold(chip, q);
		r->cached = 0;
	}
	store_word(ncore_ring_reg(r, reg), value);
	if (reg == NEURON_UDMA_Q_CFG && !strand)
		strand = ncore_queue_start(chip, q, q->home);
	else if (strand)
		ncore_strand_start(strand);
	if (strand)
		ncore_strand_kick(strand);
}

static void add_credit(struct ncore_chip *chip, struct ncore_queue *q, unsigned int half,
		       uint32_t count)
{
	struct ncore_ring *r = &q->ring[half];
	uint32_t len = ncore_queue_reg(r, NEURON_UDMA_Q_LEN) & 0xffffff;
	uint32_t credit = ncore_ring_credit(r);

	/* more than the ring holds: what the surplus would be read from, nobody wrote */
	if (count > len || credit > len - count) {
		ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_UDMA, q->engine,
				ncore_udma_offset(q, half, NEURON_UDMA_Q_TAIL_INC), count);
		count = credit > len ? 0 : len - credit;
	}
	if (!count)
		return;
	atomic_store(&r->tail, (uint32_t)(((uint64_t)atomic_load(&r->tail) + count) % len));
	atomic_fetch_add(&r->credit, count);
}

/*
 * The host has seen the notifications of the core that the queue works for, and what was before
 * them: what it starts comes behind that
 */
static uint64_t host_time(struct ncore_chip *chip, const struct ncore_queue *q)
{
	unsigned int core = q->home < chip->gen->cores
				    ? q->home
				    : neuron_gen_queue_core(chip->gen, q->engine, q->index);

	return atomic_load(&chip->core[core].told);
}

/*
 * A doorbell of a core or a descriptor (from), or of the host (NULL), whose time is what it knows
 */
static void ring(struct ncore_chip *chip, struct ncore_strand *from, unsigned int engine,
		 uint32_t rel, uint32_t count, uint64_t time)
{
	struct ncore_strand *strand;
	struct ncore_queue *q;
	unsigned int half;
	uint32_t reg;

	q = ncore_udma_queue_at(chip, engine, rel, &half, &reg);
	if (!q)
		return;
	ncore_udma_use(chip, engine);
	ncore_event(chip, NCORE_EV_DOORBELL, engine, q->index, half, count);
	if (!from)
		time = host_time(chip, q);
	atomic_store(&q->hosted, !from || !from->tpb);
	add_credit(chip, q, half, count);
	if (time > atomic_load(&q->time))
		atomic_store(&q->time, time);
	strand = ncore_queue_start(chip, q, from && from->tpb ? from->index : q->home);
	if (!strand || strand == from)
		return;
	/*
	 * The host's small copies are executed at once: the driver's deadlines are milliseconds. So
	 * is what it starts on a core: a small program is over before a worker would be awake.
	 */
	if (!from && !ncore_pool_lent(strand) &&
	    (strand->tpb || ncore_ring_credit(&q->ring[NCORE_M2S]) <= NCORE_INLINE_DESCS))
		ncore_strand_inline(strand);
	else
		ncore_strand_kick(strand);
}

void ncore_udma_write(struct ncore_chip *chip, unsigned int engine, uint32_t rel, uint32_t value)
{
	struct ncore_queue *q;
	unsigned int half;
	uint32_t reg;
	ncore_reg *word;

	ncore_udma_use(chip, engine);
	q = ncore_udma_queue_at(chip, engine, rel, &half, &reg);
	if (q && reg == NEURON_UDMA_Q_TAIL_INC) {
		ring(chip, NULL, engine, rel, value, 0);
		return;
	}
	if (q) {
		queue_write(chip, q, half, reg, value);
		return;
	}
	word = ncore_udma_word(chip, engine, rel);
	if (word)
		store_word(word, value);
	else
		ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_UDMA, engine, rel, value);
	if (rel == NEURON_UDMA_M2S_CHANGE_STATE || rel == NEURON_UDMA_S2M_CHANGE_STATE)
		change_state(chip, engine, value);
}

int ncore_udma_post(struct ncore_chip *chip, struct ncore_strand *strand, unsigned int engine,
		    const struct ncore_post *post)
{
	if (!ncore_udma_is_doorbell((uint32_t)post->addr))
		return -EACCES;
	pthread_mutex_lock(&chip->lock);
	ring(chip, strand, engine, (uint32_t)post->addr, post->value, post->time);
	pthread_mutex_unlock(&chip->lock);
	return 0;
}

/* All strands are stopped */
void ncore_udma_reset(struct ncore_chip *chip, unsigned int engine)
{
	struct ncore_udma *u = &chip->udma[engine];
	unsigned int i, half, reg;

	if (!u->used)
		return;
	ncore_udma_rest(chip, engine);
	for (i = 0; i < NCORE_QUEUES; i++) {
		struct ncore_queue *q = &u->queue[i];

		for (half = 0; half < NCORE_HALVES; half++) {
			ncore_queue_reset(chip, q, half);
			for (reg = 0; reg < 4 * NCORE_RING_WORDS; reg += 4)
				store_word(ncore_ring_reg(&q->ring[half], reg), 0);
		}
	}
	for (i = 0; i < NCORE_UDMA_WORDS; i++)
		store_word(&u->reg[i], 0);
	for (i = 0; i < sizeof(u->tdma) / sizeof(u->tdma[0]); i++)
		ncore_store(&u->tdma[i], 0);
}

/*
 * All strands are stopped. What a firmware reset does to an engine: it rests in its normal state,
 * and all that the driver configured stays. The public driver's reset by sysfs depends on that: it
 * does not set its copy queues up again and goes on at the descriptor after the last one it rang.
 */
void ncore_udma_rest(struct ncore_chip *chip, unsigned int engine)
{
	struct ncore_udma *u = &chip->udma[engine];
	unsigned int i;

	if (!u->used)
		return;
	for (i = 0; i < NCORE_QUEUES; i++) {
		ncore_queue_rest(chip, &u->queue[i]);
		u->queue[i].home = (uint8_t)chip->gen->cores;
		atomic_store(&u->queue[i].time, 0);
		atomic_store(&u->queue[i].hosted, false);
	}
	ncore_store(ncore_udma_word(chip, engine, NEURON_UDMA_M2S_CHANGE_STATE), 0);
	ncore_store(ncore_udma_word(chip, engine, NEURON_UDMA_S2M_CHANGE_STATE), 0);
	atomic_store(&u->disabled, false);
}
