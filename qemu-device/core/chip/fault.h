/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: faults that the host injects (fault.c).
 */
#ifndef NCORE_FAULT_H
#define NCORE_FAULT_H

#include <pthread.h>

#include "queue.h"

/* Occasions that are left for a fault: skip pass, then left strike */
struct ncore_fault_slot {
	uint64_t skip, left, fired;
	uint32_t value;
	uint8_t core; /* NCORE_CORE_ANY */
	uint8_t queue; /* enum ncore_fault_queue */
	uint8_t memory; /* of DRAM, NCORE_MEMORY_ANY */
};

#define NCORE_CORE_ANY UINT8_MAX
#define NCORE_MEMORY_ANY UINT8_MAX
enum ncore_fault_queue { NCORE_FQ_ANY, NCORE_FQ_COPY, NCORE_FQ_PROGRAM };

struct ncore_faults {
	_Atomic uint32_t
		injected; /* a bit for each fault that is: all that a path without faults reads */
	pthread_mutex_t lock;
	struct ncore_fault_slot slot[NCORE_FAULT_COUNT];
};

#define NCORE_FAULT_BIT(fault) (1u << NCORE_FAULT_##fault)
void ncore_faults_init(struct ncore_chip *chip);
/* An occasion of an injected fault; true when it strikes. core NCORE_CORE_ANY: of none */
bool ncore_fault_occasion(struct ncore_chip *chip, enum ncore_fault fault, unsigned int core,
			  enum ncore_fault_queue queue);
/* The fault of a queue whose next descriptor reads addr; *code: of an error */
enum ncore_queue_stop ncore_fault_desc(struct ncore_chip *chip, const struct ncore_queue *q,
				       uint64_t addr, uint16_t *code);
/* The fault of an engine's next instruction; datapath: it reads SBUF or PSUM */
enum tpb_fault ncore_fault_insn(struct ncore_chip *chip, unsigned int core, bool datapath);
bool ncore_fault_value(struct ncore_chip *chip, enum ncore_fault fault, uint32_t *value);

#endif
