// SPDX-License-Identifier: MIT
/*
 * Asynchronous requests of libnrt at level 2.0 of their API: sequence numbers, completions, errors,
 * the mode in which nrt_execute queues. The oracles are plain C over what was written.
 */
#define NRTX_ASYNC_2_0
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check_main.h"
#include "nrt/nrt_async.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 16
#define N (128 * COLS)
#define MiB (1u << 20)

static float a[N], b[N], c[N];

static void setup(void)
{
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void teardown(void)
{
	nrt_close();
}

static void load(struct client *cl, struct testmodel *t, uint32_t vnc)
{
	size_t size;
	void *neff = testmodel_write(t, &size);

	testmodel_free(t);
	client_load(cl, neff, size, vnc, NRT_TENSOR_PLACEMENT_DEVICE, 30000);
}

static void load_add(struct client *cl, uint32_t vnc)
{
	struct testmodel t;

	testmodel_add(&t, COLS);
	load(cl, &t, vnc);
	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = (float)(3 * i + 1);
	}
	client_write(cl, "a", a, sizeof(a));
	client_write(cl, "b", b, sizeof(b));
}

/* Waits for a request as the API offers it, with a descriptor. */
static void await(nrta_seq_t seq)
{
	struct pollfd p = { .events = POLLIN };
	bool done = false;

	ck_assert_int_eq(nrta_get_completion_handle(seq, &p.fd), NRT_SUCCESS);
	ck_assert_int_eq(poll(&p, 1, 30000), 1);
	ck_assert(p.revents & POLLIN);
	close(p.fd);
	ck_assert_int_eq(nrta_is_completed(seq, &done), NRT_SUCCESS);
	ck_assert(done);
}

static nrt_tensor_t *device_tensor(int vnc, size_t size)
{
	nrt_tensor_t *tensor;

	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, size, "t", &tensor),
			 NRT_SUCCESS);
	return tensor;
}

START_TEST(transfers)
{
	static uint8_t there[2 * MiB], back[2 * MiB];
	nrt_tensor_t *one = device_tensor(1, sizeof(there)), *two = device_tensor(1, sizeof(there));
	nrta_seq_t w, x, r, last;

	for (size_t i = 0; i < sizeof(there); i++)
		there[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(nrta_tensor_write(one, there, 0, sizeof(there), 0, NULL, &w), NRT_SUCCESS);
	await(w);
	ck_assert_int_eq(nrta_tensor_copy(one, MiB, two, 0, MiB, 3, NULL, &x), NRT_SUCCESS);
	await(x);
	ck_assert_int_eq(nrta_tensor_copy(one, 0, two, MiB, MiB, 3, NULL, &x), NRT_SUCCESS);
	await(x);
	ck_assert_int_eq(nrta_tensor_read(back, two, 0, sizeof(back), 2, NULL, &r), NRT_SUCCESS);
	await(r);
	ck_assert_mem_eq(back, there + MiB, MiB);
	ck_assert_mem_eq(back + MiB, there, MiB);

	/* numbers count from 1 in each queue; units and queues have ids of their own */
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(w), 1);
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(x), 2);
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(r), 1);
	ck_assert_uint_ne(NRTA_SEQ_GET_XU_ID(w), NRTA_SEQ_GET_XU_ID(x));
	ck_assert_uint_ne(NRTA_SEQ_GET_XU_ID(w), NRTA_SEQ_GET_XU_ID(r));
	ck_assert_int_eq(nrta_get_sequence(1, NRTA_XU_TENSOR_OP, 3, &last), NRT_SUCCESS);
	ck_assert_uint_eq(last, x);
	ck_assert_int_eq(nrta_get_sequence(1, NRTA_XU_TENSOR_OP, 4, &last), NRT_SUCCESS);
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(last), 0);
	nrt_tensor_free(&one);
	nrt_tensor_free(&two);
}
END_TEST

START_TEST(order)
{
	nrt_tensor_t *t = device_tensor(0, 4096);
	nrta_seq_t seq[200];
	uint32_t word[200], last;

	/* a queue carries out its requests in order: what was written last stays */
	for (uint32_t i = 0; i < 200; i++) {
		word[i] = i;
		ck_assert_int_eq(nrta_tensor_write(t, &word[i], 0, 4, 0, NULL, &seq[i]),
				 NRT_SUCCESS);
		ck_assert_uint_eq(seq[i], seq[0] + i);
	}
	/* a synchronous read waits for what is queued on the tensor */
	ck_assert_int_eq(nrt_tensor_read(t, &last, 0, 4), NRT_SUCCESS);
	ck_assert_uint_eq(last, 199);
	await(seq[199]);
	nrt_tensor_free(&t);
}
END_TEST

START_TEST(executions)
{
	nrta_error_tracker_t *tracker;
	const nrta_error_t *list;
	struct client cl, bad;
	struct testmodel t;
	nrta_seq_t seq, fails;
	size_t n;

	load_add(&cl, 2);
	testmodel_fault(&t);
	load(&bad, &t, 2);
	ck_assert_int_eq(nrta_error_tracker_create(2, &tracker), NRT_SUCCESS);
	ck_assert_int_eq(nrta_execute_schedule(bad.model, bad.in, bad.out, 0, tracker, &fails),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrta_execute_schedule(cl.model, cl.in, cl.out, 0, tracker, &seq),
			 NRT_SUCCESS);
	ck_assert_uint_eq(seq, fails + 1);
	await(seq);
	client_read(&cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert(c[i] == a[i] + b[i]);

	ck_assert_int_eq(nrta_error_tracker_get_list(tracker, &list, &n), NRT_SUCCESS);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(list[0].seq_id, fails);
	ck_assert_uint_eq(list[0].error_code, NRT_EXEC_COMPLETED_WITH_ERR);
	ck_assert_int_eq(nrta_error_tracker_get_list(tracker, &list, &n), NRT_SUCCESS);
	ck_assert_uint_eq(n, 0);
	nrta_error_tracker_destroy(tracker);
	client_free(&cl);
	client_free(&bad);
}
END_TEST

/* A schedule takes the sets as they are; the model is there until its execution has ended. */
START_TEST(lifetimes)
{
	nrta_seq_t first, seq;
	struct client cl;
	bool done;

	load_add(&cl, 0);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(nrta_execute_schedule(cl.model, cl.in, cl.out, 0, NULL,
						       i ? &seq : &first),
				 NRT_SUCCESS);
	nrt_destroy_tensor_set(&cl.in);
	ck_assert_int_eq(nrt_unload(cl.model), NRT_SUCCESS);
	cl.model = NULL;
	client_read(&cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert(c[i] == a[i] + b[i]);
	await(seq);
	ck_assert_int_eq(nrta_is_completed(first, &done), NRT_SUCCESS);
	ck_assert(done);
	ck_assert_int_eq(nrt_tensor_check_output_completion(client_tensor(&cl, "c"), 0, 20),
			 NRT_SUCCESS);
	client_free(&cl);
}
END_TEST

START_TEST(collective)
{
	nrt_tensor_t *in = device_tensor(1, sizeof(a)), *out = device_tensor(1, sizeof(a));
	nrt_tensor_list_t ins = { &in, 1 }, outs = { &out, 1 };
	uint32_t group[] = { 0, 1 };
	nrt_cc_comm_t comm = { group, 0, 1, 0, 1, 1 };
	nrt_cc_context_t *cc;
	nrta_seq_t seq;

	for (int i = 0; i < N; i++)
		a[i] = (float)(5 - i);
	ck_assert_int_eq(nrt_tensor_write(in, a, 0, sizeof(a)), NRT_SUCCESS);
	ck_assert_int_eq(nrta_cc_prepare(&comm, &ins, &outs, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
					 NRT_CC_ALLREDUCE, &cc),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrta_cc_schedule(&cc, 0, NULL, &seq), NRT_SUCCESS);
	ck_assert_ptr_null(cc);
	await(seq);
	ck_assert_int_eq(nrt_tensor_read(out, c, 0, sizeof(c)), NRT_SUCCESS);
	ck_assert_mem_eq(c, a, sizeof(a));
	comm.rank_n = 2;
	ck_assert_int_eq(nrta_cc_prepare(&comm, &ins, &outs, NRT_DTYPE_FLOAT32, NRT_OP_ADD,
					 NRT_CC_ALLREDUCE, &cc),
			 NRT_INVALID);
	nrt_tensor_free(&in);
	nrt_tensor_free(&out);
}
END_TEST

START_TEST(hostile)
{
	nrt_tensor_t *t = device_tensor(0, 64), *other = device_tensor(1, 64), *empty;
	nrta_error_tracker_t *tracker;
	const nrta_error_t *list;
	nrta_seq_t seq = 0;
	char buf[64];
	bool done;
	size_t n;
	int fd;

	ck_assert_int_eq(nrt_tensor_allocate_empty("e", &empty), NRT_SUCCESS);
	ck_assert_int_eq(nrta_tensor_write(NULL, buf, 0, 1, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(empty, buf, 0, 1, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, NULL, 0, 1, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 60, 5, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, UINT64_MAX, 2, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 1, -1, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 1, 16, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 1, 0, NULL, NULL), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_read(NULL, t, 0, 1, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_copy(t, 0, other, 0, 1, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_copy(t, 0, empty, 0, 1, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_execute_schedule(NULL, t, t, 0, NULL, &seq), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrta_execute_schedule(NULL, NULL, NULL, 0, NULL, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_cc_prepare(NULL, NULL, NULL, 0, 0, 0, NULL), NRT_INVALID);
	ck_assert_int_eq(nrta_cc_schedule(NULL, 0, NULL, &seq), NRT_INVALID);

	/* no such request: of a queue that never had one, beyond the last, number 0 */
	ck_assert_int_eq(nrta_is_completed(0, &done), NRT_INVALID);
	ck_assert_int_eq(nrta_is_completed(UINT64_MAX, &done), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 1, 0, NULL, &seq), NRT_SUCCESS);
	ck_assert_int_eq(nrta_is_completed(seq + 1, &done), NRT_INVALID);
	ck_assert_int_eq(nrta_is_completed(seq & ~NRTA_SEQ_NUM_MASK, &done), NRT_INVALID);
	ck_assert_int_eq(nrta_is_completed(seq, NULL), NRT_INVALID);
	ck_assert_int_eq(nrta_get_completion_handle(seq + 1, &fd), NRT_INVALID);
	ck_assert_int_eq(nrta_get_completion_handle(seq, NULL), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(99, NRTA_XU_COMPUTE, 0, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_TYPE_NUM, 0, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_COMPUTE, 16, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_COMPUTE, 0, NULL), NRT_INVALID);
	ck_assert_int_eq(nrta_error_tracker_create(99, &tracker), NRT_INVALID);
	ck_assert_int_eq(nrta_error_tracker_create(0, NULL), NRT_INVALID);
	ck_assert_int_eq(nrta_error_tracker_get_list(NULL, &list, &n), NRT_INVALID);
	nrta_error_tracker_destroy(NULL);
	ck_assert_int_eq(nrt_async_drain_queued_execs(-1), NRT_INVALID);
	ck_assert_int_eq(nrt_async_drain_queued_execs(99), NRT_INVALID);
	nrt_tensor_free(&t);
	nrt_tensor_free(&other);
	nrt_tensor_free(&empty);
}
END_TEST

START_TEST(full)
{
	static uint8_t buf[MiB / 4]; /* copied more slowly than it is asked for */
	nrt_tensor_t *t = device_tensor(0, sizeof(buf));
	unsigned int taken = 0;
	nrta_seq_t seq, last = 0;
	NRT_STATUS status;

	while (!(status = nrta_tensor_write(t, buf, 0, sizeof(buf), 0, NULL, &seq))) {
		last = seq;
		ck_assert_uint_lt(++taken, 1000000);
	}
	ck_assert_int_eq(status, NRT_QUEUE_FULL);
	ck_assert_uint_ge(taken, 4096);
	await(last);
	nrt_tensor_free(&t);
}
END_TEST

/* Requests that are queued when nrt_close comes are carried out; afterwards none is accepted. */
START_TEST(closing)
{
	nrt_tensor_t *t;
	uint32_t word = 7;
	nrta_seq_t seq;
	bool done;

	setup();
	t = device_tensor(0, 4096);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, NULL, &seq), NRT_SUCCESS);
	nrt_close();
	ck_assert_int_eq(nrta_is_completed(seq, &done), NRT_SUCCESS);
	ck_assert(done);
	ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, NULL, &seq), NRT_CLOSED);
	nrt_tensor_free(&t);

	/* numbers go on after another nrt_init */
	setup();
	t = device_tensor(0, 4096);
	ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, NULL, &seq), NRT_SUCCESS);
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(seq), 101);
	await(seq);
	nrt_tensor_free(&t);
	nrt_close();
}
END_TEST

/* Many threads, each with queues of its own, and one that all share */
struct writer {
	pthread_t thread;
	nrt_tensor_t *tensor;
	uint32_t id;
};

static void *write_many(void *arg)
{
	struct writer *w = arg;
	uint32_t there[64], back;
	nrta_seq_t seq = 0, before = 0;

	for (uint32_t i = 0; i < 64; i++) {
		there[i] = w->id << 16 | i;
		ck_assert_int_eq(nrta_tensor_write(w->tensor, &there[i], 4 * i, 4, 5, NULL, &seq),
				 NRT_SUCCESS);
		ck_assert_uint_gt(seq, before);
		before = seq;
	}
	await(seq);
	for (uint32_t i = 0; i < 64; i++) {
		ck_assert_int_eq(nrta_tensor_read(&back, w->tensor, 4 * i, 4, (int)w->id % 16, NULL,
						  &seq),
				 NRT_SUCCESS);
		await(seq);
		ck_assert_uint_eq(back, w->id << 16 | i);
	}
	return NULL;
}

START_TEST(threads)
{
	struct writer w[8];

	for (uint32_t i = 0; i < 8; i++) {
		w[i] = (struct writer){ .tensor = device_tensor(3, 256), .id = i };
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, write_many, &w[i]), 0);
	}
	for (uint32_t i = 0; i < 8; i++) {
		pthread_join(w[i].thread, NULL);
		nrt_tensor_free(&w[i].tensor);
	}
}
END_TEST

/* nrt_execute that queues */
static struct told {
	pthread_mutex_t lock;
	unsigned int n, failed;
	uint64_t job[64];
	uint32_t vnc, model;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void tell(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id, NRT_STATUS status)
{
	struct told *t = params;

	pthread_mutex_lock(&t->lock);
	t->vnc = vnc;
	t->model = model_id;
	t->failed += status != NRT_SUCCESS;
	t->job[t->n++ % 64] = job_id;
	pthread_mutex_unlock(&t->lock);
}

START_TEST(mode)
{
	struct client cl, bad;
	struct testmodel t;

	setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "3", 1);
	setup();
	load_add(&cl, 1);
	ck_assert_int_eq(nrt_register_async_exec_callback(tell, &told), NRT_SUCCESS);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	/* a read of the output waits for the executions that write it */
	client_read(&cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert(c[i] == a[i] + b[i]);
	ck_assert_int_eq(nrt_async_drain_queued_execs(1), NRT_SUCCESS);
	ck_assert_uint_eq(told.n, 20);
	ck_assert_uint_eq(told.failed, 0);
	ck_assert_uint_eq(told.vnc, 1);
	for (unsigned int i = 0; i < 20; i++)
		ck_assert_uint_eq(told.job[i], i + 1);

	/* what is wrong with the tensors is told at once; a failure by the callback */
	ck_assert_int_eq(nrt_execute(cl.model, cl.out, cl.in), NRT_EXEC_BAD_INPUT);
	testmodel_fault(&t);
	load(&bad, &t, 0);
	ck_assert_int_eq(client_run(&bad), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_drain_queued_execs(0), NRT_SUCCESS);
	ck_assert_uint_eq(told.n, 21);
	ck_assert_uint_eq(told.failed, 1);

	/* without a callback the failure is nobody's; the process goes on */
	ck_assert_int_eq(nrt_register_async_exec_callback(NULL, NULL), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&bad), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_drain_queued_execs(0), NRT_SUCCESS);
	client_free(&cl);
	client_free(&bad);
	nrt_close();
}
END_TEST

/* From a callback: executions at once, and the end of the runtime */
static struct client inner;
static NRT_STATUS inner_status = NRT_FAILURE;

static void nested(void *params, uint32_t model_id, uint32_t vnc, uint64_t job_id,
		   NRT_STATUS status)
{
	nrt_register_async_exec_callback(NULL, NULL);
	inner_status = client_run(&inner);
	ck_assert_int_eq(nrt_async_drain_queued_execs((int32_t)vnc), NRT_INVALID);
	nrt_close();
}

START_TEST(callback)
{
	struct timespec pause = { .tv_nsec = 10000000 };

	/* with room for one a callback that queued would wait for itself */
	setenv("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "1", 1);
	setup();
	load_add(&inner, 0);
	ck_assert_int_eq(nrt_register_async_exec_callback(nested, NULL), NRT_SUCCESS);
	for (int i = 0; i < 4; i++)
		client_run(&inner);
	for (int i = 0; i < CHECK_WAIT_MS / 10 && nrt_unload(NULL) != NRT_CLOSED; i++)
		nanosleep(&pause, NULL);
	ck_assert_int_eq(nrt_unload(NULL), NRT_CLOSED);
	ck_assert_int_eq(inner_status, NRT_SUCCESS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-async");
	TCase *open = tcase_create("open"), *own = tcase_create("own");

	tcase_add_checked_fixture(open, setup, teardown);
	tcase_add_test(open, transfers);
	tcase_add_test(open, order);
	tcase_add_test(open, executions);
	tcase_add_test(open, lifetimes);
	tcase_add_test(open, collective);
	tcase_add_test(open, hostile);
	tcase_add_test(open, full);
	tcase_add_test(open, threads);
	suite_add_tcase(s, open);
	tcase_add_test(own, closing);
	tcase_add_test(own, mode);
	tcase_add_test(own, callback);
	suite_add_tcase(s, own);
	return check_run(s);
}
