/* SPDX-License-Identifier: MIT */
/* Costs of instructions (docs/isa.md, Costs): isa/cost.c. The numbers are the target's. */
#ifndef NEURON_ISA_COST_H
#define NEURON_ISA_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/isa/table.h"

/* Does it work on the memories, through an engine's datapath? */
static inline bool neuron_isa_datapath(const struct neuron_insn *insn)
{
	return neuron_isa_ops[insn->opcode].fields & NEURON_FB(PARTITIONS);
}

/*
 * Cycles that its engine is busy with the issue of an instruction that was checked; columns: of the
 * weights that are loaded
 */
uint64_t neuron_isa_cost(const struct neuron_insn *insn, unsigned int engine,
			 const struct neuron_target *target, unsigned int columns);
/* ... and those from then until its update happens */
static inline uint64_t neuron_isa_latency(const struct neuron_insn *insn,
					  const struct neuron_target *target)
{
	return neuron_isa_datapath(insn) && insn->trigger == NEURON_TRIG_COMPLETE
		       ? target->cost.startup
		       : 0;
}

/* Picoseconds of so many bytes, at so many a KiB */
static inline uint64_t neuron_transfer_time(uint64_t bytes, uint32_t kib)
{
	return bytes * kib >> 10;
}

#endif
