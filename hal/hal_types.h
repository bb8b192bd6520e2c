/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Private to the hal: integer types, errno and accessors in the kernel and in user space. */
#ifndef NEURON_HAL_TYPES_H
#define NEURON_HAL_TYPES_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
/* pairs with the chip writing a completion or a response after its data */
#define nhal_load_acquire(p) smp_load_acquire(p)
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#define nhal_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#endif

static inline void nhal_put16(void *p, uint16_t v)
{
	uint8_t *b = p;

	b[0] = v & 0xff;
	b[1] = v >> 8;
}

static inline void nhal_put32(void *p, uint32_t v)
{
	uint8_t *b = p;

	nhal_put16(b, v & 0xffff);
	nhal_put16(b + 2, v >> 16);
}

static inline void nhal_put64(void *p, uint64_t v)
{
	uint8_t *b = p;

	nhal_put32(b, v & 0xffffffff);
	nhal_put32(b + 4, v >> 32);
}

static inline uint32_t nhal_get32(const void *p)
{
	const uint8_t *b = p;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t nhal_get64(const void *p)
{
	const uint8_t *b = p;

	return nhal_get32(b) | (uint64_t)nhal_get32(b + 4) << 32;
}

#endif
