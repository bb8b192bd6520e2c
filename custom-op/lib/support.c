/* SPDX-License-Identifier: MIT */
/*
 * What operators are linked with: text through the calls, a line at a time, and the memory of
 * tensors. Compiled with every operator (neuron-custom-op).
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

static char line[128];
static unsigned int used;

static void flush(void)
{
	if (used)
		neuron_call(NEURON_GPS_PRINT, (uint32_t)(uintptr_t)line, used, 0, 0);
	used = 0;
}

static int put(char c, FILE *file)
{
	(void)file;
	line[used++] = c;
	if (c == '\n' || used == sizeof(line))
		flush();
	return (unsigned char)c;
}

static FILE out = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &out;
FILE *const stderr = &out;

int neuron_printf(const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vfprintf(stdout, format, ap);
	va_end(ap);
	return n;
}

void neuron_fail(const char *format, ...)
{
	char text[160];
	va_list ap;
	int n;

	flush();
	va_start(ap, format);
	n = vsnprintf(text, sizeof(text) - 1, format, ap);
	va_end(ap);
	n = n < 0 ? 0 : n > (int)sizeof(text) - 2 ? (int)sizeof(text) - 2 : n;
	text[n++] = '\n';
	neuron_call(NEURON_GPS_FAIL, (uint32_t)(uintptr_t)text, (uint32_t)n,
		    (uint32_t)(uintptr_t)__builtin_return_address(0) - 4, 0);
	__builtin_trap();
}

void neuron_end(void)
{
	flush();
	neuron_call(NEURON_GPS_EXIT, 0, 0, 0, 0);
}

void abort(void)
{
	neuron_fail("abort()");
}

/* assert()'s */
void __assert_func(const char *file, int row, const char *function, const char *what)
{
	(void)function;
	neuron_fail("%s:%d: assertion failed: %s", file, row, what);
}

void exit(int status)
{
	if (status)
		neuron_fail("exit(%d)", status);
	neuron_end();
	__builtin_trap();
}

/* The heap and the pool are made alike: blocks side by side, each with its size; a request joins
 * free ones */
struct block {
	uint32_t bytes; /* with this head */
	uint32_t taken;
};

extern char __heap_start[], __heap_end[], __pool_start[], __pool_end[];

static struct block *next(struct block *b)
{
	return (struct block *)((char *)b + b->bytes);
}

/* TCM is zero at the start: a block of no bytes is a heap that nobody has asked yet */
static void *take(char *from, char *to, size_t bytes)
{
	struct block *b = (struct block *)from, *end = (struct block *)to;

	if (bytes > NEURON_GPS_TCM || to - from < (long)sizeof(*b))
		return NULL;
	bytes = (bytes + sizeof(*b) + 15) & ~(size_t)15;
	if (!b->bytes)
		b->bytes = (uint32_t)(to - from);
	for (; b < end; b = next(b)) {
		while (!b->taken && next(b) < end && !next(b)->taken)
			b->bytes += next(b)->bytes;
		if (b->taken || b->bytes < bytes)
			continue;
		if (b->bytes - bytes >= 2 * sizeof(*b)) {
			struct block *rest = (struct block *)((char *)b + bytes);

			rest->bytes = b->bytes - (uint32_t)bytes;
			rest->taken = 0;
			b->bytes = (uint32_t)bytes;
		}
		b->taken = 1;
		return b + 1;
	}
	return NULL;
}

static void give(void *p)
{
	if (p)
		((struct block *)p - 1)->taken = 0;
}

void *neuron_tcm_malloc(size_t bytes)
{
	return take(__pool_start, __pool_end, bytes);
}

void neuron_tcm_free(void *p)
{
	give(p);
}

void *malloc(size_t bytes)
{
	return take(__heap_start, __heap_end, bytes);
}

void free(void *p)
{
	give(p);
}
