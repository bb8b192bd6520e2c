/* SPDX-License-Identifier: MIT */
/* Compiled programs on disk (cache.c) */
#ifndef NPJ_CACHE_H
#define NPJ_CACHE_H

#include "executable.h"

/* The NEFF of a program that was compiled before; false: there is none */
bool npj_cache_read(const PJRT_Executable *x, struct npj_blob *neff);
/* Keeps one whose compilation took so long, if that is worth it. What fails is passed over. */
void npj_cache_write(const PJRT_Executable *x, int64_t took_ms);
/* Takes one away: it cannot be used */
void npj_cache_drop(const PJRT_Executable *x);

#endif
