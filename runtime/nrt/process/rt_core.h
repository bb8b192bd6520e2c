/* SPDX-License-Identifier: MIT */
/* A core of this process: its notification rings, its lock, its state, its reset (core.c) */
#ifndef RT_CORE_H
#define RT_CORE_H

#include <pthread.h>

#include "ndlx.h"
#include "neuron/hw/ext.h"
#include "nrt/nrtx.h"

struct rt_subgraph;
struct nrt_model;

#define RT_NQ_SIZE 4096 /* bytes: 128 entries, and one execution writes one */
#define RT_NQ_ENTRIES (RT_NQ_SIZE / NEURON_NQ_ENTRY_SIZE)

/* A notification ring as its consumer sees it */
struct rt_nq {
	const uint8_t *ring; /* mapped */
	unsigned int next, lap;
};

struct rt_notification {
	uint8_t type, engine;
	uint16_t code;
	uint32_t id;
	uint64_t time, data;
	uint32_t data2;
};

struct rt_core {
	uint32_t vnc; /* its number in this process */
	uint32_t global; /* its number in the machine */
	uint32_t device, nc;
	struct rt_core *sibling; /* the second core of a logical one, whose first this is */
	ndlx_device_t *dev;
	pthread_mutex_t exec; /* the second core's of a logical one is taken first */
	struct rt_nq done, error; /* SP's notify queue, the core's error queue */
	struct ndlx_waiter *waiter; /* protected by exec; NULL where the core gives no interrupt */
	/*
	 * the last program's times on the chip's clock, in picoseconds, which goes on over resets:
	 * it begins when the one before it notified; protected by exec
	 */
	uint64_t began_ps, ended_ps;
	bool broken; /* a reset failed: nothing is executed here until one succeeds */
	/* the subgraph whose rings the queues have; protected by exec */
	struct rt_subgraph *loaded;
	/* what it executed last may not have left it at rest; protected by exec */
	bool restless;
	bool used; /* a model of owner used it since its last reset; protected by exec */
	uint64_t owner;
	/* the models that keep memory, by their last executions here (retained.c) */
	struct nrt_model *retained_newest, *retained_oldest;
	bool locked; /* the module's core lock is held as a reader */
	/* engine[] is unused; written with exec held, read without */
	struct nrtx_core_counters counters;
};

/* rt_core_stop also undoes an rt_core_start that failed halfway. */
NRT_STATUS rt_core_start(struct rt_core *core, const struct neuron_uuid *uuid);
void rt_core_stop(struct rt_core *core, const struct neuron_uuid *uuid);
/* Takes the next notification, if the chip has written one. */
bool rt_nq_next(struct rt_nq *nq, struct rt_notification *entry);
/* Tells the chip how far the error ring was read, because the chip never overtakes the reader. */
NRT_STATUS rt_core_errors_read(struct rt_core *core);
/* Halts and resets one core, with exec held. */
NRT_STATUS rt_core_reset(struct rt_core *core);
/*
 * The same of both cores of a logical one at once, since each writes to the other one's semaphores
 */
void rt_core_reset_both(struct rt_core *core, struct rt_core *sibling);
/* Resets the cores of a bit map; 0 or -errno */
int rt_cores_reset(ndlx_device_t *dev, uint32_t map);
bool rt_core_gone(const struct rt_core *core); /* true if its device was unplugged */

#endif
