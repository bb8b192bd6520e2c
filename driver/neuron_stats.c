// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters behind sysfs. total is a running sum and present the last change; memory counters hold
 * the bytes in use in both, and the most there ever was in peak. All under nd->stats_lock.
 */
#include "neuron_device.h"
#include "neuron_mem.h"
#include "neuron_stats.h"

enum {
	HOST_UNCATEGORIZED, /* also types of device memory */
	HOST_APPLICATION,
	HOST_CONSTANTS,
	HOST_DMA_BUFFERS,
	HOST_DMA_RINGS,
	HOST_DRIVER,
	HOST_NOTIFICATIONS,
	HOST_TENSORS,
};

const char *const neuron_host_kinds[NEURON_HOST_KINDS] = {
	[HOST_APPLICATION] = "application_memory",
	[HOST_CONSTANTS] = "constants",
	[HOST_DMA_BUFFERS] = "dma_buffers",
	[HOST_DMA_RINGS] = "dma_rings",
	[HOST_DRIVER] = "driver_memory",
	[HOST_NOTIFICATIONS] = "notifications",
	[HOST_TENSORS] = "tensors",
	[HOST_UNCATEGORIZED] = "uncategorized",
};

enum {
	DEVICE_UNCATEGORIZED, /* also types of host memory */
	DEVICE_CODE,
	DEVICE_TENSORS,
	DEVICE_CONSTANTS,
	DEVICE_SCRATCHPAD,
	DEVICE_RUNTIME,
	DEVICE_DRIVER,
	DEVICE_COLLECTIVES,
	DEVICE_NONSHARED,
	DEVICE_NOTIFICATIONS,
	DEVICE_DMA_RINGS,
};

const char *const neuron_device_kinds[NEURON_DEVICE_KINDS] = {
	[DEVICE_CODE] = "model_code",
	[DEVICE_TENSORS] = "tensors",
	[DEVICE_CONSTANTS] = "constants",
	[DEVICE_SCRATCHPAD] = "model_shared_scratchpad",
	[DEVICE_RUNTIME] = "runtime_memory",
	[DEVICE_DRIVER] = "driver_memory",
	[DEVICE_COLLECTIVES] = "collectives",
	[DEVICE_NONSHARED] = "nonshared_scratchpad",
	[DEVICE_NOTIFICATIONS] = "notifications",
	[DEVICE_DMA_RINGS] = "dma_rings",
	[DEVICE_UNCATEGORIZED] = "uncategorized",
};

static unsigned int host_kind(u8 type)
{
	static const u8 kind[NEURON_MEMALLOC_TYPE_MAX] = {
		[NEURON_MEMALLOC_TYPE_CODE_HOST] = HOST_DMA_BUFFERS,
		[NEURON_MEMALLOC_TYPE_TENSORS_HOST] = HOST_TENSORS,
		[NEURON_MEMALLOC_TYPE_CONSTANTS_HOST] = HOST_CONSTANTS,
		[NEURON_MEMALLOC_TYPE_MISC_HOST] = HOST_APPLICATION,
		[NEURON_MEMALLOC_TYPE_NCDEV_HOST] = HOST_DRIVER,
		[NEURON_MEMALLOC_TYPE_NOTIFICATION_HOST] = HOST_NOTIFICATIONS,
		[NEURON_MEMALLOC_TYPE_DMA_RINGS_HOST] = HOST_DMA_RINGS,
	};

	return type < NEURON_MEMALLOC_TYPE_MAX ? kind[type] : HOST_UNCATEGORIZED;
}

static unsigned int device_kind(u8 type)
{
	static const u8 kind[NEURON_MEMALLOC_TYPE_MAX] = {
		[NEURON_MEMALLOC_TYPE_CODE_DEVICE] = DEVICE_CODE,
		[NEURON_MEMALLOC_TYPE_TENSORS_DEVICE] = DEVICE_TENSORS,
		[NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE] = DEVICE_CONSTANTS,
		[NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE] = DEVICE_SCRATCHPAD,
		[NEURON_MEMALLOC_TYPE_MISC_DEVICE] = DEVICE_RUNTIME,
		[NEURON_MEMALLOC_TYPE_NCDEV_DEVICE] = DEVICE_DRIVER,
		[NEURON_MEMALLOC_TYPE_COLLECTIVES_DEVICE] = DEVICE_COLLECTIVES,
		[NEURON_MEMALLOC_TYPE_SCRATCHPAD_NONSHARED_DEVICE] = DEVICE_NONSHARED,
		[NEURON_MEMALLOC_TYPE_NOTIFICATION_DEVICE] = DEVICE_NOTIFICATIONS,
		[NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE] = DEVICE_DMA_RINGS,
		[NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE] = DEVICE_SCRATCHPAD,
	};

	return type < NEURON_MEMALLOC_TYPE_MAX ? kind[type] : DEVICE_UNCATEGORIZED;
}

void neuron_stat_add(struct neuron_device *nd, struct neuron_counter *c, u64 delta)
{
	spin_lock(&nd->stats_lock);
	c->total += delta;
	c->present = delta;
	spin_unlock(&nd->stats_lock);
}

static void usage_change(struct neuron_counter *c, u64 size, bool add)
{
	if (add)
		c->present += size;
	else
		c->present -= min(size, c->present); /* somebody may have zeroed it */
	c->total = c->present;
	c->peak = max(c->peak, c->present);
}

void neuron_stat_memory(struct neuron_device *nd, const struct neuron_mc *mc, bool add)
{
	struct neuron_stats *s = &nd->stats;

	spin_lock(&nd->stats_lock);
	if (mc->host) {
		usage_change(&s->host_mem[host_kind(mc->type)], mc->size, add);
		usage_change(&s->host_all[mc->nc], mc->size, add);
	} else {
		usage_change(&s->device_mem[mc->nc][device_kind(mc->type)], mc->size, add);
		usage_change(&s->device_all[mc->nc], mc->size, add);
	}
	spin_unlock(&nd->stats_lock);
}
