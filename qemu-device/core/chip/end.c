/* SPDX-License-Identifier: MIT */
/*
 * The chip as the end of a link: what a neighbour may ask of it, and its own ports. The fabric
 * calls the operations with its lock held, from strands of other chips.
 */
#include "event.h"
#include "guard.h"
#include "link.h"
#include "word.h"

static bool link_up(struct ncore_end *end)
{
	return atomic_load(&ncore_chip_of(end)->up);
}

/* Two ports have faults of their own; link-down names any port. */
static bool link_port_up(struct ncore_end *end, unsigned int port)
{
	static const uint32_t named[] = { NCORE_FAULT_BIT(LINK_EAST_DOWN),
					  NCORE_FAULT_BIT(LINK_WEST_DOWN) };
	struct ncore_chip *chip = ncore_chip_of(end);
	uint32_t down;

	if (port < sizeof(named) / sizeof(named[0]) && ncore_fault_injected(chip, named[port]))
		return false;
	return !ncore_fault_injected(chip, NCORE_FAULT_BIT(LINK_DOWN)) ||
	       !ncore_fault_value(chip, NCORE_FAULT_LINK_DOWN, &down) || !(down >> port & 1);
}

static void link_links(struct ncore_end *end, uint32_t up)
{
	struct ncore_chip *chip = ncore_chip_of(end);
	uint32_t changed = ncore_load(&chip->links) ^ up;
	unsigned int port;

	ncore_store(&chip->links, up);
	for (port = 0; port < end->ports; port++)
		if (changed >> port & 1)
			ncore_event(chip, NCORE_EV_LINK, end->slot, port, up >> port & 1, 0);
}

static int link_route(struct ncore_end *end, uint64_t addr, struct ncore_ep *ep)
{
	return ncore_route_local(ncore_chip_of(end), addr, ep);
}

static uint32_t link_word_read(struct ncore_end *end, uint64_t addr)
{
	return ncore_word_read(ncore_chip_of(end), addr);
}

/* Only semaphores and events can be written: a doorbell would have to wait for chip->lock. */
static int link_word_write(struct ncore_end *end, uint64_t addr, uint32_t value, uint64_t time)
{
	struct ncore_chip *chip = ncore_chip_of(end);

	return ncore_core_word(chip, addr) < 0
		       ? ncore_topsp_word_write(chip, addr, value, time, NCORE_BY_OTHERS)
		       : ncore_core_word_post(chip, addr, value, time);
}

static bool link_granted(struct ncore_end *end, uint8_t domain, const struct ncore_ep *ep)
{
	return ncore_guard_memory(ncore_chip_of(end), domain, ep->core);
}

static bool link_word_granted(struct ncore_end *end, uint8_t domain, uint64_t addr)
{
	return ncore_guard_word(ncore_chip_of(end), domain, addr);
}

static const struct ncore_end_ops chip_ops = {
	.up = link_up,
	.port_up = link_port_up,
	.links = link_links,
	.route = link_route,
	.word_read = link_word_read,
	.word_write = link_word_write,
	.granted = link_granted,
	.word_granted = link_word_granted,
};

int ncore_end_attach(struct ncore_chip *chip)
{
	chip->end.ops = &chip_ops;
	chip->end.slot = chip->cfg.slot;
	chip->end.ports = chip->gen->window.ports;
	chip->own_window = neuron_gen_far_window(chip->gen, chip->cfg.slot - chip->cfg.first);
	return chip->cfg.fabric ? ncore_fabric_attach(chip->cfg.fabric, &chip->end) : 0;
}
