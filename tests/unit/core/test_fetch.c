/* SPDX-License-Identifier: MIT */
/*
 * Programs that a core fetches from the device's memory: through queues and doorbells as a runtime
 * starts them, under the guard, while others write into them, and ended by resets (docs/isa.md,
 * Registers and control flow).
 */
#include "program.h"

#include <stdlib.h>
#include <time.h>

#define CODE 0x100000 /* the device's memory: each core's window, a page */
#define PAGE 4096u
#define DATA 0x200000
#define LOADED 0x300000 /* host: where words come from */
#define ERRORS 0x500000 /* host: error queues, a page a core */
#define ENGINE NEURON_ENG_SP

static void prepare(void)
{
	setup();
	for (unsigned int nc = 0; nc < GEN(NC_PER_DEVICE); nc++) {
		const uint64_t regs = GEN(APB_PUTILS)(nc) + GEN(NQ_ERROR_REGS);

		apb_write(&f, regs + GEN(NQ_BASE_LO), (uint32_t)HOST(ERRORS + nc * PAGE));
		apb_write(&f, regs + GEN(NQ_BASE_HI), (uint32_t)(HOST(ERRORS + nc * PAGE) >> 32));
		apb_write(&f, regs + GEN(NQ_SIZE), PAGE);
	}
}

static struct neuron_insn element(uint8_t opcode, uint8_t reg, uint64_t address)
{
	struct neuron_insn insn = {
		.opcode = opcode, .rtype = NEURON_DT_UINT32, .device = true, .address = address
	};

	if (opcode == NEURON_OP_TENSOR_LOAD)
		insn.rd = reg;
	else
		insn.rb = reg;
	return insn;
}

static struct neuron_insn add(uint8_t reg, uint32_t value)
{
	return (struct neuron_insn){
		.opcode = NEURON_OP_ALU, .rd = reg, .ra = reg, .immediate = true, .value = value
	};
}

static struct neuron_insn branch(uint8_t rel, uint8_t reg, uint32_t value, int32_t words)
{
	return (struct neuron_insn){ .opcode = NEURON_OP_COMPARE_BRANCH,
				     .rop = rel,
				     .ra = reg,
				     .immediate = rel != NEURON_REL_ALWAYS,
				     .value = value,
				     .target = words * 64 };
}

/* A core's window from instructions; lets the core fetch from it. queue: a fresh one */
static void start(unsigned int nc, const struct neuron_insn *insns, unsigned int n,
		  uint64_t address)
{
	struct ring q;

	for (unsigned int i = 0; i < n; i++)
		ck_assert_int_eq(neuron_isa_encode(&insns[i], mem(&f, CODE + nc * PAGE) + 64 * i),
				 1);
	prog_len[ENGINE] = 0;
	emit_start(ENGINE);
	emit(ENGINE, &(struct neuron_insn){
			     .opcode = NEURON_OP_FETCH, .address = address, .length = 64 * n });
	emit(ENGINE, &(struct neuron_insn){ .opcode = NEURON_OP_NOP,
					    .update = NEURON_UPD_SEM_INC,
					    .update_index = 7 });
	queue_init(&f, &q, GEN_ENGINE_OF(nc), 3, HOST(0x400000 + nc * 0x20000),
		   HOST(0x410000 + nc * 0x20000), 64);
	push(&f, &q, 0, HOST(PROG + ENGINE * PROG_SIZE), prog_len[ENGINE], FIRST_LAST);
	push(&f, &q, 1, CORE(nc) + GEN(TPB_FIFO)(ENGINE), prog_len[ENGINE], 0);
	doorbell(&f, &q, 1, 1);
	doorbell(&f, &q, 0, 1);
}

static uint32_t semaphore(unsigned int nc)
{
	return (uint32_t)ncore_mmio_read(f.chip, GEN(BAR_CORES),
					 GEN(TPB_BAR)(nc) + GEN(TPB_SEM_READ) + 4 * 7, 4);
}

static void stopped_with(unsigned int nc, uint16_t code, uint64_t data)
{
	const uint8_t *e = f.host + ERRORS + nc * PAGE;

	settle(&f);
	ck_assert_uint_eq(get32(e + NEURON_NQ_ENTRY_PHASE), 1);
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_ENGINE], ENGINE);
	ck_assert_uint_eq(e[NEURON_NQ_ENTRY_CODE], code);
	ck_assert_uint_eq(get64(e + NEURON_NQ_ENTRY_DATA), data);
	ck_assert_uint_eq(semaphore(nc), 0);
}

static uint64_t instructions(unsigned int nc)
{
	return ext_read(&f, GEN(PERF)(nc) + NEURON_PERF_ENG(ENGINE) + NEURON_PERF_INSN);
}

/* Returns once the core has executed many more */
static void goes_on(unsigned int nc)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	uint64_t before = instructions(nc);

	while (instructions(nc) < before + 10000)
		nanosleep(&ms, NULL);
}

static const struct neuron_insn endless[] = {
	{ .opcode = NEURON_OP_NOP },
	{ .opcode = NEURON_OP_COMPARE_BRANCH, .target = -64 },
};
#define ENDLESS endless, 2

START_TEST(counted)
{
	const struct neuron_insn insns[] = { add(1, 3),
					     branch(NEURON_REL_LTU, 1, 30000, -1),
					     element(NEURON_OP_TENSOR_STORE, 1, DATA),
					     { .opcode = NEURON_OP_FETCH_END } };

	for (unsigned int nc = 0; nc < GEN(NC_PER_DEVICE); nc++)
		start(nc, insns, 4, CODE + nc * PAGE);
	settle(&f);
	ck_assert_uint_eq(get32(mem(&f, DATA)), 30000);
	for (unsigned int nc = 0; nc < GEN(NC_PER_DEVICE); nc++)
		ck_assert_uint_eq(semaphore(nc), 1);
}
END_TEST

/* The host ends a loop that looks at a word of the device's memory */
START_TEST(host_word)
{
	const struct neuron_insn insns[] = { element(NEURON_OP_TENSOR_LOAD, 1, DATA),
					     branch(NEURON_REL_NE, 1, 5, -1),
					     { .opcode = NEURON_OP_FETCH_END } };

	start(0, insns, 3, CODE);
	goes_on(0);
	ck_assert(!ncore_chip_idle(f.chip));
	put32(mem(&f, DATA), 5);
	settle(&f);
	ck_assert_uint_eq(semaphore(0), 1);
}
END_TEST

/* A queue writes the end of the window over a branch that was executed many times */
START_TEST(overwritten_by_queue)
{
	struct ring q;

	start(0, ENDLESS, CODE);
	goes_on(0);
	neuron_isa_encode(&(struct neuron_insn){ .opcode = NEURON_OP_FETCH_END }, f.host + LOADED);
	queue_init(&f, &q, GEN_ENGINE_OF(1), 4, HOST(0x4c0000), HOST(0x4d0000), 64);
	copy(&f, &q, HOST(LOADED), CODE + 64, 64);
	settle(&f);
	ck_assert_uint_eq(semaphore(0), 1);
}
END_TEST

static void reset(uint32_t kind)
{
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_RESET, kind);
	apb_write(&f, GEN(APB_MISC_RAM) + NEURON_MISC_DOORBELL, 1);
}

/* A loop without an end leaves other cores alone, and a reset of its core ends it */
START_TEST(endless_loop)
{
	const struct neuron_insn insns[] = { add(1, 1),
					     branch(NEURON_REL_LTU, 1, 3000, -1),
					     { .opcode = NEURON_OP_FETCH_END } };
	const unsigned int last = GEN_LAST_CORE;

	start(0, ENDLESS, CODE);
	goes_on(0);
	start(last, insns, 3, CODE + last * PAGE);
	while (!semaphore(last))
		goes_on(0);
	reset(_i ? NEURON_MISC_RESET_DEVICE : NEURON_MISC_RESET_TPB);
	settle(&f);
	start(0, insns, 3, CODE);
	settle(&f);
	ck_assert_uint_eq(semaphore(0), 1);
}
END_TEST

/* Saved while it loops, and loaded, it loops on */
START_TEST(saved)
{
	const char *reason;
	size_t size;
	void *state;

	start(0, ENDLESS, CODE);
	goes_on(0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
	ncore_chip_resume(f.chip);
	free(state);
	goes_on(0);
	neuron_isa_encode(&(struct neuron_insn){ .opcode = NEURON_OP_FETCH_END },
			  mem(&f, CODE + 64));
	settle(&f);
	ck_assert_uint_eq(semaphore(0), 1);
}
END_TEST

/* The state goes to a new chip, and so do the memories that programs use here. */
static void move(void)
{
	struct ncore_chip_config config;
	struct ncore_chip *next;
	const char *reason;
	uint64_t bytes;
	size_t size;
	void *state;

	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
	fixture_config(&f, &config);
	ck_assert_int_eq(ncore_chip_new(&config, &next), 0);
	ncore_chip_pause(next);
	ck_assert_msg(!ncore_chip_load(next, state, size, &reason), "%s", reason);
	free(state);
	memcpy(ncore_dram(next, &bytes, NULL), ncore_dram(f.chip, NULL, NULL), LOADED);
	ncore_chip_free(f.chip);
	f.chip = next;
	ncore_chip_resume(f.chip);
}

#define BARRIER 9 /* its semaphore */
#define ROUNDS 20000 /* of which each may take two turns of the host's scheduler */

/* A program that waits for the sibling core at one barrier after the other, and stores how many */
static void run_barriers(unsigned int nc)
{
	const struct neuron_insn insns[] = {
		add(1, 1),
		{ .opcode = NEURON_OP_WRITE,
		  .write[0] = { .addr = CORE(!nc) + GEN(TPB_SEM_INC) + 4 * BARRIER, .value = 1 } },
		{ .opcode = NEURON_OP_NOP,
		  .wait = NEURON_WAIT_SEM_GE,
		  .wait_index = BARRIER,
		  .wait_value = 1,
		  .update = NEURON_UPD_SEM_DEC,
		  .update_index = BARRIER },
		branch(NEURON_REL_LTU, 1, ROUNDS, -3),
		element(NEURON_OP_TENSOR_STORE, 1, DATA + 4 * nc),
		{ .opcode = NEURON_OP_FETCH_END },
	};

	start(nc, insns, 6, CODE + nc * PAGE);
}

/* The core's engine waits for the barrier, third of its instructions; or, false, for nothing */
static void stands(unsigned int nc, bool waits)
{
	const uint64_t at = GEN(PERF)(nc) + NEURON_PERF_ENG(ENGINE);

	ck_assert_uint_eq(ext_read(&f, at + NEURON_PERF_STANDS),
			  waits ? NEURON_STANDS_SEM(BARRIER) : 0);
	ck_assert_uint_eq(ext_read(&f, at + NEURON_PERF_STANDS + 4), 0);
	ck_assert_uint_eq(ext_read(&f, at + NEURON_PERF_STANDS_AT), waits ? 128 : 0);
	ck_assert_uint_eq(ext_read(&f, at + NEURON_PERF_STANDS_AT + 4), 0);
}

/*
 * Barriers of two cores, as those of a logical one: the chip is moved while the first core waits
 * for one whose sibling has not begun, then while they go on, and no barrier is lost or passed
 * twice.
 */
START_TEST(saved_at_barriers)
{
	stands(0, false);
	run_barriers(0);
	settle(&f);
	stands(0, true);
	move();
	settle(&f);
	stands(0, true);
	stands(1, false);
	ck_assert_uint_eq(semaphore(0), 0);
	ck_assert_uint_eq(get32(mem(&f, DATA)), 0);
	run_barriers(1);
	for (unsigned int i = 0; i < 8; i++) {
		const uint64_t before = instructions(0);

		while (instructions(0) < before + 100 && !get32(mem(&f, DATA)))
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		move();
	}
	settle(&f);
	for (unsigned int nc = 0; nc < 2; nc++) {
		stands(nc, false);
		ck_assert_uint_eq(get32(mem(&f, DATA + 4 * nc)), ROUNDS);
		ck_assert_uint_eq(semaphore(nc), 1);
		ck_assert_uint_eq(
			ncore_mmio_read(f.chip, GEN(BAR_CORES),
					GEN(TPB_BAR)(nc) + GEN(TPB_SEM_READ) + 4 * BARRIER, 4),
			0);
	}
	run_barriers(0);
	settle(&f);
	stands(0, true);
	reset(NEURON_MISC_RESET_TPB);
	settle(&f);
	stands(0, false);
}
END_TEST

/*
 * Addresses that are not the device's memory: the host's, a core's, registers, none, a neighbour's
 */
static const uint64_t elsewhere[] = { HOST(LOADED),
				      CORE(0),
				      CORE(1),
				      CORE(0) + NEURON_PSUM_OFFSET,
				      GEN(EXT_ADDRESS),
				      GEN(WINDOW_EAST),
				      GEN(DRAM0_BASE) + GEN(DRAM_CHANNEL_SIZE) - 64 };

/* A core that has stopped works again after a reset */
static void works_again(unsigned int nc)
{
	const struct neuron_insn insns[] = { add(1, 1),
					     branch(NEURON_REL_LTU, 1, 3000, -1),
					     { .opcode = NEURON_OP_FETCH_END } };

	reset(NEURON_MISC_RESET_TPB);
	settle(&f);
	start(nc, insns, 3, CODE);
	settle(&f);
	ck_assert_uint_eq(semaphore(nc), 1);
}

START_TEST(fetch_elsewhere)
{
	start(0, ENDLESS, elsewhere[_i]);
	stopped_with(0, NEURON_NERR_FETCH_REFUSED, elsewhere[_i]);
	works_again(0);
}
END_TEST

/*
 * A store to an address that a program cannot reach changes neither the host's memory nor the
 * device's.
 */
START_TEST(element_elsewhere)
{
	const uint64_t at = elsewhere[_i / 2] + (_i / 2 == 6 ? 64 : 0);
	const struct neuron_insn insns[] = {
		add(1, 0x12345678),
		element(_i % 2 ? NEURON_OP_TENSOR_STORE : NEURON_OP_TENSOR_LOAD, 1, at)
	};
	uint8_t host[64], data[64];

	memset(f.host + LOADED, 0x5a, sizeof(host));
	memset(mem(&f, DATA), 0xa5, sizeof(data));
	memcpy(host, f.host + LOADED, sizeof(host));
	memcpy(data, mem(&f, DATA), sizeof(data));
	start(0, insns, 2, CODE);
	stopped_with(0, NEURON_NERR_ELEMENT_REFUSED, at);
	ck_assert_mem_eq(f.host + LOADED, host, sizeof(host));
	ck_assert_mem_eq(mem(&f, DATA), data, sizeof(data));
	works_again(0);
}
END_TEST

static void guard_on(uint8_t domain)
{
	ext_write(&f, GEN(GUARD_CORE)(0), domain);
	for (unsigned int i = 0; i < 8; i++)
		ext_write(&f, GEN(GUARD_QUEUE)(0, i), NEURON_GUARD_HOST);
	ext_write(&f, NEURON_EXT_GUARD_CTRL, 1);
}

/* A core of no domain neither fetches nor loads nor stores; but then its entries go nowhere, too */
START_TEST(of_no_domain)
{
	guard_on(NEURON_GUARD_NONE);
	start(0, ENDLESS, CODE);
	settle(&f);
	ck_assert_uint_eq(semaphore(0), 0);
	ck_assert_uint_lt(instructions(0), 2); /* program_start alone */
}
END_TEST

START_TEST(domain_taken_away)
{
	guard_on(5);
	start(0, ENDLESS, CODE);
	goes_on(0);
	guard_on(5); /* again: nothing has changed */
	goes_on(0);
	guard_on(NEURON_GUARD_NONE);
	settle(&f);
	ck_assert_uint_eq(semaphore(0), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fetch");
	TCase *tc = tcase_create("all");

	tcase_add_checked_fixture(tc, prepare, teardown);
	tcase_add_test(tc, counted);
	tcase_add_test(tc, host_word);
	tcase_add_test(tc, overwritten_by_queue);
	tcase_add_loop_test(tc, endless_loop, 0, 2);
	tcase_add_test(tc, saved);
	tcase_add_test(tc, saved_at_barriers);
	tcase_add_loop_test(tc, fetch_elsewhere, 0, 7);
	tcase_add_loop_test(tc, element_elsewhere, 0, 14);
	tcase_add_test(tc, of_no_domain);
	tcase_add_test(tc, domain_taken_away);
	suite_add_tcase(s, tc);
	return check_run(s);
}
