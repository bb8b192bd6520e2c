/* SPDX-License-Identifier: MIT */
/*
 * The guard: what queues and cores of a domain reach, and what they do not (docs/hardware.md, The
 * guard). The table is built by hand in the host's memory.
 */
#include "chip_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "neuron/isa/codec.h"

#define PAGE 4096u
#define ROOT 0x2000000 /* the table: 64 KiB, a middle page, a leaf for each 16 MiB */
#define MID 0x2010000
#define LEAF 0x2011000
#define LEN 64
#define TX 0x100000
#define RX 0x101000
#define SRC 0x200000
#define DST 0x300000
#define OTHERS 0x400000 /* memory of another domain */
#define ERRORS 0x500000 /* error queues, a page a core */
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define MINE 5
#define THEIRS 6
#define CORE(nc) (GEN(TPB)(nc))
#define SEM_INC(nc, i) (CORE(nc) + GEN(TPB_SEM_INC) + 4 * (i))
#define DOORBELL(eng, q) \
	(GEN(REG)(GEN(APB_UDMA)(eng)) + NEURON_UDMA_S2M_Q(q) + NEURON_UDMA_Q_TAIL_INC)

static struct fixture f;
static struct ring r;

static void grant(uint64_t addr, uint64_t size, uint8_t domain)
{
	memset(f.host + LEAF + addr / PAGE, domain, size / PAGE);
}

static void fence(void)
{
	ext_write(&f, NEURON_EXT_GUARD_FENCE, 1);
}

static void error_queue(unsigned int nc, uint64_t base)
{
	const uint64_t regs = GEN(APB_PUTILS)(nc) + GEN(NQ_ERROR_REGS);

	apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)base);
	apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(base >> 32));
	apb_write(&f, regs + GEN(NQ_SIZE), PAGE);
}

/* Core 0 and its engines' queues 0 to 7 are MINE, core 1 and queue 0 of engine 3 are THEIRS */
static void guard_on(void)
{
	unsigned int i;

	put64(f.host + ROOT, MID);
	for (i = 0; i < HOST_SIZE >> NEURON_GUARD_MID_SHIFT; i++)
		put64(f.host + MID + 8 * i, LEAF + i * NEURON_GUARD_LEAF_ENTRIES);
	grant(TX, 2 * PAGE, MINE);
	grant(SRC, 64 * PAGE, MINE);
	grant(DST, 64 * PAGE, MINE);
	grant(ERRORS, PAGE, MINE);
	grant(ERRORS + PAGE, PAGE, THEIRS);
	grant(OTHERS, 64 * PAGE, THEIRS);
	ext_write(&f, NEURON_EXT_GUARD_ROOT_LO, ROOT);
	ext_write(&f, NEURON_EXT_GUARD_ROOT_HI, 0);
	ext_write(&f, GEN(GUARD_CORE)(0), MINE);
	ext_write(&f, GEN(GUARD_CORE)(1), THEIRS);
	for (i = 0; i < 8; i++)
		ext_write(&f, GEN(GUARD_QUEUE)(0, i), MINE);
	ext_write(&f, GEN(GUARD_QUEUE)(3, 0), THEIRS);
	ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
}

static void setup(void)
{
	unsigned int nc;

	fixture_init(&f, 2);
	fixture_new_chip(&f);
	for (nc = 0; nc < 4; nc++)
		error_queue(nc, HOST(ERRORS + nc * PAGE));
	memset(f.host + SRC, 0x11, 64 * PAGE);
	memset(f.host + OTHERS, 0x66, 64 * PAGE);
	queue_init(&f, &r, 0, 0, HOST(TX), HOST(RX), LEN);
}

static void teardown(void)
{
	fixture_free(&f);
}

static bool stopped(unsigned int eng, unsigned int queue)
{
	return ext_read(&f, GEN(DMA_STOPPED)(eng)) >> queue & 1;
}

/* Checks that the queue stopped and its core's error queue says at which address. */
static void check_abort(uint64_t addr)
{
	const uint8_t *e = f.host + ERRORS;

	settle(&f);
	ck_assert(stopped(0, 0));
	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_PHASE), 1);
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_CODE], NEURON_NERR_DMA_ABORT);
	ck_assert_uint_eq(get64(e + NEURON_NQ_ENTRY_DATA), addr);
}

static void check_fine(void)
{
	settle(&f);
	ck_assert(!stopped(0, 0));
}

/* After power-on there are no limits, and a device reset takes them away */
START_TEST(off)
{
	copy(&f, &r, HOST(OTHERS), HOST(DST), PAGE);
	check_fine();
	ck_assert_uint_eq(f.host[DST], 0x66);
	guard_on();
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_GUARD_CTRL), 0);
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_GUARD_ROOT_LO), 0);
	ck_assert_uint_eq(ext_read(&f, GEN(GUARD_CORE)(1)), 0);
	ck_assert_uint_eq(ext_read(&f, GEN(GUARD_QUEUE)(3, 0)), 0);
	queue_init(&f, &r, 0, 0, HOST(TX), HOST(RX), LEN);
	copy(&f, &r, HOST(OTHERS + 1), HOST(DST), 1);
	check_fine();
}
END_TEST

/* A ring of which only the beginning is the queue's is not read, not even that */
START_TEST(ring_to_the_border)
{
	const uint64_t base = SRC + 64 * PAGE - 512; /* 32 descriptors */
	uint32_t i;

	guard_on();
	queue_init(&f, &r, 0, 0, HOST(base), HOST(RX), LEN);
	for (i = 0; i < 32 + (uint32_t)_i; i++) {
		push(&f, &r, 0, HOST(SRC), 16, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		push(&f, &r, 1, HOST(DST + 16 * i), 16, 0);
	}
	doorbell(&f, &r, 1, i);
	doorbell(&f, &r, 0, i);
	settle(&f);
	ck_assert_int_eq(stopped(0, 0), _i);
	ck_assert_uint_eq(f.host[DST], _i ? 0 : 0x11);
}
END_TEST

START_TEST(own_memory)
{
	guard_on();
	copy(&f, &r, HOST(SRC + 100), HOST(DST + 200), 0);
	copy(&f, &r, HOST(SRC), 0x1000, PAGE); /* all domains may use DRAM */
	copy(&f, &r, 0x1000, HOST(DST + 63 * PAGE), PAGE);
	check_fine();
	ck_assert_uint_eq(f.host[DST + 200 + 0xffff], 0x11);
	ck_assert_uint_eq(f.host[DST + 64 * PAGE - 1], 0x11);
	ck_assert_uint_eq(f.host[DST + 200 + 0x10000], 0);
}
END_TEST

/*
 * Pages of no domain, of another domain, of the table itself, and addresses for which the table has
 * no entry
 */
static const uint64_t foreign[] = { OTHERS,	0x600000,   ROOT,	   LEAF,
				    1ull << 33, 1ull << 25, 0x3ffffffff000 };

static const struct {
	uint32_t word, from; /* bytes */
} ways[] = {
	{ 0, 64 },
	{ NEURON_DMA_COMPUTE(NEURON_DMA_CAST, NEURON_DT_INT8, NEURON_DT_INT16, 1), 32 },
	{ NEURON_DMA_COMPUTE(NEURON_DMA_COMPRESS, NEURON_DT_INT8, NEURON_DT_INT8, 1), 32 },
	{ NEURON_DMA_COMPUTE_TRANSPOSE(NEURON_DT_BF16, 4, 2), 64 },
};

/* Up to 64 bytes, copied or, where DMA engines do that, made of others, which are all the same */
static void transfer(unsigned int way, uint64_t src, uint64_t dst)
{
	uint8_t *d = f.host + RX + r.next[1] * NEURON_UDMA_DESC_SIZE;

	push(&f, &r, 0, src, ways[way].from, NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
	push(&f, &r, 1, dst, 64, 0);
	if (way)
		put32(d + 4, ways[way].word);
	doorbell(&f, &r, 1, 1);
	doorbell(&f, &r, 0, 1);
}

#define FOREIGN COUNT(foreign)
#define WAYS (GEN_CHIP.target->core > 1 ? COUNT(ways) : 1)

START_TEST(foreign_write)
{
	const uint64_t at = foreign[_i % FOREIGN];
	uint8_t before[64];

	guard_on();
	if (at < HOST_SIZE - 64)
		memcpy(before, f.host + at, sizeof(before));
	transfer((unsigned int)_i / FOREIGN, HOST(SRC), HOST(at));
	check_abort(HOST(at));
	if (at < HOST_SIZE - 64)
		ck_assert_mem_eq(before, f.host + at, sizeof(before));
}
END_TEST

START_TEST(foreign_read)
{
	guard_on();
	transfer((unsigned int)_i / FOREIGN, HOST(foreign[_i % FOREIGN]), HOST(DST));
	check_abort(HOST(foreign[_i % FOREIGN]));
	ck_assert_uint_eq(f.host[DST], 0);
}
END_TEST

/* A run is cut where the pages end */
START_TEST(partial)
{
	guard_on();
	grant(DST + PAGE, PAGE, THEIRS);
	copy(&f, &r, HOST(SRC), HOST(DST + PAGE - 10), 20);
	check_abort(HOST(DST + PAGE));
	ck_assert_uint_eq(f.host[DST + PAGE - 1], 0x11);
	ck_assert_uint_eq(f.host[DST + PAGE], 0);
}
END_TEST

START_TEST(ring_elsewhere)
{
	guard_on();
	queue_init(&f, &r, 0, 0, HOST(OTHERS), HOST(RX), LEN);
	copy(&f, &r, HOST(SRC), HOST(DST), 64);
	check_abort(HOST(OTHERS));
	ck_assert_uint_eq(f.host[DST], 0);
}
END_TEST

/* Domain 0 reaches nothing at all, 255 everything */
START_TEST(special_domains)
{
	guard_on();
	ext_write(&f, GEN(GUARD_QUEUE)(0, 0), NEURON_GUARD_HOST);
	copy(&f, &r, HOST(OTHERS), HOST(0x600000), 64);
	check_fine();
	ck_assert_uint_eq(f.host[0x600000], 0x66);
	ext_write(&f, GEN(GUARD_QUEUE)(0, 0), NEURON_GUARD_NONE);
	copy(&f, &r, HOST(SRC), HOST(DST), 64);
	check_abort(HOST(TX + NEURON_UDMA_DESC_SIZE));
}
END_TEST

/* A queue without a domain does not reach pages without a domain either. */
static const uint64_t nobodys[] = { HOST(TX), TX, CORE(2) };

START_TEST(nobody)
{
	guard_on();
	grant(TX, 2 * PAGE, NEURON_GUARD_NONE);
	ext_write(&f, GEN(GUARD_QUEUE)(0, 0), NEURON_GUARD_NONE);
	queue_init(&f, &r, 0, 0, nobodys[_i], nobodys[_i], LEN);
	doorbell(&f, &r, 1, 1);
	doorbell(&f, &r, 0, 1);
	check_abort(nobodys[_i]);
}
END_TEST

/* An address without a leaf in the table is refused, whatever lies at the bottom of memory. */
START_TEST(hole_in_the_table)
{
	const uint64_t hole = 1ull << NEURON_GUARD_MID_SHIFT;

	guard_on();
	put64(f.host + MID + 8, 0);
	memset(f.host, MINE, 64);
	memset(f.host + hole, 0x66, 64);
	copy(&f, &r, HOST(hole), HOST(DST), 64);
	check_abort(HOST(hole));
	ck_assert_uint_eq(f.host[DST], 0);
}
END_TEST

/* Pages that are taken away are no longer reached once the fence is written. */
START_TEST(revoked)
{
	guard_on();
	copy(&f, &r, HOST(SRC), HOST(DST), 64);
	check_fine();
	grant(DST, PAGE, NEURON_GUARD_NONE);
	fence();
	copy(&f, &r, HOST(SRC), HOST(DST + 64), 64);
	check_abort(HOST(DST + 64));
	ck_assert_uint_eq(f.host[DST + 64], 0);
}
END_TEST

/* Registers, FIFOs and memories of cores can be reached by the core's own domain. */
static const struct {
	uint64_t dst;
	uint32_t len;
	bool fine;
} targets[] = {
	{ SEM_INC(0, 3), 4, true },
	{ SEM_INC(1, 3), 4, false },
	{ CORE(0) + GEN(TPB_EVENTS), 4, true },
	{ CORE(1) + GEN(TPB_EVENTS), 4, false },
	{ CORE(2) + GEN(TPB_EVENTS), 4, false },
	{ CORE(0), 64, true },
	{ CORE(1), 64, false },
	{ CORE(0) + NEURON_PSUM_OFFSET, 64, true },
	{ CORE(1) + NEURON_PSUM_OFFSET, 64, false },
	{ CORE(0) + GEN(TPB_FIFO)(0), 64, true },
	{ CORE(1) + GEN(TPB_FIFO)(0), 64, false },
	{ DOORBELL(0, 7), 4, true },
	{ DOORBELL(0, 9), 4, false },
	{ DOORBELL(3, 0), 4, false },
	{ DOORBELL(2, 15), 4, false },
	{ GEN(REG)(GEN(APB_MISC_RAM)) + NEURON_MISC_METRIC, 4, false },
	{ GEN(EXT_ADDRESS) + NEURON_EXT_GUARD_CTRL, 4, false },
	{ 0x1000, 64, true },
};

START_TEST(device_targets)
{
	guard_on();
	memset(f.host + SRC, 0, 64);
	f.host[SRC] = 1;
	copy(&f, &r, HOST(SRC), targets[_i].dst, targets[_i].len);
	if (targets[_i].fine)
		check_fine();
	else
		check_abort(targets[_i].dst);
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_GUARD_CTRL), 1);
}
END_TEST

START_TEST(foreign_core_read)
{
	guard_on();
	copy(&f, &r, CORE(1), HOST(DST), 64);
	check_abort(CORE(1));
}
END_TEST

/*
 * What was read, or written, before it was forbidden: a piece like an allowed one asks too,
 * whatever memories the pieces before the guard were in
 */
START_TEST(like_one_before)
{
	const uint64_t core = CORE(1), dram = 0x600000;
	const bool reads = _i;

	copy(&f, &r, reads ? core : dram, reads ? dram : core, 4);
	settle(&f);
	guard_on();
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t at = i ? core + 4 * i : HOST(reads ? SRC : DST);

		push(&f, &r, 0, reads ? at : dram + 4 * i, 4,
		     NEURON_UDMA_DESC_FIRST | NEURON_UDMA_DESC_LAST);
		push(&f, &r, 1, reads ? dram + 4 * i : at, 4, 0);
	}
	doorbell(&f, &r, 1, 3);
	doorbell(&f, &r, 0, 3);
	check_abort(core + 4);
}
END_TEST

/* Copies between the chip's memory and cores, in which the host has no side */
static const struct {
	uint64_t src, dst, refused; /* 0: nothing */
} within[] = {
	{ 0x1000, CORE(1), CORE(1) }, { CORE(1), 0x1000, CORE(1) }, { CORE(0), CORE(1), CORE(1) },
	{ 0x1000, CORE(0), 0 },	      { CORE(0), 0x1000, 0 },
};

START_TEST(within_chip)
{
	guard_on();
	copy(&f, &r, within[_i].src, within[_i].dst, 64);
	if (within[_i].refused)
		check_abort(within[_i].refused);
	else
		check_fine();
}
END_TEST

/* Notifications go to the pages of the core's own domain */
START_TEST(notifications)
{
	guard_on();
	error_queue(0, HOST(OTHERS));
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_FIFO)(0), 4,
			 1); /* an error */
	ck_assert_uint_eq(f.host[OTHERS], 0x66);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_ENTRIES)(0)), 0);
	error_queue(0, HOST(ERRORS));
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_FIFO)(0), 4, 1);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_ENTRIES)(0)), 1);
	ck_assert_uint_eq(get32(f.host + ERRORS + NEURON_NQ_ENTRY_PHASE), 1);
}
END_TEST

static void feed(const struct neuron_insn *insn, unsigned int n)
{
	uint8_t words[128];
	unsigned int i;

	for (i = 0; i < n; i++) {
		ck_assert_int_eq(neuron_isa_encode(&insn[i], words), 1);
		memcpy(f.host + SRC + 64 * i, words, 64);
	}
	copy(&f, &r, HOST(SRC), CORE(0) + GEN(TPB_FIFO)(0), 64 * n);
}

/*
 * An instruction writes the same registers. The value of semaphore 9 shows whether the write
 * arrived.
 */
START_TEST(instructions)
{
	static const uint64_t addr[] = { SEM_INC(0, 9), SEM_INC(1, 9), DOORBELL(3, 0) };
	struct neuron_insn insn[2] = {
		{ .opcode = NEURON_OP_PROGRAM_START, .isa_version = GEN(ISA) },
		{ .opcode = NEURON_OP_WRITE },
	};
	const uint8_t *e = f.host + ERRORS;

	guard_on();
	insn[1].write[0].addr = addr[_i];
	insn[1].write[0].value = 1;
	feed(insn, 2);
	check_fine();
	if (!_i) {
		ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
						  GEN(TPB_BAR)(0) + GEN(TPB_SEM_READ) + 36, 4),
				  1);
		return;
	}
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_CODE], NEURON_NERR_WRITE_REFUSED);
	ck_assert_uint_eq(get64(e + NEURON_NQ_ENTRY_DATA), addr[_i]);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES),
					  GEN(TPB_BAR)(1) + GEN(TPB_SEM_READ) + 36, 4),
			  0);
}
END_TEST

START_TEST(saved)
{
	const char *reason = NULL;
	size_t size;
	void *buf;

	guard_on();
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &buf, &size), 0);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ck_assert_uint_eq(ext_read(&f, NEURON_EXT_GUARD_CTRL), 0);
	ck_assert_int_eq(ncore_chip_load(f.chip, buf, size, &reason), 0);
	ncore_chip_resume(f.chip);
	free(buf);
	ck_assert_uint_eq(ext_read(&f, GEN(GUARD_QUEUE)(3, 0)), THEIRS);
	copy(&f, &r, HOST(SRC), HOST(DST), 64);
	check_fine();
	ck_assert_uint_eq(f.host[DST], 0x11);
	copy(&f, &r, HOST(SRC), HOST(OTHERS), 64);
	check_abort(HOST(OTHERS));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("guard");
	TCase *t = tcase_create("guard");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, off);
	tcase_add_loop_test(t, ring_to_the_border, 0, 2);
	tcase_add_test(t, own_memory);
	tcase_add_loop_test(t, foreign_write, 0, FOREIGN * WAYS);
	tcase_add_loop_test(t, foreign_read, 0, FOREIGN * WAYS);
	tcase_add_test(t, partial);
	tcase_add_test(t, ring_elsewhere);
	tcase_add_test(t, special_domains);
	tcase_add_loop_test(t, nobody, 0, COUNT(nobodys));
	tcase_add_test(t, hole_in_the_table);
	tcase_add_test(t, revoked);
	tcase_add_loop_test(t, device_targets, 0, COUNT(targets));
	tcase_add_test(t, foreign_core_read);
	tcase_add_loop_test(t, like_one_before, 0, 2);
	tcase_add_loop_test(t, within_chip, 0, (int)(sizeof(within) / sizeof(within[0])));
	tcase_add_test(t, notifications);
	tcase_add_loop_test(t, instructions, 0, 3);
	tcase_add_test(t, saved);
	suite_add_tcase(s, t);
	return check_run(s);
}
