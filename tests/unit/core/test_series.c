// SPDX-License-Identifier: MIT
/*
 * Short pieces that follow each other are copied as a series, without being asked one by one. A
 * chip whose every descriptor is traced asks of each: random rings leave both with the same
 * memories, state (times and counters in it) and notifications, on several queues that share
 * engines and memories and overlap in what they write, with and without the guard.
 */
#include "program.h"

#include <stdlib.h>

#define RINGS 4
#define RING_LEN 1024
#define RING_DESCS 900
#define LAPS 2 /* the second begins in the middle of the ring */
#define DATA 0x600000 /* in DRAM; of each place the first AREA bytes */
#define AREA 0x20000
#define HOST_DATA 0x600000
#define ONE 0x3f0000 /* host: a word that is 1 */
#define PART 0x700 /* in partitions */
#define PART_SIZE 0x200 /* what is compared of them */
#define PIECES 0x1000 /* bytes of one kind of pieces */
#define SEEDS 60
#define GUARD 0x2000000 /* host: the guard's table: its root, a middle page, leaves */
#define MINE 5

struct filling {
	uint64_t seed;
	uint8_t half[2][RING_DESCS * NEURON_UDMA_DESC_SIZE];
	unsigned int n[2];
	unsigned int packet; /* descriptors of the TX half since it began, 0: between packets */
	bool wild; /* may make errors that stop the queue */
	uint32_t meta;
};

static struct outcome {
	uint8_t dram[AREA], host[AREA], notes[2 * NOTIFY_SIZE];
	uint8_t core[2][NEURON_PARTITIONS * PART_SIZE];
	uint64_t errors[NCORE_GE_COUNT];
	void *state;
	size_t size;
} outcome[2];

static unsigned int any(struct filling *g, unsigned int n)
{
	return (unsigned int)(rnd(&g->seed) % n);
}

static void add(struct filling *g, unsigned int half, uint64_t addr, uint32_t len, uint32_t ctrl)
{
	uint8_t *d = g->half[half] + 16 * g->n[half]++;
	unsigned int id = g->wild && !any(g, 4000) ? 2 : 1;

	put32(d, (len & NEURON_UDMA_DESC_LEN_MASK) | id << NEURON_UDMA_DESC_RING_ID_SHIFT | ctrl);
	put32(d + 4, half ? 0 : g->meta);
	put64(d + 8, addr);
}

/* A TX descriptor; it begins a packet if none is open, and ends it when it is told to */
static void add_tx(struct filling *g, uint64_t addr, uint32_t len, bool last)
{
	uint32_t first = g->packet ? 0 : NEURON_UDMA_DESC_FIRST;

	if (g->wild && !any(g, 3000))
		first ^= NEURON_UDMA_DESC_FIRST;
	add(g, 0, addr, len, first | (last ? NEURON_UDMA_DESC_LAST : 0));
	g->packet = last ? 0 : g->packet + 1;
}

/* The address at which a series of pieces begins; *step: the distance of one from the next */
static uint64_t place(struct filling *g, int64_t *step, uint32_t len)
{
	static const int64_t steps[] = { 0, 1, 4, 16, 40, -4, -16 };
	unsigned int what = any(g, 16);
	uint64_t at = DATA + AREA / 2 + any(g, 0x400);

	*step = any(g, 2) ? (int64_t)len : steps[any(g, 7)];
	if (what < 6)
		return at;
	if (what < 7)
		return HOST(HOST_DATA + AREA / 2 + any(g, 0x400));
	if (any(g, 4)) /* from partition to partition */
		*step = what & 1 ? NEURON_SBUF_PART_STRIDE : NEURON_PSUM_PART_STRIDE;
	return CORE(g->wild && !any(g, 40)) + (what & 1 ? 0 : NEURON_PSUM_OFFSET) + PART +
	       any(g, 200);
}

static uint32_t length(struct filling *g)
{
	static const uint16_t len[] = { 1,  2,	3,  4,	4,  4,	7,  8,	 8,
					15, 16, 31, 33, 63, 64, 65, 512, 513 };

	return len[any(g, sizeof(len) / sizeof(len[0]))];
}

/* One piece that is the end of its packet */
static void end_packet(struct filling *g)
{
	add_tx(g, DATA, 4, true);
	add(g, 1, DATA + 8, 4, 0);
}

/*
 * Count pieces: one descriptor each, or all in one of TX or of RX with an odd rest, or two of TX in
 * one of RX. Both halves get as many bytes, and no packet more descriptors than it may have, but of
 * a wild ring.
 */
static void add_pieces(struct filling *g, unsigned int count, unsigned int ends)
{
	uint32_t len = length(g), odd = any(g, 3) ? 0 : 1 + any(g, 2 * len);
	unsigned int kind = any(g, 5), max = GEN_CHIP.target->packet_max - 4;
	bool wild = g->wild && !any(g, 8), open = kind == 1 || kind == 2;
	int64_t from_step, to_step;
	uint64_t from = place(g, &from_step, len), to = place(g, &to_step, len);

	if (!any(g, 6)) { /* onto itself */
		to = from + any(g, 8);
		to_step = from_step;
	}
	/* bits without a meaning are counted */
	g->meta = NEURON_UDMA_META_DEFAULT | (any(g, 20) ? 0 : 1u << 9);
	if (open && count > max / 2)
		count = max / 2;
	if (count * len > PIECES)
		count = PIECES / len;
	count += kind == 4 && count & 1;
	if ((open || kind == 4) && g->packet)
		end_packet(g);
	if (kind == 1)
		add_tx(g, from, count * len + odd, false);
	if (kind == 2)
		add(g, 1, to, count * len + odd, 0);
	for (unsigned int i = 0; i < count && kind != 1; i++) {
		uint64_t at = from + (uint64_t)(from_step * (int64_t)i);
		bool end = (kind != 2 || wild) && !any(g, ends);

		if (kind == 3 && !any(g, 4)) /* from anywhere */
			at = place(g, &(int64_t){ 0 }, len);
		end = end || (g->packet >= max && !wild);
		add_tx(g, at, len, (i & 1 || kind != 4) && end);
	}
	for (unsigned int i = 0; i < count && kind != 2; i += kind == 4 ? 2 : 1)
		add(g, 1, to + (uint64_t)(to_step * (int64_t)i), kind == 4 ? 2 * len : len, 0);
	if (kind == 1 && odd)
		add(g, 1, to, odd, 0);
	if (kind == 2 && odd)
		add_tx(g, from, odd, any(g, 2));
	if (open && g->packet)
		end_packet(g);
}

/* A ring whose last piece increments a semaphore */
static void fill(struct filling *g, unsigned int semaphore)
{
	while (g->n[0] < RING_DESCS - 110 && g->n[1] < RING_DESCS - 110)
		add_pieces(g, 1 + any(g, 100), any(g, 3) * 30 + 1);
	if (g->packet)
		end_packet(g);
	add_tx(g, HOST(ONE), 4, true);
	add(g, 1, CORE(0) + GEN(TPB_SEM_INC) + 4 * semaphore, 4, 0);
}

static struct filling fillings[LAPS][RINGS];
static struct ring rings[RINGS];

static void make_rings(uint64_t seed)
{
	for (unsigned int i = 0; i < LAPS * RINGS; i++) {
		struct filling *g = &fillings[i / RINGS][i % RINGS];

		g->seed = seed * LAPS * RINGS + i + 1;
		g->n[0] = g->n[1] = g->packet = 0;
		g->wild = seed % 3 == 2;
		g->meta = NEURON_UDMA_META_DEFAULT;
		fill(g, i % RINGS);
	}
	for (unsigned int i = 0; i < RINGS; i++) {
		uint64_t at = i & 1 ? HOST(0x500000 + i * 0x10000) : 0x500000 + i * 0x10000;

		queue_init(&f, &rings[i], 1 + (i >> 1), i, at, at + 0x8000, RING_LEN);
	}
}

/* Behind what the queue has done: the ring is filled up from there */
static void write_rings(unsigned int lap)
{
	for (unsigned int i = 0; i < RINGS * 2; i++) {
		struct filling *g = &fillings[lap][i / 2];
		unsigned int half = i & 1, from = lap ? fillings[0][i / 2].n[half] : 0;
		uint8_t *ring = mem(&f, rings[i / 2].base[half]);

		for (unsigned int k = 0; k < g->n[half]; k++) {
			const uint8_t *desc = g->half[half] + 16 * k;
			uint8_t *to = ring + 16 * ((from + k) % RING_LEN);
			uint32_t laps = (from + k) / RING_LEN;

			memcpy(to, desc, 16);
			put32(to, get32(desc) + (laps << NEURON_UDMA_DESC_RING_ID_SHIFT));
		}
	}
}

static void emit_rings(unsigned int lap)
{
	for (unsigned int i = 0; i < RINGS; i++) {
		const struct ring *r = &rings[i];
		const unsigned int *n = fillings[lap][i].n;

		emit(NEURON_ENG_SP,
		     &(struct neuron_insn){
			     .opcode = NEURON_OP_WRITE,
			     .write = { { tail_inc(r->engine, r->queue, true), n[1] },
					{ tail_inc(r->engine, r->queue, false), n[0] } } });
	}
}

/* An engine whose instructions come between the packets; and one that tells when rings are over */
static void make_programs(unsigned int lap)
{
	const unsigned int engine[] = { NEURON_ENG_SP, NEURON_ENG_ACT, NEURON_ENG_POOL };

	for (unsigned int i = 0; i < 3; i++)
		emit_wait(engine[i], 31, lap + 1);
	emit_rings(lap);
	for (unsigned int i = 0; i < 400; i++)
		emit_notify(NEURON_ENG_ACT, i);
	for (unsigned int i = 0; i < RINGS; i++) {
		emit_wait(NEURON_ENG_POOL, i, lap + 1);
		emit_notify(NEURON_ENG_POOL, i);
	}
}

static void check_over(void)
{
	for (unsigned int i = 0; i < LAPS * RINGS; i++) {
		const uint8_t *note = entry(NEURON_ENG_POOL, i);

		ck_assert_uint_ne(get32(note + NEURON_NQ_ENTRY_PHASE), 0);
		ck_assert_uint_eq(get32(note + NEURON_NQ_ENTRY_ID), i % RINGS);
	}
}

static void run(uint64_t seed)
{
	static const unsigned int engine[] = { NEURON_ENG_SP, NEURON_ENG_ACT, NEURON_ENG_POOL };
	static struct ring q[3];

	memset(prog_len, 0, sizeof(prog_len));
	for (unsigned int i = 0; i < 3; i++) {
		notify_queue(0, engine[i], HOST(NOTIFY + engine[i] * NOTIFY_SIZE), NOTIFY_SIZE);
		emit_start(engine[i]);
	}
	put32(f.host + ONE, 1);
	fixture_fill(mem(&f, DATA), AREA, seed + 1);
	fixture_fill(f.host + HOST_DATA, AREA, seed + 2);
	make_rings(seed);
	for (unsigned int lap = 0; lap < LAPS; lap++)
		make_programs(lap);
	for (unsigned int i = 0; i < 3; i++)
		fetch(0, engine[i], &q[i]);
	settle(&f);
	for (unsigned int lap = 0; lap < LAPS; lap++) {
		write_rings(lap);
		ncore_mmio_write(f.chip, GEN(BAR_CORES),
				 GEN(TPB_BAR)(0) + GEN(TPB_SEM_SET) + 4 * 31, 4, lap + 1);
		settle(&f);
	}
	if (seed % 3 != 2)
		check_over();
}

/* A stretch of each partition, read by the chip's own registers */
static void read_core(uint8_t *to, uint64_t at, uint64_t stride)
{
	for (unsigned int p = 0; p < NEURON_PARTITIONS; p++)
		for (unsigned int i = 0; i < PART_SIZE; i += 8)
			put64(to + p * PART_SIZE + i,
			      ncore_mmio_read(f.chip, GEN(BAR_CORES), at + p * stride + PART + i,
					      8));
}

static void keep(struct outcome *o)
{
	memcpy(o->dram, mem(&f, DATA), AREA);
	memcpy(o->host, f.host + HOST_DATA, AREA);
	memcpy(o->notes, f.host + NOTIFY + NEURON_ENG_ACT * NOTIFY_SIZE, NOTIFY_SIZE);
	memcpy(o->notes + NOTIFY_SIZE, f.host + NOTIFY + NEURON_ENG_POOL * NOTIFY_SIZE,
	       NOTIFY_SIZE);
	read_core(o->core[0], 0, NEURON_SBUF_PART_STRIDE);
	read_core(o->core[1], NEURON_PSUM_OFFSET, NEURON_PSUM_PART_STRIDE);
	for (unsigned int i = 0; i < NCORE_GE_COUNT; i++)
		o->errors[i] = ncore_guest_errors(f.chip, i);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &o->state, &o->size), 0);
	ncore_chip_resume(f.chip);
}

static unsigned int traced_descs;

static void on_event(void *opaque, enum ncore_event ev, const uint64_t arg[4])
{
	traced_descs++;
}

/*
 * Puts the host's memory, the queues and core 0 into one domain of the guard, and core 1 into none
 */
static void guard_on(void)
{
	const uint64_t mid = GUARD + 0x10000, leaf = mid + 0x1000;

	put64(f.host + GUARD, mid);
	for (unsigned int i = 0; i < HOST_SIZE >> NEURON_GUARD_MID_SHIFT; i++)
		put64(f.host + mid + 8 * i, leaf + i * NEURON_GUARD_LEAF_ENTRIES);
	memset(f.host + leaf, MINE, HOST_SIZE >> NEURON_GUARD_PAGE_SHIFT);
	ext_write(&f, NEURON_EXT_GUARD_ROOT_LO, GUARD);
	ext_write(&f, GEN(GUARD_CORE)(0), MINE);
	for (unsigned int i = 0; i < GEN_CHIP.dma_engines * NEURON_DMA_QUEUES_PER_ENG; i++)
		ext_write(&f,
			  GEN(GUARD_QUEUE)(i / NEURON_DMA_QUEUES_PER_ENG,
					   i % NEURON_DMA_QUEUES_PER_ENG),
			  MINE);
	ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
}

static void run_chip(uint64_t seed, bool traced, struct outcome *o)
{
	fixture_init(&f, 1);
	traced_descs = 0;
	if (traced) {
		f.ops.event = on_event;
		f.ops.event_mask = 1ull << NCORE_EV_DESC;
	}
	fixture_new_chip(&f);
	if (seed % 4 == 3)
		guard_on();
	if (seed % 6 == 5) /* wild too */
		ck_assert_int_eq(ncore_fault_set(f.chip, NCORE_FAULT_DMA_ABORT, "2:after=600"), 0);
	run(seed);
	keep(o);
	if (traced && seed % 3 != 2)
		ck_assert_uint_gt(traced_descs, LAPS * RINGS * (RING_DESCS / 2));
	fixture_free(&f);
}

START_TEST(series_change_nothing)
{
	uint64_t seed = (uint64_t)_i;

	run_chip(seed, false, &outcome[0]);
	run_chip(seed, true, &outcome[1]);
	ck_assert_mem_eq(outcome[0].dram, outcome[1].dram, AREA);
	ck_assert_mem_eq(outcome[0].host, outcome[1].host, AREA);
	ck_assert_mem_eq(outcome[0].core, outcome[1].core, sizeof(outcome[0].core));
	ck_assert_mem_eq(outcome[0].errors, outcome[1].errors, sizeof(outcome[0].errors));
	ck_assert_mem_eq(outcome[0].notes, outcome[1].notes, sizeof(outcome[0].notes));
	ck_assert_uint_eq(outcome[0].size, outcome[1].size);
	ck_assert_mem_eq(outcome[0].state, outcome[1].state, outcome[0].size);
	free(outcome[0].state);
	free(outcome[1].state);
}
END_TEST

/* Pieces that overlap what they copy are copied as if all was read before any was written */
START_TEST(overlapping)
{
	uint32_t len = (uint32_t)_i;
	uint8_t model[1024];
	struct ring q;

	fixture_init(&f, 1);
	fixture_new_chip(&f);
	fixture_fill(mem(&f, DATA), sizeof(model), len);
	memcpy(model, mem(&f, DATA), sizeof(model));
	queue_init(&f, &q, 1, 0, HOST(0x500000), HOST(0x504000), 64);
	for (int by = -20; by < 20; by++) {
		push(&f, &q, 0, DATA + 256, len, FIRST_LAST);
		push(&f, &q, 1, DATA + 256 + (uint64_t)by, len, 0);
		memmove(model + 256 + by, model + 256, len);
	}
	doorbell(&f, &q, 1, 40);
	doorbell(&f, &q, 0, 40);
	settle(&f);
	ck_assert_mem_eq(mem(&f, DATA), model, sizeof(model));
	fixture_free(&f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("series");
	TCase *t = tcase_create("all");

	tcase_add_loop_test(t, series_change_nothing, 0, SEEDS);
	tcase_add_loop_test(t, overlapping, 1, 70);
	suite_add_tcase(s, t);
	return check_run(s);
}
