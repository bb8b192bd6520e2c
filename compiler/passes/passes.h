/* SPDX-License-Identifier: MIT */
/* The passes over the tensor IR, for the compiler that drives them. */
#ifndef NCC_PASSES_H
#define NCC_PASSES_H

#include "ir/ir.h"

/* Runs all passes in order; the module is verified after each. 0 or -errno */
int ncc_run_passes(struct ncc_module *m, const struct ncc_options *opt, struct ncc_error *err);

/*
 * float8.c: makes bf16 of the 8-bit floats that the target has not, before all passes and before
 * loops are cut. 0 or -errno
 */
int ncc_widen_float8(struct ncc_module *m, const struct ncc_options *opt, struct ncc_error *err);

/* --dump-ir-after: prints the module if it is asked for after that pass. */
void ncc_dump_ir(const struct ncc_module *m, const struct ncc_options *opt, const char *pass);

#endif
