// SPDX-License-Identifier: MIT
/*
 * Operations on values larger than SBUF (tests/data/hlo_large): compiled, run on the chip in
 * process, and compared with what a few lines of C say each element of the result is. The inputs
 * are small integers, so that sums and products are exact in any order and must agree to the bit;
 * the few cases with functions or quotients say how far they may be off and why.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "chip.h"
#include "files.h"
#include "running.h"

#define MAX_IN 3

static float *in[MAX_IN]; /* of the current case */

struct large {
	const char *name;
	size_t in[MAX_IN]; /* elements; 0: no such input */
	size_t out;
	double (*want)(size_t i); /* element i of the result */
	double tolerance; /* relative; 0: to the bit */
	size_t stride; /* every stride-th element is checked */
	bool bf16; /* the result's type */
};

static double want_add(size_t i)
{
	return in[0][i] + in[1][i];
}

static double want_moved_window(size_t i)
{
	size_t at = (size_t)fabs(in[1][0]) * 16;

	return i < at || i >= at + 80000 ? in[0][i] : (double)in[0][i] * in[2][i - at];
}

static double want_filled(size_t i)
{
	(void)i;
	return in[0][0];
}

static double want_filled_rows(size_t i)
{
	return in[0][i / 1700];
}

static double want_add_same(size_t i)
{
	return in[0][i] * in[0][i] + 1;
}

static double want_bias_relu(size_t i)
{
	return fmax(in[0][i] + in[1][i % 70000], 0);
}

static double want_divide(size_t i)
{
	return (double)in[0][i] / (double)in[1][i];
}

static double want_select(size_t i)
{
	return in[0][i] > in[1][i] ? in[0][i] : in[1][i] * 2;
}

static double want_gather(size_t i)
{
	return in[0][(size_t)fmin(fmax(in[1][i / 64] * 17, 0), 299) * 64 + i % 64];
}

static double want_to_bf16(size_t i)
{
	return in[0][i] + 0.5;
}

static double want_add_transposed(size_t i)
{
	return in[0][i] + in[1][i % 1100 * 1500 + i / 1100];
}

static double want_sum_rows(size_t i)
{
	double sum = 0;

	for (size_t k = 0; k < 200000; k++)
		sum += in[0][i * 200000 + k];
	return sum;
}

static double want_max_columns(size_t i)
{
	double most = -INFINITY;

	for (size_t k = 0; k < 1024; k++)
		most = fmax(most, in[0][k * 4096 + i]);
	return most;
}

static double want_sum_all(size_t i)
{
	double sum = (double)i;

	for (size_t k = 0; k < 4000003; k++)
		sum += in[0][k];
	return sum;
}

static double want_softmax(size_t i)
{
	const float *row = in[0] + i / 20000 * 20000;
	static double sum[2];

	if (!sum[i / 20000])
		for (size_t k = 0; k < 20000; k++)
			sum[i / 20000] += exp(row[k]);
	return exp(in[0][i]) / sum[i / 20000];
}

static double want_transpose(size_t i)
{
	return in[0][i % 1030 * 2050 + i / 1030];
}

static double want_reverse(size_t i)
{
	return in[0][i / 4096 * 4096 + 4095 - i % 4096] + 1;
}

static double want_slice(size_t i)
{
	return in[0][(i / 2048 + 3) * 4096 + i % 2048 * 2 + 1] + 1;
}

static double want_concatenate(size_t i)
{
	size_t row = i / 5048, column = i % 5048;

	return column < 2048 ? in[0][row * 2048 + column] : in[1][row * 3000 + column - 2048] + 1;
}

static double want_stack(size_t i)
{
	return in[i % 2][i / 2] + (double)(i % 2);
}

static double want_short_rows(size_t i)
{
	const float *row = in[0] + i / 3 * 3;

	return in[0][i] - fmax(row[0], fmax(row[1], row[2]));
}

static double want_pad(size_t i)
{
	size_t row = i / 4093, column = i % 4093; /* 1 + 2048 + 2047 - 3 */

	if (row < 2 || column % 2 == 0)
		return 7;
	return in[0][(row - 2) * 2048 + (column - 1) / 2];
}

static double want_window_max(size_t i)
{
	size_t plane = i / (112 * 112), y = i / 112 % 112 * 2, x = i % 112 * 2;
	double most = -INFINITY;

	for (size_t r = y; r < y + 3 && r < 224; r++)
		for (size_t c = x; c < x + 3 && c < 224; c++)
			most = fmax(most, in[0][(plane * 224 + r) * 224 + c]);
	return most;
}

static double want_cumulative(size_t i)
{
	double sum = 0;

	for (size_t k = 0; k <= i; k++)
		sum += in[0][k];
	return sum;
}

/* sum over k of a[k * astep] * b[k * bstep] */
static double product(const float *a, size_t astep, const float *b, size_t bstep, size_t n)
{
	double sum = 0;

	for (size_t k = 0; k < n; k++)
		sum += (double)(a[k * astep] * b[k * bstep]);
	return sum;
}

static double want_dot(size_t i)
{
	return product(in[0] + i / 4100 * 1500, 1, in[1] + i % 4100, 4100, 1500);
}

static double want_dot_long(size_t i)
{
	return product(in[0] + i / 5 * 300000, 1, in[1] + i % 5, 5, 300000);
}

static double want_dot_bias_relu(size_t i)
{
	size_t n = i % 4096;

	return fmax(product(in[0] + i / 4096 * 520, 1, in[1] + n * 520, 1, 520) + in[2][n], 0);
}

/* einsum("bij,bjk->bki"): i of 16, j of 18, k of 20 */
static double want_dot_pairs(size_t i)
{
	const size_t b = i / 320, k = i / 16 % 20;
	double sum = 0;

	for (size_t j = 0; j < 18; j++)
		sum += (double)in[0][(b * 16 + i % 16) * 18 + j] * in[1][(b * 18 + j) * 20 + k];
	return sum;
}

static double want_dot_batch(size_t i)
{
	size_t k = i % 500, q = i / 500 % 500, h = i / 250000 % 12, b = i / 3000000;

	return product(in[0] + ((b * 500 + q) * 12 + h) * 64, 1,
		       in[1] + ((b * 500 + k) * 12 + h) * 64, 1, 64);
}

static double want_conv(size_t i)
{
	size_t f = i % 64, x = i / 64 % 112, y = i / (64 * 112) % 112, n = i / (64 * 112 * 112);
	double sum = in[2][f];

	for (size_t ky = 0; ky < 3; ky++)
		for (size_t kx = 0; kx < 3; kx++)
			if (y + ky >= 1 && y + ky <= 112 && x + kx >= 1 && x + kx <= 112)
				sum += product(in[0] + ((n * 112 + y + ky - 1) * 112 + x + kx - 1) *
							       64,
					       1, in[1] + (ky * 3 + kx) * 4096 + f, 64, 64);
	return fmax(sum, 0);
}

static double want_conv_planes(size_t i)
{
	size_t x = i % 247 * 2, y = i / 247 % 247 * 2, f = i / (247 * 247);
	double sum = 0;

	for (size_t c = 0; c < 3; c++)
		for (size_t ky = 0; ky < 7; ky++)
			sum += product(in[0] + (c * 500 + y + ky) * 500 + x, 1,
				       in[1] + ((f * 3 + c) * 7 + ky) * 7, 1, 7);
	return sum;
}

static double chain_y(size_t i)
{
	double a = in[0][i], x = a + in[1][i % 1100];

	return x > a ? fmax(x, 3) * 2 : -a;
}

static double want_chain(size_t i)
{
	static double most[1500];
	double y = chain_y(i);

	for (size_t k = 0; i == 0 && k < (size_t)1500 * 1100; k++)
		most[k / 1100] = k % 1100 ? fmax(most[k / 1100], chain_y(k)) : chain_y(k);
	return (y + 1) * (in[0][i] + in[1][i % 1100]) - fabs(y) + most[i / 1100];
}

static double want_dot_chain(size_t i)
{
	double x = 0, y;

	for (size_t k = 0; k < 64; k++)
		x += in[0][i / 1536 * 64 + k] * in[1][k * 1536 + i % 1536];
	y = x > 5 ? x : x * 2 + 1;
	return fmax(y - x, y * 3);
}

static double want_turned(size_t i)
{
	size_t row = i / 224, column = i % 224;
	double sum = 0;

	for (size_t k = 0; k < 384; k++)
		sum += ((in[0][row * 384 + k] + 1) * 2 + in[0][k * 384 + row] + 1) *
		       in[1][k * 224 + column];
	return sum;
}

static double want_keys(size_t i)
{
	double sum = 0;

	for (size_t k = 0; k < 64; k++)
		sum += in[0][i / 256 * 64 + k] * in[1][(i % 256 * 12 + i / 256) * 64 + k];
	return sum;
}

static double clipped(double x)
{
	return fmin(fmax(x, -8), 8);
}

static double want_joined(size_t i)
{
	const float *row = in[0] + i / 160 * 128;
	double x = 0, y = 0, z = 0;
	size_t column = i % 160;

	if (column < 32)
		return row[column] * 2;
	column -= 32;
	for (size_t k = 0; k < 128; k++) {
		x += row[k] * in[1][k * 128 + column];
		y += row[k] * in[1][column * 128 + k];
		z += row[k] * (in[1][k * 128 + column] + 1);
	}
	x = clipped(x);
	y = clipped(y);
	z = clipped(z);
	return x > y ? x * y + z : y - z;
}

static double want_depthwise(size_t i)
{
	size_t channel = i / (36 * 36), row = i / 36 % 36, column = i % 36;
	double sum = in[2][channel];

	for (size_t k = 0; k < 25; k++)
		sum += in[0][(channel * 40 + row + k / 5) * 40 + column + k % 5] *
		       in[1][channel * 25 + k];
	return fmax(sum, 0);
}

/*
 * Quotients are products with the correctly rounded reciprocal: 2^-24 each, and the rounding of the
 * product, 3 * 2^-24 at most. A softmax adds the error of exp (1 ulp, 2^-23, and the argument's
 * rounding: it is exact here) twice, of a sum of 20000 positive terms (20000 * 2^-24 at most) and
 * of a quotient.
 */
static const struct large cases[] = {
	{ "add", { 1024 * 2048, 1024 * 2048 }, 1024 * 2048, want_add, 0, 1, false },
	{ "add_same", { 4000003 }, 4000003, want_add_same, 0, 1, false },
	{ "bias_relu", { 15 * 70000, 70000 }, 15 * 70000, want_bias_relu, 0, 1, false },
	{ "divide", { 1024 * 2048, 1024 * 2048 }, 1024 * 2048, want_divide, 0x3p-24, 1, false },
	{ "select", { 1024 * 2048, 1024 * 2048 }, 1024 * 2048, want_select, 0, 1, false },
	{ "gather", { 300 * 64, 70000 }, 70000 * 64, want_gather, 0, 1, false },
	{ "to_bf16", { 1024 * 4096 }, 1024 * 4096, want_to_bf16, 0, 1, true },
	{ "add_transposed",
	  { 1500 * 1100, 1100 * 1500 },
	  1500 * 1100,
	  want_add_transposed,
	  0,
	  1,
	  false },
	{ "sum_rows", { 2 * 200000 }, 2, want_sum_rows, 0, 1, false },
	{ "max_columns", { 1024 * 4096 }, 4096, want_max_columns, 0, 1, false },
	{ "sum_all", { 4000003 }, 1, want_sum_all, 0, 1, false },
	{ "softmax", { 2 * 20000 }, 2 * 20000, want_softmax, 20008 * 0x1p-24, 1, false },
	{ "transpose", { 1030 * 2050 }, 1030 * 2050, want_transpose, 0, 1, false },
	{ "reverse", { 1024 * 4096 }, 1024 * 4096, want_reverse, 0, 1, false },
	{ "slice", { 1024 * 4096 }, 1021 * 2048, want_slice, 0, 1, false },
	{ "concatenate", { 1024 * 2048, 1024 * 3000 }, 1024 * 5048, want_concatenate, 0, 1, false },
	{ "stack", { 1111 * 2000, 1111 * 2000 }, 2 * 1111 * 2000, want_stack, 0, 1, false },
	{ "short_rows", { 3 * 1000003 }, 3 * 1000003, want_short_rows, 0, 1, false },
	{ "pad", { 1024 * 2048 }, 1026 * 4093, want_pad, 0, 1, false },
	{ "window_max", { 64 * 224 * 224 }, 64 * 112 * 112, want_window_max, 0, 1, false },
	{ "cumulative", { 12000 }, 12000, want_cumulative, 0, 1, false },
	{ "dot", { 700 * 1500, 1500 * 4100 }, 700 * 4100, want_dot, 0, 307, false },
	{ "dot_long", { 3 * 300000, 300000 * 5 }, 15, want_dot_long, 0, 1, false },
	{ "dot_bias_relu",
	  { 1100 * 520, 4096 * 520, 4096 },
	  1100 * 4096,
	  want_dot_bias_relu,
	  0,
	  101,
	  false },
	{ "dot_batch", { 4 * 500 * 768, 4 * 500 * 768 }, 48 * 250000, want_dot_batch, 0, 47, false },
	{ "dot_pairs",
	  { 2100 * 16 * 18, 2100 * 18 * 20 },
	  2100 * 20 * 16,
	  want_dot_pairs,
	  0,
	  1,
	  false },
	{ "conv",
	  { 2 * 112 * 112 * 64, 9 * 4096, 64 },
	  2 * 112 * 112 * 64,
	  want_conv,
	  0,
	  101,
	  false },
	{ "depthwise", { 72 * 40 * 40, 72 * 25, 72 }, 72 * 36 * 36, want_depthwise, 0, 1, false },
	{ "chain", { 1500 * 1100, 1100 }, 1500 * 1100, want_chain, 0, 1, false },
	{ "dot_chain", { 2000 * 64, 64 * 1536 }, 2000 * 1536, want_dot_chain, 0, 7, false },
	{ "keys", { 12 * 64, 256 * 12 * 64 }, 12 * 256, want_keys, 0, 1, false },
	{ "turned", { 384 * 384, 384 * 224 }, 384 * 224, want_turned, 0, 1, false },
	{ "conv_planes",
	  { 3 * 500 * 500, 64 * 147 },
	  64 * 247 * 247,
	  want_conv_planes,
	  0,
	  101,
	  false },
	{ "moved_window", { 160000, 1, 80000 }, 160000, want_moved_window, 0, 1, false },
	{ "filled", { 1 }, 5000003, want_filled, 0, 7, false },
	{ "filled_rows", { 3000 }, 3000 * 1700, want_filled_rows, 0, 7, false },
	{ "joined", { 6000 * 128, 128 * 128 }, 6000 * 160, want_joined, 0, 7, false },
};

/* Integers from -8 to 8, never 0 where something is divided by it */
static void fill(const struct large *c, unsigned int k)
{
	uint32_t seed = 12345 + k;
	bool divisor = !strcmp(c->name, "divide") && k == 1;

	in[k] = malloc(c->in[k] * sizeof(float));
	ck_assert_ptr_nonnull(in[k]);
	for (size_t i = 0; i < c->in[k]; i++) {
		seed = seed * 1664525 + 1013904223;
		in[k][i] = (float)((int)(seed >> 16) % 17 - 8);
		if (divisor && in[k][i] == 0)
			in[k][i] = 3;
	}
}

static double element(const struct large *c, const void *got, size_t i)
{
	return ncc_get(c->bf16 ? NEURON_DT_BF16 : NEURON_DT_FP32, got, (int64_t)i);
}

static void compare(const struct large *c, const void *got)
{
	for (size_t i = 0; i < c->out; i += c->stride) {
		double want = c->want(i), have = element(c, got, i);

		if (!(fabs(want - have) <= c->tolerance * fabs(want)))
			ck_abort_msg("%s: element %zu is %.9g, not %.9g", c->name, i, have, want);
	}
}

static const struct neuron_target *chip;

/* The case as it is, and compiled as for a chip with half of SBUF, which needs room more often */
START_TEST(large)
{
	const struct large *c = &cases[_i / 2];
	struct neuron_target half = *chip;
	size_t in_size[MAX_IN], out_size = c->out * (c->bf16 ? 2 : 4);
	struct running r = { 0 };
	unsigned int nin = 0;
	char path[128];
	void *got = malloc(out_size);
	NRT_STATUS rc;

	ck_assert_ptr_nonnull(got);
	for (; nin < MAX_IN && c->in[nin]; nin++)
		in_size[nin] = c->in[nin] * sizeof(float);
	half.sbuf_part_size /= 2;
	compile_target = _i % 2 ? &half : chip;
	snprintf(path, sizeof(path), "hlo_large/%s.hlo.pb", c->name);
	running_load(&r, path, NCC_CAST_MATMULT, in_size, nin, &out_size, 1);
	for (unsigned int i = 0; i < nin; i++) {
		fill(c, i);
		ck_assert_int_eq(nrt_tensor_write(r.tin[i], in[i], 0, in_size[i]), 0);
	}
	rc = nrt_execute(r.model, r.in, r.out);
	ck_assert_msg(!rc, "%s: nrt_execute: %s", c->name, nrt_get_status_as_str(rc));
	ck_assert_int_eq(nrt_tensor_read(r.tout[0], got, 0, out_size), 0);
	compare(c, got);
	running_unload(&r);
	for (unsigned int i = 0; i < nin; i++)
		free(in[i]);
	free(got);
}
END_TEST

/* Five million elements that repeat are written as rows: some 40 pieces of them */
START_TEST(fills_by_rows)
{
	const struct neff_subgraph *sg;
	unsigned int pieces = 0;
	struct neff_model *m;

	compile_target = chip;
	m = compile_model(_i ? "hlo_large/filled_rows.hlo.pb" : "hlo_large/filled.hlo.pb");
	sg = &m->subgraphs[0];
	for (unsigned int e = 0; e < NEURON_ENGINES_MAX; e++)
		for (unsigned int i = 0; i < sg->engine[e].ndma; i++)
			pieces += sg->engine[e].dma[i].ndesc;
	ck_assert_uint_lt(pieces, 100);
	neff_free(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("large");
	TCase *t = tcase_create("large");
	int failed;

	chip = chip_start();
	if (!chip)
		return 99;
	tcase_add_loop_test(t, large, 0, 2 * (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_loop_test(t, fills_by_rows, 0, 2);
	suite_add_tcase(s, t);
	failed = check_run_here(s);
	nrt_close();
	return failed;
}
