/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: the guard, what queues and cores of a domain may reach. guard.c
 * answers an executor or a writer of notifications; guard_regs.c has the registers.
 */
#ifndef NCORE_GUARD_H
#define NCORE_GUARD_H

#include "queue.h"

uint8_t ncore_guard_queue_domain(struct ncore_chip *chip, struct ncore_queue *q);
uint8_t ncore_guard_core_domain(struct ncore_chip *chip, unsigned int core);
/* May a domain reach an endpoint? 0, with *len cut to what lies together, or -EACCES */
int ncore_guard_ep(struct ncore_chip *chip, uint8_t domain, struct ncore_guard_hit *hit,
		   const struct ncore_ep *ep, uint64_t *len);
bool ncore_guard_whole(struct ncore_chip *chip, uint8_t domain, struct ncore_guard_hit *hit,
		       const struct ncore_ep *ep, uint64_t len);
bool ncore_guard_core(struct ncore_chip *chip, uint8_t domain, unsigned int core);
/* may a domain reach a memory of the chip: a core's, or DRAM with NCORE_EP_NO_CORE */
bool ncore_guard_memory(struct ncore_chip *chip, uint8_t domain, unsigned int core);
/*
 * may a domain write a word: semaphores and events of the domain's cores, doorbells of its queues
 */
bool ncore_guard_word(struct ncore_chip *chip, uint8_t domain, uint64_t local);

/* guard_regs.c. false: the register is not the guard's */
bool ncore_guard_read(struct ncore_chip *chip, uint32_t rel, uint32_t *value);
bool ncore_guard_write(struct ncore_chip *chip, uint32_t rel, uint32_t value); /* chip->lock */
void ncore_guard_reset(struct ncore_chip *chip); /* strands are stopped */

#endif
