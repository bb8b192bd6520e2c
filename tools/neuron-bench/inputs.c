/* SPDX-License-Identifier: MIT */
/*
 * What goes into the model: files for the inputs that the user gives, and for the others numbers
 * that are the same for the same seed.
 */
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "names.h"
#include "rows.h"

#define INTEGERS 8 /* random integers are below: indices of small tables, too */

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Formats of numbers: bits of exponent and mantissa; 0, 0: integers of that many bytes */
static const struct format {
	uint8_t dtype, exponent, mantissa;
} formats[] = {
	{ NEURON_DT_FP32, 8, 23 },  { NEURON_DT_FP32R, 8, 23 }, { NEURON_DT_BF16, 8, 7 },
	{ NEURON_DT_FP16, 5, 10 },  { NEURON_DT_FP8_E3, 3, 4 }, { NEURON_DT_FP8_E4, 4, 3 },
	{ NEURON_DT_FP8_E5, 5, 2 },
};

/* Bits of a number whose magnitude is from 0.5 to 1, in any of the formats */
static uint64_t random_number(const struct format *f, uint64_t *state)
{
	uint64_t exponent = (1ull << (f->exponent - 1)) - 2, bits = next(state);

	return (bits & 1) << (f->exponent + f->mantissa) | exponent << f->mantissa |
	       (bits >> 1 & ((1ull << f->mantissa) - 1));
}

static void fill_random(struct npy *npy, uint64_t *state)
{
	size_t item = npy_itemsize(npy->dtype) ?: 1; /* the other formats have a byte */
	const struct format *f = NULL;

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (formats[i].dtype == npy->dtype)
			f = &formats[i];
	for (size_t at = 0; at + item <= npy->size; at += item) {
		uint64_t value = f ? random_number(f, state) : next(state) % INTEGERS;

		memcpy((char *)npy->data + at, &value, item); /* little-endian */
	}
}

static bool read_input(struct bench_tensor *t, const char *path)
{
	struct rows rows;
	struct npy file;
	char have[160], want[160];
	const char *why;
	uint64_t bad;
	int err = npy_read(path, &file, &why);

	if (err)
		return bench_fail(path, "%s: %s", why, strerror(-err));
	rows_init(&rows, false);
	err = npy_narrow(&file, t->npy.dtype, &bad);
	if (err < 0) {
		npy_free(&file);
		return bench_fail(path, "element %llu does not fit into %s",
				  (unsigned long long)bad, npy_dtype_name(t->npy.dtype));
	}
	if (!rows_match(&rows, &t->npy, &file)) {
		rows_dims_text(&file, ",", have, sizeof(have));
		rows_dims_text(&t->npy, ",", want, sizeof(want));
		bench_fail(path, "holds %s[%s], input '%s' takes %s[%s]",
			   npy_dtype_name(file.dtype), have, t->name, npy_dtype_name(t->npy.dtype),
			   want);
		npy_free(&file);
		return false;
	}
	t->npy = file;
	return true;
}

/* The file that the user gives for each input, in the order of names; NULL: none */
static bool choose_files(const struct bench *bench, const struct input_name *names, unsigned int n,
			 const char **file)
{
	char all[512];

	for (unsigned int i = 0; i < bench->ninputs; i++) {
		int at = name_find(names, n, bench->inputs[i].name);

		if (at < 0) {
			name_list(names, n, all, sizeof(all));
			return bench_fail(bench->inputs[i].name,
					  "the model has no such input: it has %s", all);
		}
		if (file[at])
			return bench_fail(names[at].name, "this input is given twice");
		file[at] = bench->inputs[i].file;
	}
	return true;
}

bool inputs_make(struct bench *bench)
{
	struct input_name *names = calloc(bench->ntensors + 1, sizeof(*names));
	const char **file = calloc(bench->ntensors + 1, sizeof(*file));
	uint64_t state = bench->seed;
	unsigned int n = 0;
	bool ok = names && file;

	for (unsigned int i = 0; ok && i < bench->ntensors; i++)
		if (!bench->tensor[i].output)
			names[n++] = (struct input_name){ bench->tensor[i].name,
							  bench->tensor[i].source };
	ok = ok ? choose_files(bench, names, n, file) : bench_fail("inputs", "out of memory");
	n = 0;
	for (unsigned int i = 0; ok && i < bench->ntensors; i++) {
		struct bench_tensor *t = &bench->tensor[i];

		if (t->output)
			continue;
		if (file[n]) {
			ok = read_input(t, file[n++]);
			continue;
		}
		n++;
		t->npy.data = calloc(1, t->npy.size ? t->npy.size : 1);
		ok = t->npy.data || bench_fail(t->name, "out of memory");
		if (ok && bench->fill == FILL_RANDOM)
			fill_random(&t->npy, &state);
	}
	free(names);
	free(file);
	return ok;
}
