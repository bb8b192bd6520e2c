// SPDX-License-Identifier: MIT
/*
 * A server is made when its user connects for the first time, and stays. When there are too many
 * users, the last ones share one server.
 */
#include "gate.h"

#include <grpc/support/log.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define MAX_GATES 64
#define MAX_STREAMS \
	1024 /* calls in parallel on one connection; the core queues further ones at the client */
#define SLACK (32u << 20) /* bytes that the core needs besides messages: buffers of sockets */

struct gate {
	struct rtd_peer peer; /* without groups */
	grpc_server *grpc;
	grpc_resource_quota *quota;
};

struct rtd_gates {
	grpc_completion_queue *cq;
	uint64_t user, total;
	pthread_mutex_t lock; /* protects the following */
	unsigned int count;
	struct gate gate[MAX_GATES];
};

/*
 * Writes the core's own lines in the daemon's form; what the core calls an error is mostly a
 * client's.
 */
static void core_log(gpr_log_func_args *args)
{
	const char *file = strrchr(args->file, '/');
	enum rtd_log_level level = RTD_LOG_TRACE;

	if (args->severity == GPR_LOG_SEVERITY_ERROR)
		level = RTD_LOG_WARNING;
	else if (args->severity == GPR_LOG_SEVERITY_INFO)
		level = RTD_LOG_DEBUG;
	rtd_log_line(level, "GRPC", file ? file + 1 : args->file, "%s", args->message);
}

struct rtd_gates *rtd_gates_new(grpc_completion_queue *cq, uint64_t user, uint64_t total)
{
	struct rtd_gates *gates = calloc(1, sizeof(*gates));

	if (!gates)
		return NULL;
	gpr_set_log_function(core_log);
	gates->cq = cq;
	gates->user = user;
	gates->total = total;
	pthread_mutex_init(&gates->lock, NULL);
	return gates;
}

void rtd_gates_free(struct rtd_gates *gates)
{
	if (!gates)
		return;
	for (unsigned int i = 0; i < gates->count; i++) {
		grpc_server_destroy(gates->gate[i].grpc);
		grpc_resource_quota_unref(gates->gate[i].quota);
	}
	pthread_mutex_destroy(&gates->lock);
	free(gates);
}

static grpc_server *server_create(grpc_resource_quota *quota)
{
	grpc_arg args[] = {
		{ .type = GRPC_ARG_POINTER,
		  .key = (char *)GRPC_ARG_RESOURCE_QUOTA,
		  .value.pointer = { quota, grpc_resource_quota_arg_vtable() } },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
		  .value.integer = -1 },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_MAX_SEND_MESSAGE_LENGTH,
		  .value.integer = -1 },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_MAX_CONCURRENT_STREAMS,
		  .value.integer = MAX_STREAMS },
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_ALLOW_REUSEPORT,
		  .value.integer = 0 },
	};
	grpc_channel_args list = { sizeof(args) / sizeof(args[0]), args };

	return grpc_server_create(&list, NULL);
}

/*
 * With the lock held: all users get the same quota, one no more than its share; together they get
 * half as much again as they may all hold otherwise.
 */
static void gates_divide(struct rtd_gates *gates)
{
	uint64_t each = (gates->total + gates->total / 2) / gates->count;

	if (each > gates->user)
		each = gates->user;
	for (unsigned int i = 0; i < gates->count; i++)
		grpc_resource_quota_resize(gates->gate[i].quota, each + SLACK);
}

/* Called with the lock held. */
static struct gate *gate_new(struct rtd_gates *gates, const struct rtd_peer *peer)
{
	struct gate *gate = &gates->gate[gates->count++];

	gate->peer.local = peer->local;
	gate->peer.uid = peer->uid;
	gate->quota = grpc_resource_quota_create(NULL);
	gate->grpc = server_create(gate->quota);
	grpc_server_register_completion_queue(gate->grpc, gates->cq, NULL);
	gates_divide(gates);
	return gate;
}

grpc_server *rtd_gates_find(struct rtd_gates *gates, const struct rtd_peer *peer, bool *fresh)
{
	static const struct rtd_peer tcp;
	struct gate *gate = NULL;

	if (!peer)
		peer = &tcp;
	*fresh = false;
	pthread_mutex_lock(&gates->lock);
	for (unsigned int i = 0; i < gates->count && !gate; i++)
		if (rtd_peer_same(&gates->gate[i].peer, peer))
			gate = &gates->gate[i];
	if (!gate && gates->count == MAX_GATES)
		gate = &gates->gate[MAX_GATES - 1];
	if (!gate) {
		gate = gate_new(gates, peer);
		*fresh = true;
	}
	pthread_mutex_unlock(&gates->lock);
	return gate->grpc;
}

unsigned int rtd_gates_shutdown(struct rtd_gates *gates, void *tag)
{
	unsigned int count;

	pthread_mutex_lock(&gates->lock);
	count = gates->count;
	for (unsigned int i = 0; i < count; i++) {
		grpc_server_shutdown_and_notify(gates->gate[i].grpc, gates->cq, tag);
		grpc_server_cancel_all_calls(gates->gate[i].grpc);
	}
	pthread_mutex_unlock(&gates->lock);
	return count;
}
