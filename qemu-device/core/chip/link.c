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

struct ncore_end *ncore_link_far(struct ncore_chip *chip, unsigned int slot, unsigned int *port,
				 unsigned int *links)
{
	return chip->cfg.fabric ? ncore_fabric_far(chip->cfg.fabric, &chip->end, slot,
						   chip->gen->window.links_max, port, links)
				: NULL;
}
