/* SPDX-License-Identifier: MIT */
/* Inside the scalar reference: operands, and what ref_pe.c executes */
#ifndef ISA_REF_PE_H
#define ISA_REF_PE_H

#include "ref.h"

uint32_t ref_count(const struct neuron_ap *ap);
uint32_t ref_raw(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i);
float ref_load(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i);
void ref_put(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i,
	     uint32_t raw);

/* ref.c: the operand of LDWEIGHTS; a product with it */
void ref_stationary(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128]);
void ref_matmul(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128], unsigned int k,
		unsigned int fs, bool identity);

void ref_load_tile(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128]);
void ref_matmul_tile(struct ref_core *c, const struct neuron_insn *insn, float (*w)[128]);
bool ref_tile_loaded(const struct ref_core *c, uint8_t tile);
void ref_pe_forms(struct ref_core *c, const struct neuron_insn *insn);
void ref_transpose_bits(struct ref_core *c, const struct neuron_insn *insn);

#endif
