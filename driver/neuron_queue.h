/* SPDX-License-Identifier: GPL-2.0-only */
/* Queues of processes, neuron_queue.c. */
#ifndef NEURON_QUEUE_H
#define NEURON_QUEUE_H

#include <linux/types.h>

struct neuron_device;
struct neuron_dma_eng_state;
struct neuron_dma_queue_state;
struct neuron_ioctl_dma_queue_copy_start;
struct neuron_ioctl_dma_queue_init;

int neuron_queue_setup(struct neuron_device *nd, const struct neuron_ioctl_dma_queue_init *arg);
int neuron_queue_start(struct neuron_device *nd,
		       const struct neuron_ioctl_dma_queue_copy_start *arg);
int neuron_queue_release(struct neuron_device *nd, u32 eng, u32 qid);
void neuron_queues_stop(struct neuron_device *nd, pid_t owner, u32 nc_map);
int neuron_queue_state(struct neuron_device *nd, u32 eng, u32 qid,
		       struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx);
int neuron_engine_state(struct neuron_device *nd, u32 eng, struct neuron_dma_eng_state *state);

#endif
