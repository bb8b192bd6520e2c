/* SPDX-License-Identifier: MIT */
/*
 * A fuzz target is one file with LLVMFuzzerTestOneInput. The same source is built for libFuzzer,
 * for AFL++, and with replay.c as a test that runs the kept corpus. This header has the cursor over
 * the input, and the report of a property that does not hold. After its end an input reads as
 * zeros, so every input is complete.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_in {
	const uint8_t *p, *end;
};

#define fuzz_assert(what)                                                                         \
	do {                                                                                      \
		if (!(what)) {                                                                    \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what); \
			abort();                                                                  \
		}                                                                                 \
	} while (0)

static inline bool fuzz_end(const struct fuzz_in *in)
{
	return in->p == in->end;
}

static inline uint64_t fuzz_num(struct fuzz_in *in, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes && in->p < in->end; i++)
		v |= (uint64_t)*in->p++ << 8 * i;
	return v;
}

static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	return (uint8_t)fuzz_num(in, 1);
}

static inline uint16_t fuzz_u16(struct fuzz_in *in)
{
	return (uint16_t)fuzz_num(in, 2);
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
	return (uint32_t)fuzz_num(in, 4);
}

static inline uint64_t fuzz_u64(struct fuzz_in *in)
{
	return fuzz_num(in, 8);
}

/* Takes up to max bytes of what is left; returns where they are, and in *n how many. */
static inline const uint8_t *fuzz_bytes(struct fuzz_in *in, size_t max, size_t *n)
{
	const uint8_t *p = in->p;

	*n = (size_t)(in->end - in->p);
	if (*n > max)
		*n = max;
	in->p += *n;
	return p;
}

#define fuzz_pick(in, table) ((table)[fuzz_u8(in) % (sizeof(table) / sizeof((table)[0]))])

#endif
