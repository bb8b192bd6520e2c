/* SPDX-License-Identifier: GPL-2.0-only */
/* Datastores, neuron_nds.c. */
#ifndef NEURON_NDS_H
#define NEURON_NDS_H

#include <linux/types.h>

struct neuron_device;

int neuron_nds_acquire(struct neuron_device *nd, pid_t pid, u64 *offset, u32 *size);
void neuron_nds_release(struct neuron_device *nd, pid_t pid);
void neuron_nds_harvest(struct neuron_device *nd);
void neuron_nds_exit(struct neuron_device *nd);

#endif
