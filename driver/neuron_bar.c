// SPDX-License-Identifier: GPL-2.0-only
/*
 * Register access for programs. An address is a cookie plus an offset: DEVICE_INFO hands out the
 * cookies, nothing of the kernel's address space. Reads go through the mailbox; what a core keeps
 * in SBUF and PSUM is for its owner alone. Writes reach
 * only what belongs to a core of the caller and cannot point the chip at memory: ring, completion
 * and notification bases, doorbells, and the module's own copy queue are refused.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/slab.h>

#include "neuron.h"
#include "neuron_trace.h"

#define BAR_RW_MAX 4096 /* words in one call */
#define COOKIE_BASE 0x4e0000000000ull
#define COOKIE_STEP 0x10000000000ull

/* Words of misc RAM that are the runtime's */
#define MISC_RT0_FIRST 0xc0
#define MISC_RT0_LAST 0xf0
#define MISC_RT1_FIRST 0x1a0
#define MISC_RT1_LAST 0x1d0

/* i: 0 is BAR0, 1 is BAR2 */
u64 neuron_bar_cookie(unsigned int i)
{
	return COOKIE_BASE + i * COOKIE_STEP;
}

static int bar_offset(struct neuron_device *nd, unsigned int bar, u64 address, u64 *offset)
{
	u64 base = neuron_bar_cookie(bar ? 1 : 0), len = bar ? nd->bar2_len : nd->bar0_len;

	if (address < base || address - base >= len || address % 4)
		return -EINVAL;
	*offset = address - base;
	return *offset + 4 <= len ? 0 : -EINVAL;
}

static bool misc_writable(u64 word)
{
	return (word >= MISC_RT0_FIRST && word <= MISC_RT0_LAST) ||
	       (word >= MISC_RT1_FIRST && word <= MISC_RT1_LAST);
}

static bool queue_reg_writable(u32 queue, u32 reg, bool h2t_engine)
{
	if (h2t_engine && queue == NEURON_V1_H2T_QUEUE)
		return false;
	switch (reg) {
	case NEURON_UDMA_Q_BASE_LO:
	case NEURON_UDMA_Q_BASE_HI:
	case NEURON_UDMA_Q_LEN:
	case NEURON_UDMA_Q_TAIL_INC:
	case NEURON_UDMA_Q_COMP_BASE_LO:
	case NEURON_UDMA_Q_COMP_BASE_HI:
		return false;
	default:
		return true;
	}
}

/* offset inside the registers of one engine */
static bool udma_writable(unsigned int k, u64 offset)
{
	bool h2t = k == NEURON_V1_H2T_ENGINE(0);
	u64 half = offset >= NEURON_UDMA_S2M ? offset - NEURON_UDMA_S2M : offset;

	if (offset >= NEURON_UDMA_SIZE)
		return false;
	if (half < 0x1000)
		return !h2t; /* the engine's own registers: the copy queue depends on them */
	if (half < 0x1000 * (1 + QUEUE_COUNT))
		return queue_reg_writable(half / 0x1000 - 1, half % 0x1000, h2t);
	return !h2t;
}

/* Only the heads of the notification queues */
static bool putils_writable(u64 offset)
{
	unsigned int eng;

	if (offset == NEURON_V1_NQ_ERROR_REGS + NEURON_V1_NQ_HEAD ||
	    offset == NEURON_V1_NQ_EVENT_REGS + NEURON_V1_NQ_HEAD)
		return true;
	for (eng = 0; eng < NQ_ENGINES; eng++)
		if (offset == NEURON_V1_NQ_NOTIFY_REGS(eng) + NEURON_V1_NQ_HEAD ||
		    offset == NEURON_V1_NQ_TRACE_REGS(eng) + NEURON_V1_NQ_HEAD)
			return true;
	return false;
}

/* May the caller write this word of BAR0? nd->lock held */
static int bar0_check(struct neuron_device *nd, u64 offset)
{
	u64 in_core = offset % 0x100000, udma = NEURON_V1_APB_UDMA(0);
	u64 putils = NEURON_V1_APB_PUTILS(0);
	unsigned int nc;

	if (offset >= NEURON_V1_APB_MISC_RAM &&
	    offset - NEURON_V1_APB_MISC_RAM < NEURON_V1_APB_MISC_RAM_SIZE)
		return misc_writable(offset - NEURON_V1_APB_MISC_RAM) ? 0 : -EINVAL;
	if (offset >= putils && offset < NEURON_V1_APB_PUTILS(NC_COUNT)) {
		nc = (offset - putils) / NEURON_V1_APB_PUTILS_SIZE;
		if (!putils_writable((offset - putils) % NEURON_V1_APB_PUTILS_SIZE))
			return -EINVAL;
		return neuron_core_claim(nd, nc);
	}
	nc = offset / 0x100000;
	if (nc >= NC_COUNT || in_core < udma ||
	    in_core >= udma + NEURON_V1_DMA_ENG_PER_NC * 0x40000)
		return -EINVAL;
	if (!udma_writable((in_core - udma) / 0x40000, (in_core - udma) % 0x40000))
		return -EINVAL;
	return neuron_core_claim(nd, nc);
}

/* BAR2: SBUF and PSUM lie in front of a core's registers */
static bool is_core_memory(u64 offset)
{
	return offset % NEURON_V1_TPB_SIZE <
	       NEURON_PSUM_OFFSET + NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE;
}

/* Addresses: bar 0 a list, bar 2 consecutive words from the first */
static int get_offsets(struct neuron_device *nd, struct neuron_call *call,
		       const struct neuron_ioctl_bar_rw *arg, u64 *offset)
{
	size_t size = (arg->bar ? 1 : arg->count) * sizeof(*offset);
	u64 *address;
	unsigned int i;
	int ret;

	ret = neuron_call_fetch(call, arg->address, size, (void **)&address);
	for (i = 0; i < arg->count && !ret; i++)
		ret = bar_offset(nd, arg->bar, arg->bar ? *address + 4 * i : address[i],
				 &offset[i]);
	return ret;
}

static int core_memory_claim(struct neuron_device *nd, const u64 *offset, unsigned int n)
{
	unsigned int i;
	int ret = 0;

	mutex_lock(&nd->lock);
	for (i = 0; i < n && !ret; i++)
		if (is_core_memory(offset[i]))
			ret = neuron_core_claim(nd, offset[i] / NEURON_V1_TPB_SIZE);
	mutex_unlock(&nd->lock);
	return ret;
}

static int bar_read(struct neuron_device *nd, struct neuron_call *call,
		    const struct neuron_ioctl_bar_rw *arg, u64 *offset, u32 *data)
{
	u64 base = arg->bar ? NEURON_V1_TPB_BASE : NEURON_V1_APB_BASE;
	size_t size = arg->count * sizeof(*data);
	unsigned int i;
	int ret;

	ret = arg->bar ? core_memory_claim(nd, offset, arg->count) : 0;
	if (ret)
		return ret;
	for (i = 0; i < arg->count; i++)
		offset[i] += base;
	ret = neuron_reg_read(nd, offset, data, arg->count);
	if (!ret)
		ret = neuron_call_write(call, arg->data, data, size, size);
	for (i = 0; i < arg->count && !ret; i++)
		trace_bar_read(nd->index, arg->bar, offset[i] - base, data[i]);
	return ret;
}

/* Nothing is written unless everything may be */
static int bar_write(struct neuron_device *nd, struct neuron_call *call,
		     const struct neuron_ioctl_bar_rw *arg, const u64 *offset, u32 *data)
{
	void __iomem *base = arg->bar ? nd->bar2 : nd->bar0;
	size_t size = arg->count * sizeof(*data);
	unsigned int i;
	int ret;

	ret = neuron_call_read(call, data, arg->data, size, size);
	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	for (i = 0; i < arg->count && !ret; i++)
		ret = arg->bar ? neuron_core_claim(nd, offset[i] / NEURON_V1_TPB_SIZE)
			       : bar0_check(nd, offset[i]);
	for (i = 0; i < arg->count && !ret; i++) {
		trace_bar_write(nd->index, arg->bar, offset[i], data[i]);
		writel(data[i], base + offset[i]);
	}
	mutex_unlock(&nd->lock);
	return ret;
}

int neuron_bar_rw(struct neuron_device *nd, struct neuron_call *call,
		  const struct neuron_ioctl_bar_rw *arg, bool write)
{
	u64 *offset;
	u32 *data;
	int ret;

	if (arg->bar != NEURON_BAR_APB && arg->bar != NEURON_BAR_AXI)
		return -EINVAL;
	if (arg->count > BAR_RW_MAX)
		return -E2BIG;
	if (!arg->count)
		return 0;
	offset = kvmalloc_array(arg->count, sizeof(*offset) + sizeof(*data), GFP_KERNEL);
	if (!offset)
		return -ENOMEM;
	data = (u32 *)(offset + arg->count);
	ret = get_offsets(nd, call, arg, offset);
	if (!ret)
		ret = write ? bar_write(nd, call, arg, offset, data)
			    : bar_read(nd, call, arg, offset, data);
	kvfree(offset);
	return ret;
}

/* Registers by device address; memory is not readable this way */
static int counters_check(const u64 *addr, unsigned int n)
{
	unsigned int i, bar;
	u64 offset;

	for (i = 0; i < n; i++)
		if (nhal_addr_to_bar(addr[i], 4, &bar, &offset) || bar == NEURON_BAR_DRAM ||
		    (bar == NEURON_BAR_AXI && is_core_memory(offset)))
			return -EINVAL;
	return 0;
}

int neuron_hw_counters(struct neuron_device *nd, struct neuron_call *call,
		       const struct neuron_ioctl_read_hw_counters *arg)
{
	size_t size = arg->count * sizeof(u32);
	u64 *addr;
	u32 *data;
	int ret;

	if (arg->count > NHAL_FWIO_READ_MAX)
		return -E2BIG;
	if (!arg->count)
		return 0;
	ret = neuron_call_fetch(call, arg->address, arg->count * sizeof(*addr), (void **)&addr);
	if (!ret)
		ret = counters_check(addr, arg->count);
	if (ret)
		return ret;
	data = kvmalloc(size, GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	ret = neuron_reg_read(nd, addr, data, arg->count);
	if (!ret)
		ret = neuron_call_write(call, arg->data, data, size, size);
	kvfree(data);
	return ret;
}
