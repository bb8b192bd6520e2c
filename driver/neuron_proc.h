/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes come and go, neuron_proc.c. */
#ifndef NEURON_PROC_H
#define NEURON_PROC_H

#include <linux/types.h>

struct neuron_device;

int neuron_proc_attach(struct neuron_device *nd);
void neuron_proc_detach(struct neuron_device *nd, pid_t tgid);
void neuron_proc_remove_all(struct neuron_device *nd);

#endif
