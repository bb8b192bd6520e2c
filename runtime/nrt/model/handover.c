/* SPDX-License-Identifier: MIT */
/*
 * What happens to a core between two models, and to a model's cores when it is unloaded.
 *
 * A program that libneff accepts leaves its core at rest when it ends: engines, queues, semaphores
 * and events (docs/neff.md, Rules a program keeps); after one that does not end the core is reset;
 * a program with jumps of its own was not checked for that, and the core is reset before another
 * model's.
 * So models of one owner follow each other without further work. The values they computed with stay
 * in SBUF, PSUM and the engines' registers: between two owners the core is reset, which clears
 * these too, and a model with an owner of its own leaves a core that was reset. Device memory is
 * freed only when no queue can reach it any more: while a core cannot be brought to rest, the
 * unloaded model waits in rt.stale.
 *
 * Called by exec.c, load.c and init.c.
 */
#include <sched.h>

#include "rt_model.h"
#include "rt_trace.h"

NRT_STATUS rt_core_take(struct rt_core *core, const struct rt_subgraph *sg)
{
	const bool other = core->loaded != sg;
	NRT_STATUS status = NRT_SUCCESS;

	if (other) {
		const struct rt_event_data data = { .model_id = sg->model->id,
						    .name = sg->model->neff->header.name };

		rt_trace_begin(RT_EVENT_nrt_model_switch, core->vnc, &data);
		__atomic_store_n(&core->loaded, NULL, __ATOMIC_RELEASE);
	}
	if (core->used && (core->owner != sg->model->owner || (other && core->restless)))
		status = rt_core_reset(core);
	core->used = true;
	core->restless |= sg->model->jumps;
	core->owner = sg->model->owner;
	return status;
}

/* With exec held: gives the subgraph's queues the driver's own rings, on which nothing happens. */
static NRT_STATUS park(struct rt_subgraph *sg)
{
	struct rt_ring *ring[RT_MAX_QUEUES];
	unsigned int n = rt_subgraph_rings(sg, ring);
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++)
		err = ndlx_dma_queue_release(sg->core->dev, ring[i]->eng, ring[i]->qid);
	sg->core->loaded = NULL;
	return err ? rt_core_reset(sg->core) : NRT_SUCCESS;
}

/*
 * Locks the core's exec if the core still has the subgraph's rings. Otherwise it does not wait:
 * another model's execution may take an hour.
 */
static bool lock_loaded(struct rt_subgraph *sg)
{
	struct rt_core *core = sg->core;

	while (pthread_mutex_trylock(&core->exec)) {
		if (__atomic_load_n(&core->loaded, __ATOMIC_ACQUIRE) != sg &&
		    !__atomic_load_n(&core->broken, __ATOMIC_ACQUIRE))
			return false;
		sched_yield(); /* the holder takes the core over before it does anything else */
	}
	return true;
}

/* Returns true if no part of the chip uses the subgraph's memory on this core any more. */
static bool leave_core(struct rt_subgraph *sg)
{
	struct rt_core *core = sg->core;
	NRT_STATUS status = NRT_SUCCESS;
	bool gone = false;

	if (!sg->ran || !lock_loaded(sg))
		return true;
	if (core->broken || (core->loaded == sg && (sg->model->owner || core->restless)))
		status = rt_core_reset(core);
	else if (core->loaded == sg)
		status = park(sg);
	if (status)
		gone = rt_core_gone(core);
	pthread_mutex_unlock(&core->exec);
	return !status || gone;
}

static bool leave(struct nrt_model *model)
{
	bool left = true;

	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		left &= leave_core(&model->subgraph[i]);
	return left;
}

void rt_model_go(struct nrt_model *model)
{
	if (leave(model)) {
		rt_model_free(model);
		return;
	}
	pthread_mutex_lock(&rt.stale_lock);
	model->next = rt.stale;
	rt.stale = model;
	pthread_mutex_unlock(&rt.stale_lock);
}

void rt_stale_retry(void)
{
	struct nrt_model *list, *next;

	pthread_mutex_lock(&rt.stale_lock);
	list = rt.stale;
	rt.stale = NULL;
	pthread_mutex_unlock(&rt.stale_lock);
	for (; list; list = next) {
		next = list->next;
		rt_model_go(list);
	}
}

void rt_stale_free(void)
{
	while (rt.stale) {
		struct nrt_model *model = rt.stale;

		rt.stale = model->next;
		rt_model_free(model);
	}
}

static NRT_STATUS reset(struct rt_core *core)
{
	NRT_STATUS status;

	pthread_mutex_lock(&core->exec);
	status = rt_core_reset(core);
	pthread_mutex_unlock(&core->exec);
	return status;
}

EXPORT NRT_STATUS nrtx_reset_cores(uint32_t start_core, uint32_t core_count)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (start_core >= rt.ncores || core_count > rt.ncores - start_core)
		return rt_fail(NRT_INVALID, "NRT", "cores %u..%u of %u", start_core,
			       start_core + core_count, rt.ncores);
	for (uint32_t i = start_core; i < start_core + core_count && !status; i++) {
		if (rt.cores[i].sibling)
			status = reset(rt.cores[i].sibling);
		if (!status)
			status = reset(&rt.cores[i]);
	}
	rt_stale_retry();
	return status;
}
