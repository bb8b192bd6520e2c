/* SPDX-License-Identifier: MIT */
/*
 * The StableHLO front end, for the compiler that drives it: a portable artifact (MLIR bytecode of
 * VHLO), one in jax.export's envelope, or text, becomes a module of HLO, which hlo/ imports.
 */
#ifndef NCC_STABLEHLO_H
#define NCC_STABLEHLO_H

#include "frontend/hlo/file.h"

/* Is it StableHLO, by its first bytes or what its envelope says? */
bool stablehlo_is(const void *buf, size_t size);
/*
 * As hlo_read: buf is kept for as long as the file. 0, -EINVAL, -ENOTSUP, -EFBIG or -ENOMEM. What
 * hlo.proto cannot say of it is in f->partly, for who wants the module itself
 */
int stablehlo_read(const void *buf, size_t size, struct hlo_file *f, struct ncc_error *err);

#endif
