/* SPDX-License-Identifier: MIT */
/* What others read of a core: words, counters, times, room in FIFOs (tpb.h). Part of tpb.c. */
#include "tpb.h"

#include "exec.h"

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

/* Semaphores and events. An engine of the target's no_engine: the write came from outside */

const struct tpb_words *tpb_words(const struct tpb *t)
{
	return &t->words;
}

uint32_t tpb_sem_read(const struct tpb *t, unsigned int index)
{
	return tpb_words_sem(&t->words, index);
}

uint32_t tpb_sem_at(const struct tpb *t, unsigned int index, uint64_t time)
{
	return tpb_past_at(&t->words.sem_past[index], time);
}

uint32_t tpb_event_read(const struct tpb *t, unsigned int index)
{
	return tpb_words_event(&t->words, index);
}

static uint64_t tpb_cycles(const struct tpb *t, unsigned int e, const uint64_t *time)
{
	return READ_ONCE(*time) / t->cfg.target->engine[e].cycle;
}

void tpb_perf(const struct tpb *t, struct tpb_perf *perf)
{
	for (unsigned int e = 0; e < t->cfg.target->engines; e++) {
		perf->eng[e].insn = READ_ONCE(t->perf.eng[e].insn);
		perf->eng[e].busy = tpb_cycles(t, e, &t->perf.eng[e].busy);
		perf->eng[e].idle = tpb_cycles(t, e, &t->perf.eng[e].idle);
		perf->eng[e].wait = tpb_cycles(t, e, &t->perf.eng[e].wait);
		perf->eng[e].matmul_insn = READ_ONCE(t->perf.eng[e].matmul_insn);
		perf->eng[e].matmul_wait = tpb_cycles(t, e, &t->perf.eng[e].matmul_wait);
	}
	perf->macs = READ_ONCE(t->perf.macs);
	for (unsigned int r = 0; r < NEURON_ARRAY_ROWS; r++) {
		perf->products[r] = tpb_cycles(t, NEURON_ENG_PE, &t->perf.products[r]);
		perf->weights[r] = tpb_cycles(t, NEURON_ENG_PE, &t->perf.weights[r]);
	}
}

uint64_t tpb_time(const struct tpb *t, unsigned int engine)
{
	return t->eng[engine].time;
}

unsigned int tpb_fifo_space(const struct tpb *t, unsigned int engine)
{
	return NEURON_FIFO_WORDS - t->eng[engine].fifo_count;
}
