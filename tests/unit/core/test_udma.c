/* SPDX-License-Identifier: MIT */
/* UDMA queues: descriptors, rings, packets, errors (docs/hardware.md, UDMA). */
#include "chip_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST NEURON_UDMA_DESC_FIRST
#define LAST NEURON_UDMA_DESC_LAST
#define TX 0
#define RX 1
#define K64 0x10000u

static struct fixture f;
static struct ring q;

static void setup(void)
{
	fixture_init(&f, 2);
	fixture_new_chip(&f);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
}

static void teardown(void)
{
	fixture_free(&f);
}

/* The last entry of core 0's error queue, set up by error_queue() at host 0x700000 */
#define NQ 0x700000
static void error_queue(void)
{
	uint64_t regs = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS);

	apb_write(&f, regs + GEN(NQ_BASE_LO), NQ);
	apb_write(&f, regs + GEN(NQ_BASE_HI), GEN(WINDOW_HOST) >> 32);
	apb_write(&f, regs + GEN(NQ_SIZE), 1024);
}

static uint32_t error_code(unsigned int i)
{
	const uint8_t *e = f.host + NQ + i * NEURON_NQ_ENTRY_SIZE;

	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_PHASE), 1);
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_TYPE], NEURON_NQ_ERROR);
	return get32(e) >> 16;
}

/* Host to both DRAM channels, device to device through the port alias, and back */
/* Bytes of PSUM in one copy: 64 KiB, where its partitions have no gap between them */
#define PSUM_RUN (GEN_CHIP.target->psum_part_size == NEURON_PSUM_PART_STRIDE ? K64 : 4000u)

START_TEST(copies)
{
	uint8_t *h = f.host + 0x800000;

	fixture_fill(h, 300000, 1);
	copy(&f, &q, HOST(0x800000), 0x123, 60001);
	ck_assert_int_eq(memcmp(mem(&f, 0x123), h, 60001), 0);
	copy(&f, &q, 0x123, GEN(AXI_PORT1) | (GEN(DRAM1_BASE) + 77), 60001);
	ck_assert_int_eq(memcmp(mem(&f, GEN(DRAM1_BASE) + 77), h, 60001), 0);
	copy(&f, &q, GEN(DRAM1_BASE) + 77, HOST(0x900000), 60001);
	ck_assert_int_eq(memcmp(f.host + 0x900000, h, 60001), 0);
	copy(&f, &q, HOST(0x800000), HOST(0xa00000), 0); /* a length of 0 stands for 64 KiB */
	ck_assert_int_eq(memcmp(f.host + 0xa00000, h, K64), 0);
	ck_assert_uint_eq(f.host[0xa00000 + K64], 0);

	/* into a core and out of it: partitions are 256 KiB apart */
	copy(&f, &q, HOST(0x800000), GEN(TPB)(1) + 0x40000 * 5, 0);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(1) + 0x40000 * 5 + 40, 8),
			  get64(h + 40));
	copy(&f, &q, GEN(TPB)(1) + 0x40000 * 5, HOST(0xc00000), 0);
	ck_assert_int_eq(memcmp(f.host + 0xc00000, h, K64), 0);
	copy(&f, &q, HOST(0x800000), GEN(TPB)(0) + NEURON_PSUM_OFFSET + 100, PSUM_RUN & 0xffff);
	copy(&f, &q, GEN(TPB)(0) + NEURON_PSUM_OFFSET + 100, HOST(0xd00000), PSUM_RUN & 0xffff);
	ck_assert_int_eq(memcmp(f.host + 0xd00000, h, PSUM_RUN), 0);

	ck_assert_uint_eq(queue_reg(&f, &q, TX, NEURON_UDMA_Q_HEAD), 8);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_TAIL), 8);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_STATUS), 0);

	ck_assert_uint_eq(
		ncore_mmio_read(f.chip, GEN(BAR_EXT),
				GEN(EXT) + GEN(PERF)(0) + GEN(PERF_CORE) + NEURON_PERF_DMA_BYTES,
				8),
		3 * 60001 + 3 * K64 + 2 * PSUM_RUN);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 0);
}
END_TEST

/* Small copies are done when the doorbell write returns, because the driver polls at once. */
START_TEST(synchronous)
{
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		put32(f.host + 0x800000, i);
		copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
		ck_assert_uint_eq(get32(f.host + 0x800004), i);
	}
	/* 1000 descriptors in a ring of 64: ring ids and indices went round 15 times */
	ck_assert_uint_eq(queue_reg(&f, &q, TX, NEURON_UDMA_Q_HEAD), 1000 % 64);
	ck_assert(!queue_stopped(&f, &q));
}
END_TEST

/*
 * So is every copy of up to 64 descriptors, the one of the marker that the driver polls among them:
 * its deadline for copies within a chip is 100 microseconds a descriptor (docs/hardware.md).
 */
START_TEST(synchronous_full)
{
	queue_init(&f, &q, 5, 15, HOST(0x400000), HOST(0x500000), 128);
	fixture_fill(f.host + 0x800000, 63 * K64, 12);
	for (unsigned int i = 1; i <= 30; i++) {
		put32(f.host + 0x10000, i);
		fixture_fill(f.host + 0x800000, 16, i);
		for (unsigned int d = 0; d < 63; d++) {
			push(&f, &q, TX, HOST(0x800000 + (uint64_t)d * K64), 0, FIRST | LAST);
			push(&f, &q, RX, GEN(DRAM1_BASE) + (uint64_t)d * K64, 0, 0);
		}
		push(&f, &q, TX, HOST(0x10000), 4, FIRST | LAST);
		push(&f, &q, RX, HOST(0x10004), 4, 0);
		doorbell(&f, &q, RX, 64);
		doorbell(&f, &q, TX, 64);
		ck_assert_uint_eq(get32(f.host + 0x10004), i);
		ck_assert_int_eq(memcmp(mem(&f, GEN(DRAM1_BASE)), f.host + 0x800000, 63 * K64), 0);
	}
}
END_TEST

START_TEST(ring_in_dram)
{
	queue_init(&f, &q, 5, 0, GEN(AXI_PORT1) | 0x100000, GEN(DRAM1_BASE) + 0x100, 32);
	put64(f.host + 0x800000, 0x1122334455667788);
	copy(&f, &q, HOST(0x800000), HOST(0x800010), 8);
	ck_assert_uint_eq(get64(f.host + 0x800010), 0x1122334455667788);
}
END_TEST

/* Doorbells of both halves add up; S2M alone only prefetches; nothing runs without both */
START_TEST(accumulate)
{
	unsigned int i;

	for (i = 0; i < 6; i++) {
		put32(f.host + 0x800000 + 4 * i, i + 1);
		push(&f, &q, TX, HOST(0x800000 + 4 * i), 4, FIRST | LAST);
		push(&f, &q, RX, HOST(0x900000 + 4 * i), 4, 0);
	}
	doorbell(&f, &q, RX, 2);
	doorbell(&f, &q, RX, 4);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x900000), 0);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_STATUS), 6);
	doorbell(&f, &q, TX, 3);
	ck_assert_uint_eq(get32(f.host + 0x900008), 3);
	ck_assert_uint_eq(get32(f.host + 0x90000c), 0);
	doorbell(&f, &q, TX, 1);
	doorbell(&f, &q, TX, 2);
	for (i = 0; i < 6; i++)
		ck_assert_uint_eq(get32(f.host + 0x900000 + 4 * i), i + 1);
}
END_TEST

/* A packet is a stream: unequal counts on the two sides, RX closed by its end */
START_TEST(unequal_packets)
{
	static const uint32_t tx[] = { 1000, 1, 65535, 3000, 7 };
	uint32_t total = 0, i, done;
	uint64_t seed = 5;

	for (i = 0; i < 5; i++) {
		fixture_fill(f.host + 0x800000 + total, tx[i], seed++);
		push(&f, &q, TX, HOST(0x800000 + total), tx[i],
		     (i == 0 ? FIRST : 0) | (i == 4 ? LAST : 0));
		total += tx[i];
	}
	for (done = 0, i = 0; done < total; done += 4096, i++)
		push(&f, &q, RX, 0x40000 + done, 4096, 0);
	/*
	 * the next packet starts in the next RX descriptor, however much room the last one has left
	 */
	push(&f, &q, TX, HOST(0x800000), 16, FIRST | LAST);
	push(&f, &q, RX, 0x200000, 4096, 0);
	doorbell(&f, &q, RX, i + 1);
	doorbell(&f, &q, TX, 6);
	settle(&f);
	ck_assert_int_eq(memcmp(mem(&f, 0x40000), f.host + 0x800000, total), 0);
	ck_assert_int_eq(memcmp(mem(&f, 0x200000), f.host + 0x800000, 16), 0);
	ck_assert_uint_eq(get32(mem(&f, 0x200010)), 0);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_STATUS), 0);
	ck_assert(!queue_stopped(&f, &q));
}
END_TEST

#define MOST GEN(UDMA_DESC_PER_PACKET)

START_TEST(packet_limits)
{
	unsigned int i;

	queue_init(&f, &q, 2, 3, HOST(0x400000), HOST(0x500000), 512);
	for (i = 0; i < MOST; i++)
		push(&f, &q, TX, HOST(0x800000 + i), 1,
		     (i == 0 ? FIRST : 0) | (i == MOST - 1 ? LAST : 0));
	push(&f, &q, RX, 0, MOST, 0);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, MOST);
	settle(&f);
	ck_assert(!queue_stopped(&f, &q));
	for (i = 0; i < MOST + 1; i++)
		push(&f, &q, TX, HOST(0x800000 + i), 1,
		     (i == 0 ? FIRST : 0) | (i == MOST ? LAST : 0));
	push(&f, &q, RX, 0, MOST + 1, 0);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, MOST + 1);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
}
END_TEST

/* The limit of a packet's descriptors holds for S2M too, where they cut up one M2S descriptor. */
START_TEST(packet_limits_rx)
{
	unsigned int i;

	error_queue();
	queue_init(&f, &q, 2, 3, HOST(0x400000), HOST(0x500000), 512);
	push(&f, &q, TX, HOST(0x800000), MOST + 1, FIRST | LAST);
	for (i = 0; i < MOST + 1; i++)
		push(&f, &q, RX, 0x1000 + i, 1, 0);
	memset(f.host + 0x800000, 0x77, MOST + 1);
	doorbell(&f, &q, RX, MOST + 1);
	doorbell(&f, &q, TX, 1);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(error_code(0), NEURON_NERR_DMA_DESC);
	ck_assert_uint_eq(*mem(&f, 0x1000 + MOST - 1), 0x77);
	ck_assert_uint_eq(*mem(&f, 0x1000 + MOST), 0);
}
END_TEST

/* A packet waits for descriptors that are rung later, in the middle of both sides */
START_TEST(packet_in_pieces)
{
	fixture_fill(f.host + 0x800000, 300, 3);
	push(&f, &q, TX, HOST(0x800000), 100, FIRST);
	push(&f, &q, TX, HOST(0x800064), 200, LAST);
	push(&f, &q, RX, 0x1000, 150, 0);
	push(&f, &q, RX, 0x1096, 150, 0);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, 1);
	settle(&f);
	doorbell(&f, &q, TX, 1);
	settle(&f);
	ck_assert_int_eq(memcmp(mem(&f, 0x1000), f.host + 0x800000, 150), 0);
	ck_assert_uint_eq(get32(mem(&f, 0x1096)), 0);
	doorbell(&f, &q, RX, 1);
	settle(&f);
	ck_assert_int_eq(memcmp(mem(&f, 0x1000), f.host + 0x800000, 300), 0);
}
END_TEST

/* Each copy reads what the copy before it wrote, with a barrier or without. */
START_TEST(order)
{
	unsigned int i;

	queue_init(&f, &q, 0, 0, HOST(0x400000), HOST(0x500000), 4096);
	fixture_fill(f.host + 0x800000, 1000, 9);
	for (i = 0; i < 2000; i++) {
		uint64_t src = i ? 0x10000 + 1000 * (i - 1) : HOST(0x800000);

		push(&f, &q, TX, src, 1000, FIRST | LAST | (i % 3 ? 0 : NEURON_UDMA_DESC_DMB));
		push(&f, &q, RX, 0x10000 + 1000 * i, 1000, 0);
	}
	doorbell(&f, &q, RX, 2000);
	doorbell(&f, &q, TX, 2000);
	settle(&f);
	ck_assert_int_eq(memcmp(mem(&f, 0x10000 + 1000 * 1999), f.host + 0x800000, 1000), 0);
}
END_TEST

struct bad {
	uint32_t tx_flags, tx_id, rx_id;
	uint64_t src, dst;
	uint32_t code;
};

static const struct bad bad[] = {
	{ FIRST | LAST, 2, 1, HOST(0), 0, NEURON_NERR_DMA_DESC },
	{ FIRST | LAST, 1, 0, HOST(0), 0, NEURON_NERR_DMA_DESC },
	{ LAST, 1, 1, HOST(0), 0, NEURON_NERR_DMA_DESC },
	{ FIRST | LAST, 1, 1, HOST(HOST_SIZE), 0, NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 0, HOST(HOST_SIZE - 2), NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 0, 0xa00000000, NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 0, GEN(WINDOW_EAST), NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 0, GEN(WINDOW_WEST), NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 1ull << 48, 0, NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, ~0ull, 0, NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 0, GEN_CORE_GAP, NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 0, GEN(TPB)(0) + GEN(TPB_SEM_INC) + 2, NEURON_NERR_DMA_ABORT },
	/* no descriptor may ring the doorbell of the mailbox and of resets */
	{ FIRST | LAST, 1, 1, 0, GEN(REG)(GEN(APB_MISC_RAM)) + NEURON_MISC_DOORBELL,
	  NEURON_NERR_DMA_ABORT },
	{ FIRST | LAST, 1, 1, 0,
	  GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_M2S_Q_SW_CTRL,
	  NEURON_NERR_DMA_ABORT },
};

/* An error stops its queue, tells the core's error queue, and a queue reset repairs it */
START_TEST(bad_descriptors)
{
	const struct bad *b = &bad[_i];

	error_queue();
	push(&f, &q, TX, b->src, 4, b->tx_flags);
	push(&f, &q, RX, b->dst, 4, 0);
	f.host[0x400003] = (uint8_t)((f.host[0x400003] & ~3u) | b->tx_id);
	f.host[0x500003] = (uint8_t)((f.host[0x500003] & ~3u) | b->rx_id);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, 1);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(error_code(0), b->code);
	ck_assert_uint_eq(get32(f.host + NQ + NEURON_NQ_ENTRY_ID), 2 << 8 | 15);
	ck_assert_uint_ge(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 1);
	/* it stays stopped */
	put32(f.host + 0x800000, 42);
	copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800004), 0);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 64);
	ck_assert(!queue_stopped(&f, &q));
	copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
	ck_assert_uint_eq(get32(f.host + 0x800004), 42);
}
END_TEST

START_TEST(bad_rings)
{
	static const struct {
		uint64_t base;
		uint32_t len;
	} ring[] = {
		{ HOST(0x400010), 64 },	 { HOST(0x400000), 24 },   { HOST(0x400000), 65 },
		{ HOST(HOST_SIZE), 64 }, { GEN(WINDOW_EAST), 64 }, { ~255ull, 64 },
	};

	q.base[0] = HOST(0x400000);
	queue_init(&f, &q, 2, 15, ring[_i].base, HOST(0x500000), ring[_i].len);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, 1);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
}
END_TEST

/* The descriptors are good, but the ring is not: too short, of an odd length, across two places. */
START_TEST(bad_rings_of_good_descriptors)
{
	static const struct {
		uint64_t base;
		uint32_t len;
	} ring[] = {
		{ HOST(0x400000), 16 },
		{ HOST(0x400000), 65 },
		{ HOST(0x400010), 64 },
	};

	put32(f.host + 0x800000, 42);
	queue_init(&f, &q, 2, 15, ring[_i].base, HOST(0x500000), ring[_i].len);
	copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(get32(f.host + 0x800004), 0);
}
END_TEST

/* A ring is made shorter than the place its queue has reached. */
START_TEST(shrunk_ring)
{
	unsigned int i;

	error_queue();
	for (i = 0; i < 40; i++)
		copy(&f, &q, HOST(0x800000), HOST(0x800100 + 4 * i), 4);
	settle(&f);
	apb_write(&f, GEN(APB_UDMA)(2) + NEURON_UDMA_M2S_Q(15) + NEURON_UDMA_Q_LEN, 32);
	put32(f.host + 0x800000, 42);
	copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(error_code(0), NEURON_NERR_DMA_DESC);
	ck_assert_uint_eq(get32(f.host + 0x800004), 0);
}
END_TEST

/* Descriptors that were read ahead of a ring are forgotten when it is replaced. */
START_TEST(another_ring)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		put32(f.host + 0x800000 + 4 * i, 42 + i);
		push(&f, &q, TX, HOST(0x800000), 4, FIRST | LAST);
		push(&f, &q, RX, HOST(0x800100 + 4 * i), 4, 0);
	}
	doorbell(&f, &q, TX, 2);
	doorbell(&f, &q, RX, 1);
	settle(&f);
	q.base[0] = HOST(0x600000);
	q.next[0] = 1;
	push(&f, &q, TX, HOST(0x800004), 4, FIRST | LAST);
	apb_write(&f, GEN(APB_UDMA)(2) + NEURON_UDMA_M2S_Q(15) + NEURON_UDMA_Q_BASE_LO, 0x600000);
	doorbell(&f, &q, RX, 1);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800100), 42);
	ck_assert_uint_eq(get32(f.host + 0x800104), 43);
}
END_TEST

/* Descriptors are read ahead, but not beyond the ring, where there may be no memory. */
START_TEST(ring_at_the_end_of_memory)
{
	unsigned int i;

	queue_init(&f, &q, 2, 3, HOST(HOST_SIZE - 64 * NEURON_UDMA_DESC_SIZE), HOST(0x500000), 64);
	for (i = 0; i < 60; i++)
		copy(&f, &q, HOST(0x800000), HOST(0x800100), 4);
	settle(&f);
	put32(f.host + 0x800000, 42);
	for (i = 0; i < 8; i++) {
		push(&f, &q, TX, HOST(0x800000), 4, FIRST | LAST);
		push(&f, &q, RX, HOST(0x800100 + 4 * i), 4, 0);
	}
	doorbell(&f, &q, RX, 8);
	doorbell(&f, &q, TX, 8);
	settle(&f);
	ck_assert(!queue_stopped(&f, &q));
	ck_assert_uint_eq(get32(f.host + 0x800100 + 28), 42);
}
END_TEST

/* Behind a queue's registers there are none: such a word keeps nothing, and nothing lies under it. */
START_TEST(register_holes)
{
	static const uint32_t block[] = {
		NEURON_UDMA_M2S_Q(0),
		NEURON_UDMA_M2S_Q(15),
		NEURON_UDMA_S2M_Q(0),
		NEURON_UDMA_S2M_Q(15),
	};
	uint64_t errors = 0, at;

	for (unsigned int b = 0; b < 4; b++)
		for (uint32_t reg = 0x100; reg < 0x1000; reg += 4) {
			at = GEN(APB_UDMA)(2) + block[b] + reg;
			apb_write(&f, at, 0x5a5a5a5a);
			ck_assert_uint_eq(apb_read(&f, at), 0);
			ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), ++errors);
		}
	put32(f.host + 0x800000, 42);
	copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
	ck_assert_uint_eq(get32(f.host + 0x800004), 42);
}
END_TEST

/* A doorbell beyond the ring is cut: those descriptors were never written. */
START_TEST(overrun)
{
	doorbell(&f, &q, RX, 1000);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_STATUS), 64);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 1);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, RX, 0xffffffff);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_STATUS), 64);
	queue_init(&f, &q, 2, 15, 0, 0, 0);
	doorbell(&f, &q, RX, 1);
	doorbell(&f, &q, TX, 1);
	settle(&f);
	ck_assert_uint_eq(queue_reg(&f, &q, TX, NEURON_UDMA_Q_STATUS), 0);
}
END_TEST

START_TEST(engine_states)
{
	uint64_t e = GEN(APB_UDMA)(2);

	put32(f.host + 0x800000, 42);
	apb_write(&f, e + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_DISABLE);
	copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800004), 0);
	ck_assert_uint_eq(apb_read(&f, e + NEURON_UDMA_M2S_STATE), 0);
	/* the value that the public driver 1.2 expects */
	ck_assert_uint_eq(apb_read(&f, e + 0x604), 4);
	apb_write(&f, e + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_NORMAL);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800004), 42);
	/* an abort forgets what was rung; the two rings stay in step */
	apb_write(&f, e + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_DISABLE);
	copy(&f, &q, HOST(0x800000), HOST(0x800008), 4);
	apb_write(&f, e + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_ABORT);
	apb_write(&f, e + NEURON_UDMA_M2S_CHANGE_STATE, NEURON_UDMA_STATE_NORMAL);
	copy(&f, &q, HOST(0x800000), HOST(0x80000c), 4);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800008), 0);
	ck_assert_uint_eq(get32(f.host + 0x80000c), 42);
}
END_TEST

/* A TPB reset drops what a core's queues still had to do, but not the driver's copies. */
START_TEST(tpb_reset_drops)
{
	enum { COPY = GEN(H2T_ENGINE)(0), OTHER = GEN_ENGINE_OF(1) + 1 };
	struct ring own, other;

	queue_init(&f, &q, COPY, GEN(H2T_QUEUE), HOST(0x400000), HOST(0x500000), 64);
	queue_init(&f, &own, 1, 3, HOST(0x600000), HOST(0x608000), 64);
	queue_init(&f, &other, OTHER, 3, HOST(0x610000), HOST(0x618000), 64);
	put32(f.host + 0x800000, 42);
	apb_write(&f, GEN(APB_UDMA)(1) + NEURON_UDMA_M2S_CHANGE_STATE, 2);
	apb_write(&f, GEN(APB_UDMA)(COPY) + NEURON_UDMA_M2S_CHANGE_STATE, 2);
	apb_write(&f, GEN(APB_UDMA)(OTHER) + NEURON_UDMA_M2S_CHANGE_STATE, 2);
	copy(&f, &own, HOST(0x800000), HOST(0x800010), 4);
	copy(&f, &q, HOST(0x800000), HOST(0x800020), 4);
	copy(&f, &other, HOST(0x800000), HOST(0x800030), 4);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_TPB_RESET_MAP, 1);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, NEURON_MISC_RESET_TPB);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
	apb_write(&f, GEN(APB_UDMA)(1) + NEURON_UDMA_M2S_CHANGE_STATE, 1);
	apb_write(&f, GEN(APB_UDMA)(COPY) + NEURON_UDMA_M2S_CHANGE_STATE, 1);
	apb_write(&f, GEN(APB_UDMA)(OTHER) + NEURON_UDMA_M2S_CHANGE_STATE, 1);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800010), 0);
	ck_assert_uint_eq(get32(f.host + 0x800020), 42);
	ck_assert_uint_eq(get32(f.host + 0x800030), 42);
	/* and the dropped queue continues where software believes it is */
	copy(&f, &own, HOST(0x800000), HOST(0x800014), 4);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800014), 42);
}
END_TEST

/* Descriptors write semaphores, events and other queues' doorbells */
START_TEST(words)
{
	uint64_t core1 = GEN(TPB)(1);
	struct ring other;

	put32(f.host + 0x800000, 3);
	copy(&f, &q, HOST(0x800000), core1 + GEN(TPB_SEM_INC) + 4 * 6, 4);
	copy(&f, &q, HOST(0x800000), core1 + GEN(TPB_SEM_INC) + 4 * 6, 4);
	copy(&f, &q, HOST(0x800000), core1 + GEN(TPB_EVENTS) + 4 * 9, 4);
	ck_assert_uint_eq(fwio_read(&f, core1 + GEN(TPB_SEM_READ) + 4 * 6), 6);
	ck_assert_uint_eq(fwio_read(&f, core1 + GEN(TPB_EVENTS) + 4 * 9), 3);
	settle(&f);
	/* semaphores read by a descriptor */
	copy(&f, &q, core1 + GEN(TPB_SEM_READ) + 4 * 6, HOST(0x800010), 4);
	ck_assert_uint_eq(get32(f.host + 0x800010), 6);

	queue_init(&f, &other, 7, 1, HOST(0x600000), HOST(0x610000), 32);
	push(&f, &other, TX, HOST(0x800000), 4, FIRST | LAST);
	push(&f, &other, RX, HOST(0x800020), 4, 0);
	put32(f.host + 0x800004, 1);
	copy(&f, &q, HOST(0x800004),
	     GEN(REG)(GEN(APB_UDMA)(7)) + NEURON_UDMA_S2M_Q(1) + NEURON_UDMA_Q_TAIL_INC, 4);
	copy(&f, &q, HOST(0x800004),
	     GEN(REG)(GEN(APB_UDMA)(7)) + NEURON_UDMA_M2S_Q(1) + NEURON_UDMA_Q_TAIL_INC, 4);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800020), 3);
}
END_TEST

/* A semaphore is written as a whole word, or not at all */
START_TEST(parts_of_words)
{
	put64(f.host + 0x800000, 0x300000003);
	copy(&f, &q, HOST(0x800000), GEN(TPB)(0) + GEN(TPB_SEM_INC) + 4 * 6, 6);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	ck_assert_uint_eq(fwio_read(&f, GEN(TPB)(0) + GEN(TPB_SEM_READ) + 4 * 6), 0);
}
END_TEST

/* A copy that begins in a partition of SBUF ends there, unless the next partition is adjacent. */
START_TEST(end_of_a_partition)
{
	const uint64_t end = GEN(TPB)(0) + GEN(SBUF_PART_SIZE);
	const uint64_t next = NEURON_SBUF_PART_STRIDE;

	memset(f.host + 0x800000, 0x77, 128);
	copy(&f, &q, HOST(0x800000), end - 64, 128);
	settle(&f);
	ck_assert_int_eq(queue_stopped(&f, &q), !GEN_SBUF_DENSE);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(0) + GEN(SBUF_PART_SIZE) - 1, 1),
			  0x77);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + next, 8),
			  GEN_SBUF_DENSE ? 0x7777777777777777 : 0);
}
END_TEST

/* Copies larger than what one MMIO write may execute by itself */
START_TEST(big)
{
	unsigned int i;

	fixture_fill(f.host + 0x1000000, 16 << 20, 11);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 1024);
	for (i = 0; i < 256; i++) {
		push(&f, &q, TX, HOST(0x1000000 + i * K64), 0, FIRST | LAST);
		push(&f, &q, RX, 0x7000000 + i * (uint64_t)K64, 0, 0);
	}
	doorbell(&f, &q, RX, 256);
	doorbell(&f, &q, TX, 256);
	settle(&f);
	ck_assert_int_eq(memcmp(mem(&f, 0x7000000), f.host + 0x1000000, 16 << 20), 0);
}
END_TEST

/* The option for software that does not maintain ring ids */
START_TEST(no_ring_ids)
{
	struct ncore_chip_config config;
	unsigned int i;

	ncore_chip_free(f.chip);
	fixture_config(&f, &config);
	config.no_ring_id_check = true;
	ck_assert_int_eq(ncore_chip_new(&config, &f.chip), 0);
	queue_init(&f, &q, 2, 15, HOST(0x400000), HOST(0x500000), 32);
	for (i = 0; i < 40; i++) {
		q.id[0] = q.id[1] = i & 3;
		put32(f.host + 0x800000, i);
		copy(&f, &q, HOST(0x800000), HOST(0x800004), 4);
		ck_assert_uint_eq(get32(f.host + 0x800004), i);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("udma");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, copies);
	tcase_add_test(t, synchronous);
	tcase_add_test(t, synchronous_full);
	tcase_add_test(t, ring_in_dram);
	tcase_add_test(t, accumulate);
	tcase_add_test(t, unequal_packets);
	tcase_add_test(t, packet_limits);
	tcase_add_test(t, packet_limits_rx);
	tcase_add_test(t, packet_in_pieces);
	tcase_add_test(t, order);
	tcase_add_loop_test(t, bad_descriptors, 0, (int)(sizeof(bad) / sizeof(bad[0])));
	tcase_add_loop_test(t, bad_rings, 0, 6);
	tcase_add_loop_test(t, bad_rings_of_good_descriptors, 0, 3);
	tcase_add_test(t, shrunk_ring);
	tcase_add_test(t, another_ring);
	tcase_add_test(t, ring_at_the_end_of_memory);
	tcase_add_test(t, register_holes);
	tcase_add_test(t, overrun);
	tcase_add_test(t, engine_states);
	tcase_add_test(t, tpb_reset_drops);
	tcase_add_test(t, words);
	tcase_add_test(t, parts_of_words);
	tcase_add_test(t, end_of_a_partition);
	tcase_add_test(t, big);
	tcase_add_test(t, no_ring_ids);
	suite_add_tcase(s, t);
	return check_run(s);
}
