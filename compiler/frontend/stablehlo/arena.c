// SPDX-License-Identifier: MIT
/* See arena.h. Blocks come zeroed from calloc, large requests have one of their own. */
#include "arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Small programs are many, and clearing memory takes longer than reading them. */
#define FIRST (16u << 10)
#define BLOCK (256u << 10)
#define ALIGN 16u

struct arena_block {
	struct arena_block *next;
	_Alignas(ALIGN) char data[];
};

static void *new_block(struct arena *a, size_t size)
{
	struct arena_block *b = calloc(1, sizeof(*b) + size);

	if (!b)
		return NULL;
	b->next = a->blocks;
	a->blocks = b;
	return b->data;
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
	void *p;

	if (__builtin_mul_overflow(n, size, &size) || size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (size > FIRST / 4)
		return new_block(a, size);
	if (size > a->left) {
		const size_t n = a->blocks ? BLOCK : FIRST;

		a->at = new_block(a, n);
		a->left = a->at ? n : 0;
		if (!a->at)
			return NULL;
	}
	p = a->at;
	a->at += size;
	a->left -= size;
	return p;
}

char *arena_text(struct arena *a, const char *fmt, ...)
{
	char text[512], *p;
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = strlen(text) + 1;
	p = arena_alloc(a, n, 1);
	if (p)
		memcpy(p, text, n);
	return p;
}

void arena_free(struct arena *a)
{
	for (struct arena_block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	*a = (struct arena){ 0 };
}
