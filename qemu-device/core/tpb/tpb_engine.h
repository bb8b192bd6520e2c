/* SPDX-License-Identifier: MIT */
/*
 * A NeuronCore's sequencers, as their files see each other: tpb.c chooses what runs, tpb_engine.c
 * stops an engine and looks at its wait, tpb_seq.c has windows and registers, tpb_read.c is what
 * others read.
 */
#ifndef NCORE_TPB_ENGINE_H
#define NCORE_TPB_ENGINE_H

#include "exec/exec_core.h"

/* tpb.c: look at the head of the source, and when it can start */
void tpb_decode_head(struct tpb *t, unsigned int e);

/* tpb_engine.c: an entry in the error queue; engine no_engine: what came from outside */
void tpb_error(struct tpb *t, unsigned int engine, uint16_t code, uint32_t id, uint64_t data,
	       uint32_t data2, uint64_t time);
void tpb_engine_stop(struct tpb *t, unsigned int e, uint16_t code, uint64_t data, uint32_t data2);
uint16_t tpb_wait_word(const struct tpb *t, const struct neuron_insn *insn); /* what it waits for */
void tpb_look_waits(struct tpb *t, unsigned int e, uint64_t from);

static inline void tpb_engine_halt(struct tpb_engine *eng)
{
	eng->stopped = true;
	eng->start = TPB_NEVER;
}

/*
 * The time at which the head starts: the engine is free, its words have come, its condition holds
 */
static inline void tpb_look(struct tpb *t, unsigned int e)
{
	struct tpb_engine *eng = &t->eng[e];
	uint64_t from = eng->time > eng->arrived ? eng->time : eng->arrived;

	if (eng->wait_word == TPB_WORD_NONE)
		eng->start = from;
	else
		tpb_look_waits(t, e, from);
}

void tpb_stand(struct tpb_engine *eng); /* tpb_read.c: tells others whether it waits */

/* tpb_seq.c */
void tpb_window_free(struct tpb *t);
void tpb_window_reset(struct tpb_engine *eng);
void tpb_window_head(struct tpb *t, unsigned int e); /* reads the head */
void tpb_window_resume(struct tpb *t, unsigned int e); /* with the words that were read */
/* those, NEURON_ISA_MAX_WORDS; NULL: there are none */
const uint8_t *tpb_window_words(const struct tpb_engine *eng);
/* ... for resume; false: no memory */
bool tpb_window_put(struct tpb_engine *eng, const uint8_t *words);
/* may the engine execute its head? As neuron_isa_check_at(), into t->at */
int tpb_check_head(struct tpb *t, unsigned int e, const struct neuron_insn *insn,
		   struct neuron_isa_fault *fault);
/* the head as its registers make it; NULL with *fault */
const struct neuron_insn *tpb_patched(struct tpb *t, unsigned int e,
				      struct neuron_isa_fault *fault);
bool tpb_exec_registers(struct tpb *t, unsigned int e, const struct neuron_insn *insn);

#endif
