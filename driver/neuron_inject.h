/* SPDX-License-Identifier: GPL-2.0-only */
/* Fault injection, neuron_inject.c. */
#ifndef NEURON_INJECT_H
#define NEURON_INJECT_H

#include <linux/types.h>

enum neuron_fail {
	NEURON_FAIL_MMAP,
	NEURON_FAIL_DMA_WAIT,
	NEURON_FAIL_MC_ALLOC,
	NEURON_FAIL_FWIO_READ,
	NEURON_FAIL_FWIO_METRIC,
	NEURON_FAIL_COUNT,
};

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
void neuron_inject_init(void);
void neuron_inject_exit(void);
bool neuron_fail(enum neuron_fail what);
#else
static inline void neuron_inject_init(void)
{
}

static inline void neuron_inject_exit(void)
{
}

static inline bool neuron_fail(enum neuron_fail what)
{
	return false;
}
#endif

#endif
