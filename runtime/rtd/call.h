/* SPDX-License-Identifier: MIT */
/* The server of the gRPC layer and its calls, inside it: server.c and call.c only (server.h says
 * what it offers). */
#ifndef RTD_CALL_H
#define RTD_CALL_H

#include <grpc/grpc.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server.h"

struct rtd_server {
	struct rtd_server_config config;
	struct rtd_gates *gates;
	grpc_completion_queue *cq;
	grpc_server_credentials *creds;
	struct rtd_pool *pool;
	struct rtd_pollers *pollers;
	atomic_uint_least64_t callers; /* a bit for each client that has called, by its name */

	pthread_mutex_t lock;
	pthread_cond_t idle;
	unsigned int calls; /* that live, including those asked of the core */
	unsigned int told; /* servers of the core that have reported their connections closed */
	struct rtd_conns *conns;
};

struct server_op {
	void (*done)(struct rtd_call *call, bool ok);
	struct rtd_call *call;
};

struct rtd_call {
	struct rtd_server *server;
	grpc_server *gate; /* the server of the core that it was asked of */
	grpc_call *grpc;
	grpc_call_details details;
	gpr_timespec deadline;
	grpc_metadata_array metadata;
	const struct rtd_method *method; /* before the call has come: of a whole one, else NULL */
	void *registered; /* what the core calls that one */
	struct rtd_peer peer; /* with the call's own copy of the groups */
	atomic_uint refs;
	atomic_bool answered, gone;
	bool broken; /* a stream's message could not be parsed */
	bool refused; /* a message did not fit */
	bool counted; /* counted among its client's calls */
	uint64_t requested, reserved; /* bytes on its client's account: for requests, for answers */
	struct server_op op_new, op_recv, op_close, op_send, op_finish;
	grpc_byte_buffer *received, *sending;
	ProtobufCMessage *request;
	bool greeted; /* the initial metadata was sent */
	int cancelled;
	void *data;
};

#endif
