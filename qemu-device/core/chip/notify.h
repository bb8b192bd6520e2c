/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: notification queues of cores and TOP_SPs, and interrupts (notify.c).
 * A unit is a core's number or, behind those of all cores, a TOP_SP's.
 */
#ifndef NCORE_NOTIFY_H
#define NCORE_NOTIFY_H

#include "queue.h"

struct ncore_nq {
	uint32_t index, lap, head;
	bool head_known, overflowed;
};

/* The notification queues of a core, or of a TOP_SP */
struct ncore_nqs {
	ncore_reg *reg; /* words of their block, from offset first on */
	uint32_t first, words;
	struct ncore_nq nq[NEURON_NQ_MAX]; /* chip->nq_lock; numbered by the generation */
	struct ncore_guard_hit hit; /* nq_lock */
	unsigned int core; /* whose counts, vector and domain they have */
};

void ncore_nq_reg_written(struct ncore_chip *chip, unsigned int unit, uint32_t rel);
void ncore_nq_reset(struct ncore_chip *chip, unsigned int unit);
void ncore_irq_arm(struct ncore_chip *chip, unsigned int core, uint32_t seen);
void ncore_irq_reset(struct ncore_chip *chip);
/* the host knows what happened on a core up to a time; any thread */
void ncore_told(struct ncore_chip *chip, unsigned int core, uint64_t time);
void ncore_notify(struct ncore_chip *chip, unsigned int unit, unsigned int type,
		  unsigned int engine, uint16_t code, uint32_t id, uint64_t data, uint32_t data2,
		  uint64_t time);

#endif
