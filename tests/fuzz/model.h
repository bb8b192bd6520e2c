/* SPDX-License-Identifier: MIT */
/*
 * The compiler, for its targets: any bytes as a model, through the import, the passes, code
 * generation, the scheduler and its checker. A model that is refused gets a reason; a compiled
 * model has the same bytes every time, and libneff accepts it. Large tensors are refused before
 * code is generated, to keep the fuzzer fast; unit tests check their limits.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include "fuzz.h"
#include "read.h"
#include "frontend/onnx/import.h"

void fuzz_model(const uint8_t *data, size_t size, const struct ncc_options *opt);

#endif
