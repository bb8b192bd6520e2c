/* SPDX-License-Identifier: MIT */
/* Declarations of the parser's parts: parse.c has the words of a line. All return 0 or -EINVAL. */
#ifndef NCC_ASM_PARSE_H
#define NCC_ASM_PARSE_H

#include "asm.h"

struct parser {
	const char *p; /* where the parser is in its word */
	struct neuron_insn *insn;
	struct ncc_asm_error *err;
	uint64_t fields; /* that the opcode has */
	uint64_t seen; /* a bit for each of the keywords */
	const struct ncc_asm_area *area; /* the memories are these; NULL: sbuf, psum, window */
	unsigned int nareas;
};

/* parse_words.c: a piece of a word from ps->p on, which moves behind it */
int __attribute__((format(printf, 2, 3))) asm_refuse(struct parser *ps, const char *fmt, ...);
bool asm_skip(struct parser *ps, const char *text);
int asm_number(struct parser *ps, int64_t min, uint64_t max, int64_t *out);
int asm_u8(struct parser *ps, uint8_t *out);
int asm_u32(struct parser *ps, uint32_t *out);
int asm_expect(struct parser *ps, const char *text);
int asm_name_or_number(struct parser *ps, const void *names, size_t stride, unsigned int n,
		       uint8_t *out);
int asm_type(struct parser *ps, uint8_t *dtype);
int asm_place(struct parser *ps, uint32_t *offset, uint8_t *dtype);
int asm_u16(struct parser *ps, uint16_t *out);
int asm_s32(struct parser *ps, int32_t *out);
int asm_address(struct parser *ps, uint64_t *out);

/*
 * parse_later.c: values of keywords that instructions after NeuronCore-v1 have. out is the member
 * of ps->insn that the keyword sets; those of more than one member set the others beside it
 */
int asm_reg(struct parser *ps, uint8_t *out);
int asm_reg_or_value(struct parser *ps, void *out);
int asm_pattern(struct parser *ps, void *out);
int asm_shuffle(struct parser *ps, void *out);
int asm_element(struct parser *ps, void *out);
int asm_element_index(struct parser *ps, void *out);
int asm_patch(struct parser *ps, void *out);
int asm_dma_side(struct parser *ps, void *out);
int asm_dma_queue(struct parser *ps, void *out);

#endif
