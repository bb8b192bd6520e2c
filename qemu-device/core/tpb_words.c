/* SPDX-License-Identifier: MIT */
/* Semaphores and events, and what changes them. Called by tpb.c and topsp.c; times by tpb_past.c. */
#include "tpb_words.h"

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)

void tpb_words_reset(struct tpb_words *w, const struct neuron_target *target)
{
	for (unsigned int i = 0; i < target->semaphores; i++) {
		tpb_past_reset(&w->sem_past[i]);
		WRITE_ONCE(w->sem[i], 0);
	}
	for (unsigned int i = 0; i < target->events; i++) {
		tpb_past_reset(&w->event_past[i]);
		WRITE_ONCE(w->event[i], 0);
	}
}

uint32_t tpb_words_sem(const struct tpb_words *w, unsigned int index)
{
	return READ_ONCE(w->sem[index]);
}

uint32_t tpb_words_event(const struct tpb_words *w, unsigned int index)
{
	return READ_ONCE(w->event[index]);
}

enum tpb_change tpb_words_update(struct tpb_words *w, enum tpb_sem_op op, unsigned int index,
				 uint32_t value, uint64_t time)
{
	struct tpb_past *p = &w->sem_past[index];

	if (op == TPB_SEM_SET) {
		if (!tpb_past_set(p, time, value))
			return TPB_SAME;
	} else if (!tpb_past_add(p, time, op == TPB_SEM_INC ? value : -(int64_t)value)) {
		return TPB_REFUSED;
	}
	WRITE_ONCE(w->sem[index], tpb_past_last(p));
	return TPB_CHANGED;
}

enum tpb_change tpb_words_put(struct tpb_words *w, unsigned int index, uint32_t value,
			      uint64_t time)
{
	struct tpb_past *p = &w->event_past[index];

	if (tpb_past_at(p, time) == (value != 0))
		return TPB_REFUSED;
	tpb_past_set(p, time, value != 0);
	WRITE_ONCE(w->event[index], value);
	return TPB_CHANGED;
}
