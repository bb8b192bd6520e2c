/* SPDX-License-Identifier: MIT */
/*
 * nrt_execute: at once, or in the asynchronous mode (NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS)
 * queued, with a callback that is told of the end
 */
#include <pthread.h>

#include "rt_async.h"
#include "rt_ranks.h"
#include "rt_log.h"

static struct {
	pthread_mutex_t lock;
	NRT_ASYNC_EXEC_STATUS_CALLBACK callback;
	void *params;
} mode = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void tell(struct rt_request *r, NRT_STATUS status)
{
	NRT_ASYNC_EXEC_STATUS_CALLBACK callback;
	void *params;

	pthread_mutex_lock(&mode.lock);
	callback = mode.callback;
	params = mode.params;
	pthread_mutex_unlock(&mode.lock);
	if (callback)
		callback(params, r->job.model_id, r->job.vnc, r->job.id, status);
	else if (status)
		rt_log(RT_LOG_ERROR, "job %llu of model %u ended with %s, and nobody is told",
		       (unsigned long long)r->job.id, r->job.model_id,
		       nrt_get_status_as_str(status));
}

/* Queues an execution of a pinned model, which is unpinned at its end or when this fails. */
static NRT_STATUS queue_execution(struct nrt_model *model, const struct rt_io *io, int repeat)
{
	const uint32_t vnc = model->core->vnc;
	const struct rt_order order = { .vnc = -1, .unit = RT_UNIT_COMPUTE, .done = tell };
	struct rt_queue *queue = rt_queue_make(RT_QUEUE_ID(vnc, order.unit, order.queue));
	struct rt_called called;
	NRT_STATUS status = rt_called_make(model, io, &called);
	struct rt_request *r;

	/* what is wrong with the tensors is told at once */
	status = status ? status : rt_io_check(model, &called.io);
	rt_called_free(&called);
	if (status || !queue) {
		rt_model_unpin(model);
		return status ? status : rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	}
	r = rt_execution_new(model, io, repeat, &order);
	if (!r)
		return NRT_RESOURCE;
	r->job.vnc = vnc;
	r->job.model_id = model->id;
	rt_queue_wait(queue, rt_async_limit());
	status = rt_queue_append(queue, r, &r->job.id);
	if (status)
		rt_request_free(r);
	return status;
}

EXPORT NRT_STATUS nrt_register_async_exec_callback(NRT_ASYNC_EXEC_STATUS_CALLBACK callback,
						   void *params)
{
	rt_details_clear();
	pthread_mutex_lock(&mode.lock);
	mode.callback = callback;
	mode.params = params;
	pthread_mutex_unlock(&mode.lock);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_async_drain_queued_execs(int32_t vnc)
{
	RT_ENTER(status);
	struct rt_queue *queue;

	if (status)
		return status;
	if (vnc < 0 || !rt_core((uint32_t)vnc))
		return rt_fail(NRT_INVALID, "NRT", "core %d of %u", vnc, rt.ncores);
	if (rt_in_queue)
		return rt_fail(NRT_INVALID, "NRT", "a callback cannot wait for itself");
	queue = rt_queue_get(RT_QUEUE_ID((uint32_t)vnc, RT_UNIT_COMPUTE, 0));
	if (queue)
		rt_queue_wait(queue, 1);
	return NRT_SUCCESS;
}

static NRT_STATUS execute(nrt_model_t *model, const struct rt_io *io, int repeat, bool queued)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!io->inputs || !io->outputs || repeat < 1)
		return rt_fail(NRT_INVALID, "NRT", "tensor sets or count missing");
	if (!rt_model_pin(model))
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	if (queued) /* the queue unpins it */
		return queue_execution(model, io, repeat);
	status = rt_execute(model, io, repeat);
	rt_model_unpin(model);
	return status;
}

EXPORT NRT_STATUS nrt_execute_repeat(nrt_model_t *model, const nrt_tensor_set_t *inputs,
				     nrt_tensor_set_t *outputs, int repeat_count)
{
	const struct rt_io io = { inputs, outputs };

	return execute(model, &io, repeat_count, rt_async_limit());
}

EXPORT NRT_STATUS nrt_execute(nrt_model_t *model, const nrt_tensor_set_t *inputs,
			      nrt_tensor_set_t *outputs)
{
	return nrt_execute_repeat(model, inputs, outputs, 1);
}

EXPORT NRT_STATUS nrtx_execute(nrt_model_t *model, const nrt_tensor_set_t *inputs,
			       nrt_tensor_set_t *outputs)
{
	const struct rt_io io = { inputs, outputs };

	return execute(model, &io, 1, false);
}

EXPORT NRT_STATUS nrtx_execute_failed(nrt_model_t *model)
{
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status)
		return status;
	if (!pinned || !model->group)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is no rank's");
	status = rt_ranks_come(model);
	if (status)
		return status;
	rt_ranks_start(model, NRT_FAILURE);
	rt_ranks_go(model);
	rt_details_clear();
	return NRT_SUCCESS;
}
