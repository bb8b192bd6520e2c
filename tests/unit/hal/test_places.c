// SPDX-License-Identifier: MIT
/*
 * Where the hal finds things, on Inferentia and on the made-up chip: windows, BARs, queues,
 * semaphores and events, notification queues, neighbours, and what it writes to bring up a core
 */
#include <check.h>
#include <stdlib.h>

#include "hal.h"
#include "names.h"
#include "../check_main.h"

#define GEN_PTR (&GEN_CHIP)
#define WRITES 8192

static struct {
	unsigned int bar;
	uint64_t offset;
	uint32_t value;
} written[WRITES];
static unsigned int writes;

static void note_write(void *opaque, unsigned int bar, uint64_t offset, uint32_t value)
{
	ck_assert_uint_lt(writes, WRITES);
	written[writes].bar = bar;
	written[writes].offset = offset;
	written[writes++].value = value;
}

static int no_wait(void *opaque, unsigned int us)
{
	return 0;
}

static uint64_t no_time(void *opaque)
{
	return 0;
}

static const struct nhal_ops ops = { note_write, no_wait, no_time };
static struct nhal hal;

static void setup(void)
{
	writes = 0;
	nhal_init(&hal, GEN_PTR, &ops, NULL, 0);
}

static uint64_t core_of(unsigned int nc)
{
	return GEN(TPB)(nc);
}

START_TEST(windows)
{
	uint64_t host = nhal_host_addr(GEN_PTR, 0x12345000), local = GEN(DRAM1_BASE);

	ck_assert_uint_eq(host, GEN(WINDOW_HOST) | 0x12345000);
	ck_assert(nhal_addr_is_host(GEN_PTR, host));
	ck_assert(!nhal_addr_is_host(GEN_PTR, local));
	ck_assert(!nhal_addr_is_host(GEN_PTR, nhal_neighbor_addr(GEN_PTR, 0, local)));
	ck_assert(!nhal_addr_is_host(GEN_PTR, nhal_neighbor_addr(GEN_PTR, 1, local)));
	ck_assert_uint_eq(nhal_host_physical(GEN_PTR, host), 0x12345000);
	ck_assert_uint_eq(nhal_neighbor_addr(GEN_PTR, 0, local), GEN(WINDOW_EAST) | local);
	ck_assert_uint_eq(nhal_neighbor_addr(GEN_PTR, 1, local), GEN(WINDOW_WEST) | local);
	ck_assert_uint_eq(nhal_misc_addr(GEN_PTR, 0x24), GEN(REG)(GEN(APB_MISC_RAM)) + 0x24);
}
END_TEST

/* A place by its device address: which BAR shows it where, and back */
static void shows(uint64_t addr, unsigned int want_bar, uint64_t want)
{
	uint64_t offset, back;
	unsigned int bar;

	ck_assert_int_eq(nhal_addr_to_bar(GEN_PTR, addr, 4, &bar, &offset), 0);
	ck_assert_uint_eq(bar, want_bar);
	ck_assert_uint_eq(offset, want);
	if (bar == NEURON_BAR_DRAM)
		return;
	ck_assert_int_eq(nhal_bar_to_addr(GEN_PTR, bar, offset, &back), 0);
	ck_assert_uint_eq(back, addr);
}

START_TEST(bars)
{
	uint64_t offset;
	unsigned int bar;

	shows(GEN(DRAM1_BASE) + 64, NEURON_BAR_DRAM, GEN(DRAM1_OFFSET) + 64);
	shows(core_of(GEN_LAST_CORE) + 64, GEN(BAR_CORES), GEN(TPB_BAR)(GEN_LAST_CORE) + 64);
	for (unsigned int eng = 0; eng < GEN(DMA_ENGINES); eng++)
		shows(GEN(REG)(GEN(APB_UDMA)(eng)) + 0x1028, NEURON_BAR_APB,
		      GEN(APB_UDMA)(eng) + 0x1028);
	shows(GEN(REG)(GEN(LAST_REG)), NEURON_BAR_APB, GEN(LAST_REG));
	ck_assert_int_eq(nhal_addr_to_bar(GEN_PTR, GEN(REG)(GEN(LAST_REG)) + 4, 4, &bar, &offset),
			 -EINVAL);
	ck_assert_int_eq(nhal_addr_to_bar(GEN_PTR, GEN(DRAM_CHANNEL_SIZE) - 2, 4, &bar, &offset),
			 -EINVAL);
}
END_TEST

#if GEN(TOPSPS)
/* TOP_SPs' windows; what lies in one is its core's */
START_TEST(topsps)
{
	unsigned int nc;

	for (unsigned int t = 0; t < GEN(TOPSPS); t++) {
		shows(GEN(TOPSP)(t), NEURON_BAR_APB, GEN(TOPSP_BAR)(t));
		shows(GEN(TOPSP)(t) + 0x1c00, NEURON_BAR_APB, GEN(TOPSP_BAR)(t) + 0x1c00);
		ck_assert_int_eq(nhal_addr_to_core(GEN_PTR, GEN(TOPSP)(t), 0x400000, &nc), 0);
		ck_assert_uint_eq(nc, GEN(TOPSP_CORE)(t));
		ck_assert_int_eq(nhal_addr_to_core(GEN_PTR, GEN(TOPSP)(t) + 4, 0x400000, &nc),
				 -EINVAL);
	}
	ck_assert_int_eq(nhal_addr_to_core(GEN_PTR, GEN(TOPSP)(0) - 4, 4, &nc), -EINVAL);
}
END_TEST
#endif

START_TEST(cores)
{
	unsigned int nc;

	for (unsigned int i = 0; i < GEN(NC_PER_DEVICE); i++) {
		ck_assert_uint_eq(nhal_core_addr(GEN_PTR, i), core_of(i));
		ck_assert_int_eq(nhal_addr_to_core(GEN_PTR, core_of(i), GEN(TPB_SIZE), &nc), 0);
		ck_assert_uint_eq(nc, i);
		ck_assert_int_eq(nhal_addr_to_core(GEN_PTR, core_of(i) + 1, GEN(TPB_SIZE), &nc),
				 -EINVAL);
		for (unsigned int eng = 0; eng < GEN(ENGINES); eng++) {
			uint64_t fifo = core_of(i) + GEN(TPB_FIFO)(eng);

			ck_assert_uint_eq(nhal_fifo_addr(GEN_PTR, i, eng), fifo);
		}
	}
	ck_assert_int_eq(nhal_addr_to_core(GEN_PTR, core_of(GEN_LAST_CORE) + GEN(TPB_SIZE), 4, &nc),
			 -EINVAL);
}
END_TEST

START_TEST(synchronisation)
{
	const unsigned int nc = GEN_LAST_CORE, sem = GEN(SEMAPHORES) - 1, event = GEN(EVENTS) - 1;
	const uint64_t base = GEN(TPB_BAR)(nc);

	ck_assert_uint_eq(nhal_sem_addr(GEN_PTR, nc, NEURON_SEM_READ, sem),
			  core_of(nc) + GEN(TPB_SEM_READ) + 4 * sem);
	ck_assert_uint_eq(nhal_event_addr(GEN_PTR, nc, event),
			  core_of(nc) + GEN(TPB_EVENTS) + 4 * event);
	nhal_sem_write(&hal, nc, NEURON_SEM_SET, sem, 1);
	nhal_sem_write(&hal, nc, NEURON_SEM_INC, sem, 2);
	nhal_sem_write(&hal, nc, NEURON_SEM_DEC, sem, 3);
	nhal_event_set(&hal, nc, event, 4);
	ck_assert_uint_eq(writes, 4);
	ck_assert_uint_eq(written[0].offset, base + GEN(TPB_SEM_SET) + 4 * sem);
	ck_assert_uint_eq(written[1].offset, base + GEN(TPB_SEM_INC) + 4 * sem);
	ck_assert_uint_eq(written[2].offset, base + GEN(TPB_SEM_DEC) + 4 * sem);
	ck_assert_uint_eq(written[3].offset, base + GEN(TPB_EVENTS) + 4 * event);
	for (unsigned int i = 0; i < writes; i++) {
		ck_assert_uint_eq(written[i].bar, GEN(BAR_CORES));
		ck_assert_uint_eq(written[i].value, i + 1);
	}
}
END_TEST

START_TEST(queues)
{
	const unsigned int eng = GEN(DMA_ENGINES) - 1;
	uint64_t addr[NHAL_QUEUE_REGS];

	nhal_queue_start(&hal, eng, 3, 5, 7);
	ck_assert_uint_eq(writes, 2);
	ck_assert_uint_eq(written[0].offset,
			  GEN(APB_UDMA)(eng) + NEURON_UDMA_S2M_Q(3) + NEURON_UDMA_Q_TAIL_INC);
	ck_assert_uint_eq(written[0].value, 7);
	ck_assert_uint_eq(written[1].offset,
			  GEN(APB_UDMA)(eng) + NEURON_UDMA_M2S_Q(3) + NEURON_UDMA_Q_TAIL_INC);
	nhal_queue_regs(GEN_PTR, eng, NHAL_S2M, 15, addr);
	ck_assert_uint_eq(addr[3],
			  GEN(REG)(GEN(APB_UDMA)(eng)) + NEURON_UDMA_S2M_Q(15) + NEURON_UDMA_Q_LEN);
}
END_TEST

/* The kernel interface's contract: numbers that there are, rings that a start needs, states */
START_TEST(asked)
{
	static const struct {
		struct nhal_rings has;
		uint32_t tx, rx;
		int ret;
	} starts[] = {
		{ { 64, 64 }, 64, 64, 0 },	 { { 64, 64 }, 65, 64, -EINVAL },
		{ { 64, 64 }, 64, 65, -EINVAL }, { { 0, 64 }, 0, 1, 0 },
		{ { 0, 64 }, 1, 1, -EINVAL },	 { { 64, 0 }, 1, 0, -EINVAL },
	};
	static const struct {
		uint32_t reg, state;
	} states[] = { { 0, 1 }, { 0x1, 2 }, { 0x1000, 2 }, { 0x20, 3 }, { 0x2001, 3 } };
	const unsigned int last = GEN(DMA_ENGINES) - 1;
	struct neuron_dma_eng_state answer;
	uint32_t hw;

	ck_assert_int_eq(nhal_queue_check(GEN_PTR, last, 15), 0);
	ck_assert_int_eq(nhal_queue_check(GEN_PTR, last, 16), -EINVAL);
	ck_assert_int_eq(nhal_queue_check(GEN_PTR, last + 1, 0), -EINVAL);
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		ck_assert_int_eq(nhal_start_check(&starts[i].has, starts[i].tx, starts[i].rx),
				 starts[i].ret);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		nhal_engine_answer((uint32_t[]){ states[i].reg, 0 }, &answer);
		ck_assert_uint_eq(answer.tx_state, states[i].state);
		ck_assert_uint_eq(answer.rx_state, 1);
	}
	ck_assert_int_eq(nhal_engine_asked(GEN_PTR, last, 2, &hw), 0);
	ck_assert_uint_eq(hw, NEURON_UDMA_STATE_NORMAL);
	ck_assert_int_eq(nhal_engine_asked(GEN_PTR, last, 1, &hw), -EINVAL);
	ck_assert_int_eq(nhal_engine_asked(GEN_PTR, last, 4, &hw), -EINVAL);
	ck_assert_int_eq(nhal_engine_asked(GEN_PTR, last + 1, 2, &hw), -EINVAL);
}
END_TEST

/*
 * The number of writes that the table's rows make to an engine; a row with a stride makes one for
 * each queue
 */
static unsigned int engine_writes(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < GEN_PTR->dma_inits; i++)
		n += GEN_PTR->dma_init[i].stride ? NEURON_DMA_QUEUES_PER_ENG : 1;
	return n;
}

static unsigned int check_writes(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < GEN_PTR->check_loops; i++)
		n += GEN_PTR->check_loop[i].rows * GEN_PTR->check_loop[i].times;
	return n;
}

/* One engine's, its wrapper's and what is checked, from write number at on. Returns how many */
static unsigned int engine_is(unsigned int at, uint64_t udma, uint64_t wrapper)
{
	const unsigned int engine = engine_writes(), n = GEN_PTR->wrapper_inits;

	ck_assert_uint_eq(written[at].offset, udma + GEN_PTR->dma_init[0].reg);
	for (unsigned int i = 0; i < engine; i++)
		ck_assert_uint_lt(written[at + i].offset - udma, NEURON_UDMA_SIZE);
	at += engine;
	ck_assert_uint_eq(written[at].offset, wrapper + GEN_PTR->wrapper_init[0].reg);
	ck_assert_uint_eq(written[at + n - 1].offset, wrapper + GEN_PTR->wrapper_init[n - 1].reg);
	for (unsigned int i = 0; i < check_writes(); i++)
		ck_assert_uint_lt(written[at + n + i].offset - udma, NEURON_UDMA_SIZE);
	return engine + n + check_writes();
}

/* Every engine of the core and its wrapper, the engine that copies for it, and no other core's */
START_TEST(bring_up)
{
	const unsigned int nc = GEN_LAST_CORE, per = GEN(DMA_ENG_PER_NC);
	const unsigned int copies = GEN(H2T_ENGINE)(nc);
	const bool shared = GEN(H2T_ENGINE)(nc - 1) == copies; /* another core's to set up */
	unsigned int at = 0;

	nhal_core_dma_init(&hal, nc);
	for (unsigned int k = 0; k < per; k++) {
		if (GEN_PTR->broadcast.group)
			at += 2; /* test_trace has them */
		at += engine_is(at, GEN(APB_UDMA)(nc * per + k), GEN(APB_TDMA)(nc, k));
	}
	if (copies >= GEN(NC_PER_DEVICE) * per && !shared)
		at += engine_is(at, GEN(APB_UDMA)(copies), GEN(APB_TDMA_COPY)(nc));
	ck_assert_uint_eq(writes, at);
}
END_TEST

#ifdef SECOND_GEN
/* The rows of the made-up chip, in their order and for each queue */
START_TEST(engine_rows)
{
	nhal_engine_init(&hal, 0);
	ck_assert_uint_eq(writes, 1 + 2 * NEURON_DMA_QUEUES_PER_ENG);
	ck_assert_uint_eq(written[0].offset, GEN(APB_UDMA)(0) + 0x310);
	ck_assert_uint_eq(written[0].value, 0x5ec0bd);
	for (unsigned int q = 0; q < NEURON_DMA_QUEUES_PER_ENG; q++) {
		ck_assert_uint_eq(written[1 + 2 * q].offset,
				  GEN(APB_UDMA)(0) + NEURON_UDMA_S2M_Q(q) + NEURON_UDMA_Q_CFG);
		ck_assert_uint_eq(written[2 + 2 * q].offset,
				  GEN(APB_UDMA)(0) + NEURON_UDMA_M2S_Q(q) + NEURON_UDMA_Q_CFG);
	}
}
END_TEST
#endif

START_TEST(copy_ring)
{
	static uint8_t ring[2][NHAL_H2T_RING_BYTES], done[NHAL_H2T_COMPLETION_BYTES];
	const struct nhal_h2t_mem mem = {
		.tx = ring[0],
		.rx = ring[1],
		.completion = done,
	};
	const unsigned int limits = GEN_PTR->queue_init_mask ? 1 : 0;
	struct nhal_h2t h2t;

	nhal_h2t_init(&h2t, &hal, GEN_LAST_CORE, &mem);
	ck_assert_uint_eq(writes, NHAL_QUEUE_INIT_WRITES + limits);
	ck_assert_uint_eq(h2t.nc, GEN_LAST_CORE);
	ck_assert_uint_eq(h2t.eng, GEN(H2T_ENGINE)(GEN_LAST_CORE));
	ck_assert_uint_eq(h2t.qid, GEN(H2T_QUEUE_OF)(GEN_LAST_CORE));
	ck_assert_uint_eq(written[limits].offset,
			  GEN(APB_UDMA)(GEN(H2T_ENGINE)(GEN_LAST_CORE)) +
				  NEURON_UDMA_M2S_Q(GEN(H2T_QUEUE_OF)(GEN_LAST_CORE)) +
				  NEURON_UDMA_Q_CFG);
}
END_TEST

static void nq_is(unsigned int type, unsigned int eng, uint64_t regs)
{
	const unsigned int nc = GEN_LAST_CORE, high = GEN(HIGH_FIRST) ? 0 : 1;

	writes = 0;
	regs += GEN(APB_PUTILS)(nc);
	ck_assert_int_eq(nhal_nq_set(&hal, nc, type, eng, 0x123456789000ull, 4096), 0);
	ck_assert_uint_eq(writes, 3);
	ck_assert_uint_eq(written[high].offset, regs + GEN(NQ_BASE_HI));
	ck_assert_uint_eq(written[high].value, 0x1234);
	ck_assert_uint_eq(written[!high].offset, regs + GEN(NQ_BASE_LO));
	ck_assert_uint_eq(written[!high].value, 0x56789000);
	ck_assert_uint_eq(written[2].offset, regs + GEN(NQ_SIZE));
}

START_TEST(notifications)
{
	const unsigned int last = GEN(NQ_ENGINES) - 1;
	uint64_t offset;

	nq_is(NEURON_NQ_ERROR, 0, GEN(NQ_ERROR_REGS));
	nq_is(NEURON_NQ_EVENT, last, GEN(NQ_EVENT_REGS));
	nq_is(NEURON_NQ_NOTIFY, last, GEN(NQ_NOTIFY_REGS)(last));
	nq_is(NEURON_NQ_TRACE, last, GEN(NQ_TRACE_REGS)(last));
	ck_assert_int_eq(nhal_nq_regs(GEN_PTR, GEN(NC_PER_DEVICE), NEURON_NQ_ERROR, 0, &offset),
			 -EINVAL);
	ck_assert_int_eq(nhal_nq_regs(GEN_PTR, 0, NEURON_NQ_NOTIFY, last + 1, &offset), -EINVAL);
	ck_assert_int_eq(nhal_nq_regs(GEN_PTR, 0, NEURON_NQ_THROTTLE, 0, &offset), -EINVAL);
}
END_TEST

/* By the slots in which drivers count them queues are where they are by type and engine; no other
 * slot is one of theirs */
START_TEST(slots)
{
	unsigned int count = GEN_PTR->nq_slot.count, last = GEN_PTR->cores - 1u;
	unsigned int topsps = GEN_PTR->cores * (unsigned int)GEN_PTR->topsps_per_core;
	uint64_t offset, by_slot, topsp;

	for (unsigned int type = 0; type <= NEURON_NQ_ERROR; type++)
		for (unsigned int eng = 0; eng < GEN_PTR->target->engines; eng++) {
			unsigned int slot = neuron_gen_nq_slot(GEN_PTR, type, eng);

			ck_assert_int_eq(nhal_nq_regs(GEN_PTR, last, type, eng, &offset), 0);
			ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, last, type, slot, &by_slot), 0);
			ck_assert_uint_eq(by_slot, offset);
		}
	if (!count) {
		ck_assert_int_eq(nhal_nq_topsp_regs(GEN_PTR, 0, 1, 0, &topsp), -EINVAL);
		return;
	}
	ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, 0, NEURON_NQ_NOTIFY, 0, &offset), 0);
	for (unsigned int slot = 0; slot < count; slot++) {
		ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, 0, NEURON_NQ_NOTIFY, slot, &by_slot),
				 0);
		ck_assert_uint_eq(by_slot, offset + slot * 0x28ull);
	}
	ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, 0, NEURON_NQ_NOTIFY, count, &offset), -EINVAL);
	ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, 0, NEURON_NQ_TYPES, 0, &offset), -EINVAL);
	ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, last + 1, 0, 0, &offset), -EINVAL);
	/* a DMA engine's, of which a core has so many, has slots of its own */
	ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, 0, NEURON_NQ_TRACE_DMA,
					   GEN_PTR->dma_engines_per_core, &offset),
			 -EINVAL);
	ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, last, NEURON_NQ_TRACE_DMA, 0, &offset), 0);
	ck_assert_int_eq(nhal_nq_slot_regs(GEN_PTR, 0, NEURON_NQ_TRACE_DMA, 0, &by_slot), 0);
	ck_assert_uint_ne(offset, by_slot);
	ck_assert_int_eq(nhal_nq_topsp_regs(GEN_PTR, topsps - 1, 1, 0, &topsp), 0);
	ck_assert_int_eq(nhal_nq_topsp_regs(GEN_PTR, topsps - 1, 1, 3, &offset), 0);
	ck_assert_uint_eq(offset, topsp + 3 * 0x28ull);
	ck_assert_int_eq(nhal_nq_topsp_regs(GEN_PTR, topsps, 1, 0, &topsp), -EINVAL);
	ck_assert_int_eq(nhal_nq_topsp_regs(GEN_PTR, 0, 1, count, &topsp), -EINVAL);
}
END_TEST

/* Host memory that the owner of descriptors has: one page */
static bool has_page(void *opaque, uint64_t addr, uint32_t len)
{
	const uint64_t *page = opaque;

	return addr >= *page && addr + len <= *page + 4096;
}

/* Descriptors name host memory of their owner, and feed the PEs into whose FIFOs they write. */
START_TEST(descriptors)
{
	uint64_t page = nhal_host_addr(GEN_PTR, 0x12345000);
	const struct nhal_owner owner = { has_page, &page };
	uint8_t desc[3][NEURON_UDMA_DESC_SIZE] = { 0 };
	struct nhal_descs descs = { desc, 3, true };
	uint32_t models;

	for (unsigned int i = 0; i < GEN(NC_PER_DEVICE); i++) {
		uint64_t fifo = core_of(i) + GEN(TPB_FIFO)(NEURON_ENG_PE);

		nhal_desc_rx(desc[0], page + 4032, 64, 1);
		nhal_desc_rx(desc[1], fifo - 1, 1, 1);
		nhal_desc_rx(desc[2], fifo + GEN(TPB_FIFO_SIZE), 64, 1);
		ck_assert_int_eq(nhal_descs_check(GEN_PTR, &descs, &owner, &models), 0);
		ck_assert_uint_eq(models & 1u << i, 0);
		nhal_desc_rx(desc[1], fifo, 64, 1);
		ck_assert_int_eq(nhal_descs_check(GEN_PTR, &descs, &owner, &models), 0);
		ck_assert_uint_eq(models, 1u << i);
		nhal_desc_rx(desc[1], fifo + GEN(TPB_FIFO_SIZE) - 1, 1, 1);
		ck_assert_int_eq(nhal_descs_check(GEN_PTR, &descs, &owner, &models), 0);
		ck_assert_uint_eq(models, 1u << i);
		descs.rx = false;
		ck_assert_int_eq(nhal_descs_check(GEN_PTR, &descs, &owner, &models), 0);
		ck_assert_uint_eq(models, 0);
		descs.rx = true;
	}
	nhal_desc_rx(desc[0], page + 4032, 65, 1);
	ck_assert_int_eq(nhal_descs_check(GEN_PTR, &descs, &owner, &models), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hal-places");
	TCase *tc = tcase_create("places");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, windows);
	tcase_add_test(tc, bars);
#if GEN(TOPSPS)
	tcase_add_test(tc, topsps);
#endif
	tcase_add_test(tc, cores);
	tcase_add_test(tc, synchronisation);
	tcase_add_test(tc, queues);
	tcase_add_test(tc, asked);
	tcase_add_test(tc, bring_up);
#ifdef SECOND_GEN
	tcase_add_test(tc, engine_rows);
#endif
	tcase_add_test(tc, copy_ring);
	tcase_add_test(tc, notifications);
	tcase_add_test(tc, slots);
	tcase_add_test(tc, descriptors);
	suite_add_tcase(s, tc);
	return check_run(s);
}
