/* SPDX-License-Identifier: MIT */
/*
 * Private to the core library: little-endian numbers in bytes of a guest, and registers, of which
 * each is an atomic word.
 */
#ifndef NCORE_BYTES_H
#define NCORE_BYTES_H

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint32_t ncore_reg;

static inline uint32_t ncore_load(const ncore_reg *r)
{
	return atomic_load_explicit((ncore_reg *)r, memory_order_relaxed);
}

static inline void ncore_store(ncore_reg *r, uint32_t v)
{
	atomic_store_explicit(r, v, memory_order_relaxed);
}

static inline uint32_t ncore_get32(const void *p)
{
	const uint8_t *b = p;

	return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t ncore_get64(const void *p)
{
	return ncore_get32(p) | (uint64_t)ncore_get32((const uint8_t *)p + 4) << 32;
}

static inline void ncore_put32(void *p, uint32_t v)
{
	uint8_t *b = p;

	b[0] = (uint8_t)v;
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)(v >> 16);
	b[3] = (uint8_t)(v >> 24);
}

static inline void ncore_put64(void *p, uint64_t v)
{
	ncore_put32(p, (uint32_t)v);
	ncore_put32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

#endif
