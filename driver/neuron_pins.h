/* SPDX-License-Identifier: GPL-2.0-only */
/* Host memory that programs have said they will copy again and again, neuron_pins.c. */
#ifndef NEURON_PINS_H
#define NEURON_PINS_H

#include <linux/types.h>

struct neuron_call;

int neuron_pins_add(struct neuron_call *call, u64 va, u64 size);
int neuron_pins_remove(u64 va);
void neuron_pins_drop(pid_t tgid);
void neuron_pins_exit(void);

#endif
