/* SPDX-License-Identifier: MIT */
/*
 * A NeuronCore's sequencers: instruction FIFOs, waits and updates, semaphores, events, errors and
 * counters (docs/isa.md, Execution). tpb.h says who calls and under which lock. Counters, which
 * other threads may read, are written and read atomically, relaxed, as semaphores are
 * (tpb_words.h).
 */
#include "tpb.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "gps/gps.h"
#include "tpb_engine.h"
#include "neuron/hw/notify.h"
#include "neuron/isa/codec.h"
#include "neuron/timing.h"

#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define COUNT(x, n) WRITE_ONCE(x, (x) + (n))

void tpb_reset(struct tpb *t)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++) {
		struct tpb_engine *eng = &t->eng[e];

		eng->fifo_head = eng->fifo_count = 0;
		eng->stopped = eng->told = eng->at_random = false;
		eng->draws = (struct exec_draws){ .core = t->cfg.index, .engine = e };
		eng->own = eng->stands = TPB_WORD_NONE;
		eng->own_time = 0;
		tpb_window_reset(eng);
		tpb_decode_head(t, e);
	}
	tpb_words_reset(&t->words, t->cfg.target);
	t->weights.dtype = NEURON_DT_INVALID;
	memset(&t->parts, 0, sizeof(t->parts));
	memset(t->acc, 0, sizeof(t->acc));
	if (t->gps)
		gps_reset(t->gps);
	memset(t->vector_acc, 0, sizeof(t->vector_acc));
	exec_random_reset(t);
}

int tpb_new(const struct tpb_config *config, struct tpb **out)
{
	struct tpb *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->scratch = aligned_alloc(64, (sizeof(*t->scratch) + 63) & ~(size_t)63);
	if (!t->scratch) {
		free(t);
		return -ENOMEM;
	}
	t->cfg = *config;
	if (config->target->engines > NEURON_ENG_GPSIMD && gps_new(&t->gps)) {
		tpb_free(t);
		return -ENOMEM;
	}
	t->kern = exec_kernels_best();
	tpb_reset(t);
	*out = t;
	return 0;
}

void tpb_free(struct tpb *t)
{
	if (!t)
		return;
	tpb_window_free(t);
	gps_free(t->gps);
	free(t->scratch);
	free(t);
}

/* FIFOs */

/* The FIFO's first n words, side by side: where they lie, or in words */
static const uint8_t *tpb_fifo_peek(const struct tpb_engine *eng, uint8_t *words, unsigned int n)
{
	unsigned int before = NEURON_FIFO_WORDS - eng->fifo_head; /* the ring's end */
	const uint8_t *at = eng->fifo + eng->fifo_head * NEURON_INSN_WORD;

	if (n <= before)
		return at;
	memcpy(words, at, before * NEURON_INSN_WORD);
	memcpy(words + before * NEURON_INSN_WORD, eng->fifo, (n - before) * NEURON_INSN_WORD);
	return words;
}

static uint64_t tpb_arrival(const struct tpb_engine *eng, unsigned int words)
{
	uint64_t time = 0;

	for (unsigned int i = 0; i < words; i++) {
		unsigned int at = (eng->fifo_head + i) % NEURON_FIFO_WORDS;

		if (eng->fifo_time[at] > time)
			time = eng->fifo_time[at];
	}
	return time;
}

void tpb_decode_head(struct tpb *t, unsigned int e)
{
	struct tpb_engine *eng = &t->eng[e];
	unsigned int n =
		eng->fifo_count < NEURON_ISA_MAX_WORDS ? eng->fifo_count : NEURON_ISA_MAX_WORDS;
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int rc;

	if (eng->window.on) {
		tpb_window_head(t, e);
		return;
	}
	eng->head = TPB_HEAD_NONE;
	eng->wait_word = TPB_WORD_NONE;
	eng->start = TPB_NEVER;
	eng->insn = &eng->decoded;
	eng->cached = NULL;
	rc = neuron_isa_decode_for(tpb_fifo_peek(eng, words, n), n, t->cfg.target->core,
				   &eng->decoded);
	if (rc == -EAGAIN)
		return;
	eng->head = rc > 0 ? TPB_HEAD_READY : TPB_HEAD_ILLEGAL;
	eng->head_words = rc > 0 ? (unsigned int)rc : 1;
	eng->arrived = tpb_arrival(eng, eng->head_words);
	/* what has started waits no more */
	if (rc > 0 && !(e == NEURON_ENG_GPSIMD && gps_custom_running(t)))
		eng->wait_word = tpb_wait_word(t, &eng->decoded);
	if (!eng->stopped)
		tpb_look(t, e);
}

void tpb_fifo_push(struct tpb *t, unsigned int engine, const void *words, unsigned int n,
		   uint64_t time)
{
	struct tpb_engine *eng = &t->eng[engine];

	for (unsigned int i = 0; i < n; i++) {
		unsigned int at = (eng->fifo_head + eng->fifo_count++) % NEURON_FIFO_WORDS;

		memcpy(eng->fifo + at * NEURON_INSN_WORD,
		       (const uint8_t *)words + (size_t)i * NEURON_INSN_WORD, NEURON_INSN_WORD);
		eng->fifo_time[at] = time;
	}
	if (eng->head == TPB_HEAD_NONE)
		tpb_decode_head(t, engine);
}

/* On to what is behind the head, whose own update is not to be taken for its wait's */
static void tpb_advance(struct tpb *t, unsigned int e)
{
	struct tpb_engine *eng = &t->eng[e];

	eng->wait_word = TPB_WORD_NONE;
	if (eng->window.on) {
		eng->window.pc += (uint64_t)eng->head_words * NEURON_INSN_WORD;
		return;
	}
	eng->fifo_head = (eng->fifo_head + eng->head_words) % NEURON_FIFO_WORDS;
	eng->fifo_count -= eng->head_words;
	if (t->refill >> e & 1 && tpb_fifo_space(t, e) >= TPB_FIFO_REFILL)
		t->leave = true;
}

void tpb_refill(struct tpb *t, uint32_t engines)
{
	t->refill = engines;
}

/* Engines that wait for the word look again. */
static void tpb_changed(struct tpb *t, uint16_t what)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++)
		if (t->eng[e].wait_word == what && !t->eng[e].stopped)
			tpb_look(t, e);
}

static void tpb_sem_update(struct tpb *t, unsigned int engine, enum tpb_sem_op op,
			   unsigned int index, uint32_t value, uint64_t time)
{
	enum tpb_change change = tpb_words_update(&t->words, op, index, value, time);

	if (change == TPB_CHANGED)
		tpb_changed(t, (uint16_t)index);
	else if (change == TPB_REFUSED)
		tpb_error(t, engine, NEURON_NERR_SEM_OVERFLOW, index, t->words.sem[index], value,
			  time);
}

void tpb_sem_write(struct tpb *t, enum tpb_sem_op op, unsigned int index, uint32_t value,
		   uint64_t time)
{
	tpb_sem_update(t, t->cfg.target->no_engine, op, index, value, time);
}

static void tpb_event_put(struct tpb *t, unsigned int engine, unsigned int index, uint32_t value,
			  uint64_t time)
{
	if (tpb_words_put(&t->words, index, value, time) == TPB_CHANGED)
		tpb_changed(t, (uint16_t)(TPB_WORD_EVENT + index));
	else
		tpb_error(t, engine,
			  value ? NEURON_NERR_EVT_DOUBLE_SET : NEURON_NERR_EVT_DOUBLE_CLEAR, index,
			  0, 0, time);
}

void tpb_event_write(struct tpb *t, unsigned int index, uint32_t value, uint64_t time)
{
	tpb_event_put(t, t->cfg.target->no_engine, index, value, time);
}

static void tpb_update(struct tpb *t, unsigned int e, const struct neuron_insn *insn, uint64_t time)
{
	unsigned int i = insn->update_index;

	if (insn->update == NEURON_UPD_NONE)
		return;
	t->eng[e].own = (uint16_t)(insn->update < NEURON_UPD_EVT_SET ? i : TPB_WORD_EVENT + i);
	t->eng[e].own_time = time;

	switch (insn->update) {
	case NEURON_UPD_SEM_INC:
		tpb_sem_update(t, e, TPB_SEM_INC, i, 1, time);
		break;
	case NEURON_UPD_SEM_DEC:
		tpb_sem_update(t, e, TPB_SEM_DEC, i, 1, time);
		break;
	case NEURON_UPD_SEM_ADD_IMM:
		tpb_sem_update(t, e, TPB_SEM_INC, i, insn->update_value, time);
		break;
	case NEURON_UPD_SEM_SUB_IMM:
		tpb_sem_update(t, e, TPB_SEM_DEC, i, insn->update_value, time);
		break;
	case NEURON_UPD_SEM_WR_IMM:
		tpb_sem_update(t, e, TPB_SEM_SET, i, insn->update_value, time);
		break;
	case NEURON_UPD_EVT_SET:
	case NEURON_UPD_EVT_CLR:
		tpb_event_put(t, e, i, insn->update == NEURON_UPD_EVT_SET, time);
		break;
	}
}

/* Sequencing instructions; false when the engine stopped */
static bool tpb_exec_write(struct tpb *t, unsigned int e, const struct neuron_insn *insn,
			   uint64_t time)
{
	for (int i = 0; i < 2; i++) {
		if (!insn->write[i].addr)
			continue;
		t->leave = true;
		if (!t->cfg.ops->write(t->cfg.opaque, insn->write[i].addr, insn->write[i].value,
				       time))
			continue;
		tpb_engine_stop(t, e, NEURON_NERR_WRITE_REFUSED, insn->write[i].addr,
				insn->write[i].value);
		return false;
	}
	return true;
}

/* Draws go on from program to program; another seed has its own */
static void tpb_set_rounding(struct tpb_engine *eng, const struct neuron_insn *insn)
{
	eng->at_random = insn->rounding == NEURON_ROUND_STOCHASTIC;
	if (!eng->at_random || eng->draws.seed == insn->seed)
		return;
	eng->draws.seed = insn->seed;
	eng->draws.count = 0;
}

static bool tpb_exec_sequencing(struct tpb *t, unsigned int e, const struct neuron_insn *insn,
				uint64_t time)
{
	switch (insn->opcode) {
	case NEURON_OP_PROGRAM_START:
		t->eng[e].told = t->eng[e].at_random = false;
		if (neuron_target_executes(t->cfg.target, insn->isa_version))
			return true;
		tpb_engine_stop(t, e, NEURON_NERR_ISA_VERSION, insn->isa_version,
				t->cfg.target->isa_version);
		return false;
	case NEURON_OP_SEM_RANGE_CLEAR:
		for (unsigned int i = insn->first; i <= insn->last; i++)
			tpb_sem_update(t, e, TPB_SEM_SET, i, 0, time);
		return true;
	case NEURON_OP_NOTIFY:
		t->cfg.ops->notify(t->cfg.opaque, NEURON_NQ_NOTIFY, e, 0, insn->id,
				   t->perf.eng[e].insn, 0, time);
		return true;
	case NEURON_OP_WRITE:
		return tpb_exec_write(t, e, insn, time);
	case NEURON_OP_SET_ROUNDING:
		tpb_set_rounding(&t->eng[e], insn);
		return true;
	case NEURON_OP_FETCH:
	case NEURON_OP_FETCH_END:
	case NEURON_OP_MOVE:
	case NEURON_OP_ALU:
	case NEURON_OP_COMPARE_BRANCH:
	case NEURON_OP_TENSOR_LOAD:
	case NEURON_OP_TENSOR_STORE:
	case NEURON_OP_DMA:
		return tpb_exec_registers(t, e, insn);
	case NEURON_OP_PSEUDO_DMA_TRIGGER:
	case NEURON_OP_PSEUDO_CORE_BARRIER:
		tpb_engine_stop(t, e, NEURON_NERR_ILLEGAL_INSN, insn->opcode, 0);
		return false;
	default:
		return true;
	}
}

/*
 * An instruction that asked is told of a NaN that it left in dst. An engine tells of the first one
 * of a program, so that a result full of them does not fill the queue.
 */
static void tpb_check(struct tpb *t, unsigned int e, const struct neuron_insn *insn)
{
	uint32_t offset;

	if (!insn->check || t->eng[e].told)
		return;
	offset = exec_find_nan(t, insn);
	if (offset == UINT32_MAX)
		return;
	t->eng[e].told = true;
	tpb_error(t, e, NEURON_NERR_NUMERICAL, (uint32_t)t->perf.eng[e].insn, offset, insn->opcode,
		  t->eng[e].time);
}

static void tpb_custom_stop(struct tpb *t, unsigned int e)
{
	uint32_t data2;
	uint64_t data = gps_custom_fault(t, &data2);

	tpb_engine_stop(t, e, NEURON_NERR_CUSTOM_OP, data, data2);
}

static bool tpb_custom_start(struct tpb *t, unsigned int e, const struct neuron_insn *insn)
{
	if (!gps_custom_start(t, insn))
		return true;
	tpb_custom_stop(t, e);
	return false;
}

static void tpb_refuse(struct tpb *t, unsigned int e, const struct neuron_insn *insn,
		       const struct neuron_isa_fault *fault)
{
	tpb_engine_stop(t, e, fault->code,
			fault->code == NEURON_NERR_ILLEGAL_INSN
				? insn->opcode
				: (uint64_t)fault->operand << 32 | fault->offset,
			0);
}

static bool tpb_exec(struct tpb *t, unsigned int e, const struct neuron_insn *insn, uint64_t time)
{
	struct neuron_isa_fault fault = { 0 };
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];
	uint32_t group = op->groups & t->cfg.target->engine[e].runs;
	int rc = t->eng[e].cached ? tpb_check_head(t, e, insn, &fault)
				  : neuron_isa_check_at(insn, e, t->cfg.target, &fault, &t->at);

	if (!rc) {
		if (op->fields & NEURON_FB(CUSTOM))
			return tpb_custom_start(t, e, insn);
		if (!(op->fields & NEURON_FB(PARTITIONS)))
			return tpb_exec_sequencing(t, e, insn, time);
		t->draws = t->eng[e].at_random ? &t->eng[e].draws : NULL;
		if (group & NEURON_ISA_PE)
			rc = exec_pe(t, insn, &fault);
		else if (group & NEURON_ISA_ACT)
			rc = exec_act(t, insn, &fault);
		else if (group & NEURON_ISA_POOL)
			rc = exec_pool(t, insn, &fault);
		else
			rc = exec_gpsimd(t, insn, &fault);
	}
	if (!rc) {
		tpb_check(t, e, insn);
		return true;
	}
	tpb_refuse(t, e, insn, &fault);
	return false;
}

/* Injected faults: true when one has stopped the engine */
static bool tpb_struck(struct tpb *t, unsigned int e, bool datapath)
{
	if (!t->cfg.faults || !atomic_load_explicit(t->cfg.faults, memory_order_relaxed))
		return false;
	switch (t->cfg.ops->fault(t->cfg.opaque, datapath)) {
	case TPB_FAULT_HANG:
		tpb_engine_halt(&t->eng[e]);
		return true;
	case TPB_FAULT_SRAM:
		tpb_engine_stop(t, e, NEURON_NERR_SRAM_UE, t->eng[e].insn->opcode, 0);
		return true;
	default:
		return false;
	}
}

/*
 * Moves the engine's time to where the head starts: it was idle until its words came, then waited.
 */
static void tpb_begin(struct tpb *t, unsigned int e, bool matmul)
{
	struct tpb_engine *eng = &t->eng[e];

	if (eng->arrived > eng->time) {
		COUNT(t->perf.eng[e].idle, eng->arrived - eng->time);
		eng->time = eng->arrived;
	}
	if (eng->start > eng->time) {
		COUNT(t->perf.eng[e].wait, eng->start - eng->time);
		if (matmul)
			COUNT(t->perf.eng[e].matmul_wait, eng->start - eng->time);
		eng->time = eng->start;
	}
}

static void tpb_count_matmul(struct tpb *t, unsigned int e, const struct neuron_insn *insn)
{
	const struct neuron_isa_weights w = exec_weights_for(t, insn);

	COUNT(t->perf.eng[e].matmul_insn, 1);
	COUNT(t->perf.macs, neuron_isa_macs(insn, &w));
}

/*
 * The array was busy for a time: the groups of rows in which the operand that moves has partitions
 */
static void tpb_count_array(struct tpb *t, const struct neuron_insn *insn, uint64_t time)
{
	const unsigned int group = NEURON_PARTITIONS / NEURON_ARRAY_ROWS;
	uint64_t *row = neuron_isa_ops[insn->opcode].weights == NEURON_WEIGHTS_LOAD
				? t->perf.weights
				: t->perf.products;

	for (unsigned int r = 0; r * group < insn->partitions; r++)
		COUNT(row[r], time);
}

/*
 * A slice of the CUSTOM_OP at the head, which has started. Whoever executes the core looks around
 * then.
 */
static void tpb_custom_slice(struct tpb *t, unsigned int e)
{
	struct tpb_engine *eng = &t->eng[e];
	uint64_t cycles;
	enum gps_custom_slice slice = gps_custom_slice(t, &cycles);

	t->leave = true;
	cycles *= t->cfg.target->engine[e].cycle;
	eng->time += cycles;
	eng->start = eng->time;
	COUNT(t->perf.eng[e].busy, cycles);
	if (slice == GPS_CUSTOM_FAULT)
		tpb_custom_stop(t, e);
	if (slice != GPS_CUSTOM_DONE)
		return;
	tpb_advance(t, e);
	COUNT(t->perf.eng[e].insn, 1);
	tpb_update(t, e, eng->insn, eng->time);
	tpb_decode_head(t, e);
}

/* An engine that finds no instruction stops */
static void tpb_head_error(struct tpb *t, unsigned int e)
{
	const struct tpb_engine *eng = &t->eng[e];
	const struct tpb_window *w = &eng->window;
	const uint8_t *words;

	switch (eng->head) {
	case TPB_HEAD_OUTSIDE:
		tpb_engine_stop(t, e, NEURON_NERR_PC, w->pc, w->length);
		break;
	case TPB_HEAD_REFUSED:
		tpb_engine_stop(t, e, NEURON_NERR_FETCH_REFUSED, w->base, w->length);
		break;
	default:
		words = w->on ? tpb_window_words(eng)
			      : eng->fifo + eng->fifo_head * NEURON_INSN_WORD;
		tpb_engine_stop(t, e, NEURON_NERR_ILLEGAL_INSN, neuron_isa_get_le64(words), 0);
	}
}

/* The head instruction of an engine that may run */
static void tpb_step(struct tpb *t, unsigned int e)
{
	const struct neuron_target *target = t->cfg.target;
	struct tpb_engine *eng = &t->eng[e];
	const struct neuron_insn *insn = eng->insn;
	struct neuron_isa_fault fault;
	bool matmul;
	uint64_t cost;

	if (e == NEURON_ENG_GPSIMD && gps_custom_running(t)) {
		tpb_custom_slice(t, e);
		return;
	}
	if (eng->head != TPB_HEAD_READY) {
		tpb_head_error(t, e);
		return;
	}
	matmul = neuron_isa_ops[insn->opcode].weights == NEURON_WEIGHTS_USE;
	if (tpb_struck(t, e, neuron_isa_datapath(insn)))
		return;
	if (insn->opcode != NEURON_OP_CUSTOM_OP) /* which stays until it is done */
		tpb_advance(t, e);
	tpb_begin(t, e, matmul);
	if (t->cfg.ops->insn)
		t->cfg.ops->insn(t->cfg.opaque, e, insn->opcode, eng->time);
	if (neuron_isa_patched(insn)) {
		insn = tpb_patched(t, e, &fault);
		if (!insn) {
			tpb_refuse(t, e, eng->insn, &fault);
			return;
		}
	}
	if (!tpb_exec(t, e, insn, eng->time))
		return;
	if (insn->opcode == NEURON_OP_CUSTOM_OP) {
		eng->wait_word = TPB_WORD_NONE;
		eng->start = eng->time;
		return;
	}
	cost = neuron_insn_cost(insn, e, target, exec_weights_for(t, insn).columns) *
	       target->engine[e].cycle;
	eng->time += cost;
	COUNT(t->perf.eng[e].busy, cost);
	COUNT(t->perf.eng[e].insn, 1);
	if (matmul)
		tpb_count_matmul(t, e, insn);
	if (e == NEURON_ENG_PE && neuron_isa_datapath(insn))
		tpb_count_array(t, insn, cost);
	tpb_update(t, e, insn,
		   eng->time + neuron_insn_latency(insn, target) * target->engine[e].cycle);
	tpb_decode_head(t, e);
}

/* The engine whose head starts first, of equal ones the first; none if all wait */
static unsigned int tpb_first(const struct tpb *t)
{
	unsigned int first = 0;

	for (unsigned int e = 1; e < t->cfg.target->engines; e++)
		if (t->eng[e].start < t->eng[first].start)
			first = e;
	return first;
}

uint64_t tpb_next(const struct tpb *t)
{
	return t->eng[tpb_first(t)].start;
}

bool tpb_runnable(const struct tpb *t)
{
	return tpb_next(t) != TPB_NEVER;
}

/* Budgets' ends change no order: nothing but engines, semaphores and events decides it */
static void tpb_steps(struct tpb *t, uint64_t last, unsigned int budget, bool all)
{
	unsigned int env = exec_fp_enter();

	t->leave = false;
	while (budget-- && (all || !t->leave)) {
		unsigned int e = tpb_first(t);

		if (t->eng[e].start > last || t->eng[e].start == TPB_NEVER)
			break;
		tpb_step(t, e);
	}
	exec_fp_leave(env);
}

void tpb_run_until(struct tpb *t, uint64_t last, unsigned int budget)
{
	tpb_steps(t, last, budget, false);
}

enum tpb_state tpb_run(struct tpb *t, unsigned int budget)
{
	tpb_steps(t, TPB_NEVER, budget, true);
	return tpb_runnable(t) ? TPB_BUDGET : TPB_BLOCKED;
}
