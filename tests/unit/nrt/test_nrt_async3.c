// SPDX-License-Identifier: MIT
/*
 * Asynchronous requests of libnrt at level 3.0 of their API: statuses of the caller's with nothing
 * written beside them, eventfds, units that end. Written as public programs use it
 * (docs/compatibility.md); the oracles are plain C over what was written. Level 2.0's are in
 * test_nrt_async.c.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../check_main.h"
#include "nrt/nrt_async.h"
#include "nrt_client.h"
#include "testmodel.h"

#define COLS 16
#define N (128 * COLS)
#define MiB (1u << 20)
#define UNTOUCHED ((NRT_STATUS)0x5a5a5a5a)
#define NO_SEQ 0x5a5a5a5a5a5a5a5aull

/* A caller's status and sequence id, and what must stay as it is around them */
struct place {
	uint32_t before;
	NRT_STATUS ret;
	uint32_t behind[3];
	nrta_seq_t seq;
	uint64_t last;
};

static void blank(struct place *p)
{
	memset(p, 0x5a, sizeof(*p));
}

static void check_around(const struct place *p)
{
	ck_assert_uint_eq(p->before, 0x5a5a5a5a);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(p->behind[i], 0x5a5a5a5a);
	ck_assert_uint_eq(p->last, NO_SEQ);
}

/* The call was refused, and nothing was written. */
static void check_blank(const struct place *p)
{
	check_around(p);
	ck_assert_uint_eq(p->ret, UNTOUCHED);
	ck_assert_uint_eq(p->seq, NO_SEQ);
}

static void start(const char *faults)
{
	if (faults)
		setenv("NEURON_EMU_FAULTS", faults, 1);
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void setup(void)
{
	start(NULL);
}

static void teardown(void)
{
	nrt_close();
}

static void load(struct client *cl, struct testmodel *t, uint32_t vnc, uint32_t timeout_ms)
{
	size_t size;
	void *neff = testmodel_write(t, &size);

	testmodel_free(t);
	client_load(cl, neff, size, vnc, NRT_TENSOR_PLACEMENT_DEVICE, timeout_ms);
}

static void load_add(struct client *cl, uint32_t vnc, uint32_t timeout_ms)
{
	struct testmodel t;

	testmodel_add(&t, COLS);
	load(cl, &t, vnc, timeout_ms);
}

static nrt_tensor_t *device_tensor(int vnc, size_t size)
{
	nrt_tensor_t *tensor;

	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, size, "t", &tensor),
			 NRT_SUCCESS);
	return tensor;
}

static int event_new(int flags)
{
	int fd = eventfd(0, flags);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* The signals of an eventfd since the last call; does not wait */
static uint64_t event_read(int fd)
{
	uint64_t n = 0;

	if (read(fd, &n, sizeof(n)) != sizeof(n))
		ck_assert_int_eq(errno, EAGAIN);
	return n;
}

/* Waits as the vendor's callers do: for a blocking eventfd, unregistered before it is closed */
static NRT_STATUS await(const struct place *p)
{
	int fd = event_new(0);
	uint64_t n;

	ck_assert_int_eq(nrta_event_register_seq_id_completion(p->seq, fd), NRT_SUCCESS);
	ck_assert_int_eq(read(fd, &n, sizeof(n)), sizeof(n));
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(p->seq, -1), NRT_SUCCESS);
	close(fd);
	check_around(p);
	return p->ret;
}

START_TEST(transfers)
{
	static uint8_t there[2 * MiB], back[2 * MiB];
	nrt_tensor_t *one = device_tensor(1, sizeof(there)), *two = device_tensor(1, sizeof(there));
	struct place w, x[2], r;
	nrta_seq_t last;

	blank(&w), blank(&x[0]), blank(&x[1]), blank(&r);
	for (size_t i = 0; i < sizeof(there); i++)
		there[i] = (uint8_t)(i * 7 + i / 251);
	ck_assert_int_eq(nrta_tensor_write(one, there, 0, sizeof(there), 1, 0, &w.ret, &w.seq),
			 NRT_SUCCESS);
	ck_assert_int_eq(await(&w), NRT_SUCCESS);
	ck_assert_int_eq(nrta_tensor_copy(one, MiB, two, 0, MiB, 0, &x[0].ret, &x[0].seq),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrta_tensor_copy(one, 0, two, MiB, MiB, 0, &x[1].ret, &x[1].seq),
			 NRT_SUCCESS);
	ck_assert_int_eq(await(&x[1]), NRT_SUCCESS);
	ck_assert_int_eq(x[0].ret, NRT_SUCCESS);
	/* by another core's unit, which is another queue, and by the second queue */
	ck_assert_int_eq(nrta_tensor_read(back, two, 0, MiB, 3, 0, &r.ret, &r.seq), NRT_SUCCESS);
	ck_assert_int_eq(await(&r), NRT_SUCCESS);
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(r.seq), 1);
	ck_assert_uint_ne(NRTA_SEQ_GET_XU_ID(r.seq), NRTA_SEQ_GET_XU_ID(w.seq));
	blank(&r);
	ck_assert_int_eq(nrta_tensor_read(back + MiB, two, MiB, MiB, 1, 1, &r.ret, &r.seq),
			 NRT_SUCCESS);
	ck_assert_int_eq(await(&r), NRT_SUCCESS);
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(r.seq), 1);
	ck_assert_mem_eq(back, there + MiB, MiB);
	ck_assert_mem_eq(back + MiB, there, MiB);

	/* writes, copies and reads of a core's queue count together */
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(w.seq), 1);
	ck_assert_uint_eq(x[0].seq, w.seq + 1);
	ck_assert_uint_eq(x[1].seq, w.seq + 2);
	ck_assert_int_eq(nrta_get_sequence(1, NRTA_XU_TENSOR_OP, 0, &last), NRT_SUCCESS);
	ck_assert_uint_eq(last, x[1].seq);
	ck_assert_int_eq(nrta_get_sequence(1, NRTA_XU_COLLECTIVES, 2, &last), NRT_SUCCESS);
	ck_assert_uint_eq(NRTA_SEQ_GET_SEQ_NUM(last), 0);
	nrt_tensor_free(&one);
	nrt_tensor_free(&two);
}
END_TEST

/* The core that a caller of these functions asks for */
START_TEST(cores)
{
	nrt_tensor_t *device = device_tensor(2, 64), *host;
	int lnc = 7;

	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 64, "h", &host),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_get_lnc_index(device, &lnc), NRT_SUCCESS);
	ck_assert_int_eq(lnc, 2);
	ck_assert_int_eq(nrt_tensor_get_lnc_index(host, &lnc), NRT_SUCCESS);
	ck_assert_int_eq(lnc, -1);
	ck_assert_int_eq(nrt_tensor_get_lnc_index(device, NULL), NRT_INVALID);
	ck_assert_int_eq(nrt_tensor_get_lnc_index(NULL, &lnc), NRT_INVALID);
	nrt_tensor_free(&device);
	nrt_tensor_free(&host);
}
END_TEST

/*
 * In the shape of public callers: a channel for each core and unit with an eventfd, one epoll
 * instance; requests in a row, of which the last one is waited for by the channel's last number.
 */
#define MODELS 6

static int channel[4][NRTA_XU_TYPE_NUM], channels;

static void channels_open(void)
{
	channels = epoll_create1(EPOLL_CLOEXEC);
	for (int lnc = 0; lnc < 4; lnc++) {
		for (int xu = 0; xu < NRTA_XU_TYPE_NUM; xu++) {
			int fd = event_new(EFD_NONBLOCK | EFD_CLOEXEC);
			struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

			channel[lnc][xu] = fd;
			ck_assert_int_eq(epoll_ctl(channels, EPOLL_CTL_ADD, fd, &e), 0);
			ck_assert_int_eq(nrta_event_register_xu_completion(lnc, (nrta_xu_t)xu, 0,
									   fd),
					 NRT_SUCCESS);
		}
	}
}

static void channels_close(void)
{
	for (int lnc = 0; lnc < 4; lnc++) {
		for (int xu = 0; xu < NRTA_XU_TYPE_NUM; xu++) {
			ck_assert_int_eq(nrta_event_register_xu_completion(lnc, (nrta_xu_t)xu, 0,
									   -1),
					 NRT_SUCCESS);
			close(channel[lnc][xu]);
		}
	}
	close(channels);
}

/* Until the channel has completed this; all of these have succeeded then */
static void harvest(uint32_t lnc, nrta_xu_t xu, const struct place *place, int n)
{
	nrta_seq_t last = 0;
	struct epoll_event e;

	while (!nrta_get_sequence(lnc, xu, 0, &last) && last < place[n - 1].seq) {
		ck_assert_int_eq(epoll_wait(channels, &e, 1, 30000), 1);
		event_read(e.data.fd);
	}
	ck_assert_uint_eq(last, place[n - 1].seq);
	for (int i = 0; i < n; i++) {
		check_around(&place[i]);
		ck_assert_uint_eq(place[i].ret, NRT_SUCCESS);
		ck_assert_uint_eq(place[i].seq, place[0].seq + (nrta_seq_t)i);
	}
}

START_TEST(pipeline)
{
	static float a[MODELS][N], b[MODELS][N], c[MODELS][N];
	struct place w[2 * MODELS], x[MODELS], r[MODELS];
	struct client cl[MODELS];

	channels_open();
	memset(w, 0x5a, sizeof(w));
	memset(x, 0x5a, sizeof(x));
	memset(r, 0x5a, sizeof(r));
	for (int m = 0; m < MODELS; m++) {
		load_add(&cl[m], 2, 30000);
		for (int i = 0; i < N; i++) {
			a[m][i] = (float)(i * (m + 1));
			b[m][i] = (float)(3 * i - m);
		}
	}
	for (int m = 0; m < MODELS; m++) {
		nrt_tensor_t *ta = client_tensor(&cl[m], "a"), *tb = client_tensor(&cl[m], "b");

		ck_assert_int_eq(nrta_tensor_write(ta, a[m], 0, sizeof(a[m]), 2, 0, &w[2 * m].ret,
						   &w[2 * m].seq),
				 NRT_SUCCESS);
		ck_assert_int_eq(nrta_tensor_write(tb, b[m], 0, sizeof(b[m]), 2, 0,
						   &w[2 * m + 1].ret, &w[2 * m + 1].seq),
				 NRT_SUCCESS);
	}
	harvest(2, NRTA_XU_TENSOR_OP, w, 2 * MODELS);
	for (int m = 0; m < MODELS; m++)
		ck_assert_int_eq(nrta_execute_schedule(cl[m].model, cl[m].in, cl[m].out, 0,
						       &x[m].ret, &x[m].seq),
				 NRT_SUCCESS);
	harvest(2, NRTA_XU_COMPUTE, x, MODELS);
	for (int m = 0; m < MODELS; m++)
		ck_assert_int_eq(nrta_tensor_read(c[m], client_tensor(&cl[m], "c"), 0, sizeof(c[m]),
						  2, 0, &r[m].ret, &r[m].seq),
				 NRT_SUCCESS);
	harvest(2, NRTA_XU_TENSOR_OP, r, MODELS);
	for (int m = 0; m < MODELS; m++) {
		for (int i = 0; i < N; i++)
			ck_assert(c[m][i] == a[m][i] + b[m][i]);
		client_free(&cl[m]);
	}
	channels_close();
}
END_TEST

/* A thread that sees a request completed sees its status as well. */
START_TEST(status_first)
{
	nrt_tensor_t *t = device_tensor(0, 64);
	uint32_t word = 1;

	for (int i = 0; i < 3000; i++) {
		struct place p;
		bool done = false;

		blank(&p);
		ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, 0, &p.ret, &p.seq),
				 NRT_SUCCESS);
		while (!done)
			ck_assert_int_eq(nrta_is_completed(p.seq, &done), NRT_SUCCESS);
		ck_assert_uint_eq(p.ret, NRT_SUCCESS);
	}
	nrt_tensor_free(&t);
}
END_TEST

/* Eventfds of one request: many, late, taken back, closed, of a number that is another file now */
START_TEST(events)
{
	static uint8_t large[32 * MiB];
	nrt_tensor_t *t = device_tensor(0, sizeof(large));
	int fd[4], pipes[2], word = 0;
	struct place slow, p;
	struct pollfd in = { .events = POLLIN };

	for (int i = 0; i < 4; i++)
		fd[i] = event_new(EFD_NONBLOCK);
	blank(&slow), blank(&p);
	ck_assert_int_eq(nrta_tensor_write(t, large, 0, sizeof(large), 0, 0, &slow.ret, &slow.seq),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, 0, &p.ret, &p.seq), NRT_SUCCESS);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(p.seq, fd[0]), NRT_SUCCESS);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(p.seq, -1), NRT_SUCCESS);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(p.seq, fd[1]), NRT_SUCCESS);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(p.seq, fd[2]), NRT_SUCCESS);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(p.seq, fd[3]), NRT_SUCCESS);
	/* the number of the last one becomes a pipe's */
	ck_assert_int_eq(pipe2(pipes, O_NONBLOCK), 0);
	ck_assert_int_eq(dup2(pipes[1], fd[3]), fd[3]);
	ck_assert_int_eq(await(&slow), NRT_SUCCESS);
	in.fd = fd[1];
	ck_assert_int_eq(poll(&in, 1, 30000), 1);
	ck_assert_int_eq(await(&p), NRT_SUCCESS);
	ck_assert_uint_eq(event_read(fd[0]), 0);
	ck_assert_uint_eq(event_read(fd[1]), 1);
	ck_assert_uint_eq(event_read(fd[2]), 1);
	in.fd = pipes[0];
	ck_assert_int_eq(poll(&in, 1, 0), 0);
	/* taking back what is told already is no error, nor is asking late */
	ck_assert_int_eq(nrta_event_register_seq_id_completion(slow.seq, -1), NRT_SUCCESS);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(slow.seq, fd[0]), NRT_SUCCESS);
	ck_assert_uint_eq(event_read(fd[0]), 1);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	close(pipes[0]), close(pipes[1]);
	nrt_tensor_free(&t);
}
END_TEST

static void write_one(nrt_tensor_t *t, int queue)
{
	struct place p;
	int word = 3;

	blank(&p);
	ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, queue, &p.ret, &p.seq), NRT_SUCCESS);
	ck_assert_int_eq(await(&p), NRT_SUCCESS);
}

/* A queue's eventfd is told of each completion, and another one takes its place. */
START_TEST(queue_events)
{
	nrt_tensor_t *t = device_tensor(0, 64);
	int one = event_new(EFD_NONBLOCK), two = event_new(EFD_NONBLOCK), epoll = epoll_create(1);
	struct epoll_event e = { .events = EPOLLIN };

	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_TENSOR_OP, 0, one),
			 NRT_SUCCESS);
	for (int i = 0; i < 5; i++)
		write_one(t, 0);
	write_one(t, 1); /* another queue */
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_TENSOR_OP, 0, two),
			 NRT_SUCCESS);
	for (int i = 0; i < 3; i++)
		write_one(t, 0);
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_TENSOR_OP, 0, -7),
			 NRT_SUCCESS);
	write_one(t, 0);
	ck_assert_uint_eq(event_read(one), 5);
	ck_assert_uint_eq(event_read(two), 3);
	/* what nobody takes back is closed by nrt_close: an epoll knows a file until then */
	ck_assert_int_eq(epoll_ctl(epoll, EPOLL_CTL_ADD, one, &e), 0);
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_COMPUTE, 0, one),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_TENSOR_OP, 0, one),
			 NRT_SUCCESS);
	write_one(t, 0);
	nrt_tensor_free(&t);
	close(one), close(two);
	ck_assert_int_eq(epoll_wait(epoll, &e, 1, 0), 1);
	nrt_close();
	ck_assert_int_eq(epoll_wait(epoll, &e, 1, 0), 0);
	close(epoll);
}
END_TEST

/* A counter that is full does not hold up the queue, whose write would wait. */
START_TEST(full_counter)
{
	nrt_tensor_t *t = device_tensor(0, 64);
	int fd = event_new(0);
	uint64_t most = UINT64_MAX - 1, n;

	ck_assert_int_eq(write(fd, &most, sizeof(most)), sizeof(most));
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_TENSOR_OP, 0, fd),
			 NRT_SUCCESS);
	write_one(t, 0);
	ck_assert_int_eq(read(fd, &n, sizeof(n)), sizeof(n));
	ck_assert_uint_eq(n, most);
	close(fd);
	nrt_tensor_free(&t);
}
END_TEST

START_TEST(hostile)
{
	nrt_tensor_t *t = device_tensor(0, 64), *other = device_tensor(1, 64);
	struct place p;
	nrta_seq_t seq;
	char buf[64];
	int pipes[2], event = event_new(0), file = open("/dev/null", O_WRONLY);

	blank(&p);
#define WRITE(tensor, buf, offset, size, lnc, queue) \
	nrta_tensor_write(tensor, buf, offset, size, lnc, queue, &p.ret, &p.seq)
	ck_assert_int_eq(WRITE(NULL, buf, 0, 1, 0, 0), NRT_INVALID);
	ck_assert_int_eq(WRITE(t, NULL, 0, 1, 0, 0), NRT_INVALID);
	ck_assert_int_eq(WRITE(t, buf, 60, 5, 0, 0), NRT_INVALID);
	ck_assert_int_eq(WRITE(t, buf, UINT64_MAX, 2, 0, 0), NRT_INVALID);
	ck_assert_int_eq(WRITE(t, buf, 0, 1, -1, 0), NRT_INVALID);
	ck_assert_int_eq(WRITE(t, buf, 0, 1, 4, 0), NRT_INVALID);
	ck_assert_int_eq(WRITE(t, buf, 0, 1, 0, -1), NRT_INVALID);
	ck_assert_int_eq(WRITE(t, buf, 0, 1, 0, 2), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 1, 0, 0, NULL, &p.seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 1, 0, 0, &p.ret, NULL), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_read(NULL, t, 0, 1, 0, 0, &p.ret, &p.seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_read(buf, t, 0, 1, 0, 2, &p.ret, &p.seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_copy(t, 0, other, 0, 1, 0, &p.ret, &p.seq), NRT_INVALID);
	ck_assert_int_eq(nrta_tensor_copy(t, 0, t, 8, 1, 2, &p.ret, &p.seq), NRT_INVALID);
	/* a caller with a core before the queue has there the queue, and the status's place */
	for (uintptr_t queue = 0; queue < 2; queue++)
		ck_assert_int_eq(nrta_tensor_copy(t, 0, t, 8, 1, 0, (NRT_STATUS *)queue,
						  (nrta_seq_t *)&p.ret),
				 NRT_INVALID);
	ck_assert_int_eq(nrta_execute_schedule(NULL, NULL, NULL, 0, &p.ret, &p.seq), NRT_INVALID);
	ck_assert_int_eq(nrta_cc_schedule(NULL, 0, &p.ret, &p.seq), NRT_INVALID);
	check_blank(&p);

	ck_assert_int_eq(nrta_get_sequence(99, NRTA_XU_COMPUTE, 0, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_TYPE_NUM, 0, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_COMPUTE, 1, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_COLLECTIVES, 3, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_TENSOR_OP, -1, &seq), NRT_INVALID);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_TENSOR_OP, 0, NULL), NRT_INVALID);

	ck_assert_int_eq(pipe(pipes), 0);
	write_one(t, 0);
	ck_assert_int_eq(nrta_get_sequence(0, NRTA_XU_TENSOR_OP, 0, &seq), NRT_SUCCESS);
	for (int i = 0; i < 4; i++) {
		/* neither of these is an eventfd, and the last ones are not even open */
		const int fd[] = { pipes[1], file, 1000000, INT32_MAX };

		ck_assert_int_eq(nrta_event_register_seq_id_completion(seq, fd[i]), NRT_INVALID);
		ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_COMPUTE, 0, fd[i]),
				 NRT_INVALID);
	}
	ck_assert_int_eq(nrta_event_register_seq_id_completion(seq + 1, event), NRT_INVALID);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(0, event), NRT_INVALID);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(UINT64_MAX, -1), NRT_INVALID);
	ck_assert_int_eq(nrta_event_register_xu_completion(-1, NRTA_XU_COMPUTE, 0, event),
			 NRT_INVALID);
	ck_assert_int_eq(nrta_event_register_xu_completion(4, NRTA_XU_COMPUTE, 0, event),
			 NRT_INVALID);
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_TYPE_NUM, 0, event),
			 NRT_INVALID);
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_COMPUTE, 1, event),
			 NRT_INVALID);
	close(event);
	ck_assert_int_eq(nrta_event_register_seq_id_completion(seq, event), NRT_INVALID);
	close(pipes[0]), close(pipes[1]), close(file);
	nrt_tensor_free(&t);
	nrt_tensor_free(&other);
}
END_TEST

/*
 * A full queue changes nothing; when there is room again, numbers go on without a gap. The first
 * requests copy 4 GiB, so that it gets full.
 */
#define LARGE 128

START_TEST(full)
{
	static uint8_t buf[32 * MiB];
	static struct place place[5000];
	nrt_tensor_t *t = device_tensor(0, sizeof(buf));
	NRT_STATUS status = NRT_SUCCESS;
	int n = 0;

	memset(place, 0x5a, sizeof(place));
	for (;; n++) {
		ck_assert_int_lt(n, 5000);
		status = nrta_tensor_write(t, buf, 0, n < LARGE ? sizeof(buf) : 1, 0, 0,
					   &place[n].ret, &place[n].seq);
		if (status)
			break;
	}
	ck_assert_int_eq(status, NRT_QUEUE_FULL);
	ck_assert_int_ge(n, 4096);
	check_blank(&place[n]);
	ck_assert_int_eq(await(&place[n - 1]), NRT_SUCCESS);
	ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 1, 0, 0, &place[n].ret, &place[n].seq),
			 NRT_SUCCESS);
	ck_assert_int_eq(await(&place[n]), NRT_SUCCESS);
	for (int i = 0; i <= n; i++) {
		check_around(&place[i]);
		ck_assert_uint_eq(place[i].ret, NRT_SUCCESS);
		ck_assert_uint_eq(place[i].seq, place[0].seq + (nrta_seq_t)i);
	}
	nrt_tensor_free(&t);
}
END_TEST

/* A full queue refuses a collective; its context stays the caller's, the first copies as much */
START_TEST(full_of_collectives)
{
	const size_t size = 32 * MiB;
	nrt_tensor_t *in = device_tensor(1, size), *out = device_tensor(1, size);
	nrt_tensor_t *ins[LARGE], *outs[LARGE];
	nrt_tensor_list_t large = { ins, LARGE }, to = { outs, LARGE }, none = { NULL, 0 };
	uint32_t group = 0;
	nrt_cc_comm_t comm = { &group, 0, 1, 0, 1, 1 };
	static struct place place[5000];
	nrt_cc_context_t *cc = NULL;
	NRT_STATUS status = NRT_SUCCESS;
	int n = 0;

	for (int i = 0; i < LARGE; i++) {
		ins[i] = in;
		outs[i] = out;
	}
	memset(place, 0x5a, sizeof(place));
	for (;; n++) {
		ck_assert_int_lt(n, 5000);
		ck_assert_int_eq(nrta_cc_prepare(&comm, n ? &none : &large, n ? &none : &to,
						 NRT_DTYPE_FLOAT32, NRT_OP_ADD, NRT_CC_ALLREDUCE,
						 &cc),
				 NRT_SUCCESS);
		status = nrta_cc_schedule(&cc, 0, &place[n].ret, &place[n].seq);
		if (status)
			break;
		ck_assert_ptr_null(cc);
	}
	ck_assert_int_eq(status, NRT_QUEUE_FULL);
	check_blank(&place[n]);
	ck_assert_int_eq(await(&place[n - 1]), NRT_SUCCESS);
	ck_assert_int_eq(nrta_cc_schedule(&cc, 0, &place[n].ret, &place[n].seq), NRT_SUCCESS);
	ck_assert_int_eq(await(&place[n]), NRT_SUCCESS);
	ck_assert_uint_eq(place[n].seq, place[n - 1].seq + 1);
	nrt_tensor_free(&in);
	nrt_tensor_free(&out);
}
END_TEST

/* Requests that are queued when nrt_close comes are carried out; afterwards none is accepted. */
START_TEST(closing)
{
	struct place place[100], after;
	uint32_t word = 7;
	nrt_tensor_t *t;

	setup();
	t = device_tensor(0, 4096);
	memset(place, 0x5a, sizeof(place));
	blank(&after);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, 0, &place[i].ret,
						   &place[i].seq),
				 NRT_SUCCESS);
	nrt_close();
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(place[i].ret, NRT_SUCCESS);
	ck_assert_int_eq(nrta_tensor_write(t, &word, 0, 4, 0, 0, &after.ret, &after.seq),
			 NRT_CLOSED);
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_COMPUTE, 0, -1), NRT_CLOSED);
	check_blank(&after);
	nrt_tensor_free(&t);
}
END_TEST

/* Units that end */

static NRT_STATUS schedule(struct client *cl, struct place *p)
{
	blank(p);
	return nrta_execute_schedule(cl->model, cl->in, cl->out, 0, &p->ret, &p->seq);
}

/* A function of level 2.0, which knows nothing of it */
typedef NRT_STATUS execute_2_t(nrt_model_t *, const nrt_tensor_set_t *, nrt_tensor_set_t *, int,
			       void *tracker, nrta_seq_t *);

START_TEST(unrecoverable)
{
	static float a[N], b[N], c[N];
	execute_2_t *execute_2;
	struct place p[6];
	struct client cl, other;
	nrta_seq_t seq;
	int event = event_new(EFD_NONBLOCK);

	start("nd0:engine-hang");
	load_add(&cl, 0, 1000);
	load_add(&other, 1, 30000);
	for (int i = 0; i < N; i++)
		a[i] = b[i] = (float)i;
	client_write(&cl, "a", a, sizeof(a));
	client_write(&cl, "b", b, sizeof(b));
	ck_assert_int_eq(nrta_event_register_xu_completion(0, NRTA_XU_COMPUTE, 0, event),
			 NRT_SUCCESS);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(schedule(&cl, &p[i]), NRT_SUCCESS);
	ck_assert_int_eq(await(&p[2]), NRT_EXEC_UNIT_UNRECOVERABLE);
	ck_assert_uint_eq(p[1].ret, NRT_EXEC_UNIT_UNRECOVERABLE);
	ck_assert_uint_eq(p[0].ret, NRT_TIMEOUT);
	/* what was not executed has no output */
	client_read(&cl, "c", c, sizeof(c));
	for (int i = 0; i < N; i++)
		ck_assert(c[i] == 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(schedule(&cl, &p[3]), NRT_EXEC_UNIT_UNRECOVERABLE);
		check_blank(&p[3]);
	}
	/* the core's unit alone: neither its transfers, nor another core's, nor other calls */
	ck_assert_int_eq(nrta_tensor_write(client_tensor(&cl, "a"), a, 0, sizeof(a), 0, 0,
					   &p[4].ret, memset(&p[4].seq, 0, 8)),
			 NRT_SUCCESS);
	ck_assert_int_eq(schedule(&other, &p[5]), NRT_SUCCESS);
	ck_assert_int_eq(await(&p[5]), NRT_SUCCESS);
	ck_assert_int_eq(client_run(&cl), NRT_SUCCESS);
	*(void **)&execute_2 = dlvsym(RTLD_DEFAULT, "nrta_execute_schedule", "NRT_2.0.0");
	ck_assert_int_eq(execute_2(cl.model, cl.in, cl.out, 0, NULL, &seq), NRT_SUCCESS);
	client_free(&cl);
	client_free(&other);
	nrt_close();
	ck_assert_uint_eq(event_read(event), 3);

	start("");
	load_add(&cl, 0, 30000);
	ck_assert_int_eq(schedule(&cl, &p[0]), NRT_SUCCESS);
	ck_assert_int_eq(await(&p[0]), NRT_SUCCESS);
	client_free(&cl);
	nrt_close();
}
END_TEST

START_TEST(lost_transfers)
{
	static uint8_t buf[MiB];
	struct place p;
	nrt_tensor_t *t;

	start("nd0:dram-ecc-uncorrected=1:queue=copy");
	t = device_tensor(0, sizeof(buf));
	blank(&p);
	ck_assert_int_eq(nrta_tensor_read(buf, t, 0, sizeof(buf), 0, 0, &p.ret, &p.seq),
			 NRT_SUCCESS);
	ck_assert_uint_eq(await(&p), NRT_HW_ERROR);
	for (int queue = 0; queue < 2; queue++) {
		blank(&p);
		ck_assert_int_eq(nrta_tensor_write(t, buf, 0, 4, 0, queue, &p.ret, &p.seq),
				 NRT_EXEC_UNIT_UNRECOVERABLE);
		check_blank(&p);
	}
	nrt_tensor_free(&t);
	nrt_close();
}
END_TEST

/* A program's own fault is its request's, and the next one is carried out. */
START_TEST(recoverable)
{
	struct client cl, bad;
	struct testmodel t;
	struct place p[2];

	load_add(&cl, 3, 30000);
	testmodel_fault(&t);
	load(&bad, &t, 3, 30000);
	ck_assert_int_eq(schedule(&bad, &p[0]), NRT_SUCCESS);
	ck_assert_int_eq(schedule(&cl, &p[1]), NRT_SUCCESS);
	ck_assert_int_eq(nrt_unload(cl.model), NRT_SUCCESS); /* waits for it */
	cl.model = NULL;
	ck_assert_int_eq(await(&p[1]), NRT_SUCCESS);
	ck_assert_int_eq(await(&p[0]), NRT_EXEC_COMPLETED_WITH_ERR);
	ck_assert_int_eq(schedule(&bad, &p[0]), NRT_SUCCESS);
	client_free(&cl);
	client_free(&bad);
}
END_TEST

/* Many threads on one queue and its eventfd */
struct writer {
	pthread_t thread;
	nrt_tensor_t *tensor;
	uint32_t id;
};

static void *write_many(void *arg)
{
	struct writer *w = arg;
	uint32_t there[64], back[64];
	struct place place[64], p;

	memset(place, 0x5a, sizeof(place));
	blank(&p);
	for (uint32_t i = 0; i < 64; i++) {
		there[i] = w->id << 16 | i;
		ck_assert_int_eq(nrta_tensor_write(w->tensor, &there[i], 4 * i, 4, 3, 0,
						   &place[i].ret, &place[i].seq),
				 NRT_SUCCESS);
	}
	ck_assert_int_eq(await(&place[63]), NRT_SUCCESS);
	for (uint32_t i = 0; i < 64; i++)
		ck_assert_uint_eq(place[i].ret, NRT_SUCCESS);
	ck_assert_int_eq(nrta_tensor_read(back, w->tensor, 0, sizeof(back), 3, w->id % 2, &p.ret,
					  &p.seq),
			 NRT_SUCCESS);
	ck_assert_int_eq(await(&p), NRT_SUCCESS);
	ck_assert_mem_eq(back, there, sizeof(back));
	return NULL;
}

START_TEST(threads)
{
	int event = event_new(EFD_NONBLOCK);
	struct writer w[8];

	ck_assert_int_eq(nrta_event_register_xu_completion(3, NRTA_XU_TENSOR_OP, 0, event),
			 NRT_SUCCESS);
	for (uint32_t i = 0; i < 8; i++) {
		w[i] = (struct writer){ .tensor = device_tensor(3, 256), .id = i };
		ck_assert_int_eq(pthread_create(&w[i].thread, NULL, write_many, &w[i]), 0);
	}
	for (uint32_t i = 0; i < 8; i++) {
		pthread_join(w[i].thread, NULL);
		nrt_tensor_free(&w[i].tensor);
	}
	nrt_close();
	ck_assert_uint_eq(event_read(event), 8 * 64 + 4);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-async3");
	TCase *open = tcase_create("open"), *own = tcase_create("own");

	tcase_add_checked_fixture(open, setup, teardown);
	tcase_add_test(open, transfers);
	tcase_add_test(open, cores);
	tcase_add_test(open, pipeline);
	tcase_add_test(open, status_first);
	tcase_add_test(open, events);
	tcase_add_test(open, queue_events);
	tcase_add_test(open, full_counter);
	tcase_add_test(open, hostile);
	tcase_add_test(open, full);
	tcase_add_test(open, full_of_collectives);
	tcase_add_test(open, recoverable);
	tcase_add_test(open, threads);
	suite_add_tcase(s, open);
	tcase_add_test(own, closing);
	tcase_add_test(own, unrecoverable);
	tcase_add_test(own, lost_transfers);
	suite_add_tcase(s, own);
	return check_run(s);
}
