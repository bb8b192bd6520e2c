// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Copies through a core's own ring (docs/hardware.md, How the driver composes a copy). A batch is
 * up to NHAL_H2T_BATCH_MAX pairs of descriptors and one more pair that copies a marker word to the
 * next word; whoever waits polls that second word. Four batches of NHAL_H2T_BATCH_MAX + 1 fit the
 * ring, so a context that is submitted again only after it was done never overruns it.
 */
#include "hal.h"

#define WHOLE_PACKET (NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST)

void nhal_h2t_init_queue(struct nhal_h2t *h2t, struct nhal *hal, unsigned int nc, unsigned int qid,
			 const struct nhal_h2t_mem *mem)
{
	memset(h2t, 0, sizeof(*h2t));
	h2t->hal = hal;
	h2t->nc = nc;
	h2t->eng = hal->gen->copy[nc].engine;
	h2t->qid = qid;
	h2t->completion = mem->completion;
	h2t->completion_addr = mem->completion_addr;
	memset(mem->completion, 0, NHAL_H2T_COMPLETION_BYTES);
	nhal_ring_init(&h2t->tx, mem->tx, NHAL_H2T_RING_LEN);
	nhal_ring_init(&h2t->rx, mem->rx, NHAL_H2T_RING_LEN);
	nhal_queue_init(hal, h2t->eng, h2t->qid, mem->tx_addr, NHAL_H2T_RING_LEN, mem->rx_addr,
			NHAL_H2T_RING_LEN);
}

void nhal_h2t_init(struct nhal_h2t *h2t, struct nhal *hal, unsigned int nc,
		   const struct nhal_h2t_mem *mem)
{
	nhal_h2t_init_queue(h2t, hal, nc, hal->gen->copy[nc].queue, mem);
}

static void push_pair(struct nhal_h2t *h2t, uint64_t src, uint64_t dst, uint32_t len)
{
	unsigned int tx_id, rx_id;
	void *tx = nhal_ring_next(&h2t->tx, &tx_id);
	void *rx = nhal_ring_next(&h2t->rx, &rx_id);

	nhal_desc_tx(tx, src, len, tx_id, WHOLE_PACKET);
	nhal_desc_rx(rx, dst, len, rx_id);
	h2t->last_tx = tx;
}

uint64_t nhal_h2t_push(struct nhal_h2t *h2t, uint64_t src, uint64_t dst, uint64_t len)
{
	uint64_t done = 0;
	uint32_t n;

	while (done < len && h2t->pending < NHAL_H2T_BATCH_MAX) {
		n = len - done < NEURON_UDMA_DESC_LEN_MAX ? (uint32_t)(len - done)
							  : NEURON_UDMA_DESC_LEN_MAX;
		push_pair(h2t, src + done, dst + done, n);
		h2t->pending++;
		done += n;
	}
	return done;
}

unsigned int nhal_h2t_submit(struct nhal_h2t *h2t, unsigned int ctx)
{
	uint64_t word = h2t->completion_addr + ctx * 8;
	const struct neuron_gen *gen = h2t->hal->gen;
	unsigned int n = h2t->pending;

	/* the barrier keeps the marker behind the data */
	if (n) {
		nhal_put32(h2t->last_tx, nhal_get32(h2t->last_tx) | gen->dma_barrier);
		nhal_put32(h2t->last_tx + 4, nhal_get32(h2t->last_tx + 4) | gen->dma_barrier_meta);
	}
	h2t->completion[2 * ctx] = NHAL_H2T_MARKER;
	h2t->completion[2 * ctx + 1] = 0;
	push_pair(h2t, word, word + 4, 4);
	h2t->pending = 0;
	nhal_queue_start(h2t->hal, h2t->eng, h2t->qid, n + 1, n + 1);
	return n;
}

bool nhal_h2t_done(const struct nhal_h2t *h2t, unsigned int ctx)
{
	return nhal_load_acquire(&h2t->completion[2 * ctx + 1]) == NHAL_H2T_MARKER;
}
