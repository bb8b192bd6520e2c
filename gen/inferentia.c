// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Inferentia, PCI 1d0f:7064: four NeuronCores of four engines, twelve UDMA engines, two channels of
 * DRAM. docs/hardware.md names the public record of each number.
 */
#include "neuron/hw/gen.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/inferentia.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/pci.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"
#include "neuron/hw/dtype.h"

#define CYCLE 1000 /* picoseconds: 1.0 GHz */

static const struct neuron_engine engines[] = {
	[NEURON_ENG_PE] = { "pe", NEURON_ISA_ANY | NEURON_ISA_PE, CYCLE },
	[NEURON_ENG_ACT] = { "act", NEURON_ISA_ANY | NEURON_ISA_ACT, CYCLE },
	[NEURON_ENG_POOL] = { "pool", NEURON_ISA_ANY | NEURON_ISA_POOL, CYCLE },
	[NEURON_ENG_SP] = { "sp", NEURON_ISA_ANY, CYCLE },
};

_Static_assert(sizeof(engines) / sizeof(engines[0]) <= NEURON_ENGINES_MAX &&
		       NEURON_V1_SEMAPHORES <= NEURON_SEMAPHORES_MAX &&
		       NEURON_V1_EVENTS <= NEURON_EVENTS_MAX,
	       "inf1 is no larger than the largest");

const struct neuron_target neuron_target_inf1 = {
	.name = "inf1",
	.core = 1,
	.isa_version = 1,
	.engines = sizeof(engines) / sizeof(engines[0]),
	.engine = engines,
	.no_engine = NEURON_V1_ENGINES,
	.semaphores = NEURON_V1_SEMAPHORES,
	.events = NEURON_V1_EVENTS,
	.runtime_semaphores = 4,
	.packet_max = NEURON_V1_UDMA_DESC_PER_PACKET,
	.sbuf_part_size = NEURON_V1_SBUF_PART_SIZE,
	.psum_part_size = NEURON_PSUM_PART_SIZE,
	.pe_columns = 64,
	.dtypes = NEURON_DTB(INT8) | NEURON_DTB(INT16) | NEURON_DTB(INT32) | NEURON_DTB(BF16) |
		  NEURON_DTB(FP16) | NEURON_DTB(FP32),
	.pe_dtypes = NEURON_DTB(INT8) | NEURON_DTB(BF16) | NEURON_DTB(FP16),
	.gen = &neuron_gen_inferentia,
	.cost = {
		.least = 64,
		.startup = 60,
		.transpose = 64,
		.int8_columns = 2,
		.weights = 1,
		.bf16_reduced = 2,
		.two_operands = 2,
		.reciprocal = 8,
		.indexed = 4,
		.sorted = 4,
		.quickest = 1,
		.quick = 1,
		.descriptor = 64000,
		.dma_kib = 256000, /* 4 bytes a nanosecond: a twelfth of the chip's 50 GB/s */
		.port_kib = 64000, /* 16 bytes a nanosecond, the emulator's choice */
		.dram_kib = 81920, /* a quarter of 50 GB/s */
		.link_kib = 238419, /* a quarter of 16 GiB/s */
	},
};

#define DRAM_SIZE NEURON_V1_DRAM_CHANNEL_SIZE
#define APB(off) (NEURON_V1_APB_BASE + (off)), (off)
#define UDMA(off) APB(off), 0x40000, NEURON_UDMA_SIZE
#define TDMA(off) APB(off), 0x1000, 0x1000

/* kind, BAR, first, count, device address, offset in the BAR, stride, size */
static const struct neuron_block blocks[] = {
	{ NEURON_BLOCK_CORE, NEURON_BAR_AXI, 0, NEURON_V1_NC_PER_DEVICE, NEURON_V1_TPB_BASE, 0,
	  NEURON_V1_TPB_SIZE, NEURON_V1_TPB_SIZE },
	{ NEURON_BLOCK_UDMA, NEURON_BAR_APB, 0, 3, UDMA(0x40000) },
	{ NEURON_BLOCK_UDMA, NEURON_BAR_APB, 3, 3, UDMA(0x140000) },
	{ NEURON_BLOCK_UDMA, NEURON_BAR_APB, 6, 3, UDMA(0x240000) },
	{ NEURON_BLOCK_UDMA, NEURON_BAR_APB, 9, 3, UDMA(0x340000) },
	{ NEURON_BLOCK_NQ, NEURON_BAR_APB, 0, NEURON_V1_NC_PER_DEVICE, APB(0x404000), 0x10000,
	  0x10000 },
	{ NEURON_BLOCK_MISC, NEURON_BAR_APB, 0, 1, APB(0x78e000), 0x1000, 0x1000 },
	{ NEURON_BLOCK_EXT, NEURON_BAR_APB, 0, 1, APB(NEURON_EXT_BAR0_OFFSET), NEURON_EXT_BAR0_SIZE,
	  NEURON_EXT_BAR0_SIZE },
	{ NEURON_BLOCK_TDMA, NEURON_BAR_APB, 0, 3, TDMA(0) },
	{ NEURON_BLOCK_TDMA, NEURON_BAR_APB, 3, 3, TDMA(0x100000) },
	{ NEURON_BLOCK_TDMA, NEURON_BAR_APB, 6, 3, TDMA(0x200000) },
	{ NEURON_BLOCK_TDMA, NEURON_BAR_APB, 9, 3, TDMA(0x300000) },
	{ NEURON_BLOCK_REGS, NEURON_BAR_APB, 0, 1, APB(0), NEURON_V1_BAR0_SIZE,
	  NEURON_V1_BAR0_SIZE },
};

static const struct neuron_nq_map nq[] = {
	{ NEURON_NQ_ERROR, 1, 0x1074, 0 },
	{ NEURON_NQ_EVENT, 1, 0x1094, 0 },
	{ NEURON_NQ_NOTIFY, NEURON_V1_ENGINES, 0xbfc, 0x104 },
	{ NEURON_NQ_TRACE, NEURON_V1_ENGINES, 0xc7c, 0x104 },
};

/* Virtual-machine parameters of a queue in GEN_EX */
#define GEN_EX_VM(word) 0x3c400 + (word), 0xffffffff, 0x40
#define Q_CFG (NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULER)
#define Q_STRIDE (NEURON_UDMA_M2S_Q(1) - NEURON_UDMA_M2S_Q(0))

/*
 * The public driver's, recorded in tests/data/udma/udma-trace-v1.txt. Most of the words have no
 * effect on an emulated chip and are written all the same, because real hardware wants them.
 */
static const struct neuron_reg_init dma_init[] = {
	{ NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_Q_CFG, Q_CFG, Q_STRIDE },
	{ NEURON_UDMA_S2M_Q(0) + NEURON_UDMA_Q_CFG, Q_CFG, Q_STRIDE },
	/* data, outstanding reads, AXI timeout, acknowledge, length, stream */
	{ 0x00310, 0x01000400, 0 },
	{ 0x00124, 0x20808080, 0 },
	{ 0x3a300, 0x05f5e100, 0 },
	{ 0x00408, 0x00000000, 0 },
	{ 0x00254, 0x010fffff, 0 },
	{ 0x00258, 0x00000102, 0 },
	{ GEN_EX_VM(0) },
	{ 0x2038c, 0x00000000, 0 }, /* S2M acknowledge */
	{ GEN_EX_VM(4) },
	{ GEN_EX_VM(8) },
	{ GEN_EX_VM(12) },
	/* outstanding transactions of S2M, the spare register, the interrupt controllers, prefetch */
	{ 0x20124, 0x00400080, 0 },
	{ 0x20128, 0x40804080, 0 },
	{ 0x3b460, 0x00000001, 0 },
	{ 0x3a028, 0x00000028, 0 },
	{ 0x380e8, 0x00000028, 0 },
	{ 0x3a030, 0xf0000000, 0 },
	{ 0x3a0b0, 0xffffffc0, 0 },
	{ 0x3a018, 0xf0000000, 0 },
	{ 0x3a098, 0xffffffc0, 0 },
	{ 0x380d8, 0xfffffaff, 0 },
	{ 0x3a068, 0x00000028, 0 },
	{ 0x380e8, 0x00000028, 0 },
	{ 0x3a070, 0x000010f8, 0 },
	{ 0x3a0b0, 0xfffff03f, 0 },
	{ 0x3a058, 0x000010f8, 0 },
	{ 0x3a098, 0xfffff03f, 0 },
	{ 0x380d8, 0xfffff9ff, 0 },
	{ 0x20380, 0x00001004, 0 },
	{ 0x00304, 0x00010080, 0 },
	{ 0x00308, 0x00008081, 0 },
};

static const struct neuron_reg_init wrapper_init[] = {
	{ NEURON_TDMA_RD_REORDER, 1, 0 },
	{ NEURON_TDMA_WR_REORDER, 0xfffffffe, 0 },
	{ NEURON_TDMA_ENABLE, 1, 0 },
};

const struct neuron_gen neuron_gen_inferentia = {
	.name = "inferentia",
	.product = "Inferentia",
	.family = "Inf1",
	.device_arch = "NDv1",
	.core_arch = "NCv1",
	.level_min = 2,
	.level_max = 7,
	.number = 0,
	.arch = 1,
	.pci_ids = 4,
	.pci_id = { NEURON_PCI_DEVICE_INF1, 0x7065, 0x7066, 0x7067 },
	.target = &neuron_target_inf1,

	.dies = 1,
	.cores = NEURON_V1_NC_PER_DEVICE,
	.dma_engines_per_core = NEURON_V1_DMA_ENG_PER_NC,
	.dma_engines = NEURON_V1_DMA_ENGINES,
	.copy = { { 2, 15 }, { 5, 15 }, { 8, 15 }, { 11, 15 } },

	.dma_inits = sizeof(dma_init) / sizeof(dma_init[0]),
	.wrapper_inits = sizeof(wrapper_init) / sizeof(wrapper_init[0]),
	.dma_init = dma_init,
	.wrapper_init = wrapper_init,
	.dma_barrier = NEURON_UDMA_DESC_DMB,

	.bar_size = { [NEURON_BAR_APB] = NEURON_V1_BAR0_SIZE,
		      [NEURON_BAR_AXI] = NEURON_V1_BAR2_SIZE,
		      [NEURON_BAR_DRAM] = NEURON_V1_DRAM_CHANNELS * DRAM_SIZE },
	.bar_regs = NEURON_BAR_APB,
	.bar_cores = NEURON_BAR_AXI,
	.bar_dram = NEURON_BAR_DRAM,
	.memories = NEURON_V1_DRAM_CHANNELS,
	.memory = { { NEURON_V1_DRAM0_BASE, DRAM_SIZE, 0 },
		    { NEURON_V1_DRAM1_BASE, DRAM_SIZE, DRAM_SIZE } },
	.regions = 4,
	.blocks = sizeof(blocks) / sizeof(blocks[0]),
	.block = blocks,

	.window = {
		.mask = NEURON_V1_WINDOW_MASK,
		.limit = 1ull << 48,
		.host = NEURON_V1_WINDOW_HOST,
		.host_size = 1ull << NEURON_V1_WINDOW_SHIFT,
		.alias = NEURON_V1_AXI_PORT1,
		.ports = 2,
		.port = { NEURON_V1_WINDOW_EAST, NEURON_V1_WINDOW_WEST },
	},
	.core = {
		.fifo = NEURON_V1_TPB_PE_FIFO,
		.fifo_stride = NEURON_V1_TPB_FIFO_SIZE,
		.events = NEURON_V1_TPB_EVENTS,
		.semaphores = NEURON_V1_TPB_SEM_READ,
		.sem_stride = 0x100,
	},
	.nq_maps = sizeof(nq) / sizeof(nq[0]),
	.nq = nq,
	.nq_reg = {
		.base_lo = NEURON_V1_NQ_BASE_LO,
		.base_hi = NEURON_V1_NQ_BASE_HI,
		.size = NEURON_V1_NQ_SIZE,
		.head = NEURON_V1_NQ_HEAD,
		.bytes = 0x1100,
	},
	.ext = {
		.version = NEURON_CAP_VERSION_VALUE,
		.nq_overflows = NEURON_EXT_NQ_OVERFLOWS(0),
		.dma_stopped = NEURON_EXT_DMA_STOPPED(0),
		.nq_entries = NEURON_EXT_NQ_ENTRIES(0),
		.guard_core = NEURON_EXT_GUARD_CORE(0),
		.guard_queue = NEURON_EXT_GUARD_QUEUE(0, 0),
		.perf = NEURON_EXT_PERF(0),
		.perf_stride = 0x200,
		.perf_core = NEURON_PERF_CORE,
		.msix_table = NEURON_EXT_MSIX_TABLE,
		.msix_pba = NEURON_EXT_MSIX_PBA,
	},

	.ready_word = NEURON_MISC_FW_STATUS,
	.ready_mask = NEURON_MISC_FW_STATUS_READY,
	.ready_value = NEURON_MISC_FW_STATUS_READY,
	.ready_links = true,
	.firmware_version = 3, /* from 3 on the driver samples the power words */
};
