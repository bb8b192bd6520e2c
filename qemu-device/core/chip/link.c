/* SPDX-License-Identifier: MIT */
/* A chip's way to its neighbours through the fabric; a chip without a fabric is alone. */
#include "link.h"

#include "chip.h"

#include <stddef.h>

struct ncore_chip *ncore_chip_of(struct ncore_end *end)
{
	return (struct ncore_chip *)((char *)end - offsetof(struct ncore_chip, end));
}

void ncore_link_detach(struct ncore_chip *chip)
{
	if (chip->cfg.fabric)
		ncore_fabric_detach(chip->cfg.fabric, &chip->end);
}

void ncore_link_sync(struct ncore_chip *chip)
{
	if (chip->cfg.fabric)
		ncore_fabric_sync(chip->cfg.fabric, &chip->end);
}

void ncore_link_lock(struct ncore_chip *chip)
{
	if (chip->cfg.fabric)
		ncore_fabric_lock(chip->cfg.fabric);
}

void ncore_link_unlock(struct ncore_chip *chip)
{
	if (chip->cfg.fabric)
		ncore_fabric_unlock(chip->cfg.fabric);
}

struct ncore_end *ncore_link_peer(struct ncore_chip *chip, unsigned int port)
{
	return chip->cfg.fabric ? ncore_fabric_peer(chip->cfg.fabric, &chip->end, port) : NULL;
}

struct ncore_end *ncore_link_far(struct ncore_chip *chip, unsigned int index, unsigned int *port,
				 unsigned int *links)
{
	struct ncore_fabric *fabric = chip->cfg.fabric;

	if (!fabric || index >= ncore_fabric_slots(fabric))
		return NULL;
	return ncore_fabric_far(fabric, &chip->end,
				(chip->cfg.first + index) % ncore_fabric_slots(fabric),
				chip->gen->window.links_max, port, links);
}
