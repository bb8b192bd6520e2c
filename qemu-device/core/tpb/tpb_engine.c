/* SPDX-License-Identifier: MIT */
/*
 * One engine of a NeuronCore: how it stops and reports, and what its head waits for (docs/isa.md,
 * Execution). Called by tpb.c and tpb_seq.c.
 */
#include "tpb_engine.h"
#include "neuron/hw/notify.h"

void tpb_error(struct tpb *t, unsigned int engine, uint16_t code, uint32_t id, uint64_t data,
	       uint32_t data2, uint64_t time)
{
	t->cfg.ops->notify(t->cfg.opaque, NEURON_NQ_ERROR, engine, code, id, data, data2, time);
}

/* An engine's error: it stops and says so once; id is the number of the instruction */
void tpb_engine_stop(struct tpb *t, unsigned int e, uint16_t code, uint64_t data, uint32_t data2)
{
	tpb_engine_halt(&t->eng[e]);
	tpb_error(t, e, code, (uint32_t)t->perf.eng[e].insn, data, data2, t->eng[e].time);
}

/* The word that an instruction waits for. A wait for one that does not exist is refused. */
uint16_t tpb_wait_word(const struct tpb *t, const struct neuron_insn *insn)
{
	switch (insn->wait) {
	case NEURON_WAIT_SEM_EQ:
	case NEURON_WAIT_SEM_GE:
	case NEURON_WAIT_SEM_LE:
		return insn->wait_index < t->cfg.target->semaphores ? insn->wait_index
								    : TPB_WORD_NONE;
	case NEURON_WAIT_EVT_SET:
	case NEURON_WAIT_EVT_CLR:
		return insn->wait_index < t->cfg.target->events ? TPB_WORD_EVENT + insn->wait_index
								: TPB_WORD_NONE;
	default:
		return TPB_WORD_NONE;
	}
}

/* The time at which a head starts that waits for a semaphore or event, from a time on */
void tpb_look_waits(struct tpb *t, unsigned int e, uint64_t from)
{
	struct tpb_engine *eng = &t->eng[e];

	if (eng->own == eng->wait_word && eng->own_time > from)
		from = eng->own_time;
	eng->start = tpb_past_when(eng->wait_word < TPB_WORD_EVENT
					   ? &t->words.sem_past[eng->wait_word]
					   : &t->words.event_past[eng->wait_word - TPB_WORD_EVENT],
				   eng->insn, from);
	tpb_stand(eng);
}
