/* SPDX-License-Identifier: MIT */
/*
 * Semaphores and events: those of a NeuronCore (tpb.c) or of a TOP_SP (topsp.c), what each is and
 * what it was (docs/isa.md, Order). One thread at a time changes them; any thread may read the last
 * values, which are written and read atomically, relaxed: a reader wants a value, not an order.
 */
#ifndef NCORE_TPB_WORDS_H
#define NCORE_TPB_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/hw/target.h"

struct neuron_insn;

/* The last changes of a semaphore or event, in the order of their times */
#define TPB_PAST 16
struct tpb_past {
	uint64_t time[TPB_PAST];
	uint32_t value[TPB_PAST]; /* from then on */
	uint8_t first, count;
	bool forgot; /* there were older ones; else it was 0 before the first */
};

struct tpb_words {
	/* the last values; who executes looks into the past */
	uint32_t sem[NEURON_SEMAPHORES_MAX];
	uint32_t event[NEURON_EVENTS_MAX];
	/* when they became so, for other threads */
	uint64_t sem_since[NEURON_SEMAPHORES_MAX];
	uint64_t event_since[NEURON_EVENTS_MAX];
	struct tpb_past sem_past[NEURON_SEMAPHORES_MAX];
	struct tpb_past event_past[NEURON_EVENTS_MAX];
};

/* Kinds of updates. The windows of semaphores to write have this order */
enum tpb_sem_op { TPB_SEM_SET, TPB_SEM_INC, TPB_SEM_DEC };

/* Results of an update */
enum tpb_change {
	TPB_SAME, /* it was so, and nothing else was to come */
	TPB_CHANGED,
	TPB_REFUSED, /* out of a semaphore's range, or the event was so: the value stays */
};

/* tpb_words.c */
void tpb_words_reset(struct tpb_words *w, const struct neuron_target *target);
uint32_t tpb_words_sem(const struct tpb_words *w, unsigned int index); /* any thread */
uint32_t tpb_words_event(const struct tpb_words *w, unsigned int index); /* any thread */
/* The time of the last change of a word, or of one after the value that was read. Any thread */
uint64_t tpb_words_sem_since(const struct tpb_words *w, unsigned int index);
uint64_t tpb_words_event_since(const struct tpb_words *w, unsigned int index);
/*
 * When a write takes effect that comes at a time from outside who executes, and after what the word
 * shows (docs/isa.md, Order)
 */
uint64_t tpb_words_sem_when(const struct tpb_words *w, enum tpb_sem_op op, unsigned int index,
			    uint32_t value, uint64_t time);
uint64_t tpb_words_event_when(const struct tpb_words *w, unsigned int index, uint64_t time);
enum tpb_change tpb_words_update(struct tpb_words *w, enum tpb_sem_op op, unsigned int index,
				 uint32_t value, uint64_t time);
/* The word is kept for who reads it back; zero or not is what counts */
enum tpb_change tpb_words_put(struct tpb_words *w, unsigned int index, uint32_t value,
			      uint64_t time);

/* tpb_past.c */
void tpb_past_reset(struct tpb_past *p);
uint32_t tpb_past_last(const struct tpb_past *p);
uint64_t tpb_past_since(const struct tpb_past *p); /* the time of the last change, or 0 */
uint32_t tpb_past_at(const struct tpb_past *p, uint64_t time);
/* from then on, whatever else was to come; false: it was so and nothing else was to come */
bool tpb_past_set(struct tpb_past *p, uint64_t time, uint32_t value);
/* the first time, not before one, from which on it can be added to; that one: there is none */
uint64_t tpb_past_first(const struct tpb_past *p, uint64_t time, int64_t by);
/* false: then or later the value would not be in its range, and is as it was */
bool tpb_past_add(struct tpb_past *p, uint64_t time, int64_t by);
/* does the instruction's condition hold for a value of what it waits for */
bool tpb_wait_holds(const struct neuron_insn *insn, uint32_t value);
/* the first time, not before from, at which it does; TPB_NEVER: not yet */
uint64_t tpb_past_when(const struct tpb_past *p, const struct neuron_insn *insn, uint64_t from);

void tpb_words_loaded(struct tpb_words *w, const struct neuron_target *target); /* tpb_words.c */
/* tpb_state.c: as many as the target has; bytes written or needed (buf NULL), load 0/-errno */
int64_t tpb_words_save(const struct tpb_words *w, const struct neuron_target *target, void *buf,
		       uint64_t size);
int tpb_words_load(struct tpb_words *w, const struct neuron_target *target, const void *buf,
		   uint64_t size);

#endif
