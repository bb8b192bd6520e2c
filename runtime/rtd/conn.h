/* SPDX-License-Identifier: MIT */
/*
 * The unix connections by descriptor: to whom they belong, and how many a user may have. Private to
 * the gRPC layer. The core does not report when it has closed a descriptor; a different inode shows
 * it.
 */
#ifndef RTD_CONN_H
#define RTD_CONN_H

#include "peer.h"

struct rtd_conns;

int rtd_conns_new(struct rtd_conns **conns);
void rtd_conns_free(struct rtd_conns *conns);
/*
 * Remembers a new connection, which waits for rtd_conns_next, and takes peer's groups. Returns 0,
 * or -EMFILE if there are too many of this user or in all.
 */
int rtd_conns_add(struct rtd_conns *conns, int fd, const struct rtd_peer *peer);
/*
 * The descriptor of the connection that has waited longest, -1 if none waits. The peer is the
 * table's, while the descriptor is open.
 */
int rtd_conns_next(struct rtd_conns *conns, const struct rtd_peer **peer);
/*
 * Finds the client behind a call's peer name ("fd:N"), with its own copy of the groups; other names
 * are not local.
 */
void rtd_conns_find(struct rtd_conns *conns, const char *name, struct rtd_peer *peer);
/*
 * Ends every connection, TCP's too, with the calls in progress on it, when no more connections are
 * made.
 */
void rtd_conns_cut(struct rtd_conns *conns);

#endif
