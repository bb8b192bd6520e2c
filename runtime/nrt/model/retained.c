/* SPDX-License-Identifier: MIT */
/*
 * The host's memory that models keep between executions. A model has device memory of its own for
 * its inputs, outputs and scratchpad, and what an execution leaves there is of no use to the next
 * one. A program that is executed again soon is faster with the same pages; a framework, however,
 * that executes operation after operation has hundreds of loaded programs, each of them with pages
 * for arrays that nobody has any more.
 */
#include <unistd.h>

#include "rt_context.h"
#include "rt_model.h"

#define FORGET_MIN (64u << 10) /* bytes of a chunk */
#define HOST_PART 4 /* of the host's memory is retained */

uint64_t rt_retained_most;

/* Protects all lists and the sum */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t retained;

/* With the lock; the host is asked once, as this is done after each execution. */
static uint64_t most(void)
{
	static uint64_t of_host;

	if (!of_host)
		of_host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) /
			  HOST_PART;
	return rt_retained_most ? rt_retained_most : of_host;
}

static bool is_dead(const struct rt_chunk *chunk)
{
	return chunk->size >= FORGET_MIN && (chunk->type == NEURON_MEMALLOC_TYPE_TENSORS_DEVICE ||
					     chunk->type == NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE);
}

static uint64_t dead_bytes(const struct nrt_model *model)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		for (unsigned int c = 0; c < model->subgraph[i].nchunks; c++)
			if (is_dead(&model->subgraph[i].chunks[c]))
				bytes += model->subgraph[i].chunks[c].size;
	return bytes;
}

static void leave(struct nrt_model *model)
{
	struct rt_core *core = model->core;

	if (!model->retained)
		return;
	*(model->retained_newer ? &model->retained_newer->retained_older : &core->retained_newest) =
		model->retained_older;
	*(model->retained_older ? &model->retained_older->retained_newer : &core->retained_oldest) =
		model->retained_newer;
	retained -= model->retained;
	model->retained = 0;
}

static void forget(struct nrt_model *model)
{
	leave(model);
	for (unsigned int i = 0; i < model->nsubgraphs; i++) {
		const struct rt_subgraph *sg = &model->subgraph[i];

		for (unsigned int c = 0; c < sg->nchunks; c++)
			if (is_dead(&sg->chunks[c]))
				ndlx_memory_forget(sg->chunks[c].dev, sg->chunks[c].handle);
	}
}

/* Ranks write into each other's memory, and stages of a pipeline on other cores into the next
 * one's, at any time. */
static bool is_others(const struct nrt_model *model)
{
	return model->nranks > 1 || model->pipeline;
}

void rt_retained_add(struct nrt_model *model)
{
	const uint64_t bytes = is_others(model) ? 0 : dead_bytes(model);
	struct rt_core *core = model->core;

	if (!bytes)
		return;
	pthread_mutex_lock(&lock);
	leave(model);
	model->retained = bytes;
	model->retained_newer = NULL;
	model->retained_older = core->retained_newest;
	*(core->retained_newest ? &core->retained_newest->retained_newer : &core->retained_oldest) =
		model;
	core->retained_newest = model;
	retained += bytes;
	while (retained > most() && core->retained_oldest != model)
		forget(core->retained_oldest);
	pthread_mutex_unlock(&lock);
}

void rt_retained_leave(struct nrt_model *model)
{
	pthread_mutex_lock(&lock);
	leave(model);
	pthread_mutex_unlock(&lock);
}
