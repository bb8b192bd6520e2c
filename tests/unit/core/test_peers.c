/* SPDX-License-Identifier: MIT */
/*
 * Four nodes of an UltraServer, one chip each, as four processes would have them: each has a fabric
 * of its own, in which the others' chips are foreign. What a chip reaches through its links to
 * other nodes and through the windows of far chips; nodes that come late, go and come back; peers
 * that lie. The oracle is the arena of each fixture.
 */
#include "chip_fixture.h"
#include "peers.h"
#include "sealed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "neuron/hw/firmware.h"

#define NODES NEURON_ULTRASERVER_NODES
#define MISC_DEV (GEN(REG)(GEN(APB_MISC_RAM)))
#define SEMAPHORE(n) (GEN(TPB)(0) + GEN(TPB_SEM_READ) + 4 * (n))
#define INCREMENT(n) (GEN(TPB)(0) + GEN(TPB_SEM_INC) + 4 * (n))
#define LEFT(group) GEN(WINDOW_NODE)(1 + (group)) /* 0 and 1: the pair of links */
#define RIGHT(group) GEN(WINDOW_NODE)(3 * (group))

static const unsigned int left_of[NODES] = { 1, 0, 3, 2 }, right_of[NODES] = { 3, 2, 1, 0 };

static struct fixture f[NODES];
static struct ncore_fabric *fabric[NODES];
static struct peers *peers[NODES];
static struct ring queue[NODES];
static char directory[] = "/tmp/neuron-peers-XXXXXX";
static char path[sizeof(directory)];
static pthread_mutex_t reports_lock = PTHREAD_MUTEX_INITIALIZER;
static char reports[4096];

static int sealed_memory(void *opaque, const char *name, uint64_t size, void **ptr, int *fd)
{
	*fd = sealed_new(name, size);
	ck_assert_int_ge(*fd, 0);
	*ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
	ck_assert_ptr_ne(*ptr, MAP_FAILED);
	return 0;
}

static void sealed_free(void *opaque, const char *name, void *ptr, uint64_t size, int fd)
{
	munmap(ptr, size);
	close(fd);
}

static void reported(void *opaque, const char *line)
{
	pthread_mutex_lock(&reports_lock);
	strncat(reports, line, sizeof(reports) - strlen(reports) - 1);
	pthread_mutex_unlock(&reports_lock);
}

static bool was_reported(const char *words)
{
	bool yes;

	pthread_mutex_lock(&reports_lock);
	yes = strstr(reports, words);
	pthread_mutex_unlock(&reports_lock);
	return yes;
}

static struct peers_config config_of(unsigned int node)
{
	return (struct peers_config){ .path = path,
				      .node = node,
				      .nodes = NODES,
				      .chips = 1,
				      .gen = &GEN_CHIP,
				      .fabric = fabric[node],
				      .report = reported };
}

static void add_node(unsigned int node)
{
	struct ncore_chip_config chip;
	struct peers_config config;
	const char *reason;

	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_ULTRASERVER, NODES, &fabric[node]), 0);
	config = config_of(node);
	ck_assert_int_eq(peers_new(&config, &peers[node], &reason), 0);
	fixture_init(&f[node], 1);
	f[node].ops.alloc_mem = sealed_memory;
	f[node].ops.free_mem = sealed_free;
	fixture_config(&f[node], &chip);
	chip.fabric = fabric[node];
	chip.slot = chip.first = node;
	chip.shown = peers_page(peers[node], 0);
	chip.serial = 0x1000 + node;
	ck_assert_int_eq(ncore_chip_new(&chip, &f[node].chip), 0);
	ck_assert_int_eq(peers_add(peers[node], 0, f[node].chip), 0);
	queue_init(&f[node], &queue[node], 0, 1, HOST(0x400000), HOST(0x500000), 1024);
}

static void remove_node(unsigned int node)
{
	peers_remove(peers[node], 0);
	peers_free(peers[node]);
	fixture_free(&f[node]);
	ncore_fabric_free(fabric[node]);
	peers[node] = NULL;
}

static void setup(void)
{
	reports[0] = 0;
	strcpy(path, directory);
	ck_assert_ptr_nonnull(mkdtemp(path));
}

static void teardown(void)
{
	for (unsigned int node = 0; node < NODES; node++)
		if (peers[node])
			remove_node(node);
	ck_assert_int_eq(rmdir(path), 0); /* nothing is left in it */
}

static uint64_t copied(unsigned int node, uint64_t address, unsigned int len)
{
	memset(f[node].host + 0x900000, 0, 16);
	copy(&f[node], &queue[node], address, HOST(0x900000), len);
	settle(&f[node]);
	ck_assert(!queue_stopped(&f[node], &queue[node]));
	return get64(f[node].host + 0x900000);
}

/* Waits until a chip reads a neighbour's serial number, which is not there at once. */
static void meet(unsigned int node, uint64_t window, unsigned int other)
{
	while (copied(node, window | (MISC_DEV + NEURON_MISC_SERIAL_LO), 8) != 0x1000 + other)
		sched_yield();
}

static void all_meet(void)
{
	for (unsigned int node = 0; node < NODES; node++)
		add_node(node);
	for (unsigned int node = 0; node < NODES; node++) {
		meet(node, LEFT(0), left_of[node]);
		meet(node, LEFT(1), left_of[node]);
		meet(node, RIGHT(0), right_of[node]);
		meet(node, RIGHT(1), right_of[node]);
	}
}

/* Words of MISC RAM are seen as the chip has them; a chip that is not there does not answer. */
START_TEST(misc_ram)
{
	const uint64_t word = MISC_DEV + 0x180;

	add_node(0);
	ck_assert_uint_eq(copied(0, LEFT(0) | word, 4), NEURON_NO_ANSWER);
	add_node(1);
	meet(0, LEFT(0), 1);
	meet(1, LEFT(1), 0);
	ck_assert_uint_eq(copied(0, LEFT(0) | word, 8), 0);
	apb_write(&f[1], GEN(APB_MISC_RAM) + 0x180, 0x12345678);
	apb_write(&f[1], GEN(APB_MISC_RAM) + 0x184, 0x9abcdef0);
	ck_assert_uint_eq(copied(0, LEFT(0) | word, 8), 0x9abcdef012345678ull);
	/* drivers number each node's chips from 0 on */
	ck_assert_uint_eq(copied(0, LEFT(0) | (MISC_DEV + NEURON_MISC_DEVICE_ID), 4), 0);
	ck_assert_uint_eq(apb_read(&f[1], GEN(APB_MISC_RAM) + NEURON_MISC_DEVICE_ID), 0);
	/* to its right there is nobody yet */
	ck_assert_uint_eq(copied(0, RIGHT(0) | word, 4), NEURON_NO_ANSWER);
}
END_TEST

/* Every chip's memory is reached by its place: node after node from the own one on. */
START_TEST(memory_of_all)
{
	all_meet();
	for (unsigned int node = 0; node < NODES; node++)
		fixture_fill(mem(&f[node], 0x10000), 20000, node + 1);
	for (unsigned int node = 0; node < NODES; node++)
		for (unsigned int next = 1; next < NODES; next++) {
			const unsigned int other = (node + next) % NODES;
			const uint64_t far = GEN(WINDOW_FAR)(next == 2 ? 9 : next == 1 ? 8 : 1);
			uint8_t *host = f[node].host;

			/* routing ids of the numbers 1, 2, 3 */
			copy(&f[node], &queue[node], far | 0x10000, HOST(0xa00000), 20000);
			settle(&f[node]);
			ck_assert(!queue_stopped(&f[node], &queue[node]));
			ck_assert_mem_eq(host + 0xa00000, mem(&f[other], 0x10000), 20000);
			/* and written, in the last stack of HBM */
			fixture_fill(host + 0xa00000, 20000, 16 * node + other);
			copy(&f[node], &queue[node], HOST(0xa00000),
			     far | (GEN(DRAM1_BASE) + 0x20000), 20000);
			settle(&f[node]);
			ck_assert_mem_eq(mem(&f[other], GEN(DRAM1_BASE) + 0x20000), host + 0xa00000,
					 20000);
		}
}
END_TEST

/* Semaphores are written, in order, and not read. */
START_TEST(semaphores)
{
	all_meet();
	put32(f[0].host + 0x800000, 1);
	for (int i = 0; i < 1000; i++) {
		copy(&f[0], &queue[0], HOST(0x800000), LEFT(0) | INCREMENT(7), 4);
		copy(&f[0], &queue[0], HOST(0x800000), RIGHT(0) | INCREMENT(7), 4);
		settle(&f[0]);
	}
	ck_assert(!queue_stopped(&f[0], &queue[0]));
	for (unsigned int node = 1; node < NODES; node += 2)
		while (fwio_read(&f[node], SEMAPHORE(7)) != 1000)
			sched_yield();
	ck_assert_uint_eq(fwio_read(&f[2], SEMAPHORE(7)), 0);
	ck_assert_uint_eq(copied(0, LEFT(0) | SEMAPHORE(7), 4), NEURON_NO_ANSWER);
}
END_TEST

/* A node ends: its memory cannot be reached, its words do not answer; it comes back as a new one. */
START_TEST(gone_and_back)
{
	all_meet();
	put64(mem(&f[1], 0x10000), 77);
	ck_assert_uint_eq(copied(0, LEFT(0) | 0x10000, 8), 77);
	remove_node(1);
	while (copied(0, LEFT(0) | (MISC_DEV + NEURON_MISC_SERIAL_LO), 4) != NEURON_NO_ANSWER)
		sched_yield();
	copy(&f[0], &queue[0], LEFT(0) | 0x10000, HOST(0x900000), 8);
	settle(&f[0]);
	ck_assert(queue_stopped(&f[0], &queue[0]));
	ck_assert(was_reported("node 1: has gone"));
	queue_init(&f[0], &queue[0], 1, 1, HOST(0x400000), HOST(0x500000), 1024);
	ck_assert_uint_eq(copied(0, RIGHT(0) | (MISC_DEV + NEURON_MISC_SERIAL_LO), 4), 0x1003);
	add_node(1);
	meet(0, LEFT(0), 1);
	ck_assert_uint_eq(copied(0, LEFT(0) | 0x10000, 8), 0);
}
END_TEST

static int dial(unsigned int node)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s/node%u", path, node);
	ck_assert_int_eq(connect(s, (struct sockaddr *)&name, sizeof(name)), 0);
	return s;
}

static void wait_closed(int s)
{
	char buf[256];
	ssize_t n;

	do
		n = recv(s, buf, sizeof(buf), 0);
	while (n > 0);
	close(s);
}

/* A message with n times the same descriptor */
static void say_with(int s, const void *bytes, size_t size, int fd, unsigned int n)
{
	char control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec part = { (void *)bytes, size };
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	const int fds[] = { fd, fd };

	if (n) {
		struct cmsghdr *c = (struct cmsghdr *)control;

		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(fd));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(fd));
		memcpy(CMSG_DATA(c), fds, n * sizeof(fd));
	}
	ck_assert_int_ge(sendmsg(s, &msg, 0), 0);
}

static void say(int s, const void *bytes, size_t size, int fd)
{
	say_with(s, bytes, size, fd, fd >= 0);
}

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Peers that say something else are shut out, the others stay. */
START_TEST(liars)
{
	/* kind, chip, words: what a peer of this version says first */
	const uint64_t right[] = { 1, 1, GEN_CHIP.pci_id[0], NODES << 16 | 1, 2 };
	int s, pages = sealed_new("pages", NEURON_MISC_RAM_SIZE), fd;
	unsigned int files;
	uint64_t m[5];

	ck_assert_int_ge(pages, 0);
	add_node(0);
	add_node(1);
	meet(0, LEFT(0), 1);
	for (unsigned int i = 0; i < 5; i++) { /* another of each word */
		memcpy(m, right, sizeof(m));
		m[i] += i == 4 ? 7 : 1;
		s = dial(0);
		say(s, m, sizeof(m), pages);
		wait_closed(s);
	}
	ck_assert(was_reported("another first message"));
	ck_assert(was_reported("another version"));
	ck_assert(was_reported("another generation"));
	ck_assert(was_reported("another nodes and chips"));
	ck_assert(was_reported("another node than"));
	s = dial(0); /* too short, then without memory */
	say(s, right, 9, -1);
	wait_closed(s);
	s = dial(0);
	say(s, right, sizeof(right), -1);
	wait_closed(s);
	ck_assert(was_reported("pages cannot be mapped"));
	files = open_files(); /* none of what came with a message that was too much is kept */
	s = dial(0);
	say_with(s, right, sizeof(right), pages, 2);
	wait_closed(s);
	while (open_files() != files)
		sched_yield();
	fd = memfd_create("unsealed", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, NEURON_MISC_RAM_SIZE), 0);
	s = dial(0);
	say(s, right, sizeof(right), fd);
	wait_closed(s);
	memcpy(m, right, sizeof(m)); /* a node that is there already */
	m[4] = 1;
	s = dial(0);
	say(s, m, sizeof(m), pages);
	wait_closed(s);
	ck_assert(was_reported("node 1 is there already"));
	s = dial(0); /* a true hello, and then memory that is too small */
	say(s, right, sizeof(right), pages);
	memset(m, 0, sizeof(m));
	m[0] = 2;
	say(s, m, sizeof(m), pages);
	wait_closed(s);
	ck_assert(was_reported("node 2: shows memory that is too small"));
	s = dial(0); /* a chip that there is not */
	say(s, right, sizeof(right), pages);
	m[0] = 4 | 1ull << 32;
	say(s, m, sizeof(m), -1);
	wait_closed(s);
	ck_assert(was_reported("names a chip that there is not"));
	s = dial(0); /* writes to where no word is are dropped */
	say(s, right, sizeof(right), pages);
	m[0] = 4;
	for (uint64_t i = 0; i < 64; i++) {
		m[1] = i < 32 ? MISC_DEV + 4 * i : 1ull << i;
		say(s, m, sizeof(m), -1);
	}
	m[1] = INCREMENT(3);
	m[2] = 5;
	say(s, m, sizeof(m), -1);
	while (fwio_read(&f[0], SEMAPHORE(3)) != 5)
		sched_yield();
	close(s);
	close(fd);
	close(pages);
	ck_assert_uint_eq(copied(0, LEFT(0) | (MISC_DEV + NEURON_MISC_SERIAL_LO), 4), 0x1001);
}
END_TEST

/* The descriptor that comes with a node's next message */
static int given(int s)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))), buf[64];
	struct iovec part = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	ck_assert_int_gt(recvmsg(s, &msg, 0), 0);
	ck_assert_ptr_nonnull(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/*
 * What a peer is given it cannot spoil for the others: MISC RAM is to be read alone, memory of
 * chips cannot be sealed so that who comes later cannot map it.
 */
START_TEST(what_is_given)
{
	int s, pages, dram;
	char byte = 1;

	add_node(0);
	s = dial(0);
	pages = given(s);
	dram = given(s);
	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, pages, 0),
			 MAP_FAILED);
	ck_assert_int_lt(pwrite(pages, &byte, 1, 0), 0);
	ck_assert_int_lt(ftruncate(dram, 0), 0);
	ck_assert_int_lt(fcntl(dram, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	ck_assert_int_lt(fcntl(pages, F_ADD_SEALS, F_SEAL_WRITE), 0);
	close(pages);
	close(dram);
	close(s);
}
END_TEST

static _Atomic bool enough;

static void *talk(void *opaque)
{
	const uint64_t m[5] = { 4, INCREMENT(3), 0, 0, 0 };

	while (!enough)
		say(*(int *)opaque, m, sizeof(m), -1);
	return NULL;
}

/* A peer that writes without end does not keep another from coming. */
START_TEST(without_end)
{
	const uint64_t hello[] = { 1, 1, GEN_CHIP.pci_id[0], NODES << 16 | 1, 2 };
	int s, pages = sealed_new("pages", NEURON_MISC_RAM_SIZE);
	pthread_t talker;

	add_node(0);
	s = dial(0);
	say(s, hello, sizeof(hello), pages);
	ck_assert_int_eq(pthread_create(&talker, NULL, talk, &s), 0);
	add_node(1);
	meet(0, LEFT(0), 1);
	enough = true;
	pthread_join(talker, NULL);
	close(pages);
	close(s);
}
END_TEST

/* Its driver's guard knows nobody elsewhere: words that come are refused. */
START_TEST(guarded)
{
	all_meet();
	ext_write(&f[1], NEURON_EXT_GUARD_CTRL, 1);
	put32(f[0].host + 0x800000, 1);
	copy(&f[0], &queue[0], HOST(0x800000), LEFT(0) | INCREMENT(7), 4);
	copy(&f[0], &queue[0], HOST(0x800000), RIGHT(0) | INCREMENT(7), 4);
	settle(&f[0]);
	while (fwio_read(&f[3], SEMAPHORE(7)) != 1)
		sched_yield();
	ck_assert_uint_eq(fwio_read(&f[1], SEMAPHORE(7)), 0);
}
END_TEST

/* What a node is refused for, with the reason */
START_TEST(refused)
{
	struct peers_config config;
	struct peers *p;
	const char *reason;

	add_node(0);
	config = config_of(0);
	ck_assert_int_lt(peers_new(&config, &p, &reason), 0); /* its slots are its own chip's */
	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_ULTRASERVER, NODES, &fabric[1]), 0);
	config.fabric = fabric[1];
	ck_assert_int_eq(peers_new(&config, &p, &reason), -EADDRINUSE);
	ck_assert_str_eq(reason, "this node of the UltraServer is there already");
	config.node = NODES;
	ck_assert_int_eq(peers_new(&config, &p, &reason), -EINVAL);
	config.node = 1;
	config.path = "/nowhere";
	ck_assert_int_eq(peers_new(&config, &p, &reason), -ENOENT);
	config.path = path;
	ck_assert_int_eq(chmod(path, 0777), 0);
	ck_assert_int_eq(peers_new(&config, &p, &reason), -EPERM);
	ck_assert_int_eq(chmod(path, 0700), 0);
	ncore_fabric_free(fabric[1]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("peers");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, misc_ram);
	tcase_add_test(t, memory_of_all);
	tcase_add_test(t, semaphores);
	tcase_add_test(t, gone_and_back);
	tcase_add_test(t, liars);
	tcase_add_test(t, what_is_given);
	tcase_add_test(t, without_end);
	tcase_add_test(t, guarded);
	tcase_add_test(t, refused);
	suite_add_tcase(s, t);
	return check_run(s);
}
