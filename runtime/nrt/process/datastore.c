/* SPDX-License-Identifier: MIT */
/*
 * The datastore that this process shares with the kernel module: what monitors see of it. A core's
 * memory is counted here and in its nrtx counters by one function, so that both sums agree.
 */
#include <stdio.h>
#include <string.h>

#include "rt_context.h"

#define NEFF_VERSION_MIN 0
#define NEFF_VERSION_MAX 2

static void set_device_counter(void *nds, unsigned int index, uint64_t value)
{
	memcpy((char *)nds + NDS_ND_OFFSET(index), &value, sizeof(value));
}

/* "2.1.7" as the word that monitors read: build 31:0, minor 39:32, major 47:40 */
static uint64_t version_word(const char *text)
{
	unsigned int major = 0, minor = 0, build = 0;

	sscanf(text, "%3u.%3u.%9u", &major, &minor, &build);
	return (uint64_t)(major & 0xff) << 40 | (uint64_t)(minor & 0xff) << 32 | build;
}

/* If the datastore cannot be opened, monitors see nothing and the program goes on. */
void rt_nds_open(struct rt_device *device)
{
	const int32_t version = 1;
	char *nds;

	if (ndlx_nds_open(device->dev, 0, &device->nds, &device->nds_size)) {
		device->nds = NULL;
		return;
	}
	nds = device->nds;
	memcpy(nds + NDS_HEADER_OFFSET, NDS_HEADER_MAGIC, sizeof(NDS_HEADER_MAGIC));
	memcpy(nds + NDS_HEADER_OFFSET + 4, &version, sizeof(version));
	set_device_counter(nds, NDS_ND_COUNTER_RUNTIME_VERSION,
			   (uint64_t)NRT_MAJOR_VERSION << 40 | (uint64_t)NRT_MINOR_VERSION << 32);
	set_device_counter(nds, NDS_ND_COUNTER_MIN_NEFF_VERSION, NEFF_VERSION_MIN);
	set_device_counter(nds, NDS_ND_COUNTER_MAX_NEFF_VERSION, NEFF_VERSION_MAX);
	set_device_counter(nds, NDS_ND_COUNTER_FRAMEWORK_VERSION, version_word(rt.fw_version));
	set_device_counter(nds, NDS_ND_COUNTER_FAL_VERSION, version_word(rt.fal_version));
	rt_nds_process(nds, rt.framework, rt.fw_version, rt.fal_version);
}

void rt_nds_close(struct rt_device *device)
{
	if (device->nds)
		ndlx_nds_close(device->dev, 0, device->nds, device->nds_size);
	device->nds = NULL;
}

void rt_nds_add(struct rt_core *core, unsigned int counter, uint64_t value)
{
	void *nds = rt.devices[core->device].nds;

	if (nds)
		ndlx_nds_add(nds, core->nc, counter, value);
}

static unsigned int memory_counter(uint32_t type)
{
	switch (type) {
	case NEURON_MEMALLOC_TYPE_CODE_DEVICE:
		return NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE;
	case NEURON_MEMALLOC_TYPE_TENSORS_DEVICE:
		return NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE;
	case NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE:
		return NDS_NC_COUNTER_MEM_USAGE_CONSTANTS_DEVICE;
	case NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE:
		return NDS_NC_COUNTER_MEM_USAGE_SCRATCHPAD_DEVICE;
	default:
		return NDS_NC_COUNTER_MEM_USAGE_MISC_DEVICE;
	}
}

void rt_memory_add(struct rt_core *core, uint32_t type, int64_t bytes)
{
	if (type == NEURON_MEMALLOC_TYPE_DMA_RINGS_HOST) {
		__atomic_add_fetch(&core->counters.mem_host, (uint64_t)bytes, __ATOMIC_RELAXED);
		return;
	}
	__atomic_add_fetch(&core->counters.mem_device, (uint64_t)bytes, __ATOMIC_RELAXED);
	rt_nds_add(core, memory_counter(type), (uint64_t)bytes);
}

void rt_memory_add_elsewhere(uint32_t device, uint32_t nc, uint32_t type, int64_t bytes)
{
	struct rt_core *const set[] = { rt.cores, rt.siblings };

	for (unsigned int k = 0; k < 2; k++)
		for (uint32_t i = 0; set[k] && i < rt.ncores; i++)
			if (set[k][i].device == device && set[k][i].nc == nc) {
				rt_memory_add(&set[k][i], type, bytes);
				return;
			}
	if (rt.devices[device].nds)
		ndlx_nds_add(rt.devices[device].nds, nc, memory_counter(type), (uint64_t)bytes);
}
