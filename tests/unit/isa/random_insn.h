/* SPDX-License-Identifier: MIT */
/* Random instructions with every field of their opcode set, legal or not, for codec and text tests.
 */
#ifndef ISA_RANDOM_INSN_H
#define ISA_RANDOM_INSN_H

#include "machine.h"

static inline void random_sync(struct neuron_insn *insn, uint64_t *seed)
{
	insn->wait = machine_random(seed) % (NEURON_WAIT_EVT_CLR + 1);
	insn->update = machine_random(seed) % (NEURON_UPD_EVT_CLR + 1);
	if (insn->wait == NEURON_WAIT_NONE)
		insn->wait_index = 0;
	if (insn->wait == NEURON_WAIT_NONE || insn->wait > NEURON_WAIT_SEM_LE)
		insn->wait_value = 0;
	if (insn->update == NEURON_UPD_NONE)
		insn->update_index = insn->trigger = 0;
	if (insn->update < NEURON_UPD_SEM_ADD_IMM || insn->update > NEURON_UPD_SEM_WR_IMM)
		insn->update_value = 0;
}

/* In one instruction of four; what is no patch has neither register nor scale */
static inline void random_patches(struct neuron_insn *insn, uint64_t *seed)
{
	const bool some = machine_random(seed) % 4 == 0;

	for (unsigned int i = 0; i < NEURON_PATCHES; i++) {
		if (!some || machine_random(seed) % 2)
			insn->patch[i] = 0;
		if (!insn->patch[i])
			insn->patch_reg[i] = insn->patch_scale[i] = 0;
	}
}

/*
 * Brings fields of registers into the form that codec and text take: a register or a value, no
 * scale without an index
 */
static inline void random_registers(struct neuron_insn *insn, uint64_t fields)
{
	if (fields & NEURON_FB(RB) && insn->immediate)
		insn->rb = 0;
	else if (fields & NEURON_FB(RB))
		insn->value = 0;
	if (!(fields & NEURON_FB(PLACE)))
		return;
	if (!insn->device)
		insn->address &= 0x3ffffff;
	if (!insn->indexed)
		insn->ra = insn->scale = 0;
}

static inline struct neuron_insn random_fields(uint8_t opcode, uint64_t *seed)
{
	struct neuron_insn insn = { 0 };
	struct neuron_scalar *scalar[2] = { &insn.scalar0, &insn.scalar1 };
	uint64_t fields = neuron_isa_ops[opcode].fields;

	for (unsigned int i = 0; i < neuron_isa_place_count; i++) {
		const struct neuron_isa_place *p = &neuron_isa_places[i];
		uint64_t v = machine_random(seed) ^ machine_random(seed) << 20;

		if (fields >> p->field & 1)
			neuron_isa_member_set(&insn, p, v & neuron_isa_mask(p->bits));
	}
	for (int i = 0; i < 2; i++) {
		if (!(fields & NEURON_FB(SCALAR0) << i))
			continue;
		scalar[i]->bits = machine_random(seed);
		if (scalar[i]->kind == NEURON_SCALAR_PTR) {
			scalar[i]->dtype = machine_random(seed) % 64;
			scalar[i]->offset &= 0x3ffffff;
		}
	}
	insn.opcode = opcode;
	random_sync(&insn, seed);
	random_registers(&insn, fields);
	random_patches(&insn, seed);
	return insn;
}

#endif
