/* SPDX-License-Identifier: MIT */
/*
 * The daemon's unix sockets. Each is made under a temporary name, opened to every user, set to
 * listen, and only then renamed to where clients look, so a socket that can be seen can be
 * connected to. A socket left by a dead daemon is replaced, a live daemon's is not. Owned by
 * main.c.
 */
#ifndef RTD_LISTEN_H
#define RTD_LISTEN_H

struct rtd_server;

/*
 * Makes a listening, non-blocking socket at path. Returns the descriptor, or -errno (-EADDRINUSE: a
 * live daemon).
 */
int rtd_listen_open(const char *path);
/*
 * Accepts the connections that wait and adds them to the server, until it has refused so many.
 * Returns 0 or -errno (-EMFILE: try again later).
 */
int rtd_listen_accept(int fd, unsigned int refusals, struct rtd_server *server);
/* Closes the socket and removes the path, if it still is this socket */
void rtd_listen_close(int fd, const char *path);
/*
 * Is this descriptor, which an init system passed, a unix stream socket that listens at a path?
 * Then it is made non-blocking and *path, of RTD_LISTEN_PATH bytes, is set. Returns 0 or -errno.
 */
#define RTD_LISTEN_PATH 109
int rtd_listen_passed(int fd, char *path);

#endif
