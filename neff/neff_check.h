/* SPDX-License-Identifier: MIT */
/* Inside the checks of a model: what is checked, and those of its transfers */
#ifndef NEFF_CHECK_H
#define NEFF_CHECK_H

#include "neff_priv.h"
#include "neff_rest.h"

struct ctx {
	const struct neff_model *model;
	const struct neff_subgraph *sg;
	const struct neuron_target *target;
	const struct neff_library *library;
	/* of a program with loops, or of a logical core's: another one may have the outputs */
	bool part, logical;
	const struct neff_limits *limits; /* of who reads, or NULL */
	struct neff_error *err;
	struct neff_rest *rest;
	bool jumps; /* some engine's program does */
	uint64_t runs, most_runs;
};

/* neff_transfers.c: an engine's DMA; 0 or -errno with the error */
int neff_dma_check(struct ctx *c, unsigned int eng, unsigned int i);
/*
 * Rows that are gathered or scattered arrive later than copies that follow in the same queue set,
 * so they have queue sets of their own.
 */
int neff_gathers_check(struct ctx *c, unsigned int eng);

#endif
