/* SPDX-License-Identifier: MIT */
/*
 * The windows in which a chip reaches every chip of its instance, however far: what lies there, the
 * ways through links that are up, limits, chips on the way that vanish and reset. The oracle of
 * distances is the arithmetic of a torus of four rows of four.
 */
#include "chip_fixture.h"

#include <pthread.h>
#include <string.h>

#define SIDE 4
#define CHIPS (SIDE * SIDE)
#define MISC_DEV (GEN(REG)(GEN(APB_MISC_RAM)))
#define PATTERN 0x1020304050607080ull

static struct ncore_fabric *fabric;
static struct fixture f[CHIPS]; /* each has its own host memory; they share one pool */
static struct ring queue[CHIPS];

static unsigned int route_of(unsigned int slot)
{
	static const uint8_t number[CHIPS] = GEN(NUMBERS);
	unsigned int id = 0;

	while (number[id] != slot)
		id++;
	return id;
}

static uint64_t far(unsigned int slot)
{
	return GEN(WINDOW_FAR)(route_of(slot));
}

static void new_queue(unsigned int i)
{
	queue_init(&f[i], &queue[i], 0, 1, HOST(0x400000), HOST(0x500000), 1024);
}

static void add_chip(unsigned int i)
{
	fixture_new_in(&f[i], f[0].pool, fabric, i);
	new_queue(i);
}

static void start(enum neuron_topology topology)
{
	fabric = fixtures_new(f, CHIPS, topology);
	for (unsigned int i = 0; i < CHIPS; i++)
		new_queue(i);
}

static void setup(void)
{
	start(NEURON_TOPOLOGY_TORUS);
}

static void teardown(void)
{
	fixtures_free(f, CHIPS, fabric);
}

static unsigned int around(unsigned int a, unsigned int b)
{
	unsigned int d = (a + SIDE - b) % SIDE;

	return d < SIDE - d ? d : SIDE - d;
}

/* Links from chip to chip of the torus */
static unsigned int distance(unsigned int a, unsigned int b)
{
	return around(a / SIDE, b / SIDE) + around(a % SIDE, b % SIDE);
}

/*
 * Does a copy of eight bytes from a chip to an address succeed? The queue works again afterwards.
 */
static bool writes(unsigned int from, uint64_t address)
{
	put64(f[from].host + 0x800000, PATTERN + from);
	copy(&f[from], &queue[from], HOST(0x800000), address, 8);
	settle(&f[from]);
	if (!queue_stopped(&f[from], &queue[from]))
		return true;
	new_queue(from);
	return false;
}

/* Does writes() reach the memory of another chip? That memory has the bytes then, and only then. */
static bool reaches(unsigned int from, unsigned int to)
{
	bool fine;

	put64(mem(&f[to], 0x5000), 0);
	fine = writes(from, far(to) | 0x5000);
	ck_assert_uint_eq(get64(mem(&f[to], 0x5000)), fine ? PATTERN + from : 0);
	return fine;
}

/* From every chip to every chip, itself too, as far as the limit of links allows */
START_TEST(everywhere)
{
	unsigned int from, to;

	for (from = 0; from < CHIPS; from++)
		for (to = 0; to < CHIPS; to++)
			ck_assert_uint_eq(reaches(from, to), distance(from, to) <= GEN(FAR_LINKS));
}
END_TEST

/* Of a far chip the same can be reached as of a neighbour. */
START_TEST(what)
{
	const uint64_t core = GEN(TPB)(GEN_LAST_CORE), a = far(5), b = far(2);
	struct fixture *mine = &f[0];

	ck_assert_uint_eq(distance(0, 5), 2);
	ck_assert(writes(0, a | (GEN(DRAM1_BASE) + 0x6000)));
	ck_assert_uint_eq(get64(mem(&f[5], GEN(DRAM1_BASE) + 0x6000)), PATTERN);
	/* from one to another, and to the chip itself */
	copy(mine, &queue[0], a | (GEN(DRAM1_BASE) + 0x6000), b | 0x7000, 8);
	copy(mine, &queue[0], b | 0x7000, 0x9000, 8);
	copy(mine, &queue[0], far(0) | 0x9000, HOST(0x810000), 8);
	copy(mine, &queue[0], HOST(0x810000), a | (core + 3 * NEURON_SBUF_PART_STRIDE), 8);
	settle(mine);
	ck_assert_uint_eq(get64(mem(&f[2], 0x7000)), PATTERN);
	ck_assert_uint_eq(get64(mem(mine, 0x9000)), PATTERN);
	ck_assert_uint_eq(get64(mine->host + 0x810000), PATTERN);
	ck_assert_uint_eq(ncore_mmio_read(f[5].chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(GEN_LAST_CORE) + 3 * NEURON_SBUF_PART_STRIDE,
					  8),
			  PATTERN);
	/* a semaphore */
	put32(mine->host + 0x800000, 4);
	copy(mine, &queue[0], HOST(0x800000), a | (core + GEN(TPB_SEM_INC) + 12), 4);
	settle(mine);
	settle(&f[5]);
	ck_assert_uint_eq(fwio_read(&f[5], core + GEN(TPB_SEM_READ) + 12), 4);
	ck_assert_uint_eq(fwio_read(mine, a | (core + GEN(TPB_SEM_READ) + 12)), 4);
	/* registers are read, the routing id among them, and not written */
	if (GEN(ROUTED))
		ck_assert_uint_eq(fwio_read(mine, a | (MISC_DEV + NEURON_MISC_DEVICE_ID)),
				  route_of(5));
	ck_assert(!writes(0, a | (GEN(REG)(GEN(APB_UDMA)(0)) + NEURON_UDMA_M2S_Q(0) +
				  NEURON_UDMA_Q_TAIL_INC)));
	ck_assert(!writes(0, a | (MISC_DEV + NEURON_MISC_RESET)));
	ck_assert(!writes(0, a | (GEN(TPB)(0) + GEN(TPB_FIFO)(NEURON_ENG_SP))));
}
END_TEST

/* Windows that are no chip's: all abort, and the chip's own bytes stay as they are */
START_TEST(nowhere)
{
	const uint64_t good = far(1), id = good ^ far(0), bits = GEN_CHIP.window.mask;
	unsigned int i;

	ck_assert(writes(0, good | 0x5000));
	for (i = CHIPS; i < GEN(FAR_IDS); i++)
		ck_assert(!writes(0, GEN(WINDOW_FAR)(i) | 0x5000));
	ck_assert(!writes(0, id | 0x5000)); /* an id, and not the bit that it is for */
	ck_assert(!writes(0, good | GEN(WINDOW_EAST) | 0x5000));
	ck_assert(!writes(0, HOST(0x5000) | good));
	ck_assert(!writes(0, bits | 0x5000));
	ck_assert(!writes(0, good | (GEN(DRAM0_BASE) + GEN(DRAM_CHANNEL_SIZE)))); /* a hole */
	ck_assert_uint_eq(get64(mem(&f[0], 0x5000)), 0);
}
END_TEST

/* A line: a way with one link more than there may be is none */
START_TEST(limit)
{
	teardown();
	start(NEURON_TOPOLOGY_LINE);
	ck_assert(reaches(1, 1 + GEN(FAR_LINKS)));
	ck_assert(!reaches(0, 1 + GEN(FAR_LINKS)));
	ck_assert(reaches(CHIPS - 1, CHIPS - 1 - GEN(FAR_LINKS)));
	ck_assert(!reaches(CHIPS - 1, CHIPS - 2 - GEN(FAR_LINKS)));
}
END_TEST

/* Chips of two instances do not meet, whatever their numbers. */
START_TEST(instances)
{
	struct ncore_fabric *other;

	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_LINE, 2, &other), 0);
	ncore_chip_free(f[0].chip);
	ncore_fabric_free(fabric);
	fabric = other;
	add_chip(0);
	ck_assert(reaches(0, 0));
	ck_assert(!reaches(0, 1));
	ck_assert(!reaches(1, 0));
	ck_assert(reaches(1, 2));
}
END_TEST

static void port_fault(unsigned int chip, const char *value)
{
	ck_assert_int_eq(ncore_fault_set(f[chip].chip, NCORE_FAULT_LINK_DOWN, value), 0);
}

/*
 * A link that is down is gone round, by two links more between its ends; with all of a chip's down
 * there is no way to it or from it, and all others have theirs.
 */
START_TEST(links_down)
{
	port_fault(0, "on:port=0");
	ck_assert_uint_eq(reaches(0, 1), 3 <= GEN(FAR_LINKS));
	ck_assert_uint_eq(reaches(1, 0), 3 <= GEN(FAR_LINKS));
	ck_assert(reaches(0, 3));
	port_fault(0, "off");
	ck_assert(reaches(0, 1));
	port_fault(10, "on");
	ck_assert(!reaches(9, 10));
	ck_assert(!reaches(10, 6));
	ck_assert(reaches(10, 10));
	ck_assert_uint_eq(reaches(9, 11), 2 <= GEN(FAR_LINKS)); /* the other way round the row */
	ck_assert(reaches(0, 2));
	port_fault(10, "off");
	ck_assert(reaches(9, 10));
}
END_TEST

/* A chip that is gone, and one that is there again */
START_TEST(vanish)
{
	unsigned int i;

	ncore_chip_free(f[5].chip);
	f[5].chip = NULL;
	ck_assert(!writes(0, far(5) | 0x5000));
	ck_assert(reaches(4, 6)); /* by the other side of the row */
	ck_assert(reaches(1, 4));
	add_chip(5);
	for (i = 0; i < CHIPS; i++)
		ck_assert_uint_eq(reaches(i, 5), distance(i, 5) <= GEN(FAR_LINKS));
}
END_TEST

/* The guard of the chip that is reached decides, not of those on the way. */
START_TEST(guarded)
{
	unsigned int target = 5;

	ext_write(&f[1], NEURON_EXT_GUARD_CTRL, 1);
	ext_write(&f[4], NEURON_EXT_GUARD_CTRL, 1);
	ck_assert(writes(0, far(target) | GEN(TPB)(1)));
	ext_write(&f[target], GEN(GUARD_CORE)(0), 5);
	ext_write(&f[target], GEN(GUARD_CORE)(1), 6);
	ext_write(&f[target], NEURON_EXT_GUARD_CTRL, 1);
	ext_write(&f[0], GEN(GUARD_QUEUE)(0, 1), 5);
	ext_write(&f[0], NEURON_EXT_GUARD_CTRL, 1);
	queue_init(&f[0], &queue[0], 0, 1, 0x100000, 0x200000, 64);
	copy(&f[0], &queue[0], 0x300000, far(target) | GEN(TPB)(0), 4);
	copy(&f[0], &queue[0], 0x300000, far(target) | 0x5000, 4);
	settle(&f[0]);
	ck_assert(!queue_stopped(&f[0], &queue[0]));
	copy(&f[0], &queue[0], 0x300000, far(target) | GEN(TPB)(1), 4);
	settle(&f[0]);
	ck_assert(queue_stopped(&f[0], &queue[0]));
}
END_TEST

/*
 * All chips copy to the one across the torus, and count one of its semaphores, while chips are
 * reset, freed and made again, and links fail: nothing hangs, and then all is as before.
 */
#define COPIES 200

static void busy(unsigned int i)
{
	unsigned int to = GEN(FAR_LINKS) < 4 ? i ^ 5 : i ^ 10, n;

	new_queue(i);
	put32(f[i].host + 0x700000, 1);
	for (n = 0; n < COPIES; n++) {
		push(&f[i], &queue[i], 0, HOST(n % 8 == 7 ? 0x700000 : 0x800000),
		     n % 8 == 7 ? 4 : 0, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		push(&f[i], &queue[i], 1,
		     far(to) | (n % 8 == 7 ? GEN(TPB)(0) + GEN(TPB_SEM_INC)
					   : 0x1000000 + n * 0x10000),
		     n % 8 == 7 ? 4 : 0, 0);
	}
	doorbell(&f[i], &queue[i], 1, COPIES);
	doorbell(&f[i], &queue[i], 0, COPIES);
}

static void reset(unsigned int i)
{
	apb_write(&f[i], GEN(APB_MISC_RAM) + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
	apb_write(&f[i], GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
}

START_TEST(disturbed)
{
	unsigned int round, i;

	for (round = 0; round < 4; round++) {
		for (i = 0; i < CHIPS; i++)
			busy(i);
		reset(2);
		ncore_chip_reset(f[5].chip, NCORE_RESET_PCI);
		port_fault(8, round & 1 ? "on" : "on:port=1:port=2");
		ncore_chip_free(f[11].chip);
		add_chip(11);
		for (i = 0; i < CHIPS; i++)
			settle(&f[i]);
		port_fault(8, "off");
	}
	for (i = 0; i < CHIPS; i++) {
		new_queue(i);
		ck_assert(reaches(i, i ^ 5));
	}
}
END_TEST

START_TEST(all_at_once)
{
	unsigned int i;

	for (i = 0; i < CHIPS; i++)
		busy(i);
	for (i = 0; i < CHIPS; i++)
		settle(&f[i]);
	for (i = 0; i < CHIPS; i++) /* posts that arrived late */
		settle(&f[i]);
	for (i = 0; i < CHIPS; i++) {
		ck_assert_uint_eq(queue_reg(&f[i], &queue[i], 0, NEURON_UDMA_Q_STATUS), 0);
		ck_assert_uint_eq(ncore_guest_errors(f[i].chip, NCORE_GE_UNDEFINED), 0);
		ck_assert_uint_eq(fwio_read(&f[i], GEN(TPB)(0) + GEN(TPB_SEM_READ)), COPIES / 8);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("far");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, everywhere);
	tcase_add_test(t, what);
	tcase_add_test(t, nowhere);
	tcase_add_test(t, limit);
	tcase_add_test(t, instances);
	tcase_add_test(t, links_down);
	tcase_add_test(t, vanish);
	tcase_add_test(t, guarded);
	tcase_add_test(t, all_at_once);
	tcase_add_test(t, disturbed);
	suite_add_tcase(s, t);
	return check_run(s);
}
