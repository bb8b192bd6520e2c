/* SPDX-License-Identifier: MIT */
/* Interrupts on notification entries: counting, arming, raising once (docs/hardware.md,
 * Interrupts). */
#include "chip_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define NQ 0x100000 /* host: the error queues, a page for each core */
#define NQ_SIZE 4096

#define LAST GEN_LAST_CORE

static struct fixture f;

static void error_queue(unsigned int nc)
{
	const uint64_t regs = GEN(APB_PUTILS)(nc) + GEN(NQ_ERROR_REGS);
	const uint64_t base = HOST(NQ + nc * NQ_SIZE);

	apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)base);
	apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	apb_write(&f, regs + GEN(NQ_SIZE), NQ_SIZE);
}

/* Makes one entry in the core's error queue: the host may not write an instruction FIFO. */
static void make_entry(unsigned int nc)
{
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(nc) + GEN(TPB_FIFO)(0), 4, 1);
}

static uint32_t entries(unsigned int nc)
{
	return ext_read(&f, GEN(NQ_ENTRIES)(nc));
}

static void arm(unsigned int nc, uint32_t seen)
{
	ext_write(&f, GEN(NQ_ENTRIES)(nc), seen);
}

static void setup(void)
{
	unsigned int nc;

	fixture_init(&f, 2);
	fixture_new_chip(&f);
	for (nc = 0; nc < GEN(NC_PER_DEVICE); nc++)
		error_queue(nc);
}

static void teardown(void)
{
	fixture_free(&f);
}

/* A host that never arms, like the public driver, is never interrupted; entries are counted. */
START_TEST(silent)
{
	make_entry(LAST);
	make_entry(LAST);
	ck_assert_uint_eq(entries(LAST), 2);
	ck_assert_uint_eq(entries(LAST - 1), 0);
	ck_assert_uint_eq(f.irqs[0] + f.irqs[1] + f.irqs[2] + f.irqs[3], 0);
}
END_TEST

/* Armed with what was seen: the next entry raises the core's own vector, and only the next */
START_TEST(once)
{
	make_entry(1);
	arm(1, entries(1));
	ck_assert_uint_eq(f.irqs[1], 0);
	make_entry(0);
	ck_assert_uint_eq(f.irqs[1] + f.irqs[0], 0);
	make_entry(1);
	ck_assert_uint_eq(f.irqs[1], 1);
	make_entry(1);
	make_entry(1);
	ck_assert_uint_eq(f.irqs[1], 1);
	ck_assert_uint_eq(entries(1), 4);
	arm(1, 4);
	make_entry(1);
	ck_assert_uint_eq(f.irqs[1], 2);
	ck_assert_uint_eq(f.irqs[0] + f.irqs[2] + f.irqs[3], 0);
}
END_TEST

/* An entry that is written between the look at the queue and the arming is not lost. */
START_TEST(late)
{
	const uint32_t seen = entries(LAST);

	make_entry(LAST);
	arm(LAST, seen);
	ck_assert_uint_eq(f.irqs[LAST], 1);
	make_entry(LAST);
	ck_assert_uint_eq(f.irqs[LAST], 1);
	arm(LAST, entries(LAST));
	ck_assert_uint_eq(f.irqs[LAST], 1);
}
END_TEST

/* An entry that is dropped, or that has no queue, is not counted. */
START_TEST(dropped)
{
	const uint64_t regs = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS);

	apb_write(&f, regs + GEN(NQ_SIZE), 64);
	apb_write(&f, regs + GEN(NQ_HEAD), 0);
	make_entry(0);
	arm(0, entries(0));
	make_entry(0); /* two slots, one of which stays free */
	ck_assert_uint_eq(entries(0), 1);
	apb_write(&f, regs + GEN(NQ_SIZE), 0);
	make_entry(0);
	ck_assert_uint_eq(entries(0), 1);
	ck_assert_uint_eq(f.irqs[0], 0);
}
END_TEST

/*
 * A reset of the device keeps count and arming, because somebody may be waiting; a reset of the
 * function does not.
 */
START_TEST(reset)
{
	make_entry(1);
	arm(1, 1);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(entries(1), 1);
	error_queue(1);
	make_entry(1);
	ck_assert_uint_eq(f.irqs[1], 1);
	arm(1, 2);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ck_assert_uint_eq(entries(1), 0);
	error_queue(1);
	make_entry(1);
	ck_assert_uint_eq(f.irqs[1], 1);
}
END_TEST

START_TEST(saved)
{
	const char *reason = NULL;
	size_t size;
	void *buf;

	make_entry(LAST);
	arm(LAST, 1);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, &size), 0);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ck_assert_int_eq(ncore_chip_load(f.chip, buf, size, &reason), 0);
	ncore_chip_resume(f.chip);
	free(buf);
	ck_assert_uint_eq(entries(LAST), 1);
	ck_assert_uint_eq(f.irqs[LAST], 0);
	make_entry(LAST);
	ck_assert_uint_eq(f.irqs[LAST], 1);
}
END_TEST

#define ROUNDS 20000

static void *writer(void *arg)
{
	unsigned int i;

	for (i = 0; i < ROUNDS; i++)
		make_entry(0);
	return NULL;
}

/*
 * A host that looks, arms and waits, against a chip that writes as fast as it can: each arming is
 * followed by a vector, whatever the two do to each other. A lost one would hang here.
 */
START_TEST(race)
{
	uint32_t seen = 0;
	unsigned int raised = 0;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, writer, NULL), 0);
	while (seen < ROUNDS) {
		arm(0, seen);
		raised++;
		while (f.irqs[0] < raised)
			sched_yield();
		ck_assert_uint_eq(f.irqs[0], raised);
		ck_assert_uint_gt(entries(0), seen);
		seen = entries(0);
	}
	pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("irq");
	TCase *t = tcase_create("irq");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, silent);
	tcase_add_test(t, once);
	tcase_add_test(t, late);
	tcase_add_test(t, dropped);
	tcase_add_test(t, reset);
	tcase_add_test(t, saved);
	tcase_add_test(t, race);
	suite_add_tcase(s, t);
	return check_run(s);
}
