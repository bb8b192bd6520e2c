// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Trainium2 and Trainium3, PCI 1d0f:7364 and 1d0f:7564: eight NeuronCores on two dies, 132 UDMA
 * engines, four stacks of HBM. They differ in their memories and names. docs/hardware.md names the
 * public record of each number.
 */
#include "v2.h"

#define CYCLE_PE 417 /* picoseconds: 2.4 GHz */
#define CYCLE 833 /* 1.2 GHz */
#define CORES 8
#define PER_CORE 16
#define PER_SE 32 /* DMA engines of a group, which is that of two cores */
/* The window of a port within the instance: ours, as no other ones are public than V2_LINK()'s */
#define TORUS(port) (1ull << 54 | (uint64_t)(port) << 50)
#define DIE 0x800000000000ull /* bit 47: the second one's addresses */

static const struct neuron_engine engines[] = {
	[NEURON_ENG_PE] = { "pe", NEURON_ISA_ANY | NEURON_ISA_PE, CYCLE_PE },
	[NEURON_ENG_ACT] = { "act", NEURON_ISA_ANY | NEURON_ISA_ACT, CYCLE },
	[NEURON_ENG_POOL] = { "dve", NEURON_ISA_ANY | NEURON_ISA_POOL, CYCLE },
	[NEURON_ENG_SP] = { "sp", NEURON_ISA_ANY, CYCLE },
	[NEURON_ENG_GPSIMD] = { "pool", NEURON_ISA_ANY | NEURON_ISA_GPSIMD, CYCLE },
};

/* clang-format off */
#define BOTH_TARGET                                                      \
	.core = 3, /* what is of NeuronCore-v4 only is not there */         \
	.isa_version = 2,                                                \
	.engines = sizeof(engines) / sizeof(engines[0]),                 \
	.engine = engines,                                               \
	.no_engine = NEURON_V2_ENGINES,                                  \
	.semaphores = 256,                                               \
	.events = 256,                                                   \
	.runtime_semaphores = 4,                                         \
	.packet_max = 65, /* 64 and one of metadata */                   \
	.psum_part_size = NEURON_PSUM_PART_SIZE,                         \
	.pe_columns = 128,                                               \
	V2_DTYPES
#define BOTH_COSTS                                                       \
	V2_CYCLES,                                                    \
	.quickest = 4,                                                   \
	.quick = 2,                                                      \
	.descriptor = 64000,                                             \
	.dma_kib = 32000, /* 64 KiB in 2 microseconds, as drivers expect it */ \
	.port_kib = 16000, /* 64 bytes a nanosecond, the emulator's choice */  \
	.link_kib = 64000 /* an eighth of one direction's 128 GB/s */
/* clang-format on */

static const struct neuron_target target2 = {
	.name = "neuroncore-v3",
	.sbuf_part_size = 0x38000, /* 224 KiB: 28 MiB a core */
	.gen = &neuron_gen_trainium2,
	.cost = { .dram_kib = 2825 /* an eighth of 2.9 TB/s */, BOTH_COSTS },
	BOTH_TARGET,
};

static const struct neuron_target target3 = {
	.name = "neuroncore-v4",
	.sbuf_part_size = 0x40000, /* 256 KiB: 32 MiB a core */
	.gen = &neuron_gen_trainium3,
	.cost = { .dram_kib = 1672 /* an eighth of 4.9 TB/s */, BOTH_COSTS },
	BOTH_TARGET,
};

/* Registers: input and output of each die, and the four groups of DMA engines, 0 to 3 */
#define IO0(off) 0x8000000000ull + (off), (off)
#define IO1(off) DIE + 0x8000000000ull + (off), 0x40000000 + (off)
#define SE0(off) 0x1000000000ull + (off), 0x80000000 + (off)
#define SE1(off) 0x5000000000ull + (off), 0x90000000 + (off)
#define SE2(off) DIE + 0x1000000000ull + (off), 0xa0000000 + (off)
#define SE3(off) DIE + 0x5000000000ull + (off), 0xb0000000 + (off)
#define IO_SIZE 0x20000000
#define SE_SIZE 0x10000000
/* where the engines of a group begin in it, and the masks of their errors */
#define EVEN 0x2000000
#define ODD 0x4000000
#define EVEN_MASKS 0xc000090
#define ODD_MASKS 0xc400090
#define DISTANCE 0x100000
#define WRAPPER 0x40000

#define CORE(n, address)                                                                           \
	{                                                                                          \
		NEURON_BLOCK_CORE, 0, (n), 1, (address), 0xd0000000 + (n)*0x4000000ull, 0x4000000, \
			0x4000000                                                                  \
	}
/* A TOP_SP's window; there are places for ten of each die in the BAR */
#define TOPSP_BEGIN 0x8280000000ull
#define TOPSP_DISTANCE 0x40000000ull
#define TOPSP_BAR0 0xf0000000ull
#define TOPSP_BAR1 0xf2800000ull
#define TOPSP(n, address, offset)                                                        \
	{                                                                                \
		NEURON_BLOCK_TOPSP, 0, (n), 1, (address) + (n) % 8 * TOPSP_DISTANCE,     \
			(offset) + (n) % 8 * V2_TOPSP_SIZE, V2_TOPSP_SIZE, V2_TOPSP_SIZE \
	}
#define TOPSP0(n) TOPSP(n, TOPSP_BEGIN, TOPSP_BAR0)
#define TOPSP1(n) TOPSP(n, DIE + TOPSP_BEGIN, TOPSP_BAR1)
/* notification queues of the two cores of a group; slots of a TOP_SP's */
#define NQ(n, place)                                                \
	{                                                           \
		NEURON_BLOCK_NQ, 0, (n), 2, place, 0x180000, 0x1000 \
	}
/* counters of the tensor engines of the two cores of a group: bytes of a set, sets of a row's */
#define ARRAY_SET 0x30
#define ARRAY_SETS 9
#define ARRAY_SIZE (NEURON_ARRAY_ROWS * ARRAY_SETS * ARRAY_SET)
#define ARRAY(n, place)                                                    \
	{                                                                  \
		NEURON_BLOCK_ARRAY, 0, (n), 2, place, 0x180000, ARRAY_SIZE \
	}
#define UDMA(n, count, place)                                                         \
	{                                                                             \
		NEURON_BLOCK_UDMA, 0, (n), (count), place, DISTANCE, NEURON_UDMA_SIZE \
	}
#define TDMA(n, count, place)                                               \
	{                                                                   \
		NEURON_BLOCK_TDMA, 0, (n), (count), place, DISTANCE, 0x2000 \
	}
#define KEPT(n, count, place, distance, size)                                 \
	{                                                                     \
		NEURON_BLOCK_KEPT, 0, (n), (count), place, (distance), (size) \
	}
#define REGS(n, place, size)                                        \
	{                                                           \
		NEURON_BLOCK_REGS, 0, (n), 1, place, (size), (size) \
	}

/* kind, BAR, first, count, device address, offset in the BAR, stride, size */
static const struct neuron_block blocks[] = {
	CORE(0, 0x2000000000ull),
	CORE(1, 0x3000000000ull),
	CORE(2, 0x6000000000ull),
	CORE(3, 0x7000000000ull),
	CORE(4, DIE + 0x2000000000ull),
	CORE(5, DIE + 0x3000000000ull),
	CORE(6, DIE + 0x6000000000ull),
	CORE(7, DIE + 0x7000000000ull),
	UDMA(0, PER_SE, SE0(EVEN)),
	UDMA(PER_SE, PER_SE, SE1(ODD)),
	UDMA(2 * PER_SE, PER_SE, SE2(EVEN)),
	UDMA(3 * PER_SE, PER_SE, SE3(ODD)),
	/* the engines of copies with the host, one for two cores */
	UDMA(128, 2, IO0(0x6800000)),
	UDMA(130, 2, IO1(0x6800000)),
	NQ(0, IO0(0x6001000)),
	NQ(2, IO0(0x6401000)),
	NQ(4, IO1(0x6001000)),
	NQ(6, IO1(0x6401000)),
	ARRAY(0, IO0(0x6141100)),
	ARRAY(2, IO0(0x6541100)),
	ARRAY(4, IO1(0x6141100)),
	ARRAY(6, IO1(0x6541100)),
	{ NEURON_BLOCK_MISC, 0, 0, 1, IO0(0x6c84000), 0x1000, 0x1000 },
	/* ours: no descriptor and no driver but ours knows the address */
	{ NEURON_BLOCK_EXT, 2, 0, 1, 0x8600000000ull, 0, NEURON_EXT2_SIZE, NEURON_EXT2_SIZE },
	/* notification queues of DMA engines, then of the TOP_SPs */
	KEPT(0, PER_SE, SE0(EVEN + WRAPPER + 0x1100), DISTANCE, V2_SLOT_SIZE),
	KEPT(32, PER_SE, SE1(ODD + WRAPPER + 0x1100), DISTANCE, V2_SLOT_SIZE),
	KEPT(64, PER_SE, SE2(EVEN + WRAPPER + 0x1100), DISTANCE, V2_SLOT_SIZE),
	KEPT(96, PER_SE, SE3(ODD + WRAPPER + 0x1100), DISTANCE, V2_SLOT_SIZE),
	KEPT(128, 8, IO0(0x6a00100), 0x40000, V2_SLOTS_SIZE),
	KEPT(136, 8, IO1(0x6a00100), 0x40000, V2_SLOTS_SIZE),
	/* words behind those that every wrapper has */
	KEPT(144, PER_SE, SE0(EVEN + WRAPPER + 0x800), DISTANCE, 4),
	KEPT(176, PER_SE, SE1(ODD + WRAPPER + 0x800), DISTANCE, 4),
	KEPT(208, PER_SE, SE2(EVEN + WRAPPER + 0x800), DISTANCE, 4),
	KEPT(240, PER_SE, SE3(ODD + WRAPPER + 0x800), DISTANCE, 4),
	KEPT(272, 2, IO0(0x6800000 + WRAPPER + 0x800), DISTANCE, 4),
	KEPT(274, 2, IO1(0x6800000 + WRAPPER + 0x800), DISTANCE, 4),
	/* which errors of each engine are masked */
	KEPT(276, PER_SE, SE0(EVEN_MASKS), 0x20000, 0x44),
	KEPT(308, PER_SE, SE1(ODD_MASKS), 0x20000, 0x44),
	KEPT(340, PER_SE, SE2(EVEN_MASKS), 0x20000, 0x44),
	KEPT(372, PER_SE, SE3(ODD_MASKS), 0x20000, 0x44),
	TDMA(0, PER_SE, SE0(EVEN + WRAPPER)),
	TDMA(PER_SE, PER_SE, SE1(ODD + WRAPPER)),
	TDMA(2 * PER_SE, PER_SE, SE2(EVEN + WRAPPER)),
	TDMA(3 * PER_SE, PER_SE, SE3(ODD + WRAPPER)),
	TDMA(128, 2, IO0(0x6800000 + WRAPPER)),
	TDMA(130, 2, IO1(0x6800000 + WRAPPER)),
	REGS(0, IO0(0), IO_SIZE),
	REGS(1, IO1(0), IO_SIZE),
	REGS(2, SE0(0), SE_SIZE),
	REGS(3, SE1(0), SE_SIZE),
	REGS(4, SE2(0), SE_SIZE),
	REGS(5, SE3(0), SE_SIZE),
	TOPSP0(0),
	TOPSP0(1),
	TOPSP0(2),
	TOPSP0(3),
	TOPSP0(4),
	TOPSP0(5),
	TOPSP0(6),
	TOPSP0(7),
	TOPSP1(8),
	TOPSP1(9),
	TOPSP1(10),
	TOPSP1(11),
	TOPSP1(12),
	TOPSP1(13),
	TOPSP1(14),
	TOPSP1(15),
};

/* Recorded in tests/data/udma/udma-trace-v3.txt */
static const struct neuron_reg_init dma_init[] = { V2_DMA_INIT(0x010008f8, 0x20808080,
							       0x00400080) };

static const struct neuron_reg_init wrapper_init[] = {
	{ NEURON_TDMA_RD_REORDER, 1, 0 },
	{ NEURON_TDMA_WR_REORDER, 1, 0 },
	{ NEURON_TDMA_ENABLE, 1, 0 },
	{ 0x800, 0x26, 0 }, /* beats that may be outstanding */
};

/* The public driver numbers routing id n 0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10 */
static const uint8_t routing[NEURON_ROUTES] = {
	0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5
};

/* The order of cores: groups of two, which lie around a square of four chips as in a mirror */
static const uint8_t core_order[4][NEURON_CORES_MAX] = {
	{ 4, 5, 6, 7, 2, 3, 0, 1 },
	{ 2, 3, 0, 1, 4, 5, 6, 7 },
	{ 0, 1, 2, 3, 6, 7, 4, 5 },
	{ 6, 7, 4, 5, 0, 1, 2, 3 },
};

/* A torus of four rows of four; the order is that of the groups of cores which the links leave */
/* clang-format off */
static const uint8_t torus[] = {
	12, 1, 3, 4,  0, 13, 5, 2,  14, 3, 1, 6,  2, 15, 7, 0,
	8, 5, 7, 0,  4, 9, 1, 6,  10, 7, 5, 2,  6, 11, 3, 4,
	4, 9, 11, 12,  8, 5, 13, 10,  6, 11, 9, 14,  10, 7, 15, 8,
	0, 13, 15, 8,  12, 1, 9, 14,  2, 15, 13, 10,  14, 3, 11, 12,
};
/* clang-format on */
static const struct neuron_shape shapes[] = { { 16, 4, true, torus } };

#define HBM_SLOT 0x1000000000ull /* 64 GiB in the BAR */
#define HBM_LIVE 0x600000000ull /* 24 GiB of each slot */

static const struct neuron_array_map array = {
	.size = ARRAY_SET,
	.sets = ARRAY_SETS,
	.products = 4,
	.idle = 4,
	.weights = 1 << 0 | 1 << 8,
};

#define TOPSP_VIEW(resource, n, offset, bar_offset, read_only, size)                             \
	{                                                                                        \
		NEURON_VIEW_TOPSP, (resource), (n), 8, 0, (read_only), (offset), TOPSP_DISTANCE, \
			(bar_offset), V2_TOPSP_SIZE, (size)                                      \
	}

/*
 * What programs map of cores is at offsets of drivers' own. block, resource, first, count, BAR,
 * read-only, mmap offset and stride, the BAR's, size
 */
static const struct neuron_view views[] = {
	{ NEURON_VIEW_CORE, NEURON_VIEW_SEMAPHORES, 0, CORES, 0, false, 0x2000000000ull + V2_SYNC,
	  0x4000000, 0xd0000000 + V2_SYNC, 0x4000000, V2_SYNC_SIZE },
	{ NEURON_VIEW_CORE, NEURON_VIEW_SBUF, 0, CORES, 0, false, 0x2000000000ull, 0x4000000,
	  0xd0000000, 0x4000000, V2_SBUF_SIZE },
	TOPSP_VIEW(NEURON_VIEW_SEMAPHORES, 0, TOPSP_BEGIN, TOPSP_BAR0, false, V2_SYNC_SIZE),
	TOPSP_VIEW(NEURON_VIEW_SEMAPHORES, 8, DIE + TOPSP_BEGIN, TOPSP_BAR1, false, V2_SYNC_SIZE),
	TOPSP_VIEW(NEURON_VIEW_ALL, 0, TOPSP_BEGIN, TOPSP_BAR0, true, V2_TOPSP_SIZE),
	TOPSP_VIEW(NEURON_VIEW_ALL, 8, DIE + TOPSP_BEGIN, TOPSP_BAR1, true, V2_TOPSP_SIZE),
	{ NEURON_VIEW_MEMORY, NEURON_VIEW_BANK, 0, 2, 4, false, 0, 0x4000000000ull, 0, HBM_SLOT,
	  HBM_LIVE },
	{ NEURON_VIEW_MEMORY, NEURON_VIEW_BANK, 2, 2, 4, false, DIE, 0x4000000000ull, 2 * HBM_SLOT,
	  HBM_SLOT, HBM_LIVE },
};

/* clang-format off */
#define BOTH(live)                                                                      \
	.pci_ids = 1,                                                                   \
	.routing = routing,                                                             \
	.shapes = sizeof(shapes) / sizeof(shapes[0]),                                   \
	.shape = shapes,                                                                \
	.core_order = core_order,                                                       \
	.flip = 6,                                                                      \
	.topsps_per_core = 2,                                                           \
	.kept_dma = 0,                                                                  \
	.kept_topsp = 128,                                                              \
	.topsp_reset = 16,                                                              \
	.topsps_per_reset = 2,                                                          \
	.array = &array,                                                                \
	.logical_cores = 2,                                                             \
	.repairs = true,                                                                \
	.profiles = true,                                                               \
	.dies = 2,                                                                      \
	.cores = CORES,                                                                 \
	.dma_engines_per_core = PER_CORE,                                               \
	.dma_engines = 132,                                                             \
	.copy = { { 128, 0 }, { 128, 1 }, { 129, 0 }, { 129, 1 },                       \
		  { 130, 0 }, { 130, 1 }, { 131, 0 }, { 131, 1 } },                     \
	.bar_size = { 1ull << 32, 0, NEURON_EXT2_BAR_SIZE, 0, 4 * HBM_SLOT },           \
	.memories = 4,                                                                  \
	.memory = { { 0, (live), 0 },                                                   \
		    { 0x4000000000ull, (live), HBM_SLOT },                              \
		    { DIE, (live), 2 * HBM_SLOT },                                      \
		    { DIE + 0x4000000000ull, (live), 3 * HBM_SLOT } },                  \
	.window = {                                                                     \
		.mask = 1ull << 46 | V2_LINK_MASK | V2_FAR_MASK,                  \
		.limit = V2_LIMIT,                                                   \
		.host = 1ull << 46,                                                     \
		.host_size = 1ull << 46,                                                \
		.ports = 8,                                                             \
		.port = { TORUS(0), TORUS(1), TORUS(2), TORUS(3), \
			  V2_LINK(0), V2_LINK(1), V2_LINK(2), V2_LINK(3) }, \
		V2_FAR_WINDOWS,                                                      \
	},                                                                              \
	V2_COMMON
/* clang-format on */

const struct neuron_gen neuron_gen_trainium2 = {
	.name = "trainium2",
	.product = "Trainium2",
	.family = "Trn2",
	.device_arch = "NDv3",
	.core_arch = "NCv3",
	.level_min = 10,
	.level_max = 11,
	.number = 3,
	.arch = 3,
	.pci_id = { 0x7364 },
	.target = &target2,
	.views = sizeof(views) / sizeof(views[0]),
	.view = views,
	BOTH(HBM_LIVE),
};

const struct neuron_gen neuron_gen_trainium3 = {
	.name = "trainium3",
	.product = "Trainium3",
	.family = "Trn3",
	.device_arch = "NDv4",
	.core_arch = "NCv4",
	.number = 4,
	.arch = 4,
	.pci_id = { 0x7564 },
	.target = &target3,
	BOTH(0x900000000ull), /* 36 GiB */
};
