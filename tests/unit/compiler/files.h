/* SPDX-License-Identifier: MIT */
/* Shared by the compiler's tests: files under tests/data, and compiling them */
#ifndef TEST_NCC_FILES_H
#define TEST_NCC_FILES_H

#include "neff.h"
#include "frontend/hlo/import.h"
#include "frontend/onnx/import.h"
#include "passes/passes.h"

void *read_data(const char *path, size_t *size); /* under tests/data; free() it */
extern unsigned int compile_level; /* -O */
extern const struct neuron_target *compile_target; /* NULL: inf1 */
extern unsigned int compile_lnc; /* 2: for both cores of a logical one, whatever is worth it */
extern int64_t compile_most_rows; /* that indices choose at once; 0: any number */

/* Compiles the module to a NEFF in memory, with uuid zero; fails the test when that fails. */
void *compile(const void *hlo, size_t size, enum ncc_cast cast, size_t *neff_size);
/* Compiling it has to be refused, in one line that says text. */
void compile_refused(const void *model, size_t size, const struct ncc_options *opt,
		     const char *text);
/* compile(), read back by libneff; the caller frees it with neff_free(). */
struct neff_model *compile_model(const char *path);

#endif
