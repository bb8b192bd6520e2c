// SPDX-License-Identifier: MIT
/*
 * test_ncc_networks DIR: whole networks in small shapes (tests/data/DIR): each is compiled with the
 * default casts, with none and with nothing fused, run on the chip in process through libnrt, and
 * every output element compared with the float64 result: within as many standard deviations of its
 * error as n normal variables stay. tests/networks/errors.py or sampled.py derives the deviations.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "chip.h"
#include "files.h"
#include "npy.h"
#include "running.h"

#define MAX_CASES 128
#define FAILURE 1e-6 /* the probability that a right result is refused; the same as in errors.py */

struct tensor {
	char type; /* f or i: fp32, int32 */
	size_t count;
};

static struct network {
	char name[64];
	unsigned int nin, nout;
	struct tensor in[MAX_TENSORS], out[MAX_TENSORS];
} cases[MAX_CASES];
static unsigned int ncases;
static const char *directory;

static const struct {
	const char *name;
	enum ncc_cast cast;
	unsigned int level;
} modes[] = { { "matmult", NCC_CAST_MATMULT, 2 },
	      { "none", NCC_CAST_NONE, 2 },
	      { "matmult", NCC_CAST_MATMULT, 1 } };
#define MODES (sizeof(modes) / sizeof(modes[0]))

/* Reads a line of cases.txt: a name, inputs, a colon, outputs. False: it is another line. */
static bool read_case(char *line, struct network *n)
{
	char *rest, *word = strtok_r(line, " \n", &rest);
	unsigned int *count = &n->nin;
	struct tensor *t = n->in;

	if (!word || strlen(word) >= sizeof(n->name))
		return false;
	strcpy(n->name, word);
	while ((word = strtok_r(NULL, " \n", &rest))) {
		if (count == &n->nin && !strcmp(word, ":")) {
			count = &n->nout;
			t = n->out;
		} else if (*count == MAX_TENSORS ||
			   sscanf(word, "%c%zu", &t[*count].type, &t[*count].count) != 2) {
			return false;
		} else {
			++*count;
		}
	}
	return n->nout > 0;
}

static bool read_cases(void)
{
	char path[512], line[1024];
	bool whole = true;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/cases.txt", TEST_DATA, directory);
	f = fopen(path, "r");
	while (whole && f && fgets(line, sizeof(line), f)) {
		whole = ncases < MAX_CASES && read_case(line, &cases[ncases]);
		ncases++;
	}
	if (f)
		fclose(f);
	return whole && ncases > 0;
}

static void read_npy(struct npy *x, const struct network *n, const char *stem)
{
	const char *why = "";
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/%s/%s.npy", TEST_DATA, directory, n->name, stem);
	ck_assert_msg(!npy_read(path, x, &why), "%s: %s", path, why);
}

static double number(char type, const uint32_t *bits)
{
	float f;

	if (type == 'i')
		return (int32_t)*bits;
	memcpy(&f, bits, sizeof(f));
	return (double)f;
}

/* The largest error of an output, in standard deviations; its elements are at first of all those of
 * the results */
static double worst_of(const struct tensor *t, const struct npy *want, const struct npy *sigma,
		       size_t first, const uint32_t *got)
{
	size_t all = sigma->size / sizeof(float);
	const float *high = want->data, *low = high + all, *s = sigma->data;
	double worst = 0;

	ck_assert_uint_eq(want->size, 2 * sigma->size);
	ck_assert_uint_le(first + t->count, all);
	for (size_t i = 0; i < t->count; i++) {
		size_t k = first + i;
		double error = fabs(number(t->type, &got[i]) - ((double)high[k] + (double)low[k]));

		if (isnan(error))
			return NAN;
		if (error > 0)
			worst = fmax(worst, error / (double)s[k]);
	}
	return worst;
}

static void check_outputs(const struct network *n, const char *mode, nrt_tensor_t *const *t)
{
	struct npy want, sigma;
	char stem[32];
	size_t first = 0;

	snprintf(stem, sizeof(stem), "sigma_%s", mode);
	read_npy(&want, n, "out");
	read_npy(&sigma, n, stem);
	for (unsigned int i = 0; i < n->nout; i++) {
		size_t count = n->out[i].count;
		double worst, limit = sqrt(2 * log(2 * (double)count / FAILURE));
		uint32_t *got = malloc(count * sizeof(*got));

		ck_assert_ptr_nonnull(got);
		ck_assert_int_eq(nrt_tensor_read(t[i], got, 0, count * sizeof(*got)), 0);
		worst = worst_of(&n->out[i], &want, &sigma, first, got);
		ck_assert_msg(worst <= limit,
			      "%s, --auto-cast %s: output %u is %g sigma off, at most %g", n->name,
			      mode, i, worst, limit);
		first += count;
		free(got);
	}
	npy_free(&want);
	npy_free(&sigma);
}

static void load(struct running *r, const struct network *n, enum ncc_cast cast)
{
	size_t in_size[MAX_TENSORS], out_size[MAX_TENSORS];
	char path[128];

	for (unsigned int i = 0; i < n->nin; i++)
		in_size[i] = n->in[i].count * sizeof(float);
	for (unsigned int i = 0; i < n->nout; i++)
		out_size[i] = n->out[i].count * sizeof(float);
	snprintf(path, sizeof(path), "%s/%s/module.hlo.pb", directory, n->name);
	running_load(r, path, cast, in_size, n->nin, out_size, n->nout);
}

static void run_network(const struct network *n, unsigned int mode)
{
	struct running r = { 0 };
	const uint32_t *from;
	struct npy in;
	NRT_STATUS rc;

	read_npy(&in, n, "in");
	compile_level = modes[mode].level;
	load(&r, n, modes[mode].cast);
	from = in.data;
	for (unsigned int i = 0; i < n->nin; i++) {
		ck_assert_int_eq(
			nrt_tensor_write(r.tin[i], from, 0, n->in[i].count * sizeof(*from)), 0);
		from += n->in[i].count;
	}
	rc = nrt_execute(r.model, r.in, r.out);
	ck_assert_msg(!rc, "%s: nrt_execute: %s", n->name, nrt_get_status_as_str(rc));
	check_outputs(n, modes[mode].name, r.tout);
	running_unload(&r);
	npy_free(&in);
}

START_TEST(network)
{
	run_network(&cases[(unsigned int)_i / MODES], (unsigned int)_i % MODES);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("networks");
	TCase *t = tcase_create("networks");
	int failed;

	if (argc != 2)
		return 2;
	directory = argv[1];
	if (!read_cases())
		return 99;
	compile_target = chip_start();
	if (!compile_target)
		return 99;
	tcase_add_loop_test(t, network, 0, (int)(MODES * ncases));
	suite_add_tcase(s, t);
	failed = check_run_here(s);
	nrt_close();
	return failed;
}
