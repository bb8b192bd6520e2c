// SPDX-License-Identifier: MIT
/*
 * The gRPC layer (server.h says what it offers).
 *
 * A call is created when a request is asked of the core, and carries one tag for each kind of
 * batch. References: one for the receive side (a message being read or handled), one for the close
 * batch, one for each send batch in progress, one for the handler's open answer. The last one frees
 * the grpc_call. Of a method that is marked whole the core asks for the message itself, and its
 * close goes with the answer: two events a call in place of four.
 *
 * Locks: server->lock protects what rtd_server_free waits for; the connections' lock nests in it.
 */
#include "server.h"

#include <assert.h>
#include <errno.h>
#include <grpc/grpc.h>
#include <grpc/grpc_posix.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "conn.h"
#include "gate.h"
#include "log.h"
#include "message.h"
#include "poller.h"
#include "pool.h"

/* Smaller messages are not counted: a user with a full account must be able to free something */
#define SMALL_MESSAGE 2048
#define OPEN_REQUESTS 16 /* calls asked of each of the core's servers in advance */
#define MAX_WHOLE 8 /* methods marked whole, and one for the others */
#define DRAIN_SECONDS 1 /* for clients to read their answers when the server ends */

/* ---- calls: accounts */

static bool call_take(struct rtd_call *call, uint64_t *taken, size_t size)
{
	if (size <= SMALL_MESSAGE || size <= *taken)
		return true;
	if (rtd_quota_take(call->server->config.quota, &call->peer, RTD_QUOTA_MEMORY,
			   size - *taken))
		return false;
	*taken = size;
	return true;
}

static void call_give(struct rtd_call *call, uint64_t *taken)
{
	rtd_quota_give(call->server->config.quota, &call->peer, RTD_QUOTA_MEMORY, *taken);
	*taken = 0;
}

void rtd_call_reserve(struct rtd_call *call, uint64_t bytes)
{
	call->reserved += bytes;
}

/* ---- calls: lifetime */

static void server_forget(struct rtd_server *server)
{
	pthread_mutex_lock(&server->lock);
	if (!--server->calls)
		pthread_cond_broadcast(&server->idle);
	pthread_mutex_unlock(&server->lock);
}

static void call_ref(struct rtd_call *call)
{
	atomic_fetch_add(&call->refs, 1);
}

static void call_unref(struct rtd_call *call)
{
	if (atomic_fetch_sub(&call->refs, 1) != 1)
		return;
	if (call->method && call->method->closed)
		call->method->closed(call);
	if (call->request)
		protobuf_c_message_free_unpacked(call->request, NULL);
	if (call->received)
		grpc_byte_buffer_destroy(call->received);
	if (call->grpc)
		grpc_call_unref(call->grpc);

	call_give(call, &call->requested);
	call_give(call, &call->reserved);
	if (call->counted)
		rtd_quota_give(call->server->config.quota, &call->peer, RTD_QUOTA_CALLS, 1);
	grpc_call_details_destroy(&call->details);
	grpc_metadata_array_destroy(&call->metadata);
	free(call->peer.groups);
	server_forget(call->server);
	free(call);
}

/* Starts a batch that completes into op; the op's done function drops the reference. */
static void call_batch(struct rtd_call *call, const grpc_op *ops, size_t n, struct server_op *op)
{
	grpc_call_error err;

	call_ref(call);
	err = grpc_call_start_batch(call->grpc, ops, n, op, NULL);
	if (err != GRPC_CALL_OK) {
		rtd_error("NRTD", "batch refused by the core, error: %d", err);
		call_unref(call);
	}
}

/* ---- sending */

static size_t op_close(struct rtd_call *call, grpc_op *op)
{
	op->op = GRPC_OP_RECV_CLOSE_ON_SERVER;
	op->data.recv_close_on_server.cancelled = &call->cancelled;
	return 1;
}

static size_t op_greeting(struct rtd_call *call, grpc_op *op)
{
	if (call->greeted)
		return 0;
	call->greeted = true;
	op->op = GRPC_OP_SEND_INITIAL_METADATA;
	return 1;
}

static size_t op_message(struct rtd_call *call, grpc_op *op, const ProtobufCMessage *message)
{
	call->sending = rtd_message_pack(message);
	op->op = GRPC_OP_SEND_MESSAGE;
	op->data.send_message.send_message = call->sending;
	return 1;
}

/*
 * A message was sent when the client's windows have let all of it pass and the write it went into
 * is over. The core reports neither alone, so a message that the client does not read stays on its
 * account.
 */
static void call_sent(struct rtd_call *call, bool ok)
{
	call_give(call, &call->reserved);
	grpc_byte_buffer_destroy(call->sending);
	call->sending = NULL;
	/* a stream that could not be written ends on its read side */
	if (!call->answered)
		rtd_call_next(call);
	call_unref(call);
}

static void call_finished(struct rtd_call *call, bool ok)
{
	call_give(call, &call->reserved);
	grpc_byte_buffer_destroy(call->sending);
	call->sending = NULL;
	call_unref(call);
}

static bool call_fits(struct rtd_call *call, const ProtobufCMessage *message)
{
	return call_take(call, &call->reserved, protobuf_c_message_get_packed_size(message));
}

/* Sends the last batch of a call, and drops the handler's reference. */
static void call_status(struct rtd_call *call, const ProtobufCMessage *message,
			grpc_status_code status, const char *text)
{
	grpc_op ops[4] = { 0 };
	grpc_slice details;
	size_t n;

	if (atomic_exchange(&call->answered, true))
		return;
	if (call->broken) {
		message = NULL;
		status = GRPC_STATUS_INTERNAL;
	}
	if (call->refused || (message && !call_fits(call, message))) {
		message = NULL;
		status = GRPC_STATUS_RESOURCE_EXHAUSTED;
		text = "more than this user may hold in the daemon";
	}

	details = grpc_slice_from_copied_string(text ? text : "");
	n = op_greeting(call, ops);
	if (message)
		n += op_message(call, ops + n, message);
	ops[n].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	ops[n].data.send_status_from_server.status = status;
	ops[n].data.send_status_from_server.status_details = text ? &details : NULL;
	n++;
	if (call->method->whole)
		n += op_close(call, ops + n);
	call_batch(call, ops, n, &call->op_finish);
	grpc_slice_unref(details);
	call_unref(call);
}

void rtd_call_reply(struct rtd_call *call, const ProtobufCMessage *message)
{
	call_status(call, message, GRPC_STATUS_OK, NULL);
}

void rtd_call_finish(struct rtd_call *call)
{
	call_status(call, NULL, GRPC_STATUS_OK, NULL);
}

void rtd_call_exhausted(struct rtd_call *call, const char *text)
{
	call_status(call, NULL, GRPC_STATUS_RESOURCE_EXHAUSTED, text);
}

void rtd_call_send(struct rtd_call *call, const ProtobufCMessage *message)
{
	grpc_op ops[2] = { 0 };
	size_t n;

	if (!call_fits(call, message)) {
		call->refused = true;
		rtd_call_finish(call);
		return;
	}
	n = op_greeting(call, ops);
	n += op_message(call, ops + n, message);
	call_batch(call, ops, n, &call->op_send);
}

/* ---- receiving */

void rtd_call_next(struct rtd_call *call)
{
	grpc_op op = { .op = GRPC_OP_RECV_MESSAGE };

	op.data.recv_message.recv_message = &call->received;
	call_batch(call, &op, 1, &call->op_recv);
}

static void run_message(void *arg)
{
	struct rtd_call *call = arg;

	call->method->message(call, call->request);
	call_unref(call);
}

static void run_end(void *arg)
{
	struct rtd_call *call = arg;

	call->method->end(call);
	call_unref(call);
}

static void call_run(struct rtd_call *call, bool pooled, void (*run)(void *))
{
	call_ref(call);
	if (!pooled || rtd_pool_add(call->server->pool, run, call))
		run(call);
}

static void call_end(struct rtd_call *call)
{
	if (call->method->kind == RTD_UNARY)
		call_status(call, NULL, GRPC_STATUS_INTERNAL, "the call has no request message");
	else
		call_run(call, call->method->blocking, run_end);
}

/* Hands a message that is bytes alone to its method; false: it is another one. */
static bool call_bytes(struct rtd_call *call)
{
	size_t size;
	void *to;

	if (!call->method->bytes)
		return false;
	size = rtd_message_bytes(call->received, call->method->outer, call->method->inner);
	if (!size)
		return false;
	to = call->method->bytes(call, size);
	if (to)
		rtd_message_copy(call->received, to, size);
	grpc_byte_buffer_destroy(call->received);
	call->received = NULL;
	rtd_call_next(call);
	return true;
}

/* The message received; NULL if there is none, it was refused or cannot be parsed */
static ProtobufCMessage *call_unpack(struct rtd_call *call)
{
	ProtobufCMessage *message = NULL;

	if (!call->refused)
		message = rtd_message_unpack(call->method->request, call->received);
	grpc_byte_buffer_destroy(call->received);
	call->received = NULL;
	return message;
}

static void call_received(struct rtd_call *call, bool ok)
{
	ProtobufCMessage *message;

	if (!ok || !call->received) {
		call_end(call);
		call_unref(call);
		return;
	}
	/* on its client's account */
	call->refused = !call_take(call, &call->requested, grpc_byte_buffer_length(call->received));
	if (!call->refused && call_bytes(call)) {
		call_unref(call);
		return;
	}
	message = call_unpack(call);
	if (call->refused && call->method->refused) {
		call->refused = false;
		call->method->refused(call);
	} else if (!message && call->method->kind == RTD_UNARY) {
		call_status(call, NULL, GRPC_STATUS_INTERNAL, "the request cannot be parsed");
	} else if (!message) {
		call->broken = true;
		call_end(call);
	} else if (call->method->kind == RTD_UNARY) {
		call->request = message;
		call_run(call, call->method->blocking, run_message);
	} else {
		call->method->message(call, message);
		protobuf_c_message_free_unpacked(message, NULL);
	}
	call_unref(call);
}

/* Called when the call is over for the core: answered, cancelled, or its connection gone */
static void call_closed(struct rtd_call *call, bool ok)
{
	call->gone = call->cancelled;
	call_unref(call);
}

/* ---- new calls */

static void server_ask(struct rtd_server *server, grpc_server *gate,
		       const struct rtd_method *method, void *registered);

static const struct rtd_method *server_method(struct rtd_server *server, grpc_slice path)
{
	for (unsigned int i = 0; i < server->config.nmethods; i++)
		if (!grpc_slice_str_cmp(path, server->config.methods[i].path))
			return &server->config.methods[i];
	return NULL;
}

/* Clients that have called since they were counted; those of one bit are one. */
static unsigned int server_clients(void *arg)
{
	struct rtd_server *server = arg;

	return (unsigned int)__builtin_popcountll(atomic_exchange(&server->callers, 0));
}

static void server_count(struct rtd_server *server, const char *name)
{
	unsigned int sum = 0;

	while (*name)
		sum = sum * 31 + (unsigned char)*name++;
	atomic_fetch_or(&server->callers, UINT64_C(1) << sum % 64);
}

static void call_identify(struct rtd_call *call)
{
	char *name = grpc_call_get_peer(call->grpc);

	if (name)
		server_count(call->server, name);
	rtd_conns_find(call->server->conns, name, &call->peer);
	gpr_free(name);
}

static void call_begin(struct rtd_call *call)
{
	static const struct rtd_method unknown = { .path = "/", .kind = RTD_UNARY, .whole = true };
	grpc_op op = { 0 };

	if (!call->method)
		call->method = server_method(call->server, call->details.method);
	if (!call->method) {
		call->method = &unknown;
		call_status(call, NULL, GRPC_STATUS_UNIMPLEMENTED, "no such method");
		return;
	}
	call_identify(call);
	call->counted =
		!rtd_quota_take(call->server->config.quota, &call->peer, RTD_QUOTA_CALLS, 1);
	if (!call->method->whole)
		call_batch(call, &op, op_close(call, &op), &call->op_close);
	if (!call->counted) {
		call_status(call, NULL, GRPC_STATUS_RESOURCE_EXHAUSTED,
			    "too many calls of this user are under way");
		return;
	}

	call_ref(call);
	if (call->method->whole) {
		call_received(call, true);
		return;
	}
	if (call->method->open)
		call->method->open(call);
	/* an open handler that sends a message reads the next one when that is sent */
	if (!call->greeted)
		rtd_call_next(call);
	call_unref(call);
}

static void call_new(struct rtd_call *call, bool ok)
{
	if (!ok) { /* the server shuts down */
		call_unref(call);
		return;
	}
	server_ask(call->server, call->gate, call->method, call->registered);
	call_begin(call);
}

/* Asks for a call of a method that is whole, or (NULL) of any other. */
static void server_ask(struct rtd_server *server, grpc_server *gate,
		       const struct rtd_method *method, void *registered)
{
	struct rtd_call *call = calloc(1, sizeof(*call));
	grpc_call_error err;

	if (!call) {
		rtd_error("NRTD", "out of memory for a call");
		return;
	}
	call->server = server;
	call->gate = gate;
	call->method = method;
	call->registered = registered;
	call->refs = 1;
	call->op_new = (struct server_op){ call_new, call };
	call->op_recv = (struct server_op){ call_received, call };
	call->op_close = (struct server_op){ call_closed, call };
	call->op_send = (struct server_op){ call_sent, call };
	call->op_finish = (struct server_op){ call_finished, call };
	grpc_call_details_init(&call->details);
	grpc_metadata_array_init(&call->metadata);

	pthread_mutex_lock(&server->lock);
	server->calls++;
	pthread_mutex_unlock(&server->lock);

	if (method)
		err = grpc_server_request_registered_call(gate, registered, &call->grpc,
							  &call->deadline, &call->metadata,
							  &call->received, server->cq, server->cq,
							  &call->op_new);
	else
		err = grpc_server_request_call(gate, &call->grpc, &call->details, &call->metadata,
					       server->cq, server->cq, &call->op_new);
	if (err != GRPC_CALL_OK)
		call_unref(call);
}

static void server_stopped(struct rtd_server *server)
{
	pthread_mutex_lock(&server->lock);
	server->told++;
	pthread_cond_broadcast(&server->idle);
	pthread_mutex_unlock(&server->lock);
}

static void server_event(void *arg, const grpc_event *event)
{
	struct rtd_server *server = arg;
	struct server_op *op = event->tag;

	if (event->type != GRPC_OP_COMPLETE)
		return;
	if (event->tag == server)
		server_stopped(server);
	else
		op->done(op->call, event->success);
}

/* ---- the server */

int rtd_server_new(const struct rtd_server_config *config, struct rtd_server **out)
{
	struct rtd_server *server = calloc(1, sizeof(*server));
	uint64_t user, total;
	int err;

	if (!server)
		return -ENOMEM;
	server->config = *config;
	pthread_mutex_init(&server->lock, NULL);
	pthread_cond_init(&server->idle, NULL);
	grpc_init();
	server->cq = grpc_completion_queue_create_for_next(NULL);
	rtd_quota_limits(config->quota, RTD_QUOTA_MEMORY, &user, &total);
	server->gates = rtd_gates_new(server->cq, user, total);
	server->creds = grpc_insecure_server_credentials_create();

	err = server->gates ? rtd_conns_new(&server->conns) : -ENOMEM;
	if (!err)
		err = rtd_pool_new(config->workers, &server->pool);
	if (err) {
		rtd_server_free(server);
		return err;
	}
	*out = server;
	return 0;
}

int rtd_server_listen_tcp(struct rtd_server *server, const char *address)
{
	bool fresh;
	grpc_server *gate = rtd_gates_find(server->gates, NULL, &fresh);

	return grpc_server_add_http2_port(gate, address, server->creds) ? 0 : -EADDRINUSE;
}

static void gate_start(struct rtd_server *server, grpc_server *gate)
{
	const struct rtd_method *whole[MAX_WHOLE] = { NULL };
	void *registered[MAX_WHOLE] = { NULL };
	unsigned int n = 1; /* the first is of all others */

	for (unsigned int i = 0; i < server->config.nmethods; i++) {
		const struct rtd_method *method = &server->config.methods[i];

		if (!method->whole)
			continue;
		assert(n < MAX_WHOLE);
		whole[n] = method;
		registered[n++] = grpc_server_register_method(
			gate, method->path, NULL, GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER, 0);
	}
	grpc_server_start(gate);
	for (unsigned int i = 0; i < OPEN_REQUESTS; i++)
		for (unsigned int k = 0; k < n; k++)
			server_ask(server, gate, whole[k], registered[k]);
}

int rtd_server_start(struct rtd_server *server)
{
	bool fresh;

	gate_start(server, rtd_gates_find(server->gates, NULL, &fresh));
	return rtd_pollers_new(server->cq, server->config.threads, server_event, server_clients,
			       server, &server->pollers);
}

int rtd_server_add(struct rtd_server *server, int fd, const struct rtd_peer *peer)
{
	return rtd_conns_add(server->conns, fd, peer);
}

bool rtd_server_serve(struct rtd_server *server)
{
	const struct rtd_peer *peer;
	int fd = rtd_conns_next(server->conns, &peer);
	grpc_server *gate;
	bool fresh;

	if (fd < 0)
		return false;
	gate = rtd_gates_find(server->gates, peer, &fresh);
	if (fresh)
		gate_start(server, gate);
	grpc_server_add_channel_from_fd(gate, fd, server->creds);
	return true;
}

/*
 * No batch may start once the queue is shut down, so every call ends first. The core waits for
 * clients to read what is being written to them; those that do not are cut off.
 */
static void server_drain(struct rtd_server *server)
{
	unsigned int gates = rtd_gates_shutdown(server->gates, server);
	struct timespec deadline;
	int err = 0;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += DRAIN_SECONDS;
	pthread_mutex_lock(&server->lock);
	while (!err && (server->calls || server->told < gates))
		err = pthread_cond_timedwait(&server->idle, &server->lock, &deadline);
	if (err)
		rtd_conns_cut(server->conns);
	while (server->calls || server->told < gates)
		pthread_cond_wait(&server->idle, &server->lock);
	pthread_mutex_unlock(&server->lock);
}

/* The events of a queue that no thread waits for, and is shut down */
static void server_discard(struct rtd_server *server)
{
	grpc_event event;

	do {
		event = grpc_completion_queue_next(server->cq, gpr_inf_future(GPR_CLOCK_REALTIME),
						   NULL);
		server_event(server, &event);
	} while (event.type != GRPC_QUEUE_SHUTDOWN);
}

void rtd_server_free(struct rtd_server *server)
{
	if (server->pollers)
		server_drain(server);
	else if (server->gates) /* listeners must be shut down even if they never started */
		rtd_gates_shutdown(server->gates, server);

	grpc_completion_queue_shutdown(server->cq);
	if (!server->pollers)
		server_discard(server);
	rtd_pollers_free(server->pollers);
	rtd_pool_free(server->pool);
	rtd_gates_free(server->gates);
	grpc_completion_queue_destroy(server->cq);
	grpc_server_credentials_release(server->creds);
	rtd_conns_free(server->conns);
	pthread_cond_destroy(&server->idle);
	pthread_mutex_destroy(&server->lock);
	free(server);
	grpc_shutdown();
}

/* ---- what handlers ask */
