/* SPDX-License-Identifier: GPL-2.0-only */
/* The power reading, neuron_hwmon.c. */
#ifndef NEURON_HWMON_H
#define NEURON_HWMON_H

struct neuron_device;

void neuron_hwmon_add(struct neuron_device *nd);
void neuron_hwmon_del(struct neuron_device *nd);

#endif
