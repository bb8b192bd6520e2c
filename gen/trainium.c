// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Trainium and Inferentia2, PCI 1d0f:7164 and 1d0f:7264: two NeuronCores, 34 UDMA engines, two
 * stacks of HBM. They differ in their names and in how drivers number them. docs/hardware.md names
 * the public record of each number.
 */
#include "neuron/hw/gen.h"
#include "neuron/hw/udma.h"
#include "neuron/hw/ext.h"

#include "v2.h"

#define CYCLE_PE 357 /* picoseconds: 2.8 GHz */
#define CYCLE 714 /* 1.4 GHz */
#define CORES 2
#define PER_CORE 16
#define SEMAPHORES 256
#define EVENTS 256
#define TOPSPS 6
#define TOPSP_BEGIN 0x10000000ull /* in BAR0 */
#define TOPSP_END (TOPSP_BEGIN + TOPSPS * V2_TOPSP_SIZE)

static const struct neuron_engine engines[] = {
	[NEURON_ENG_PE] = { "pe", NEURON_ISA_ANY | NEURON_ISA_PE, CYCLE_PE },
	[NEURON_ENG_ACT] = { "act", NEURON_ISA_ANY | NEURON_ISA_ACT, CYCLE },
	[NEURON_ENG_POOL] = { "dve", NEURON_ISA_ANY | NEURON_ISA_POOL, CYCLE },
	[NEURON_ENG_SP] = { "sp", NEURON_ISA_ANY, CYCLE },
	[NEURON_ENG_GPSIMD] = { "pool", NEURON_ISA_ANY | NEURON_ISA_GPSIMD, CYCLE },
};

static const struct neuron_target target = {
	.name = "neuroncore-v2",
	.core = 2,
	.isa_version = 2,
	.engines = sizeof(engines) / sizeof(engines[0]),
	.engine = engines,
	.no_engine = NEURON_V2_ENGINES,
	.semaphores = SEMAPHORES,
	.events = EVENTS,
	.runtime_semaphores = 4,
	.packet_max = 65, /* 64 and one of metadata */
	.sbuf_part_size = 0x30000, /* 192 KiB: 24 MiB a core */
	.psum_part_size = NEURON_PSUM_PART_SIZE,
	.pe_columns = 128,
	V2_DTYPES,
	.gen = &neuron_gen_trainium,
	.cost = {
		V2_CYCLES,
		.quickest = 1,
		.quick = 1,
		.descriptor = 64000,
		.dma_kib = 64000, /* 64 KiB in 4 microseconds, as drivers expect it */
		.port_kib = 16000, /* 64 bytes a nanosecond, the emulator's choice */
		.dram_kib = 2498, /* half of 820 GB/s */
		.link_kib = 42667, /* half of one direction's 48 GB/s */
	},
};

/* BAR0 shows the device addresses from the first core's window on */
#define WINDOW 0xfffc0000000ull
#define BAR0_SIZE 0x40000000ull
#define REGS(off) WINDOW + (off), (off)
#define APB(off) REGS(0x30000000 + (off))
#define SENG 0x700000 /* from the engines of one core to those of the next */

/* Counters of the tensor engine: bytes of a set, sets of a group of rows */
#define ARRAY_SET 0x40
#define ARRAY_SETS 5

/* kind, BAR, first, count, device address, offset in the BAR, stride, size */
static const struct neuron_block blocks[] = {
	{ NEURON_BLOCK_CORE, 0, 0, CORES, REGS(0), 0x4000000, 0x4000000 },
	{ NEURON_BLOCK_UDMA, 0, 0, PER_CORE, APB(0), 0x40000, NEURON_UDMA_SIZE },
	{ NEURON_BLOCK_UDMA, 0, PER_CORE, PER_CORE, APB(SENG), 0x40000, NEURON_UDMA_SIZE },
	/* the engines of copies with the host, one for each core */
	{ NEURON_BLOCK_UDMA, 0, 32, 2, APB(0x600000), SENG, NEURON_UDMA_SIZE },
	{ NEURON_BLOCK_NQ, 0, 0, CORES, APB(0x535000), SENG, 0x1000 },
	{ NEURON_BLOCK_ARRAY, 0, 0, CORES, APB(0x5b1100), SENG,
	  NEURON_ARRAY_ROWS *ARRAY_SETS *ARRAY_SET },
	{ NEURON_BLOCK_MISC, 0, 0, 1, APB(0xfa0000), 0x1000, 0x1000 },
	/* ours: no descriptor and no driver but ours knows the address */
	{ NEURON_BLOCK_EXT, 2, 0, 1, 0xfffb0000000ull, 0, NEURON_EXT2_SIZE, NEURON_EXT2_SIZE },
	/* notification queues of the DMA engines, then of the TOP_SPs */
	{ NEURON_BLOCK_KEPT, 0, 0, PER_CORE, APB(0x401100), 0x7000, 0x28 },
	{ NEURON_BLOCK_KEPT, 0, PER_CORE, PER_CORE, APB(SENG + 0x401100), 0x7000, 0x28 },
	{ NEURON_BLOCK_KEPT, 0, 32, TOPSPS, APB(0xe04100), 0x40000, 0xf00 },
	/* broadcast groups of the DMA engines */
	{ NEURON_BLOCK_KEPT, 0, 38, PER_CORE, APB(0x400100), 0x7000, 8 },
	{ NEURON_BLOCK_KEPT, 0, 38 + PER_CORE, PER_CORE, APB(SENG + 0x400100), 0x7000, 8 },
	{ NEURON_BLOCK_TDMA, 0, 0, PER_CORE, APB(0x400000), 0x7000, 0x7000 },
	{ NEURON_BLOCK_TDMA, 0, PER_CORE, PER_CORE, APB(SENG + 0x400000), 0x7000, 0x7000 },
	{ NEURON_BLOCK_TDMA, 0, 32, 2, APB(0x640000), SENG, 0x7000 },
	{ NEURON_BLOCK_TOPSP, 0, 0, TOPSPS, REGS(TOPSP_BEGIN), V2_TOPSP_SIZE, V2_TOPSP_SIZE },
	{ NEURON_BLOCK_REGS, 0, 0, 1, REGS(0), TOPSP_BEGIN, TOPSP_BEGIN },
	{ NEURON_BLOCK_REGS, 0, 1, 1, REGS(TOPSP_END), BAR0_SIZE - TOPSP_END,
	  BAR0_SIZE - TOPSP_END },
};

/* Recorded in tests/data/udma/udma-trace-v2.txt */
static const struct neuron_reg_init dma_init[] = { V2_DMA_INIT(0x01000400, 0x0000086f,
							       0x00400008) };

static const struct neuron_reg_init wrapper_init[] = {
	{ NEURON_TDMA_RD_REORDER, 1, 0 },
	{ NEURON_TDMA_WR_REORDER, 1, 0 },
	{ NEURON_TDMA_ENABLE, 1, 0 },
};

/* Errors on the AXI end a transfer: which are detected, controlled, and which interrupts tell */
static const struct neuron_reg_init axi_detection[] = {
	{ 0x3a904, 0xf, 0x20 },
	{ 0x3a908, 0xf, 0x20 },
	{ 0x3a90c, 0xf, 0x20 },
};
static const struct neuron_reg_init axi_control[] = {
	/* an index, then the value there */
	{ 0x3ab00, 7, 0 }, { 0x3ab04, 0x10, 0 }, { 0x3ab08, 7, 0 }, { 0x3ab0c, 0x10, 0 },
	{ 0x3ab10, 7, 0 }, { 0x3ab14, 0x10, 0 }, { 0x3ab18, 7, 0 }, { 0x3ab1c, 0x10, 0 },
	{ 0x3ab20, 7, 0 }, { 0x3ab24, 0x10, 0 }, { 0x3ab28, 7, 0 }, { 0x3ab2c, 0x10, 0 },
};
static const struct neuron_reg_init axi_interrupts[] = {
	{ 0x3ad28, 0x28, 0x100 },
	{ 0x3ad30, 0, 0x100 },
	{ 0x3ad18, 0, 0x100 },
};
static const struct neuron_reg_init axi_timeout[] = { { 0x3a300, 0xffffffff, 0 } };

static const struct neuron_reg_loop check_loop[] = {
	{ axi_detection, 3, 12, 0 },	{ &axi_control[0], 2, 16, 8 }, /* index 7, 15, ... 127 */
	{ &axi_control[2], 2, 16, 8 },	{ &axi_control[4], 2, 16, 8 },
	{ &axi_control[6], 2, 16, 8 },	{ &axi_control[8], 2, 16, 8 },
	{ &axi_control[10], 2, 16, 8 }, { axi_interrupts, 3, 6, 0 },
	{ axi_timeout, 1, 1, 0 },
};

/* An instance of sixteen: the public driver numbers routing id n 0, 4, 1, 5, 3, 7, 2, 6, ... */
static const uint8_t torus_routing[NEURON_ROUTES] = { 0, 2,  6,	 4,  1, 3,  7,	5,
						      9, 11, 15, 13, 8, 10, 14, 12 };
static const uint8_t plain_routing[NEURON_ROUTES] = { 0, 1, 2,	3,  4,	5,  6,	7,
						      8, 9, 10, 11, 12, 13, 14, 15 };

/* block, resource, first, count, BAR, read-only, mmap offset and stride, the BAR's, size */
static const struct neuron_view views[] = {
	{ NEURON_VIEW_CORE, NEURON_VIEW_SEMAPHORES, 0, CORES, 0, false, WINDOW + V2_SYNC, 0x4000000,
	  V2_SYNC, 0x4000000, V2_SYNC_SIZE },
	{ NEURON_VIEW_CORE, NEURON_VIEW_SBUF, 0, CORES, 0, false, WINDOW, 0x4000000, 0, 0x4000000,
	  V2_SBUF_SIZE },
	{ NEURON_VIEW_TOPSP, NEURON_VIEW_SEMAPHORES, 0, TOPSPS, 0, false, WINDOW + TOPSP_BEGIN,
	  V2_TOPSP_SIZE, TOPSP_BEGIN, V2_TOPSP_SIZE, V2_SYNC_SIZE },
	{ NEURON_VIEW_TOPSP, NEURON_VIEW_ALL, 0, TOPSPS, 0, true, WINDOW + TOPSP_BEGIN,
	  V2_TOPSP_SIZE, TOPSP_BEGIN, V2_TOPSP_SIZE, V2_TOPSP_SIZE },
};

static const struct neuron_array_map array = {
	.size = ARRAY_SET,
	.sets = ARRAY_SETS,
	.products = 4,
	.idle = 4,
	.weights = 1 << 0,
};

#define NONE NEURON_NO_NEIGHBOUR
/* clang-format off */
/* Four rows of four: above, to the left, below, to the right */
static const uint8_t torus[] = {
	12, 3, 4, 1,  13, 0, 5, 2,  14, 1, 6, 3,  15, 2, 7, 0,
	0, 7, 8, 5,  1, 4, 9, 6,  2, 5, 10, 7,  3, 6, 11, 4,
	4, 11, 12, 9,  5, 8, 13, 10,  6, 9, 14, 11,  7, 10, 15, 8,
	8, 15, 0, 13,  9, 12, 1, 14,  10, 13, 2, 15,  11, 14, 3, 12,
};
static const uint8_t ring[] = {
	11, 1,  0, 2,  1, 3,  2, 4,  3, 5,  4, 6,
	5, 7,  6, 8,  7, 9,  8, 10,  9, 11,  10, 0,
};
static const uint8_t line[] = {
	1, NONE,  0, 2,  1, 3,  2, 4,  3, 5,  4, NONE,
};
/* clang-format on */
static const struct neuron_shape trainium_shapes[] = { { 16, 4, true, torus } };
static const struct neuron_shape inferentia2_shapes[] = {
	{ 12, 2, false, ring },
	{ 6, 2, false, line },
};

#define HBM_SIZE 0x400000000ull /* 16 GiB */

/* clang-format off */
#define BOTH                                                                            \
	.core_arch = "NCv2",                                                            \
	.arch = 2,                                                                      \
	.level_min = 5,                                                                 \
	.level_max = 7,                                                                 \
	.target = &target,                                                              \
	.dies = 1,                                                                      \
	.cores = CORES,                                                                 \
	.dma_engines_per_core = PER_CORE,                                               \
	.dma_engines = 34,                                                              \
	.copy = { { 32, 0 }, { 33, 0 } },                                               \
	.topsps_per_core = TOPSPS / CORES,                                              \
	.kept_dma = 0,                                                                  \
	.kept_topsp = 32,                                                               \
	.topsp_reset = 8,                                                               \
	.topsps_per_reset = 1,                                                          \
	.views = sizeof(views) / sizeof(views[0]),                                      \
	.array = &array,                                                                \
	.view = views,                                                                  \
	.check_loops = sizeof(check_loop) / sizeof(check_loop[0]),                      \
	.check_loop = check_loop,                                                       \
	.broadcast = { 0x100, 0x104, 0x8249 }, /* engines 0, 3, 6, 9, 15 */             \
	.bar_size = { BAR0_SIZE, 0, NEURON_EXT2_BAR_SIZE, 0, 2 * HBM_SIZE },            \
	.memories = 2,                                                                  \
	.memory = { { 0, HBM_SIZE, 0 }, { 0x1000000000ull, HBM_SIZE, HBM_SIZE } },      \
	.window = {                                                                     \
		.mask = 0x1f00000000000ull | V2_LINK_MASK | V2_FAR_MASK,          \
		.limit = V2_LIMIT,                                                   \
		.host = 1ull << 44,                                                     \
		.host_size = 1ull << 44,                                                \
		.ports = 4,                                                             \
		.port = { V2_LINK(0), V2_LINK(1), V2_LINK(2), V2_LINK(3) }, \
		V2_FAR_WINDOWS,                                                      \
	},                                                                              \
	V2_COMMON
/* clang-format on */

const struct neuron_gen neuron_gen_trainium = {
	.name = "trainium",
	.product = "Trainium1",
	.family = "Trn1",
	.device_arch = "NDv2",
	.number = 1,
	.pci_ids = 1,
	.pci_id = { 0x7164 },
	.routing = torus_routing,
	.shapes = sizeof(trainium_shapes) / sizeof(trainium_shapes[0]),
	.shape = trainium_shapes,
	BOTH,
};

const struct neuron_gen neuron_gen_inferentia2 = {
	.name = "inferentia2",
	.product = "Inferentia2",
	.family = "Inf2",
	.device_arch = "NDv3",
	.number = 2,
	.pci_ids = 1,
	.pci_id = { 0x7264 },
	.routing = plain_routing,
	.shapes = sizeof(inferentia2_shapes) / sizeof(inferentia2_shapes[0]),
	.shape = inferentia2_shapes,
	BOTH,
};
