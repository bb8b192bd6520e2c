/* SPDX-License-Identifier: MIT */
/* libndl's node backend: opening nodes, and their ioctls */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "node.h"

int node_ioctl(int fd, unsigned long request, void *arg)
{
	int ret = node_refused(request);

	if (ret)
		return ret;
	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR && request != NEURON_IOCTL_NC_RESET_READY);
	if (ret < 0)
		return -errno;
	return ret > 0 ? -EFAULT : 0;
}

int node_open(int index, int flags)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/neuron%d", index);
	fd = open(path, flags | O_CLOEXEC);
	if (fd >= 0) {
		node_level_read();
		return fd;
	}
	return errno == ENOENT ? -ENODEV : -errno;
}
