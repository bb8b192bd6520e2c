/* SPDX-License-Identifier: MIT */
/*
 * Transfers that instructions make: bytes against loops over the same runs, order beside a ring,
 * bounds, refusals, saved state (docs/isa.md, dma).
 */
#include "program.h"

#include <stdlib.h>

#define A 0x100000 /* the device's memory */
#define B 0x400000
#define C 0x800000
#define ERRORS 0x500000 /* host: core 0's error queue */
#define QUEUE 5 /* of the core's first DMA engine */
#define DONE 9 /* the semaphore */
#define SP NEURON_ENG_SP
#define GPSIMD NEURON_ENG_GPSIMD
/* The later ones have hardware for it as well; then both are tested */
#ifdef TRAINIUM2_GEN
#define HARDWARE true
#else
#define HARDWARE false
#endif
#define TEST_ENGINE(i) (HARDWARE && (i) % 2 ? SP : GPSIMD)

static void prepare(void)
{
	const uint64_t regs = GEN(APB_PUTILS)(0) + GEN(NQ_ERROR_REGS);

	setup();
	apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)HOST(ERRORS));
	apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(HOST(ERRORS) >> 32));
	apb_write(&f, regs + GEN(NQ_SIZE), 4096);
	fixture_fill(mem(&f, A), 0x100000, 7);
	fixture_fill(mem(&f, B), 0x100000, 8);
	fixture_fill(mem(&f, C), 0x100000, 9);
}

static struct neuron_insn move(uint8_t rd, uint32_t value)
{
	return (struct neuron_insn){
		.opcode = NEURON_OP_MOVE, .rd = rd, .immediate = true, .value = value
	};
}

static struct neuron_insn dma(uint64_t from, uint64_t to, uint32_t run)
{
	return (struct neuron_insn){
		.opcode = NEURON_OP_DMA,
		.dma_addr = { from, to },
		.dma_num = { { 1, 1, 1 }, { 1, 1, 1 } },
		.dma_run = run,
		.dma_engine = GEN_ENGINE_OF(0),
		.dma_queue = QUEUE,
		.dma_semaphore = DONE,
	};
}

static void emit_done(unsigned int e, uint32_t n)
{
	emit_wait(e, DONE, n);
	emit_notify(e, 1);
}

static void run(unsigned int e)
{
	struct ring q;

	notify_queue(0, e, HOST(NOTIFY + e * NOTIFY_SIZE), NOTIFY_SIZE);
	fetch(0, e, &q);
	settle(&f);
}

static bool notified(unsigned int e)
{
	return get32(entry(e, 0) + NEURON_NQ_ENTRY_PHASE) == 1;
}

static void error_is(uint16_t code, uint64_t data)
{
	const uint8_t *e = f.host + ERRORS;

	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_PHASE), 1);
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_CODE], code);
	ck_assert_uint_eq(get64(e + NEURON_NQ_ENTRY_DATA), data);
}

/* Runs in the order of the loops, from and to buffers that stand for the memories */
static void model(uint8_t *dst, const uint8_t *src, const struct neuron_insn *insn)
{
	const uint16_t *n = insn->dma_num[0], *k = insn->dma_num[1];
	uint32_t runs = 0, i = 0;
	int64_t *at = malloc((size_t)n[0] * n[1] * n[2] * sizeof(*at));

	for (int64_t a = 0; a < n[0]; a++)
		for (int64_t b = 0; b < n[1]; b++)
			for (int64_t c = 0; c < n[2]; c++)
				at[runs++] = a * insn->dma_step[0][0] + b * insn->dma_step[0][1] +
					     c * insn->dma_step[0][2];
	for (int64_t a = 0; a < k[0]; a++)
		for (int64_t b = 0; b < k[1]; b++)
			for (int64_t c = 0; c < k[2]; c++)
				memcpy(dst + a * insn->dma_step[1][0] + b * insn->dma_step[1][1] +
					       c * insn->dma_step[1][2],
				       src + at[i++], insn->dma_run);
	free(at);
}

static const struct {
	int32_t step[2][3];
	uint16_t num[2][3];
	uint32_t run;
} shapes[] = {
	{ { { 0 } }, { { 1, 1, 1 }, { 1, 1, 1 } }, 1 },
	{ { { 0 } }, { { 1, 1, 1 }, { 1, 1, 1 } }, 65536 },
	{ { { 0, 0, 100 }, { 0, 0, 64 } }, { { 1, 1, 9 }, { 1, 1, 9 } }, 64 },
	{ { { 5000, 700, 100 }, { 0, 0, 33 } }, { { 2, 3, 4 }, { 1, 1, 24 } }, 33 },
	{ { { 0, 0, 0 }, { 0, 0, 16 } }, { { 1, 1, 50 }, { 1, 1, 50 } }, 16 },
	{ { { 0, 4096, -64 }, { 20000, 0, 256 } }, { { 1, 4, 8 }, { 2, 1, 16 } }, 48 },
	{ { { 0, 0, 4096 }, { 0, 512, 4096 } }, { { 1, 1, 64 }, { 1, 8, 8 } }, 500 },
};

START_TEST(copies)
{
	static uint8_t want[0x100000];
	const unsigned int e = TEST_ENGINE(_i);
	struct neuron_insn insn = dma(A + 0x8000, B + 0x8000, shapes[_i / 2].run);

	memcpy(insn.dma_step, shapes[_i / 2].step, sizeof(insn.dma_step));
	memcpy(insn.dma_num, shapes[_i / 2].num, sizeof(insn.dma_num));
	memcpy(want, mem(&f, B), sizeof(want));
	model(want + 0x8000, mem(&f, A + 0x8000), &insn);
	emit_start(e);
	emit(e, &insn);
	emit_done(e, 1);
	run(e);
	ck_assert(notified(e));
	/* 64 cycles of the wait are the least; the queue begins 600 ns after the instruction */
	ck_assert_uint_gt(get64(entry(e, 0) + NEURON_NQ_ENTRY_TIME), 600000);
	ck_assert_mem_eq(mem(&f, B), want, sizeof(want));
}
END_TEST

/* Rows into partitions of SBUF and out again, a transfer for each, addresses from a register */
START_TEST(rows)
{
	const unsigned int e = TEST_ENGINE(_i), n = 20, size = 96;

	emit_start(e);
	for (unsigned int i = 0; i < n; i++) {
		struct neuron_insn in = dma(A, CORE(0) + 64, size),
				   out = dma(CORE(0) + 64, B + (n - 1) * 128, size);

		emit(e, (struct neuron_insn[]){ move(3, i) });
		in.dma_reg[0] = in.dma_reg[1] = out.dma_reg[0] = out.dma_reg[1] = 3;
		in.dma_scale[0] = 128;
		in.dma_scale[1] = out.dma_scale[0] = NEURON_SBUF_PART_STRIDE;
		in.dma_limit[1] = n * NEURON_SBUF_PART_STRIDE;
		out.dma_scale[1] = -128;
		emit(e, &in);
		emit(e, &out); /* behind it in the queue */
	}
	emit_done(e, 2 * n);
	run(e);
	ck_assert(notified(e));
	for (unsigned int i = 0; i < n; i++)
		ck_assert_mem_eq(mem(&f, B + (n - 1 - i) * 128), mem(&f, A + i * 128), size);
}
END_TEST

/* Beside a ring: what was rung before comes before, what is rung later comes later */
START_TEST(with_ring)
{
	const unsigned int e = TEST_ENGINE(_i), eng = GEN_ENGINE_OF(0);
	static uint8_t a[65536];
	struct ring q;
	uint8_t *tx = f.host + 0x4c0000, *rx = f.host + 0x4d0000;
	struct neuron_insn ring = { .opcode = NEURON_OP_WRITE,
				    .write = { { tail_inc(eng, QUEUE, true), 4 },
					       { tail_inc(eng, QUEUE, false), 4 } } };

	memcpy(a, mem(&f, A), sizeof(a));
	queue_init(&f, &q, eng, QUEUE, HOST(0x4c0000), HOST(0x4d0000), 64);
	for (uint32_t i = 0; i < 4; i++) { /* the later ones wait when the instruction comes */
		write_desc(tx, i, (_i / 2 ? B : A) + i * 16384, 16384, true);
		write_desc(rx, i, (_i / 2 ? C : B) + i * 16384, 16384, false);
	}
	emit_start(e);
	if (!(_i / 2))
		emit(e, &ring);
	emit(e, (struct neuron_insn[]){ _i / 2 ? dma(A, B, 65536) : dma(B, C, 65536) });
	if (_i / 2)
		emit(e, &ring);
	emit_done(e, 1);
	run(e);
	ck_assert(notified(e));
	ck_assert_mem_eq(mem(&f, C), a, sizeof(a));
}
END_TEST

/* A register's offset beyond the bound is an error, or the transfer ends without a copy. */
START_TEST(bounds)
{
	static const struct {
		int32_t value, scale;
		uint32_t limit;
		bool fine;
	} cases[] = {
		{ 4, 64, 257, true },  { 4, 64, 256, false }, { -1, 64, 256, false },
		{ -1, -64, 65, true }, { 0, 64, 1, true },    { INT32_MAX, INT32_MAX, 1000, false },
		{ -4, 64, 0, true },
	};
	const unsigned int e = GPSIMD, side = _i & 1, skip = _i >> 1 & 1, k = _i >> 2;
	struct neuron_insn insn = dma(A + 0x1000, B + 0x1000, 64);
	uint8_t before[64], *to = mem(&f, B + 0x1000);
	const uint8_t *from = mem(&f, A + 0x1000);
	int64_t v = (int64_t)cases[k].value * cases[k].scale;

	insn.dma_reg[side] = 9;
	insn.dma_scale[side] = cases[k].scale;
	insn.dma_limit[side] = cases[k].limit;
	insn.dma_skip = skip;
	memcpy(before, to, sizeof(before));
	emit_start(e);
	emit(e, (struct neuron_insn[]){ move(9, (uint32_t)cases[k].value) });
	emit(e, &insn);
	emit_done(e, 1);
	run(e);
	ck_assert(notified(e) == (cases[k].fine || skip));
	if (cases[k].fine) {
		ck_assert_mem_eq(to + (side ? v : 0), from + (side ? 0 : v), 64);
	} else {
		ck_assert_mem_eq(to, before, sizeof(before));
		if (!skip)
			error_is(NEURON_NERR_DMA_OOB, (uint64_t)v);
	}
}
END_TEST

/* Queues that are not the core's: another core's, no engine's, one with which the host copies */
START_TEST(refused)
{
	const uint8_t queues[][2] = { { GEN_ENGINE_OF(1), QUEUE },
				      { 255, 0 },
				      { GEN_ENGINE_OF(0), 16 } };
	struct neuron_insn insn = dma(A, B, 64);

	insn.dma_engine = queues[_i][0];
	insn.dma_queue = queues[_i][1];
	emit_start(GPSIMD);
	emit(GPSIMD, &insn);
	emit_done(GPSIMD, 1);
	run(GPSIMD);
	ck_assert(!notified(GPSIMD));
	error_is(NEURON_NERR_DMA_REFUSED, (uint64_t)queues[_i][0] << 8 | queues[_i][1]);
}
END_TEST

/* A queue of another domain than the core's */
START_TEST(guarded)
{
	struct neuron_insn insn = dma(A, B, 64);

	ext_write(&f, GEN(GUARD_CORE)(0), NEURON_GUARD_NONE);
	for (unsigned int i = 0; i < 8; i++)
		ext_write(&f, GEN(GUARD_QUEUE)(0, i), NEURON_GUARD_HOST);
	ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
	emit_start(GPSIMD);
	emit(GPSIMD, &insn);
	run(GPSIMD);
	ck_assert(memcmp(mem(&f, A), mem(&f, B), 64) != 0);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(0) + GEN(TPB_SEM_READ) + 4 * DONE, 4),
			  0);
}
END_TEST

/* A queue that is another domain's, though the core has one of its own */
START_TEST(guarded_by_queue)
{
	ext_write(&f, GEN(GUARD_CORE)(0), 5);
	for (unsigned int i = 0; i < 8; i++)
		ext_write(&f, GEN(GUARD_QUEUE)(GEN_ENGINE_OF(0), i),
			  i == QUEUE ? 5 + _i : NEURON_GUARD_HOST);
	ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
	emit_start(GPSIMD);
	emit(GPSIMD, (struct neuron_insn[]){ dma(A, B, 64) });
	run(GPSIMD);
	ck_assert_uint_eq(!memcmp(mem(&f, A), mem(&f, B), 64), !_i);
}
END_TEST

/* GpSimd makes transfers, and ACT and SP on chips whose hardware has them; other engines refuse. */
START_TEST(engines)
{
	const bool fine = _i == GPSIMD || (HARDWARE && (_i == NEURON_ENG_ACT || _i == SP));

	emit_start(_i);
	emit(_i, (struct neuron_insn[]){ dma(A, B, 64) });
	emit_done(_i, 1);
	run(_i);
	ck_assert(notified(_i) == fine);
	if (!fine)
		error_is(NEURON_NERR_ILLEGAL_INSN, NEURON_OP_DMA);
}
END_TEST

/* An address behind which nothing lies stops the queue, as a descriptor's does */
START_TEST(nowhere)
{
	const uint64_t hole = GEN_CORE_GAP;

	emit_start(GPSIMD);
	emit(GPSIMD, (struct neuron_insn[]){ dma(A, hole, 64) });
	emit_done(GPSIMD, 1);
	run(GPSIMD);
	ck_assert(!notified(GPSIMD));
	error_is(NEURON_NERR_DMA_ABORT, hole);
}
END_TEST

/* More than a queue holds */
START_TEST(too_many)
{
	emit_start(GPSIMD);
	for (unsigned int i = 0; i < 70; i++) {
		struct neuron_insn insn = dma(A, B, 65536);

		insn.dma_num[0][2] = insn.dma_num[1][2] = 2;
		emit(GPSIMD, &insn);
	}
	emit_done(GPSIMD, 70);
	run(GPSIMD);
	ck_assert(!notified(GPSIMD));
	error_is(NEURON_NERR_DMA_REFUSED, GEN_ENGINE_OF(0) << 8 | QUEUE);
}
END_TEST

/* Saved and loaded in the middle, reset in the middle */
START_TEST(in_the_middle)
{
	struct neuron_insn insn = dma(A, B, 48);
	const char *reason;
	struct ring q;
	size_t size;
	void *state;

	insn.dma_num[0][2] = insn.dma_num[1][2] = 20000;
	insn.dma_step[0][2] = insn.dma_step[1][2] = 48;
	emit_start(GPSIMD);
	emit(GPSIMD, &insn);
	emit(GPSIMD, (struct neuron_insn[]){ dma(A, C, 64) });
	emit_done(GPSIMD, 2);
	notify_queue(0, GPSIMD, HOST(NOTIFY + GPSIMD * NOTIFY_SIZE), NOTIFY_SIZE);
	ncore_chip_pause(f.chip);
	fetch(0, GPSIMD, &q);
	ncore_chip_resume(f.chip);
	for (unsigned int i = 0; i < 5; i++) {
		ncore_chip_pause(f.chip);
		ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
		ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
		free(state);
		ncore_chip_resume(f.chip);
	}
	if (_i) {
		apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, NEURON_MISC_RESET_TPB);
		apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
		settle(&f);
		return;
	}
	settle(&f);
	ck_assert(notified(GPSIMD));
	ck_assert_mem_eq(mem(&f, A), mem(&f, B), 20000 * 48);
	ck_assert_mem_eq(mem(&f, A), mem(&f, C), 64);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("dge");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, prepare, teardown);
	tcase_add_loop_test(tc, copies, 0, 2 * sizeof(shapes) / sizeof(shapes[0]));
	tcase_add_loop_test(tc, rows, 0, 2);
	tcase_add_loop_test(tc, with_ring, 0, 4);
	tcase_add_loop_test(tc, bounds, 0, 7 * 4);
	tcase_add_loop_test(tc, refused, 0, 3);
	tcase_add_test(tc, guarded);
	tcase_add_loop_test(tc, guarded_by_queue, 0, 2);
	tcase_add_loop_test(tc, engines, 0, 5);
	tcase_add_test(tc, nowhere);
	tcase_add_test(tc, too_many);
	tcase_add_loop_test(tc, in_the_middle, 0, 2);
	suite_add_tcase(s, tc);
	return check_run(s);
}
