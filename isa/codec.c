// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* Words to struct neuron_insn and back, driven by the table. */
#include "neuron/isa/codec.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Index and value stand only beside a condition that uses them */
static bool sync_canonical(const struct neuron_insn *insn)
{
	bool wait_value = insn->wait >= NEURON_WAIT_SEM_EQ && insn->wait <= NEURON_WAIT_SEM_LE;
	bool update_value =
		insn->update >= NEURON_UPD_SEM_ADD_IMM && insn->update <= NEURON_UPD_SEM_WR_IMM;

	if (insn->wait > NEURON_WAIT_EVT_CLR || insn->update > NEURON_UPD_EVT_CLR)
		return false;
	if ((insn->wait == NEURON_WAIT_NONE && insn->wait_index) ||
	    (!wait_value && insn->wait_value))
		return false;
	return !((insn->update == NEURON_UPD_NONE && (insn->update_index || insn->trigger)) ||
		 (!update_value && insn->update_value));
}

/* A missing operand has neither a register nor a scale */
static bool patches_canonical(const struct neuron_insn *insn)
{
	for (unsigned int i = 0; i < NEURON_PATCHES; i++)
		if (!insn->patch[i] && (insn->patch_reg[i] || insn->patch_scale[i]))
			return false;
	return true;
}

/* An operand is a register or a value, a place has an index or not; the other is 0 */
static bool registers_canonical(const struct neuron_insn *insn, uint64_t fields)
{
	if ((fields & NEURON_FB(RB)) && (insn->immediate ? insn->rb : insn->value))
		return false;
	if (!(fields & NEURON_FB(PLACE)))
		return true;
	return (insn->device || !(insn->address >> 26)) &&
	       (insn->indexed || !(insn->ra || insn->scale));
}

static int scalar_put(const struct neuron_scalar *s, uint32_t *v)
{
	*v = s->bits;
	if (s->kind == NEURON_SCALAR_IMM)
		return s->dtype ? -EINVAL : 0;
	if (s->kind != NEURON_SCALAR_PTR || s->dtype > 63 || s->offset >> 26)
		return -EINVAL;
	*v |= (uint32_t)s->dtype << 26;
	return 0;
}

static bool scalar_unset(const struct neuron_scalar *s)
{
	return !s->kind && !s->dtype && !s->bits;
}

/* Does a field of the opcode lie in the same bytes of the structure? */
static bool shared(const struct neuron_isa_op *op, const struct neuron_isa_place *p)
{
	for (unsigned int i = 0; i < neuron_isa_place_count; i++) {
		const struct neuron_isa_place *q = &neuron_isa_places[i];

		if ((op->fields >> q->field & 1) && q->member < p->member + p->size &&
		    p->member < q->member + q->size)
			return true;
	}
	return false;
}

/* put() by the list of places; false: a member has too many bits, or is none of the opcode's. */
static bool put_listed(const struct neuron_insn *insn, const struct neuron_isa_op *op, uint64_t *w)
{
	memset(w, 0, NEURON_ISA_U64S * sizeof(*w));
	for (unsigned int i = 0; i < neuron_isa_place_count; i++) {
		const struct neuron_isa_place *p = &neuron_isa_places[i];
		uint64_t v = neuron_isa_member(insn, p);

		if (op->fields >> p->field & 1) {
			if (v & ~neuron_isa_mask(p->bits))
				return false;
			w[p->word] |= v << p->shift;
		} else if (v && !shared(op, p)) {
			return false;
		}
	}
	return true;
}

int neuron_isa_encode(const struct neuron_insn *insn, void *words)
{
	const struct neuron_isa_op *op = &neuron_isa_ops[insn->opcode];
	const struct neuron_scalar *scalar[2] = { &insn->scalar0, &insn->scalar1 };
	uint64_t w[NEURON_ISA_U64S] = { 0 };
	const int n = neuron_isa_patched(insn) ? 2 : op->words;

	if (!op->name || !sync_canonical(insn) || !registers_canonical(insn, op->fields) ||
	    !patches_canonical(insn))
		return -EINVAL;
	if (!neuron_isa_put_places(insn, w) && !put_listed(insn, op, w))
		return -EINVAL;
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t v;

		if (!(op->fields & (NEURON_FB(SCALAR0) << i))) {
			if (!scalar_unset(scalar[i]))
				return -EINVAL;
			continue;
		}
		if (scalar_put(scalar[i], &v))
			return -EINVAL;
		w[NEURON_ISA_SCALAR_BYTE(0) / 8] |= (uint64_t)v << (32 * i);
	}
	if (n == 2)
		w[0] |= 1ull << NEURON_ISA_EXT_BIT;
	for (int i = 0; i < n * NEURON_INSN_WORD / 8; i++)
		neuron_isa_put_le64((uint8_t *)words + 8 * i, w[i]);
	return n;
}

/* Clears in pieces: GCC makes a string instruction of more, which takes as long as the rest of
 * decoding */
static void clear(struct neuron_insn *insn)
{
	uint8_t *at = (uint8_t *)insn;

	static_assert(sizeof(*insn) > 256 && sizeof(*insn) <= 320, "five pieces");
	memset(at, 0, 64);
	memset(at + 64, 0, 64);
	memset(at + 128, 0, 64);
	memset(at + 192, 0, 64);
	memset(at + 256, 0, sizeof(*insn) - 256);
}

static void scalar_take(struct neuron_scalar *s)
{
	if (s->kind != NEURON_SCALAR_PTR)
		return;
	s->dtype = s->bits >> 26;
	s->offset &= 0x3ffffff;
}

int neuron_isa_decode_for(const void *words, size_t navail, unsigned int core,
			  struct neuron_insn *insn)
{
	const struct neuron_isa_op *op;
	uint64_t first, left;
	unsigned int n;

	clear(insn);
	if (!navail)
		return -EAGAIN;
	first = neuron_isa_get_le64(words);
	op = &neuron_isa_ops[first & 0xff];
	n = 1 + (first >> NEURON_ISA_EXT_BIT & 1);
	if (!op->name || op->since > core || n < op->words ||
	    (n > op->words && (core < 2 || !(op->fields & NEURON_FB(PATCH)))))
		return -EINVAL;
	if (navail < n)
		return -EAGAIN;
	left = neuron_isa_take_places(insn, words);
	scalar_take(&insn->scalar0);
	scalar_take(&insn->scalar1);
	if (left || !sync_canonical(insn) || !registers_canonical(insn, op->fields))
		return -EINVAL;
	if (n == 2 && (!patches_canonical(insn) || (core < 2 && neuron_isa_patched(insn))))
		return -EINVAL;
	return n > op->words && !neuron_isa_patched(insn) ? -EINVAL : (int)n;
}

int neuron_isa_decode(const void *words, size_t navail, struct neuron_insn *insn)
{
	return neuron_isa_decode_for(words, navail, UINT32_MAX, insn);
}
