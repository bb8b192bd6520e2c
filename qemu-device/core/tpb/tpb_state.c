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

#include "exec/exec.h"
#include "gps/gps.h"
#include "tpb_engine.h"

/*
 * Of NeuronCore-v1, and of those that execute version 2 of the instruction set. The latter had
 * version 3 while they had four engines and executed version 1: no program of such a state goes on;
 * version 4 had no vectors in GpSimd's processors.
 */
#define TPB_STATE_VERSION 2
#define TPB_STATE_VERSION_CORE2 5

/* Beside the type of weights that are two rows a partition, and twice as many in a state */
#define TPB_STATE_DOUBLED 0x80

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

/* The kind of a weight that is NaN depends on the kernels, and shows in no result */
static void tpb_one_nan(float *w, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w[i] = exec_canonical(w[i]);
}

/* The weights that were loaded: what kernels leave beside them is 0 in a state */
static void tpb_weights_fields(struct tpb_cursor *c, struct tpb_weights *w)
{
	uint8_t dtype = (uint8_t)(w->dtype | (w->doubled ? TPB_STATE_DOUBLED : 0));
	unsigned int rows;

	exec_weights_plain(w);
	tpb_field(c, &w->k, sizeof(w->k));
	tpb_field(c, &w->fs, sizeof(w->fs));
	tpb_field(c, &dtype, sizeof(dtype));
	w->dtype = dtype & ~TPB_STATE_DOUBLED;
	w->doubled = dtype & TPB_STATE_DOUBLED;
	rows = NEURON_PARTITIONS * (w->doubled ? 2 : 1);
	for (unsigned int i = 0; i < NEURON_ISA_MAX_STATIONARY; i += EXEC_MM_ROWS) {
		float(*block)[EXEC_MM_ROWS] = (void *)(w->w + i / EXEC_MM_ROWS * EXEC_MM_W_BLOCK);
		float saved[2 * NEURON_PARTITIONS][EXEC_MM_ROWS] = { { 0 } };
		unsigned int n = w->fs > i ? w->fs - i : 0;

		n = n < EXEC_MM_ROWS ? n : EXEC_MM_ROWS;
		for (unsigned int k = 0; k < w->k && k < rows && !c->load; k++)
			memcpy(saved[k], block[k], n * sizeof(block[k][0]));
		tpb_one_nan(saved[0], (size_t)rows * EXEC_MM_ROWS);
		tpb_field(c, saved, rows * sizeof(saved[0]));
		if (c->load)
			memcpy(block, saved, rows * sizeof(saved[0]));
	}
}

/* The parts of the array that have weights, and their weights, if there are any */
static void tpb_parts_fields(struct tpb_cursor *c, struct tpb *t)
{
	uint8_t any = 0;

	for (unsigned int i = 0; i < NEURON_ISA_PARTS; i++) {
		struct neuron_isa_weights *w = &t->parts.at[i];
		uint8_t k = (uint8_t)w->k, columns = (uint8_t)w->columns;

		tpb_field(c, &k, sizeof(k));
		tpb_field(c, &columns, sizeof(columns));
		tpb_field(c, &w->dtype, sizeof(w->dtype));
		tpb_field(c, &w->tile, sizeof(w->tile));
		w->k = k;
		w->columns = columns;
		any |= k;
	}
	if (!any)
		return;
	tpb_one_nan(t->part_weights[0], sizeof(t->part_weights) / sizeof(float));
	tpb_field(c, t->part_weights, sizeof(t->part_weights));
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
	if (c->load)
		tpb_words_loaded(w, target);
}

static void tpb_gps_vector_fields(struct tpb_cursor *c, struct gps_vector *v)
{
	tpb_field(c, v->v, sizeof(v->v));
	tpb_field(c, &v->vl, sizeof(v->vl));
	tpb_field(c, &v->vtype, sizeof(v->vtype));
	tpb_field(c, &v->vstart, sizeof(v->vstart));
	tpb_field(c, &v->vxrm, sizeof(v->vxrm));
	tpb_field(c, &v->vxsat, sizeof(v->vxsat));
}

static void tpb_gps_core_fields(struct tpb_cursor *c, struct gps_core *core)
{
	tpb_field(c, core->x, sizeof(core->x));
	tpb_field(c, core->f, sizeof(core->f));
	tpb_field(c, &core->pc, sizeof(core->pc));
	tpb_flag(c, &core->live);
	tpb_field(c, &core->retired, sizeof(core->retired));
	tpb_field(c, core->tcm, NEURON_GPS_TCM);
	tpb_gps_vector_fields(c, &core->vector);
}

/* GpSimd's processors, of which nothing is left when no CUSTOM_OP is in between */
static void tpb_gps_fields(struct tpb_cursor *c, struct gps *g)
{
	tpb_flag(c, &g->running);
	if (!g->running || c->failed)
		return;
	tpb_field(c, &g->next, sizeof(g->next));
	tpb_field(c, &g->round, sizeof(g->round));
	tpb_field(c, &g->limit, sizeof(g->limit));
	tpb_field(c, &g->mask, sizeof(g->mask));
	tpb_field(c, &g->args, sizeof(g->args));
	tpb_field(c, &g->ring, sizeof(g->ring));
	tpb_field(c, &g->ring_bytes, sizeof(g->ring_bytes));
	tpb_field(c, &g->lib_bytes, sizeof(g->lib_bytes));
	if (g->args > NEURON_GPS_ARGS || g->lib_bytes > NEURON_GPS_LIB_MAX) {
		c->failed = true;
		g->lib_bytes = 0;
		return;
	}
	for (unsigned int i = 0; i < g->args; i++)
		tpb_field(c, &g->arg[i].raw, sizeof(g->arg[i].raw));
	tpb_field(c, g->lib, g->lib_bytes);
	for (unsigned int i = 0; i < NEURON_GPS_CORES; i++)
		tpb_gps_core_fields(c, &g->core[i]);
	if (c->load)
		gps_library_decode(g);
}

/* The words of the head, which was read and is not read again */
static void tpb_window_head_field(struct tpb_cursor *c, struct tpb_engine *eng)
{
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD] = { 0 };

	if (!c->load && eng->window.on && tpb_window_words(eng))
		memcpy(words, tpb_window_words(eng), sizeof(words));
	tpb_field(c, words, sizeof(words));
	if (c->load && eng->window.on && !tpb_window_put(eng, words))
		c->failed = true;
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

static void tpb_fields(struct tpb_cursor *c, struct tpb *t)
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
	if (target->core > 1) {
		tpb_parts_fields(c, t);
		tpb_field(c, t->vector_acc, sizeof(t->vector_acc));
		tpb_field(c, t->xorshift, sizeof(t->xorshift));
		tpb_field(c, t->xorwow, sizeof(t->xorwow));
	}
	for (unsigned int e = 0; target->core > 1 && e < target->engines; e++) {
		tpb_window_fields(c, &t->eng[e]);
		tpb_flag(c, &t->eng[e].at_random);
		tpb_field(c, &t->eng[e].draws.seed, sizeof(t->eng[e].draws.seed));
		tpb_field(c, &t->eng[e].draws.count, sizeof(t->eng[e].draws.count));
	}
	if (t->gps)
		tpb_gps_fields(c, t->gps);
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
	tpb_fields(&c, (struct tpb *)t); /* A saving cursor changes no value. */
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

/* Is each part of the weights in its place, as a load that was checked leaves it? */
static bool tpb_parts_sane(const struct tpb *t)
{
	struct neuron_isa_array all = { 0 };

	for (unsigned int i = 0; i < NEURON_ISA_PARTS; i++) {
		const struct neuron_isa_weights *w = &t->parts.at[i];
		const struct neuron_insn load = { .opcode = NEURON_OP_LDWEIGHTS,
						  .partitions = (uint8_t)w->k,
						  .tile = w->tile,
						  .src0 = {
							  .dtype = w->dtype,
							  .num = { 1, 1, 1, (uint16_t)w->columns },
							  .step = { 0, 0, 0, 1 } } };

		if (!w->k)
			continue;
		if (!w->tile || t->weights.dtype ||
		    neuron_isa_check(&load, NEURON_ENG_PE, t->cfg.target, NULL))
			return false;
		neuron_isa_load_weights(&all, &load);
		if (!all.at[i].k)
			return false;
	}
	for (unsigned int i = 0; i < NEURON_ISA_PARTS; i++)
		if (!all.at[i].k != !t->parts.at[i].k) /* one met another */
			return false;
	return true;
}

static bool tpb_state_sane(const struct tpb *t)
{
	const struct neuron_isa_weights loaded = exec_weights_loaded(&t->weights);

	for (unsigned int e = 0; e < t->cfg.target->engines; e++)
		if (t->eng[e].fifo_head >= NEURON_FIFO_WORDS ||
		    t->eng[e].fifo_count > NEURON_FIFO_WORDS || !tpb_window_sane(&t->eng[e].window))
			return false;
	if (t->weights.dtype &&
	    (!loaded.k || loaded.k > NEURON_PARTITIONS || t->weights.k % loaded.k ||
	     !t->weights.fs || t->weights.fs > NEURON_ISA_MAX_STATIONARY ||
	     t->weights.dtype >= NEURON_ISA_DTYPE_COUNT ||
	     !(t->cfg.target->pe_dtypes >> t->weights.dtype & 1)))
		return false;
	return tpb_parts_sane(t) && (!t->gps || gps_sane((struct tpb *)t, t->gps)) &&
	       tpb_words_sane(&t->words, t->cfg.target);
}

/* The running instruction is the one at the head */
static bool tpb_custom_head(const struct tpb *t)
{
	const struct tpb_engine *eng = &t->eng[NEURON_ENG_GPSIMD];

	return eng->head == TPB_HEAD_READY && eng->insn->opcode == NEURON_OP_CUSTOM_OP &&
	       !eng->stopped;
}

int tpb_load(struct tpb *t, const void *buf, uint64_t size)
{
	struct tpb_cursor c = { .buf = (uint8_t *)buf, .size = size, .load = true };
	uint32_t version = 0;

	tpb_field(&c, &version, sizeof(version));
	if (c.failed || version != tpb_state_version(t))
		return -EINVAL;
	if (t->gps)
		gps_reset(t->gps);
	tpb_fields(&c, t);
	if (c.failed || c.at != size || !tpb_state_sane(t)) {
		tpb_reset(t);
		return -EINVAL;
	}
	for (unsigned int e = 0; e < t->cfg.target->engines; e++) {
		t->eng[e].stands = TPB_WORD_NONE;
		if (t->eng[e].window.on)
			tpb_window_resume(t, e);
		else
			tpb_decode_head(t, e);
	}
	if (gps_custom_running(t) && !tpb_custom_head(t)) {
		tpb_reset(t);
		return -EINVAL;
	}
	return 0;
}
