/* SPDX-License-Identifier: MIT */
/*
 * TOP_SPs: semaphores and events of each, as the host, descriptors, instructions and neighbours
 * reach them; their error queues, resets, guard, saved states (docs/hardware.md, Part 3, TOP_SPs).
 */
#include "program.h"

#include <pthread.h>
#include <stdlib.h>

#define EVENTS 0x0
#define READ 0x1000
#define SET 0x1400
#define INC 0x1800
#define DEC 0x1c00
#define WINDOW 0x400000
#define LAST (GEN(TOPSPS) - 1)
#define WORDS 256
#define MISC GEN(APB_MISC_RAM)
#define ERRORS 0x700000 /* host: error queues, a page for each TOP_SP */
#define PAGE 4096
#define DATA 0x600000 /* host */

static void put(unsigned int t, uint32_t at, uint32_t value)
{
	ncore_mmio_write(f.chip, 0, GEN(TOPSP_BAR)(t) + at, 4, value);
}

static uint32_t get(unsigned int t, uint32_t at)
{
	return (uint32_t)ncore_mmio_read(f.chip, 0, GEN(TOPSP_BAR)(t) + at, 4);
}

#define WRONG ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED)

/* Every word of every TOP_SP is its own, and no core's */
START_TEST(words)
{
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		for (unsigned int i = 0; i < WORDS; i++) {
			put(t, SET + 4 * i, 1000 * t + i);
			put(t, INC + 4 * i, 5);
			put(t, DEC + 4 * i, 2);
			put(t, EVENTS + 4 * i, 70000 + 1000 * t + i);
		}
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		for (unsigned int i = 0; i < WORDS; i++) {
			ck_assert_uint_eq(get(t, READ + 4 * i), 1000 * t + i + 3);
			ck_assert_uint_eq(get(t, EVENTS + 4 * i), 70000 + 1000 * t + i);
			ck_assert_uint_eq(fwio_read(&f, GEN(TOPSP)(t) + READ + 4 * i),
					  1000 * t + i + 3);
			ck_assert_uint_eq(get(t, SET + 4 * i), 0);
		}
	for (unsigned int nc = 0; nc < GEN(NC_PER_DEVICE); nc++)
		for (unsigned int i = 0; i < WORDS; i++)
			ck_assert_uint_eq(fwio_read(&f, CORE(nc) + GEN(TPB_SEM_READ) + 4 * i), 0);
	ck_assert_uint_eq(WRONG, 0);
}
END_TEST

/* Anything but whole words that can be written is a guest error, and changes nothing */
START_TEST(accesses)
{
	const uint64_t bar = GEN(TOPSP_BAR)(LAST);

	put(LAST, SET, 0x11223344);
	put(LAST, SET + 4, 0x55667788);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, 0, bar + READ, 8), 0x5566778811223344);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, 0, bar + READ + 1, 1), 0x33);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, 0, bar + READ + 2, 2), 0x1122);
	ncore_mmio_write(f.chip, 0, bar + INC, 8, 0x300000002);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, 0, bar + READ, 8), 0x5566778b11223346);
	ck_assert_uint_eq(WRONG, 0);
	ncore_mmio_write(f.chip, 0, bar + SET, 1, 1);
	ncore_mmio_write(f.chip, 0, bar + SET, 2, 1);
	ncore_mmio_write(f.chip, 0, bar + SET + 2, 4, 1);
	put(LAST, READ, 1);
	put(LAST, EVENTS + 4 * WORDS, 1); /* between events and semaphores */
	put(LAST, READ - 4, 1);
	put(LAST, DEC + 4 * WORDS, 1); /* behind them */
	put(LAST, WINDOW - 4, 1);
	ck_assert_uint_eq(WRONG, 8);
	ck_assert_uint_eq(get(LAST, EVENTS + 4 * WORDS), 0);
	ck_assert_uint_eq(get(LAST, DEC + 4 * WORDS), 0);
	ck_assert_uint_eq(get(LAST, WINDOW - 4), 0);
	ck_assert_uint_eq(get(LAST, READ), 0x11223346);
}
END_TEST

/* Random writes of the host against plain numbers */
START_TEST(random_writes)
{
	static uint32_t sem[GEN(TOPSPS)][WORDS], event[GEN(TOPSPS)][WORDS];
	uint64_t seed = 77;

	memset(sem, 0, sizeof(sem));
	memset(event, 0, sizeof(event));
	for (unsigned int n = 0; n < 100000; n++) {
		unsigned int t = (unsigned int)(rnd(&seed) >> 33) % GEN(TOPSPS);
		unsigned int i = (unsigned int)(rnd(&seed) >> 33) % (n & 1 ? 4 : WORDS);
		uint32_t v = (uint32_t)(rnd(&seed) >> 33);

		v >>= n % 3 ? 20 : 0;
		switch ((rnd(&seed) >> 33) % 4) {
		case 0:
			put(t, SET + 4 * i, v);
			sem[t][i] = v;
			break;
		case 1:
			put(t, INC + 4 * i, v);
			sem[t][i] += sem[t][i] + (uint64_t)v <= UINT32_MAX ? v : 0;
			break;
		case 2:
			put(t, DEC + 4 * i, v);
			sem[t][i] -= v <= sem[t][i] ? v : 0;
			break;
		default:
			v = v & 1 ? 0 : v;
			put(t, EVENTS + 4 * i, v);
			if (!event[t][i] == !!v)
				event[t][i] = v;
		}
	}
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		for (unsigned int i = 0; i < WORDS; i++) {
			ck_assert_uint_eq(get(t, READ + 4 * i), sem[t][i]);
			ck_assert_uint_eq(get(t, EVENTS + 4 * i), event[t][i]);
		}
}
END_TEST

/* Errors */

static void error_queue(unsigned int t, uint32_t size)
{
	const uint64_t regs = GEN(TOPSP_NQ)(t) + GEN(NQ_ERROR_REGS);
	const uint64_t base = HOST(ERRORS + t * PAGE);

	apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)base);
	apb_write(&f, regs + GEN(NQ_SIZE), size);
}

static const uint8_t *error(unsigned int t, unsigned int i)
{
	return f.host + ERRORS + t * PAGE + i * NEURON_NQ_ENTRY_SIZE;
}

static void error_is(unsigned int t, unsigned int i, uint16_t code, uint32_t id, uint64_t data,
		     uint32_t data2)
{
	const uint8_t *e = error(t, i);

	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_PHASE), 1);
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_TYPE], NEURON_NQ_ERROR);
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_ENGINE], GEN(ENGINES)); /* none */
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_CODE], code);
	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_ID), id);
	ck_assert_uint_eq(get64(e + NEURON_NQ_ENTRY_DATA), data);
	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_DATA2), data2);
}

/*
 * What is refused leaves the value, and an entry in the TOP_SP's own error queue; the entry counts
 * as one of the core's that it belongs to, and raises that one's vector
 */
START_TEST(errors)
{
	const unsigned int nc = GEN(TOPSP_CORE)(_i);

	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		error_queue(t, PAGE);
	ext_write(&f, GEN(NQ_ENTRIES)(nc), 0);
	put(_i, DEC + 4 * 255, 1);
	put(_i, SET + 4 * 7, UINT32_MAX - 1);
	put(_i, INC + 4 * 7, 2);
	put(_i, EVENTS + 4 * 9, 0);
	put(_i, EVENTS + 4 * 9, 3);
	put(_i, EVENTS + 4 * 9, 4);
	error_is(_i, 0, NEURON_NERR_SEM_OVERFLOW, 255, 0, 1);
	error_is(_i, 1, NEURON_NERR_SEM_OVERFLOW, 7, UINT32_MAX - 1, 2);
	error_is(_i, 2, NEURON_NERR_EVT_DOUBLE_CLEAR, 9, 0, 0);
	error_is(_i, 3, NEURON_NERR_EVT_DOUBLE_SET, 9, 0, 0);
	ck_assert_uint_eq(get(_i, READ + 4 * 7), UINT32_MAX - 1);
	ck_assert_uint_eq(get(_i, READ + 4 * 255), 0);
	ck_assert_uint_eq(get(_i, EVENTS + 4 * 9), 3);
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		ck_assert_uint_eq(get32(error(t, (int)t == _i ? 4 : 0) + NEURON_NQ_ENTRY_PHASE), 0);
	for (unsigned int i = 0; i < GEN(NC_PER_DEVICE); i++) {
		ck_assert_uint_eq(ext_read(&f, GEN(NQ_ENTRIES)(i)), i == nc ? 4 : 0);
		ck_assert_uint_eq(f.irqs[i], i == nc);
	}
}
END_TEST

/* A full queue drops and counts; the base, written again, starts over; a device reset ends it */
START_TEST(full)
{
	const uint64_t head = GEN(TOPSP_NQ)(LAST) + GEN(NQ_ERROR_REGS) + GEN(NQ_HEAD);
	const unsigned int nc = GEN(TOPSP_CORE)(LAST);

	error_queue(LAST, 64);
	apb_write(&f, head, 0);
	put(LAST, DEC, 1);
	put(LAST, DEC + 4, 1); /* one slot stays free */
	error_is(LAST, 0, NEURON_NERR_SEM_OVERFLOW, 0, 0, 1);
	ck_assert_uint_eq(get32(error(LAST, 1) + NEURON_NQ_ENTRY_PHASE), 0);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_OVERFLOWS)(nc)), 1);
	apb_write(&f, head, 1);
	put(LAST, DEC + 8, 1);
	error_is(LAST, 1, NEURON_NERR_SEM_OVERFLOW, 2, 0, 1);
	error_queue(LAST, 64);
	ck_assert_uint_eq(apb_read(&f, head), 0);
	put(LAST, DEC + 12, 1);
	error_is(LAST, 0, NEURON_NERR_SEM_OVERFLOW, 3, 0, 1);
	memset(f.host + ERRORS + LAST * PAGE, 0, PAGE);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	put(LAST, DEC, 1);
	ck_assert_uint_eq(get32(error(LAST, 0) + NEURON_NQ_ENTRY_PHASE), 0);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_OVERFLOWS)(nc)), 0);
}
END_TEST

static void emit_write(unsigned int e, uint64_t addr, uint32_t value, uint64_t addr2,
		       uint32_t value2)
{
	emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
				       .write = { { addr, value }, { addr2, value2 } } });
}

/* Descriptors */

static void copied(struct ring *q, uint64_t src, uint64_t dst, uint32_t len, bool fine)
{
	copy(&f, q, src, dst, len);
	settle(&f);
	ck_assert_uint_eq(queue_stopped(&f, q), !fine);
}

static struct ring start_queue(void)
{
	struct ring q;

	queue_init(&f, &q, 0, 0, HOST(0x400000), HOST(0x410000), 64);
	return q;
}

START_TEST(descriptors)
{
	struct ring q = start_queue();

	for (unsigned int i = 0; i < WORDS; i++)
		put32(f.host + DATA + 4 * i, 3 + i);
	for (unsigned int t = 0; t < GEN(TOPSPS); t++) {
		copied(&q, HOST(DATA), GEN(TOPSP)(t) + SET, 4 * WORDS, true);
		copied(&q, HOST(DATA + 4 * t), GEN(TOPSP)(t) + INC + 4 * 9, 4, true);
		copied(&q, HOST(DATA), GEN(TOPSP)(t) + DEC + 4 * 10, 8, true);
		copied(&q, HOST(DATA), GEN(TOPSP)(t) + EVENTS + 4 * 255, 4, true);
		/* what a queue did the host can undo */
		put(t, DEC + 4 * 9, 3 + t);
		ck_assert_uint_eq(get(t, EVENTS + 4 * 255), 3);
		put(t, EVENTS + 4 * 255, 0);
		copied(&q, GEN(TOPSP)(t) + READ, HOST(0x680000 + 4 * WORDS * t), 4 * WORDS, true);
		ck_assert_uint_eq(get(t, EVENTS + 4 * 255), 0);
	}
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		for (unsigned int i = 0; i < WORDS; i++)
			ck_assert_uint_eq(get32(f.host + 0x680000 + 4 * (WORDS * t + i)),
					  i == 10   ? 10
					  : i == 11 ? 10
						    : 3 + i);
	/* from one to the other, and to a core */
	copied(&q, GEN(TOPSP)(0) + READ + 4 * 20, GEN(TOPSP)(LAST) + INC, 4, true);
	copied(&q, GEN(TOPSP)(LAST) + READ, CORE(0) + GEN(TPB_SEM_INC), 4, true);
	ck_assert_uint_eq(fwio_read(&f, CORE(0) + GEN(TPB_SEM_READ)), 26);
}
END_TEST

/* Copies to or from an address of a TOP_SP without such a word, which stop the queue */
static const struct {
	uint64_t src, dst;
	uint32_t len;
} refused[] = {
	{ HOST(DATA), GEN(TOPSP)(0) + READ, 4 },
	{ HOST(DATA), GEN(TOPSP)(0) + EVENTS + 4 * WORDS, 4 },
	{ HOST(DATA), GEN(TOPSP)(LAST) + 0x2000, 4 },
	{ HOST(DATA), GEN(TOPSP)(LAST) + WINDOW - 4, 4 },
	{ HOST(DATA), GEN(TOPSP)(0) + INC + 2, 4 },
	{ HOST(DATA), GEN(TOPSP)(0) + INC, 2 },
	{ HOST(DATA), GEN(TOPSP)(0) + EVENTS + 4 * WORDS - 4, 8 },
	{ GEN(TOPSP)(0) + EVENTS + 4 * WORDS - 4, HOST(DATA), 8 },
	{ GEN(TOPSP)(0) + EVENTS + 4 * WORDS, HOST(DATA), 4 },
	{ GEN(TOPSP)(0) + 0x2000, HOST(DATA), 4 },
	{ GEN(TOPSP)(LAST) + WINDOW - 4, HOST(DATA), 4 },
};

START_TEST(refuses)
{
	struct ring q = start_queue();

	put32(f.host + DATA, 1);
	copied(&q, refused[_i].src, refused[_i].dst, refused[_i].len, false);
	ck_assert_uint_eq(get(0, READ), 0);
}
END_TEST

/* An instruction writes any core's TOP_SPs; SP of core 0 does */
START_TEST(instructions)
{
	const unsigned int sp = NEURON_ENG_SP;
	struct ring q;

	emit_start(sp);
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		emit_write(sp, GEN(TOPSP)(t) + INC + 4 * t, 40 + t, GEN(TOPSP)(t) + EVENTS + 4 * 99,
			   5);
	emit_write(sp, GEN(TOPSP)(0) + READ, 1, 0, 0);
	emit_write(sp, GEN(TOPSP)(0) + INC + 4 * 200, 1, 0, 0);
	fetch(0, sp, &q);
	settle(&f);
	for (unsigned int t = 0; t < GEN(TOPSPS); t++) {
		ck_assert_uint_eq(get(t, READ + 4 * t), 40 + t);
		ck_assert_uint_eq(get(t, EVENTS + 4 * 99), 5);
	}
	ck_assert_uint_eq(get(0, READ + 4 * 200), 0); /* the engine stopped before */
}
END_TEST

/*
 * Each engine of core 0 counts a semaphore of a TOP_SP of the core's by its writes, and a queue
 * that SP rings copies the counts again and again: each time it finds those of its own time,
 * whichever engine is ahead.
 */
START_TEST(order)
{
	const struct neuron_target *target = GEN_CHIP.target;
	const struct neuron_costs *cost = &target->cost;
	uint64_t rings = HOST(0x500000), time;
	enum { N = GEN(ENGINES), ROW = 32, COUNTS = 150, READS = 100 };
	struct ring q, fetchq[N];

	queue_init(&f, &q, 1, 0, rings, rings + 0x10000, 512);
	for (unsigned int i = 0; i < READS; i++) {
		write_desc(mem(&f, rings), i, GEN(TOPSP)(0) + READ, 4 * N, true);
		write_desc(mem(&f, rings + 0x10000), i, HOST(0x2000000 + ROW * i), 4 * N, false);
	}
	for (unsigned int e = 0; e < N; e++) {
		emit_start(e);
		emit_wait(e, 31, 1);
		if (e == NEURON_ENG_SP)
			emit_write(e, tail_inc(1, 0, true), READS, tail_inc(1, 0, false), READS);
		for (unsigned int i = 0; i < COUNTS; i++)
			emit_write(e, GEN(TOPSP)(0) + INC + 4 * e, 1, 0, 0);
		fetch(0, e, &fetchq[e]);
	}
	settle(&f);
	go();
	settle(&f);
	time = 2ull * cost->least * target->engine[NEURON_ENG_SP].cycle;
	for (unsigned int i = 0; i < READS; i++) {
		for (unsigned int e = 0; e < N; e++) {
			uint64_t insn = (uint64_t)cost->least * target->engine[e].cycle;
			unsigned int k = 0, before = 2 + (e == NEURON_ENG_SP);

			while (k < COUNTS && (before + k) * insn <= time)
				k++;
			ck_assert_uint_eq(get32(f.host + 0x2000000 + ROW * i + 4 * e), k);
		}
		time += cost->descriptor + 4ull * N * cost->dma_kib / 1024;
	}
	for (unsigned int e = 0; e < N; e++)
		ck_assert_uint_eq(get(0, READ + 4 * e), COUNTS);
}
END_TEST

/*
 * A packet that counts a semaphore is done as a whole, but each of its descriptors at its own time:
 * a queue that starts little later and reads finds one more each time
 */
START_TEST(packet)
{
	const unsigned int sp = NEURON_ENG_SP;
	uint64_t rings = HOST(0x500000);
	enum { COUNTS = 15, READS = 30 }; /* fewer than the changes that are kept */
	struct ring q, fetchq;

	put32(f.host + DATA, 1);
	queue_init(&f, &q, 1, 0, rings, rings + 0x4000, 64);
	queue_init(&f, &q, 2, 0, rings + 0x8000, rings + 0xc000, 64);
	for (unsigned int i = 0; i < COUNTS; i++) {
		uint8_t *tx = mem(&f, rings) + 16 * i;

		write_desc(mem(&f, rings), i, HOST(DATA), 4, true);
		put32(tx, (get32(tx) & ~FIRST_LAST) | (i ? 0 : NEURON_UDMA_DESC_FIRST) |
				  (i == COUNTS - 1 ? NEURON_UDMA_DESC_LAST : 0));
		write_desc(mem(&f, rings + 0x4000), i, GEN(TOPSP)(0) + INC, 4, false);
	}
	for (unsigned int i = 0; i < READS; i++) {
		write_desc(mem(&f, rings + 0x8000), i, GEN(TOPSP)(0) + READ, 4, true);
		write_desc(mem(&f, rings + 0xc000), i, HOST(0x2000000 + 4 * i), 4, false);
	}
	emit_start(sp);
	emit_write(sp, tail_inc(1, 0, true), COUNTS, tail_inc(1, 0, false), COUNTS);
	emit_write(sp, tail_inc(2, 0, true), READS, tail_inc(2, 0, false), READS);
	fetch(0, sp, &fetchq);
	settle(&f);
	for (unsigned int i = 0; i < READS; i++)
		ck_assert_uint_eq(get32(f.host + 0x2000000 + 4 * i), i < COUNTS ? i + 1 : COUNTS);
}
END_TEST

/* Cores, their queues, the host's queues and the host count the same semaphore: nothing is lost */
#define ROUNDS 400

static void *adder(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS; i++)
		put(LAST, INC + 4 * 3, 1);
	return NULL;
}

START_TEST(together)
{
	const unsigned int sp = NEURON_ENG_SP;
	struct ring fetchq[GEN(NC_PER_DEVICE)], q;
	pthread_t thread[2];

	put32(f.host + DATA, 1);
	emit_start(sp);
	for (unsigned int i = 0; i < ROUNDS; i++)
		emit_write(sp, GEN(TOPSP)(LAST) + INC + 4 * 3, 1, 0, 0);
	for (unsigned int nc = 0; nc < GEN(NC_PER_DEVICE); nc++) {
		uint64_t rings = HOST(0x400000 + nc * 0x8000);

		queue_init(&f, &fetchq[nc], GEN_ENGINE_OF(nc), 0, rings, rings + 0x4000, 64);
		for (uint32_t at = 0; at < prog_len[sp]; at += CHUNK) {
			uint32_t len = prog_len[sp] - at < CHUNK ? prog_len[sp] - at : CHUNK;

			copy(&f, &fetchq[nc], HOST(PROG + sp * PROG_SIZE + at),
			     CORE(nc) + GEN(TPB_FIFO)(sp), len);
		}
	}
	queue_init(&f, &q, 1, 2, HOST(0x500000), HOST(0x510000), 512);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		push(&f, &q, 0, HOST(DATA), 4, FIRST_LAST);
		push(&f, &q, 1, GEN(TOPSP)(LAST) + INC + 4 * 3, 4, 0);
	}
	doorbell(&f, &q, 1, ROUNDS);
	doorbell(&f, &q, 0, ROUNDS);
	for (unsigned int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, adder, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	settle(&f);
	ck_assert_uint_eq(get(LAST, READ + 4 * 3), ROUNDS * (GEN(NC_PER_DEVICE) + 3));
	ck_assert_uint_eq(WRONG, 0);
}
END_TEST

/* Resets */

static void fill(void)
{
	for (unsigned int t = 0; t < GEN(TOPSPS); t++) {
		put(t, SET + 4 * 255, 9);
		put(t, EVENTS, 8);
	}
	for (unsigned int nc = 0; nc < GEN(NC_PER_DEVICE); nc++)
		ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(nc) + GEN(TPB_SEM_SET), 4, 7);
}

static void cleared(unsigned int t, bool yes)
{
	ck_assert_uint_eq(get(t, READ + 4 * 255), yes ? 0 : 9);
	ck_assert_uint_eq(get(t, EVENTS), yes ? 0 : 8);
}

static void tpb_reset_of(uint32_t map)
{
	apb_write(&f, MISC + NEURON_MISC_TPB_RESET_MAP, map);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_TPB);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
}

/* By the bits of the map; TOP_SPs that share one go together */
START_TEST(reset_by_map)
{
	fill();
	tpb_reset_of((1u << GEN(NC_PER_DEVICE)) - 1);
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		cleared(t, false);
	for (unsigned int k = 0; k < GEN(TOPSPS); k++) {
		fill();
		tpb_reset_of(GEN(TOPSP_RESET)(k));
		for (unsigned int t = 0; t < GEN(TOPSPS); t++)
			cleared(t, GEN(TOPSP_RESET)(t) == GEN(TOPSP_RESET)(k));
		for (unsigned int nc = 0; nc < GEN(NC_PER_DEVICE); nc++)
			ck_assert_uint_eq(fwio_read(&f, CORE(nc) + GEN(TPB_SEM_READ)), 7);
		put(k, INC + 4 * 255, 1); /* and it works again, from nothing */
		ck_assert_uint_eq(get(k, READ + 4 * 255), 1);
	}
}
END_TEST

/* A reset by map 0, of the device or of PCI clears all TOP_SPs; error queues survive the first */
START_TEST(reset_of_all)
{
	fill();
	error_queue(LAST, PAGE);
	if (!_i) {
		tpb_reset_of(0);
	} else if (_i == 1) {
		apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
		apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	} else {
		ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	}
	for (unsigned int t = 0; t < GEN(TOPSPS); t++)
		cleared(t, true);
	put(LAST, DEC, 1);
	ck_assert_uint_eq(get32(error(LAST, 0) + NEURON_NQ_ENTRY_PHASE), !_i);
}
END_TEST

/* The guard: a TOP_SP is of the domain of the core that it belongs to */

#define MINE 5
#define OTHER (GEN(TOPSPS) / GEN(NC_PER_DEVICE)) /* core 1's first TOP_SP */

static struct ring guarded_queue(void)
{
	struct ring q;

	ext_write(&f, GEN(GUARD_CORE)(0), MINE);
	ext_write(&f, GEN(GUARD_CORE)(1), MINE + 1);
	ext_write(&f, GEN(GUARD_QUEUE)(0, 0), MINE);
	ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
	queue_init(&f, &q, 0, 0, 0x100000, 0x200000, 64);
	put32(mem(&f, 0x300000), 1);
	return q;
}

static const struct {
	uint64_t src, dst;
	bool fine;
} guarded_copies[] = {
	{ 0x300000, GEN(TOPSP)(0) + INC, true },
	{ 0x300000, GEN(TOPSP)(OTHER - 1) + EVENTS, true },
	{ 0x300000, GEN(TOPSP)(OTHER) + INC, false },
	{ 0x300000, GEN(TOPSP)(OTHER) + EVENTS, false },
	{ 0x300000, GEN(TOPSP)(LAST) + INC, false },
	{ GEN(TOPSP)(0) + READ, 0x300100, true },
	{ GEN(TOPSP)(OTHER - 1) + READ, 0x300100, true },
	{ GEN(TOPSP)(OTHER) + READ, 0x300100, false },
	{ GEN(TOPSP)(LAST) + EVENTS, 0x300100, false },
};

START_TEST(guarded)
{
	struct ring q = guarded_queue();

	copied(&q, guarded_copies[_i].src, guarded_copies[_i].dst, 4, guarded_copies[_i].fine);
	ck_assert_uint_eq(get(OTHER, READ) + get(OTHER, EVENTS) + get(LAST, READ), 0);
}
END_TEST

START_TEST(guarded_instruction)
{
	struct ring q = guarded_queue();
	uint8_t *words = mem(&f, 0x300000);

	neuron_isa_encode(&(struct neuron_insn){ .opcode = NEURON_OP_PROGRAM_START,
						 .isa_version = GEN(ISA) },
			  words);
	neuron_isa_encode(
		&(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
				       .write = { { GEN(TOPSP)(_i ? OTHER : 0) + INC, 1 } } },
		words + 64);
	copied(&q, 0x300000, CORE(0) + GEN(TPB_FIFO)(NEURON_ENG_SP), 128, true);
	ck_assert_uint_eq(get(0, READ), !_i);
	ck_assert_uint_eq(get(OTHER, READ), 0);
}
END_TEST

/* Errors go to the pages of the core's domain: here there is no table, so to none of the host's */
START_TEST(guarded_errors)
{
	const uint64_t regs = GEN(TOPSP_NQ)(OTHER) + GEN(NQ_ERROR_REGS);

	guarded_queue();
	error_queue(OTHER, PAGE);
	put(OTHER, DEC, 1);
	ck_assert_uint_eq(get32(error(OTHER, 0) + NEURON_NQ_ENTRY_PHASE), 0);
	apb_write(&f, regs + GEN(NQ_BASE_HI), 0);
	apb_write(&f, regs + GEN(NQ_BASE_LO), 0x340000);
	apb_write(&f, regs + GEN(NQ_SIZE), PAGE);
	put(OTHER, DEC, 1);
	ck_assert_uint_eq(get32(mem(&f, 0x340000) + NEURON_NQ_ENTRY_PHASE), 1);
}
END_TEST

#ifndef TRAINIUM2_GEN
/* A run of registers that ends in the window of one: it may be read as far as its owner lets it */
START_TEST(from_registers)
{
	struct ring q = guarded_queue();

	put(0, EVENTS, 6);
	copied(&q, GEN(TOPSP)(0) - 4, 0x300100, 8, true);
	ck_assert_uint_eq(get32(mem(&f, 0x300104)), 6);
	ext_write(&f, GEN(GUARD_CORE)(0), MINE + 1);
	put32(mem(&f, 0x300104), 1);
	copied(&q, GEN(TOPSP)(0) - 4, 0x300100, 8, false);
	ck_assert_uint_eq(get32(mem(&f, 0x300104)), 1);
}
END_TEST
#endif

/* Neighbours: by a port's window and by the chip's */

static struct fixture pair[2];

static void neighbour_write(uint64_t window, struct ring *q)
{
	copy(&pair[0], q, HOST(DATA), window | (GEN(TOPSP)(LAST) + INC + 4 * 2), 4);
	settle(&pair[0]);
}

START_TEST(neighbours)
{
	static const uint8_t route[] = GEN(ROUTES);
	struct ncore_fabric *fabric = fixtures_new(pair, 2, NEURON_TOPOLOGY_LINE);
	struct fixture *far = &pair[1];
	struct ring q;

	put32(pair[0].host + DATA, 5);
	queue_init(&pair[0], &q, 0, 0, HOST(0x400000), HOST(0x410000), 64);
	neighbour_write(GEN(WINDOW_EAST), &q);
	neighbour_write(GEN(WINDOW_FAR)(route[1]), &q);
	ck_assert_uint_eq(fwio_read(far, GEN(TOPSP)(LAST) + READ + 4 * 2), 10);
	copy(&pair[0], &q, GEN(WINDOW_EAST) | (GEN(TOPSP)(LAST) + READ), HOST(DATA), 16);
	copy(&pair[0], &q, GEN(WINDOW_EAST) | (GEN(TOPSP)(LAST) + READ + 4 * 2),
	     GEN(TOPSP)(0) + INC, 4);
	copy(&pair[0], &q, HOST(DATA + 8), GEN(WINDOW_FAR)(route[0]) | (GEN(TOPSP)(0) + INC), 4);
	settle(&pair[0]);
	ck_assert_uint_eq(get32(pair[0].host + DATA + 8), 10);
	ck_assert_uint_eq(fwio_read(&pair[0], GEN(TOPSP)(0) + READ), 20);
	ck_assert_uint_eq(fwio_read(&pair[0], GEN(WINDOW_EAST) | (GEN(TOPSP)(LAST) + READ + 8)),
			  10);
	ck_assert(!queue_stopped(&pair[0], &q));
	/* the other one's guard decides */
	ext_write(far, GEN(GUARD_CORE)(GEN_LAST_CORE), MINE);
	ext_write(far, NEURON_EXT_GUARD_CTRL, 1);
	ext_write(&pair[0], GEN(GUARD_QUEUE)(0, 0), _i ? MINE : MINE + 1);
	ext_write(&pair[0], NEURON_EXT_GUARD_CTRL, 1);
	queue_init(&pair[0], &q, 0, 0, 0x100000, 0x200000, 64);
	copy(&pair[0], &q, 0x300000, GEN(WINDOW_EAST) | (GEN(TOPSP)(LAST) + INC), 4);
	settle(&pair[0]);
	ck_assert_uint_eq(queue_stopped(&pair[0], &q), !_i);
	copy(&pair[0], &q, 0x300000, GEN(WINDOW_EAST) | (GEN(TOPSP)(LAST) + READ), 4);
	settle(&pair[0]);
	ck_assert(queue_stopped(&pair[0], &q)); /* what is for reading is not written */
	fixtures_free(pair, 2, fabric);
}
END_TEST

/* Saved states */

static void *save(size_t *size)
{
	void *buf;

	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, size), 0);
	ncore_chip_resume(f.chip);
	return buf;
}

static int load(const void *buf, size_t size, const char **why)
{
	int ret;

	ncore_chip_pause(f.chip);
	ret = ncore_chip_load(f.chip, buf, size, why);
	ncore_chip_resume(f.chip);
	return ret;
}

/* Words, what they were, and how far the queue is: the same state comes out again */
START_TEST(saved)
{
	struct ring q = start_queue();
	const char *why = NULL;
	size_t size, again_size;
	void *buf, *again;

	error_queue(LAST, PAGE);
	put(LAST, DEC, 1);
	put32(f.host + DATA, 3);
	for (unsigned int i = 0; i < 20; i++)
		copied(&q, HOST(DATA), GEN(TOPSP)(LAST) + INC + 4 * 255, 4, true);
	put(0, EVENTS + 4 * 17, 0x12345678);
	buf = save(&size);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ck_assert_uint_eq(get(LAST, READ + 4 * 255), 0);
	ck_assert_int_eq(load(buf, size, &why), 0);
	again = save(&again_size);
	ck_assert_uint_eq(size, again_size);
	ck_assert_mem_eq(buf, again, size);
	ck_assert_uint_eq(get(LAST, READ + 4 * 255), 60);
	ck_assert_uint_eq(get(0, EVENTS + 4 * 17), 0x12345678);
	ck_assert_uint_eq(get(1, EVENTS + 4 * 17), 0);
	put(LAST, DEC, 1);
	error_is(LAST, 1, NEURON_NERR_SEM_OVERFLOW, 0, 0, 1);
	free(again);
	free(buf);
}
END_TEST

/* Neither a reset nor loading a state without used TOP_SPs leaves anything of one that was used */
START_TEST(unused)
{
	const char *why = NULL;
	size_t size, again_size;
	void *buf = save(&size), *again;

	error_queue(LAST, PAGE);
	put(LAST, SET, 3);
	put(LAST, DEC, 4);
	put(0, EVENTS, 1);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	again = save(&again_size);
	ck_assert_uint_eq(size, again_size);
	ck_assert_mem_eq(buf, again, size);
	free(again);
	put(LAST, SET, 3);
	ck_assert_int_eq(load(buf, size, &why), 0);
	ck_assert_uint_eq(get(LAST, READ), 0);
	free(buf);
}
END_TEST

/* A saved word of which a byte does not fit its past is refused, and the chip has none of it */
START_TEST(damaged)
{
	const char *why = NULL;
	uint8_t *buf;
	size_t size, at;

	put(LAST, SET + 4 * 200, 0xfeedf00d);
	buf = save(&size);
	for (at = 0; at < size && get32(buf + at) != 0xfeedf00d; at++)
		;
	ck_assert_uint_lt(at, size);
	buf[at]++;
	ck_assert_int_lt(load(buf, size, &why), 0);
	ck_assert_str_eq(why, "a TOP_SP's state is refused");
	ck_assert_uint_eq(get(LAST, READ + 4 * 200), 0);
	buf[at]--;
	ck_assert_int_eq(load(buf, size, &why), 0);
	ck_assert_uint_eq(get(LAST, READ + 4 * 200), 0xfeedf00d);
	free(buf);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("topsp");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, words);
	tcase_add_test(t, accesses);
	tcase_add_test(t, random_writes);
	tcase_add_loop_test(t, errors, 0, GEN(TOPSPS));
	tcase_add_test(t, full);
	tcase_add_test(t, descriptors);
	tcase_add_loop_test(t, refuses, 0, sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(t, instructions);
	tcase_add_test(t, order);
	tcase_add_test(t, packet);
	tcase_add_test(t, together);
	tcase_add_test(t, reset_by_map);
	tcase_add_loop_test(t, reset_of_all, 0, 3);
	tcase_add_loop_test(t, guarded, 0, sizeof(guarded_copies) / sizeof(guarded_copies[0]));
	tcase_add_loop_test(t, guarded_instruction, 0, 2);
	tcase_add_test(t, guarded_errors);
#ifndef TRAINIUM2_GEN
	tcase_add_test(t, from_registers);
#endif
	tcase_add_loop_test(t, neighbours, 0, 2);
	tcase_add_test(t, saved);
	tcase_add_test(t, unused);
	tcase_add_test(t, damaged);
	suite_add_tcase(s, t);
	return check_run(s);
}
