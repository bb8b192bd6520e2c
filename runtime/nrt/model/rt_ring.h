/* SPDX-License-Identifier: MIT */
/* Descriptor rings of a core's queues, with room for one execution's descriptors (ring.c) */
#ifndef RT_RING_H
#define RT_RING_H

#include "hal.h"
#include "neff.h"
#include "rt_memory.h"

/*
 * One side of a queue: the descriptors of one execution, and the ring that takes them. A ring in
 * host memory is mapped and written again for each execution, from where the last one ended; one in
 * device memory is written at load, and its queue is initialised for each execution.
 */
struct rt_half {
	uint8_t *desc; /* with ring id 1; freed once the ring lies in device memory */
	uint32_t n, cap;
	uint64_t bytes; /* that its descriptors move */
	struct rt_chunk chunk;
	uint8_t *map; /* host memory; NULL if the ring lies in device memory */
	uint32_t len; /* descriptors that the ring has room for */
	struct nhal_ring at; /* where in map the next execution's descriptors begin */
};

struct rt_ring {
	uint32_t eng, qid;
	struct rt_half tx, rx;
	struct rt_ring *next; /* in gather.c: the queue whose TX descriptors this one writes */
	uint32_t *last_tx, *last_rx; /* the doorbell counts of the DMA that was added last */
	/* iterations.c; all 0 for a ring of one execution's descriptors, which the host writes */
	unsigned int iterations; /* whose descriptors it holds; the halves' n are those of one */
	uint32_t own_tx, own_rx; /* those of its DMAs; the others restore the iteration before */
	uint32_t runs; /* of these, the RX descriptors' */
	struct rt_chunk image;
};

#define RT_MAX_QUEUES (NEURON_DMA_PER_CORE_MAX * NEURON_DMA_QUEUES_PER_ENG)

/*
 * The UDMA engine and queue that are a core's n-th queue; the first ones feed the engines' FIFOs,
 * one each
 */
void rt_queue_number(const struct rt_core *core, unsigned int n, uint32_t *eng, uint32_t *qid);
/* The number of the core's queues that are left for data */
unsigned int rt_data_queues(const struct rt_core *core);

/* Adds one descriptor on one side; the caller decides where packets begin and end. 0 or -ENOMEM */
int rt_ring_add_tx(struct rt_ring *ring, uint64_t addr, uint32_t len, uint32_t flags);
int rt_ring_add_rx(struct rt_ring *ring, uint64_t addr, uint32_t len);
/*
 * Adds the runs of two patterns, whose variables lie at these addresses, in packets. 0 or -ENOMEM
 */
int rt_ring_add_copy(const struct neuron_target *target, struct rt_ring *ring,
		     const struct neff_pattern *from, uint64_t from_pa,
		     const struct neff_pattern *to, uint64_t to_pa);
/* rt_ring_add_copy() of a descriptor that computes; from_pa: of each source, in order */
int rt_ring_add_compute(struct rt_ring *ring, const struct neff_desc *d, const uint64_t *from_pa,
			uint64_t to_pa);
/*
 * Adds the semaphore's increment behind them: the DMA writes the word 1 that lies at address one.
 */
int rt_ring_add_completion(const struct rt_core *core, struct rt_ring *ring, uint64_t one,
			   unsigned int semaphore);
/*
 * Allocates the ring in device memory before its descriptors are built, so that their addresses are
 * known.
 */
NRT_STATUS rt_half_reserve(struct rt_core *core, struct rt_half *h, uint32_t n);
/* Allocates the queue's two rings and writes the descriptors that were built. */
NRT_STATUS rt_ring_commit(struct rt_core *core, struct rt_ring *ring);
/*
 * True if one of its halves lies in device memory, so that its queue is initialised for each
 * execution
 */
bool rt_ring_rewinds(const struct rt_ring *ring);
void rt_ring_rewind(struct rt_ring *ring); /* after its queue was initialised */
/* Writes the next execution's descriptors, if the ring lies in host memory */
void rt_ring_write(struct rt_ring *ring);
/*
 * In iterations.c, for a program that executes DMAs again by itself. Can an iteration have so many
 * descriptors?
 */
bool rt_iteration_fits(uint32_t tx, uint32_t rx);
#define RT_ITERATION_ROWS (1u << 16) /* rows that the gathers of a queue set move in an iteration */
/* The argument of rt_half_reserve for iterations of n descriptors without those of iterations.c */
uint32_t rt_iteration_size(uint32_t n);
/*
 * Ends an iteration: adds what restores the iteration before it to its descriptors, and to the
 * doorbells that are rung last. 0, -E2BIG or -ENOMEM
 */
int rt_iteration_end(struct rt_ring *ring);
/* In place of rt_ring_commit, after the iterations of all queues that ring each other have ended */
NRT_STATUS rt_iterations_commit(struct rt_core *core, struct rt_ring *ring);
/* Has a ring begin again, before its queue is initialised. 0 or -errno */
int rt_iterations_restore(const struct rt_ring *ring);
/* The number of descriptors of a queue and of those that it rings */
uint64_t rt_ring_chain(const struct rt_ring *ring);
void rt_ring_free(struct rt_ring *ring);

#endif
