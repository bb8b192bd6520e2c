// SPDX-License-Identifier: MIT
/*
 * A program whose memory is not there: a page that it handles itself (userfaultfd) and does not
 * fill while its call is in progress. Whatever the call is, other processes use the chip and end,
 * and the device can be removed; when the page is filled, the call does what it should.
 */
#include "tap.h"
#include "chip.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE 4096ull
#define PAGES 2560ull /* more than a window of zero copy */
#define SIZE (PAGES * PAGE)
#define HOLE (2200 * PAGE) /* the page that is not there */
#define WATCHDOG 120 /* seconds, after which a hang is a failure */

static uint8_t *buf; /* SIZE bytes, of which all but one page are there */
static uint8_t fill[PAGE]; /* the contents of the missing page */
static uint8_t bytes[SIZE]; /* the chip's contents */
static int uffd;

struct way {
	const char *name;
	int (*use)(int fd, uint64_t handle, uint8_t *hole);
	bool (*good)(int fd, uint64_t handle, const uint8_t *hole);
	bool host; /* kind of chunk */
};

struct user {
	pthread_t thread;
	const struct way *way;
	int fd, ret;
	uint64_t handle;
};

static int use_in(int fd, uint64_t h, uint8_t *hole)
{
	return copy_in(fd, h, hole - 100, 0, PAGE + 200);
}

static bool good_in(int fd, uint64_t h, const uint8_t *hole)
{
	static uint8_t out[PAGE + 200];

	copy_out(fd, h, out, 0, sizeof(out));
	return !memcmp(out, hole - 100, sizeof(out)) && !memcmp(hole, fill, PAGE);
}

static int use_out(int fd, uint64_t h, uint8_t *hole)
{
	return copy_out(fd, h, hole - 100, 0, PAGE + 200);
}

static bool good_out(int fd, uint64_t h, const uint8_t *hole)
{
	return !memcmp(hole - 100, bytes, PAGE + 200);
}

static int use_zc_in(int fd, uint64_t h, uint8_t *hole)
{
	return copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, buf + 77, 0, SIZE - 77, true);
}

static bool good_zc_in(int fd, uint64_t h, const uint8_t *hole)
{
	static uint8_t out[SIZE - 77];

	copy_out(fd, h, out, 0, sizeof(out));
	return !memcmp(out, buf + 77, sizeof(out)) && !memcmp(hole, fill, PAGE);
}

static int use_zc_out(int fd, uint64_t h, uint8_t *hole)
{
	return copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, buf + 77, 0, SIZE - 77, false);
}

static bool good_zc_out(int fd, uint64_t h, const uint8_t *hole)
{
	return !memcmp(buf + 77, bytes, SIZE - 77);
}

/*
 * In three pieces of which the last has the hole, through a queue of the process's own, or through
 * the core's where that is the parent's
 */
static int batches(int fd, uint64_t h, bool write)
{
	const uint64_t parts[] = { 0, 5000, 5 << 20, SIZE - 77 };
	struct neuron_ioctl_h2t_dma_alloc_queues q = { .sz = sizeof(q), .copy_queue_cnt = 1 };
	struct neuron_ioctl_h2t_dma_free_queues f = { .sz = sizeof(f) };
	struct neuron_tensor_batch_op op[3];
	struct neuron_copy_batch b = { .mem_handle = h, .ops_ptr = op, .num_ops = 3 };
	struct neuron_ioctl_mem_buf_copy64zc_batches a = { .batches_ptr = &b, .num_batches = 1 };
	bool own = call(fd, NEURON_IOCTL_H2T_DMA_ALLOC_QUEUES, &q) != -EACCES;
	int ret;

	for (unsigned int i = 0; i < 3; i++)
		op[i] = (struct neuron_tensor_batch_op){ parts[i], parts[i + 1] - parts[i],
							 buf + 77 + parts[i] };
	a.is_copy_to_device = write;
	a.h2t_qid = own ? __builtin_ctz(q.copy_queue_bmap | 1u << 31) : NEURON_H2T_QUEUE_DEFAULT;
	f.queue_bmap = q.copy_queue_bmap;
	ret = call(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_BATCHES, &a);
	return call(fd, NEURON_IOCTL_H2T_DMA_FREE_QUEUES, &f) ? -1 : ret;
}

static int use_batches_in(int fd, uint64_t h, uint8_t *hole)
{
	return batches(fd, h, true);
}

static int use_batches_out(int fd, uint64_t h, uint8_t *hole)
{
	return batches(fd, h, false);
}

/* The list of batches is filled in late, with too many operations */
static int use_batch_list(int fd, uint64_t h, uint8_t *hole)
{
	struct neuron_ioctl_mem_buf_copy64zc_batches a = { .num_batches = 3, .h2t_qid = -1 };

	a.batches_ptr = (void *)hole;
	return call(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_BATCHES, &a) == -ENOMEM ? 0 : 1;
}

/* The list of operations is filled in late, with places outside the chunk */
static int use_operation_list(int fd, uint64_t h, uint8_t *hole)
{
	struct neuron_copy_batch b = { .mem_handle = h, .num_ops = 3 };
	struct neuron_ioctl_mem_buf_copy64zc_batches a = { .num_batches = 1, .h2t_qid = -1 };

	b.ops_ptr = (void *)hole;
	a.batches_ptr = &b;
	a.is_copy_to_device = 1;
	return call(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_BATCHES, &a) == -EINVAL ? 0 : 1;
}

/* Descriptors are checked: those that are filled into the hole are not allowed. */
static int use_descriptors(int fd, uint64_t h, uint8_t *hole)
{
	struct neuron_ioctl_dma_copy_descriptors64 a = { h, hole, 16, 0, NEURON_DMA_QUEUE_TX };

	return call(fd, NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &a) == -EINVAL ? 0 : 1;
}

static bool untouched(int fd, uint64_t h, const uint8_t *hole)
{
	uint8_t out[256];

	copy_out(fd, h, out, 0, sizeof(out));
	return !memcmp(out, bytes, sizeof(out));
}

/* The handle of a new chunk is written into the hole */
static int use_alloc(int fd, uint64_t h, uint8_t *hole)
{
	return chunk(fd, false, PAGE, 0, (uint64_t *)hole);
}

static bool good_alloc(int fd, uint64_t h, const uint8_t *hole)
{
	return chunk_pa(fd, *(const uint64_t *)hole) != UINT64_MAX &&
	       !chunk_free(fd, *(const uint64_t *)hole);
}

static int use_pa(int fd, uint64_t h, uint8_t *hole)
{
	struct neuron_ioctl_mem_get_pa a = { h, (void *)hole };

	return call(fd, NEURON_IOCTL_MEM_GET_PA, &a);
}

static bool good_pa(int fd, uint64_t h, const uint8_t *hole)
{
	return *(const uint64_t *)hole == chunk_pa(fd, h);
}

static int use_argument(int fd, uint64_t h, uint8_t *hole)
{
	return call(fd, NEURON_IOCTL_HOST_DEVICE_ID, hole);
}

static bool good_argument(int fd, uint64_t h, const uint8_t *hole)
{
	return *(const uint32_t *)hole < 4;
}

/* The addresses in the hole are no registers. */
static int use_bar(int fd, uint64_t h, uint8_t *hole)
{
	uint32_t data[4];
	struct neuron_ioctl_bar_rw a = { .bar = 0, .count = 4 };

	a.address = (void *)hole;
	a.data = (void *)data;
	return call(fd, NEURON_IOCTL_BAR_READ, &a) == -EINVAL ? 0 : 1;
}

static const struct way ways[] = {
	{ "copied in", use_in, good_in, false },
	{ "copied out", use_out, good_out, false },
	{ "copied into host memory", use_in, good_in, true },
	{ "copied from host memory", use_out, good_out, true },
	{ "zero-copied in", use_zc_in, good_zc_in, false },
	{ "zero-copied out", use_zc_out, good_zc_out, false },
	{ "copied in batches, in", use_batches_in, good_zc_in, false },
	{ "copied in batches, out", use_batches_out, good_zc_out, false },
	{ "a list of batches", use_batch_list, untouched, false },
	{ "a list of operations", use_operation_list, untouched, false },
	{ "descriptors", use_descriptors, untouched, false },
	{ "a list of registers", use_bar, untouched, false },
	{ "the place of a handle", use_alloc, good_alloc, false },
	{ "the place of an address", use_pa, good_pa, false },
	{ "an argument", use_argument, good_argument, false },
};

static bool hole_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	const struct neuron_gen *chip = chip_of(0);
	uint64_t nobodys = (chip ? chip->window.host : 0) | 0x777000; /* of a descriptor */

	buf = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pattern(buf, SIZE, 5);
	pattern(fill, PAGE, 6);
	memcpy(fill + 8, &nobodys, sizeof(nobodys));
	pattern(bytes, SIZE, 7);
	reg.range.start = (uintptr_t)buf + HOLE;
	reg.range.len = PAGE;
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	return uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api) && !ioctl(uffd, UFFDIO_REGISTER, &reg);
}

static void *user_main(void *arg)
{
	struct user *u = arg;

	u->ret = u->way->use(u->fd, u->handle, buf + HOLE);
	return NULL;
}

/* Returns when the call waits for the page */
static bool user_start(struct user *u)
{
	struct pollfd p = { .fd = uffd, .events = POLLIN };
	struct uffd_msg msg;

	madvise(buf + HOLE, PAGE, MADV_DONTNEED);
	pthread_create(&u->thread, NULL, user_main, u);
	return poll(&p, 1, WATCHDOG * 1000) == 1 && read(uffd, &msg, sizeof(msg)) == sizeof(msg);
}

/* Fills the hole */
static void user_end(struct user *u)
{
	struct uffdio_copy copy = { .dst = (uintptr_t)buf + HOLE,
				    .src = (uintptr_t)fill,
				    .len = PAGE };

	ioctl(uffd, UFFDIO_COPY, &copy);
	pthread_join(u->thread, NULL);
}

/* Lets a child do something with the chip and end; false if it does not end. */
static bool other(int (*fn)(int index), int index, int *result)
{
	struct timespec t = { .tv_sec = WATCHDOG };
	sigset_t set;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	if (!pid)
		_exit(fn(index));
	if (sigtimedwait(&set, NULL, &t) < 0)
		return false;
	waitpid(pid, &status, 0);
	*result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	return true;
}

static int uses(int index)
{
	return node_works(index) ? 0 : 1;
}

static void test_way(int fd, const struct way *way)
{
	struct user u = { .way = way, .fd = fd, .ret = 1 };
	int result = -1;
	bool ended;

	chunk(fd, way->host, way->host ? 2 * PAGE : SIZE, 0, &u.handle);
	copy_in(fd, u.handle, bytes, 0, way->host ? 2 * PAGE : SIZE);
	ok(user_start(&u), "%s: the call waits for a page", way->name);
	ended = other(uses, 0, &result);
	ok(ended, "another process uses the chip meanwhile and ends");
	user_end(&u);
	if (!ended)
		exit(tap_done());
	is(result, 0, "all went well with it");
	is(u.ret, 0, "the page comes, and the call ends");
	ok(way->good(fd, u.handle, buf + HOLE), "with the right bytes");
	chunk_free(fd, u.handle);
}

static int dies(int index)
{
	struct user u = { .way = &ways[index], .fd = node(0, O_RDWR) };

	if (!hole_open() || chunk(u.fd, false, SIZE, 0, &u.handle) || !user_start(&u))
		return 1;
	kill(getpid(), SIGKILL);
	return 2;
}

static void test_death(void)
{
	unsigned int i;
	int result;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!ok(other(dies, (int)i, &result), "%s: a process that waits can be killed",
			ways[i].name))
			exit(tap_done());
		is(result, -1, "by a signal");
	}
}

static int unbinds(int index)
{
	int fd = open("/sys/bus/pci/drivers/neuron/unbind", O_WRONLY);

	return write(fd, chip_address(index), 12) == 12 ? 0 : 1;
}

static void test_removal(void)
{
	struct user u = { .way = &ways[4], .fd = node(3, O_RDWR) };
	int result = -1;
	bool ended;

	chunk(u.fd, false, SIZE, 0, &u.handle);
	ok(user_start(&u), "a call waits for a page");
	ended = other(unbinds, 3, &result);
	ok(ended, "its device goes meanwhile");
	user_end(&u);
	is(result, 0, "without an error");
	is(u.ret, -ENODEV, "which it learns when the page comes");
	close(u.fd);
}

int main(void)
{
	int fd = node(0, O_RDWR);
	unsigned int i;

	if (!ok(fd >= 0 && hole_open(), "a node, and a page that is not there"))
		return tap_done();
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		test_way(fd, &ways[i]);
	test_death();
	test_removal();
	close(fd);
	return tap_done();
}
