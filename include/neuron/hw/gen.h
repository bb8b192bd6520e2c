/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * A generation of chips as data: how much a chip has of everything, and where. One const table a
 * generation, in gen/; the device core, the hal, the kernel module, libndl and libnrt take a
 * pointer to it and know no number of a chip themselves. Offsets inside blocks that all generations
 * share are macros in udma.h and firmware.h.
 */
#ifndef NEURON_HW_GEN_H
#define NEURON_HW_GEN_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#endif

#include "neuron/hw/target.h"

/* Limits, those of the largest generation; each table is checked against them where it is defined */
#define NEURON_CORES_MAX 8
#define NEURON_DMA_ENGINES_MAX 132
#define NEURON_DMA_PER_CORE_MAX 16
#define NEURON_MEMORIES_MAX 4
#define NEURON_PORTS_MAX 8
#define NEURON_NQ_MAX 16 /* notification queues of a core */
#define NEURON_TOPSPS_MAX 16
#define NEURON_NQ_SLOTS_MAX 16 /* of which drivers tell this many apart, of each type */
#define NEURON_PCI_IDS_MAX 4

/* The parts of a chip behind its BARs and at its own addresses, beside its memory */
enum neuron_block_kind {
	NEURON_BLOCK_NONE,
	NEURON_BLOCK_CORE, /* a NeuronCore's window (struct neuron_core_map) */
	NEURON_BLOCK_TOPSP, /* a TOP_SP's window: what a core has from its events on */
	NEURON_BLOCK_UDMA, /* a UDMA engine's registers */
	NEURON_BLOCK_TDMA, /* its wrapper */
	NEURON_BLOCK_NQ, /* a core's notification queue registers */
	NEURON_BLOCK_MISC, /* MISC RAM */
	NEURON_BLOCK_ARRAY, /* counters of a core's tensor engine (struct neuron_array_map) */
	NEURON_BLOCK_EXT, /* the emulator's registers (ext.h) */
	NEURON_BLOCK_KEPT, /* words that only hold what was written to them */
	NEURON_BLOCK_REGS, /* the rest of register space: reads 0 */
};

/* count blocks of one kind, stride bytes apart, numbered from first on */
struct neuron_block {
	uint8_t kind; /* enum neuron_block_kind */
	uint8_t bar;
	uint16_t first, count;
	uint64_t address; /* the first one's device address */
	uint64_t offset; /* the same in the BAR */
	uint64_t stride;
	uint64_t size; /* bytes that one has */
};

/* A place in a block */
struct neuron_place {
	enum neuron_block_kind kind;
	unsigned int index;
	uint64_t rel; /* offset in the block */
	uint64_t left; /* bytes of the block from there on */
};

/* Device memory: a channel of DRAM, a stack of HBM. A BAR may have room between two of them */
struct neuron_memory {
	uint64_t address; /* device address */
	uint64_t size; /* bytes that exist */
	uint64_t offset; /* in the DRAM BAR */
};

/*
 * The 64-bit address space as descriptors see it. The bits of mask select a window: 0 is the chip's
 * own, host the host's memory, port[i] the chip at the other end of port i. Where far is a bit, it
 * selects the chip of the instance whose routing id is in the bits of far_id. What is left of an
 * address is an address in the window. Bits from limit on are 0.
 */
struct neuron_windows {
	uint64_t mask, limit;
	uint64_t host;
	uint64_t host_size; /* bytes of host memory that it reaches */
	uint64_t alias; /* own addresses with these bits and without them are the same */
	uint8_t ports;
	uint64_t port[NEURON_PORTS_MAX];
	uint64_t far, far_id;
	uint8_t links_max; /* that lie on the way to such a chip */
};

/* Offsets in a core's window. The memories' places are of the instruction set: ext.h */
struct neuron_core_map {
	uint32_t fifo, fifo_stride; /* instruction FIFO of engine 0; the bytes of each */
	uint32_t events; /* a word each */
	/* semaphores, a word each: what a read gives, what writes do; sem_stride bytes apart */
	uint32_t semaphores, sem_stride;
};
enum neuron_sem_access { NEURON_SEM_READ, NEURON_SEM_SET, NEURON_SEM_INC, NEURON_SEM_DEC };

/* Register groups of the notification queues of one type: one for each of count engines */
struct neuron_nq_map {
	uint8_t type; /* NEURON_NQ_* */
	uint8_t count; /* 1: the core's, whatever the engine */
	uint32_t regs, stride;
};

/*
 * A register's value when its block is initialised. In rows that follow each other and have a
 * stride each queue of an engine has one: all rows for the first queue, then for the next
 */
struct neuron_reg_init {
	uint32_t reg, value, stride;
};

/* Rows that are written again and again: each time a stride further, the first's value a step on */
struct neuron_reg_loop {
	const struct neuron_reg_init *row;
	uint8_t rows, times, step;
};

/*
 * Words of a core's DMA wrappers that say which engines take part in its broadcasts: group gets a
 * bit for this engine and each after it, last is all ones where a group ends
 */
struct neuron_broadcast {
	uint16_t group, last; /* offsets in the wrapper; both 0: there is nothing of the kind */
	uint32_t ends; /* a bit for each engine that is the last of its group */
};

/* Offsets in the emulator's own block (ext.h says what each word is) */
struct neuron_ext_map {
	uint16_t version; /* of the capability that names them */
	uint32_t nq_overflows; /* a word a core */
	uint32_t dma_stopped; /* a word a DMA engine */
	uint32_t nq_entries; /* a word a core */
	uint32_t guard_core; /* a word a core */
	uint32_t guard_queue; /* 16 words a DMA engine */
	uint32_t perf, perf_stride; /* a core's counters */
	uint32_t perf_core; /* in them: behind the engines' */
	uint32_t msix_table, msix_pba; /* offsets in the block's BAR */
};

/*
 * Counters of what the array of each core did, in NEURON_ARRAY_ROWS groups of rows, each with so
 * many sets of registers, one behind another: which set tells of products, which of loading weights
 * (all of a mask) and which of rest. The words are 64 bits, in two registers: cycles of the tensor
 * engine.
 */
#define NEURON_ARRAY_ROWS 4
#define NEURON_ARRAY_PRODUCTS 0x0
#define NEURON_ARRAY_WEIGHTS 0x8
#define NEURON_ARRAY_IDLE 0x10
struct neuron_array_map {
	uint16_t size, sets; /* bytes of a set; sets a group of rows */
	uint8_t products, idle;
	uint16_t weights;
};

/*
 * The neighbours of each chip of a machine of so many, by the chips' numbers and in the order in
 * which drivers name them; ports of them, NEURON_NO_NEIGHBOUR for fewer. A machine with twice as
 * many, or more, is as many such machines.
 */
#define NEURON_NO_NEIGHBOUR 0xff
struct neuron_shape {
	uint8_t chips, ports;
	bool repeats;
	const uint8_t *neighbour;
};

/*
 * What programs may map of blocks: count views, from number first on. Programs ask by block and
 * resource, in the numbers of the driver's ABI, and map at an offset of drivers' own, stride apart;
 * bar_offset is where the view is, bar_stride apart.
 */
#define NEURON_VIEW_CORE 0 /* blocks */
#define NEURON_VIEW_TOPSP 1
#define NEURON_VIEW_MEMORY 2
#define NEURON_VIEW_SEMAPHORES 0 /* resources */
#define NEURON_VIEW_ALL 1
#define NEURON_VIEW_SBUF 2
#define NEURON_VIEW_BANK 3
struct neuron_view {
	uint8_t block, resource, first, count, bar;
	bool read_only;
	uint64_t offset, stride;
	uint64_t bar_offset, bar_stride;
	uint64_t size;
};

struct neuron_gen {
	const char *name; /* of the QOM type: neuron-NAME */
	/* what drivers call the chip, its instances, its architecture and that of its cores */
	const char *product, *family, *device_arch, *core_arch;
	uint8_t number; /* in saved states: 0, 1, 2 ... */
	uint8_t arch; /* the public architecture number: 1, 2, 3 */
	uint8_t level_min, level_max; /* of runtimes that drivers serve with it */
	uint8_t pci_ids;
	uint16_t pci_id[NEURON_PCI_IDS_MAX]; /* the emulated device has the first */
	const struct neuron_target *target; /* what its cores execute */

	uint8_t dies; /* each has a reading of power */
	uint8_t cores;
	uint8_t dma_engines_per_core;
	uint16_t dma_engines; /* in all */
	/* how many cores programs see as one, where they ask for nothing else; 0: there are no such
	 */
	uint8_t logical_cores;
	/* the queue that copies for the host, of each core */
	struct {
		uint16_t engine;
		uint8_t queue;
	} copy[NEURON_CORES_MAX];

	/* what is written to a DMA engine and to its wrapper, in this order, before they are used */
	uint8_t dma_inits, wrapper_inits;
	const struct neuron_reg_init *dma_init, *wrapper_init;
	uint8_t check_loops; /* to the engine, after its wrapper's */
	const struct neuron_reg_loop *check_loop;
	struct neuron_broadcast broadcast; /* before all of them */
	uint32_t queue_init_mask; /* of a queue's rate limits, when it is set up; 0: not written */
	/* the bits that keep a descriptor behind those before it: of its first and second word */
	uint32_t dma_barrier, dma_barrier_meta;

	uint64_t bar_size[6]; /* 0: none; the DRAM BAR's is at most this */
	uint8_t bar_regs, bar_cores, bar_dram; /* their numbers */
	/* all of them are prefetchable: a bridge passes those alone on above 4 GiB */
	bool bars_prefetchable;
	uint8_t memories;
	struct neuron_memory memory[NEURON_MEMORIES_MAX];
	/*
	 * How drivers give memory out: each in regions that a program names (1: it need not), less
	 * the firmware's bytes at the beginning; small chunks from the end, if they are kept apart
	 */
	uint8_t regions;
	uint32_t firmware_bytes;
	bool small_apart;
	/* the firmware repairs memories: it counts errors that can be, and a word says how it went */
	bool repairs;
	bool scrubs; /* drivers fill a memory for programs */
	bool profiles; /* drivers ask the firmware for a profile of power */
	uint8_t blocks;
	const struct neuron_block *block; /* the first that fits decides */

	struct neuron_windows window;
	struct neuron_core_map core;
	uint8_t nq_maps;
	const struct neuron_nq_map *nq;
	struct {
		uint8_t base_lo, base_hi, size, head; /* in a register group */
		bool high_first; /* the order in which a base is written */
		uint16_t bytes; /* of a core's block that hold registers */
	} nq_reg;
	/*
	 * How drivers call a core's queues: by type and engine (count 0), or by slot, whatever the
	 * type, which they write to the slot's group of registers
	 */
	struct {
		uint8_t count;
		uint32_t regs, stride;
	} nq_slot;
	/*
	 * Where slots count, DMA engines have a queue of transfers' traces and TOP_SPs, of which a
	 * core has so many, slots of their own: the numbers of the first blocks of words
	 * (NEURON_BLOCK_KEPT) that are theirs, with the slots' registers from the first word on
	 */
	uint8_t topsps_per_core;
	uint16_t kept_dma, kept_topsp;
	/* bits of the firmware's map of what to reset: TOP_SPs' from this one on, of so many each */
	uint8_t topsp_reset, topsps_per_reset;
	struct neuron_ext_map ext;

	/* the firmware: the word that says the chip is ready, and what of it */
	uint16_t ready_word;
	uint32_t ready_mask, ready_value;
	bool ready_links; /* the word says which ports are up, too: bit i for port i */
	uint32_t firmware_version;
	/*
	 * The routing ids of the chips that drivers number 0 to NEURON_ROUTES - 1, which the device
	 * id word shows (more chips: the same again, NEURON_ROUTES higher). NULL: drivers write the
	 * word themselves.
	 */
	const uint8_t *routing;
	uint8_t views;
	const struct neuron_view *view;
	/* what drivers show of a chip beside what all have: serial number, errors, the array */
	const struct neuron_array_map *array; /* NULL: nothing of that */
	/* which chips are neighbours, where no register tells */
	uint8_t shapes;
	const struct neuron_shape *shape;
	/*
	 * The order in which programs count a chip's cores, by the chip's place in its square of
	 * four: of rows 4k and 4k + 4 the even chip and the odd one. NULL: as they are.
	 */
	const uint8_t (*core_order)[NEURON_CORES_MAX];
	/* by which nodes 1 and 3 of an UltraServer count cores otherwise; 0: chips of none */
	uint8_t flip;
};

#define NEURON_ROUTES 16

extern const struct neuron_gen neuron_gen_inferentia;
extern const struct neuron_gen neuron_gen_trainium;
extern const struct neuron_gen neuron_gen_inferentia2;
extern const struct neuron_gen neuron_gen_trainium2;
extern const struct neuron_gen neuron_gen_trainium3;

/* The number of the chip with a routing id, and the other way; the id where there are none */
unsigned int neuron_gen_index_of_route(const struct neuron_gen *gen, unsigned int route);
unsigned int neuron_gen_route(const struct neuron_gen *gen, unsigned int index);
/* The window of the chip that drivers number index, wherever in the instance; 0: there is none */
uint64_t neuron_gen_far_window(const struct neuron_gen *gen, unsigned int index);
/* The chip whose window it is, or -1 */
int neuron_gen_far_index(const struct neuron_gen *gen, uint64_t window);
/* The neighbours of a chip by the shapes of machines, -1 for none; returns how many */
unsigned int neuron_gen_neighbours(const struct neuron_gen *gen, unsigned int chips,
				   unsigned int index, int id[NEURON_PORTS_MAX]);
/* The number of TOP_SPs that a chip has, and the core that one belongs to */
unsigned int neuron_gen_topsps(const struct neuron_gen *gen);
unsigned int neuron_gen_topsp_core(const struct neuron_gen *gen, unsigned int topsp);
/* The one whose queues' registers are in block index of words (NEURON_BLOCK_KEPT), or -1 */
int neuron_gen_topsp_of_kept(const struct neuron_gen *gen, unsigned int index);
/* Does the firmware's map say that a TOP_SP is reset; the map of cores and the TOP_SPs of each */
bool neuron_gen_resets_topsp(const struct neuron_gen *gen, uint32_t map, unsigned int topsp);
uint32_t neuron_gen_reset_map(const struct neuron_gen *gen, uint32_t cores);
/* Core number nc, as programs count the cores of a chip */
unsigned int neuron_gen_ordered_core(const struct neuron_gen *gen, unsigned int index,
				     unsigned int nc);

/* The generation that a PCI device id is of, or NULL */
const struct neuron_gen *neuron_gen_of_pci(uint16_t device);

/* The start of block number index of a kind; ~0: there is none */
uint64_t neuron_gen_address(const struct neuron_gen *gen, enum neuron_block_kind kind,
			    unsigned int index);
uint64_t neuron_gen_offset(const struct neuron_gen *gen, enum neuron_block_kind kind,
			   unsigned int index);

/* The row that has block 0 of a kind, or NULL */
const struct neuron_block *neuron_gen_block(const struct neuron_gen *gen,
					    enum neuron_block_kind kind);

/* The part at a device address of the chip's own (aliases removed), or in a BAR; false: nothing */
bool neuron_gen_find(const struct neuron_gen *gen, uint64_t address, struct neuron_place *place);
bool neuron_gen_decode(const struct neuron_gen *gen, unsigned int bar, uint64_t offset,
		       struct neuron_place *place);

/* All device memory, bytes */
uint64_t neuron_gen_memory(const struct neuron_gen *gen);

/* Bytes of the memories before number memory: where it lies in all of them put together */
uint64_t neuron_gen_memory_start(const struct neuron_gen *gen, unsigned int memory);

/* The core that a DMA engine belongs to: of those that it copies for, the first */
unsigned int neuron_gen_dma_core(const struct neuron_gen *gen, unsigned int engine);
/* The core that a queue works for */
unsigned int neuron_gen_queue_core(const struct neuron_gen *gen, unsigned int engine,
				   unsigned int queue);
/* Is it the queue with which the host copies for some core? */
bool neuron_gen_is_copy_queue(const struct neuron_gen *gen, unsigned int engine,
			      unsigned int queue);

/* ... or the engine of such a queue? */
bool neuron_gen_is_copy_engine(const struct neuron_gen *gen, unsigned int engine);

/* Notification queues of a core, numbered as the maps list them: queues of all maps together */
unsigned int neuron_gen_nqs(const struct neuron_gen *gen);
/* -1: no such queue */
int neuron_gen_nq(const struct neuron_gen *gen, unsigned int type, unsigned int engine);
/* The number by which drivers call the queue: its slot, where they count slots, or the engine */
unsigned int neuron_gen_nq_slot(const struct neuron_gen *gen, unsigned int type,
				unsigned int engine);
/* Offset of queue number nq's register group in the core's block */
uint32_t neuron_gen_nq_regs(const struct neuron_gen *gen, unsigned int nq);

#endif
