// SPDX-License-Identifier: MIT
/*
 * Golden modules (tests/data/hlo, hlo_ops, hlo_later, and hlo_versions of other releases, made by
 * JAX): each is compiled, run on the chip in process through libnrt, and its outputs compared with
 * JAX's within the tolerance of cases.txt. The digits network runs over all its images.
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

#define MAX_CASES 1024

struct golden {
	const char *dir;
	char name[64];
	unsigned int nin, nout;
	double tolerance;
};

static struct golden cases[MAX_CASES];
static unsigned int ncases;

/* Is the case wanted? If indices are bounded (compile_most_rows), only gathers and scatters are. */
static bool is_wanted(const char *name, const char *only)
{
	if (only)
		return !strcmp(only, name);
	return !compile_most_rows || strstr(name, "gather") || strstr(name, "scatter");
}

/* Called outside any test, so without assertions of Check. only: one case's name, or NULL */
static bool read_cases(const char *dir, const char *only)
{
	char path[256];
	struct golden g = { .dir = dir };
	unsigned int before = ncases;
	bool whole;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/cases.txt", TEST_DATA, dir);
	f = fopen(path, "r");
	while (f && ncases < MAX_CASES &&
	       fscanf(f, "%63s %u %u %lf", g.name, &g.nin, &g.nout, &g.tolerance) == 4 &&
	       g.nin <= MAX_TENSORS && g.nout <= MAX_TENSORS)
		if (is_wanted(g.name, only))
			cases[ncases++] = g;
	whole = f && feof(f); /* else a line was not understood, or too long */
	if (f)
		fclose(f);
	return whole && (only || compile_most_rows || ncases > before);
}

static void read_npy(struct npy *x, const char *dir, const char *stem, unsigned int i)
{
	const char *why = "";
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/%s%u.npy", TEST_DATA, dir, stem, i);
	ck_assert_msg(!npy_read(path, x, &why), "%s: %s", path, why);
}

/* The largest difference; NaN if either side is NaN */
static double difference(const struct npy *want, const void *got)
{
	unsigned int esz = ncc_dtype_size(want->dtype);
	double worst = 0;

	for (size_t i = 0; i < want->size / esz; i++) {
		double a = ncc_get(want->dtype, want->data, (int64_t)i);
		double b = ncc_get(want->dtype, got, (int64_t)i);
		double d = fabs(a - b);

		if (isnan(d) || d > worst)
			worst = d;
		if (isnan(d))
			break;
	}
	return worst;
}

static void check_output(const struct golden *g, unsigned int i, const struct npy *want,
			 const nrt_tensor_t *t)
{
	void *got = malloc(want->size);
	double d;

	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(nrt_tensor_read(t, got, 0, want->size), 0);
	d = memcmp(want->data, got, want->size) ? difference(want, got) : 0;
	if (g->tolerance == 0)
		ck_assert_msg(!memcmp(want->data, got, want->size),
			      "%s: output %u: other bits (%g off)", g->name, i, d);
	ck_assert_msg(d <= g->tolerance, "%s: output %u is off by %g, tolerance %g", g->name, i, d,
		      g->tolerance);
	free(got);
}

static bool has_nan(const struct npy *x, unsigned int n)
{
	for (unsigned int t = 0; t < n; t++)
		for (size_t i = 0; i < x[t].size / ncc_dtype_size(x[t].dtype); i++)
			if (isnan(ncc_get(x[t].dtype, x[t].data, (int64_t)i)))
				return true;
	return false;
}

static void load(struct running *r, const char *path, enum ncc_cast cast, const struct npy *in,
		 unsigned int nin, const struct npy *out, unsigned int nout)
{
	size_t in_size[MAX_TENSORS], out_size[MAX_TENSORS];

	for (unsigned int i = 0; i < nin; i++)
		in_size[i] = in[i].size;
	for (unsigned int i = 0; i < nout; i++)
		out_size[i] = out[i].size;
	running_load(r, path, cast, in_size, nin, out_size, nout);
}

static void run_case(const struct golden *g, enum ncc_cast cast)
{
	struct npy in[MAX_TENSORS], out[MAX_TENSORS];
	struct running r = { 0 };
	char dir[128], path[160];

	snprintf(dir, sizeof(dir), "%s/%s", g->dir, g->name);
	snprintf(path, sizeof(path), "%s/module.hlo.pb", dir);
	for (unsigned int i = 0; i < g->nin; i++)
		read_npy(&in[i], dir, "in", i);
	for (unsigned int i = 0; i < g->nout; i++)
		read_npy(&out[i], dir, "out", i);
	load(&r, path, cast, in, g->nin, out, g->nout);
	for (unsigned int i = 0; i < g->nin; i++)
		ck_assert_int_eq(nrt_tensor_write(r.tin[i], in[i].data, 0, in[i].size), 0);
	/* twice: the first execution leaves the core as it found it */
	for (unsigned int n = 0; n < 2; n++) {
		NRT_STATUS rc = nrt_execute(r.model, r.in, r.out);
		NRT_STATUS want =
			has_nan(out, g->nout) ? NRT_EXEC_COMPLETED_WITH_NUM_ERR : NRT_SUCCESS;

		/*
		 * the chip finds NaN where it comes about, not one of an input, or of the table
		 * of rows_constant, that only DMA moves
		 */
		if ((has_nan(in, g->nin) || !strcmp(g->name, "rows_constant")) && rc == NRT_SUCCESS)
			want = rc;
		ck_assert_msg(rc == want, "%s: nrt_execute: %s\n%s", g->name,
			      nrt_get_status_as_str(rc), nrtx_error_details());
		for (unsigned int i = 0; i < g->nout; i++)
			check_output(g, i, &out[i], r.tout[i]);
	}
	running_unload(&r);
	for (unsigned int i = 0; i < g->nin; i++)
		npy_free(&in[i]);
	for (unsigned int i = 0; i < g->nout; i++)
		npy_free(&out[i]);
}

START_TEST(golden)
{
	run_case(&cases[_i], NCC_CAST_MATMULT);
}
END_TEST

/*
 * --auto-cast none: fp32 products by three bf16 parts each. The golden outputs of `perceptron` are
 * those of fp32 products; what is left is 2^-23 of the sum of absolute values a layer, with room
 * for the order of 40 + 30 terms.
 */
START_TEST(products_in_fp32)
{
	for (unsigned int i = 0; i < ncases; i++) {
		struct golden g = cases[i];

		if (strcmp(g.name, "perceptron"))
			continue;
		g.tolerance *= 70 / 32768.0;
		run_case(&g, NCC_CAST_NONE);
		return;
	}
	ck_abort_msg("no case 'perceptron'");
}
END_TEST

/* --auto-cast all: every intermediate value has 8 bits; a few of them, so 2^-6 of the scale */
START_TEST(everything_narrow)
{
	for (unsigned int i = 0; i < ncases; i++) {
		struct golden g = cases[i];

		if (strcmp(g.name, "perceptron"))
			continue;
		g.tolerance *= 4;
		run_case(&g, NCC_CAST_ALL);
		return;
	}
	ck_abort_msg("no case 'perceptron'");
}
END_TEST

/*
 * Selection by index only narrows the values, and indices are not narrowed: values below 4 have 8
 * bits.
 */
START_TEST(chosen_narrow)
{
	unsigned int found = 0;

	for (unsigned int i = 0; i < ncases; i++) {
		struct golden g = cases[i];

		if (strcmp(g.name, "embedding") && strcmp(g.name, "dynamic_update"))
			continue;
		g.tolerance = 0x1p-7;
		run_case(&g, NCC_CAST_ALL);
		found++;
	}
	ck_assert_uint_eq(found, 2);
}
END_TEST

/* The number behind a key of digits.json */
static double digits_number(const char *key)
{
	size_t size;
	char *text = read_data("digits/digits.json", &size), *at = strstr(text, key);
	double v;

	ck_assert_ptr_nonnull(at);
	v = strtod(strchr(at, ':') + 1, NULL);
	free(text);
	return v;
}

static unsigned int largest(const float *v)
{
	unsigned int best = 0;

	for (unsigned int i = 1; i < 10; i++)
		if (v[i] > v[best])
			best = i;
	return best;
}

START_TEST(digits)
{
	unsigned int batch = (unsigned int)digits_number("\"batch\""), right = 0, n;
	double tolerance = digits_number("\"tolerance\""), worst = 0;
	struct npy images, logits, labels, held_out, in, out;
	const char *why = "";
	struct running r = { 0 };
	float *got;

	ck_assert_int_eq(npy_read(TEST_DATA "/digits/images.npy", &images, &why), 0);
	ck_assert_int_eq(npy_read(TEST_DATA "/digits/logits.npy", &logits, &why), 0);
	ck_assert_int_eq(npy_read(TEST_DATA "/digits/labels.npy", &labels, &why), 0);
	ck_assert_int_eq(npy_read(TEST_DATA "/digits/held_out.npy", &held_out, &why), 0);
	n = (unsigned int)images.shape[0];
	in = (struct npy){ .size = batch * 64 * sizeof(float) };
	out = (struct npy){ .size = batch * 10 * sizeof(float) };
	load(&r, "digits/digits.hlo.pb", NCC_CAST_MATMULT, &in, 1, &out, 1);
	got = calloc(n + batch, 10 * sizeof(float));
	for (unsigned int i = 0; i < n; i += batch) {
		unsigned int rows = n - i < batch ? n - i : batch;

		ck_assert_int_eq(nrt_tensor_write(r.tin[0], (float *)images.data + i * 64, 0,
						  rows * 64 * sizeof(float)),
				 0);
		ck_assert_int_eq(nrt_execute(r.model, r.in, r.out), 0);
		ck_assert_int_eq(nrt_tensor_read(r.tout[0], got + i * 10, 0, out.size), 0);
	}
	for (unsigned int i = 0; i < n * 10; i++)
		worst = fmax(worst, fabs((double)got[i] - (double)((float *)logits.data)[i]));
	ck_assert_msg(worst <= tolerance, "a logit is off by %g, tolerance %g", worst, tolerance);
	for (unsigned int i = 0; i < held_out.shape[0]; i++) {
		int32_t k = ((int32_t *)held_out.data)[i];

		right += (int32_t)largest(got + k * 10) == ((int32_t *)labels.data)[k];
	}
	ck_assert_uint_ge(right * 100, held_out.shape[0] * 98);
	free(got);
	running_unload(&r);
	npy_free(&images);
	npy_free(&logits);
	npy_free(&labels);
	npy_free(&held_out);
}
END_TEST

/* test_ncc_golden [CASE]: runs all cases, or the one. */
int main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : NULL;
	Suite *s = suite_create("golden");
	TCase *t = tcase_create("golden");
	int failed;

	/* executions tell whether outputs have NaN */
	if (setenv("NEURON_FAIL_ON_NAN", "1", 1))
		return 99;
	if (getenv("TEST_MOST_ROWS"))
		compile_most_rows = atoi(getenv("TEST_MOST_ROWS"));
	if (!read_cases("hlo", only) || !read_cases("hlo_ops", only) ||
	    !read_cases("hlo_later", only) || !read_cases("hlo_versions", only))
		return 99;
	compile_target = chip_start();
	if (!compile_target)
		return 99;
	compile_lnc = getenv("TEST_LNC") ? (unsigned int)atoi(getenv("TEST_LNC")) : 1;
	tcase_add_loop_test(t, golden, 0, (int)ncases);
	if (!only && !compile_most_rows) {
		tcase_add_test(t, products_in_fp32);
		tcase_add_test(t, everything_narrow);
		tcase_add_test(t, chosen_narrow);
		tcase_add_test(t, digits);
	}
	suite_add_tcase(s, t);
	failed = check_run_here(s);
	nrt_close();
	return failed;
}
