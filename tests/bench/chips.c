// SPDX-License-Identifier: MIT
/*
 * Chips that copy in parallel: a thread for each, PASSES times 32 MiB in and out by the zero-copy
 * path. Prints a line of "chips-N" and bytes a second, of all chips together, for 1 and for all.
 * Run by tests/bench/run.py in a guest.
 */
#include "ndl.h"

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
	ndl_device_t *dev;
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
		c->ret = ndl_memory_buf_copyin(c->dev, c->chunk, c->buf, 0, SIZE);
		if (!c->ret)
			c->ret = ndl_memory_buf_copyout(c->dev, c->chunk, c->buf, 0, SIZE);
	}
	return NULL;
}

static int open_chip(int index, struct chip *c)
{
	const ndl_device_init_param_t use = { .initialize_device = true };
	const struct ndl_mem_params mem = { .size = SIZE,
					    .type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE };
	int ret = ndl_open_device(index, &use, &c->dev);

	if (!ret)
		ret = ndl_memory_alloc(c->dev, &mem, &c->chunk);
	if (!ret && !(c->buf = aligned_alloc(HUGE_PAGE, SIZE)))
		ret = -ENOMEM;
	if (!ret)
		memset(c->buf, index + 1, SIZE);
	return ret;
}

static int measure(struct chip *chips, unsigned int n)
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
		printf("chips-%u %.0f\n", n, 2. * PASSES * n * SIZE / (now() - start));
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

int main(void)
{
	static struct chip chips[CHIPS_MAX];
	int indexes[CHIPS_MAX], n = ndl_available_devices(indexes, CHIPS_MAX), ret = 0;

	if (n < 1)
		ret = n ? n : -ENODEV;
	for (int i = 0; i < n && !ret; i++)
		ret = open_chip(indexes[i], &chips[i]);
	if (!ret)
		ret = measure(chips, 1);
	if (!ret)
		ret = measure(chips, (unsigned int)n);
	for (int i = 0; i < n && !ret; i++)
		ret = compare(&chips[i], indexes[i]);
	if (ret)
		fprintf(stderr, "bench-chips: %s\n", strerror(-ret));
	return ret ? EXIT_FAILURE : EXIT_SUCCESS;
}
