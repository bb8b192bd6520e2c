/* SPDX-License-Identifier: MIT */
/*
 * libndl in process on two chips, the tests' own or Trainium's: what it says of them, and that
 * memory, queues, semaphores and notification queues are where their description has them
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hal.h"
#include "ndlx.h"
#include "names.h"
#include "../check_main.h"

#define LARGE (3u << 20) /* pinned; smaller buffers go through the staging buffer */

static ndlx_device_t *dev;

static void setup(void)
{
	ck_assert_int_eq(ndlx_machine_set("emu:made.xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
}

static void teardown(void)
{
	ck_assert_int_eq(ndlx_close_device(dev), 0);
}

START_TEST(description)
{
	uint64_t size, window;
	uint32_t cores;

	ck_assert_ptr_eq(dev->gen, &GEN_CHIP);
	ck_assert_int_eq(ndlx_get_nc_count(dev, &cores), 0);
	ck_assert_uint_eq(cores, GEN(NC_PER_DEVICE));
	ck_assert_int_eq(ndlx_get_dram_size(dev, 1, &size), 0);
	ck_assert_uint_eq(size, GEN(DRAM_CHANNEL_SIZE));
	ck_assert_int_eq(ndlx_get_dram_size(dev, GEN(DRAM_CHANNELS), &size), -EINVAL);
	ck_assert_uint_eq(dev->csr_size[0], GEN(BAR0_SIZE));
	ck_assert_uint_eq(ndlx_core_address(dev, 1), GEN(TPB)(1));
	ck_assert_uint_eq(ndlx_doorbell_address(dev, 15, 3, NEURON_DMA_QUEUE_TX),
			  GEN(REG)(GEN(APB_UDMA)(15)) + NEURON_UDMA_M2S_Q(3) +
				  NEURON_UDMA_Q_TAIL_INC);
	/* a chip that does not tell of links has neighbours by tables only, for more chips than two
	 */
	ck_assert_int_eq(ndlx_neighbor_window(dev, 1, &window), GEN(LINKS) ? 0 : -ENOENT);
	if (GEN(LINKS))
		ck_assert_uint_eq(window, GEN(WINDOW_EAST));
}
END_TEST

#ifdef SECOND_GEN
/* The port whose window leads from a device to another one; -1: none, -2: a window of no port */
static int port_to(int index, int neighbor)
{
	uint64_t window;

	if (index != dev->device_index) {
		ck_assert_int_eq(ndlx_close_device(dev), 0);
		ck_assert_int_eq(ndlx_open_device(index, NULL, &dev), 0);
	}
	if (ndlx_neighbor_window(dev, neighbor, &window))
		return -1;
	for (int port = 0; port < dev->gen->window.ports; port++)
		if (dev->gen->window.port[port] == window)
			return port;
	return -2;
}

static void setup_torus(void)
{
	ck_assert_int_eq(ndlx_machine_set("emu:made.2xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
}

static void setup_all(void)
{
	ck_assert_int_eq(ndlx_machine_set("emu:made.3xlarge"), 0);
	ck_assert_int_eq(ndlx_open_device(0, NULL, &dev), 0);
}

/* Three rows of three: neighbours in the row and in the column, around their ends */
START_TEST(torus)
{
	static const struct {
		int from, to, port;
	} links[] = {
		{ 0, 1, 0 },  { 0, 2, 1 },  { 0, 3, 2 }, { 0, 6, 3 },  { 0, 4, -1 },
		{ 0, 8, -1 }, { 0, 0, -1 }, { 4, 5, 0 }, { 4, 3, 1 },  { 4, 7, 2 },
		{ 4, 1, 3 },  { 8, 6, 0 },  { 8, 2, 2 }, { 8, 0, -1 },
	};

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		ck_assert_int_eq(port_to(links[i].from, links[i].to), links[i].port);
	/* a link that is down leads nowhere */
	ck_assert_int_eq(ndlx_fault(0, "link-down=on:port=2"), 0);
	ck_assert_int_eq(port_to(0, 3), -1);
	ck_assert_int_eq(port_to(3, 0), -1);
	ck_assert_int_eq(port_to(0, 6), 3);
	ck_assert_int_eq(ndlx_fault(0, "link-down=off"), 0);
	ck_assert_int_eq(port_to(0, 3), 2);
}
END_TEST

/* Five chips, each linked with each */
START_TEST(all_to_all)
{
	for (int from = 0; from < 5; from++)
		for (int to = 0; to < 5; to++)
			ck_assert_int_eq(port_to(from, to), from == to ? -1 : (to - from + 4) % 5);
}
END_TEST

#endif

static uint64_t memory(uint64_t size, uint32_t nc, bool host)
{
	struct ndlx_mem_params p = { .size = size, .nc = nc, .host = host };
	uint64_t handle;

	if (!host)
		p.channel = nc % GEN(DRAM_CHANNELS);
	ck_assert_int_eq(ndlx_memory_alloc(dev, &p, &handle), 0);
	return handle;
}

/* Through the copy ring of each core, into the memory beside it */
START_TEST(copies)
{
	const uint32_t nc = (uint32_t)_i;
	uint8_t *in = malloc(LARGE), *out = calloc(1, LARGE);
	uint64_t handle = memory(LARGE, nc, false), pa;

	for (size_t i = 0; i < LARGE; i++)
		in[i] = (uint8_t)(i * 7 + i / 251 + nc);
	ck_assert_int_eq(ndlx_memory_get_pa(dev, handle, &pa), 0);
	ck_assert_int_eq(ndlx_memory_channel(dev, pa), (int)(nc % GEN(DRAM_CHANNELS)));
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, handle, in, 0, LARGE), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, handle, out, 0, LARGE), 0);
	ck_assert_mem_eq(in, out, LARGE);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, handle, in + 1000, 8, 4096), 0);
	ck_assert_int_eq(ndlx_memory_buf_copyout(dev, handle, out, 8, 4096), 0);
	ck_assert_mem_eq(in + 1000, out, 4096);
	ck_assert_int_eq(ndlx_memory_free(dev, handle), 0);
	free(in);
	free(out);
}
END_TEST

START_TEST(synchronisation)
{
	uint32_t v = 0;

	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 1, GEN(SEMAPHORES) - 1, 7), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_increment(dev, 1, GEN(SEMAPHORES) - 1, 3), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_decrement(dev, 1, GEN(SEMAPHORES) - 1, 1), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 1, GEN(SEMAPHORES) - 1, &v), 0);
	ck_assert_uint_eq(v, 9);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 1, GEN(SEMAPHORES), &v), -EINVAL);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, GEN(NC_PER_DEVICE), 0, &v), -E2BIG);
	ck_assert_int_eq(ndlx_nc_event_set(dev, 1, GEN(EVENTS) - 1, 1), 0);
	ck_assert_int_eq(ndlx_nc_event_get(dev, 1, GEN(EVENTS) - 1, &v), 0);
	ck_assert_uint_eq(v, 1);
	ck_assert_int_eq(ndlx_nc_event_get(dev, 1, GEN(EVENTS), &v), -EINVAL);
}
END_TEST

/* A word goes from memory into a semaphore, by the last engine */
START_TEST(queues)
{
	struct ndlx_queue_params q = {
		.eng = GEN(DMA_ENGINES) - 1,
		.qid = 3,
		.tx_count = 32,
		.rx_count = 32,
	};
	const struct timespec ms = { 0, 1000000 };
	uint64_t word = memory(4096, 0, false), pa;
	uint8_t tx[16], rx[16];
	uint32_t five = 5, v = 0;

	q.tx_handle = memory(32 * 16, 1, true);
	q.rx_handle = memory(32 * 16, 1, true);
	ck_assert_int_eq(ndlx_memory_buf_copyin(dev, word, &five, 0, 4), 0);
	ck_assert_int_eq(ndlx_memory_get_pa(dev, word, &pa), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 1, 200, 0), 0);
	nhal_desc_tx(tx, pa, 4, 1, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	nhal_desc_rx(rx, ndlx_semaphore_address(dev, 1, 200), 4, 1);
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &q), 0);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, q.tx_handle, tx, 0, 1, NEURON_DMA_QUEUE_TX),
			 0);
	ck_assert_int_eq(ndlx_dma_copy_descriptors(dev, q.rx_handle, rx, 0, 1, NEURON_DMA_QUEUE_RX),
			 0);
	ck_assert_int_eq(ndlx_dma_queue_copy_start(dev, q.eng, q.qid, 1, 1), 0);
	for (int i = 0; i < CHECK_WAIT_MS && !v; i++) {
		ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 1, 200, &v), 0);
		nanosleep(&ms, NULL);
	}
	ck_assert_uint_eq(v, 5);
	q.eng = GEN(DMA_ENGINES);
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &q), -EINVAL);
	q.eng = GEN(H2T_ENGINE)(1), q.qid = GEN(H2T_QUEUE_OF)(1); /* the driver's copies */
	ck_assert_int_eq(ndlx_dma_queue_init(dev, &q), -EACCES);
}
END_TEST

START_TEST(notifications)
{
	struct ndlx_nq_params p = { 1, NEURON_NQ_NOTIFY, GEN(NQ_ENGINES) - 1, 4096, true };
	void *ring;

	ck_assert_int_eq(ndlx_notification_init(dev, &p, &ring), 0);
	ck_assert_int_eq(ndlx_notification_read(dev, 1, p.type, p.engine, 0), 0);
	p.engine++;
	ck_assert_int_eq(ndlx_notification_init(dev, &p, &ring), -EINVAL);
}
END_TEST

START_TEST(resets)
{
	uint32_t id, v = 5;
	int result = -1;

	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 0, 9, 4), 0);
	ck_assert_int_eq(ndlx_nc_semaphore_write(dev, 1, 9, 4), 0);
	ck_assert_int_eq(ndlx_reset_ncs(dev, 2, &id), 0);
	ck_assert_int_eq(ndlx_ready_ncs(dev, id, &result), 0);
	ck_assert_int_eq(result, 0);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 1, 9, &v), 0);
	ck_assert_uint_eq(v, 0);
	ck_assert_int_eq(ndlx_nc_semaphore_read(dev, 0, 9, &v), 0);
	ck_assert_uint_eq(v, 4);
	ck_assert_int_eq(ndlx_reset_ncs(dev, 1u << GEN(NC_PER_DEVICE), &id), -EINVAL);
}
END_TEST

#if GEN(TOPSPS)
/* TOP_SPs by the program's copies into cores, by registers, and reset with their core */
START_TEST(topsps)
{
	const unsigned int last = GEN(TOPSPS) - 1;
	uint32_t id, word = 3, v[2];
	int result = -1;

	for (unsigned int t = 0; t < GEN(TOPSPS); t++) {
		const uint64_t bar[] = { GEN(TOPSP_BAR)(t) + 0x1400 + 4 * 255,
					 GEN(TOPSP_BAR)(t) + 4 * 7 };
		const uint64_t addr[] = { GEN(TOPSP)(t) + 0x1000 + 4 * 255, GEN(TOPSP)(t) + 4 * 7 };

		v[0] = 100 + t;
		v[1] = 200 + t;
		ck_assert_int_eq(ndlx_bar_write(dev, 0, bar, v, 2), 0);
		ck_assert_int_eq(
			ndlx_core_write(dev, 0, GEN(TOPSP)(t) + 0x1800 + 4 * 255, &word, 4), 0);
		ck_assert_int_eq(ndlx_read_hw_counters(dev, addr, v, 2), 0);
		ck_assert_uint_eq(v[0], 103 + t);
		ck_assert_uint_eq(v[1], 200 + t);
	}
	ck_assert_int_eq(ndlx_core_write(dev, 0, GEN(TOPSP)(last) + 0x3ffffc, &word, 8), -ENOMEM);
	ck_assert_int_eq(ndlx_reset_ncs(dev, 2, &id), 0);
	ck_assert_int_eq(ndlx_ready_ncs(dev, id, &result), 0);
	for (unsigned int t = 0; t < GEN(TOPSPS); t++) {
		const uint64_t addr = GEN(TOPSP)(t) + 0x1000 + 4 * 255;

		ck_assert_int_eq(ndlx_read_hw_counters(dev, &addr, v, 1), 0);
		ck_assert_uint_eq(v[0], GEN(TOPSP_CORE)(t) == 1 ? 0 : 103 + t);
	}
}
END_TEST
#endif

int main(void)
{
	Suite *s = suite_create("ndl-chip");
	TCase *tc = tcase_create("chip");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, description);
	tcase_add_loop_test(tc, copies, 0, GEN(NC_PER_DEVICE));
	tcase_add_test(tc, synchronisation);
	tcase_add_test(tc, queues);
	tcase_add_test(tc, notifications);
	tcase_add_test(tc, resets);
#if GEN(TOPSPS)
	tcase_add_test(tc, topsps);
#endif
	suite_add_tcase(s, tc);
#ifdef SECOND_GEN
	tc = tcase_create("torus");
	tcase_add_checked_fixture(tc, setup_torus, teardown);
	tcase_add_test(tc, torus);
	suite_add_tcase(s, tc);
	tc = tcase_create("all");
	tcase_add_checked_fixture(tc, setup_all, teardown);
	tcase_add_test(tc, all_to_all);
	suite_add_tcase(s, tc);
#endif
	return check_run(s);
}
