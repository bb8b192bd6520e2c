/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers for programs, neuron_bar.c. */
#ifndef NEURON_BAR_H
#define NEURON_BAR_H

#include <linux/types.h>

struct neuron_call;
struct neuron_device;
struct neuron_ioctl_bar_rw;
struct neuron_ioctl_read_hw_counters;

int neuron_bar_rw(struct neuron_device *nd, struct neuron_call *call,
		  const struct neuron_ioctl_bar_rw *arg, bool write);
u64 neuron_bar_cookie(unsigned int i);
int neuron_hw_counters(struct neuron_device *nd, struct neuron_call *call,
		       const struct neuron_ioctl_read_hw_counters *arg);

#endif
