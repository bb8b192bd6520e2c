/* SPDX-License-Identifier: MIT */
/*
 * What only generations after Inferentia have: a routing id, words that only hold a value, DMA
 * engines that take no memory before they are used
 */
#include "chip_fixture.h"

#include <stdlib.h>
#include <string.h>

#define MISC GEN(APB_MISC_RAM)
#define VERSION 0x604 /* of an engine */

static struct fixture f;

static void setup(void)
{
	fixture_init(&f, 2);
	fixture_new_chip(&f);
}

static void teardown(void)
{
	fixture_free(&f);
}

static void reset(uint32_t kind)
{
	apb_write(&f, MISC + NEURON_MISC_RESET, kind);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(apb_read(&f, MISC + NEURON_MISC_RESET), 0);
	ck_assert_uint_eq(apb_read(&f, MISC + 0x808), 0);
}

/* Notification queues of a DMA engine and of a TOP_SP, broadcast words, a wrapper: offsets in BAR0 */
#ifdef TRAINIUM2_GEN
#define COUNTERS 0x6141100, 0x466c1100
#define COUNTER_WORDS (4 * 9 * 0x30 / 4)
#define LAST_ENGINE 131
#define LAST_QUEUE 1
static const uint64_t kept[] = {
	0x82041100, 0x83f41124, 0x94041100, 0x95f41100, 0xa2041100, 0xb5f41124,
	0x06a00100, 0x06a00ffc, 0x06bc0100, 0x46a00100, 0x46bc0ffc, 0x82040800,
	0x94040800, 0xb5f40800, 0x06840800, 0x46940800, 0x8c000090, 0x8c0000d0,
	0x9c400090, 0xbc7e00d0, 0x8204001c, 0xb5f40020, 0x0684001c, 0x4694001c,
};
static const uint64_t nothing[] = { 0x82041128, 0x06a01000, 0x8c0000d4, 0x82040804 };
#else
#define COUNTERS 0x305b1100, 0x30cb1100
#define COUNTER_WORDS (4 * 5 * 0x40 / 4)
#define LAST_ENGINE 33
#define LAST_QUEUE 0
static const uint64_t kept[] = {
	0x30401100, 0x30401124, 0x30408100, 0x3046a100, 0x30b01100, 0x30b6a124, 0x30e04100,
	0x30e04ffc, 0x30e44100, 0x30f44ffc, 0x30400100, 0x30400104, 0x30469100, 0x30b00100,
	0x30b69104, 0x3040001c, 0x30b6901c, 0x3064001c, 0x30d40020,
};
static const uint64_t nothing[] = { 0x30401128, 0x30e05000, 0x30400108, 0x10002000 };
#endif

/* The public driver's table from routing ids to its own numbers, the other way round */
START_TEST(routing)
{
	static const uint8_t number[16] = GEN(NUMBERS);
	struct ncore_chip_config config;
	struct ncore_fabric *fabric;
	struct ncore_chip *chip;

	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_TORUS, 32, &fabric), 0);
	for (unsigned int id = 0; id < 32; id++) {
		fixture_config(&f, &config);
		config.fabric = fabric;
		config.slot = number[id % 16] + id / 16 * 16;
		ck_assert_int_eq(ncore_chip_new(&config, &chip), 0);
		ck_assert_uint_eq(ncore_mmio_read(chip, 0, MISC + 0x24, 4), id);
		config.gen = &neuron_gen_inferentia2;
		ncore_chip_free(chip);
		ck_assert_int_eq(ncore_chip_new(&config, &chip), 0);
		ck_assert_uint_eq(ncore_mmio_read(chip, 0, 0x30fa0024, 4), config.slot);
		ncore_chip_free(chip);
	}
	ncore_fabric_free(fabric);
	/* the word is the firmware's */
	apb_write(&f, MISC + 0x24, 5);
	ck_assert_uint_eq(apb_read(&f, MISC + 0x24), 0);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 1);
}
END_TEST

#define KEPT (sizeof(kept) / sizeof(kept[0]))
#define WRAPPERS 4 /* the last ones, which a firmware's reset leaves as they are */

static void kept_are(unsigned int from, uint32_t factor)
{
	for (unsigned int i = from; i < KEPT; i++)
		ck_assert_uint_eq(apb_read(&f, kept[i]), factor * (i + 1));
}

START_TEST(kept_words)
{
	const char *reason = NULL;
	void *state;
	size_t size;

	kept_are(0, 0);
	for (unsigned int i = 0; i < KEPT; i++)
		apb_write(&f, kept[i], 7 * (i + 1));
	kept_are(0, 7);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
	ncore_chip_resume(f.chip);
	reset(NEURON_MISC_RESET_TPB);
	kept_are(0, 7);
	reset(NEURON_MISC_RESET_DEVICE);
	kept_are(KEPT - WRAPPERS, 7);
	for (unsigned int i = 0; i < KEPT - WRAPPERS; i++)
		ck_assert_uint_eq(apb_read(&f, kept[i]), 0);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	kept_are(0, 0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
	ncore_chip_resume(f.chip);
	kept_are(0, 7);
	free(state);
}
END_TEST

/* The last word of each block, and what lies behind it and before the next: a guest error */
START_TEST(between)
{
	static const uint64_t counters[] = { COUNTERS };
	for (unsigned int i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
		apb_write(&f, nothing[i], 1);
		ck_assert_uint_eq(apb_read(&f, nothing[i]), 0);
	}
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 4);
	/* counters of the tensor engine: nothing has run */
	for (unsigned int i = 0; i < COUNTER_WORDS; i++) {
		ck_assert_uint_eq(apb_read(&f, counters[0] + 4 * i), 0);
		ck_assert_uint_eq(apb_read(&f, counters[1] + 4 * i), 0);
	}
}
END_TEST

/* An engine reads the same before it was written to and after it was reset */
START_TEST(first_use)
{
	static const unsigned int engine[] = { 0, 16, LAST_ENGINE };
	void *before, *after;
	size_t size, n;

	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &before, &size), 0);
	ncore_chip_resume(f.chip);
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t udma = GEN(APB_UDMA)(engine[i]);

		for (uint64_t rel = 0; rel < NEURON_UDMA_SIZE; rel += 4)
			ck_assert_uint_eq(apb_read(&f, udma + rel), rel == VERSION ? 4 : 0);
		ck_assert_uint_eq(ext_read(&f, GEN(GUARD_QUEUE)(engine[i], 3)), 0);
		apb_write(&f, udma + 0x1028, 0x1000);
		apb_write(&f, udma + 0x3a300, 9);
		ext_write(&f, GEN(GUARD_QUEUE)(engine[i] - (i == 2), 3), 77);
		ck_assert_uint_eq(apb_read(&f, udma + 0x1028), 0x1000);
		ck_assert_uint_eq(apb_read(&f, udma + 0x3a300), 9);
		ck_assert_uint_eq(ext_read(&f, GEN(GUARD_QUEUE)(engine[i] - (i == 2), 3)), 77);
	}
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ck_assert_uint_eq(ext_read(&f, GEN(GUARD_QUEUE)(LAST_ENGINE - 1, 3)), 0);
	for (unsigned int i = 0; i < 3; i++)
		for (uint64_t rel = 0; rel < NEURON_UDMA_SIZE; rel += 4)
			ck_assert_uint_eq(apb_read(&f, GEN(APB_UDMA)(engine[i]) + rel),
					  rel == VERSION ? 4 : 0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &after, &n), 0);
	ncore_chip_resume(f.chip);
	ck_assert_uint_eq(n, size);
	ck_assert_mem_eq(before, after, n);
	free(before);
	free(after);
}
END_TEST

/* A queue of an engine that nobody used before: its copies are right from the first one on */
START_TEST(first_copy)
{
	struct ring q;

	queue_init(&f, &q, LAST_ENGINE, LAST_QUEUE, HOST(0x400000), HOST(0x500000), 64);
	fixture_fill(f.host + 0x800000, 0x10000, 5);
	copy(&f, &q, HOST(0x800000), GEN(DRAM1_BASE) + GEN(DRAM_CHANNEL_SIZE) - 0x10000, 0);
	copy(&f, &q, GEN(DRAM1_BASE) + GEN(DRAM_CHANNEL_SIZE) - 0x10000, HOST(0x900000), 0);
	settle(&f);
	ck_assert_mem_eq(f.host + 0x800000, f.host + 0x900000, 0x10000);
	ck_assert_uint_eq(ext_read(&f, GEN(DMA_STOPPED)(LAST_ENGINE)), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trainium");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, routing);
	tcase_add_test(t, kept_words);
	tcase_add_test(t, between);
	tcase_add_test(t, first_use);
	tcase_add_test(t, first_copy);
	suite_add_tcase(s, t);
	return check_run(s);
}
