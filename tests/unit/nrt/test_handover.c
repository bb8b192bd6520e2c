// SPDX-License-Identifier: MIT
/*
 * What a core has of one model when it goes to another, executions that are interrupted, and models
 * that are unloaded while they execute: test_handover emu:inf1.6xlarge, or in a guest test_handover
 * node
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 64
#define N (128 * COLS)
#define HOUR_MS 3600000

static const char *machine;

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set(machine), NRT_SUCCESS);
	ck_assert_msg(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "%s",
		      nrtx_error_details());
}

static void teardown(void)
{
	nrt_close();
}

/* Loads the model that was made, and frees it. */
static void load(struct client *cl, struct testmodel *t, const struct nrtx_load_params *params)
{
	size_t size;
	void *neff = testmodel_write(t, &size);

	testmodel_free(t);
	client_load_on(cl, neff, size, params, NRT_TENSOR_PLACEMENT_VIRTUAL);
}

static void load_hang(struct client *cl, uint32_t core)
{
	const struct nrtx_load_params params = { .start_core = core, .timeout_ms = HOUR_MS };
	struct testmodel t;

	testmodel_hang(&t);
	load(cl, &t, &params);
}

static void load_add(struct client *cl, const struct nrtx_load_params *params)
{
	static float a[N], b[N];
	struct testmodel t;

	for (int i = 0; i < N; i++) {
		a[i] = (float)(i % 1000);
		b[i] = (float)(i % 77) * 0.5f;
	}
	testmodel_add(&t, COLS);
	load(cl, &t, params);
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

static void run_add(struct client *cl)
{
	static float c[N];

	memset(c, 0xff, sizeof(c));
	ck_assert_int_eq(client_run(cl), NRT_SUCCESS);
	client_read(cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		if (c[i] != (float)(i % 1000) + (float)(i % 77) * 0.5f)
			ck_abort_msg("element %d: %g", i, c[i]);
}

static void *run_thread(void *arg)
{
	NRT_STATUS status = client_run(arg);

	if (status && !strstr(nrtx_error_details(), "interrupted"))
		return NULL;
	return (void *)(uintptr_t)status;
}

/* Waits until the core executes the model: its SP has executed instructions. */
static void wait_begun(uint32_t core, uint64_t insns)
{
	struct nrtx_core_counters n;

	do {
		sched_yield();
		ck_assert_int_eq(nrtx_core_counters(core, &n), NRT_SUCCESS);
	} while (n.engine[3].insns == insns);
}

/* An hour's execution ends when it is interrupted; the core and its other models work */
START_TEST(interrupt)
{
	const struct nrtx_load_params params = { .start_core = 1 };
	struct nrtx_core_counters n;
	struct client hang, good;
	pthread_t thread;
	void *status;

	load_hang(&hang, 1);
	load_add(&good, &params);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(nrtx_core_counters(1, &n), NRT_SUCCESS);
		ck_assert_int_eq(pthread_create(&thread, NULL, run_thread, &hang), 0);
		wait_begun(1, n.engine[3].insns);
		ck_assert_int_eq(nrtx_interrupt(hang.model, true), NRT_SUCCESS);
		pthread_join(thread, &status);
		ck_assert_uint_eq((uintptr_t)status, NRT_EXEC_COMPLETED_WITH_ERR);
		/* nor does one begin, until the interruption is withdrawn */
		ck_assert_int_eq(client_run(&hang), NRT_EXEC_COMPLETED_WITH_ERR);
		run_add(&good);
		ck_assert_int_eq(nrtx_interrupt(hang.model, false), NRT_SUCCESS);
	}
	ck_assert_int_eq(nrtx_interrupt(good.model, true), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&good), NRT_EXEC_COMPLETED_WITH_ERR);
	ck_assert_int_eq(nrtx_interrupt(good.model, false), NRT_SUCCESS);
	run_add(&good);
	client_free(&hang);
	ck_assert_int_eq(nrtx_interrupt((nrt_model_t *)&hang, true), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrtx_model_seed((nrt_model_t *)&hang, 1), NRT_INVALID_HANDLE);
	client_free(&good);
}
END_TEST

static void *unload_thread(void *arg)
{
	return (void *)(uintptr_t)nrt_unload(((struct client *)arg)->model);
}

static struct nrtx_core_counters core_counters(uint32_t core)
{
	struct nrtx_core_counters n;

	ck_assert_int_eq(nrtx_core_counters(core, &n), NRT_SUCCESS);
	return n;
}

static void load_pipeline(struct client *cl)
{
	const struct nrtx_load_params params = { .core_count = 2 };
	static float a[N], b[N];
	size_t size;
	void *neff = testmodel_stages(2, COLS, &size);

	for (int i = 0; i < N; i++) {
		a[i] = (float)(i % 1000);
		b[i] = (float)(i % 77) * 0.5f;
	}
	client_load_on(cl, neff, size, &params, NRT_TENSOR_PLACEMENT_VIRTUAL);
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

/*
 * A pipeline that waits for its second core, which another model uses, is unloaded: it stays until
 * its execution is over, and the result is right. Each step is observed before the next is made.
 */
START_TEST(unload_in_use)
{
	static float c[N];
	struct nrtx_model_info info;
	struct client hang, pipe;
	pthread_t threads[3];
	void *status[3];
	uint64_t insns;

	load_pipeline(&pipe);
	load_hang(&hang, 1);
	insns = core_counters(1).engine[3].insns;
	pthread_create(&threads[0], NULL, run_thread, &hang);
	wait_begun(1, insns);
	pthread_create(&threads[1], NULL, run_thread, &pipe);
	while (!core_counters(0).infer_completed)
		sched_yield();
	pthread_create(&threads[2], NULL, unload_thread, &pipe);
	while (nrtx_model_info(pipe.model, &info) == NRT_SUCCESS)
		sched_yield();
	ck_assert_int_eq(nrtx_interrupt(hang.model, true), NRT_SUCCESS);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], &status[i]);
	ck_assert_uint_eq((uintptr_t)status[0], NRT_EXEC_COMPLETED_WITH_ERR);
	ck_assert_uint_eq((uintptr_t)status[1], NRT_SUCCESS);
	ck_assert_uint_eq((uintptr_t)status[2], NRT_SUCCESS);
	pipe.model = NULL;
	client_read(&pipe, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert_msg(c[i] == (float)(i % 1000) + (float)(i % 77), "element %d: %g", i,
			      c[i]);
	client_free(&pipe);
	client_free(&hang);
}
END_TEST

/* The number of values of the model before that a program of this owner can read */
static unsigned int found(const struct nrtx_load_params *params)
{
	static float y[N];
	struct client peek;
	struct testmodel t;
	unsigned int n = 0;

	testmodel_peek(&t, COLS);
	load(&peek, &t, params);
	ck_assert_int_eq(client_run(&peek), NRT_SUCCESS);
	client_read(&peek, "y", y, sizeof(y));
	client_free(&peek);
	for (int i = 0; i < N; i++)
		n += y[i] == (float)(i % 1000) && i % 1000;
	return n;
}

/*
 * An owner does not find another owner's values, whether that one's model is still loaded or not.
 */
START_TEST(owners)
{
	struct nrtx_load_params one = { .owner = 1 }, two = { .owner = 2 }, own = { 0 };
	struct client cl;

	/* of one owner, and of a process alone: the next program finds them, so the peek can see */
	load_add(&cl, &own);
	run_add(&cl);
	ck_assert_uint_gt(found(&own), N / 2);
	run_add(&cl);
	ck_assert_uint_eq(found(&one), 0);
	run_add(&cl);
	client_free(&cl);

	load_add(&cl, &one);
	run_add(&cl);
	ck_assert_uint_gt(found(&one), N / 2);
	run_add(&cl);
	ck_assert_uint_eq(found(&two), 0);
	run_add(&cl);
	ck_assert_uint_eq(found(&own), 0);
	run_add(&cl);
	client_free(&cl);
	ck_assert_uint_eq(found(&two), 0);

	/* an owner that has unloaded counts as another one from then on */
	load_add(&cl, &one);
	run_add(&cl);
	client_free(&cl);
	ck_assert_uint_eq(found(&one), 0);
}
END_TEST

/*
 * Two owners' models take turns on two cores: the results are right each time, also while others
 * are unloaded.
 */
START_TEST(turns)
{
	struct client cl[4];

	for (unsigned int i = 0; i < 4; i++) {
		const struct nrtx_load_params params = { .start_core = i % 2,
							 .core_count = 2,
							 .owner = i / 2 };

		load_add(&cl[i], &params);
	}
	for (unsigned int i = 0; i < 40; i++)
		run_add(&cl[i * 7 % 4]);
	for (unsigned int i = 0; i < 4; i++) {
		client_free(&cl[i]);
		for (unsigned int k = i + 1; k < 4; k++)
			run_add(&cl[k]);
	}
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("handover");
	TCase *tc = tcase_create("models");

	machine = argc > 1 ? argv[1] : getenv("NEURON_EMU") ?: "emu:inf1.6xlarge";
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, interrupt);
	tcase_add_test(tc, unload_in_use);
	tcase_add_test(tc, owners);
	tcase_add_test(tc, turns);
	suite_add_tcase(s, tc);
	return check_run(s);
}
