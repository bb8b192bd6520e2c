/* SPDX-License-Identifier: GPL-2.0-only */
/* Pools of device memory, from which chunks are taken, neuron_pool.c. */
#ifndef NEURON_POOL_H
#define NEURON_POOL_H

#include <linux/types.h>

struct neuron_device;
struct neuron_gen;

/* gen_pool cannot hand out address 0; the bias keeps every alignment */
#define NEURON_POOL_BIAS BIT(62)

int neuron_pools_init(struct neuron_device *nd);
void neuron_pools_free(struct neuron_device *nd);
unsigned int neuron_pools_each(const struct neuron_gen *gen);
u64 neuron_pool_size(const struct neuron_device *nd, unsigned int pool);
u64 neuron_pool_base(const struct neuron_device *nd, unsigned int pool);
/* [pa, pa + size) of a pool holds someone's data; nd->lock is held */
void neuron_pages_mark(struct neuron_device *nd, unsigned int pool, u64 pa, u64 size);
int neuron_pages_clear(struct neuron_device *nd, unsigned int pool, unsigned int nc, u64 pa,
		       u64 size);
int neuron_pools_clear(struct neuron_device *nd);
int neuron_memory_fill(struct neuron_device *nd, unsigned int memory, unsigned int nc, u32 value);

#endif
