/* SPDX-License-Identifier: MIT */
/*
 * A scalar reference of the instruction set for tests: one element at a time, written from
 * docs/isa.md. It shares nothing with the device core except the decoded form of instructions.
 */
#ifndef ISA_REF_H
#define ISA_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "neuron/isa/check.h"
#include "neuron/isa/isa.h"
#include "ref_round.h"

struct ref_core {
	uint8_t *sbuf, *psum; /* partitions back to back */
	uint32_t sbuf_part_size, psum_part_size;
	float weights[256][128]; /* [k][fs] */
	uint8_t version; /* of the NeuronCore; 0 as 1 */
	unsigned int k, fs;
	bool doubled; /* two rows a partition */
	uint8_t dtype; /* of the weights */
	float acc[128];
	struct ref_draws draws; /* of the engine that executes */
	bool inexact; /* the last instruction's results may be 1 ulp off: a function */
};

float ref_to_f32(uint8_t dtype, uint32_t raw);
uint32_t ref_from_f32(uint8_t dtype, float x);
unsigned int ref_size(uint8_t dtype);
float ref_func(uint8_t func, float alpha, float x, bool *inexact);
struct neuron_isa_weights ref_weights(const struct ref_core *core);
void ref_exec(struct ref_core *core, const struct neuron_insn *insn, bool on_act);

#endif
