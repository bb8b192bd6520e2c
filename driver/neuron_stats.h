/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters behind sysfs, neuron_stats.c. */
#ifndef NEURON_STATS_H
#define NEURON_STATS_H

#include "neuron_device.h"

struct neuron_mc;

extern const char *const neuron_host_kinds[NEURON_HOST_KINDS];
extern const char *const neuron_device_kinds[NEURON_DEVICE_KINDS];
void neuron_stat_add(struct neuron_device *nd, struct neuron_counter *c, u64 delta);
void neuron_stat_memory(struct neuron_device *nd, const struct neuron_mc *mc, bool add);

#endif
