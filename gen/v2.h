/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What the descriptions of NeuronCore-v2 and later have in common. */
#ifndef GEN_V2_H
#define GEN_V2_H

#include "neuron/hw/gen.h"
#include "neuron/hw/firmware.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"
#include "neuron/hw/dtype.h"

/* Types of operands; products of int8 are for the first generation's programs */
#define V2_PE_DTYPES                                                                 \
	(NEURON_DTB(INT8) | NEURON_DTB(BF16) | NEURON_DTB(FP16) | NEURON_DTB(FP32) | \
	 NEURON_DTB(FP32R) | NEURON_DTB(TF32) | NEURON_DTB_FP8)
#define V2_DTYPES                                                                     \
	.pe_dtypes = V2_PE_DTYPES, .dtypes = V2_PE_DTYPES | NEURON_DTB(UINT8) |       \
					     NEURON_DTB(INT16) | NEURON_DTB(UINT16) | \
					     NEURON_DTB(INT32) | NEURON_DTB(UINT32)

/* Costs of instructions: the cores execute the first generation's (docs/isa.md, Issue costs) */
#define V2_CYCLES                                                                          \
	.least = 64, .startup = 60, .transpose = 64, .int8_columns = 2, .fp32_passes = 4,  \
	.weights = 4, .bf16_reduced = 2, .two_operands = 2, .reciprocal = 8, .indexed = 4, \
	.sorted = 4, .gpsimd = 150, .gpsimd_rsqrt = 4, .topk = 4, .transfer = 600000

/*
 * The public driver programs slot n of a core for engine n of any type, and what a slot is for is
 * the runtime's affair: here each type has slots of its own, for which it passes their numbers.
 */
#define V2_SLOT_SIZE 0x28
#define V2_SLOT(n) (0x100 + V2_SLOT_SIZE * (n))
#define V2_SLOTS 16 /* that drivers use */
#define V2_SLOTS_SIZE 0xf00 /* of all that fit a block */

static const struct neuron_nq_map v2_nq[] = {
	{ NEURON_NQ_NOTIFY, NEURON_V2_ENGINES, V2_SLOT(0), V2_SLOT_SIZE },
	{ NEURON_NQ_ERROR, 1, V2_SLOT(5), 0 },
	{ NEURON_NQ_EVENT, 1, V2_SLOT(6), 0 },
	{ NEURON_NQ_TRACE, NEURON_V2_ENGINES, V2_SLOT(8), V2_SLOT_SIZE },
};

/* Virtual-machine parameters of a queue in GEN_EX */
#define GEN_EX_VM(word) 0x3c400 + (word), 0xffffffff, 0x40
#define Q_CFG (NEURON_UDMA_Q_CFG_PREFETCH | NEURON_UDMA_Q_CFG_SCHEDULER)
#define Q_STRIDE (NEURON_UDMA_M2S_Q(1) - NEURON_UDMA_M2S_Q(0))

/*
 * The public driver's initialisation of an engine. Most of the words have no effect on an emulated
 * chip and are written all the same, because real hardware wants them: data, outstanding reads, AXI
 * timeout, acknowledge, length, stream; parameters of virtual machines; boundaries of reads;
 * outstanding transactions of S2M; the spare register 0x3b460, which is read first and 0 after
 * every reset; interrupt controllers; prefetch.
 */
/* clang-format off */
#define V2_DMA_INIT(data, reads, s2m_reads)                                          \
	{ NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_Q_CFG, Q_CFG, Q_STRIDE },                          \
	{ NEURON_UDMA_S2M_Q(0) + NEURON_UDMA_Q_CFG, Q_CFG, Q_STRIDE },                          \
	{ 0x00310, (data), 0 },                                                                 \
	{ 0x00124, (reads), 0 },                                                                \
	{ 0x3a300, 0x05f5e100, 0 },                                                             \
	{ 0x00408, 0x00000000, 0 },                                                             \
	{ 0x00254, 0x010fffff, 0 },                                                             \
	{ 0x00258, 0x00000102, 0 },                                                             \
	{ GEN_EX_VM(0) },                                                                       \
	{ 0x00118, 0x00010008, 0 },                                                             \
	{ 0x2038c, 0x00000000, 0 },                                                             \
	{ GEN_EX_VM(4) },                                                                       \
	{ GEN_EX_VM(8) },                                                                       \
	{ GEN_EX_VM(12) },                                                                      \
	{ 0x20124, (s2m_reads), 0 },                                                            \
	{ 0x20128, 0x40804080, 0 },                                                             \
	{ 0x3b460, 0x00000000, 0 },                                                             \
	{ 0x3a028, 0x00000028, 0 },                                                             \
	{ 0x380e8, 0x00000028, 0 },                                                             \
	{ 0x3a030, 0xf0000000, 0 },                                                             \
	{ 0x3a0b0, 0xffffffc0, 0 },                                                             \
	{ 0x3a018, 0xf0000000, 0 },                                                             \
	{ 0x3a098, 0xffffffc0, 0 },                                                             \
	{ 0x380d8, 0xfffffaff, 0 },                                                             \
	{ 0x3a068, 0x00000028, 0 },                                                             \
	{ 0x380e8, 0x00000028, 0 },                                                             \
	{ 0x3a070, 0x000010f8, 0 },                                                             \
	{ 0x3a0b0, 0xfffff03f, 0 },                                                             \
	{ 0x3a058, 0x000010f8, 0 },                                                             \
	{ 0x3a098, 0xfffff03f, 0 },                                                             \
	{ 0x380d8, 0xfffff9ff, 0 },                                                             \
	{ 0x20380, 0x00001004, 0 },                                                             \
	{ 0x00304, 0x00010041, 0 },                                                             \
	{ 0x00308, 0x00004181, 0 },                                                             \
	{ 0x20308, 0x00004181, 0 },                                                             \
	{ 0x0011c, 0x00010008, 0 },                                                             \
	{ 0x2011c, 0x00010008, 0 }

/* The part of a description that its users need not tell apart */
#define V2_COMMON                                                                            \
	.dma_inits = sizeof(dma_init) / sizeof(dma_init[0]),                                    \
	.dma_init = dma_init,                                                                   \
	.wrapper_inits = sizeof(wrapper_init) / sizeof(wrapper_init[0]),                        \
	.wrapper_init = wrapper_init,                                                           \
	.queue_init_mask = 3,                                                                   \
	.dma_barrier_meta = NEURON_UDMA_META_WRITE_BARRIER,                                     \
	.bar_regs = 0,                                                                          \
	.bar_cores = 0,                                                                         \
	.bar_dram = 4,                                                                          \
	.bars_prefetchable = true,                                                              \
	.blocks = sizeof(blocks) / sizeof(blocks[0]),                                           \
	.block = blocks,                                                                        \
	.core = {                                                                               \
		.fifo = 0x265c000,                                                              \
		.fifo_stride = 0x4000,                                                          \
		.events = 0x2700000,                                                            \
		.semaphores = 0x2701000,                                                        \
		.sem_stride = 0x400,                                                            \
	},                                                                                      \
	.regions = 1,                                                                           \
	.firmware_bytes = 0x1000000,                                                            \
	.small_apart = true,                                                                    \
	.scrubs = true,                                                                         \
	.nq_maps = sizeof(v2_nq) / sizeof(v2_nq[0]),                                      \
	.nq = v2_nq,                                                                         \
	.nq_reg = {                                                                             \
		.base_lo = 0x0,                                                                 \
		.base_hi = 0x4,                                                                 \
		.size = 0x8,                                                                    \
		.head = 0xc,                                                                    \
		.high_first = true,                                                             \
		.bytes = 0x1000,                                                                \
	},                                                                                      \
	.nq_slot = { V2_SLOTS, V2_SLOT(0), V2_SLOT_SIZE },                             \
	.ext = {                                                                                \
		.version = NEURON_CAP_VERSION_PLACES,                                           \
		.nq_overflows = NEURON_EXT2_NQ_OVERFLOWS(0),                                    \
		.dma_stopped = NEURON_EXT2_DMA_STOPPED(0),                                      \
		.nq_entries = NEURON_EXT2_NQ_ENTRIES(0),                                        \
		.guard_core = NEURON_EXT2_GUARD_CORE(0),                                        \
		.guard_queue = NEURON_EXT2_GUARD_QUEUE(0, 0),                                   \
		.perf = NEURON_EXT2_PERF(0),                                                    \
		.perf_stride = 0x200,                                                           \
		.perf_core = NEURON_EXT2_PERF_CORE,                                             \
		.msix_table = NEURON_EXT2_MSIX_TABLE,                                           \
		.msix_pba = NEURON_EXT2_MSIX_PBA,                                               \
	},                                                                                      \
	.ready_word = NEURON_MISC_BUSY,                                                         \
	.ready_mask = NEURON_MISC_BUSY_RESET,                                                   \
	.firmware_version = 5 /* the last before words of errors and mailbox change */
/* clang-format on */

/* Semaphores and events of a core or a TOP_SP, as programs map them, and SBUF */
#define V2_SYNC 0x2700000
#define V2_SYNC_SIZE 0x2000
#define V2_SBUF_SIZE 0x2000000
#define V2_TOPSP_SIZE 0x400000

/*
 * The form of window that is public of Trainium2, where it leads from the DMA engines of group p to
 * another instance of an UltraServer; of Trainium port p's, which is ours
 */
#define V2_LINK(port) (0x10000000000000ull | (uint64_t)(port) << 50)
#define V2_LINK_MASK (7ull << 50)

/* The window of any chip of the instance, by its routing id: ours */
#define V2_FAR (1ull << 53)
#define V2_FAR_ID (0x7full << 56)
#define V2_FAR_MASK (V2_FAR | 3ull << 54 | V2_FAR_ID)
#define V2_LIMIT (1ull << 63)
#define V2_LINKS_MAX 8
#define V2_FAR_WINDOWS .far = V2_FAR, .far_id = V2_FAR_ID, .links_max = V2_LINKS_MAX

#endif
