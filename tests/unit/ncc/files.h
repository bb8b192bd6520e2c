/* SPDX-License-Identifier: MIT */
/* What the compiler's tests share: files under tests/data, and compiling them. */
#ifndef TEST_NCC_FILES_H
#define TEST_NCC_FILES_H

#include "neff.h"
#include "hlo/import.h"
#include "onnx/import.h"
#include "passes/passes.h"

void *read_data(const char *path, size_t *size); /* under tests/data; free() it */
extern unsigned int compile_level; /* -O */

/* The module to a NEFF in memory, uuid zero; aborts the test when that fails */
void *compile(const void *hlo, size_t size, enum ncc_cast cast, size_t *neff_size);
/* and read back by libneff; neff_free() it */
struct neff_model *compile_model(const char *path);

#endif
