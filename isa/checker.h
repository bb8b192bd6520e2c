/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Declarations of the checker's parts: check.c, and check_later.c for instructions after v1. */
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

/* check_later.c: has it rules of its own there? */
bool isa_is_later(const struct neuron_insn *insn);
int isa_check_later(struct checker *c);
/* check_later.c: what the engine does not do of an instruction that others execute as well */
int isa_check_engine(struct checker *c);

#endif
