/* SPDX-License-Identifier: MIT */
/* What the parts of the parser share: parse.c has the words of a line. All return 0 or -EINVAL. */
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

/* parse_later.c: what instructions after NeuronCore-v1 have, into ps->insn where nothing else is
 * said */
int asm_custom(struct parser *ps, const char *name);
int asm_reg(struct parser *ps, uint8_t *out);
int asm_reg_or_value(struct parser *ps);
int asm_pattern(struct parser *ps, struct neuron_pattern *a);
int asm_shuffle(struct parser *ps, uint64_t word[4]);
int asm_element(struct parser *ps);
int asm_element_index(struct parser *ps);
int asm_patch(struct parser *ps, unsigned int i);
int asm_dma_word(struct parser *ps, const char *name);

#endif
