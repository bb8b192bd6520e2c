/* SPDX-License-Identifier: MIT */
/* Device memory: a chunk, counted for its core while it lives (memory.c) */
#ifndef RT_MEMORY_H
#define RT_MEMORY_H

#include "rt_context.h"

struct rt_chunk {
	struct rt_core *core; /* NULL: no memory is allocated */
	ndlx_device_t *dev; /* whose memory it is; of constants, also another one than the core's */
	uint64_t handle, pa, size;
	uint32_t type, epoch;
};

/* Bytes from which memory changes hands instead of being copied, and those that want large pages */
#define RT_LARGE (1u << 20)
#define RT_HUGE (16u << 20)
static inline uint64_t rt_large_align(uint64_t size)
{
	return size >= RT_HUGE ? 2u << 20 : size >= RT_LARGE ? 4096 : 1;
}

NRT_STATUS rt_chunk_alloc(struct rt_core *core, uint64_t size, uint64_t align, uint32_t type,
			  struct rt_chunk *chunk);
/* rt_chunk_alloc() in the memory of any device, with the address that it has there; 0 or -errno */
int rt_chunk_try(struct rt_core *core, ndlx_device_t *dev, uint64_t size, uint64_t align,
		 uint32_t type, struct rt_chunk *chunk);
/*
 * Allocates and maps host memory that the device reaches. Returns false if there is none of that
 * size.
 */
bool rt_chunk_alloc_host(struct rt_core *core, uint64_t size, uint32_t type, struct rt_chunk *chunk,
			 void **map);
void rt_chunk_free(struct rt_chunk *chunk);

static inline bool rt_chunk_alive(const struct rt_chunk *chunk)
{
	return chunk->core && chunk->epoch == __atomic_load_n(&rt.epoch, __ATOMIC_ACQUIRE);
}

#endif
