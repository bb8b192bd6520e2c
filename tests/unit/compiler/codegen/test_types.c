// SPDX-License-Identifier: MIT
/*
 * Products for the chips after the first, in each type that --auto-cast-type names and in fp32, to
 * the bit: operands rounded once, then fused multiply-adds in the order of the contracted dimension
 * (docs/isa.md, Tensor engine). And what a target has not.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "ir/ir.h"
#include "ncc.h"
#include "nrt/nrtx.h"

#define M 20
#define K 40
#define N 30

static const char text[] = "module \"m\"\n"
			   "%0 = f32[20,40] parameter index=0 \"a\"\n"
			   "%1 = f32[40,30] parameter index=1 \"b\"\n"
			   "%2 = f32[20,30] dot %0, %1 lhs_batch={} rhs_batch={} lhs_contract={1} "
			   "rhs_contract={0} \"d\"\n"
			   "return %2\n";

static const struct {
	const char *target, *machine;
} chips[] = { { "trn1", "emu:trn1.2xlarge" },
	      { "inf2", "emu:inf2.xlarge" },
	      { "trn2", "emu:trn2.3xlarge" },
	      /* NeuronCore-v2 and later execute programs for v1 */
	      { "inf1", "emu:trn1.2xlarge" },
	      { "inf1", "emu:trn2.3xlarge" } };

/* 0: --auto-cast none, which keeps fp32 */
static const uint8_t types[] = { 0, NEURON_DT_BF16, NEURON_DT_FP16, NEURON_DT_TF32,
				 NEURON_DT_FP8_E4 };
#define TYPES (sizeof(types) / sizeof(types[0]))

static void fill(float *x, unsigned int n, uint32_t seed)
{
	for (unsigned int i = 0; i < n; i++) {
		seed = seed * 1664525 + 1013904223;
		x[i] = ldexpf((float)(int32_t)seed, -31 + (int)(seed >> 4 & 7));
	}
}

static float rounded(uint8_t dtype, float x)
{
	uint32_t raw = 0;

	if (!dtype)
		return x;
	ncc_set(dtype, &raw, 0, (double)x);
	return (float)ncc_get(dtype, &raw, 0);
}

static nrt_tensor_t *tensor(nrt_tensor_set_t *set, const char *name, float *x, size_t size)
{
	nrt_tensor_t *t;

	ck_assert_int_eq(nrt_tensor_allocate_empty(name, &t), 0);
	ck_assert_int_eq(nrt_tensor_attach_buffer(t, x, size), 0);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set, name, t), 0);
	return t;
}

START_TEST(products)
{
	const uint8_t type = types[_i % TYPES];
	const struct ncc_options opt = { .framework = NCC_IR,
					 .target = neuron_target_of_name(chips[_i / TYPES].target),
					 .auto_cast = type ? NCC_CAST_MATMULT : NCC_CAST_NONE,
					 .auto_cast_type = type };
	static float a[M][K], b[K][N], got[M][N];
	nrt_tensor_set_t *in, *out;
	struct ncc_error err;
	nrt_tensor_t *t[3];
	nrt_model_t *model;
	void *neff;
	size_t size;

	if (opt.target == neuron_target_of_name("inf1") && type != NEURON_DT_BF16 &&
	    type != NEURON_DT_FP16)
		return; /* refused_on_inf1 */
	fill(a[0], M * K, 1 + (uint32_t)_i);
	fill(b[0], K * N, 77 + (uint32_t)_i);
	ck_assert_int_eq(nrtx_machine_set(chips[_i / TYPES].machine), 0);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), 0);
	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, &neff, &size, &err), "%s", err.text);
	ck_assert_msg(!nrt_load(neff, size, 0, 1, &model), "%s", nrtx_error_details());
	ck_assert_int_eq(nrt_allocate_tensor_set(&in), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&out), 0);
	t[0] = tensor(in, "input0", a[0], sizeof(a));
	t[1] = tensor(in, "input1", b[0], sizeof(b));
	t[2] = tensor(out, "output0", got[0], sizeof(got));
	ck_assert_int_eq(nrt_execute(model, in, out), 0);
	for (unsigned int i = 0; i < M; i++) {
		for (unsigned int j = 0; j < N; j++) {
			float sum = 0;

			for (unsigned int k = 0; k < K; k++)
				sum = fmaf(rounded(type, a[i][k]), rounded(type, b[k][j]), sum);
			ck_assert_msg(!memcmp(&sum, &got[i][j], 4), "[%u,%u] is %a, want %a", i, j,
				      (double)got[i][j], (double)sum);
		}
	}
	nrt_destroy_tensor_set(&in);
	nrt_destroy_tensor_set(&out);
	for (unsigned int i = 0; i < 3; i++)
		nrt_tensor_free(&t[i]);
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
	free(neff);
}
END_TEST

START_TEST(refused_on_inf1)
{
	struct ncc_options opt = { .framework = NCC_IR, .auto_cast_type = NEURON_DT_TF32 };
	struct ncc_error err;
	void *neff;
	size_t size;

	ck_assert_int_lt(ncc_compile(text, strlen(text), &opt, &neff, &size, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "tf32"));
	ck_assert_ptr_nonnull(strstr(err.text, "inf1"));
}
END_TEST

/* Whatever number a caller gives: the four types that --auto-cast-type has, and no other */
START_TEST(cast_types)
{
	unsigned int taken = 0;

	for (unsigned int t = 0; t < 256; t++) {
		const struct ncc_options opt = { .framework = NCC_IR,
						 .target = neuron_target_of_name("trn1"),
						 .auto_cast = NCC_CAST_MATMULT,
						 .auto_cast_type = (uint8_t)t };
		struct ncc_error err;
		void *neff;
		size_t size;

		if (!ncc_compile(text, strlen(text), &opt, &neff, &size, &err)) {
			free(neff);
			taken++;
			continue;
		}
		ck_assert_ptr_nonnull(strstr(err.text, "operands of products cannot be cast"));
	}
	ck_assert_uint_eq(taken, TYPES); /* 0 stands for bf16 */
}
END_TEST

/* A program for NeuronCore-v2 or v3 is not loaded on v1 */
START_TEST(foreign_program)
{
	const struct ncc_options opt = { .framework = NCC_IR,
					 .target = neuron_target_of_name("trn1"),
					 .auto_cast = NCC_CAST_NONE };
	struct ncc_error err;
	nrt_model_t *model;
	void *neff;
	size_t size;

	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), 0);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), 0);
	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, &neff, &size, &err), "%s", err.text);
	ck_assert_int_ne(nrt_load(neff, size, 0, 1, &model), 0);
	ck_assert_msg(strstr(nrtx_error_details(), "engine 'dve' is not of this generation"), "%s",
		      nrtx_error_details());
	nrt_close();
	free(neff);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("types");
	TCase *t = tcase_create("types");

	tcase_add_loop_test(t, products, 0, (int)(TYPES * sizeof(chips) / sizeof(chips[0])));
	tcase_add_test(t, refused_on_inf1);
	tcase_add_test(t, cast_types);
	tcase_add_test(t, foreign_program);
	suite_add_tcase(s, t);
	return check_run(s);
}
