/* SPDX-License-Identifier: MIT */
/*
 * A model as its callers hold it: its lifetime, the calls that use it, and the interruption of its
 * executions
 */
#include <stdlib.h>

#include "rt_model.h"
#include "rt_print.h"

struct nrt_model *rt_model_new(void)
{
	static atomic_uint last;
	struct nrt_model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	model->id = atomic_fetch_add(&last, 1) + 1;
	model->seed = rt.rounding.seed;
	pthread_cond_init(&model->idle, NULL);
	pthread_mutex_init(&model->count_lock, NULL);
	return model;
}

void rt_model_free(struct nrt_model *model)
{
	rt_retained_leave(model);
	for (unsigned int i = 0; i < model->nsubgraphs; i++)
		rt_subgraph_free(&model->subgraph[i]);
	free(model->subgraph);
	if (model->kind && model->kind->free)
		model->kind->free(model);
	rt_neff_put(model->file);
	rt_printer_put(model->printer);
	pthread_cond_destroy(&model->idle);
	pthread_mutex_destroy(&model->count_lock);
	free(model);
}

bool rt_model_pin(const struct nrt_model *model)
{
	struct nrt_model *m;

	pthread_mutex_lock(&rt.lock);
	for (m = rt.models; m && m != model; m = m->next)
		;
	if (m)
		m->running++;
	pthread_mutex_unlock(&rt.lock);
	return m;
}

void rt_model_unpin(const struct nrt_model *model)
{
	struct nrt_model *m = (struct nrt_model *)model;

	pthread_mutex_lock(&rt.lock);
	if (!--m->running)
		pthread_cond_broadcast(&m->idle);
	pthread_mutex_unlock(&rt.lock);
}

NRT_STATUS rt_interrupted(const struct nrt_model *model)
{
	return atomic_load(&model->interrupted) ? rt_fail(NRT_EXEC_COMPLETED_WITH_ERR, "NMGR",
							  "the execution was interrupted")
						: NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_model_seed(nrt_model_t *model, uint64_t seed)
{
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status)
		return status;
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	atomic_store(&model->seed, seed);
	return NRT_SUCCESS;
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
	/* waiting executions look at the flag again */
	for (uint32_t i = 0; on && i < model->ncores; i++)
		if (model->core[i].waiter)
			ndlx_wait_wake(model->core[i].waiter);
	return NRT_SUCCESS;
}
