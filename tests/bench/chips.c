// SPDX-License-Identifier: MIT
/*
 * Chips that copy in parallel: a thread for each, PASSES times 32 MiB in and out by the zero-copy
 * path. Prints a line of "chips-N" and bytes a second, of all chips together, for 1 and for all.
 * With --cores the same of the first chip's cores, each of which has a DMA engine of its own for
 * copies: "core-N" of each alone, then "cores". Run by tests/bench/run.py in a guest.
 *
 * usage: bench-chips [--cores]
 */
#include "ndlx.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZE (32ull << 20)
#define HUGE_PAGE (2ull << 20)
#define PASSES 8
#define CHIPS_MAX 64

struct chip {
	ndlx_device_t *dev;
	uint64_t chunk;
	char *buf;
	pthread_t thread;
	int ret;
};

static pthread_barrier_t begin;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *copy(void *arg)
{
	struct chip *c = arg;

	pthread_barrier_wait(&begin);
	for (int i = 0; i < PASSES && !c->ret; i++) {
		c->ret = ndlx_memory_buf_copyin(c->dev, c->chunk, c->buf, 0, SIZE);
		if (!c->ret)
			c->ret = ndlx_memory_buf_copyout(c->dev, c->chunk, c->buf, 0, SIZE);
	}
	return NULL;
}

static int open_chip(int index, struct chip *c)
{
	const ndlx_device_init_param_t use = { .initialize_device = true };

	return ndlx_open_device(index, &use, &c->dev);
}

/*
 * Allocates the chunk that a core's engine copies to, in the memory of that index, and a buffer of
 * bytes of its own
 */
static int place(struct chip *c, uint32_t core, uint32_t memory, int fill)
{
	const struct ndlx_mem_params mem = { .size = SIZE,
					     .channel = memory,
					     .nc = core,
					     .type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE };
	int ret = ndlx_memory_alloc(c->dev, &mem, &c->chunk);

	if (!ret && !(c->buf = aligned_alloc(HUGE_PAGE, SIZE)))
		ret = -ENOMEM;
	if (!ret)
		memset(c->buf, fill + 1, SIZE);
	return ret;
}

static int measure(struct chip *chips, unsigned int n, const char *name)
{
	double start;
	int ret = 0;

	pthread_barrier_init(&begin, NULL, n + 1);
	for (unsigned int i = 0; i < n; i++)
		if (pthread_create(&chips[i].thread, NULL, copy, &chips[i]))
			abort(); /* otherwise the other threads would wait for ever */
	start = now();
	pthread_barrier_wait(&begin);
	for (unsigned int i = 0; i < n; i++) {
		pthread_join(chips[i].thread, NULL);
		ret = chips[i].ret ? chips[i].ret : ret;
	}
	if (!ret)
		printf("%s %.0f\n", name, 2. * PASSES * n * SIZE / (now() - start));
	fflush(stdout);
	pthread_barrier_destroy(&begin);
	return ret;
}

static int compare(const struct chip *c, int index)
{
	for (uint64_t i = 0; i < SIZE; i++)
		if (c->buf[i] != (char)(index + 1))
			return -EIO;
	return 0;
}

/* The first chip, once for each core, which copies to the memory beside it */
static int open_cores(struct chip *c, int index, unsigned int *cores)
{
	uint32_t memories = 0;
	uint64_t size;
	int ret = open_chip(index, c);

	if (!ret)
		ret = ndlx_get_nc_count(c->dev, cores);
	while (!ret && !ndlx_get_dram_size(c->dev, memories, &size))
		memories++;
	for (unsigned int i = 0; i < *cores && !ret; i++) {
		c[i].dev = c->dev;
		ret = place(&c[i], i, i * memories / *cores, (int)i);
	}
	return ret;
}

static int bench_cores(struct chip *c, int index)
{
	unsigned int n = 0;
	char name[32];
	int ret = open_cores(c, index, &n);

	for (unsigned int i = 0; i < n && !ret; i++) {
		snprintf(name, sizeof(name), "core-%u", i);
		ret = measure(&c[i], 1, name);
	}
	if (!ret)
		ret = measure(c, n, "cores");
	for (unsigned int i = 0; i < n && !ret; i++)
		ret = compare(&c[i], (int)i);
	return ret;
}

static int bench_chips(struct chip *chips, const int *indexes, int n)
{
	char name[32];
	int ret = 0;

	for (int i = 0; i < n && !ret; i++) {
		ret = open_chip(indexes[i], &chips[i]);
		if (!ret)
			ret = place(&chips[i], 0, 0, indexes[i]);
	}
	if (!ret)
		ret = measure(chips, 1, "chips-1");
	snprintf(name, sizeof(name), "chips-%d", n);
	if (!ret)
		ret = measure(chips, (unsigned int)n, name);
	for (int i = 0; i < n && !ret; i++)
		ret = compare(&chips[i], indexes[i]);
	return ret;
}

int main(int argc, char **argv)
{
	static struct chip chips[CHIPS_MAX];
	int indexes[CHIPS_MAX], n = ndlx_available_devices(indexes, CHIPS_MAX), ret;

	if (n < 1)
		ret = n ? n : -ENODEV;
	else if (argc > 1 && !strcmp(argv[1], "--cores"))
		ret = bench_cores(chips, indexes[0]);
	else
		ret = bench_chips(chips, indexes, n);
	if (ret)
		fprintf(stderr, "bench-chips: %s\n", strerror(-ret));
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
