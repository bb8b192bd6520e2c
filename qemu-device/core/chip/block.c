/* SPDX-License-Identifier: MIT */
/*
 * Registers by their place: a block's operations do what a read or write does. Called by the host's
 * MMIO, by the mailbox and by descriptors and instructions that reach registers.
 */
#include "block.h"

#include "event.h"
#include "map.h"

#include <errno.h>

static void refuse(struct ncore_chip *chip, enum ncore_guest_error kind,
		   const struct neuron_place *at, uint32_t value)
{
	ncore_reg_error(chip, kind, at->kind, at->index, at->rel, value);
}

uint32_t ncore_reg_read(struct ncore_chip *chip, const struct neuron_place *at)
{
	const struct ncore_block_ops *ops = &chip->block[at->kind];

	return ops->read ? ops->read(chip, at->index, (uint32_t)at->rel & ~3u) : 0;
}

void ncore_reg_write(struct ncore_chip *chip, const struct neuron_place *at, uint32_t value)
{
	const struct ncore_block_ops *ops = &chip->block[at->kind];

	if (ops->write)
		ops->write(chip, at->index, (uint32_t)at->rel, value);
	else
		refuse(chip, NCORE_GE_UNDEFINED, at, value);
}

int ncore_reg_post(struct ncore_chip *chip, struct ncore_strand *strand, uint64_t local,
		   uint32_t value, uint64_t time)
{
	const struct ncore_block_ops *ops;
	struct ncore_post post = { .value = value, .time = time };
	struct neuron_place at;

	if (!ncore_find(chip, local, &at))
		return -EACCES;
	ops = &chip->block[at.kind];
	post.addr = at.rel;
	if (ops->post && !ops->post(chip, strand, at.index, &post))
		return 0;
	refuse(chip, NCORE_GE_UNSUPPORTED, &at, value);
	return -EACCES;
}
