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
	/*
	 * Weights of parts of the array in their places, and of each 32 x 32 of it which part it
	 * is of (its code; 0: none), and what the part has
	 */
	float part[128][128];
	struct {
		uint8_t tile, k, fs, dtype;
	} cell[4][4];
	uint8_t dtype; /* of the weights */
	float acc[128];
	struct ref_draws draws; /* of the engine that executes */
	/* those of NeuronCore-v2 and v3: each lane has its own */
	float vector_acc[128];
	uint32_t xorshift[128], xorwow[128][6];
	bool inexact; /* the last instruction's results may be 1 ulp off: a function */
};

float ref_to_f32(uint8_t dtype, uint32_t raw);
uint32_t ref_from_f32(uint8_t dtype, float x);
unsigned int ref_size(uint8_t dtype);
float ref_func(uint8_t func, float alpha, float x, bool *inexact);
struct neuron_isa_weights ref_weights(const struct ref_core *core);
void ref_exec(struct ref_core *core, const struct neuron_insn *insn, bool on_act);

/* ref_v2.c: instructions after NeuronCore-v1, and what GpSimd does of older ones */
void ref_v2_reset(struct ref_core *core);
void ref_v2(struct ref_core *core, const struct neuron_insn *insn, bool on_gpsimd);

/* what references of other instructions are made of: elements by their number in a pattern */
uint32_t ref_count(const struct neuron_ap *ap);
uint32_t ref_raw(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i);
float ref_load(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i);
void ref_put(struct ref_core *c, const struct neuron_ap *ap, unsigned int p, uint32_t i,
	     uint32_t raw);
float ref_scalar(struct ref_core *c, const struct neuron_scalar *s, unsigned int p);
float ref_alu(uint8_t op, float a, float b, bool *inexact);
uint32_t ref_bitvec(uint8_t op, uint32_t a, uint32_t b, unsigned int bits);
void ref_flush(struct ref_core *c, const struct neuron_ap *dst, unsigned int partitions,
	       const uint32_t *out);

#endif
