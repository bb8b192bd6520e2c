// SPDX-License-Identifier: MIT
/* Finds who listens at a socket: anyone who may connect can ask the kernel. */
#include "host.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int ls_host_listener(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		return 0;
	strcpy(addr.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		peer.pid = 0;
	close(fd);
	return peer.pid;
}
