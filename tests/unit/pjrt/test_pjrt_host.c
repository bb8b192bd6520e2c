// SPDX-License-Identifier: MIT
/*
 * What programs and compilations ask of the framework's process: functions that programs call, by
 * numbers that an executable holds, and whether the user has interrupted it. The framework here is
 * this file.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "pjrt_client.h"

/* a + f(a), of which f is number 41; the other program has no result, and number 42 */
static const char gives[] = "module @gives { func.func public @main(%a: tensor<4xf32>) -> "
			    "(tensor<4xf32>) {\n"
			    "%b = stablehlo.custom_call @neuron_python_callback(%a) "
			    "{has_side_effect = false, "
			    "api_version = 4 : i32, mhlo.backend_config = {index = 41 : ui64}}"
			    " : (tensor<4xf32>) -> tensor<4xf32>\n"
			    "%c = stablehlo.add %a, %b : tensor<4xf32>\n"
			    "return %c : tensor<4xf32>\n}}\n";
static const char tells[] = "module @tells { func.func public @main(%t: !stablehlo.token, %a: "
			    "tensor<2xi1>) -> "
			    "!stablehlo.token {\n"
			    "%u = stablehlo.custom_call @neuron_python_callback(%t, %a) "
			    "{has_side_effect = true, "
			    "api_version = 4 : i32, mhlo.backend_config = {index = 42 : ui64}}"
			    " : (!stablehlo.token, tensor<2xi1>) -> !stablehlo.token\n"
			    "return %u : !stablehlo.token\n}}\n";

struct tensor {
	void *data;
	const int64_t *dims;
	uint32_t ndim;
	int32_t type;
};

static struct {
	unsigned int calls;
	int held[2];
	bool fails;
	int states, checks, raise_at, cleared;
} host;

static int entry(uint64_t index, uint32_t nin, const struct tensor *in, uint32_t nout,
		 const struct tensor *out, char *message, size_t size)
{
	const float *x = in[0].data;

	/* another thread's asserts are nobody's: what is wrong is an error, and the test fails by
	 * that */
	const bool right =
		nin == 1 && in[0].ndim == 1 &&
		(index == 42 ? nout == 0 && in[0].type == PJRT_Buffer_Type_PRED &&
				       in[0].dims[0] == 2 && !memcmp(in[0].data, "\1\0", 2)
			     : index == 41 && nout == 1 && in[0].dims[0] == 4 &&
				       out[0].type == PJRT_Buffer_Type_F32 && out[0].dims[0] == 4);

	host.calls++;
	if (host.fails || !right) {
		snprintf(message, size, "%s", right ? "TypeError: not that" : "wrong arrays");
		return 1;
	}
	for (int i = 0; index == 41 && i < 4; i++)
		((float *)out[0].data)[i] = 10 * x[i];
	return 0;
}

static void hold(uint64_t index, int more)
{
	if (index == 41 || index == 42)
		host.held[index - 41] += more;
}

static int ensure(void)
{
	return ++host.states;
}

static int check(void)
{
	return ++host.checks == host.raise_at ? -1 : 0;
}

static void clear(void)
{
	host.cleared++;
}

static void release(int state)
{
	ck_assert_int_eq(state, host.states);
}

static PJRT_Error *compile_text(const char *text, PJRT_LoadedExecutable **x)
{
	PJRT_Program program = { .struct_size = PJRT_Program_SIZE,
				 .format = "mlir",
				 .format_size = 4,
				 .code = (char *)(uintptr_t)text,
				 .code_size = strlen(text) };
	PJRT_Client_Compile_Args *a = ARGS(Client_Compile, .client = client, .program = &program);
	PJRT_Error *e = api->PJRT_Client_Compile(a);

	*x = a->executable;
	return e;
}

/* A client with an option: what it says is the process's */
static PJRT_Error *tell(const char *name, const int64_t *list, size_t n)
{
	PJRT_NamedValue v = { .struct_size = PJRT_NamedValue_SIZE,
			      .name = name,
			      .name_size = strlen(name),
			      .type = n ? PJRT_NamedValue_kInt64List : PJRT_NamedValue_kInt64,
			      .value_size = n ? n : 1 };
	PJRT_Client_Create_Args *c = ARGS(Client_Create, .create_options = &v, .num_options = 1);
	PJRT_Error *e;

	if (n)
		v.int64_array_value = list;
	else
		v.int64_value = *list;
	e = api->PJRT_Client_Create(c);
	if (!e)
		CALL(Client_Destroy, ARGS(Client_Destroy, .client = c->client));
	return e;
}

START_TEST(nobody)
{
	PJRT_LoadedExecutable *x;

	expect_error("a call of nobody", compile_text(gives, &x), PJRT_Error_Code_INVALID_ARGUMENT,
		     "neuron_python_callback (index 41)");
}
END_TEST

START_TEST(options)
{
	const int64_t none = 0, few[] = { 1, 2 }, zero[] = { 1, 0, 1, 1 };

	expect_error("no address", tell("host_callback", &none, 0),
		     PJRT_Error_Code_INVALID_ARGUMENT, "host_callback");
	expect_error("a list", tell("host_callback", few, 2), PJRT_Error_Code_INVALID_ARGUMENT,
		     "host_callback");
	expect_error("two of four", tell("python_signals", few, 2),
		     PJRT_Error_Code_INVALID_ARGUMENT, "4 addresses, not 2");
	expect_error("one that is 0", tell("python_signals", zero, 4),
		     PJRT_Error_Code_INVALID_ARGUMENT, "address 1");
}
END_TEST

static void begin(void)
{
	const int64_t a = (int64_t)(uintptr_t)entry, b = (int64_t)(uintptr_t)hold;

	memset(&host, 0, sizeof(host));
	expect_ok("host_callback", tell("host_callback", &a, 0));
	expect_ok("host_callback_hold", tell("host_callback_hold", &b, 0));
}

static PJRT_Executable *executable(PJRT_LoadedExecutable *x)
{
	PJRT_LoadedExecutable_GetExecutable_Args *a =
		ARGS(LoadedExecutable_GetExecutable, .loaded_executable = x);

	CALL(LoadedExecutable_GetExecutable, a);
	return a->executable;
}

START_TEST(calls)
{
	const float in[4] = { 1, -2, 0.5f, 7 };
	PJRT_LoadedExecutable *x;
	PJRT_Executable *whole;
	PJRT_Buffer *a, *b;
	float out[4];

	begin();
	expect_ok("compile", compile_text(gives, &x));
	ck_assert_int_eq(host.held[0], 1);
	a = put_f32(in, 4);
	for (int round = 0; round < 2; round++) {
		run(x, &a, 1, &b);
		get(b, out, sizeof(out));
		for (int i = 0; i < 4; i++)
			ck_assert(out[i] == 11 * in[i]);
		drop(b);
	}
	ck_assert_uint_eq(host.calls, 2);
	whole = executable(x);
	FAIL(Executable_Serialize, ARGS(Executable_Serialize, .executable = whole), UNIMPLEMENTED,
	     "callbacks");
	CALL(Executable_Destroy, ARGS(Executable_Destroy, .executable = whole));
	drop(a);
	destroy(x);
	ck_assert_int_eq(host.held[0], 0);
}
END_TEST

START_TEST(failure)
{
	const float in[4] = { 1, -2, 0.5f, 7 };
	PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent);
	PJRT_LoadedExecutable *x;
	PJRT_Buffer *a, *b;
	float out[4];

	begin();
	expect_ok("compile", compile_text(gives, &x));
	a = put_f32(in, 4);
	host.fails = true;
	expect_ok("run", try_run(x, &a, 1, &b)); /* the results have the error */
	ready->buffer = b;
	CALL(Buffer_ReadyEvent, ready);
	FAIL(Event_Await, ARGS(Event_Await, .event = ready->event), INTERNAL,
	     "neuron_python_callback(41): TypeError: not that");
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = ready->event));
	drop(b);
	host.fails = false;
	run(x, &a, 1, &b);
	get(b, out, sizeof(out));
	ck_assert(out[3] == 77);
	drop(b);
	drop(a);
	destroy(x);
}
END_TEST

/* A callback gets a token for a token, and returns JAX's array of no elements for one. */
START_TEST(tokens)
{
	const int64_t none = 0, two = 2;
	PJRT_Buffer_ElementType_Args *type = ARGS(Buffer_ElementType);
	PJRT_Buffer_ReadyEvent_Args *ready = ARGS(Buffer_ReadyEvent);
	PJRT_LoadedExecutable *x;
	PJRT_Buffer *a[2], *b;

	begin();
	expect_ok("compile", compile_text(tells, &x));
	a[0] = put(PJRT_Buffer_Type_PRED, NULL, &none, 1);
	a[1] = put(PJRT_Buffer_Type_PRED, "\1\0", &two, 1);
	for (unsigned int round = 1; round < 4; round++) {
		run(x, a, 2, &b);
		type->buffer = b;
		CALL(Buffer_ElementType, type);
		ck_assert_int_eq(type->type, PJRT_Buffer_Type_TOKEN);
		drop(a[0]);
		a[0] = b;
	}
	ready->buffer = b;
	CALL(Buffer_ReadyEvent, ready);
	CALL(Event_Await, ARGS(Event_Await, .event = ready->event));
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = ready->event));
	ck_assert_uint_eq(host.calls, 3);
	drop(a[0]);
	drop(a[1]);
	destroy(x);
}
END_TEST

static volatile sig_atomic_t signals;

static void count(int number)
{
	(void)number;
	signals++;
}

START_TEST(interrupted)
{
	const int64_t python[] = { (int64_t)(uintptr_t)ensure, (int64_t)(uintptr_t)check,
				   (int64_t)(uintptr_t)clear, (int64_t)(uintptr_t)release };
	const struct sigaction act = { .sa_handler = count };
	PJRT_LoadedExecutable *x;

	memset(&host, 0, sizeof(host));
	ck_assert_int_eq(sigaction(SIGINT, &act, NULL), 0);
	expect_ok("python_signals", tell("python_signals", python, 4));
	host.raise_at = 1;
	expect_error("compile", try_compile("pair", "mlir", NULL, 0, &x), PJRT_Error_Code_CANCELLED,
		     "interrupted");
	ck_assert_int_eq(signals, 1);
	ck_assert_int_eq(host.cleared, 1);
	ck_assert_int_ge(host.states, 1);
	add1_is_right(compile("add1", "mlir"));
	ck_assert_int_eq(signals, 1);
}
END_TEST

START_TEST(no_leaks)
{
	expect_no_leaks();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt-host");
	TCase *tc = tcase_create("pjrt");

	tcase_add_unchecked_fixture(tc, plugin_start, plugin_end);
	tcase_add_test(tc, nobody);
	tcase_add_test(tc, options);
	tcase_add_test(tc, calls);
	tcase_add_test(tc, failure);
	tcase_add_test(tc, tokens);
	tcase_add_test(tc, interrupted);
	tcase_add_test(tc, no_leaks);
	suite_add_tcase(suite, tc);
	return check_run_here(suite);
}
