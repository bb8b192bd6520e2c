/* SPDX-License-Identifier: MIT */
/* Reads of a core by others: words, counters, times, room in FIFOs (tpb.h). Any thread may. */
#include "tpb_engine.h"

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

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

/* A head that waits starts when what it waits for changed, which ends here too. */
void tpb_stand(struct tpb_engine *eng)
{
	WRITE_ONCE(eng->stands_at, eng->window.on ? eng->window.pc : 0);
	WRITE_ONCE(eng->stands, eng->start == TPB_NEVER ? eng->wait_word : TPB_WORD_NONE);
}

uint32_t tpb_stands(const struct tpb *t, unsigned int engine, uint64_t *at)
{
	uint16_t what = READ_ONCE(t->eng[engine].stands);

	*at = what == TPB_WORD_NONE ? 0 : READ_ONCE(t->eng[engine].stands_at);
	if (what == TPB_WORD_NONE)
		return 0;
	return what < TPB_WORD_EVENT ? NEURON_STANDS_SEM(what)
				     : NEURON_STANDS_EVENT((uint32_t)what - TPB_WORD_EVENT);
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
