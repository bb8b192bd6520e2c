/* SPDX-License-Identifier: MIT */
/*
 * Pooled memory: the chips whose memory holds a core's constants, its own and others of the
 * instance (homes.c); place.c decides which constant lies where
 */
#ifndef RT_HOMES_H
#define RT_HOMES_H

#include "rt_memory.h"

struct rt_homes {
	/* constants go to all the chips, one after the other; else to the next one when those
	 * before are full */
	bool spread;
	bool more; /* other chips than the core's may follow: rt_homes_extend */
	unsigned int n;
	struct rt_home {
		int index; /* of its device */
		int distance; /* in links */
		uint64_t window; /* at which the core's chip has it; 0: it is that chip */
	} chip[NDLX_MAX_DEVICES]; /* the core's own, then others, nearest first */
};

/* Lists the chips that constants lie in, by NEURON_RT_WEIGHTS_DEVICES */
NRT_STATUS rt_homes_make(const struct rt_core *core, struct rt_homes *homes);
void rt_homes_extend(const struct rt_core *core, struct rt_homes *homes);
/*
 * rt_chunk_try in the memory of one of its chips, which this process begins to use with it. The
 * chunk's address is the one at which the core's chip has it. 0 or -errno
 */
int rt_homes_alloc(const struct rt_homes *homes, unsigned int chip, struct rt_core *core,
		   uint64_t size, uint64_t align, uint32_t type, struct rt_chunk *chunk);

#endif
