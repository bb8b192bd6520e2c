// SPDX-License-Identifier: MIT
/*
 * Somebody else resets a core under a program that goes on, or its chip is unplugged: the execution
 * ends at once with an error that says so, what is on other chips goes on, and a core that is still
 * there works. This test is linked with libnrt's own objects, so that it can act on the chip beside
 * libnrt.
 */
#include <check.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "ndlx.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 16
#define N (128 * COLS)
#define LONG_MS 20000 /* a program that nobody ends; what is tested takes a second */
#define OTHER_CHIP 4 /* its first core */

static ndlx_device_t *chip;

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.6xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &chip), 0);
}

static void teardown(void)
{
	ndlx_close_device(chip);
	nrt_close();
}

/* Loads the model that was made, and frees it. */
static void load(struct client *cl, struct testmodel *t, uint32_t core)
{
	const struct nrtx_load_params params = { .start_core = core, .timeout_ms = LONG_MS };
	size_t size;
	void *neff = testmodel_write(t, &size);

	testmodel_free(t);
	client_load_on(cl, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
}

static void load_add(struct client *cl, uint32_t core)
{
	static float a[N], b[N];
	struct testmodel t;

	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = (float)(i % 33) * 0.25f;
	}
	testmodel_add(&t, COLS);
	load(cl, &t, core);
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

static void run_add(struct client *cl)
{
	static float c[N];

	memset(c, 0xff, sizeof(c));
	ck_assert_msg(client_run(cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	client_read(cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert_float_eq(c[i], (float)i + (float)(i % 33) * 0.25f);
}

/* A program that does not end by itself, on a thread of its own */
struct endless {
	struct client cl;
	pthread_t thread;
	sem_t begun;
	NRT_STATUS status;
	char why[512];
};

static void has_begun(void *arg)
{
	sem_post(arg);
}

static void *run_endless(void *arg)
{
	struct endless *e = arg;

	nrtx_when_begun(has_begun, &e->begun);
	e->status = client_run(&e->cl);
	snprintf(e->why, sizeof(e->why), "%s", nrtx_error_details());
	return NULL;
}

static void endless_begin(struct endless *e, uint32_t core)
{
	struct testmodel t;

	testmodel_hang(&t);
	load(&e->cl, &t, core);
	sem_init(&e->begun, 0, 0);
	ck_assert_int_eq(pthread_create(&e->thread, NULL, run_endless, e), 0);
	sem_wait(&e->begun);
}

static void endless_ends(struct endless *e, const char *why)
{
	pthread_join(e->thread, NULL);
	ck_assert_int_eq(e->status, NRT_HW_ERROR);
	ck_assert_msg(strstr(e->why, why), "'%s' does not say '%s'", e->why, why);
	sem_destroy(&e->begun);
}

static void reset(uint32_t map)
{
	uint32_t request;
	int result;

	ck_assert_int_eq(ndlx_reset_ncs(chip, map, &request), 0);
	ck_assert_int_eq(ndlx_ready_ncs(chip, request, &result), 0);
	ck_assert_int_eq(result, 0);
}

START_TEST(a_reset_under_a_program)
{
	struct client same, other;
	struct endless e;

	load_add(&same, 0);
	load_add(&other, OTHER_CHIP);
	run_add(&same);
	endless_begin(&e, 0);
	run_add(&other);
	reset(_i ? NEURON_NC_MAP_DEVICE : 1);
	endless_ends(&e, "nd0 nc0 was reset");
	run_add(&other);
	run_add(&same);
	client_free(&e.cl);
	client_free(&same);
	client_free(&other);
}
END_TEST

/* A reset between executions is reported by the next one, and the one after that is right. */
START_TEST(a_reset_between_programs)
{
	struct client add;
	NRT_STATUS status;

	load_add(&add, 0);
	run_add(&add);
	reset(1);
	status = client_run(&add);
	ck_assert_msg(status == NRT_HW_ERROR && strstr(nrtx_error_details(), "was reset"), "%d %s",
		      status, nrtx_error_details());
	run_add(&add);
	client_free(&add);
}
END_TEST

START_TEST(unplugged_under_a_program)
{
	struct client same, other;
	struct endless e;
	nrt_tensor_t *x;

	load_add(&same, 1);
	load_add(&other, OTHER_CHIP);
	endless_begin(&e, 0);
	ck_assert_int_eq(ndlx_fault(0, "unplug"), 0);
	endless_ends(&e, "No such device");
	run_add(&other);
	ck_assert_int_eq(client_run(&same), NRT_HW_ERROR);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 64, "x", &x),
			 NRT_HW_ERROR);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "unplugged"));
	client_free(&e.cl);
	client_free(&same);
	client_free(&other);
}
END_TEST

START_TEST(unplugged_at_a_doorbell)
{
	struct client add, other;
	NRT_STATUS status = NRT_SUCCESS;
	int runs = 0;

	load_add(&add, 0);
	load_add(&other, OTHER_CHIP);
	ck_assert_int_eq(ndlx_fault(0, "unplug=1:after=20"), 0);
	for (; !status && runs < 21; runs++)
		status = client_run(&add);
	ck_assert_int_eq(status, NRT_HW_ERROR);
	ck_assert_int_gt(runs, 1);
	run_add(&other);
	client_free(&add);
	client_free(&other);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-gone");
	TCase *tc = tcase_create("gone");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, a_reset_under_a_program, 0, 2);
	tcase_add_test(tc, a_reset_between_programs);
	tcase_add_test(tc, unplugged_under_a_program);
	tcase_add_test(tc, unplugged_at_a_doorbell);
	suite_add_tcase(s, tc);
	return check_run(s);
}
