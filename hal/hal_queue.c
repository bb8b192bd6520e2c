// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * What processes ask of engines, queues and the chunks of their rings: the checks and the answers
 * that the module and libndl's in-process backend have in common. Who owns what, they know.
 */
#include "hal.h"

/* The public driver's report of a queue that was initialised, and of its engine */
#define QUEUE_SW_ENABLED 2
#define ENGINE_REVISION 4
#define ENGINE_IDLE 1
#define ENGINE_NORMAL 2
#define ENGINE_ABORT 3

int nhal_queue_check(const struct neuron_gen *gen, uint32_t eng, uint32_t qid)
{
	return eng >= gen->dma_engines || qid >= NEURON_DMA_QUEUES_PER_ENG ? -EINVAL : 0;
}

int nhal_engine_asked(const struct neuron_gen *gen, uint32_t eng, uint32_t state, uint32_t *hw)
{
	static const uint32_t states[] = {
		[0] = NEURON_UDMA_STATE_DISABLE,
		[ENGINE_NORMAL] = NEURON_UDMA_STATE_NORMAL,
		[ENGINE_ABORT] = NEURON_UDMA_STATE_ABORT,
	};

	if (eng >= gen->dma_engines || state > ENGINE_ABORT || !states[state])
		return -EINVAL;
	*hw = states[state];
	return 0;
}

int nhal_start_check(const struct nhal_rings *has, uint32_t tx_count, uint32_t rx_count)
{
	if ((tx_count && !has->tx) || !has->rx)
		return -EINVAL;
	return tx_count > has->tx || rx_count > has->rx ? -EINVAL : 0;
}

void nhal_engine_regs(const struct neuron_gen *gen, unsigned int eng, uint64_t addr[2])
{
	uint64_t base = neuron_gen_address(gen, NEURON_BLOCK_UDMA, eng);

	addr[0] = base + NEURON_UDMA_M2S_STATE;
	addr[1] = base + NEURON_UDMA_S2M_STATE;
}

/* Four fields, two bits each: completion, stream, data read, prefetch */
static uint32_t state_decode(uint32_t reg)
{
	uint32_t state = ENGINE_IDLE;
	unsigned int shift;

	for (shift = 0; shift <= 12; shift += 4) {
		if ((reg >> shift & 3) == 2)
			return ENGINE_ABORT;
		if ((reg >> shift & 3) == 1)
			state = ENGINE_NORMAL;
	}
	return state;
}

void nhal_engine_answer(const uint32_t reg[2], struct neuron_dma_eng_state *state)
{
	memset(state, 0, sizeof(*state));
	state->revision_id = ENGINE_REVISION;
	state->max_queues = NEURON_DMA_QUEUES_PER_ENG;
	state->num_queues = NEURON_DMA_QUEUES_PER_ENG;
	state->tx_state = state_decode(reg[0]);
	state->rx_state = state_decode(reg[1]);
}

void nhal_queue_answer(const uint32_t reg[NHAL_QUEUE_REGS], bool enabled,
		       struct neuron_dma_queue_state *state)
{
	memset(state, 0, sizeof(*state));
	state->hw_status = reg[0];
	state->sw_status = enabled ? QUEUE_SW_ENABLED : 0;
	state->base_addr = reg[1] | (uint64_t)reg[2] << 32;
	state->length = reg[3];
	state->head_pointer = reg[4];
	state->tail_pointer = reg[5];
	state->completion_base_addr = reg[6] | (uint64_t)reg[7] << 32;
	state->completion_head = reg[8];
}

int nhal_descs_check(const struct neuron_gen *gen, const struct nhal_descs *descs,
		     const struct nhal_owner *owner, uint32_t *models)
{
	const uint8_t *desc = descs->desc;
	uint64_t fifo[NEURON_CORES_MAX], addr;
	unsigned int nc;
	uint32_t i;

	for (nc = 0; nc < gen->cores; nc++)
		fifo[nc] = nhal_fifo_addr(gen, nc, NEURON_ENG_PE);
	*models = 0;
	for (i = 0; i < descs->count; i++, desc += NEURON_UDMA_DESC_SIZE) {
		addr = nhal_desc_addr(desc);
		if (nhal_addr_is_host(gen, addr) &&
		    !owner->has(owner->opaque, addr, nhal_desc_len(desc)))
			return -EINVAL;
		for (nc = 0; descs->rx && nc < gen->cores; nc++)
			if (addr - fifo[nc] < gen->core.fifo_stride)
				*models |= 1u << nc;
	}
	return 0;
}
