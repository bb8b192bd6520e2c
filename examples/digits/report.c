/* SPDX-License-Identifier: MIT */
/*
 * neuron-digits reports on runs over the handwritten digits. It reads tests/data/digits (images,
 * labels, which images were held out of training, JAX's own outputs and the tolerance) and the
 * outputs of one or more runs; draws a few digits, prints the accuracy on the held-out part, and
 * checks that every run has the bits of the first and that they agree with JAX. It exits with 0
 * when all of it holds.
 */
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npy.h"

#define SIDE 8
#define PIXELS (SIDE * SIDE)
#define CLASSES 10
#define DRAWN 4

struct data {
	struct npy images, labels, held_out, golden;
	double tolerance;
};

static bool load(const char *path, uint8_t dtype, uint64_t rows, uint64_t columns, struct npy *npy)
{
	unsigned int ndim = columns ? 2 : 1;
	const char *why;
	int err = npy_read(path, npy, &why);

	if (err) {
		fprintf(stderr, "neuron-digits: %s: %s: %s\n", path, why, strerror(-err));
		return false;
	}
	if (npy->dtype != dtype || npy->ndim != ndim || (rows && npy->shape[0] != rows) ||
	    (columns && npy->shape[1] != columns)) {
		fprintf(stderr, "neuron-digits: %s: unexpected type or shape\n", path);
		npy_free(npy);
		return false;
	}
	return true;
}

static bool load_in(const char *dir, const char *name, uint8_t dtype, uint64_t rows,
		    uint64_t columns, struct npy *npy)
{
	char *path;
	bool ok;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return false;
	ok = load(path, dtype, rows, columns, npy);
	free(path);
	return ok;
}

static bool load_tolerance(const char *dir, double *tolerance)
{
	json_error_t err;
	json_t *root;
	char *path;

	if (asprintf(&path, "%s/digits.json", dir) < 0)
		return false;
	root = json_load_file(path, 0, &err);
	*tolerance = json_number_value(json_object_get(root, "tolerance"));
	if (*tolerance <= 0)
		fprintf(stderr, "neuron-digits: %s: no tolerance\n", path);
	json_decref(root);
	free(path);
	return *tolerance > 0;
}

static bool load_data(const char *dir, struct data *data)
{
	uint64_t n;

	if (!load_in(dir, "images.npy", NEURON_DT_FP32, 0, PIXELS, &data->images))
		return false;
	n = data->images.shape[0];
	return load_in(dir, "labels.npy", NEURON_DT_INT32, n, 0, &data->labels) &&
	       load_in(dir, "held_out.npy", NEURON_DT_INT32, 0, 0, &data->held_out) &&
	       load_in(dir, "logits.npy", NEURON_DT_FP32, n, CLASSES, &data->golden) &&
	       load_tolerance(dir, &data->tolerance);
}

static int best(const float *logits)
{
	int b = 0;

	for (int i = 1; i < CLASSES; i++)
		if (logits[i] > logits[b])
			b = i;
	return b;
}

/* A pixel takes two columns, so that a digit is about as wide as high. */
static void draw(const struct data *data, const float *logits, const int32_t *which, int n)
{
	static const char *const shade[] = { "  ", "░░", "▒▒", "▓▓", "██" };
	const float *images = data->images.data;
	const int32_t *labels = data->labels.data;

	for (int y = 0; y < SIDE; y++) {
		for (int i = 0; i < n; i++) {
			for (int x = 0; x < SIDE; x++) {
				float v = images[(size_t)which[i] * PIXELS + y * SIDE + x];

				fputs(shade[(int)fminf(4, fmaxf(0, v * 5))], stdout);
			}
			fputs("  ", stdout);
		}
		putchar('\n');
	}
	for (int i = 0; i < n; i++)
		printf("says %d, is %d      ", best(logits + (size_t)which[i] * CLASSES),
		       labels[which[i]]);
	putchar('\n');
}

static void print_accuracy(const struct data *data, const float *logits)
{
	const int32_t *labels = data->labels.data, *held = data->held_out.data;
	uint64_t right = 0;

	for (uint64_t i = 0; i < data->held_out.shape[0]; i++)
		right += best(logits + (size_t)held[i] * CLASSES) == labels[held[i]];
	printf("accuracy on the %llu images held out of training: %.2f %% (%llu right)\n",
	       (unsigned long long)data->held_out.shape[0],
	       100.0 * (double)right / (double)data->held_out.shape[0], (unsigned long long)right);
}

static bool check_golden(const struct data *data, const float *logits)
{
	const float *golden = data->golden.data;
	double worst = 0;

	for (uint64_t i = 0; i < data->golden.shape[0] * CLASSES; i++) {
		double d = fabs((double)logits[i] - (double)golden[i]);

		/* a NaN counts as infinitely far away */
		worst = d <= worst ? worst : isnan(d) ? HUGE_VAL : d;
	}
	printf("largest difference of a logit from JAX (fp32): %.4f, tolerance %.4f: %s\n", worst,
	       data->tolerance, worst <= data->tolerance ? "ok" : "NOT OK");
	return worst <= data->tolerance;
}

static bool check_bits(const struct npy *first, const char *first_name, int n, char **files)
{
	int same = 0;

	for (int i = 0; i < n; i++) {
		struct npy npy;

		if (!load(files[i], NEURON_DT_FP32, first->shape[0], CLASSES, &npy))
			return false;
		if (!memcmp(npy.data, first->data, first->size))
			same++;
		else
			printf("%s differs from %s\n", files[i], first_name);
		npy_free(&npy);
	}
	if (n)
		printf("%d of %d runs gave the same bits as %s: %s\n", same, n, first_name,
		       same == n ? "ok" : "NOT OK");
	return same == n;
}

static bool held_out_valid(const struct data *data)
{
	const int32_t *held = data->held_out.data;

	for (uint64_t i = 0; i < data->held_out.shape[0]; i++)
		if (held[i] < 0 || (uint64_t)held[i] >= data->images.shape[0])
			return false;
	return data->held_out.shape[0] >= DRAWN;
}

int main(int argc, char **argv)
{
	static struct data data;
	struct npy first = { 0 };
	bool ok;

	if (argc < 3) {
		fputs("usage: neuron-digits DATA_DIR LOGITS.npy [LOGITS.npy ...]\n"
		      "  the first is the reference whose bits the others must have\n",
		      stderr);
		return 2;
	}
	ok = load_data(argv[1], &data) && held_out_valid(&data) &&
	     load(argv[2], NEURON_DT_FP32, data.images.shape[0], CLASSES, &first);
	if (ok) {
		draw(&data, first.data, data.held_out.data, DRAWN);
		print_accuracy(&data, first.data);
		ok = check_golden(&data, first.data);
		ok &= check_bits(&first, argv[2], argc - 3, argv + 3);
	}
	npy_free(&first);
	npy_free(&data.images);
	npy_free(&data.labels);
	npy_free(&data.held_out);
	npy_free(&data.golden);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
