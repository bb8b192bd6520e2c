// SPDX-License-Identifier: MIT
/* Unix sockets with credentials */
#include "listen.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"
#include "peer.h"
#include "server.h"

#define SOCKET_MODE 0666 /* every user may connect */

static int address_of(const char *path, struct sockaddr_un *address)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	strcpy(address->sun_path, path);
	return 0;
}

/*
 * Returns 0 if no daemon listens at the path (which may be stale), -EADDRINUSE if one does or if it
 * is no socket.
 */
static int probe(const char *path)
{
	struct sockaddr_un address;
	struct stat st;
	int fd, err = address_of(path, &address);

	if (err || lstat(path, &st))
		return err;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (struct sockaddr *)&address, sizeof(address)) ? errno : 0;
	close(fd);
	return err == ECONNREFUSED || err == ENOENT ? 0 : -EADDRINUSE;
}

/*
 * The mode is set as the name is made: a chmod of the path afterwards could follow what another
 * user with write permission in the directory had put there meanwhile. The umask belongs to the
 * process, and no other thread makes files at this time.
 */
static int bind_listen(int fd, const char *temporary)
{
	struct sockaddr_un address;
	int err = address_of(temporary, &address);
	mode_t mask;

	if (err)
		return err;
	unlink(temporary);
	mask = umask(0777 & ~SOCKET_MODE);
	err = bind(fd, (struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	umask(mask);
	if (!err && listen(fd, SOMAXCONN))
		err = -errno;
	return err;
}

int rtd_listen_open(const char *path)
{
	struct sockaddr_un address;
	char temporary[sizeof(address.sun_path) + 16];
	int fd, err = probe(path);

	if (err)
		return err;
	snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = bind_listen(fd, temporary);
	if (!err && rename(temporary, path))
		err = -errno;
	if (err) {
		unlink(temporary);
		close(fd);
		return err;
	}
	return fd;
}

static int accept_one(int conn, struct rtd_server *server)
{
	struct rtd_peer peer;
	int err = rtd_peer_read(conn, &peer);

	if (err) {
		rtd_error("NRTD", "no credentials of a connection: %s", strerror(-err));
		return err;
	}
	err = rtd_server_add(server, conn, &peer);
	if (err) {
		rtd_warning("NRTD", "too many connections, refused uid %u", (unsigned int)peer.uid);
		free(peer.groups);
	}
	return err;
}

int rtd_listen_accept(int fd, unsigned int refusals, struct rtd_server *server)
{
	int conn;

	while (refusals) {
		conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (conn < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (conn < 0 && (errno == ECONNABORTED || errno == EINTR))
			continue;
		if (conn < 0)
			return -errno;
		if (!accept_one(conn, server))
			continue;
		close(conn);
		refusals--;
	}
	return 0;
}

void rtd_listen_close(int fd, const char *path)
{
	close(fd);
	/* another daemon may have taken the path meanwhile; it would answer */
	if (!probe(path))
		unlink(path);
}

int rtd_listen_passed(int fd, char *path)
{
	struct sockaddr_un address = { 0 };
	socklen_t len = sizeof(address), size = sizeof(int);
	int type = 0, listens = 0, flags = fcntl(fd, F_GETFL);

	static_assert(RTD_LISTEN_PATH > sizeof(address.sun_path), "room for the NUL");
	if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) ||
	    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) ||
	    getsockname(fd, (struct sockaddr *)&address, &len))
		return -errno;
	if (address.sun_family != AF_UNIX || type != SOCK_STREAM || !listens)
		return -EPROTONOSUPPORT;
	/* neither one without a name nor one in the abstract namespace has a path */
	if (len <= offsetof(struct sockaddr_un, sun_path) || !address.sun_path[0])
		return -EADDRNOTAVAIL;
	if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -errno;
	snprintf(path, RTD_LISTEN_PATH, "%.*s", (int)sizeof(address.sun_path), address.sun_path);
	return 0;
}
