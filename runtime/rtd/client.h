/* SPDX-License-Identifier: MIT */
/*
 * A blocking client of neuron-rtd on the gRPC C core, for the project's own tools. A client has one
 * completion queue; one thread at a time starts and finishes calls.
 */
#ifndef RTD_CLIENT_H
#define RTD_CLIENT_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

struct rtd_client;
struct rtd_client_call;

/* $NEURON_RTD_ADDRESS or unix:/run/neuron.sock */
const char *rtd_client_default_address(void);
/*
 * A bare path stands for unix:PATH. Returns NULL only if memory is out; nothing is connected yet.
 */
struct rtd_client *rtd_client_new(const char *address);
void rtd_client_free(struct rtd_client *client);

/*
 * The reason why the last call failed: "UNAVAILABLE: ..." or "no answer". Valid until the next
 * call.
 */
const char *rtd_client_error(const struct rtd_client *client);

struct rtd_client_method {
	const char *path; /* for example "/nrt.nmgr_v1/start" */
	const ProtobufCMessageDescriptor *response;
};

/*
 * One unary call. Returns the answer, to be freed with protobuf_c_message_free_unpacked, or NULL
 * (see rtd_client_error). timeout_ms 0: no deadline.
 */
ProtobufCMessage *rtd_client_call(struct rtd_client *client, const struct rtd_client_method *method,
				  const ProtobufCMessage *request, unsigned int timeout_ms);

/* Unary calls in parallel: start does not wait, next waits for any of them to finish. */
int rtd_client_start(struct rtd_client *client, const struct rtd_client_method *method,
		     const ProtobufCMessage *request, unsigned int timeout_ms, void *data);
/*
 * Returns the next answer in *response (NULL: the call failed) and its data; false if no call is in
 * progress.
 */
bool rtd_client_next(struct rtd_client *client, ProtobufCMessage **response, void **data);

/* A client stream: begin, write many messages, end with the answer */
struct rtd_client_call *rtd_client_stream(struct rtd_client *client,
					  const struct rtd_client_method *method);
int rtd_client_write(struct rtd_client_call *call, const ProtobufCMessage *message);
ProtobufCMessage *rtd_client_finish(struct rtd_client_call *call); /* frees the call */

#endif
