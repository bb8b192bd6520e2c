/* SPDX-License-Identifier: MIT */
/* Private to peers: what its processes say to each other (message.c), and its state */
#ifndef NEURON_PEERS_PRIV_H
#define NEURON_PEERS_PRIV_H

#include <pthread.h>
#include <stdbool.h>

#include "peers.h"

#define PEERS_VERSION 1
#define PEERS_NODES_MAX 4

/* A packet of the socket; what it brings as a file descriptor is said beside its kind */
enum peers_kind {
	PEERS_HELLO = 1, /* first of all: struct peers_hello's words. The pages of MISC RAM */
	PEERS_CHIP, /* chip is there. Its DRAM */
	PEERS_GONE, /* chip is no longer there */
	PEERS_WRITE, /* a word of chip: word[0] its address, [1] the value, [2] the time */
};
struct peers_message {
	uint32_t kind, chip;
	uint64_t word[4];
};
/* The words of PEERS_HELLO */
enum peers_hello { PEERS_SAYS_VERSION, PEERS_SAYS_GENERATION, PEERS_SAYS_SIZE, PEERS_SAYS_NODE };

/* fd -1: none. 0, -EAGAIN or -errno */
int peers_send(int socket, const struct peers_message *message, int fd);
/* *fd: what came with it, or -1. 1, 0 when the peer has ended, -EAGAIN or -errno */
int peers_receive(int socket, struct peers_message *message, int *fd);

/* Another node, or somebody who has not said yet which one */
struct peer {
	int socket; /* -1: it is not there; changed under peers->lock */
	bool known; /* has said hello */
	uint64_t since; /* ms, when it was connected */
	const _Atomic uint32_t *pages;
	void *dram[PEERS_CHIPS_MAX];
	bool waits; /* a write of its that the chip could not take yet */
	struct peers_message waiting;
};

struct peers {
	struct peers_config cfg;
	char path[100]; /* cfg.path's */
	int listening, wake, pages_fd;
	_Atomic uint32_t *pages;
	pthread_t thread;
	_Atomic bool stop;
	pthread_mutex_t lock; /* sockets, as writes of others see them; behind the fabric's */
	pthread_mutex_t chips_lock; /* chip[], as the thread sees it; taken before the fabric's */
	struct ncore_chip *chip[PEERS_CHIPS_MAX];
	struct peer peer[PEERS_NODES_MAX]; /* by node; this one's is not used */
	struct peer guest; /* accepted, and not known yet */
	struct ncore_foreign *foreign[PEERS_NODES_MAX * PEERS_CHIPS_MAX];
};

#endif
