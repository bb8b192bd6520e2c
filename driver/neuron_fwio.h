/* SPDX-License-Identifier: GPL-2.0-only */
/* The mailbox, neuron_fwio.c. */
#ifndef NEURON_FWIO_H
#define NEURON_FWIO_H

#include <linux/types.h>

#include "neuron/hw/gen.h"

struct neuron_device;

int neuron_fwio_init(struct neuron_device *nd, u32 features);
void neuron_fwio_exit(struct neuron_device *nd);
int neuron_reg_read(struct neuron_device *nd, const u64 *addr, u32 *value, unsigned int n);
int neuron_misc_read(struct neuron_device *nd, unsigned int word, u32 *value);
int neuron_neighbors(struct neuron_device *nd, int id[NEURON_PORTS_MAX]); /* as the hal */

#endif
