/* SPDX-License-Identifier: MIT */
/*
 * A NeuronCore's state as bytes, for save and load: a version, then every field little-endian in
 * the order of tpb_fields(): engines, semaphores and events are as many as the target has. SBUF and
 * PSUM are the owner's. A state comes from a file, so every count and index in it is checked.
 * Called by the chip through tpb.h; for the semaphores and events alone, of a TOP_SP, through
 * tpb_words.h.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "exec.h"

/*
 * Of NeuronCore-v1, and of those that execute version 2 of the instruction set. The latter had
 * version 3 while they had four engines and executed version 1: no program of such a state goes on.
 */
#define TPB_STATE_VERSION 2
#define TPB_STATE_VERSION_CORE2 5
#define TPB_STATE_WITHOUT_WINDOWS 4 /* and registers: as after a reset */

/* One cursor serves saving and loading, so that fields are named once. */
struct tpb_cursor {
	uint8_t *buf;
	uint64_t size, at;
	bool load, failed;
};

static void tpb_field(struct tpb_cursor *c, void *field, size_t n)
{
	if (!c->buf) {
		c->at += n;
		return;
	}
	if (n > c->size - c->at) {
		c->failed = true;
		return;
	}
	if (c->load)
		memcpy(field, c->buf + c->at, n);
	else
		memcpy(c->buf + c->at, field, n);
	c->at += n;
}

/* Hosts are little-endian; a big-endian one swaps here */
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "state is little-endian");

static void tpb_flag(struct tpb_cursor *c, bool *flag)
{
	uint8_t v = *flag;

	tpb_field(c, &v, 1);
	if (c->load)
		*flag = v != 0;
}

/* Two flags in one byte; a state of before the second one has 0 or 1 */
static void tpb_flags(struct tpb_cursor *c, bool *first, bool *second)
{
	uint8_t v = (uint8_t)(*first | *second << 1);

	tpb_field(c, &v, 1);
	if (c->load) {
		c->failed |= v > 3;
		*first = v & 1;
		*second = v >> 1 & 1;
	}
}

static void tpb_engine_fields(struct tpb_cursor *c, struct tpb_engine *eng)
{
	tpb_field(c, eng->fifo, sizeof(eng->fifo));
	tpb_field(c, eng->fifo_time, sizeof(eng->fifo_time));
	tpb_field(c, &eng->fifo_head, sizeof(eng->fifo_head));
	tpb_field(c, &eng->fifo_count, sizeof(eng->fifo_count));
	tpb_flags(c, &eng->stopped, &eng->told);
	tpb_field(c, &eng->time, sizeof(eng->time));
	tpb_field(c, &eng->own, sizeof(eng->own));
	tpb_field(c, &eng->own_time, sizeof(eng->own_time));
}

/* Saves the oldest first, and only as many as there are. */
static void tpb_past_fields(struct tpb_cursor *c, struct tpb_past *p)
{
	unsigned int first = c->load ? 0 : p->first;

	tpb_field(c, &p->count, sizeof(p->count));
	tpb_flag(c, &p->forgot);
	if (p->count > TPB_PAST) {
		c->failed = true;
		p->count = 0;
	}
	for (unsigned int i = 0; i < p->count; i++) {
		tpb_field(c, &p->time[(first + i) % TPB_PAST], sizeof(p->time[0]));
		tpb_field(c, &p->value[(first + i) % TPB_PAST], sizeof(p->value[0]));
	}
	if (c->load)
		p->first = 0;
}

/* Of the weights those that were loaded: what kernels leave beside them is 0 in a state */
static void tpb_weights_fields(struct tpb_cursor *c, struct tpb_weights *w)
{
	exec_weights_plain(w);
	tpb_field(c, &w->k, sizeof(w->k));
	tpb_field(c, &w->fs, sizeof(w->fs));
	tpb_field(c, &w->dtype, sizeof(w->dtype));
	for (unsigned int i = 0; i < NEURON_ISA_MAX_STATIONARY; i += EXEC_MM_ROWS) {
		float(*block)[EXEC_MM_ROWS] = (void *)(w->w + i / EXEC_MM_ROWS * EXEC_MM_W_BLOCK);
		float saved[NEURON_PARTITIONS][EXEC_MM_ROWS] = { { 0 } };
		unsigned int n = w->fs > i ? w->fs - i : 0;

		n = n < EXEC_MM_ROWS ? n : EXEC_MM_ROWS;
		for (unsigned int k = 0; k < w->k && k < NEURON_PARTITIONS && !c->load; k++)
			memcpy(saved[k], block[k], n * sizeof(block[k][0]));
		tpb_field(c, saved, sizeof(saved));
		if (c->load)
			memcpy(block, saved, sizeof(saved));
	}
}

static void tpb_words_fields(struct tpb_cursor *c, struct tpb_words *w,
			     const struct neuron_target *target)
{
	tpb_field(c, w->sem, target->semaphores * sizeof(w->sem[0]));
	tpb_field(c, w->event, target->events * sizeof(w->event[0]));
	for (unsigned int i = 0; i < target->semaphores; i++)
		tpb_past_fields(c, &w->sem_past[i]);
	for (unsigned int i = 0; i < target->events; i++)
		tpb_past_fields(c, &w->event_past[i]);
}

/* The words of the head, which was read and is not read again */
static void tpb_window_head_field(struct tpb_cursor *c, struct tpb_engine *eng)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD] = { 0 };

	if (!c->load && eng->window.on && tpb_window_words(eng))
		memcpy(words, tpb_window_words(eng), sizeof(words));
	tpb_field(c, words, sizeof(words));
	if (c->load)
		tpb_window_put(eng, words);
}

static void tpb_window_fields(struct tpb_cursor *c, struct tpb_engine *eng)
{
	struct tpb_window *w = &eng->window;

	tpb_flag(c, &w->on);
	tpb_field(c, &w->base, sizeof(w->base));
	tpb_field(c, &w->length, sizeof(w->length));
	tpb_field(c, &w->pc, sizeof(w->pc));
	tpb_window_head_field(c, eng);
	tpb_field(c, eng->reg, sizeof(eng->reg));
}

static void tpb_fields(struct tpb_cursor *c, struct tpb *t, uint32_t version)
{
	const struct neuron_target *target = t->cfg.target;

	for (unsigned int e = 0; e < target->engines; e++)
		tpb_engine_fields(c, &t->eng[e]);
	tpb_words_fields(c, &t->words, target);
	tpb_field(c, t->perf.eng, target->engines * sizeof(t->perf.eng[0]));
	tpb_field(c, &t->perf.macs, sizeof(t->perf.macs));
	if (target->gen->array) {
		tpb_field(c, t->perf.products, sizeof(t->perf.products));
		tpb_field(c, t->perf.weights, sizeof(t->perf.weights));
	}
	tpb_weights_fields(c, &t->weights);
	tpb_field(c, t->acc, sizeof(t->acc));
	for (unsigned int e = 0; version > TPB_STATE_WITHOUT_WINDOWS && e < target->engines; e++)
		tpb_window_fields(c, &t->eng[e]);
}

static uint32_t tpb_state_version(const struct tpb *t)
{
	return t->cfg.target->core > 1 ? TPB_STATE_VERSION_CORE2 : TPB_STATE_VERSION;
}

int64_t tpb_save(const struct tpb *t, void *buf, uint64_t size)
{
	struct tpb_cursor c = { .buf = buf, .size = size };
	uint32_t version = tpb_state_version(t);

	tpb_field(&c, &version, sizeof(version));
	tpb_fields(&c, (struct tpb *)t, version); /* A saving cursor changes no value. */
	return c.failed ? -ENOSPC : (int64_t)c.at;
}

/* Times in their order; the last value is what the word shows, of an event whether it is set */
static bool tpb_past_sane(const struct tpb_past *p, uint32_t word, bool event)
{
	for (unsigned int i = 0; i < p->count; i++)
		if ((i && p->time[i] <= p->time[i - 1]) || (event && p->value[i] > 1))
			return false;
	return tpb_past_last(p) == (event ? !!word : word) && (p->count || !p->forgot);
}

static bool tpb_words_sane(const struct tpb_words *w, const struct neuron_target *target)
{
	for (unsigned int i = 0; i < target->semaphores; i++)
		if (!tpb_past_sane(&w->sem_past[i], w->sem[i], false))
			return false;
	for (unsigned int i = 0; i < target->events; i++)
		if (!tpb_past_sane(&w->event_past[i], w->event[i], true))
			return false;
	return true;
}

int64_t tpb_words_save(const struct tpb_words *w, const struct neuron_target *target, void *buf,
		       uint64_t size)
{
	struct tpb_cursor c = { .buf = buf, .size = size };

	tpb_words_fields(&c, (struct tpb_words *)w, target); /* as tpb_save() */
	return c.failed ? -ENOSPC : (int64_t)c.at;
}

int tpb_words_load(struct tpb_words *w, const struct neuron_target *target, const void *buf,
		   uint64_t size)
{
	struct tpb_cursor c = { .buf = (uint8_t *)buf, .size = size, .load = true };

	tpb_words_fields(&c, w, target);
	if (!c.failed && c.at == size && tpb_words_sane(w, target))
		return 0;
	tpb_words_reset(w, target);
	return -EINVAL;
}

static bool tpb_window_sane(const struct tpb_window *w)
{
	return !((w->base | w->length | w->pc) % NEURON_INSN_WORD) && (w->length || !w->on);
}

static bool tpb_state_sane(const struct tpb *t)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++)
		if (t->eng[e].fifo_head >= NEURON_FIFO_WORDS ||
		    t->eng[e].fifo_count > NEURON_FIFO_WORDS || !tpb_window_sane(&t->eng[e].window))
			return false;
	if (t->weights.dtype && (!t->weights.k || t->weights.k > NEURON_PARTITIONS ||
				 !t->weights.fs || t->weights.fs > NEURON_ISA_MAX_STATIONARY ||
				 t->weights.dtype >= NEURON_ISA_DTYPE_COUNT ||
				 !(t->cfg.target->pe_dtypes >> t->weights.dtype & 1)))
		return false;
	return tpb_words_sane(&t->words, t->cfg.target);
}

int tpb_load(struct tpb *t, const void *buf, uint64_t size)
{
	struct tpb_cursor c = { .buf = (uint8_t *)buf, .size = size, .load = true };
	const uint32_t now = tpb_state_version(t);
	uint32_t version = 0;

	tpb_field(&c, &version, sizeof(version));
	if (c.failed || (version != now &&
			 (now != TPB_STATE_VERSION_CORE2 || version != TPB_STATE_WITHOUT_WINDOWS)))
		return -EINVAL;
	tpb_reset(t); /* what the state of an older version lacks is as after that */
	tpb_fields(&c, t, version);
	if (c.failed || c.at != size || !tpb_state_sane(t)) {
		tpb_reset(t);
		return -EINVAL;
	}
	for (unsigned int e = 0; e < t->cfg.target->engines; e++)
		if (t->eng[e].window.on)
			tpb_window_resume(t, e);
		else
			tpb_decode_head(t, e);
	return 0;
}
