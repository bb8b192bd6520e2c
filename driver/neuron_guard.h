/* SPDX-License-Identifier: GPL-2.0-only */
/* The guard: the memory that a process reaches through the chip, neuron_guard.c. */
#ifndef NEURON_GUARD_H
#define NEURON_GUARD_H

#include <linux/types.h>

struct neuron_device;
struct neuron_mc;

u8 neuron_guard_domain_get(pid_t tgid);
bool neuron_guard_domain_put(u8 domain);
int neuron_guard_grant(struct neuron_mc *mc, u8 domain);
void neuron_guard_revoke(struct neuron_mc *mc);
void neuron_guard_core(struct neuron_device *nd, unsigned int nc, u8 domain);
void neuron_guard_queue(struct neuron_device *nd, unsigned int eng, unsigned int qid, u8 domain);
void neuron_guard_init(struct neuron_device *nd);
void neuron_guard_start(struct neuron_device *nd);
void neuron_guard_exit(struct neuron_device *nd);
void neuron_guard_free(void);

#endif
