/* SPDX-License-Identifier: MIT */
/*
 * What goes into the model: files for the inputs that the user gives, and for the others numbers
 * that are the same for the same seed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "names.h"
#include "rows.h"
#include "sizes.h"

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

/* Reads what is given for an input, in the model's type. */
static bool read_input(struct npy *npy, const char *path)
{
	uint8_t dtype = npy->dtype;
	const char *why;
	uint64_t bad;
	int err = npy_read(path, npy, &why);

	if (err)
		return bench_fail(path, "%s: %s", why, strerror(-err));
	err = npy_narrow(npy, dtype, &bad);
	if (err < 0)
		return bench_fail(path, "element %llu does not fit into %s",
				  (unsigned long long)bad, npy_dtype_name(dtype));
	return true;
}

static bool check_input(const struct sized_input *in, const char *path)
{
	struct rows rows;
	char have[160], want[160];

	rows_init(&rows, false);
	if (rows_match(&rows, &in->bound, in->npy))
		return true;
	rows_dims_text(in->npy, 0, ",", have, sizeof(have));
	rows_dims_text(&in->bound, in->sized, ",", want, sizeof(want));
	return bench_fail(path, "holds %s[%s], input '%s' takes %s[%s]",
			  npy_dtype_name(in->npy->dtype), have, in->name,
			  npy_dtype_name(in->bound.dtype), want);
}

static bool refuse_name(const struct neff_called *names, unsigned int n, const char *given,
			int which, int rc)
{
	char all[512];

	if (rc == -ENOENT) {
		name_list(names, n, all, sizeof(all));
		return bench_fail(given, "the model has no such input: it has %s", all);
	}
	if (rc != -EEXIST)
		return bench_fail("inputs", "%s", strerror(-rc));
	return bench_fail(names[which].name, "this input is given twice, the second time as '%s'",
			  given);
}

/* The file that the user gives for each input, in the order of names; NULL: none */
static bool choose_files(const struct bench *bench, const struct neff_called *names, unsigned int n,
			 const char **file)
{
	const char *given[BENCH_MAX_INPUTS];
	int which[BENCH_MAX_INPUTS], rc;
	unsigned int bad;

	for (unsigned int i = 0; i < bench->ninputs; i++)
		given[i] = bench->inputs[i].name;
	rc = names_given(names, n, given, bench->ninputs, which, &bad);
	if (rc)
		return refuse_name(names, n, bad < bench->ninputs ? given[bad] : "",
				   rc == -EEXIST ? which[bad] : 0, rc);
	for (unsigned int i = 0; i < bench->ninputs; i++)
		file[which[i]] = bench->inputs[i].file;
	return true;
}

bool inputs_make(struct bench *bench)
{
	struct neff_called *names = calloc(bench->ntensors + 1, sizeof(*names));
	const char **file = calloc(bench->ntensors + 1, sizeof(*file));
	struct sized_input *in = calloc(bench->ntensors + 1, sizeof(*in));
	uint64_t state = bench->seed;
	unsigned int n = 0;
	bool ok = names && file && in;

	for (unsigned int i = 0; ok && i < bench->ntensors; i++) {
		struct bench_tensor *t = &bench->tensor[i];

		if (t->output)
			continue;
		names[n] = (struct neff_called){ t->name, t->source };
		in[n++] = (struct sized_input){ t->name, t->source, t->npy, &t->npy, 0 };
	}
	ok = ok ? choose_files(bench, names, n, file) : bench_fail("inputs", "out of memory");
	for (unsigned int i = 0; ok && i < n; i++)
		if (file[i])
			ok = read_input(in[i].npy, file[i]);
	if (ok && !sizes_pad("neuron-bench", in, n))
		ok = bench_fail("inputs", "out of memory");
	for (unsigned int i = 0; ok && i < n; i++) {
		struct npy *npy = in[i].npy;

		if (file[i])
			ok = check_input(&in[i], file[i]);
		if (npy->data)
			continue;
		npy->data = calloc(1, npy->size ? npy->size : 1);
		ok = npy->data || bench_fail(in[i].name, "out of memory");
		if (ok && bench->fill == FILL_RANDOM)
			fill_random(npy, &state);
	}
	free(names);
	free(file);
	free(in);
	return ok;
}
