/* SPDX-License-Identifier: MIT */
/*
 * Level 2.0 of the asynchronous API: a failure goes to a tracker, reads, writes and copies have
 * units of their own, and a descriptor for a completion is made by the library. Only programs that
 * were linked with this level get these functions, and dlvsym (docs/nrt.md).
 */
#define NRTX_ASYNC_2_0
#define NRTX_ASYNC_BIND(name) /* they are defined here */
#include <stdlib.h>
#include <string.h>

#include "rt_async.h"
#include "rt_log.h"

_Static_assert((int)NRTA_XU_TYPE_NUM == (int)RT_UNITS_2 &&
		       (int)NRTA_XU_COLLECTIVES == (int)RT_UNIT_COLLECTIVES,
	       "units");

/* Trackers */

struct nrta_error_tracker {
	pthread_mutex_t lock;
	nrta_error_t *error, *given; /* being collected; the last list that was given out */
	size_t n, capacity;
};

static void add(nrta_error_tracker_t *tracker, nrta_seq_t seq, NRT_STATUS status)
{
	pthread_mutex_lock(&tracker->lock);
	if (tracker->n == tracker->capacity) {
		size_t capacity = tracker->capacity ? tracker->capacity * 2 : 16;
		nrta_error_t *more = reallocarray(tracker->error, capacity, sizeof(*more));

		if (!more) {
			pthread_mutex_unlock(&tracker->lock);
			rt_log(RT_LOG_ERROR, "out of memory: an error of request %#llx is lost",
			       (unsigned long long)seq);
			return;
		}
		tracker->error = more;
		tracker->capacity = capacity;
	}
	tracker->error[tracker->n++] = (nrta_error_t){ seq, status };
	pthread_mutex_unlock(&tracker->lock);
}

/* Tells the order's tracker, if it has one. */
static void track(struct rt_request *r, NRT_STATUS status)
{
	if (status && r->order.told)
		add(r->order.told, r->seq, status);
}

RT_PUBLISH(nrta_error_tracker_create, rt_tracker_create, "@NRT_2.0.0");
NRT_STATUS rt_tracker_create(uint32_t lnc_idx, nrta_error_tracker_t **error_tracker)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!error_tracker || !rt_core(lnc_idx))
		return rt_fail(NRT_INVALID, "NRT", "core %u of %u", lnc_idx, rt.ncores);
	*error_tracker = calloc(1, sizeof(**error_tracker));
	if (!*error_tracker)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	pthread_mutex_init(&(*error_tracker)->lock, NULL);
	return NRT_SUCCESS;
}

RT_PUBLISH(nrta_error_tracker_destroy, rt_tracker_destroy, "@NRT_2.0.0");
void rt_tracker_destroy(nrta_error_tracker_t *error_tracker)
{
	if (!error_tracker)
		return;
	pthread_mutex_destroy(&error_tracker->lock);
	free(error_tracker->error);
	free(error_tracker->given);
	free(error_tracker);
}

RT_PUBLISH(nrta_error_tracker_get_list, rt_tracker_get_list, "@NRT_2.0.0");
NRT_STATUS rt_tracker_get_list(nrta_error_tracker_t *error_tracker, const nrta_error_t **list,
			       size_t *error_count)
{
	rt_details_clear();
	if (!error_tracker || !list || !error_count)
		return rt_fail(NRT_INVALID, "NRT", "tracker or place missing");
	pthread_mutex_lock(&error_tracker->lock);
	free(error_tracker->given);
	*list = error_tracker->given = error_tracker->error;
	*error_count = error_tracker->n;
	error_tracker->error = NULL;
	error_tracker->n = error_tracker->capacity = 0;
	pthread_mutex_unlock(&error_tracker->lock);
	return NRT_SUCCESS;
}

/* Requests */

static struct rt_order order(enum rt_unit unit, int queue, nrta_error_tracker_t *err,
			     nrta_seq_t *seq)
{
	return (struct rt_order){ -1, unit, queue, seq, track, err, false };
}

RT_PUBLISH(nrta_tensor_write, rt_write_2, "@NRT_2.0.0");
NRT_STATUS rt_write_2(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
		      int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(RT_UNIT_WRITE, queue, err, req_sequence);
	const struct rt_transfer t = { tensor, (void *)(uintptr_t)buf, offset, size, true };
	RT_ENTER(status);

	return status ? status : rt_order_transfer(&t, &to);
}

RT_PUBLISH(nrta_tensor_read, rt_read_2, "@NRT_2.0.0");
NRT_STATUS rt_read_2(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size, int queue,
		     nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(RT_UNIT_READ, queue, err, req_sequence);
	const struct rt_transfer t = { tensor, buf, offset, size, false };
	RT_ENTER(status);

	return status ? status : rt_order_transfer(&t, &to);
}

RT_PUBLISH(nrta_tensor_copy, rt_copy_2, "@NRT_2.0.0");
NRT_STATUS rt_copy_2(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst, uint64_t dst_offset,
		     uint64_t size, int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(RT_UNIT_OP, queue, err, req_sequence);
	RT_ENTER(status);

	return status ? status : rt_order_copy(src, src_offset, dst, dst_offset, size, &to);
}

RT_PUBLISH(nrta_execute_schedule, rt_execute_2, "@NRT_2.0.0");
NRT_STATUS rt_execute_2(nrt_model_t *model, const nrt_tensor_set_t *input, nrt_tensor_set_t *output,
			int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(RT_UNIT_COMPUTE, queue, err, req_sequence);
	const struct rt_io io = { input, output };
	RT_ENTER(status);

	return status ? status : rt_order_execution(model, &io, &to);
}

RT_PUBLISH(nrta_cc_schedule, rt_cc_2, "@NRT_2.0.0");
NRT_STATUS rt_cc_2(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
		   nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(RT_UNIT_COLLECTIVES, queue, err, req_sequence);
	RT_ENTER(status);

	return status ? status : rt_order_cc(cc_ctx, &to);
}

/* Completions */

RT_PUBLISH(nrta_get_sequence, rt_sequence_2, "@NRT_2.0.0");
NRT_STATUS rt_sequence_2(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (xu >= NRTA_XU_TYPE_NUM || queue < 0 || queue >= RT_QUEUES)
		return rt_fail(NRT_INVALID, "NRT", "unit %d queue %d", (int)xu, queue);
	return rt_order_last(lnc, (enum rt_unit)xu, queue, seq);
}

RT_PUBLISH(nrta_get_completion_handle, rt_completion_handle, "@NRT_2.0.0");
NRT_STATUS rt_completion_handle(nrta_seq_t seq, int *fd)
{
	struct rt_queue *queue;
	int err;

	rt_details_clear();
	queue = rt_queue_of(seq);
	if (!queue || !fd)
		return NRT_INVALID;
	err = rt_queue_handle(queue, NRTA_SEQ_GET_SEQ_NUM(seq), fd);
	return err ? rt_fail(NRT_RESOURCE, "NRT", "no descriptor: %s", strerror(-err))
		   : NRT_SUCCESS;
}
