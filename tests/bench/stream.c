// SPDX-License-Identifier: MIT
/*
 * What DMA engines do with compressed streams (docs/hardware.md), on one thread of the host: of
 * normally distributed weights of each width the size of their streams, and how fast they are made
 * and decompressed, beside memcpy of the same blocks. Then elements of which there are few, as they
 * are and from streams without codes, from memory into 4 MiB that stand for SBUF: what the
 * compiler's estimates of the host's time are from (compiler/machine/compress.c). Prints lines
 * "name number": bytes a second, or a ratio.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "neuron/isa/compress.h"

#define RUNS 3
#define BLOCK NEURON_STREAM_RAW_MAX
#define BLOCKS 512
#define CAPACITY (BLOCK + NEURON_STREAM_OVERHEAD)
#define PLACES 64 /* blocks of what stands for SBUF */

static struct {
	uint8_t raw[BLOCKS][BLOCK], back[BLOCKS][BLOCK], stream[BLOCKS][CAPACITY];
	uint32_t size[BLOCKS];
	struct neuron_stream_work work;
} * b;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In (0, 1), by a linear congruence */
static double next(void)
{
	static uint64_t x = 1;

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return ((double)(x >> 40) + 0.5) * 0x1p-24;
}

/* The highest bytes of fp32: 2 of them are bf16 */
static void fill(unsigned int width)
{
	for (size_t i = 0; i < (size_t)BLOCKS * BLOCK; i += width) {
		float x = (float)(0.02 * sqrt(-2 * log(next())) * cos(2 * M_PI * next()));

		memcpy(&b->raw[0][0] + i, (uint8_t *)&x + 4 - width, width);
	}
}

static int copy(unsigned int width)
{
	(void)width;
	for (unsigned int i = 0; i < BLOCKS; i++)
		memcpy(b->back[i], b->raw[i], BLOCK);
	return 0;
}

static int compress(unsigned int width)
{
	for (unsigned int i = 0; i < BLOCKS; i++)
		b->size[i] = neuron_compress(b->raw[i], BLOCK, width, true, b->stream[i], &b->work);
	return 0;
}

static int decompress(unsigned int width)
{
	int e = 0;

	for (unsigned int i = 0; i < BLOCKS; i++)
		e |= (int)neuron_decompress(b->stream[i], b->size[i], width, b->back[i], &b->work);
	return e;
}

static int measure(const char *name, unsigned int width, int (*fn)(unsigned int width))
{
	double best = 0;

	for (int run = 0; run < RUNS; run++) {
		double from = now(), rate;

		if (fn(width)) {
			fprintf(stderr, "bench-stream: %s: a stream is refused\n", name);
			return 1;
		}
		rate = (double)BLOCKS * BLOCK / (now() - from);
		best = rate > best ? rate : best;
	}
	printf("%s-%u %.0f\n", name, width, best);
	return 0;
}

static int measure_width(unsigned int width)
{
	double size = 0;

	fill(width);
	if (measure("memcpy", width, copy) || measure("compress", width, compress))
		return 1;
	memset(b->back, 0, sizeof(b->back));
	if (measure("decompress", width, decompress))
		return 1;
	if (memcmp(b->raw, b->back, sizeof(b->raw))) {
		fputs("bench-stream: other bytes come back\n", stderr);
		return 1;
	}
	for (unsigned int i = 0; i < BLOCKS; i++)
		size += b->size[i];
	printf("ratio-%u %.3f\n", width, size / ((double)BLOCKS * BLOCK));
	return 0;
}

/*
 * Decompresses a stream as DMA engines do: it is read and decompressed, and its elements go to
 * their places
 */
static int place_streams(unsigned int width)
{
	static uint8_t stream[CAPACITY], raw[BLOCK];
	int e = 0;

	for (unsigned int i = 0; i < BLOCKS; i++) {
		memcpy(stream, b->stream[i], b->size[i]);
		e |= (int)neuron_decompress(stream, b->size[i], width, raw, &b->work);
		memcpy(b->back[i % PLACES], raw, BLOCK);
	}
	return e;
}

static int place_copies(unsigned int width)
{
	(void)width;
	for (unsigned int i = 0; i < BLOCKS; i++)
		memcpy(b->back[i % PLACES], b->raw[i], BLOCK);
	return 0;
}

static int measure_few(void)
{
	static const struct {
		const char *copy, *place;
		unsigned int n, width;
	} few[] = { { "copy-1", "place-1", 1, 4 },
		    { "copy-2", "place-2", 2, 4 },
		    { "copy-2", "place-2", 2, 2 },
		    { "copy-16", "place-16", 16, 4 },
		    { "copy-16", "place-16", 16, 2 } };
	int rc = 0;

	for (unsigned int k = 0; k < sizeof(few) / sizeof(few[0]) && !rc; k++) {
		for (size_t i = 0; i < (size_t)BLOCKS * BLOCK; i += few[k].width) {
			float x = (float)(unsigned int)(next() * few[k].n);

			memcpy(&b->raw[0][0] + i, (uint8_t *)&x + 4 - few[k].width, few[k].width);
		}
		for (unsigned int i = 0; i < BLOCKS; i++)
			b->size[i] = neuron_compress(b->raw[i], BLOCK, few[k].width, false,
						     b->stream[i], &b->work);
		rc = measure(few[k].copy, few[k].width, place_copies) ||
		     measure(few[k].place, few[k].width, place_streams);
	}
	return rc;
}

int main(void)
{
	int rc;

	b = malloc(sizeof(*b));
	if (!b) {
		fputs("bench-stream: out of memory\n", stderr);
		return 1;
	}
	memset(b, 0, sizeof(*b));
	rc = measure_width(4) || measure_width(2) || measure_few();
	free(b);
	return rc;
}
