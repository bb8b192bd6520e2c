/* SPDX-License-Identifier: MIT */
/*
 * The unix connections by descriptor: whose they are, and how many a user may have. Private to the
 * gRPC layer. The core does not tell when it has closed a descriptor; its inode does.
 */
#ifndef RTD_CONN_H
#define RTD_CONN_H

#include "peer.h"

struct rtd_conns;

int rtd_conns_new(struct rtd_conns **conns);
void rtd_conns_free(struct rtd_conns *conns);
/* Remember a new connection; takes peer's groups. 0, or -EMFILE: too many, of this user or in all */
int rtd_conns_add(struct rtd_conns *conns, int fd, const struct rtd_peer *peer);
/* The client behind a call's peer name ("fd:N"), with its own copy of the groups; else not local */
void rtd_conns_find(struct rtd_conns *conns, const char *name, struct rtd_peer *peer);
/* End every connection, TCP's too, whatever is under way on it; when no more are made */
void rtd_conns_cut(struct rtd_conns *conns);

#endif
