// SPDX-License-Identifier: MIT
/*
 * infer in all its forms. No handler here blocks: a result that is not there yet is answered later.
 */
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "rpc.h"

/* ---- requests */

static struct rtd_io *io_list(Nrt__InferIo **list, size_t n)
{
	struct rtd_io *ios = calloc(n + 1, sizeof(*ios));

	for (size_t i = 0; ios && i < n; i++) {
		ios[i].name = list[i]->name;
		if (list[i]->data_case == NRT__INFER_IO__DATA_BUF_SHM) {
			ios[i].shm = list[i]->buf_shm->path;
		} else if (list[i]->data_case == NRT__INFER_IO__DATA_BUF) {
			ios[i].buf = list[i]->buf.data;
			ios[i].len = list[i]->buf.len;
		}
	}
	return ios;
}

static void hold(void *call)
{
	rtd_call_hold(call);
}

static int infer_submit(struct rtd_call *call, const Nrt__InferRequest *req, rtd_infer_done done,
			uint64_t *cookie, struct rtd_err *err)
{
	uint32_t model = req->h_nn ? req->h_nn->id : 0;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_io *inputs, *outputs;

	if (rtd_ready(rtd, err) || rtd_access_model(rtd, rtd_call_peer(call), model, RTD_USE, err))
		return err->code;

	inputs = io_list(req->ifmap, req->n_ifmap);
	outputs = io_list(req->shm_ofmap, req->n_shm_ofmap);
	if (inputs && outputs) {
		struct rtd_post post = {
			.model = model,
			.peer = rtd_call_peer(call),
			.inputs = inputs,
			.ninputs = req->n_ifmap,
			.outputs = outputs,
			.noutputs = req->n_shm_ofmap,
			.done = done,
			.done_arg = call,
			.lend = done ? hold : NULL,
		};
		rtd_infer_post(rtd, &post, cookie, err);
	} else {
		rtd_fail(err, NERR_RESOURCE, "NMGR", "out of memory");
	}

	free(inputs);
	free(outputs);
	return err->code;
}

/* ---- answers */

typedef void (*infer_send)(struct rtd_call *call, const ProtobufCMessage *message);

static void answer_error(struct rtd_call *call, struct rtd_err *err, infer_send send)
{
	Nrt__InferResponse resp = NRT__INFER_RESPONSE__INIT;
	Nrt__Status status;

	rtd_rpc_status(call, &status, err);
	resp.status = &status;
	send(call, &resp.base);
}

static void answer_outputs(struct rtd_infer *infer, Nrt__InferResponse *resp, Nrt__InferIo *ios)
{
	const struct rtd_tensor *tensors;
	unsigned int n = rtd_program_tensors(infer->model->program, &tensors);

	for (unsigned int i = 0; i < n; i++) {
		Nrt__InferIo *io = &ios[resp->n_ofmap];

		if (!tensors[i].output)
			continue;
		nrt__infer_io__init(io);
		io->name = (char *)(infer->own_names && tensors[i].source ? tensors[i].source
									  : tensors[i].name);
		io->data_case = NRT__INFER_IO__DATA_BUF;
		io->buf.data = rtd_slot_buffer(infer->slot->slot, i);
		io->buf.len = tensors[i].size;
		resp->ofmap[resp->n_ofmap++] = io;
	}
}

static bool has_outputs(const struct rtd_infer *infer)
{
	return (infer->err.code == NERR_OK ||
		infer->err.code == NERR_INFER_COMPLETED_WITH_NUM_ERR) &&
	       infer->slot && !infer->outputs;
}

/* Consumes the inference. */
static void answer_infer(struct rtd_call *call, struct rtd_infer *infer, infer_send send)
{
	Nrt__InferResponse resp = NRT__INFER_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call); /* the call is freed once it is answered */
	const struct rtd_tensor *tensors;
	unsigned int n = rtd_program_tensors(infer->model->program, &tensors);
	Nrt__InferIo *ios = calloc(n + 1, sizeof(*ios));
	Nrt__Status status;

	resp.ofmap = calloc(n + 1, sizeof(*resp.ofmap));
	if (!ios || !resp.ofmap)
		rtd_fail(&infer->err, NERR_RESOURCE, "NRTD", "out of memory");
	else if (has_outputs(infer))
		answer_outputs(infer, &resp, ios);
	rtd_call_reserve(call, rtd_infer_uncharge(infer));
	rtd_rpc_status(call, &status, &infer->err);
	resp.status = &status;
	send(call, &resp.base);
	free(resp.ofmap);
	free(ios);
	rtd_infer_free(rtd, infer);
}

/* ---- infer */

static void infer_done(struct rtd_infer *infer, void *arg)
{
	answer_infer(arg, infer, rtd_call_reply);
}

void rtd_rpc_infer(struct rtd_call *call, const ProtobufCMessage *message)
{
	struct rtd_err err = { 0 };
	uint64_t cookie;

	if (infer_submit(call, (const void *)message, infer_done, &cookie, &err))
		answer_error(call, &err, rtd_call_reply);
}

void rtd_rpc_infer_refused(struct rtd_call *call)
{
	struct rtd_err err = { 0 };

	rtd_rpc_refuse(&err);
	answer_error(call, &err, rtd_call_reply);
}

/* ---- infer_post, infer_wait, infer_poll, infer_check_completion */

static void answer_post(struct rtd_call *call, uint64_t cookie, struct rtd_err *err)
{
	Nrt__InferPostResponse resp = NRT__INFER_POST_RESPONSE__INIT;
	Nrt__Status status;

	resp.cookie = cookie;
	rtd_rpc_status(call, &status, err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
}

void rtd_rpc_infer_post(struct rtd_call *call, const ProtobufCMessage *message)
{
	struct rtd_err err = { 0 };
	uint64_t cookie = 0;

	infer_submit(call, (const void *)message, NULL, &cookie, &err);
	answer_post(call, cookie, &err);
}

void rtd_rpc_infer_post_refused(struct rtd_call *call)
{
	struct rtd_err err = { 0 };

	rtd_rpc_refuse(&err);
	answer_post(call, 0, &err);
}

static void wait_done(struct rtd_infer *infer, void *arg)
{
	struct rtd_call *call = arg;
	const Nrt__InferWaitRequest *req = (const void *)rtd_call_request(call);
	struct rtd_io *outputs = io_list(req->shm_ofmap, req->n_shm_ofmap);

	if (!outputs)
		rtd_fail(&infer->err, NERR_RESOURCE, "NRTD", "out of memory");
	else if (has_outputs(infer))
		rtd_infer_store(rtd_call_rtd(call), infer, outputs, req->n_shm_ofmap);
	free(outputs);
	answer_infer(call, infer, rtd_call_reply);
}

static void infer_wait(struct rtd_call *call, const ProtobufCMessage *message, bool poll)
{
	const Nrt__InferWaitRequest *req = (const void *)message;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };

	if (rtd_ready(rtd, &err) ||
	    rtd_infer_wait(rtd, rtd_call_peer(call), req->cookie, poll, wait_done, call, &err))
		answer_error(call, &err, rtd_call_reply);
}

void rtd_rpc_infer_wait(struct rtd_call *call, const ProtobufCMessage *message)
{
	infer_wait(call, message, false);
}

void rtd_rpc_infer_poll(struct rtd_call *call, const ProtobufCMessage *message)
{
	infer_wait(call, message, true);
}

void rtd_rpc_infer_check(struct rtd_call *call, const ProtobufCMessage *message)
{
	const Nrt__InferCheckCompletionRequest *req = (const void *)message;
	Nrt__InferCheckCompletionResponse resp = NRT__INFER_CHECK_COMPLETION_RESPONSE__INIT;
	struct rtd *rtd = rtd_call_rtd(call);
	struct rtd_err err = { 0 };
	Nrt__Status status;

	resp.cookie = calloc(req->n_cookie + 1, sizeof(*resp.cookie));
	if (!resp.cookie)
		rtd_fail(&err, NERR_RESOURCE, "NRTD", "out of memory");
	else if (!rtd_ready(rtd, &err))
		for (size_t i = 0; i < req->n_cookie; i++)
			if (rtd_infer_complete(rtd, rtd_call_peer(call), req->cookie[i]))
				resp.cookie[resp.n_cookie++] = req->cookie[i];
	rtd_rpc_status(call, &status, &err);
	resp.status = &status;
	rtd_call_reply(call, &resp.base);
	free(resp.cookie);
}

/* ---- infer_stream: one after the other, answers in the order of the requests */

static void stream_done(struct rtd_infer *infer, void *arg)
{
	answer_infer(arg, infer, rtd_call_send);
}

void rtd_rpc_infer_stream(struct rtd_call *call, const ProtobufCMessage *message)
{
	struct rtd_err err = { 0 };
	uint64_t cookie;

	if (infer_submit(call, (const void *)message, stream_done, &cookie, &err))
		answer_error(call, &err, rtd_call_send);
}

void rtd_rpc_infer_stream_refused(struct rtd_call *call)
{
	struct rtd_err err = { 0 };

	rtd_rpc_refuse(&err);
	answer_error(call, &err, rtd_call_send);
}

void rtd_rpc_infer_stream_end(struct rtd_call *call)
{
	rtd_call_finish(call);
}
