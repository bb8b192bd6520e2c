// SPDX-License-Identifier: MIT
/*
 * bench-network NEFF CALLERS SECONDS [FILE.npy...]: inferences a second of a model on the chips in
 * this process, from CALLERS threads for about SECONDS: by the clock, and by the processor time
 * that all threads took. The files are the inputs, in the model's order; without them inputs are
 * zeros, which are valid as an embedding's ids and as an image. The chips are inf1.6xlarge's, or
 * those of BENCH_MACHINE, as nrtx_machine_set takes it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npy.h"
#include "nrt/nrtx.h"

#define MAX_CALLERS 64

static nrt_model_t *model;
static nrt_tensor_info_array_t *info;
static char **files;
static atomic_uint done;
static double seconds;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(NRT_STATUS status)
{
	if (!status)
		return;
	fprintf(stderr, "bench-network: %s%s\n", nrtx_error_details(), nrtx_status_text(status));
	exit(1);
}

static void fill(void *buf, const nrt_tensor_info_t *t, const char *path)
{
	const char *why = "";
	struct npy x;
	uint64_t bad;

	if (npy_read(path, &x, &why)) {
		fprintf(stderr, "bench-network: %s: %s\n", path, why);
		exit(1);
	}
	npy_narrow(&x, (uint8_t)t->dtype, &bad);
	if (x.size != t->size) {
		fprintf(stderr, "bench-network: %s: %zu bytes for %s, which has %zu\n", path,
			x.size, t->name, t->size);
		exit(1);
	}
	memcpy(buf, x.data, x.size);
	npy_free(&x);
}

static void make_sets(nrt_tensor_set_t **in, nrt_tensor_set_t **out)
{
	char **file = files;

	check(nrt_allocate_tensor_set(in));
	check(nrt_allocate_tensor_set(out));
	for (uint64_t i = 0; i < info->tensor_count; i++) {
		const nrt_tensor_info_t *t = &info->tensor_array[i];
		void *buf = calloc(1, t->size);
		nrt_tensor_t *tensor;

		if (t->usage == NRT_TENSOR_USAGE_INPUT && *file)
			fill(buf, t, *file++);
		check(nrt_tensor_allocate_empty(t->name, &tensor));
		check(nrt_tensor_attach_buffer(tensor, buf, t->size));
		check(nrt_add_tensor_to_tensor_set(t->usage == NRT_TENSOR_USAGE_INPUT ? *in : *out,
						   t->name, tensor));
	}
}

static void *call(void *arg)
{
	nrt_tensor_set_t *in, *out;
	double end;

	make_sets(&in, &out);
	end = now(CLOCK_MONOTONIC) + seconds;
	do {
		check(nrt_execute(model, in, out));
		atomic_fetch_add(&done, 1);
	} while (now(CLOCK_MONOTONIC) < end);
	return NULL;
}

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	void *buf = NULL;

	if (f && !fseek(f, 0, SEEK_END)) {
		*size = (size_t)ftell(f);
		rewind(f);
		buf = malloc(*size);
		if (buf && fread(buf, 1, *size, f) != *size)
			exit(1);
		fclose(f);
	}
	return buf;
}

int main(int argc, char **argv)
{
	const char *machine = getenv("BENCH_MACHINE");
	pthread_t thread[MAX_CALLERS];
	unsigned int callers;
	double wall, cpu;
	size_t size;
	void *neff;

	if (argc < 4)
		return 2;
	callers = (unsigned int)atoi(argv[2]);
	seconds = atof(argv[3]);
	files = argv + 4;
	neff = read_file(argv[1], &size);
	if (!neff || callers < 1 || callers > MAX_CALLERS)
		return 2;
	check(nrtx_machine_set(machine ? machine : "emu:inf1.6xlarge"));
	check(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	check(nrt_load(neff, size, 0, -1, &model));
	check(nrt_get_model_tensor_info(model, &info));
	{
		nrt_tensor_set_t *in, *out;

		make_sets(&in, &out);
		check(nrt_execute(model, in, out)); /* the first execution touches the memory */
	}
	wall = now(CLOCK_MONOTONIC);
	cpu = now(CLOCK_PROCESS_CPUTIME_ID);
	for (unsigned int i = 0; i < callers; i++)
		if (pthread_create(&thread[i], NULL, call, NULL))
			return 1;
	for (unsigned int i = 0; i < callers; i++)
		pthread_join(thread[i], NULL);
	wall = now(CLOCK_MONOTONIC) - wall;
	cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	printf("clock %.6f\nprocessor %.6f\n", done / wall, done / cpu);
	nrt_close();
	return 0;
}
