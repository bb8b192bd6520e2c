// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Which memory an instruction reads and writes, from its operands and its row of the table. */
#include "neuron/isa/check.h"

unsigned int neuron_isa_dst_partitions(const struct neuron_insn *insn, unsigned int columns)
{
	const uint16_t *num = insn->src0.num;
	unsigned int n = (unsigned int)num[0] * num[1] * num[2] * num[3];

	switch (neuron_isa_ops[insn->opcode].span) {
	case NEURON_SPAN_COLUMNS:
		return columns;
	case NEURON_SPAN_ELEMENTS:
		return n;
	case NEURON_SPAN_BLOCK:
		return insn->partitions <= NEURON_ISA_TRANSPOSE_BLOCK &&
				       n <= NEURON_ISA_TRANSPOSE_BLOCK
			       ? n
			       : insn->partitions;
	default:
		return insn->partitions;
	}
}

/* A pattern of the instruction; one that lies in no memory touches none */
static unsigned int touch(const struct neuron_target *target, const struct neuron_ap *ap,
			  unsigned int partitions, bool write, struct neuron_isa_access *access)
{
	if (neuron_isa_locate(ap, partitions, target, &access->where))
		return 0;
	access->partitions = partitions;
	access->write = write;
	return 1;
}

static unsigned int touch_scalar(const struct neuron_target *target, const struct neuron_scalar *s,
				 unsigned int partitions, struct neuron_isa_access *access)
{
	struct neuron_ap ap = { .offset = s->offset, .dtype = s->dtype, .num = { 1, 1, 1, 1 } };

	return s->kind == NEURON_SCALAR_PTR ? touch(target, &ap, partitions, false, access) : 0;
}

unsigned int neuron_isa_accesses(const struct neuron_insn *insn, const struct neuron_target *target,
				 unsigned int columns, struct neuron_isa_access *access)
{
	uint32_t fields = neuron_isa_ops[insn->opcode].fields;
	unsigned int n = 0, p = insn->partitions;

	if (fields & NEURON_FB(SRC0))
		n += touch(target, &insn->src0, p, false, &access[n]);
	if (fields & NEURON_FB(SRC1))
		n += touch(target, &insn->src1, p, false, &access[n]);
	if (fields & NEURON_FB(SCALAR0))
		n += touch_scalar(target, &insn->scalar0, p, &access[n]);
	if (fields & NEURON_FB(SCALAR1))
		n += touch_scalar(target, &insn->scalar1, p, &access[n]);
	if (fields & NEURON_FB(DST))
		n += touch(target, &insn->dst, neuron_isa_dst_partitions(insn, columns), true,
			   &access[n]);
	return n;
}
