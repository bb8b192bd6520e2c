/* SPDX-License-Identifier: MIT */
/*
 * A NeuronCore: instruction FIFOs, semaphores and events. Called by the chip (tpb.h says how).
 * Minimal for now: FIFOs fill, semaphores and events work, no instruction executes.
 */
#include "tpb.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tpb {
	struct tpb_config cfg;
	unsigned int fifo_used[NEURON_ENG_COUNT];
	_Atomic uint32_t sem[NEURON_V1_SEMAPHORES];
	_Atomic uint32_t event[NEURON_V1_EVENTS];
};

int tpb_new(const struct tpb_config *config, struct tpb **out)
{
	struct tpb *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->cfg = *config;
	*out = t;
	return 0;
}

void tpb_free(struct tpb *t)
{
	free(t);
}

void tpb_reset(struct tpb *t)
{
	unsigned int i;

	memset(t->fifo_used, 0, sizeof(t->fifo_used));
	for (i = 0; i < NEURON_V1_SEMAPHORES; i++)
		t->sem[i] = 0;
	for (i = 0; i < NEURON_V1_EVENTS; i++)
		t->event[i] = 0;
}

enum tpb_state tpb_run(struct tpb *t, unsigned int budget)
{
	return TPB_BLOCKED;
}

bool tpb_runnable(const struct tpb *t)
{
	return false;
}

unsigned int tpb_fifo_space(const struct tpb *t, unsigned int engine)
{
	return NEURON_FIFO_WORDS - t->fifo_used[engine];
}

void tpb_fifo_push(struct tpb *t, unsigned int engine, const void *words, unsigned int n,
		   uint64_t time)
{
	t->fifo_used[engine] += n;
}

uint32_t tpb_sem_read(const struct tpb *t, unsigned int index)
{
	return t->sem[index];
}

void tpb_sem_write(struct tpb *t, enum tpb_sem_op op, unsigned int index, uint32_t value,
		   uint64_t time)
{
	uint32_t old = t->sem[index];
	uint64_t next = value;

	if (op == TPB_SEM_INC)
		next = (uint64_t)old + value;
	else if (op == TPB_SEM_DEC)
		next = (uint64_t)old - value;
	if (next >> 32) {
		t->cfg.ops->notify(t->cfg.opaque, NEURON_NQ_ERROR, 0, NEURON_NERR_SEM_OVERFLOW,
				   index, value, old, time);
		return;
	}
	t->sem[index] = (uint32_t)next;
}

uint32_t tpb_event_read(const struct tpb *t, unsigned int index)
{
	return t->event[index];
}

void tpb_event_write(struct tpb *t, unsigned int index, uint32_t value, uint64_t time)
{
	t->event[index] = value;
}

void tpb_perf(const struct tpb *t, struct tpb_perf *perf)
{
	memset(perf, 0, sizeof(*perf));
}

uint64_t tpb_time(const struct tpb *t, unsigned int engine)
{
	return 0;
}

int64_t tpb_save(const struct tpb *t, void *buf, uint64_t size)
{
	return 0;
}

int tpb_load(struct tpb *t, const void *buf, uint64_t size)
{
	return size ? -EINVAL : 0;
}
