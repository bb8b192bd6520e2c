/* SPDX-License-Identifier: MIT */
/*
 * A model for logical cores of two cores: two subgraphs, each the program of one of them, or two
 * halves of parts (loops.c). They share inputs, outputs and a scratchpad in the memory that both
 * cores have, and wait for each other by semaphores (docs/neff.md, Logical cores). Both execs are
 * held throughout, the second core's taken first.
 */
#include "rt_kinds.h"

NRT_STATUS rt_logical_join(struct nrt_model *model)
{
	const unsigned int half = model->nsubgraphs / 2;

	for (unsigned int k = half; k < model->nsubgraphs; k++) {
		struct rt_subgraph *sg = &model->subgraph[k];

		for (unsigned int i = 0; i < sg->nvars; i++) {
			struct rt_var *var = &sg->vars[i];

			if (rt_var_is_io(var))
				var->twin = rt_subgraph_var(sg - half, var->neff->type,
							    var->neff->name);
		}
	}
	return rt_place_virtual(model->subgraph, model->nsubgraphs);
}

NRT_STATUS rt_logical_begin(const struct rt_job *job, NRT_STATUS status)
{
	struct rt_subgraph *second = &job->sg[job->n / 2];
	struct rt_core *sibling = second->core;

	if (!status && sibling->broken)
		return rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "TDRV", "nd%u nc%u needs a reset",
			       sibling->device, sibling->nc);
	return status ? status : rt_job_take(second);
}

NRT_STATUS rt_logical_run(const struct rt_job *job, uint64_t *device_us)
{
	return rt_run_both(job->sg, &job->sg[job->n / 2], device_us);
}

NRT_STATUS rt_logical_execute(const struct rt_job *job, const struct rt_io *io, uint64_t *device_us)
{
	struct rt_core *sibling = job->sg[job->n / 2].core;
	NRT_STATUS status;

	pthread_mutex_lock(&sibling->exec);
	status = rt_job_execute(job, io, device_us);
	pthread_mutex_unlock(&sibling->exec);
	return status;
}

static NRT_STATUS execute(struct nrt_model *model, const struct rt_io *io, uint64_t *device_us)
{
	static const struct rt_steps steps = { .begin = rt_logical_begin, .run = rt_logical_run };
	const struct rt_job job = { model->subgraph, 2, &steps };

	return rt_logical_execute(&job, io, device_us);
}

const struct rt_kind rt_kind_logical = {
	.siblings = true,
	.join = rt_logical_join,
	.execute = execute,
};
