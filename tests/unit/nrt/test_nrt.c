// SPDX-License-Identifier: MIT
/*
 * libnrt end to end with programs made by hand: test_nrt emu:inf1.6xlarge, or in a guest test_nrt
 * node. The oracles are plain C over the inputs.
 */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../check_main.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 64
#define N (128 * COLS)
#define M 48
#define W 200

static const char *machine;
static float a[N], b[N], c[N];
static uint16_t w[128 * M], x[128 * W];

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

static uint32_t rnd(void)
{
	static uint32_t seed = 12345;

	seed = seed * 1664525u + 1013904223u;
	return seed >> 8;
}

static float value(void)
{
	return ((float)(rnd() % 20001) - 10000.0f) / 777.0f;
}

static uint16_t bf16(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return (uint16_t)(u >> 16);
}

static float from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, 4);
	return f;
}

/* Loads the model that was made, and frees it. */
static void load_made(struct client *cl, struct testmodel *t, uint32_t vnc,
		      nrt_tensor_placement_t placement, uint32_t timeout_ms)
{
	size_t size;
	void *neff = testmodel_write(t, &size);

	testmodel_free(t);
	client_load(cl, neff, size, vnc, placement, timeout_ms);
}

static void load_add(struct client *cl, uint32_t vnc, nrt_tensor_placement_t placement)
{
	struct testmodel t;

	testmodel_add(&t, COLS);
	load_made(cl, &t, vnc, placement, 0);
	for (int i = 0; i < N; i++) {
		a[i] = value();
		b[i] = value();
	}
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

static void check_add(struct client *cl)
{
	memset(c, 0xff, sizeof(c));
	client_read(cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		if (c[i] != a[i] + b[i])
			ck_abort_msg("element %d: %g", i, c[i]);
}

static const nrt_tensor_placement_t placements[] = {
	NRT_TENSOR_PLACEMENT_VIRTUAL,
	NRT_TENSOR_PLACEMENT_DEVICE,
	NRT_TENSOR_PLACEMENT_HOST,
};

START_TEST(add)
{
	struct client cl;

	load_add(&cl, 0, placements[_i]);
	ck_assert_uint_eq(cl.info->tensor_count, 3);
	ck_assert_str_eq(cl.info->tensor_array[2].name, "c");
	ck_assert_int_eq(cl.info->tensor_array[2].usage, NRT_TENSOR_USAGE_OUTPUT);
	ck_assert_int_eq(cl.info->tensor_array[2].dtype, NRT_DTYPE_FLOAT32);
	ck_assert_uint_eq(cl.info->tensor_array[2].ndim, 2);
	ck_assert_uint_eq(cl.info->tensor_array[2].shape[1], COLS);
	for (int i = 0; i < 5; i++) {
		a[i * 77] = (float)i;
		client_write(&cl, "a", a, sizeof(a));
		ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
		ck_assert_str_eq(nrtx_error_details(), "");
		check_add(&cl);
	}
	client_free(&cl);
}
END_TEST

START_TEST(matmul)
{
	static float y[M * W];
	struct nrtx_model_counters counters;
	struct testmodel t;
	struct client cl;

	for (int i = 0; i < 128 * M; i++)
		w[i] = bf16(value());
	for (int i = 0; i < 128 * W; i++)
		x[i] = bf16(value());
	testmodel_matmul(&t, M, W, w);
	load_made(&cl, &t, 1, NRT_TENSOR_PLACEMENT_VIRTUAL, 0);
	client_write(&cl, "x", x, sizeof(x));
	ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
	ck_assert_int_eq(nrtx_model_counters(cl.model, &counters), NRT_SUCCESS);
	ck_assert_uint_eq(counters.macs_per_infer, 128 * M * W);
	client_read(&cl, "y", y, sizeof(y));
	for (int i = 0; i < M; i++)
		for (int j = 0; j < W; j++) {
			float sum = 0;

			for (int k = 0; k < 128; k++)
				sum = fmaf(from_bf16(w[k * M + i]), from_bf16(x[k * W + j]), sum);
			if (y[i * W + j] != sum)
				ck_abort_msg("y[%d][%d] is %a, expected %a", i, j, y[i * W + j],
					     sum);
		}
	client_free(&cl);
}
END_TEST

START_TEST(unequal_descriptors)
{
	static uint8_t in[30000], out[30000];
	struct testmodel t;
	struct client cl;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)rnd();
	testmodel_shuffle(&t);
	/* back from the gaps: 30 bytes of every 50 */
	t.sg.engine[3].dma[0].desc[1].from =
		(struct neff_pattern){ 2, 0, 2, { 30, 1000 }, { 1, 50 } };
	load_made(&cl, &t, 2, NRT_TENSOR_PLACEMENT_VIRTUAL, 0);
	client_write(&cl, "x", in, sizeof(in));
	/* often enough that every ring wraps, the id of its laps included */
	for (int i = 0; i < 150; i++) {
		in[i] ^= 0x55;
		client_write(&cl, "x", in, sizeof(in));
		ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
		client_read(&cl, "y", out, sizeof(out));
		ck_assert(!memcmp(in, out, sizeof(in)));
	}
	client_free(&cl);
}
END_TEST

/* More descriptors than the module takes in one call: rings in host memory, then in the chip's. */
START_TEST(many_descriptors)
{
	static uint8_t in[400000], out[400000];
	const unsigned int n = _i ? 200000 : 30000;
	struct testmodel t;
	struct client cl;

	testmodel_scatter(&t, n);
	load_made(&cl, &t, 1, NRT_TENSOR_PLACEMENT_VIRTUAL, 0);
	for (unsigned int i = 0; i < 6 * n; i++) {
		in[i % (2 * n)] = (uint8_t)rnd();
		if ((i + 1) % (2 * n))
			continue;
		client_write(&cl, "x", in, 2 * n);
		ck_assert_msg(client_run(&cl) == NRT_SUCCESS, "%s", nrtx_error_details());
		client_read(&cl, "y", out, 2 * n);
		for (unsigned int k = 0; k < 2 * n; k += 2)
			ck_assert_uint_eq(out[k], in[k]);
	}
	client_free(&cl);
}
END_TEST

/* Two models share a core; each keeps its queues' places */
START_TEST(two_models_a_core)
{
	struct client one, two;

	load_add(&one, 3, NRT_TENSOR_PLACEMENT_VIRTUAL);
	load_add(&two, 3, NRT_TENSOR_PLACEMENT_VIRTUAL);
	client_write(&one, "a", a, sizeof(a));
	client_write(&one, "b", b, sizeof(b));
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(client_run(&one), NRT_SUCCESS);
		ck_assert_int_eq(client_run(&two), NRT_SUCCESS);
		check_add(&one);
		check_add(&two);
	}
	client_free(&one);
	ck_assert_int_eq(client_run(&two), NRT_SUCCESS);
	client_free(&two);
}
END_TEST

static void load_small(struct client *cl, void (*make)(struct testmodel *), uint32_t vnc,
		       uint32_t timeout_ms)
{
	struct testmodel t;

	make(&t);
	load_made(cl, &t, vnc, NRT_TENSOR_PLACEMENT_VIRTUAL, timeout_ms);
}

START_TEST(timeout)
{
	struct nrtx_core_counters n;
	struct client hang, good;

	load_small(&hang, testmodel_hang, 0, 100);
	load_add(&good, 0, NRT_TENSOR_PLACEMENT_VIRTUAL);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(client_run(&hang), NRT_TIMEOUT);
		ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "execution timeout (100 ms) "
								   "on Neuron Device 0 NC 0"));
		ck_assert_int_eq(client_run(&good), NRT_SUCCESS);
		check_add(&good);
	}
	ck_assert_int_eq(nrtx_core_counters(0, &n), NRT_SUCCESS);
	ck_assert_uint_eq(n.infer_timeout, 2);
	ck_assert_uint_eq(n.infer_completed, 2);
	client_free(&hang);
	client_free(&good);
}
END_TEST

/* A thread that waits for an execution sleeps until something happens; polling would show here. */
START_TEST(idle_while_waiting)
{
	struct rusage before, after;
	struct client hang;

	load_small(&hang, testmodel_hang, 0, 1000);
	getrusage(RUSAGE_THREAD, &before);
	ck_assert_int_eq(client_run(&hang), NRT_TIMEOUT);
	getrusage(RUSAGE_THREAD, &after);
	ck_assert_int_lt(after.ru_nvcsw - before.ru_nvcsw, 100);
	client_free(&hang);
}
END_TEST

START_TEST(engine_error)
{
	struct client bad, good;

	load_small(&bad, testmodel_fault, 1, 5000);
	load_add(&good, 1, NRT_TENSOR_PLACEMENT_VIRTUAL);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(client_run(&bad), NRT_EXEC_COMPLETED_WITH_ERR);
		ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "sg00/sp.bin"));
		ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "semaphore"));
		ck_assert_int_eq(client_run(&good), NRT_SUCCESS);
		check_add(&good);
	}
	client_free(&bad);
	client_free(&good);
}
END_TEST

static void many_faults(struct testmodel *t)
{
	testmodel_faults(t, 170);
}

/* More errors than the error queue has entries: the execution does not look successful. */
START_TEST(error_flood)
{
	struct client bad, good;

	load_small(&bad, many_faults, 1, 5000);
	load_add(&good, 1, NRT_TENSOR_PLACEMENT_VIRTUAL);
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(client_run(&bad), NRT_EXEC_COMPLETED_WITH_ERR);
		ck_assert_int_eq(client_run(&good), NRT_SUCCESS);
		check_add(&good);
	}
	client_free(&bad);
	client_free(&good);
}
END_TEST

START_TEST(bad_input)
{
	nrt_tensor_t *small;
	struct client cl;

	load_add(&cl, 0, NRT_TENSOR_PLACEMENT_VIRTUAL);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 16, "small", &small),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(cl.in, "a", small), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_EXEC_BAD_INPUT);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "16"));
	ck_assert_int_eq(nrt_execute(cl.model, cl.out, cl.out), NRT_EXEC_BAD_INPUT);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "'a'"));
	ck_assert_int_eq(nrt_execute(cl.model, NULL, cl.out), NRT_INVALID);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(cl.in, "a", client_tensor(&cl, "a")),
			 NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	nrt_tensor_free(&small);
	client_free(&cl);
}
END_TEST

static size_t memory_used(uint32_t vnc)
{
	nrt_vnc_memory_stats_t s;
	size_t n;

	ck_assert_int_eq(nrt_get_vnc_memory_stats(vnc, &s, sizeof(s), &n), NRT_SUCCESS);
	ck_assert_uint_eq(n, sizeof(s));
	ck_assert_uint_gt(s.bytes_limit, s.bytes_used);
	return s.bytes_used;
}

START_TEST(bad_neff)
{
	size_t before = memory_used(0), size;
	nrt_model_t *model = NULL;
	struct testmodel t;
	uint8_t *neff;

	ck_assert_int_eq(nrt_load(NULL, 0, 0, -1, &model), NRT_INVALID);
	ck_assert_int_eq(nrt_load("x", 1, 0, -1, &model), NRT_INVALID);
	testmodel_add(&t, 16);
	neff = testmodel_write(&t, &size);
	ck_assert_int_eq(nrt_load(neff, size - 5, 0, -1, &model), NRT_INVALID);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "header"));
	neff[24] = 9;
	ck_assert_int_eq(nrt_load(neff, size, 0, -1, &model), NRT_UNSUPPORTED_NEFF_VERSION);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "version"));
	neff[24] = 1;
	ck_assert_int_eq(nrt_load(neff, size, 1000, -1, &model), NRT_LOAD_NOT_ENOUGH_NC);
	ck_assert_ptr_null(model);
	free(neff);
	/* 9 GiB of scratch: more than there is */
	testmodel_var(&t, "huge", NEFF_VAR_TMP_BUF, 9ull << 30);
	neff = testmodel_write(&t, &size);
	ck_assert_int_eq(nrt_load(neff, size, 0, -1, &model), NRT_RESOURCE);
	ck_assert_ptr_null(model);
	free(neff);
	testmodel_free(&t);
	ck_assert_uint_eq(memory_used(0), before);
}
END_TEST

/* A file of a few thousand bytes must not take gigabytes of descriptors */
START_TEST(descriptor_bomb)
{
	size_t before = memory_used(0), size;
	nrt_model_t *model = NULL;
	struct testmodel t;
	void *neff;

	testmodel_scatter(&t, (1u << 23) + 2);
	neff = testmodel_write(&t, &size);
	testmodel_free(&t);
	ck_assert_int_eq(nrt_load(neff, size, 0, -1, &model), NRT_RESOURCE);
	ck_assert_ptr_nonnull(strstr(nrtx_error_details(), "descriptors"));
	ck_assert_uint_eq(memory_used(0), before);
	free(neff);
}
END_TEST

START_TEST(memory_comes_back)
{
	size_t before = memory_used(0);
	struct client cl;

	for (int i = 0; i < 50; i++) {
		load_add(&cl, 0, NRT_TENSOR_PLACEMENT_DEVICE);
		ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
		ck_assert_uint_gt(memory_used(0), before);
		client_free(&cl);
	}
	ck_assert_uint_eq(memory_used(0), before);
}
END_TEST

struct worker {
	pthread_t thread;
	struct client cl;
	unsigned int bad;
};

static void *work(void *arg)
{
	struct worker *wk = arg;
	float out[N];

	for (int i = 0; i < 10; i++) {
		wk->bad += client_run(&wk->cl) != NRT_SUCCESS;
		client_read(&wk->cl, "c", out, sizeof(out));
		for (int k = 0; k < N; k++)
			wk->bad += out[k] != a[k] + b[k];
	}
	return NULL;
}

START_TEST(all_cores)
{
	static struct worker wk[64];
	uint32_t n;

	ck_assert_int_eq(nrt_get_visible_nc_count(&n), NRT_SUCCESS);
	n = n < 64 ? n : 64;
	for (uint32_t i = 0; i < n; i++)
		load_add(&wk[i].cl, i, NRT_TENSOR_PLACEMENT_VIRTUAL);
	for (uint32_t i = 0; i < n; i++) {
		client_write(&wk[i].cl, "a", a, sizeof(a));
		client_write(&wk[i].cl, "b", b, sizeof(b));
	}
	for (uint32_t i = 0; i < n; i++)
		pthread_create(&wk[i].thread, NULL, work, &wk[i]);
	for (uint32_t i = 0; i < n; i++) {
		pthread_join(wk[i].thread, NULL);
		ck_assert_uint_eq(wk[i].bad, 0);
		client_free(&wk[i].cl);
	}
}
END_TEST

/* Several threads on one model: executions wait for each other */
START_TEST(one_core_many_threads)
{
	struct worker wk[4] = { 0 };

	load_add(&wk[0].cl, 0, NRT_TENSOR_PLACEMENT_VIRTUAL);
	for (int i = 1; i < 4; i++)
		wk[i].cl = wk[0].cl;
	ck_assert_int_eq(client_run(&wk[0].cl), NRT_SUCCESS);
	for (int i = 0; i < 4; i++)
		pthread_create(&wk[i].thread, NULL, work, &wk[i]);
	for (int i = 0; i < 4; i++) {
		pthread_join(wk[i].thread, NULL);
		ck_assert_uint_eq(wk[i].bad, 0);
	}
	client_free(&wk[0].cl);
}
END_TEST

START_TEST(tensors)
{
	nrt_tensor_placement_t where = placements[_i];
	int vnc = where == NRT_TENSOR_PLACEMENT_DEVICE ? 0 : -1;
	nrt_tensor_t *t, *slice, *other, *bad;
	nrt_tensor_device_allocation_info_t info;
	uint8_t buf[5000], out[5000];
	nrt_tensor_batch_op_t ops[2] = { { 100, 10, buf }, { 300, 20, buf + 10 } };
	nrt_tensor_batch_t batch = { NULL, ops, 2 };

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)rnd();
	ck_assert_int_eq(nrt_tensor_allocate(where, vnc, 5000, "t", &t), NRT_SUCCESS);
	ck_assert_uint_eq(nrt_tensor_get_size(t), 5000);
	ck_assert_ptr_nonnull(nrt_tensor_get_va(t));
	ck_assert_int_eq(nrt_tensor_write(t, buf, 0, 5000), NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_write(t, buf, 1, 5000), NRT_INVALID);
	ck_assert_int_eq(nrt_tensor_write(t, buf, ~0ull, 2), NRT_INVALID);
	ck_assert_int_eq(nrt_tensor_read(t, out, 5000, 1), NRT_INVALID);
	ck_assert_int_eq(nrt_tensor_allocate_slice(t, 1000, 2000, "s", &slice), NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_allocate_slice(t, 4000, 2000, "s", &bad), NRT_INVALID);
	ck_assert_int_eq(nrt_tensor_read(slice, out, 500, 100), NRT_SUCCESS);
	ck_assert(!memcmp(out, buf + 1500, 100));
	ck_assert_int_eq(nrt_tensor_read(slice, out, 1999, 2), NRT_INVALID);
	ck_assert_int_eq(nrt_tensor_memset(slice, 10, 0x5a, 20), NRT_SUCCESS);
	nrt_tensor_free(&t);
	ck_assert_ptr_null(t);
	/* the slice keeps the storage */
	ck_assert_int_eq(nrt_tensor_read(slice, out, 0, 2000), NRT_SUCCESS);
	memset(buf + 1010, 0x5a, 20);
	ck_assert(!memcmp(out, buf + 1000, 2000));
	batch.tensor = slice;
	ck_assert_int_eq(nrt_tensor_write_batch(&batch, 1, false), NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_read(slice, out, 300, 20), NRT_SUCCESS);
	ck_assert(!memcmp(out, buf + 10, 20));
	ck_assert_int_eq(nrt_tensor_allocate(where, vnc, 4096, NULL, &other), NRT_SUCCESS);
	if (where == NRT_TENSOR_PLACEMENT_DEVICE) {
		ck_assert_int_eq(nrt_tensor_copy(slice, 100, other, 5, 10), NRT_SUCCESS);
		ck_assert_int_eq(nrt_tensor_read(other, out, 5, 10), NRT_SUCCESS);
		ck_assert(!memcmp(out, buf, 10));
		ck_assert_int_eq(nrt_tensor_get_device_allocation_info(other, &info), NRT_SUCCESS);
		ck_assert_uint_ge(info.size, 4096);
		ck_assert_ptr_ne(nrt_tensor_get_va(other), nrt_tensor_get_va(slice));
		/* a copy stays on one core, also where another one's memory is as near */
		ck_assert_int_eq(nrt_tensor_allocate(where, 1, 4096, NULL, &bad), NRT_SUCCESS);
		ck_assert_int_eq(nrt_tensor_copy(slice, 100, bad, 5, 10), NRT_INVALID);
		nrt_tensor_free(&bad);
	} else {
		ck_assert_int_eq(nrt_tensor_copy(slice, 100, other, 5, 10), NRT_INVALID);
	}
	nrt_tensor_free(&slice);
	nrt_tensor_free(&other);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 999, 64, "x", &bad),
			 NRT_INVALID);
}
END_TEST

START_TEST(attached_buffers)
{
	nrt_tensor_t *t, *found;
	struct client cl;
	static float mine[N];

	load_add(&cl, 0, NRT_TENSOR_PLACEMENT_DEVICE);
	ck_assert_int_eq(nrt_tensor_allocate_empty("c", &t), NRT_SUCCESS);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(cl.out, "c", t), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_EXEC_BAD_INPUT);
	ck_assert_int_eq(nrt_tensor_attach_buffer(t, mine, sizeof(mine)), NRT_SUCCESS);
	ck_assert_ptr_eq(nrt_tensor_get_va(t), mine);
	ck_assert_int_eq(nrt_get_tensor_from_tensor_set(cl.out, "c", &found), NRT_SUCCESS);
	ck_assert_ptr_eq(found, t);
	ck_assert_int_ne(nrt_get_tensor_from_tensor_set(cl.out, "nothing", &found), NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_check_output_completion(t, 0, 1), NRT_TIMEOUT);
	ck_assert_int_eq(nrt_tensor_check_output_completion(NULL, 0, 1), NRT_INVALID);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_check_output_completion(t, 0, 1), NRT_SUCCESS);
	for (int i = 0; i < N; i++)
		if (mine[i] != a[i] + b[i])
			ck_abort_msg("element %d", i);
	nrt_tensor_free(&t);
	client_free(&cl);
}
END_TEST

START_TEST(repeat_and_counters)
{
	struct nrtx_model_counters m;
	struct nrtx_core_counters before, n;
	struct nrtx_model_info info;
	struct client cl;
	uint32_t count;

	load_add(&cl, 2, NRT_TENSOR_PLACEMENT_VIRTUAL);
	ck_assert_int_eq(nrtx_core_counters(2, &before), NRT_SUCCESS);
	ck_assert_int_eq(nrt_execute_repeat(cl.model, cl.in, cl.out, 7), NRT_SUCCESS);
	check_add(&cl);
	ck_assert_int_eq(nrtx_model_counters(cl.model, &m), NRT_SUCCESS);
	ck_assert_uint_eq(m.infers, 7);
	ck_assert_uint_eq(m.failed, 0);
	ck_assert_uint_ge(m.latency_total_us, m.latency_device_us);
	ck_assert_int_eq(nrtx_core_counters(2, &n), NRT_SUCCESS);
	ck_assert_uint_eq(n.infer_completed, 7);
	/* the program: program_start and tensor_tensor on pool, nothing on pe */
	ck_assert_uint_eq(n.engine[2].insns - before.engine[2].insns, 7 * 2);
	ck_assert_uint_eq(n.engine[0].insns, before.engine[0].insns);
	ck_assert_uint_gt(n.engine[3].insns - before.engine[3].insns, 7 * 5);
	ck_assert_uint_gt(n.mem_device, 0);
	ck_assert_int_eq(nrtx_model_info(cl.model, &info), NRT_SUCCESS);
	ck_assert_str_eq(info.name, "add");
	ck_assert_uint_eq(info.start_core, 2);
	ck_assert_int_eq(nrt_get_model_nc_count(cl.model, &count), NRT_SUCCESS);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(nrtx_core_counters(999, &n), NRT_INVALID);
	client_free(&cl);
}
END_TEST

START_TEST(unloaded)
{
	struct client cl;

	load_add(&cl, 0, NRT_TENSOR_PLACEMENT_VIRTUAL);
	ck_assert_int_eq(nrt_unload(cl.model), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_unload(cl.model), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_unload(NULL), NRT_INVALID_HANDLE);
	cl.model = NULL;
	client_free(&cl);
}
END_TEST

START_TEST(reset)
{
	struct client cl;

	load_add(&cl, 0, NRT_TENSOR_PLACEMENT_VIRTUAL);
	ck_assert_int_eq(nrtx_reset_cores(0, 4), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	check_add(&cl);
	ck_assert_int_eq(nrtx_reset_cores(0, 1000), NRT_INVALID);
	client_free(&cl);
}
END_TEST

START_TEST(lifecycle)
{
	uint32_t total, n, device, nc;
	nrt_tensor_t *old, *older;
	nrt_tensor_set_t *set;
	struct client cl;
	nrt_version_t v;

	ck_assert_int_eq(nrtx_machine_set(machine), NRT_SUCCESS);
	ck_assert_int_eq(nrt_get_total_nc_count(&total), NRT_SUCCESS);
	ck_assert_uint_gt(total, 3);
	ck_assert_int_eq(nrt_unload(NULL), NRT_UNINITIALIZED);
	ck_assert_int_eq(nrt_get_version(&v, sizeof(v)), NRT_SUCCESS);
	ck_assert_uint_eq(v.rt_major, 2);
	setenv("NEURON_RT_VISIBLE_CORES", "2-1", 1);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_INVALID);
	setenv("NEURON_RT_VISIBLE_CORES", "1,2-3", 1);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	ck_assert_int_eq(nrt_get_visible_nc_count(&n), NRT_SUCCESS);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(nrtx_core_location(0, &device, &nc), NRT_SUCCESS);
	ck_assert_uint_eq(device, 0);
	ck_assert_uint_eq(nc, 1);
	ck_assert_int_eq(nrtx_core_location(3, &device, &nc), NRT_INVALID);
	ck_assert_int_eq(nrt_get_total_nc_count(&n), NRT_SUCCESS);
	ck_assert_uint_eq(n, total);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 2, 64, "old", &old),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 2, 64, "older", &older),
			 NRT_SUCCESS);
	nrt_close();
	nrt_tensor_free(&old);
	ck_assert_int_eq(nrt_unload(NULL), NRT_CLOSED);
	ck_assert_int_eq(nrt_execute(NULL, NULL, NULL), NRT_CLOSED);
	ck_assert_int_eq(nrt_allocate_tensor_set(&set), NRT_CLOSED);
	unsetenv("NEURON_RT_VISIBLE_CORES");
	setenv("NEURON_RT_NUM_CORES", "2", 1);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
	ck_assert_int_eq(nrt_get_visible_vnc_count(&n), NRT_SUCCESS);
	ck_assert_uint_eq(n, 2);
	/*
	 * memory of the first initialization is gone, and nothing of the second is freed in its
	 * place
	 */
	ck_assert_int_eq(nrt_tensor_read(older, &n, 0, 4), NRT_INVALID_HANDLE);
	ck_assert_ptr_null(nrt_tensor_get_va(older));
	load_small(&cl, testmodel_hang, 0, 100);
	ck_assert_int_eq(nrt_add_tensor_to_tensor_set(cl.out, "y", older), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_INVALID_HANDLE);
	client_free(&cl);
	nrt_tensor_free(&older);
	nrt_close();
}
END_TEST

/* Calls that are in progress when another thread closes succeed; later calls answer NRT_CLOSED. */
struct closing {
	pthread_t thread;
	void *neff;
	size_t size;
	unsigned int rounds;
	NRT_STATUS last;
};

static NRT_STATUS use_all(struct closing *c)
{
	nrt_tensor_t *tensor = NULL, *y = NULL;
	nrt_tensor_set_t *set = NULL;
	nrt_model_t *model = NULL;
	struct nrtx_model_info info;
	uint64_t word = 0;
	NRT_STATUS s = nrt_load(c->neff, c->size, -1, -1, &model);

	if (!s)
		s = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 4096, "t", &tensor);
	if (!s)
		s = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_VIRTUAL, -1, 30000, "x", &y);
	if (!s)
		s = nrt_tensor_write(tensor, &word, 0, sizeof(word));
	if (!s)
		s = nrt_allocate_tensor_set(&set);
	if (!s)
		s = nrt_add_tensor_to_tensor_set(set, "x", y);
	if (!s)
		s = nrt_add_tensor_to_tensor_set(set, "y", y);
	if (!s)
		s = nrt_execute(model, set, set);
	if (!s)
		s = nrtx_model_info(model, &info);
	if (!s)
		s = nrt_unload(model);
	nrt_destroy_tensor_set(&set);
	nrt_tensor_free(&y);
	nrt_tensor_free(&tensor);
	return s;
}

static void *until_closed(void *arg)
{
	struct closing *c = arg;

	do {
		c->last = use_all(c);
		__atomic_add_fetch(&c->rounds, 1, __ATOMIC_RELEASE);
	} while (!c->last);
	return NULL;
}

START_TEST(close_in_use)
{
	struct closing c[3] = { 0 };
	struct testmodel t;

	ck_assert_int_eq(nrtx_machine_set(machine), NRT_SUCCESS);
	for (int i = 0; i < 3; i++) {
		testmodel_shuffle(&t);
		c[i].neff = testmodel_write(&t, &c[i].size);
		testmodel_free(&t);
	}
	for (unsigned int round = 0; round < 20; round++) {
		ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
		ck_assert_uint_eq(memory_used(0), 0);
		for (int i = 0; i < 3; i++) {
			__atomic_store_n(&c[i].rounds, 0, __ATOMIC_RELEASE);
			pthread_create(&c[i].thread, NULL, until_closed, &c[i]);
		}
		for (int i = 0; i < 3; i++)
			while (__atomic_load_n(&c[i].rounds, __ATOMIC_ACQUIRE) < round % 3)
				sched_yield();
		nrt_close();
		for (int i = 0; i < 3; i++) {
			pthread_join(c[i].thread, NULL);
			ck_assert_int_eq(c[i].last, NRT_CLOSED);
		}
	}
	for (int i = 0; i < 3; i++)
		free(c[i].neff);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("nrt");
	TCase *tc = tcase_create("models"), *bare = tcase_create("process");

	machine = argc > 1 ? argv[1] : getenv("NEURON_EMU") ?: "emu:inf1.6xlarge";
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, add, 0, 3);
	tcase_add_test(tc, matmul);
	tcase_add_test(tc, unequal_descriptors);
	tcase_add_loop_test(tc, many_descriptors, 0, 2);
	tcase_add_test(tc, two_models_a_core);
	tcase_add_test(tc, timeout);
	tcase_add_test(tc, idle_while_waiting);
	tcase_add_test(tc, engine_error);
	tcase_add_test(tc, error_flood);
	tcase_add_test(tc, bad_input);
	tcase_add_test(tc, bad_neff);
	tcase_add_test(tc, descriptor_bomb);
	tcase_add_test(tc, memory_comes_back);
	tcase_add_test(tc, all_cores);
	tcase_add_test(tc, one_core_many_threads);
	tcase_add_loop_test(tc, tensors, 0, 3);
	tcase_add_test(tc, attached_buffers);
	tcase_add_test(tc, repeat_and_counters);
	tcase_add_test(tc, unloaded);
	tcase_add_test(tc, reset);
	tcase_add_test(bare, lifecycle);
	tcase_add_test(bare, close_in_use);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, bare);
	return check_run(s);
}
