/* SPDX-License-Identifier: MIT */
/*
 * One execution: inputs are copied into the subgraphs' device memory, the programs run, outputs are
 * copied back. The core's lock is held throughout, so a core executes one model at a time;
 * different cores run in parallel. What a pipeline or a loop does in addition is in its steps.
 */
#include "rt_clock.h"
#include "rt_exec.h"

static void count_model(struct nrt_model *model, NRT_STATUS status, uint64_t device_us,
			uint64_t total_us)
{
	struct nrtx_model_counters *m = &model->counters;

	pthread_mutex_lock(&model->count_lock);
	m->infers++;
	m->failed += rt_fatal(status);
	m->latency_device_us += m->last_latency_device_us = device_us;
	m->latency_total_us += m->last_latency_total_us = total_us;
	pthread_mutex_unlock(&model->count_lock);
}

static void count_core(const struct rt_job *job, NRT_STATUS status, uint64_t device_us,
		       uint64_t total_us)
{
	struct rt_core *core = job->sg->core;
	struct nrtx_core_counters *c = &core->counters;
	unsigned int counter = NDS_NC_COUNTER_INFER_COMPLETED_WITH_ERR;
	uint64_t macs = 0;

	c->time_in_use_us += device_us;
	c->latency_device_us += device_us;
	c->latency_total_us += total_us;

	if (!status) {
		c->infer_completed++;
		counter = NDS_NC_COUNTER_INFER_COMPLETED;
	} else if (status == NRT_EXEC_COMPLETED_WITH_NUM_ERR) {
		c->infer_num_err++;
		counter = NDS_NC_COUNTER_INFER_COMPLETED_WITH_NUM_ERR;
	} else if (status == NRT_TIMEOUT) {
		c->infer_timeout++;
		counter = NDS_NC_COUNTER_INFER_TIMED_OUT;
	} else {
		c->infer_err++;
	}

	for (unsigned int i = 0; i < job->n; i++)
		macs += job->sg[i].macs;

	rt_nds_add(core, counter, 1);
	rt_nds_add(core, NDS_NC_COUNTER_INFERENCE_COUNT, 1);
	rt_nds_add(core, NDS_NC_COUNTER_TIME_IN_USE, device_us);
	rt_nds_add(core, NDS_NC_COUNTER_LATENCY_DEVICE, device_us);
	rt_nds_add(core, NDS_NC_COUNTER_LATENCY_TOTAL, total_us);
	rt_nds_add(core, NDS_NC_COUNTER_MAC_COUNT, macs);
}

static NRT_STATUS copy_all(const struct rt_job *job, const struct rt_io *io, bool in)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = 0; i < job->n && !status; i++)
		status = rt_io_copy(&job->sg[i], io, in);
	return status;
}

static NRT_STATUS begin(const struct rt_job *job, NRT_STATUS status)
{
	return job->steps->begin ? job->steps->begin(job, status) : status;
}

/* Takes the core for this execution, cleared of what earlier executions left. */
static NRT_STATUS take_core(struct rt_subgraph *sg)
{
	NRT_STATUS status;

	/* errors that arrived between executions belong to a copy, whose caller was told */
	rt_errors_collect(sg, NRT_SUCCESS);
	rt_details_clear();
	status = rt_interrupted(sg->model);
	return status ? status : rt_core_take(sg->core, sg);
}

static NRT_STATUS take_steps(const struct rt_job *job, const struct rt_io *io, uint64_t *device_us)
{
	NRT_STATUS status = begin(job, take_core(job->sg)), copied;

	if (!status)
		status = copy_all(job, io, true);
	if (!status)
		status = job->steps->run(job, device_us);
	/* outputs of an execution that saw NaN are delivered */
	if (rt_fatal(status))
		return status;
	copied = copy_all(job, io, false);
	if (job->steps->end)
		job->steps->end(job, copied);
	return copied ? copied : status;
}

NRT_STATUS rt_job_execute(const struct rt_job *job, const struct rt_io *io, uint64_t *device_us)
{
	struct rt_core *core = job->sg->core;
	uint64_t start = rt_now_us(), took = 0;
	NRT_STATUS status;

	pthread_mutex_lock(&core->exec);
	if (core->broken) {
		status = begin(job, rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "TDRV",
					    "nd%u nc%u needs a reset", core->device, core->nc));
	} else {
		status = take_steps(job, io, &took);
		count_core(job, status, took, rt_now_us() - start);
	}
	pthread_mutex_unlock(&core->exec);
	*device_us += took;
	return status;
}

/* A model of one subgraph */

static NRT_STATUS run_single(const struct rt_job *job, uint64_t *device_us)
{
	return rt_run(job->sg, device_us);
}

static NRT_STATUS execute_single(struct nrt_model *model, const struct rt_io *io,
				 uint64_t *device_us)
{
	static const struct rt_steps steps = { .run = run_single };
	const struct rt_job job = { model->subgraph, 1, &steps };

	return rt_job_execute(&job, io, device_us);
}

const struct rt_kind rt_kind_single = { .execute = execute_single };

/* The calls */

static NRT_STATUS execute(struct nrt_model *model, const struct rt_io *io)
{
	uint64_t start = rt_now_us(), device_us = 0;
	NRT_STATUS status;

	rt_cycles_begin();
	status = model->kind->execute(model, io, &device_us);

	count_model(model, status, device_us, rt_now_us() - start);
	return status;
}

EXPORT NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *inputs,
				     nrt_tensor_set_t *outputs, int repeat_count)
{
	const struct rt_io io = { inputs, outputs };
	RT_ENTER(status);

	if (status)
		return status;
	if (!inputs || !outputs || repeat_count < 1)
		return rt_fail(NRT_INVALID, "NRT", "tensor sets or count missing");
	if (!rt_model_pin(model))
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	status = rt_io_check(model, &io);
	if (status) {
		rt_nds_add(model->core, NDS_NC_COUNTER_INFER_INCORRECT_INPUT, 1);
		__atomic_add_fetch(&model->core->counters.infer_bad_input, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < repeat_count && !rt_fatal(status); i++)
		status = execute(model, &io);
	rt_model_unpin(model);
	return status;
}

EXPORT NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *inputs,
			      nrt_tensor_set_t *outputs)
{
	return nrt_execute_repeat(model, inputs, outputs, 1);
}
