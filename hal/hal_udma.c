// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * DMA engines, queues, descriptors and rings. The order and values of the register writes are the
 * public driver's, recorded in tests/data/udma/udma-trace-v1.txt; most of the words have no effect
 * on an emulated chip and are written all the same, because real hardware wants them.
 */
#include "hal.h"

struct reg_value {
	uint32_t reg, value;
};

static void eng_write(struct nhal *hal, unsigned int eng, uint32_t reg, uint32_t value)
{
	hal->ops->write32(hal->opaque, hal->gen->bar_regs,
			  neuron_gen_offset(hal->gen, NEURON_BLOCK_UDMA, eng) + reg, value);
}

static void eng_write_table(struct nhal *hal, unsigned int eng, const struct reg_value *table,
			    unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		eng_write(hal, eng, table[i].reg, table[i].value);
}

/* Virtual-machine parameters of a queue in GEN_EX */
#define GEN_EX_VM(q) (0x3c400 + (q)*0x40)

/* After the queues: data, outstanding reads, AXI timeout, acknowledge, length, stream */
static const struct reg_value engine_main[] = {
	{ 0x00310, 0x01000400 }, { 0x00124, 0x20808080 }, { 0x3a300, 0x05f5e100 },
	{ 0x00408, 0x00000000 }, { 0x00254, 0x010fffff }, { 0x00258, 0x00000102 },
};

/* Outstanding transactions of S2M, the spare register, the interrupt controllers, prefetch */
static const struct reg_value engine_tail[] = {
	{ 0x20124, 0x00400080 }, { 0x20128, 0x40804080 }, { 0x3b460, 0x00000001 },
	{ 0x3a028, 0x00000028 }, { 0x380e8, 0x00000028 }, { 0x3a030, 0xf0000000 },
	{ 0x3a0b0, 0xffffffc0 }, { 0x3a018, 0xf0000000 }, { 0x3a098, 0xffffffc0 },
	{ 0x380d8, 0xfffffaff }, { 0x3a068, 0x00000028 }, { 0x380e8, 0x00000028 },
	{ 0x3a070, 0x000010f8 }, { 0x3a0b0, 0xfffff03f }, { 0x3a058, 0x000010f8 },
	{ 0x3a098, 0xfffff03f }, { 0x380d8, 0xfffff9ff }, { 0x20380, 0x00001004 },
	{ 0x00304, 0x00010080 }, { 0x00308, 0x00008081 },
};

#define S2M_APP_ACK 0x2038c

void nhal_engine_init(struct nhal *hal, unsigned int eng)
{
	const uint32_t enable = NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULER;
	unsigned int q, i;

	for (q = 0; q < NEURON_DMA_QUEUES_PER_ENG; q++) {
		eng_write(hal, eng, NEURON_UDMA_M2S_Q(q) + NEURON_UDMA_Q_CFG, enable);
		eng_write(hal, eng, NEURON_UDMA_S2M_Q(q) + NEURON_UDMA_Q_CFG, enable);
	}
	eng_write_table(hal, eng, engine_main, sizeof(engine_main) / sizeof(engine_main[0]));
	for (q = 0; q < NEURON_DMA_QUEUES_PER_ENG; q++)
		eng_write(hal, eng, GEN_EX_VM(q), 0xffffffff);
	eng_write(hal, eng, S2M_APP_ACK, 0);
	for (q = 0; q < NEURON_DMA_QUEUES_PER_ENG; q++)
		for (i = 4; i <= 12; i += 4)
			eng_write(hal, eng, GEN_EX_VM(q) + i, 0xffffffff);
	eng_write_table(hal, eng, engine_tail, sizeof(engine_tail) / sizeof(engine_tail[0]));
}

static void tdma_write(struct nhal *hal, unsigned int eng, uint32_t reg, uint32_t value)
{
	hal->ops->write32(hal->opaque, hal->gen->bar_regs,
			  neuron_gen_offset(hal->gen, NEURON_BLOCK_TDMA, eng) + reg, value);
}

void nhal_core_dma_init(struct nhal *hal, unsigned int nc)
{
	unsigned int per = hal->gen->dma_engines_per_core, eng;

	for (eng = nc * per; eng < (nc + 1) * per; eng++) {
		nhal_engine_init(hal, eng);
		tdma_write(hal, eng, NEURON_TDMA_RD_REORDER, 1);
		tdma_write(hal, eng, NEURON_TDMA_WR_REORDER, 0xfffffffe);
		tdma_write(hal, eng, NEURON_TDMA_ENABLE, 1);
	}
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
