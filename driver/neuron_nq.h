/* SPDX-License-Identifier: GPL-2.0-only */
/* Notification queues, neuron_nq.c. */
#ifndef NEURON_NQ_H
#define NEURON_NQ_H

#include <linux/types.h>

struct neuron_device;

struct neuron_nq_args {
	u32 dev_type; /* NEURON_NQ_DEV_*: nc is a core's number, or a TOP_SP's */
	u32 nc, type, eng, size;
	bool host, force;
	u32 channel, region;
};

int neuron_nq_init(struct neuron_device *nd, const struct neuron_nq_args *args, u64 *mmap_offset,
		   u64 *handle);
void neuron_nqs_stop(struct neuron_device *nd, pid_t owner, u32 nc_map);

#endif
