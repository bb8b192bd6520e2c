/* SPDX-License-Identifier: MIT */
/*
 * The gRPC core's servers: one for each user, so that each user has a resource quota. Messages that
 * have not arrived completely are in the core's hands and on no account. The core ends calls that
 * go beyond a quota, and it cannot tell users apart within one. All servers share one completion
 * queue. Private to the gRPC layer.
 */
#ifndef RTD_GATE_H
#define RTD_GATE_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stdint.h>

#include "peer.h"

struct rtd_gates;

/*
 * user and total: bytes of all messages of one user, and of all users. Returns NULL if memory is
 * out.
 */
struct rtd_gates *rtd_gates_new(grpc_completion_queue *cq, uint64_t user, uint64_t total);
void rtd_gates_free(struct rtd_gates *gates); /* after each server was shut down */
/*
 * The server of a user (NULL: of the clients over TCP). If it is new, fresh is set, and the caller
 * starts it.
 */
grpc_server *rtd_gates_find(struct rtd_gates *gates, const struct rtd_peer *peer, bool *fresh);
/* Shuts all servers down, each with this tag, and returns how many there are. */
unsigned int rtd_gates_shutdown(struct rtd_gates *gates, void *tag);

#endif
