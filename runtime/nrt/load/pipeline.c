/* SPDX-License-Identifier: MIT */
/*
 * NeuronCore Pipeline: a model of several subgraphs, each a stage on a core of its own. A stage
 * writes its values for the next one straight into that one's device memory, which is its own
 * device's or a neighbour's; to a device farther away they go through host memory. An execution
 * goes through the stages in the thread that asked for it; as many executions as there are stages
 * can be in progress at once.
 *
 * Between two stages there is room for one execution's values: the next stage takes them (a copy
 * inside its device) before it begins, and only then may the stage before it make new ones. A stage
 * holds its core's exec while it waits for that. The stages it waits for are later in the pipeline
 * and on later cores, so there is no circle of waits. Where stages share cores, one execution is in
 * progress at a time, and no stage waits.
 *
 * Locks, in this order: the pipeline's serial (shared cores only), a core's exec, a boundary's
 * lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_kinds.h"

/* A value that one stage makes for the next */
struct edge {
	struct rt_var *out, *in; /* the variables of the stage before and of the stage behind */
	/* the place in the neighbour's device where the stage before writes it */
	struct rt_chunk landing;
	void *host; /* the buffer through which it goes to a device farther away */
};

/* The values that pass between a stage and the one before it */
struct boundary {
	unsigned int n;
	struct edge *edge;
	pthread_mutex_t lock; /* protects full */
	pthread_cond_t taken;
	bool full; /* an execution of the stage before has filled the edges, or is about to */
};

struct rt_pipeline {
	bool shared; /* fewer cores than stages */
	pthread_mutex_t serial; /* held by the one execution in progress, when shared */
	struct boundary boundary[]; /* one for each subgraph; the first is unused */
};

/* The boundary before a stage; NULL for the first */
static struct boundary *before(const struct rt_subgraph *stage)
{
	const struct nrt_model *model = stage->model;

	return stage > model->subgraph ? &model->pipeline->boundary[stage - model->subgraph] : NULL;
}

/* The boundary behind a stage; NULL for the last */
static struct boundary *behind(const struct rt_subgraph *stage)
{
	const struct nrt_model *model = stage->model;

	return stage + 1 < model->subgraph + model->nsubgraphs ? before(stage + 1) : NULL;
}

/* The address at which a sees b's device memory; 0: it does not */
static uint64_t window_of(const struct rt_core *a, const struct rt_core *b)
{
	uint64_t window;

	return ndlx_device_window(a->dev, (int)b->device, &window) ? 0 : window;
}

/* Decides how a value goes from a stage to the next one. */
static NRT_STATUS make_edge(struct rt_subgraph *from, struct rt_subgraph *to, struct edge *edge)
{
	uint64_t window = window_of(from->core, to->core);
	struct rt_var *out = edge->out;
	NRT_STATUS status;

	out->edge = edge->in->edge = true;
	if (from->core->device == to->core->device)
		/* the next stage copies it from where the stage before has it */
		return NRT_SUCCESS;
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

static NRT_STATUS make_boundary(struct rt_subgraph *from, struct rt_subgraph *to)
{
	struct boundary *b = before(to);
	NRT_STATUS status = NRT_SUCCESS;

	b->edge = calloc(to->nvars ? to->nvars : 1, sizeof(*b->edge));
	if (!b->edge)
		return rt_fail(NRT_RESOURCE, "TDRV", "out of memory");
	for (unsigned int i = 0; i < to->nvars && !status; i++) {
		struct rt_var *in = &to->vars[i], *out;

		if (in->neff->type != NEFF_VAR_INPUT)
			continue;
		out = rt_subgraph_var(from, NEFF_VAR_OUTPUT, in->neff->name);
		if (!out)
			continue;
		b->edge[b->n] = (struct edge){ .out = out, .in = in };
		status = make_edge(from, to, &b->edge[b->n++]);
	}
	return status;
}

static NRT_STATUS join(struct nrt_model *model)
{
	unsigned int n = model->nsubgraphs;
	struct rt_pipeline *p = calloc(1, sizeof(*p) + n * sizeof(p->boundary[0]));
	NRT_STATUS status = NRT_SUCCESS;

	if (!p)
		return rt_fail(NRT_RESOURCE, "NMGR", "out of memory");
	model->pipeline = p;
	p->shared = model->ncores < n;
	pthread_mutex_init(&p->serial, NULL);
	for (unsigned int i = 0; i < n; i++) {
		pthread_mutex_init(&p->boundary[i].lock, NULL);
		pthread_cond_init(&p->boundary[i].taken, NULL);
	}
	for (unsigned int i = 1; i < n && !status; i++)
		status = make_boundary(&model->subgraph[i - 1], &model->subgraph[i]);
	return status;
}

static void free_boundary(struct boundary *b)
{
	for (unsigned int i = 0; i < b->n; i++) {
		rt_chunk_free(&b->edge[i].landing);
		free(b->edge[i].host);
	}
	free(b->edge);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->taken);
}

static void free_pipeline(struct nrt_model *model)
{
	struct rt_pipeline *p = model->pipeline;

	if (!p)
		return;
	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		free_boundary(&p->boundary[i]);
	pthread_mutex_destroy(&p->serial);
	free(p);
}

/* Execution: the functions below run with the exec of the stage's core held */

static void make_space(struct boundary *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->full = false;
	pthread_cond_signal(&b->taken);
	pthread_mutex_unlock(&b->lock);
}

static void wait_for_space(struct boundary *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	while (b->full)
		pthread_cond_wait(&b->taken, &b->lock);
	/* the room is taken until the next stage has the values, or this stage fails */
	b->full = true;
	pthread_mutex_unlock(&b->lock);
}

static int take_edge(const struct rt_subgraph *stage, const struct edge *edge)
{
	ndlx_device_t *dev = stage->core->dev;
	const struct rt_var *in = edge->in, *out = edge->out;
	uint64_t to = in->chunk->handle;

	if (edge->host)
		return ndlx_memory_buf_copyin(dev, to, edge->host, in->offset, in->neff->size);
	if (rt_chunk_alive(&edge->landing))
		return ndlx_memory_copy(dev, edge->landing.handle, to, 0, in->offset,
					in->neff->size);
	return ndlx_memory_copy(dev, out->chunk->handle, to, out->offset, in->offset,
				in->neff->size);
}

static int give_edge(const struct rt_subgraph *stage, const struct edge *edge)
{
	const struct rt_var *out = edge->out;

	if (!edge->host)
		return 0;
	return ndlx_memory_buf_copyout(stage->core->dev, out->chunk->handle, edge->host,
				       out->offset, out->neff->size);
}

static NRT_STATUS pass(const struct rt_subgraph *stage, const struct boundary *b,
		       int (*edge)(const struct rt_subgraph *stage, const struct edge *edge))
{
	int err = 0;

	for (unsigned int i = 0; b && i < b->n && !err; i++)
		err = edge(stage, &b->edge[i]);
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "between stages: %s",
			     strerror(-err))
		   : NRT_SUCCESS;
}

/*
 * Takes the values of the stage before, unless this execution has failed; either way there is room
 * again.
 */
static NRT_STATUS begin(const struct rt_job *job, NRT_STATUS status)
{
	struct boundary *b = before(job->sg);

	if (!status)
		status = pass(job->sg, b, take_edge);
	make_space(b);
	return status;
}

static NRT_STATUS run(const struct rt_job *job, uint64_t *device_us)
{
	struct boundary *b = behind(job->sg);
	NRT_STATUS status, given;

	wait_for_space(b);
	status = rt_run(job->sg, device_us);
	given = rt_fatal(status) ? status : pass(job->sg, b, give_edge);
	if (!rt_fatal(given))
		return status;
	make_space(b);
	return given;
}

static void end(const struct rt_job *job, NRT_STATUS copied)
{
	if (rt_fatal(copied)) /* the next stage will not run, so it takes nothing */
		make_space(behind(job->sg));
}

static NRT_STATUS execute(struct nrt_model *model, const struct rt_io *io, uint64_t *device_us)
{
	static const struct rt_steps steps = { .begin = begin, .run = run, .end = end };
	struct rt_pipeline *p = model->pipeline;
	NRT_STATUS worst = NRT_SUCCESS, status;

	if (p->shared)
		pthread_mutex_lock(&p->serial);
	for (unsigned int i = 0; i < model->nsubgraphs && !rt_fatal(worst); i++) {
		const struct rt_job job = { &model->subgraph[i], 1, &steps };

		status = rt_job_execute(&job, io, device_us);
		worst = status ? status : worst;
	}
	if (p->shared)
		pthread_mutex_unlock(&p->serial);
	return worst;
}

const struct rt_kind rt_kind_pipeline = {
	.spreads = true,
	.join = join,
	.execute = execute,
	.free = free_pipeline,
};
