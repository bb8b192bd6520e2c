// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Helpers of check.c and check_v2.c: fault messages, checks of operands by themselves. */
#include "checker.h"

#include <errno.h>

static int fail(struct neuron_isa_fault *fault, unsigned int operand, uint32_t offset,
		const char *reason)
{
	if (fault) {
		fault->code = NEURON_NERR_ILLEGAL_OPERAND;
		fault->operand = operand;
		fault->offset = offset;
		fault->reason = reason;
	}
	return -EINVAL;
}

int neuron_isa_illegal(struct neuron_isa_fault *fault, const char *reason)
{
	fail(fault, NEURON_OPERAND_FIELD, 0, reason);
	if (fault)
		fault->code = NEURON_NERR_ILLEGAL_INSN;
	return -EINVAL;
}

int isa_fail(struct checker *c, unsigned int operand, uint32_t offset, const char *reason)
{
	return fail(c->fault, operand, offset, reason);
}

int isa_check_ap(struct checker *c, unsigned int operand, const struct neuron_ap *ap,
		 unsigned int partitions, struct neuron_isa_region *r)
{
	const char *reason = neuron_isa_locate(ap, partitions, c->target, r);

	if (!reason && r->psum && c->runs == NEURON_ISA_GPSIMD)
		reason = "GpSimd reaches SBUF only";
	return reason ? isa_fail(c, operand, ap->offset, reason) : 0;
}

static int check_scalar(struct checker *c, unsigned int operand, const struct neuron_scalar *s)
{
	struct neuron_ap ap = { .offset = s->offset, .dtype = s->dtype, .num = { 1, 1, 1, 1 } };
	struct neuron_isa_region r;

	if (s->kind == NEURON_SCALAR_IMM)
		return 0;
	return isa_check_ap(c, operand, &ap, c->insn->partitions, &r);
}

int isa_check_operands(struct checker *c)
{
	const struct neuron_insn *insn = c->insn;
	uint64_t f = neuron_isa_ops[insn->opcode].fields;
	int rc = 0;

	if (f & NEURON_FB(DST))
		rc = isa_check_ap(c, NEURON_OPERAND_DST, &insn->dst,
				  neuron_isa_dst_partitions(insn, 0), &c->at->dst);
	if (!rc && (f & NEURON_FB(SRC0)))
		rc = isa_check_ap(c, NEURON_OPERAND_SRC0, &insn->src0, insn->partitions,
				  &c->at->src0);
	if (!rc && (f & NEURON_FB(SRC1)))
		rc = isa_check_ap(c, NEURON_OPERAND_SRC1, &insn->src1, insn->partitions,
				  &c->at->src1);
	if (!rc && (f & NEURON_FB(SCALAR0)))
		rc = check_scalar(c, NEURON_OPERAND_SCALAR0, &insn->scalar0);
	if (!rc && (f & NEURON_FB(SCALAR1)))
		rc = check_scalar(c, NEURON_OPERAND_SCALAR1, &insn->scalar1);
	return rc;
}
