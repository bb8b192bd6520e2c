// SPDX-License-Identifier: MIT
/*
 * Two models that take turns on one core, c = a + b of 128 x 64 each: `bench-turns MACHINE
 * ADD.neff`. Prints lines of a name and microseconds an inference, the median of ROUNDS: for one
 * model alone, for two of one owner, for two of two owners; and the time of a reset. Run by
 * tests/bench/run.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nrt/nrtx.h"

#define ROUNDS 201

struct model {
	nrt_model_t *model;
	nrt_tensor_set_t *in, *out;
};

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

static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *buf = malloc(1 << 20);

	*size = f && buf ? fread(buf, 1, 1 << 20, f) : 0;
	if (!*size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	return buf;
}

static void load(struct model *m, const char *path, uint64_t owner)
{
	const struct nrtx_load_params params = { .owner = owner };
	nrt_tensor_info_array_t *info;
	size_t size;
	void *neff = read_file(path, &size);

	must(nrtx_load(neff, size, &params, &m->model));
	free(neff);
	must(nrt_allocate_tensor_set(&m->in));
	must(nrt_allocate_tensor_set(&m->out));
	must(nrt_get_model_tensor_info(m->model, &info));
	for (uint64_t i = 0; i < info->tensor_count; i++) {
		const nrt_tensor_info_t *t = &info->tensor_array[i];
		nrt_tensor_t *tensor;

		must(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, t->size, t->name,
					 &tensor));
		must(nrt_add_tensor_to_tensor_set(
			t->usage == NRT_TENSOR_USAGE_INPUT ? m->in : m->out, t->name, tensor));
	}
	nrt_free_model_tensor_info(info);
}

static int order(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void show(const char *name, double *us)
{
	qsort(us, ROUNDS, sizeof(*us), order);
	printf("%s %.1f\n", name, us[ROUNDS / 2]);
}

/* Times an inference of the first model; if the second is another model, it has one in between. */
static void turns(const char *name, struct model *first, struct model *second)
{
	double us[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		double start;

		must(nrt_execute(second->model, second->in, second->out));
		start = now();
		must(nrt_execute(first->model, first->in, first->out));
		us[i] = now() - start;
	}
	show(name, us);
}

int main(int argc, char **argv)
{
	struct model a = { 0 }, b = { 0 }, other = { 0 };
	double us[ROUNDS];

	if (argc != 3)
		return 2;
	must(nrtx_machine_set(argv[1]));
	must(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
	load(&a, argv[2], 1);
	load(&b, argv[2], 1);
	load(&other, argv[2], 2);
	turns("alone", &a, &a);
	turns("one-owner", &a, &b);
	turns("two-owners", &a, &other);
	for (int i = 0; i < ROUNDS; i++) {
		double start;

		must(nrt_execute(a.model, a.in, a.out));
		start = now();
		must(nrtx_reset_cores(0, 1));
		us[i] = now() - start;
	}
	show("reset", us);
	nrt_close();
	return 0;
}
