/* SPDX-License-Identifier: MIT */
/*
 * Private to neuron-emud: a server of the chips of one instance. The main thread (server.c) accepts
 * connections and sees them end; each process is a client (client.c), whose channels have a thread
 * each; what a call does is in serve.c, and whose everything is in libndl's emu backend.
 *
 * The main thread waits for no client: it sends what fits, and leaves it to a thread of its own to
 * take a client's things back.
 */
#ifndef EMUD_H
#define EMUD_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "emu.h"
#include "wire.h"

#define EMUD_CLIENTS (EMU_OWN - 1)
#define EMUD_OF_A_USER 192 /* of one uid, so that another finds a place */

struct emud_client;

struct emud_channel {
	struct emud_client *client;
	struct wire_channel *shared; /* the client may write anything there at any time */
	uint8_t *data;
	void *copy; /* of data that is looked at before it is used; WIRE_DATA bytes */
	pthread_t thread;
	bool started;
	/* the core that the client lent to the thread */
	bool lent;
	struct ncore_chip *lent_chip;
	uint32_t lent_core;
};

struct emud_client {
	struct emu_machine *machine;
	int fd; /* the socket */
	int memory; /* the file */
	pid_t pid;
	uid_t uid;
	uint8_t user;
	uint8_t *base; /* of the file */
	atomic_bool stop; /* its threads shall end */
	pthread_rwlock_t lock; /* protects dev: calls hold it for reading */
	ndlx_device_t *dev[EMU_MAX_CHIPS]; /* NULL: not open */
	struct emud_channel channel[WIRE_CHANNELS];
};

/* serve.c: does what a call says; the result is in the call. */
void emud_serve(struct emud_channel *channel, struct wire_call *call);
void emud_unlend(struct emud_channel *channel);

/* client.c */
/* A process that has said hello; 0 or -errno. The socket is the client's from then on. */
int emud_client_new(struct emu_machine *m, int fd, const struct ucred *peer,
		    struct emud_client **client);
int emud_client_welcome(const struct emud_client *client);
int emud_client_channel(struct emud_client *client, uint32_t channel);
/* Stops its threads, takes everything back and frees it. */
void emud_client_free(struct emud_client *client);

/* server.c */
struct emud_server;
struct emud_server_config {
	struct emu_machine *machine;
	int listener; /* a socket that listens */
	int signals; /* a signalfd */
	/* of a signal: true ends the server */
	bool (*on_signal)(void *opaque, uint32_t signal, bool by_terminal);
	void *opaque;
};
/* Serves until a signal ends it. Returns 0 or -errno; all clients are gone then. */
int emud_server_run(const struct emud_server_config *config);

/* listen.c */
struct emud_listen {
	const char *path;
	mode_t mode;
	gid_t group; /* -1: none */
};
/* A socket that listens at the path; -EADDRINUSE if a server does. Returns it or -errno. */
int emud_listen(const struct emud_listen *at);

#endif
