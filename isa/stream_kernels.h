/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Private to isa/: what decompressing spends its time on, as the host's processor can. Every set
 * gives the same bytes; they read and write nothing beyond what is said.
 */
#ifndef NEURON_STREAM_KERNELS_H
#define NEURON_STREAM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

struct stream_kernels {
	const char *name;
	bool (*usable)(void);
	/* n elements of width bytes (2 or 4) from planes, turned right by a bit */
	void (*join)(const uint8_t *const *plane, uint32_t n, unsigned int width, uint8_t *out);
	/* n elements of a table of 16, by indices of 1, 2 or 4 bits, a byte's lowest first */
	void (*pick)(const uint8_t *in, uint32_t n, unsigned int bits, const uint8_t *table,
		     unsigned int width, uint8_t *out);
	/* Sixteen sums of XXH32's over stripes of 64 bytes */
	void (*sums)(const uint8_t *in, uint32_t stripes, uint32_t *sum);
};

/* The best first; the last works everywhere */
#define STREAM_KERNELS 3
extern const struct stream_kernels *const stream_kernels[STREAM_KERNELS];

#define XXH_P1 2654435761u
#define XXH_P2 2246822519u

#endif
