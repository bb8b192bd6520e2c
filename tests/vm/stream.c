/* SPDX-License-Identifier: MIT */
/*
 * stream MACHINE DEVICE ROUNDS MIB: copies to the chip, inside of it, and back, round after round,
 * through libndl. Each round has bytes of its own; every byte that comes back is compared, and a
 * line with their sum is printed. The lines are the same wherever and however it runs. ROUNDS 0:
 * until it fails. MACHINE: node, or emu:INSTANCE for a chip in this process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ndlx.h"

#define MIB (1u << 20)

struct stream {
	ndlx_device_t *dev;
	uint64_t a, b; /* in the two DRAM channels */
	uint64_t *in, *out;
	size_t size;
};

static int fail(const char *what, int err)
{
	printf("failed: %s: %s\n", what, strerror(-err));
	return 1;
}

/* xorshift64* from a seed for each round */
static uint64_t fill(struct stream *s, unsigned int round)
{
	uint64_t x = 0x9e3779b97f4a7c15ull * (round + 1), sum = 0;

	for (size_t i = 0; i < s->size / sizeof(*s->in); i++) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		s->in[i] = x * 0x2545f4914f6cdd1dull;
		sum += s->in[i] ^ i;
	}
	return sum;
}

static int copy_round(struct stream *s)
{
	int err = ndlx_memory_buf_copyin(s->dev, s->a, s->in, 0, s->size);

	if (!err)
		err = ndlx_memory_copy(s->dev, s->a, s->b, 0, 0, s->size);
	if (!err)
		err = ndlx_memory_buf_copyout(s->dev, s->b, s->out, 0, s->size);
	return err;
}

static int prepare(struct stream *s, int index)
{
	struct ndlx_mem_params p = { .size = s->size };
	int err = ndlx_open_device(index, NULL, &s->dev);

	if (!err)
		err = ndlx_memory_alloc(s->dev, &p, &s->a);
	p.channel = 1;
	if (!err)
		err = ndlx_memory_alloc(s->dev, &p, &s->b);
	return err;
}

int main(int argc, char **argv)
{
	struct stream s = { 0 };
	unsigned int rounds, round;
	int err;

	if (argc != 5)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	rounds = (unsigned int)atoi(argv[3]);
	s.size = (size_t)atoi(argv[4]) * MIB;
	s.in = aligned_alloc(4096, s.size);
	s.out = aligned_alloc(4096, s.size);
	if (!s.in || !s.out)
		return fail("memory", -ENOMEM);
	err = ndlx_machine_set(argv[1]);
	if (!err)
		err = prepare(&s, atoi(argv[2]));
	if (err)
		return fail("open", err);
	for (round = 0; !rounds || round < rounds; round++) {
		uint64_t sum = fill(&s, round);

		memset(s.out, 0, s.size);
		err = copy_round(&s);
		if (err)
			return fail("copy", err);
		if (memcmp(s.in, s.out, s.size))
			return fail("bytes differ", -EIO);
		printf("round %u %016llx\n", round, (unsigned long long)sum);
	}
	return 0;
}
