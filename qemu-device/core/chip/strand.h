/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: a strand, which one thread at a time may execute. strand.c has the
 * right to execute and what others write to a strand; executor.c executes. chip.h has the locking.
 */
#ifndef NCORE_STRAND_H
#define NCORE_STRAND_H

#include <pthread.h>

#include "queue.h"
#include "tpb.h"

/*
 * What one MMIO write may do itself before the pool takes over. The driver's shortest deadline is
 * that of copies within a chip (docs/hardware.md): 100 microseconds a descriptor of 64 KiB on
 * Trainium2. A worker that a busy host lets wait for milliseconds is too late for few of them, not
 * for many.
 */
#define NCORE_INLINE_DESCS 64
#define NCORE_INLINE_BYTES (NCORE_INLINE_DESCS * 64 * 1024)
/* what a core does inside a doorbell's write, and the instruction or packet that it is at then */
#define NCORE_INLINE_NS 100000

/*
 * Writes of 32-bit words to what another strand owns, or from an instruction to the rest of the
 * chip
 */
struct ncore_post {
	uint64_t addr; /* local device address */
	uint32_t value;
	uint64_t time;
};

#define NCORE_INBOX 256
#define NCORE_OUTBOX 64

/*
 * When what a strand's transfers share is free again: they take it one after the other. What
 * strands share with each other is divided among them (struct neuron_costs), so that no strand's
 * times depend on how far another one is.
 */
struct ncore_shared {
	uint64_t *dma; /* each UDMA engine */
	uint64_t way[NCORE_WAYS];
};

struct ncore_strand {
	struct ncore_chip *chip;
	unsigned int index;
	struct tpb *tpb; /* NULL: the host's strand */

	bool running; /* chip->lock */
	_Atomic unsigned int stops; /* stops that are not undone: no new execution, and leave soon */
	struct ncore_queue_list ready; /* chip->lock */
	struct ncore_queue_list taken; /* ready ones, the executor's; empty while it is stopped */
	struct ncore_queue_list stalled; /* the executor, or chip->lock while stopped */
	struct ncore_queue *left; /* a ready one, in the middle of its packet: the next to go on */
	struct ncore_shared shared; /* the executor, or chip->lock while stopped */
	struct ncore_streams *streams; /* the executor; NULL: the chip has none */
	bool ran; /* instructions since the last rest: the core's memories may be dirty */

	struct {
		pthread_mutex_t lock;
		_Atomic unsigned int count;
		unsigned int first;
		struct ncore_post post[NCORE_INBOX];
	} inbox;
	unsigned int out_count; /* the executor */
	struct ncore_post out[NCORE_OUTBOX];

	bool (*work)(struct ncore_strand *strand); /* one batch in a worker; true: it has more */
	/* pool->lock */
	bool queued, in_worker, again;
	struct ncore_strand *pool_next;
};

/* An executing strand's progress with one queue (dma.c) */
enum ncore_step {
	NCORE_STEP_PACKET, /* a packet is complete */
	NCORE_STEP_STARVED, /* no credit in a half; or stopped */
	NCORE_STEP_STALLED, /* stall_engine's FIFO of this strand is full */
	NCORE_STEP_MOVE, /* must go on in strand *move */
	NCORE_STEP_RETRY, /* another strand's inbox is full */
	NCORE_STEP_LEAVE, /* budget used or the strand is to stop: the packet goes on later */
};
struct ncore_budget {
	int64_t bytes, descs;
	uint64_t until_ns; /* of the monotonic clock, in a thread with other things to do; or 0 */
};

static inline uint64_t ncore_queue_time(const struct ncore_queue *q)
{
	return atomic_load_explicit(&q->time, memory_order_relaxed);
}

/* The order of queues at equal times */
static inline bool ncore_queue_before(const struct ncore_queue *a, const struct ncore_queue *b)
{
	return a->engine != b->engine ? a->engine < b->engine : a->index < b->index;
}

/* strand.c */
void ncore_strand_stop(struct ncore_strand *strand); /* chip->lock; waits for a boundary */
void ncore_strand_start(struct ncore_strand *strand); /* chip->lock; undoes one stop */
void ncore_strands_stop(struct ncore_chip *chip); /* all of a chip's */
void ncore_strands_start(struct ncore_chip *chip);
void ncore_strand_kick(struct ncore_strand *strand);
bool ncore_strand_has_work(struct ncore_strand *strand); /* chip->lock, not running */
bool ncore_strand_refillable(struct ncore_strand *strand,
			     struct ncore_queue *q); /* a stalled queue */
void ncore_strand_drain(struct ncore_strand *strand); /* executor, or chip->lock while stopped */
void ncore_strand_sync(struct ncore_strand *strand); /* chip->lock: what was posted is visible */
/* executor: the time from which on another queue, other or none, or an engine comes before q */
uint64_t ncore_strand_until(const struct ncore_strand *strand, const struct ncore_queue *q,
			    const struct ncore_queue *other);
void ncore_strand_reset(
	struct ncore_strand *strand); /* stopped: forgets posts and what was in use */
int ncore_strand_post(struct ncore_strand *strand,
		      const struct ncore_post *post); /* 0 or -EAGAIN */
/*
 * A word of a core (map.h) from outside its strand, or from another chip: 0, or -EAGAIN when the
 * inbox is full
 */
int ncore_core_word_post(struct ncore_chip *chip, uint64_t local, uint32_t value, uint64_t time);

/* executor.c */
int ncore_strand_init(struct ncore_chip *chip, unsigned int index); /* 0 or -ENOMEM */
void ncore_strand_fini(struct ncore_strand *strand);
/* An instruction's write to a device address: 0, or -EACCES when refused */
int ncore_strand_out(struct ncore_strand *strand, uint64_t addr, uint32_t value, uint64_t time);
/*
 * Of an instruction, in the device's memory: what is fetched, or NULL; what is read or written, or,
 * with buf NULL, only asked for, 0 or -EACCES
 */
const uint8_t *ncore_strand_window(struct ncore_strand *strand, uint64_t addr, uint64_t len);
int ncore_strand_memory(struct ncore_strand *strand, uint64_t addr, void *buf, uint64_t len,
			bool write);
/* chip->lock is held and dropped meanwhile: small work of the strand, in the caller's thread */
void ncore_strand_inline(struct ncore_strand *strand);

#endif
