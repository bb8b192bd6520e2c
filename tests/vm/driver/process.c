// SPDX-License-Identifier: MIT
/*
 * Processes and their lifetimes: slots, dup, fork, exec'd children, death in the middle of work;
 * range marks, CRWL, CINIT, datastores, resets; removal and return of the device under open files.
 */
#include "tap.h"
#include "chip.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#define MB (1024 * 1024ull)

/* A child that runs fn(arg) and exits with its result; reports and waits on two pipes */
struct child {
	pid_t pid;
	int up[2], down[2];
};

static void say(struct child *c)
{
	(void)!write(c->up[1], "x", 1);
}

static void hear(struct child *c)
{
	char x;

	(void)!read(c->down[0], &x, 1);
}

static void child_start(struct child *c, int (*fn)(struct child *c))
{
	if (pipe(c->up) || pipe(c->down))
		exit(1);
	c->pid = fork();
	if (!c->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(fn(c));
	}
}

static void child_ready(struct child *c)
{
	char x;

	(void)!read(c->up[0], &x, 1);
}

static int child_end(struct child *c)
{
	int status, i;

	(void)!write(c->down[1], "x", 1);
	waitpid(c->pid, &status, 0);
	for (i = 0; i < 2; i++) {
		close(c->up[i]);
		close(c->down[i]);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void child_kill(struct child *c)
{
	kill(c->pid, SIGKILL);
	child_end(c);
}

static unsigned int apps(int fd)
{
	struct {
		struct neuron_ioctl_get_apps_info head;
		struct neuron_app_info app[16];
	} a = { .head.capacity = 16 };

	return call(fd, NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, &a) ? 999 : a.head.size;
}

static int hold(struct child *c)
{
	int fd = node(0, O_RDWR);

	say(c);
	hear(c);
	return fd < 0 ? -fd : 0;
}

static void test_slots(void)
{
	struct child c[17];
	int fd, i, fails = 0;

	for (i = 0; i < 16; i++) {
		child_start(&c[i], hold);
		child_ready(&c[i]);
	}
	is(node(0, O_RDWR), -EBUSY, "the 17th process finds no slot");
	fd = node(0, O_WRONLY);
	ok(fd >= 0, "a write-only descriptor takes none");
	close(fd);
	for (i = 0; i < 16; i++)
		fails += child_end(&c[i]) != 0;
	is(fails, 0, "sixteen processes had one");
	fd = node(0, O_RDWR);
	ok(fd >= 0, "all slots are free again");
	is(apps(fd), 1, "one process attached");
	close(fd);
}

static void test_dup(void)
{
	int fd = node(0, O_RDWR), copy = dup(fd), again = node(0, O_RDWR);
	uint64_t h;

	is(chunk(fd, false, 4096, 0, &h), 0, "a chunk");
	close(copy);
	ok(chunk_pa(fd, h) != UINT64_MAX, "closing a duplicate detaches nobody");
	close(fd);
	ok(chunk_pa(again, h) != UINT64_MAX, "nor does closing one of two opens");
	close(again);
	fd = node(0, O_RDWR);
	is(chunk_free(fd, h), -EINVAL, "the last close frees the memory");
	close(fd);
}

static int inherited_fd;
static uint64_t inherited_chunk; /* readable by a process of the same user */

/* Calls that use the chip, and calls that the module alone answers */
static int use_inherited(struct child *c)
{
	uint64_t h;
	int bad = 0;

	bad |= chunk(inherited_fd, false, 4096, 0, &h) != -EACCES;
	bad |= (apps(inherited_fd) != 1) << 1;
	bad |= (chunk_pa(inherited_fd, inherited_chunk) != UINT64_MAX) << 2;
	say(c);
	hear(c);
	return bad;
}

static int dies_with_a_child(struct child *c)
{
	uint64_t h;
	int fd = node(0, O_RDWR);

	chunk(fd, false, 4096, 0, &h);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, 0);
		sleep(3); /* keeps the inherited descriptor */
		_exit(0);
	}
	say(c);
	hear(c);
	return 0;
}

static void test_mapping_outlives(void)
{
	int fd = node(0, O_RDWR), other;
	struct neuron_ioctl_crwl lock = { 0, { { 5 } } };
	uint64_t h;
	uint8_t *p;

	chunk(fd, true, 4096, 0, &h);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, chunk_pa(fd, h));
	call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock);
	close(fd);
	other = node(0, O_RDWR);
	is(call(other, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0,
	   "close gives everything up, although a mapping is left");
	p[0] = 1;
	is(p[0], 1, "which is still there");
	munmap(p, 4096);
	close(other);
}

static void test_fork(void)
{
	struct child c;
	int fd = node(0, O_RDWR);

	inherited_fd = fd;
	is(chunk(fd, false, 4096, 0, &inherited_chunk), 0, "a chunk");
	child_start(&c, use_inherited);
	child_ready(&c);
	is(child_end(&c), 0, "a child is not attached by inheritance");
	child_start(&c, dies_with_a_child);
	child_ready(&c);
	is(apps(fd), 2, "two processes");
	child_kill(&c);
	is(apps(fd), 1, "death detaches, although a child holds the descriptor");
	close(fd);
}

/* A process with a busy core: a queue, a notification queue, a semaphore */
/*
 * The DMA engine that works: not one of the core that is reset meanwhile, so of two cores the
 * second one's
 */
static uint32_t works_engine(void)
{
	return chip_of(0)->cores > 2 ? 3 : 19;
}

static int works(struct child *c)
{
	struct neuron_ioctl_notifications_init_v1 nq = { 1, 1, 0, 4096, 0 };
	struct neuron_ioctl_semaphore sem = { 1, 3, 77 };
	struct neuron_ioctl_dma_queue_init q = { works_engine(), 0, 64, 64, 0, 0, 0, 0 };
	struct neuron_ioctl_crwl lock = { 1, { { 1 } } };
	struct neuron_ioctl_cinit_set init = { 1, 1, 0 };
	int fd = node(0, O_RDWR), bad = 0;

	chunk(fd, true, 4096, 0, (uint64_t *)&q.tx_handle);
	chunk(fd, true, 4096, 0, (uint64_t *)&q.rx_handle);
	bad |= (call(fd, NEURON_IOCTL_DMA_QUEUE_INIT, &q) != 0) << 0;
	bad |= (call(fd, NEURON_IOCTL_NOTIFICATIONS_INIT_V1, &nq) != 0) << 1;
	bad |= (call(fd, NEURON_IOCTL_SEMAPHORE_WRITE, &sem) != 0) << 2;
	bad |= (call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock) != 0) << 3;
	bad |= (call(fd, NEURON_IOCTL_CINIT_SET_STATE, &init) != 0) << 4;
	say(c);
	hear(c);
	return bad;
}

static void test_death(void)
{
	struct neuron_ioctl_semaphore sem = { 1, 3, 0 };
	struct neuron_ioctl_crwl lock = { 1, { { 2 } } };
	struct neuron_ioctl_cinit_set init = { 1, 1, 0 };
	struct neuron_dma_queue_state tx, rx;
	struct neuron_ioctl_dma_queue_get_state st = { works_engine(), 0, &tx, &rx };
	struct child c;
	int fd = node(0, O_RDWR);
	uint64_t h;

	child_start(&c, works);
	child_ready(&c);
	call(fd, NEURON_IOCTL_SEMAPHORE_READ, &sem);
	is(sem.value, 77, "a process uses core 1");
	is(call(fd, NEURON_IOCTL_SEMAPHORE_WRITE, &sem), -EACCES, "nobody else can");
	child_kill(&c);
	call(fd, NEURON_IOCTL_SEMAPHORE_READ, &sem);
	is(sem.value, 0, "its death halts and clears the core");
	is(call(fd, NEURON_IOCTL_DMA_QUEUE_GET_STATE, &st), 0, "its queue");
	is(tx.length, 64, "is parked on a ring of 64");
	is(tx.sw_status, 0, "and nobody's");
	is(call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0, "its lock is free");
	is(call(fd, NEURON_IOCTL_CINIT_SET_STATE, &init), 0, "its core can be initialised");
	is(init.new_state, 1, "anew");
	is(chunk(fd, false, 4096, 0, &h), 0, "copies still work on that core");
	close(fd);
}

/* The chip must not work on for a dead process, nor must the copy of a living one stop. */
static int copies_for_ever(struct child *c)
{
	int fd = node(0, O_RDWR);
	uint8_t *buf = malloc(8 * MB);
	uint64_t h;

	chunk(fd, false, 8 * MB, 0, &h);
	say(c);
	while (!copy_buf(fd, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, h, buf, 0, 8 * MB, true))
		continue;
	return 1;
}

static void test_kill_in_copy(void)
{
	struct child c[3];
	int fd = node(0, O_RDWR), i, round;
	uint8_t *in = malloc(2 * MB), *out = malloc(2 * MB);
	uint64_t h;

	pattern(in, 2 * MB, 77);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 3; i++) {
			child_start(&c[i], copies_for_ever);
			child_ready(&c[i]);
		}
		usleep(50000);
		for (i = 0; i < 3; i++)
			child_kill(&c[i]);
	}
	is(apps(fd), 1, "nine processes were killed in the middle of a copy");
	chunk(fd, false, 2 * MB, 0, &h);
	is(copy_in(fd, h, in, 0, 2 * MB), 0, "copies still work");
	copy_out(fd, h, out, 0, 2 * MB);
	ok(!memcmp(in, out, 2 * MB), "and are right");
	close(fd);
	free(in);
	free(out);
}

static int mark(int fd, uint32_t n, uint32_t start, uint32_t end, uint64_t *bits, uint32_t *most)
{
	struct neuron_ioctl_crwl_nc_map m = { n, start, end, 99, 0 };
	int ret = call(fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK, &m);

	*bits = m.bitmap;
	*most = m.max_nc_available;
	return ret;
}

static int marks_two(struct child *c)
{
	int fd = node(0, O_WRONLY), other = node(1, O_WRONLY);
	uint64_t bits;
	uint32_t most;
	int bad = mark(fd, 2, 0, 3, &bits, &most);

	close(dup(fd));
	close(other);
	say(c);
	hear(c);
	close(fd);
	say(c);
	hear(c);
	return bad;
}

static void test_marks(void)
{
	int fd = node(0, O_WRONLY);
	uint64_t bits;
	uint32_t most;
	struct child c;
	struct neuron_ioctl_crwl_nc_map_ext ext = { 3, 1, 15, 0, { 0 } };

	child_start(&c, marks_two);
	child_ready(&c);
	is(mark(fd, 3, 0, 3, &bits, &most), -EBUSY, "cores 0 and 1 are marked by another");
	is(most, 2, "two are left");
	is(mark(fd, 2, 0, 3, &bits, &most), 0, "two can be marked");
	is((long long)bits, 0xc, "2 and 3");
	is(most, 0, "nothing is said about the rest");
	(void)!write(c.down[1], "x", 1);
	child_ready(&c);
	is(mark(fd, 2, 0, 3, &bits, &most), 0, "the other's last write-only descriptor is closed");
	is((long long)bits, 3, "0 and 1 are free");
	child_end(&c);
	is(call(fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, &ext), 0, "across devices");
	is((long long)ext.bitmap[0], 0x70, "cores 4 to 6");
	is(mark(fd, 0, 0, 3, &bits, &most), -EINVAL, "no core");
	is(mark(fd, 1, 3, 2, &bits, &most), -EINVAL, "a backward range");
	is(mark(fd, 1, 0, 64, &bits, &most), -EINVAL, "beyond the bitmap");
	is(mark(fd, 1, 0, UINT32_MAX, &bits, &most), -EINVAL, "beyond everything");
	close(fd);
	fd = node(0, O_WRONLY);
	is(mark(fd, 16, 0, 15, &bits, &most), 0, "closing released them all");
	close(fd);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int writes_then_reads(struct child *c)
{
	struct neuron_ioctl_crwl lock = { 2, { { 9 } } };
	int fd = node(0, O_RDWR), bad = 0;

	bad |= call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock) != 0;
	say(c);
	hear(c);
	bad |= call(fd, NEURON_IOCTL_CRWL_WRITER_DOWNGRADE, &lock) != 0;
	bad |= call(fd, NEURON_IOCTL_CRWL_READER_ENTER, &lock) != 0;
	bad |= call(fd, NEURON_IOCTL_CRWL_READER_EXIT, &lock) != 0;
	bad |= call(fd, NEURON_IOCTL_CRWL_READER_EXIT, &lock) != 0;
	bad |= (call(fd, NEURON_IOCTL_CRWL_READER_EXIT, &lock) != -EINVAL) << 1;
	bad |= (call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock) != -EALREADY) << 2;
	bad |= (call(fd, NEURON_IOCTL_CRWL_WRITER_DOWNGRADE, &lock) != 0) << 3;
	return bad;
}

static void test_crwl(void)
{
	struct neuron_ioctl_crwl lock = { 2, { { 9 } } };
	int fd = node(0, O_RDWR);
	struct child c;
	double start;

	child_start(&c, writes_then_reads);
	child_ready(&c);
	start = seconds();
	is(call(fd, NEURON_IOCTL_CRWL_READER_ENTER, &lock), -EBUSY, "a reader waits for a writer");
	ok(seconds() - start > 0.4, "for a while");
	is(call(fd, NEURON_IOCTL_CRWL_WRITER_DOWNGRADE, &lock), -ENOENT, "only its owner");
	is(child_end(&c), 0, "downgrade, readers, and -EALREADY with the lock taken");
	lock.nc_id = 8;
	is(call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), -EINVAL, "core 8");
	lock.nc_id = 2;
	is(call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0, "free after its death");
	close(fd);
}

static uint32_t last_core(void)
{
	return chip_of(0)->cores - 1;
}

static int completes_cinit(struct child *c)
{
	struct neuron_ioctl_cinit_set s = { last_core(), 1, 0 };
	int fd = node(0, O_RDWR), bad = 0;

	bad |= call(fd, NEURON_IOCTL_CINIT_SET_STATE, &s) || s.new_state != 1;
	say(c);
	usleep(300000);
	s.state = 2;
	bad |= (call(fd, NEURON_IOCTL_CINIT_SET_STATE, &s) || s.new_state != 2) << 1;
	hear(c);
	return bad;
}

static void test_cinit(void)
{
	struct neuron_ioctl_cinit_set s = { last_core(), 1, 0 };
	int fd = node(0, O_RDWR);
	struct child c;
	double start;

	child_start(&c, completes_cinit);
	child_ready(&c);
	start = seconds();
	is(call(fd, NEURON_IOCTL_CINIT_SET_STATE, &s), 0, "the second to start waits");
	is(s.new_state, 2, "until the first completes");
	ok(seconds() - start < 3, "not longer");
	is(child_end(&c), 0, "the first went from 1 to 2");
	s = (struct neuron_ioctl_cinit_set){ last_core(), 3, 0 };
	is(call(fd, NEURON_IOCTL_CINIT_SET_STATE, &s), 0, "invalidate");
	s.state = 2;
	call(fd, NEURON_IOCTL_CINIT_SET_STATE, &s);
	is(s.new_state, 3, "complete only follows start");
	s.nc_id = chip_of(0)->cores;
	is(call(fd, NEURON_IOCTL_CINIT_SET_STATE, &s), -E2BIG, "no such core");
	close(fd);
}

static long long stat_of(const char *file)
{
	const char *line = line_of("/sys/class/neuron_device/neuron0/%s", file);

	return line ? atoll(line) : -1;
}

static int has_nds(struct child *c)
{
	struct neuron_ioctl_neuron_ds_info ds = { 0 };
	int fd = node(0, O_RDWR);
	uint8_t *p;

	if (call(fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds) || ds.size != 262144)
		return 1;
	p = mmap(NULL, ds.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, ds.mmap_offset);
	if (p == MAP_FAILED || !all_bytes(p, ds.size, 0))
		return 2;
	memcpy(p, "nds", 4);
	*(uint64_t *)(p + NDS_NC_OFFSET(1, NDS_NC_COUNTER_INFER_COMPLETED)) = 42;
	*(uint64_t *)(p + NDS_NC_OFFSET(1, NDS_NC_COUNTER_MAC_COUNT)) = 1000;
	say(c);
	hear(c);
	*(uint64_t *)(p + NDS_NC_OFFSET(1, NDS_NC_COUNTER_INFER_COMPLETED)) = 50;
	return 0;
}

static void test_nds(void)
{
	struct neuron_ioctl_neuron_ds_info ds = { 0 };
	static const char total[] = "neuron_core1/stats/status/success/total";
	int fd = node(0, O_RDWR);
	struct child c;
	uint8_t *p;

	child_start(&c, has_nds);
	child_ready(&c);
	ds.pid = c.pid;
	is(call(fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0, "a monitor attaches");
	p = mmap(NULL, ds.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, ds.mmap_offset);
	ok(p != MAP_FAILED && !memcmp(p, "nds", 4), "and reads");
	ok(mprotect(p, 4096, PROT_READ | PROT_WRITE) < 0, "but cannot write");
	is(stat_of(total), 42, "sysfs counts while it runs");
	is(stat_of("neuron_core1/stats/other_info/flop_count/total"), 2000, "two flops a MAC");
	is(child_end(&c), 0, "the process ends");
	is(stat_of(total), 50, "the rest is counted at its end");
	is(stat_of("neuron_core1/stats/status/success/present"), 8, "the last change");
	is(stat_of("neuron_core0/stats/status/success/total"), 0, "nothing for another core");
	munmap(p, ds.size);
	is(call(fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), -ENOENT, "its entry is gone");
	ds.pid = -3;
	is(call(fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), -EINVAL, "a pid that is none");
	close(fd);
}

static void test_reset(void)
{
	const uint32_t core = chip_of(0)->cores > 2 ? 2 : 0; /* works() has core 1 */
	struct neuron_ioctl_device_reset reset = { 1u << core, 0 };
	struct neuron_ioctl_device_ready ready = { 0, 7 };
	struct neuron_ioctl_semaphore sem = { core, 5, 12 };
	uint8_t in[100], out[100];
	int fd = node(0, O_RDWR);
	struct child c;
	double start;
	uint64_t h;

	pattern(in, sizeof(in), 4);
	chunk(fd, false, 4096, 0, &h);
	copy_in(fd, h, in, 0, sizeof(in));
	call(fd, NEURON_IOCTL_SEMAPHORE_WRITE, &sem);
	is(call(fd, NEURON_IOCTL_NC_RESET, &reset), 0, "reset core %u", core);
	is(reset.request_id, getpid(), "the request is the process's");
	ready.request_id = reset.request_id;
	start = seconds();
	is(call(fd, NEURON_IOCTL_NC_RESET_READY, &ready), 0, "wait for it");
	is(ready.result, 0, "it succeeded");
	ok(seconds() - start < 0.5, "in %.3f s", seconds() - start);
	call(fd, NEURON_IOCTL_SEMAPHORE_READ, &sem);
	is(sem.value, 0, "semaphores are cleared");
	copy_out(fd, h, out, 0, sizeof(out));
	ok(!memcmp(in, out, sizeof(in)), "memory survives");
	is(call(fd, NEURON_IOCTL_NC_RESET_READY, &ready), 0, "wait again");
	is(ready.result, 1, "there is nothing to wait for");
	reset.nc_map = 0xffffffff;
	is(call(fd, NEURON_IOCTL_NC_RESET, &reset), 0, "reset the device");
	is(call(fd, NEURON_IOCTL_NC_RESET_READY, &ready), 0, "wait for it");
	is(ready.result, 0, "it succeeded");
	is(copy_out(fd, h, out, 0, sizeof(out)), 0, "copies work");
	ok(!memcmp(in, out, sizeof(in)), "memory survived that too");
	child_start(&c, works);
	child_ready(&c);
	is(call(fd, NEURON_IOCTL_NC_RESET, &reset), -EBUSY, "not under a working process");
	is(child_end(&c), 0, "which works on");
	reset.nc_map = 0;
	is(call(fd, NEURON_IOCTL_NC_RESET, &reset), -EINVAL, "no core at all");
	close(fd);
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/*
 * Host and device memory, touched before the device is removed and not, and freed. This runs in a
 * child, because touching a mapping that is gone would be a SIGBUS.
 */
static int maps_and_touches(struct child *c)
{
	int fd = node(3, O_RDWR);
	volatile uint8_t *p[6];
	uint64_t h;
	int i;

	for (i = 0; i < 6; i++) {
		chunk(fd, i % 2, 8192, 0, &h);
		p[i] = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, chunk_pa(fd, h));
		if (i / 2 != 1)
			p[i][0] = p[i][4096] = 1;
		if (i / 2 == 2)
			chunk_free(fd, h);
	}
	say(c);
	hear(c);
	for (i = 0; i < 6; i++) {
		if (p[i][0] || p[i][4096])
			return 1;
		p[i][0] = 2;
		if (p[i][0] != 2)
			return 2;
	}
	return 0;
}

static void test_removal(void)
{
	int fd = node(3, O_RDWR), marker = node(2, O_WRONLY), i;
	struct neuron_ioctl_host_device_id id;
	struct child c;
	uint8_t b[8] = "removed";
	uint64_t h, bits;
	uint32_t most;
	char address[32];

	snprintf(address, sizeof(address), "%s", chip_address(3));
	is(mark(marker, 6, 0, 7, &bits, &most), 0, "six cores of the last two devices");
	child_start(&c, maps_and_touches);
	child_ready(&c);
	chunk(fd, false, 4096, 0, &h);
	is(put("/sys/bus/pci/drivers/neuron/unbind", address), 0, "unbind under open files");
	is(call(fd, NEURON_IOCTL_HOST_DEVICE_ID, &id), -ENODEV, "an open file says so");
	is(copy_in(fd, h, b, 0, 8), -ENODEV, "whatever is asked");
	ok(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV, "mmap "
											    "too");
	ok(node(3, O_RDWR) < 0, "the node is gone");
	is(mark(marker, 5, 0, 7, &bits, &most), -EBUSY,
	   "the other device's cores are still marked");
	is(most, chip_of(2)->cores == 4 ? 4 : 2, "its own are not"); /* it had some of four */
	close(marker);
	is(child_end(&c), 0, "mappings of it show zeros and take what is written");
	for (i = 0; i < 5; i++) {
		if (put("/sys/bus/pci/drivers/neuron/bind", address) ||
		    put("/sys/bus/pci/drivers/neuron/unbind", address))
			break;
	}
	is(i, 5, "bound and unbound five times, without waiting");
	is(put("/sys/bus/pci/drivers/neuron/bind", address), 0, "bind");
	close(fd);
	for (i = 0; i < 100 && (fd = node(3, O_RDWR)) < 0; i++)
		usleep(20000);
	is(call(fd, NEURON_IOCTL_HOST_DEVICE_ID, &id), 0, "it is back");
	is(id.host_device_id, 3, "with its index");
	chunk(fd, false, 4096, 0, &h);
	memset(b, 1, sizeof(b));
	is(copy_out(fd, h, b, 0, 8), 0, "copies work");
	ok(all_bytes(b, 8, 0), "and memory is clean");
	close(fd);
}

static void test_sysfs_reset(void)
{
	int fd;

	is(put("/sys/class/neuron_device/neuron0/reset", "1"), 0, "reset by sysfs");
	fd = node(0, O_RDWR);
	ok(fd >= 0, "open waits for it");
	is(stat_of("reset"), 1, "READY");
	close(fd);
}

int main(void)
{
	test_slots();
	test_dup();
	test_mapping_outlives();
	test_fork();
	test_death();
	test_kill_in_copy();
	test_marks();
	test_crwl();
	test_cinit();
	test_nds();
	test_reset();
	test_sysfs_reset();
	test_removal();
	return tap_done();
}
