/* SPDX-License-Identifier: MIT */
/*
 * UDMA descriptors of the DMAs of a NEFF, packet by packet. A ring has room for one execution's
 * descriptors, in trigger order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rt_ring.h"

#define RING_ID 1 /* the ring id of a ring's first lap */
/*
 * Bytes; longer rings lie in device memory. To write so many descriptors for each execution takes a
 * program as long as initialising a queue does; tens of thousands take an emulated guest as long as
 * a tenth of what the chip does with them.
 */
#define HOST_RING_MAX (16u << 10)
/* descriptors in one call: the kernel module takes no more, because it checks them at once */
#define COPY_MAX 4096

void rt_queue_number(const struct rt_core *core, unsigned int n, uint32_t *eng, uint32_t *qid)
{
	/* the last queue of the last engine is the driver's copy queue */
	*eng = core->nc * core->dev->gen->dma_engines_per_core + n / NEURON_DMA_QUEUES_PER_ENG;
	*qid = n % NEURON_DMA_QUEUES_PER_ENG;
}

unsigned int rt_data_queues(const struct rt_core *core)
{
	return core->dev->gen->dma_engines_per_core * NEURON_DMA_QUEUES_PER_ENG - 1 -
	       core->dev->gen->target->engines;
}

/*
 * Many descriptors lie in large pages, which cost the host less than as many small ones: at once
 * in room for more, of which only what is used is there.
 */
#define LARGE_PAGE (2u << 20)
#define MANY (LARGE_PAGE / NEURON_UDMA_DESC_SIZE)

static uint8_t *more_room(const struct rt_half *h, uint32_t wanted)
{
	const size_t size = (size_t)wanted * NEURON_UDMA_DESC_SIZE;
	uint8_t *p;

	if (wanted < MANY)
		return realloc(h->desc, size);
	p = aligned_alloc(LARGE_PAGE, (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE);
	if (!p)
		return NULL;
	madvise(p, size, MADV_HUGEPAGE);
	memcpy(p, h->desc, (size_t)h->n * NEURON_UDMA_DESC_SIZE);
	free(h->desc);
	return p;
}

/* Makes room for some descriptors more, at most those of a packet. */
static int grow(struct rt_half *h, uint32_t more)
{
	uint32_t much = h->cap < MANY / 4 ? h->cap * 2 : h->cap * 16;
	uint32_t next = h->cap ? much : 2 * NEURON_PACKET_MAX;
	uint32_t wanted = next < NEFF_MAX_QUEUE_DESCS ? next : NEFF_MAX_QUEUE_DESCS;
	uint8_t *p;

	if (more <= h->cap - h->n)
		return 0;
	if (more > NEFF_MAX_QUEUE_DESCS - h->n)
		return -ENOMEM;
	p = more_room(h, wanted);
	if (!p)
		return -ENOMEM;
	h->desc = p;
	h->cap = wanted;
	return 0;
}

int rt_ring_add_tx(struct rt_ring *ring, uint64_t addr, uint32_t len, uint32_t flags)
{
	struct rt_half *h = &ring->tx;
	int err = grow(h, 1);

	if (err)
		return err;
	nhal_desc_tx(h->desc + (size_t)h->n++ * NEURON_UDMA_DESC_SIZE, addr, len, RING_ID, flags);
	h->bytes += len;
	return 0;
}

int rt_ring_add_rx(struct rt_ring *ring, uint64_t addr, uint32_t len)
{
	struct rt_half *h = &ring->rx;
	int err = grow(h, 1);

	if (!err)
		nhal_desc_rx(h->desc + (size_t)h->n++ * NEURON_UDMA_DESC_SIZE, addr, len, RING_ID);
	return err;
}

static int add_packet(void *arg, const struct neff_packet *p)
{
	struct rt_ring *ring = arg;
	struct rt_half *tx = &ring->tx, *rx = &ring->rx;
	int err = grow(tx, p->ntx) ?: grow(rx, p->nrx);
	uint8_t *at;

	if (err)
		return err;
	at = tx->desc + (size_t)tx->n * NEURON_UDMA_DESC_SIZE;
	for (unsigned int i = 0; i < p->ntx; i++, at += NEURON_UDMA_DESC_SIZE) {
		nhal_desc_tx(at, p->tx[i].addr, p->tx[i].len, RING_ID,
			     (i ? 0 : NEURON_UDMA_DESC_FIRST) |
				     (i + 1 < p->ntx ? 0 : NEURON_UDMA_DESC_LAST));
		tx->bytes += p->tx[i].len;
	}
	at = rx->desc + (size_t)rx->n * NEURON_UDMA_DESC_SIZE;
	for (unsigned int i = 0; i < p->nrx; i++, at += NEURON_UDMA_DESC_SIZE) {
		nhal_desc_rx(at, p->rx[i].addr, p->rx[i].len, RING_ID);
		if (p->compute)
			nhal_put32(at + 4, p->compute);
	}
	tx->n += p->ntx;
	rx->n += p->nrx;
	return 0;
}

int rt_ring_add_copy(const struct neuron_target *target, struct rt_ring *ring,
		     const struct neff_pattern *from, uint64_t from_pa,
		     const struct neff_pattern *to, uint64_t to_pa)
{
	return neff_packets(target, from, from_pa, to, to_pa, add_packet, ring);
}

int rt_ring_add_compute(struct rt_ring *ring, const struct neff_desc *d, const uint64_t *from_pa,
			uint64_t to_pa)
{
	return neff_compute_packets(d, from_pa, to_pa, add_packet, ring);
}

/*
 * Adds the increment of a semaphore after the data: a word into its increment aperture, behind a
 * barrier.
 */
int rt_ring_add_completion(const struct rt_core *core, struct rt_ring *ring, uint64_t one,
			   unsigned int semaphore)
{
	uint64_t aperture = ndlx_semaphore_address(core->dev, core->nc, semaphore);
	int err = rt_ring_add_tx(ring, one, 4,
				 NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST |
					 NEURON_UDMA_DESC_DMB);

	return err ? err : rt_ring_add_rx(ring, aperture, 4);
}

NRT_STATUS rt_half_reserve(struct rt_core *core, struct rt_half *h, uint32_t n)
{
	h->len = nhal_ring_len(n);
	return rt_chunk_alloc(core, (uint64_t)h->len * NEURON_UDMA_DESC_SIZE, 0,
			      NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE, &h->chunk);
}

static bool host_ring(struct rt_core *core, struct rt_half *h)
{
	uint64_t size = (uint64_t)h->len * NEURON_UDMA_DESC_SIZE;
	void *map;

	if (size > HOST_RING_MAX ||
	    !rt_chunk_alloc_host(core, size, NEURON_MEMALLOC_TYPE_DMA_RINGS_HOST, &h->chunk, &map))
		return false;
	h->map = map;
	return true;
}

/* Chooses the memory of a half, unless rt_half_reserve already did. */
static NRT_STATUS place_half(struct rt_core *core, struct rt_half *h)
{
	if (h->chunk.core)
		return h->n < h->len ? NRT_SUCCESS
				     : rt_fail(NRT_FAILURE, "TDRV",
					       "a ring of %u descriptors has no room for %u",
					       h->len, h->n);
	h->len = nhal_ring_len(h->n);
	return host_ring(core, h) ? NRT_SUCCESS : rt_half_reserve(core, h, h->n);
}

static NRT_STATUS commit_half(struct rt_core *core, struct rt_half *h,
			      enum neuron_dma_queue_type type)
{
	NRT_STATUS status = place_half(core, h);
	int err = 0;

	if (status)
		return status;
	/*
	 * a host ring goes through the module too, which checks addresses and notes which ring
	 * feeds an engine
	 */
	for (uint32_t at = 0, n; at < h->n && !err; at += n) {
		n = h->n - at < COPY_MAX ? h->n - at : COPY_MAX;
		err = ndlx_dma_copy_descriptors(core->dev, h->chunk.handle,
						h->desc + (size_t)at * NEURON_UDMA_DESC_SIZE,
						(uint64_t)at * NEURON_UDMA_DESC_SIZE, n, type);
	}
	if (!h->map) {
		free(h->desc);
		h->desc = NULL;
	}
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "descriptors: %s",
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_ring_commit(struct rt_core *core, struct rt_ring *ring)
{
	NRT_STATUS status = commit_half(core, &ring->tx, NEURON_DMA_QUEUE_TX);

	if (!status)
		status = commit_half(core, &ring->rx, NEURON_DMA_QUEUE_RX);
	return status;
}

bool rt_ring_rewinds(const struct rt_ring *ring)
{
	return !ring->iterations && (!ring->tx.map || !ring->rx.map);
}

static void half_rewind(struct rt_half *h)
{
	nhal_ring_init(&h->at, h->map, h->len);
}

void rt_ring_rewind(struct rt_ring *ring)
{
	half_rewind(&ring->tx);
	half_rewind(&ring->rx);
}

static void half_write(struct rt_half *h)
{
	const uint8_t *from = h->desc;

	for (uint32_t i = 0; h->map && i < h->n; i++, from += NEURON_UDMA_DESC_SIZE) {
		unsigned int lap;
		void *to = nhal_ring_next(&h->at, &lap);

		memcpy(to, from, NEURON_UDMA_DESC_SIZE);
		nhal_desc_lap(to, lap);
	}
}

void rt_ring_write(struct rt_ring *ring)
{
	half_write(&ring->tx);
	half_write(&ring->rx);
}

static void half_free(struct rt_half *h)
{
	if (h->map && rt_chunk_alive(&h->chunk))
		ndlx_memory_unmap(h->chunk.dev, h->chunk.handle, h->map);
	rt_chunk_free(&h->chunk);
	free(h->desc);
	*h = (struct rt_half){ 0 };
}

void rt_ring_free(struct rt_ring *ring)
{
	half_free(&ring->tx);
	half_free(&ring->rx);
	rt_chunk_free(&ring->image);
}

uint64_t rt_ring_chain(const struct rt_ring *ring)
{
	uint64_t n = 0;

	for (; ring; ring = ring->next)
		n += ring->tx.n + ring->rx.n;
	return n;
}
