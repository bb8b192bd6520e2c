/* SPDX-License-Identifier: MIT */
/* Chunks of device memory, and of host memory for rings */
#include <errno.h>
#include <string.h>

#include "rt_memory.h"

static void count(const struct rt_chunk *chunk, bool taken)
{
	const int64_t bytes = taken ? (int64_t)chunk->size : -(int64_t)chunk->size;

	if (chunk->dev == chunk->core->dev)
		rt_memory_add(chunk->core, chunk->type, bytes);
	else
		rt_memory_add_elsewhere(chunk->dev->device_index, chunk->core->nc, chunk->type,
					bytes);
}

int rt_chunk_try(struct rt_core *core, ndlx_device_t *dev, uint64_t size, uint64_t align,
		 uint32_t type, struct rt_chunk *chunk)
{
	struct ndlx_mem_params params = {
		.size = size,
		.align = align > 4096 ? align : 0,
		.nc = core->nc,
		.type = type,
	};
	const struct neuron_gen *gen = dev->gen;
	int err = -ENOMEM;

	/* a core's own channel is tried first, so that the cores are spread over the channels */
	for (uint32_t i = 0; i < gen->memories && err == -ENOMEM; i++) {
		params.channel = (core->nc + i) % gen->memories;
		for (params.region = 0; params.region < NDLX_REGIONS && err == -ENOMEM;
		     params.region++)
			err = ndlx_memory_alloc(dev, &params, &chunk->handle);
	}
	if (err)
		return err;

	*chunk = (struct rt_chunk){ core, dev, chunk->handle, 0, size, type, rt.epoch };
	count(chunk, true);
	err = ndlx_memory_get_pa(dev, chunk->handle, &chunk->pa);
	if (err)
		rt_chunk_free(chunk);
	return err;
}

NRT_STATUS rt_chunk_alloc(struct rt_core *core, uint64_t size, uint64_t align, uint32_t type,
			  struct rt_chunk *chunk)
{
	int err = rt_chunk_try(core, core->dev, size, align, type, chunk);

	return err ? rt_fail(rt_status_from_errno(err), "TDRV",
			     "Failed to allocate buffer in MLA DRAM for %llu bytes: %s",
			     (unsigned long long)size, rt_errno_text(err))
		   : NRT_SUCCESS;
}

bool rt_chunk_alloc_host(struct rt_core *core, uint64_t size, uint32_t type, struct rt_chunk *chunk,
			 void **map)
{
	struct ndlx_mem_params params = { .size = size, .host = true, .nc = core->nc, .type = type };
	uint64_t handle;

	if (ndlx_memory_alloc(core->dev, &params, &handle))
		return false;
	if (ndlx_memory_map(core->dev, handle, map)) {
		ndlx_memory_free(core->dev, handle);
		return false;
	}
	*chunk = (struct rt_chunk){ core, core->dev, handle, 0, size, type, rt.epoch };
	rt_memory_add(core, type, (int64_t)size);
	return true;
}

void rt_chunk_free(struct rt_chunk *chunk)
{
	if (rt_chunk_alive(chunk)) {
		ndlx_memory_free(chunk->dev, chunk->handle);
		count(chunk, false);
	}
	*chunk = (struct rt_chunk){ 0 };
}
