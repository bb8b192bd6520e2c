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

#include "neuron_device.h"
#include "neuron_bar.h"
#include "neuron_fwio.h"
#include "neuron_gate.h"
#include "neuron_user.h"
#include "neuron_trace.h"

#define BAR_RW_MAX 4096 /* words in one call */
#define COOKIE_BASE 0x4e0000000000ull
#define COOKIE_STEP 0x10000000000ull

/* The words of misc RAM that belong to the runtime */
#define MISC_RT0_FIRST 0xc0
#define MISC_RT0_LAST 0xf0
#define MISC_RT1_FIRST 0x1a0
#define MISC_RT1_LAST 0x1d0

/* Programs' numbers of the BARs: 0 is the registers' BAR, 1 the cores' */
u64 neuron_bar_cookie(unsigned int i)
{
	return COOKIE_BASE + i * COOKIE_STEP;
}

static int bar_offset(struct neuron_device *nd, unsigned int bar, u64 address, u64 *offset)
{
	bool cores = bar != nd->gen->bar_regs;
	u64 base = neuron_bar_cookie(cores), len = cores ? nd->cores_len : nd->regs_len;

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

static bool queue_reg_writable(u32 reg)
{
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

/* rel: inside the registers of one engine */
static bool udma_writable(struct neuron_device *nd, unsigned int eng, u64 rel)
{
	u64 half = rel >= NEURON_UDMA_S2M ? rel - NEURON_UDMA_S2M : rel;
	const struct neuron_gen *gen = nd->gen;

	/* the engine's own registers: the module's copy queue depends on them */
	if (half < 0x1000 || half >= 0x1000 * (1 + QUEUE_COUNT))
		return !neuron_gen_is_copy_engine(gen, eng);
	return !neuron_gen_is_copy_queue(gen, eng, half / 0x1000 - 1) &&
	       !nd->queues[eng][half / 0x1000 - 1].asked.ring && queue_reg_writable(half % 0x1000);
}

/* Programs may write notification queues' heads, and nothing else of them */
static bool nq_writable(const struct neuron_gen *gen, u64 rel)
{
	unsigned int nq;

	for (nq = 0; nq < neuron_gen_nqs(gen); nq++)
		if (rel == neuron_gen_nq_regs(gen, nq) + gen->nq_reg.head)
			return true;
	return false;
}

/* May the caller write this word? nd->lock is held. */
static int write_check(struct neuron_device *nd, unsigned int bar, u64 offset)
{
	const struct neuron_gen *gen = nd->gen;
	struct neuron_place at;
	int topsp;

	if (!neuron_gen_decode(gen, bar, offset, &at))
		return -EINVAL;
	switch (at.kind) {
	case NEURON_BLOCK_CORE:
		return neuron_core_claim(nd, at.index);
	case NEURON_BLOCK_TOPSP:
		return neuron_core_claim(nd, neuron_gen_topsp_core(gen, at.index));
	case NEURON_BLOCK_MISC:
		return misc_writable(at.rel) ? 0 : -EINVAL;
	case NEURON_BLOCK_NQ:
		return nq_writable(gen, at.rel) ? neuron_core_claim(nd, at.index) : -EINVAL;
	case NEURON_BLOCK_KEPT:
		topsp = neuron_gen_topsp_of_kept(gen, at.index);
		if (topsp < 0 || !nq_writable(gen, gen->nq_slot.regs + at.rel))
			return -EINVAL;
		return neuron_core_claim(nd, neuron_gen_topsp_core(gen, topsp));
	case NEURON_BLOCK_UDMA:
		if (!udma_writable(nd, at.index, at.rel))
			return -EINVAL;
		return neuron_core_claim(nd, neuron_gen_dma_core(gen, at.index));
	default:
		return -EINVAL;
	}
}

/* SBUF and PSUM lie in front of a core's registers */
static bool is_core_memory(const struct neuron_place *at)
{
	return at->kind == NEURON_BLOCK_CORE &&
	       at->rel < NEURON_PSUM_OFFSET + NEURON_PARTITIONS * NEURON_PSUM_PART_STRIDE;
}

/* Registers are given as a list of addresses, words of a core by the first of consecutive ones */
static int get_offsets(struct neuron_device *nd, struct neuron_call *call,
		       const struct neuron_ioctl_bar_rw *arg, u64 *offset)
{
	bool list = arg->bar == nd->gen->bar_regs;
	size_t size = (list ? arg->count : 1) * sizeof(*offset);
	u64 *address;
	unsigned int i;
	int ret;

	ret = neuron_call_fetch(call, arg->address, size, (void **)&address);
	for (i = 0; i < arg->count && !ret; i++)
		ret = bar_offset(nd, arg->bar, list ? address[i] : *address + 4 * i, &offset[i]);
	return ret;
}

/* Turns offsets into device addresses; what a core keeps in its memories is for its owner alone */
static int read_check(struct neuron_device *nd, unsigned int bar, u64 *offset, unsigned int n)
{
	struct neuron_place at;
	unsigned int i;
	int ret = 0;

	mutex_lock(&nd->lock);
	for (i = 0; i < n && !ret; i++) {
		if (!neuron_gen_decode(nd->gen, bar, offset[i], &at))
			ret = -EINVAL;
		else if (is_core_memory(&at))
			ret = neuron_core_claim(nd, at.index);
		if (!ret)
			ret = nhal_bar_to_addr(nd->gen, bar, offset[i], &offset[i]);
	}
	mutex_unlock(&nd->lock);
	return ret;
}

static int bar_read(struct neuron_device *nd, struct neuron_call *call,
		    const struct neuron_ioctl_bar_rw *arg, u64 *offset, u32 *data)
{
	size_t size = arg->count * sizeof(*data);
	unsigned int i, bar;
	int ret;

	ret = read_check(nd, arg->bar, offset, arg->count);
	if (!ret)
		ret = neuron_reg_read(nd, offset, data, arg->count);
	if (!ret)
		ret = neuron_call_write(call, arg->data, data, size, size);
	for (i = 0; i < arg->count && !ret; i++)
		if (!nhal_addr_to_bar(nd->gen, offset[i], 4, &bar, &offset[i]))
			trace_bar_read(nd->index, bar, offset[i], data[i]);
	return ret;
}

/* Writes registers: nothing is written unless everything may be */
static int bar_write(struct neuron_device *nd, struct neuron_call *call,
		     const struct neuron_ioctl_bar_rw *arg, const u64 *offset, u32 *data)
{
	void __iomem *base = arg->bar == nd->gen->bar_cores ? nd->cores : nd->regs;
	size_t size = arg->count * sizeof(*data);
	unsigned int i;
	int ret;

	ret = neuron_call_read(call, data, arg->data, size, size);
	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	for (i = 0; i < arg->count && !ret; i++)
		ret = write_check(nd, arg->bar, offset[i]);
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

	if (arg->bar != nd->gen->bar_regs && arg->bar != nd->gen->bar_cores)
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

/* Reads registers by device address; memory is not readable this way */
static int counters_check(const struct neuron_gen *gen, const u64 *addr, unsigned int n)
{
	struct neuron_place at;
	unsigned int i;

	for (i = 0; i < n; i++)
		if (!neuron_gen_find(gen, addr[i], &at) || at.left < 4 || is_core_memory(&at))
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
		ret = counters_check(nd->gen, addr, arg->count);
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
