/* SPDX-License-Identifier: MIT */
/* Descriptions of all chips hold what gen.h promises: places there and back, queues, owners. */
#include "../check_main.h"
#include "names.h"
#include "neuron/hw/notify.h"
#include "neuron/hw/udma.h"

static const struct neuron_gen *const chips[] = { &neuron_gen_inferentia, &neuron_gen_second,
						  &neuron_gen_trainium,	  &neuron_gen_inferentia2,
						  &neuron_gen_trainium2,  &neuron_gen_trainium3 };
#define CHIPS ((int)(sizeof(chips) / sizeof(chips[0])))

/* Every block is found at its place, from its first byte to its last, in both directions. */
START_TEST(blocks)
{
	const struct neuron_gen *gen = chips[_i];

	for (unsigned int b = 0; b < gen->blocks; b++) {
		const struct neuron_block *row = &gen->block[b];

		for (unsigned int i = row->first; i < (unsigned int)row->first + row->count; i++) {
			uint64_t address = neuron_gen_address(gen, row->kind, i);
			uint64_t offset = neuron_gen_offset(gen, row->kind, i);
			struct neuron_place at;

			if (row->kind == NEURON_BLOCK_REGS)
				continue;
			for (unsigned int end = 0; end < 2; end++) {
				uint64_t rel = end ? row->size - 4 : 0;

				ck_assert(neuron_gen_find(gen, address + rel, &at));
				ck_assert_int_eq(at.kind, row->kind);
				ck_assert_uint_eq(at.index, i);
				ck_assert_uint_eq(at.rel, rel);
				ck_assert_uint_eq(at.left, row->size - rel);
				ck_assert(neuron_gen_decode(gen, row->bar, offset + rel, &at));
				ck_assert_int_eq(at.kind, row->kind);
				ck_assert_uint_eq(at.index, i);
				ck_assert_uint_eq(at.rel, rel);
			}
		}
	}
}
END_TEST

/* The space between two blocks of a kind belongs to neither, in both directions. */
START_TEST(between_blocks)
{
	const struct neuron_gen *gen = chips[_i];
	unsigned int seen = 0;

	for (unsigned int b = 0; b < gen->blocks; b++) {
		const struct neuron_block *row = &gen->block[b];

		if (row->size == row->stride)
			continue;
		for (uint64_t rel = row->size; rel < row->count * row->stride; rel += row->stride) {
			struct neuron_place at;

			ck_assert(!neuron_gen_find(gen, row->address + rel, &at) ||
				  at.kind != row->kind);
			ck_assert(!neuron_gen_decode(gen, row->bar, row->offset + rel, &at) ||
				  at.kind != row->kind);
			seen++;
		}
	}
	ck_assert_uint_gt(seen, 0);
}
END_TEST

/* Counts fit the arrays that are sized by the largest generation, and the BARs hold all blocks */
START_TEST(bounds)
{
	const struct neuron_gen *gen = chips[_i];
	uint64_t end = 0, sum = 0;

	ck_assert_uint_le(gen->cores, NEURON_CORES_MAX);
	ck_assert_uint_le(gen->dma_engines, NEURON_DMA_ENGINES_MAX);
	ck_assert_uint_le(gen->memories, NEURON_MEMORIES_MAX);
	ck_assert_uint_le(gen->window.ports, NEURON_PORTS_MAX);
	ck_assert_uint_le(neuron_gen_nqs(gen), NEURON_NQ_MAX);
	ck_assert_uint_le(gen->target->engines, NEURON_ENGINES_MAX);
	ck_assert_uint_le(gen->target->semaphores, NEURON_SEMAPHORES_MAX);
	ck_assert_uint_le(gen->target->events, NEURON_EVENTS_MAX);
	ck_assert_uint_le(gen->target->packet_max, NEURON_PACKET_MAX);
	for (unsigned int b = 0; b < gen->blocks; b++) {
		const struct neuron_block *row = &gen->block[b];

		ck_assert_uint_le(row->offset + (row->count - 1) * row->stride + row->size,
				  gen->bar_size[row->bar]);
		ck_assert_uint_le(row->size, row->stride);
	}
	for (unsigned int i = 0; i < gen->memories; i++) {
		ck_assert_uint_ge(gen->memory[i].offset, end); /* one behind the other */
		end = gen->memory[i].offset + gen->memory[i].size;
		ck_assert_uint_eq(neuron_gen_memory_start(gen, i), sum);
		sum += gen->memory[i].size;
	}
	ck_assert_uint_eq(sum, neuron_gen_memory(gen));
	ck_assert_uint_ge(gen->bar_size[gen->bar_dram], end);
}
END_TEST

/* No address of the chip's own has a bit that selects a window */
START_TEST(windows)
{
	const struct neuron_gen *gen = chips[_i];
	const struct neuron_windows *w = &gen->window;

	ck_assert_uint_ne(w->host & w->mask, 0);
	for (unsigned int i = 0; i < w->ports; i++) {
		ck_assert_uint_eq(w->port[i] & ~w->mask, 0);
		ck_assert_uint_lt(w->port[i], w->limit);
		ck_assert_uint_ne(w->port[i], w->host);
		for (unsigned int k = 0; k < i; k++)
			ck_assert_uint_ne(w->port[i], w->port[k]);
	}
	/* a window for each chip of an instance, apart from all others and known by its bits */
	for (unsigned int i = 0; w->far && i < NEURON_ROUTES; i++) {
		uint64_t far = neuron_gen_far_window(gen, i);

		ck_assert_uint_eq(far & ~w->mask, 0);
		ck_assert_uint_lt(far, w->limit);
		ck_assert_uint_eq(neuron_gen_far_index(gen, far), i);
		ck_assert_int_eq(neuron_gen_far_index(gen, far | w->host), -1);
		for (unsigned int k = 0; k < w->ports; k++) {
			ck_assert_uint_ne(far, w->port[k]);
			ck_assert_int_eq(neuron_gen_far_index(gen, w->port[k]), -1);
		}
	}
	if (!w->far)
		ck_assert_uint_eq(neuron_gen_far_window(gen, 0), 0);
	ck_assert_int_eq(neuron_gen_far_index(gen, 0), -1);
	for (unsigned int b = 0; b < gen->blocks; b++) {
		const struct neuron_block *row = &gen->block[b];

		ck_assert_uint_eq(
			(row->address + row->count * row->stride - 1) & (w->mask | w->alias), 0);
	}
}
END_TEST

/* Notification queues are numbered without gaps, each with registers of its own */
START_TEST(notifications)
{
	const struct neuron_gen *gen = chips[_i];
	unsigned int seen = 0, n = neuron_gen_nqs(gen), e = gen->target->engines;

	ck_assert_int_ge(neuron_gen_nq(gen, NEURON_NQ_ERROR, 0), 0);
	ck_assert_int_eq(neuron_gen_nq(gen, NEURON_NQ_ERROR, e),
			 neuron_gen_nq(gen, NEURON_NQ_ERROR, 0));
	ck_assert_int_eq(neuron_gen_nq(gen, NEURON_NQ_NOTIFY, e), -1);
	ck_assert_int_eq(neuron_gen_nq(gen, NEURON_NQ_THROTTLE, 0), -1);
	for (unsigned int type = 0; type <= NEURON_NQ_THROTTLE; type++)
		for (unsigned int i = 0; i < e; i++) {
			int nq = neuron_gen_nq(gen, type, i);

			if (nq >= 0)
				seen |= 1u << nq;
		}
	ck_assert_uint_eq(seen, (1u << n) - 1);
	for (unsigned int i = 0; i < n; i++) {
		ck_assert_uint_le(neuron_gen_nq_regs(gen, i) + gen->nq_reg.head + 4,
				  gen->nq_reg.bytes);
		for (unsigned int k = 0; k < i; k++)
			ck_assert_uint_ne(neuron_gen_nq_regs(gen, i), neuron_gen_nq_regs(gen, k));
	}
}
END_TEST

START_TEST(owners)
{
	const struct neuron_gen *gen = chips[_i];
	unsigned int copies = 0;

	for (unsigned int e = 0; e < gen->dma_engines; e++) {
		unsigned int nc = neuron_gen_dma_core(gen, e);

		ck_assert_uint_lt(nc, gen->cores);
		for (unsigned int q = 0; q < NEURON_DMA_QUEUES_PER_ENG; q++)
			copies += neuron_gen_is_copy_queue(gen, e, q);
	}
	ck_assert_uint_eq(copies, gen->cores);
	/* cores may share an engine, each with a queue of its own: the engine is the first one's */
	for (unsigned int nc = 0; nc < gen->cores; nc++) {
		bool shared = nc && gen->copy[nc - 1].engine == gen->copy[nc].engine;

		ck_assert_uint_eq(neuron_gen_dma_core(gen, gen->copy[nc].engine), nc - shared);
		ck_assert_uint_eq(
			neuron_gen_queue_core(gen, gen->copy[nc].engine, gen->copy[nc].queue), nc);
		ck_assert_uint_eq(neuron_gen_queue_core(gen, gen->copy[nc].engine, 7), nc - shared);
	}
}
END_TEST

/* The public numbers of Inferentia */
START_TEST(inferentia)
{
	const struct neuron_gen *gen = neuron_gen_of_pci(0x7064);
	struct neuron_place at;

	ck_assert_ptr_eq(gen, &neuron_gen_inferentia);
	ck_assert_ptr_null(neuron_gen_of_pci(0x7fff));
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_UDMA, 11), 0x3c0000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_MISC, 0), 0xffff078e000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_CORE, 3), 0xfffcc000000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_CORE, 4), UINT64_MAX);
	ck_assert(!neuron_gen_find(gen, 0xfffd0000000, &at));
	ck_assert(neuron_gen_find(gen, 0xffff0030000, &at));
	ck_assert_int_eq(at.kind, NEURON_BLOCK_REGS);
	ck_assert_ptr_eq(gen->target->gen, gen);
	ck_assert_uint_eq(neuron_gen_block(gen, NEURON_BLOCK_EXT)->size, NEURON_EXT_BAR0_SIZE);
	ck_assert_ptr_null(neuron_gen_block(gen, NEURON_BLOCK_NONE));
	ck_assert(!neuron_gen_decode(gen, 1, 0, &at));
}
END_TEST

/* Addresses of Trainium and Inferentia2, which differ in how drivers number them */
START_TEST(trainium)
{
	const struct neuron_gen *gen = &neuron_gen_trainium, *two = &neuron_gen_inferentia2;
	struct neuron_place at;

	ck_assert_uint_eq(gen->pci_id[0], 0x7164);
	ck_assert_uint_eq(two->pci_id[0], 0x7264);
	ck_assert_uint_ne(gen->number, two->number);
	ck_assert_ptr_eq(gen->block, two->block);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_UDMA, 31), 0xffff0ac0000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_UDMA, 33), 0xffff0d00000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_TDMA, 15), 0xffff0469000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_TDMA, 32), 0xffff0640000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_MISC, 0), 0xffff0fa0000);
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_NQ, 1), 0x30c35000);
	ck_assert(neuron_gen_decode(gen, 2, 0, &at));
	ck_assert_int_eq(at.kind, NEURON_BLOCK_EXT);
	ck_assert(!neuron_gen_decode(gen, 2, 0x8000, &at)); /* the table of vectors */
	ck_assert(neuron_gen_find(gen, 0xfffd17ffffc, &at)); /* the last TOP_SP's last word */
	ck_assert_int_eq(at.kind, NEURON_BLOCK_TOPSP);
	ck_assert_uint_eq(at.index, 5);
	ck_assert_uint_eq(at.rel, 0x3ffffc);
	ck_assert(neuron_gen_find(gen, 0xfffcffffffc, &at));
	ck_assert_int_eq(at.kind, NEURON_BLOCK_REGS);
	ck_assert_uint_eq(at.left, 4);
	ck_assert(neuron_gen_find(gen, 0xfffd1800000, &at));
	ck_assert_int_eq(at.kind, NEURON_BLOCK_REGS);
}
END_TEST

/* Addresses of Trainium2: the places of the public record, a word of each kind */
START_TEST(trainium2)
{
	const struct neuron_gen *gen = &neuron_gen_trainium2;
	struct neuron_place at;

	ck_assert_uint_eq(gen->pci_id[0], 0x7364);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_CORE, 6), 0x806000000000);
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_CORE, 7), 0xec000000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_UDMA, 127), 0x805005f00000);
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_UDMA, 127), 0xb5f00000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_UDMA, 131), 0x808006900000);
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_UDMA, 130), 0x46800000);
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_TDMA, 33), 0x94140000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_MISC, 0), 0x8006c84000);
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_NQ, 7), 0x46581000);
	ck_assert(neuron_gen_decode(gen, 0, 0x46a40100, &at)); /* TOP_SP 9's slot 0 */
	ck_assert_int_eq(at.kind, NEURON_BLOCK_KEPT);
	ck_assert(neuron_gen_decode(gen, 0, 0xbc7e0090, &at)); /* engine 127's masks */
	ck_assert_int_eq(at.kind, NEURON_BLOCK_KEPT);
	ck_assert(neuron_gen_decode(gen, 0, 0x466c1100, &at)); /* a tensor engine's counters */
	ck_assert_int_eq(at.kind, NEURON_BLOCK_ARRAY);
	ck_assert_uint_eq(at.index, 7);
	ck_assert(neuron_gen_decode(gen, 0, 0xf1c00000, &at)); /* windows of TOP_SPs */
	ck_assert_int_eq(at.kind, NEURON_BLOCK_TOPSP);
	ck_assert_uint_eq(at.index, 7);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_TOPSP, 7), 0x8440000000);
	ck_assert_uint_eq(neuron_gen_address(gen, NEURON_BLOCK_TOPSP, 8), 0x808280000000);
	ck_assert_uint_eq(neuron_gen_offset(gen, NEURON_BLOCK_TOPSP, 15), 0xf4400000);
	ck_assert(!neuron_gen_decode(gen, 0, 0xf2000000, &at)); /* places without any */
	ck_assert(!neuron_gen_decode(gen, 0, 0xf4800000, &at));
}
END_TEST

/* The map of what the firmware resets: a core's bit, and its TOP_SPs' */
START_TEST(reset_maps)
{
	static const struct {
		const struct neuron_gen *gen;
		uint32_t cores, map;
	} wanted[] = {
		{ &neuron_gen_inferentia, 0xa, 0xa },
		{ &neuron_gen_trainium, 1, 0x701 },
		{ &neuron_gen_inferentia2, 2, 0x3802 },
		{ &neuron_gen_trainium, 3, 0x3f03 },
		{ &neuron_gen_trainium2, 1, 0x10001 },
		{ &neuron_gen_trainium2, 0x88, 0x880088 },
		{ &neuron_gen_trainium3, 0xff, 0xff00ff },
	};
	unsigned int i, t, n;

	for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		ck_assert_uint_eq(neuron_gen_reset_map(wanted[i].gen, wanted[i].cores),
				  wanted[i].map);
		for (t = n = 0; t < neuron_gen_topsps(wanted[i].gen); t++)
			n += neuron_gen_resets_topsp(wanted[i].gen, wanted[i].map, t);
		ck_assert_uint_eq(n, (unsigned int)__builtin_popcount(wanted[i].cores) *
					     wanted[i].gen->topsps_per_core);
	}
	ck_assert_uint_eq(neuron_gen_topsp_core(&neuron_gen_trainium, 5), 1);
	ck_assert_uint_eq(neuron_gen_topsp_core(&neuron_gen_trainium2, 13), 6);
}
END_TEST

/* Trainium3 has Trainium2's places, and more memory in them */
START_TEST(trainium3)
{
	const struct neuron_gen *gen = &neuron_gen_trainium3;

	ck_assert_uint_eq(gen->pci_id[0], 0x7564);
	ck_assert_uint_eq(gen->arch, 4);
	ck_assert_str_eq(gen->target->name, "neuroncore-v4");
	ck_assert_ptr_eq(gen->target->gen, gen);
	ck_assert_ptr_eq(gen->block, neuron_gen_trainium2.block);
	ck_assert_uint_eq(neuron_gen_memory(gen), 144ull << 30);
	ck_assert_uint_eq(gen->memory[3].address, 0x804000000000);
	ck_assert_uint_eq(gen->memory[3].offset, 192ull << 30);
}
END_TEST

/* Routing ids by the numbers of drivers: public listings of each machine */
START_TEST(routes)
{
	static const struct {
		const struct neuron_gen *gen;
		uint8_t route[NEURON_ROUTES];
	} wanted[] = {
		{ &neuron_gen_trainium, { 0, 2, 6, 4, 1, 3, 7, 5, 9, 11, 15, 13, 8, 10, 14, 12 } },
		{ &neuron_gen_inferentia2,
		  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 } },
		{ &neuron_gen_trainium2, { 0, 8, 9, 1, 2, 10, 11, 3, 6, 14, 15, 7, 4, 12, 13, 5 } },
	};

	for (unsigned int w = 0; w < 3; w++)
		for (unsigned int i = 0; i < 4 * NEURON_ROUTES; i++) {
			unsigned int above = i / NEURON_ROUTES * NEURON_ROUTES;
			unsigned int route = wanted[w].route[i % NEURON_ROUTES] + above;

			ck_assert_uint_eq(neuron_gen_route(wanted[w].gen, i), route);
			ck_assert_uint_eq(neuron_gen_index_of_route(wanted[w].gen, route), i);
		}
	ck_assert_uint_eq(neuron_gen_route(&neuron_gen_inferentia, 77), 77);
}
END_TEST

/* The public driver's order of cores on Trainium2 (tests/data/abi/answers-trainium2.txt) */
START_TEST(core_order)
{
	static const char *const wanted[] = { "45672301", "23014567", "45672301", "23014567",
					      "01236745", "67450123", "01236745", "67450123" };

	for (unsigned int i = 0; i < 16; i++)
		for (unsigned int nc = 0; nc < 8; nc++)
			ck_assert_uint_eq(neuron_gen_ordered_core(&neuron_gen_trainium2, i, nc),
					  (unsigned int)(wanted[i % 8][nc] - '0'));
	for (unsigned int nc = 0; nc < 2; nc++)
		ck_assert_uint_eq(neuron_gen_ordered_core(&neuron_gen_trainium, 5, nc), nc);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gen");
	TCase *tc = tcase_create("all");

	tcase_add_loop_test(tc, blocks, 0, CHIPS);
	tcase_add_loop_test(tc, between_blocks, 0, CHIPS);
	tcase_add_loop_test(tc, bounds, 0, CHIPS);
	tcase_add_loop_test(tc, windows, 0, CHIPS);
	tcase_add_loop_test(tc, notifications, 0, CHIPS);
	tcase_add_loop_test(tc, owners, 0, CHIPS);
	tcase_add_test(tc, inferentia);
	tcase_add_test(tc, trainium);
	tcase_add_test(tc, trainium2);
	tcase_add_test(tc, trainium3);
	tcase_add_test(tc, reset_maps);
	tcase_add_test(tc, routes);
	tcase_add_test(tc, core_order);
	suite_add_tcase(s, tc);
	return check_run(s);
}
