/* SPDX-License-Identifier: MIT */
/*
 * Virtual times of transfers and of programs that overlap them with work, worked out by hand from
 * the table of costs (docs/hardware.md, Virtual time).
 */
#include "program.h"

#define BLOCK 4096u
#define SOURCE 0x2000000 /* host */
#define ONE 0x3f0000 /* host: a word that is 1 */
#define DATA 0x600000 /* in DRAM */

static const struct neuron_costs *cost;

static uint64_t cycles(unsigned int e, uint64_t n)
{
	return n * GEN_CHIP.target->engine[e].cycle;
}

/* The time of n instructions of the least cost */
static uint64_t insns(unsigned int e, uint64_t n)
{
	return cycles(e, n * cost->least);
}

static uint64_t kib(uint32_t per_kib, uint64_t bytes)
{
	return per_kib * bytes / 1024;
}

/* The time that a descriptor of so many bytes takes of its engine */
static uint64_t desc_time(uint64_t bytes)
{
	return cost->descriptor + kib(cost->dma_kib, bytes);
}

static uint64_t noted(unsigned int e, unsigned int i)
{
	const uint8_t *p = entry(e, i);

	ck_assert_uint_ne(get32(p + NEURON_NQ_ENTRY_PHASE), 0);
	return get64(p + NEURON_NQ_ENTRY_TIME);
}

static void begin(unsigned int e)
{
	prog_len[e] = 0;
	notify_queue(0, e, HOST(NOTIFY + e * NOTIFY_SIZE), NOTIFY_SIZE);
	emit_start(e);
}

/*
 * Makes a ring of n blocks from one place to another, with an increment of a semaphore behind them.
 */
static void make_ring(unsigned int engine, unsigned int queue, uint64_t from, uint64_t to,
		      unsigned int n, unsigned int semaphore)
{
	uint64_t rings = HOST(0x500000 + engine * 0x40000 + queue * 0x8000);
	struct ring q;
	unsigned int i;

	put32(f.host + ONE, 1);
	queue_init(&f, &q, engine, queue, rings, rings + 0x4000, 64);
	for (i = 0; i < n; i++) {
		write_desc(mem(&f, rings), i, from, BLOCK, true);
		write_desc(mem(&f, rings + 0x4000), i, to, BLOCK, false);
	}
	write_desc(mem(&f, rings), n, HOST(ONE), 4, true);
	write_desc(mem(&f, rings + 0x4000), n, CORE(0) + GEN(TPB_SEM_INC) + 4 * semaphore, 4,
		   false);
}

static void emit_ring(unsigned int engine, unsigned int queue, unsigned int n)
{
	emit(NEURON_ENG_SP,
	     &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
				    .write = { { tail_inc(engine, queue, true), n },
					       { tail_inc(engine, queue, false), n } } });
}

/* The time at which SP's i-th ring starts: after program_start and the wait for go() */
static uint64_t rung(unsigned int i)
{
	return insns(NEURON_ENG_SP, 2 + i);
}

static void start(void)
{
	static struct ring q[GEN(ENGINES)];
	unsigned int e;

	for (e = 0; e < GEN(ENGINES); e++)
		if (prog_len[e])
			fetch(0, e, &q[e]);
	settle(&f);
	go();
	settle(&f);
}

/*
 * Lets SP start rings one after the other, n blocks each: ring i on an engine of its own, or all on
 * the core's second one, with semaphore i. *first and *last get the times at which semaphores 0 and
 * last were counted.
 */
static void run_rings(unsigned int rings, bool own, uint64_t from, uint64_t to, unsigned int n,
		      uint64_t *first, uint64_t *last)
{
	const unsigned int one = NEURON_ENG_ACT, other = NEURON_ENG_POOL;
	unsigned int i;

	begin(one);
	begin(other);
	begin(NEURON_ENG_SP);
	emit_wait(NEURON_ENG_SP, 31, 1);
	for (i = 0; i < rings; i++) {
		make_ring(own ? 1 + i : 1, own ? 0 : i, from, to + i * BLOCK, n, i);
		emit_ring(own ? 1 + i : 1, own ? 0 : i, n + 1);
	}
	emit_wait(one, 0, 1);
	emit_notify(one, 0);
	emit_wait(other, rings - 1, 1);
	emit_notify(other, 0);
	start();
	*first = noted(one, 0) - insns(one, 1);
	*last = noted(other, 0) - insns(other, 1);
}

static void set_up(void)
{
	setup();
	cost = &GEN_CHIP.target->cost;
}

/*
 * Two rings of one UDMA engine alternate, a packet each, and together take the sum of both times;
 * at the end only the second one's increment is left.
 */
START_TEST(one_engine)
{
	uint64_t first, last, sum = 16 * desc_time(BLOCK);

	run_rings(2, false, HOST(SOURCE), HOST(SOURCE + 0x10000), 8, &first, &last);
	ck_assert_uint_eq(first, rung(0) + sum);
	ck_assert_uint_eq(last, rung(0) + sum + desc_time(4));
}
END_TEST

START_TEST(two_engines)
{
	uint64_t first, last, each = 8 * desc_time(BLOCK);

	run_rings(2, true, HOST(SOURCE), HOST(SOURCE + 0x10000), 8, &first, &last);
	ck_assert_uint_eq(first, rung(0) + each);
	ck_assert_uint_eq(last, rung(1) + each);
}
END_TEST

/* The core's DRAM: two blocks that are read and written there need more bandwidth than it has. */
START_TEST(dram)
{
	uint64_t first, last;

	run_rings(2, true, DATA, DATA + 0x10000, 1, &first, &last);
	ck_assert_uint_eq(first, rung(0) + desc_time(BLOCK));
	ck_assert_uint_eq(last, rung(0) + 4 * kib(cost->dram_kib, BLOCK) + cost->descriptor);
	ck_assert_uint_gt(last, rung(1) + desc_time(BLOCK));
}
END_TEST

/* The port of a core's memories: six engines in parallel need more bandwidth than it has. */
START_TEST(port)
{
	uint64_t first, last;

	run_rings(6, true, HOST(SOURCE), CORE(0), 1, &first, &last);
	ck_assert_uint_eq(first, rung(0) + desc_time(BLOCK));
	ck_assert_uint_eq(last, rung(0) + 6 * kib(cost->port_kib, BLOCK) + cost->descriptor);
	ck_assert_uint_gt(last, rung(5) + desc_time(BLOCK));
}
END_TEST

/* Beside the chip at hand others of a line, the last of which is slot n */
static struct fixture others[2];

static struct ncore_fabric *line(unsigned int n)
{
	struct ncore_fabric *fabric;

	fixture_free(&f);
	fixture_init(&f, 2);
	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_LINE, n + 1, &fabric), 0);
	fixture_new_in(&f, f.pool, fabric, 0);
	for (unsigned int i = 0; i < n; i++) {
		fixture_init(&others[i], 1);
		fixture_new_in(&others[i], others[i].pool, fabric, i + 1);
	}
	return fabric;
}

/* A link: the second engine's block waits for the first one's */
START_TEST(neighbour)
{
	struct ncore_fabric *fabric = line(1);
	uint64_t first, last, link;

	run_rings(2, true, HOST(SOURCE), GEN(WINDOW_EAST) | DATA, 1, &first, &last);
	link = kib(cost->link_kib, BLOCK);
	ck_assert_uint_eq(first, rung(0) + desc_time(BLOCK));
	ck_assert_uint_eq(last, rung(0) + 2 * link + cost->descriptor);
	ck_assert_uint_gt(last, rung(1) + desc_time(BLOCK));
	ncore_fabric_free(fabric);
	fixture_free(&others[0]);
}
END_TEST

/* Two links to a far chip: the first as to a neighbour, and each block's time on the second */
START_TEST(far)
{
	const uint64_t window = neuron_gen_far_window(&GEN_CHIP, 2);
	struct ncore_fabric *fabric;
	uint64_t first, last, link;

	if (!window)
		return;
	fabric = line(2);
	run_rings(2, true, HOST(SOURCE), window | DATA, 1, &first, &last);
	link = kib(cost->link_kib, BLOCK);
	ck_assert_uint_eq(first, rung(0) + link + desc_time(BLOCK));
	ck_assert_uint_eq(last, rung(0) + 3 * link + cost->descriptor);
	ncore_fabric_free(fabric);
	fixture_free(&others[0]);
	fixture_free(&others[1]);
}
END_TEST

/*
 * The queue of the lower number is first of two that start at the same time, whichever was rung
 * first.
 */
START_TEST(tie_of_queues)
{
	const unsigned int sp = NEURON_ENG_SP, engine = _i ? 2 : 1, queue = _i ? 0 : 1;

	memset(f.host + SOURCE, 0xaa, BLOCK);
	memset(f.host + SOURCE + BLOCK, 0xbb, BLOCK);
	begin(sp);
	emit_wait(sp, 31, 1);
	make_ring(1, 0, HOST(SOURCE), HOST(SOURCE + 0x10000), 1, 0);
	make_ring(engine, queue, HOST(SOURCE + BLOCK), HOST(SOURCE + 0x10000), 1, 0);
	emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
					.write = { { tail_inc(1, 0, true), 2 },
						   { tail_inc(engine, queue, true), 2 } } });
	emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_WRITE,
					.write = { { tail_inc(engine, queue, false), 2 },
						   { tail_inc(1, 0, false), 2 } } });
	start();
	ck_assert_uint_eq(f.host[SOURCE + 0x10000], 0xbb);
}
END_TEST

static void emit_memset(unsigned int e, uint32_t offset, uint16_t n, float value)
{
	emit(e, &(struct neuron_insn){
			.opcode = NEURON_OP_MEMSET,
			.partitions = 1,
			.dst = { offset, NEURON_DT_FP32, { 0, 0, 0, 1 }, { 1, 1, 1, n } },
			.scalar0.f = value,
		});
}

/*
 * A packet reads what an engine writes. If it starts a cycle earlier, it does not see that; if both
 * start at the same time, the engine is first, even when the queue has just had another packet.
 */
START_TEST(engine_and_queue)
{
	const unsigned int sp = NEURON_ENG_SP, act = NEURON_ENG_ACT;
	const uint64_t rings = HOST(0x500000), bytes = 40;
	uint64_t n = desc_time(bytes) / cycles(act, 1);
	struct ring q;
	float got;

	ck_assert_uint_eq(cycles(act, n), desc_time(bytes));
	queue_init(&f, &q, 1, 0, rings, rings + 0x4000, 64);
	write_desc(mem(&f, rings), 0, HOST(SOURCE), bytes, true);
	write_desc(mem(&f, rings + 0x4000), 0, HOST(SOURCE + BLOCK), bytes, false);
	write_desc(mem(&f, rings), 1, CORE(0), 4, true);
	write_desc(mem(&f, rings + 0x4000), 1, HOST(SOURCE + 2 * BLOCK), 4, false);
	begin(act);
	emit_wait(act, 31, 1);
	emit_memset(act, BLOCK, (uint16_t)(n + (_i == 1)), 1);
	emit_memset(act, 0, 1, 7);
	begin(sp);
	emit_wait(sp, 31, 1);
	emit_ring(1, 0, 2);
	start();
	memcpy(&got, f.host + SOURCE + 2 * BLOCK, sizeof(got));
	ck_assert_float_eq(got, _i == 1 ? 0 : 7);
}
END_TEST

/* Nor does it see what comes after the instruction that rang it. */
START_TEST(rung_at_once)
{
	const unsigned int sp = NEURON_ENG_SP;
	float got;

	make_ring(1, 0, CORE(0), HOST(SOURCE), 1, 0);
	begin(NEURON_ENG_ACT);
	emit_wait(NEURON_ENG_ACT, 31, 1);
	emit(NEURON_ENG_ACT, &(struct neuron_insn){ .opcode = NEURON_OP_NOP });
	emit_memset(NEURON_ENG_ACT, 0, 1, 7);
	begin(sp);
	emit_wait(sp, 31, 1);
	emit_ring(1, 0, 2);
	start();
	memcpy(&got, f.host + SOURCE, sizeof(got));
	ck_assert_float_eq(got, 0);
}
END_TEST

/*
 * Copies that the host rings take no share of what cores and queues compete for, because nobody
 * knows when they come: here the fetching of a long program by the engine that also copies.
 */
START_TEST(host_takes_none)
{
	const unsigned int one = NEURON_ENG_ACT;
	unsigned int i;

	begin(one);
	begin(NEURON_ENG_POOL);
	for (i = 0; i < 250; i++)
		emit(NEURON_ENG_POOL, &(struct neuron_insn){ .opcode = NEURON_OP_NOP });
	begin(NEURON_ENG_SP);
	emit_wait(NEURON_ENG_SP, 31, 1);
	make_ring(0, 9, HOST(SOURCE), HOST(SOURCE + 0x10000), 1, 0);
	emit_ring(0, 9, 2);
	emit_wait(one, 0, 1);
	emit_notify(one, 0);
	start();
	ck_assert_uint_eq(noted(one, 0) - insns(one, 1), rung(0) + desc_time(BLOCK));
}
END_TEST

/*
 * Double buffering. SP loads block k into buffer k % 2 when ACT is done with block k - 2; ACT
 * copies each block, which takes it 1024 cycles, and notifies. Without overlap a load, its count, a
 * copy and SP's two instructions follow each other; with overlap the slower of load and copy
 * decides.
 */
#define BLOCKS 20

static const struct neuron_insn *copy_block(unsigned int k)
{
	static struct neuron_insn insn;

	insn = (struct neuron_insn){
		.opcode = NEURON_OP_TENSOR_COPY,
		.partitions = 1,
		.src0 = { k % 2 * BLOCK, NEURON_DT_FP32, { 0, 0, 0, 1 }, { 1, 1, 1, BLOCK / 4 } },
		.dst = { 2 * BLOCK, NEURON_DT_FP32, { 0, 0, 0, 1 }, { 1, 1, 1, BLOCK / 4 } },
		.wait = NEURON_WAIT_SEM_GE,
		.wait_index = 0,
		.wait_value = k + 1,
		.update = NEURON_UPD_SEM_INC,
		.update_index = 1,
	};
	return &insn;
}

static void double_buffered(void)
{
	const unsigned int sp = NEURON_ENG_SP, act = NEURON_ENG_ACT;
	const uint64_t rings = HOST(0x500000);
	struct ring q;
	unsigned int k;

	put32(f.host + ONE, 1);
	queue_init(&f, &q, 1, 0, rings, rings + 0x4000, 64);
	begin(act);
	begin(sp);
	emit_wait(sp, 31, 1);
	for (k = 0; k < BLOCKS; k++) {
		write_desc(mem(&f, rings), 2 * k, HOST(SOURCE), BLOCK, true);
		write_desc(mem(&f, rings + 0x4000), 2 * k, CORE(0) + k % 2 * BLOCK, BLOCK, false);
		write_desc(mem(&f, rings), 2 * k + 1, HOST(ONE), 4, true);
		write_desc(mem(&f, rings + 0x4000), 2 * k + 1, CORE(0) + GEN(TPB_SEM_INC), 4,
			   false);
		if (k >= 2)
			emit_wait(sp, 1, k - 1);
		emit_ring(1, 0, 2);
		emit(act, copy_block(k));
		emit_notify(act, k);
	}
	start();
}

#ifdef SECOND_GEN
/* a load takes 50,000 + 256,000, so it is the copies that come back to back, with a notify each */
#define LOADED (2 * 64 * 700 + 306000) /* the first */
#define COPIED (1024 * 700)
#define PERIOD (COPIED + 64 * 700)
#define SERIAL (306000 + COPIED + 60 * 700 + 2 * 64 * 700)
#else
/* a load takes 64,000 + 1,024,000 and its count 64,000 + 1,000, back to back */
#define LOADED (2 * 64 * 1000 + 1088000)
#define COPIED (1024 * 1000)
#define PERIOD (1088000 + 65000)
#define SERIAL (1088000 + COPIED + 60 * 1000 + 2 * 64 * 1000)
#endif

START_TEST(overlap)
{
	unsigned int k;

	double_buffered();
	for (k = 0; k < BLOCKS; k++)
		ck_assert_uint_eq(noted(NEURON_ENG_ACT, k), LOADED + COPIED + (uint64_t)k * PERIOD);
	ck_assert_uint_lt(noted(NEURON_ENG_ACT, BLOCKS - 1), BLOCKS * (uint64_t)SERIAL * 3 / 4);
}
END_TEST

/* The host reacts to a notification with streams and semaphores of a second program. */
START_TEST(after_the_host)
{
	const unsigned int sp = NEURON_ENG_SP, act = NEURON_ENG_ACT, pool = NEURON_ENG_POOL;
	struct ring q;
	uint64_t told;

	begin(sp);
	emit(sp, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					.update = NEURON_UPD_SEM_INC,
					.update_index = 3 });
	emit_notify(sp, 0);
	fetch(0, sp, &q);
	settle(&f);
	told = insns(sp, 2);
	ck_assert_uint_eq(noted(sp, 0), told);
	begin(act);
	/* it was 0 before, and the host knows that it is not */
	emit(act, &(struct neuron_insn){
			  .opcode = NEURON_OP_NOP, .wait = NEURON_WAIT_SEM_LE, .wait_index = 3 });
	emit_notify(act, 0);
	fetch(0, act, &q);
	settle(&f);
	ck_assert_uint_eq(get32(entry(act, 0) + NEURON_NQ_ENTRY_PHASE), 0);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_DEC) + 4 * 3, 4, 1);
	settle(&f);
	ck_assert_uint_eq(noted(act, 0), told + insns(act, 2));
	begin(pool);
	emit_notify(pool, 0);
	fetch(0, pool, &q);
	settle(&f);
	ck_assert_uint_eq(noted(pool, 0), told + insns(act, 2) + insns(pool, 1));
}
END_TEST

/*
 * Another core counts a semaphore and is far ahead before anyone looks: each count has the time
 * that it had there, whichever core runs first and on however many threads.
 */
static void between_cores(unsigned int threads, bool ahead, uint64_t times[8])
{
	const unsigned int sp = NEURON_ENG_SP;
	struct ring q;
	unsigned int i;

	fixture_free(&f);
	fixture_init(&f, threads);
	fixture_new_chip(&f);
	begin(sp);
	for (i = 0; i < 8; i++)
		emit(sp, &(struct neuron_insn){
				 .opcode = NEURON_OP_WRITE,
				 .write = { { CORE(1) + GEN(TPB_SEM_INC) + 4 * 7, 1 } } });
	if (ahead) {
		fetch(0, sp, &q);
		settle(&f);
	}
	notify_queue(1, NEURON_ENG_ACT, HOST(NOTIFY), NOTIFY_SIZE);
	prog_len[NEURON_ENG_ACT] = 0;
	emit_start(NEURON_ENG_ACT);
	for (i = 0; i < 8; i++) {
		emit_wait(NEURON_ENG_ACT, 7, i + 1);
		emit_notify(NEURON_ENG_ACT, i);
	}
	fetch(1, NEURON_ENG_ACT, &q);
	if (!ahead)
		fetch(0, sp, &q);
	settle(&f);
	for (i = 0; i < 8; i++)
		times[i] = get64(f.host + NOTIFY + i * NEURON_NQ_ENTRY_SIZE + NEURON_NQ_ENTRY_TIME);
}

START_TEST(other_core)
{
	static const unsigned int threads[] = { 1, 2, 8 };
	const unsigned int act = NEURON_ENG_ACT;
	uint64_t times[8], free = insns(act, 1);
	unsigned int i;

	between_cores(threads[_i / 2], _i % 2, times);
	for (i = 0; i < 8; i++) {
		uint64_t counted = insns(NEURON_ENG_SP, 1 + i);

		free = free > counted ? free : counted;
		ck_assert_uint_eq(times[i], free + insns(act, 1));
		free += insns(act, 2);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("time");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, set_up, teardown);
	tcase_add_test(t, one_engine);
	tcase_add_test(t, two_engines);
	tcase_add_test(t, dram);
	tcase_add_test(t, port);
	tcase_add_test(t, neighbour);
	tcase_add_test(t, far);
	tcase_add_loop_test(t, tie_of_queues, 0, 2);
	tcase_add_loop_test(t, engine_and_queue, 0, 2);
	tcase_add_test(t, rung_at_once);
	tcase_add_test(t, host_takes_none);
	tcase_add_test(t, overlap);
	tcase_add_test(t, after_the_host);
	tcase_add_loop_test(t, other_core, 0, 6);
	suite_add_tcase(s, t);
	return check_run(s);
}
