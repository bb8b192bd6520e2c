/* SPDX-License-Identifier: MIT */
/* The runtime's begin and end (process.c) */
#ifndef NPJ_PROCESS_H
#define NPJ_PROCESS_H

#include "pjrt.h"

/* Each begin that succeeds has an end; the runtime is there between the first and the last. */
PJRT_Error *npj_runtime_begin(void);
void npj_runtime_end(void);

#endif
