/* SPDX-License-Identifier: MIT */
/* Private to the core library: transfers that instructions make, which a queue holds. */
#ifndef NCORE_DGE_H
#define NCORE_DGE_H

#include "tpb.h"

struct ncore_strand;
struct ncore_queue;

/*
 * Transfers that instructions made (dge.c), each behind the descriptors that had been rung before
 * it. The rings' halves hold the run that is being copied, as if it had descriptors.
 */
#define NCORE_TRANSFERS 64 /* that wait in a queue */
struct ncore_transfer {
	struct tpb_transfer t;
	uint32_t after; /* what M2S has to have closed */
};

struct ncore_transfers {
	_Atomic uint32_t count;
	uint32_t first;
	uint32_t at; /* runs of the first one that are done */
	bool open; /* the halves hold its next run */
	struct ncore_transfer *entry; /* NCORE_TRANSFERS; an idle queue touches none */
};

/* queue.c: whether a transfer is the next thing that the queue does; the queue forgets them all */
bool ncore_made_due(const struct ncore_queue *q);
void ncore_made_forget(struct ncore_queue *q);
/* dge.c */
int ncore_made_append(struct ncore_strand *strand, const struct tpb_transfer *t, uint64_t time);
bool ncore_made_open(struct ncore_queue *q); /* puts the first transfer's next run into the halves;
						false: it has none */
void ncore_made_close(struct ncore_queue *q); /* the open run is done */
/* Is the first transfer done? Its semaphore is incremented at a time. */
bool ncore_made_finish(struct ncore_strand *strand, struct ncore_queue *q, uint64_t time);

#endif
