// SPDX-License-Identifier: MIT
/*
 * What a call of the daemon costs beside one of a server that does nothing, of the same gRPC:
 *
 *	bench-calls echo SOCKET THREADS: a server whose answer is the request, until its input ends
 *	bench-calls call SOCKET MODEL CLIENTS SECONDS: inferences without inputs, each client on a
 *		connection of its own and one call at a time; MODEL 0 takes any answer
 *
 * prints lines of a name and a number: calls a second, microseconds of the median and of 99 in a
 * hundred, calls of the client that got the fewest and the most. Run by tests/bench/run.py.
 */
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "message.h"
#include "nmgr.pb-c.h"

#define OPEN_REQUESTS 16 /* as the daemon */
#define MAX_CLIENTS 64

static void die(const char *what)
{
	fprintf(stderr, "bench-calls: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- the server: a call is asked for, read, answered, and asked for again */

enum stage { ASKED, READ, ANSWERED };

struct echo_call {
	enum stage stage;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *message;
	int cancelled;
};

static grpc_server *server;
static grpc_completion_queue *server_cq;

static void echo_ask(struct echo_call *c)
{
	c->stage = ASKED;
	grpc_call_details_init(&c->details);
	grpc_metadata_array_init(&c->metadata);
	if (grpc_server_request_call(server, &c->call, &c->details, &c->metadata, server_cq,
				     server_cq, c) != GRPC_CALL_OK)
		die("no call can be asked for");
}

static void echo_step(struct echo_call *c)
{
	grpc_op ops[4] = { 0 };

	if (c->stage == ASKED) {
		ops[0].op = GRPC_OP_RECV_MESSAGE;
		ops[0].data.recv_message.recv_message = &c->message;
		c->stage = READ;
		grpc_call_start_batch(c->call, ops, 1, c, NULL);
	} else if (c->stage == READ && c->message) {
		ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
		ops[1].op = GRPC_OP_SEND_MESSAGE;
		ops[1].data.send_message.send_message = c->message;
		ops[2].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
		ops[3].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
		ops[3].data.recv_close_on_server.cancelled = &c->cancelled;
		c->stage = ANSWERED;
		grpc_call_start_batch(c->call, ops, 4, c, NULL);
	} else {
		if (c->message)
			grpc_byte_buffer_destroy(c->message);
		c->message = NULL;
		grpc_call_details_destroy(&c->details);
		grpc_metadata_array_destroy(&c->metadata);
		grpc_call_unref(c->call);
		echo_ask(c);
	}
}

static void *echo_thread(void *arg)
{
	for (;;) {
		grpc_event ev = grpc_completion_queue_next(
			server_cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

		if (ev.type == GRPC_OP_COMPLETE)
			echo_step(ev.tag);
	}
	return arg;
}

static int echo(const char *socket, int threads)
{
	static struct echo_call calls[OPEN_REQUESTS + MAX_CLIENTS];
	grpc_server_credentials *creds = grpc_insecure_server_credentials_create();
	char target[256], byte;
	pthread_t thread;

	snprintf(target, sizeof(target), "unix:%s", socket);
	server_cq = grpc_completion_queue_create_for_next(NULL);
	server = grpc_server_create(NULL, NULL);
	grpc_server_register_completion_queue(server, server_cq, NULL);
	if (!grpc_server_add_http2_port(server, target, creds))
		die("cannot listen");
	grpc_server_start(server);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		echo_ask(&calls[i]);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, echo_thread, NULL))
			die("no thread");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

/* ---- the clients */

static struct {
	uint32_t model;
	double end; /* of the measure */
	pthread_barrier_t ready;
} run;

struct client {
	pthread_t thread;
	grpc_channel *channel;
	grpc_completion_queue *cq;
	float *took; /* microseconds of each call */
	size_t n, capacity;
};

static void check(grpc_byte_buffer *answer, grpc_status_code status)
{
	Nrt__InferResponse *resp;

	if (status || !answer)
		die("a call failed");
	if (!run.model)
		return;
	resp = (void *)rtd_message_unpack(&nrt__infer_response__descriptor, answer);
	if (!resp || !resp->status || resp->status->code)
		die("an inference failed");
	protobuf_c_message_free_unpacked(&resp->base, NULL);
}

static void call_once(struct client *c, const Nrt__InferRequest *request)
{
	grpc_slice method = grpc_slice_from_static_string("/nrt.nmgr_v1/infer"), details;
	gpr_timespec never = gpr_inf_future(GPR_CLOCK_REALTIME);
	grpc_byte_buffer *message = rtd_message_pack(&request->base), *answer = NULL;
	grpc_metadata_array initial, trailing;
	grpc_status_code status;
	grpc_op ops[6] = { 0 };
	grpc_call *call = grpc_channel_create_call(c->channel, NULL, GRPC_PROPAGATE_DEFAULTS, c->cq,
						   method, NULL, never, NULL);

	grpc_metadata_array_init(&initial);
	grpc_metadata_array_init(&trailing);
	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = message;
	ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
	ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
	ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial;
	ops[4].op = GRPC_OP_RECV_MESSAGE;
	ops[4].data.recv_message.recv_message = &answer;
	ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
	ops[5].data.recv_status_on_client.trailing_metadata = &trailing;
	ops[5].data.recv_status_on_client.status = &status;
	ops[5].data.recv_status_on_client.status_details = &details;
	if (grpc_call_start_batch(call, ops, 6, call, NULL) != GRPC_CALL_OK)
		die("a batch was refused");
	grpc_completion_queue_pluck(c->cq, call, never, NULL);
	check(answer, status);
	grpc_byte_buffer_destroy(message);
	if (answer)
		grpc_byte_buffer_destroy(answer);
	grpc_slice_unref(details);
	grpc_metadata_array_destroy(&initial);
	grpc_metadata_array_destroy(&trailing);
	grpc_call_unref(call);
}

static void *client_thread(void *arg)
{
	Nrt__InferRequest request = NRT__INFER_REQUEST__INIT;
	Nrt__HNn handle = NRT__H_NN__INIT;
	struct client *c = arg;
	double begun;

	handle.id = run.model;
	request.h_nn = &handle;
	call_once(c, &request); /* connects */
	pthread_barrier_wait(&run.ready);
	pthread_barrier_wait(&run.ready);
	while ((begun = now()) < run.end) {
		call_once(c, &request);
		if (c->n == c->capacity) {
			c->capacity = c->capacity ? 2 * c->capacity : 1 << 16;
			c->took = realloc(c->took, c->capacity * sizeof(*c->took));
			if (!c->took)
				die("out of memory");
		}
		c->took[c->n++] = (float)(now() - begun);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void report(struct client *clients, unsigned int n, double seconds)
{
	size_t total = 0, least = SIZE_MAX, most = 0, at = 0;
	float *all;

	for (unsigned int i = 0; i < n; i++) {
		total += clients[i].n;
		least = clients[i].n < least ? clients[i].n : least;
		most = clients[i].n > most ? clients[i].n : most;
	}
	all = malloc((total + 1) * sizeof(*all));
	if (!all || !total)
		die("no call was made");
	for (unsigned int i = 0; i < n; i++) {
		memcpy(all + at, clients[i].took, clients[i].n * sizeof(*all));
		at += clients[i].n;
	}
	qsort(all, total, sizeof(*all), compare);
	printf("rate %.0f\np50 %.1f\np99 %.1f\nleast %zu\nmost %zu\n", (double)total / seconds,
	       (double)all[total / 2], (double)all[total * 99 / 100], least, most);
}

static int call(const char *socket, uint32_t model, unsigned int n, double seconds)
{
	static struct client clients[MAX_CLIENTS];
	grpc_arg own = { .type = GRPC_ARG_INTEGER,
			 .key = (char *)GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL,
			 .value.integer = 1 };
	const grpc_channel_args args = { 1, &own };
	char target[256];

	snprintf(target, sizeof(target), "unix:%s", socket);
	run.model = model;
	pthread_barrier_init(&run.ready, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++) {
		grpc_channel_credentials *creds = grpc_insecure_credentials_create();

		clients[i].channel = grpc_channel_create(target, creds, &args);
		grpc_channel_credentials_release(creds);
		clients[i].cq = grpc_completion_queue_create_for_pluck(NULL);
		if (pthread_create(&clients[i].thread, NULL, client_thread, &clients[i]))
			die("no thread");
	}
	pthread_barrier_wait(&run.ready);
	run.end = now() + seconds * 1e6;
	pthread_barrier_wait(&run.ready);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(clients[i].thread, NULL);
	report(clients, n, seconds);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 6 ? (unsigned int)atoi(argv[4]) : 0;

	grpc_init();
	if (argc == 4 && !strcmp(argv[1], "echo"))
		return echo(argv[2], atoi(argv[3]));
	if (n < 1 || n > MAX_CLIENTS || strcmp(argv[1], "call") != 0)
		die("usage: bench-calls echo SOCKET THREADS | call SOCKET MODEL CLIENTS SECONDS");
	return call(argv[2], (uint32_t)atoi(argv[3]), n, atof(argv[5]));
}
