/* SPDX-License-Identifier: MIT */
/*
 * What each kind of block does with reads and writes of its registers: the table of all, and the
 * blocks whose words only hold what was written.
 */
#include "event.h"
#include "map.h"
#include "misc.h"

/* Registers of a notification queue of a core */

static ncore_reg *nq_word(struct ncore_chip *chip, unsigned int core, uint32_t rel)
{
	return rel < chip->gen->nq_reg.bytes ? &chip->core[core].nqs.reg[rel / 4] : NULL;
}

static uint32_t nq_read(struct ncore_chip *chip, unsigned int core, uint32_t rel)
{
	ncore_reg *word = nq_word(chip, core, rel);

	return word ? ncore_load(word) : 0;
}

static void nq_write(struct ncore_chip *chip, unsigned int core, uint32_t rel, uint32_t value)
{
	ncore_reg *word = nq_word(chip, core, rel);

	if (!word) {
		ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_NQ, core, rel, value);
		return;
	}
	ncore_store(word, value);
	ncore_nq_reg_written(chip, core, rel);
}

/* The wrapper of a UDMA engine: words that only hold what was written */

static ncore_reg *tdma_word(struct ncore_chip *chip, unsigned int engine, uint32_t rel)
{
	return rel < sizeof(chip->udma[0].tdma) ? &chip->udma[engine].tdma[rel / 4] : NULL;
}

static uint32_t tdma_read(struct ncore_chip *chip, unsigned int engine, uint32_t rel)
{
	ncore_reg *word = tdma_word(chip, engine, rel);

	return word ? ncore_load(word) : 0;
}

static void tdma_write(struct ncore_chip *chip, unsigned int engine, uint32_t rel, uint32_t value)
{
	ncore_reg *word = tdma_word(chip, engine, rel);

	if (!word) {
		ncore_reg_error(chip, NCORE_GE_UNDEFINED, NEURON_BLOCK_TDMA, engine, rel, value);
		return;
	}
	ncore_udma_use(chip, engine);
	ncore_store(word, value);
}

/* Kept words, of which some are a TOP_SP's notification queues */

static uint32_t kept_read(struct ncore_chip *chip, unsigned int index, uint32_t rel)
{
	return ncore_load(ncore_kept(chip, index) + rel / 4);
}

static void kept_write(struct ncore_chip *chip, unsigned int index, uint32_t rel, uint32_t value)
{
	int topsp = neuron_gen_topsp_of_kept(chip->gen, index);

	ncore_store(ncore_kept(chip, index) + rel / 4, value);
	if (topsp >= 0)
		ncore_nq_reg_written(chip, chip->gen->cores + (unsigned int)topsp,
				     chip->topsp[topsp].nqs.first + rel);
}

/* A block without an operation reads 0, or takes no write. REGS is the last kind. */
const struct ncore_block_ops ncore_blocks[] = {
	[NEURON_BLOCK_UDMA] = { ncore_udma_read, ncore_udma_write, ncore_udma_post },
	[NEURON_BLOCK_MISC] = { ncore_misc_read, ncore_misc_write, ncore_misc_post },
	[NEURON_BLOCK_EXT] = { ncore_ext_read, ncore_ext_write },
	[NEURON_BLOCK_ARRAY] = { ncore_array_read },
	[NEURON_BLOCK_TDMA] = { tdma_read, tdma_write },
	[NEURON_BLOCK_NQ] = { nq_read, nq_write },
	[NEURON_BLOCK_KEPT] = { kept_read, kept_write },
	[NEURON_BLOCK_REGS] = { NULL },
};
