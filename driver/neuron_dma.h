/* SPDX-License-Identifier: GPL-2.0-only */
/* Copy rings, neuron_dma.c. */
#ifndef NEURON_DMA_H
#define NEURON_DMA_H

#include "neuron_device.h"
#include "neuron_user.h"

#define NEURON_CTX_SYNC0 0
#define NEURON_CTX_ASYNC1 1
#define NEURON_CTX_ASYNC2 2
#define NEURON_CTX_SYNC1 3
#define NEURON_BOUNCE_SIZE (128 * 1024)
#define NEURON_DUMMY_RING_LEN 64

int neuron_dma_init(struct neuron_device *nd);
void neuron_dma_exit(struct neuron_device *nd);
int neuron_h2t_create(struct neuron_device *nd, struct neuron_h2t *h2t, unsigned int nc,
		      bool bounce);
void neuron_h2t_destroy(struct neuron_h2t *h2t);
void neuron_h2t_start(struct neuron_h2t *h2t);
void neuron_h2t_park(struct neuron_h2t *h2t);
int neuron_dma_copy(struct neuron_h2t *h2t, u64 src, u64 dst, u64 len);
int neuron_dma_fill(struct neuron_h2t *h2t, u64 dst, u64 len, u32 pattern);
int neuron_dma_from_kernel(struct neuron_h2t *h2t, u64 dst, const void *buf, u64 len);
int neuron_dma_to_kernel(struct neuron_h2t *h2t, u64 src, void *buf, u64 len);
int neuron_dma_from_user(struct neuron_h2t *h2t, struct neuron_call *call, u64 dst,
			 const void __user *buf, u64 len);
int neuron_dma_to_user(struct neuron_h2t *h2t, struct neuron_call *call, u64 src, void __user *buf,
		       u64 len);
/* Adds runs to the ring: 0 when there are no more, 1 to go on with the next batch */
typedef int (*neuron_push_fn)(struct nhal_h2t *ring, void *arg);
int neuron_ctx_batch(struct neuron_h2t *h2t, unsigned int ctx, neuron_push_fn push, void *arg);
int neuron_ctx_wait(struct neuron_h2t *h2t, unsigned int ctx);
bool neuron_ctx_poll(struct neuron_h2t *h2t, unsigned int ctx);

#endif
