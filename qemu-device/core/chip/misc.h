/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: MISC RAM (misc.c), what writes to it make the firmware do
 * (firmware.c), its mailbox (fwio.c), and the extension's registers (ext.c). Reads and writes are
 * blocks' operations (block.h).
 */
#ifndef NCORE_MISC_H
#define NCORE_MISC_H

#include "chip.h"

uint32_t ncore_misc_read(struct ncore_chip *chip, unsigned int index, uint32_t rel);
int ncore_misc_post(struct ncore_chip *chip, struct ncore_strand *strand, unsigned int index,
		    const struct ncore_post *post);
/* Does the word only hold what was written? */
bool ncore_misc_plain(struct ncore_chip *chip, uint32_t rel);
void ncore_misc_reset(struct ncore_chip *chip, bool power);
/* Keeps a word, and shows it where other processes read it */
void ncore_misc_store(struct ncore_chip *chip, uint32_t rel, uint32_t value);
/* The chip answers, or no longer: chip->up, and what is shown of it */
void ncore_misc_up(struct ncore_chip *chip, bool up);
bool ncore_misc_resetting(struct ncore_chip *chip); /* a device reset hangs */

void ncore_misc_write(struct ncore_chip *chip, unsigned int index, uint32_t rel, uint32_t value);

void ncore_fwio_doorbell(struct ncore_chip *chip);
/* Does the firmware take requests from MISC RAM's words, too? */
static inline bool ncore_fwio_words(const struct ncore_chip *chip)
{
	return chip->cfg.firmware_version >= NEURON_FIRMWARE_WORDS;
}

uint32_t ncore_ext_read(struct ncore_chip *chip, unsigned int index, uint32_t rel);
void ncore_ext_write(struct ncore_chip *chip, unsigned int index, uint32_t rel, uint32_t value);

#endif
