/* SPDX-License-Identifier: MIT */
/* Memory of which nothing is freed before all of it is. Private to the StableHLO front end. */
#ifndef NCC_STABLEHLO_ARENA_H
#define NCC_STABLEHLO_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena {
	struct arena_block *blocks;
	char *at;
	size_t left;
};

/* Zeroed; NULL: out of memory, or n * size overflows. arena_free frees all of it. */
void *arena_alloc(struct arena *a, size_t n, size_t size);
char *arena_text(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a);

#endif
