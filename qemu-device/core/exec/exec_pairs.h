/* SPDX-License-Identifier: MIT */
/* The products of pairs of bf16 that processors have: for exec_kernels_*.c. */
#ifndef NCORE_EXEC_PAIRS_H
#define NCORE_EXEC_PAIRS_H

#include "exec.h"

extern const struct exec_pairs exec_pairs_avx512;
bool exec_pairs_avx512_usable(void);
/* Is it quicker than what it stands for? Measured, in some 100 microseconds */
bool exec_pairs_avx512_quicker(void);

#endif
