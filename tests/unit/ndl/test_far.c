// SPDX-License-Identifier: MIT
/*
 * Memory of an instance: a program's queue on one chip copies into the memory of each other one and
 * out of it, near or far. test_ndl_far emu:trn1.32xlarge, or in a guest test_ndl_far node. What
 * says that bytes came is the other device's own copy of them.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../check_main.h"
#include "hal.h"
#include "ndlx.h"

#define ENGINE 4
#define QUEUE 3
#define SEMAPHORE 30
#define SIZE 200000u /* more than a descriptor holds */
#define PIECE 50000u

static const char *machine;
static ndlx_device_t *device[NDLX_MAX_DEVICES];
static int devices;

static void setup(void)
{
	int index[NDLX_MAX_DEVICES];

	ck_assert_int_eq(ndlx_machine_set(machine), 0);
	devices = ndlx_available_devices(index, NDLX_MAX_DEVICES);
	ck_assert_int_gt(devices, 4);
	for (int i = 0; i < devices; i++) {
		ck_assert_int_eq(index[i], i);
		ck_assert_int_eq(ndlx_open_device(i, NULL, &device[i]), 0);
	}
}

static void teardown(void)
{
	for (int i = 0; i < devices; i++)
		ck_assert_int_eq(ndlx_close_device(device[i]), 0);
}

static uint64_t memory(int d, uint64_t size, bool host, uint64_t *pa)
{
	struct ndlx_mem_params p = { .size = size,
				     .host = host,
				     .type = NEURON_MEMALLOC_TYPE_TENSORS_DEVICE };
	uint64_t handle;

	ck_assert_int_eq(ndlx_memory_alloc(device[d], &p, &handle), 0);
	ck_assert_int_eq(ndlx_memory_get_pa(device[d], handle, pa), 0);
	return handle;
}

static void fill(uint8_t *p, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		p[i] = (uint8_t)(seed >> 24);
	}
}

/* A program's ring on one device */
struct program {
	int device;
	struct ndlx_queue_params queue;
	uint64_t one; /* a word that is 1 */
	unsigned int at;
};

static void program_new(struct program *p, int d)
{
	const uint32_t one = 1;
	uint64_t pa, handle;

	*p = (struct program){
		.device = d,
		.queue = { .eng = ENGINE, .qid = QUEUE, .tx_count = 64, .rx_count = 64 }
	};
	p->queue.tx_handle = memory(d, 64 * 16, false, &pa);
	p->queue.rx_handle = memory(d, 64 * 16, true, &pa);
	handle = memory(d, 4096, true, &p->one);
	ck_assert_int_eq(ndlx_memory_buf_copyin(device[d], handle, &one, 0, 4), 0);
}

/* Copies SIZE bytes and counts; false: the count did not come */
static bool copy(struct program *p, uint64_t from, uint64_t to, unsigned int ms)
{
	ndlx_device_t *dev = device[p->device];
	uint8_t tx[5 * 16], rx[5 * 16];
	uint32_t v = 0;

	for (unsigned int i = 0; i < 4; i++) {
		nhal_desc_tx(tx + 16 * i, from + i * PIECE, PIECE, 1,
			     NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		nhal_desc_rx(rx + 16 * i, to + i * PIECE, PIECE, 1);
	}
	nhal_desc_tx(tx + 64, p->one, 4, 1, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	nhal_desc_rx(rx + 64, ndlx_semaphore_address(dev, 0, SEMAPHORE), 4, 1);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 0, SEMAPHORE, 0), 0);
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &p->queue), 0);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, p->queue.tx_handle, tx, 0, 5,
						   NEURON_DMA_QUEUE_TX),
			 0);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, p->queue.rx_handle, rx, 0, 5,
						   NEURON_DMA_QUEUE_RX),
			 0);
	ck_assert_int_eq(ndlx_dma_queue_copy_start(dev, ENGINE, QUEUE, 5, 5), 0);
	for (unsigned int i = 0; i < ms && !v; i++) {
		ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 0, SEMAPHORE, &v), 0);
		if (!v)
			nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	ck_assert_int_eq(ndlx_dma_queue_release(dev, ENGINE, QUEUE), 0);
	return v;
}

/* From one device into every other one, then back out of each */
START_TEST(everywhere)
{
	static uint8_t bytes[SIZE], back[SIZE];
	uint64_t here, there, window, handle, mine;
	struct program p;
	const int from = _i ? devices - 2 : 0;

	program_new(&p, from);
	mine = memory(from, SIZE, false, &here);
	for (int to = 0; to < devices; to++) {
		if (to == from)
			continue;
		ck_assert_int_eq(ndlx_device_window(device[from], to, &window), 0);
		handle = memory(to, SIZE, false, &there);
		fill(bytes, SIZE, (uint32_t)to);
		ck_assert_int_eq(ndlx_memory_buf_copyin(device[from], mine, bytes, 0, SIZE), 0);
		ck_assert_msg(copy(&p, here, window | there, CHECK_WAIT_MS), "to %d", to);
		ck_assert_int_eq(ndlx_memory_buf_copyout(device[to], handle, back, 0, SIZE), 0);
		ck_assert(!memcmp(bytes, back, SIZE));

		fill(bytes, SIZE, (uint32_t)to + 100);
		ck_assert_int_eq(ndlx_memory_buf_copyin(device[to], handle, bytes, 0, SIZE), 0);
		ck_assert_msg(copy(&p, window | there, here, CHECK_WAIT_MS), "from %d", to);
		ck_assert_int_eq(ndlx_memory_buf_copyout(device[from], mine, back, 0, SIZE), 0);
		ck_assert(!memcmp(bytes, back, SIZE));
	}
}
END_TEST

/* Devices that there are not; a chip of the first generation knows its neighbours only */
START_TEST(windows)
{
	uint64_t window;

	ck_assert_int_eq(ndlx_device_window(device[0], devices, &window), -ENOENT);
	ck_assert_int_eq(ndlx_device_window(device[0], -1, &window), -ENOENT);
	ck_assert_int_eq(ndlx_neighbor_window(device[0], 2, &window), -ENOENT);
}
END_TEST

/*
 * In process, where links can be broken: the way goes round, which in a ring of twelve are ten
 * links, too many; and there is none to a chip cut off.
 */
START_TEST(links_down)
{
	uint64_t here, there, window;
	struct program p;

	if (strncmp(machine, "emu:", 4))
		return;
	program_new(&p, 0);
	memory(0, SIZE, false, &here);
	memory(2, SIZE, false, &there);
	ck_assert_int_eq(ndlx_device_window(device[0], 2, &window), 0);
	ck_assert(copy(&p, here, window | there, CHECK_WAIT_MS));
	ck_assert_int_eq(ndlx_fault(1, "link-down=on"), 0);
	ck_assert_int_eq(copy(&p, here, window | there, devices == 12 ? 300 : CHECK_WAIT_MS),
			 devices != 12);
	ck_assert_int_eq(ndlx_fault(2, "link-down=on"), 0);
	ck_assert(!copy(&p, here, window | there, 300));
	ck_assert_int_eq(ndlx_fault(2, "link-down=off"), 0);
	ck_assert_int_eq(ndlx_fault(1, "link-down=off"), 0);
	ck_assert(copy(&p, here, window | there, CHECK_WAIT_MS));
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("ndl-far");
	TCase *tc = tcase_create("instance");

	machine = argc > 1 ? argv[1] : getenv("NEURON_EMU") ?: "emu:trn1.32xlarge";
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, everywhere, 0, 2);
	tcase_add_test(tc, windows);
	tcase_add_test(tc, links_down);
	suite_add_tcase(s, tc);
	return check_run(s);
}
