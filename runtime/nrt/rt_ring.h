/* SPDX-License-Identifier: MIT */
/* Descriptor rings of a core's queues, with room for one execution's descriptors (ring.c). */
#ifndef RT_RING_H
#define RT_RING_H

#include "hal.h"
#include "neff.h"
#include "rt_memory.h"

/*
 * One side of a queue: the descriptors of one execution, and the ring they go into. A ring in host
 * memory is mapped and written anew for each execution, where the last one ended; one in device
 * memory is written at load, and its queue is initialised for each execution.
 */
struct rt_half {
	uint8_t *desc; /* ring id 1; freed once it lies in device memory */
	uint32_t n, cap;
	struct rt_chunk chunk;
	uint8_t *map; /* host memory, else NULL */
	uint32_t len; /* of the ring */
	struct nhal_ring at; /* where in map the next execution's begin */
};

struct rt_ring {
	uint32_t eng, qid;
	struct rt_half tx, rx;
	struct rt_ring *next; /* gather.c: the queue whose TX descriptors this one's copies write */
};

#define RT_MAX_QUEUES (NEURON_DMA_PER_CORE_MAX * NEURON_DMA_QUEUES_PER_ENG)

/* Which UDMA engine and queue a core's n-th queue is; the first feed the FIFOs, an engine each */
void rt_queue_number(const struct rt_core *core, unsigned int n, uint32_t *eng, uint32_t *qid);
/* What is left of them for data */
unsigned int rt_data_queues(const struct rt_core *core);

/* One transfer of equal length; packet boundaries are the caller's. -ENOMEM */
int rt_ring_add_tx(struct rt_ring *ring, uint64_t addr, uint32_t len, uint32_t flags);
int rt_ring_add_rx(struct rt_ring *ring, uint64_t addr, uint32_t len);
/* The runs of two patterns, whose variables lie at these addresses, in packets. -ENOMEM */
int rt_ring_add_copy(const struct neuron_target *target, struct rt_ring *ring,
		     const struct neff_pattern *from, uint64_t from_pa,
		     const struct neff_pattern *to, uint64_t to_pa);
/* The semaphore's increment behind them: the word 1 that lies at this address is written */
int rt_ring_add_completion(const struct rt_core *core, struct rt_ring *ring, uint64_t one,
			   unsigned int semaphore);
/* Device memory for descriptors whose number is known before they are: its address is then too */
NRT_STATUS rt_half_reserve(struct rt_core *core, struct rt_half *h, uint32_t n);
/* Reserve the queue's two rings and write the descriptors that were built */
NRT_STATUS rt_ring_commit(struct rt_core *core, struct rt_ring *ring);
/* One of its halves lies in device memory: its queue is initialised for each execution */
bool rt_ring_rewinds(const struct rt_ring *ring);
void rt_ring_rewind(struct rt_ring *ring); /* the queue was initialised */
void rt_ring_write(struct rt_ring *ring); /* the next execution's descriptors, in host rings */
uint64_t
rt_ring_chain(const struct rt_ring *ring); /* descriptors of a queue and of those it rings */
void rt_ring_free(struct rt_ring *ring);

#endif
