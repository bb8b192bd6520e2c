/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: resets of cores and of the whole chip (reset.c).
 */
#ifndef NCORE_RESET_H
#define NCORE_RESET_H

#include "chip.h"

void ncore_reset_queues(
	struct ncore_chip *chip); /* all registers but MISC RAM; strands are stopped */
void ncore_reset_device(struct ncore_chip *chip); /* chip->lock */
void ncore_reset_cores(struct ncore_chip *chip, unsigned int map); /* chip->lock */

#endif
