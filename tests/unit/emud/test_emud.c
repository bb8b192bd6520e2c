/* SPDX-License-Identifier: MIT */
/*
 * neuron-emud: whose is what among several processes, and what becomes of it when one of them, or
 * the server, ends. test_emud PATH-OF-neuron-emud
 */
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include "hal.h"
#include "peers.h"

#define CORES 2 /* of a trn1.2xlarge, which has one chip */
#define ENGINE_OF(nc) ((nc) ? 16u : 0u)

static const char *const trn1[] = { "--instance", "trn1.2xlarge", NULL };
static pid_t server;

static void setup(void)
{
	server = server_start(trn1);
}

static void teardown(void)
{
	if (server)
		ck_assert_int_eq(server_end(server, SIGTERM), 0);
	server = 0;
}

/* Owns core 0 and all that goes with it, and keeps it until it is told */
static void owner(int fd, const void *arg)
{
	ndlx_device_t *dev = peer_open(0);
	const struct neuron_uuid uuid = { { 1 } };
	uint32_t first, available, value = 0;
	struct ndlx_nq_params nq = { .type = NEURON_NQ_ERROR, .size = 4096, .fresh = true };
	uint64_t pa, handle = peer_memory(dev, 65536, false, &pa), word = 0x1234567890abcdefull;
	size_t size;
	void *va;

	MUST_BE(ndlx_memory_buf_copyin(dev, handle, &word, 0, sizeof(word)), 0);
	MUST_BE(ndlx_nc_semaphore_write(dev, 0, 3, 7), 0);
	MUST_BE(ndlx_notification_init(dev, &nq, &va), 0);
	MUST_BE(ndlx_crwl_writer_enter(dev, 0, &uuid), 0);
	MUST_BE(ndlx_crwl_nc_range_mark(1, 0, 0, &first, &available), 0);
	MUST_BE(ndlx_nds_open(dev, 0, &va, &size), 0);
	ndlx_nds_add(va, 0, NDS_NC_COUNTER_INFERENCE_COUNT, 42);
	MUST(send(fd, &handle, sizeof(handle), 0) == sizeof(handle));
	hear(fd);
	/* nobody else changed any of it */
	MUST_BE(ndlx_nc_semaphore_read(dev, 0, 3, &value), 0);
	MUST_BE(value, 7);
	MUST_BE(ndlx_memory_buf_copyout(dev, handle, &pa, 0, sizeof(pa)), 0);
	MUST(pa == word);
	MUST_BE(ndlx_nds_close(dev, 0, va, size), 0);
	MUST_BE(ndlx_close_device(dev), 0);
	MUST_BE(ndlx_machine_close(), 0);
}

static void look_at_apps(ndlx_device_t *dev, int other)
{
	struct neuron_app_info *info;
	unsigned int seen = 0;
	size_t n, size;
	void *data;

	MUST_BE(ndlx_get_all_apps_info(dev, &info, &n, NEURON_APP_INFO_ALL), 0);
	MUST_BE(n, 2);
	for (size_t i = 0; i < n; i++) {
		seen |= info[i].pid == getpid() ? 1 : 0;
		if (info[i].pid != other)
			continue;
		seen |= 2;
		MUST_BE(info[i].nc_lock_map, 1);
		MUST_BE(info[i].device_mem_size, 65536);
	}
	MUST_BE(seen, 3);
	free(info);
	MUST_BE(ndlx_nds_open(dev, other, &data, &size), 0);
	MUST_BE(ndlx_nds_get(data, 0, NDS_NC_COUNTER_INFERENCE_COUNT), 42);
	MUST_BE(ndlx_nds_close(dev, other, data, size), 0);
}

/*
 * A client that owns nothing: calls for the owner's queues and cores are refused, others succeed.
 */
static void other(int fd, const void *arg)
{
	const struct neuron_uuid uuid = { { 1 } };
	const int pid = *(const int *)arg;
	struct ndlx_nq_params nq = { .type = NEURON_NQ_ERROR, .size = 4096 };
	struct ndlx_queue_params q = { .tx_count = 64, .rx_count = 64, .qid = 3 };
	ndlx_device_t *dev = peer_open(0);
	uint64_t pa, handle, sbuf = nhal_core_addr(dev->gen, 0);
	uint32_t first, available, word = 0, id;
	void *va;

	MUST(read(fd, &handle, sizeof(handle)) == sizeof(handle));
	MUST_BE(ndlx_memory_get_pa(dev, handle, &pa), -EACCES);
	MUST_BE(ndlx_memory_free(dev, handle), -EACCES);
	MUST_BE(ndlx_memory_map(dev, handle, &va), -EACCES);
	MUST_BE(ndlx_memory_buf_copyout(dev, handle, &pa, 0, 8), -EACCES);
	MUST_BE(ndlx_memset(dev, handle, 0, 0, 8), -EACCES);
	MUST_BE(ndlx_nc_semaphore_write(dev, 0, 3, 1), -EACCES);
	MUST_BE(ndlx_nc_event_set(dev, 0, 3, 1), -EACCES);
	MUST_BE(ndlx_notification_init(dev, &nq, &va), -EACCES);
	MUST_BE(ndlx_core_write(dev, 0, sbuf, &word, 4), -EACCES);
	MUST_BE(ndlx_read_hw_counters(dev, &sbuf, &word, 1), -EACCES);
	MUST_BE(ndlx_reset_ncs(dev, 1, &id), -EBUSY);
	MUST_BE(ndlx_reset_ncs(dev, NEURON_NC_MAP_DEVICE, &id), -EBUSY);
	MUST_BE(ndlx_crwl_reader_exit(dev, 0, &uuid), -ENOENT);
	MUST_BE(ndlx_crwl_writer_enter(dev, 0, &uuid), -EBUSY);
	MUST_BE(ndlx_crwl_nc_range_mark(CORES, 0, 1, &first, &available), -EBUSY);
	MUST_BE(available, 1);
	MUST_BE(ndlx_crwl_nc_range_unmark(0, 1), 0); /* another's: left alone */
	MUST_BE(ndlx_crwl_nc_range_mark(1, 0, 1, &first, &available), 0);
	MUST_BE(first, 1);

	q.eng = ENGINE_OF(0);
	q.tx_handle = peer_memory(dev, 4096, false, &pa);
	q.rx_handle = peer_memory(dev, 4096, true, &pa);
	MUST_BE(ndlx_dma_queue_init(dev, &q), -EACCES);
	q.eng = ENGINE_OF(1);
	MUST_BE(ndlx_dma_queue_init(dev, &q), 0);
	q.tx_handle = handle;
	MUST_BE(ndlx_dma_queue_init(dev, &q), -EACCES);
	MUST_BE(ndlx_nc_semaphore_write(dev, 1, 3, 1), 0);
	MUST_BE(ndlx_nc_semaphore_read(dev, 0, 3, &word), 0); /* reading is free */
	MUST_BE(word, 7);
	look_at_apps(dev, pid);
	MUST_BE(ndlx_close_device(dev), 0);
}

START_TEST(two)
{
	struct peer first = peer_start(owner, NULL), second;
	uint64_t handle;

	ck_assert_int_eq(read(first.fd, &handle, sizeof(handle)), sizeof(handle));
	second = peer_start(other, &first.pid);
	ck_assert_int_eq(write(second.fd, &handle, sizeof(handle)), sizeof(handle));
	ck_assert_int_eq(peer_wait(&second), 0);
	say(first.fd, 'e');
	ck_assert_int_eq(peer_wait(&first), 0);
}
END_TEST

/* Takes all that the owner had, as soon as it may, and finds it clean */
static void heir(int fd, const void *arg)
{
	const struct timespec ms = { 0, 1000000 };
	const struct neuron_uuid uuid = { { 2 } };
	ndlx_device_t *dev = peer_open(0);
	uint32_t first, available, value = 9, n = 0;
	uint64_t pa, handle, word = 1;
	int ret = -EACCES;

	for (int i = 0; ret == -EACCES && i < CHECK_WAIT_MS; i++) {
		ret = ndlx_nc_semaphore_write(dev, 0, 4, 0);
		nanosleep(&ms, NULL);
	}
	MUST_BE(ret, 0);
	MUST_BE(ndlx_nc_semaphore_read(dev, 0, 3, &value), 0);
	MUST_BE(value, 0);
	MUST_BE(ndlx_crwl_writer_enter(dev, 0, &uuid), 0);
	ret = -EBUSY; /* marks go last */
	for (int i = 0; ret == -EBUSY && i < CHECK_WAIT_MS; i++) {
		ret = ndlx_crwl_nc_range_mark(CORES, 0, CORES - 1, &first, &available);
		nanosleep(&ms, NULL);
	}
	MUST_BE(ret, 0);
	MUST_BE(ndlx_dram_chunks(dev, 0, NULL, &n), 0);
	MUST_BE(n, 0);
	handle = peer_memory(dev, 65536, false, &pa);
	MUST_BE(ndlx_memory_buf_copyout(dev, handle, &word, 0, sizeof(word)), 0);
	MUST_BE(word, 0);
}

START_TEST(killed)
{
	struct peer first = peer_start(owner, NULL), second;
	uint64_t handle;
	int status;

	ck_assert_int_eq(read(first.fd, &handle, sizeof(handle)), sizeof(handle));
	kill(first.pid, SIGKILL);
	status = peer_wait(&first);
	ck_assert(WIFSIGNALED(status));
	second = peer_start(heir, NULL);
	ck_assert_int_eq(peer_wait(&second), 0);
}
END_TEST

/* An owner whose child inherits the connection's socket and outlives it */
static void owner_with_child(int fd, const void *arg)
{
	ndlx_device_t *dev = peer_open(0);
	uint32_t n;
	pid_t pid;

	MUST_BE(ndlx_nc_semaphore_write(dev, 0, 3, 7), 0);
	/* one that has its socket: libndl is not told of it */
	pid = _Fork();
	MUST(pid >= 0);
	if (!pid) {
		while (read(fd, &n, 1) > 0)
			;
		_exit(0);
	}
	pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		MUST_BE(ndlx_get_nc_count(dev, &n), -EOWNERDEAD);
		MUST_BE(ndlx_nc_semaphore_write(dev, 0, 3, 8), -EOWNERDEAD);
		MUST_BE(ndlx_close_device(dev), -EOWNERDEAD);
		MUST_BE(ndlx_machine_close(), -EOWNERDEAD);
		say(fd, 'c');
		hear(fd);
		_exit(0);
	}
	hear(fd);
}

START_TEST(child)
{
	struct peer first = peer_start(owner_with_child, NULL), second;

	ck_assert_int_eq(hear(first.fd), 'c');
	kill(first.pid, SIGKILL);
	second = peer_start(heir, NULL);
	ck_assert_int_eq(peer_wait(&second), 0);
	ck_assert(WIFSIGNALED(peer_wait(&first)));
}
END_TEST

static void *sleeper(void *arg)
{
	struct ndlx_waiter *w = arg;
	int err = ndlx_wait_look(w);

	while (!err)
		err = ndlx_wait(w, 600000000);
	return (void *)(intptr_t)err;
}

/* Works, and has a thread that waits, when the server ends */
static void abandoned(int fd, const void *arg)
{
	struct ndlx_nq_params nq = { .type = NEURON_NQ_ERROR, .size = 4096, .fresh = true };
	ndlx_device_t *dev = peer_open(0), *again;
	uint64_t pa, handle = peer_memory(dev, 4096, false, &pa);
	struct ndlx_waiter *w;
	pthread_t thread;
	void *va, *err;
	int index, ret = 0;

	MUST_BE(ndlx_notification_init(dev, &nq, &va), 0);
	MUST_BE(ndlx_wait_open(dev, 0, &w), 0);
	MUST_BE(pthread_create(&thread, NULL, sleeper, w), 0);
	/* often enough that the memory is mapped */
	for (int i = 0; i < 100; i++)
		MUST_BE(ndlx_memory_buf_copyin(dev, handle, &pa, 0, sizeof(pa)), 0);
	say(fd, 'r');
	while (!ret)
		ret = ndlx_memory_buf_copyin(dev, handle, &pa, 0, sizeof(pa));
	MUST_BE(ret, -ENODEV);
	MUST_BE(pthread_join(thread, &err), 0);
	MUST_BE((intptr_t)err, -ENODEV);
	MUST_BE(ndlx_alive(dev), -ENODEV);
	MUST_BE(ndlx_available_devices(&index, 1), -ENODEV);
	MUST_BE(ndlx_open_device(0, NULL, &again), -ENODEV);
	ndlx_wait_close(w);
	MUST_BE(ndlx_close_device(dev), 0);
	MUST_BE(ndlx_machine_close(), 0);
	MUST_BE(ndlx_machine_set(peers_machine), -ENODEV);
}

START_TEST(server_gone)
{
	static const int sig[] = { SIGKILL, SIGTERM };
	struct peer peer = peer_start(abandoned, NULL);
	struct stat st;
	int status;

	ck_assert_int_eq(hear(peer.fd), 'r');
	status = server_end(server, sig[_i]);
	server = 0;
	ck_assert(sig[_i] == SIGKILL ? WIFSIGNALED(status) : !status);
	ck_assert_int_eq(peer_wait(&peer), 0);
	ck_assert_int_eq(stat(peers_socket, &st), -1);
}
END_TEST

/* One of many clients: it shares one of sixteen chips, and has a core of its own or none. */
static void one_of_many(int fd, const void *arg)
{
	const int number = *(const int *)arg, nc = number / 16 % CORES;
	ndlx_device_t *dev = peer_open(number % 16);
	uint64_t pa, d = peer_memory(dev, 1 << 20, false, &pa),
		     e = peer_memory(dev, 1 << 20, false, &pa);
	uint32_t *a = malloc(1 << 20), *b = calloc(1, 1 << 20);

	for (unsigned int i = 0; i < (1 << 20) / 4; i++)
		a[i] = i * 2654435761u + (uint32_t)number;
	for (int i = 0; i < 8; i++) {
		MUST_BE(ndlx_memory_buf_copyin(dev, d, a, 0, 1 << 20), 0);
		MUST_BE(ndlx_memory_copy(dev, d, e, 0, 0, 1 << 20), 0);
		MUST_BE(ndlx_memory_buf_copyout(dev, e, b, 0, 1 << 20), 0);
		MUST(!memcmp(a, b, 1 << 20));
		MUST_BE(ndlx_memset(dev, e, 0, 0, 1 << 20), 0);
	}
	if (number < 16 * CORES)
		MUST_BE(ndlx_nc_semaphore_write(dev, (uint32_t)nc, 1, 1), 0);
	say(fd, 'r');
	hear(fd);
	MUST_BE(ndlx_close_device(dev), 0);
}

#define MANY 64

START_TEST(many)
{
	static const char *const big[] = { "--instance", "trn1.32xlarge", NULL };
	static int number[MANY];
	struct peer peer[MANY];

	ck_assert_int_eq(server_end(server, SIGTERM), 0);
	server = server_start(big);
	for (int i = 0; i < MANY; i++) {
		number[i] = i;
		peer[i] = peer_start(one_of_many, &number[i]);
	}
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(hear(peer[i].fd), 'r');
	for (int i = 0; i < MANY; i++)
		say(peer[i].fd, 'e');
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(peer_wait(&peer[i]), 0);
}
END_TEST

static void holder(int fd, const void *arg)
{
	peer_open(0);
	say(fd, 'r');
	hear(fd);
}

static void one_too_many(int fd, const void *arg)
{
	ndlx_device_t *dev;

	MUST_BE(ndlx_machine_set(peers_machine), 0);
	MUST_BE(ndlx_open_device(0, NULL, &dev), -EBUSY);
}

/* A device takes as many processes as the module lets attach, and no more. */
START_TEST(full)
{
	struct peer peer[NEURON_MAX_PROCESS_PER_DEVICE], late;

	for (int i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++) {
		peer[i] = peer_start(holder, NULL);
		ck_assert_int_eq(hear(peer[i].fd), 'r');
	}
	late = peer_start(one_too_many, NULL);
	ck_assert_int_eq(peer_wait(&late), 0);
	for (int i = 0; i < NEURON_MAX_PROCESS_PER_DEVICE; i++) {
		say(peer[i].fd, 'e');
		ck_assert_int_eq(peer_wait(&peer[i]), 0);
	}
}
END_TEST

/* A chunk of device memory is seen by its owner where it is mapped, as it is, while it is used */
static void mapper(int fd, const void *arg)
{
	ndlx_device_t *dev = peer_open(0);
	uint64_t pa, a = peer_memory(dev, 1 << 20, false, &pa),
		     b = peer_memory(dev, 1 << 20, false, &pa), h;
	uint32_t v = 0x11223344, *va, *again;

	MUST_BE(ndlx_memory_buf_copyin(dev, a, &v, 4096, 4), 0);
	MUST_BE(ndlx_memory_map(dev, a, (void **)&va), 0);
	MUST_BE(va[1024], v);
	va[0] = 0x55;
	MUST_BE(ndlx_memory_copy(dev, a, b, 0, 8, 4), 0);
	MUST_BE(ndlx_memory_buf_copyout(dev, b, &v, 8, 4), 0);
	MUST_BE(v, 0x55);
	MUST_BE(ndlx_memset(dev, a, 0, 0x7f, 1 << 20), 0);
	MUST_BE(va[5], 0x7f7f7f7f);
	MUST_BE(ndlx_memory_map(dev, a, (void **)&again), 0);
	MUST_BE(again[5], 0x7f7f7f7f);
	MUST_BE(ndlx_memory_unmap(dev, a, again), 0);
	MUST_BE(ndlx_memory_unmap(dev, a, again), -EINVAL);
	/* copies that no call is made for, once there have been many, between those by the chip */
	for (uint32_t i = 0; i < 100; i++) {
		MUST_BE(ndlx_memory_buf_copyin(dev, b, &i, 4 * i, 4), 0);
		MUST_BE(ndlx_memory_copy(dev, b, a, 4 * i, 4 * i, 4), 0);
		MUST_BE(ndlx_memory_buf_copyout(dev, a, &v, 4 * i, 4), 0);
		MUST_BE(v, i);
		MUST_BE(va[i], i);
		MUST_BE(ndlx_memset(dev, b, 4 * i, 0x22, 4), 0);
		MUST_BE(ndlx_memory_buf_copyout(dev, b, &v, 4 * i, 4), 0);
		MUST_BE(v, 0x22222222);
	}
	MUST_BE(ndlx_memory_copy(dev, a, a, 0, 40, 360), 0);
	for (uint32_t i = 0; i < 90; i++)
		MUST_BE(va[10 + i], i);
	h = peer_memory(dev, 4096, true, &pa);
	MUST_BE(ndlx_memory_copy(dev, a, h, 40, 8, 8), 0);
	MUST_BE(ndlx_memory_copy(dev, h, b, 12, 0, 4), 0);
	MUST_BE(ndlx_memory_buf_copyout(dev, b, &v, 0, 4), 0);
	MUST_BE(v, 1);
	MUST_BE(ndlx_memory_copy(dev, b, a, 1 << 20, 0, 4), -EINVAL);
	MUST_BE(ndlx_memory_copy(dev, b, a, 0, (1 << 20) - 2, 4), -EINVAL);
	MUST_BE(ndlx_memory_buf_copyin(dev, b, &v, 1 << 20, 4), -EINVAL);
	MUST_BE(ndlx_memory_free(dev, b), 0);
	MUST_BE(ndlx_memory_buf_copyin(dev, b, &v, 0, 4), -EINVAL);
	b = peer_memory(dev, 1 << 20, false, &pa);
	MUST_BE(ndlx_memory_buf_copyout(dev, b, &v, 396, 4), 0);
	MUST_BE(v, 0);
	/* who has it next has other pages */
	MUST_BE(ndlx_memory_free(dev, a), 0);
	a = peer_memory(dev, 1 << 20, false, &pa);
	va[0] = 0x66;
	MUST_BE(ndlx_memory_buf_copyout(dev, a, &v, 0, 4), 0);
	MUST_BE(v, 0);
	MUST_BE(ndlx_close_device(dev), 0);
}

START_TEST(mapped)
{
	struct peer peer = peer_start(mapper, NULL);

	ck_assert_int_eq(peer_wait(&peer), 0);
}
END_TEST

static void stranger(int fd, const void *arg)
{
	MUST_BE(setgroups(0, NULL), 0);
	MUST_BE(setgid(65534), 0);
	MUST_BE(setuid(65534), 0);
	MUST_BE(ndlx_machine_set(peers_machine), *(const int *)arg);
}

/* Only the socket's mode lets another user in. */
START_TEST(users)
{
	static const char *const open[] = { "--instance", "trn1.2xlarge", "--mode", "0666", NULL };
	static const int refused = -EACCES, let_in = 0;
	char dir[128];
	struct peer peer;
	struct stat st;

	ck_assert_int_eq(stat(peers_socket, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	if (geteuid())
		return;
	strcpy(dir, peers_socket);
	*strrchr(dir, '/') = '\0';
	ck_assert_int_eq(chmod(dir, 0755), 0);
	peer = peer_start(stranger, &refused);
	ck_assert_int_eq(peer_wait(&peer), 0);
	ck_assert_int_eq(server_end(server, SIGTERM), 0);
	server = server_start(open);
	ck_assert_int_eq(stat(peers_socket, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0666);
	peer = peer_start(stranger, &let_in);
	ck_assert_int_eq(peer_wait(&peer), 0);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("emud");
	TCase *tc = tcase_create("processes");

	if (argc < 2)
		return 2;
	peers_server = argv[1];
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, two);
	tcase_add_test(tc, killed);
	tcase_add_test(tc, child);
	tcase_add_loop_test(tc, server_gone, 0, 2);
	tcase_add_test(tc, many);
	tcase_add_test(tc, full);
	tcase_add_test(tc, mapped);
	tcase_add_test(tc, users);
	suite_add_tcase(s, tc);
	return check_run_here(s);
}
