/* SPDX-License-Identifier: MIT */
/*
 * A model for logical cores of two cores: two subgraphs, each the program of one of them. They share
 * inputs, outputs and a scratchpad in the memory that both cores have, and wait for each other by
 * semaphores (docs/neff.md, Logical cores). Both execs are held throughout, the mate's taken first.
 */
#include "rt_exec.h"

/* What both programs name lies once, where the first one has it. */
static NRT_STATUS join(struct nrt_model *model)
{
	struct rt_subgraph *sg = model->subgraph;

	for (unsigned int i = 0; i < sg[1].nvars; i++) {
		struct rt_var *var = &sg[1].vars[i];

		if (rt_var_is_io(var))
			var->twin = rt_subgraph_var(&sg[0], var->neff->type, var->neff->name);
	}
	return rt_place_virtual(sg, 2);
}

static NRT_STATUS begin(const struct rt_job *job, NRT_STATUS status)
{
	struct rt_core *mate = job->sg[1].core;

	if (!status && mate->broken)
		return rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "TDRV", "nd%u nc%u needs a reset",
			       mate->device, mate->nc);
	return status ? status : rt_job_take(&job->sg[1]);
}

static NRT_STATUS run(const struct rt_job *job, uint64_t *device_us)
{
	return rt_run_both(&job->sg[0], &job->sg[1], device_us);
}

static NRT_STATUS execute(struct nrt_model *model, const struct rt_io *io, uint64_t *device_us)
{
	static const struct rt_steps steps = { .begin = begin, .run = run };
	const struct rt_job job = { model->subgraph, 2, &steps };
	struct rt_core *mate = model->subgraph[1].core;
	NRT_STATUS status;

	pthread_mutex_lock(&mate->exec);
	status = rt_job_execute(&job, io, device_us);
	pthread_mutex_unlock(&mate->exec);
	return status;
}

const struct rt_kind rt_kind_logical = { .mates = true, .join = join, .execute = execute };
