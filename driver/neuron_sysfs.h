/* SPDX-License-Identifier: GPL-2.0-only */
/* The tree in sysfs, neuron_sysfs.c. */
#ifndef NEURON_SYSFS_H
#define NEURON_SYSFS_H

#include <linux/sysfs.h>

struct class;
struct kobject;
struct neuron_device;

extern const struct attribute_group *neuron_device_groups[];
/* The class's own files, which go with it */
int neuron_sysfs_class(struct class *class);
int neuron_sysfs_add(struct neuron_device *nd);
void neuron_sysfs_del(struct neuron_device *nd);
void neuron_sysfs_scan(struct neuron_device *nd);

/* The name of a core's directory, in that of its device */
#define NEURON_SYSFS_CORE "neuron_core%u"

/* neuron_sysfs_chip.c */
int neuron_sysfs_chip_add(struct neuron_device *nd, struct kobject *info);
int neuron_sysfs_chip_core_add(struct neuron_device *nd, struct kobject *stats);

#endif
