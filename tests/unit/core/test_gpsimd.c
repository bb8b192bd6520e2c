/* SPDX-License-Identifier: MIT */
/*
 * CUSTOM_OP on a chip (docs/gpsimd.md): the same results with any number of threads and wherever the
 * chip is saved and loaded, while the other core works; what the guard takes from a core; a reset.
 */
#include "program.h"

#include <stdlib.h>

#include "neuron/hw/gpsimd.h"

/* Places in DRAM, all in its first MiB */
#define LIB(nc) (0x1000ull + 0x20000 * (nc))
#define ARGS(nc) (LIB(nc) + 0x1000)
#define OUT(nc) (LIB(nc) + 0x2000)
#define SAVED 0x100000
#define ERRORS 0x1800000 /* host: an error queue, for each core */
#define STEPS 0x80000

static const uint32_t program[] = {
	0x00400893, /* li a7, 4: which processor */
	0x00000073, /* ecall */
	0x00050413, /* mv s0, a0 */
	0x000802b7, /* lui t0, 0x80 */
	0x00040493, /* mv s1, s0 */
	0x00549313, /* slli t1, s1, 5 */
	0x006484b3, /* add s1, s1, t1 */
	0x00748493, /* addi s1, s1, 7 */
	0xfff28293, /* addi t0, t0, -1 */
	0xfe0298e3, /* bnez t0, -16 */
	0x000016b7, /* lui a3, 1 */
	0x0096a023, /* sw s1, 0(a3) */
	0x00000513, /* li a0, 0 */
	0x00040593, /* mv a1, s0 */
	0x00100613, /* li a2, 1 */
	0x00200893, /* li a7, 2: write */
	0x00000073, /* ecall */
	0x00000893, /* li a7, 0 */
	0x00000073, /* ecall */
};

static uint32_t expected(uint32_t i)
{
	for (unsigned int k = 0; k < STEPS; k++)
		i = i * 33 + 7;
	return i;
}

static void error_queue(unsigned int nc)
{
	const uint64_t regs = GEN(APB_PUTILS)(nc) + GEN(NQ_ERROR_REGS);
	const uint64_t base = HOST(ERRORS + 0x1000 * nc);

	apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)base);
	apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	apb_write(&f, regs + GEN(NQ_SIZE), 0x1000);
}

/* Library and argument of a core, whose processors write eight words */
static void prepare(unsigned int nc)
{
	struct neuron_gps_block block = { .magic = NEURON_GPS_MAGIC, .count = 1 };
	struct neuron_gps_arg arg = { .kind = NEURON_GPS_DRAM,
				      .dtype = NEURON_DT_INT32,
				      .access = NEURON_GPS_WRITES,
				      .ndim = 1,
				      .place = OUT(nc),
				      .size = { 8, 1, 1, 1, 1, 1, 1, 1 } };

	memcpy(mem(&f, LIB(nc)), program, sizeof(program));
	memcpy(mem(&f, ARGS(nc)), &block, sizeof(block));
	memcpy(mem(&f, ARGS(nc)) + sizeof(block), &arg, sizeof(arg));
	error_queue(nc);
}

/* gated: once semaphore 31 is 1 */
static void start_gated(unsigned int nc, bool gated)
{
	struct neuron_insn insn = { .opcode = NEURON_OP_CUSTOM_OP,
				    .custom = { .library = LIB(nc),
						.args = ARGS(nc),
						.bytes = sizeof(program),
						.mask = 0xff } };
	uint64_t rings = HOST(0x400000 + nc * 0x20000);
	struct ring q;

	if (gated) {
		insn.wait = NEURON_WAIT_SEM_GE;
		insn.wait_index = 31;
		insn.wait_value = 1;
	}
	prog_len[nc] = 0; /* a place in the host's memory */
	emit(nc, &insn);
	queue_init(&f, &q, nc * GEN(DMA_ENG_PER_NC), 0, rings, rings + 0x10000, 256);
	push(&f, &q, 0, HOST(PROG + nc * PROG_SIZE), prog_len[nc], FIRST_LAST);
	push(&f, &q, 1, CORE(nc) + GEN(TPB_FIFO)(NEURON_ENG_GPSIMD), prog_len[nc], 0);
	doorbell(&f, &q, 1, 1);
	doorbell(&f, &q, 0, 1);
}

static void start(unsigned int nc)
{
	start_gated(nc, false);
}

static void check(unsigned int nc)
{
	for (uint32_t i = 0; i < 8; i++)
		ck_assert_uint_eq(get32(mem(&f, OUT(nc) + 4 * i)), expected(i));
	ck_assert_uint_eq(get32(f.host + ERRORS + 0x1000 * nc + NEURON_NQ_ENTRY_PHASE), 0);
}

START_TEST(threads)
{
	fixture_free(&f);
	fixture_init(&f, (unsigned int)_i);
	fixture_new_chip(&f);
	for (unsigned int nc = 0; nc < 2; nc++)
		prepare(nc);
	for (unsigned int nc = 0; nc < 2; nc++)
		start(nc);
	settle(&f);
	for (unsigned int nc = 0; nc < 2; nc++)
		check(nc);
}
END_TEST

/* A chip with the same state, and the first MiB of its DRAM */
static void move(void)
{
	const char *reason = NULL;
	struct ncore_chip_config config;
	struct ncore_chip *next;
	size_t size;
	void *buf;

	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, &size), 0);
	fixture_config(&f, &config);
	ck_assert_int_eq(ncore_chip_new(&config, &next), 0);
	ncore_chip_pause(next);
	ck_assert_int_eq(ncore_chip_load(next, buf, size, &reason), 0);
	free(buf);
	memcpy(ncore_dram(next, NULL, NULL), ncore_dram(f.chip, NULL, NULL), SAVED);
	ncore_chip_free(f.chip);
	f.chip = next;
}

START_TEST(saved_in_between)
{
	unsigned int busy = 0;

	prepare(0);
	ncore_chip_pause(f.chip);
	start(0);
	for (int i = 0; i < 40; i++) {
		move(); /* at first before anything ran */
		ncore_chip_resume(f.chip);
		ncore_chip_pause(f.chip);
		busy += !ncore_chip_idle(f.chip);
	}
	ncore_chip_resume(f.chip);
	settle(&f);
	ck_assert_uint_gt(busy, 0);
	check(0);
}
END_TEST

/* A reset in the middle leaves a core that starts anew */
START_TEST(reset_in_between)
{
	prepare(0);
	start(0);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	settle(&f);
	prepare(0);
	start(0);
	settle(&f);
	check(0);
}
END_TEST

/* A core that has no domain any more reaches no memory */
START_TEST(guarded)
{
	const uint64_t executed =
		GEN(EXT) + GEN(PERF)(0) + NEURON_PERF_ENG(NEURON_ENG_GPSIMD) + NEURON_PERF_INSN;

	prepare(0);
	start_gated(0, true);
	settle(&f);
	if (_i)
		ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
	go();
	settle(&f);
	for (unsigned int i = 0; i < 8; i++)
		ck_assert_uint_eq(get32(mem(&f, OUT(0) + 4 * i)), _i ? 0 : expected(i));
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_EXT), executed, 8), !_i);
}
END_TEST

/* Addresses that are no DRAM: registers, the core's own window, the host's memory */
static const uint64_t foreign[] = { HOST(0x200000), GEN(TPB)(0), GEN(TPB)(1), GEN(REG)(0),
				    UINT64_MAX - 64 };

START_TEST(no_dram)
{
	const uint8_t *error = f.host + ERRORS;

	prepare(0);
	put64(mem(&f, ARGS(0)) + sizeof(struct neuron_gps_block) + 8, foreign[_i]);
	start(0);
	settle(&f);
	ck_assert_uint_eq(get32(error + NEURON_NQ_ENTRY_PHASE), 1);
	ck_assert_uint_eq(get32(error) >> 16, NEURON_NERR_CUSTOM_OP);
	ck_assert_uint_eq(get64(error + NEURON_NQ_ENTRY_DATA) >> 40, NEURON_GPS_ARGUMENT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpsimd");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, threads, 1, 9);
	tcase_add_test(tc, saved_in_between);
	tcase_add_test(tc, reset_in_between);
	tcase_add_loop_test(tc, guarded, 0, 2);
	tcase_add_loop_test(tc, no_dram, 0, sizeof(foreign) / sizeof(foreign[0]));
	suite_add_tcase(s, tc);
	return check_run(s);
}
