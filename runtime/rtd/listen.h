/* SPDX-License-Identifier: MIT */
/*
 * The daemon's own unix sockets: made under a temporary name, opened to every user, listening, and
 * only then renamed to where clients look; so a socket that can be seen can be connected to. A
 * socket left by a dead daemon is replaced, a live one's is not. Owned by main.c.
 */
#ifndef RTD_LISTEN_H
#define RTD_LISTEN_H

struct rtd_server;

/* A listening, non-blocking socket at path: the descriptor, or -errno (-EADDRINUSE: a live daemon) */
int rtd_listen_open(const char *path);
/* Accept what waits and hand it to the server. 0 or -errno (-EMFILE: try again later) */
int rtd_listen_accept(int fd, struct rtd_server *server);
void rtd_listen_close(int fd, const char *path); /* and remove the path, if it is still ours */

#endif
