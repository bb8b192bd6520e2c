/* SPDX-License-Identifier: MIT */
/* Cutting a module into the stages of a pipeline of cores. */
#ifndef NCC_PIPELINE_H
#define NCC_PIPELINE_H

#include "ir/ir.h"

#define NCC_MAX_STAGES 16

/*
 * Cuts m into at most want stages (fewer if there is not enough to do), each a module of its own
 * that borrows m's constants. What passes from one to the next is an output of the one and a
 * parameter of the other, of one number between stages. 0 or -ENOMEM; the caller frees *nstages
 * modules in either case.
 */
int ncc_split(struct ncc_module *m, unsigned int want, struct ncc_module **stage,
	      unsigned int *nstages, struct ncc_error *err);

#endif
