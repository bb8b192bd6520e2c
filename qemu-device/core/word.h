/* SPDX-License-Identifier: MIT */
/*
 * Words by local device address: registers, and the semaphores and events of cores and TOP_SPs.
 * Private to the core library; route.c, mmio.c, lane.c and link.c call.
 */
#ifndef NCORE_WORD_H
#define NCORE_WORD_H

#include "chip.h"

/* What kind of word lies in a core's window, or a TOP_SP's */
enum ncore_word {
	NCORE_WORD_NONE,
	NCORE_WORD_EVENT,
	NCORE_WORD_SEM_READ,
	NCORE_WORD_SEM_SET,
	NCORE_WORD_SEM_INC,
	NCORE_WORD_SEM_DEC,
};

/* A TOP_SP's window is what a core's is from its events on: the offset in a core's */
uint64_t ncore_word_offset(const struct neuron_gen *gen, const struct neuron_place *at);
/* *index: its number; *left: bytes of its array from there on */
enum ncore_word ncore_word_kind(const struct neuron_gen *gen, const struct neuron_place *at,
				unsigned int *index, uint64_t *left);

uint32_t ncore_word_read(struct ncore_chip *chip, uint64_t local); /* any thread */
/*
 * The host has read a word, whose last change it knows from then on: what it writes and starts
 * comes behind that. Any thread.
 */
void ncore_word_seen(struct ncore_chip *chip, uint64_t local);

/* core of a semaphore or event word that may be written, or -1 */
int ncore_core_word(struct ncore_chip *chip, uint64_t local);
/* ... or that a TOP_SP with such a word belongs to */
int ncore_word_owner(struct ncore_chip *chip, uint64_t local);

/*
 * Who writes a word. What the lane itself does is in the order of its times. All others come, for
 * who sees both, after what the word shows when they come (docs/isa.md, Order).
 */
enum ncore_writer { NCORE_BY_LANE, NCORE_BY_OTHERS, NCORE_BY_HOST };

/* a word of the executing lane's own core; local device address of a semaphore or event */
void ncore_core_word_write(struct ncore_lane *lane, uint64_t local, uint32_t value, uint64_t time,
			   enum ncore_writer by);
/* one of a TOP_SP. 0, or -EACCES: there is none */
int ncore_topsp_word_write(struct ncore_chip *chip, uint64_t local, uint32_t value, uint64_t time,
			   enum ncore_writer by);

#endif
