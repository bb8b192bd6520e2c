/* SPDX-License-Identifier: MIT */
/* A subgraph on its core: its construction and its end */
#include <stdlib.h>
#include <string.h>

#include "neuron/timing.h"
#include "rt_custom.h"

NRT_STATUS rt_subgraph_begin(struct rt_subgraph *sg, struct rt_core *core)
{
	sg->core = core;
	return rt_place_begin(sg);
}

NRT_STATUS rt_subgraph_build(struct rt_subgraph *sg)
{
	NRT_STATUS status = rt_place(sg);

	if (!status)
		status = rt_build_queues(sg);
	if (!status)
		status = rt_custom_build(sg);
	if (!status)
		status = rt_make_streams(sg);
	return status;
}

NRT_STATUS rt_subgraph_finish(struct rt_subgraph *sg)
{
	return rt_subgraph_fetches(sg) ? rt_link_streams(sg) : rt_load_streams(sg);
}

static void drop_triggers(struct rt_engine *engine)
{
	free(engine->triggers);
	engine->triggers = NULL;
	engine->ntriggers = 0;
}

void rt_subgraph_drop_bulk(struct rt_subgraph *sg)
{
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		drop_triggers(&sg->engine[e]);
}

static uint64_t ring_time(const struct neuron_costs *cost, const struct rt_ring *ring)
{
	return neuron_dma_time(cost, ring->tx.n, ring->tx.bytes);
}

uint64_t rt_subgraph_time(struct rt_subgraph *sg)
{
	const struct neuron_costs *cost = &sg->target->cost;
	uint64_t time = sg->busy;

	for (unsigned int q = 0; q < sg->nqueues; q++)
		time += ring_time(cost, &sg->queues[q]);
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		time += ring_time(cost, &sg->engine[e].ring);
	return time;
}

void rt_subgraph_free(struct rt_subgraph *sg)
{
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++) {
		drop_triggers(&sg->engine[e]);
		free(sg->engine[e].stream);
		rt_ring_free(&sg->engine[e].ring);
	}
	for (unsigned int q = 0; sg->queues && q < sg->nqueues; q++)
		rt_ring_free(&sg->queues[q]);
	free(sg->queues);
	rt_gather_free(sg);
	for (unsigned int i = 0; i < sg->nchunks; i++)
		rt_chunk_free(&sg->chunks[i]);
	free(sg->chunks);
	free(sg->by_name);
	free(sg->vars);
	rt_custom_free(sg);
	rt_chunk_free(&sg->code);
	rt_chunk_free(&sg->one);
}

static int name_of(const void *name, const void *var)
{
	return strcmp(name, (*(struct rt_var *const *)var)->neff->name);
}

/* Each of a stage's may be looked for in the one before, so this does not look at all of them. */
struct rt_var *rt_subgraph_var(struct rt_subgraph *sg, enum neff_var_type type, const char *name)
{
	struct rt_var **var = bsearch(name, sg->by_name, sg->nvars, sizeof(*sg->by_name), name_of);

	return var && (*var)->neff->type == type ? *var : NULL;
}

unsigned int rt_subgraph_rings(struct rt_subgraph *sg, struct rt_ring *ring[RT_MAX_QUEUES])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < sg->nparts; i++)
		for (unsigned int q = 0; q < sg[i].nqueues; q++)
			ring[n++] = &sg[i].queues[q];
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		if (sg->engine[e].ring.tx.n)
			ring[n++] = &sg->engine[e].ring;
	return n;
}
