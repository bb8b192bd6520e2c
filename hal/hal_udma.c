// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * DMA engines, queues, descriptors and rings. What the initialisation of an engine writes is in the
 * generation's table; the order and values of the other writes are the public driver's, recorded in
 * tests/data/udma.
 */
#include "hal.h"

static void eng_write(struct nhal *hal, unsigned int eng, uint32_t reg, uint32_t value)
{
	hal->ops->write32(hal->opaque, hal->gen->bar_regs,
			  neuron_gen_offset(hal->gen, NEURON_BLOCK_UDMA, eng) + reg, value);
}

static void tdma_write(struct nhal *hal, unsigned int eng, uint32_t reg, uint32_t value)
{
	hal->ops->write32(hal->opaque, hal->gen->bar_regs,
			  neuron_gen_offset(hal->gen, NEURON_BLOCK_TDMA, eng) + reg, value);
}

/* A run of rows with a stride: all of them for one queue, then for the next. Returns how many */
static unsigned int write_queues(struct nhal *hal, unsigned int eng,
				 const struct neuron_reg_init *row, unsigned int left)
{
	unsigned int n = 0, q, i;

	while (n < left && row[n].stride)
		n++;
	for (q = 0; q < NEURON_DMA_QUEUES_PER_ENG; q++)
		for (i = 0; i < n; i++)
			eng_write(hal, eng, row[i].reg + q * row[i].stride, row[i].value);
	return n;
}

void nhal_engine_init(struct nhal *hal, unsigned int eng)
{
	const struct neuron_reg_init *row = hal->gen->dma_init;
	unsigned int i = 0;

	while (i < hal->gen->dma_inits) {
		if (row[i].stride) {
			i += write_queues(hal, eng, &row[i], hal->gen->dma_inits - i);
		} else {
			eng_write(hal, eng, row[i].reg, row[i].value);
			i++;
		}
	}
}

static void write_loop(struct nhal *hal, unsigned int eng, const struct neuron_reg_loop *loop)
{
	unsigned int k, i;

	for (k = 0; k < loop->times; k++)
		for (i = 0; i < loop->rows; i++)
			eng_write(hal, eng, loop->row[i].reg + k * loop->row[i].stride,
				  loop->row[i].value + (i ? 0 : k * loop->step));
}

/* k: the engine's number among its core's */
static void broadcast_init(struct nhal *hal, unsigned int eng, unsigned int k)
{
	const struct neuron_broadcast *b = &hal->gen->broadcast;

	if (!b->group && !b->last)
		return;
	tdma_write(hal, eng, b->group, 0xffffu >> k);
	tdma_write(hal, eng, b->last, b->ends >> k & 1 ? 0xffff : 0);
}

static void whole_engine_init(struct nhal *hal, unsigned int eng)
{
	const struct neuron_gen *gen = hal->gen;
	unsigned int i;

	nhal_engine_init(hal, eng);
	for (i = 0; i < gen->wrapper_inits; i++)
		tdma_write(hal, eng, gen->wrapper_init[i].reg, gen->wrapper_init[i].value);
	for (i = 0; i < gen->check_loops; i++)
		write_loop(hal, eng, &gen->check_loop[i]);
}

/* The engine that copies for the host, where it is none of the core's own: its first core's task */
static bool copies_apart(const struct neuron_gen *gen, unsigned int nc)
{
	unsigned int eng = gen->copy[nc].engine;

	return eng >= gen->cores * gen->dma_engines_per_core && neuron_gen_dma_core(gen, eng) == nc;
}

void nhal_core_dma_init(struct nhal *hal, unsigned int nc)
{
	const struct neuron_gen *gen = hal->gen;
	unsigned int per = gen->dma_engines_per_core, k;

	for (k = 0; k < per; k++) {
		broadcast_init(hal, nc * per + k, k);
		whole_engine_init(hal, nc * per + k);
	}
	if (copies_apart(gen, nc))
		whole_engine_init(hal, gen->copy[nc].engine);
}

bool nhal_ring_valid(uint64_t base, uint32_t len)
{
	if (base % NEURON_UDMA_RING_ALIGN)
		return false;
	return len >= NEURON_UDMA_RING_MIN && len <= NEURON_UDMA_RING_MAX &&
	       len % NEURON_UDMA_RING_GRAIN == 0;
}

uint32_t nhal_ring_len(uint32_t count)
{
	uint32_t len = (count + NEURON_UDMA_RING_GRAIN) & ~(NEURON_UDMA_RING_GRAIN - 1u);

	return len < NEURON_UDMA_RING_MIN ? NEURON_UDMA_RING_MIN : len;
}

static void half_init(struct nhal *hal, unsigned int eng, enum nhal_half half, unsigned int qid,
		      uint64_t base, uint32_t len)
{
	bool m2s = half == NHAL_M2S;
	uint32_t queue = m2s ? NEURON_UDMA_M2S_Q(qid) : NEURON_UDMA_S2M_Q(qid);
	uint32_t sw_ctrl = m2s ? NEURON_UDMA_M2S_Q_SW_CTRL : NEURON_UDMA_S2M_Q_SW_CTRL;
	uint32_t comp_cfg = m2s ? NEURON_UDMA_M2S_Q_COMP_CFG : NEURON_UDMA_S2M_Q_COMP_CFG;

	if (m2s && hal->gen->queue_init_mask)
		eng_write(hal, eng, queue + NEURON_UDMA_M2S_Q_RLIMIT_MASK,
			  hal->gen->queue_init_mask);
	eng_write(hal, eng, queue + NEURON_UDMA_Q_CFG, NEURON_UDMA_Q_CFG_RESET);
	eng_write(hal, eng, queue + sw_ctrl, NEURON_UDMA_Q_SW_CTRL_RESET);
	eng_write(hal, eng, queue + NEURON_UDMA_Q_BASE_LO, (uint32_t)base);
	eng_write(hal, eng, queue + NEURON_UDMA_Q_BASE_HI, (uint32_t)(base >> 32));
	eng_write(hal, eng, queue + NEURON_UDMA_Q_LEN, len);
	eng_write(hal, eng, queue + comp_cfg, 0);
	eng_write(hal, eng, queue + NEURON_UDMA_Q_CFG,
		  NEURON_UDMA_Q_CFG_RESET | NEURON_UDMA_Q_CFG_PREFETCH |
			  NEURON_UDMA_Q_CFG_SCHEDULER);
}

void nhal_queue_init(struct nhal *hal, unsigned int eng, unsigned int qid, uint64_t tx_base,
		     uint32_t tx_len, uint64_t rx_base, uint32_t rx_len)
{
	half_init(hal, eng, NHAL_M2S, qid, tx_base, tx_len);
	half_init(hal, eng, NHAL_S2M, qid, rx_base, rx_len);
}

void nhal_queue_start(struct nhal *hal, unsigned int eng, unsigned int qid, uint32_t tx_count,
		      uint32_t rx_count)
{
	if (rx_count)
		eng_write(hal, eng, NEURON_UDMA_S2M_Q(qid) + NEURON_UDMA_Q_TAIL_INC, rx_count);
	if (tx_count)
		eng_write(hal, eng, NEURON_UDMA_M2S_Q(qid) + NEURON_UDMA_Q_TAIL_INC, tx_count);
}

void nhal_engine_state_set(struct nhal *hal, unsigned int eng, uint32_t state)
{
	eng_write(hal, eng, NEURON_UDMA_M2S_CHANGE_STATE, state);
	eng_write(hal, eng, NEURON_UDMA_S2M_CHANGE_STATE, state);
}

uint64_t nhal_queue_reg_addr(const struct neuron_gen *gen, unsigned int eng, enum nhal_half half,
			     unsigned int qid, unsigned int reg)
{
	uint64_t queue = half == NHAL_M2S ? NEURON_UDMA_M2S_Q(qid) : NEURON_UDMA_S2M_Q(qid);

	return neuron_gen_address(gen, NEURON_BLOCK_UDMA, eng) + queue + reg;
}

void nhal_queue_regs(const struct neuron_gen *gen, unsigned int eng, enum nhal_half half,
		     unsigned int qid, uint64_t addr[NHAL_QUEUE_REGS])
{
	static const uint16_t regs[NHAL_QUEUE_REGS] = {
		NEURON_UDMA_Q_STATUS,	    NEURON_UDMA_Q_BASE_LO,	NEURON_UDMA_Q_BASE_HI,
		NEURON_UDMA_Q_LEN,	    NEURON_UDMA_Q_HEAD,		NEURON_UDMA_Q_TAIL,
		NEURON_UDMA_Q_COMP_BASE_LO, NEURON_UDMA_Q_COMP_BASE_HI, NEURON_UDMA_Q_COMP_HEAD,
	};
	unsigned int i;

	for (i = 0; i < NHAL_QUEUE_REGS; i++)
		addr[i] = nhal_queue_reg_addr(gen, eng, half, qid, regs[i]);
}

static uint32_t len_ctrl(uint32_t len, unsigned int ring_id, uint32_t flags)
{
	return (len & NEURON_UDMA_DESC_LEN_MASK) | ring_id << NEURON_UDMA_DESC_RING_ID_SHIFT |
	       flags;
}

void nhal_desc_tx(void *desc, uint64_t addr, uint32_t len, unsigned int ring_id, uint32_t flags)
{
	uint8_t *d = desc;

	nhal_put32(d, len_ctrl(len, ring_id, flags));
	nhal_put32(d + 4, NEURON_UDMA_META_DEFAULT);
	nhal_put64(d + NHAL_DESC_ADDR, addr);
}

void nhal_desc_rx(void *desc, uint64_t addr, uint32_t len, unsigned int ring_id)
{
	uint8_t *d = desc;

	nhal_put32(d, len_ctrl(len, ring_id, 0));
	nhal_put32(d + 4, 0);
	nhal_put64(d + NHAL_DESC_ADDR, addr);
}

void nhal_desc_lap(void *desc, unsigned int ring_id)
{
	nhal_put32(desc, (nhal_get32(desc) & ~NEURON_UDMA_DESC_RING_ID_MASK) |
				 ring_id << NEURON_UDMA_DESC_RING_ID_SHIFT);
}

uint64_t nhal_desc_addr(const void *desc)
{
	return nhal_get64((const uint8_t *)desc + NHAL_DESC_ADDR);
}

uint32_t nhal_desc_len(const void *desc)
{
	uint32_t len = nhal_get32(desc) & NEURON_UDMA_DESC_LEN_MASK;

	return len ? len : NEURON_UDMA_DESC_LEN_MAX;
}

void nhal_ring_init(struct nhal_ring *ring, void *desc, uint32_t len)
{
	ring->desc = desc;
	ring->len = len;
	ring->next = 0;
	ring->ring_id = 1;
}

void *nhal_ring_next(struct nhal_ring *ring, unsigned int *ring_id)
{
	void *desc = ring->desc + (size_t)ring->next * NEURON_UDMA_DESC_SIZE;

	*ring_id = ring->ring_id;
	if (++ring->next == ring->len) {
		ring->next = 0;
		ring->ring_id = (ring->ring_id + 1) & 3;
	}
	return desc;
}
