/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Declarations of the checker's parts: check.c, and check_v2.c for instructions of NeuronCore-v2
 * and later. */
#ifndef ISA_CHECKER_H
#define ISA_CHECKER_H

#include "neuron/isa/check.h"

struct checker {
	const struct neuron_insn *insn;
	const struct neuron_target *target;
	struct neuron_isa_fault *fault;
	struct neuron_isa_operands *at;
	uint32_t runs; /* groups that the engine runs, of those that have the instruction */
};

/* checker.c: -EINVAL, and an illegal operand in the fault */
int isa_fail(struct checker *c, unsigned int operand, uint32_t offset, const char *reason);
/* checker.c: a pattern that lies wholly in a memory that the engine reaches */
int isa_check_ap(struct checker *c, unsigned int operand, const struct neuron_ap *ap,
		 unsigned int partitions, struct neuron_isa_region *r);
/* checker.c: all operands that the instruction has, each by itself */
int isa_check_operands(struct checker *c);

/* check_v2.c: does the instruction have a rule there? */
bool isa_is_v2(const struct neuron_insn *insn);
int isa_check_v2(struct checker *c);
/* check_v2.c: refuses what GpSimd or ACT does not do of an instruction that others execute too */
int isa_check_engine(struct checker *c);

#endif
