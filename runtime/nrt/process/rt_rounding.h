/* SPDX-License-Identifier: MIT */
/*
 * Stochastic rounding, which the process has its programs do: NEURON_RT_STOCHASTIC_ROUNDING_EN and
 * NEURON_RT_STOCHASTIC_ROUNDING_SEED, read by nrt_init (rounding.c)
 */
#ifndef RT_ROUNDING_H
#define RT_ROUNDING_H

#include <stdbool.h>
#include <stdint.h>

#include "nrt/nrt_status.h"

struct neuron_insn;
struct neuron_target;
struct rt_core;

struct rt_rounding {
	bool stochastic;
	uint64_t seed;
};

/* Reads how to round; for a generation that rounds to nearest only, nothing is read. */
NRT_STATUS rt_rounding_read(const struct neuron_target *target, struct rt_rounding *rounding);
void rt_rounding_tell(const struct rt_core *core); /* in the log */
/* The words behind an engine's PROGRAM_START; false: nothing */
bool rt_rounding_insn(const struct neuron_target *target, unsigned int engine, uint64_t seed,
		      struct neuron_insn *insn);

#endif
