/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Is a decoded instruction one that an engine executes? Engine, types, shapes, and that every
 * element of every operand lies in its memory (docs/isa.md, Operands and Errors). The NeuronCore
 * asks before it executes, libneff before it accepts a file, the compiler before it writes one.
 * What depends on an earlier LDWEIGHTS is neuron_isa_check_weights'. isa/check.c, isa/access.c.
 */
#ifndef NEURON_ISA_CHECK_H
#define NEURON_ISA_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/isa/table.h"

#define NEURON_ISA_MAX_ELEMS_SBUF 65536 /* of a partition, in one operand */
#define NEURON_ISA_MAX_ELEMS_PSUM 4096
#define NEURON_ISA_MAX_MOVING 512
#define NEURON_ISA_MAX_STATIONARY 128
#define NEURON_ISA_TRANSPOSE_BLOCK 32
#define NEURON_ISA_MAX_TRANSPOSE 2048
#define NEURON_ISA_MAX_STATS 512 /* elements of BN_STATS */
#define NEURON_ISA_MIN_SEARCH 8 /* of MAX8, FIND_INDEX8 and MATCH_REPLACE8 */
#define NEURON_ISA_MAX_SEARCH 16384
#define NEURON_ISA_MAX_SHUFFLE 32768 /* bytes of a partition; the emulator's choice */
#define NEURON_ISA_GPSIMD_PARTITIONS 16 /* of one of its cores */
#define NEURON_ISA_MAX_LOCAL 4096 /* indices of LOCAL_GATHER in a core's partitions */
#define NEURON_ISA_XORWOW_WORDS 6
#define NEURON_ISA_MAX_RUN 65536 /* bytes of a transfer side by side */
#define NEURON_ISA_MAX_RUNS 65536 /* of those */

/*
 * Is it a pattern of sparse weights, neighbours : neighbours * slots? 4:16, 4:12, 4:8, 2:8, 2:4,
 * 1:4 or 1:2
 */
static inline bool neuron_isa_is_pattern(unsigned int neighbours, unsigned int slots)
{
	return (neighbours == 1 || neighbours == 2 || neighbours == 4) && slots >= 2 &&
	       slots <= 4 && (slots != 3 || neighbours == 4);
}

/* Operand index in an error notification */
enum neuron_isa_operand {
	NEURON_OPERAND_DST,
	NEURON_OPERAND_SRC0,
	NEURON_OPERAND_SRC1,
	NEURON_OPERAND_SCALAR0,
	NEURON_OPERAND_SCALAR1,
	NEURON_OPERAND_WAIT,
	NEURON_OPERAND_UPDATE,
	NEURON_OPERAND_FIELD, /* any other field */
	NEURON_OPERAND_DST1,
};

struct neuron_isa_fault {
	uint16_t code; /* NEURON_NERR_* */
	uint8_t operand; /* enum neuron_isa_operand */
	uint32_t offset; /* the operand's */
	const char *reason;
};

/* The bytes of an access pattern: the same [lo, hi) of each of its partitions */
struct neuron_isa_region {
	bool psum;
	uint8_t start; /* first partition */
	uint8_t size; /* of an element */
	uint32_t count; /* elements a partition */
	uint32_t first; /* byte in the partition of element 0 */
	uint32_t lo, hi;
};

/* NULL when the pattern lies wholly in one memory and is well formed; else the reason */
const char *neuron_isa_locate(const struct neuron_ap *ap, unsigned int partitions,
			      const struct neuron_target *target, struct neuron_isa_region *r);

/* TENSOR_TENSOR of three int32 or three uint32, which GpSimd does not take through fp32 */
static inline bool neuron_isa_native_integers(const struct neuron_insn *insn)
{
	return (insn->dst.dtype == NEURON_DT_INT32 || insn->dst.dtype == NEURON_DT_UINT32) &&
	       insn->src0.dtype == insn->dst.dtype && insn->src1.dtype == insn->dst.dtype &&
	       insn->op0 != NEURON_ALU_POW;
}

/* Fills fault (may be NULL) with an illegal instruction; -EINVAL */
int neuron_isa_illegal(struct neuron_isa_fault *fault, const char *reason);

/* NULL when an element of a core's memories, or of the device, is one of registers; else the reason
 */
const char *neuron_isa_element(uint64_t address, uint8_t dtype, bool device,
			       const struct neuron_target *target);
/*
 * NULL when an instruction's registers, window and target, if it has any, are valid; else the
 * reason
 */
const char *neuron_isa_check_registers(const struct neuron_insn *insn,
				       const struct neuron_target *target);

/* NULL when an instruction's DMA is valid for an engine of the target; else the reason */
const char *neuron_isa_check_dma(const struct neuron_insn *insn, unsigned int engine,
				 const struct neuron_target *target);
/* NULL when an instruction's patches, if it has any, are of what it has; else the reason */
const char *neuron_isa_check_patches(const struct neuron_insn *insn,
				     const struct neuron_target *target);
/*
 * Makes the patches, which were checked, with an engine's registers. 0, or -EINVAL with *fault: a
 * value does not fit. What came out is checked like any other instruction.
 */
int neuron_isa_patch(struct neuron_insn *insn, const uint32_t *regs,
		     struct neuron_isa_fault *fault);

/*
 * An instruction for an engine of a core. 0, or -EINVAL with *fault (may be NULL).
 * PSEUDO_DMA_TRIGGER passes: it is legal in a file; an engine refuses it by itself.
 */
int neuron_isa_check(const struct neuron_insn *insn, unsigned int engine,
		     const struct neuron_target *target, struct neuron_isa_fault *fault);

/* The places of a checked instruction's operands; a member without an operand may be anything */
struct neuron_isa_operands {
	struct neuron_isa_region dst, src0, src1, dst1;
};
/* neuron_isa_check() for callers that go on with the operands */
int neuron_isa_check_at(const struct neuron_insn *insn, unsigned int engine,
			const struct neuron_target *target, struct neuron_isa_fault *fault,
			struct neuron_isa_operands *at);

/* Does a PE_TRANSPOSE move bits? From v3 on, where its types are one; of fp8 it makes 16 bits */
bool neuron_isa_moves_bits(const struct neuron_insn *insn, const struct neuron_target *target);

/* The stationary operand that an engine's LDWEIGHTS left in the array: k partitions of columns */
struct neuron_isa_weights {
	unsigned int k, columns; /* k 0: none */
	uint8_t dtype;
	bool doubled; /* two rows a partition (LDWEIGHTS_DOUBLE) */
	uint8_t tile; /* the part of the array; 0: the whole */
};
/* The weights of all parts of the array: each part by its first row and column. Zeros: none */
#define NEURON_ISA_PARTS 16
struct neuron_isa_array {
	struct neuron_isa_weights at[NEURON_ISA_PARTS];
};
/* The array's weights behind an instruction that was checked */
void neuron_isa_load_weights(struct neuron_isa_array *array, const struct neuron_insn *insn);
/* The weights that an instruction uses or would use; never NULL */
const struct neuron_isa_weights *neuron_isa_weights_for(const struct neuron_isa_array *array,
							const struct neuron_insn *insn);
/* Multiplications, each with an addition, that it does with these weights */
uint64_t neuron_isa_macs(const struct neuron_insn *insn, const struct neuron_isa_weights *weights);
/* Does it suit the weights, if it uses them? As neuron_isa_check, which comes before */
int neuron_isa_check_weights(const struct neuron_insn *insn, const struct neuron_target *target,
			     const struct neuron_isa_weights *weights,
			     struct neuron_isa_fault *fault);

/* The partitions of dst that an instruction writes; columns: of the weights that are loaded */
unsigned int neuron_isa_dst_partitions(const struct neuron_insn *insn, unsigned int columns);

/* Memory that an instruction reads or writes. What it writes it may read as well */
struct neuron_isa_access {
	struct neuron_isa_region where;
	unsigned int partitions;
	bool write;
};
#define NEURON_ISA_MAX_ACCESS 6
/* Returns how many: up to NEURON_ISA_MAX_ACCESS, dst last */
unsigned int neuron_isa_accesses(const struct neuron_insn *insn, const struct neuron_target *target,
				 unsigned int columns, struct neuron_isa_access *access);

#endif
