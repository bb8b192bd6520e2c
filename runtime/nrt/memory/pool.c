/* SPDX-License-Identifier: MIT */
/*
 * The chips whose memory holds a core's constants. The programs read them there by DMA, through the
 * window of the chip; the memory is allocated by that chip's own device, and counts as its.
 */
#include <errno.h>
#include <stdlib.h>

#include "rt_pool.h"

/* NEURON_RT_WEIGHTS_DEVICES; 0: unset */
static NRT_STATUS devices_wanted(unsigned int *n)
{
	const char *text = secure_getenv("NEURON_RT_WEIGHTS_DEVICES");
	unsigned long value;
	char *end;

	*n = 0;
	if (!text || !*text)
		return NRT_SUCCESS;
	value = strtoul(text, &end, 10);
	if (*end || !value || value > NDLX_MAX_DEVICES)
		return rt_fail(NRT_INVALID, "TDRV",
			       "NEURON_RT_WEIGHTS_DEVICES=%.40s is not a number from 1 to %d", text,
			       NDLX_MAX_DEVICES);
	*n = (unsigned int)value;
	return NRT_SUCCESS;
}

static int nearer(const void *a, const void *b)
{
	const struct rt_pool_chip *x = a, *y = b;

	return x->distance != y->distance ? x->distance - y->distance : x->index - y->index;
}

/* A machine of unknown shape has no distances: its chips are in the order of their numbers. */
void rt_pool_extend(const struct rt_core *core, struct rt_pool *pool)
{
	int index[NDLX_MAX_DEVICES], n = ndlx_available_devices(index, NDLX_MAX_DEVICES);

	pool->more = false;
	for (int i = 0; i < n; i++) {
		struct rt_pool_chip *chip = &pool->chip[pool->n];

		if (index[i] == (int)core->device ||
		    ndlx_device_window(core->dev, index[i], &chip->window))
			continue;
		chip->index = index[i];
		chip->distance = ndlx_device_distance(core->dev, index[i]);
		if (chip->distance < 0)
			chip->distance = NDLX_MAX_DEVICES;
		pool->n++;
	}
	qsort(pool->chip + 1, pool->n - 1, sizeof(pool->chip[0]), nearer);
}

NRT_STATUS rt_pool_make(const struct rt_core *core, struct rt_pool *pool)
{
	unsigned int wanted;
	NRT_STATUS status = devices_wanted(&wanted);

	*pool = (struct rt_pool){ .n = 1, .more = !wanted, .chip[0].index = (int)core->device };
	if (status || wanted < 2)
		return status;
	pool->spread = true;
	rt_pool_extend(core, pool);
	if (wanted > pool->n)
		return rt_fail(NRT_INVALID, "TDRV",
			       "NEURON_RT_WEIGHTS_DEVICES=%u: nd%u reaches the memory of %u "
			       "devices, its own among them",
			       wanted, core->device, pool->n);
	pool->n = wanted;
	return NRT_SUCCESS;
}

int rt_pool_alloc(const struct rt_pool *pool, unsigned int i, struct rt_core *core, uint64_t size,
		  uint64_t align, uint32_t type, struct rt_chunk *chunk)
{
	const struct rt_pool_chip *chip = &pool->chip[i];
	ndlx_device_t *dev = core->dev;
	int err = i ? rt_device_join((uint32_t)chip->index, &dev) : 0;

	if (!err)
		err = rt_chunk_try(core, dev, size, align, type, chunk);
	if (!err)
		chunk->pa |= chip->window;
	return err;
}
