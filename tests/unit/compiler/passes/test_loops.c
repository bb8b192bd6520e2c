// SPDX-License-Identifier: MIT
/*
 * Loops of the IR: invalid ones are refused, iterations are counted, a loop that does not end ends
 * at the model's timeout and leaves the model usable, and values keep their iteration. The results
 * of loops are compared with JAX's in test_golden.c (tests/data/hlo_ops/while_*). Of a conditional,
 * a branch that costs much and is not taken is not executed.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../check_main.h"
#include "chip.h"
#include "files.h"
#include "ir/ir.h"
#include "neff.h"
#include "neuron/hw/ext.h"

#define HEAD                                    \
	"module \"m\"\n"                        \
	"%0 = s32[] parameter index=0 \"n\"\n"  \
	"%1 = s32[] constant {9} \"nine\"\n"    \
	"%2 = pred[] compare-lt %0, %1 \"p\"\n" \
	"%3 = pred[] loop %2 \"l\"\n"           \
	"%4 = s32[] state %3, %0 \"s\"\n"       \
	"%5 = s32[] add %4, %1 \"t\"\n"         \
	"%6 = pred[] compare-lt %5, %1 \"q\"\n"
#define SECOND                             \
	"%7 = pred[] loop %2 \"l2\"\n"     \
	"%8 = s32[] state %7, %1 \"s2\"\n" \
	"%9 = s32[] add %8, %4 \"both\"\n" \
	"%10 = pred[] compare-lt %9, %1 \"r\"\n"

static const struct {
	const char *text, *why;
} bad[] = {
	{ HEAD "return %4", "loop 'l': has no end" },
	{ HEAD "%7 = pred[] loop-end %3, %6, %4, %5 \"e\"\nreturn %5", "add 't': a result of the "
								       "module that is of one "
								       "iteration of a loop" },
	{ HEAD "%7 = pred[] loop-end %3, %6, %4, %5 \"e\"\n"
	       "%8 = pred[] loop-end %3, %6, %4, %5 \"f\"\n"
	       "%9 = s32[] loop-result %7, %4 \"r\"\nreturn %9",
	  "loop-end 'f': a second end of the loop" },
	{ HEAD "%7 = pred[] and %3, %2 \"a\"\nreturn %7", "and 'a': operand 0 is a loop" },
	{ HEAD "%7 = pred[] loop-end %3, %5 \"e\"\nreturn %0", "loop-end 'e': operand 1 is not a "
							       "scalar predicate" },
	{ HEAD "%7 = pred[] loop-end %3, %6, %4 \"e\"\nreturn %0", "loop-end 'e': 3 operands" },
	{ HEAD "%7 = pred[] loop-end %3, %6, %0, %5 \"e\"\nreturn %0", "loop-end 'e': "
								       "operand 2 is no state" },
	{ HEAD "%7 = pred[] loop-end %3, %6, %4, %6 \"e\"\nreturn %0", "state 's': type s32, "
								       "operand 'q' has pred" },
	{ HEAD "%7 = s32[] state %2, %0 \"x\"\nreturn %0", "state 'x': operand 0 is no loop" },
	{ HEAD "%7 = pred[] loop-end %3, %6 \"e\"\n"
	       "%8 = s32[] loop-result %7, %4 \"r\"\nreturn %8",
	  "loop-result 'r': operand 1 is another loop's" },
	{ HEAD "%7 = pred[] loop %5 \"l2\"\nreturn %0", "loop 'l2': operand 0 is "
							"not a scalar predicate" },
	{ HEAD SECOND "%11 = pred[] loop-end %3, %10, %4, %9 \"e\"\n"
		      "%12 = pred[] loop-end %7, %10, %8, %9 \"e2\"\nreturn %0",
	  "is in a loop that is in it" },
	/* used together outside both */
	{ HEAD "%7 = pred[] loop %2 \"l2\"\n%8 = s32[] state %7, %1 \"s2\"\n"
	       "%9 = pred[] loop-end %3, %6, %4, %5 \"e\"\n"
	       "%10 = pred[] loop-end %7, %2, %8, %1 \"e2\"\n"
	       "%11 = s32[] add %4, %8 \"both\"\nreturn %11",
	  "add 'both': depends on two loops of which none is in the other" },
	{ HEAD "return %3", "loop 'l': has no end" },
};

START_TEST(refused)
{
	const struct ncc_options opt = { .framework = NCC_IR };
	struct ncc_error err;
	size_t size;
	void *neff;

	ck_assert(ncc_compile(bad[_i].text, strlen(bad[_i].text), &opt, &neff, &size, &err) < 0);
	ck_assert_ptr_null(neff);
	ck_assert_msg(strstr(err.text, bad[_i].why), "'%s' does not say '%s'", err.text,
		      bad[_i].why);
}
END_TEST

/* The number of iterations that the compiler finds */

static const struct {
	const char *before, *step, *bound, *compare;
	uint64_t n; /* of the loop that is left, several turns each; 0: it is not known */
	uint64_t timeout_ms; /* at least */
} counted[] = {
	{ "0", "add %6, %1", "5000", "lt %7, %2", 100, 30050 }, /* 50 turns an iteration */
	{ "0", "add %1, %6", "5000", "gt %2, %7", 100, 30050 },
	{ "0", "add %6, %1", "4999", "le %7, %2", 100, 30050 },
	{ "5000", "subtract %6, %1", "0", "gt %7, %2", 100, 30050 },
	{ "5000", "subtract %6, %1", "1", "ge %7, %2", 100, 30050 },
	{ "-5", "add %6, %1", "4995", "ne %7, %2", 100, 30050 },
	{ "0", "add %6, %1", "5003", "lt %7, %2", 78, 30039 }, /* 64, and 11 left over */
	{ "0", "add %6, %1", "2147483647", "lt %7, %2", 33554431, 3600000 },
	{ "0", "subtract %6, %1", "5000", "lt %7, %2", 0, 30000 }, /* around the world */
	{ "5000", "add %6, %1", "5000", "lt %7, %2", 0, 30000 }, /* not entered */
	{ "0", "add %6, %1", "5000", "eq %7, %2", 0, 30000 },
	{ "0", "multiply %6, %1", "5000", "lt %7, %2", 0, 30000 },
	{ "0", "add %6, %0", "5000", "lt %7, %2", 0, 30000 }, /* by a number that is an input */
	{ "0", "add %6, %1", "5000", "lt %7, %0", 0, 30000 },
};

START_TEST(iterations)
{
	const struct ncc_options opt = {
		.framework = NCC_IR, .target = chip_start(), .lnc = chip_lnc(), .divide_from = 1
	};
	const struct neff_limits limits = { .target = opt.target };
	struct nrtx_load_params params = { 0 };
	struct nrtx_model_info info;
	struct neff_model *m;
	struct neff_error nerr;
	struct ncc_error err;
	nrt_model_t *model;
	char text[1024], first[32];
	uint32_t timeout[2];
	size_t size;
	void *neff;

	strcpy(first, counted[_i].compare);
	strstr(first, "%7")[1] = '3'; /* the number before the loop */
	snprintf(text, sizeof(text),
		 "module \"m\"\n"
		 "%%0 = s32[] parameter index=0 \"n\"\n"
		 "%%1 = s32[] constant {1} \"one\"\n"
		 "%%2 = s32[] constant {%s} \"bound\"\n"
		 "%%3 = s32[] constant {%s} \"before\"\n"
		 "%%4 = pred[] compare-%s \"p\"\n"
		 "%%5 = pred[] loop %%4 \"l\"\n"
		 "%%6 = s32[] state %%5, %%3 \"s\"\n"
		 "%%7 = s32[] %s \"t\"\n"
		 "%%8 = pred[] compare-%s \"q\"\n"
		 "%%9 = pred[] loop-end %%5, %%8, %%6, %%7 \"e\"\n"
		 "%%10 = s32[] loop-result %%9, %%6 \"r\"\n"
		 "return %%10\n",
		 counted[_i].bound, counted[_i].before, first, counted[_i].step,
		 counted[_i].compare);
	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, &neff, &size, &err), "%s", err.text);
	ck_assert_msg(!neff_read(neff, size, &limits, &m, &nerr), "%s", nerr.text);
	ck_assert_uint_eq(m->nloops, 1);
	ck_assert_uint_eq(m->loops[0].iterations, counted[_i].n);
	neff_free(m);

	for (unsigned int i = 0; i < 2; i++) {
		params.default_timeout_ms = i ? 20000 : 0; /* 30000 */
		ck_assert_msg(!nrtx_load(neff, size, &params, &model), "%s", nrtx_error_details());
		ck_assert_int_eq(nrtx_model_info(model, &info), 0);
		ck_assert_int_eq(nrt_unload(model), 0);
		timeout[i] = info.timeout_ms;
	}
	ck_assert_uint_ge(timeout[0], counted[_i].timeout_ms);
	ck_assert_uint_le(timeout[0], counted[_i].timeout_ms + 10000);
	ck_assert_uint_le(timeout[0], 3600000);
	ck_assert_uint_eq(timeout[1], timeout[0] < 3600000 ? timeout[0] - 10000 : 3600000);
	nrt_close();
	free(neff);
}
END_TEST

/* The iterations of a loop are none of the next one's: both take 0.5 s by the estimate. */
START_TEST(timeout_of_two)
{
	static const char *const text = "module \"m\"\n"
					"%0 = s32[] parameter index=0 \"n\"\n"
					"%1 = s32[] constant {1} \"one\"\n"
					"%2 = s32[] constant {50000} \"bound\"\n"
					"%3 = s32[] constant {0} \"before\"\n"
					"%4 = pred[] compare-lt %3, %2 \"p\"\n"
					"%5 = pred[] loop %4 \"l\"\n"
					"%6 = s32[] state %5, %3 \"s\"\n"
					"%7 = s32[] add %6, %1 \"t\"\n"
					"%8 = pred[] compare-lt %7, %2 \"q\"\n"
					"%9 = pred[] loop-end %5, %8, %6, %7 \"e\"\n"
					"%10 = s32[] loop-result %9, %6 \"r\"\n"
					"%11 = pred[] loop %4 \"l2\"\n"
					"%12 = s32[] state %11, %3 \"s2\"\n"
					"%13 = s32[] add %12, %1 \"t2\"\n"
					"%14 = pred[] compare-lt %13, %2 \"q2\"\n"
					"%15 = pred[] loop-end %11, %14, %12, %13 \"e2\"\n"
					"%16 = s32[] loop-result %15, %12 \"r2\"\n"
					"%17 = s32[] add %10, %16 \"sum\"\n"
					"return %17\n";
	const struct ncc_options opt = {
		.framework = NCC_IR, .target = chip_start(), .lnc = chip_lnc(), .divide_from = 1
	};
	const struct nrtx_load_params params = { 0 };
	struct nrtx_model_info info;
	struct ncc_error err;
	nrt_model_t *model;
	size_t size;
	void *neff;

	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, &neff, &size, &err), "%s", err.text);
	ck_assert_msg(!nrtx_load(neff, size, &params, &model), "%s", nrtx_error_details());
	ck_assert_int_eq(nrtx_model_info(model, &info), 0);
	ck_assert_int_eq(nrt_unload(model), 0);
	ck_assert_uint_ge(info.timeout_ms, 30000 + 2 * 500);
	ck_assert_uint_le(info.timeout_ms, 40000);
	free(neff);
}
END_TEST

/* Execution */

static nrt_model_t *load_for(const struct neuron_target *target, const char *text,
			     uint32_t timeout_ms)
{
	const struct ncc_options opt = { .framework = NCC_IR,
					 .target = target,
					 .lnc = chip_lnc(),
					 .divide_from = 1,
					 .pipeline_cores = chip_lnc() > 1 ? 1 : 4 };
	const struct nrtx_load_params params = { .timeout_ms = timeout_ms };
	struct ncc_error err;
	nrt_model_t *model;
	uint32_t cores;
	size_t size;
	void *neff;

	ck_assert_ptr_nonnull(target);
	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, &neff, &size, &err), "%s", err.text);
	ck_assert_msg(!nrtx_load(neff, size, &params, &model), "%s", nrtx_error_details());
	ck_assert_int_eq(nrt_get_model_nc_count(model, &cores), 0);
	ck_assert_uint_eq(cores, chip_lnc()); /* however many were requested */
	free(neff);
	return model;
}

static nrt_model_t *load(const char *text, uint32_t timeout_ms)
{
	return load_for(chip_start(), text, timeout_ms);
}

static nrt_tensor_t *add(nrt_tensor_set_t *set, const char *name, void *value, size_t size)
{
	nrt_tensor_t *t;

	ck_assert_int_eq(nrt_tensor_allocate_empty(name, &t), 0);
	ck_assert_int_eq(nrt_tensor_attach_buffer(t, value, size), 0);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set, name, t), 0);
	return t;
}

/* One execution of input0, ... to output0, ... */
static NRT_STATUS run(nrt_model_t *model, const int32_t *in, unsigned int nin, int32_t *out,
		      unsigned int nout)
{
	static const char *const names[2][3] = { { "input0", "input1" },
						 { "output0", "output1", "output2" } };
	nrt_tensor_set_t *sin, *sout;
	nrt_tensor_t *t[5];
	int32_t copy[2] = { 0 };
	NRT_STATUS status;

	ck_assert_int_eq(nrt_allocate_tensor_set(&sin), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&sout), 0);
	for (unsigned int i = 0; i < nin; i++) {
		copy[i] = in[i];
		t[i] = add(sin, names[0][i], &copy[i], sizeof(copy[i]));
	}
	for (unsigned int i = 0; i < nout; i++)
		t[nin + i] = add(sout, names[1][i], &out[i], sizeof(out[i]));
	status = nrt_execute(model, sin, sout);
	nrt_destroy_tensor_set(&sin);
	nrt_destroy_tensor_set(&sout);
	for (unsigned int i = 0; i < nin + nout; i++)
		nrt_tensor_free(&t[i]);
	return status;
}

static void unload(nrt_model_t *model)
{
	ck_assert_int_eq(nrt_unload(model), 0);
	nrt_close();
}

/* while n < 9: n = n + step */
static const char counting[] = "module \"m\"\n"
			       "%0 = s32[] parameter index=0 \"n\"\n"
			       "%1 = s32[] parameter index=1 \"step\"\n"
			       "%2 = s32[] constant {9} \"nine\"\n"
			       "%3 = pred[] compare-lt %0, %2 \"p\"\n"
			       "%4 = pred[] loop %3 \"l\"\n"
			       "%5 = s32[] state %4, %0 \"s\"\n"
			       "%6 = s32[] add %5, %1 \"t\"\n"
			       "%7 = pred[] compare-lt %6, %2 \"q\"\n"
			       "%8 = pred[] loop-end %4, %7, %5, %6 \"e\"\n"
			       "%9 = s32[] loop-result %8, %5 \"r\"\n"
			       "return %9\n";

START_TEST(endless)
{
	nrt_model_t *model = load(counting, 300);
	int32_t out = 0;

	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(run(model, (int32_t[]){ 1, 0 }, 2, &out, 1), NRT_TIMEOUT);
		ck_assert_msg(strstr(nrtx_error_details(), ": a loop goes on"), "%s",
			      nrtx_error_details());
		ck_assert_int_eq(run(model, (int32_t[]){ 1, 3 }, 2, &out, 1), 0);
		ck_assert_int_eq(out, 10);
		ck_assert_int_eq(run(model, (int32_t[]){ 77, 0 }, 2, &out, 1), 0);
		ck_assert_int_eq(out, 77); /* no iteration */
	}
	unload(model);
}
END_TEST

#define BODY 2100

/* A body of more operations than all copies of one may have stays as it is. */
START_TEST(large_body)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	uint32_t want = 11;
	int32_t out = 0;
	nrt_model_t *model;

	fprintf(f, "module \"m\"\n%%0 = s32[] parameter index=0 \"n\"\n"
		   "%%1 = s32[] constant {1} \"one\"\n%%2 = s32[] constant {3} \"bound\"\n"
		   "%%3 = s32[] constant {0} \"zero\"\n%%4 = pred[] compare-lt %%3, %%2 \"p\"\n"
		   "%%5 = pred[] loop %%4 \"l\"\n%%6 = s32[] state %%5, %%3 \"i\"\n"
		   "%%7 = s32[] state %%5, %%0 \"x\"\n%%8 = s32[] add %%6, %%1 \"t\"\n"
		   "%%9 = pred[] compare-lt %%8, %%2 \"q\"\n"
		   "%%10 = s32[] subtract %%0, %%7 \"a\"\n%%11 = s32[] add %%10, %%6 \"b\"\n");
	for (unsigned int i = 1; i < BODY; i++)
		fprintf(f,
			"%%%u = s32[] subtract %%0, %%%u \"a%u\"\n%%%u = s32[] add %%%u, %%6 "
			"\"b%u\"\n",
			2 * i + 10, 2 * i + 9, i, 2 * i + 11, 2 * i + 10, i);
	fprintf(f,
		"%%%u = pred[] loop-end %%5, %%9, %%6, %%8, %%7, %%%u \"e\"\n"
		"%%%u = s32[] loop-result %%%u, %%7 \"r\"\nreturn %%%u\n",
		2 * BODY + 10, 2 * BODY + 9, 2 * BODY + 11, 2 * BODY + 10, 2 * BODY + 11);
	fclose(f);
	model = load(text, 30000);
	free(text);
	ck_assert_int_eq(run(model, (int32_t[]){ 11 }, 1, &out, 1), 0);
	for (unsigned int i = 0; i < 3; i++)
		for (unsigned int k = 0; k < BODY; k++)
			want = 11 - want + i;
	ck_assert_int_eq(out, (int32_t)want);
	unload(model);
}
END_TEST

/*
 * Two models take turns on a core, after different numbers of iterations each time: each begins
 * with the rings as they are wanted, wherever it left them.
 */
START_TEST(turns)
{
	const struct neuron_target *target = chip_start();
	nrt_model_t *model[2] = { load_for(target, counting, 0), load_for(target, counting, 0) };
	int32_t out;

	for (int i = 0; i < 60; i++) {
		const int32_t n = -i;

		/* each as often alone as it takes turns */
		ck_assert_int_eq(run(model[i / 2 % 2 ? i % 2 : 0], (int32_t[]){ n, 1 }, 2, &out, 1),
				 0);
		ck_assert_int_eq(out, 9);
	}
	ck_assert_int_eq(nrt_unload(model[1]), 0);
	unload(model[0]);
}
END_TEST

/* More loops than a set of 64 has room for, each of which begins with the one before it's result */
#define MANY 150

static int32_t after_many(int32_t n)
{
	for (int32_t i = 0; i < MANY; i++) {
		while (n < 2 * i)
			n += 3;
		n--;
	}
	return n;
}

static char *many_loops(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	unsigned int n = 3, was = 0;

	fprintf(f, "module \"m\"\n%%0 = s32[] parameter index=0 \"n\"\n"
		   "%%1 = s32[] constant {3} \"three\"\n%%2 = s32[] constant {1} \"one\"\n");
	for (unsigned int i = 0; i < MANY; i++, n += 9, was = n - 1)
		fprintf(f,
			"%%%u = s32[] constant {%u} \"b\"\n"
			"%%%u = pred[] compare-lt %%%u, %%%u \"p\"\n"
			"%%%u = pred[] loop %%%u \"l\"\n"
			"%%%u = s32[] state %%%u, %%%u \"s\"\n"
			"%%%u = s32[] add %%%u, %%1 \"t\"\n"
			"%%%u = pred[] compare-lt %%%u, %%%u \"q\"\n"
			"%%%u = pred[] loop-end %%%u, %%%u, %%%u, %%%u \"e\"\n"
			"%%%u = s32[] loop-result %%%u, %%%u \"r\"\n"
			"%%%u = s32[] subtract %%%u, %%2 \"d\"\n",
			n, 2 * i, n + 1, was, n, n + 2, n + 1, n + 3, n + 2, was, n + 4, n + 3,
			n + 5, n + 4, n, n + 6, n + 2, n + 5, n + 3, n + 4, n + 7, n + 6, n + 3,
			n + 8, n + 7);
	fprintf(f, "return %%%u\n", was);
	fclose(f);
	return text;
}

START_TEST(more_than_a_set)
{
	char *text = many_loops();
	nrt_model_t *model = load(text, 0);
	int32_t out = 0;

	for (int32_t n = -7; n < 400; n += 200) {
		ck_assert_int_eq(run(model, &n, 1, &out, 1), 0);
		ck_assert_int_eq(out, after_many(n));
	}
	unload(model);
	free(text);
}
END_TEST

/* The number of instructions that an engine of core 0 has executed */
static uint64_t executed(unsigned int engine)
{
	struct nrtx_core_counters n;

	ck_assert_int_eq(nrtx_core_counters(0, &n), NRT_SUCCESS);
	return n.engine[engine].insns;
}

START_TEST(exchanged)
{
	/*
	 * a, b = b, a and c counts: two values, each of which becomes the other one in the next
	 * iteration; nothing of it is PE's, whose stream has but its beginning and is not fed
	 */
	nrt_model_t *model = load("module \"m\"\n"
				  "%0 = s32[] parameter index=0 \"a\"\n"
				  "%1 = s32[] parameter index=1 \"b\"\n"
				  "%2 = s32[] constant {0} \"zero\"\n"
				  "%3 = s32[] constant {1} \"one\"\n"
				  "%4 = s32[] constant {7} \"seven\"\n"
				  "%5 = pred[] compare-lt %2, %4 \"p\"\n"
				  "%6 = pred[] loop %5 \"l\"\n"
				  "%7 = s32[] state %6, %0 \"x\"\n"
				  "%8 = s32[] state %6, %1 \"y\"\n"
				  "%9 = s32[] state %6, %2 \"c\"\n"
				  "%10 = s32[] add %9, %3 \"next\"\n"
				  "%11 = pred[] compare-lt %10, %4 \"q\"\n"
				  "%12 = pred[] loop-end %6, %11, %7, %8, %8, %7, %9, %10 \"e\"\n"
				  "%13 = s32[] loop-result %12, %7 \"rx\"\n"
				  "%14 = s32[] loop-result %12, %8 \"ry\"\n"
				  "return %0, %13, %14\n",
				  0);
	uint64_t pe = executed(NEURON_ENG_PE), sp = executed(NEURON_ENG_SP);
	int32_t out[3] = { 0 };

	ck_assert_int_eq(run(model, (int32_t[]){ 11, 22 }, 2, out, 3), 0);
	ck_assert_uint_eq(executed(NEURON_ENG_PE), pe);
	ck_assert_uint_gt(executed(NEURON_ENG_SP), sp);
	ck_assert_int_eq(out[0], 11); /* an input, of the same number */
	ck_assert_int_eq(out[1], 22); /* seven iterations */
	ck_assert_int_eq(out[2], 11);
	unload(model);
}
END_TEST

/* 5,003 iterations, or none if n < 9; the condition for another one says so again, or does not */
START_TEST(not_entered)
{
	char text[1024];
	nrt_model_t *model;
	int32_t out = -1;

	snprintf(text, sizeof(text),
		 "module \"m\"\n"
		 "%%0 = s32[] parameter index=0 \"n\"\n"
		 "%%1 = s32[] constant {1} \"one\"\n"
		 "%%2 = s32[] constant {5003} \"bound\"\n"
		 "%%3 = s32[] constant {9} \"nine\"\n"
		 "%%4 = s32[] constant {0} \"zero\"\n"
		 "%%5 = pred[] compare-ge %%0, %%3 \"p\"\n"
		 "%%6 = pred[] loop %%5 \"l\"\n"
		 "%%7 = s32[] state %%6, %%4 \"s\"\n"
		 "%%8 = s32[] add %%7, %%1 \"t\"\n"
		 "%%9 = pred[] compare-lt %%8, %%2 \"q\"\n"
		 "%%10 = pred[] and %%5, %%9 \"a\"\n"
		 "%%11 = pred[] loop-end %%6, %%%d, %%7, %%8 \"e\"\n"
		 "%%12 = s32[] loop-result %%11, %%7 \"r\"\n"
		 "return %%12\n",
		 _i ? 10 : 9);
	model = load(text, 0);
	ck_assert_int_eq(run(model, (int32_t[]){ 9 }, 1, &out, 1), 0);
	ck_assert_int_eq(out, 5003);
	ck_assert_int_eq(run(model, (int32_t[]){ 8 }, 1, &out, 1), 0);
	ck_assert_int_eq(out, 0);
	unload(model);
}
END_TEST

/*
 * A table of which a row is replaced where it lies, by three times the greatest element and one; it
 * is read twice before, and twice behind that for the same of the new one, up to 100.
 */
START_TEST(rewritten)
{
	nrt_model_t *model = load("module \"m\"\n"
				  "%0 = s32[] parameter index=0 \"n\"\n"
				  "%1 = f32[] convert %0 \"f\"\n"
				  "%2 = f32[64,16] broadcast %1 map={} \"table\"\n"
				  "%3 = s32[] constant {0} \"zero\"\n"
				  "%4 = s32[] constant {1} \"one\"\n"
				  "%5 = f32[] constant {100} \"most\"\n"
				  "%6 = f32[] constant {1} \"one\"\n"
				  "%7 = f32[64,16] broadcast %6 map={} \"ones\"\n"
				  "%8 = f32[] constant {2} \"two\"\n"
				  "%9 = f32[64,16] broadcast %8 map={} \"twos\"\n"
				  "%10 = f32[] constant {-inf} \"least\"\n"
				  "%11 = pred[] compare-lt %1, %5 \"p\"\n"
				  "%12 = pred[] loop %11 \"l\"\n"
				  "%13 = f32[64,16] state %12, %2 \"t\"\n"
				  "%14 = s32[] state %12, %3 \"i\"\n"
				  "%15 = f32[] state %12, %1 \"m\"\n"
				  "%16 = f32[64,16] multiply %13, %9 \"a\"\n"
				  "%17 = f32[] reduce %16, %10 func=maximum dims={0,1} \"b\"\n"
				  "%18 = f32[64,16] add %13, %7 \"c\"\n"
				  "%19 = f32[] reduce %18, %10 func=maximum dims={0,1} \"d\"\n"
				  "%20 = f32[] add %17, %19 \"w\"\n"
				  "%21 = f32[1,16] broadcast %20 map={} \"row\"\n"
				  "%22 = s32[1] broadcast %14 map={} \"at\"\n"
				  "%23 = f32[64,16] scatter %13, %22, %21 \"u\"\n"
				  "%24 = f32[64,16] multiply %23, %9 \"e\"\n"
				  "%25 = f32[] reduce %24, %10 func=maximum dims={0,1} \"g\"\n"
				  "%26 = f32[64,16] add %23, %7 \"h\"\n"
				  "%27 = f32[] reduce %26, %10 func=maximum dims={0,1} \"j\"\n"
				  "%28 = f32[] add %25, %27 \"k\"\n"
				  "%29 = s32[] add %14, %4 \"next\"\n"
				  "%30 = s32[] constant {50} \"fifty\"\n"
				  "%31 = pred[] compare-lt %28, %5 \"q\"\n"
				  "%32 = pred[] compare-lt %29, %30 \"s\"\n"
				  "%33 = pred[] and %31, %32 \"both\"\n"
				  "%34 = pred[] loop-end %12, %33, %13, %23, %14, %29, %15, %28 "
				  "\"e\"\n"
				  "%35 = f32[] loop-result %34, %15 \"r\"\n"
				  "%36 = s32[] convert %35 \"o\"\n"
				  "%37 = s32[] loop-result %34, %14 \"n\"\n"
				  "return %36, %37\n",
				  0);
	int32_t out[2] = { 0 };

	ck_assert_int_eq(run(model, (int32_t[]){ 1 }, 1, out, 2), 0);
	ck_assert_int_eq(out[0], 121); /* the rows are 4, 13 and 40 */
	ck_assert_int_eq(out[1], 3);
	unload(model);
}
END_TEST

/*
 * 30 loops, one behind the other, each up to a number. With a table each follows it from row to
 * row, each of which has the number of a later one, and goes one row on behind it: that takes
 * nearly all of a core's queues if it is one program. If each also has an output of its own, there
 * are too few.
 */

#define LOOPS 30
#define ROWS 50

/* The next number after operation x, as operation id + 2 */
static void add_step(FILE *f, bool table, unsigned int x, unsigned int id)
{
	if (table)
		fprintf(f,
			"%%%u = s32[1] broadcast %%%u map={} \"at\"\n"
			"%%%u = s32[1,1] gather %%1, %%%u \"row\"\n"
			"%%%u = s32[] reshape %%%u \"next\"\n",
			id, x, id + 1, id, id + 2, id + 1);
	else
		fprintf(f,
			"%%%u = s32[1,1] slice %%1 start={0,0} stride={1,1} \"row\"\n"
			"%%%u = s32[] reshape %%%u \"one\"\n"
			"%%%u = s32[] add %%%u, %%%u \"next\"\n",
			id, id + 1, id, id + 2, x, id + 1);
}

static char *follow_text(bool table, bool all)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	unsigned int id = 2, last = 0;

	fprintf(f,
		"module \"m\"\n%%0 = s32[] parameter index=0 \"n\"\n"
		"%%1 = s32[%d,1] parameter index=1 \"table\"\n",
		ROWS);
	for (int l = 0; l < LOOPS; l++) {
		fprintf(f,
			"%%%u = s32[] constant {%d} \"bound\"\n"
			"%%%u = pred[] compare-lt %%%u, %%%u \"p\"\n"
			"%%%u = pred[] loop %%%u \"l\"\n"
			"%%%u = s32[] state %%%u, %%%u \"s\"\n",
			id, l + 3, id + 1, last, id, id + 2, id + 1, id + 3, id + 2, last);
		add_step(f, table, id + 3, id + 4);
		fprintf(f,
			"%%%u = pred[] compare-lt %%%u, %%%u \"q\"\n"
			"%%%u = pred[] loop-end %%%u, %%%u, %%%u, %%%u \"e\"\n"
			"%%%u = s32[] loop-result %%%u, %%%u \"r\"\n",
			id + 7, id + 6, id, id + 8, id + 2, id + 7, id + 3, id + 6, id + 9, id + 8,
			id + 3);
		add_step(f, table, id + 9, id + 10);
		last = id + 12;
		id += 13;
	}
	fprintf(f, "return %%%u", last);
	for (unsigned int l = 1; all && l < LOOPS; l++)
		fprintf(f, ", %%%u", last - 13 * l);
	fprintf(f, "\n");
	fclose(f);
	return text;
}

/* Computes the numbers that the loops leave, the last loop's first, as the model returns them */
static void follow(const int32_t *table, bool by_table, int32_t n, int32_t *out)
{
	for (int l = 0; l < LOOPS; l++) {
		while (n < l + 3)
			n = by_table ? table[n] : n + table[0];
		n = by_table ? table[n] : n + table[0];
		out[LOOPS - 1 - l] = n;
	}
}

START_TEST(many)
{
	const bool table = _i > 0, all = _i > 1;
	const int outs = all ? LOOPS : 1;
	char *text = follow_text(table, all);
	nrt_model_t *model = load(text, 0);
	int32_t row[ROWS], n, out[LOOPS], want[LOOPS];
	nrt_tensor_set_t *sin, *sout;
	nrt_tensor_t *t[2 + LOOPS];

	free(text);
	for (int i = 0; i < ROWS; i++)
		row[i] = i + 1 + (i % 3 == 0 && i < 30);
	ck_assert_int_eq(nrt_allocate_tensor_set(&sin), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&sout), 0);
	t[0] = add(sin, "input0", &n, sizeof(n));
	t[1] = add(sin, "input1", row, sizeof(row));
	for (int i = 0; i < outs; i++) {
		char name[16];

		snprintf(name, sizeof(name), "output%d", i);
		t[2 + i] = add(sout, name, &out[i], sizeof(out[i]));
	}
	for (n = 0; n < 10; n += 3) {
		ck_assert_int_eq(nrt_execute(model, sin, sout), 0);
		follow(row, table, n, want);
		for (int i = 0; i < outs; i++)
			ck_assert_int_eq(out[i], want[i]);
	}
	nrt_destroy_tensor_set(&sin);
	nrt_destroy_tensor_set(&sout);
	for (int i = 0; i < 2 + outs; i++)
		nrt_tensor_free(&t[i]);
	unload(model);
}
END_TEST

/* Branches: tests/data/hlo_ops/cond_work has two, of fifteen steps each, for p > 0 and for p < 0 */

#define ELEMENTS (96 * 128)

static float wave(float x)
{
	for (int i = 0; i < 15; i++)
		x = fmaxf(fabsf(x - (float)(i * 0.37)), x);
	return x;
}

static nrt_model_t *load_branches(const struct neuron_target *target)
{
	const struct ncc_options opt = {
		.framework = NCC_XLA, .target = target, .lnc = chip_lnc(), .divide_from = 1
	};
	struct ncc_error err;
	nrt_model_t *model;
	size_t size, neff_size;
	void *bytes = read_data("hlo_ops/cond_work/module.hlo.pb", &size), *neff;

	ck_assert_msg(!ncc_compile(bytes, size, &opt, &neff, &neff_size, &err), "%s", err.text);
	ck_assert_msg(!nrt_load(neff, neff_size, 0, 1, &model), "%s", nrtx_error_details());
	free(neff);
	free(bytes);
	return model;
}

/* Executes with p, compares with the scalar steps, and returns what Vector has executed. */
static uint64_t run_branches(nrt_model_t *model, int32_t p)
{
	static float x[ELEMENTS], out[2][ELEMENTS];
	uint64_t before = executed(NEURON_ENG_POOL);
	nrt_tensor_set_t *sin, *sout;
	nrt_tensor_t *t[4];

	for (int i = 0; i < ELEMENTS; i++)
		x[i] = (float)(i % 1001) / 64 - 7;
	ck_assert_int_eq(nrt_allocate_tensor_set(&sin), 0);
	ck_assert_int_eq(nrt_allocate_tensor_set(&sout), 0);
	t[0] = add(sin, "input0", x, sizeof(x));
	t[1] = add(sin, "input1", &p, sizeof(p));
	t[2] = add(sout, "output0", out[0], sizeof(out[0]));
	t[3] = add(sout, "output1", out[1], sizeof(out[1]));
	ck_assert_int_eq(nrt_execute(model, sin, sout), 0);
	for (int i = 0; i < ELEMENTS; i++) {
		ck_assert_float_eq(out[0][i], p > 0 ? wave(x[i]) : x[i] - 1);
		ck_assert_float_eq(out[1][i], p < 0 ? wave(x[i]) : x[i] + 1);
	}
	nrt_destroy_tensor_set(&sin);
	nrt_destroy_tensor_set(&sout);
	for (int i = 0; i < 4; i++)
		nrt_tensor_free(&t[i]);
	return executed(NEURON_ENG_POOL) - before;
}

START_TEST(branches)
{
	const struct neuron_target *target = chip_start();
	nrt_model_t *model = load_branches(target);
	uint64_t none, first, second;

	for (int i = 0; i < 3; i++) {
		none = run_branches(model, 0);
		first = run_branches(model, 5);
		second = run_branches(model, -5);
		ck_assert_uint_eq(first, second);
		/* where the chip has jumps, what is not taken is not executed */
		if (target->core >= 2)
			ck_assert_uint_ge(first, none + 15);
		else
			ck_assert_uint_eq(first, none);
	}
	unload(model);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("loops");
	TCase *t = tcase_create("loops");

	tcase_add_loop_test(t, refused, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_loop_test(t, iterations, 0, (int)(sizeof(counted) / sizeof(counted[0])));
	tcase_add_test(t, timeout_of_two);
	tcase_add_test(t, endless);
	tcase_add_test(t, large_body);
	tcase_add_test(t, turns);
	tcase_add_test(t, more_than_a_set);
	tcase_add_test(t, exchanged);
	tcase_add_loop_test(t, not_entered, 0, 2);
	tcase_add_test(t, rewritten);
	tcase_add_loop_test(t, many, 0, 3);
	tcase_add_test(t, branches);
	suite_add_tcase(s, t);
	return check_run(s);
}
