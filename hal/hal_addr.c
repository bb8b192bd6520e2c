// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Address helpers, semaphores and events. The map is docs/hardware.md, Address map; all of it is
 * stateless apart from the register writes.
 */
#include "hal.h"

void nhal_init(struct nhal *hal, const struct nhal_ops *ops, void *opaque, uint32_t features)
{
	memset(hal, 0, sizeof(*hal));
	hal->ops = ops;
	hal->opaque = opaque;
	hal->features = features;
	hal->seq = 1;
}

struct window {
	uint64_t base, size;
	unsigned int bar;
	uint64_t offset;
};

static const struct window windows[] = {
	{ NEURON_V1_DRAM0_BASE, NEURON_V1_DRAM_CHANNEL_SIZE, NEURON_BAR_DRAM, 0 },
	{ NEURON_V1_DRAM1_BASE, NEURON_V1_DRAM_CHANNEL_SIZE, NEURON_BAR_DRAM,
	  NEURON_V1_DRAM_CHANNEL_SIZE },
	{ NEURON_V1_TPB_BASE, NEURON_V1_BAR2_SIZE, NEURON_BAR_AXI, 0 },
	{ NEURON_V1_APB_BASE, NEURON_V1_BAR0_SIZE, NEURON_BAR_APB, 0 },
};

static bool inside(uint64_t addr, uint64_t len, uint64_t base, uint64_t size)
{
	return addr >= base && addr - base < size && len <= size - (addr - base);
}

int nhal_addr_to_bar(uint64_t addr, uint64_t len, unsigned int *bar, uint64_t *offset)
{
	unsigned int i;

	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		if (!inside(addr, len, windows[i].base, windows[i].size))
			continue;
		*bar = windows[i].bar;
		*offset = windows[i].offset + (addr - windows[i].base);
		return 0;
	}
	return -EINVAL;
}

int nhal_addr_to_core(uint64_t addr, uint64_t len, unsigned int *nc)
{
	unsigned int i;

	for (i = 0; i < NEURON_V1_NC_PER_DEVICE; i++) {
		if (!inside(addr, len, nhal_tpb_addr(i), NEURON_V1_TPB_SIZE))
			continue;
		*nc = i;
		return 0;
	}
	return -EINVAL;
}

uint64_t nhal_sem_offset(unsigned int nc, enum nhal_sem_op op, unsigned int index)
{
	static const uint32_t aperture[] = {
		[NHAL_SEM_READ] = NEURON_V1_TPB_SEM_READ,
		[NHAL_SEM_SET] = NEURON_V1_TPB_SEM_SET,
		[NHAL_SEM_INC] = NEURON_V1_TPB_SEM_INC,
		[NHAL_SEM_DEC] = NEURON_V1_TPB_SEM_DEC,
	};

	return nc * NEURON_V1_TPB_SIZE + aperture[op] + 4 * index;
}

uint64_t nhal_event_offset(unsigned int nc, unsigned int index)
{
	return nc * NEURON_V1_TPB_SIZE + NEURON_V1_TPB_EVENTS + 4 * index;
}

void nhal_sem_write(struct nhal *hal, unsigned int nc, enum nhal_sem_op op, unsigned int index,
		    uint32_t value)
{
	hal->ops->write32(hal->opaque, NEURON_BAR_AXI, nhal_sem_offset(nc, op, index), value);
}

int nhal_sem_read(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t *value)
{
	return nhal_reg_read1(hal, NEURON_V1_TPB_BASE + nhal_sem_offset(nc, NHAL_SEM_READ, index),
			      value);
}

void nhal_event_set(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t value)
{
	hal->ops->write32(hal->opaque, NEURON_BAR_AXI, nhal_event_offset(nc, index), value);
}

int nhal_event_get(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t *value)
{
	return nhal_reg_read1(hal, NEURON_V1_TPB_BASE + nhal_event_offset(nc, index), value);
}
