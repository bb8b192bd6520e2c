// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Notification queues: the register groups of PUTILS (docs/hardware.md, Notification queues). The
 * driver programs base and size; entries belong to the runtime.
 */
#include "hal.h"

int nhal_nq_regs(unsigned int nc, unsigned int type, unsigned int eng, uint64_t *offset)
{
	uint32_t group;

	if (nc >= NEURON_V1_NC_PER_DEVICE || eng >= NEURON_V1_NQ_ENGINES)
		return -EINVAL;
	switch (type) {
	case NEURON_NQ_TRACE:
		group = NEURON_V1_NQ_TRACE_REGS(eng);
		break;
	case NEURON_NQ_NOTIFY:
		group = NEURON_V1_NQ_NOTIFY_REGS(eng);
		break;
	case NEURON_NQ_EVENT:
		group = NEURON_V1_NQ_EVENT_REGS;
		break;
	case NEURON_NQ_ERROR:
		group = NEURON_V1_NQ_ERROR_REGS;
		break;
	default:
		return -EINVAL;
	}
	*offset = NEURON_V1_APB_PUTILS(nc) + group;
	return 0;
}

int nhal_nq_set(struct nhal *hal, unsigned int nc, unsigned int type, unsigned int eng,
		uint64_t base, uint32_t size)
{
	uint64_t regs;
	int ret;

	ret = nhal_nq_regs(nc, type, eng, &regs);
	if (ret)
		return ret;
	hal->ops->write32(hal->opaque, NEURON_BAR_APB, regs + NEURON_V1_NQ_BASE_LO, (uint32_t)base);
	hal->ops->write32(hal->opaque, NEURON_BAR_APB, regs + NEURON_V1_NQ_BASE_HI,
			  (uint32_t)(base >> 32));
	hal->ops->write32(hal->opaque, NEURON_BAR_APB, regs + NEURON_V1_NQ_SIZE, size);
	return 0;
}

int nhal_nq_head_write(struct nhal *hal, unsigned int nc, unsigned int type, unsigned int eng,
		       uint32_t head)
{
	uint64_t regs;
	int ret;

	ret = nhal_nq_regs(nc, type, eng, &regs);
	if (ret)
		return ret;
	hal->ops->write32(hal->opaque, NEURON_BAR_APB, regs + NEURON_V1_NQ_HEAD, head);
	return 0;
}
