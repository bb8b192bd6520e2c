/* SPDX-License-Identifier: MIT */
/* The DMAs of a subgraph: descriptors of its queues, and the doorbell counts of each trigger */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_ranks.h"

#define WANTED_DMAS 256 /* after so many it is asked whether to go on */

static int add_compute(struct rt_subgraph *sg, const struct neff_desc *d, struct rt_ring *ring)
{
	uint64_t from[NEURON_DMA_SOURCES_MAX] = { sg->vars[d->from.var].pa };

	for (unsigned int i = 0; i < d->nmore; i++)
		from[i + 1] = sg->vars[d->more[i].var].pa;
	return rt_ring_add_compute(ring, d, from, sg->vars[d->to.var].pa);
}

static int add_copies(struct rt_subgraph *sg, const struct neff_dma *dma, struct rt_ring *ring)
{
	int err = 0;

	for (unsigned int i = 0; i < dma->ndesc && !err; i++) {
		const struct neff_desc *d = &dma->desc[i];

		if (neff_computes(d))
			err = add_compute(sg, d, ring);
		else
			err = rt_ring_add_copy(sg->target, ring, &d->from, sg->vars[d->from.var].pa,
					       &d->to, sg->vars[d->to.var].pa);
	}
	if (!err && dma->semaphore >= 0)
		err = rt_ring_add_completion(sg->core, ring, sg->one.pa,
					     (unsigned int)dma->semaphore);
	return err;
}

static int add_dma(struct rt_subgraph *sg, const struct neff_dma *dma, struct rt_trigger *trigger)
{
	struct rt_ring *ring = &sg->queues[dma->queue];
	uint32_t ntx = ring->tx.n, nrx = ring->rx.n;
	int err = 0;

	if (ring->next)
		err = rt_gather_add(sg, dma, ring);
	else
		err = add_copies(sg, dma, ring);
	*trigger = (struct rt_trigger){ dma->id, dma->queue, ring->tx.n - ntx, ring->rx.n - nrx };
	ring->last_tx = &trigger->ntx;
	ring->last_rx = &trigger->nrx;
	return err;
}

static NRT_STATUS build_engine(struct rt_subgraph *sg, unsigned int e, uint64_t *descs)
{
	const struct neff_engine *neff = &sg->neff->engine[e];
	struct rt_engine *engine = &sg->engine[e];

	engine->triggers = calloc(neff->ndma ? neff->ndma : 1, sizeof(*engine->triggers));
	if (!engine->triggers)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int i = 0; i < neff->ndma; i++) {
		struct rt_ring *ring = &sg->queues[neff->dma[i].queue];
		uint64_t before = rt_ring_chain(ring);
		NRT_STATUS status = i % WANTED_DMAS ? NRT_SUCCESS : rt_load_wanted(sg->model);

		if (status)
			return status;
		if (add_dma(sg, &neff->dma[i], &engine->triggers[i]))
			return rt_fail(NRT_RESOURCE, "TDRV",
				       "queue '%s' has more than %u descriptors",
				       sg->neff->queues[neff->dma[i].queue].name,
				       NEFF_MAX_QUEUE_DESCS);
		*descs += rt_ring_chain(ring) - before;
		if (*descs > NEFF_MAX_MODEL_DESCS)
			return rt_fail(NRT_RESOURCE, "TDRV", "more than %u descriptors",
				       NEFF_MAX_MODEL_DESCS);
		engine->ntriggers++;
	}
	return NRT_SUCCESS;
}

/* Ends the descriptors of an iteration in the queues of a part that the program executes again by
 * itself. */
static NRT_STATUS end_iteration(struct rt_subgraph *sg)
{
	int err = 0;

	for (unsigned int q = 0; q < sg->nqueues && !err; q++)
		err = rt_iteration_end(&sg->queues[q]);
	return err ? rt_fail(NRT_RESOURCE, "TDRV", "descriptors of an iteration: %s",
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_build_queues(struct rt_subgraph *sg)
{
	const unsigned int first = sg->target->engines + sg->first_queue;
	const unsigned int most = rt_data_queues(sg->core);
	NRT_STATUS status;
	uint64_t descs = 0;

	const bool passes = sg->self_refilling && rt_passes(sg) && sg->core == sg->model->core;

	sg->nqueues = sg->neff->nqueues;
	if (sg->nqueues <= most)
		sg->nqueues += rt_gather_queues(sg->neff) + passes;

	if (sg->nqueues > most)
		return rt_fail(NRT_RESOURCE, "TDRV",
			       "%u queue sets, a core has %u (a set of gathers takes three)",
			       sg->nqueues, most);
	sg->queues = calloc(sg->nqueues ? sg->nqueues : 1, sizeof(*sg->queues));
	if (!sg->queues)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");

	for (unsigned int q = 0; q < sg->nqueues; q++)
		rt_queue_number(sg->core, first + q, &sg->queues[q].eng, &sg->queues[q].qid);

	status = rt_gather_begin(sg);
	for (unsigned int e = 0; e < sg->target->engines && !status; e++)
		status = build_engine(sg, e, &descs);
	if (!status && passes)
		status = rt_pass_queue(sg, &sg->queues[sg->nqueues - 1]);
	if (!status && sg->self_refilling)
		status = end_iteration(sg);
	if (!status)
		status = rt_gather_commit(sg);
	for (unsigned int q = 0; q < sg->nqueues && !status; q++)
		status = rt_iterations_commit(sg->core, &sg->queues[q]);
	return status;
}
