// SPDX-License-Identifier: MIT
/*
 * libndl's suite, the same for all backends: test_ndl emu:inf1.6xlarge, in a guest test_ndl node,
 * or test_ndl unix:PATH. Results and errors are the contract, so every expectation holds for each.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../check_main.h"
#include "hal.h"
#include "ndlx.h"
#include "neuron/hw/inferentia.h"

#define MIB (1u << 20)

static const char *machine;
static ndlx_device_t *dev;

static void setup(void)
{
	int index[NDLX_MAX_DEVICES];

	ck_assert_int_eq(ndlx_machine_set(machine), 0);
	ck_assert_int_gt(ndlx_available_devices(index, NDLX_MAX_DEVICES), 0);
	ck_assert_int_eq(ndlx_open_device(index[0], NULL, &dev), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(ndlx_close_device(dev), 0);
}

static uint64_t device_mem(uint64_t size, uint32_t channel)
{
	struct ndlx_mem_params p = { .size = size,
				     .channel = channel,
				     .type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE };
	uint64_t handle;

	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &handle), 0);
	ck_assert_uint_gt(handle, 0);
	return handle;
}

static uint64_t host_mem(uint64_t size)
{
	struct ndlx_mem_params p = { .size = size, .host = true };
	uint64_t handle;

	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &handle), 0);
	return handle;
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		p[i] = (uint8_t)(seed >> 24);
	}
}

START_TEST(devices)
{
	int index[NDLX_MAX_DEVICES], n = ndlx_available_devices(index, NDLX_MAX_DEVICES);
	uint32_t cores, min, max;
	char version[32];
	bool up[NEURON_PORTS_MAX], yes;
	struct ndlx_bdf bdf;
	uint64_t size;

	ck_assert_int_eq(dev->device_index, index[0]);
	ck_assert_int_eq(dev->device_type, 1);
	ck_assert_int_eq(ndlx_get_nc_count(dev, &cores), 0);
	ck_assert_uint_eq(cores, 4);
	ck_assert_int_eq(ndlx_get_version(version, sizeof(version)), 0);
	ck_assert_int_eq(ndlx_get_compatible_version(&min, &max), 0);
	ck_assert_uint_eq(min, 2);
	ck_assert_uint_eq(max, 7);
	ck_assert_int_eq(ndlx_feature_supported(NEURON_FEATURE_BATCH_DMAQ_INIT, &yes), 0);
	ck_assert(yes);
	for (int i = 0; i < n; i++) {
		ck_assert_int_eq(index[i], i);
		ck_assert_int_eq(ndlx_get_device_bdf(i, &bdf), 0);
		ck_assert_int_eq(bdf.func, 0);
		ck_assert_int_eq(ndlx_get_links(i, up), 0);
		ck_assert_int_eq(up[NDLX_PORT_EAST], i + 1 < n);
		ck_assert_int_eq(up[NDLX_PORT_WEST], i > 0);
	}
	ck_assert_int_eq(ndlx_device_links(dev, up), 0);
	ck_assert_int_eq(up[NDLX_PORT_EAST], n > 1);
	ck_assert(!up[NDLX_PORT_WEST]);
	ck_assert_int_eq(dev->connected_device_count, n > 1);
	ck_assert_int_eq(ndlx_get_dram_size(dev, 1, &size), 0);
	ck_assert_uint_eq(size, 4ull << 30);
	ck_assert_int_eq(ndlx_get_dram_size(dev, 2, &size), -EINVAL);
	ck_assert_int_eq(ndlx_get_device_bdf(63, &bdf), -ENODEV);
}
END_TEST

START_TEST(alloc_errors)
{
	struct ndlx_mem_params good = { .size = 4096 }, p;
	uint64_t h, pa, size;

	p = good, p.channel = 2;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -EINVAL);
	p = good, p.region = 4;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -EINVAL);
	p = good, p.nc = 8;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -EINVAL);
	p = good, p.host = true, p.align = 8192;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -EINVAL);
	p = good, p.size = 2ull << 30;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -ENOMEM);
	p = good, p.size = 9ull << 30;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -ENOMEM);
	p = good, p.size = ~0ull;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -EINVAL);
	p = good, p.size = 0;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), -ENOMEM);

	p = good, p.align = 1 << 20;
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &h), 0);
	ck_assert_int_eq(ndlx_memory_get_pa(dev, h, &pa), 0);
	ck_assert_uint_eq(pa % (1 << 20), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, h), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, h), -EINVAL);
	ck_assert_int_eq(ndlx_memory_get_pa(dev, 12345678, &pa), -EINVAL);

	h = device_mem(1, 1);
	ck_assert_int_eq(ndlx_memory_get_size(dev, h, &size), 0);
	ck_assert_uint_eq(size, 4096);
	ck_assert_int_eq(ndlx_memory_get_pa(dev, h, &pa), 0);
	ck_assert_uint_ge(pa, NEURON_V1_DRAM1_BASE);
	ck_assert_int_eq(ndlx_memory_free(dev, h), 0);

	h = host_mem(4096);
	ck_assert_int_eq(ndlx_memory_get_pa(dev, h, &pa), 0);
	ck_assert_uint_eq(pa & NEURON_V1_WINDOW_MASK, NEURON_V1_WINDOW_HOST);
	ck_assert_int_eq(ndlx_memory_free(dev, h), 0);
}
END_TEST

/* Sizes around every boundary of the copy path: descriptor, staging, batch, zero-copy */
static const size_t sizes[] = { 1,     4,	4095, 65535,	  65536,
				65537, MIB - 1, MIB,  MIB + 4097, 5 * MIB + 3 };

START_TEST(copies)
{
	size_t n = sizes[_i],
	       hn = n < 4 * MIB ? n : 3 * MIB; /* the kernel has no larger host chunks */
	uint8_t *a = malloc(n + 8), *b = calloc(1, n + 8), *map;
	uint64_t d0 = device_mem(n + 64, 0), d1 = device_mem(n + 64, 1), h = host_mem(hn + 64);

	fill(a, n, (uint32_t)n);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, d0, a, 5, n), 0);
	ck_assert_int_eq(ndlx_memory_copy(dev, d0, d1, 5, 9, n), 0);
	ck_assert_int_eq(ndlx_memory_copy(dev, d1, h, 9, 13, hn), 0);
	ck_assert_int_eq(ndlx_memory_map(dev, h, (void **)&map), 0);
	ck_assert(!memcmp(map + 13, a, hn));
	ck_assert_int_eq(ndlx_memory_unmap(dev, h, map), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, b, 13, hn), 0);
	ck_assert(!memcmp(b, a, hn));
	memset(b, 0, n);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, d1, b, 9, n), 0);
	ck_assert(!memcmp(b, a, n));
	ck_assert_uint_eq(b[n], 0);
	ck_assert_int_eq(ndlx_memory_free(dev, d0), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, d1), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, h), 0);
	free(a);
	free(b);
}
END_TEST

START_TEST(copy_errors)
{
	uint64_t d = device_mem(8192, 0), h = host_mem(8192);
	uint8_t buf[64];

	ck_assert_int_eq(ndlx_memory_copy(dev, d, 999999, 0, 0, 4), -EINVAL);
	ck_assert_int_eq(ndlx_memory_copy(dev, d, h, 8190, 0, 4), -EINVAL);
	ck_assert_int_eq(ndlx_memory_copy(dev, d, h, 0, ~0ull - 1, 4), -EINVAL);
	ck_assert_int_eq(ndlx_memory_copy(dev, d, h, 0, 0, ~0ull), -EINVAL);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, d, buf, 8129, 64), -EINVAL);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, h, buf, ~0ull, 64), -EINVAL);
	ck_assert_int_eq(ndlx_memset(dev, d, 8192, 0, 1), -EINVAL);
	ck_assert_int_eq(ndlx_memory_copy(dev, d, h, 0, 0, 0), 0);
	ck_assert_int_eq(ndlx_memset(dev, d, 0, 0, 0), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, d), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, h), 0);
}
END_TEST

START_TEST(sets)
{
	size_t n = 3 * MIB;
	uint64_t d = device_mem(n, 0);
	uint8_t *a = malloc(n);

	ck_assert_int_eq(ndlx_memset(dev, d, 0, 0x11, n), 0);
	ck_assert_int_eq(ndlx_memset(dev, d, 7, 0xab, n - 20), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, d, a, 0, n), 0);
	for (size_t i = 0; i < n; i++)
		if (a[i] != (i < 7 || i >= n - 13 ? 0x11 : 0xab))
			ck_abort_msg("byte %zu is 0x%02x", i, a[i]);
	ck_assert_int_eq(ndlx_memory_free(dev, d), 0);
	free(a);
}
END_TEST

START_TEST(semaphores_and_events)
{
	uint32_t v = 99;

	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 3, 31, 7), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_increment(dev, 3, 31, 5), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_decrement(dev, 3, 31, 2), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 3, 31, &v), 0);
	ck_assert_uint_eq(v, 10);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 3, 31, 0), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 4, 0, &v), -E2BIG);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 0, 32, &v), -EINVAL);
	ck_assert_int_eq(ndlx_nc_event_set(dev, 1, 255, 1), 0);
	ck_assert_int_eq(ndlx_nc_event_get(dev, 1, 255, &v), 0);
	ck_assert_uint_eq(v, 1);
	ck_assert_int_eq(ndlx_nc_event_set(dev, 1, 255, 0), 0);
	ck_assert_int_eq(ndlx_nc_event_get(dev, 1, 256, &v), -EINVAL);
	ck_assert_int_eq(ndlx_nc_event_set(dev, 4, 0, 1), -E2BIG);
}
END_TEST

/* A queue of the test's own: two packets with unequal counts, and a completion into a semaphore */
START_TEST(queues)
{
	struct ndlx_queue_params q = { .eng = 4, .qid = 3, .tx_count = 64, .rx_count = 32 }, bad;
	uint64_t src = device_mem(8192, 0), dst = device_mem(8192, 1), one = host_mem(4096);
	uint64_t src_pa, dst_pa, one_pa, sem;
	uint8_t tx[5 * 16], rx[4 * 16], a[6000], b[6000], back[5 * 16];
	struct neuron_dma_queue_state ts, rs;
	uint32_t word = 1, v = 0;

	fill(a, sizeof(a), 1);
	q.tx_handle = device_mem(64 * 16, 0);
	q.rx_handle = host_mem(32 * 16);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, src, a, 0, sizeof(a)), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, one, &word, 0, 4), 0);
	ndlx_memory_get_pa(dev, src, &src_pa);
	ndlx_memory_get_pa(dev, dst, &dst_pa);
	ndlx_memory_get_pa(dev, one, &one_pa);
	nhal_desc_tx(tx, src_pa, 1000, 1, NEURON_UDMA_DESC_FIRST);
	nhal_desc_tx(tx + 16, src_pa + 1000, 1000, 1, 0);
	nhal_desc_tx(tx + 32, src_pa + 2000, 1000, 1, NEURON_UDMA_DESC_LAST);
	nhal_desc_tx(tx + 48, src_pa + 3000, 3000, 1,
		     NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST | NEURON_UDMA_DESC_DMB);
	nhal_desc_tx(tx + 64, one_pa, 4, 1, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	sem = ndlx_semaphore_address(dev, 1, 30);
	nhal_desc_rx(rx, dst_pa, 3000, 1);
	nhal_desc_rx(rx + 16, dst_pa + 3000, 2999, 1);
	nhal_desc_rx(rx + 32, dst_pa + 5999, 1, 1);
	nhal_desc_rx(rx + 48, sem, 4, 1);
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &q), 0);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, q.tx_handle, tx, 0, 5, NEURON_DMA_QUEUE_TX),
			 0);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, q.rx_handle, rx, 0, 4, NEURON_DMA_QUEUE_RX),
			 0);
	ck_assert_int_eq(ndlx_dma_descriptor_copyout(dev, 4, 3, NEURON_DMA_QUEUE_TX, 0, 5, back),
			 0);
	ck_assert(!memcmp(back, tx, sizeof(tx)));
	ck_assert_int_eq(ndlx_dma_descriptor_copyout(dev, 4, 3, NEURON_DMA_QUEUE_TX, 1, 4, back),
			 0);
	ck_assert(!memcmp(back, tx + 16, 64));
	ck_assert_int_eq(ndlx_dma_descriptor_copyout(dev, 4, 3, NEURON_DMA_QUEUE_TX, 60, 5, back),
			 -EFBIG);
	ck_assert_int_eq(ndlx_dma_queue_copy_start(dev, 4, 3, 5, 4), 0);
	for (int i = 0; i < CHECK_WAIT_MS && !v; i++) {
		struct timespec ms = { 0, 1000000 };

		ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 1, 30, &v), 0);
		if (!v)
			nanosleep(&ms, NULL);
	}

	ck_assert_uint_eq(v, 1);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, dst, b, 0, sizeof(b)), 0);
	ck_assert(!memcmp(a, b, sizeof(a)));
	ck_assert_int_eq(ndlx_dma_queue_get_state(dev, 4, 3, &ts, &rs), 0);
	ck_assert_uint_eq(ts.length, 64);
	ck_assert_uint_eq(rs.length, 32);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 1, 30, 0), 0);

	/* cases that are refused */
	bad = q, bad.eng = 200;
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &bad), -EINVAL);
	bad = q, bad.qid = 16;
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &bad), -EINVAL);
	bad = q, bad.eng = 2, bad.qid = 15; /* the driver's copies */
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &bad), -EACCES);
	bad = q, bad.tx_handle = 999999;
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &bad), -EINVAL);
	bad = q, bad.tx_count = 4096;
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &bad), -EINVAL);

	nhal_desc_tx(tx, nhal_host_addr(dev->gen, 0x3fffffff0000ull), 64, 1, 0);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, q.tx_handle, tx, 0, 1, NEURON_DMA_QUEUE_TX),
			 -EINVAL);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, q.tx_handle, tx + 16, ~15ull, 1,
						   NEURON_DMA_QUEUE_TX),
			 -EINVAL);

	/* a ring is freed while its queue uses it: the handle is gone, the memory stays */
	ck_assert_int_eq(ndlx_memory_get_pa(dev, q.tx_handle, &src_pa), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, q.tx_handle), 0);
	ck_assert_int_eq(ndlx_memory_free(dev, q.tx_handle), -EINVAL);
	ck_assert_int_eq(ndlx_memory_get_pa(dev, device_mem(64 * 16, 0), &dst_pa), 0);
	ck_assert_uint_ne(dst_pa, src_pa);
	ck_assert_int_eq(ndlx_dma_queue_release(dev, 4, 3), 0);
}
END_TEST

START_TEST(queue_batch)
{
	struct ndlx_queue_params q[4];
	struct neuron_dma_queue_state tx, rx;

	for (uint32_t i = 0; i < 4; i++)
		q[i] = (struct ndlx_queue_params){ .eng = i,
						   .qid = 5,
						   .tx_count = 32u << i,
						   .rx_count = 64,
						   .tx_handle = device_mem(512u << i, 0),
						   .rx_handle = host_mem(1024) };
	ck_assert_int_eq(ndlx_dma_queue_init_batch(dev, q, 4), 0);
	ck_assert_int_eq(ndlx_dma_queue_init_batch(dev, q, 256), -E2BIG);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_int_eq(ndlx_dma_queue_get_state(dev, i, 5, &tx, &rx), 0);
		ck_assert_uint_eq(tx.length, 32u << i);
		ck_assert_int_eq(ndlx_dma_queue_release(dev, i, 5), 0);
	}
}
END_TEST

START_TEST(notification_queue)
{
	struct ndlx_nq_params p = { .nc = 2, .type = NEURON_NQ_ERROR, .size = 4096, .fresh = true };
	const uint8_t *ring;
	void *va, *again;

	p.size = 3000;
	ck_assert_int_eq(ndlx_notification_init(dev, &p, &va), -EINVAL);
	p.size = 4096;
	ck_assert_int_eq(ndlx_notification_init(dev, &p, &va), 0);
	ring = va;
	/* below zero: the core reports it once, as the first entry of the ring */
	ck_assert_int_eq(ndlx_nc_semaphore_decrement(dev, 2, 9, 1), 0);
	for (int i = 0; i < CHECK_WAIT_MS && !ring[NEURON_NQ_ENTRY_PHASE]; i++) {
		struct timespec ms = { 0, 1000000 };

		nanosleep(&ms, NULL);
	}
	ck_assert_uint_eq(ring[NEURON_NQ_ENTRY_PHASE], 1);
	ck_assert_uint_eq(ring[NEURON_NQ_ENTRY_TYPE], NEURON_NQ_ERROR);
	ck_assert_uint_eq(ring[NEURON_NQ_ENTRY_CODE], NEURON_NERR_SEM_OVERFLOW);
	ck_assert_uint_eq(ring[NEURON_NQ_ENTRY_ID], 9);
	ck_assert_uint_eq(ring[NEURON_NQ_ENTRY_SIZE + NEURON_NQ_ENTRY_PHASE], 0);
	/* a fresh ring is empty */
	ck_assert_int_eq(ndlx_notification_init(dev, &p, &again), 0);
	ck_assert_uint_eq(((uint8_t *)again)[NEURON_NQ_ENTRY_PHASE], 0);
	ck_assert_int_eq(ndlx_notification_destroy(dev, again), 0);
}
END_TEST

/* Makes an error entry of the core, by a semaphore that would go below zero. */
static void make_entry(uint32_t nc)
{
	ck_assert_int_eq(ndlx_nc_semaphore_decrement(dev, nc, 9, 1), 0);
}

static const uint8_t *error_ring(uint32_t nc)
{
	struct ndlx_nq_params p = { .nc = nc, .type = NEURON_NQ_ERROR, .size = 4096, .fresh = true };
	void *va;

	ck_assert_int_eq(ndlx_notification_init(dev, &p, &va), 0);
	return va;
}

/* Entries end a wait when they come after the look, whether the wait has begun or not */
START_TEST(waiting)
{
	const uint8_t *ring = error_ring(2);
	struct ndlx_waiter *w, *other;

	ck_assert_int_eq(ndlx_wait_open(dev, 4, &w), -E2BIG);
	error_ring(1);
	ck_assert_int_eq(ndlx_wait_open(dev, 2, &w), 0);
	ck_assert_int_eq(ndlx_wait_open(dev, 2, &other), 0);
	ck_assert_int_eq(ndlx_wait(w, 0), -ETIMEDOUT);
	make_entry(1); /* core 2 is not concerned */
	ck_assert_int_eq(ndlx_wait(w, 1000), -ETIMEDOUT);
	make_entry(2);
	ck_assert_int_eq(ndlx_wait(w, 60000000), 0);
	ck_assert_int_eq(ndlx_wait(w, 60000000), 0); /* until it has looked */
	ck_assert_int_eq(ndlx_wait_look(w), 0);
	ck_assert_uint_eq(ring[NEURON_NQ_ENTRY_PHASE], 1);
	ck_assert_int_eq(ndlx_wait(w, 0), -ETIMEDOUT);
	/* what one waiter saw, the other did not */
	ck_assert_int_eq(ndlx_wait(other, 60000000), 0);
	make_entry(2);
	ck_assert_int_eq(ndlx_wait(w, 60000000), 0);
	ndlx_wait_close(other);
	ndlx_wait_close(w);
	ndlx_wait_close(NULL);
}
END_TEST

struct sleeper {
	struct ndlx_waiter *waiter;
	const uint8_t *ring;
	pid_t tid;
	bool ready;
	unsigned int entries; /* the number of entries whose phases it wants to see */
};

/* Waits for entry after entry, and looks only when it is told to. */
static void *sleep_for_entries(void *arg)
{
	struct sleeper *s = arg;
	unsigned int i = 0;

	s->tid = gettid();
	__atomic_store_n(&s->ready, true, __ATOMIC_RELEASE);
	while (i < s->entries) {
		int err = ndlx_wait_look(s->waiter);

		for (; i < s->entries; i++)
			if (!__atomic_load_n(
				    &s->ring[i * NEURON_NQ_ENTRY_SIZE + NEURON_NQ_ENTRY_PHASE],
				    __ATOMIC_ACQUIRE))
				break;
		if (i == s->entries)
			break;
		if (!err)
			err = ndlx_wait(s->waiter, 60000000);
		if (err)
			return (void *)(intptr_t)err;
	}
	return NULL;
}

/* The processor time of a thread in nanoseconds, and how often it went to sleep */
static void thread_costs(pthread_t thread, pid_t tid, uint64_t *run_ns, uint64_t *switches)
{
	static const char key[] = "voluntary_ctxt_switches:";
	char path[64], line[128];
	struct timespec run;
	clockid_t clock;
	FILE *f;

	ck_assert_int_eq(pthread_getcpuclockid(thread, &clock), 0);
	ck_assert_int_eq(clock_gettime(clock, &run), 0);
	*run_ns = (uint64_t)run.tv_sec * 1000000000 + (uint64_t)run.tv_nsec;
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, sizeof(key) - 1))
			*switches = strtoull(line + sizeof(key) - 1, NULL, 10);
	fclose(f);
}

/*
 * Works on the same device, long enough that a thread that polls would have polled: costs of the
 * waiting thread before and after it. True if there were none.
 */
static bool sleeps_through(pthread_t thread, pid_t tid, uint64_t handle, const uint8_t *buf)
{
	uint64_t run[2], switches[2] = { 0 };

	thread_costs(thread, tid, &run[0], &switches[0]);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(ndlx_memory_buf_copyin(dev, handle, buf, 0, MIB), 0);
	make_entry(1);
	thread_costs(thread, tid, &run[1], &switches[1]);
	return run[0] == run[1] && switches[0] == switches[1];
}

/* A waiter costs nothing until its core writes an entry; and it misses none of many. */
START_TEST(idle_waiter)
{
	struct sleeper s = { .ring = error_ring(2), .entries = 100 };
	uint64_t handle = device_mem(MIB, 0);
	uint8_t *buf = calloc(1, MIB);
	bool asleep = false;
	pthread_t thread;
	void *result;

	error_ring(1);
	ck_assert_int_eq(ndlx_wait_open(dev, 2, &s.waiter), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_for_entries, &s), 0);
	while (!__atomic_load_n(&s.ready, __ATOMIC_ACQUIRE))
		sched_yield();
	/* the first times it may still be about to sleep */
	for (int i = 0; i < 20 && !asleep; i++)
		asleep = sleeps_through(thread, s.tid, handle, buf);
	ck_assert(asleep);
	for (unsigned int i = 0; i < s.entries; i++)
		make_entry(2);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_null(result);
	ndlx_wait_close(s.waiter);
	ck_assert_int_eq(ndlx_memory_free(dev, handle), 0);
	free(buf);
}
END_TEST

START_TEST(datastore)
{
	void *data;
	size_t size;

	ck_assert_int_eq(ndlx_nds_open(dev, 0, &data, &size), 0);
	ck_assert_uint_eq(size, NDS_ENTRY_SIZE);
	for (unsigned int nc = 0; nc < 4; nc++) {
		ndlx_nds_add(data, nc, NDS_NC_COUNTER_INFERENCE_COUNT, 5 + nc);
		ndlx_nds_add(data, nc, NDS_EXT_NC_COUNTER_HW_ERR_DMA_ABORT, 1);
	}
	ck_assert_uint_eq(ndlx_nds_get(data, 3, NDS_NC_COUNTER_INFERENCE_COUNT), 8);
	ck_assert_uint_eq(*(uint64_t *)((char *)data + 256 + 8 * (3 * 31 + 28)), 8);
	ck_assert_uint_eq(*(uint64_t *)((char *)data + 55936 + 8 * (64 + 34 - 31)), 1);
	ck_assert_int_eq(ndlx_nds_close(dev, 0, data, size), 0);
	ck_assert_int_eq(ndlx_nds_open(dev, 1, &data, &size), -ENOENT);
}
END_TEST

START_TEST(core_locks)
{
	struct neuron_uuid a = { { 1 } }, b = { { 2 } };
	struct neuron_app_info *info;
	size_t n, me = 0;

	ck_assert_int_eq(ndlx_crwl_writer_enter(dev, 2, &a), 0);
	ck_assert_int_eq(ndlx_crwl_writer_downgrade(dev, 2, &b), -ENOENT);
	ck_assert_int_eq(ndlx_crwl_writer_downgrade(dev, 2, &a), 0);
	ck_assert_int_eq(ndlx_crwl_reader_enter(dev, 2, &b), -ENOENT);
	ck_assert_int_eq(ndlx_crwl_reader_enter(dev, 2, &a), 0);
	ck_assert_int_eq(ndlx_get_all_apps_info(dev, &info, &n, NEURON_APP_INFO_ALL), 0);
	while (me < n && info[me].pid != getpid())
		me++;
	ck_assert_uint_lt(me, n);
	ck_assert_uint_eq(info[me].nc_lock_map, 4);
	free(info);
	ck_assert_int_eq(ndlx_crwl_reader_exit(dev, 2, &a), 0);
	ck_assert_int_eq(ndlx_crwl_reader_exit(dev, 2, &a), 0);
	ck_assert_int_eq(ndlx_crwl_reader_exit(dev, 2, &a), -EINVAL);
	ck_assert_int_eq(ndlx_crwl_writer_enter(dev, 2, &a), -EALREADY);
	ck_assert_int_eq(ndlx_crwl_writer_downgrade(dev, 2, &a), 0);
	ck_assert_int_eq(ndlx_crwl_reader_exit(dev, 2, &a), 0);
	ck_assert_int_eq(ndlx_crwl_writer_enter(dev, 8, &a), -EINVAL);
}
END_TEST

START_TEST(range_marks)
{
	int index[NDLX_MAX_DEVICES];
	uint32_t total = 4 * (uint32_t)ndlx_available_devices(index, NDLX_MAX_DEVICES), first,
		 avail;

	ck_assert_int_eq(ndlx_crwl_nc_range_mark(3, 0, total - 1, &first, &avail), 0);
	ck_assert_uint_eq(first, 0);
	ck_assert_int_eq(ndlx_crwl_nc_range_mark(total, 0, total - 1, &first, &avail), -EBUSY);
	ck_assert_uint_eq(avail, total - 3);
	ck_assert_int_eq(ndlx_crwl_nc_range_mark(1, 0, total - 1, &first, &avail), 0);
	ck_assert_uint_eq(first, 3);
	ck_assert_int_eq(ndlx_crwl_nc_range_unmark(1, 1), 0);
	ck_assert_int_eq(ndlx_crwl_nc_range_mark(1, 0, 3, &first, &avail), 0);
	ck_assert_uint_eq(first, 1);
	ck_assert_int_eq(ndlx_crwl_nc_range_mark(0, 0, 3, &first, &avail), -EINVAL);
	ck_assert_int_eq(ndlx_crwl_nc_range_mark(1, 3, 2, &first, &avail), -EINVAL);
	ck_assert_int_eq(ndlx_crwl_nc_range_unmark(0, 4), 0);
}
END_TEST

START_TEST(reset_keeps_memory)
{
	uint64_t d = device_mem(4096, 0);
	uint32_t id, v = 5;
	uint8_t a[100], b[100];
	int result = -1;

	fill(a, sizeof(a), 3);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, d, a, 0, sizeof(a)), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 0, 1, 7), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 1, 1, 7), 0);
	ck_assert_int_eq(ndlx_reset_ncs(dev, 1, &id), 0);
	ck_assert_int_eq(ndlx_ready_ncs(dev, id, &result), 0);
	ck_assert_int_eq(result, 0);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 0, 1, &v), 0);
	ck_assert_uint_eq(v, 0);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 1, 1, &v), 0);
	ck_assert_uint_eq(v, 7);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 1, 1, 0), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, d, b, 0, sizeof(b)), 0);
	ck_assert(!memcmp(a, b, sizeof(a)));
	ck_assert_int_eq(ndlx_memory_free(dev, d), 0);
}
END_TEST

START_TEST(start_up_states)
{
	uint32_t state, id;
	uint64_t n;
	int result;

	ck_assert_int_eq(ndlx_reset_ncs(dev, 8, &id), 0);
	ck_assert_int_eq(ndlx_ready_ncs(dev, id, &result), 0);
	ck_assert_int_eq(ndlx_nc_init_set_state(dev, 3, NEURON_CINIT_STATE_STARTED, &state), 0);
	ck_assert_uint_eq(state, NEURON_CINIT_STATE_STARTED);
	ck_assert_int_eq(ndlx_nc_init_set_state(dev, 3, NEURON_CINIT_STATE_COMPLETED, &state), 0);
	ck_assert_uint_eq(state, NEURON_CINIT_STATE_COMPLETED);
	ck_assert_int_eq(ndlx_nc_init_set_state(dev, 4, 1, &state), -E2BIG);
	ck_assert_int_eq(ndlx_nc_model_started_count(dev, 3, &n), 0);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(ndlx_nc_model_started_count(dev, 4, &n), -E2BIG);
}
END_TEST

START_TEST(registers)
{
	uint64_t misc = NEURON_V1_APB_MISC_RAM, addr = NEURON_V1_APB_BASE + misc, bad = 3, end;
	uint64_t doorbell = NEURON_V1_APB_UDMA(0) + NEURON_UDMA_M2S_Q(1) + NEURON_UDMA_Q_TAIL_INC;
	uint32_t v = 0, w = 1, version = 0;

	addr += NEURON_MISC_FW_STATUS;
	ck_assert_int_eq(ndlx_read_hw_counters(dev, &addr, &v, 1), 0);
	ck_assert_uint_ne(v & NEURON_MISC_FW_STATUS_READY, 0);
	misc += NEURON_MISC_FW_STATUS;
	ck_assert_int_eq(ndlx_bar_read(dev, 0, &misc, &w, 1), 0);
	ck_assert_uint_eq(v, w);
	ck_assert_int_eq(ndlx_isa_version(dev, &version), 0);
	ck_assert_uint_eq(version, 1);
	ck_assert_int_eq(ndlx_bar_read(dev, 4, &misc, &w, 1), -EINVAL);
	ck_assert_int_eq(ndlx_bar_read(dev, 0, &bad, &w, 1), -EINVAL);
	end = NEURON_V1_BAR0_SIZE;
	ck_assert_int_eq(ndlx_bar_read(dev, 0, &end, &w, 1), -EINVAL);
	ck_assert_int_eq(ndlx_bar_write(dev, 0, &doorbell, &w, 1), -EINVAL);
	misc = NEURON_V1_APB_MISC_RAM + NEURON_MISC_DOORBELL;
	ck_assert_int_eq(ndlx_bar_write(dev, 0, &misc, &w, 1), -EINVAL);
}
END_TEST

/* Device addresses against the map in docs/hardware.md, and what the chip counts */
START_TEST(what_programs_ask)
{
	const struct neuron_gen *gen;
	struct ndlx_core_perf perf;
	struct ndlx_errors errors;
	uint64_t window;

	ck_assert_int_eq(ndlx_alive(dev), 0);
	ck_assert_int_eq(ndlx_get_gen(0, &gen), 0);
	ck_assert_ptr_eq(gen, dev->gen);
	ck_assert_int_eq(ndlx_get_gen(63, &gen), -ENODEV);

	ck_assert_uint_eq(ndlx_core_address(dev, 2), 0xfffc8000000ull);
	ck_assert_uint_eq(ndlx_fifo_address(dev, 1, NEURON_ENG_SP),
			  0xfffc4000000ull + 0x265c000 + 3 * 0x4000);
	ck_assert_uint_eq(ndlx_semaphore_address(dev, 3, 5), 0xfffcc000000ull + 0x2701200 + 4 * 5);
	ck_assert_uint_eq(ndlx_doorbell_address(dev, 4, 3, NEURON_DMA_QUEUE_TX),
			  0xffff0000000ull + 0x180000 + 0x4038);
	ck_assert_uint_eq(ndlx_doorbell_address(dev, 4, 3, NEURON_DMA_QUEUE_RX),
			  0xffff0000000ull + 0x180000 + 0x24038);

	ck_assert_int_eq(ndlx_memory_channel(dev, 0xffffffff), 0);
	ck_assert_int_eq(ndlx_memory_channel(dev, 0x1000000000ull), 1);
	ck_assert_int_eq(ndlx_memory_channel(dev, 0x100000000ull), -EINVAL);
	ck_assert_int_eq(ndlx_neighbor_window(dev, 0, &window), -ENOENT);
	ck_assert_int_eq(ndlx_neighbor_window(dev, 2, &window), -ENOENT);

	if (dev->connected_device_count) {
		ck_assert_int_eq(ndlx_neighbor_window(dev, 1, &window), 0);
		ck_assert_uint_eq(window, 0x800000000000ull);
	}

	ck_assert_int_eq(ndlx_error_counters(dev, &errors), 0);
	ck_assert_uint_eq(errors.sram.uncorrected, 0);
	ck_assert_uint_eq(errors.memory[1].uncorrected, 0);

	ck_assert_int_eq(ndlx_core_perf(dev, 3, &perf), 0);
	ck_assert_int_eq(ndlx_core_perf(dev, 4, &perf), -E2BIG);
	ck_assert_int_eq(ndlx_notification_read(dev, 0, NEURON_NQ_THROTTLE, 0, 0), -EINVAL);
	ck_assert_int_eq(ndlx_notification_read(dev, 4, NEURON_NQ_ERROR, 0, 0), -EINVAL);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("ndl");
	TCase *tc = tcase_create("device");

	machine = argc > 1 ? argv[1] : getenv("NEURON_EMU") ?: "emu:inf1.6xlarge";
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, devices);
	tcase_add_test(tc, alloc_errors);
	tcase_add_loop_test(tc, copies, 0, sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_test(tc, copy_errors);
	tcase_add_test(tc, sets);
	tcase_add_test(tc, semaphores_and_events);
	tcase_add_test(tc, queues);
	tcase_add_test(tc, queue_batch);
	tcase_add_test(tc, notification_queue);
	tcase_add_test(tc, waiting);
	tcase_add_test(tc, idle_waiter);
	tcase_add_test(tc, datastore);
	tcase_add_test(tc, core_locks);
	tcase_add_test(tc, range_marks);
	tcase_add_test(tc, reset_keeps_memory);
	tcase_add_test(tc, start_up_states);
	tcase_add_test(tc, registers);
	tcase_add_test(tc, what_programs_ask);
	suite_add_tcase(s, tc);
	return check_run(s);
}
