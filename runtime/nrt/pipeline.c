/* SPDX-License-Identifier: MIT */
/*
 * NeuronCore Pipeline: a model of several subgraphs, each on a core of its own. What one stage
 * makes for the next it writes straight into that one's device memory, its own or a neighbour's;
 * from farther away it comes through host memory. An execution goes through the stages in the
 * thread that asked for it; as many as there are stages are under way at once.
 *
 * Between two stages there is room for one execution's values: the next stage takes them (a copy
 * inside its device) before it begins, and only then may the stage before make new ones. It holds
 * its core's exec while it waits for that; the ones waited for are later in the pipeline and on
 * later cores, so somebody always goes on. Where stages share cores one execution at a time is
 * under way, and nobody waits.
 *
 * Locks: the head's serial (shared cores only), a core's exec, then an edge's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nrt_priv.h"

static struct rt_var *find_var(struct nrt_model *stage, enum neff_var_type type, const char *name)
{
	for (unsigned int i = 0; i < stage->nvars; i++)
		if (stage->vars[i].neff->type == type && !strcmp(stage->vars[i].neff->name, name))
			return &stage->vars[i];
	return NULL;
}

/* Where b's device begins for a's; 0: no link leads there */
static uint64_t window_of(const struct rt_core *a, const struct rt_core *b)
{
	uint64_t window;

	return ndl_neighbor_window(a->dev, (int)b->device, &window) ? 0 : window;
}

/* Where a stage's values for the next one go: the way of all of them */
static NRT_STATUS make_edge(struct nrt_model *from, struct nrt_model *to, struct rt_var *out,
			    struct rt_var *in, struct rt_edge *edge)
{
	uint64_t window = window_of(from->core, to->core);
	NRT_STATUS status = NRT_SUCCESS;

	edge->out = out;
	edge->in = in;
	out->edge = in->edge = true;
	if (from->core->device == to->core->device)
		return NRT_SUCCESS; /* where the stage before has it */
	if (!window) {
		edge->host = malloc(out->neff->size);
		return edge->host ? NRT_SUCCESS : rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	}
	status = rt_chunk_alloc(to->core, out->neff->size, 0, NEURON_MEMALLOC_TYPE_TENSORS_DEVICE,
				&edge->landing);
	if (!status) {
		out->remote = true;
		out->pa = window | edge->landing.pa;
	}
	return status;
}

static NRT_STATUS make_edges(struct nrt_model *from, struct nrt_model *to)
{
	NRT_STATUS status = NRT_SUCCESS;

	to->edges = calloc(to->nvars ? to->nvars : 1, sizeof(*to->edges));
	if (!to->edges)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int i = 0; i < to->nvars && !status; i++) {
		struct rt_var *in = &to->vars[i], *out;

		if (in->neff->type != NEFF_VAR_INPUT)
			continue;
		out = find_var(from, NEFF_VAR_OUTPUT, in->neff->name);
		if (out)
			status = make_edge(from, to, out, in, &to->edges[to->nedges++]);
	}
	from->next = to;
	to->prev = from;
	return status;
}

static void free_edges(struct nrt_model *stage)
{
	for (unsigned int i = 0; i < stage->nedges; i++) {
		rt_chunk_free(&stage->edges[i].landing);
		free(stage->edges[i].host);
	}
	free(stage->edges);
}

NRT_STATUS rt_stage_add(struct nrt_model *head, struct rt_core *core)
{
	struct nrt_model *stage = rt_model_new(core);

	if (!head->stage)
		head->stage = calloc(head->neff->nsubgraphs, sizeof(struct nrt_model *));
	if (!stage || !head->stage) {
		if (stage)
			rt_model_free(stage); /* it never ran */
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	}
	stage->head = head;
	stage->timeout_ms = head->timeout_ms;
	stage->sg = &head->neff->subgraphs[head->nstages];
	head->stage[head->nstages++] = stage;
	return rt_place_begin(stage);
}

NRT_STATUS rt_pipeline_build(struct nrt_model *head, uint32_t ncores)
{
	unsigned int n = head->neff->nsubgraphs;
	NRT_STATUS status = NRT_SUCCESS;

	head->shared = ncores < n;
	for (unsigned int i = 0; i < n && !status; i++) {
		status = rt_stage_add(head, head->core + i % ncores);
		if (!status && i)
			status = make_edges(head->stage[i - 1], head->stage[i]);
	}
	for (unsigned int i = 0; i < n && !status; i++) {
		status = rt_model_build(head->stage[i]);
		head->counters.macs_per_infer += head->stage[i]->counters.macs_per_infer;
	}
	return status;
}

void rt_pipeline_free(struct nrt_model *head)
{
	for (unsigned int i = 0; i < head->nstages; i++) {
		struct nrt_model *stage = head->stage[i];

		free_edges(stage);
		rt_model_free(stage);
	}
	free(head->stage);
}

/* Execution: exec of the stage's core is held in what follows */

void rt_edges_empty(struct nrt_model *stage)
{
	if (!stage || !stage->prev)
		return;
	pthread_mutex_lock(&stage->edge_lock);
	stage->edge_full = false;
	pthread_cond_signal(&stage->edge_taken);
	pthread_mutex_unlock(&stage->edge_lock);
}

static int take(struct nrt_model *stage, const struct rt_edge *edge)
{
	ndl_device_t *dev = stage->core->dev;
	const struct rt_var *in = edge->in, *out = edge->out;
	uint64_t to = in->chunk->handle;

	if (edge->host)
		return ndl_memory_buf_copyin(dev, to, edge->host, in->offset, in->neff->size);
	if (rt_chunk_alive(&edge->landing))
		return ndl_memory_copy(dev, edge->landing.handle, to, 0, in->offset,
				       in->neff->size);
	return ndl_memory_copy(dev, out->chunk->handle, to, out->offset, in->offset,
			       in->neff->size);
}

NRT_STATUS rt_edges_take(struct nrt_model *stage)
{
	int err = 0;

	for (unsigned int i = 0; i < stage->nedges && !err; i++)
		err = take(stage, &stage->edges[i]);
	rt_edges_empty(stage);
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "between stages: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

void rt_edges_wait(struct nrt_model *stage)
{
	struct nrt_model *next = stage->next;

	if (!next)
		return;
	pthread_mutex_lock(&next->edge_lock);
	while (next->edge_full)
		pthread_cond_wait(&next->edge_taken, &next->edge_lock);
	/* from here on it is ours: until the next stage has taken it, or this one failed */
	next->edge_full = true;
	pthread_mutex_unlock(&next->edge_lock);
}

NRT_STATUS rt_edges_give(struct nrt_model *stage)
{
	struct nrt_model *next = stage->next;
	int err = 0;

	for (unsigned int i = 0; next && i < next->nedges && !err; i++) {
		const struct rt_edge *edge = &next->edges[i];

		if (edge->host)
			err = ndl_memory_buf_copyout(stage->core->dev, edge->out->chunk->handle,
						     edge->host, edge->out->offset,
						     edge->out->neff->size);
	}
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "between stages: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_pipeline_execute(struct nrt_model *head, const nrt_tensor_set_t *inputs,
			       nrt_tensor_set_t *outputs)
{
	NRT_STATUS worst = NRT_SUCCESS, status;
	uint64_t device_us = 0, start = rt_now_us();

	if (head->shared)
		pthread_mutex_lock(&head->serial);
	for (unsigned int i = 0; i < head->nstages && !rt_fatal(worst); i++) {
		status = rt_stage_execute(head->stage[i], inputs, outputs, &device_us);
		worst = status ? status : worst;
	}
	if (head->shared)
		pthread_mutex_unlock(&head->serial);
	pthread_mutex_lock(&head->count_lock);
	rt_count_model(head, worst, device_us, rt_now_us() - start);
	pthread_mutex_unlock(&head->count_lock);
	return worst;
}
