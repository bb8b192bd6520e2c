/* SPDX-License-Identifier: GPL-2.0-only */
/* Copy queues that processes ask for, neuron_h2tq.c. */
#ifndef NEURON_H2TQ_H
#define NEURON_H2TQ_H

#include <linux/types.h>

struct neuron_device;
struct neuron_h2t;

struct neuron_h2tq_maps {
	u32 copy, service; /* a bit for each queue */
};

int neuron_h2tq_ask(struct neuron_device *nd, unsigned int nc, unsigned int copies,
		    unsigned int services, struct neuron_h2tq_maps *maps);
int neuron_h2tq_free(struct neuron_device *nd, unsigned int nc, u32 map);
struct neuron_h2t *neuron_h2tq_get(struct neuron_device *nd, unsigned int nc, int qid);
void neuron_h2tq_put(struct neuron_h2t *h2t);
void neuron_h2tq_stop(struct neuron_device *nd, pid_t owner, u32 nc_map);

#endif
