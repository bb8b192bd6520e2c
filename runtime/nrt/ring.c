/* SPDX-License-Identifier: MIT */
/*
 * From the DMAs of a NEFF to UDMA descriptors, packet by packet. A ring has room for one
 * execution's descriptors, in trigger order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nrt_priv.h"

#define RING_ID 1 /* of a ring's first lap */
#define HOST_RING_MAX (1u << 20) /* bytes: longer rings lie in device memory */
#define COPY_MAX 4096 /* descriptors in one call: the module takes no more than it checks at once */

void rt_queue_number(const struct rt_core *core, unsigned int n, uint32_t *eng, uint32_t *qid)
{
	/* the last queue of the last engine is the driver's own */
	*eng = core->nc * core->dev->gen->dma_engines_per_core + n / NEURON_DMA_QUEUES_PER_ENG;
	*qid = n % NEURON_DMA_QUEUES_PER_ENG;
}

unsigned int rt_data_queues(const struct rt_core *core)
{
	return core->dev->gen->dma_engines_per_core * NEURON_DMA_QUEUES_PER_ENG - 1 -
	       core->dev->gen->target->engines;
}

static int grow(uint8_t **descs, uint32_t n, uint32_t *cap)
{
	uint32_t wanted = *cap ? *cap * 2 : 64;
	uint8_t *p;

	if (n < *cap)
		return 0;
	if (wanted > NEFF_MAX_QUEUE_DESCS)
		return -ENOMEM;
	p = reallocarray(*descs, wanted, NEURON_UDMA_DESC_SIZE);
	if (!p)
		return -ENOMEM;
	*descs = p;
	*cap = wanted;
	return 0;
}

int rt_ring_add_tx(struct rt_ring *ring, uint64_t addr, uint32_t len, uint32_t flags)
{
	struct rt_half *h = &ring->tx;
	int err = grow(&h->desc, h->n, &h->cap);

	if (!err)
		nhal_desc_tx(h->desc + (size_t)h->n++ * NEURON_UDMA_DESC_SIZE, addr, len, RING_ID,
			     flags);
	return err;
}

int rt_ring_add_rx(struct rt_ring *ring, uint64_t addr, uint32_t len)
{
	struct rt_half *h = &ring->rx;
	int err = grow(&h->desc, h->n, &h->cap);

	if (!err)
		nhal_desc_rx(h->desc + (size_t)h->n++ * NEURON_UDMA_DESC_SIZE, addr, len, RING_ID);
	return err;
}

static int add_packet(void *arg, const struct neff_packet *p)
{
	struct rt_ring *ring = arg;
	int err = 0;

	for (unsigned int i = 0; i < p->ntx && !err; i++)
		err = rt_ring_add_tx(ring, p->tx[i].addr, p->tx[i].len,
				     (i ? 0 : NEURON_UDMA_DESC_FIRST) |
					     (i + 1 < p->ntx ? 0 : NEURON_UDMA_DESC_LAST));
	for (unsigned int i = 0; i < p->nrx && !err; i++)
		err = rt_ring_add_rx(ring, p->rx[i].addr, p->rx[i].len);
	return err;
}

int rt_ring_add_copy(const struct nrt_model *model, struct rt_ring *ring,
		     const struct neff_pattern *from, uint64_t from_pa,
		     const struct neff_pattern *to, uint64_t to_pa)
{
	return neff_packets(rt_target(model), from, from_pa, to, to_pa, add_packet, ring);
}

/* After the data: a word into the semaphore's increment aperture, behind a barrier */
int rt_ring_add_completion(const struct nrt_model *model, struct rt_ring *ring,
			   unsigned int semaphore)
{
	uint64_t aperture = ndl_semaphore_address(model->core->dev, model->core->nc, semaphore);
	int err = rt_ring_add_tx(ring, model->one.pa, 4,
				 NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST |
					 NEURON_UDMA_DESC_DMB);

	return err ? err : rt_ring_add_rx(ring, aperture, 4);
}

static int add_copies(struct nrt_model *model, const struct neff_dma *dma, struct rt_ring *ring)
{
	int err = 0;

	for (unsigned int i = 0; i < dma->ndesc && !err; i++) {
		const struct neff_desc *d = &dma->desc[i];

		err = rt_ring_add_copy(model, ring, &d->from, model->vars[d->from.var].pa, &d->to,
				       model->vars[d->to.var].pa);
	}
	if (!err && dma->semaphore >= 0)
		err = rt_ring_add_completion(model, ring, (unsigned int)dma->semaphore);
	return err;
}

static int add_dma(struct nrt_model *model, const struct neff_dma *dma, struct rt_trigger *trigger)
{
	struct rt_ring *ring = &model->queues[dma->queue];
	uint32_t ntx = ring->tx.n, nrx = ring->rx.n;
	int err = 0;

	if (ring->next)
		err = rt_gather_add(model, dma, ring);
	else
		err = add_copies(model, dma, ring);
	*trigger = (struct rt_trigger){ dma->id, dma->queue, ring->tx.n - ntx, ring->rx.n - nrx };
	return err;
}

/* Host memory for a ring; false: device memory then */
static bool host_ring(struct nrt_model *model, struct rt_half *h)
{
	struct rt_core *core = model->core;
	struct ndl_mem_params params = {
		.size = (uint64_t)h->len * NEURON_UDMA_DESC_SIZE,
		.host = true,
		.nc = core->nc,
		.type = NEURON_MEMALLOC_TYPE_DMA_RINGS_HOST,
	};
	uint64_t handle;
	void *map;

	if (params.size > HOST_RING_MAX || ndl_memory_alloc(core->dev, &params, &handle))
		return false;
	if (ndl_memory_map(core->dev, handle, &map)) {
		ndl_memory_free(core->dev, handle);
		return false;
	}
	h->map = map;
	h->chunk =
		(struct rt_chunk){ core, core->dev, handle, 0, params.size, params.type, rt.epoch };
	rt_memory_add(core, params.type, (int64_t)params.size);
	return true;
}

NRT_STATUS rt_half_reserve(struct nrt_model *model, struct rt_half *h, uint32_t n)
{
	h->len = nhal_ring_len(n);
	return rt_chunk_alloc(model->core, (uint64_t)h->len * NEURON_UDMA_DESC_SIZE, 0,
			      NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE, &h->chunk);
}

/* Where the ring is to lie, unless that was known before its descriptors were */
static NRT_STATUS place_half(struct nrt_model *model, struct rt_half *h)
{
	if (h->chunk.core)
		return h->n < h->len ? NRT_SUCCESS
				     : rt_fail(NRT_FAILURE, "TDRV",
					       "a ring of %u descriptors has "
					       "no room for %u",
					       h->len, h->n);
	h->len = nhal_ring_len(h->n);
	return host_ring(model, h) ? NRT_SUCCESS : rt_half_reserve(model, h, h->n);
}

static NRT_STATUS commit_half(struct nrt_model *model, struct rt_half *h,
			      enum neuron_dma_queue_type type)
{
	NRT_STATUS status = place_half(model, h);
	int err = 0;

	if (status)
		return status;
	/* also for a host ring: the module sees which ring feeds an engine, and checks addresses */
	for (uint32_t at = 0, n; at < h->n && !err; at += n) {
		n = h->n - at < COPY_MAX ? h->n - at : COPY_MAX;
		err = ndl_dma_copy_descriptors(model->core->dev, h->chunk.handle,
					       h->desc + (size_t)at * NEURON_UDMA_DESC_SIZE,
					       (uint64_t)at * NEURON_UDMA_DESC_SIZE, n, type);
	}
	if (!h->map) {
		free(h->desc);
		h->desc = NULL;
	}
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "descriptors: %s", strerror(-err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_ring_commit(struct nrt_model *model, struct rt_ring *ring)
{
	NRT_STATUS status = commit_half(model, &ring->tx, NEURON_DMA_QUEUE_TX);

	if (!status)
		status = commit_half(model, &ring->rx, NEURON_DMA_QUEUE_RX);
	if (!status && !(ring->tx.map && ring->rx.map))
		model->rewind = true;
	return status;
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
		ndl_memory_unmap(h->chunk.dev, h->chunk.handle, h->map);
	rt_chunk_free(&h->chunk);
	free(h->desc);
	*h = (struct rt_half){ 0 };
}

void rt_ring_free(struct rt_ring *ring)
{
	half_free(&ring->tx);
	half_free(&ring->rx);
}

/* Descriptors of a queue and of those that it rings */
static uint64_t chain_size(const struct rt_ring *ring)
{
	uint64_t n = 0;

	for (; ring; ring = ring->next)
		n += ring->tx.n + ring->rx.n;
	return n;
}

static NRT_STATUS build_engine(struct nrt_model *model, unsigned int e, uint64_t *descs)
{
	const struct neff_engine *neff = &model->sg->engine[e];
	struct rt_engine *engine = &model->engine[e];

	engine->triggers = calloc(neff->ndma ? neff->ndma : 1, sizeof(*engine->triggers));
	if (!engine->triggers)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int i = 0; i < neff->ndma; i++) {
		struct rt_ring *ring = &model->queues[neff->dma[i].queue];
		uint64_t before = chain_size(ring);

		if (add_dma(model, &neff->dma[i], &engine->triggers[i]))
			return rt_fail(NRT_RESOURCE, "TDRV",
				       "queue '%s' has more than %u descriptors",
				       model->sg->queues[neff->dma[i].queue].name,
				       NEFF_MAX_QUEUE_DESCS);
		*descs += chain_size(ring) - before;
		if (*descs > NEFF_MAX_MODEL_DESCS)
			return rt_fail(NRT_RESOURCE, "TDRV", "more than %u descriptors",
				       NEFF_MAX_MODEL_DESCS);
		engine->ntriggers++;
	}
	return NRT_SUCCESS;
}

NRT_STATUS rt_build_rings(struct nrt_model *model)
{
	const unsigned int engines = rt_target(model)->engines;
	const unsigned int most = rt_data_queues(model->core);
	NRT_STATUS status;
	uint64_t descs = 0;

	model->nqueues = model->sg->nqueues;
	if (model->nqueues <= most)
		model->nqueues += rt_gather_queues(model->sg);
	if (model->nqueues > most)
		return rt_fail(NRT_RESOURCE, "TDRV",
			       "%u queue sets, a core has %u (a set of gathers takes three)",
			       model->nqueues, most);
	model->queues = calloc(model->nqueues ? model->nqueues : 1, sizeof(*model->queues));
	if (!model->queues)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int q = 0; q < model->nqueues; q++)
		rt_queue_number(model->core, engines + q, &model->queues[q].eng,
				&model->queues[q].qid);
	status = rt_gather_begin(model);
	for (unsigned int e = 0; e < engines && !status; e++)
		status = build_engine(model, e, &descs);
	if (!status)
		status = rt_gather_commit(model);
	for (unsigned int q = 0; q < model->nqueues && !status; q++)
		status = rt_ring_commit(model, &model->queues[q]);
	return status;
}
