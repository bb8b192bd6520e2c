/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: trace events, and what a guest did wrong (event.c).
 */
#ifndef NCORE_EVENT_H
#define NCORE_EVENT_H

#include "chip.h"

void ncore_event_send(struct ncore_chip *chip, enum ncore_event ev, uint64_t a, uint64_t b,
		      uint64_t c, uint64_t d);
void ncore_guest_error(struct ncore_chip *chip, enum ncore_guest_error kind, uint64_t where,
		       uint64_t value);
/* A guest error with a register, which is told by its offset in the register BAR */
void ncore_reg_error(struct ncore_chip *chip, enum ncore_guest_error kind,
		     enum neuron_block_kind block, unsigned int index, uint64_t rel,
		     uint32_t value);

/* Most are not wanted, and copies have many */
static inline void ncore_event(struct ncore_chip *chip, enum ncore_event ev, uint64_t a, uint64_t b,
			       uint64_t c, uint64_t d)
{
	if (chip->event_mask >> ev & 1)
		ncore_event_send(chip, ev, a, b, c, d);
}

#endif
