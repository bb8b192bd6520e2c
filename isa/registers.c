// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Is an instruction on registers, or on where instructions come from, one that a sequencer executes
 * (docs/isa.md, Registers and control flow)? What depends on the values of registers is the core's.
 */
#include "neuron/isa/check.h"

#include <errno.h>

const char *neuron_isa_element(uint64_t address, uint8_t dtype, bool device,
			       const struct neuron_target *target)
{
	uint32_t size = neuron_isa_dtypes[dtype & 63].size;
	uint64_t stride = NEURON_SBUF_PART_STRIDE, part = target->sbuf_part_size;

	if (dtype > 63 || !size || !neuron_isa_dtypes[dtype].integer ||
	    !(target->dtypes >> dtype & 1))
		return "an element of registers is an integer of this generation";
	if (address & (size - 1))
		return "address is not aligned to the element";
	if (device)
		return NULL;
	if (address >= NEURON_PSUM_OFFSET) {
		address -= NEURON_PSUM_OFFSET;
		stride = NEURON_PSUM_PART_STRIDE;
		part = target->psum_part_size;
	}
	if (address >= NEURON_PARTITIONS * stride)
		return "offset is in no memory";
	return address % stride < part ? NULL : "element outside the partition";
}

static const char *check_window(const struct neuron_insn *insn)
{
	if (insn->address % NEURON_INSN_WORD)
		return "a window begins at a multiple of 64";
	if (!insn->length || insn->length % NEURON_INSN_WORD)
		return "a window's length is a multiple of 64, which is not 0";
	if (insn->address + insn->length < insn->address)
		return "a window ends before it begins";
	if (insn->pc % NEURON_INSN_WORD || insn->pc >= insn->length)
		return "pc is a multiple of 64 below the window's length";
	return NULL;
}

static const char *check_branch(const struct neuron_insn *insn)
{
	if (insn->rop >= NEURON_REL_COUNT)
		return "unknown relation";
	if (insn->rop == NEURON_REL_ALWAYS &&
	    (insn->ra || insn->rb || insn->immediate || insn->value))
		return "'always' compares nothing: its operands are 0";
	return insn->target % NEURON_INSN_WORD ? "target is a multiple of 64" : NULL;
}

/* Engines that make transfers: GpSimd by its program, the others by hardware */
static bool makes_transfers(unsigned int engine, const struct neuron_target *target)
{
	const uint32_t runs = target->engine[engine].runs;

	return runs & NEURON_ISA_GPSIMD ||
	       (target->core >= 3 && (runs & NEURON_ISA_ACT || runs == NEURON_ISA_ANY));
}

const char *neuron_isa_check_dma(const struct neuron_insn *insn, unsigned int engine,
				 const struct neuron_target *target)
{
	uint64_t runs[2] = { 1, 1 };

	if (!makes_transfers(engine, target))
		return "the engine makes no transfers";
	if (insn->dma_reg[0] >= NEURON_REGISTERS || insn->dma_reg[1] >= NEURON_REGISTERS)
		return "an engine has 64 registers";
	if (insn->dma_semaphore >= target->semaphores)
		return "no such semaphore";
	if (!insn->dma_run || insn->dma_run > NEURON_ISA_MAX_RUN)
		return "a run has 1 to 65536 bytes";
	for (unsigned int d = 0; d < NEURON_DMA_DIMS; d++) {
		runs[0] *= insn->dma_num[0][d];
		runs[1] *= insn->dma_num[1][d];
	}
	if (!runs[0] || runs[0] != runs[1] || runs[0] > NEURON_ISA_MAX_RUNS)
		return "source and destination have as many runs, 1 to 65536";
	return NULL;
}

const char *neuron_isa_check_registers(const struct neuron_insn *insn,
				       const struct neuron_target *target)
{
	const uint64_t fields = neuron_isa_ops[insn->opcode].fields;
	const char *reason = NULL;

	if (((fields & NEURON_FB(RD)) && insn->rd >= NEURON_REGISTERS) ||
	    ((fields & (NEURON_FB(RA) | NEURON_FB(PLACE))) && insn->ra >= NEURON_REGISTERS) ||
	    ((fields & NEURON_FB(RB)) && insn->rb >= NEURON_REGISTERS))
		return "an engine has 64 registers";
	if (fields & NEURON_FB(WINDOW))
		reason = check_window(insn);
	else if (fields & NEURON_FB(RELATION))
		reason = check_branch(insn);
	else if ((fields & NEURON_FB(REG_ALU)) && insn->rop >= NEURON_REG_ALU_COUNT)
		reason = "unknown operation on registers";
	else if (fields & NEURON_FB(PLACE))
		/* with an index the place is known when the instruction is executed */
		reason = neuron_isa_element(insn->indexed ? 0 : insn->address, insn->rtype,
					    insn->device, target);
	return reason;
}

/* Patches */

/* The operand that a patch changes: enum neuron_isa_operand */
static unsigned int patched_operand(uint8_t patch)
{
	if (patch >= NEURON_PATCH_DST_NUM)
		return NEURON_OPERAND_DST + (patch - NEURON_PATCH_DST_NUM) / NEURON_AP_DIMS;
	return patch < NEURON_PATCH_PARTITIONS ? NEURON_OPERAND_DST + (patch - NEURON_PATCH_DST)
					       : NEURON_OPERAND_FIELD;
}

static const char *check_patch(const struct neuron_insn *insn, unsigned int i)
{
	static const uint64_t field[] = {
		[NEURON_OPERAND_DST] = NEURON_FB(DST),
		[NEURON_OPERAND_SRC0] = NEURON_FB(SRC0),
		[NEURON_OPERAND_SRC1] = NEURON_FB(SRC1),
		[NEURON_OPERAND_SCALAR0] = NEURON_FB(SCALAR0),
		[NEURON_OPERAND_SCALAR1] = NEURON_FB(SCALAR1),
		[NEURON_OPERAND_FIELD] = NEURON_FB(PARTITIONS),
	};
	const uint8_t patch = insn->patch[i];

	if (!patch)
		return NULL;
	if (patch >= NEURON_PATCH_COUNT || !neuron_isa_patches[patch])
		return "unknown patch";
	if (insn->patch_reg[i] >= NEURON_REGISTERS)
		return "an engine has 64 registers";
	if (!(neuron_isa_ops[insn->opcode].fields & field[patched_operand(patch)]) ||
	    (patch == NEURON_PATCH_SCALAR0 && insn->scalar0.kind != NEURON_SCALAR_PTR) ||
	    (patch == NEURON_PATCH_SCALAR1 && insn->scalar1.kind != NEURON_SCALAR_PTR))
		return "a patch of what the instruction does not have";
	return NULL;
}

const char *neuron_isa_check_patches(const struct neuron_insn *insn,
				     const struct neuron_target *target)
{
	const char *reason = NULL;

	if (!neuron_isa_patched(insn))
		return NULL;
	if (target->core < 2)
		return "patches are of NeuronCore-v2";
	for (unsigned int i = 0; i < NEURON_PATCHES && !reason; i++)
		reason = check_patch(insn, i);
	return reason;
}

static uint32_t *patched_offset(struct neuron_insn *insn, unsigned int operand)
{
	switch (operand) {
	case NEURON_OPERAND_DST:
		return &insn->dst.offset;
	case NEURON_OPERAND_SRC0:
		return &insn->src0.offset;
	case NEURON_OPERAND_SRC1:
		return &insn->src1.offset;
	case NEURON_OPERAND_SCALAR0:
		return &insn->scalar0.offset;
	default:
		return &insn->scalar1.offset;
	}
}

static uint16_t *patched_num(struct neuron_insn *insn, uint8_t patch)
{
	switch (patched_operand(patch)) {
	case NEURON_OPERAND_DST:
		return &insn->dst.num[patch - NEURON_PATCH_DST_NUM];
	case NEURON_OPERAND_SRC0:
		return &insn->src0.num[patch - NEURON_PATCH_SRC0_NUM];
	default:
		return &insn->src1.num[patch - NEURON_PATCH_SRC1_NUM];
	}
}

/* Returns whether the value fits; what does not is an operand's fault, at this offset */
static bool apply(struct neuron_insn *insn, unsigned int i, uint32_t reg, uint32_t *offset)
{
	const uint8_t patch = insn->patch[i];
	int64_t v = (int64_t)(int32_t)reg * insn->patch_scale[i];

	if (patch == NEURON_PATCH_PARTITIONS) {
		*offset = (uint32_t)v;
		insn->partitions = (uint8_t)v;
		return v >= 0 && v <= UINT8_MAX;
	}
	if (patch >= NEURON_PATCH_DST_NUM) {
		*offset = *patched_offset(insn, patched_operand(patch));
		*patched_num(insn, patch) = (uint16_t)v;
		return v >= 0 && v <= UINT16_MAX;
	}
	v += *patched_offset(insn, patched_operand(patch));
	*offset = (uint32_t)v;
	*patched_offset(insn, patched_operand(patch)) = (uint32_t)v;
	return !(v >> 26);
}

int neuron_isa_patch(struct neuron_insn *insn, const uint32_t *regs, struct neuron_isa_fault *fault)
{
	uint32_t offset;

	for (unsigned int i = 0; i < NEURON_PATCHES; i++) {
		if (!insn->patch[i] || apply(insn, i, regs[insn->patch_reg[i]], &offset))
			continue;
		*fault = (struct neuron_isa_fault){
			.code = NEURON_NERR_ILLEGAL_OPERAND,
			.operand = (uint8_t)patched_operand(insn->patch[i]),
			.offset = offset,
			.reason = "a register's value does not fit what it patches",
		};
		return -EINVAL;
	}
	return 0;
}
