// SPDX-License-Identifier: MIT
/*
 * libndl in process on each machine of the generations after the first: its chips by number, with
 * the addresses of public listings and the neighbours of the public driver's tables, what lies
 * behind the links, and copies on every core
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../check_main.h"
#include "hal.h"
#include "ndlx.h"

#define NOBODY 0xff

struct machine {
	const char *name;
	const struct neuron_gen *gen;
	unsigned int chips, cores, memories;
	uint64_t stack;
	uint8_t bus[16], slot[16];
	uint8_t neighbour[16][4];
	uint8_t routing[16]; /* the id of each, by which the public driver finds its number */
};

#define GIB (1ull << 30)
#define TRN1                                                                               \
	CHIP_TRN1, .chips = 16, .bus = { 0x10, 0x10, 0xa0, 0xa0, 0x20, 0x20, 0x90, 0x90,   \
					 0x20, 0x20, 0x90, 0x90, 0x10, 0x10, 0xa0, 0xa0 }, \
		   .slot = { 0x1c, 0x1d, 0x1c, 0x1d, 0x1b, 0x1c, 0x1b, 0x1c,               \
			     0x1d, 0x1e, 0x1d, 0x1e, 0x1e, 0x1b, 0x1e, 0x1b },             \
		   .neighbour = { { 12, 3, 4, 1 },  { 13, 0, 5, 2 },  { 14, 1, 6, 3 },     \
				  { 15, 2, 7, 0 },  { 0, 7, 8, 5 },   { 1, 4, 9, 6 },      \
				  { 2, 5, 10, 7 },  { 3, 6, 11, 4 },  { 4, 11, 12, 9 },    \
				  { 5, 8, 13, 10 }, { 6, 9, 14, 11 }, { 7, 10, 15, 8 },    \
				  { 8, 15, 0, 13 }, { 9, 12, 1, 14 }, { 10, 13, 2, 15 },   \
				  { 11, 14, 3, 12 } },                                     \
		   .routing = { 0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12 }
#define TRN2                                                                               \
	CHIP_TRN2, .chips = 16, .bus = { 0xcc, 0xb5, 0xb6, 0xcb, 0x6f, 0x58, 0x59, 0x6e,   \
					 0x9b, 0x84, 0x85, 0x9a, 0xf8, 0xe1, 0xe2, 0xf7 }, \
		   .neighbour = { { 12, 1, 3, 4 },  { 0, 13, 5, 2 },  { 14, 3, 1, 6 },     \
				  { 2, 15, 7, 0 },  { 8, 5, 7, 0 },   { 4, 9, 1, 6 },      \
				  { 10, 7, 5, 2 },  { 6, 11, 3, 4 },  { 4, 9, 11, 12 },    \
				  { 8, 5, 13, 10 }, { 6, 11, 9, 14 }, { 10, 7, 15, 8 },    \
				  { 0, 13, 15, 8 }, { 12, 1, 9, 14 }, { 2, 15, 13, 10 },   \
				  { 14, 3, 11, 12 } },                                     \
		   .routing = { 0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5 }
#define CHIP_INF2 .gen = &neuron_gen_inferentia2, .cores = 2, .memories = 2, .stack = 16 * GIB
#define CHIP_TRN1 .gen = &neuron_gen_trainium, .cores = 2, .memories = 2, .stack = 16 * GIB
#define CHIP_TRN2 .gen = &neuron_gen_trainium2, .cores = 8, .memories = 4, .stack = 24 * GIB
#define ALONE .chips = 1, .neighbour = { { NOBODY, NOBODY, NOBODY, NOBODY } }

static const struct machine machines[] = {
	{ "inf2.xlarge", CHIP_INF2, ALONE, .slot = { 0x1f } },
	{ "inf2.8xlarge", CHIP_INF2, ALONE, .slot = { 0x1f } },
	{ "inf2.24xlarge", CHIP_INF2, .chips = 6, .bus = { 0x20, 0x20, 0x10, 0x10, 0x10, 0x20 },
	  .slot = { 0x1e, 0x1f, 0x1e, 0x1f, 0x1d, 0x1d },
	  .neighbour = { { 1, NOBODY, NOBODY, NOBODY },
			 { 0, 2, NOBODY, NOBODY },
			 { 1, 3, NOBODY, NOBODY },
			 { 2, 4, NOBODY, NOBODY },
			 { 3, 5, NOBODY, NOBODY },
			 { 4, NOBODY, NOBODY, NOBODY } },
	  .routing = { 0, 1, 2, 3, 4, 5 } },
	{ "inf2.48xlarge", CHIP_INF2, .chips = 12,
	  .bus = { 0x80, 0x90, 0x80, 0x90, 0x80, 0x90, 0x20, 0x20, 0x10, 0x10, 0x10, 0x20 },
	  .slot = { 0x1e, 0x1e, 0x1d, 0x1f, 0x1f, 0x1d, 0x1e, 0x1f, 0x1e, 0x1f, 0x1d, 0x1d },
	  .neighbour = { { 11, 1, NOBODY, NOBODY },
			 { 0, 2, NOBODY, NOBODY },
			 { 1, 3, NOBODY, NOBODY },
			 { 2, 4, NOBODY, NOBODY },
			 { 3, 5, NOBODY, NOBODY },
			 { 4, 6, NOBODY, NOBODY },
			 { 5, 7, NOBODY, NOBODY },
			 { 6, 8, NOBODY, NOBODY },
			 { 7, 9, NOBODY, NOBODY },
			 { 8, 10, NOBODY, NOBODY },
			 { 9, 11, NOBODY, NOBODY },
			 { 10, 0, NOBODY, NOBODY } },
	  .routing = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 } },
	{ "trn1.2xlarge", CHIP_TRN1, ALONE, .slot = { 0x1e } },
	{ "trn1.32xlarge", TRN1 },
	{ "trn1n.32xlarge", TRN1 },
	{ "trn2.3xlarge", CHIP_TRN2, ALONE, .bus = { 0x33 } },
	{ "trn2.48xlarge", TRN2 },
	{ "trn2u.48xlarge", TRN2 },
};

#define COUNT ((int)(sizeof(machines) / sizeof(machines[0])))

static const struct machine *choose(int i)
{
	char name[40] = "emu:";

	strcat(name, machines[i].name);
	ck_assert_int_eq(ndlx_machine_set(name), 0);
	return &machines[i];
}

static void check_place(const struct machine *m, unsigned int c)
{
	struct ndlx_bdf bdf;

	ck_assert_int_eq(ndlx_get_device_bdf((int)c, &bdf), 0);
	ck_assert_uint_eq(bdf.domain, 0);
	ck_assert_uint_eq(bdf.bus, m->bus[c]);
	ck_assert_uint_eq(bdf.slot, m->slot[c]);
	ck_assert_uint_eq(bdf.func, 0);
}

static void check_sizes(ndlx_device_t *dev, const struct machine *m)
{
	uint64_t size;
	uint32_t cores;

	ck_assert_ptr_eq(dev->gen, m->gen);
	ck_assert_int_eq(ndlx_get_nc_count(dev, &cores), 0);
	ck_assert_uint_eq(cores, m->cores);
	for (unsigned int i = 0; i < m->memories; i++) {
		ck_assert_int_eq(ndlx_get_dram_size(dev, i, &size), 0);
		ck_assert_uint_eq(size, m->stack);
	}
	ck_assert_int_eq(ndlx_get_dram_size(dev, m->memories, &size), -EINVAL);
}

/* The chip behind the window says who it is: its routing id */
static void neighbour_answers(ndlx_device_t *dev, const struct machine *m, unsigned int id)
{
	uint64_t misc = neuron_gen_address(m->gen, NEURON_BLOCK_MISC, 0) + NEURON_MISC_DEVICE_ID;
	uint64_t window, at;
	uint32_t routing;

	ck_assert_int_eq(ndlx_neighbor_window(dev, (int)id, &window), 0);
	at = window | misc;
	ck_assert_int_eq(ndlx_read_hw_counters(dev, &at, &routing, 1), 0);
	ck_assert_uint_eq(routing, m->routing[id]);
}

static void check_links(ndlx_device_t *dev, const struct machine *m, unsigned int c)
{
	bool up[NEURON_PORTS_MAX];
	unsigned int n = 0, ports = 0;
	uint64_t window;

	for (; n < 4 && m->neighbour[c][n] != NOBODY; n++) {
		ck_assert_uint_gt(dev->connected_device_count, n);
		ck_assert_uint_eq(dev->connected_devices[n], m->neighbour[c][n]);
		neighbour_answers(dev, m, m->neighbour[c][n]);
	}
	ck_assert_uint_eq(dev->connected_device_count, n);
	ck_assert_int_eq(ndlx_neighbor_window(dev, (int)c, &window), -ENOENT);
	ck_assert_int_eq(ndlx_device_links(dev, up), 0);
	for (unsigned int p = 0; p < NEURON_PORTS_MAX; p++)
		ports += up[p];
	ck_assert_uint_eq(ports, n);
}

START_TEST(chips)
{
	const struct machine *m = choose(_i);
	int index[NDLX_MAX_DEVICES];
	ndlx_device_t *dev;

	ck_assert_str_eq(ndlx_machine_instance(), m->name);
	ck_assert_uint_eq(ndlx_available_devices(index, NDLX_MAX_DEVICES), m->chips);
	for (unsigned int c = 0; c < m->chips; c++) {
		ck_assert_int_eq(index[c], (int)c);
		check_place(m, c);
		ck_assert_int_eq(ndlx_open_device((int)c, NULL, &dev), 0);
		check_sizes(dev, m);
		check_links(dev, m, c);
		ck_assert_int_eq(ndlx_close_device(dev), 0);
	}
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

static void fill(uint8_t *p, size_t size, unsigned int chip, unsigned int core)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)((i * 2654435761u >> 13) + 31 * chip + 7 * core);
}

/* Every chip and core has its own bytes, written before any is read */
START_TEST(copies)
{
	static uint64_t handle[16][8];
	static ndlx_device_t *dev[16];
	const struct machine *m = choose(_i);
	const size_t size = 100003;
	uint8_t *in = malloc(size), *out = malloc(size);

	for (unsigned int c = 0; c < m->chips; c++) {
		ck_assert_int_eq(ndlx_open_device((int)c, NULL, &dev[c]), 0);
		for (unsigned int nc = 0; nc < m->cores; nc++) {
			const struct ndlx_mem_params p = { .size = size,
							   .channel = nc % m->memories,
							   .nc = nc };

			fill(in, size, c, nc);
			ck_assert_int_eq(ndlx_memory_alloc(dev[c], &p, &handle[c][nc]), 0);
			ck_assert_int_eq(ndlx_memory_buf_copyin(dev[c], handle[c][nc], in, 0, size),
					 0);
		}
	}
	for (unsigned int c = 0; c < m->chips; c++) {
		for (unsigned int nc = 0; nc < m->cores; nc++) {
			memset(out, 0, size);
			ck_assert_int_eq(
				ndlx_memory_buf_copyout(dev[c], handle[c][nc], out, 0, size), 0);
			fill(in, size, c, nc);
			ck_assert_mem_eq(out, in, size);
		}
		ck_assert_int_eq(ndlx_close_device(dev[c]), 0);
	}
	free(in);
	free(out);
	ck_assert_int_eq(ndlx_machine_close(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ndl-machines");
	TCase *tc = tcase_create("machines");

	tcase_add_loop_test(tc, chips, 0, COUNT);
	tcase_add_loop_test(tc, copies, 0, COUNT);
	suite_add_tcase(s, tc);
	return check_run(s);
}
