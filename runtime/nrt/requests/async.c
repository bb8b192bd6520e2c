/* SPDX-License-Identifier: MIT */
/*
 * The explicit asynchronous calls: requests of both levels of the API, and the functions that are
 * the same in both
 */
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
	return rt_tensor_write(r->tensor, r->buf, r->offset, r->size);
}

static NRT_STATUS run_read(struct rt_request *r)
{
	return rt_tensor_read(r->tensor, r->buf, r->offset, r->size);
}

static NRT_STATUS run_copy(struct rt_request *r)
{
	return rt_tensor_copy(r->tensor, r->offset, r->to, r->to_offset, r->size);
}

NRT_STATUS rt_order_transfer(const struct rt_transfer *t, const struct rt_order *order)
{
	NRT_STATUS status = rt_tensor_check(t->tensor, t->offset, t->size);
	struct rt_request *r;

	if (!status && ((t->size && !t->buf) || !order->seq))
		status = rt_fail(NRT_INVALID, "NRT", "buffer or place for the number missing");
	if (status)
		return status;
	r = rt_request_new(t->write ? run_write : run_read, order);
	if (!r)
		return NRT_RESOURCE;
	r->tensor = t->tensor;
	r->buf = t->buf;
	r->offset = t->offset;
	r->size = t->size;
	return rt_request_submit(r, core_of(t->tensor));
}

NRT_STATUS rt_order_copy(nrt_tensor_t *src, uint64_t src_offset, nrt_tensor_t *dst,
			 uint64_t dst_offset, uint64_t size, const struct rt_order *order)
{
	NRT_STATUS status = rt_tensor_check(src, src_offset, size);
	struct rt_request *r;

	if (!status)
		status = rt_tensor_check(dst, dst_offset, size);
	if (!status && !order->seq)
		status = rt_fail(NRT_INVALID, "NRT", "no place for the number");
	if (!status && (!src->storage->core || src->storage->core != dst->storage->core))
		status = rt_fail(NRT_INVALID, "NRT",
				 "'%s' and '%s' are not device tensors of one core", src->name,
				 dst->name);
	if (status)
		return status;
	r = rt_request_new(run_copy, order);
	if (!r)
		return NRT_RESOURCE;
	r->tensor = src;
	r->offset = src_offset;
	r->to = dst;
	r->to_offset = dst_offset;
	r->size = size;
	return rt_request_submit(r, core_of(src));
}

/* Executions */

static NRT_STATUS run_model(struct rt_request *r)
{
	const struct rt_io io = { &r->in, &r->out };

	return rt_execute(r->model, &io, r->repeat);
}

struct rt_request *rt_execution_new(struct nrt_model *model, const struct rt_io *io, int repeat,
				    const struct rt_order *order)
{
	struct rt_request *r = rt_request_new(run_model, order);

	if (!r) {
		rt_model_unpin(model);
		return NULL;
	}
	r->model = model;
	r->repeat = repeat;
	if (!rt_set_copy(&r->in, io->inputs) || !rt_set_copy(&r->out, io->outputs)) {
		rt_fail(NRT_RESOURCE, "NRT", "out of memory");
		rt_request_free(r);
		return NULL;
	}
	return r;
}

NRT_STATUS rt_order_execution(nrt_model_t *model, const struct rt_io *io,
			      const struct rt_order *order)
{
	NRT_STATUS status = NRT_RESOURCE;
	struct rt_request *r;
	uint64_t event;
	uint32_t core;

	if (!io->inputs || !io->outputs || order->queue || !order->seq)
		return rt_fail(NRT_INVALID, "NRT", "sets or place missing, or queue %d is not 0",
			       order->queue);
	if (!rt_model_pin(model))
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	core = model->core->vnc;
	event = rt_trace_begin(RT_EVENT_nrta_execute_schedule, core,
			       &(struct rt_event_data){ .model_id = model->id });
	r = rt_execution_new(model, io, 1, order);
	if (r)
		status = rt_request_submit(r, core);
	rt_trace_end(RT_EVENT_nrta_execute_schedule, core, event, &(struct rt_event_data){ 0 });
	return status;
}

/* Collectives: of one member, whose output is its input */

static NRT_STATUS run_cc(struct rt_request *r)
{
	NRT_STATUS status = NRT_SUCCESS;

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
				 : rt_absent(NRT_INVALID, "a collective has one member: "
							  "this runtime connects no processes");
}

static nrt_tensor_t **list_copy(const nrt_tensor_list_t *list)
{
	nrt_tensor_t **copy = calloc(list->num_tensors + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < list->num_tensors; i++)
		copy[i] = list->tensors[i];
	return copy;
}

RT_PUBLISH(nrta_cc_prepare, rt_cc_prepare, "@@NRT_3.0.0");
RT_PUBLISH(nrta_cc_prepare, rt_cc_prepare, "@NRT_2.0.0");
NRT_STATUS rt_cc_prepare(nrt_cc_comm_t *comm, nrt_tensor_list_t *input, nrt_tensor_list_t *output,
			 nrt_dtype_t dtype, nrt_op_type_t op, nrt_cc_op_type_t cc_op,
			 nrt_cc_context_t **cc_ctx)
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

NRT_STATUS rt_order_cc(nrt_cc_context_t **cc, const struct rt_order *order)
{
	struct rt_request *r;
	NRT_STATUS status;

	if (!cc || !*cc || order->queue || !order->seq)
		return rt_fail(NRT_INVALID, "NRT", "context or place missing, or queue %d is not 0",
			       order->queue);
	r = rt_request_new(run_cc, order);
	if (!r)
		return NRT_RESOURCE;
	r->cc = *cc;
	status = rt_request_submit(r, r->cc->vnc);
	if (!status) /* it is the request's */
		*cc = NULL;
	return status;
}

/* Completions */

RT_PUBLISH(nrta_is_completed, rt_is_completed, "@@NRT_3.0.0");
RT_PUBLISH(nrta_is_completed, rt_is_completed, "@NRT_2.0.0");
NRT_STATUS rt_is_completed(nrta_seq_t seq, bool *is_completed)
{
	struct rt_queue *queue;

	rt_details_clear();
	queue = rt_queue_of(seq);
	if (!queue || !is_completed)
		return NRT_INVALID;
	*is_completed = NRTA_SEQ_GET_SEQ_NUM(seq) <= rt_queue_completed(queue);
	return NRT_SUCCESS;
}

NRT_STATUS rt_order_last(uint32_t vnc, enum rt_unit unit, int queue, nrta_seq_t *seq)
{
	struct rt_queue *q;
	uint32_t id;

	if (!seq || !rt_core(vnc) || vnc >= RT_QUEUE_CORES)
		return rt_fail(NRT_INVALID, "NRT", "core %u, or no place", vnc);
	id = RT_QUEUE_ID(vnc, unit, (unsigned int)queue);
	q = rt_queue_get(id);
	*seq = (nrta_seq_t)id << 48 | (q ? rt_queue_completed(q) : 0);
	return NRT_SUCCESS;
}
