/* SPDX-License-Identifier: MIT */
/* What ncc_compile() does, step by step: front ends give tensor IR, passes rewrite it. */
#ifndef NCC_STEPS_H
#define NCC_STEPS_H

#include "ir.h"
#include "ncc.h"

/* HLO module -> tensor IR, verified. 0, -EINVAL, -ENOTSUP, -EFBIG, -ENOMEM */
int ncc_import_hlo(const void *buf, size_t size, struct ncc_module **m, struct ncc_error *err);
int ncc_import_hlo_opt(const void *buf, size_t size, const struct ncc_options *opt,
		       struct ncc_module **m, struct ncc_error *err);

/* ONNX model -> the same. Of opt: input, narrow_64bit */
int ncc_import_onnx(const void *buf, size_t size, const struct ncc_options *opt,
		    struct ncc_module **m, struct ncc_error *err);

/* The IR's text form (ir_text.h) -> the same */
int ncc_import_ir(const void *buf, size_t size, struct ncc_module **m, struct ncc_error *err);

/* --dump-ir-after: the module, if it was asked for after that pass */
void ncc_dump_ir(const struct ncc_module *m, const struct ncc_options *opt, const char *pass);

/* The passes over the tensor IR, in order; the module is verified after each */
int ncc_run_passes(struct ncc_module *m, const struct ncc_options *opt, struct ncc_error *err);

#endif
