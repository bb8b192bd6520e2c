// SPDX-License-Identifier: MIT
/* The plug-in and processes: loaded twice, clients one after the other, children of fork, no chips */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check_main.h"
#include "pjrt_client.h"

START_TEST(clients)
{
	PJRT_Client_Create_Args *second = ARGS(Client_Create);
	PJRT_Client *first;

	plugin_start();
	first = client;
	CALL(Client_Create, second);
	client = second->client;
	add1_is_right(compile("add1", "hlo"));
	plugin_end();
	client = first;
	add1_is_right(compile("add1", "hlo"));
	plugin_end();
	/* all are gone, and it begins anew */
	plugin_start();
	add1_is_right(compile("add1", "hlo"));
	plugin_end();
}
END_TEST

/* Buffers and programs that outlive their client can be freed, and their use is refused. */
START_TEST(after_the_client)
{
	const float in[4] = { 1, 2, 3, 4 };
	PJRT_LoadedExecutable *x;
	PJRT_Buffer *a, *b;

	plugin_start();
	x = compile("add1", "hlo");
	a = put_f32(in, 4);
	run(x, &a, 1, &b);
	plugin_end();
	expect_error("a program", try_run(x, &a, 1, &b), PJRT_Error_Code_FAILED_PRECONDITION,
		     "client was destroyed");
	drop(a);
	drop(b);
	CALL(LoadedExecutable_Destroy, ARGS(LoadedExecutable_Destroy, .executable = x));
}
END_TEST

/* A second copy of the library, as of two wheels: both compute */
START_TEST(loaded_twice)
{
	PJRT_Client_Create_Args *c = ARGS(Client_Create);
	char dir[] = "/tmp/pjrt-twice-XXXXXX", command[2048], path[64];
	const PJRT_Api *first, *second;
	PJRT_Client *of_first, *of_second;

	plugin_start();
	first = api;
	of_first = client;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/libneuronpjrt.so", dir);
	snprintf(command, sizeof(command), "cp %s %s", getenv("PJRT_LIBRARY"), path);
	ck_assert_int_eq(system(command), 0);
	api = second = plugin_load(path);
	ck_assert_ptr_ne(second, first);
	CALL(Client_Create, c);
	client = of_second = c->client;
	add1_is_right(compile("add1", "hlo"));
	api = first;
	client = of_first;
	add1_is_right(compile("add1", "hlo"));
	plugin_end();
	api = second;
	client = of_second;
	plugin_end();
	unlink(path);
	rmdir(dir);
}
END_TEST

/* In a child of fork the chips are the parent's: what asks for them fails, nothing hangs. */
START_TEST(forked)
{
	const float in[4] = { 1, 2, 3, 4 };
	PJRT_LoadedExecutable *x;
	PJRT_Buffer *a, *b;
	float out[4];
	pid_t child;
	int status;

	plugin_start();
	x = compile("add1", "hlo");
	a = put_f32(in, 4);
	child = fork();
	if (!child) {
		expect_error("execute", try_run(x, &a, 1, &b), PJRT_Error_Code_FAILED_PRECONDITION,
			     "forked");
		FAIL(Buffer_ToHostBuffer,
		     ARGS(Buffer_ToHostBuffer, .src = a, .dst = out, .dst_size = sizeof(out)),
		     FAILED_PRECONDITION, "forked");
		FAIL(Client_Create, ARGS(Client_Create), FAILED_PRECONDITION, "forked");
		FAIL(Client_BufferFromHostBuffer,
		     ARGS(Client_BufferFromHostBuffer, .client = client, .data = in,
			  .type = PJRT_Buffer_Type_F32, .dims = (int64_t[]){ 4 }, .num_dims = 1),
		     FAILED_PRECONDITION, "forked");
		drop(a);
		CALL(LoadedExecutable_Destroy, ARGS(LoadedExecutable_Destroy, .executable = x));
		CALL(Client_Destroy, ARGS(Client_Destroy, .client = client));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status) && !WEXITSTATUS(status));
	/* the parent goes on */
	run(x, &a, 1, &b);
	get(b, out, sizeof(out));
	ck_assert(out[0] == 2);
	drop(a);
	drop(b);
	CALL(LoadedExecutable_Destroy, ARGS(LoadedExecutable_Destroy, .executable = x));
	plugin_end();
}
END_TEST

START_TEST(no_chips)
{
	unsetenv("NEURON_EMU");
	api = plugin_load(getenv("PJRT_LIBRARY"));
	FAIL(Client_Create, ARGS(Client_Create), UNAVAILABLE, "no Neuron device");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt-process");
	TCase *tc = tcase_create("pjrt");

	tcase_add_test(tc, clients);
	tcase_add_test(tc, after_the_client);
	tcase_add_test(tc, loaded_twice);
	tcase_add_test(tc, forked);
	if (access("/dev/neuron0", F_OK))
		tcase_add_test(tc, no_chips);
	suite_add_tcase(suite, tc);
	return check_run_as(suite, CK_FORK);
}
