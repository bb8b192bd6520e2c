/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: TOP_SPs, which have semaphores and events and execute nothing
 * (topsp.c).
 */
#ifndef NCORE_TOPSP_H
#define NCORE_TOPSP_H

#include "notify.h"
#include "tpb_words.h"

struct ncore_topsp {
	struct ncore_nqs nqs;
	bool used; /* not as a reset leaves it */
	/* in pages of their own: a TOP_SP that nobody uses keeps its words' pages untouched */
	struct tpb_words *words;
};

void ncore_topsp_init(struct ncore_chip *chip);
void ncore_topsp_reset(struct ncore_chip *chip, unsigned int topsp);
uint32_t ncore_topsp_sem_at(struct ncore_chip *chip, unsigned int topsp, unsigned int index,
			    uint64_t time);
/*
 * Changes of a semaphore or event: at a time, or when tpb_words_sem_when() or
 * tpb_words_event_when() says, which is returned
 */
uint64_t ncore_topsp_update(struct ncore_chip *chip, unsigned int topsp, enum tpb_sem_op op,
			    unsigned int index, uint32_t value, uint64_t time);
uint64_t ncore_topsp_put(struct ncore_chip *chip, unsigned int topsp, unsigned int index,
			 uint32_t value, uint64_t time);

#endif
