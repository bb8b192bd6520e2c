/* SPDX-License-Identifier: MIT */
/* The chip of second_chip.h as a description. */
#include "second_chip.h"

#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/pci.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"

#define REGS(off) (SECOND_APB_BASE + (off)), (off)

static const struct neuron_block blocks[] = {
	{ NEURON_BLOCK_MISC, NEURON_BAR_APB, 0, 1, REGS(SECOND_APB_MISC_RAM), 0x1000, 0x1000 },
	{ NEURON_BLOCK_NQ, NEURON_BAR_APB, 0, SECOND_NC_PER_DEVICE, REGS(SECOND_APB_PUTILS(0)),
	  SECOND_APB_PUTILS_SIZE, SECOND_APB_PUTILS_SIZE },
	{ NEURON_BLOCK_TDMA, NEURON_BAR_APB, 0, SECOND_DMA_ENGINES, REGS(SECOND_APB_TDMA(0, 0)),
	  0x2000, 0x1000 },
	{ NEURON_BLOCK_UDMA, NEURON_BAR_APB, 0, SECOND_DMA_ENGINES, REGS(SECOND_APB_UDMA(0)),
	  0x80000, NEURON_UDMA_SIZE },
	{ NEURON_BLOCK_EXT, NEURON_BAR_APB, 0, 1, REGS(SECOND_EXT), SECOND_EXT_SIZE,
	  SECOND_EXT_SIZE },
	{ NEURON_BLOCK_CORE, NEURON_BAR_AXI, 0, SECOND_NC_PER_DEVICE, SECOND_TPB_BASE, 0,
	  SECOND_TPB_SIZE, SECOND_TPB_SIZE },
	{ NEURON_BLOCK_REGS, NEURON_BAR_APB, 0, 1, REGS(0), SECOND_BAR0_SIZE, SECOND_BAR0_SIZE },
};

static const struct neuron_nq_map nq[] = {
	{ NEURON_NQ_ERROR, 1, SECOND_NQ_ERROR_REGS, 0 },
	{ NEURON_NQ_EVENT, 1, SECOND_NQ_EVENT_REGS, 0 },
	{ NEURON_NQ_NOTIFY, SECOND_NQ_ENGINES, SECOND_NQ_NOTIFY_REGS(0), 0x28 },
	{ NEURON_NQ_TRACE, SECOND_NQ_ENGINES, SECOND_NQ_TRACE_REGS(0), 0x28 },
};

/*
 * Other words in another order than Inferentia's; those that the emulated engine needs are among
 * them
 */
static const struct neuron_reg_init dma_init[] = {
	{ 0x00310, 0x5ec0bd, 0 },
	{ NEURON_UDMA_S2M_Q(0) + NEURON_UDMA_Q_CFG,
	  NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULER, 0x1000 },
	{ NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_Q_CFG,
	  NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULER, 0x1000 },
};

static const struct neuron_reg_init wrapper_init[] = {
	{ NEURON_TDMA_ENABLE, 1, 0 },
};

const struct neuron_gen neuron_gen_second = {
	.name = "second",
	.number = 255,
	.arch = 1,
	.pci_ids = 1,
	.pci_id = { 0x7fff },
	.target = &neuron_target_second,

	.dies = 1,
	.cores = SECOND_NC_PER_DEVICE,
	.dma_engines_per_core = SECOND_DMA_ENG_PER_NC,
	.dma_engines = SECOND_DMA_ENGINES,
	.copy = { { SECOND_H2T_ENGINE(0), SECOND_H2T_QUEUE },
		  { SECOND_H2T_ENGINE(1), SECOND_H2T_QUEUE } },

	.dma_inits = sizeof(dma_init) / sizeof(dma_init[0]),
	.wrapper_inits = sizeof(wrapper_init) / sizeof(wrapper_init[0]),
	.dma_init = dma_init,
	.wrapper_init = wrapper_init,
	.dma_barrier = NEURON_UDMA_DESC_DMB,

	.bar_size = { [NEURON_BAR_APB] = SECOND_BAR0_SIZE,
		      [NEURON_BAR_AXI] = SECOND_BAR2_SIZE,
		      [NEURON_BAR_DRAM] = SECOND_DRAM_CHANNELS * SECOND_DRAM_CHANNEL_SIZE },
	.bar_regs = NEURON_BAR_APB,
	.bar_cores = NEURON_BAR_AXI,
	.bar_dram = NEURON_BAR_DRAM,
	.memories = SECOND_DRAM_CHANNELS,
	.memory = { { SECOND_DRAM0_BASE, SECOND_DRAM_CHANNEL_SIZE, 0 },
		    { SECOND_DRAM1_BASE, SECOND_DRAM_CHANNEL_SIZE, SECOND_DRAM_CHANNEL_SIZE } },
	.blocks = sizeof(blocks) / sizeof(blocks[0]),
	.block = blocks,

	.window = {
		.mask = SECOND_WINDOW_MASK,
		.limit = SECOND_WINDOW_LIMIT,
		.host = SECOND_WINDOW_HOST,
		.host_size = 1ull << SECOND_WINDOW_SHIFT,
		.alias = SECOND_AXI_PORT1,
		.ports = 4,
		.port = { SECOND_WINDOW_EAST, SECOND_WINDOW_WEST, SECOND_WINDOW_SOUTH,
			  SECOND_WINDOW_NORTH },
		.far = SECOND_WINDOW_FAR(0),
		.far_id = SECOND_WINDOW_FAR(15) ^ SECOND_WINDOW_FAR(0),
		.links_max = SECOND_FAR_LINKS,
	},
	.core = {
		.fifo = SECOND_TPB_PE_FIFO,
		.fifo_stride = SECOND_TPB_FIFO_SIZE,
		.events = SECOND_TPB_EVENTS,
		.semaphores = SECOND_TPB_SEM_READ,
		.sem_stride = SECOND_TPB_SEM_APERTURE,
	},
	.nq_maps = sizeof(nq) / sizeof(nq[0]),
	.nq = nq,
	.nq_reg = {
		.base_lo = SECOND_NQ_BASE_LO,
		.base_hi = SECOND_NQ_BASE_HI,
		.size = SECOND_NQ_SIZE,
		.head = SECOND_NQ_HEAD,
		.bytes = 0x400,
	},
	.ext = {
		.version = NEURON_CAP_VERSION_VALUE,
		.nq_overflows = SECOND_NQ_OVERFLOWS(0),
		.dma_stopped = SECOND_DMA_STOPPED(0),
		.nq_entries = SECOND_NQ_ENTRIES(0),
		.guard_core = SECOND_GUARD_CORE(0),
		.guard_queue = SECOND_GUARD_QUEUE(0, 0),
		.perf = SECOND_PERF(0),
		.perf_stride = 0x400,
		.perf_core = SECOND_PERF_CORE,
		.msix_table = 0x90000,
		.msix_pba = 0x98000,
	},

	.ready_word = NEURON_MISC_FW_STATUS,
	.ready_mask = NEURON_MISC_FW_STATUS_READY,
	.ready_value = NEURON_MISC_FW_STATUS_READY,
	.ready_links = true,
	.firmware_version = SECOND_FIRMWARE,
};
