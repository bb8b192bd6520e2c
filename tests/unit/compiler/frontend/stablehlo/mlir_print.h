/* SPDX-License-Identifier: MIT */
/* A program of StableHLO as lines, in which two spellings of the same program are equal. */
#ifndef TEST_MLIR_PRINT_H
#define TEST_MLIR_PRINT_H

#include "frontend/stablehlo/mlir.h"

/* places: with those where operations were written. The caller frees it. */
char *mlir_printed(const struct mlir *m, bool places);

#endif
