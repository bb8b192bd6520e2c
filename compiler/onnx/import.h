/* SPDX-License-Identifier: MIT */
/* The ONNX front end, for the compiler that drives it: a ModelProto -> tensor IR. */
#ifndef NCC_ONNX_IMPORT_H
#define NCC_ONNX_IMPORT_H

#include "ir/ir.h"

/* The module is verified. 0, -EINVAL, -ENOTSUP, -EFBIG, -ENOMEM; of opt: input, narrow_64bit, warn */
int ncc_import_onnx(const void *buf, size_t size, const struct ncc_options *opt,
		    struct ncc_module **m, struct ncc_error *err);

#endif
