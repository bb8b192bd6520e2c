/* SPDX-License-Identifier: GPL-2.0-only */
/* Hangs and their dump, neuron_dump.c. */
#ifndef NEURON_DUMP_H
#define NEURON_DUMP_H

#include <linux/sysfs.h>

#include "neuron_compat.h"
#include "neuron_event.h"

struct neuron_device;

extern NEURON_BIN_ATTR_CONST struct bin_attribute *NEURON_BIN_ATTR_CONST neuron_bin_attrs[];
void neuron_dump_init(struct neuron_device *nd);
void neuron_dump_forget(struct neuron_device *nd);
void neuron_hang(struct neuron_device *nd, struct neuron_hang *h);

#endif
