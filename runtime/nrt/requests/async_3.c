/* SPDX-License-Identifier: MIT */
/*
 * Level 3.0 of the asynchronous API, the default: each request has a status of its caller's, which
 * is written before the request counts as completed; all transfers have one unit; completions are
 * told by the caller's eventfds; and a unit that had a timeout or an error of the hardware takes
 * nothing until nrt_init.
 */
#include <errno.h>
#include <string.h>

#include "rt_async.h"

/* The number of queues of the units */
static const int queues[NRTA_XU_TYPE_NUM] = {
	[NRTA_XU_TENSOR_OP] = 2,
	[NRTA_XU_COMPUTE] = 1,
	[NRTA_XU_COLLECTIVES] = 3,
};

_Static_assert(RT_UNIT_3 + (int)NRTA_XU_TYPE_NUM == RT_UNITS, "units");

static void tell(struct rt_request *r, NRT_STATUS status)
{
	/* a caller that looks at it without asking for the completion sees it too */
	__atomic_store_n((NRT_STATUS *)r->order.told, status, __ATOMIC_RELEASE);
}

static struct rt_order order(int lnc, nrta_xu_t xu, int queue, NRT_STATUS *ret, nrta_seq_t *seq)
{
	return (struct rt_order){ lnc, RT_UNIT_3 + xu, queue, seq, tell, ret, true };
}

static NRT_STATUS check_queue(nrta_xu_t xu, int queue)
{
	if (xu >= NRTA_XU_TYPE_NUM)
		return rt_fail(NRT_INVALID, "NRT", "unit %d of %d", (int)xu, NRTA_XU_TYPE_NUM);
	if (queue < 0 || queue >= queues[xu])
		return rt_fail(NRT_INVALID, "NRT", "queue %d of %d", queue, queues[xu]);
	return NRT_SUCCESS;
}

static NRT_STATUS check_lnc(int lnc)
{
	return lnc < 0 || !rt_core((uint32_t)lnc) || lnc >= RT_QUEUE_CORES
		       ? rt_fail(NRT_INVALID, "NRT", "core %d of %u", lnc, rt.ncores)
		       : NRT_SUCCESS;
}

/*
 * A small number is no place: that is what stands there in calls that have other arguments than
 * these, as nrta_tensor_copy with a core before its queue.
 */
static NRT_STATUS check_order(const struct rt_order *to)
{
	if ((uintptr_t)to->told < 4096 || !to->seq)
		return rt_fail(NRT_INVALID, "NRT", "no place for the status or the number");
	return check_queue((nrta_xu_t)(to->unit - RT_UNIT_3), to->queue);
}

static NRT_STATUS transfer(const struct rt_transfer *t, int lnc, int queue, NRT_STATUS *ret,
			   nrta_seq_t *seq)
{
	const struct rt_order to = order(lnc, NRTA_XU_TENSOR_OP, queue, ret, seq);
	RT_ENTER(status);

	if (!status)
		status = check_lnc(lnc);
	if (!status)
		status = check_order(&to);
	return status ? status : rt_order_transfer(t, &to);
}

RT_PUBLISH(nrta_tensor_write, rt_write_3, "@@NRT_3.0.0");
NRT_STATUS rt_write_3(nrt_tensor_t *tensor, const void *buf, uint64_t offset, uint64_t size,
		      int lnc, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
	const struct rt_transfer t = { tensor, (void *)(uintptr_t)buf, offset, size, true };

	return transfer(&t, lnc, queue, ret, req_sequence);
}

RT_PUBLISH(nrta_tensor_read, rt_read_3, "@@NRT_3.0.0");
NRT_STATUS rt_read_3(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size, int lnc,
		     int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
	const struct rt_transfer t = { tensor, buf, offset, size, false };

	return transfer(&t, lnc, queue, ret, req_sequence);
}

RT_PUBLISH(nrta_tensor_copy, rt_copy_3, "@@NRT_3.0.0");
NRT_STATUS rt_copy_3(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst, uint64_t dst_offset,
		     uint64_t size, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(-1, NRTA_XU_TENSOR_OP, queue, ret, req_sequence);
	RT_ENTER(status);

	if (!status)
		status = check_order(&to);
	return status ? status : rt_order_copy(src, src_offset, dst, dst_offset, size, &to);
}

RT_PUBLISH(nrta_execute_schedule, rt_execute_3, "@@NRT_3.0.0");
NRT_STATUS rt_execute_3(nrt_model_t *model, const nrt_tensor_set_t *input, nrt_tensor_set_t *output,
			int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(-1, NRTA_XU_COMPUTE, queue, ret, req_sequence);
	const struct rt_io io = { input, output };
	RT_ENTER(status);

	if (!status)
		status = check_order(&to);
	return status ? status : rt_order_execution(model, &io, &to);
}

RT_PUBLISH(nrta_cc_schedule, rt_cc_3, "@@NRT_3.0.0");
NRT_STATUS rt_cc_3(nrt_cc_context_t **cc_ctx, int queue, NRT_STATUS *ret, nrta_seq_t *req_sequence)
{
	const struct rt_order to = order(-1, NRTA_XU_COLLECTIVES, queue, ret, req_sequence);
	RT_ENTER(status);

	if (!status)
		status = check_order(&to);
	return status ? status : rt_order_cc(cc_ctx, &to);
}

/* Completions */

RT_PUBLISH(nrta_get_sequence, rt_sequence_3, "@@NRT_3.0.0");
NRT_STATUS rt_sequence_3(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
	RT_ENTER(status);

	if (!status)
		status = check_queue(xu, queue);
	return status ? status : rt_order_last(lnc, RT_UNIT_3 + xu, queue, seq);
}

static NRT_STATUS signalled(int err, int fd)
{
	return !err ? NRT_SUCCESS
	       : err == -EINVAL
		       ? rt_fail(NRT_INVALID, "NRT", "descriptor %d is no eventfd", fd)
		       : rt_fail(NRT_RESOURCE, "NRT", "descriptor %d: %s", fd, strerror(-err));
}

RT_PUBLISH(nrta_event_register_seq_id_completion, rt_register_seq, "@@NRT_3.0.0");
NRT_STATUS rt_register_seq(nrta_seq_t seq, int fd)
{
	struct rt_queue *queue;

	rt_details_clear();
	queue = rt_queue_of(seq);
	return queue ? signalled(rt_queue_signal(queue, NRTA_SEQ_GET_SEQ_NUM(seq), fd), fd)
		     : NRT_INVALID;
}

RT_PUBLISH(nrta_event_register_xu_completion, rt_register_xu, "@@NRT_3.0.0");
NRT_STATUS rt_register_xu(int lnc, nrta_xu_t xu, int queue, int fd)
{
	struct rt_queue *q;
	RT_ENTER(status);

	if (!status)
		status = check_lnc(lnc);
	if (!status)
		status = check_queue(xu, queue);
	if (status)
		return status;
	q = rt_queue_make(RT_QUEUE_ID((uint32_t)lnc, RT_UNIT_3 + xu, (unsigned int)queue));
	return q ? signalled(rt_queue_signal_all(q, fd), fd)
		 : rt_fail(NRT_RESOURCE, "NRT", "out of memory");
}
