/* SPDX-License-Identifier: MIT */
/*
 * A NeuronCore's sequencers: instruction FIFOs, waits and updates, semaphores, events, errors and
 * counters (docs/isa.md, Execution). tpb.h says who calls and under which lock. Words that other
 * threads may read (semaphores, events, counters) are written and read atomically, relaxed: a
 * reader wants a value, not an order.
 */
#include "tpb.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "exec.h"
#include "neuron/hw/inferentia.h"
#include "neuron/isa/codec.h"

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
#define COUNT(x, n) WRITE_ONCE(x, (x) + (n))

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
	t->kern = exec_kernels_best();
	*out = t;
	return 0;
}

void tpb_free(struct tpb *t)
{
	if (!t)
		return;
	free(t->scratch);
	free(t);
}

void tpb_reset(struct tpb *t)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++) {
		struct tpb_engine *eng = &t->eng[e];

		eng->fifo_head = eng->fifo_count = 0;
		eng->head = TPB_HEAD_NONE;
		eng->stopped = false;
	}
	for (unsigned int i = 0; i < t->cfg.target->semaphores; i++)
		WRITE_ONCE(t->sem[i], 0);
	for (unsigned int i = 0; i < t->cfg.target->events; i++)
		WRITE_ONCE(t->event[i], 0);
	t->turn = 0;
	t->weights.dtype = NEURON_DT_INVALID;
	memset(t->acc, 0, sizeof(t->acc));
}

static void tpb_error(struct tpb *t, unsigned int engine, uint16_t code, uint32_t id, uint64_t data,
		      uint32_t data2, uint64_t time)
{
	t->cfg.ops->notify(t->cfg.opaque, NEURON_NQ_ERROR, engine, code, id, data, data2, time);
}

/* An engine's error: it stops and says so once; id is the number of the instruction */
static void tpb_engine_stop(struct tpb *t, unsigned int e, uint16_t code, uint64_t data,
			    uint32_t data2)
{
	t->eng[e].stopped = true;
	tpb_error(t, e, code, (uint32_t)t->perf.eng[e].insn, data, data2, t->eng[e].time);
}

/* FIFOs */

static void tpb_fifo_peek(const struct tpb_engine *eng, uint8_t *words, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		memcpy(words + i * NEURON_INSN_WORD,
		       eng->fifo + (eng->fifo_head + i) % NEURON_FIFO_WORDS * NEURON_INSN_WORD,
		       NEURON_INSN_WORD);
}

void tpb_decode_head(struct tpb_engine *eng)
{
	unsigned int n =
		eng->fifo_count < NEURON_ISA_MAX_WORDS ? eng->fifo_count : NEURON_ISA_MAX_WORDS;
	uint8_t words[NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD];
	int rc;

	eng->head = TPB_HEAD_NONE;
	tpb_fifo_peek(eng, words, n);
	rc = neuron_isa_decode(words, n, &eng->insn);
	if (rc > 0) {
		eng->head = TPB_HEAD_READY;
		eng->head_words = rc;
	} else if (rc != -EAGAIN) {
		eng->head = TPB_HEAD_ILLEGAL;
	}
}

unsigned int tpb_fifo_space(const struct tpb *t, unsigned int engine)
{
	return NEURON_FIFO_WORDS - t->eng[engine].fifo_count;
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
		tpb_decode_head(eng);
}

/* Drop the head instruction; the time of its last word */
static uint64_t tpb_fifo_pop(struct tpb_engine *eng)
{
	uint64_t time = 0;

	for (unsigned int i = 0; i < eng->head_words; i++) {
		if (eng->fifo_time[eng->fifo_head] > time)
			time = eng->fifo_time[eng->fifo_head];
		eng->fifo_head = (eng->fifo_head + 1) % NEURON_FIFO_WORDS;
		eng->fifo_count--;
	}
	return time;
}

/* Semaphores and events. An engine of the target's no_engine: the write came from outside */

uint32_t tpb_sem_read(const struct tpb *t, unsigned int index)
{
	return READ_ONCE(t->sem[index]);
}

static void tpb_sem_set(struct tpb *t, unsigned int index, uint32_t value, uint64_t time)
{
	WRITE_ONCE(t->sem[index], value);
	t->sem_time[index] = time;
}

static void tpb_sem_add(struct tpb *t, unsigned int engine, unsigned int index, uint32_t value,
			uint64_t time)
{
	uint32_t sum;

	if (__builtin_add_overflow(t->sem[index], value, &sum))
		tpb_error(t, engine, NEURON_NERR_SEM_OVERFLOW, index, t->sem[index], value, time);
	else
		tpb_sem_set(t, index, sum, time);
}

static void tpb_sem_sub(struct tpb *t, unsigned int engine, unsigned int index, uint32_t value,
			uint64_t time)
{
	if (value > t->sem[index])
		tpb_error(t, engine, NEURON_NERR_SEM_OVERFLOW, index, t->sem[index], value, time);
	else
		tpb_sem_set(t, index, t->sem[index] - value, time);
}

void tpb_sem_write(struct tpb *t, enum tpb_sem_op op, unsigned int index, uint32_t value,
		   uint64_t time)
{
	switch (op) {
	case TPB_SEM_SET:
		tpb_sem_set(t, index, value, time);
		break;
	case TPB_SEM_INC:
		tpb_sem_add(t, t->cfg.target->no_engine, index, value, time);
		break;
	case TPB_SEM_DEC:
		tpb_sem_sub(t, t->cfg.target->no_engine, index, value, time);
		break;
	}
}

uint32_t tpb_event_read(const struct tpb *t, unsigned int index)
{
	return READ_ONCE(t->event[index]);
}

static void tpb_event_put(struct tpb *t, unsigned int engine, unsigned int index, bool set,
			  uint64_t time)
{
	if (!!t->event[index] == set) {
		tpb_error(t, engine,
			  set ? NEURON_NERR_EVT_DOUBLE_SET : NEURON_NERR_EVT_DOUBLE_CLEAR, index, 0,
			  0, time);
		return;
	}
	WRITE_ONCE(t->event[index], set);
	t->event_time[index] = time;
}

void tpb_event_write(struct tpb *t, unsigned int index, uint32_t value, uint64_t time)
{
	bool was = t->event[index];

	tpb_event_put(t, t->cfg.target->no_engine, index, value != 0, time);
	/* a plain word for who reads it back; inside the core only zero or not counts */
	if (value && !was)
		WRITE_ONCE(t->event[index], value);
}

static bool tpb_waits_for_semaphore(const struct neuron_insn *insn)
{
	return insn->wait >= NEURON_WAIT_SEM_EQ && insn->wait <= NEURON_WAIT_SEM_LE;
}

/* What does not exist is not waited for: the checker refuses the instruction */
static bool tpb_wait_met(const struct tpb *t, const struct neuron_insn *insn)
{
	uint32_t sem = 0;

	if (tpb_waits_for_semaphore(insn)) {
		if (insn->wait_index >= t->cfg.target->semaphores)
			return true;
		sem = t->sem[insn->wait_index];
	}
	switch (insn->wait) {
	case NEURON_WAIT_SEM_EQ:
		return sem == insn->wait_value;
	case NEURON_WAIT_SEM_GE:
		return sem >= insn->wait_value;
	case NEURON_WAIT_SEM_LE:
		return sem <= insn->wait_value;
	case NEURON_WAIT_EVT_SET:
		return insn->wait_index >= t->cfg.target->events || t->event[insn->wait_index];
	case NEURON_WAIT_EVT_CLR:
		return !t->event[insn->wait_index];
	default:
		return true;
	}
}

/* When the condition that is met became so: the last change of what it looks at */
static uint64_t tpb_wait_time(const struct tpb *t, const struct neuron_insn *insn)
{
	if (insn->wait == NEURON_WAIT_NONE)
		return 0;
	if (!tpb_waits_for_semaphore(insn))
		return t->event_time[insn->wait_index];
	return insn->wait_index < t->cfg.target->semaphores ? t->sem_time[insn->wait_index] : 0;
}

static void tpb_update(struct tpb *t, unsigned int e, const struct neuron_insn *insn, uint64_t time)
{
	unsigned int i = insn->update_index;

	switch (insn->update) {
	case NEURON_UPD_SEM_INC:
		tpb_sem_add(t, e, i, 1, time);
		break;
	case NEURON_UPD_SEM_DEC:
		tpb_sem_sub(t, e, i, 1, time);
		break;
	case NEURON_UPD_SEM_ADD_IMM:
		tpb_sem_add(t, e, i, insn->update_value, time);
		break;
	case NEURON_UPD_SEM_SUB_IMM:
		tpb_sem_sub(t, e, i, insn->update_value, time);
		break;
	case NEURON_UPD_SEM_WR_IMM:
		tpb_sem_set(t, i, insn->update_value, time);
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
		if (!t->cfg.ops->write(t->cfg.opaque, insn->write[i].addr, insn->write[i].value,
				       time))
			continue;
		tpb_engine_stop(t, e, NEURON_NERR_WRITE_REFUSED, insn->write[i].addr,
				insn->write[i].value);
		return false;
	}
	return true;
}

static bool tpb_exec_sequencing(struct tpb *t, unsigned int e, const struct neuron_insn *insn,
				uint64_t time)
{
	switch (insn->opcode) {
	case NEURON_OP_PROGRAM_START:
		if (insn->isa_version == t->cfg.target->isa_version)
			return true;
		tpb_engine_stop(t, e, NEURON_NERR_ISA_VERSION, insn->isa_version,
				t->cfg.target->isa_version);
		return false;
	case NEURON_OP_SEM_RANGE_CLEAR:
		for (unsigned int i = insn->first; i <= insn->last; i++)
			tpb_sem_set(t, i, 0, time);
		return true;
	case NEURON_OP_NOTIFY:
		t->cfg.ops->notify(t->cfg.opaque, NEURON_NQ_NOTIFY, e, 0, insn->id,
				   t->perf.eng[e].insn, 0, time);
		return true;
	case NEURON_OP_WRITE:
		return tpb_exec_write(t, e, insn, time);
	case NEURON_OP_PSEUDO_DMA_TRIGGER:
		tpb_engine_stop(t, e, NEURON_NERR_ILLEGAL_INSN, insn->opcode, 0);
		return false;
	default:
		return true;
	}
}

static bool tpb_exec(struct tpb *t, unsigned int e, const struct neuron_insn *insn, uint64_t time)
{
	struct neuron_isa_fault fault = { 0 };
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];
	uint32_t group = op->groups & t->cfg.target->engine[e].runs;
	int rc = neuron_isa_check(insn, e, t->cfg.target, &fault);

	if (!rc) {
		if (!(op->fields & NEURON_FB(PARTITIONS)))
			return tpb_exec_sequencing(t, e, insn, time);
		if (group & NEURON_ISA_PE)
			rc = exec_pe(t, insn, &fault);
		else if (group & NEURON_ISA_ACT)
			rc = exec_act(t, insn, &fault);
		else
			rc = exec_pool(t, insn, &fault);
	}
	if (!rc)
		return true;
	tpb_engine_stop(t, e, fault.code,
			fault.code == NEURON_NERR_ILLEGAL_INSN
				? insn->opcode
				: (uint64_t)fault.operand << 32 | fault.offset,
			0);
	return false;
}

/* Faults on command: true when one has stopped the engine */
static bool tpb_struck(struct tpb *t, unsigned int e, bool datapath)
{
	if (!t->cfg.faults || !atomic_load_explicit(t->cfg.faults, memory_order_relaxed))
		return false;
	switch (t->cfg.ops->fault(t->cfg.opaque, datapath)) {
	case TPB_FAULT_HANG:
		t->eng[e].stopped = true;
		return true;
	case TPB_FAULT_SRAM:
		tpb_engine_stop(t, e, NEURON_NERR_SRAM_UE, t->eng[e].insn.opcode, 0);
		return true;
	default:
		return false;
	}
}

/* The head instruction of an engine that may run */
static void tpb_step(struct tpb *t, unsigned int e)
{
	struct tpb_engine *eng = &t->eng[e];
	const struct neuron_insn *insn = &eng->insn;
	bool datapath, matmul = insn->opcode == NEURON_OP_MATMUL;
	uint64_t arrived, met, cost;

	if (eng->head == TPB_HEAD_ILLEGAL) {
		tpb_engine_stop(t, e, NEURON_NERR_ILLEGAL_INSN,
				neuron_isa_get_le64(eng->fifo + eng->fifo_head * NEURON_INSN_WORD),
				0);
		return;
	}
	datapath = neuron_isa_ops[insn->opcode].fields & NEURON_FB(PARTITIONS);
	if (tpb_struck(t, e, datapath))
		return;
	arrived = tpb_fifo_pop(eng);
	if (arrived > eng->time) {
		COUNT(t->perf.eng[e].idle, arrived - eng->time);
		eng->time = arrived;
	}
	met = tpb_wait_time(t, insn);
	if (met > eng->time) {
		COUNT(t->perf.eng[e].wait, met - eng->time);
		if (matmul)
			COUNT(t->perf.eng[e].matmul_wait, met - eng->time);
		eng->time = met;
	}
	if (t->cfg.ops->insn)
		t->cfg.ops->insn(t->cfg.opaque, e, insn->opcode, eng->time);
	if (!tpb_exec(t, e, insn, eng->time))
		return;
	cost = exec_cost(t, insn);
	eng->time += cost;
	COUNT(t->perf.eng[e].busy, cost);
	COUNT(t->perf.eng[e].insn, 1);
	if (matmul) {
		COUNT(t->perf.eng[e].matmul_insn, 1);
		COUNT(t->perf.macs, (uint64_t)t->weights.k * t->weights.fs * insn->src0.num[0] *
					    insn->src0.num[1] * insn->src0.num[2] *
					    insn->src0.num[3]);
	}
	tpb_update(t, e, insn,
		   eng->time + (datapath && insn->trigger == NEURON_TRIG_COMPLETE
					? EXEC_COST_STARTUP
					: 0));
	tpb_decode_head(eng);
}

static bool tpb_ready(const struct tpb *t, unsigned int e)
{
	const struct tpb_engine *eng = &t->eng[e];

	if (eng->stopped || eng->head == TPB_HEAD_NONE)
		return false;
	return eng->head == TPB_HEAD_ILLEGAL || tpb_wait_met(t, &eng->insn);
}

bool tpb_runnable(const struct tpb *t)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++)
		if (tpb_ready(t, e))
			return true;
	return false;
}

/* t->turn outlives the call: where budgets end never changes the order */
enum tpb_state tpb_run(struct tpb *t, unsigned int budget)
{
	const unsigned int engines = t->cfg.target->engines;
	unsigned int env = exec_fp_enter(), idle = 0;

	while (budget && idle < engines) {
		unsigned int e = t->turn;

		t->turn = e + 1 < engines ? e + 1 : 0;
		if (!tpb_ready(t, e)) {
			idle++;
			continue;
		}
		idle = 0;
		budget--;
		tpb_step(t, e);
	}
	exec_fp_leave(env);
	return idle < engines ? TPB_BUDGET : TPB_BLOCKED;
}

void tpb_perf(const struct tpb *t, struct tpb_perf *perf)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++) {
		perf->eng[e].insn = READ_ONCE(t->perf.eng[e].insn);
		perf->eng[e].busy = READ_ONCE(t->perf.eng[e].busy);
		perf->eng[e].idle = READ_ONCE(t->perf.eng[e].idle);
		perf->eng[e].wait = READ_ONCE(t->perf.eng[e].wait);
		perf->eng[e].matmul_insn = READ_ONCE(t->perf.eng[e].matmul_insn);
		perf->eng[e].matmul_wait = READ_ONCE(t->perf.eng[e].matmul_wait);
	}
	perf->macs = READ_ONCE(t->perf.macs);
}

uint64_t tpb_time(const struct tpb *t, unsigned int engine)
{
	return t->eng[engine].time;
}
