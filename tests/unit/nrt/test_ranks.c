/* SPDX-License-Identifier: MIT */
/*
 * Programs that several cores execute together: what they pass to each other, against plain C, and
 * what happens when a rank is missing, fails, is unloaded or goes another way. Run as
 * test_ranks MACHINE TARGET CORE,CORE,...: four cores, on one chip or on several; or as
 * test_ranks - TARGET CORE,... PROCESS JOB: this is process 0 or 1 of two, which go through the
 * same tests at the same time, each with every other rank. With chips of each its own (NEURON_EMU,
 * not a server's) it is that which is refused.
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check_main.h"
#include "../thread_state.h"
#include "ncc_program.h"
#include "nrt/nrt_experimental.h"
#include "nrt/nrtx.h"
#include "rank_programs.h"

/* ---- each operation ---- */

START_TEST(operations)
{
	struct rank r[RANKS];
	int32_t x[RANKS][N];

	load_all(r, every, 0);
	every_tensors(r);
	for (int32_t seed = 0; seed < 5; seed++) {
		every_write(r, x, seed);
		at_once(r, RANKS, run_one);
		for (unsigned int i = own(0); i < RANKS; i = own(i + 1))
			ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
		every_check(r, x);
	}
	free_all(r);
}
END_TEST

/* Many times, by threads that do not wait for each other between executions */
START_TEST(repeated)
{
	struct rank r[RANKS];
	int32_t x[RANKS][N];

	load_all(r, every, 0);
	every_tensors(r);
	every_write(r, x, 3);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1))
		r[i].repeat = 40;
	at_once(r, RANKS, run_one);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1))
		ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
	every_check(r, x);
	free_all(r);
}
END_TEST

/* Steps one behind the other, of which each needs what the one before has passed */
#define STEPS 100

static char *many_steps(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fprintf(f, HEAD "%%v0: tensor<12xi32>) -> tensor<12xi32> {\n");
	for (unsigned int i = 0; i < STEPS; i++)
		fprintf(f,
			"%%p%u = \"stablehlo.collective_permute\"(%%v%u) <{source_target_pairs = "
			"dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>}> : "
			"(tensor<12xi32>) -> tensor<12xi32>\n"
			"%%v%u = stablehlo.add %%p%u, %%v0 : tensor<12xi32>\n",
			i, i, i + 1, i);
	fprintf(f, "return %%v%u : tensor<12xi32>\n}}\n", STEPS);
	fclose(f);
	return text;
}

START_TEST(many)
{
	char *text = many_steps();
	struct rank r[RANKS];
	int32_t x[RANKS][N], v[RANKS][N], was[RANKS][N], got[N];

	load_all(r, text, 0);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		add(&r[i], r[i].in, "input0", N * 4);
		add(&r[i], r[i].out, "output0", N * 4);
	}
	every_write(r, x, 1);
	at_once(r, RANKS, run_one);
	memcpy(v, x, sizeof(v));
	for (unsigned int step = 0; step < STEPS; step++) {
		memcpy(was, v, sizeof(v));
		for (unsigned int i = 0; i < RANKS; i++)
			for (unsigned int k = 0; k < N; k++)
				v[i][k] = was[(i + RANKS - 1) % RANKS][k] + x[i][k];
	}
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
		nrt_tensor_read(r[i].tensor[1], got, 0, sizeof(got));
		ck_assert_int_eq(memcmp(got, v[i], sizeof(got)), 0);
	}
	free_all(r);
	free(text);
}
END_TEST

/* One of the partitions calls the host with what it has, and all get what that gives. */
static const char called[] =
	"module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {\n"
	"  func.func public @main(%x: tensor<12xi32>) -> tensor<12xi32> {\n"
	"%y = stablehlo.custom_call @neuron_python_callback(%x) {has_side_effect = true, "
	"api_version = 4 : i32, mhlo.backend_config = {device = 2 : ui64, index = 7 : ui64}} : "
	"(tensor<12xi32>) -> tensor<12xi32>\n"
	"%z = stablehlo.add %x, %y : tensor<12xi32>\n"
	"return %z : tensor<12xi32>\n}}\n";

static int doubled(void *arg, uint64_t index, uint32_t nin, const struct nrtx_host_array *in,
		   uint32_t nout, const struct nrtx_host_array *out, char *message, size_t size)
{
	atomic_uint *calls = arg;

	snprintf(message, size, "Error: not again");
	if (atomic_fetch_add(calls, 1))
		return 1;
	ck_assert(index == 7 && nin == 1 && nout == 1);
	for (unsigned int k = 0; k < N; k++)
		((int32_t *)out->data)[k] = 2 * ((int32_t *)in->data)[k];
	return 0;
}

START_TEST(one_calls)
{
	atomic_uint calls = 0;
	struct rank r[RANKS];
	int32_t x[RANKS][N], got[N];

	ck_assert_int_eq(nrtx_host_function(NCC_HOST_TARGET, doubled, &calls), NRT_SUCCESS);
	load_all(r, called, 0);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		add(&r[i], r[i].in, "input0", N * 4);
		add(&r[i], r[i].out, "output0", N * 4);
	}
	every_write(r, x, 1);
	at_once(r, RANKS, run_one);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
		nrt_tensor_read(r[i].tensor[1], got, 0, sizeof(got));
		for (unsigned int k = 0; k < N; k++)
			ck_assert_int_eq(got[k], x[i][k] + 2 * x[2][k]);
	}
	ck_assert_uint_eq(calls, is_own(2));
	at_once(r, RANKS, run_one); /* fails, and all say why */
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1))
		ck_assert_msg(r[i].status && strstr(r[i].details, "Error: not again"),
			      "rank %u: %s", i, r[i].details);
	free_all(r);
	nrtx_host_function(NCC_HOST_TARGET, NULL, NULL);
}
END_TEST

static void set_iterations(struct rank *r, const int32_t n[RANKS])
{
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		int32_t x[N];

		for (unsigned int k = 0; k < N; k++)
			x[k] = (int32_t)(i + k);
		if (!r[i].ntensors) {
			add(&r[i], r[i].in, "input0", N * 4);
			add(&r[i], r[i].in, "input1", 4);
			add(&r[i], r[i].out, "output0", N * 4);
		}
		nrt_tensor_write(r[i].tensor[0], x, 0, sizeof(x));
		nrt_tensor_write(r[i].tensor[1], &n[i], 0, 4);
	}
}

static void check_iterations(struct rank *r, unsigned int n)
{
	int32_t got[N], factor = 1;

	for (unsigned int i = 1; i < n; i++)
		factor *= RANKS;
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		nrt_tensor_read(r[i].tensor[2], got, 0, sizeof(got));
		for (unsigned int k = 0; k < N; k++)
			ck_assert_int_eq(got[k], (int32_t)(6 + 4 * k) * factor);
	}
}

START_TEST(loops)
{
	static const int32_t n[RANKS] = { 9, 9, 9, 9 };
	struct rank r[RANKS];

	load_all(r, iterations, 0);
	set_iterations(r, n);
	for (int k = 0; k < 3; k++) {
		at_once(r, RANKS, run_one);
		for (unsigned int i = own(0); i < RANKS; i = own(i + 1))
			ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
		check_iterations(r, 9);
	}
	free_all(r);
}
END_TEST

#define MANY 70001

/* 1 + 2^-8 + 2^-9 + 2^-9 is 1 + 2^-7 if it is rounded once, and 1 if after each addition */
START_TEST(order_and_types)
{
	static const uint16_t x[RANKS] = { 0x3f80, 0x3b80, 0x3b00, 0x3b00 };
	float *y = malloc(RANKS * MANY * sizeof(*y)), *got = malloc(MANY * sizeof(*got));
	struct rank r[RANKS];

	ck_assert_ptr_nonnull(y);
	ck_assert_ptr_nonnull(got);
	load_all(r, sums, 0);
	for (unsigned int i = 0; i < RANKS; i++)
		for (unsigned int k = 0; k < MANY; k++)
			y[i * MANY + k] = (float)(k + 1) / (float)(7 + 3 * i) * (i % 2 ? -1 : 1);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		const uint16_t three[3] = { x[i], x[i], x[i] };

		nrt_tensor_write(add(&r[i], r[i].in, "input0", 6), three, 0, 6);
		nrt_tensor_write(add(&r[i], r[i].in, "input1", MANY * 4), &y[i * MANY], 0,
				 MANY * 4);
		add(&r[i], r[i].out, "output0", 6);
		add(&r[i], r[i].out, "output1", MANY * 4);
	}
	at_once(r, RANKS, run_one);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		uint16_t three[3];

		ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
		nrt_tensor_read(r[i].tensor[2], three, 0, 6);
		ck_assert_uint_eq(three[1], 0x3f81);
		nrt_tensor_read(r[i].tensor[3], got, 0, MANY * 4);
		for (unsigned int k = 0; k < MANY; k++) {
			float sum = y[k] + y[MANY + k];

			sum += y[2 * MANY + k];
			sum += y[3 * MANY + k];
			ck_assert_msg(got[k] == sum, "rank %u, %u: %a, expected %a", i, k, got[k],
				      sum);
		}
	}
	free_all(r);
	free(y);
	free(got);
}
END_TEST

/* Two programs on the same cores, from threads that come in any order */
START_TEST(two_at_a_time)
{
	struct rank r[2 * RANKS];
	int32_t x[2][RANKS][N];

	for (unsigned int k = 0; k < 2; k++) {
		load_all(&r[k * RANKS], every, 0);
		every_tensors(&r[k * RANKS]);
		every_write(&r[k * RANKS], x[k], (int32_t)k);
	}
	for (unsigned int i = 0; i < 2 * RANKS; i++)
		r[i].repeat = 15;
	at_once(r, 2 * RANKS, run_one);
	for (unsigned int i = own(0); i < 2 * RANKS; i = own(i + 1))
		ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
	every_check(r, x[0]);
	every_check(r + RANKS, x[1]);
	free_all(r);
	free_all(r + RANKS);
}
END_TEST

/* ---- what goes wrong ---- */

static bool give_up(void *arg)
{
	return atomic_load((atomic_bool *)arg);
}

static void *load_until(void *arg)
{
	struct rank *r = arg;

	load_one(r);
	atomic_store((atomic_bool *)r->params.cancelled_arg, true);
	return NULL;
}

/* Three of four, one of which gives up: all of them end. */
START_TEST(missing_at_load)
{
	atomic_bool never = false, stop = true;
	struct rank r[RANKS];
	size_t size;
	void *neff = compile(every, &size);

	prepare(r, neff, size, 0);
	for (unsigned int i = 0; i < 3; i++) {
		r[i].params.cancelled = give_up;
		r[i].params.cancelled_arg = &never;
	}
	ck_assert_int_eq(pthread_create(&r[0].thread, NULL, load_until, &r[0]), 0);
	ck_assert_int_eq(pthread_create(&r[1].thread, NULL, load_one, &r[1]), 0);
	r[2].params.cancelled_arg = &stop;
	load_one(&r[2]);
	pthread_join(r[0].thread, NULL);
	pthread_join(r[1].thread, NULL);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert_int_eq(r[i].status, NRT_FAILURE);
	free(neff);
}
END_TEST

static const struct {
	uint32_t rank[2], ranks, core[2];
	NRT_STATUS status;
	const char *said;
} refused[] = {
	{ { 0, 1 }, 3, { 0, 1 }, NRT_INVALID, "for 4 ranks, loaded as rank" },
	{ { 0, 0 }, 0, { 0, 1 }, NRT_INVALID, "for 4 ranks, loaded as rank 0 of 1" },
	{ { 4, 7 }, 4, { 0, 1 }, NRT_INVALID, "loaded as rank" },
};

START_TEST(refused_at_load)
{
	struct rank r[RANKS];
	size_t size;
	void *neff = compile(every, &size);

	prepare(r, neff, size, 0);
	for (unsigned int i = 0; i < 2; i++) {
		r[i].params.rank = refused[_i].rank[i];
		r[i].params.ranks = refused[_i].ranks;
	}
	at_once(r, 2, load_one);
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_int_eq(r[i].status, refused[_i].status);
		ck_assert_msg(strstr(r[i].details, refused[_i].said), "%s", r[i].details);
	}
	free(neff);
}
END_TEST

START_TEST(one_core_twice)
{
	struct rank r[RANKS];
	size_t size;
	void *neff = compile(every, &size);

	prepare(r, neff, size, 0);
	r[3].params.start_core = cores[1];
	at_once(r, RANKS, load_one);
	for (unsigned int i = 0; i < RANKS; i++) {
		ck_assert_int_ne(r[i].status, NRT_SUCCESS);
		ck_assert_msg(strstr(r[i].details, "ranks 1 and 3 are on one core") ||
				      strstr(r[i].details, "could not be loaded"),
			      "%s", r[i].details);
	}
	free(neff);
}
END_TEST

/* Checks that all ranks execute without an error and have the right results */
static void still_right(struct rank *r)
{
	int32_t x[RANKS][N];

	every_write(r, x, 8);
	at_once(r, RANKS, run_one);
	for (unsigned int i = 0; i < RANKS; i++)
		ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
	every_check(r, x);
}

START_TEST(missing_at_execution)
{
	struct rank r[RANKS];

	load_all(r, every, 2000);
	every_tensors(r);
	at_once(r, 3, run_one);
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_int_eq(r[i].status, NRT_TIMEOUT);
		ck_assert_msg(strstr(r[i].details, "(2000 ms): rank "), "%s", r[i].details);
	}
	ck_assert_msg(strstr(r[0].details, "rank 3 of 4") || strstr(r[1].details, "rank 3 of 4") ||
			      strstr(r[2].details, "rank 3 of 4"),
		      "%s", r[0].details);
	still_right(r);
	free_all(r);
}
END_TEST

START_TEST(failed_before)
{
	struct rank r[RANKS];

	load_all(r, every, 0);
	every_tensors(r);
	r[2].gives_up = true;
	at_once(r, RANKS, run_one);
	for (unsigned int i = 0; i < RANKS; i++) {
		ck_assert_int_eq(r[i].status, i == 2 ? NRT_SUCCESS : NRT_EXEC_COMPLETED_WITH_ERR);
		ck_assert_msg(i == 2 || strstr(r[i].details, "rank 2 of 4"), "%s", r[i].details);
	}
	r[2].gives_up = false;
	still_right(r);
	free_all(r);
}
END_TEST

/* A rank that waits for the others learns that one of them goes, and so does one that comes then. */
START_TEST(unloaded)
{
	struct rank r[RANKS];

	load_all(r, every, 20000);
	every_tensors(r);
	ck_assert_int_eq(pthread_create(&r[0].thread, NULL, run_one, &r[0]), 0);
	while (!r[0].tid || !thread_rests(r[0].tid))
		sched_yield();
	nrt_unload(r[1].model);
	r[1].model = NULL;
	pthread_join(r[0].thread, NULL);
	run_one(&r[2]);
	for (unsigned int i = 0; i < RANKS; i += 2) {
		ck_assert_int_eq(r[i].status, NRT_FAILURE);
		ck_assert_msg(strstr(r[i].details, "rank 1 of 4 was unloaded"), "%s", r[i].details);
	}
	free_all(r);
}
END_TEST

/* A rank that goes on when the others have ended waits for them in vain; all end, and go on. */
START_TEST(another_way)
{
	static const int32_t apart[RANKS] = { 3, 3, 7, 3 }, same[RANKS] = { 2, 2, 2, 2 };
	struct rank r[RANKS], good[RANKS];
	unsigned int waits = 0;

	load_all(good, every, 0);
	every_tensors(good);
	load_all(r, iterations, 1000);
	for (int k = 0; k < 2; k++) {
		set_iterations(r, apart);
		at_once(r, RANKS, run_one);
		for (unsigned int i = 0; i < RANKS; i++) {
			ck_assert_msg(r[i].status == NRT_TIMEOUT ||
					      r[i].status == NRT_EXEC_COMPLETED_WITH_ERR,
				      "%d: %s", r[i].status, r[i].details);
			waits += strstr(r[i].details, "waits for") != NULL;
		}
		ck_assert_uint_ge(waits, 1);
		still_right(good);
		set_iterations(r, same);
		at_once(r, RANKS, run_one);
		for (unsigned int i = 0; i < RANKS; i++)
			ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
		check_iterations(r, 2);
	}
	free_all(r);
	free_all(good);
}
END_TEST

/* ---- two processes ---- */

/* Bytes of each to all, more than go at once too */
START_TEST(gathered)
{
	static const uint32_t sizes[] = { 0, 1, 100, 100003 };
	uint8_t *own = malloc(100003), *all = malloc(200006);

	for (unsigned int k = 0; k < 4; k++) {
		for (uint32_t i = 0; i < sizes[k]; i++)
			own[i] = (uint8_t)(i * 31 + process * 7);
		ck_assert_int_eq(nrt_all_gather(0, process, 2, sizes[k], own, all), NRT_SUCCESS);
		for (uint32_t i = 0; i < 2 * sizes[k]; i++)
			ck_assert_uint_eq(all[i], (uint8_t)(i % sizes[k] * 31 + i / sizes[k] * 7));
		ck_assert_int_eq(nrt_barrier(0, process, 2), NRT_SUCCESS);
	}
	ck_assert_int_eq(nrt_barrier(0, 0, 3), NRT_INVALID);
	free(own);
	free(all);
}
END_TEST

static void expect_gone(const struct rank *r)
{
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		ck_assert_int_ne(r[i].status, NRT_SUCCESS);
		ck_assert_msg(strstr(r[i].details, "process of rank 1 of 4 has ended") ||
				      strstr(r[i].details, "its process has ended"),
			      "rank %u: %s", i, r[i].details);
	}
}

/* A process ends, by the kernel's hand, while the other one waits for its ranks */
START_TEST(killed_between)
{
	struct rank r[RANKS];
	int32_t x[RANKS][N];

	load_all(r, every, 0);
	every_tensors(r);
	every_write(r, x, 1);
	at_once(r, RANKS, run_one);
	if (process)
		raise(SIGKILL);
	at_once(r, RANKS, run_one);
	expect_gone(r);
	for (unsigned int i = 0; i < 4; i++)
		ck_assert_int_eq(nrt_barrier(0, process, 2), NRT_FAILURE);
	free_all(r);
}
END_TEST

static void *kill_soon(void *arg)
{
	nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
	raise(SIGKILL);
	return arg;
}

/* The same of one that waits for it on the chip, in a loop that would go on for long */
START_TEST(killed_within)
{
	static const int32_t n[RANKS] = { 1 << 30, 1 << 30, 1 << 30, 1 << 30 };
	struct rank r[RANKS];
	pthread_t killer;

	load_all(r, iterations, 60000);
	set_iterations(r, n);
	if (process)
		ck_assert_int_eq(pthread_create(&killer, NULL, kill_soon, NULL), 0);
	at_once(r, RANKS, run_one);
	expect_gone(r);
	free_all(r);
}
END_TEST

/* Each has chips of its own, which the other one does not reach. */
START_TEST(other_machines)
{
	struct rank r[RANKS];
	size_t size;
	void *neff = compile(every, &size);

	prepare(r, neff, size, 0);
	at_once(r, RANKS, load_one);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		ck_assert_int_ne(r[i].status, NRT_SUCCESS);
		ck_assert_msg(strstr(r[i].details, "ranks 0 and 1 are on chips of different") ||
				      strstr(r[i].details, "could not be loaded"),
			      "rank %u: %s", i, r[i].details);
	}
	free(neff);
}
END_TEST

static TCase *new_case(const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	return tc;
}

static TCase *together(void)
{
	TCase *tc = new_case("together");

	tcase_add_test(tc, operations);
	tcase_add_test(tc, repeated);
	tcase_add_test(tc, many);
	tcase_add_test(tc, one_calls);
	tcase_add_test(tc, loops);
	tcase_add_test(tc, order_and_types);
	tcase_add_test(tc, two_at_a_time);
	return tc;
}

static TCase *wrong(void)
{
	TCase *tc = new_case("wrong");

	tcase_add_test(tc, missing_at_load);
	tcase_add_loop_test(tc, refused_at_load, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, one_core_twice);
	tcase_add_test(tc, missing_at_execution);
	tcase_add_test(tc, failed_before);
	tcase_add_test(tc, unloaded);
	tcase_add_test(tc, another_way);
	return tc;
}

static TCase *apart(void)
{
	TCase *tc = new_case("apart");

	tcase_add_test(tc, other_machines);
	return tc;
}

static TCase *two(void)
{
	TCase *tc = new_case("two");

	tcase_add_test(tc, gathered);
	if (process) {
		tcase_add_test_raise_signal(tc, killed_between, SIGKILL);
		tcase_add_test_raise_signal(tc, killed_within, SIGKILL);
	} else {
		tcase_add_test(tc, killed_between);
		tcase_add_test(tc, killed_within);
	}
	return tc;
}

int main(int argc, char **argv)
{
	Suite *s;

	if ((argc != 4 && argc != 6) ||
	    sscanf(argv[3], "%u,%u,%u,%u", &cores[0], &cores[1], &cores[2], &cores[3]) != RANKS) {
		fprintf(stderr, "usage: %s MACHINE TARGET CORE,CORE,CORE,CORE [PROCESS JOB]\n",
			argv[0]);
		return 1;
	}
	if (argc == 6) {
		process = (unsigned int)atoi(argv[4]);
		job = argv[5];
	}
	machine = argv[1];
	target_name = argv[2];
	s = suite_create("nrt-ranks");
	if (job && strncmp(getenv("NEURON_EMU") ?: "", "unix:", 5)) {
		suite_add_tcase(s, apart());
		return check_run(s);
	}
	suite_add_tcase(s, together());
	suite_add_tcase(s, job ? two() : wrong());
	return check_run(s);
}
