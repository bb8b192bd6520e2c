/* SPDX-License-Identifier: MIT */
/*
 * gRPC on the C core: completion-queue threads, one small state machine for each call, a table of
 * methods. Owns the grpc_server; knows nothing of groups or models. main.c starts and stops it,
 * methods.c gives the table, the handlers reply through the functions here.
 *
 * Threads: handlers of a call run one at a time, on a completion-queue thread or, for methods
 * marked blocking, on a thread of the work pool. Replies may come from any thread, once.
 */
#ifndef RTD_SERVER_H
#define RTD_SERVER_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "peer.h"
#include "quota.h"

struct rtd;
struct rtd_call;
struct rtd_server;

enum rtd_method_kind { RTD_UNARY, RTD_CLIENT_STREAM, RTD_BIDI };

struct rtd_method {
	const char *path;
	enum rtd_method_kind kind;
	bool blocking; /* message (unary) or end (client stream) runs in the work pool */
	/*
	 * unary: the call begins when its request is there, which costs less, and is never told
	 * that its client has gone
	 */
	bool whole;
	const ProtobufCMessageDescriptor *request;
	/* streams: called when the call begins; user data is set by rtd_call_set_data */
	void (*open)(struct rtd_call *call);
	/*
	 * unary: the request, which lives as long as the call; streams: one message, which lives
	 * during this function
	 */
	void (*message)(struct rtd_call *call, const ProtobufCMessage *message);
	/*
	 * called instead of message if a message does not fit: it answers or reads on; NULL: the
	 * call ends
	 */
	void (*refused)(struct rtd_call *call);
	/*
	 * streams: called instead of message for one that is nothing but the bytes of field
	 * outer.inner: says where they are copied to, without a detour; NULL: nowhere. The next
	 * message is read after that.
	 */
	void *(*bytes)(struct rtd_call *call, size_t size);
	uint8_t outer, inner; /* 1 to 15 */
	/* streams: called when the client has half-closed; it answers */
	void (*end)(struct rtd_call *call);
	/* streams: called last, when the call is over (answered or broken); frees the data */
	void (*closed)(struct rtd_call *call);
};

struct rtd_server_config {
	struct rtd *rtd;
	const struct rtd_method *methods;
	unsigned int nmethods;
	struct rtd_quota *quota; /* of calls in progress and their messages */
	unsigned int threads; /* completion-queue threads */
	unsigned int workers; /* threads for blocking handlers */
};

int rtd_server_new(const struct rtd_server_config *config, struct rtd_server **server);
/* Adds a TCP endpoint "host:port", before start. Returns 0 or -EADDRINUSE. */
int rtd_server_listen_tcp(struct rtd_server *server, const char *address);
int rtd_server_start(struct rtd_server *server);
/*
 * Adds a connected unix socket, which waits for rtd_server_serve; both are called by one thread,
 * after start. The server owns it and peer's groups from then on. Or returns -EMFILE: this user or
 * all have too many.
 */
int rtd_server_add(struct rtd_server *server, int fd, const struct rtd_peer *peer);
/* Serves the connection that has waited longest. Returns whether there was one. */
bool rtd_server_serve(struct rtd_server *server);
/* Cancels the calls in progress, waits for them and frees everything. */
void rtd_server_free(struct rtd_server *server);

struct rtd *rtd_call_rtd(struct rtd_call *call);
const struct rtd_peer *rtd_call_peer(struct rtd_call *call);
bool rtd_call_gone(struct rtd_call *call); /* the client will not see an answer */
const ProtobufCMessage *rtd_call_request(struct rtd_call *call); /* unary */
const char *rtd_call_method(struct rtd_call *call); /* the name after the last '/' */
void rtd_call_set_data(struct rtd_call *call, void *data);
void *rtd_call_data(struct rtd_call *call);

/*
 * Messages are on their client's account, received ones until the call ends and others until they
 * are sent. One that does not fit ends the call with the status RESOURCE_EXHAUSTED, unless the
 * method has refused(). rtd_call_reserve passes on bytes that the caller has taken for the next
 * message it sends, which therefore fits and gives them back.
 */
void rtd_call_reserve(struct rtd_call *call, uint64_t bytes);

/*
 * In a handler: what follows may take long, so another thread takes the server's events meanwhile.
 * One that takes long without it is noticed after some milliseconds.
 */
void rtd_call_hold(struct rtd_call *call);

/* Unary and client stream: sends the only answer. */
void rtd_call_reply(struct rtd_call *call, const ProtobufCMessage *message);
/* Bidi: sends one message, then reads the next incoming one; ended by rtd_call_finish. */
void rtd_call_send(struct rtd_call *call, const ProtobufCMessage *message);
void rtd_call_finish(struct rtd_call *call);
/*
 * Sends gRPC's RESOURCE_EXHAUSTED instead of an answer. In an open handler too; then no other
 * handler is called.
 */
void rtd_call_exhausted(struct rtd_call *call, const char *text);
/* Streams: reads the next message, for a message handler that does not send. */
void rtd_call_next(struct rtd_call *call);

#endif
