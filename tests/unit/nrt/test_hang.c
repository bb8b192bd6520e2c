/* SPDX-License-Identifier: MIT */
/*
 * Programs on both cores of a logical one, on a Trainium2 in process, that are not over in time:
 * which core waits for which, by the message, or that none does. The oracle are the programs
 * (testmodel_siblings): where each stands is plain from its instructions.
 */
#include <check.h>
#include <stdbool.h>
#include <string.h>

#include "../check_main.h"
#include "nrt_client.h"
#include "testmodel.h"

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:trn2.3xlarge"), NRT_SUCCESS);
	ck_assert_msg(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "%s",
		      nrtx_error_details());
}

static void teardown(void)
{
	nrt_close();
}

static void load(struct client *cl, enum testmodel_siblings how, uint32_t vnc, uint32_t timeout_ms)
{
	size_t size;
	void *neff = testmodel_siblings(how, &size);

	client_load(cl, neff, size, vnc, NRT_TENSOR_PLACEMENT_VIRTUAL, timeout_ms);
}

/*
 * SP's instructions, of 64 bytes each: program_start, the barrier and the wait for it; where it
 * goes round, two more before the barrier.
 */
static const struct {
	enum testmodel_siblings how;
	uint32_t vnc;
	const char *said;
} cases[] = {
	{ TESTMODEL_ABSENT, 0,
	  "NC 0: nc0 waits for nc1 (sp at byte 128 of its program, semaphore 9)" },
	{ TESTMODEL_LATE, 0,
	  "NC 0: nc0 waits for nc1 (sp at byte 128 of its program, semaphore 9)" },
	{ TESTMODEL_LATE, 3,
	  "NC 6: nc6 waits for nc7 (sp at byte 128 of its program, semaphore 9)" },
	{ TESTMODEL_ASTRAY, 0, "execution timeout (200 ms) on Neuron Device 0 NC 0" },
	{ TESTMODEL_ALONE, 1, "execution timeout (200 ms) on Neuron Device 0 NC 2" },
};

START_TEST(hangs)
{
	const bool waits = cases[_i].how < TESTMODEL_ASTRAY;
	struct client cl, good;

	load(&cl, cases[_i].how, cases[_i].vnc, 200);
	load(&good, TESTMODEL_MEET, cases[_i].vnc, 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(client_run(&cl), NRT_TIMEOUT);
		ck_assert_msg(strstr(nrtx_error_details(), cases[_i].said), "%s",
			      nrtx_error_details());
		ck_assert_msg(!strstr(nrtx_error_details(), " waits for ") == !waits, "%s",
			      nrtx_error_details());
		ck_assert_msg(client_run(&good) == NRT_SUCCESS, "%s", nrtx_error_details());
	}
	client_free(&cl);
	client_free(&good);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-hang");
	TCase *tc = tcase_create("hang");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, hangs, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
