/* SPDX-License-Identifier: MIT */
/* The passes over the tensor IR, for the compiler that drives them. */
#ifndef NCC_PASSES_H
#define NCC_PASSES_H

#include "ir/ir.h"

/* All of them, in order; the module is verified after each. 0 or -errno */
int ncc_run_passes(struct ncc_module *m, const struct ncc_options *opt, struct ncc_error *err);

/* --dump-ir-after: the module, if it was asked for after that pass */
void ncc_dump_ir(const struct ncc_module *m, const struct ncc_options *opt, const char *pass);

#endif
