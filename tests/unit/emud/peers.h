/* SPDX-License-Identifier: MIT */
/*
 * A server of its own for each test, and processes that are its clients. The test's own process
 * uses no chip, so that it can fork; what a peer does it does in its own process, and speaks of
 * with its maker by single bytes.
 */
#ifndef EMUD_PEERS_H
#define EMUD_PEERS_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check_main.h"
#include "ndlx.h"

extern const char *peers_server; /* the program, which the test's own argument names */
extern char peers_socket[128], peers_machine[140]; /* its socket, as a path and as NEURON_EMU */

/* In a peer, where Check's own would go on as the test */
#define MUST(condition)                                                                     \
	do {                                                                                \
		if (!(condition)) {                                                         \
			fprintf(stderr, "%s:%d: peer %d: not so: %s\n", __FILE__, __LINE__, \
				getpid(), #condition);                                      \
			_exit(1);                                                           \
		}                                                                           \
	} while (0)
#define MUST_BE(call, value)                                                                 \
	do {                                                                                 \
		long long got_ = (call);                                                     \
		if (got_ != (value)) {                                                       \
			fprintf(stderr, "%s:%d: peer %d: %s is %lld and not %s\n", __FILE__, \
				__LINE__, getpid(), #call, got_, #value);                    \
			_exit(1);                                                            \
		}                                                                            \
	} while (0)

struct peer {
	pid_t pid;
	int fd; /* a byte either way */
};

/* Starts the server and waits until it listens; its arguments beside the socket's end with NULL. */
pid_t server_start(const char *const *args);
/* Ends it by a signal, and returns what waitpid() says. */
int server_end(pid_t server, int sig);

typedef void peer_main(int fd, const void *arg);
struct peer peer_start(peer_main *main, const void *arg);
void say(int fd, char what);
/* The next byte; 0: the other has ended */
char hear(int fd);
int peer_wait(struct peer *peer); /* what waitpid() says */

/* In a peer */
ndlx_device_t *peer_open(int index);
uint64_t peer_memory(ndlx_device_t *dev, uint64_t size, bool host, uint64_t *pa);

#endif
