// SPDX-License-Identifier: MIT
/*
 * Tensors between cores by TCP: of one process, and of two, each with chips of its own. What is
 * received is compared with what was sent.
 */
#include <arpa/inet.h>
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../check_main.h"
#include "nrt/nrt_async_sendrecv.h"
#include "nrt_client.h"

#define SIZE (3u << 20)
#define HERE "127.0.0.1"

static uint8_t there[SIZE], back[SIZE];
static char port[8];

static void begin(void)
{
	ck_assert_int_eq(setenv("NEURON_RT_ASYNC_SENDRECV_BOOTSTRAP_PORT", port, 1), 0);
	ck_assert_int_eq(nrtx_machine_set("emu:inf1.xlarge"), NRT_SUCCESS);
	ck_assert_int_eq(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), NRT_SUCCESS);
}

static void end(void)
{
	nrt_close();
}

static nrt_tensor_t *tensor(int vnc)
{
	nrt_tensor_t *t;

	ck_assert_int_eq(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, SIZE, "t", &t),
			 NRT_SUCCESS);
	return t;
}

static void nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

static void connected(nrt_async_sendrecv_comm_t *comm)
{
	bool done = false;

	for (int i = 0; i < CHECK_WAIT_MS && !done; i++) {
		ck_assert_int_eq(nrt_async_sendrecv_test_comm(comm, &done), NRT_SUCCESS);
		if (!done)
			nap();
	}
	ck_assert(done);
}

static size_t finished(nrt_async_sendrecv_request_t *request)
{
	bool done = false;
	size_t size = 0;

	for (int i = 0; i < CHECK_WAIT_MS && !done; i++) {
		ck_assert_int_eq(nrt_async_sendrecv_test_request(request, &done, &size),
				 NRT_SUCCESS);
		if (!done)
			nap();
	}
	ck_assert(done);
	return size;
}

static void fill(uint32_t seed)
{
	for (size_t i = 0; i < SIZE; i++)
		there[i] = (uint8_t)(i * 31 + i / 253 + seed);
}

START_TEST(one_process)
{
	nrt_async_sendrecv_request_t *s[3], *r[3];
	nrt_async_sendrecv_comm_t *out, *in;
	nrt_tensor_t *from = tensor(0), *to = tensor(2);

	fill(1);
	ck_assert_int_eq(nrt_tensor_write(from, there, 0, SIZE), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(2), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 2, 0, &out), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 0, 2, &in), NRT_SUCCESS);
	connected(out);
	connected(in);
	/* in order, of any size; what is received may be less than there is room for */
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(to, 0, 100, in, &r[0]), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(from, 0, 100, out, &s[0]), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(from, 100, SIZE - 300, out, &s[1]),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(from, SIZE - 200, 200, out, &s[2]),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(to, 100, SIZE - 100, in, &r[1]),
			 NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(to, SIZE - 200, 200, in, &r[2]),
			 NRT_SUCCESS);
	ck_assert_uint_eq(finished(r[0]), 100);
	ck_assert_uint_eq(finished(r[1]), SIZE - 300);
	ck_assert_uint_eq(finished(r[2]), 200);
	for (int i = 0; i < 3; i++)
		finished(s[i]);
	ck_assert_int_eq(nrt_async_sendrecv_flush(2), NRT_SUCCESS);
	ck_assert_int_eq(nrt_tensor_read(to, back, 0, SIZE), NRT_SUCCESS);
	ck_assert_mem_eq(back, there, SIZE);
	ck_assert_int_eq(nrt_async_sendrecv_close(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_close(2), NRT_SUCCESS);
	nrt_tensor_free(&from);
	nrt_tensor_free(&to);
}
END_TEST

/* The child sends what it has computed, and gets it back doubled. */
static int child(void)
{
	nrt_async_sendrecv_request_t *r;
	nrt_async_sendrecv_comm_t *out, *in;
	nrt_tensor_t *t;

	setenv("NEURON_RT_VISIBLE_CORES", "1", 1);
	begin();
	t = tensor(0);
	fill(7);
	ck_assert_int_eq(nrt_tensor_write(t, there, 0, SIZE), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(1), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 3, 1, &out), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 3, 1, &in), NRT_SUCCESS);
	connected(out);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(t, 0, SIZE, out, &r), NRT_SUCCESS);
	finished(r);
	connected(in);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, SIZE, in, &r), NRT_SUCCESS);
	ck_assert_uint_eq(finished(r), SIZE);
	ck_assert_int_eq(nrt_tensor_read(t, back, 0, SIZE), NRT_SUCCESS);
	for (size_t i = 0; i < SIZE; i++)
		if (back[i] != (uint8_t)(2 * there[i]))
			return 1;
	ck_assert_int_eq(nrt_async_sendrecv_close(1), NRT_SUCCESS);
	nrt_tensor_free(&t);
	end();
	return 0;
}

START_TEST(two_processes)
{
	nrt_async_sendrecv_request_t *r;
	nrt_async_sendrecv_comm_t *out, *in;
	pid_t pid = fork();
	nrt_tensor_t *t;
	int status;

	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(child());
	begin();
	t = tensor(3);
	ck_assert_int_eq(nrt_async_sendrecv_init(3), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 1, 3, &in), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 1, 3, &out), NRT_SUCCESS);
	connected(in);
	connected(out);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, SIZE, in, &r), NRT_SUCCESS);
	ck_assert_uint_eq(finished(r), SIZE);
	ck_assert_int_eq(nrt_tensor_read(t, back, 0, SIZE), NRT_SUCCESS);
	fill(7);
	ck_assert_mem_eq(back, there, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		back[i] = (uint8_t)(2 * back[i]);
	ck_assert_int_eq(nrt_tensor_write(t, back, 0, SIZE), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(t, 0, SIZE, out, &r), NRT_SUCCESS);
	finished(r);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(nrt_async_sendrecv_close(3), NRT_SUCCESS);
	nrt_tensor_free(&t);
	end();
}
END_TEST

START_TEST(hostile)
{
	nrt_async_sendrecv_comm_t *comm, *comms[65];
	nrt_async_sendrecv_request_t *request;
	nrt_tensor_t *t = tensor(0);
	int most, requests;
	size_t size;
	bool done;

	ck_assert_int_eq(nrt_async_sendrecv_get_max_num_communicators_per_lnc(&most), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_get_max_num_pending_request(&requests), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_get_max_num_pending_request(NULL), NRT_FAILURE);
	ck_assert_int_gt(requests, 1);
	ck_assert_int_eq(nrt_async_sendrecv_init(-1), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_init(4), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_close(0), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_flush(0), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 1, 0, &comm), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_connect(NULL, 1, 0, &comm), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_connect("nowhere", 1, 0, &comm), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, -1, 0, &comm), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 1, 0, NULL), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_test_comm(NULL, &done), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_async_sendrecv_test_comm((void *)&done, &done), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_async_sendrecv_test_request(NULL, &done, &size), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(t, 0, 1, NULL, &request),
			 NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(t, SIZE, 1, NULL, &request), NRT_INVALID);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(NULL, 0, 1, NULL, &request), NRT_INVALID);

	/* a peer that does not come: not connected, and the close says so */
	for (int i = 0; i < most; i++)
		ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 3, 0, &comms[i]), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 3, 0, &comm), NRT_RESOURCE);
	ck_assert_int_eq(nrt_async_sendrecv_test_comm(comms[0], &done), NRT_SUCCESS);
	ck_assert(!done);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, 1, comms[0], &request), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(t, 0, 1, comms[0], &request),
			 NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_async_sendrecv_close(0), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_test_comm(comms[0], &done), NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_FAILURE);
	nrt_tensor_free(&t);
}
END_TEST

static int dial(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, HERE, &to.sin_addr);
	for (int i = 0; i < CHECK_WAIT_MS && connect(fd, (struct sockaddr *)&to, sizeof(to)); i++)
		nap();
	return fd;
}

/* Strangers at the port, a peer that breaks off, one that sends more than there is room for */
START_TEST(strangers)
{
	uint32_t hello[4] = { 0x3152534e, 5, 0, 0 };
	nrt_async_sendrecv_request_t *request;
	nrt_async_sendrecv_comm_t *in;
	nrt_tensor_t *t = tensor(0);
	NRT_STATUS status = NRT_SUCCESS;
	struct {
		uint64_t length;
		char bytes[65]; /* one more than the request takes, all of them there */
	} message = { .length = 65 };
	const size_t whole = offsetof(typeof(message), bytes) + sizeof(message.bytes);
	char byte = 0;
	size_t size;
	bool done;
	int fd;

	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 5, 0, &in), NRT_SUCCESS);
	fd = dial();
	ck_assert_int_eq(write(fd, "GET / HTTP/1.0\r\n\r\n", 18), 18);
	ck_assert_int_le(read(fd, &byte, 1), 0);
	close(fd);
	hello[2] = 1; /* another core's port */
	fd = dial();
	ck_assert_int_eq(write(fd, hello, sizeof(hello)), sizeof(hello));
	ck_assert_int_le(read(fd, &byte, 1), 0);
	close(fd);
	hello[2] = 0;
	fd = dial();
	ck_assert_int_eq(write(fd, hello, sizeof(hello)), sizeof(hello));
	ck_assert_int_eq(read(fd, &byte, 1), 1);
	connected(in);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, 64, in, &request), NRT_SUCCESS);
	ck_assert_int_eq(write(fd, &message, whole), whole);
	for (int i = 0; i < CHECK_WAIT_MS && !status; i++) {
		status = nrt_async_sendrecv_test_request(request, &done, &size);
		nap();
	}
	ck_assert_int_eq(status, NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_test_request(request, &done, &size),
			 NRT_INVALID_HANDLE);
	ck_assert_int_eq(nrt_async_sendrecv_test_comm(in, &done), NRT_FAILURE);
	close(fd);

	/* what a program leaves open ends with nrt_close */
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 6, 0, &in), NRT_SUCCESS);
	hello[1] = 6;
	fd = dial();
	ck_assert_int_eq(write(fd, hello, sizeof(hello)), sizeof(hello));
	connected(in);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, 64, in, &request), NRT_SUCCESS);
	nrt_tensor_free(&(nrt_tensor_t *){ NULL });
	nrt_close();
	nrt_tensor_free(&t);
	close(fd);
}
END_TEST

static bool is_free(unsigned int number)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool is = !bind(fd, (struct sockaddr *)&at, sizeof(at));

	close(fd);
	return is;
}

#define PORTS 8 /* of the cores in this test */

/* A range of ports that are free now, of those that no connection takes by itself */
static void choose_port(void)
{
	unsigned int first = 10000 + (unsigned int)getpid() % 2048 * PORTS, n = 0;

	while (n < PORTS) {
		if (is_free(first + n)) {
			n++;
			continue;
		}
		first += n + 1;
		n = 0;
	}
	snprintf(port, sizeof(port), "%u", first);
}

#define RUDE 200 /* more than there are places for who is not known, and for who is known */

/* A pair of this process's cores finds each other, whoever else is at the port */
static void exchange(void)
{
	nrt_async_sendrecv_comm_t *out, *in;

	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 1, 0, &in), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 0, 1, &out), NRT_SUCCESS);
	connected(out);
	connected(in);
}

/*
 * Peers that say nothing, half of who they are, or all of it and then nothing: as many as there
 * are, before others and beside them. Each of them would cost 30 s if it were waited for, at the
 * close too.
 */
START_TEST(rude)
{
	const uint32_t hello[4] = { 0x3152534e, 7777, 0, 0 };
	const size_t said = (const size_t[]){ 0, 7, sizeof(hello) }[_i];
	nrt_async_sendrecv_comm_t *in;
	int fd[RUDE];
	char byte;

	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(1), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 3, 0, &in), NRT_SUCCESS);
	for (int i = 0; i < RUDE; i++) {
		fd[i] = dial();
		ck_assert_int_eq(send(fd[i], hello, said, MSG_NOSIGNAL), (ssize_t)said);
	}
	exchange();
	for (int i = 0; i < 2; i++) { /* the oldest have gone for others */
		ck_assert_int_le(read(fd[i], &byte, 1), 0);
		close(fd[i]);
		fd[i] = dial();
	}
	exchange();
	nrt_close();
	for (int i = 0; i < RUDE; i++) {
		ck_assert_int_le(read(fd[i], &byte, 1), 0);
		close(fd[i]);
	}
}
END_TEST

/*
 * A peer that sends its greeting slowly is accepted, and one that hangs up before that frees its
 * place.
 */
START_TEST(slow)
{
	const uint32_t hello[4] = { 0x3152534e, 2, 0, 0 };
	nrt_async_sendrecv_comm_t *in;
	char byte;
	int fd;

	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 3, 0, &in), NRT_SUCCESS);
	for (int i = 0; i < RUDE; i++) {
		fd = dial();
		ck_assert_int_eq(send(fd, hello, sizeof(hello), MSG_NOSIGNAL), sizeof(hello));
		close(fd);
	}
	fd = dial();
	for (size_t i = 0; i < sizeof(hello); i++) {
		ck_assert_int_eq(send(fd, (const char *)hello + i, 1, MSG_NOSIGNAL), 1);
		nap();
	}
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 2, 0, &in), NRT_SUCCESS);
	connected(in);
	ck_assert_int_eq(read(fd, &byte, 1), 1);
	ck_assert_int_eq(byte, 1);
	close(fd);
	fd = dial(); /* and who says nothing is not kept */
	ck_assert_int_eq(read(fd, &byte, 1), 0);
	close(fd);
}
END_TEST

static int dial_by(const char *from, const char *host)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };
	struct sockaddr_in own = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, from, &own.sin_addr);
	inet_pton(AF_INET, host, &to.sin_addr);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fd;
	close(fd);
	return -1;
}

/* A greeting with one wrong word is refused; a right one from another address is not the peer's. */
START_TEST(almost)
{
	const uint32_t hello[][4] = { { 0x3152534f, 5, 0, 0 },
				      { 0x3152534e, 5, 0, 1 },
				      { 0x3152534e, 5, 0, 0 } };
	nrt_async_sendrecv_comm_t *in;
	int fd, other;
	char byte;

	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 5, 0, &in), NRT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		fd = dial();
		ck_assert_int_eq(write(fd, hello[i], 16), 16);
		ck_assert_int_le(read(fd, &byte, 1), 0);
		close(fd);
	}
	other = dial_by("127.0.0.2", HERE);
	ck_assert_int_ge(other, 0);
	ck_assert_int_eq(write(other, hello[2], 16), 16);
	fd = dial();
	ck_assert_int_eq(write(fd, hello[2], 16), 16);
	connected(in);
	ck_assert_int_eq(recv(other, &byte, 1, MSG_DONTWAIT), -1);
	ck_assert_int_eq(read(fd, &byte, 1), 1);
	close(fd);
	close(other);
}
END_TEST

/* The port is open at the loopback address alone until a peer of another host is to come */
START_TEST(loopback)
{
	nrt_async_sendrecv_comm_t *in;
	int fd = -1;

	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 5, 0, &in), NRT_SUCCESS);
	close(dial());
	ck_assert_int_eq(dial_by("127.0.0.2", "127.0.0.2"), -1);
	ck_assert_int_eq(nrt_async_sendrecv_accept("192.0.2.1", 5, 0, &in), NRT_SUCCESS);
	for (int i = 0; i < CHECK_WAIT_MS && fd < 0; i++) {
		fd = dial_by("127.0.0.2", "127.0.0.2");
		nap();
	}
	ck_assert_int_ge(fd, 0);
	close(fd);
}
END_TEST

/* A port that answers as no core does is tried again, until it answers as one */
START_TEST(answers)
{
	const uint32_t said[4] = { 0x3152534e, 0, 6, 0 };
	const struct timeval patience = { .tv_sec = 10 };
	struct sockaddr_in at = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, fd;
	nrt_async_sendrecv_comm_t *out;
	uint32_t heard[4];
	bool done;

	at.sin_port = htons((uint16_t)(atoi(port) + 6));
	inet_pton(AF_INET, HERE, &at.sin_addr);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 6, 0, &out), NRT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		const char answer = i ? 1 : 2;

		fd = accept(listener, NULL, NULL);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		ck_assert_int_eq(recv(fd, heard, 16, MSG_WAITALL), 16);
		ck_assert_mem_eq(heard, said, 16);
		ck_assert_int_eq(nrt_async_sendrecv_test_comm(out, &done), NRT_SUCCESS);
		ck_assert(!done);
		ck_assert_int_eq(send(fd, &answer, 1, MSG_NOSIGNAL), 1);
		if (!i) {
			ck_assert_int_eq(recv(fd, heard, 1, 0), 0);
			close(fd);
		}
	}
	connected(out);
	close(fd);
	close(listener);
}
END_TEST

/* As many requests as the interface promises can be under way, and a close reports them. */
START_TEST(requests)
{
	nrt_async_sendrecv_request_t *r, *first, *s;
	nrt_async_sendrecv_comm_t *out, *in;
	nrt_tensor_t *t = tensor(0);
	int most;

	ck_assert_int_eq(nrt_async_sendrecv_get_max_num_pending_request(&most), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(0), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_init(1), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_accept(HERE, 1, 0, &in), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_connect(HERE, 0, 1, &out), NRT_SUCCESS);
	connected(out);
	connected(in);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, 1, in, &first), NRT_SUCCESS);
	for (int i = 1; i < most; i++)
		ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, 1, in, &r), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, 1, in, &r), NRT_RESOURCE);
	ck_assert_int_eq(nrt_async_sendrecv_send_tensor(t, 0, 1, out, &s), NRT_SUCCESS);
	ck_assert_uint_eq(finished(first), 1);
	finished(s);
	ck_assert_int_eq(nrt_async_sendrecv_recv_tensor(t, 0, 1, in, &r), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_close(0), NRT_FAILURE);
	ck_assert_int_eq(nrt_async_sendrecv_close(1), NRT_SUCCESS);
	nrt_tensor_free(&t);
}
END_TEST

/* A host that is not there is not waited for when the core is closed */
START_TEST(nobody_there)
{
	nrt_async_sendrecv_comm_t *out;

	ck_assert_int_eq(nrt_async_sendrecv_init(1), NRT_SUCCESS);
	/* of a net for documentation: nothing answers, or it is unreachable */
	ck_assert_int_eq(nrt_async_sendrecv_connect("192.0.2.1", 0, 1, &out), NRT_SUCCESS);
	ck_assert_int_eq(nrt_async_sendrecv_close(1), NRT_FAILURE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nrt-sendrecv");
	TCase *open = tcase_create("open"), *own = tcase_create("own");

	choose_port();
	tcase_add_checked_fixture(open, begin, end);
	tcase_add_test(open, one_process);
	tcase_add_test(open, hostile);
	tcase_add_test(open, strangers);
	tcase_add_loop_test(open, rude, 0, 3);
	tcase_add_test(open, slow);
	tcase_add_test(open, nobody_there);
	tcase_add_test(open, almost);
	tcase_add_test(open, loopback);
	tcase_add_test(open, answers);
	tcase_add_test(open, requests);
	suite_add_tcase(s, open);
	tcase_add_test(own, two_processes);
	suite_add_tcase(s, own);
	return check_run(s);
}
