// SPDX-License-Identifier: MIT
/*
 * What threads and processes may leave behind when they race with the end of what they use: a call
 * that waits while the last descriptor closes, an initialisation that is never completed, marks
 * through an inherited descriptor, handles freed while they are being returned, mappings and core
 * memory of others
 */
#include "tap.h"
#include "chip.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int in_child(int (*fn)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int shared_fd;
static int waiter_result;

static void *writer(void *arg)
{
	struct neuron_ioctl_crwl lock = { 1, { { 7 } } };

	waiter_result = call(shared_fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock);
	return arg;
}

/* A thread waits for the lock that its own process holds; then the only descriptor is closed. */
static int closes_under_waiter(void)
{
	struct neuron_ioctl_crwl lock = { 1, { { 7 } } };
	pthread_t thread;

	shared_fd = node(0, O_RDWR);
	if (call(shared_fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock))
		return 1;
	pthread_create(&thread, NULL, writer, NULL);
	usleep(300000);
	close(shared_fd);
	pthread_join(thread, NULL);
	return waiter_result == -EACCES ? 0 : 2;
}

static void test_close_under_waiter(void)
{
	struct neuron_ioctl_crwl lock = { 1, { { 9 } } };
	int fd = node(0, O_RDWR);

	is(in_child(closes_under_waiter), 0, "a waiting call loses with the descriptor: EACCES");
	is(call(fd, NEURON_IOCTL_CRWL_WRITER_ENTER, &lock), 0, "and keeps no lock");
	close(fd);
}

static int starts_cinit(void)
{
	struct neuron_ioctl_cinit_set c = { 1, NEURON_CINIT_STATE_STARTED, 0 };
	int fd = node(0, O_RDWR);

	return call(fd, NEURON_IOCTL_CINIT_SET_STATE, &c) || c.new_state != 1;
}

static void test_cinit(void)
{
	struct neuron_ioctl_cinit_set c = { 1, NEURON_CINIT_STATE_COMPLETED, 0 };
	int fd = node(0, O_RDWR);

	is(in_child(starts_cinit), 0, "a process starts a core and dies");
	call(fd, NEURON_IOCTL_CINIT_SET_STATE, &c);
	is(c.new_state, NEURON_CINIT_STATE_INVALID, "the core is not started any more");
	close(fd);
}

static int marks_inherited(void)
{
	struct neuron_ioctl_crwl_nc_map m = { .nc_count = 4, .end_nc_index = 3 };

	return call(shared_fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK, &m) == -EACCES ? 0 : 1;
}

static void test_marks(void)
{
	struct neuron_ioctl_crwl_nc_map m = { .nc_count = 4, .end_nc_index = 3 };

	shared_fd = node(2, O_WRONLY);
	is(in_child(marks_inherited), 0, "no marks through an inherited descriptor");
	is(call(shared_fd, NEURON_IOCTL_CRWL_NC_RANGE_MARK, &m), 0, "so none outlives the child");
	close(shared_fd);
}

static volatile bool stop;

static void *frees(void *arg)
{
	uint64_t h;

	while (!stop)
		for (h = 1; h < 4; h++)
			chunk_free(shared_fd, h);
	return arg;
}

/* Handles are small numbers, so another thread can free one while it is being returned. */
static void test_free_race(void)
{
	struct neuron_ioctl_mem_alloc_v2_mem_type64 bad = { .size = 4096,
							    .host_memory = 1,
							    .mem_handle = (void *)8 };
	struct neuron_ioctl_mem_chunk_info
		firmware; /* a chunk of the driver's, where there is one */
	struct neuron_ioctl_dump_mem_chunks dump = { .num_entries_in = 1, .data = &firmware };
	unsigned int i, wrong = 0;
	pthread_t thread;
	uint64_t h;

	shared_fd = node(1, O_RDWR);
	pthread_create(&thread, NULL, frees, NULL);
	for (i = 0; i < 3000; i++) {
		wrong += chunk(shared_fd, i & 1, 4096, 0, &h) != 0;
		wrong += call(shared_fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &bad) != -EFAULT;
	}
	stop = true;
	pthread_join(thread, NULL);
	is(wrong, 0, "handles freed while they are handed out");
	close(shared_fd);
	shared_fd = node(1, O_RDWR);
	is(call(shared_fd, NEURON_IOCTL_DUMP_MEM_CHUNKS, &dump), 0, "and all");
	is(dump.num_entries_out, chip_of(1)->firmware_bytes ? 1 : 0, "are given back");
	close(shared_fd);
}

static void test_private_mapping(void)
{
	int fd = node(0, O_RDWR);
	uint64_t h;
	void *p;

	chunk(fd, true, 4096, 0, &h);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, (off_t)chunk_pa(fd, h));
	ok(p != MAP_FAILED, "a private mapping to read");
	ok(mprotect(p, 4096, PROT_READ | PROT_WRITE) && errno == EACCES, "cannot become a copy");
	munmap(p, 4096);
	close(fd);
}

static void test_copy_of_nothing(void)
{
	struct neuron_ioctl_mem_copy_async64 a = { .pwait_handle = NEURON_DMA_H2T_CTX_HANDLE_NONE };
	int fd = node(0, O_RDWR);
	uint64_t src, dst;

	chunk(fd, false, 4096, 0, &src);
	chunk(fd, false, 4096, 0, &dst);
	a.src_mem_handle = src;
	a.dst_mem_handle = dst;
	is(call(fd, NEURON_IOCTL_MEM_COPY_ASYNC64, &a), 0, "an asynchronous copy of nothing");
	ok(a.wait_handle == 1 || a.wait_handle == 2, "has a handle, %u", a.wait_handle);
	close(fd);
}

static uint64_t cookie;

static int reads_sbuf(void)
{
	__u64 addr = cookie;
	uint32_t data;
	struct neuron_ioctl_bar_rw rw = { chip_of(0)->bar_cores, &addr, &data, 1 };
	int fd = node(0, O_RDWR), ret;

	ret = call(fd, NEURON_IOCTL_BAR_READ, &rw);
	if (ret != -EACCES)
		return 1;
	addr += chip_of(0)->core.semaphores;
	return call(fd, NEURON_IOCTL_BAR_READ, &rw) ? 2 : 0;
}

static void test_core_memory(void)
{
	const struct neuron_gen *chip = chip_of(0);
	__u64 addr = neuron_gen_address(chip, NEURON_BLOCK_CORE, 0);
	uint32_t data = 0;
	struct neuron_ioctl_read_hw_counters c = { &addr, &data, 1 };
	struct neuron_ioctl_bar_rw rw = { chip->bar_cores, &addr, &data, 1 };
	struct neuron_ioctl_device_info info;
	int fd = node(0, O_RDWR);

	is(call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &c), -EINVAL, "SBUF is no counter");
	addr += NEURON_PSUM_OFFSET;
	is(call(fd, NEURON_IOCTL_READ_HW_COUNTERS, &c), -EINVAL, "nor is PSUM");
	call(fd, NEURON_IOCTL_DEVICE_INFO, &info);
	cookie = info.bar_address[chip->bar_cores ? 1 : 0] +
		 neuron_gen_offset(chip, NEURON_BLOCK_CORE, 0);
	addr = cookie;
	is(call(fd, NEURON_IOCTL_BAR_READ, &rw), 0, "SBUF of an own core");
	is(in_child(reads_sbuf), 0, "is not for others, the registers are");
	close(fd);
}

int main(void)
{
	test_close_under_waiter();
	test_cinit();
	test_marks();
	test_free_race();
	test_private_mapping();
	test_copy_of_nothing();
	test_core_memory();
	return tap_done();
}
