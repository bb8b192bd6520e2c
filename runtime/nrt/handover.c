/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a core between two models, and of a model's hold on its cores when it goes.
 *
 * A program that libneff takes leaves its core at rest when it ends: engines, queues, semaphores,
 * events (docs/neff.md, Rules a program keeps); one that does not end is reset away. So models of
 * one owner follow each other without more. What they computed with stays in SBUF, PSUM and the
 * engines' registers: between two owners the core is reset, which clears these too, and a model
 * that has an owner of its own leaves a core that was reset. Device memory is freed only when no
 * queue reaches it any more: while a core cannot be brought to rest, a model that goes waits in
 * rt.stale.
 *
 * Called by exec.c, loops.c, model.c and context.c.
 */
#include <sched.h>

#include "nrt_priv.h"

NRT_STATUS rt_core_take(struct rt_core *core, const struct nrt_model *model)
{
	NRT_STATUS status = NRT_SUCCESS;

	if (core->loaded != model)
		__atomic_store_n(&core->loaded, NULL, __ATOMIC_RELEASE);
	if (core->used && core->owner != model->head->owner)
		status = rt_core_reset(core);
	core->used = true;
	core->owner = model->head->owner;
	return status;
}

/* exec held: the model's queues get the driver's own rings, on which nothing happens */
static NRT_STATUS park(struct nrt_model *model)
{
	struct rt_ring *ring[RT_MAX_QUEUES];
	unsigned int n = rt_model_rings(model, ring);
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++)
		err = ndl_dma_queue_release(model->core->dev, ring[i]->eng, ring[i]->qid);
	model->core->loaded = NULL;
	return err ? rt_core_reset(model->core) : NRT_SUCCESS;
}

/* The core's exec, if the core still has the model's rings: another execution may be an hour's */
static bool lock_loaded(struct nrt_model *model)
{
	struct rt_core *core = model->core;

	while (pthread_mutex_trylock(&core->exec)) {
		if (__atomic_load_n(&core->loaded, __ATOMIC_ACQUIRE) != model &&
		    !__atomic_load_n(&core->broken, __ATOMIC_ACQUIRE))
			return false;
		sched_yield(); /* whoever has it takes the core over before it does anything */
	}
	return true;
}

/* True: nothing of the chip works with what the model has on this core */
static bool leave_core(struct nrt_model *model)
{
	struct rt_core *core = model->core;
	NRT_STATUS status = NRT_SUCCESS;
	bool gone = false;

	if (!model->ran || !lock_loaded(model))
		return true;
	if (core->broken || (core->loaded == model && model->head->owner))
		status = rt_core_reset(core);
	else if (core->loaded == model)
		status = park(model);
	if (status)
		gone = rt_core_gone(core);
	pthread_mutex_unlock(&core->exec);
	return !status || gone;
}

static bool leave(struct nrt_model *head)
{
	bool left = leave_core(head);

	for (unsigned int i = 0; i < head->nstages; i++)
		left &= leave_core(head->stage[i]);
	return left;
}

void rt_model_go(struct nrt_model *head)
{
	if (leave(head)) {
		rt_model_free(head);
		return;
	}
	pthread_mutex_lock(&rt.stale_lock);
	head->next_model = rt.stale;
	rt.stale = head;
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
		next = list->next_model;
		rt_model_go(list);
	}
}

void rt_stale_free(void)
{
	while (rt.stale) {
		struct nrt_model *model = rt.stale;

		rt.stale = model->next_model;
		rt_model_free(model);
	}
}

NRT_STATUS rt_interrupted(const struct nrt_model *model)
{
	return atomic_load(&model->head->interrupted) ? rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
								"the execution was interrupted")
						      : NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_interrupt(nrt_model_t *model, bool on)
{
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status)
		return status;
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	atomic_store(&model->interrupted, on);
	/* those that sleep look again; a loop's parts are on their head's core */
	for (unsigned int i = 0; on && i < (model->nstages ? model->nstages : 1); i++) {
		const struct nrt_model *stage = model->nstages ? model->stage[i] : model;

		if (stage->core->waiter)
			ndl_wait_wake(stage->core->waiter);
	}
	return NRT_SUCCESS;
}
