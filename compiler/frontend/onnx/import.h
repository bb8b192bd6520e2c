/* SPDX-License-Identifier: MIT */
/* The ONNX front end, for the compiler that drives it: ModelProto -> tensor IR */
#ifndef NCC_ONNX_IMPORT_H
#define NCC_ONNX_IMPORT_H

#include "ir/ir.h"

/*
 * Imports a module, which is verified. Of opt it reads input, narrow_64bit and warn. 0, -EINVAL,
 * -ENOTSUP, -EFBIG or -ENOMEM
 */
int ncc_import_onnx(const void *buf, size_t size, const struct ncc_options *opt,
		    struct ncc_module **m, struct ncc_error *err);

#endif
