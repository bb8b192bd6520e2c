/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: the chip's place in the fabric. link.c is how it reaches neighbours;
 * end.c is what neighbours reach of it.
 */
#ifndef NCORE_LINK_H
#define NCORE_LINK_H

#include "fabric.h"

struct ncore_chip *ncore_chip_of(struct ncore_end *end);
void ncore_link_detach(struct ncore_chip *chip);
/* chip->up changed: tells the neighbours, and accesses of theirs in flight are over on return */
void ncore_link_sync(struct ncore_chip *chip);
void ncore_link_lock(struct ncore_chip *chip); /* for reading; not nested */
void ncore_link_unlock(struct ncore_chip *chip);
/* the other end of a port, or NULL; the lock is held */
struct ncore_end *ncore_link_peer(struct ncore_chip *chip, unsigned int port);
/*
 * The chip that drivers number index, or behind those of its instance the next instances' chips,
 * however far; NULL: no way leads there. *port: the first of the way
 */
struct ncore_end *ncore_link_far(struct ncore_chip *chip, unsigned int index, unsigned int *port,
				 unsigned int *links);

int ncore_end_attach(struct ncore_chip *chip); /* end.c: 0 or -errno, as ncore_fabric_attach() */

#endif
