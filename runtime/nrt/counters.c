/* SPDX-License-Identifier: MIT */
/*
 * What others can see of this process: the datastore it shares with the module and monitors, and
 * the counters of nrtx.h. Performance counters are the chip's own, read through the mailbox.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "nrt_priv.h"

#define NEFF_VERSION_MIN 0
#define NEFF_VERSION_MAX 2

static void set_device_counter(void *nds, unsigned int index, uint64_t value)
{
	memcpy((char *)nds + NDS_ND_OFFSET(index), &value, sizeof(value));
}

/* A datastore that cannot be had costs the monitors, not the program */
void rt_nds_open(struct rt_device *device)
{
	const int32_t version = 1;
	char *nds;

	if (ndl_nds_open(device->dev, 0, &device->nds, &device->nds_size)) {
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
}

void rt_nds_close(struct rt_device *device)
{
	if (device->nds)
		ndl_nds_close(device->dev, 0, device->nds, device->nds_size);
	device->nds = NULL;
}

void rt_nds_add(struct rt_core *core, unsigned int counter, uint64_t value)
{
	void *nds = rt.devices[core->device].nds;

	if (nds)
		ndl_nds_add(nds, core->nc, counter, value);
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

static void fill_perf(const struct neuron_target *target, const struct ndl_core_perf *perf,
		      struct nrtx_core_counters *counters)
{
	for (unsigned int e = 0; e < target->engines; e++)
		counters->engine[e] = (struct nrtx_engine_counters){
			.insns = perf->engine[e].insns,
			.busy_cycles = perf->engine[e].busy_cycles,
			.idle_cycles = perf->engine[e].idle_cycles,
			.wait_cycles = perf->engine[e].wait_cycles,
			.matmul_insns = perf->engine[e].matmul_insns,
			.matmul_wait_cycles = perf->engine[e].matmul_wait_cycles,
		};
	counters->macs = perf->macs;
}

EXPORT NRT_STATUS nrtx_core_counters(uint32_t vnc, struct nrtx_core_counters *counters)
{
	RT_ENTER(status);
	struct ndl_core_perf perf;
	struct rt_core *core;
	int err;

	if (status)
		return status;
	core = rt_core(vnc);
	if (!core || !counters)
		return rt_fail(NRT_INVALID, "NRT", "core %u of %u", vnc, rt.ncores);
	err = ndl_core_perf(core->dev, core->nc, &perf);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "nd%u: %s", core->device,
			       strerror(-err));
	*counters = core->counters;
	fill_perf(core->dev->gen->target, &perf, counters);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_model_counters(const nrt_model_t *model,
				      struct nrtx_model_counters *counters)
{
	RT_ENTER(status);
	RT_PIN(pinned, model);

	if (status)
		return status;
	if (!model || !counters)
		return rt_fail(NRT_INVALID, "NRT", "no model");
	if (!pinned)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "the model is not loaded");
	*counters = model->counters;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_vnc_memory_stats(uint32_t vnc, nrt_vnc_memory_stats_t *stats,
					   size_t size_in, size_t *size_out)
{
	RT_ENTER(status);
	nrt_vnc_memory_stats_t mine;
	struct rt_core *core;

	if (status)
		return status;
	core = rt_core(vnc);
	if (!core || !stats || !size_out)
		return rt_fail(NRT_INVALID, "NRT", "core %u of %u", vnc, rt.ncores);
	mine.bytes_used = core->counters.mem_device;
	/* the cores of a chip share all of it */
	mine.bytes_limit = neuron_gen_memory(core->dev->gen);
	*size_out = size_in < sizeof(mine) ? size_in : sizeof(mine);
	memcpy(stats, &mine, *size_out);
	return NRT_SUCCESS;
}
