/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: reads and writes of words by local device address: registers, and
 * the semaphores and events of cores and TOP_SPs (word.c).
 */
#ifndef NCORE_WORD_H
#define NCORE_WORD_H

#include "strand.h"

uint32_t ncore_word_read(struct ncore_chip *chip, uint64_t local); /* any thread */
/*
 * The host has read a word, whose last change it knows from then on: what it writes and starts
 * comes behind that. Any thread.
 */
void ncore_word_seen(struct ncore_chip *chip, uint64_t local);

/*
 * Who writes a word. What the strand itself does is in the order of its times. All others come, for
 * who sees both, after what the word shows when they come (docs/isa.md, Order).
 */
enum ncore_writer { NCORE_BY_STRAND, NCORE_BY_OTHERS, NCORE_BY_HOST };

/* a word of the executing strand's own core; local device address of a semaphore or event */
void ncore_core_word_write(struct ncore_strand *strand, uint64_t local, uint32_t value,
			   uint64_t time, enum ncore_writer by);
/* one of a TOP_SP. 0, or -EACCES: there is none */
int ncore_topsp_word_write(struct ncore_chip *chip, uint64_t local, uint32_t value, uint64_t time,
			   enum ncore_writer by);

#endif
