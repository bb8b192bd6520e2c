/* SPDX-License-Identifier: MIT */
/*
 * UDMA as the public driver programs it: its register accesses replayed from traces, and what a
 * firmware reset leaves of queues and engines (docs/hardware.md, Reset)
 */
#include "chip_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST NEURON_UDMA_DESC_FIRST
#define LAST NEURON_UDMA_DESC_LAST
#define TX 0
#define RX 1

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

/* Writes the descriptors that a trace lists into the rings of udma-trace-v1.txt. */
static void trace_descriptors(FILE *in)
{
	unsigned int n, w[4], i;
	char line[256], half;

	rewind(in);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%cX%u %x %x %x %x", &half, &n, &w[0], &w[1], &w[2], &w[3]) != 6)
			continue;
		for (i = 0; i < 4; i++)
			put32(f.host + (half == 'T' ? 0x12340000 : 0x12360000) % HOST_SIZE +
				      16 * n + 4 * i,
			      w[i]);
	}
}

/*
 * Replays a trace's accesses; base is where its offsets count from. Returns how many writes it had.
 */
static unsigned int trace_replay(const char *name, uint64_t base)
{
	unsigned int writes = 0, off, v;
	char line[256];
	FILE *in;

	snprintf(line, sizeof(line), "%s/%s", UDMA_TRACES, name);
	in = fopen(line, "r");
	ck_assert_ptr_nonnull(in);
	/* descriptors first: the trace lists them after the doorbells that start them */
	trace_descriptors(in);
	rewind(in);
	while (fgets(line, sizeof(line), in)) {
		if (sscanf(line, "R %x -> %x", &off, &v) == 2)
			ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + base + off), v);
		if (sscanf(line, "W %x = %x", &off, &v) != 2)
			continue;
		/* the example's ring addresses lie beyond the test's host memory */
		if (off == 0x10028 || off == 0x30028)
			v %= HOST_SIZE;
		apb_write(&f, base + off, v);
		writes++;
	}
	fclose(in);
	return writes;
}

/* The ordered register writes of the public driver, with its descriptors (tests/data/udma) */
START_TEST(driver_trace)
{
	uint64_t engine = GEN(APB_UDMA)(2);
	unsigned int writes;

	fixture_fill(f.host + 0x100000, 0x10064, 21);
	put32(f.host + 0x200000, 0xabcdef01);
	writes = trace_replay("udma-trace-v1.txt", engine);
	ck_assert_uint_eq(writes, 123 + 14 + 2);
	ck_assert_uint_eq(get32(f.host + 0x200004), 0xabcdef01);
	ck_assert_int_eq(memcmp(mem(&f, 0x2000), f.host + 0x100000, 0x10064), 0);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 0);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNIMPLEMENTED), 0);
	/* what was written reads back through the mailbox; resets have cleared themselves */
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x10030), 0x2000);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x100b0), 0);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x30064), 0);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x30020), 0x03030000);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x3c7cc), 0xffffffff);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x3b460), 1);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x380d8), 0xfffff9ff);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x200), 0);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x20200), 0);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + engine + 0x20250), 0);
}
END_TEST

/*
 * The public driver's reset by sysfs: no queue is set up again, and the next copy continues at the
 * driver's own index of the ring, however much of its work the chip had done.
 */
START_TEST(driver_reset)
{
	uint64_t change = GEN(APB_UDMA)(2) + NEURON_UDMA_M2S_CHANGE_STATE;
	uint32_t done = _i ? 0 : 0xabcdef01;

	fixture_fill(f.host + 0x100000, 0x10064, 21);
	put32(f.host + 0x200000, 0xabcdef01);
	if (_i) /* rung, but not executed when the reset comes */
		apb_write(&f, change, NEURON_UDMA_STATE_DISABLE);
	trace_replay("udma-trace-v1.txt", GEN(APB_UDMA)(2));
	ck_assert_uint_eq(get32(f.host + 0x200004), done);
	ck_assert_uint_eq(trace_replay("udma-reset-v1.txt", 0), 3 + 2);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x200008), 0xabcdef01);
	ck_assert_int_eq(memcmp(mem(&f, 0x22000), f.host + 0x100000, 0x10064), 0);
	/* what was dropped stays dropped */
	ck_assert_uint_eq(get32(f.host + 0x200004), done);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 0);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + 0xd0030), 0x2000);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + 0xf0028), 0x12360000 % HOST_SIZE);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + 0xfc7cc), 0xffffffff);
	/* the function's reset keeps nothing */
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + 0xd0030), 0);
	ck_assert_uint_eq(fwio_read(&f, GEN(APB_BASE) + 0xf0020), 0);
}
END_TEST

#define RESETS 2
static const struct {
	uint32_t kind, map;
} resets[RESETS] = { { NEURON_MISC_RESET_DEVICE, 0 }, { NEURON_MISC_RESET_TPB, 1 } };

static void firmware_reset(unsigned int i)
{
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_TPB_RESET_MAP, resets[i].map);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, resets[i].kind);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
	settle(&f);
}

/* Wherever the ring stands, even in the middle of a packet, both halves continue in step. */
START_TEST(reset_in_step)
{
	unsigned int i, lap = (unsigned int)_i / RESETS;

	queue_init(&f, &q, 0, 3, HOST(0x400000), HOST(0x500000), 32);
	for (i = 0; i < 7 + 5 * lap; i++)
		copy(&f, &q, HOST(0x800000), HOST(0x800100), 4);
	settle(&f);
	/* a packet that waits for its end, and descriptors of one side alone */
	push(&f, &q, TX, HOST(0x800000), 100, FIRST);
	push(&f, &q, RX, HOST(0x800200), 60, 0);
	push(&f, &q, RX, HOST(0x800300), 60, 0);
	for (i = 0; i < lap; i++)
		push(&f, &q, RX, HOST(0x800400), 4, 0);
	doorbell(&f, &q, RX, 2 + lap);
	doorbell(&f, &q, TX, 1);
	settle(&f);
	firmware_reset((unsigned int)_i % RESETS);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_STATUS), 0);
	ck_assert_uint_eq(queue_reg(&f, &q, TX, NEURON_UDMA_Q_HEAD), q.next[TX]);
	ck_assert_uint_eq(queue_reg(&f, &q, RX, NEURON_UDMA_Q_TAIL), q.next[RX]);
	for (i = 0; i < 80; i++) {
		put32(f.host + 0x800000, i + 1);
		copy(&f, &q, HOST(0x800000), HOST(0x800100), 4);
		settle(&f);
		ck_assert_uint_eq(get32(f.host + 0x800100), i + 1);
	}
}
END_TEST

/* A queue that an error stopped, in an engine that is off, runs again after a reset */
START_TEST(reset_restarts)
{
	queue_init(&f, &q, 1, 3, HOST(0x400000), HOST(0x500000), 32);
	copy(&f, &q, HOST(HOST_SIZE), HOST(0x800100), 4);
	copy(&f, &q, HOST(0x800000), HOST(0x800100), 4);
	settle(&f);
	ck_assert(queue_stopped(&f, &q));
	if (resets[_i].kind == NEURON_MISC_RESET_DEVICE)
		apb_write(&f, GEN(APB_UDMA)(1) + NEURON_UDMA_M2S_CHANGE_STATE,
			  NEURON_UDMA_STATE_DISABLE);
	firmware_reset((unsigned int)_i);
	ck_assert(!queue_stopped(&f, &q));
	put32(f.host + 0x800000, 42);
	ck_assert_uint_eq(get32(f.host + 0x800100), 0);
	copy(&f, &q, HOST(0x800000), HOST(0x800100), 4);
	settle(&f);
	ck_assert_uint_eq(get32(f.host + 0x800100), 42);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("udma-driver");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, driver_trace);
	tcase_add_loop_test(t, driver_reset, 0, 2);
	tcase_add_loop_test(t, reset_in_step, 0, 6 * RESETS);
	tcase_add_loop_test(t, reset_restarts, 0, RESETS);
	suite_add_tcase(s, t);
	return check_run(s);
}
