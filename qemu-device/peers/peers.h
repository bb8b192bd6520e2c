/* SPDX-License-Identifier: MIT */
/*
 * The other instances of an UltraServer, each a process of this host: they meet by sockets in a
 * directory, and each shows the others its chips' memories and MISC RAM, which then stand in the
 * slots of its fabric (ncore.h, foreign chips).
 *
 * Peers are strangers: one has to be of the same user, and to say the same of generation, nodes and
 * chips; the memory that it shows has to be sealed against being cut short. A peer that says
 * something else is shut out, and one that ends is as if it were not there yet.
 */
#ifndef NEURON_PEERS_H
#define NEURON_PEERS_H

#include <stdatomic.h>
#include <stdint.h>

#include "ncore.h"

#define PEERS_CHIPS_MAX 16 /* of a node */

struct peers;
struct peers_config {
	const char *path; /* a directory of this user's, in which others cannot write */
	unsigned int node, nodes;
	unsigned int chips; /* of each node; node n's are in the slots from n * chips on */
	const struct neuron_gen *gen;
	struct ncore_fabric *fabric; /* of nodes * chips slots */
	/* one line, of a peer that was refused or has gone; any thread. May be NULL */
	void (*report)(void *opaque, const char *line);
	void *opaque;
};

/* 0 or -errno, and *reason says what is wrong. A thread of its own waits for peers from then on */
int peers_new(const struct peers_config *config, struct peers **peers, const char **reason);
/* Where MISC RAM of this node's chip is shown: for ncore_chip_config */
_Atomic uint32_t *peers_page(struct peers *peers, unsigned int chip);
/* Shows a chip, whose DRAM is a file of sealed_new(). 0 or -errno */
int peers_add(struct peers *peers, unsigned int index, struct ncore_chip *chip);
void peers_remove(struct peers *peers, unsigned int index); /* before the chip is freed */
/* Takes the node's place in the directory away, as its process ends; nobody comes to it any more */
void peers_leave(struct peers *peers);
void peers_free(struct peers *peers); /* its chips have been removed */

#endif
