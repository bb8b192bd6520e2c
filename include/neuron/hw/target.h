/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * What programs for one generation of NeuronCores may use: engines, memories, semaphores. One const
 * table a generation; the NeuronCore, the checker, libneff, libnrt and the compiler take a pointer
 * to it. The chip around the cores is described in neuron/hw/gen.h.
 */
#ifndef NEURON_HW_TARGET_H
#define NEURON_HW_TARGET_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
#endif

/*
 * Limits, those of the largest generation; each table is checked against them where it is defined
 */
#define NEURON_ENGINES_MAX 5
#define NEURON_SEMAPHORES_MAX 256
#define NEURON_EVENTS_MAX 256
#define NEURON_PACKET_MAX 128

struct neuron_gen;

/* Groups of instructions; an engine executes some of them */
#define NEURON_ISA_ANY 0x1u /* sequencing */
#define NEURON_ISA_PE 0x2u /* products, on the array */
#define NEURON_ISA_ACT 0x4u /* functions of elements */
#define NEURON_ISA_POOL 0x8u /* vectors */
#define NEURON_ISA_GPSIMD 0x10u /* GpSimd, from NeuronCore-v2 on */

/* An engine of a core; its number is its place in the table */
struct neuron_engine {
	const char *name; /* in assembler text, NEFF members, counters and profiles */
	uint32_t runs; /* mask of NEURON_ISA_* */
	uint32_t cycle; /* of its clock, picoseconds */
};

/* Costs of work: of the virtual time of the chip and of the compiler's estimates */
struct neuron_costs {
	/* instructions, in cycles of their engine (docs/isa.md, Issue costs) */
	uint16_t least; /* of any */
	uint16_t startup; /* from the end of issue until the datapath has written */
	uint16_t transpose; /* columns that the array takes in at most for a transpose */
	uint8_t int8_columns; /* of a product, a cycle */
	uint8_t fp32_passes; /* of a product; 0: the array takes no fp32 */
	uint8_t weights; /* columns of a stationary operand that are loaded, a cycle */
	uint8_t bf16_reduced; /* elements a cycle */
	uint8_t two_operands; /* cycles an element, where the operands come one after the other */
	uint8_t reciprocal; /* cycles an element */
	uint8_t indexed; /* cycles an element whose place is data */
	uint8_t sorted; /* cycles a key */
	/* elements a cycle of the Vector engine's performance modes, which it chooses by itself */
	uint8_t quickest; /* of copies, 16 bits side by side in SBUF */
	uint8_t quick; /* of other copies, and of 16 bits with 16 bits */
	/* GpSimd */
	uint8_t gpsimd; /* cycles before the first element */
	uint8_t gpsimd_rsqrt; /* cycles an element */
	uint8_t topk; /* cycles an element that may be among the greatest */
	/* DMA, in picoseconds (docs/hardware.md, Virtual time): a KiB through each */
	uint32_t descriptor;
	uint32_t transfer; /* until a queue begins with one that an instruction makes */
	uint32_t dma_kib; /* a UDMA engine */
	uint32_t port_kib; /* the port of a core's memories */
	uint32_t dram_kib; /* what one core has of the chip's DRAM */
	uint32_t link_kib; /* ... of one direction of a link */
};

struct neuron_target {
	const char *name;
	uint8_t core; /* version of the NeuronCore: which instructions it has (table.h, since) */
	uint16_t isa_version;
	uint8_t engines; /* a core */
	const struct neuron_engine *engine;
	/*
	 * in a notification in place of an engine's number: what caused it was none of the engines
	 */
	uint8_t no_engine;
	uint16_t semaphores; /* a core */
	uint16_t events;
	/* the runtime's own semaphores: the last ones, which no program may touch */
	uint16_t runtime_semaphores;
	/* bytes that exist of each of the NEURON_PARTITIONS partitions */
	uint32_t sbuf_part_size;
	uint32_t psum_part_size;
	uint16_t packet_max; /* descriptors of one half of a DMA packet */
	/* columns of the tensor engine's array that one pass takes */
	uint16_t pe_columns;
	/* types of operands, and which of them the tensor engine takes: masks of NEURON_DTB() */
	uint64_t dtypes;
	uint64_t pe_dtypes;
	struct neuron_costs cost;
	/* the chip that has these cores: no variable spans two of its memories */
	const struct neuron_gen *gen;
};

extern const struct neuron_target neuron_target_inf1;

/* The target of a --target of the compiler: inf1, inf2, trn1, trn1n or trn2; NULL: another name */
const struct neuron_target *neuron_target_of_name(const char *name);

/*
 * Do the cores execute programs of that version? NeuronCore-v2 and later execute those of v1 as
 * well.
 */
static inline _Bool neuron_target_executes(const struct neuron_target *target, uint16_t version)
{
	return version == target->isa_version || (target->core > 1 && version == 1);
}

/* Semaphores that a program may use: 0 to one less */
static inline unsigned int neuron_target_program_semaphores(const struct neuron_target *target)
{
	return target->semaphores - target->runtime_semaphores;
}

#endif
