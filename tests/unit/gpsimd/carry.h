/* SPDX-License-Identifier: MIT */
/*
 * How words leave a program that is an operator, or with -DLINUX one for Linux; random numbers; and
 * where it begins. Header-only; for insns.c and vectors.c.
 */
#ifndef CARRY_H
#define CARRY_H

#include <stdint.h>

static uint32_t out[256];
static uint32_t filled;
static uint64_t seed = 0x123456789abcdefull;

#ifdef LINUX
static long call(long number, long a, long b, long c)
{
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a7 __asm__("a7") = number;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
	return a0;
}
static void flush(void)
{
	call(64, 1, (long)out, filled * 4);
	filled = 0;
}
#else
#include <neuron/custom_op.h>
static uint32_t written;
static void flush(void)
{
	neuron_write(0, written, filled, out);
	written += filled;
	filled = 0;
}
#endif

static void emit(uint32_t v)
{
	out[filled++] = v;
	if (filled == 256)
		flush();
}

static uint32_t random32(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16);
}

/* all() is what is executed */
#ifdef LINUX
#define ENTRY(name)                \
	void _start(void);         \
	void _start(void)          \
	{                          \
		all();             \
		call(93, 0, 0, 0); \
	}
#else
#define ENTRY(name)            \
	NEURON_CUSTOM_OP(name) \
	{                      \
		all();         \
	}
#endif

#endif
