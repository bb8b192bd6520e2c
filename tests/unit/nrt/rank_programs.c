/* SPDX-License-Identifier: MIT */
#include "rank_programs.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ncc.h"

const char *machine, *target_name;
uint32_t cores[RANKS];
/* Of two processes: which this is, and what they meet as; NULL: it is alone */
unsigned int process;
const char *job;

bool is_own(unsigned int rank)
{
	return !job || rank % 2 == process;
}
/* The first rank of this process from that one on */
unsigned int own(unsigned int rank)
{
	while (!is_own(rank))
		rank++;
	return rank;
}

/* clang-format off */
#define REDUCE(to, op, from, type, kind, more)                                            \
	to " = \"stablehlo." op "\"(" from ") <{" more                                    \
	   "}> ({\n ^bb0(%a: tensor<" type ">, %b: tensor<" type                          \
	   ">):\n %c = stablehlo." kind " %a, %b : tensor<" type                          \
	   ">\n stablehlo.return %c : tensor<" type ">\n})"
#define ALL "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>"
#define ODD "replica_groups = dense<[[2, 0], [1, 3]]> : tensor<2x2xi64>"

/* One of each, in groups of all and of two, one behind the other and at the same time */
const char every[] = HEAD
	"%x: tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>, tensor<24xi32>, tensor<12xi32>, "
	"tensor<6xi32>, tensor<12xi32>, tensor<ui32>) {\n"
	REDUCE("%sum", "all_reduce", "%x", "i32", "add", ALL) ": (tensor<12xi32>) -> tensor<12xi32>\n"
	REDUCE("%max", "all_reduce", "%sum", "i32", "maximum", ODD)
	": (tensor<12xi32>) -> tensor<12xi32>\n"
	"%g = \"stablehlo.all_gather\"(%x) <{all_gather_dim = 0 : i64, " ODD
	"}> : (tensor<12xi32>) -> tensor<24xi32>\n"
	"%t = \"stablehlo.all_to_all\"(%x) <{concat_dimension = 0 : i64, split_count = 4 : i64, "
	"split_dimension = 0 : i64, " ALL "}> : (tensor<12xi32>) -> tensor<12xi32>\n"
	REDUCE("%s", "reduce_scatter", "%t", "i32", "add", "scatter_dimension = 0 : i64, " ODD)
	": (tensor<12xi32>) -> tensor<6xi32>\n"
	"%p = \"stablehlo.collective_permute\"(%x) <{source_target_pairs = dense<[[0, 1], [1, 3], "
	"[2, 2]]> : tensor<3x2xi64>}> : (tensor<12xi32>) -> tensor<12xi32>\n"
	"%r = stablehlo.replica_id : tensor<ui32>\n"
	"return %sum, %max, %g, %t, %s, %p, %r : tensor<12xi32>, tensor<12xi32>, tensor<24xi32>, "
	"tensor<12xi32>, tensor<6xi32>, tensor<12xi32>, tensor<ui32>\n}}\n";

/* A rank's own number of iterations, each of which needs all ranks */
const char iterations[] = HEAD
	"%x: tensor<12xi32>, %n: tensor<i32>) -> tensor<12xi32> {\n"
	"%zero = stablehlo.constant dense<0> : tensor<i32>\n"
	"%one = stablehlo.constant dense<1> : tensor<i32>\n"
	"%w:3 = stablehlo.while(%i = %zero, %v = %x, %k = %n) : tensor<i32>, tensor<12xi32>, "
	"tensor<i32>\n"
	"cond {\n %lt = stablehlo.compare LT, %i, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
	" stablehlo.return %lt : tensor<i1>\n} do {\n"
	REDUCE("%s", "all_reduce", "%v", "i32", "add", ALL) ": (tensor<12xi32>) -> tensor<12xi32>\n"
	"%j = stablehlo.add %i, %one : tensor<i32>\n"
	"stablehlo.return %j, %s, %k : tensor<i32>, tensor<12xi32>, tensor<i32>\n}\n"
	"return %w#1 : tensor<12xi32>\n}}\n";

/* Sums of bf16 and of many bytes */
const char sums[] = HEAD
	"%x: tensor<3xbf16>, %y: tensor<70001xf32>) -> (tensor<3xbf16>, tensor<70001xf32>) {\n"
	REDUCE("%s", "all_reduce", "%x", "bf16", "add", ALL) ": (tensor<3xbf16>) -> tensor<3xbf16>\n"
	REDUCE("%t", "all_reduce", "%y", "f32", "add", ALL)
	": (tensor<70001xf32>) -> tensor<70001xf32>\n"
	"return %s, %t : tensor<3xbf16>, tensor<70001xf32>\n}}\n";
/* clang-format on */

void *compile(const char *text, size_t *size)
{
	const struct ncc_options opt = { .framework = NCC_XLA,
					 .target = neuron_target_of_name(target_name) };
	struct ncc_error err;
	void *neff;

	ck_assert_msg(!ncc_compile(text, strlen(text), &opt, &neff, size, &err), "%s", err.text);
	return neff;
}

static void keep_details(struct rank *r)
{
	snprintf(r->details, sizeof(r->details), "%s", nrtx_error_details());
}

void *load_one(void *arg)
{
	struct rank *r = arg;

	r->status = nrtx_load(r->neff, r->size, &r->params, &r->model);
	keep_details(r);
	return NULL;
}

void *run_one(void *arg)
{
	struct rank *r = arg;

	r->tid = gettid();
	r->status = NRT_SUCCESS;
	for (unsigned int i = 0; i < (r->repeat ? r->repeat : 1) && !r->status; i++)
		r->status = r->gives_up ? nrtx_execute_failed(r->model)
					: nrt_execute(r->model, r->in, r->out);
	keep_details(r);
	return NULL;
}

void at_once(struct rank *r, unsigned int n, void *(*fn)(void *arg))
{
	for (unsigned int i = own(0); i < n; i = own(i + 1))
		ck_assert_int_eq(pthread_create(&r[i].thread, NULL, fn, &r[i]), 0);
	for (unsigned int i = own(0); i < n; i = own(i + 1))
		pthread_join(r[i].thread, NULL);
}

void prepare(struct rank *r, const void *neff, size_t size, uint32_t timeout_ms)
{
	static uint64_t groups;

	groups++;
	memset(r, 0, RANKS * sizeof(*r));
	for (uint32_t i = 0; i < RANKS; i++) {
		r[i].number = i;
		r[i].neff = neff;
		r[i].size = size;
		r[i].params = (struct nrtx_load_params){ .start_core = cores[i],
							 .core_count = 1,
							 .timeout_ms = timeout_ms,
							 .rank = i,
							 .ranks = RANKS,
							 .group = groups };
	}
}

nrt_tensor_t *add(struct rank *r, nrt_tensor_set_t *set, const char *name, size_t size)
{
	nrt_tensor_t **t = &r->tensor[r->ntensors++];

	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)cores[r->number],
					     size, name, t),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(set, name, *t), NRT_SUCCESS);
	return *t;
}

/* Leaves no zeros in the memory that a program gets next. */
static void soil(uint32_t core)
{
	static uint8_t bytes[1 << 20];
	nrt_tensor_t *t;

	memset(bytes, 0xa5, sizeof(bytes));
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)core, sizeof(bytes),
					     "soil", &t),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_write(t, bytes, 0, sizeof(bytes)), NRT_SUCCESS);
	nrt_tensor_free(&t);
}

void load_all(struct rank *r, const char *text, uint32_t timeout_ms)
{
	size_t size;
	void *neff = compile(text, &size);

	prepare(r, neff, size, timeout_ms);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1))
		soil(cores[i]);
	at_once(r, RANKS, load_one);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1))
		ck_assert_msg(!r[i].status, "rank %u: %s", i, r[i].details);
	free(neff);
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		nrt_allocate_tensor_set(&r[i].in);
		nrt_allocate_tensor_set(&r[i].out);
	}
}

void free_all(struct rank *r)
{
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		if (r[i].model)
			nrt_unload(r[i].model);
		nrt_destroy_tensor_set(&r[i].in);
		nrt_destroy_tensor_set(&r[i].out);
		for (unsigned int k = 0; k < r[i].ntensors; k++)
			nrt_tensor_free(&r[i].tensor[k]);
	}
}

void setup(void)
{
	if (!job)
		ck_assert_int_eq(nrtx_machine_set(machine), NRT_SUCCESS);
	ck_assert_msg(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") == NRT_SUCCESS, "%s",
		      nrtx_error_details());
	if (job)
		ck_assert_msg(nrtx_meet(job, process, 2) == NRT_SUCCESS, "%s",
			      nrtx_error_details());
}

void teardown(void)
{
	nrt_close();
}

static const size_t every_out[] = { 48, 48, 96, 48, 24, 48, 4 };
static const char *const names[] = { "output0", "output1", "output2", "output3",
				     "output4", "output5", "output6" };

void every_tensors(struct rank *r)
{
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		add(&r[i], r[i].in, "input0", N * 4);
		for (unsigned int k = 0; k < 7; k++)
			add(&r[i], r[i].out, names[k], every_out[k]);
	}
}

void every_write(struct rank *r, int32_t x[RANKS][N], int32_t seed)
{
	for (unsigned int i = 0; i < RANKS; i++) {
		for (unsigned int k = 0; k < N; k++)
			x[i][k] = (int32_t)(i * 1000003 + k * 7919) * (seed + 1) % 100000 - 50000;
		if (is_own(i))
			nrt_tensor_write(r[i].tensor[0], x[i], 0, N * 4);
	}
}

/* The groups {2, 0} and {1, 3}: who is at which place of the group of a rank */
static unsigned int partner(unsigned int rank, unsigned int place)
{
	static const unsigned int group[2][2] = { { 2, 0 }, { 1, 3 } };

	return group[rank % 2][place];
}

static unsigned int place_of(unsigned int rank)
{
	return partner(rank, 1) == rank;
}

void every_check(struct rank *r, int32_t x[RANKS][N])
{
	static const int from[RANKS] = { -1, 0, 2, 1 };
	int32_t t[RANKS][N], got[2 * N];

	for (unsigned int i = 0; i < RANKS; i++)
		for (unsigned int k = 0; k < N; k++)
			t[i][k] = x[k / 3][i * 3 + k % 3];
	for (unsigned int i = own(0); i < RANKS; i = own(i + 1)) {
		nrt_tensor_read(r[i].tensor[1], got, 0, 48);
		for (unsigned int k = 0; k < N; k++)
			ck_assert_int_eq(got[k], x[0][k] + x[1][k] + x[2][k] + x[3][k]);
		nrt_tensor_read(r[i].tensor[2], got, 0, 48);
		for (unsigned int k = 0; k < N; k++)
			ck_assert_int_eq(got[k], x[0][k] + x[1][k] + x[2][k] + x[3][k]);
		nrt_tensor_read(r[i].tensor[3], got, 0, 96);
		for (unsigned int k = 0; k < 2 * N; k++)
			ck_assert_int_eq(got[k], x[partner(i, k / N)][k % N]);
		nrt_tensor_read(r[i].tensor[4], got, 0, 48);
		for (unsigned int k = 0; k < N; k++)
			ck_assert_int_eq(got[k], t[i][k]);
		nrt_tensor_read(r[i].tensor[5], got, 0, 24);
		for (unsigned int k = 0; k < 6; k++)
			ck_assert_int_eq(got[k], t[partner(i, 0)][place_of(i) * 6 + k] +
							 t[partner(i, 1)][place_of(i) * 6 + k]);
		nrt_tensor_read(r[i].tensor[6], got, 0, 48);
		for (unsigned int k = 0; k < N; k++)
			ck_assert_int_eq(got[k], from[i] < 0 ? 0 : x[from[i]][k]);
		nrt_tensor_read(r[i].tensor[7], got, 0, 4);
		ck_assert_uint_eq((uint32_t)got[0], i);
	}
}
