/* SPDX-License-Identifier: MIT */
/*
 * The chips whose memory holds a core's constants. The programs read them there by DMA, through the
 * window of the chip; the memory is allocated by that chip's own device, and counts as its.
 */
#include <errno.h>
#include <stdlib.h>

#include "rt_homes.h"

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
	const struct rt_home *x = a, *y = b;

	return x->distance != y->distance ? x->distance - y->distance : x->index - y->index;
}

/* A machine of unknown shape has no distances: its chips are in the order of their numbers. */
void rt_homes_extend(const struct rt_core *core, struct rt_homes *homes)
{
	int index[NDLX_MAX_DEVICES], n = ndlx_available_devices(index, NDLX_MAX_DEVICES);

	homes->more = false;
	for (int i = 0; i < n; i++) {
		struct rt_home *chip = &homes->chip[homes->n];

		if (index[i] == (int)core->device ||
		    ndlx_device_window(core->dev, index[i], &chip->window))
			continue;
		chip->index = index[i];
		chip->distance = ndlx_device_distance(core->dev, index[i]);
		if (chip->distance < 0)
			chip->distance = NDLX_MAX_DEVICES;
		homes->n++;
	}
	qsort(homes->chip + 1, homes->n - 1, sizeof(homes->chip[0]), nearer);
}

NRT_STATUS rt_homes_make(const struct rt_core *core, struct rt_homes *homes)
{
	unsigned int wanted;
	NRT_STATUS status = devices_wanted(&wanted);

	*homes = (struct rt_homes){ .n = 1, .more = !wanted, .chip[0].index = (int)core->device };
	if (status || wanted < 2)
		return status;
	homes->spread = true;
	rt_homes_extend(core, homes);
	if (wanted > homes->n)
		return rt_fail(NRT_INVALID, "TDRV",
			       "NEURON_RT_WEIGHTS_DEVICES=%u: "
			       "nd%u reaches the memory of %u devices, its own among them",
			       wanted, core->device, homes->n);
	homes->n = wanted;
	return NRT_SUCCESS;
}

int rt_homes_alloc(const struct rt_homes *homes, unsigned int i, struct rt_core *core,
		   uint64_t size, uint64_t align, uint32_t type, struct rt_chunk *chunk)
{
	const struct rt_home *chip = &homes->chip[i];
	ndlx_device_t *dev = core->dev;
	int err = i ? rt_device_join((uint32_t)chip->index, &dev) : 0;

	if (!err)
		err = rt_chunk_try(core, dev, size, align, type, chunk);
	if (!err)
		chunk->pa |= chip->window;
	return err;
}
