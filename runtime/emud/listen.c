/* SPDX-License-Identifier: MIT */
/*
 * The socket. It appears under its name when it listens and has its mode, so that who sees it can
 * connect; one that a server left behind is taken away.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "emud.h"

#define BACKLOG 128

static int socket_new(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 ? -errno : fd;
}

static int address(struct sockaddr_un *sun, const char *path, const char *suffix)
{
	*sun = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return (size_t)snprintf(sun->sun_path, sizeof(sun->sun_path), "%s%s", path, suffix) <
			       sizeof(sun->sun_path)
		       ? 0
		       : -ENAMETOOLONG;
}

/* Is the name free to take? Nothing is there, or a socket that nobody listens at. */
static int name_free(const char *path)
{
	struct sockaddr_un sun;
	struct stat st;
	int fd, ret;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	ret = address(&sun, path, "");
	fd = ret ? ret : socket_new();
	if (fd < 0)
		return fd;
	ret = connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) && errno == ECONNREFUSED
		      ? 0
		      : -EADDRINUSE;
	close(fd);
	return ret;
}

static int bind_at(int fd, const struct emud_listen *at)
{
	struct sockaddr_un sun;
	mode_t before;
	int ret = address(&sun, at->path, ".new");

	if (ret)
		return ret;
	unlink(sun.sun_path);
	before = umask(0777);
	ret = bind(fd, (const struct sockaddr *)&sun, sizeof(sun)) ? -errno : 0;
	umask(before);
	if (ret)
		return ret;
	if (listen(fd, BACKLOG) ||
	    (at->group != (gid_t)-1 && chown(sun.sun_path, (uid_t)-1, at->group)) ||
	    chmod(sun.sun_path, at->mode) || rename(sun.sun_path, at->path)) {
		ret = -errno;
		unlink(sun.sun_path);
	}
	return ret;
}

int emud_listen(const struct emud_listen *at)
{
	int ret = name_free(at->path), fd;

	if (ret)
		return ret;
	fd = socket_new();
	if (fd < 0)
		return fd;
	ret = bind_at(fd, at);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}
