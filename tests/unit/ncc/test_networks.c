// SPDX-License-Identifier: MIT
/*
 * Whole networks in small shapes (tests/data/networks): each is compiled with the default casts,
 * with none and with nothing fused, run on the chip in process through libnrt, and every output
 * element compared with the float64 result: within as many standard deviations of its error as n
 * normal variables stay. tests/networks/errors.py derives the deviations.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "../check_main.h"
#include "files.h"
#include "npy.h"
#include "nrtx.h"
#include "running.h"

#define MAX_CASES 16
#define FAILURE 1e-6 /* the probability that a right result is refused; the same as in errors.py */

static struct network {
	char name[64];
	unsigned int nin, nout;
} cases[MAX_CASES];
static unsigned int ncases;

static const struct {
	const char *name;
	enum ncc_cast cast;
	unsigned int level;
} modes[] = { { "matmult", NCC_CAST_MATMULT, 2 },
	      { "none", NCC_CAST_NONE, 2 },
	      { "matmult", NCC_CAST_MATMULT, 1 } };
#define MODES (sizeof(modes) / sizeof(modes[0]))

static bool read_cases(void)
{
	FILE *f = fopen(TEST_DATA "/networks/cases.txt", "r");
	struct network *n = cases;
	bool whole;

	while (f && ncases < MAX_CASES &&
	       fscanf(f, "%63s %u %u", n->name, &n->nin, &n->nout) == 3 && n->nin <= MAX_TENSORS &&
	       n->nout <= MAX_TENSORS) {
		ncases++;
		n++;
	}
	whole = f && feof(f); /* else a line was not understood, or too long */
	if (f)
		fclose(f);
	return whole && ncases > 0;
}

static void read_npy(struct npy *x, const struct network *n, const char *stem, unsigned int i)
{
	const char *why = "";
	char path[512];

	snprintf(path, sizeof(path), "%s/networks/%s/%s%u.npy", TEST_DATA, n->name, stem, i);
	ck_assert_msg(!npy_read(path, x, &why), "%s: %s", path, why);
}

/* The largest error of an output, in standard deviations */
static double worst_of(const struct npy *want, const struct npy *sigma, const float *got)
{
	size_t n = sigma->size / sizeof(float);
	const float *high = want->data, *low = high + n, *s = sigma->data;
	double worst = 0;

	ck_assert_uint_eq(want->size, 2 * sigma->size);
	for (size_t i = 0; i < n; i++) {
		double error = fabs((double)got[i] - ((double)high[i] + (double)low[i]));

		if (isnan(error))
			return NAN;
		if (error > 0)
			worst = fmax(worst, error / (double)s[i]);
	}
	return worst;
}

static void check_output(const struct network *n, const char *mode, unsigned int i,
			 const nrt_tensor_t *t)
{
	struct npy want, sigma;
	char stem[32];
	double worst, limit;
	float *got;

	snprintf(stem, sizeof(stem), "sigma_%s", mode);
	read_npy(&want, n, "out", i);
	read_npy(&sigma, n, stem, i);
	got = malloc(sigma.size);
	ck_assert_ptr_nonnull(got);
	ck_assert_int_eq(nrt_tensor_read(t, got, 0, sigma.size), 0);
	limit = sqrt(2 * log(2 * (double)(sigma.size / sizeof(float)) / FAILURE));
	worst = worst_of(&want, &sigma, got);
	ck_assert_msg(worst <= limit, "%s, --auto-cast %s: output %u is %g sigma off, at most %g",
		      n->name, mode, i, worst, limit);
	free(got);
	npy_free(&want);
	npy_free(&sigma);
}

static void load(struct running *r, const struct network *n, enum ncc_cast cast,
		 const struct npy *in)
{
	size_t in_size[MAX_TENSORS], out_size[MAX_TENSORS];
	struct npy want;
	char path[128];

	for (unsigned int i = 0; i < n->nin; i++)
		in_size[i] = in[i].size;
	for (unsigned int i = 0; i < n->nout; i++) {
		read_npy(&want, n, "out", i);
		out_size[i] = want.size / 2;
		npy_free(&want);
	}
	snprintf(path, sizeof(path), "networks/%s/module.hlo.pb", n->name);
	running_load(r, path, cast, in_size, n->nin, out_size, n->nout);
}

static void run_network(const struct network *n, unsigned int mode)
{
	struct npy in[MAX_TENSORS];
	struct running r = { 0 };
	NRT_STATUS rc;

	for (unsigned int i = 0; i < n->nin; i++)
		read_npy(&in[i], n, "in", i);
	compile_level = modes[mode].level;
	load(&r, n, modes[mode].cast, in);
	for (unsigned int i = 0; i < n->nin; i++)
		ck_assert_int_eq(nrt_tensor_write(r.tin[i], in[i].data, 0, in[i].size), 0);
	rc = nrt_execute(r.model, r.in, r.out);
	ck_assert_msg(!rc, "%s: nrt_execute: %s", n->name, nrt_get_status_as_str(rc));
	for (unsigned int i = 0; i < n->nout; i++)
		check_output(n, modes[mode].name, i, r.tout[i]);
	running_unload(&r);
	for (unsigned int i = 0; i < n->nin; i++)
		npy_free(&in[i]);
}

START_TEST(network)
{
	run_network(&cases[(unsigned int)_i / MODES], (unsigned int)_i % MODES);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("networks");
	TCase *t = tcase_create("networks");
	int failed;

	if (!read_cases() || nrtx_machine_set("emu:inf1.xlarge") ||
	    nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""))
		return 99;
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, network, 0, (int)(MODES * ncases));
	suite_add_tcase(s, t);
	failed = check_run_here(s);
	nrt_close();
	return failed;
}
