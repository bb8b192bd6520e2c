// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's side of the hal: register writes, waiting, and the mailbox with its lock. Also the
 * sampling of the power word, the only periodic work of the module.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>

#include "neuron.h"

/* Longer waits sleep in steps, so that removal and a fatal signal end them */
#define LONG_WAIT_STEP_US 20000u
/* 120 samples a minute: a minute is valid from 60 on */
#define POWER_PERIOD (HZ / 2)
#define POWER_SAMPLES_VALID 60
#define POWER_API_MIN 3
#define POWER_MAX_BP 10000

static void op_write32(void *opaque, unsigned int bar, u64 offset, u32 value)
{
	struct neuron_device *nd = opaque;

	writel(value, (bar == NEURON_BAR_APB ? nd->bar0 : nd->bar2) + offset);
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
};

int neuron_fwio_init(struct neuron_device *nd, u32 features)
{
	nd->fwio_buf = dma_alloc_coherent(&nd->pdev->dev, 2 * NEURON_FWIO_BUF_SIZE, &nd->fwio_dma,
					  GFP_KERNEL);
	if (!nd->fwio_buf)
		return -ENOMEM;
	nhal_init(&nd->hal, &neuron_hal_ops, nd, features);
	nhal_mailbox_set(&nd->hal, nd->fwio_buf, nhal_host_addr(nd->fwio_dma),
			 nd->fwio_buf + NEURON_FWIO_BUF_SIZE,
			 nhal_host_addr(nd->fwio_dma + NEURON_FWIO_BUF_SIZE));
	return 0;
}

void neuron_fwio_exit(struct neuron_device *nd)
{
	dma_free_coherent(&nd->pdev->dev, 2 * NEURON_FWIO_BUF_SIZE, nd->fwio_buf, nd->fwio_dma);
}

int neuron_reg_read(struct neuron_device *nd, const u64 *addr, u32 *value, unsigned int n)
{
	int ret;

	mutex_lock(&nd->fwio_lock);
	ret = nhal_reg_read(&nd->hal, addr, value, n);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

int neuron_misc_read(struct neuron_device *nd, unsigned int word, u32 *value)
{
	u64 addr = nhal_misc_addr(word);

	return neuron_reg_read(nd, &addr, value, 1);
}

int neuron_neighbors(struct neuron_device *nd, int *east, int *west)
{
	int ret;

	mutex_lock(&nd->fwio_lock);
	ret = nhal_neighbors_read(&nd->hal, east, west);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

static void power_minute_end(struct neuron_device *nd, time64_t now)
{
	struct neuron_power *p = &nd->power;
	bool valid = p->samples >= POWER_SAMPLES_VALID;
	unsigned int avg = valid ? div_u64(p->sum, p->samples) : 0;
	unsigned int min = valid ? p->min : 0, max = valid ? p->max : 0;

	spin_lock(&nd->stats_lock);
	scnprintf(p->line, sizeof(p->line), "POWER_STATUS_%s,%lld,%u.%02u,%u.%02u,%u.%02u",
		  valid ? "VALID" : "NO_DATA", now, min / 100, min % 100, max / 100, max % 100,
		  avg / 100, avg % 100);
	spin_unlock(&nd->stats_lock);
	p->samples = 0;
	p->sum = 0;
	p->min = POWER_MAX_BP;
	p->max = 0;
	p->minute = now;
}

static void power_sample(struct neuron_device *nd)
{
	struct neuron_power *p = &nd->power;
	u32 word, bp;

	if (neuron_misc_read(nd, NEURON_MISC_POWER(0), &word))
		return;
	bp = word & 0xffff;
	/* the sample counter must move, or it is the old sample again */
	if (word >> 16 == p->last >> 16 || bp > POWER_MAX_BP)
		return;
	p->last = word;
	p->samples++;
	p->sum += bp;
	p->min = min(p->min, bp);
	p->max = max(p->max, bp);
}

static void power_work(struct work_struct *work)
{
	struct neuron_device *nd =
		container_of(to_delayed_work(work), struct neuron_device, power_work);
	time64_t now = ktime_get_real_seconds();
	u32 api;

	if (READ_ONCE(nd->state) != NEURON_STATE_READY)
		goto again;
	if (!nd->power.supported) {
		if (neuron_misc_read(nd, NEURON_MISC_FW_API_VERSION, &api))
			goto again;
		if (api < POWER_API_MIN) {
			nd_info(nd, "firmware API %u has no power utilization\n", api);
			return;
		}
		nd->power.supported = true;
	}
	power_sample(nd);
	if (now - nd->power.minute >= 60)
		power_minute_end(nd, now);
again:
	schedule_delayed_work(&nd->power_work, POWER_PERIOD);
}

void neuron_power_start(struct neuron_device *nd)
{
	INIT_DELAYED_WORK(&nd->power_work, power_work);
	power_minute_end(nd, ktime_get_real_seconds());
	schedule_delayed_work(&nd->power_work, POWER_PERIOD);
}

void neuron_power_stop(struct neuron_device *nd)
{
	cancel_delayed_work_sync(&nd->power_work);
}
