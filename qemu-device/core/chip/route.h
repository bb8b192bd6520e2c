/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: endpoints behind 64-bit device addresses, which may be the host's or
 * a neighbour's (route.c).
 */
#ifndef NCORE_ROUTE_H
#define NCORE_ROUTE_H

#include "chip.h"

static inline bool ncore_is_host(const struct ncore_chip *chip, uint64_t addr)
{
	return (addr & chip->gen->window.mask) == chip->gen->window.host;
}

/* Is the endpoint reached through a port? */
static inline bool ncore_is_remote(const struct ncore_chip *chip, uint64_t addr)
{
	uint64_t window = addr & chip->gen->window.mask;

	return window && window != chip->gen->window.host && window != chip->own_window;
}

/* Any address; the fabric's lock is held when it names a neighbour's window. 0 or -EFAULT */
int ncore_route(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep);
/* host and local windows only; for rings, notification queues */
int ncore_route_own(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep);
/* MEM and HOST endpoints; 0 or -EFAULT */
int ncore_ep_rw(struct ncore_chip *chip, const struct ncore_ep *ep, void *buf, uint64_t len,
		bool write);

#endif
