// SPDX-License-Identifier: MIT
/*
 * What the hal writes to DMA engines from Trainium on against the ordered traces of the public
 * driver (tests/data/udma) and against what docs/hardware.md says of their wrappers
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../check_main.h"
#include "hal.h"

#define MAX_WRITES 8192

/* A generation, its trace, and some engines with their places in BAR0 */
static const struct {
	const struct neuron_gen *gen;
	const char *trace;
	unsigned int init; /* writes of an engine's initialisation */
	struct {
		unsigned int engine;
		uint64_t udma;
	} at[5];
} chips[] = {
	{ &neuron_gen_trainium,
	  UDMA_TRACES "/udma-trace-v2.txt",
	  127,
	  { { 0, 0x30000000 },
	    { 15, 0x303c0000 },
	    { 16, 0x30700000 },
	    { 32, 0x30600000 },
	    { 33, 0x30d00000 } } },
	{ &neuron_gen_trainium2,
	  UDMA_TRACES "/udma-trace-v3.txt",
	  127,
	  { { 0, 0x82000000 },
	    { 32, 0x94000000 },
	    { 127, 0xb5f00000 },
	    { 128, 0x6800000 },
	    { 131, 0x46900000 } } },
};
#define CHIPS ((int)(sizeof(chips) / sizeof(chips[0])))

static struct {
	unsigned int bar;
	uint64_t offset;
	uint32_t value;
} written[MAX_WRITES];
static unsigned int writes;

static void note_write(void *opaque, unsigned int bar, uint64_t offset, uint32_t value)
{
	ck_assert_uint_lt(writes, MAX_WRITES);
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

static void start(int chip)
{
	writes = 0;
	nhal_init(&hal, chips[chip].gen, &ops, NULL, 0);
}

/* "# --- title ---" begins a section of the trace; its writes are the next ones, from at on */
static unsigned int is_section(int chip, const char *title, unsigned int at, uint64_t base)
{
	FILE *f = fopen(chips[chip].trace, "r");
	unsigned int n = 0, reg, value;
	char line[256];
	bool in = false;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "# ---", 5)) {
			in = strstr(line, title) != NULL;
		} else if (in && sscanf(line, "W %x = %x", &reg, &value) == 2) {
			ck_assert_uint_lt(at + n, writes);
			ck_assert_uint_eq(written[at + n].bar, 0);
			ck_assert_uint_eq(written[at + n].offset, base + reg);
			ck_assert_uint_eq(written[at + n++].value, value);
		}
	}
	fclose(f);
	return n;
}

START_TEST(engines)
{
	for (unsigned int i = 0; i < 5; i++) {
		start(_i);
		nhal_engine_init(&hal, chips[_i].at[i].engine);
		ck_assert_uint_eq(writes, chips[_i].init);
		ck_assert_uint_eq(is_section(_i, "engine initialisation", 0, chips[_i].at[i].udma),
				  writes);
	}
}
END_TEST

START_TEST(queues)
{
	for (unsigned int i = 0; i < 5; i++) {
		start(_i);
		nhal_queue_init(&hal, chips[_i].at[i].engine, 0, 0x400012340000ull, 8192,
				0x400012360000ull, 8192);
		ck_assert_uint_eq(writes, 15);
		ck_assert_uint_eq(is_section(_i, "initialisation of queue 0", 0,
					     chips[_i].at[i].udma),
				  writes);
	}
}
END_TEST

/* The trace's copy of 65536 + 100 bytes: every descriptor word and both doorbells */
START_TEST(copies)
{
	static uint8_t tx[NHAL_H2T_RING_BYTES], rx[NHAL_H2T_RING_BYTES];
	static uint32_t completion[8];
	const struct nhal_h2t_mem mem = {
		tx, rx, 0x400012340000ull, 0x400012360000ull, completion, 0x400000200000ull
	};
	unsigned int idx, w[4], found = 0;
	struct nhal_h2t h2t;
	char line[256], half;
	FILE *f;

	start(_i);
	nhal_h2t_init(&h2t, &hal, 0, &mem);
	ck_assert_uint_eq(nhal_h2t_push(&h2t, 0x400000100000ull, 0x2000, 65636), 65636);
	writes = 0;
	ck_assert_uint_eq(nhal_h2t_submit(&h2t, 0), 2);
	ck_assert_uint_eq(is_section(_i, "doorbells", 0,
				     neuron_gen_offset(hal.gen, NEURON_BLOCK_UDMA, h2t.eng)),
			  2);
	f = fopen(chips[_i].trace, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%cX%u %x %x %x %x", &half, &idx, w, w + 1, w + 2, w + 3) != 6)
			continue;
		found++;
		for (unsigned int i = 0; i < 4; i++) {
			const uint8_t *p = (half == 'T' ? tx : rx) + 16 * idx + 4 * i;

			ck_assert_uint_eq(p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24,
					  w[i]);
		}
	}
	fclose(f);
	ck_assert_uint_eq(found, 6);
}
END_TEST

static void next_is(unsigned int *at, uint64_t offset, uint32_t value)
{
	ck_assert_uint_eq(written[*at].offset, offset);
	ck_assert_uint_eq(written[(*at)++].value, value);
}

/*
 * A core of Trainium: for each of its engines broadcast group and last node, the engine, its
 * wrapper, the errors; then the engine of copies, which takes part in no broadcast
 */
START_TEST(core_of_trainium)
{
	const unsigned int nc = (unsigned int)_i;
	unsigned int at = 0;

	start(0);
	nhal_core_dma_init(&hal, nc);
	for (unsigned int k = 0; k <= 16; k++) {
		uint64_t udma = 0x30000000 + 0x700000 * nc + (k < 16 ? 0x40000 * k : 0x600000);
		uint64_t sdma =
			0x30000000 + 0x700000 * nc + (k < 16 ? 0x400000 + 0x7000 * k : 0x640000);
		bool last = k == 0 || k == 3 || k == 6 || k == 9 || k == 15;

		if (k < 16) {
			next_is(&at, sdma + 0x100, 0xffff >> k);
			next_is(&at, sdma + 0x104, last ? 0xffff : 0);
		}
		at += is_section(0, "engine initialisation", at, udma);
		next_is(&at, sdma + 0x1c, 1);
		next_is(&at, sdma + 0x20, 1);
		next_is(&at, sdma + 0x0, 1);
		at += is_section(0, "AXI error set-up", at, udma);
	}
	ck_assert_uint_eq(at, writes);
	ck_assert_uint_eq(at, 16 * (2 + 127 + 3 + 247) + 127 + 3 + 247);
}
END_TEST

/*
 * A core of Trainium2, without broadcasts and errors; the engine of copies is set up with the first
 * of the two cores that it copies for
 */
START_TEST(core_of_trainium2)
{
	static const uint64_t first[] = { 0x82000000, 0x83000000, 0x94000000, 0x95000000,
					  0xa2000000, 0xa3000000, 0xb4000000, 0xb5000000 };
	static const uint64_t copies[] = { 0x6800000, 0x6900000, 0x46800000, 0x46900000 };
	unsigned int at = 0;

	start(1);
	nhal_core_dma_init(&hal, (unsigned int)_i);
	for (unsigned int k = 0; k < (_i % 2 ? 16 : 17); k++) {
		uint64_t udma = k < 16 ? first[_i] + 0x100000 * k : copies[_i / 2];

		at += is_section(1, "engine initialisation", at, udma);
		next_is(&at, udma + 0x4001c, 1);
		next_is(&at, udma + 0x40020, 1);
		next_is(&at, udma + 0x40000, 1);
		next_is(&at, udma + 0x40800, 0x26);
	}
	ck_assert_uint_eq(at, writes);
}
END_TEST

/* The base's high word comes first */
START_TEST(notifications)
{
	unsigned int at = 0;

	start(0);
	ck_assert_int_eq(nhal_nq_set(&hal, 1, NEURON_NQ_NOTIFY, 2, 0x100123456000ull, 4096), 0);
	next_is(&at, 0x30c35000 + 0x100 + 2 * 0x28 + 4, 0x1001);
	next_is(&at, 0x30c35000 + 0x100 + 2 * 0x28 + 0, 0x23456000);
	next_is(&at, 0x30c35000 + 0x100 + 2 * 0x28 + 8, 4096);
	ck_assert_uint_eq(at, writes);
}
END_TEST

/* Reset and status words; the routing id is the firmware's and nobody writes it */
START_TEST(words)
{
	unsigned int at = 0;

	start(0);
	nhal_misc_write(&hal, NEURON_MISC_RESET, 1);
	nhal_device_id_write(&hal, 7);
	next_is(&at, 0x30fa01ec, 1);
	ck_assert_uint_eq(at, writes);
	ck_assert_uint_eq(nhal_misc_addr(hal.gen, hal.gen->ready_word), 0xffff0fa0808ull);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hal-trace");
	TCase *tc = tcase_create("trace");

	tcase_add_loop_test(tc, engines, 0, CHIPS);
	tcase_add_loop_test(tc, queues, 0, CHIPS);
	tcase_add_loop_test(tc, copies, 0, CHIPS);
	tcase_add_loop_test(tc, core_of_trainium, 0, 2);
	tcase_add_loop_test(tc, core_of_trainium2, 0, 8);
	tcase_add_test(tc, notifications);
	tcase_add_test(tc, words);
	suite_add_tcase(s, tc);
	return check_run(s);
}
