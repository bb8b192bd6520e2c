/* SPDX-License-Identifier: MIT */
/*
 * Device addresses: what lies behind one, in the chip, in the host or in a neighbour. Every address
 * here came from a guest; a hole is -EFAULT.
 */
#include "route.h"

#include "link.h"

#include <errno.h>
#include <string.h>

/* The port whose window an address lies in; -1: in none */
static int port_of(const struct neuron_windows *w, uint64_t addr)
{
	int i;

	for (i = 0; i < w->ports; i++)
		if ((addr & w->mask) == w->port[i])
			return i;
	return -1;
}

/* The chip behind a window, which is a port's or any chip's of the instance, and the way there */
static struct ncore_end *peer_of(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep)
{
	const struct neuron_windows *w = &chip->gen->window;
	int index = -1, direct = port_of(w, addr);
	unsigned int port = (unsigned int)direct, links = 1;
	struct ncore_end *peer = NULL;

	if (direct >= 0)
		peer = ncore_link_peer(chip, port);
	else
		index = neuron_gen_far_index(chip->gen, addr & w->mask);
	if (index >= 0)
		peer = ncore_link_far(chip, (unsigned int)index, &port, &links);
	if (!peer || peer->ops->route(peer, addr & ~w->mask, ep))
		return NULL;
	ep->way = (uint8_t)(NCORE_WAY_LINK + port);
	ep->beyond = (uint8_t)(links - 1);
	return peer;
}

int ncore_route(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep)
{
	const struct neuron_windows *w = &chip->gen->window;
	uint64_t window = addr & w->mask, low = addr & ~w->mask;

	ep->beyond = 0;
	if (addr >= w->limit)
		return -EFAULT;
	if (!window || window == chip->own_window)
		return ncore_route_local(chip, low, ep);
	if (window == w->host) {
		if (low >= w->host_size)
			return -EFAULT;
		ep->kind = NCORE_EP_HOST;
		ep->way = NCORE_WAY_FREE;
		ep->end = &chip->end;
		ep->addr = low;
		ep->len = w->host_size - low;
		return 0;
	}
	return peer_of(chip, addr, ep) ? 0 : -EFAULT;
}

int ncore_route_own(struct ncore_chip *chip, uint64_t addr, struct ncore_ep *ep)
{
	return ncore_is_remote(chip, addr) ? -EFAULT : ncore_route(chip, addr, ep);
}

int ncore_ep_rw(struct ncore_chip *chip, const struct ncore_ep *ep, void *buf, uint64_t len,
		bool write)
{
	if (len > ep->len)
		return -EFAULT;
	switch (ep->kind) {
	case NCORE_EP_HOST:
		return chip->ops->dma_rw(chip->cfg.opaque, ep->addr, buf, len, write) ? -EFAULT : 0;
	case NCORE_EP_REMOTE:
		return ep->end->ops->rw(ep->end, ep, buf, len, write) ? -EFAULT : 0;
	case NCORE_EP_MEM:
		if (!write) {
			memmove(buf, ep->ptr, len);
			return 0;
		}
		ncore_mem_copy(ep->ptr, buf, len);
		ncore_mem_dirty(ncore_chip_of(ep->end), ep->mem, ep->ptr, len);
		return 0;
	default:
		return -EFAULT;
	}
}
