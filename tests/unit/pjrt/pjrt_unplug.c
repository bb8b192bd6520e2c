// SPDX-License-Identifier: MIT
/*
 * A framework whose second device goes away (tests/vm/plugin-unplug.t): runs a program on it until
 * that fails, says "running" once it has, and with which words it failed; then what is on the first
 * device is right. Not a test of its own.
 */
#include "pjrt_client.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check_main.h"

#define N 128

/* The error of a result, or NULL */
static PJRT_Error *await(PJRT_Buffer *b)
{
	PJRT_Buffer_ReadyEvent_Args *r = ARGS(Buffer_ReadyEvent, .buffer = b);
	PJRT_Error *e;

	CALL(Buffer_ReadyEvent, r);
	e = api->PJRT_Event_Await(ARGS(Event_Await, .event = r->event));
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = r->event));
	return e;
}

static PJRT_Buffer *put_second(const float *data)
{
	PJRT_Client_BufferFromHostBuffer_Args *a =
		ARGS(Client_BufferFromHostBuffer, .client = client, .data = data,
		     .type = PJRT_Buffer_Type_F32, .dims = (int64_t[]){ N, N }, .num_dims = 2,
		     .device = device(1));

	CALL(Client_BufferFromHostBuffer, a);
	CALL(Event_Destroy, ARGS(Event_Destroy, .event = a->done_with_host_buffer));
	return a->buffer;
}

START_TEST(unplugged)
{
	/* executable_build_options { device_ordinal: 1 } */
	static const unsigned char second[] = { 3 << 3 | 2, 2, 1 << 3, 1 };
	static float data[N * N];
	PJRT_LoadedExecutable *x, *add1 = compile("add1", "hlo");
	PJRT_Error *e = NULL;
	PJRT_Buffer *a, *b;

	expect_ok("long", try_compile("long", "hlo", second, sizeof(second), &x));
	a = put_second(data);
	for (unsigned int n = 0; !e; n++) {
		e = try_run(x, &a, 1, &b);
		if (!e) {
			e = await(b);
			drop(b);
		}
		if (!n && !e)
			printf("running\n");
		fflush(stdout);
	}
	expect_error("on a chip that is gone", e, PJRT_Error_Code_UNAVAILABLE, "No such device");
	printf("UNAVAILABLE: No such device\n");
	add1_is_right(add1);
	printf("went on\n");
	fflush(stdout);
	drop(a);
	destroy(x);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pjrt unplug");
	TCase *tc = tcase_create("unplug");

	tcase_add_unchecked_fixture(tc, plugin_start, plugin_end);
	tcase_add_test(tc, unplugged);
	suite_add_tcase(suite, tc);
	return check_run_here(suite);
}
