// SPDX-License-Identifier: MIT
/*
 * The table of connections. An entry needs no generation: a call keeps its transport and so its
 * descriptor while it lives, hence "fd:N" cannot mean a newer connection then. One lock protects
 * all of it; no other lock is taken under it.
 */
#include "conn.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "descriptors.h"

#define MAX_CONNECTIONS 256 /* of one user other than root */

struct conn {
	struct rtd_peer peer;
	ino_t ino; /* of the socket; 0: an unused entry */
	int next; /* that waits, after this one */
};

struct rtd_conns {
	pthread_mutex_t lock;
	unsigned int max; /* descriptors */
	unsigned int total, user; /* limits of connections; root may have more */
	int first, last; /* that wait (rtd_conns_next), if first is not -1 */
	struct conn table[];
};

int rtd_conns_new(struct rtd_conns **out)
{
	struct rtd_descriptors descriptors;
	struct rtd_conns *conns;
	int err = rtd_descriptors_get(&descriptors);

	if (err)
		return err;
	conns = calloc(1, sizeof(*conns) + descriptors.limit * sizeof(conns->table[0]));
	if (!conns)
		return -ENOMEM;
	conns->max = descriptors.limit;
	conns->total = descriptors.total;
	conns->user = descriptors.user < MAX_CONNECTIONS ? descriptors.user : MAX_CONNECTIONS;
	conns->first = -1;
	pthread_mutex_init(&conns->lock, NULL);
	*out = conns;
	return 0;
}

void rtd_conns_free(struct rtd_conns *conns)
{
	if (!conns)
		return;
	for (unsigned int fd = 0; fd < conns->max; fd++)
		free(conns->table[fd].peer.groups);
	pthread_mutex_destroy(&conns->lock);
	free(conns);
}

/* With the lock held: is there room for one more connection of this user? */
static bool conns_fit(struct rtd_conns *conns, uid_t uid)
{
	unsigned int total = 0, user = 0;
	struct stat st;

	for (unsigned int fd = 0; fd < conns->max; fd++) {
		struct conn *conn = &conns->table[fd];

		if (!conn->ino)
			continue;
		if (fstat(fd, &st) || st.st_ino != conn->ino) {
			conn->ino = 0;
			continue;
		}
		total++;
		user += conn->peer.uid == uid;
	}
	return total < conns->total && user < conns->user;
}

int rtd_conns_add(struct rtd_conns *conns, int fd, const struct rtd_peer *peer)
{
	struct conn *conn;
	struct stat st;
	int err = -EMFILE;

	pthread_mutex_lock(&conns->lock);
	/* an operator gets in as long as there is a descriptor at all */
	if ((unsigned int)fd < conns->max && !fstat(fd, &st) &&
	    (!peer->uid || conns_fit(conns, peer->uid))) {
		conn = &conns->table[fd];
		free(conn->peer.groups);
		conn->peer = *peer;
		conn->ino = st.st_ino;
		conn->next = -1;
		*(conns->first < 0 ? &conns->first : &conns->table[conns->last].next) = fd;
		conns->last = fd;
		err = 0;
	}
	pthread_mutex_unlock(&conns->lock);
	return err;
}

int rtd_conns_next(struct rtd_conns *conns, const struct rtd_peer **peer)
{
	int fd;

	pthread_mutex_lock(&conns->lock);
	fd = conns->first;
	if (fd >= 0) {
		conns->first = conns->table[fd].next;
		*peer = &conns->table[fd].peer;
	}
	pthread_mutex_unlock(&conns->lock);
	return fd;
}

/* A connection that the core accepted by itself is no unix socket. */
static bool is_tcp(int fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	return !getpeername(fd, (struct sockaddr *)&address, &size) &&
	       (address.ss_family == AF_INET || address.ss_family == AF_INET6);
}

void rtd_conns_cut(struct rtd_conns *conns)
{
	struct stat st;

	pthread_mutex_lock(&conns->lock);
	for (unsigned int fd = 0; fd < conns->max; fd++) {
		ino_t ino = conns->table[fd].ino;

		if (ino ? !fstat(fd, &st) && st.st_ino == ino : is_tcp(fd))
			shutdown(fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&conns->lock);
}

void rtd_conns_find(struct rtd_conns *conns, const char *name, struct rtd_peer *peer)
{
	const struct rtd_peer *from;
	unsigned long fd;
	size_t size;
	char *end;

	memset(peer, 0, sizeof(*peer));
	if (!name || strncmp(name, "fd:", 3) != 0)
		return;
	fd = strtoul(name + 3, &end, 10);
	if (end == name + 3 || fd >= conns->max)
		return;
	pthread_mutex_lock(&conns->lock);
	from = &conns->table[fd].peer;
	if (conns->table[fd].ino) {
		*peer = *from;
		size = from->ngroups * sizeof(gid_t);
		peer->groups = size ? malloc(size) : NULL;
		if (peer->groups)
			memcpy(peer->groups, from->groups, size);
		else
			peer->ngroups = 0;
	}
	pthread_mutex_unlock(&conns->lock);
}
