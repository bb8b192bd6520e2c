/* SPDX-License-Identifier: MIT */
/*
 * Who is at the other end of a connection, and which files that client may name.
 *
 * A path is opened with the client's own identity: the opening thread takes the client's
 * supplementary groups, fsgid and fsuid (these are per thread in Linux, and libc's wrappers that
 * would spread them to all threads are avoided), opens, and restores its own. So directory search
 * permission, ACLs and security modules decide as they would for the client. A daemon without the
 * privilege to do this opens paths for its own uid alone.
 */
#ifndef RTD_PEER_H
#define RTD_PEER_H

#include <stdbool.h>
#include <sys/types.h>

#define RTD_PEER_GROUPS 256 /* a client in more groups is judged by its first 256 */

struct rtd_peer {
	bool local; /* a unix socket: the kernel vouches for pid, uid and gid */
	pid_t pid; /* 0: a process in another PID namespace */
	uid_t uid;
	gid_t gid;
	unsigned int ngroups;
	gid_t *groups;
};

/* Reads a connected unix socket's credentials. Returns 0 or -errno; peer->groups is malloc'ed. */
int rtd_peer_read(int fd, struct rtd_peer *peer);
/* True if a may use b's cookies and shared memory */
bool rtd_peer_same(const struct rtd_peer *a, const struct rtd_peer *b);
/* Root and the daemon's own user may do everything: they could end the daemon anyway. */
bool rtd_peer_rules(const struct rtd_peer *peer);
/*
 * rtd_path_open() with the client's identity: a regular file's descriptor, or -errno (-EACCES: a
 * TCP client)
 */
int rtd_peer_open(const struct rtd_peer *peer, const char *path, int flags);

#endif
