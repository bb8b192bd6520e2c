/* SPDX-License-Identifier: MIT */
/* Semaphores and events, and what changes them. Called by tpb.c and topsp.c; times by tpb_past.c. */
#include "tpb_words.h"

#define READ_ONCE(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELAXED)
/* A value that is read is not newer than its time, which is read after it */
#define READ_VALUE(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define WRITE_VALUE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)

/* The time of a word's last change, for other threads; of who has none its pages stay untouched */
static void timed(uint64_t *since, const struct tpb_past *p)
{
	uint64_t time = tpb_past_since(p);

	if (*since != time)
		WRITE_ONCE(*since, time);
}

static void sem_timed(struct tpb_words *w, unsigned int index)
{
	timed(&w->sem_since[index], &w->sem_past[index]);
}

static void event_timed(struct tpb_words *w, unsigned int index)
{
	timed(&w->event_since[index], &w->event_past[index]);
}

void tpb_words_loaded(struct tpb_words *w, const struct neuron_target *target)
{
	for (unsigned int i = 0; i < target->semaphores; i++)
		sem_timed(w, i);
	for (unsigned int i = 0; i < target->events; i++)
		event_timed(w, i);
}

void tpb_words_reset(struct tpb_words *w, const struct neuron_target *target)
{
	for (unsigned int i = 0; i < target->semaphores; i++) {
		tpb_past_reset(&w->sem_past[i]);
		WRITE_ONCE(w->sem[i], 0);
		sem_timed(w, i);
	}
	for (unsigned int i = 0; i < target->events; i++) {
		tpb_past_reset(&w->event_past[i]);
		WRITE_ONCE(w->event[i], 0);
		event_timed(w, i);
	}
}

uint32_t tpb_words_sem(const struct tpb_words *w, unsigned int index)
{
	return READ_VALUE(w->sem[index]);
}

uint64_t tpb_words_sem_since(const struct tpb_words *w, unsigned int index)
{
	return READ_ONCE(w->sem_since[index]);
}

uint32_t tpb_words_event(const struct tpb_words *w, unsigned int index)
{
	return READ_VALUE(w->event[index]);
}

uint64_t tpb_words_event_since(const struct tpb_words *w, unsigned int index)
{
	return READ_ONCE(w->event_since[index]);
}

uint64_t tpb_words_sem_when(const struct tpb_words *w, enum tpb_sem_op op, unsigned int index,
			    uint32_t value, uint64_t time)
{
	const struct tpb_past *p = &w->sem_past[index];
	uint64_t since = tpb_past_since(p);

	if (op != TPB_SEM_SET)
		return tpb_past_first(p, time, op == TPB_SEM_INC ? value : -(int64_t)value);
	return time > since ? time : since;
}

uint64_t tpb_words_event_when(const struct tpb_words *w, unsigned int index, uint64_t time)
{
	uint64_t since = tpb_past_since(&w->event_past[index]);

	return time > since ? time : since;
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
	sem_timed(w, index);
	WRITE_VALUE(w->sem[index], tpb_past_last(p));
	return TPB_CHANGED;
}

enum tpb_change tpb_words_put(struct tpb_words *w, unsigned int index, uint32_t value,
			      uint64_t time)
{
	struct tpb_past *p = &w->event_past[index];

	if (tpb_past_at(p, time) == (value != 0))
		return TPB_REFUSED;
	tpb_past_set(p, time, value != 0);
	event_timed(w, index);
	WRITE_VALUE(w->event[index], value);
	return TPB_CHANGED;
}
