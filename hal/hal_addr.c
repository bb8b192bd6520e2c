// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Addresses of the chip's parts, by its generation's description. Nothing here reads a register. */
#include "hal.h"

void nhal_init(struct nhal *hal, const struct neuron_gen *gen, const struct nhal_ops *ops,
	       void *opaque, uint32_t features)
{
	memset(hal, 0, sizeof(*hal));
	hal->gen = gen;
	hal->ops = ops;
	hal->opaque = opaque;
	hal->features = features;
	hal->seq = 1;
}

static bool inside(uint64_t addr, uint64_t len, uint64_t base, uint64_t size)
{
	return addr >= base && addr - base < size && len <= size - (addr - base);
}

/* Blocks of one kind keep their distance in the BAR, so that they and what is between are one run */
static int registers_to_bar(const struct neuron_gen *gen, uint64_t addr, uint64_t len,
			    unsigned int *bar, uint64_t *offset)
{
	unsigned int i;

	for (i = 0; i < gen->blocks; i++) {
		const struct neuron_block *b = &gen->block[i];

		if (!inside(addr, len, b->address, (b->count - 1) * b->stride + b->size))
			continue;
		*bar = b->bar;
		*offset = b->offset + (addr - b->address);
		return 0;
	}
	return -EINVAL;
}

int nhal_addr_to_bar(const struct neuron_gen *gen, uint64_t addr, uint64_t len, unsigned int *bar,
		     uint64_t *offset)
{
	unsigned int i;

	for (i = 0; i < gen->memories; i++) {
		if (!inside(addr, len, gen->memory[i].address, gen->memory[i].size))
			continue;
		*bar = gen->bar_dram;
		*offset = gen->memory[i].offset + (addr - gen->memory[i].address);
		return 0;
	}
	return registers_to_bar(gen, addr, len, bar, offset);
}

int nhal_bar_to_addr(const struct neuron_gen *gen, unsigned int bar, uint64_t offset,
		     uint64_t *addr)
{
	struct neuron_place place;

	if (!neuron_gen_decode(gen, bar, offset, &place))
		return -EINVAL;
	*addr = neuron_gen_address(gen, place.kind, place.index) + place.rel;
	return 0;
}

int nhal_addr_to_core(const struct neuron_gen *gen, uint64_t addr, uint64_t len, unsigned int *nc)
{
	struct neuron_place place;

	if (!neuron_gen_find(gen, addr, &place) || len > place.left)
		return -EINVAL;
	switch (place.kind) {
	case NEURON_BLOCK_CORE:
		*nc = place.index;
		return 0;
	case NEURON_BLOCK_TOPSP:
		*nc = neuron_gen_topsp_core(gen, place.index);
		return 0;
	default:
		return -EINVAL;
	}
}

uint64_t nhal_fifo_addr(const struct neuron_gen *gen, unsigned int nc, unsigned int eng)
{
	return nhal_core_addr(gen, nc) + gen->core.fifo + eng * gen->core.fifo_stride;
}

uint64_t nhal_sem_addr(const struct neuron_gen *gen, unsigned int nc, enum neuron_sem_access op,
		       unsigned int index)
{
	return nhal_core_addr(gen, nc) + gen->core.semaphores + op * gen->core.sem_stride +
	       4 * index;
}

uint64_t nhal_event_addr(const struct neuron_gen *gen, unsigned int nc, unsigned int index)
{
	return nhal_core_addr(gen, nc) + gen->core.events + 4 * index;
}

void nhal_misc_write(struct nhal *hal, unsigned int word, uint32_t value)
{
	hal->ops->write32(hal->opaque, hal->gen->bar_regs,
			  neuron_gen_offset(hal->gen, NEURON_BLOCK_MISC, 0) + word, value);
}
