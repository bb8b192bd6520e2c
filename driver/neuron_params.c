// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module parameters. The names and defaults are the public driver's, so that its modprobe options
 * load this module too; what Inferentia has nothing for is kept and shown, and does nothing. All
 * are read once, at load time.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/log2.h>
#include <linux/module.h>

#include "neuron_params.h"

int neuron_no_reset;
module_param_named(no_reset, neuron_no_reset, int, 0440);
MODULE_PARM_DESC(no_reset, "skip the hardware reset, initialise DMA only (default 0)");

int neuron_wc_enable = 1;
module_param_named(wc_enable, neuron_wc_enable, int, 0440);
MODULE_PARM_DESC(wc_enable, "map device memory write-combining (default 1)");

static ulong mempool_min_alloc_size = PAGE_SIZE;
module_param(mempool_min_alloc_size, ulong, 0440);
MODULE_PARM_DESC(mempool_min_alloc_size,
		 "granularity of memory chunks in bytes, a power of two (default 4096)");

static ulong mempool_small_pool_size = 1073741824;
module_param(mempool_small_pool_size, ulong, 0440);
MODULE_PARM_DESC(mempool_small_pool_size,
		 "bytes for small chunks at the end of each HBM, none if it has no more (default 1 GiB)");

ulong neuron_small_max = 524288;
module_param_named(mempool_small_alloc_max, neuron_small_max, ulong, 0440);
MODULE_PARM_DESC(mempool_small_alloc_max, "largest of the small chunks (default 524288)");

int neuron_force_userver;
module_param_named(force_userver, neuron_force_userver, int, 0440);
MODULE_PARM_DESC(force_userver,
		 "a node of an UltraServer, whatever the machine's name (default 0)");

int neuron_force_die_flip;
module_param_named(force_die_flip, neuron_force_die_flip, int, 0440);
MODULE_PARM_DESC(force_die_flip, "count cores from the other die (default 0)");

int neuron_userver_ctl;
module_param_named(userver_ctl, neuron_userver_ctl, int, 0440);
MODULE_PARM_DESC(userver_ctl,
		 "bits of an UltraServer's election, see docs/driver.md (default 0)");

int neuron_userver_etimeout = 600;
module_param_named(userver_etimeout, neuron_userver_etimeout, int, 0440);
MODULE_PARM_DESC(userver_etimeout, "seconds of an UltraServer's election (default 600)");

/* Accepted for the options of existing systems */
#define NEURON_PARAM_UNUSED(name, type, value)                                                     \
	static type name = value;                                                                  \
	module_param(name, type, 0440);                                                            \
	MODULE_PARM_DESC(name, "accepted, without a meaning on these chips (default " #value ")")

NEURON_PARAM_UNUSED(dup_helper_enable, int, 1);
NEURON_PARAM_UNUSED(mempool_host_memory_size, int, 33554432);
NEURON_PARAM_UNUSED(nc_per_dev_param, int, 1);
NEURON_PARAM_UNUSED(dev_nc_map, int, 1);
NEURON_PARAM_UNUSED(nmetric_metric_post_delay, int, 150000);
NEURON_PARAM_UNUSED(nmetric_log_posts, uint, 1);

#define GRAIN_MAX BIT_ULL(30) /* the smallest region that a generation has */

/* The granularity is from one page to one region; what is neither is refused once, at load time */
int neuron_params_check(void)
{
	if (is_power_of_2(mempool_min_alloc_size) && mempool_min_alloc_size >= PAGE_SIZE &&
	    mempool_min_alloc_size <= GRAIN_MAX)
		return 0;
	pr_err("mempool_min_alloc_size=%lu: a power of two from %lu to %llu\n",
	       mempool_min_alloc_size, PAGE_SIZE, GRAIN_MAX);
	return -EINVAL;
}

/* Bytes that a memory of this size keeps for small chunks */
u64 neuron_small_pool(u64 memory)
{
	if (mempool_small_pool_size >= memory || mempool_small_pool_size % mempool_min_alloc_size)
		return 0;
	return mempool_small_pool_size;
}

u64 neuron_chunk_size(u64 size)
{
	return ALIGN(size, mempool_min_alloc_size);
}
