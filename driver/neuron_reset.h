/* SPDX-License-Identifier: GPL-2.0-only */
/* Resets, neuron_reset.c. */
#ifndef NEURON_RESET_H
#define NEURON_RESET_H

#include <linux/types.h>

struct neuron_device;

void neuron_reset_init(struct neuron_device *nd);
int neuron_reset_request(struct neuron_device *nd, u32 id, u32 nc_map);
int neuron_reset_wait(struct neuron_device *nd, u32 id, int *result);
void neuron_reset_forget(struct neuron_device *nd, u32 id);
void neuron_reset_stop(struct neuron_device *nd);
int neuron_cores_halt(struct neuron_device *nd, u32 nc_map);

#endif
