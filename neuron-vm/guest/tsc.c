/* SPDX-License-Identifier: MIT */
/*
 * neuron-vm-tsc: prints how many thousand times a second the time stamp counter counts here. An
 * emulated guest reads that counter, and on a host that is busy it measures it wrong. Run on the
 * host, by neuron-vm.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

#define TRIES 64
#define APART_NS 30000000

struct pair {
	uint64_t tsc, ns;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Reads both clocks at once: of many tries the one with the least time between the two */
static struct pair both(void)
{
	uint64_t best = UINT64_MAX;
	struct pair p = { 0 };

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __rdtsc(), ns = now(), after = __rdtsc();

		if (after - before < best) {
			best = after - before;
			p = (struct pair){ .tsc = before + best / 2, .ns = ns };
		}
	}
	return p;
}

int main(void)
{
	const struct timespec apart = { .tv_nsec = APART_NS };
	struct pair a = both(), b;

	nanosleep(&apart, NULL);
	b = both();
	printf("%" PRIu64 "\n", (b.tsc - a.tsc) * 1000000 / (b.ns - a.ns));
	return 0;
}
