/* SPDX-License-Identifier: MIT */
/* The explicit asynchronous calls: requests, and what is asked of their completion */
#include <stdlib.h>
#include <string.h>

#include "rt_async.h"
#include "rt_log.h"
#include "rt_trace.h"

/* Tensors */

/* The core whose unit does it: a device tensor's own */
static uint32_t core_of(const nrt_tensor_t *tensor)
{
	return tensor->storage->core ? tensor->storage->core->vnc : 0;
}

static NRT_STATUS run_write(struct rt_request *r)
{
	RT_HOLD(held);

	return rt_tensor_write(r->tensor, r->buf, r->offset, r->size);
}

static NRT_STATUS run_read(struct rt_request *r)
{
	RT_HOLD(held);

	return rt_tensor_read(r->tensor, r->buf, r->offset, r->size);
}

static NRT_STATUS run_copy(struct rt_request *r)
{
	RT_HOLD(held);

	return rt_tensor_copy(r->tensor, r->offset, r->to, r->to_offset, r->size);
}

static NRT_STATUS transfer(nrt_tensor_t *tensor, void *buf, uint64_t offset, uint64_t size,
			   int queue, nrta_error_tracker_t *err, nrta_seq_t *seq, bool write)
{
	RT_ENTER(status);
	struct rt_request *r;

	if (!status)
		status = rt_tensor_check(tensor, offset, size);
	if (!status && ((size && !buf) || !seq))
		status = rt_fail(NRT_INVALID, "NRT", "buffer or place for the number missing");
	if (status)
		return status;
	r = rt_request_new(write ? run_write : run_read, err);
	if (!r)
		return NRT_RESOURCE;
	r->tensor = tensor;
	r->buf = buf;
	r->offset = offset;
	r->size = size;
	return rt_request_submit(r, core_of(tensor),
				 write ? NRTA_XU_TENSOR_WRITE : NRTA_XU_TENSOR_READ, queue, seq);
}

EXPORT NRT_STATUS nrta_tensor_write(nrt_tensor_t *tensor, const void *buf, uint64_t offset,
				    uint64_t size, int queue, nrta_error_tracker_t *err,
				    nrta_seq_t *req_sequence)
{
	return transfer(tensor, (void *)(uintptr_t)buf, offset, size, queue, err, req_sequence,
			true);
}

EXPORT NRT_STATUS nrta_tensor_read(void *buf, nrt_tensor_t *tensor, uint64_t offset, uint64_t size,
				   int queue, nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	return transfer(tensor, buf, offset, size, queue, err, req_sequence, false);
}

EXPORT NRT_STATUS nrta_tensor_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
				   uint64_t dst_offset, uint64_t size, int queue,
				   nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	RT_ENTER(status);
	struct rt_request *r;

	if (!status)
		status = rt_tensor_check(src, src_offset, size);
	if (!status)
		status = rt_tensor_check(dst, dst_offset, size);
	if (!status && !req_sequence)
		status = rt_fail(NRT_INVALID, "NRT", "no place for the number");
	if (!status && (!src->storage->core || src->storage->core != dst->storage->core))
		status = rt_fail(NRT_INVALID, "NRT",
				 "'%s' and '%s' are not device tensors of one core", src->name,
				 dst->name);
	if (status)
		return status;
	r = rt_request_new(run_copy, err);
	if (!r)
		return NRT_RESOURCE;
	r->tensor = src;
	r->offset = src_offset;
	r->to = dst;
	r->to_offset = dst_offset;
	r->size = size;
	return rt_request_submit(r, core_of(src), NRTA_XU_TENSOR_OP, queue, req_sequence);
}

/* Executions */

static NRT_STATUS run_model(struct rt_request *r)
{
	const struct rt_io io = { &r->in, &r->out };
	NRT_STATUS status;
	RT_HOLD(held);

	status = rt_execute(r->model, &io, r->repeat);
	rt_model_unpin(r->model);
	return status;
}

struct rt_request *rt_execution_new(struct nrt_model *model, const struct rt_io *io, int repeat,
				    nrta_error_tracker_t *err)
{
	struct rt_request *r = rt_request_new(run_model, err);

	if (r && (!rt_set_copy(&r->in, io->inputs) || !rt_set_copy(&r->out, io->outputs))) {
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		rt_request_free(r);
		r = NULL;
	}
	if (!r) {
		rt_model_unpin(model);
		return NULL;
	}
	r->model = model;
	r->repeat = repeat;
	return r;
}

EXPORT NRT_STATUS nrta_execute_schedule(nrt_model_t *model, const nrt_tensor_set_t *input,
					nrt_tensor_set_t *output, int queue,
					nrta_error_tracker_t *err, nrta_seq_t *req_sequence)
{
	const struct rt_io io = { input, output };
	RT_ENTER(status);
	struct rt_request *r;
	uint64_t event;
	uint32_t core;

	if (status)
		return status;
	if (!input || !output || queue || !req_sequence)
		return rt_fail(NRT_INVALID, "NRT", "sets or place missing, or queue %d is not 0",
			       queue);
	if (!rt_model_pin(model))
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	core = model->core->vnc;
	event = rt_trace_begin(RT_EVENT_nrta_execute_schedule, core,
			       &(struct rt_event_data){ .model_id = model->id });
	r = rt_execution_new(model, &io, 1, err);
	status = NRT_RESOURCE;
	if (r) {
		status = rt_request_submit(r, core, NRTA_XU_COMPUTE, 0, req_sequence);
		if (status)
			rt_model_unpin(model);
	}
	rt_trace_end(RT_EVENT_nrta_execute_schedule, core, event, &(struct rt_event_data){ 0 });
	return status;
}

/* Collectives: of one member, whose output is its input */

static NRT_STATUS run_cc(struct rt_request *r)
{
	NRT_STATUS status = NRT_SUCCESS;
	RT_HOLD(held);

	for (size_t i = 0; i < r->cc->n && !status; i++) {
		nrt_tensor_t *in = r->cc->in[i], *out = r->cc->out[i];
		size_t size = nrt_tensor_get_size(in);

		status = rt_tensor_check(in, 0, size);
		if (!status && in != out)
			status = rt_tensor_copy(in, 0, out, 0, size);
	}
	return status;
}

static NRT_STATUS cc_check(const nrt_cc_comm_t *comm, const nrt_tensor_list_t *input,
			   const nrt_tensor_list_t *output, nrt_op_type_t op,
			   nrt_cc_op_type_t cc_op)
{
	if (!comm || !comm->replica_group || !comm->rank_n || comm->rank >= comm->rank_n ||
	    !rt_core(comm->vnc))
		return rt_fail(NRT_INVALID, "NRT", "no communicator, or not a member of it");
	if (!input || !output || input->num_tensors != output->num_tensors ||
	    (input->num_tensors && (!input->tensors || !output->tensors)))
		return rt_fail(NRT_INVALID, "NRT", "lists of tensors do not fit");
	if (cc_op > NRT_CC_REDUCESCATTER || (cc_op != NRT_CC_ALLGATHER && op > NRT_OP_MIN))
		return rt_fail(NRT_INVALID, "NRT", "collective %d, operation %d", (int)cc_op,
			       (int)op);
	for (size_t i = 0; i < input->num_tensors; i++) {
		const nrt_tensor_t *in = input->tensors[i], *out = output->tensors[i];
		size_t size = in ? nrt_tensor_get_size(in) : 0;
		NRT_STATUS status = rt_tensor_check(in, 0, size);

		if (!status)
			status = rt_tensor_check(out, 0, size);
		if (status)
			return status;
	}
	return comm->rank_n == 1 ? NRT_SUCCESS
				 : rt_absent(NRT_INVALID, "a collective has one member: this "
							  "runtime connects "
							  "no processes");
}

static nrt_tensor_t **list_copy(const nrt_tensor_list_t *list)
{
	nrt_tensor_t **copy = calloc(list->num_tensors + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < list->num_tensors; i++)
		copy[i] = list->tensors[i];
	return copy;
}

EXPORT NRT_STATUS nrta_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input,
				  nrt_tensor_list_t *output, nrt_dtype_t dtype, nrt_op_type_t op,
				  nrt_cc_op_type_t cc_op, nrt_cc_context_t **cc_ctx)
{
	RT_ENTER(status);
	nrt_cc_context_t *cc;

	if (!status && !cc_ctx)
		status = rt_fail(NRT_INVALID, "NRT", "no place for the context");
	if (!status)
		status = cc_check(comm, input, output, op, cc_op);
	if (status)
		return status;
	cc = calloc(1, sizeof(*cc));
	if (cc) {
		cc->vnc = comm->vnc;
		cc->n = input->num_tensors;
		cc->in = list_copy(input);
		cc->out = list_copy(output);
	}
	if (!cc || !cc->in || !cc->out) {
		rt_cc_free(cc);
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	}
	*cc_ctx = cc;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrta_cc_schedule(nrt_cc_context_t **cc_ctx, int queue, nrta_error_tracker_t *err,
				   nrta_seq_t *req_sequence)
{
	RT_ENTER(status);
	struct rt_request *r;

	if (status)
		return status;
	if (!cc_ctx || !*cc_ctx || queue || !req_sequence)
		return rt_fail(NRT_INVALID, "NRT", "context or place missing, or queue %d is not 0",
			       queue);
	r = rt_request_new(run_cc, err);
	if (!r)
		return NRT_RESOURCE;
	r->cc = *cc_ctx;
	*cc_ctx = NULL;
	return rt_request_submit(r, r->cc->vnc, NRTA_XU_COLLECTIVES, 0, req_sequence);
}

/* Completions */

EXPORT NRT_STATUS nrta_is_completed(nrta_seq_t seq, bool *is_completed)
{
	struct rt_queue *queue;

	rt_details_clear();
	queue = rt_queue_of(seq);
	if (!queue || !is_completed)
		return NRT_INVALID;
	*is_completed = NRTA_SEQ_GET_SEQ_NUM(seq) <= rt_queue_completed(queue);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrta_get_sequence(uint32_t lnc, nrta_xu_t xu, int queue, nrta_seq_t *seq)
{
	RT_ENTER(status);
	struct rt_queue *q;
	uint32_t id;

	if (status)
		return status;
	if (!seq || !rt_core(lnc) || lnc >= RT_QUEUE_CORES || xu >= NRTA_XU_TYPE_NUM || queue < 0 ||
	    queue >= RT_QUEUES)
		return rt_fail(NRT_INVALID, "NRT", "core %u unit %d queue %d", lnc, (int)xu, queue);
	id = RT_QUEUE_ID(lnc, xu, (unsigned int)queue);
	q = rt_queue_get(id);
	*seq = (nrta_seq_t)id << 48 | (q ? rt_queue_completed(q) : 0);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrta_get_completion_handle(nrta_seq_t seq, int *fd)
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
