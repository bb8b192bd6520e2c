// SPDX-License-Identifier: MIT
/* The blocking client. Every batch's tag is a struct client_op; next() completes them. */
#include "client.h"

#include <errno.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "message.h"

struct rtd_client {
	grpc_channel *channel;
	grpc_completion_queue *cq;
	unsigned int underway; /* calls that rtd_client_start has started */
	TAILQ_HEAD(, rtd_client_call) finished;
	char error[512];
};

struct client_op {
	struct rtd_client_call *call;
	bool done, ok;
};

struct rtd_client_call {
	TAILQ_ENTRY(rtd_client_call) link;
	struct rtd_client *client;
	const struct rtd_client_method *method;
	grpc_call *grpc;
	struct client_op op_send, op_end;
	grpc_byte_buffer *sending, *received;
	grpc_metadata_array initial, trailing;
	grpc_status_code status;
	grpc_slice details;
	void *data;
	bool listed; /* started by rtd_client_start, so that rtd_client_next returns it */
};

const char *rtd_client_default_address(void)
{
	const char *address = getenv("NEURON_RTD_ADDRESS");

	return address && *address ? address : "unix:/run/neuron.sock";
}

struct rtd_client *rtd_client_new(const char *address)
{
	grpc_arg args[] = {
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
		  .value.integer = -1 },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_MAX_SEND_MESSAGE_LENGTH,
		  .value.integer = -1 },
	};
	grpc_channel_args list = { sizeof(args) / sizeof(args[0]), args };
	struct rtd_client *client = calloc(1, sizeof(*client));
	grpc_channel_credentials *creds;
	char target[512];

	if (!client)
		return NULL;
	snprintf(target, sizeof(target), "%s%s", address[0] == '/' ? "unix:" : "", address);
	grpc_init();
	TAILQ_INIT(&client->finished);
	creds = grpc_insecure_credentials_create();
	client->channel = grpc_channel_create(target, creds, &list);
	grpc_channel_credentials_release(creds);
	client->cq = grpc_completion_queue_create_for_next(NULL);
	return client;
}

void rtd_client_free(struct rtd_client *client)
{
	ProtobufCMessage *response;
	void *data;

	while (rtd_client_next(client, &response, &data))
		if (response)
			protobuf_c_message_free_unpacked(response, NULL);
	grpc_completion_queue_shutdown(client->cq);
	while (grpc_completion_queue_next(client->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
		       .type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(client->cq);
	grpc_channel_destroy(client->channel);
	grpc_shutdown();
	free(client);
}

const char *rtd_client_error(const struct rtd_client *client)
{
	return client->error;
}

/* ---- calls */

static struct rtd_client_call *
call_new(struct rtd_client *client, const struct rtd_client_method *method, unsigned int timeout_ms)
{
	struct rtd_client_call *call = calloc(1, sizeof(*call));
	gpr_timespec deadline = gpr_inf_future(GPR_CLOCK_REALTIME);

	if (!call)
		return NULL;

	if (timeout_ms)
		deadline = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
					gpr_time_from_millis(timeout_ms, GPR_TIMESPAN));

	call->client = client;
	call->method = method;
	call->op_send.call = call;
	call->op_end.call = call;
	call->op_send.done = true;

	grpc_metadata_array_init(&call->initial);
	grpc_metadata_array_init(&call->trailing);
	call->details = grpc_empty_slice();

	call->grpc =
		grpc_channel_create_call(client->channel, NULL, GRPC_PROPAGATE_DEFAULTS, client->cq,
					 grpc_slice_from_static_string(method->path), NULL,
					 deadline, NULL);
	return call;
}

static void call_free(struct rtd_client_call *call)
{
	if (call->sending)
		grpc_byte_buffer_destroy(call->sending);
	if (call->received)
		grpc_byte_buffer_destroy(call->received);
	grpc_metadata_array_destroy(&call->initial);
	grpc_metadata_array_destroy(&call->trailing);
	grpc_slice_unref(call->details);
	grpc_call_unref(call->grpc);
	free(call);
}

static void call_batch(struct rtd_client_call *call, const grpc_op *ops, size_t n,
		       struct client_op *op)
{
	op->done = false;
	if (grpc_call_start_batch(call->grpc, ops, n, op, NULL) != GRPC_CALL_OK) {
		op->done = true;
		op->ok = false;
	}
}

/* Asks for everything that comes back, however the call ends. */
static void call_receive(struct rtd_client_call *call)
{
	grpc_op ops[3] = { 0 };

	ops[0].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[0].data.recv_initial_metadata.recv_initial_metadata = &call->initial;
	ops[1].op = GRPC_OP_RECV_MESSAGE;
	ops[1].data.recv_message.recv_message = &call->received;
	ops[2].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[2].data.recv_status_on_client.trailing_metadata = &call->trailing;
	ops[2].data.recv_status_on_client.status = &call->status;
	ops[2].data.recv_status_on_client.status_details = &call->details;
	call_batch(call, ops, 3, &call->op_end);
}

static bool client_step(struct rtd_client *client)
{
	grpc_event ev =
		grpc_completion_queue_next(client->cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
	struct client_op *op = ev.tag;
	struct rtd_client_call *call;

	if (ev.type != GRPC_OP_COMPLETE)
		return false;
	op->done = true;
	op->ok = ev.success;
	call = op->call;
	if (call->listed && call->op_send.done && call->op_end.done)
		TAILQ_INSERT_TAIL(&client->finished, call, link);
	return true;
}

static bool call_wait(struct rtd_client_call *call, struct client_op *op)
{
	while (!op->done)
		if (!client_step(call->client))
			return false;
	return op->ok;
}

static const char *status_name(grpc_status_code status)
{
	static const char *const names[] = {
		"OK",
		"CANCELLED",
		"UNKNOWN",
		"INVALID_ARGUMENT",
		"DEADLINE_EXCEEDED",
		"NOT_FOUND",
		"ALREADY_EXISTS",
		"PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED",
		"FAILED_PRECONDITION",
		"ABORTED",
		"OUT_OF_RANGE",
		"UNIMPLEMENTED",
		"INTERNAL",
		"UNAVAILABLE",
		"DATA_LOSS",
		"UNAUTHENTICATED",
	};

	return (unsigned int)status < sizeof(names) / sizeof(names[0]) ? names[status] : "?";
}

/* Returns the answer of a finished call, and frees the call. */
static ProtobufCMessage *call_answer(struct rtd_client_call *call)
{
	struct rtd_client *client = call->client;
	ProtobufCMessage *message = NULL;

	client->error[0] = 0;
	if (call->status != GRPC_STATUS_OK)
		snprintf(client->error, sizeof(client->error), "%s: %.*s",
			 status_name(call->status), (int)GRPC_SLICE_LENGTH(call->details),
			 (const char *)GRPC_SLICE_START_PTR(call->details));
	else if (call->received)
		message = rtd_message_unpack(call->method->response, call->received);
	if (!message && !client->error[0])
		snprintf(client->error, sizeof(client->error), "an answer that cannot be read");
	call_free(call);
	return message;
}

/* ---- unary */

static struct rtd_client_call *call_unary(struct rtd_client *client,
					  const struct rtd_client_method *method,
					  const ProtobufCMessage *request, unsigned int timeout_ms)
{
	struct rtd_client_call *call = call_new(client, method, timeout_ms);
	grpc_op ops[3] = { 0 };

	if (!call)
		return NULL;
	call->sending = rtd_message_pack(request);
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = call->sending;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	call_batch(call, ops, 3, &call->op_send);
	call_receive(call);
	return call;
}

ProtobufCMessage *rtd_client_call(struct rtd_client *client, const struct rtd_client_method *method,
				  const ProtobufCMessage *request, unsigned int timeout_ms)
{
	struct rtd_client_call *call = call_unary(client, method, request, timeout_ms);

	if (!call)
		return NULL;
	call_wait(call, &call->op_send);
	call_wait(call, &call->op_end);
	return call_answer(call);
}

int rtd_client_start(struct rtd_client *client, const struct rtd_client_method *method,
		     const ProtobufCMessage *request, unsigned int timeout_ms, void *data)
{
	struct rtd_client_call *call = call_unary(client, method, request, timeout_ms);

	if (!call)
		return -ENOMEM;
	call->data = data;
	call->listed = true;
	client->underway++;
	return 0;
}

bool rtd_client_next(struct rtd_client *client, ProtobufCMessage **response, void **data)
{
	struct rtd_client_call *call;

	if (!client->underway)
		return false;
	while (TAILQ_EMPTY(&client->finished))
		if (!client_step(client))
			return false;
	call = TAILQ_FIRST(&client->finished);
	TAILQ_REMOVE(&client->finished, call, link);
	client->underway--;
	*data = call->data;
	*response = call_answer(call);
	return true;
}

/* ---- a client stream */

struct rtd_client_call *rtd_client_stream(struct rtd_client *client,
					  const struct rtd_client_method *method)
{
	struct rtd_client_call *call = call_new(client, method, 0);
	grpc_op op = { .op = GRPC_OP_SEND_INITIAL_METADATA };

	if (!call)
		return NULL;
	call_batch(call, &op, 1, &call->op_send);
	call_receive(call);
	return call;
}

int rtd_client_write(struct rtd_client_call *call, const ProtobufCMessage *message)
{
	grpc_op op = { .op = GRPC_OP_SEND_MESSAGE };

	if (!call_wait(call, &call->op_send))
		return -EPIPE;
	if (call->sending)
		grpc_byte_buffer_destroy(call->sending);
	call->sending = rtd_message_pack(message);
	op.data.send_message.send_message = call->sending;
	call_batch(call, &op, 1, &call->op_send);
	return 0;
}

ProtobufCMessage *rtd_client_finish(struct rtd_client_call *call)
{
	grpc_op op = { .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT };

	if (call_wait(call, &call->op_send)) {
		call_batch(call, &op, 1, &call->op_send);
		call_wait(call, &call->op_send);
	}
	call_wait(call, &call->op_end);
	return call_answer(call);
}
