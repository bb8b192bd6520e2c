/* SPDX-License-Identifier: MIT */
/*
 * The core's servers: one for each user, so that each has a resource quota of its own. Messages
 * that have not come whole are in the core's hands and on no account; what goes beyond its user's
 * quota the core ends, and it cannot tell users apart. All share one completion queue. Private to
 * the gRPC layer.
 */
#ifndef RTD_GATE_H
#define RTD_GATE_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer.h"

struct rtd_gates;

/* user and total: bytes of all messages of one user, and of all users. NULL: no memory */
struct rtd_gates *rtd_gates_new(grpc_completion_queue *cq, uint64_t user, uint64_t total);
void rtd_gates_free(struct rtd_gates *gates); /* after each was shut down */
/* The server of a user (NULL: of the clients over TCP). If it is new, fresh is set: start it */
grpc_server *rtd_gates_find(struct rtd_gates *gates, const struct rtd_peer *peer, bool *fresh);
/* Shut all down, each with this tag. How many there are */
unsigned int rtd_gates_shutdown(struct rtd_gates *gates, void *tag);

#endif
