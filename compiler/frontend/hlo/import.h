/* SPDX-License-Identifier: MIT */
/* The HLO front end, for the compiler that drives it: a serialized HloModuleProto -> tensor IR. */
#ifndef NCC_HLO_IMPORT_H
#define NCC_HLO_IMPORT_H

#include "ir/ir.h"

/*
 * Imports a module, which is verified. Of opt it reads target, library, pipeline_cores,
 * narrow_64bit and warn. 0, -EINVAL, -ENOTSUP, -EFBIG or -ENOMEM
 */
int ncc_import_hlo_opt(const void *buf, size_t size, const struct ncc_options *opt,
		       struct ncc_module **m, struct ncc_error *err);

#endif
