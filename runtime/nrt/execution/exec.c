/* SPDX-License-Identifier: MIT */
/*
 * One execution: inputs are copied into the subgraphs' device memory, the programs run, outputs are
 * copied back. The core's lock is held throughout, so a core executes one model at a time;
 * different cores run in parallel. What a pipeline or a loop does in addition is in its steps.
 */
#include "rt_clock.h"
#include "rt_custom.h"
#include "rt_exec.h"
#include "rt_profile.h"
#include "rt_trace.h"

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

/* A step of the job as an event */
static uint64_t step_begin(enum rt_event type, const struct rt_job *job)
{
	const struct nrt_model *model = job->sg->model;

	return rt_trace_begin(type, job->sg->core->vnc,
			      &(struct rt_event_data){ .model_id = model->id,
						       .name = model->neff->header.name });
}

static void step_end(enum rt_event type, const struct rt_job *job, uint64_t id)
{
	const struct nrt_model *model = job->sg->model;

	rt_trace_end(type, job->sg->core->vnc, id,
		     &(struct rt_event_data){ .model_id = model->id,
					      .name = model->neff->header.name });
}

static NRT_STATUS copy_all(const struct rt_job *job, const struct rt_io *io, bool in)
{
	NRT_STATUS status = NRT_SUCCESS;

	for (unsigned int i = 0; i < job->n && !status; i++)
		status = rt_io_copy(&job->sg[i], io, in);
	return status;
}

static void undo_all(const struct rt_job *job, const struct rt_io *io)
{
	for (unsigned int i = 0; i < job->n; i++)
		rt_io_undo(&job->sg[i], io);
}

static NRT_STATUS begin(const struct rt_job *job, NRT_STATUS status)
{
	return job->steps->begin ? job->steps->begin(job, status) : status;
}

NRT_STATUS rt_job_take(struct rt_subgraph *sg)
{
	NRT_STATUS status;

	/* errors that arrived between executions belong to a copy, whose caller was told */
	rt_errors_collect(sg, NRT_SUCCESS);
	rt_details_clear();
	status = rt_interrupted(sg->model);
	if (!status)
		status = rt_core_take(sg->core, sg);
	return status ? status : rt_link_seed(sg);
}

static NRT_STATUS take_steps(const struct rt_job *job, const struct rt_io *io, uint64_t *device_us)
{
	uint64_t event = step_begin(RT_EVENT_kbl_exec_pre, job);
	NRT_STATUS status = begin(job, rt_job_take(job->sg)), copied;

	if (!status) {
		rt_io_alias(job->sg, job->n, io);
		status = copy_all(job, io, true);
	}
	step_end(RT_EVENT_kbl_exec_pre, job, event);
	if (!status) {
		event = step_begin(RT_EVENT_kbl_exec_wait, job);
		status = job->steps->run(job, device_us);
		for (unsigned int i = 0; i < job->n; i++)
			rt_custom_print(&job->sg[i]);
		step_end(RT_EVENT_kbl_exec_wait, job, event);
	}
	/* outputs of an execution that saw NaN are delivered */
	if (rt_fatal(status)) {
		undo_all(job, io);
		return status;
	}
	event = step_begin(RT_EVENT_kbl_exec_post, job);
	copied = copy_all(job, io, false);
	if (copied)
		undo_all(job, io);
	step_end(RT_EVENT_kbl_exec_post, job, event);
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
		struct rt_profile_run profile;

		rt_profile_begin(&profile, job->sg);
		status = take_steps(job, io, &took);
		rt_profile_end(&profile, job->sg, status);
		count_core(job, status, took, rt_now_us() - start);
		rt_retained_add(job->sg->model);
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
	static atomic_uint_fast64_t last;
	const struct rt_event_data data = { .model_id = model->id,
					    .name = model->neff->header.name };
	uint64_t start = rt_now_us(), device_us = 0, event;
	NRT_STATUS status;

	rt_cycles_begin();
	rt_trace_execution = atomic_fetch_add(&last, 1) + 1;
	event = rt_trace_begin(RT_EVENT_nrt_execute, model->core->vnc, &data);
	status = model->kind->execute(model, io, &device_us);
	rt_trace_end(RT_EVENT_nrt_execute, model->core->vnc, event, &data);
	rt_trace_execution = 0;
	count_model(model, status, device_us, rt_now_us() - start);
	return status;
}

NRT_STATUS rt_execute(struct nrt_model *model, const struct rt_io *io, int repeat)
{
	struct rt_called called;
	NRT_STATUS status = rt_called_make(model, io, &called);

	if (!status)
		status = rt_io_check(model, &called.io);
	if (status) {
		rt_nds_add(model->core, NDS_NC_COUNTER_INFER_INCORRECT_INPUT, 1);
		__atomic_add_fetch(&model->core->counters.infer_bad_input, 1, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < repeat && !rt_fatal(status); i++)
		status = execute(model, &called.io);
	rt_called_free(&called);
	return status;
}
