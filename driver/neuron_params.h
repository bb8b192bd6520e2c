/* SPDX-License-Identifier: GPL-2.0-only */
/* The module's parameters, neuron_params.c. */
#ifndef NEURON_PARAMS_H
#define NEURON_PARAMS_H

#include <linux/types.h>

extern int neuron_no_reset;
extern int neuron_wc_enable;
extern int neuron_force_userver, neuron_force_die_flip, neuron_userver_ctl, neuron_userver_etimeout;
int neuron_params_check(void);
extern ulong neuron_small_max; /* bytes of the largest small chunk */
u64 neuron_small_pool(u64 memory);
u64 neuron_chunk_size(u64 size); /* rounded up to the granularity of chunks */

#endif
