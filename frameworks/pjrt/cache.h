/* SPDX-License-Identifier: MIT */
/* Compiled programs on disk (cache.c) */
#ifndef NPJ_CACHE_H
#define NPJ_CACHE_H

#include "executable.h"

/* The NEFF of a program that was compiled before; false: there is none */
bool npj_cache_read(const PJRT_Executable *x, struct npj_blob *neff);
/* Would one whose compilation took so long be kept? */
bool npj_cache_wants(const PJRT_Executable *x, int64_t took_ms);
/* Keeps one, if it would be. What fails is passed over. */
void npj_cache_write(const PJRT_Executable *x, int64_t took_ms);
/* Takes one away: it cannot be used */
void npj_cache_drop(const PJRT_Executable *x);

#endif
