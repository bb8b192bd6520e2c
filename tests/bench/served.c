// SPDX-License-Identifier: MIT
/*
 * What an execution takes, c = a + b of 128 x 64 with its inputs and output on the host:
 * `bench-served MACHINE ADD.neff MS` executes for so many milliseconds and prints lines of a name
 * and microseconds, or the number. NEURON_RT_VISIBLE_CORES says on which core. Run by
 * tests/bench/run.py, alone and beside another one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nrt/nrtx.h"

#define MOST 1000000
#define WARM 200

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void must(NRT_STATUS status)
{
	if (!status)
		return;
	fprintf(stderr, "%s\n%s", nrt_get_status_as_str(status), nrtx_error_details());
	exit(1);
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void load(const char *path, nrt_model_t **model, nrt_tensor_set_t *set[2])
{
	static char neff[1 << 20];
	nrt_tensor_info_array_t *info;
	FILE *f = fopen(path, "rb");
	size_t size = f ? fread(neff, 1, sizeof(neff), f) : 0;

	if (!size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	must(nrt_load(neff, size, 0, 1, model));
	must(nrt_allocate_tensor_set(&set[0]));
	must(nrt_allocate_tensor_set(&set[1]));
	must(nrt_get_model_tensor_info(*model, &info));
	for (uint64_t i = 0; i < info->tensor_count; i++) {
		const nrt_tensor_info_t *t = &info->tensor_array[i];
		nrt_tensor_t *tensor;

		must(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, t->size, t->name,
					 &tensor));
		must(nrt_add_tensor_to_tensor_set(set[t->usage != NRT_TENSOR_USAGE_INPUT], t->name,
						  tensor));
	}
	nrt_free_model_tensor_info(info);
}

int main(int argc, char **argv)
{
	double *us = malloc(MOST * sizeof(*us)), begin, start;
	nrt_tensor_set_t *set[2];
	nrt_model_t *model;
	int n = 0;

	if (argc != 4 || !us)
		return 2;
	must(nrtx_machine_set(argv[1]));
	must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	load(argv[2], &model, set);
	for (int i = 0; i < WARM; i++)
		must(nrt_execute(model, set[0], set[1]));
	begin = now();
	do {
		start = now();
		must(nrt_execute(model, set[0], set[1]));
		us[n++] = now() - start;
	} while (n < MOST && now() - begin < atof(argv[3]) * 1e3);
	qsort(us, (size_t)n, sizeof(*us), order);
	printf("min %.2f\nmedian %.2f\np90 %.2f\ncount %d\n", us[0], us[n / 2], us[n * 9 / 10], n);
	nrt_close();
	return 0;
}
