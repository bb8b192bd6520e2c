/* SPDX-License-Identifier: MIT */
/*
 * Counters of what the tensor engine's array did, at the places where the public driver reads them:
 * cycles by groups of rows, counted by hand.
 */
#include <stdlib.h>

#include "program.h"

/* By the public driver's offsets (docs/hardware.md); of its sets one tells of each thing */
#ifdef TRAINIUM2_GEN
#define CORES 8
#define COUNTERS(nc) \
	((nc) / 4 * 0x40000000ull + ((nc) / 2 % 2 ? 0x6541100 : 0x6141100) + (nc) % 2 * 0x180000)
#define SETS 9
#define SET 0x30
#define WEIGHTS 8
#else
#define CORES 2
#define COUNTERS(nc) (0x305b1100 + (nc)*0x700000ull)
#define SETS 5
#define SET 0x40
#define WEIGHTS 0
#endif
#define PRODUCTS 4
#define ROWS 4

static uint64_t counter(unsigned int nc, unsigned int row, unsigned int set, unsigned int offset)
{
	const uint64_t at = COUNTERS(nc) + (row * SETS + set) * SET + offset;
	const uint64_t value = apb_read(&f, at) | (uint64_t)apb_read(&f, at + 4) << 32;

	ck_assert_uint_eq(ncore_mmio_read(f.chip, 0, at, 8), value);
	return value;
}

static uint64_t products(unsigned int nc, unsigned int row)
{
	return counter(nc, row, PRODUCTS, 0);
}

static uint64_t weights(unsigned int nc, unsigned int row)
{
	return counter(nc, row, WEIGHTS, 8);
}

static uint64_t idle(unsigned int nc, unsigned int row)
{
	return counter(nc, row, PRODUCTS, 0x10);
}

static struct neuron_ap row(uint8_t dtype, uint32_t offset, uint16_t n)
{
	return (struct neuron_ap){
		.offset = offset, .dtype = dtype, .step = { 0, 0, 0, 1 }, .num = { 1, 1, 1, n }
	};
}

/*
 * Loads so many rows and 100 columns of weights, in the least time, and multiplies twice, with 300
 * and 70 columns.
 */
static void emit_work(uint8_t rows)
{
	const unsigned int pe = NEURON_ENG_PE;

	emit(pe, &(struct neuron_insn){ .opcode = NEURON_OP_LDWEIGHTS,
					.partitions = rows,
					.src0 = row(NEURON_DT_BF16, 0, 100) });
	emit(pe, &(struct neuron_insn){ .opcode = NEURON_OP_MATMUL,
					.partitions = rows,
					.src0 = row(NEURON_DT_BF16, 0x1000, 300),
					.dst = row(NEURON_DT_FP32, NEURON_PSUM_OFFSET, 300) });
	emit(pe, &(struct neuron_insn){ .opcode = NEURON_OP_MATMUL,
					.partitions = rows,
					.src0 = row(NEURON_DT_BF16, 0x1000, 70),
					.dst = row(NEURON_DT_FP32, NEURON_PSUM_OFFSET, 70) });
}

static void run(unsigned int nc)
{
	struct ring q;

	fetch(nc, NEURON_ENG_PE, &q);
	settle(&f);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 0);
}

static uint64_t engine_cycles(unsigned int nc)
{
	const uint64_t at = GEN(PERF)(nc) + NEURON_PERF_ENG(NEURON_ENG_PE);

	return ncore_mmio_read(f.chip, 2, at + NEURON_PERF_BUSY, 8) +
	       ncore_mmio_read(f.chip, 2, at + NEURON_PERF_IDLE, 8) +
	       ncore_mmio_read(f.chip, 2, at + NEURON_PERF_WAIT, 8);
}

/* 70 rows reach into the third of four groups of 32. What the engine did else is rest of all. */
START_TEST(counts)
{
	const unsigned int nc = _i ? CORES - 1 : 0;

	emit_start(NEURON_ENG_PE);
	emit_work(70);
	emit_work(32);
	emit_notify(NEURON_ENG_PE, 0);
	run(nc);
	for (unsigned int row = 0; row < ROWS; row++) {
		const unsigned int n = row < 1 ? 2 : row < 3 ? 1 : 0;

		ck_assert_uint_eq(products(nc, row), n * 370);
		ck_assert_uint_eq(weights(nc, row), n * 64);
		ck_assert_uint_eq(idle(nc, row), engine_cycles(nc) - n * 434);
	}
	/* start and notification, each the least */
	ck_assert_uint_ge(idle(nc, 0), 2 * GEN_CHIP.target->cost.least);
	for (unsigned int other = 0; other < CORES; other++)
		if (other != nc)
			ck_assert_uint_eq(products(other, 0) + weights(other, 0) + idle(other, 0),
					  0);
}
END_TEST

/* No other word of the sets tells of anything. */
START_TEST(elsewhere)
{
	emit_start(NEURON_ENG_PE);
	emit_work(128);
	run(0);
	for (unsigned int set = 0; set < SETS; set++)
		for (unsigned int at = 0; at < SET; at += 8)
			if (!(set == PRODUCTS && (at == 0 || at == 0x10)) &&
			    !(set == WEIGHTS && at == 8))
				ck_assert_uint_eq(counter(0, 3, set, at), 0);
	ck_assert_uint_eq(products(0, 3), 370);
	/* they are read-only */
	apb_write(&f, COUNTERS(0) + PRODUCTS * SET, 7);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 1);
	ck_assert_uint_eq(products(0, 0), 370);
}
END_TEST

START_TEST(saved)
{
	const char *reason;
	void *state;
	size_t size;

	emit_start(NEURON_ENG_PE);
	emit_work(64);
	run(1);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
	ncore_chip_resume(f.chip);
	teardown();
	setup();
	ck_assert_uint_eq(products(1, 0), 0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
	ncore_chip_resume(f.chip);
	ck_assert_uint_eq(products(1, 1), 370);
	ck_assert_uint_eq(products(1, 2), 0);
	ck_assert_uint_eq(weights(1, 1), 64);
	ck_assert_uint_eq(idle(1, 2), engine_cycles(1));
	free(state);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("array");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, counts, 0, 2);
	tcase_add_test(t, elsewhere);
	tcase_add_test(t, saved);
	suite_add_tcase(s, t);
	return check_run(s);
}
