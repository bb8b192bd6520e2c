/* SPDX-License-Identifier: MIT */
/* The products of quads of int8 that processors have: for exec_kernels_*.c. */
#ifndef NCORE_EXEC_QUADS_H
#define NCORE_EXEC_QUADS_H

#include "exec.h"

extern const struct exec_quads exec_quads_avx512;
bool exec_quads_avx512_usable(void);

#endif
