// SPDX-License-Identifier: MIT
/* Credentials of a connection, and opening files with them */
#include "peer.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "path.h"

static int peer_groups(int fd, struct rtd_peer *peer)
{
	socklen_t len = RTD_PEER_GROUPS * sizeof(gid_t);
	gid_t *groups = malloc(len);

	if (!groups)
		return -ENOMEM;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len)) {
		/* having fewer groups can only take rights away from the client */
		free(groups);
		return 0;
	}
	peer->groups = groups;
	peer->ngroups = len / sizeof(gid_t);
	return 0;
}

int rtd_peer_read(int fd, struct rtd_peer *peer)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	memset(peer, 0, sizeof(*peer));
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	peer->local = true;
	peer->pid = cred.pid;
	peer->uid = cred.uid;
	peer->gid = cred.gid;
	return peer_groups(fd, peer);
}

bool rtd_peer_same(const struct rtd_peer *a, const struct rtd_peer *b)
{
	return a->local == b->local && (!a->local || a->uid == b->uid);
}

bool rtd_peer_rules(const struct rtd_peer *peer)
{
	return peer->local && (!peer->uid || peer->uid == geteuid());
}

static bool become(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return setfsgid(-1) == (int)gid && setfsuid(-1) == (int)uid;
}

int rtd_peer_open(const struct rtd_peer *peer, const char *path, int flags)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int own, fd = -EACCES;
	gid_t *groups;

	if (!peer->local)
		return -EACCES;
	if (peer->uid == uid)
		return rtd_path_open(path, flags);

	own = getgroups(0, NULL);
	if (own < 0)
		return -errno;
	groups = calloc(own + 1, sizeof(gid_t));
	if (!groups)
		return -ENOMEM;
	own = getgroups(own, groups);
	if (own >= 0 && !syscall(SYS_setgroups, peer->ngroups, peer->groups)) {
		if (become(peer->uid, peer->gid))
			fd = rtd_path_open(path, flags);
		if (!become(uid, gid) || syscall(SYS_setgroups, own, groups))
			abort(); /* a thread with another identity must not go on */
	}
	free(groups);
	return fd;
}
