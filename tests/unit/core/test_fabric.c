/* SPDX-License-Identifier: MIT */
/* Neighbours: link bits, windows, chips that copy to each other, vanish and reset. */
#include "chip_fixture.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define EAST GEN(WINDOW_EAST)
#define WEST GEN(WINDOW_WEST)
#define MISC_DEV (GEN(REG)(GEN(APB_MISC_RAM)))
#define STATUS (MISC_DEV + GEN(READY_WORD))
#define CHIPS 4

static struct ncore_fabric *fabric;
static struct fixture f[CHIPS]; /* each has its own host memory; they share one pool */

static void add_chip(unsigned int i)
{
	fixture_new_in(&f[i], f[0].pool, fabric, i);
}

static void start(enum neuron_topology topology)
{
	fabric = fixtures_new(f, CHIPS, topology);
}

static void setup(void)
{
	start(NEURON_TOPOLOGY_LINE);
}

static void teardown(void)
{
	fixtures_free(f, CHIPS, fabric);
}

static uint32_t links(unsigned int i)
{
	return fwio_read(&f[i], STATUS) & 3;
}

/* what such a word is on a chip whose status does not tell of links */
#define UP(links) (GEN(LINKS) & (links))

/* The routing ids of the chips that drivers number 0 to 3 */
static unsigned int route(unsigned int slot)
{
	static const uint8_t id[CHIPS] = GEN(ROUTES);

	return id[slot];
}

/* Neighbours are found as the public driver finds them: by status bits, then device ids. */
START_TEST(line)
{
	unsigned int i;

	for (i = 0; i < CHIPS; i++)
		apb_write(&f[i], GEN(APB_MISC_RAM) + NEURON_MISC_DEVICE_ID, 10 + i);
	for (i = 0; i < CHIPS; i++) {
		ck_assert_uint_eq(links(i), UP((i < 3 ? 1 : 0) | (i > 0 ? 2 : 0)));
		if (i < 3)
			ck_assert_uint_eq(fwio_read(&f[i],
						    EAST | (MISC_DEV + NEURON_MISC_DEVICE_ID)),
					  GEN(ROUTED) ? route(i + 1) : 11 + i);
		if (i > 0)
			ck_assert_uint_eq(fwio_read(&f[i],
						    WEST | (MISC_DEV + NEURON_MISC_DEVICE_ID)),
					  GEN(ROUTED) ? route(i - 1) : 9 + i);
	}
	/* a neighbour's own status, which holds its links */
	ck_assert_uint_eq(fwio_read(&f[0], EAST | STATUS), GEN_STATUS(3));
}
END_TEST

START_TEST(ring)
{
	teardown();
	start(NEURON_TOPOLOGY_RING);
	apb_write(&f[3], GEN(APB_MISC_RAM) + NEURON_MISC_DEVICE_ID, 33);
	ck_assert_uint_eq(links(0), UP(3));
	ck_assert_uint_eq(fwio_read(&f[0], WEST | (MISC_DEV + NEURON_MISC_DEVICE_ID)),
			  GEN(ROUTED) ? route(3) : 33);
}
END_TEST

START_TEST(slots)
{
	struct ncore_chip_config config;
	struct ncore_chip *chip;

	fixture_config(&f[0], &config);
	config.fabric = fabric;
	config.slot = 2;
	ck_assert_int_eq(ncore_chip_new(&config, &chip), -EBUSY);
	config.slot = CHIPS;
	ck_assert_int_eq(ncore_chip_new(&config, &chip), -EINVAL);
}
END_TEST

START_TEST(vanish)
{
	ncore_chip_free(f[1].chip);
	f[1].chip = NULL;
	ck_assert_uint_eq(links(0), UP(0));
	ck_assert_uint_eq(links(2), UP(1));
	add_chip(1);
	ck_assert_uint_eq(links(0), UP(1));
	ck_assert_uint_eq(links(1), UP(3));
}
END_TEST

/* A copy to where no chip is ends, and does not come back to the chip itself. */
START_TEST(absent)
{
	struct ring q;

	queue_init(&f[3], &q, 0, 0, HOST(0x400000), HOST(0x500000), 64);
	put64(f[3].host + 0x800000, 0x1020304050607080);
	copy(&f[3], &q, HOST(0x800000), EAST | 0x5000, 8);
	settle(&f[3]);
	ck_assert(queue_stopped(&f[3], &q));
	ck_assert_uint_eq(get64(mem(&f[3], 0x5000)), 0);
}
END_TEST

/* Memory, cores' memory and semaphores of a neighbour; not its registers and FIFOs */
START_TEST(windows)
{
	const uint64_t window = GEN(TPB_BAR)(GEN_LAST_CORE), core = GEN(TPB)(GEN_LAST_CORE);
	struct ring q;

	queue_init(&f[1], &q, 0, 0, HOST(0x400000), HOST(0x500000), 64);
	put64(f[1].host + 0x800000, 0x1020304050607080);
	copy(&f[1], &q, HOST(0x800000), EAST | 0x5000, 8);
	copy(&f[1], &q, HOST(0x800000), WEST | (GEN(DRAM1_BASE) + 0x6000), 8);
	ck_assert_uint_eq(get64(mem(&f[2], 0x5000)), 0x1020304050607080);
	ck_assert_uint_eq(get64(mem(&f[0], GEN(DRAM1_BASE) + 0x6000)), 0x1020304050607080);
	/* from neighbour to neighbour */
	copy(&f[1], &q, EAST | 0x5000, WEST | 0x7000, 8);
	ck_assert_uint_eq(get64(mem(&f[0], 0x7000)), 0x1020304050607080);
	copy(&f[1], &q, EAST | 0x5000, EAST | (core + 3 * NEURON_SBUF_PART_STRIDE), 8);
	ck_assert_uint_eq(ncore_mmio_read(f[2].chip, GEN(BAR_CORES),
					  window + 3 * NEURON_SBUF_PART_STRIDE, 8),
			  0x1020304050607080);
	put32(f[1].host + 0x800000, 4);
	copy(&f[1], &q, HOST(0x800000), EAST | (core + GEN(TPB_SEM_INC) + 12), 4);
	settle(&f[1]);
	settle(&f[2]);
	ck_assert_uint_eq(fwio_read(&f[2], core + GEN(TPB_SEM_READ) + 12), 4);
	ck_assert_uint_eq(ext_read(&f[1], GEN(DMA_STOPPED)(0)), 0);
	copy(&f[1], &q, HOST(0x800000),
	     EAST | (GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_M2S_Q(0) + NEURON_UDMA_Q_TAIL_INC),
	     4);
	settle(&f[1]);
	ck_assert_uint_eq(ext_read(&f[1], GEN(DMA_STOPPED)(0)), 1);
}
END_TEST

/*
 * Behind the end of a line, and where a neighbour was removed: the copy aborts and reaches nothing
 * else.
 */
START_TEST(absent_neighbour)
{
	const uint64_t window = _i ? EAST : WEST;
	struct fixture *mine = &f[_i];
	struct ring q;

	if (_i) {
		ncore_chip_free(f[2].chip);
		f[2].chip = NULL;
	}
	queue_init(mine, &q, 0, 0, HOST(0x400000), HOST(0x500000), 64);
	put32(mine->host + 0x800000, 9);
	put32(mem(mine, 0x5000), 7);
	copy(mine, &q, HOST(0x800000), window | 0x5000, 4);
	settle(mine);
	ck_assert_uint_eq(ext_read(mine, GEN(DMA_STOPPED)(0)), 1);
	ck_assert_uint_eq(get32(mem(mine, 0x5000)), 7);
}
END_TEST

/*
 * What a queue must not reach of a neighbour: its FIFOs, a ring in its memory, and bytes of it for
 * a doorbell here, which would be rung with the links' lock held
 */
static const struct {
	uint64_t ring, src, dst;
} apart[] = {
	{ HOST(0x400000), HOST(0x800000), EAST | (GEN(TPB)(0) + GEN(TPB_FIFO)(NEURON_ENG_SP)) },
	{ EAST | 0x400000, HOST(0x800000), HOST(0x800040) },
	{ HOST(0x400000), EAST | 0x5000,
	  GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_M2S_Q(1) + NEURON_UDMA_Q_TAIL_INC },
};

START_TEST(neighbours_apart)
{
	uint32_t len = _i ? 4 : NEURON_INSN_WORD;
	uint8_t *ring, *real = mem(&f[2], 0x400000);
	struct ring q;

	put32(f[1].host + 0x800000, 1);
	put32(mem(&f[2], 0x5000), 1);
	queue_init(&f[1], &q, 0, 0, apart[_i].ring, HOST(0x500000), 64);
	/* the ring is written where it lies */
	q.base[0] = HOST(0x400000);
	ring = mem(&f[1], q.base[0]);
	push(&f[1], &q, 0, apart[_i].src, len, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	push(&f[1], &q, 1, apart[_i].dst, len, 0);
	memcpy(real, ring, NEURON_UDMA_DESC_SIZE);
	doorbell(&f[1], &q, 1, 1);
	doorbell(&f[1], &q, 0, 1);
	settle(&f[1]);
	ck_assert_uint_eq(ext_read(&f[1], GEN(DMA_STOPPED)(0)), 1);
}
END_TEST

/*
 * All chips copy to both neighbours and count their semaphores at once, while one of them is reset,
 * freed and made again: nothing hangs, and undisturbed copies arrive.
 */
#define COPIES 400

static void busy(unsigned int i, struct ring *q)
{
	static const uint64_t side[] = { GEN(WINDOW_EAST), GEN(WINDOW_WEST) };
	unsigned int n, s;

	queue_init(&f[i], q, 3 * i % 12, 1, HOST(0x400000), HOST(0x500000), 1024);
	put32(f[i].host + 0x700000, 1);
	for (n = 0; n < COPIES; n++) {
		s = i == 0 ? 0 : i == CHIPS - 1 ? 1 : n & 1;
		if (n % 8 == 7) {
			push(&f[i], q, 0, HOST(0x700000), 4,
			     NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
			push(&f[i], q, 1,
			     side[s] | (GEN(TPB)(0) + GEN(TPB_SEM_INC) + 4 * (2 * i + s)), 4, 0);
		} else {
			push(&f[i], q, 0, HOST(0x800000 + n * 64), 0,
			     NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
			push(&f[i], q, 1, side[s] | (0x1000000ull * (i + 1) + n * 0x10000), 0, 0);
		}
	}
	doorbell(&f[i], q, 1, COPIES);
	doorbell(&f[i], q, 0, COPIES);
}

START_TEST(all_at_once)
{
	struct ring q[CHIPS];
	unsigned int i;

	for (i = 0; i < CHIPS; i++)
		busy(i, &q[i]);
	for (i = 0; i < CHIPS; i++)
		settle(&f[i]);
	for (i = 0; i < CHIPS; i++) /* posts that arrived late */
		settle(&f[i]);
	for (i = 0; i < CHIPS; i++) {
		ck_assert_uint_eq(queue_reg(&f[i], &q[i], 0, NEURON_UDMA_Q_STATUS), 0);
		ck_assert_uint_eq(ncore_guest_errors(f[i].chip, NCORE_GE_UNDEFINED), 0);
	}
	/* chip 0 sends all its counts east, to chip 1, in semaphore 0 */
	ck_assert_uint_eq(fwio_read(&f[1], GEN(TPB)(0) + GEN(TPB_SEM_READ)), COPIES / 8);
}
END_TEST

START_TEST(disturbed)
{
	struct ring q[CHIPS];
	unsigned int round, i;

	for (round = 0; round < 6; round++) {
		for (i = 0; i < CHIPS; i++)
			busy(i, &q[i]);
		apb_write(&f[2], GEN(APB_MISC_RAM) + NEURON_MISC_RESET, 1);
		apb_write(&f[2], GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
		ncore_chip_reset(f[3].chip, NCORE_RESET_PCI);
		if (round & 1) {
			ncore_chip_free(f[1].chip);
			add_chip(1);
		}
		for (i = 0; i < CHIPS; i++)
			settle(&f[i]);
	}
	ck_assert_uint_eq(links(1), UP(3));
}
END_TEST

/* Mailboxes read each other's registers from two threads while both chips are being reset */
static void *mailbox_thread(void *arg)
{
	struct fixture *mine = arg;
	uint8_t payload[8];
	unsigned int i;

	put64(payload, (mine == &f[0] ? EAST : WEST) | STATUS);
	for (i = 0; i < 500; i++) {
		/* either answer is right: the value, or failure while the neighbour resets */
		fwio_send(mine, NEURON_FWIO_CMD_READ, payload, 8);
		if (i % 8 == 0) {
			apb_write(mine, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, 1);
			apb_write(mine, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
		}
	}
	return NULL;
}

START_TEST(crossed_mailboxes)
{
	pthread_t t[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, mailbox_thread, &f[i]), 0);
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(links(0), UP(1));
	ck_assert_uint_eq(links(1), UP(3));
}
END_TEST

/* A queue reaches only cores of its own domain on a neighbour if both chips have the guard on. */
START_TEST(guarded)
{
	static const struct {
		uint64_t addr;
		bool fine;
	} to[] = {
		{ EAST | GEN(TPB)(0), true },
		{ EAST | (GEN(TPB)(1)), false },
		{ EAST | (GEN(TPB)(1) + GEN(TPB_EVENTS)), false },
		{ EAST | 0x5000, true },
		{ WEST | (GEN(TPB)(1)), true }, /* no guard there */
	};
	struct ring q;

	ext_write(&f[2], GEN(GUARD_CORE)(0), 5);
	ext_write(&f[2], GEN(GUARD_CORE)(1), 6);
	ext_write(&f[2], NEURON_EXT_GUARD_CTRL, 1);
	ext_write(&f[1], GEN(GUARD_QUEUE)(0, 0), 5);
	ext_write(&f[1], NEURON_EXT_GUARD_CTRL, 1);
	queue_init(&f[1], &q, 0, 0, 0x100000, 0x200000, 64);
	copy(&f[1], &q, 0x300000, to[_i].addr, 4);
	settle(&f[1]);
	ck_assert_uint_eq(ext_read(&f[1], GEN(DMA_STOPPED)(0)), !to[_i].fine);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fabric");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, line);
	tcase_add_test(t, ring);
	tcase_add_test(t, slots);
	tcase_add_test(t, vanish);
	tcase_add_test(t, absent);
	tcase_add_test(t, windows);
	tcase_add_loop_test(t, absent_neighbour, 0, 2);
	tcase_add_loop_test(t, neighbours_apart, 0, 3);
	tcase_add_loop_test(t, guarded, 0, 5);
	tcase_add_test(t, all_at_once);
	tcase_add_test(t, disturbed);
	tcase_add_test(t, crossed_mailboxes);
	suite_add_tcase(s, t);
	return check_run(s);
}
