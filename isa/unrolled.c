// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The decoder that runs for each instruction that a core executes, and the encoder of each that is
 * compiled or loaded: the places of fields unrolled, with constants for them and for the words,
 * which so stay in registers.
 */
#include "places.h"

#include <assert.h>

#define PLACE_TAKE(f, m, byte, bit, nbits)                                                      \
	{                                                                                       \
		const struct neuron_isa_place p = PLACE_ROW(f, m, byte, bit, nbits);            \
                                                                                                \
		neuron_isa_member_set(insn, &p, w[p.word] >> p.shift & neuron_isa_mask(nbits)); \
		w[p.word] &= ~(neuron_isa_mask(nbits) << p.shift);                              \
	}
#define PLACE_TAKE_IF(f, m, byte, bit, nbits) \
	if (fields & NEURON_FB(f))            \
	PLACE_TAKE(f, m, byte, bit, nbits)
#define SCALAR_TAKE(i)                                               \
	if (fields & (NEURON_FB(SCALAR0) << (i))) {                  \
		insn->scalar##i.bits = (uint32_t)(w[7] >> 32 * (i)); \
		w[7] &= ~(0xffffffffull << 32 * (i));                \
	}
#define FIRST_WORD(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define SECOND_WORD(X) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define WORD_LOAD(i) w[i] = neuron_isa_get_le64(words + 8 * (i));
#define WORDS_LOAD(i) w[i] = neuron_isa_get_le64((const uint8_t *)words + 8 * (i));
#define WORDS_STORE(i) neuron_isa_put_le64((uint8_t *)words + 8 * (i), w[i]);
#define WORD_OR(i) w[i] |
static_assert(NEURON_ISA_SCALAR_BYTE(0) == 8 * 7, "scalars lie in the eighth 8 bytes");

/*
 * The same from the list, for instructions that programs have less often or that stay decoded: those
 * that are not unrolled leave the registers to the others. from: of the words, the first 8 bytes
 */
static __attribute__((noinline)) uint64_t
take_listed(struct neuron_insn *insn, const uint8_t *words, uint64_t fields, unsigned int from)
{
	const unsigned int n =
		words[NEURON_ISA_EXT_BIT / 8] & 1 ? NEURON_ISA_U64S : NEURON_ISA_U64S / 2;
	uint64_t w[NEURON_ISA_U64S] = { 0 }, left = 0;

	for (unsigned int i = from; i < n; i++)
		w[i] = neuron_isa_get_le64(words + 8 * i);
	if (!from)
		w[0] &= ~(1ull << NEURON_ISA_EXT_BIT);
	for (unsigned int i = 0; i < neuron_isa_place_count; i++) {
		const struct neuron_isa_place *p = &neuron_isa_places[i];

		if (!(fields >> p->field & 1))
			continue;
		neuron_isa_member_set(insn, p, w[p->word] >> p->shift & neuron_isa_mask(p->bits));
		w[p->word] &= ~(neuron_isa_mask(p->bits) << p->shift);
	}
	SCALAR_TAKE(0)
	SCALAR_TAKE(1)
	for (unsigned int i = from; i < n; i++)
		left |= w[i];
	return left;
}

uint64_t neuron_isa_take_places(struct neuron_insn *restrict insn, const uint8_t *restrict words)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[words[0]];
	const uint64_t fields = op->fields;
	uint64_t w[NEURON_ISA_U64S] = { 0 }, patched = 0;

	if (fields & NEURON_FB_RARE)
		return take_listed(insn, words, fields, 0);
	FIRST_WORD(WORD_LOAD)
	if (w[0] >> NEURON_ISA_EXT_BIT & 1) {
		SECOND_WORD(WORD_LOAD)
	}
	w[0] &= ~(1ull << NEURON_ISA_EXT_BIT);
	HEAD_PLACES(PLACE_TAKE_IF)
	if (fields & NEURON_FB(DST)) {
		DST_PLACES(PLACE_TAKE)
	}
	if (fields & NEURON_FB(SRC0)) {
		SRC0_PLACES(PLACE_TAKE)
	}
	if (fields & NEURON_FB(SRC1)) {
		SRC1_PLACES(PLACE_TAKE)
	}
	OWN_PLACES(PLACE_TAKE_IF)
	if ((fields & NEURON_FB(PATCH)) && (w[12] | w[13] | w[14] | w[15])) {
		w[12] = w[13] = w[14] = w[15] = 0;
		patched = take_listed(insn, words, NEURON_FB(PATCH), 12);
	}
	SCALAR_TAKE(0)
	SCALAR_TAKE(1)
	return FIRST_WORD(WORD_OR) SECOND_WORD(WORD_OR) patched;
}

#define PLACE_PUT(f, m, byte, bit, nbits)                                            \
	{                                                                            \
		const struct neuron_isa_place p = PLACE_ROW(f, m, byte, bit, nbits); \
		const uint64_t v = neuron_isa_member(insn, &p);                      \
                                                                                     \
		wrong |= v & ~neuron_isa_mask(nbits);                                \
		w[p.word] |= v << p.shift;                                           \
	}
#define PLACE_ZERO(f, m, byte, bit, nbits)                                           \
	{                                                                            \
		const struct neuron_isa_place p = PLACE_ROW(f, m, byte, bit, nbits); \
                                                                                     \
		wrong |= neuron_isa_member(insn, &p);                                \
	}
#define PLACE_PUT_IF(f, m, byte, bit, nbits)      \
	if (fields & NEURON_FB(f))                \
		PLACE_PUT(f, m, byte, bit, nbits) \
	else                                      \
		PLACE_ZERO(f, m, byte, bit, nbits)
#define OPERAND_PUT(f)                 \
	if (fields & NEURON_FB(f)) {   \
		f##_PLACES(PLACE_PUT)  \
	} else {                       \
		f##_PLACES(PLACE_ZERO) \
	}
#define PLACE_SET_IF(f, m, byte, bit, nbits)                                                    \
	if ((fields & NEURON_FB(f)) && offsetof(struct neuron_insn, m)) {                       \
		const struct neuron_isa_place p = PLACE_ROW(f, m, byte, bit, nbits);            \
                                                                                                \
		w[p.word] &= ~(neuron_isa_mask(nbits) << p.shift);                              \
		w[p.word] |= (neuron_isa_member(insn, &p) & neuron_isa_mask(nbits)) << p.shift; \
	}
static_assert(!offsetof(struct neuron_insn, opcode), "the one that PLACE_SET_IF leaves out");

void neuron_isa_put_head(const struct neuron_insn *insn, uint64_t fields, void *words)
{
	uint64_t w[NEURON_ISA_U64S / 2];

	FIRST_WORD(WORDS_LOAD)
	HEAD_PLACES(PLACE_SET_IF)
	FIRST_WORD(WORDS_STORE)
}

#define V2_ZERO(X)                   \
	AP_PLACES(X, DST1, dst1, 96) \
	X(IMM, imm, 84, 0, 32)       \
	X(ELEMS, count, 90, 0, 16)   \
	X(TOTAL, total, 92, 0, 16)   \
	PATCH_PLACES(X)
#define UNION offsetof(struct neuron_insn, pattern)
#define WORD_STORE(i) to[i] = w[i];
static_assert(UNION % 8 == 0 && sizeof(struct neuron_insn) % 8 == 0, "the union is words");

bool neuron_isa_put_places(const struct neuron_insn *restrict insn, uint64_t *restrict to)
{
	const uint64_t fields = neuron_isa_ops[insn->opcode].fields;
	uint64_t w[NEURON_ISA_U64S] = { 0 }, wrong = 0;

	if (fields & NEURON_FB_RARE)
		return false;
	HEAD_PLACES(PLACE_PUT_IF)
	OPERAND_PUT(DST)
	OPERAND_PUT(SRC0)
	OPERAND_PUT(SRC1)
	OWN_PLACES(PLACE_PUT_IF)
	V2_ZERO(PLACE_ZERO)
	for (size_t at = UNION + (fields & NEURON_FB(WRITE) ? sizeof(insn->write) : 0);
	     at < sizeof(*insn); at += 8)
		wrong |= neuron_isa_get_le64((const uint8_t *)insn + at);
	FIRST_WORD(WORD_STORE)
	SECOND_WORD(WORD_STORE)
	return !wrong;
}
