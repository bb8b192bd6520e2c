/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: a UDMA engine's queues and what each needs to work. queue.c says
 * whether one can go on and puts it to work; dma.c does its work; udma.c has its registers.
 */
#ifndef NCORE_QUEUE_H
#define NCORE_QUEUE_H

#include "bytes.h"
#include "dge.h"
#include "map.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/udma.h"

#define NCORE_QUEUES NEURON_DMA_QUEUES_PER_ENG

/* Descriptors */
enum { NCORE_M2S, NCORE_S2M, NCORE_HALVES };

struct ncore_desc {
	uint64_t head; /* what it is: the word of control bits, then that of metadata */
	uint64_t addr;
};

#define NCORE_DESC_CACHE 64
#define NCORE_RING_WORDS 64 /* registers of a half of a queue */

/* Host pages that the guard granted last: guard.c */
struct ncore_guard_hit {
	uint64_t start, size;
	uint32_t generation;
	uint8_t domain;
};

/* The working state of a half of a queue. A queue that nobody uses keeps its pages untouched. */
struct ncore_ring_work {
	struct ncore_guard_hit ring_hit, data_hit;
	struct ncore_plain plain; /* where its last bytes were; size 0: nowhere yet */
	uint8_t cache[NCORE_DESC_CACHE * NEURON_UDMA_DESC_SIZE]; /* descriptors */
};

/* One half of a queue. credit is added to by doorbells; the rest belongs to the queue's strand. */
struct ncore_ring {
	ncore_reg *reg; /* ncore_ring_reg() */
	_Atomic uint32_t credit; /* descriptors rung and not completed, with those in taken */
	_Atomic uint32_t taken; /* completed in this step: subtracted when it ends */
	_Atomic uint32_t head; /* index of the first of them */
	_Atomic uint32_t tail; /* index after the last rung */
	uint32_t ring_id; /* what the descriptor at head has to show */
	bool open; /* cur is the descriptor at head, done bytes of it are copied */
	struct ncore_desc cur;
	uint32_t done;
	uint32_t closed; /* completed ever, modulo 2^32 */
	uint32_t cached, cache_at; /* descriptors in cache, the next one's position in it */
	struct ncore_ring_work *work;
};

/* Descriptors rung and not completed; any thread. credit first: it shrinks after taken does */
static inline uint32_t ncore_ring_credit(const struct ncore_ring *r)
{
	uint32_t credit = atomic_load(&r->credit);

	return credit - atomic_load_explicit(&r->taken, memory_order_relaxed);
}

enum ncore_queue_state {
	NCORE_Q_IDLE, /* on no list: nothing to do, stopped, or disabled */
	NCORE_Q_READY, /* on its strand's ready list, or among what its executor took */
	NCORE_Q_STALLED, /* on its strand's stalled list: an instruction FIFO is full */
};

/* Conditions that keep a queue from running until a queue reset */
enum ncore_queue_stop {
	NCORE_Q_RUNS,
	NCORE_Q_ERROR, /* reported in the error queue */
	NCORE_Q_HUNG, /* says nothing, looks busy: only a fault does this */
};

struct ncore_queue {
	uint8_t engine, index;
	uint8_t strand; /* where it is ready or stalled; changes under chip->lock */
	uint8_t home; /* where a doorbell from the host puts it */
	uint8_t state; /* enum ncore_queue_state, under chip->lock */
	uint8_t stall_engine; /* the FIFO it waits for */
	_Atomic uint8_t stopped; /* enum ncore_queue_stop */
	_Atomic uint8_t domain; /* guard.c */
	_Atomic bool hosted; /* rung by the host: it takes no part of what strands account for */
	bool in_packet;
	uint16_t packet_descs[NCORE_HALVES];
	uint64_t step_bytes; /* copied in this step */
	_Atomic uint64_t time; /* virtual: when it goes on */
	struct ncore_ring ring[NCORE_HALVES];
	struct ncore_transfers *made; /* transfers that instructions made */
	struct ncore_queue *next; /* ready, taken or stalled list */
};

struct ncore_queue_list {
	struct ncore_queue *first, *last;
	_Atomic unsigned int count;
};

static inline ncore_reg *ncore_ring_reg(const struct ncore_ring *r, uint32_t offset)
{
	return r->reg + (size_t)offset / 4 * NCORE_QUEUES * NCORE_HALVES;
}

static inline uint32_t ncore_queue_reg(struct ncore_ring *r, uint32_t reg)
{
	return ncore_load(ncore_ring_reg(r, reg));
}

/* Has the queue something that it may do now? */
bool ncore_queue_runnable(struct ncore_chip *chip, struct ncore_queue *q);
/* chip->lock: an idle queue that can go on goes to work in a strand, which is returned; or NULL */
struct ncore_strand *ncore_queue_start(struct ncore_chip *chip, struct ncore_queue *q,
				       unsigned int strand);
/* Abort and rest forget what was rung and keep the rings in step; the queue's strand is stopped. */
void ncore_queue_abort(struct ncore_chip *chip, struct ncore_queue *q);
void ncore_queue_rest(struct ncore_chip *chip, struct ncore_queue *q); /* and it may run again */
/* A queue reset forgets a half's position as well. */
void ncore_queue_reset(struct ncore_chip *chip, struct ncore_queue *q, unsigned int half);
void ncore_list_add(struct ncore_queue_list *list, struct ncore_queue *q, bool front);
void ncore_list_del(struct ncore_queue_list *list, struct ncore_queue *q);

#endif
