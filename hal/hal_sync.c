// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Semaphores and events of a core: written through the cores' BAR, read by device address. */
#include "hal.h"

static void core_write(struct nhal *hal, unsigned int nc, uint64_t addr, uint32_t value)
{
	uint64_t rel = addr - nhal_core_addr(hal->gen, nc);

	hal->ops->write32(hal->opaque, hal->gen->bar_cores,
			  neuron_gen_offset(hal->gen, NEURON_BLOCK_CORE, nc) + rel, value);
}

void nhal_sem_write(struct nhal *hal, unsigned int nc, enum neuron_sem_access op,
		    unsigned int index, uint32_t value)
{
	core_write(hal, nc, nhal_sem_addr(hal->gen, nc, op, index), value);
}

int nhal_sem_read(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t *value)
{
	return nhal_reg_read1(hal, nhal_sem_addr(hal->gen, nc, NEURON_SEM_READ, index), value);
}

void nhal_event_set(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t value)
{
	core_write(hal, nc, nhal_event_addr(hal->gen, nc, index), value);
}

int nhal_event_get(struct nhal *hal, unsigned int nc, unsigned int index, uint32_t *value)
{
	return nhal_reg_read1(hal, nhal_event_addr(hal->gen, nc, index), value);
}
