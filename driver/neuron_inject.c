// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault injection, on kernels built with CONFIG_FAULT_INJECTION_DEBUG_FS: the public driver's
 * entries in debugfs, neuron/fail_*, each a directory with the kernel's usual files (probability,
 * interval, times: Documentation/fault-injection). Elsewhere nothing of it is built.
 */
#include <linux/debugfs.h>
#include <linux/fault-inject.h>

#include "neuron_inject.h"

#ifdef CONFIG_FAULT_INJECTION_DEBUG_FS
static DECLARE_FAULT_ATTR(fail_nc_mmap);
static DECLARE_FAULT_ATTR(fail_dma_wait);
static DECLARE_FAULT_ATTR(fail_mc_alloc);
static DECLARE_FAULT_ATTR(fail_fwio_read);
static DECLARE_FAULT_ATTR(fail_fwio_post_metric);

static struct {
	const char *name;
	struct fault_attr *attr;
} faults[NEURON_FAIL_COUNT] = {
	[NEURON_FAIL_MMAP] = { "fail_nc_mmap", &fail_nc_mmap },
	[NEURON_FAIL_DMA_WAIT] = { "fail_dma_wait", &fail_dma_wait },
	[NEURON_FAIL_MC_ALLOC] = { "fail_mc_alloc", &fail_mc_alloc },
	[NEURON_FAIL_FWIO_READ] = { "fail_fwio_read", &fail_fwio_read },
	[NEURON_FAIL_FWIO_METRIC] = { "fail_fwio_post_metric", &fail_fwio_post_metric },
};

static struct dentry *dir;

/**
 * neuron_fail() - whether this one shall fail
 * @what: what is about to be done
 *
 * Return: true if it shall.
 */
bool neuron_fail(enum neuron_fail what)
{
	return should_fail(faults[what].attr, 1);
}

/**
 * neuron_inject_init() - make the entries; the module does without when that fails
 */
void __init neuron_inject_init(void)
{
	unsigned int i;

	dir = debugfs_create_dir("neuron", NULL);
	for (i = 0; i < NEURON_FAIL_COUNT; i++)
		fault_create_debugfs_attr(faults[i].name, dir, faults[i].attr);
}

/**
 * neuron_inject_exit() - take them away
 */
void neuron_inject_exit(void)
{
	debugfs_remove_recursive(dir);
}
#endif
