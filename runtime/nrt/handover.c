/* SPDX-License-Identifier: MIT */
/*
 * How a model lets go of its cores: executions that nobody wants any more end early. Called by
 * exec.c and loops.c.
 */
#include "nrt_priv.h"

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
