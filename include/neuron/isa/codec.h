/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Words to struct neuron_insn and back (isa/codec.c): the NeuronCore, the compiler, libneff, libnrt
 * and the assembler share it. What an instruction's values mean, and whether an engine accepts
 * them, is check.h's.
 */
#ifndef NEURON_ISA_CODEC_H
#define NEURON_ISA_CODEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "neuron/isa/table.h"

#define NEURON_ISA_MAX_WORDS 2
#define NEURON_ISA_U64S (NEURON_ISA_MAX_WORDS * NEURON_INSN_WORD / 8)

static inline uint64_t neuron_isa_get_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(v) : v;
}

static inline void neuron_isa_put_le64(uint8_t *p, uint64_t v)
{
	v = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(v) : v;
	memcpy(p, &v, sizeof(v));
}

/* The lowest bits of a word set */
static inline uint64_t neuron_isa_mask(unsigned int bits)
{
	return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

/* A member's bits, zero-extended: negative steps are seen as 16 bits */
static inline uint64_t neuron_isa_member(const struct neuron_insn *insn,
					 const struct neuron_isa_place *p)
{
	const uint8_t *m = (const uint8_t *)insn + p->member;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (p->size) {
	case 1:
		return *m;
	case 2:
		memcpy(&v16, m, 2);
		return v16;
	case 4:
		memcpy(&v32, m, 4);
		return v32;
	default:
		memcpy(&v64, m, 8);
		return v64;
	}
}

/* The words' value of a place becomes the member's */
static inline void neuron_isa_member_set(struct neuron_insn *insn, const struct neuron_isa_place *p,
					 uint64_t v)
{
	uint8_t *m = (uint8_t *)insn + p->member;
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (p->size) {
	case 1:
		*m = (uint8_t)v;
		break;
	case 2:
		memcpy(m, &v16, 2);
		break;
	case 4:
		memcpy(m, &v32, 4);
		break;
	default:
		memcpy(m, &v, 8);
	}
}

/*
 * The members of an opcode's fields from its words, scalars as 32 bits; of a known one whose words
 * are all there. Returns what is no place of theirs, put together: 0, or reserved bits are set.
 */
uint64_t neuron_isa_take_places(struct neuron_insn *restrict insn, const uint8_t *restrict words);

/*
 * The words of an instruction's members but for its scalars, NEURON_ISA_U64S of them. False: it is
 * none of those that most of a program is, or something in it is wrong.
 */
bool neuron_isa_put_places(const struct neuron_insn *restrict insn, uint64_t *restrict to);

/*
 * Encode into words (room for NEURON_ISA_MAX_WORDS). Returns the words used, or -EINVAL: unknown
 * opcode, a field set that the opcode does not have, or a value that does not fit its field.
 */
int neuron_isa_encode(const struct neuron_insn *insn, void *words);

/*
 * Puts members into words that an instruction was encoded into, in place of what they were: those
 * of some fields that many opcodes have, of SYNC all but the opcode. Their values fit.
 */
void neuron_isa_put_head(const struct neuron_insn *insn, uint64_t fields, void *words);

/*
 * Decode the instruction at words, of which navail are readable. Returns the words it takes,
 * -EAGAIN when it takes more than there are, or -EINVAL: unknown opcode, wrong ext bit, a reserved
 * bit that is not zero.
 */
int neuron_isa_decode(const void *words, size_t navail, struct neuron_insn *insn);
/*
 * neuron_isa_decode() for one version of the NeuronCore, which does not know what only a newer one
 * has
 */
int neuron_isa_decode_for(const void *words, size_t navail, unsigned int core,
			  struct neuron_insn *insn);

#endif
