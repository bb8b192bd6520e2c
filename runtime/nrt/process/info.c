/* SPDX-License-Identifier: MIT */
/* Queries about the machine and this process's part of it */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "instance.h"
#include "neuron_version.h"
#include "rt_context.h"

EXPORT NRT_STATUS nrtx_machine_set(const char *name)
{
	char known[512] = "node";
	size_t n = strlen(known);
	int err;

	rt_details_clear();
	err = ndlx_machine_set(name);
	if (!err)
		return NRT_SUCCESS;
	if (err != -EINVAL)
		return rt_fail(NRT_INVALID, "NRT", "machine '%s': %s", name,
			       ndlx_machine_error(err));

	for (unsigned int i = 0; ndlx_machine_name(i) && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, ", emu:%s",
				      ndlx_machine_name(i));
	return rt_fail(NRT_INVALID, "NRT", "machine '%s' does not exist; there are %s", name,
		       known);
}

EXPORT NRT_STATUS nrtx_cores_per_device(uint32_t *cores)
{
	struct rt_machine machine;
	NRT_STATUS status;

	rt_details_clear();
	status = rt_machine(&machine);
	*cores = status ? 0 : machine.gen->cores / machine.lnc;
	return status;
}

static NRT_STATUS total(uint32_t *cores, bool logical)
{
	struct rt_machine machine;
	NRT_STATUS status;

	rt_details_clear();
	if (!cores)
		return NRT_INVALID;
	status = rt_machine(&machine);
	if (!status)
		*cores = machine.n * machine.gen->cores / (logical ? machine.lnc : 1);
	return status;
}

EXPORT NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count)
{
	return total(nc_count, false);
}

EXPORT NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count)
{
	return total(vnc_count, true);
}

static NRT_STATUS visible(uint32_t *cores, bool logical)
{
	struct rt_machine machine;
	struct rt_want want;
	NRT_STATUS status;

	if (!cores)
		return NRT_INVALID;
	pthread_mutex_lock(&rt.lock);
	*cores = logical ? rt.ncores : rt.ncores * rt.lnc;
	pthread_mutex_unlock(&rt.lock);
	if (*cores)
		return NRT_SUCCESS;
	rt_details_clear();
	status = rt_machine(&machine);
	if (!status)
		status = rt_cores_visible(&machine, &want);
	if (!status)
		*cores = logical ? want.count / machine.lnc : want.count;
	return status;
}

EXPORT NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count)
{
	return visible(nc_count, false);
}

EXPORT NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count)
{
	return visible(vnc_count, true);
}

EXPORT NRT_STATUS nrtx_device_bdf(uint32_t device, struct nrtx_bdf *bdf)
{
	struct ndlx_bdf ndl;
	int err;

	rt_details_clear();
	err = ndlx_get_device_bdf((int)device, &ndl);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "nd%u: %s", device,
			       strerror(-err));
	*bdf = (struct nrtx_bdf){ ndl.domain, ndl.bus, ndl.slot, ndl.func };
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_core_location(uint32_t vnc, uint32_t *device, uint32_t *nc)
{
	RT_ENTER(status);
	struct rt_core *core = status ? NULL : rt_core(vnc);

	if (status)
		return status;
	if (!core)
		return rt_fail(NRT_INVALID, "NRT", "core %u of %u", vnc, rt.ncores);
	*device = core->device;
	*nc = core->nc / rt.lnc;
	return NRT_SUCCESS;
}

_Static_assert(sizeof(((struct nrtx_error_counters *)0)->memory) /
			       sizeof(((struct nrtx_error_counters *)0)->memory[0]) >=
		       NEURON_MEMORIES_MAX,
	       "a counter for each memory of any generation");

EXPORT NRT_STATUS nrtx_error_counters(uint32_t device, struct nrtx_error_counters *counters)
{
	RT_ENTER(status);
	struct ndlx_errors errors;
	int err;

	if (status)
		return status;
	if (device >= NDLX_MAX_DEVICES || !rt.devices[device].dev)
		return rt_fail(NRT_INVALID, "TDRV", "nd%u is not in use by this process", device);

	err = ndlx_error_counters(rt.devices[device].dev, &errors);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "nd%u: %s", device,
			       strerror(-err));

	*counters = (struct nrtx_error_counters){
		.sram_corrected = errors.sram.corrected,
		.sram_uncorrected = errors.sram.uncorrected,
		.memories = rt.gen->memories,
	};

	for (unsigned int i = 0; i < counters->memories; i++) {
		counters->memory[i].corrected = errors.memory[i].corrected;
		counters->memory[i].uncorrected = errors.memory[i].uncorrected;
	}
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
	if (core->sibling)
		mine.bytes_used += core->sibling->counters.mem_device;
	/* the cores of a chip share all of its memory */
	mine.bytes_limit = neuron_gen_memory(core->dev->gen);
	*size_out = size_in < sizeof(mine) ? size_in : sizeof(mine);
	memcpy(stats, &mine, *size_out);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
	nrt_version_t version = { .rt_major = NRT_MAJOR_VERSION, .rt_minor = NRT_MINOR_VERSION };

	rt_details_clear();
	if (!ver || !size)
		return NRT_INVALID;
	snprintf(version.rt_detail, sizeof(version.rt_detail),
		 "neuron-emulator " NEURON_EMULATOR_BUILD);
	memcpy(ver, &version, size < sizeof(version) ? size : sizeof(version));
	return NRT_SUCCESS;
}

static uint32_t instance_family(const char *name)
{
	static const struct {
		const char *name;
		uint32_t family;
	} families[] = {
		{ "inf1.", NRT_INSTANCE_INF1 }, { "inf2.", NRT_INSTANCE_INF2 },
		{ "trn1.", NRT_INSTANCE_TRN1 }, { "trn1n.", NRT_INSTANCE_TRN1N },
		{ "trn2.", NRT_INSTANCE_TRN2 }, { "trn2u.", NRT_INSTANCE_TRN2U },
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strncmp(name, families[i].name, strlen(families[i].name)))
			return families[i].family;
	return NRT_INSTANCE_UNKNOWN;
}

EXPORT NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t length)
{
	/* the sizes in instance names, in the order of their numbers here */
	static const uint16_t xlarges[] = {
		[NRT_INSTANCE_SIZE_1XL] = 1,   [NRT_INSTANCE_SIZE_2XL] = 2,
		[NRT_INSTANCE_SIZE_3XL] = 3,   [NRT_INSTANCE_SIZE_4XL] = 4,
		[NRT_INSTANCE_SIZE_6XL] = 6,   [NRT_INSTANCE_SIZE_8XL] = 8,
		[NRT_INSTANCE_SIZE_24XL] = 24, [NRT_INSTANCE_SIZE_32XL] = 32,
		[NRT_INSTANCE_SIZE_48XL] = 48,
	};
	const struct neuron_instance *instance;
	nrt_instance_info_t mine = {
		.family = NRT_INSTANCE_INF1,
		.size = NRT_INSTANCE_SIZE_UNKNOWN,
		.arch_name = "inf1",
		.device_revision = "1",
	};
	size_t arch = strlen(mine.arch_name);

	rt_details_clear();
	if (!info)
		return NRT_INVALID;
	instance = neuron_instance_find(ndlx_machine_instance());
	if (instance) {
		mine.family = instance_family(instance->name);
		memcpy(mine.arch_name, instance->name, arch); /* trn1 of trn1n.32xlarge */
	}
	for (uint32_t i = 0; instance && i < sizeof(xlarges) / sizeof(xlarges[0]); i++)
		if (xlarges[i] == instance->xlarges)
			mine.size = i;
	memcpy(info, &mine, length < sizeof(mine) ? length : sizeof(mine));
	return NRT_SUCCESS;
}
