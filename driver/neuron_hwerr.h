/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hardware errors in the kernel log (neuron_hwerr.c). Part of neuron.h.
 */
#ifndef NEURON_HWERR_H
#define NEURON_HWERR_H

#include <linux/ratelimit.h>

#include "neuron/hw/gen.h"

struct neuron_device;

enum neuron_hwerr {
	NEURON_HWERR_SRAM,
	NEURON_HWERR_CORE,
	NEURON_HWERR_DRAM,
	NEURON_HWERR_DMA,
	NEURON_HWERR_HANG,
	NEURON_HWERRS
};

/* Rate limits of what is logged: for each kind of error, without a core and for each core */
struct neuron_hwerr_limits {
	struct ratelimit_state of[NEURON_HWERRS][1 + NEURON_CORES_MAX];
};

void neuron_hwerr_init(struct neuron_hwerr_limits *limits);
void neuron_hwerr(struct neuron_device *nd, enum neuron_hwerr what, int nc);

#endif
