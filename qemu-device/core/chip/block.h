/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: registers outside the cores' windows, which lie in blocks. block.c
 * finds a block's operations in the table that blocks.c has and ncore_chip_new() leaves in the
 * chip, so that what reads or writes a register need not know the blocks.
 */
#ifndef NCORE_BLOCK_H
#define NCORE_BLOCK_H

#include <stdint.h>

#include "neuron/hw/gen.h"
#include "ncore.h"

struct ncore_strand;
struct ncore_post;

struct ncore_block_ops {
	/* rel: of a whole word. Takes no lock */
	uint32_t (*read)(struct ncore_chip *chip, unsigned int index, uint32_t rel);
	/* chip->lock is held; it is dropped and taken again when the write executes something */
	void (*write)(struct ncore_chip *chip, unsigned int index, uint32_t rel, uint32_t value);
	/* from a descriptor or an instruction of a strand; post->addr is the offset in the block.
	 * 0, or -EACCES: it takes none. Takes chip->lock */
	int (*post)(struct ncore_chip *chip, struct ncore_strand *strand, unsigned int index,
		    const struct ncore_post *post);
};
extern const struct ncore_block_ops ncore_blocks[]; /* blocks.c, by enum neuron_block_kind */

uint32_t ncore_reg_read(struct ncore_chip *chip, const struct neuron_place *at);
void ncore_reg_write(struct ncore_chip *chip, const struct neuron_place *at, uint32_t value);
int ncore_reg_post(struct ncore_chip *chip, struct ncore_strand *strand, uint64_t local,
		   uint32_t value, uint64_t time);
uint32_t ncore_array_read(struct ncore_chip *chip, unsigned int nc, uint32_t rel); /* array.c */

#endif
