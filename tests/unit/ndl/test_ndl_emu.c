// SPDX-License-Identifier: MIT
/*
 * Properties of the in-process backend alone: the choice of the machine, fork, threads, many chips
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check_main.h"
#include "ndlx.h"

START_TEST(names)
{
	int index[NDLX_MAX_DEVICES];
	ndlx_device_t *dev;

	ck_assert_int_eq(ndlx_machine_set("emu:"), -EINVAL);
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.3xlarge"), -EINVAL);
	ck_assert_str_eq(ndlx_machine_name(0), "inf1.xlarge");
	ck_assert_ptr_null(ndlx_machine_name(1000));
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.xlarge"), 0);
	ck_assert_int_eq(ndlx_available_devices(index, NDLX_MAX_DEVICES), 1);
	ck_assert_str_eq(ndlx_machine_instance(), "inf1.xlarge");
	ck_assert(ndlx_machine_is_emu());
	ck_assert_int_eq(ndlx_open_device(1, NULL, &dev), -ENODEV);
	ck_assert_int_eq(ndlx_open_device(-1, NULL, &dev), -ENODEV);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.6xlarge"), -EBUSY);
	ck_assert_int_eq(ndlx_machine_close(), -EBUSY);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
	setenv("NEURON_EMU", "inf1.24xlarge", 1);
	ck_assert_int_eq(ndlx_available_devices(index, NDLX_MAX_DEVICES), 16);
	ck_assert_int_eq(ndlx_machine_close(), 0);
	setenv("NEURON_EMU", "no such machine", 1);
	ck_assert_int_eq(ndlx_available_devices(index, NDLX_MAX_DEVICES), -EINVAL);
}
END_TEST

START_TEST(addresses)
{
	static const struct {
		const char *machine;
		int chips;
		uint8_t slot; /* of the first; the others follow */
	} want[] = {
		{ "emu:inf1.xlarge", 1, 0x1f },
		{ "emu:inf1.2xlarge", 1, 0x1f },
		{ "emu:inf1.6xlarge", 4, 0x1c },
		{ "emu:inf1.24xlarge", 16, 0x10 },
	};
	struct ndlx_bdf bdf;

	ck_assert_int_eq(ndlx_machine_set(want[_i].machine), 0);
	for (int i = 0; i < want[_i].chips; i++) {
		ck_assert_int_eq(ndlx_get_device_bdf(i, &bdf), 0);
		ck_assert_uint_eq(bdf.domain, 0);
		ck_assert_uint_eq(bdf.bus, 0);
		ck_assert_uint_eq(bdf.slot, want[_i].slot + i);
		ck_assert_uint_eq(bdf.func, 0);
	}
	ck_assert_int_eq(ndlx_get_device_bdf(want[_i].chips, &bdf), -ENODEV);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

START_TEST(child)
{
	int index[4], status;
	ndlx_device_t *dev;
	uint32_t n;
	pid_t pid;

	ck_assert_int_eq(ndlx_machine_set("emu:inf1.xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	pid = fork();
	if (!pid) {
		/* nothing may wait for the parent's threads */
		_exit(ndlx_available_devices(index, 4) != -EOWNERDEAD ||
		      ndlx_get_nc_count(dev, &n) != -EOWNERDEAD ||
		      ndlx_machine_set("emu:inf1.xlarge") != -EOWNERDEAD ||
		      ndlx_close_device(dev) != -EOWNERDEAD || ndlx_machine_close() != -EOWNERDEAD);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/* Memory is freed with the last close, and is zero for the next owner. */
START_TEST(last_close)
{
	struct ndlx_mem_params p = { .size = 1 << 20 };
	uint64_t h, again;
	uint8_t b[64], zero[64] = { 0 };
	ndlx_device_t *dev, *other;

	ck_assert_int_eq(ndlx_machine_set("emu:inf1.xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &other), 0);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	ck_assert_int_eq(ndlx_memset(dev, h, 0, 0xff, 1 << 20), 0);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(other, h, b, 0, 64), 0);
	ck_assert_int_eq(b[5], 0xff);
	ck_assert_int_eq(ndlx_close_device(other), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, b, 0, 64), -EINVAL);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &again), 0);
	ck_assert_uint_eq(again, 1);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, again, b, 0, 64), 0);
	ck_assert(!memcmp(b, zero, 64));
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

static void *copier(void *arg)
{
	unsigned int n = (unsigned int)(uintptr_t)arg;
	struct ndlx_mem_params p = { .size = 4 << 20, .nc = n % 4, .channel = n % 2 };
	uint8_t *a = malloc(4 << 20), *b = malloc(4 << 20);
	ndlx_device_t *dev;
	uint64_t h;
	bool ok = !ndlx_open_device((int)(n % 4), NULL, &dev);

	for (unsigned int i = 0; ok && i < 20; i++) {
		size_t size = ((i * 7919 + n * 104729) % ((4 << 20) - 1)) + 1;

		memset(a, (int)(i * 16 + n), size);
		ok = !ndlx_memory_alloc(dev, &p, &h) &&
		     !ndlx_memory_buf_copyin(dev, h, a, 0, size) &&
		     !ndlx_memory_buf_copyout(dev, h, b, 0, size) && !memcmp(a, b, size) &&
		     !ndlx_memory_free(dev, h);
	}
	free(a);
	free(b);
	return (void *)(uintptr_t)(ok && !ndlx_close_device(dev));
}

START_TEST(threads)
{
	pthread_t t[8];
	void *ok;

	ck_assert_int_eq(ndlx_machine_set("emu:inf1.6xlarge"), 0);
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, copier, (void *)i);
	for (int i = 0; i < 8; i++) {
		pthread_join(t[i], &ok);
		ck_assert_ptr_nonnull(ok);
	}
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

static void *visitor(void *arg)
{
	struct ndlx_mem_params p = { .size = 4096 };
	ndlx_device_t *dev;
	bool ok = true;
	uint64_t h;

	for (unsigned int i = 0; ok && i < 500; i++) {
		usleep(i * 37 % 300); /* away long enough for the other's close to be the last */
		ok = !ndlx_open_device(0, NULL, &dev) && !ndlx_memory_alloc(dev, &p, &h);
		usleep(i * 53 % 300);
		ok = ok && !ndlx_memory_free(dev, h) && !ndlx_close_device(dev);
	}
	return (void *)(uintptr_t)ok;
}

/* A chip that is opened while its last user closes it is free, and what is then allocated stays. */
START_TEST(reopen)
{
	pthread_t t[2];
	void *ok;

	ck_assert_int_eq(ndlx_machine_set("emu:inf1.xlarge"), 0);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, visitor, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &ok);
		ck_assert_ptr_nonnull(ok);
	}
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/* Opens and closes the third chip, which resets it each time, until it is told to end */
static void *leaver(void *arg)
{
	atomic_bool *end = arg;
	ndlx_device_t *dev;
	bool ok = true;

	while (ok && !atomic_load(end))
		ok = !ndlx_open_device(2, NULL, &dev) && !ndlx_close_device(dev);
	return (void *)(uintptr_t)ok;
}

/* A chip's neighbours are the same while one of them is reset. */
START_TEST(neighbours)
{
	ndlx_device_t *held, *dev;
	atomic_bool end = false;
	unsigned int wrong = 0;
	pthread_t t;
	void *ok;

	ck_assert_int_eq(ndlx_machine_set("emu:inf1.6xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(1, NULL, &held), 0); /* so that it is not reset itself */
	pthread_create(&t, NULL, leaver, &end);
	for (int i = 0; i < 20000; i++) {
		ck_assert_int_eq(ndlx_open_device(1, NULL, &dev), 0);
		ck_assert_int_eq(dev->connected_device_count, 2);
		wrong += dev->connected_devices[0] + dev->connected_devices[1] != 2;
		ck_assert_int_eq(ndlx_close_device(dev), 0);
	}
	atomic_store(&end, true);
	pthread_join(t, &ok);
	ck_assert_ptr_nonnull(ok);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_int_eq(ndlx_close_device(held), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/*
 * An injected fault strikes as often as requested, and then the chip works; anything else is
 * refused.
 */
START_TEST(faults)
{
	struct ndlx_mem_params p = { .size = 4096 };
	uint8_t in[64], out[64] = { 0 };
	bool up[NEURON_PORTS_MAX];
	ndlx_device_t *dev;
	uint64_t h;

	memset(in, 0x5a, sizeof(in));
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.6xlarge"), 0);
	ck_assert_int_eq(ndlx_fault(4, "dma-abort"), -ENODEV);
	ck_assert_int_eq(ndlx_fault(-1, "dma-abort"), -ENODEV);
	ck_assert_int_eq(ndlx_fault(0, "no-such-fault"), -ENOENT);
	ck_assert_int_eq(ndlx_fault(0, ""), -ENOENT);
	ck_assert_int_eq(ndlx_fault(0, "dma-abort=sometimes"), -EINVAL);
	ck_assert_int_eq(ndlx_fault(0, "dma-abort=1:core=4"), -EINVAL);
	ck_assert_int_eq(ndlx_fault(0, "link-east-down=5"), -EINVAL);

	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, h, in, 0, sizeof(in)), 0);
	ck_assert_int_eq(ndlx_fault(0, "dma-abort"), 0);
	ck_assert_int_eq(ndlx_fault(1, "dma-hang=always"), 0); /* a fault of another chip */
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, sizeof(out)), -EIO);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, sizeof(out)), 0);
	ck_assert_mem_eq(in, out, sizeof(in));
	ck_assert_int_eq(ndlx_fault(0, "dma-abort=always"), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, sizeof(out)), -EIO);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, sizeof(out)), -EIO);
	ck_assert_int_eq(ndlx_fault(0, "dma-abort=off"), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, sizeof(out)), 0);

	ck_assert_int_eq(ndlx_close_device(dev), 0);

	ck_assert_int_eq(ndlx_get_links(1, up), 0);
	ck_assert(up[NDLX_PORT_EAST] && up[NDLX_PORT_WEST]);
	ck_assert_int_eq(ndlx_fault(1, "link-east-down"), 0); /* a fault that lasts */
	ck_assert_int_eq(ndlx_get_links(1, up), 0);
	ck_assert(!up[NDLX_PORT_EAST] && up[NDLX_PORT_WEST]);
	ck_assert_int_eq(ndlx_machine_close(), 0);

	ck_assert_int_eq(ndlx_machine_set("node"), 0);
	ck_assert_int_eq(ndlx_fault(0, "dma-abort"), -ENOTSUP);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/* A copy that the calling thread does itself: it fails as one of a worker's does */
START_TEST(large_copies_fail)
{
	struct ndlx_mem_params p = { .size = 32 << 20 };
	uint8_t *in = malloc(p.size), *out = calloc(1, p.size);
	ndlx_device_t *dev;
	uint64_t h;

	for (uint64_t i = 0; i < p.size; i++)
		in[i] = (uint8_t)(i * 2654435761u >> 16);
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	ck_assert_int_eq(ndlx_fault(0, "dma-abort=1:after=300"), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, h, in, 0, p.size), -EIO);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, h, in, 0, p.size), 0);
	ck_assert_int_eq(ndlx_fault(0, "dma-abort=1:after=300"), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, p.size), -EIO);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, p.size), 0);
	ck_assert_mem_eq(in, out, p.size);
	free(in);
	free(out);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/* The first half of a huge page's place; the other may not be accessed */
START_TEST(copies_into_the_buffer_alone)
{
	const struct ndlx_mem_params p = { .size = 1 << 20 };
	const size_t huge = 2 * p.size, span = 3 * huge;
	ndlx_device_t *dev;
	uint8_t *in, *out;
	uint64_t h;

	in = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(in, MAP_FAILED);
	out = (uint8_t *)(((uintptr_t)in + 2 * huge - 1) & ~(uintptr_t)(huge - 1));
	memset(in, 7, p.size);
	ck_assert_int_eq(mprotect(out + p.size, huge - p.size, PROT_NONE), 0);
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, h, in, 0, p.size), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 0, p.size), 0);
	ck_assert_int_eq(memcmp(in, out, p.size), 0);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
	munmap(in, span);
}
END_TEST

static void reads(ndlx_device_t *dev, uint64_t h, uint8_t byte)
{
	uint8_t out[64], expected[64];

	memset(expected, byte, sizeof(expected));
	memset(out, ~byte, sizeof(out));
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, out, 4096, sizeof(out)), 0);
	ck_assert_mem_eq(out, expected, sizeof(out));
}

/* The chip's memory as a driver hands it out that does not clear it; host memory is zeros */
START_TEST(stale_memory)
{
	struct ndlx_mem_params p = { .size = 8192 }, host = { .size = 8192, .host = true };
	ndlx_device_t *dev, *other;
	uint64_t h;

	setenv("NEURON_EMU_FAULTS", "nd*:stale-memory", 1);
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.2xlarge"), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
	ck_assert_int_eq(ndlx_machine_set("emu:inf1.6xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_open_device(3, NULL, &other), 0);
	ck_assert_int_eq(ndlx_fault(3, "stale-memory=1"), -EINVAL);
	ck_assert_int_eq(ndlx_memory_alloc(other, &p, &h), 0);
	reads(other, h, 0x7f);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &host, &h), 0);
	reads(dev, h, 0);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	reads(dev, h, 0x7f);
	ck_assert_int_eq(ndlx_memory_forget(dev, h), 0);
	reads(dev, h, 0x7f);
	ck_assert_int_eq(ndlx_fault(0, "stale-memory=off"), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, h), 0);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	reads(dev, h, 0);
	ck_assert_int_eq(ndlx_fault(0, "stale-memory=on"), 0);
	reads(dev, h, 0);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_close_device(other), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/* A chip that is unplugged: nobody is let to it, who waits is told, its links are down */
START_TEST(unplugged)
{
	struct ndlx_mem_params p = { .size = 4096 };
	int index[NDLX_MAX_DEVICES];
	ndlx_device_t *dev, *other, *again;
	struct ndlx_waiter *waiter;
	bool up[NEURON_PORTS_MAX];
	uint64_t h, left;

	ck_assert_int_eq(ndlx_machine_set("emu:inf1.6xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(1, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_open_device(2, NULL, &other), 0);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	ck_assert_int_eq(ndlx_wait_open(dev, 0, &waiter), 0);
	ck_assert_int_eq(ndlx_fault(1, "unplug=2"), -EINVAL);
	ck_assert_int_eq(ndlx_fault(1, "unplug=1:after=x"), -EINVAL);
	ck_assert_int_eq(ndlx_fault(1, "unplug=1:after="), -EINVAL);
	ck_assert_int_eq(ndlx_fault(1, "unplug=1:after=1000"), 0);
	ck_assert_int_eq(ndlx_alive(dev), 0);
	ck_assert_int_eq(ndlx_fault(1, "unplug"), 0);
	ck_assert_int_eq(ndlx_fault(1, "unplug"), 0);
	ck_assert_int_eq(ndlx_alive(dev), -ENODEV);
	ck_assert_int_eq(ndlx_wait_look(waiter), -ENODEV);
	ck_assert_int_eq(ndlx_wait(waiter, 60000000), -ENODEV);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &left), -ENODEV);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, h, &p, 0, 8), -ENODEV);
	ck_assert_int_eq(ndlx_dma_queue_copy_start(dev, 0, 0, 1, 1), -ENODEV);
	ck_assert_int_eq(ndlx_open_device(1, NULL, &again), -ENODEV);
	ck_assert_int_eq(ndlx_available_devices(index, NDLX_MAX_DEVICES), 3);
	ck_assert_int_eq(index[1], 2);
	ck_assert_int_eq(ndlx_memory_alloc(other, &p, &h), 0);
	ck_assert_int_eq(ndlx_get_links(2, up), 0);
	ck_assert(up[NDLX_PORT_EAST] && !up[NDLX_PORT_WEST]);
	ndlx_wait_close(waiter);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_close_device(other), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/* A notification queue is the chip's until a reset takes it. */
START_TEST(given)
{
	const struct ndlx_nq_params p = { .nc = 1, .engine = NEURON_ENG_SP, .size = 4096 };
	uint32_t request;
	ndlx_device_t *dev;
	void *ring;

	ck_assert_int_eq(ndlx_machine_set("emu:inf1.xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	ck_assert_int_eq(ndlx_notification_given(dev, 1, p.type, NEURON_ENG_SP), 0);
	ck_assert_int_eq(ndlx_notification_init(dev, &p, &ring), 0);
	ck_assert_int_eq(ndlx_notification_given(dev, 1, p.type, NEURON_ENG_SP), 1);
	ck_assert_int_eq(ndlx_reset_ncs(dev, 1, &request), 0); /* another core's */
	ck_assert_int_eq(ndlx_notification_given(dev, 1, p.type, NEURON_ENG_SP), 1);
	ck_assert_int_eq(ndlx_reset_ncs(dev, 2, &request), 0);
	ck_assert_int_eq(ndlx_notification_given(dev, 1, p.type, NEURON_ENG_SP), 0);
	ck_assert_int_eq(ndlx_notification_given(dev, 99, p.type, NEURON_ENG_SP), -EINVAL);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

/* Pages of a mapping that are in memory */
static unsigned int resident(void *at, size_t size)
{
	unsigned char page[2048];
	unsigned int n = 0;

	ck_assert_uint_le(size / 4096, sizeof(page));
	ck_assert_int_eq(mincore(at, size & ~(size_t)4095, page), 0);
	for (size_t i = 0; i < size / 4096; i++)
		n += page[i] & 1;
	return n;
}

#define MOVED ((size_t)4 << 20)

/* Pages change hands where both parts begin at one place within a page, the bytes around them too. */
START_TEST(moves)
{
	static const struct {
		uint64_t from, to;
		int moved;
	} want[] = { { 0, 0, 1 }, { 4097, 1, 1 }, { 8192, 4096, 1 }, { 1, 2, 0 } };
	const struct ndlx_mem_params params = { .size = 2 * MOVED };
	static uint8_t bytes[MOVED], back[MOVED + 2], zeros[MOVED];
	const uint64_t from = want[_i].from, to = want[_i].to;
	uint64_t src, dst;
	ndlx_device_t *dev;
	uint8_t *s, *d;

	ck_assert_int_eq(ndlx_machine_set("emu:trn1.2xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < MOVED; i++)
			bytes[i] = (uint8_t)(i * 7 + i / 4096 + (size_t)round);
		ck_assert_int_eq(ndlx_memory_alloc(dev, &params, &src), 0);
		ck_assert_int_eq(ndlx_memory_alloc(dev, &params, &dst), 0);
		ck_assert_int_eq(ndlx_memory_map(dev, src, (void **)&s), 0);
		ck_assert_int_eq(ndlx_memory_map(dev, dst, (void **)&d), 0);
		ck_assert_int_eq(memcmp(s, zeros, MOVED) | memcmp(d, zeros, MOVED), 0);
		ck_assert_int_eq(ndlx_memory_buf_copyin(dev, src, bytes, from, MOVED), 0);
		ck_assert_int_eq(ndlx_memory_move(dev, src, dst, from, to, MOVED), want[_i].moved);
		ck_assert_int_eq(memcmp(d + to, bytes, MOVED), 0);
		ck_assert_int_eq(ndlx_memory_buf_copyout(dev, dst, back, to, MOVED + 2), 0);
		ck_assert_int_eq(memcmp(back, bytes, MOVED), 0);
		ck_assert_uint_eq(back[MOVED] | back[MOVED + 1], 0);
		ck_assert_int_eq(resident(s + 8192, MOVED - 8192) == 0, want[_i].moved);
		ck_assert_int_eq(ndlx_memory_unmap(dev, src, s), 0);
		ck_assert_int_eq(ndlx_memory_unmap(dev, dst, d), 0);
		ck_assert_int_eq(ndlx_memory_free(dev, src), 0);
		ck_assert_int_eq(ndlx_memory_free(dev, dst), 0);
	}
	ck_assert_int_eq(ndlx_memory_move(dev, src, dst, 0, 0, MOVED), -EINVAL);
	ck_assert_int_eq(ndlx_close_device(dev), 0);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ndl-emu");
	TCase *tc = tcase_create("emu");

	tcase_add_test(tc, names);
	tcase_add_loop_test(tc, addresses, 0, 4);
	tcase_add_test(tc, child);
	tcase_add_test(tc, last_close);
	tcase_add_test(tc, threads);
	tcase_add_test(tc, reopen);
	tcase_add_test(tc, neighbours);
	tcase_add_test(tc, faults);
	tcase_add_test(tc, large_copies_fail);
	tcase_add_test(tc, copies_into_the_buffer_alone);
	tcase_add_test(tc, stale_memory);
	tcase_add_test(tc, unplugged);
	tcase_add_test(tc, given);
	tcase_add_loop_test(tc, moves, 0, 4);
	suite_add_tcase(s, tc);
	return check_run(s);
}
