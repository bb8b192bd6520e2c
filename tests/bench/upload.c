// SPDX-License-Identifier: MIT
/*
 * What sending a file to the daemon costs beside a server that reads and throws away, of the same
 * gRPC, and beside the socket alone:
 *
 *	bench-upload sink SOCKET: a server of client streams, until its input ends
 *	bench-upload send SOCKET FILE CHUNK: sends FILE as a load of chunks of so many bytes, as
 *		neuron-cli does, to the daemon or the sink
 *	bench-upload plain FILE CHUNK: the same bytes by write and read through a pair of sockets
 *
 * send and plain print the seconds from the first byte until all were taken. Run by
 * tests/bench/run.py in a guest.
 */
#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "nmgr.pb-c.h"

#define SERVER_THREADS 4 /* as many as the daemon has */

static void die(const char *what)
{
	fprintf(stderr, "bench-upload: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the server: one call after the other, whose messages are dropped */

static struct {
	grpc_server *grpc;
	grpc_completion_queue *cq;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *message;
	int cancelled;
	char ask, read, answer; /* tags */
} sink;

static void sink_ask(void)
{
	grpc_call_details_init(&sink.details);
	grpc_metadata_array_init(&sink.metadata);
	if (grpc_server_request_call(sink.grpc, &sink.call, &sink.details, &sink.metadata, sink.cq,
				     sink.cq, &sink.ask) != GRPC_CALL_OK)
		die("no call can be asked for");
}

static void sink_read(void)
{
	grpc_op op = { .op = GRPC_OP_RECV_MESSAGE };

	op.data.recv_message.recv_message = &sink.message;
	grpc_call_start_batch(sink.call, &op, 1, &sink.read, NULL);
}

/* An empty message is an answer of every type. */
static void sink_answer(void)
{
	grpc_byte_buffer *empty = grpc_raw_byte_buffer_create(NULL, 0);
	grpc_op ops[4] = { 0 };

	ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
	ops[1].op = GRPC_OP_SEND_MESSAGE;
	ops[1].data.send_message.send_message = empty;
	ops[2].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	ops[3].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
	ops[3].data.recv_close_on_server.cancelled = &sink.cancelled;
	grpc_call_start_batch(sink.call, ops, 4, &sink.answer, NULL);
	grpc_byte_buffer_destroy(empty);
}

static void sink_end(void)
{
	grpc_call_details_destroy(&sink.details);
	grpc_metadata_array_destroy(&sink.metadata);
	grpc_call_unref(sink.call);
	sink_ask();
}

static void *sink_thread(void *arg)
{
	for (;;) {
		grpc_event ev = grpc_completion_queue_next(
			sink.cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);

		if (ev.tag == &sink.ask) {
			sink_read();
		} else if (ev.tag == &sink.answer) {
			sink_end();
		} else if (sink.message) {
			grpc_byte_buffer_destroy(sink.message);
			sink_read();
		} else {
			sink_answer();
		}
	}
	return arg;
}

static int serve(const char *socket)
{
	grpc_server_credentials *creds = grpc_insecure_server_credentials_create();
	grpc_arg args[] = {
		{ .type = GRPC_ARG_INTEGER,
		  .key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
		  .value.integer = -1 },
	};
	grpc_channel_args list = { 1, args };
	pthread_t thread;
	char target[256], byte;

	snprintf(target, sizeof(target), "unix:%s", socket);
	sink.cq = grpc_completion_queue_create_for_next(NULL);
	sink.grpc = grpc_server_create(&list, NULL);
	grpc_server_register_completion_queue(sink.grpc, sink.cq, NULL);
	if (!grpc_server_add_http2_port(sink.grpc, target, creds))
		die("cannot listen");
	grpc_server_start(sink.grpc);
	sink_ask();
	for (int i = 0; i < SERVER_THREADS; i++)
		if (pthread_create(&thread, NULL, sink_thread, NULL))
			die("no thread");
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

/* ---- the client */

static int send_file(const char *socket, uint8_t *data, size_t size, size_t chunk)
{
	static const struct rtd_client_method load = {
		"/nrt.nmgr_v1/load",
		&nrt__load_response__descriptor,
	};
	Nrt__LoadRequest req = NRT__LOAD_REQUEST__INIT;
	Nrt__FileChunk piece = NRT__FILE_CHUNK__INIT;
	struct rtd_client *client;
	struct rtd_client_call *call;
	ProtobufCMessage *answer;
	double begun, taken;
	char target[256];
	int err;

	snprintf(target, sizeof(target), "unix:%s", socket);
	client = rtd_client_new(target);
	call = client ? rtd_client_stream(client, &load) : NULL;
	if (!call)
		die("no call");
	req.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_SIZE;
	req.neff_size = size;
	begun = now();
	err = rtd_client_write(call, &req.base);
	req.content_case = NRT__LOAD_REQUEST__CONTENT_NEFF_CHUNK;
	req.neff_chunk = &piece;
	for (size_t at = 0; !err && at < size; at += piece.chunk.len) {
		piece.chunk.data = data + at;
		piece.chunk.len = size - at < chunk ? size - at : chunk;
		err = rtd_client_write(call, &req.base);
	}
	answer = rtd_client_finish(call);
	taken = now() - begun;
	if (err || !answer)
		die("the stream broke");
	printf("seconds %.3f\n", taken);
	protobuf_c_message_free_unpacked(answer, NULL);
	rtd_client_free(client);
	return 0;
}

/* ---- the socket alone */

static int drain(int fd, size_t chunk)
{
	char *buf = malloc(chunk);

	if (!buf)
		return 1;
	while (read(fd, buf, chunk) > 0)
		;
	free(buf);
	return 0;
}

static int plain(const uint8_t *data, size_t size, size_t chunk)
{
	double begun = now();
	int fd[2], status;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) || (child = fork()) < 0)
		die("no child");
	if (!child) {
		close(fd[0]);
		_exit(drain(fd[1], chunk));
	}
	close(fd[1]);
	for (size_t at = 0; at < size;) {
		ssize_t n = write(fd[0], data + at, size - at < chunk ? size - at : chunk);

		if (n <= 0)
			die("cannot write");
		at += (size_t)n;
	}
	close(fd[0]);
	if (waitpid(child, &status, 0) != child || status)
		die("the reader failed");
	printf("seconds %.3f\n", now() - begun);
	return 0;
}

int main(int argc, char **argv)
{
	bool to_server = argc == 5 && !strcmp(argv[1], "send");
	size_t size, chunk;
	struct stat st;
	uint8_t *data;
	int fd;

	if (argc == 3 && !strcmp(argv[1], "sink")) {
		grpc_init();
		return serve(argv[2]);
	}
	if (!to_server && (argc != 4 || strcmp(argv[1], "plain") != 0))
		die("usage: bench-upload sink SOCKET | send SOCKET FILE CHUNK | plain FILE CHUNK");
	fd = open(argv[argc - 2], O_RDONLY | O_CLOEXEC);
	chunk = strtoull(argv[argc - 1], NULL, 0);
	if (fd < 0 || fstat(fd, &st) || !st.st_size || !chunk)
		die("no file, or chunks of no bytes");
	size = (size_t)st.st_size;
	/* read before the clock runs */
	data = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	if (data == MAP_FAILED)
		die("no memory");
	return to_server ? send_file(argv[2], data, size, chunk) : plain(data, size, chunk);
}
