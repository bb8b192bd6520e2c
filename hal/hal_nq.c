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

int nhal_nq_set(struct nhal *hal, unsigned int nc, unsigned int type, unsigned int eng,
		uint64_t base, uint32_t size)
{
	uint64_t regs;
	int ret;

	ret = nhal_nq_regs(hal->gen, nc, type, eng, &regs);
	if (ret)
		return ret;
	if (hal->gen->nq_reg.high_first)
		nq_write(hal, regs + hal->gen->nq_reg.base_hi, (uint32_t)(base >> 32));
	nq_write(hal, regs + hal->gen->nq_reg.base_lo, (uint32_t)base);
	if (!hal->gen->nq_reg.high_first)
		nq_write(hal, regs + hal->gen->nq_reg.base_hi, (uint32_t)(base >> 32));
	nq_write(hal, regs + hal->gen->nq_reg.size, size);
	return 0;
}

int nhal_nq_head_write(struct nhal *hal, unsigned int nc, unsigned int type, unsigned int eng,
		       uint32_t head)
{
	uint64_t regs;
	int ret;

	ret = nhal_nq_regs(hal->gen, nc, type, eng, &regs);
	if (ret)
		return ret;
	nq_write(hal, regs + hal->gen->nq_reg.head, head);
	return 0;
}
