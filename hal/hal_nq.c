// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Notification queues: their register groups (docs/hardware.md, Notification queues). The
 * driver programs base and size; entries belong to the runtime.
 */
#include "hal.h"

int nhal_nq_regs(const struct neuron_gen *gen, unsigned int nc, unsigned int type, unsigned int eng,
		 uint64_t *offset)
{
	int nq = neuron_gen_nq(gen, type, eng);

	if (nc >= gen->cores || eng >= gen->target->engines || nq < 0)
		return -EINVAL;
	*offset = neuron_gen_offset(gen, NEURON_BLOCK_NQ, nc) + neuron_gen_nq_regs(gen, nq);
	return 0;
}

static void nq_write(struct nhal *hal, uint64_t reg, uint32_t value)
{
	hal->ops->write32(hal->opaque, hal->gen->bar_regs, reg, value);
}

void nhal_nq_program(struct nhal *hal, uint64_t regs, uint64_t base, uint32_t size)
{
	if (hal->gen->nq_reg.high_first)
		nq_write(hal, regs + hal->gen->nq_reg.base_hi, (uint32_t)(base >> 32));
	nq_write(hal, regs + hal->gen->nq_reg.base_lo, (uint32_t)base);
	if (!hal->gen->nq_reg.high_first)
		nq_write(hal, regs + hal->gen->nq_reg.base_hi, (uint32_t)(base >> 32));
	nq_write(hal, regs + hal->gen->nq_reg.size, size);
}

int nhal_nq_set(struct nhal *hal, unsigned int nc, unsigned int type, unsigned int eng,
		uint64_t base, uint32_t size)
{
	uint64_t regs;
	int ret;

	ret = nhal_nq_regs(hal->gen, nc, type, eng, &regs);
	if (!ret)
		nhal_nq_program(hal, regs, base, size);
	return ret;
}

int nhal_nq_slot_regs(const struct neuron_gen *gen, unsigned int nc, unsigned int type,
		      unsigned int slot, uint64_t *offset)
{
	if (!gen->nq_slot.count)
		return nhal_nq_regs(gen, nc, type, slot, offset);
	if (nc >= gen->cores || type >= NEURON_NQ_TYPES || slot >= gen->nq_slot.count)
		return -EINVAL;
	if (type == NEURON_NQ_TRACE_DMA) {
		if (slot >= gen->dma_engines_per_core)
			return -EINVAL;
		*offset = neuron_gen_offset(gen, NEURON_BLOCK_KEPT,
					    gen->kept_dma + nc * gen->dma_engines_per_core + slot);
		return 0;
	}
	*offset = neuron_gen_offset(gen, NEURON_BLOCK_NQ, nc) + gen->nq_slot.regs +
		  slot * gen->nq_slot.stride;
	return 0;
}

int nhal_nq_topsp_regs(const struct neuron_gen *gen, unsigned int topsp, unsigned int type,
		       unsigned int slot, uint64_t *offset)
{
	if (topsp >= neuron_gen_topsps(gen) || type >= NEURON_NQ_TYPES ||
	    slot >= gen->nq_slot.count)
		return -EINVAL;
	*offset = neuron_gen_offset(gen, NEURON_BLOCK_KEPT, gen->kept_topsp + topsp) +
		  slot * gen->nq_slot.stride;
	return 0;
}
