// SPDX-License-Identifier: GPL-2.0-only
/*
 * Hardware errors in the kernel log, as node-problem-detector's public rules look for them:
 * "NEURON_HW_ERR=<what>" between blanks, then key=value pairs. What a program did to itself (a bad
 * descriptor, an illegal instruction) is no such error and is told to its owner alone; but that one
 * of its cores waits for another, which need not be its fault, a runtime may have said (PRINTK).
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/dmi.h>
#include <linux/utsname.h>

#include "neuron_device.h"
#include "neuron_hwerr.h"

static const char *const hwerr_names[] = {
	[NEURON_HWERR_SRAM] = "SRAM_UNCORRECTABLE_ERROR",
	[NEURON_HWERR_CORE] = "NC_UNCORRECTABLE_ERROR",
	[NEURON_HWERR_DRAM] = "HBM_UNCORRECTABLE_ERROR",
	[NEURON_HWERR_DMA] = "DMA_ERROR",
	[NEURON_HWERR_HANG] = "HANG_ON_COLLECTIVES",
};

/* The cloud's name of this machine, which is where it puts asset tags */
static const char *instance_id(void)
{
	const char *tag = dmi_get_system_info(DMI_BOARD_ASSET_TAG);

	return tag && *tag && !strchr(tag, ' ') ? tag : "unknown";
}

/**
 * neuron_hwerr_init() - once for a device, before it has errors
 * @limits: the device's
 */
void neuron_hwerr_init(struct neuron_hwerr_limits *limits)
{
	unsigned int what, nc;

	for (what = 0; what < NEURON_HWERRS; what++)
		for (nc = 0; nc <= NEURON_CORES_MAX; nc++)
			ratelimit_default_init(&limits->of[what][nc]);
}

/**
 * neuron_hwerr() - a line for those who watch over machines
 * @nd: the device
 * @what: the kind of error
 * @nc: the core, or -1: of none
 *
 * No kind of error hides another one or another core's: each has a limit of its own, the kernel's
 * usual ten in five seconds.
 */
void neuron_hwerr(struct neuron_device *nd, enum neuron_hwerr what, int nc)
{
	if (!__ratelimit(&nd->hwerr.of[what][1 + nc]))
		return;
	pr_err("nd%d: NEURON_HW_ERR=%s instance-id=%s hostname=%s nd-id=%d nc-id=%d serial-num=%016llx action=TERMINATE_INSTANCE\n",
	       nd->index, hwerr_names[what], instance_id(), init_utsname()->nodename, nd->index, nc,
	       nd->serial);
}
