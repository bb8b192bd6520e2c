// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's side of the hal: register writes, waiting, and the mailbox with its lock.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>

#include "neuron_device.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_inject.h"
#include "neuron_trace.h"

/* Longer waits sleep in steps, so that removal and a fatal signal end them */
#define LONG_WAIT_STEP_US 20000u

static void op_write32(void *opaque, unsigned int bar, u64 offset, u32 value)
{
	struct neuron_device *nd = opaque;

	writel(value, (bar == nd->gen->bar_regs ? nd->regs : nd->cores) + offset);
}

static u32 op_read32(void *opaque, unsigned int bar, u64 offset)
{
	struct neuron_device *nd = opaque;

	return readl((bar == nd->gen->bar_regs ? nd->regs : nd->cores) + offset);
}

static int op_wait(void *opaque, unsigned int us)
{
	struct neuron_device *nd = opaque;
	unsigned int step;

	if (!us) {
		cpu_relax();
		return READ_ONCE(nd->gone) ? -ENODEV : 0;
	}
	do {
		if (READ_ONCE(nd->gone))
			return -ENODEV;
		if (!READ_ONCE(nd->finish) && fatal_signal_pending(current))
			return -EINTR;
		step = min(us, LONG_WAIT_STEP_US);
		usleep_range(step, step + step / 4 + 1);
		us -= step;
	} while (us);
	return 0;
}

static u64 op_now_us(void *opaque)
{
	return ktime_to_us(ktime_get());
}

static const struct nhal_ops neuron_hal_ops = {
	.write32 = op_write32,
	.wait = op_wait,
	.now_us = op_now_us,
	.read32 = op_read32,
};

int neuron_fwio_init(struct neuron_device *nd, u32 features)
{
	nd->fwio_buf = dma_alloc_coherent(&nd->pdev->dev, 2 * NEURON_FWIO_BUF_SIZE, &nd->fwio_dma,
					  GFP_KERNEL);
	if (!nd->fwio_buf)
		return -ENOMEM;
	nhal_init(&nd->hal, nd->gen, &neuron_hal_ops, nd, features);
	nhal_mailbox_set(&nd->hal, nd->fwio_buf, nhal_host_addr(nd->gen, nd->fwio_dma),
			 nd->fwio_buf + NEURON_FWIO_BUF_SIZE,
			 nhal_host_addr(nd->gen, nd->fwio_dma + NEURON_FWIO_BUF_SIZE));
	return 0;
}

void neuron_fwio_exit(struct neuron_device *nd)
{
	dma_free_coherent(&nd->pdev->dev, 2 * NEURON_FWIO_BUF_SIZE, nd->fwio_buf, nd->fwio_dma);
}

int neuron_reg_read(struct neuron_device *nd, const u64 *addr, u32 *value, unsigned int n)
{
	int ret;

	if (neuron_fail(NEURON_FAIL_FWIO_READ))
		return -EIO;
	mutex_lock(&nd->fwio_lock);
	ret = nhal_reg_read(&nd->hal, addr, value, n);
	mutex_unlock(&nd->fwio_lock);
	trace_fwio(nd->index, n, ret);
	return ret;
}

int neuron_misc_read(struct neuron_device *nd, unsigned int word, u32 *value)
{
	u64 addr = nhal_misc_addr(nd->gen, word);

	return neuron_reg_read(nd, &addr, value, 1);
}

int neuron_neighbors(struct neuron_device *nd, int id[NEURON_PORTS_MAX])
{
	int ret;

	if (nd->gen->shapes) {
		neuron_gen_neighbours(nd->gen, neuron_device_count(), nd->index, id);
		return 0;
	}
	mutex_lock(&nd->fwio_lock);
	ret = nhal_neighbors_read(&nd->hal, id);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}
