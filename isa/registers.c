// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Is an instruction on registers, or on where instructions come from, one that a sequencer executes
 * (docs/isa.md, Registers and control flow)? What depends on the values of registers is the core's.
 */
#include "neuron/isa/check.h"

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
