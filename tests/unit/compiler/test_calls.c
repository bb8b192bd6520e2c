// SPDX-License-Identifier: MIT
/*
 * Calls of the host: StableHLO as a framework writes it, compiled, loaded and executed, with
 * functions of this file, whose calls, in their order, are what the program says. On each chip.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "chip.h"
#include "ncc.h"
#include "ncc_program.h"
#include "nrt/nrt_experimental.h"

#define MAIN(in, out) "module @m { func.func public @main(" in ") -> (" out ") {\n"
#define CALL(effect, index)                                      \
	"{has_side_effect = " effect ", api_version = 4 : i32, " \
	"mhlo.backend_config = {index = " index " : ui64}}"

/* x + f(x), of which f is number 3 */
static const char one[] =
	MAIN("%x: tensor<4xf32>", "tensor<4xf32>") "%y = stablehlo.custom_call "
						   "@neuron_python_callback(%x) " CALL(
							   "false", "3") " : (tensor<4xf32>) -> "
									 "tensor<4xf32>\n"
									 "%z = stablehlo.add %x, "
									 "%y : tensor<4xf32>\n"
									 "return %z : "
									 "tensor<4xf32>\n}}\n";

/* while x < bound: note(x); x = x + 1 */
static const char loop[] =
	MAIN("%x: tensor<f32>, %b: tensor<f32>",
	     "tensor<f32>") "%one = stablehlo.constant dense<1.0> : tensor<f32>\n"
			    "%r = stablehlo.while(%i = %x) : tensor<f32>\n"
			    "cond {\n"
			    "  %p = stablehlo.compare LT, %i, %b, FLOAT : (tensor<f32>, "
			    "tensor<f32>) -> tensor<i1>\n"
			    "  stablehlo.return %p : tensor<i1>\n"
			    "} do {\n"
			    "  stablehlo.custom_call @neuron_python_callback(%i) " CALL(
				    "true", "5") " : (tensor<f32>) -> ()\n"
						 "  %n = stablehlo.add %i, %one : tensor<f32>\n"
						 "  stablehlo.return %n : tensor<f32>\n"
						 "}\n"
						 "return %r : tensor<f32>\n}}\n";

/* if x < b: note(x) else note(b); then note(x + b) */
static const char branch[] =
	MAIN("%x: tensor<f32>, %b: tensor<f32>",
	     "tensor<f32>") "%p = stablehlo.compare LT, %x, %b, FLOAT : (tensor<f32>, tensor<f32>) "
			    "-> tensor<i1>\n"
			    "\"stablehlo.if\"(%p) ({\n"
			    "  stablehlo.custom_call @neuron_python_callback(%x) " CALL(
				    "true", "5") " : (tensor<f32>) -> ()\n"
						 "  stablehlo.return\n"
						 "}, {\n"
						 "  stablehlo.custom_call "
						 "@neuron_python_callback(%b) " CALL(
							 "true", "6") " : (tensor<f32>) -> ()\n"
								      "  stablehlo.return\n"
								      "}) : (tensor<i1>) -> ()\n"
								      "%s = stablehlo.add %x, %b : "
								      "tensor<f32>\n"
								      "stablehlo.custom_call "
								      "@neuron_python_callback(%s)"
								      " " CALL("true", "5") " : "
											    "(tenso"
											    "r<f32>"
											    ") -> "
											    "()\n"
											    "return"
											    " %s : "
											    "tensor"
											    "<f32>"
											    "\n}}"
											    "\n";

/* no result at all, and a token from call to call */
static const char tokens[] =
	"module @m { func.func public @main(%t: !stablehlo.token, %x: tensor<f32>) "
	"-> !stablehlo.token {\n"
	"%u = stablehlo.custom_call @neuron_python_callback(%t, %x) " CALL(
		"true", "5") " : (!stablehlo.token, tensor<f32>) -> !stablehlo.token\n"
			     "%v:2 = stablehlo.custom_call @neuron_python_callback(%u, %x) " CALL(
				     "true", "7") " : (!stablehlo.token, tensor<f32>) -> "
						  "(!stablehlo.token, tensor<f32>)\n"
						  "%w = stablehlo.custom_call "
						  "@neuron_python_callback(%v#0, %v#1) " CALL(
							  "true", "6") " : (!stablehlo.token, "
								       "tensor<f32>) -> "
								       "!stablehlo.token\n"
								       "return %w : "
								       "!stablehlo.token\n}}\n";

/* while x < bound: note(x); x = x + 1; with a token from iteration to iteration, which is returned */
static const char token_loop[] =
	"module @m { func.func public @main(%t: !stablehlo.token, %x: tensor<f32>, %b: tensor<f32>)"
	" -> (!stablehlo.token, tensor<f32>) {\n"
	"%one = stablehlo.constant dense<1.0> : tensor<f32>\n"
	"%r:2 = stablehlo.while(%u = %t, %i = %x) : !stablehlo.token, tensor<f32>\n"
	"cond {\n"
	"  %p = stablehlo.compare LT, %i, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
	"  stablehlo.return %p : tensor<i1>\n"
	"} do {\n"
	"  %v = stablehlo.custom_call @neuron_python_callback(%u, %i) " CALL(
		"true", "5") " : (!stablehlo.token, tensor<f32>) -> !stablehlo.token\n"
			     "  %n = stablehlo.add %i, %one : tensor<f32>\n"
			     "  stablehlo.return %v, %n : !stablehlo.token, tensor<f32>\n"
			     "}\n"
			     "return %r#0, %r#1 : !stablehlo.token, tensor<f32>\n}}\n";

#define MOST 256
static struct {
	unsigned int n;
	uint64_t index[MOST];
	float value[MOST];
	bool fails;
	nrt_model_t *again; /* what function 8 executes */
} seen;

static nrt_tensor_t *add(nrt_tensor_set_t *set, const char *name, void *value, size_t size)
{
	nrt_tensor_t *t;

	ck_assert_int_eq(nrt_tensor_allocate_empty(name, &t), 0);
	ck_assert_int_eq(nrt_tensor_attach_buffer(t, value, size), 0);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set, name, t), 0);
	return t;
}

static NRT_STATUS run(nrt_model_t *model, float *in, unsigned int nin, float *out, size_t n)
{
	nrt_tensor_set_t *sin, *sout;
	nrt_tensor_t *t[3];
	unsigned int k = 0;
	NRT_STATUS status;

	ck_assert_int_eq(nrt_allocate_tensor_set(&sin), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&sout), 0);
	if (nin == 1)
		t[k++] = add(sin, "input0", in, n * sizeof(*in));
	for (unsigned int i = 0; nin == 2 && i < 2; i++)
		t[k++] = add(sin, i ? "input1" : "input0", &in[i], sizeof(*in));
	if (out)
		t[k++] = add(sout, "output0", out, n * sizeof(*out));
	status = nrt_execute(model, sin, sout);
	nrt_destroy_tensor_set(&sin);
	nrt_destroy_tensor_set(&sout);
	while (k)
		nrt_tensor_free(&t[--k]);
	return status;
}

/* Notes what it is given; its results are twice that */
static int function(void *arg, uint64_t index, uint32_t nin, const struct nrtx_host_array *in,
		    uint32_t nout, const struct nrtx_host_array *out, char *message, size_t size)
{
	const float *x = nin ? in[0].data : NULL;

	ck_assert_ptr_eq(arg, &seen);
	ck_assert_str_eq(in[0].type, "f32");
	ck_assert_uint_lt(seen.n, MOST);
	seen.index[seen.n] = index;
	seen.value[seen.n++] = x[0];
	if (seen.again) {
		float a[2] = { 3, 5 }, b = 0;
		nrt_model_t *model = seen.again;

		seen.again = NULL;
		ck_assert_msg(!run(model, a, 2, &b, 1), "%s", nrtx_error_details());
		ck_assert(b == 8);
	}
	if (seen.fails) {
		snprintf(message, size, "Error: no more of that");
		return 1;
	}
	for (uint32_t i = 0; nout && i < (in[0].ndim ? in[0].shape[0] : 1); i++)
		((float *)out[0].data)[i] = 2 * x[i];
	return 0;
}

static void compile(const char *text, void **neff, size_t *size)
{
	static const struct neuron_target *target;
	struct ncc_options opt = { .lnc = chip_lnc(), .divide_from = 1 };
	struct ncc_error err;

	target = target ? target : chip_start();
	ck_assert_ptr_nonnull(target);
	opt.target = target;
	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, neff, size, &err), "%s", err.text);
}

static nrt_model_t *load(const char *text)
{
	const struct nrtx_load_params params = { .timeout_ms = 20000 };
	nrt_model_t *model;
	size_t size;
	void *neff;

	memset(&seen, 0, sizeof(seen));
	compile(text, &neff, &size);
	ck_assert_int_eq(nrtx_host_function(NCC_HOST_TARGET, function, &seen), 0);
	ck_assert_msg(!nrtx_load(neff, size, &params, &model), "%s", nrtx_error_details());
	free(neff);
	return model;
}

static void expect(unsigned int n, const uint64_t *index, const float *value)
{
	ck_assert_uint_eq(seen.n, n);
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_uint_eq(seen.index[i], index[i]);
		ck_assert(seen.value[i] == value[i]);
	}
	seen.n = 0;
}

START_TEST(results)
{
	nrt_model_t *model = load(one);
	float x[4] = { 1, -2, 0.5f, 1000 }, y[4];

	for (int round = 0; round < 3; round++) {
		ck_assert_int_eq(run(model, x, 1, y, 4), 0);
		for (int i = 0; i < 4; i++)
			ck_assert(y[i] == 3 * x[i]);
		expect(1, (uint64_t[]){ 3 }, (float[]){ 1 });
	}
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
}
END_TEST

static const char *const loops[] = { loop, token_loop };

START_TEST(iterations)
{
	nrt_model_t *model = load(loops[_i]);
	float x[2] = { 7, 11 }, y = 0;

	ck_assert_int_eq(run(model, x, 2, &y, 1), 0);
	ck_assert(y == 11);
	expect(4, (uint64_t[]){ 5, 5, 5, 5 }, (float[]){ 7, 8, 9, 10 });
	x[0] = 12; /* none */
	ck_assert_int_eq(run(model, x, 2, &y, 1), 0);
	ck_assert(y == 12);
	expect(0, NULL, NULL);
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
}
END_TEST

START_TEST(branches)
{
	nrt_model_t *model = load(branch);
	float x[2] = { 7, 11 }, y = 0;

	ck_assert_int_eq(run(model, x, 2, &y, 1), 0);
	expect(2, (uint64_t[]){ 5, 5 }, (float[]){ 7, 18 });
	x[0] = 20;
	ck_assert_int_eq(run(model, x, 2, &y, 1), 0);
	expect(2, (uint64_t[]){ 6, 5 }, (float[]){ 11, 31 });
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
}
END_TEST

START_TEST(token)
{
	nrt_model_t *model = load(tokens);
	float x = 9;

	ck_assert_int_eq(run(model, &x, 1, NULL, 1), 0);
	expect(3, (uint64_t[]){ 5, 7, 6 }, (float[]){ 9, 9, 18 });
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
}
END_TEST

START_TEST(failure)
{
	nrt_model_t *model = load(loop);
	float x[2] = { 7, 11 }, y = 0;

	seen.fails = true;
	ck_assert_int_eq(run(model, x, 2, &y, 1), NRT_FAILURE);
	ck_assert_msg(strstr(nrtx_error_details(), "neuron_python_callback(5): "
						   "Error: no more of that"),
		      "%s", nrtx_error_details());
	expect(1, (uint64_t[]){ 5 }, (float[]){ 7 });
	seen.fails = false;
	ck_assert_int_eq(run(model, x, 2, &y, 1), 0);
	ck_assert(y == 11);
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
}
END_TEST

/* A function executes another program on the core, and this one goes on as if nothing had been. */
START_TEST(within)
{
	nrt_model_t *model = load(loop), *other = load(branch);
	float x[2] = { 7, 9 }, y = 0;

	seen.again = other;
	ck_assert_msg(!run(model, x, 2, &y, 1), "%s", nrtx_error_details());
	ck_assert(y == 9);
	expect(4, (uint64_t[]){ 5, 5, 5, 5 }, (float[]){ 7, 3, 8, 8 });
	ck_assert_int_eq(nrt_unload(other), 0);
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
}
END_TEST

/* x + 1, noted, and so on: each call comes behind the one before, whose number it does not need */
START_TEST(many)
{
	const unsigned int n = 200;
	char *text = NULL;
	float x = 7, y = 0;
	nrt_model_t *model;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, MAIN("%%v0: tensor<f32>", "tensor<f32>") "%%one = stablehlo.constant dense<1.0> "
							    ": tensor<f32>\n");
	for (unsigned int i = 0; i < n; i++)
		fprintf(f,
			"%%v%u = stablehlo.add %%v%u, %%one : tensor<f32>\n"
			"stablehlo.custom_call @neuron_python_callback(%%v%u) " CALL(
				"true", "%u") " : (tensor<f32>) -> ()\n",
			i + 1, i, i + 1, i + 1);
	fprintf(f, "return %%v%u : tensor<f32>\n}}\n", n);
	fclose(f);
	model = load(text);
	ck_assert_msg(!run(model, &x, 1, &y, 1), "%s", nrtx_error_details());
	ck_assert(y == 7 + n);
	ck_assert_uint_eq(seen.n, n);
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_uint_eq(seen.index[i], i + 1);
		ck_assert(seen.value[i] == 8 + i);
	}
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
	free(text);
}
END_TEST

START_TEST(nobody)
{
	const struct nrtx_load_params params = { 0 };
	nrt_model_t *model;
	size_t size;
	void *neff;

	compile(one, &neff, &size);
	ck_assert_int_eq(nrtx_host_function(NCC_HOST_TARGET, function, &seen), 0);
	ck_assert_int_eq(nrtx_host_function(NCC_HOST_TARGET, NULL, NULL), 0);
	ck_assert_int_eq(nrtx_load(neff, size, &params, &model), NRT_INVALID);
	ck_assert_msg(strstr(nrtx_error_details(), "neuron_python_callback (index 3), "
						   "a function of the host's"),
		      "%s", nrtx_error_details());
	free(neff);
	nrt_close();
}
END_TEST

static const struct {
	const char *config, *why;
} bad[] = {
	{ "", "a configuration without the function's number" },
	{ ", mhlo.backend_config = {index = 0 : ui64}", "without the function's number" },
	{ ", mhlo.backend_config = {name = 7 : i64}", "without the function's number" },
};

START_TEST(refused)
{
	const struct ncc_options opt = { .target = neuron_target_of_name("trn1") };
	struct ncc_error err;
	char text[512];
	size_t size;
	void *neff;

	snprintf(text, sizeof(text),
		 MAIN("%%x: tensor<4xf32>", "tensor<4xf32>") "%%y = stablehlo.custom_call "
							     "@neuron_python_callback(%%x) "
							     "{api_version = 4 : i32%s}"
							     " : (tensor<4xf32>) -> "
							     "tensor<4xf32>\nreturn %%y : "
							     "tensor<4xf32>\n}}\n",
		 bad[_i].config);
	ck_assert_int_eq(ncc_compile(text, strlen(text), &opt, &neff, &size, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, bad[_i].why), "'%s' does not say '%s'", err.text,
		      bad[_i].why);
}
END_TEST

START_TEST(told)
{
	struct ncc_program *p;
	struct ncc_error err;

	ck_assert_msg(!ncc_program_read(tokens, strlen(tokens), &p, &err), "%s", err.text);
	ck_assert_uint_eq(p->ncalls, 3);
	ck_assert_uint_eq(p->call[0] + p->call[1] + p->call[2], 18);
	ck_assert_uint_eq(p->nin, 2);
	ck_assert_uint_eq(p->nout, 1);
	ncc_program_free(p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("calls of the host");
	TCase *t = tcase_create("calls of the host");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, results);
	tcase_add_loop_test(t, iterations, 0, sizeof(loops) / sizeof(loops[0]));
	tcase_add_test(t, branches);
	tcase_add_test(t, token);
	tcase_add_test(t, failure);
	tcase_add_test(t, within);
	tcase_add_test(t, many);
	tcase_add_test(t, nobody);
	tcase_add_loop_test(t, refused, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(t, told);
	suite_add_tcase(s, t);
	return check_run(s);
}
