/* SPDX-License-Identifier: MIT */
/*
 * What dma.c, series.c, what they compute with and state.c know of a queue's descriptors and turn.
 * Private to them
 */
#ifndef NCORE_DMA_H
#define NCORE_DMA_H

#include <string.h>

#include "chip.h"

#define NCORE_META_UNKNOWN \
	(NEURON_UDMA_META_OP_MASK | 0x00077fc0u) /* operation, CRC, endian fields */

static inline uint32_t ncore_desc_ctrl(const struct ncore_desc *d)
{
	return (uint32_t)d->head;
}

static inline uint32_t ncore_desc_meta(const struct ncore_desc *d)
{
	return (uint32_t)(d->head >> 32);
}

/* Whether an RX descriptor's bytes are computed, and not copied */
static inline bool ncore_computes(const struct ncore_chip *chip, const struct ncore_desc *rx)
{
	return ncore_desc_meta(rx) && chip->gen->target->core > 1;
}

static inline uint32_t ncore_desc_len(const struct ncore_desc *d)
{
	uint32_t len = ncore_desc_ctrl(d) & NEURON_UDMA_DESC_LEN_MASK;

	return len ? len : NEURON_UDMA_DESC_LEN_MAX;
}

/* A queue as long as it is the first of its lane's: its packets follow each other */
struct ncore_turn {
	struct ncore_lane *lane;
	struct ncore_queue *q;
	const struct ncore_queue *other; /* the first in order of the rest, or NULL */
	uint64_t until; /* when one of those or an engine comes first */
	struct ncore_budget *budget;
	unsigned int *move;
};

static inline uint64_t ncore_queue_time(const struct ncore_queue *q)
{
	return atomic_load_explicit(&q->time, memory_order_relaxed);
}

/*
 * Virtual time. A doorbell of the host may come at any virtual time, so what it starts takes no
 * share of what others would have to wait for: their times are the same on every run.
 */
static inline bool ncore_queue_shares(const struct ncore_lane *lane, const struct ncore_queue *q)
{
	return lane->tpb && !atomic_load_explicit(&q->hosted, memory_order_relaxed);
}

/* Whether the packet that follows at a time is the first of all that is to be done */
static inline bool ncore_goes_on(const struct ncore_turn *t, uint64_t time)
{
	return !atomic_load(&t->lane->ready.count) && !atomic_load(&t->lane->inbox.count) &&
	       time < t->until;
}

/* Between n and 2 n bytes: its ends, which may overlap, are read before any byte is written */
static inline void ncore_move_ends(uint8_t *dst, const uint8_t *src, uint64_t len, uint64_t n)
{
	uint8_t head[32], tail[32];

	memcpy(head, src, n);
	memcpy(tail, src + len - n, n);
	memcpy(dst, head, n);
	memcpy(dst + len - n, tail, n);
}

/* Most pieces of a strided transfer are too short for a call */
static inline void ncore_move(uint8_t *dst, const uint8_t *src, uint64_t len)
{
	if (len > 64)
		ncore_mem_copy(dst, src, len);
	else if (len >= 32)
		ncore_move_ends(dst, src, len, 32);
	else if (len >= 16)
		ncore_move_ends(dst, src, len, 16);
	else if (len >= 8)
		ncore_move_ends(dst, src, len, 8);
	else if (len >= 4)
		ncore_move_ends(dst, src, len, 4);
	else if (len >= 2)
		ncore_move_ends(dst, src, len, 2);
	else
		*dst = *src;
}

/* Reports an error that the guest made. */
void ncore_stop_queue(struct ncore_chip *chip, struct ncore_queue *q, uint16_t code, uint64_t addr);
/* The same of a compressed stream, for a reason of enum neuron_stream_error */
void ncore_refuse_stream(struct ncore_chip *chip, struct ncore_queue *q, uint64_t addr,
			 uint32_t reason);
/* Opens the next TX descriptor, which goes on with the packet. -errno: the queue stopped */
int ncore_open_source(struct ncore_turn *t);
/* The same of the next RX descriptor */
int ncore_open_destination(struct ncore_turn *t);
/* Accounts for bytes that went through all of the descriptors that are open; last: of a packet */
void ncore_computed(struct ncore_turn *t, const struct ncore_copy *c, uint64_t extra, bool last);
/* dma_compute.c: what the open RX descriptor's second word asks for */
enum ncore_step ncore_compute(struct ncore_turn *t, struct ncore_copy *c);
/* dma_stream.c: the same if it is to be compressed, decompressed or transposed */
static inline bool ncore_is_stream(const struct ncore_desc *rx)
{
	return (ncore_desc_meta(rx) & NEURON_DMA_COMPUTE_OP) >> 12 >= NEURON_DMA_COMPRESS;
}
enum ncore_step ncore_stream(struct ncore_turn *t, struct ncore_copy *c);

/* Done with n descriptors */
void ncore_ring_close(struct ncore_ring *r, uint32_t n);
/* series.c: pieces like the one that is over. false: something else comes before the next one */
bool ncore_series(struct ncore_turn *t);

#endif
