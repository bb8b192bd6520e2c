/* SPDX-License-Identifier: MIT */
/*
 * Pooled memory: the chips whose memory holds a core's constants, its own and others of the
 * instance (pool.c); place.c decides which constant lies where
 */
#ifndef RT_POOL_H
#define RT_POOL_H

#include "rt_memory.h"

struct rt_pool {
	/* constants go to all its chips in turn; else to the next one when those before are full */
	bool spread;
	bool more; /* other chips than the core's may follow: rt_pool_extend */
	unsigned int n;
	struct rt_pool_chip {
		int index; /* of its device */
		int distance; /* in links */
		uint64_t window; /* at which the core's chip has it; 0: it is that chip */
	} chip[NDLX_MAX_DEVICES]; /* the core's own, then others, nearest first */
};

/* Makes the pool of chips that constants lie in, by NEURON_RT_WEIGHTS_DEVICES */
NRT_STATUS rt_pool_make(const struct rt_core *core, struct rt_pool *pool);
void rt_pool_extend(const struct rt_core *core, struct rt_pool *pool);
/*
 * rt_chunk_try in the memory of one of its chips, which this process begins to use with it. The
 * chunk's address is the one at which the core's chip has it. 0 or -errno
 */
int rt_pool_alloc(const struct rt_pool *pool, unsigned int chip, struct rt_core *core,
		  uint64_t size, uint64_t align, uint32_t type, struct rt_chunk *chunk);

#endif
