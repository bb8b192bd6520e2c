// SPDX-License-Identifier: MIT
/*
 * Copies 256 MiB to a device and back, by the zero-copy path and by the buffered one, and with
 * memcpy: prints lines of a name and bytes a second, the best of three runs each. The bytes that
 * come back are compared with those that were sent. Run by tests/bench/run.py, in a guest and
 * (memcpy only) on the host.
 *
 * usage: bench-copy [--memcpy]
 */
#include "ndlx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SIZE (256ull << 20)
#define HUGE_PAGE (2ull << 20)
#define PIECE (NDLX_ZEROCOPY_MIN / 2) /* small enough for the buffered path */
#define RUNS 3

struct bench {
	ndlx_device_t *dev;
	uint64_t handle;
	char *from, *to;
	uint64_t piece;
};

typedef int (*copy_fn)(const struct bench *b);

static char *huge_buffer(void)
{
	char *raw = mmap(NULL, SIZE + HUGE_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *aligned;

	if (raw == MAP_FAILED)
		return NULL;
	aligned = (char *)(((uintptr_t)raw + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	madvise(aligned, SIZE, MADV_HUGEPAGE);
	memset(aligned, 0, SIZE);
	return aligned;
}

static int copy_memcpy(const struct bench *b)
{
	memcpy(b->to, b->from, SIZE);
	return 0;
}

static int copy_in(const struct bench *b)
{
	int ret = 0;

	for (uint64_t at = 0; at < SIZE && !ret; at += b->piece)
		ret = ndlx_memory_buf_copyin(b->dev, b->handle, b->from + at, at, b->piece);
	return ret;
}

static int copy_out(const struct bench *b)
{
	int ret = 0;

	for (uint64_t at = 0; at < SIZE && !ret; at += b->piece)
		ret = ndlx_memory_buf_copyout(b->dev, b->handle, b->to + at, at, b->piece);
	return ret;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int measure(const char *name, copy_fn copy, const struct bench *b)
{
	double best = 0;

	for (int i = 0; i < RUNS; i++) {
		double start = now();
		int ret = copy(b);
		double rate = SIZE / (now() - start);

		if (ret) {
			fprintf(stderr, "bench-copy: %s: %s\n", name, strerror(-ret));
			return ret;
		}
		if (rate > best)
			best = rate;
	}
	printf("%s %.0f\n", name, best);
	return fflush(stdout);
}

static int measure_device(struct bench *b, const char *path, uint64_t piece)
{
	char in[32], out[32];

	snprintf(in, sizeof(in), "%s-in", path);
	snprintf(out, sizeof(out), "%s-out", path);
	b->piece = piece;
	memset(b->to, 0, SIZE);
	if (measure(in, copy_in, b) || measure(out, copy_out, b))
		return -EIO;
	if (memcmp(b->from, b->to, SIZE)) {
		fprintf(stderr, "bench-copy: %s: other bytes came back\n", path);
		return -EIO;
	}
	return 0;
}

static int measure_paths(struct bench *b)
{
	const ndlx_device_init_param_t use = { .initialize_device = true };
	const struct ndlx_mem_params mem = { .size = SIZE,
					     .type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE };
	int ret = ndlx_open_device(0, &use, &b->dev);

	if (ret) {
		fprintf(stderr, "bench-copy: device 0: %s\n", strerror(-ret));
		return ret;
	}
	ret = ndlx_memory_alloc(b->dev, &mem, &b->handle);
	if (!ret) {
		ret = measure_device(b, "zerocopy", SIZE);
		if (!ret)
			ret = measure_device(b, "buffered", PIECE);
		ndlx_memory_free(b->dev, b->handle);
	}
	ndlx_close_device(b->dev);
	return ret;
}

int main(int argc, char **argv)
{
	struct bench b = { .from = huge_buffer(), .to = huge_buffer() };

	if (!b.from || !b.to) {
		fprintf(stderr, "bench-copy: no memory\n");
		return EXIT_FAILURE;
	}
	for (uint64_t i = 0; i < SIZE; i += sizeof(uint64_t))
		*(uint64_t *)(b.from + i) = i * 0x9e3779b97f4a7c15u;
	if (measure("memcpy", copy_memcpy, &b))
		return EXIT_FAILURE;
	if (argc > 1 && !strcmp(argv[1], "--memcpy"))
		return EXIT_SUCCESS;
	return measure_paths(&b) ? EXIT_FAILURE : EXIT_SUCCESS;
}
