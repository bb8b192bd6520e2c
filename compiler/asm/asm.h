/* SPDX-License-Identifier: MIT */
/*
 * The text form of instructions (docs/isa.md, Text form), for neuron-as, neuron-objdump and whoever
 * wants to show an instruction.
 */
#ifndef NCC_ASM_H
#define NCC_ASM_H

#include <stdbool.h>
#include <stddef.h>

#include "neuron/isa/isa.h"

/*
 * Prints an instruction as one line without a newline and returns its length without the final 0. A
 * length of size or more means that the text was cut. What is printed assembles to the same words.
 */
int ncc_asm_print(const struct neuron_insn *insn, char *buf, size_t size);
#define NCC_ASM_LINE 1024 /* holds any instruction */

struct ncc_asm_error {
	char text[160]; /* what was refused and what is expected */
};

/*
 * Parses a line without its newline. 1: an instruction; 0: an empty line or a comment; -EINVAL with
 * *err.
 */
int ncc_asm_parse(const char *line, struct neuron_insn *insn, struct ncc_asm_error *err);

/* A named part of SBUF or PSUM: these bytes of partitions 0 on */
struct ncc_asm_area {
	const char *name;
	bool psum;
	unsigned int partitions;
	uint32_t base, bytes; /* of each partition */
};
/* The same of a line whose places are name[partition,byte] of an area, and no others */
int ncc_asm_parse_in(const char *line, const struct ncc_asm_area *area, unsigned int nareas,
		     struct neuron_insn *insn, struct ncc_asm_error *err);

#endif
