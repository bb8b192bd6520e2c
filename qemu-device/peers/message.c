/* SPDX-License-Identifier: MIT */
/* Packets with a file descriptor in them */
#include "peers_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr header; /* for its alignment */
	char bytes[CMSG_SPACE(sizeof(int))];
};

int peers_send(int socket, const struct peers_message *message, int fd)
{
	struct iovec part = { (void *)message, sizeof(*message) };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	union control control = { 0 };

	if (fd >= 0) {
		struct cmsghdr *c = &control.header;

		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(socket, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The one descriptor that came, or -1; those of a message with more are closed, and it is false */
static bool one_descriptor(struct msghdr *msg, int *fd)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	size_t n, i;

	*fd = -1;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return true;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(*fd);
	for (i = 0; i < n; i++) {
		memcpy(fd, CMSG_DATA(c) + i * sizeof(*fd), sizeof(*fd));
		if (n > 1)
			close(*fd);
	}
	if (n > 1)
		*fd = -1;
	return n <= 1;
}

int peers_receive(int socket, struct peers_message *message, int *fd)
{
	struct iovec part = { message, sizeof(*message) };
	union control control = { 0 };
	struct msghdr msg = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t n;

	*fd = -1;
	n = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n <= 0)
		return n ? -errno : 0;
	if (one_descriptor(&msg, fd) && n == sizeof(*message) &&
	    !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return -EBADMSG;
}
