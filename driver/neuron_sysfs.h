/* SPDX-License-Identifier: GPL-2.0-only */
/* The tree in sysfs, neuron_sysfs.c. */
#ifndef NEURON_SYSFS_H
#define NEURON_SYSFS_H

#include <linux/sysfs.h>

struct neuron_device;

extern const struct attribute_group *neuron_device_groups[], *neuron_class_groups[];
int neuron_sysfs_add(struct neuron_device *nd);
void neuron_sysfs_del(struct neuron_device *nd);
void neuron_sysfs_scan(struct neuron_device *nd);

#endif
