/* SPDX-License-Identifier: MIT */
/* Private to libneff: does a program leave its core at rest? (neff_rest.c) */
#ifndef NEFF_REST_H
#define NEFF_REST_H

#include "neff.h"
#include "neuron/hw/ext.h"
#include "neuron/isa/isa.h"

struct neff_rest;

/*
 * For a subgraph whose variables, queue sets and DMAs have been checked. Returns NULL if memory is
 * out.
 */
/* raised: how often barriers of the logical core's other core raise each semaphore */
struct neff_rest *neff_rest_new(const struct neff_subgraph *sg, const struct neuron_target *target,
				const uint32_t *raised);
void neff_rest_free(struct neff_rest *rest);
/*
 * Takes each instruction of each engine in order, after its own check; offset is in bytes. Returns
 * 0 or -ENOMEM.
 */
int neff_rest_insn(struct neff_rest *rest, unsigned int eng, const struct neuron_insn *insn,
		   size_t offset);
/* After all instructions: returns 0, or -EINVAL with a text that says what is left undone. */
int neff_rest_check(struct neff_rest *rest, struct neff_error *err);

#endif
