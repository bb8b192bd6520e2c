/* SPDX-License-Identifier: MIT */
/*
 * Save and load of a chip at rest, without its memories: a header, then every field in one fixed
 * order, little-endian. One walk serves both ways, so they cannot drift apart. A loaded state is as
 * hostile as a guest: every index is checked before it is used.
 */
#include "link.h"
#include "map.h"
#include "misc.h"
#include "reset.h"
#include "dma.h"
#include "word.h"

#include "neuron/isa/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STATE_MAGIC 0x5249484355524eull /* "NRUCHIR" */
#define STATE_VERSION 8 /* of NeuronCore-v2 and later: their cores' states were others before */
#define STATE_VERSION_CORE1 5 /* of Inferentia; in 4 it was the same */
#define STATE_OLDEST_CORE1 4
#define TPB_STATE_MAX (16u << 20)

struct state {
	struct ncore_chip *chip;
	bool load;
	uint32_t version;
	const uint8_t *in;
	uint8_t *out;
	size_t size, at;
	const char *bad; /* why it failed */
	int error;
};

static void fail(struct state *s, int error, const char *why)
{
	if (!s->error) {
		s->error = error;
		s->bad = why;
	}
}

static bool fits(struct state *s, size_t n)
{
	size_t need;
	uint8_t *p;

	if (s->error)
		return false;
	if (s->load) {
		if (n <= s->size - s->at)
			return true;
		fail(s, -EINVAL, "the state is cut off");
		return false;
	}
	if (__builtin_add_overflow(s->at, n, &need)) {
		fail(s, -ENOMEM, "out of memory");
		return false;
	}
	if (need <= s->size)
		return true;
	need = need < 1 << 20 ? 1 << 20 : need + need / 2;
	p = realloc(s->out, need);
	if (!p) {
		fail(s, -ENOMEM, "out of memory");
		return false;
	}
	s->out = p;
	s->size = need;
	return true;
}

static void bytes(struct state *s, void *p, size_t n)
{
	if (!fits(s, n))
		return;
	if (s->load)
		memcpy(p, s->in + s->at, n);
	else
		memcpy(s->out + s->at, p, n);
	s->at += n;
}

static uint64_t num(struct state *s, uint64_t v, size_t n)
{
	uint8_t b[8];

	ncore_put64(b, v);
	bytes(s, b, n);
	if (!s->load || s->error)
		return v;
	memset(b + n, 0, sizeof(b) - n);
	return ncore_get64(b);
}

/* A field of any integer type, atomic or not */
#define F(s, field) ((field) = (__typeof__(+(field)))num(s, (uint64_t)(field), sizeof(field)))
/* A field that must stay below a limit */
#define LIMITED(s, field, limit, why)                                   \
	do {                                                            \
		uint64_t v_ = num(s, (uint64_t)(field), sizeof(field)); \
		if (v_ < (limit))                                       \
			(field) = (__typeof__(+(field)))v_;             \
		else                                                    \
			fail(s, -EINVAL, why);                          \
	} while (0)

static void words(struct state *s, ncore_reg *reg, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		F(s, reg[i]);
}

static void ring_state(struct state *s, struct ncore_ring *r)
{
	for (unsigned int i = 0; i < NCORE_RING_WORDS; i++)
		F(s, *ncore_ring_reg(r, 4 * i));
	LIMITED(s, r->credit, 1u << 24, "a queue has more descriptors than a ring");
	LIMITED(s, r->head, 1u << 24, "a queue's head is outside of any ring");
	LIMITED(s, r->tail, 1u << 24, "a queue's tail is outside of any ring");
	LIMITED(s, r->ring_id, 4, "a ring id is above 3");
	LIMITED(s, r->open, 2, "not a truth value");
	F(s, r->cur.head);
	F(s, r->cur.addr);
	/* a descriptor that is open has bytes left to copy */
	LIMITED(s, r->done,
		r->cur.head & NEURON_UDMA_DESC_LEN_MASK ? r->cur.head & NEURON_UDMA_DESC_LEN_MASK
							: NEURON_UDMA_DESC_LEN_MAX,
		"a descriptor is beyond its end");
	if (s->load)
		r->cached = r->cache_at = 0; /* fetched again */
}

static void transfer_state(struct state *s, struct tpb_transfer *t)
{
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t n = 1;

		F(s, t->addr[i]);
		for (unsigned int d = 0; d < NEURON_DMA_DIMS; d++) {
			F(s, t->step[i][d]);
			F(s, t->num[i][d]);
			n *= t->num[i][d];
		}
		if (n > NEURON_ISA_MAX_RUNS ||
		    (i && n != (uint64_t)t->num[0][0] * t->num[0][1] * t->num[0][2]))
			fail(s, -EINVAL,
			     "a transfer has too many runs, or not as many in its halves");
	}
	LIMITED(s, t->run, NEURON_ISA_MAX_RUN + 1, "a transfer's run is too long");
	F(s, t->semaphore);
	if (t->semaphore >= s->chip->gen->target->semaphores)
		fail(s, -EINVAL, "a transfer ends at no semaphore");
}

/* Do both halves hold a run of the first transfer? */
static bool halves_agree(const struct ncore_queue *q)
{
	const struct ncore_ring *m = &q->ring[NCORE_M2S], *r = &q->ring[NCORE_S2M];
	uint32_t run = q->made->entry[q->made->first].t.run & NEURON_UDMA_DESC_LEN_MASK;

	return m->open && r->open && m->done == r->done &&
	       (m->cur.head & NEURON_UDMA_DESC_LEN_MASK) == run &&
	       (r->cur.head & NEURON_UDMA_DESC_LEN_MASK) == run;
}

static void made_state(struct state *s, struct ncore_queue *q)
{
	struct ncore_transfers *w = q->made;
	const struct ncore_ring *m = &q->ring[NCORE_M2S];
	uint32_t n = (uint32_t)num(s, atomic_load(&w->count), 4);

	if (!n || n > NCORE_TRANSFERS || (s->load && atomic_load(&w->count)))
		fail(s, -EINVAL, "a queue has no transfers, or too many");
	for (uint32_t i = 0; i < n && !s->error; i++) {
		uint32_t at = (w->first + i) % NCORE_TRANSFERS;
		uint32_t after = (uint32_t)num(s, w->entry[at].after - m->closed, 4);

		transfer_state(s, &w->entry[at].t);
		if (s->load)
			w->entry[at].after = m->closed + after;
	}
	if (s->error)
		return;
	atomic_store(&w->count, n);
	F(s, w->at);
	LIMITED(s, w->open, 2, "not a truth value");
	n = (uint32_t)w->entry[w->first].t.num[0][0] * w->entry[w->first].t.num[0][1] *
	    w->entry[w->first].t.num[0][2];
	if (w->at > n || (w->open && (w->at == n || !halves_agree(q))))
		fail(s, -EINVAL, "a transfer is beyond its end");
}

/* Transfers of queues: the numbers of the queues that have some, each with its transfers */
static void transfers_state(struct state *s)
{
	const uint32_t queues = s->chip->gen->dma_engines * NCORE_QUEUES;
	uint32_t n = 0, id = 0;

	for (uint32_t i = 0; i < queues && !s->load; i++)
		n += s->chip->udma[i / NCORE_QUEUES].used &&
		     atomic_load(&s->chip->udma[i / NCORE_QUEUES].made[i % NCORE_QUEUES].count);
	n = (uint32_t)num(s, n, 4);
	for (; n && !s->error; n--, id++) {
		while (!s->load &&
		       !(s->chip->udma[id / NCORE_QUEUES].used &&
			 atomic_load(
				 &s->chip->udma[id / NCORE_QUEUES].made[id % NCORE_QUEUES].count)))
			id++;
		id = (uint32_t)num(s, id, 4);
		if (id < queues && !s->error)
			made_state(s, &s->chip->udma[id / NCORE_QUEUES].queue[id % NCORE_QUEUES]);
		else
			fail(s, -EINVAL, "transfers of no queue");
	}
}

static void queue_state(struct state *s, struct ncore_queue *q)
{
	unsigned int half;

	LIMITED(s, q->home, s->chip->strands, "a queue is in no strand");
	LIMITED(s, q->stopped, 3, "a queue is stopped in no way");
	F(s, q->domain);
	LIMITED(s, q->in_packet, 2, "not a truth value");
	F(s, q->time);
	LIMITED(s, q->hosted, 2, "not a truth value");
	for (half = 0; half < NCORE_HALVES; half++) {
		LIMITED(s, q->packet_descs[half], s->chip->gen->target->packet_max + 2u,
			"a packet is too long");
		ring_state(s, &q->ring[half]);
	}
	if (s->load && q->ring[NCORE_S2M].done && ncore_computes(s->chip, &q->ring[NCORE_S2M].cur))
		fail(s, -EINVAL, "a descriptor whose bytes are computed is done in part");
}

/* Lists are saved as the numbers of their queues, in order. */
static void list_state(struct state *s, unsigned int strand, struct ncore_queue_list *list,
		       enum ncore_queue_state kind)
{
	struct ncore_queue *q = list->first;
	uint32_t n = (uint32_t)num(s, list->count, 4);

	for (; n && !s->error; n--) {
		uint32_t id = q ? q->engine * NCORE_QUEUES + q->index : 0;

		id = (uint32_t)num(s, id, 4);
		if (q)
			q = q->next;
		if (!s->load || s->error)
			continue;
		if (id >= s->chip->gen->dma_engines * NCORE_QUEUES ||
		    s->chip->udma[id / NCORE_QUEUES].queue[id % NCORE_QUEUES].state !=
			    NCORE_Q_IDLE) {
			fail(s, -EINVAL, "a queue is listed twice or does not exist");
			return;
		}
		struct ncore_queue *add =
			&s->chip->udma[id / NCORE_QUEUES].queue[id % NCORE_QUEUES];
		add->state = (uint8_t)kind;
		add->strand = (uint8_t)strand;
		ncore_list_add(list, add, false);
	}
}

static void stall_state(struct state *s, struct ncore_strand *strand)
{
	struct ncore_queue *q;

	list_state(s, strand->index, &strand->stalled, NCORE_Q_STALLED);
	for (q = strand->stalled.first; q && !s->error; q = q->next)
		LIMITED(s, q->stall_engine, s->chip->gen->target->engines,
			"a queue waits for no engine");
	if (!strand->tpb && strand->stalled.first)
		fail(s, -EINVAL, "a queue waits where there is no core");
}

static void post_state(struct state *s, struct ncore_post *post, unsigned int core, bool in)
{
	struct neuron_place at;

	F(s, post->addr);
	F(s, post->value);
	F(s, post->time);
	if (!s->load || s->error)
		return;
	if (in ? ncore_core_word(s->chip, post->addr) != (int)core
	       : ncore_word_owner(s->chip, post->addr) < 0 &&
			    (!ncore_find(s->chip, post->addr, &at) ||
			     at.kind == NEURON_BLOCK_CORE || at.kind == NEURON_BLOCK_TOPSP))
		fail(s, -EINVAL, "a posted write goes nowhere");
}

/* The queue that was left in its packet, by its place in the ready list from 1; 0: none */
static void left_state(struct state *s, struct ncore_strand *strand)
{
	struct ncore_queue *q = strand->ready.first;
	uint32_t at = 0;

	if (!s->load && strand->left)
		for (at = 1; q != strand->left; q = q->next)
			at++;
	at = (uint32_t)num(s, at, 4);
	if (!s->load || s->error || !at)
		return;
	while (q && --at)
		q = q->next;
	strand->left = q;
	if (!q)
		fail(s, -EINVAL, "no ready queue was left in its packet");
}

static void shared_state(struct state *s, struct ncore_strand *strand)
{
	const struct neuron_gen *gen = s->chip->gen;
	unsigned int i;

	for (i = 0; i < gen->dma_engines; i++)
		F(s, strand->shared.dma[i]);
	F(s, strand->shared.way[NCORE_WAY_DRAM]);
	for (i = 0; i < gen->cores; i++)
		F(s, strand->shared.way[NCORE_WAY_CORE + i]);
	for (i = 0; i < gen->window.ports; i++)
		F(s, strand->shared.way[NCORE_WAY_LINK + i]);
}

static void strand_state(struct state *s, struct ncore_strand *strand)
{
	unsigned int i, n, first = strand->inbox.first;

	shared_state(s, strand);
	list_state(s, strand->index, &strand->ready, NCORE_Q_READY);
	left_state(s, strand);
	stall_state(s, strand);
	pthread_mutex_lock(&strand->inbox.lock);
	LIMITED(s, strand->inbox.count, NCORE_INBOX + 1, "too many posted writes");
	n = s->error ? 0 : atomic_load(&strand->inbox.count);
	if (s->load)
		first = strand->inbox.first = 0;
	for (i = 0; i < n; i++)
		post_state(s, &strand->inbox.post[(first + i) % NCORE_INBOX], strand->index, true);
	pthread_mutex_unlock(&strand->inbox.lock);
	LIMITED(s, strand->out_count, NCORE_OUTBOX + 1, "too many posted writes");
	n = s->error ? 0 : strand->out_count;
	for (i = 0; i < n; i++)
		post_state(s, &strand->out[i], strand->index, false);
	if (!strand->tpb && (atomic_load(&strand->inbox.count) || strand->out_count))
		fail(s, -EINVAL, "posted writes where there is no core");
}

static void tpb_state(struct state *s, struct tpb *tpb)
{
	int64_t n = s->load ? 0 : tpb_save(tpb, NULL, 0);
	uint32_t size;

	size = (uint32_t)num(s, n < 0 ? 0 : (uint64_t)n, 4);
	if (n < 0 || size > TPB_STATE_MAX)
		fail(s, -EINVAL, "a core's state has no sensible size");
	if (!fits(s, size))
		return;
	if (s->load) {
		if (tpb_load(tpb, s->in + s->at, size))
			fail(s, -EINVAL, "a core's state is refused");
	} else if (tpb_save(tpb, s->out + s->at, size) != n) {
		fail(s, -EINVAL, "a core's state changed while it was saved");
	}
	s->at += size;
}

static void nqs_state(struct state *s, struct ncore_nqs *q)
{
	unsigned int i;

	for (i = 0; i < s->chip->nqs; i++) {
		struct ncore_nq *nq = &q->nq[i];

		LIMITED(s, nq->index, 1u << 27, "a notification queue's index is too large");
		F(s, nq->lap);
		F(s, nq->head);
		LIMITED(s, nq->head_known, 2, "not a truth value");
		LIMITED(s, nq->overflowed, 2, "not a truth value");
	}
}

static void core_state(struct state *s, struct ncore_core *core)
{
	words(s, core->nqs.reg, core->nqs.words);
	nqs_state(s, &core->nqs);
	F(s, core->nq_overflows);
	F(s, core->nq_entries);
	LIMITED(s, core->irq_armed, 2, "not a truth value");
	F(s, core->told);
	F(s, core->dma_bytes);
	F(s, core->dma_descs);
	for (unsigned int i = 0; s->chip->gen->target->core > 1 && i < NEURON_PERF_STREAMS; i++)
		F(s, core->streams[i]);
	tpb_state(s, core->tpb);
}

/* topsp_lock is held */
static void topsp_words(struct state *s, struct tpb_words *w)
{
	const struct neuron_target *target = s->chip->gen->target;
	int64_t n = s->load ? 0 : tpb_words_save(w, target, NULL, 0);
	uint32_t size = (uint32_t)num(s, (uint64_t)n, 4);

	if (!fits(s, size))
		return;
	if (!s->load)
		tpb_words_save(w, target, s->out + s->at, size);
	else if (tpb_words_load(w, target, s->in + s->at, size))
		fail(s, -EINVAL, "a TOP_SP's state is refused");
	s->at += size;
}

/* A TOP_SP without its registers, which are kept words; one that nobody used is one byte. */
static void topsp_state(struct state *s, struct ncore_topsp *t)
{
	nqs_state(s, &t->nqs);
	pthread_mutex_lock(&s->chip->topsp_lock);
	LIMITED(s, t->used, 2, "not a truth value");
	if (t->used && !s->error)
		topsp_words(s, t->words);
	pthread_mutex_unlock(&s->chip->topsp_lock);
}

static void udma_state(struct state *s, struct ncore_udma *u)
{
	unsigned int i;

	for (i = 0; i < NCORE_UDMA_WORDS; i++)
		F(s, *ncore_udma_word_at(u, i));
	words(s, u->tdma, sizeof(u->tdma) / sizeof(u->tdma[0]));
	LIMITED(s, u->disabled, 2, "not a truth value");
	for (i = 0; i < NCORE_QUEUES; i++)
		queue_state(s, &u->queue[i]);
}

/* An engine that nobody used is saved as a reset leaves one. */
static void udmas_state(struct state *s)
{
	struct ncore_udma *u, *unused = s->load ? NULL : calloc(1, sizeof(*unused));
	unsigned int i;

	if (!s->load && !unused)
		fail(s, -ENOMEM, "out of memory");
	for (i = 0; i < s->chip->gen->dma_engines && !s->error; i++) {
		u = s->load ? ncore_udma_use(s->chip, i) : &s->chip->udma[i];
		if (!u->used) {
			ncore_udma_init(s->chip, unused, i);
			u = unused;
		}
		udma_state(s, u);
	}
	free(unused);
}

static bool sensor_exists(const struct ncore_chip *chip, unsigned int sensor)
{
	return sensor < (unsigned int)NCORE_SENSOR_DRAM(chip->gen->memories, 0) ||
	       sensor == NCORE_SENSOR_POWER_BP ||
	       (sensor > NCORE_SENSOR_POWER_BP && chip->gen->repairs);
}

static void chip_state(struct state *s)
{
	struct ncore_chip *chip = s->chip;
	unsigned int i;

	words(s, chip->misc, NEURON_MISC_RAM_SIZE / 4);
	LIMITED(s, chip->reset_armed, 2, "not a truth value");
	if (s->load && !s->error)
		ncore_misc_up(chip, !ncore_misc_resetting(chip));
	for (i = 0; i < NCORE_GE_COUNT; i++)
		F(s, chip->guest_errors[i]);
	for (i = 0; i < NCORE_SENSOR_COUNT; i++)
		if (sensor_exists(chip, i))
			LIMITED(s, chip->sensor[i], ncore_sensor_max((enum ncore_sensor)i) + 1,
				"a sensor is out of its range");
	F(s, chip->power_samples);
	LIMITED(s, chip->guard.on, 2, "not a truth value");
	words(s, chip->guard.root, 2);
	words(s, chip->guard.core, chip->gen->cores);
	words(s, chip->kept, chip->kepts);
	udmas_state(s);
	for (i = 0; i < chip->gen->cores; i++)
		core_state(s, &chip->core[i]);
	for (i = 0; i < chip->topsps; i++)
		topsp_state(s, &chip->topsp[i]);
	for (i = 0; i < chip->strands; i++)
		strand_state(s, &chip->strand[i]);
	if (chip->gen->target->core > 1)
		transfers_state(s);
}

static void header(struct state *s)
{
	const bool v2 = s->chip->gen->target->core > 1;
	const uint32_t newest = v2 ? STATE_VERSION : STATE_VERSION_CORE1;
	const uint32_t oldest = v2 ? STATE_VERSION : STATE_OLDEST_CORE1;
	uint64_t magic = STATE_MAGIC;
	uint32_t generation = s->chip->gen->number;

	s->version = newest;
	F(s, magic);
	F(s, s->version);
	F(s, generation);
	if (magic != STATE_MAGIC)
		fail(s, -EINVAL, "not a chip's state");
	else if (s->version > newest || s->version < oldest)
		fail(s, -ENOTSUP,
		     v2 ? "a state of another version than 8"
			: "a state of another version than 4 or 5");
	else if (generation != s->chip->gen->number)
		fail(s, -ENOTSUP, "a state of another generation of chips");
}

static bool at_rest(struct ncore_chip *chip)
{
	unsigned int i;

	for (i = 0; i < chip->strands; i++)
		if (chip->strand[i].running)
			return false;
	return chip->paused > 0;
}

int ncore_chip_save(struct ncore_chip *chip, void **buf, size_t *size)
{
	struct state s = { .chip = chip };

	pthread_mutex_lock(&chip->lock);
	if (at_rest(chip)) {
		header(&s);
		chip_state(&s);
	} else {
		s.error = -EBUSY;
	}
	pthread_mutex_unlock(&chip->lock);
	if (s.error) {
		free(s.out);
		return s.error;
	}
	*buf = s.out;
	*size = s.at;
	return 0;
}

/* Drops what was loaded before the state was refused: the chip is as after a reset, and ready. */
static void forget(struct ncore_chip *chip)
{
	ncore_reset_queues(chip);
	ncore_misc_reset(chip, true);
	ncore_irq_reset(chip);
	ncore_misc_up(chip, true);
}

int ncore_chip_load(struct ncore_chip *chip, const void *buf, size_t size, const char **reason)
{
	struct state s = { .chip = chip, .load = true, .in = buf, .size = size };

	pthread_mutex_lock(&chip->lock);
	if (at_rest(chip)) {
		header(&s);
		if (!s.error) {
			ncore_reset_queues(chip);
			chip_state(&s);
			if (!s.error && s.at != s.size)
				fail(&s, -EINVAL, "the state is followed by something else");
			if (s.error)
				forget(chip);
			ncore_link_sync(chip);
		}
	} else {
		fail(&s, -EBUSY, "the chip is not at rest");
	}
	pthread_mutex_unlock(&chip->lock);
	if (reason)
		*reason = s.bad;
	return s.error;
}
