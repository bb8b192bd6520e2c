/* SPDX-License-Identifier: MIT */
/*
 * Activation functions against results that mpmath rounded correctly (tests/data/isa), their limits
 * and signs, and reciprocal square roots against exact integer arithmetic; in each set of kernels.
 */
#include <math.h>
#include <stdio.h>

#include "../check_main.h"
#include "machine.h"

#ifndef RSQRT_STRIDE
#define RSQRT_STRIDE 61
#endif

static uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static float of_bits(uint32_t u)
{
	float f;

	memcpy(&f, &u, 4);
	return f;
}

static float eval(const struct exec_kernels *kern, uint8_t func, float alpha, float x)
{
	float v[16] = { x };

	kern->act(func, alpha, v, 1);
	return v[0];
}

static int func_index(const char *name)
{
	for (int i = 0; i < NEURON_ACT_COUNT; i++)
		if (!strcmp(name, neuron_isa_funcs[i]))
			return i;
	ck_abort_msg("unknown function %s", name);
	return -1;
}

static uint32_t ulps(uint32_t a, uint32_t b)
{
	if (a >> 31 != b >> 31)
		return UINT32_MAX;
	return a > b ? a - b : b - a;
}

/* At most 1 ulp anywhere, and nearly always the nearest number */
static void check_golden(const struct exec_kernels *kern)
{
	unsigned int off[NEURON_ACT_COUNT] = { 0 }, count[NEURON_ACT_COUNT] = { 0 };
	char line[128], name[64];
	uint32_t x, y, got;
	int func = -1;
	FILE *f = fopen(ISA_DATA "/act_golden.txt", "r");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "func %63s", name) == 1) {
			func = func_index(name);
			continue;
		}
		if (sscanf(line, "%x %x", &x, &y) != 2)
			continue;
		got = bits_of(eval(kern, func, 0, of_bits(x)));
		ck_assert_msg(ulps(got, y) <= 1, "%s: %s(%08x) is %08x, want %08x", kern->name,
			      neuron_isa_funcs[func], x, got, y);
		count[func]++;
		off[func] += got != y;
	}
	fclose(f);
	for (int i = 0; i < NEURON_ACT_COUNT; i++)
		ck_assert_msg(off[i] * 50 <= count[i], "%s: %s: %u of %u results not nearest",
			      kern->name, neuron_isa_funcs[i], off[i], count[i]);
	ck_assert_uint_gt(count[NEURON_ACT_GELU], 100);
	ck_assert_uint_gt(count[NEURON_ACT_GELU_DX], 100);
}

START_TEST(test_golden)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int n = machine_kernels(kern);

	for (unsigned int i = 0; i < n; i++)
		check_golden(kern[i]);
}
END_TEST

/*
 * Each set of kernels has a way of its own to exp and GELU, and the same bits. For the first two
 * the quicker way of AVX-512 lies beyond the middle between two numbers.
 */
static const struct {
	uint8_t func;
	uint32_t first, step, n;
} same[] = {
	{ NEURON_ACT_EXP, 0x4283070f, 1, 1 },	    { NEURON_ACT_EXP, 0xbf81eadf, 1, 1 },
	{ NEURON_ACT_EXP, 0, 9973, 430000 },	    { NEURON_ACT_GELU, 0, 9973, 430000 },
	{ NEURON_ACT_EXP, 0xc2aea000, 1, 400000 }, /* subnormal results, then 0 */
	{ NEURON_ACT_GELU, 0xc1500000, 5, 400000 }, { NEURON_ACT_EXP, 0x42b17100, 1, 1000 },
	{ NEURON_ACT_GELU_DX, 0, 9973, 430000 },    { NEURON_ACT_SILU_DX, 0, 9973, 430000 },
	{ NEURON_ACT_ERF_DX, 0, 9973, 430000 },	    { NEURON_ACT_GELU_SIGMOID_DX, 0, 9973, 430000 },
};

static void check_same(const struct exec_kernels *kern, const struct exec_kernels *plain, int i)
{
	for (uint32_t k = 0; k < same[i].n; k += 16) {
		float a[16], b[16];

		for (uint32_t j = 0; j < 16; j++)
			a[j] = b[j] = of_bits(same[i].first + (k + j) * same[i].step);
		kern->act(same[i].func, 0, a, 16);
		plain->act(same[i].func, 0, b, 16);
		for (uint32_t j = 0; j < 16; j++)
			ck_assert_msg(bits_of(a[j]) == bits_of(b[j]) ||
					      (isnan(a[j]) && isnan(b[j])),
				      "%s: %s(%08x) is %08x, %s has %08x", kern->name,
				      neuron_isa_funcs[same[i].func],
				      same[i].first + (k + j) * same[i].step, bits_of(a[j]),
				      plain->name, bits_of(b[j]));
	}
}

START_TEST(test_same_bits)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int n = machine_kernels(kern);

	for (unsigned int i = 1; i < n; i++)
		check_same(kern[i], kern[0], _i);
}
END_TEST

#define INF 0x7f800000u
#define NEG 0x80000000u
#define NAN_ 0x7fc00000u /* any NaN */
#define HALF 0x3f000000u
#define ONE 0x3f800000u
#define PIO2 0x3fc90fdbu
#define LN2 0x3f317218u

/* Results at +0, -0, +Inf, -Inf (docs/isa.md, Activation functions) */
static const struct {
	uint8_t func;
	uint32_t pz, nz, pinf, ninf;
} limits[] = {
	{ NEURON_ACT_COPY, 0, NEG, INF, NEG | INF },
	{ NEURON_ACT_SQUARE, 0, 0, INF, INF },
	{ NEURON_ACT_SIGMOID, HALF, HALF, ONE, 0 },
	{ NEURON_ACT_RELU, 0, 0, INF, 0 },
	{ NEURON_ACT_PRELU, 0, NEG, INF, NEG | INF },
	{ NEURON_ACT_GELU, 0, NEG, INF, NEG },
	{ NEURON_ACT_GELU_TANH, 0, NEG, INF, NEG },
	{ NEURON_ACT_GELU_SIGMOID, 0, NEG, INF, NEG },
	{ NEURON_ACT_SILU, 0, NEG, INF, NEG },
	{ NEURON_ACT_TANH, 0, NEG, ONE, NEG | ONE },
	{ NEURON_ACT_SOFTPLUS, LN2, LN2, INF, 0 },
	{ NEURON_ACT_MISH, 0, NEG, INF, NEG },
	{ NEURON_ACT_ERF, 0, NEG, ONE, NEG | ONE },
	{ NEURON_ACT_EXP, ONE, ONE, INF, 0 },
	{ NEURON_ACT_SIGN, 0, NEG, ONE, NEG | ONE },
	{ NEURON_ACT_ABS, 0, 0, INF, INF },
	{ NEURON_ACT_LOG, NEG | INF, NEG | INF, INF, NAN_ },
	{ NEURON_ACT_SIN, 0, NEG, NAN_, NAN_ },
	{ NEURON_ACT_ARCTAN, 0, NEG, PIO2, NEG | PIO2 },
	{ NEURON_ACT_SQRT, 0, NEG, INF, NAN_ },
	{ NEURON_ACT_RSQRT, INF, NEG | INF, 0, NAN_ },
	{ NEURON_ACT_RECIPROCAL, INF, NEG | INF, 0, NEG },
	{ NEURON_ACT_GELU_DX, HALF, HALF, ONE, NEG },
	{ NEURON_ACT_GELU_SIGMOID_DX, HALF, HALF, ONE, NEG },
	{ NEURON_ACT_SILU_DX, HALF, HALF, ONE, NEG },
	{ NEURON_ACT_ERF_DX, 0x3f906ebb, 0x3f906ebb, 0, 0 },
};

static void check_limit(const struct exec_kernels *kern, uint8_t func, uint32_t x, uint32_t want)
{
	float got = eval(kern, func, 2, of_bits(x));

	if (want == NAN_)
		ck_assert_msg(isnan(got), "%s: %s(%08x) is not NaN", kern->name,
			      neuron_isa_funcs[func], x);
	else
		ck_assert_msg(bits_of(got) == want, "%s: %s(%08x) is %08x, want %08x", kern->name,
			      neuron_isa_funcs[func], x, bits_of(got), want);
}

START_TEST(test_limits)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int n = machine_kernels(kern);

	ck_assert_uint_eq(sizeof(limits) / sizeof(limits[0]), NEURON_ACT_COUNT);
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t f = limits[_i].func;

		check_limit(kern[i], f, 0, limits[_i].pz);
		check_limit(kern[i], f, NEG, limits[_i].nz);
		check_limit(kern[i], f, INF, limits[_i].pinf);
		check_limit(kern[i], f, NEG | INF, limits[_i].ninf);
		check_limit(kern[i], f, 0x7fc00000, NAN_);
		check_limit(kern[i], f, 0xff800001, NAN_);
	}
}
END_TEST

/* The documented value of the hardware's sine */
START_TEST(test_sin_of_nine)
{
	ck_assert_float_eq_tol(eval(exec_kernels_best(), NEURON_ACT_SIN, 0, 9.0f), 27.65f, 0.005f);
}
END_TEST

/* Is r the fp32 number nearest to 1 / sqrt(m * 2^e)? m has 24 bits, r = q * 2^s with 24 bits */
static bool rsqrt_nearest(uint32_t x, float r)
{
	/* x = m * 2^(2h) with m < 2^25; then r^2 m 2^(2h) against 1, midpoints included */
	int ex, er;
	double m = ldexp(frexp(of_bits(x), &ex), 24), q = ldexp(frexp(r, &er), 25);
	int shift = -((ex - 24) + 2 * (er - 25));
	__int128 lo, hi, one;

	/* x * (r -+ half an ulp)^2 scaled by 2^shift; q has its half ulp at bit 0 */
	ck_assert_int_ge(shift, 0);
	ck_assert_int_lt(shift, 120);
	one = (__int128)1 << shift;
	lo = (__int128)m * ((__int128)q - 1) * ((__int128)q - 1);
	hi = (__int128)m * ((__int128)q + 1) * ((__int128)q + 1);
	return lo < one && hi > one;
}

/* Two binades hold every significand; a stride visits a part of them */
START_TEST(test_rsqrt_correctly_rounded)
{
	const struct exec_kernels *kern = exec_kernels_best();

	for (uint32_t x = ONE; x < ONE + (2u << 23); x += RSQRT_STRIDE) {
		float a[16] = { of_bits(x) }, b[16] = { 0 };

		kern->alu(NEURON_ALU_RSQRT, a, exec_array(a), exec_array(b), 1);
		if (!(x == ONE && a[0] == 1))
			ck_assert_msg(rsqrt_nearest(x, a[0]), "rsqrt(%08x) is %08x", x,
				      bits_of(a[0]));
	}
}
END_TEST

static const struct {
	float a, b, want;
} powers[] = {
	{ 2, 10, 1024 },
	{ -2, 3, -8 },
	{ -2, 2, 4 },
	{ 0, 0, 1 },
	{ NAN, 0, 1 },
	{ 1, NAN, 1 },
	{ -1, INFINITY, 1 },
	{ 0, -1, INFINITY },
	{ -0.0f, -3, -INFINITY },
	{ -0.0f, 3, -0.0f },
	{ -0.0f, 2, 0 },
	{ -8, 1.0f / 3, NAN },
	{ -INFINITY, 3, -INFINITY },
	{ -INFINITY, -3, -0.0f },
	{ -INFINITY, 0.5f, INFINITY },
	{ 0.5f, INFINITY, 0 },
	{ 2, -INFINITY, 0 },
	{ 2, 200, INFINITY },
	{ 2, -149, 0x1p-149f },
	{ -1, 16777216.0f, 1 },
	{ -1, 16777215.0f, -1 },
	{ 10, -45, 1.4e-45f },
	{ NAN, 1, NAN },
};

START_TEST(test_pow_special_cases)
{
	const struct exec_kernels *kern[MACHINE_KERNELS];
	unsigned int n = machine_kernels(kern);

	for (unsigned int i = 0; i < n; i++) {
		float a[16] = { powers[_i].a }, b[16] = { powers[_i].b };

		kern[i]->alu(NEURON_ALU_POW, a, exec_array(a), exec_array(b), 1);
		if (isnan(powers[_i].want))
			ck_assert(isnan(a[0]));
		else
			ck_assert_msg(bits_of(a[0]) == bits_of(powers[_i].want), "%g to %g is %g",
				      powers[_i].a, powers[_i].b, a[0]);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("act");
	TCase *tc = tcase_create("functions");

	tcase_add_test(tc, test_golden);
	tcase_add_loop_test(tc, test_same_bits, 0, sizeof(same) / sizeof(same[0]));
	tcase_add_loop_test(tc, test_limits, 0, sizeof(limits) / sizeof(limits[0]));
	tcase_add_test(tc, test_sin_of_nine);
	tcase_add_test(tc, test_rsqrt_correctly_rounded);
	tcase_add_loop_test(tc, test_pow_special_cases, 0, sizeof(powers) / sizeof(powers[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
