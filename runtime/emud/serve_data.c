/* SPDX-License-Identifier: MIT */
/* A call's data, and the files that go beside its answer */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"

void *emud_data_copy(const struct serve *s, uint64_t size)
{
	struct emud_channel *ch = s->channel;

	if (size > WIRE_DATA)
		return NULL;
	if (!ch->copy)
		ch->copy = malloc(WIRE_DATA);
	if (ch->copy)
		memcpy(ch->copy, ch->data, size);
	return ch->copy;
}

void emud_data_out(const struct serve *s, const void *p, size_t size)
{
	memcpy(s->channel->data, p, size);
}

int emud_send_file(const struct serve *s, int fd)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	return sendmsg(s->channel->client->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
