/* SPDX-License-Identifier: MIT */
/*
 * Queues and cores together: instruction fetch into FIFOs, doorbells rung by cores, notification
 * queues, the same order on every run, and a chip saved in the middle of its work
 * (docs/hardware.md, Execution).
 */
#include "program.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "moving.h"

/* A new chip with the gate of moving.h in the host's memory */
static void setup_gated(void)
{
	fixture_free(&f);
	fixture_init(&f, 2);
	f.ops.dma_rw = gated_rw;
	fixture_new_chip(&f);
}

/* Far more instructions than a FIFO holds, in order, from one queue that stalls again and again */
START_TEST(fetch_long)
{
	struct ring q;
	unsigned int i;

	emit_start(NEURON_ENG_SP);
	for (i = 0; i < 5000; i++)
		emit_notify(NEURON_ENG_SP, 1000 + i);
	notify_queue(1, NEURON_ENG_SP, HOST(NOTIFY + 3 * NOTIFY_SIZE), NOTIFY_SIZE);
	fetch(1, NEURON_ENG_SP, &q);
	settle(&f);
	for (i = 0; i < 5000; i++) {
		const uint8_t *p = entry(3, i);

		ck_assert_uint_eq(p[NEURON_NQ_ENTRY_TYPE], NEURON_NQ_NOTIFY);
		ck_assert_uint_eq(p[NEURON_NQ_ENTRY_ENGINE], NEURON_ENG_SP);
		ck_assert_uint_eq(get32(p + NEURON_NQ_ENTRY_ID), 1000 + i);
		ck_assert_uint_eq(get32(p + NEURON_NQ_ENTRY_PHASE), 1);
		if (i)
			ck_assert_uint_gt(get64(p + NEURON_NQ_ENTRY_TIME),
					  get64(p + NEURON_NQ_ENTRY_TIME - 32));
	}
	ck_assert_uint_eq(get32(entry(3, 5000) + NEURON_NQ_ENTRY_PHASE), 0);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_ENTRIES)(1)), 5000);
	ck_assert_uint_eq(
		ncore_mmio_read(f.chip, GEN(BAR_EXT),
				GEN(EXT) + GEN(PERF)(1) + NEURON_PERF_ENG(3) + NEURON_PERF_INSN, 8),
		5001);
}
END_TEST

/*
 * A small notify queue: phases 1, 2, 1, ...; a full queue drops entries and reports that; in device
 * memory too.
 */
START_TEST(notify_wrap)
{
	const uint64_t err = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS);
	const uint64_t regs = GEN(APB_PUTILS)(0) + GEN(NQ_NOTIFY_REGS)(0);
	struct ring q;
	unsigned int i, dropped;

	apb_write(&f, err + GEN(NQ_BASE_LO), 0x900000);
	apb_write(&f, err + GEN(NQ_SIZE), 4096); /* base high 0: in DRAM */
	notify_queue(0, 0, HOST(NOTIFY), 8 * 32);
	emit_start(0);

	for (i = 0; i < 20; i++)
		emit_notify(0, i);
	fetch(0, 0, &q);
	settle(&f);

	/* nobody wrote the head: 20 entries in 8 slots, laps 0, 1, 2 */
	for (i = 0; i < 8; i++) {
		ck_assert_uint_eq(get32(entry(0, i) + NEURON_NQ_ENTRY_ID), i < 4 ? 16 + i : 8 + i);
		ck_assert_uint_eq(get32(entry(0, i) + NEURON_NQ_ENTRY_PHASE), i < 4 ? 1 : 2);
	}

	/* from here on the consumer writes the head: slot 4 is next for both */
	apb_write(&f, regs + GEN(NQ_HEAD), 4);
	prog_len[0] = 0;
	for (i = 0; i < 20; i++)
		emit_notify(0, 100 + i);
	fetch(0, 0, &q);
	settle(&f);

	for (i = 0; i < 7; i++) /* one slot stays free */
		ck_assert_uint_eq(get32(entry(0, (4 + i) % 8) + NEURON_NQ_ENTRY_ID), 100 + i);
	dropped = ext_read(&f, GEN(NQ_OVERFLOWS)(0));
	ck_assert_uint_eq(dropped, 13);
	ck_assert_uint_eq(get32(mem(&f, 0x900000)) >> 16, NEURON_NERR_NQ_OVERFLOW);
	ck_assert_uint_eq(get32(mem(&f, 0x900000 + 28)), 1);
	ck_assert_uint_eq(get32(mem(&f, 0x900020 + 28)), 0); /* reported once */

	/* there is room again */
	apb_write(&f, regs + GEN(NQ_HEAD), 3);
	prog_len[0] = 0;
	emit_notify(0, 200);
	fetch(0, 0, &q);
	settle(&f);
	ck_assert_uint_eq(get32(entry(0, 3) + NEURON_NQ_ENTRY_ID), 200);
}
END_TEST

/* The phase of an entry, which the host polls, is written by itself after the rest of the entry. */
static struct {
	uint64_t addr, len;
} nq_writes[4];
static _Atomic unsigned int nq_write_count;

static int watched_rw(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	if (write && addr >= NOTIFY && addr < NOTIFY + NOTIFY_SIZE && nq_write_count < 4) {
		nq_writes[nq_write_count].addr = addr - NOTIFY;
		nq_writes[nq_write_count++].len = len;
	}
	return fixture_host_rw(opaque, addr, buf, len, write);
}

START_TEST(notify_phase_last)
{
	struct ring q;

	fixture_free(&f);
	fixture_init(&f, 2);
	f.ops.dma_rw = watched_rw;
	fixture_new_chip(&f);
	notify_queue(0, 0, HOST(NOTIFY), 8 * 32);
	emit_start(0);
	emit_notify(0, 1);
	emit_notify(0, 2);
	fetch(0, 0, &q);
	settle(&f);
	ck_assert_uint_eq(nq_write_count, 4);
	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_uint_eq(nq_writes[i].addr, i / 2 * NEURON_NQ_ENTRY_SIZE +
							     (i % 2 ? NEURON_NQ_ENTRY_PHASE : 0));
		ck_assert_uint_eq(nq_writes[i].len, i % 2 ? 4 : NEURON_NQ_ENTRY_PHASE);
	}
}
END_TEST

/* A descriptor into a FIFO must be whole words */
START_TEST(fifo_write_error)
{
	struct ring q;

	queue_init(&f, &q, 0, 0, HOST(0x400000), HOST(0x410000), 64);
	copy(&f, &q, HOST(PROG), CORE(0) + GEN(TPB_FIFO)(0), 63);
	settle(&f);
	ck_assert_uint_eq(ext_read(&f, GEN(DMA_STOPPED)(0)), 1);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_FIFO)(0), 4, 1);
	ck_assert_uint_ge(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 2);
}
END_TEST

/*
 * A program in which everything races inside one core: each engine rings its own queue, whose
 * packets copy through SBUF and count a semaphore, and notifies with the time it has.
 */
#define ROUNDS 100 /* longer than a FIFO: fetching stalls in a descriptor */

static void racy_program(struct ring fetchq[4])
{
	struct ring q;
	unsigned int e, i;

	put32(f.host + 0x3f0000, 1);
	for (e = 0; e < 4; e++) {
		uint64_t rings = HOST(0x500000 + e * 0x20000);

		queue_init(&f, &q, 1, e, rings, rings + 0x10000, 512);
		for (i = 0; i < 3 * ROUNDS; i += 3) {
			/* all engines write the same bytes of SBUF, then read them back */
			write_desc(mem(&f, rings), i, HOST(0x600000 + e * 4096), 512, true);
			write_desc(mem(&f, rings + 0x10000), i, CORE(0) + 0x40000, 512, false);
			write_desc(mem(&f, rings), i + 1, CORE(0) + 0x40000, 512, true);
			write_desc(mem(&f, rings + 0x10000), i + 1,
				   HOST(0x2000000 + (e * ROUNDS + i / 3) * 512), 512, false);
			write_desc(mem(&f, rings), i + 2, HOST(0x3f0000), 4, true);
			write_desc(mem(&f, rings + 0x10000), i + 2,
				   CORE(0) + GEN(TPB_SEM_INC) + 4 * e, 4, false);
		}

		notify_queue(0, e, HOST(NOTIFY + e * NOTIFY_SIZE), NOTIFY_SIZE);
		prog_len[e] = 0;
		emit_start(e);

		emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					       .wait = NEURON_WAIT_SEM_GE,
					       .wait_index = 31,
					       .wait_value = 1 });

		for (i = 0; i < ROUNDS; i++) {
			emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
						       .write = { { tail_inc(1, e, true), 3 },
								  { tail_inc(1, e, false), 3 } } });
			emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP });
			if (i % (e + 2) == 0) /* engines drift apart */
				emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
							       .wait = NEURON_WAIT_SEM_GE,
							       .wait_index = (uint8_t)e,
							       .wait_value = i + 1 });
			emit_notify(e, i);
		}

		emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					       .wait = NEURON_WAIT_SEM_EQ,
					       .wait_index = (uint8_t)e,
					       .wait_value = ROUNDS });
		emit_notify(e, 9999);
		fetch(0, e, &fetchq[e]);
	}

	for (i = 0; i < 4 * 4096; i++)
		f.host[0x600000 + i] = (uint8_t)(i * 7 + i / 4096);
	settle(&f); /* FIFOs are full, everyone waits for semaphore 31 */
}

#define RESULT_SIZE (4 * ROUNDS * 512)

static void racy_check(void)
{
	unsigned int e;

	for (e = 0; e < 4; e++)
		ck_assert_uint_eq(get32(entry(e, ROUNDS) + NEURON_NQ_ENTRY_ID), 9999);
}

static uint64_t hash(const uint8_t *p, size_t n, uint64_t h)
{
	for (; n; n--, p++)
		h = (h ^ *p) * 0x100000001b3ull;
	return h;
}

static uint64_t racy_result(void)
{
	uint64_t h = hash(f.host + 0x2000000, RESULT_SIZE, 0xcbf29ce484222325ull);
	unsigned int e;

	for (e = 0; e < 4; e++)
		h = hash(entry(e, 0), (ROUNDS + 1) * 32, h);
	return h;
}

/*
 * The time at which an engine has counted k times after a number of instructions, each of the least
 * cost
 */
static uint64_t counted(unsigned int e, unsigned int before, unsigned int k)
{
	const struct neuron_target *target = GEN_CHIP.target;

	return (uint64_t)(before + k) * target->cost.least * target->engine[e].cycle;
}

/*
 * Each engine counts a semaphore, and a queue that SP rings copies their counts again and again:
 * each time it finds the counts of its own time, whichever engine is ahead.
 */
START_TEST(order)
{
	const struct neuron_costs *cost = &GEN_CHIP.target->cost;
	uint64_t rings = HOST(0x500000), time = counted(NEURON_ENG_SP, 2, 0);
	enum { N = GEN(ENGINES), ROW = 32, COUNTS = 150 };
	struct ring q, fetchq[N];
	unsigned int e, i, k;

	queue_init(&f, &q, 1, 0, rings, rings + 0x10000, 512);
	for (i = 0; i < 100; i++) {
		write_desc(mem(&f, rings), i, CORE(0) + GEN(TPB_SEM_READ), 4 * N, true);
		write_desc(mem(&f, rings + 0x10000), i, HOST(0x2000000 + ROW * i), 4 * N, false);
	}

	for (e = 0; e < N; e++) {
		emit_start(e);
		emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					       .wait = NEURON_WAIT_SEM_GE,
					       .wait_index = 31,
					       .wait_value = 1 });
		if (e == NEURON_ENG_SP)
			emit(e,
			     &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
						    .write = { { tail_inc(1, 0, true), 100 },
							       { tail_inc(1, 0, false), 100 } } });
		for (i = 0; i < COUNTS; i++)
			emit(e, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
						       .update = NEURON_UPD_SEM_INC,
						       .update_index = (uint8_t)e });
		fetch(0, e, &fetchq[e]);
	}

	settle(&f);
	go();
	settle(&f);

	for (i = 0; i < 100; i++) {
		for (e = 0; e < N; e++) {
			for (k = 0; k < COUNTS; k++)
				if (counted(e, 2 + (e == NEURON_ENG_SP), k + 1) > time)
					break;
			ck_assert_uint_eq(get32(f.host + 0x2000000 + ROW * i + 4 * e), k);
		}
		time += cost->descriptor + 4ull * N * cost->dma_kib / 1024;
	}
}
END_TEST

START_TEST(deterministic)
{
	static const unsigned int threads[] = { 1, 2, 8, 2, 1, 3 };
	struct ring fetchq[4];
	uint64_t first = 0, h;
	unsigned int i;

	for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		fixture_free(&f);
		fixture_init(&f, threads[i]);
		fixture_new_chip(&f);
		racy_program(fetchq);
		go();
		settle(&f);
		racy_check();
		h = racy_result();
		if (!i)
			first = h;
		ck_assert_uint_eq(h, first);
	}
}
END_TEST

/* Pausing a chip at any boundary changes nothing. */
START_TEST(pause_changes_nothing)
{
	struct ring fetchq[4];
	uint64_t want, seed = 7;
	unsigned int i;

	racy_program(fetchq);
	go();
	settle(&f);
	want = racy_result();
	fixture_free(&f);
	setup();
	racy_program(fetchq);
	go();
	for (i = 0; i < 300; i++) {
		ncore_chip_pause(f.chip);
		if (rnd(&seed) & 1) {
			ncore_chip_pause(f.chip); /* pauses nest */
			ncore_chip_resume(f.chip);
		}
		ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_READ), 4);
		ncore_chip_resume(f.chip);
	}
	settle(&f);
	racy_check();
	ck_assert_uint_eq(racy_result(), want);
}
END_TEST

START_TEST(save_in_the_middle)
{
	struct ring fetchq[4];
	uint64_t want;

	racy_program(fetchq);
	go();
	settle(&f);
	want = racy_result();
	setup_gated();
	racy_program(fetchq);
	gate_set(5);
	go();
	ck_assert_uint_gt(move_to_the_end(&f, 60), 10);
	racy_check();
	ck_assert_uint_eq(racy_result(), want);
}
END_TEST

/*
 * A gather as libnrt makes it of a NEFF's (docs/nrt.md): SP rings a queue that copies the low bytes
 * of indices into the addresses of a second one's descriptors, which copies rows' addresses from a
 * list into those of a third one's, which copies the rows; each rings the next. Indices, list
 * and rows are in host memory, so that the gate stops each of the three.
 */
#define GATHERED 150
#define ROWS 90
#define ROW 96
#define INDEX 0x600000
#define LIST 0x610000 /* 64 KiB, at a multiple of it */
#define TABLE 0x640000
#define OUT 0x2000000
#define CHAIN(q, s2m) (0x10000u + 0x2000u * (2 * (q) + (s2m))) /* in DRAM */
#define BELLS 0x8000 /* in DRAM: words for the doorbells, and the semaphore's */

static void chain_desc(unsigned int q, bool s2m, uint32_t i, uint64_t addr, uint32_t len)
{
	write_desc(mem(&f, CHAIN(q, s2m)), i, addr, len, !s2m);
}

/*
 * The last packet of a queue rings both doorbells of the next one, all with the same count except
 * one.
 */
static void chain_bells(unsigned int q)
{
	uint8_t *tx = mem(&f, CHAIN(q, false)) + 16 * GATHERED;

	put32(mem(&f, BELLS + 8 * q), GATHERED + 1 + (q == 0)); /* two to the doorbells */
	put32(mem(&f, BELLS + 8 * q + 4), GATHERED + 1);
	chain_desc(q, false, GATHERED, BELLS + 8 * q, 8);
	put32(tx, get32(tx) | NEURON_UDMA_DESC_DMB);
	chain_desc(q, true, GATHERED, tail_inc(1, q + 1, true), 4);
	chain_desc(q, true, GATHERED + 1, tail_inc(1, q + 1, false), 4);
}

static void gather_descriptors(void)
{
	struct ring q;
	uint32_t i;

	for (i = 0; i < 3; i++)
		queue_init(&f, &q, 1, i, CHAIN(i, false), CHAIN(i, true), 256);
	for (i = 0; i < GATHERED; i++) {
		chain_desc(0, false, i, HOST(INDEX + 4 * i), 1);
		chain_desc(0, true, i, CHAIN(1, false) + 16 * i + 9, 1);
		chain_desc(1, false, i, HOST(LIST), 8);
		chain_desc(1, true, i, CHAIN(2, false) + 16 * i + 8, 8);
		chain_desc(2, false, i, 0, ROW);
		chain_desc(2, true, i, HOST(OUT + ROW * i), ROW);
	}
	chain_bells(0);
	chain_bells(1);
	put32(mem(&f, BELLS + 16), 1);
	chain_desc(2, false, GATHERED, BELLS + 16, 4);
	chain_desc(2, true, GATHERED, CORE(0) + GEN(TPB_SEM_INC), 4);
}

static void gather_program(struct ring *fetchq)
{
	const unsigned int sp = NEURON_ENG_SP;
	uint64_t seed = 11;
	uint32_t i;

	for (i = 0; i < 256; i++)
		put64(f.host + LIST + 256 * i, HOST(TABLE + ROW * (i % ROWS)));
	for (i = 0; i < ROWS * ROW; i++)
		f.host[TABLE + i] = (uint8_t)rnd(&seed);
	for (i = 0; i < GATHERED; i++)
		put32(f.host + INDEX + 4 * i, (uint32_t)(rnd(&seed) >> 32) % ROWS);
	gather_descriptors();
	notify_queue(0, sp, HOST(NOTIFY + sp * NOTIFY_SIZE), NOTIFY_SIZE);
	prog_len[sp] = 0;
	emit_start(sp);
	emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					.wait = NEURON_WAIT_SEM_GE,
					.wait_index = 31,
					.wait_value = 1 });
	emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
					.write = { { tail_inc(1, 0, true), GATHERED + 2 },
						   { tail_inc(1, 0, false), GATHERED + 1 } } });
	emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					.wait = NEURON_WAIT_SEM_GE,
					.wait_index = 0,
					.wait_value = 1 });
	emit_notify(sp, 9999);
	fetch(0, sp, fetchq);
	settle(&f);
}

static void gather_check(void)
{
	for (uint32_t i = 0; i < GATHERED; i++) {
		uint32_t index = get32(f.host + INDEX + 4 * i);

		ck_assert_msg(!memcmp(f.host + OUT + ROW * i, f.host + TABLE + ROW * index, ROW),
			      "row %u, index %u", i, index);
	}
	ck_assert_uint_eq(get32(entry(NEURON_ENG_SP, 0) + NEURON_NQ_ENTRY_ID), 9999);
}

START_TEST(save_in_a_gather)
{
	struct ring fetchq;
	uint8_t want[NEURON_NQ_ENTRY_SIZE];

	gather_program(&fetchq);
	go();
	settle(&f);
	gather_check();
	memcpy(want, entry(NEURON_ENG_SP, 0), sizeof(want)); /* its time as well */
	setup_gated();
	gather_program(&fetchq);
	gate_set(5);
	go();
	ck_assert_uint_gt(move_to_the_end(&f, 60), 10);
	gather_check();
	ck_assert_mem_eq(entry(NEURON_ENG_SP, 0), want, sizeof(want));
}
END_TEST

/*
 * A packet is one unit: the part that is not copied yet when it is saved is copied before an engine
 * continues.
 */
#define PARTS 10

START_TEST(save_in_a_packet)
{
	const uint64_t rings = HOST(0x500000);
	const unsigned int act = NEURON_ENG_ACT, sp = NEURON_ENG_SP;
	struct ring q, fetchq[2];
	unsigned int i;

	setup_gated();
	queue_init(&f, &q, 1, 0, rings, rings + 0x4000, 64);
	for (i = 0; i < PARTS; i++) {
		uint8_t *tx = mem(&f, rings) + 16 * i;

		write_desc(mem(&f, rings), i, CORE(0), 4096, true);
		put32(tx, (get32(tx) & ~FIRST_LAST) | (i ? 0 : NEURON_UDMA_DESC_FIRST) |
				  (i == PARTS - 1 ? NEURON_UDMA_DESC_LAST : 0));
		write_desc(mem(&f, rings + 0x4000), i, HOST(0x2000000 + 4096 * i), 4096, false);
	}

	memset(prog_len, 0, sizeof(prog_len));
	emit_start(act);
	emit_wait(act, 31, 1);
	for (i = 0; i < 150; i++)
		emit(act, &(struct neuron_insn){
				  .opcode = NEURON_OP_MEMSET,
				  .partitions = 1,
				  .dst = { 0, NEURON_DT_INT32, { 0, 0, 0, 1 }, { 1, 1, 1, 1 } },
				  .scalar0.f = (float)(i + 1) });

	emit_start(sp);
	emit_wait(sp, 31, 1);
	for (i = 0; i < 9; i++)
		emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_NOP });
	emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
					.write = { { tail_inc(1, 0, true), PARTS },
						   { tail_inc(1, 0, false), PARTS } } });

	fetch(0, act, &fetchq[0]);
	fetch(0, sp, &fetchq[1]);
	settle(&f);

	gate_set(3);
	go();
	ck_assert_uint_gt(move_to_the_end(&f, 3), 2);
	for (i = 0; i < PARTS; i++) /* both at the same time: the engine is first */
		ck_assert_uint_eq(get32(f.host + 0x2000000 + 4096 * i), 10);
}
END_TEST

START_TEST(load_refuses)
{
	const char *reason = NULL;
	struct ring fetchq[4];
	uint64_t seed = 99;
	uint8_t *copy_buf;
	void *buf;
	size_t size, n;
	unsigned int i, k;

	racy_program(fetchq);
	ck_assert_int_lt(ncore_chip_save(f.chip, &buf, &size), 0); /* not at rest */
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, &size), 0);

	copy_buf = malloc(size + 1);
	memcpy(copy_buf, buf, size);
	for (n = 0; n < size; n += 1 + n / 3) {
		ck_assert_int_lt(ncore_chip_load(f.chip, buf, n, &reason), 0);
		ck_assert_ptr_nonnull(reason);
	}

	ck_assert_int_lt(ncore_chip_load(f.chip, copy_buf, size + 1, &reason), 0);
	copy_buf[0] ^= 1;
	ck_assert_int_lt(ncore_chip_load(f.chip, copy_buf, size, &reason), 0);
	copy_buf[0] ^= 1;
	copy_buf[8] ^= 2;
	ck_assert_int_lt(ncore_chip_load(f.chip, copy_buf, size, &reason), 0);
	copy_buf[8] ^= 2;

	/* any damage is refused or harmless: the chip can still run and be reset */
	for (i = 0; i < 60; i++) {
		memcpy(copy_buf, buf, size);
		for (k = 0; k < 40; k++)
			copy_buf[12 + rnd(&seed) % (size - 12)] = (uint8_t)rnd(&seed);
		if (!ncore_chip_load(f.chip, copy_buf, size, &reason)) {
			ncore_chip_resume(f.chip);
			go();
			ncore_chip_pause(f.chip);
		}
	}

	ck_assert_int_eq(ncore_chip_load(f.chip, buf, size, &reason), 0);
	free(copy_buf);
	free(buf);
	ncore_chip_resume(f.chip);
	go();
	settle(&f);
	racy_check();
}
END_TEST

#define LAST GEN_LAST_CORE

/*
 * A TPB reset halts a core whose program is still being fetched: no instruction of it is executed
 * afterwards.
 */
START_TEST(reset_while_fetching)
{
	struct ring q;
	unsigned int i;

	emit_start(0);
	emit(0, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
				       .wait = NEURON_WAIT_SEM_GE,
				       .wait_index = 5,
				       .wait_value = 1 });
	for (i = 0; i < 3000; i++)
		emit_notify(0, i);
	notify_queue(LAST, 0, HOST(NOTIFY), NOTIFY_SIZE);
	fetch(LAST, 0, &q);
	settle(&f);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_TPB_RESET_MAP, 1u << LAST);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, NEURON_MISC_RESET_TPB);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(LAST) + GEN(TPB_SEM_SET) + 20, 4, 1);
	settle(&f);
	ck_assert_uint_eq(get32(entry(0, 0) + NEURON_NQ_ENTRY_PHASE), 0);
	ck_assert_uint_eq(queue_reg(&f, &q, 0, NEURON_UDMA_Q_STATUS), 0);
	/* and the core works again */
	prog_len[0] = 0;
	emit_start(0);
	emit_notify(0, 77);
	fetch(LAST, 0, &q);
	settle(&f);
	ck_assert_uint_eq(get32(entry(0, 0) + NEURON_NQ_ENTRY_ID), 77);
}
END_TEST

/* The next notification of ACT's program: fetched by a queue that belongs to the core's strand */
static void fetch_next(struct ring *q)
{
	uint64_t at = HOST(PROG + NEURON_ENG_ACT * PROG_SIZE + prog_len[NEURON_ENG_ACT]);

	emit_notify(NEURON_ENG_ACT, 7);
	push(&f, q, 0, at, NEURON_INSN_WORD, FIRST_LAST);
	push(&f, q, 1, CORE(0) + GEN(TPB_FIFO)(NEURON_ENG_ACT), NEURON_INSN_WORD, 0);
	doorbell(&f, q, 1, 1);
	doorbell(&f, q, 0, 1);
}

static bool noted(unsigned int i)
{
	return get32(entry(NEURON_ENG_ACT, i) + NEURON_NQ_ENTRY_PHASE);
}

#define LENT_TRIES 20

/*
 * A thread lends itself, starts notification i and executes it. False: a worker that was still
 * awake came first.
 */
static bool works_alone(struct ring *q, unsigned int i)
{
	bool alone;

	ncore_core_lend(f.chip, 0);
	fetch_next(q);
	usleep(20000);
	alone = !noted(i);
	while (ncore_core_work(f.chip, 0))
		;
	if (alone)
		ck_assert(noted(i));
	ncore_core_leave(f.chip, 0);
	settle(&f);
	ck_assert(noted(i));
	return alone;
}

/*
 * Work that finds nothing ends the loan: what is rung behind it is not left to a thread that went
 */
static void works_no_more(struct ring *q, unsigned int i)
{
	ncore_core_lend(f.chip, 0);
	while (ncore_core_work(f.chip, 0))
		;
	fetch_next(q);
	settle(&f);
	ck_assert(noted(i));
	ncore_core_leave(f.chip, 0);
}

/* A thread that lent itself to a core executes what it starts there; workers do when it leaves */
START_TEST(lent)
{
	struct ring q;
	unsigned int i = 0;

	notify_queue(0, NEURON_ENG_ACT, HOST(NOTIFY + NEURON_ENG_ACT * NOTIFY_SIZE), NOTIFY_SIZE);
	emit_start(NEURON_ENG_ACT);
	fetch(0, NEURON_ENG_ACT, &q);
	settle(&f);
	ck_assert(!ncore_core_work(f.chip, 0));

	while (!works_alone(&q, i++))
		ck_assert_uint_lt(i, LENT_TRIES);
	fetch_next(&q);
	settle(&f);
	ck_assert(noted(i++));

	ncore_core_lend(f.chip, 0);
	fetch_next(&q);
	ncore_core_leave(f.chip, 0);
	settle(&f);
	ck_assert(noted(i++));
	fetch_next(&q);
	settle(&f);
	ck_assert(noted(i++));
	/* a worker that is still awake would hide it once */
	for (unsigned int n = 0; n < 4; n++)
		works_no_more(&q, i++);
}
END_TEST

static pthread_t writer; /* who wrote the last notification */

static int signed_rw(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	if (write && addr >= NOTIFY)
		writer = pthread_self();
	return fixture_host_rw(opaque, addr, buf, len, write);
}

/*
 * What the host starts on a core is executed by who rings, and over when the doorbell's write
 * returns, unless the host is so busy that the time for it is.
 */
START_TEST(rung)
{
	struct ring q;
	unsigned int i = 0;

	fixture_free(&f);
	fixture_init(&f, 2);
	f.ops.dma_rw = signed_rw;
	fixture_new_chip(&f);
	notify_queue(0, NEURON_ENG_ACT, HOST(NOTIFY + NEURON_ENG_ACT * NOTIFY_SIZE), NOTIFY_SIZE);
	emit_start(NEURON_ENG_ACT);
	fetch(0, NEURON_ENG_ACT, &q);
	settle(&f);
	do {
		ck_assert_uint_lt(i, LENT_TRIES);
		fetch_next(&q);
		settle(&f);
		ck_assert(noted(i++));
	} while (!pthread_equal(writer, pthread_self()));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("strands");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, fetch_long);
	tcase_add_test(t, notify_wrap);
	tcase_add_test(t, notify_phase_last);
	tcase_add_test(t, fifo_write_error);
	tcase_add_test(t, order);
	tcase_add_test(t, deterministic);
	tcase_add_test(t, pause_changes_nothing);
	tcase_add_test(t, save_in_the_middle);
	tcase_add_test(t, save_in_a_gather);
	tcase_add_test(t, save_in_a_packet);
	tcase_add_test(t, load_refuses);
	tcase_add_test(t, reset_while_fetching);
	tcase_add_test(t, lent);
	tcase_add_test(t, rung);
	suite_add_tcase(s, t);
	return check_run(s);
}
