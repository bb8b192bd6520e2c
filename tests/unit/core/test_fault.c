/* SPDX-License-Identifier: MIT */
/*
 * Fault injection at the chip's registers: what each fault does, how often, to whom, and that the
 * chip is as before after the reset that docs/hardware.md (Faults) names for it
 */
#include "chip_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "neuron/isa/codec.h"

#define MISC GEN(APB_MISC_RAM)
#define MISC_DEV (GEN(REG)(GEN(APB_MISC_RAM)))
#define STATUS (MISC_DEV + GEN(READY_WORD))
#define CORE0 GEN(TPB)(0)
#define SRC 0x800000 /* host */
#define DST 0x900000
#define PROG 0xa00000
#define ERRORS 0x700000 /* error queue of core 0, 32 entries */
#define NOTES 0x710000 /* SP's notify queue of core 0 */
#define TX 0
#define RX 1

static struct fixture f;
static struct ring q; /* the driver's copy queue of core 0 */
static unsigned int errors; /* entries of the error queue that were read */

static void nq_set(uint64_t group, uint32_t host, uint32_t size)
{
	group += GEN(APB_PUTILS)(0);
	apb_write(&f, group + GEN(NQ_BASE_LO), host);
	apb_write(&f, group + GEN(NQ_BASE_HI), GEN(WINDOW_HOST) >> 32);
	apb_write(&f, group + GEN(NQ_SIZE), size);
}

/* Does what a driver does after a reset. */
static void bring_up(void)
{
	memset(f.host + ERRORS, 0, 1024);
	memset(f.host + NOTES, 0, 1024);
	errors = 0;
	nq_set(GEN(NQ_ERROR_REGS), ERRORS, 1024);
	nq_set(GEN(NQ_NOTIFY_REGS)(NEURON_ENG_SP), NOTES, 1024);
	queue_init(&f, &q, GEN(H2T_ENGINE)(0), GEN(H2T_QUEUE), HOST(0x400000), HOST(0x500000), 64);
}

static void setup(void)
{
	uint64_t seed = 7;
	unsigned int i;

	fixture_init(&f, 2);
	fixture_new_chip(&f);
	for (i = 0; i < 4096; i++)
		f.host[SRC + i] = (uint8_t)rnd(&seed);
	bring_up();
}

static void teardown(void)
{
	fixture_free(&f);
}

static int inject(const char *name, const char *spec)
{
	int fault = ncore_fault_find(name, strlen(name));

	ck_assert_int_ge(fault, 0);
	return ncore_fault_set(f.chip, (enum ncore_fault)fault, spec);
}

static void injected_is(const char *name, const char *want)
{
	char spec[NCORE_FAULT_SPEC_MAX];

	ncore_fault_get(f.chip, (enum ncore_fault)ncore_fault_find(name, strlen(name)), spec);
	ck_assert_str_eq(spec, want);
}

/* Returns the code of the next entry in the error queue, 0 if there is none. */
static unsigned int next_error(uint64_t *data)
{
	const uint8_t *e = f.host + ERRORS + errors * NEURON_NQ_ENTRY_SIZE;

	if (get32(e + NEURON_NQ_ENTRY_PHASE) != 1)
		return 0;
	errors++;
	if (data)
		*data = get64(e + NEURON_NQ_ENTRY_DATA);
	return get32(e) >> 16;
}

static bool stopped(void)
{
	return ext_read(&f, GEN(DMA_STOPPED)(q.engine)) >> q.queue & 1;
}

/* True if 1024 bytes arrived; otherwise none may have arrived. */
static bool copied(uint64_t src, uint64_t dst)
{
	memset(f.host + DST, 0, 1024);
	copy(&f, &q, src, dst, 1024);
	settle(&f);
	return !memcmp(f.host + DST, f.host + SRC, 1024);
}

static bool works(void)
{
	copy(&f, &q, HOST(SRC), 0x5000, 1024);
	return copied(0x5000, HOST(DST)) && !stopped() && !next_error(NULL);
}

static int reset(uint32_t kind)
{
	apb_write(&f, MISC + NEURON_MISC_RESET, kind);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	return (int)fwio_read(&f, MISC_DEV + NEURON_MISC_RESET);
}

static uint64_t sensor(enum ncore_sensor s)
{
	return ncore_sensor_get(f.chip, s);
}

/*
 * Checks the words that a driver reads: the low half counts uncorrected errors, the high half
 * corrected ones.
 */
static void ecc_words(uint32_t sram, uint32_t dram0, uint32_t dram1)
{
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_ECC_SRAM), sram);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_ECC_DRAM(0)), dram0);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_ECC_DRAM(1)), dram1);
}

START_TEST(specifications)
{
	static const char *const bad[] = {
		"",	    "x",       "1x",	      "-1",
		"1:",	    "1:after", "1:after=",    "1:core=" GEN(NO_CORE_NAME),
		"1:queue=", "on",      "99999999999", "1 "
	};
	static const char *const good[] = { "1",
					    "always",
					    "3:after=2",
					    "1:core=" GEN(LAST_CORE_NAME),
					    "always:after=7:core=0:queue=program",
					    "2:queue=copy" };
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(inject("dma-abort", "5"), 0);
		ck_assert_int_eq(inject("dma-abort", bad[i]), -EINVAL);
		injected_is("dma-abort", "5");
	}

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ck_assert_int_eq(inject("dma-abort", good[i]), 0);
		injected_is("dma-abort", good[i]);
	}

	ck_assert_int_eq(inject("dma-abort", "0"), 0);
	injected_is("dma-abort", "off");
	ck_assert_int_eq(inject("dma-abort", "off"), 0);

	ck_assert_int_eq(inject("link-east-down", "1"), -EINVAL);
	ck_assert_int_eq(inject("link-east-down", "on"), 0);
	injected_is("link-east-down", "on");

	ck_assert_int_eq(inject("link-down", "1"), -EINVAL);
	ck_assert_int_eq(inject("link-down", "on:port=99"), -EINVAL);
	ck_assert_int_eq(inject("link-down", "on:port="), -EINVAL);
	ck_assert_int_eq(inject("link-down", "on:port=1x"), -EINVAL);
	ck_assert_int_eq(inject("link-down", "on:port=1"), 0);
	injected_is("link-down", "on:port=1");
	ck_assert_int_eq(inject("link-down", "on"), 0);
	injected_is("link-down", "on");

	ck_assert_int_eq(inject("power-reading", "65536"), -EINVAL);
	ck_assert_int_eq(inject("power-reading", "65535"), 0);
	injected_is("power-reading", "65535");

	ck_assert_int_eq(inject("dram-ecc-corrected", "1:memory=4"), -EINVAL);
	ck_assert_int_eq(inject("dma-abort", "1:memory=0"), -EINVAL);
	ck_assert_int_eq(inject("dram-ecc-corrected", "always:core=0:memory=1:queue=copy"), 0);
	injected_is("dram-ecc-corrected", "always:core=0:memory=1:queue=copy");

	ck_assert_int_eq(ncore_fault_find("nothing", 7), -ENOENT);
	ck_assert_int_eq(ncore_fault_set(f.chip, NCORE_FAULT_COUNT, "1"), -EINVAL);
}
END_TEST

/*
 * Counts, skipped occasions and filters: a fault strikes exactly on the occasions that were asked
 * for.
 */
START_TEST(occasions)
{
	ck_assert_int_eq(inject("dma-abort", "1:after=3"), 0);
	ck_assert(works()); /* two descriptors are skipped */
	injected_is("dma-abort", "1:after=1");
	ck_assert(copied(HOST(SRC), HOST(DST)));
	ck_assert(!copied(HOST(SRC), HOST(DST)));
	injected_is("dma-abort", "off");
	ck_assert_uint_eq(ncore_fault_fired(f.chip, NCORE_FAULT_DMA_ABORT), 1);
	bring_up();
	ck_assert_int_eq(inject("dma-abort", "always:core=1"), 0);
	ck_assert(works());
	ck_assert_int_eq(inject("dma-abort", "always:queue=program"), 0);
	ck_assert(works());
	injected_is("dma-abort", "always:queue=program");
	ck_assert_int_eq(inject("dma-abort", "1:core=0:queue=copy"), 0);
	ck_assert(!copied(HOST(SRC), HOST(DST)));
}
END_TEST

START_TEST(dma_abort)
{
	uint64_t data;

	ck_assert_int_eq(inject("dma-abort", "1"), 0);
	ck_assert(!copied(HOST(SRC), HOST(DST)));
	ck_assert(stopped());
	ck_assert_uint_eq(next_error(&data), NEURON_NERR_DMA_ABORT);
	ck_assert_uint_eq(data, HOST(SRC));
	/* doorbells change nothing until the queue is reset */
	ck_assert(!copied(HOST(SRC), HOST(DST)));
	bring_up();
	ck_assert(works());
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 0);
}
END_TEST

START_TEST(dma_hang)
{
	ck_assert_int_eq(inject("dma-hang", "1"), 0);
	ck_assert(!copied(HOST(SRC), HOST(DST)));
	ck_assert(!stopped());
	ck_assert_uint_eq(next_error(NULL), 0);
	ck_assert_uint_eq(queue_reg(&f, &q, TX, NEURON_UDMA_Q_STATUS), 1);
	ck_assert_uint_eq(queue_reg(&f, &q, TX, NEURON_UDMA_Q_HEAD), 0);
	ck_assert_uint_eq(apb_read(&f, GEN(APB_UDMA)(q.engine) + NEURON_UDMA_M2S_STATE), 0x1111);
	ck_assert(!copied(HOST(SRC), HOST(DST)));
	bring_up();
	ck_assert(works());
}
END_TEST

START_TEST(dram_ecc)
{
	uint64_t data;

	copy(&f, &q, HOST(SRC), GEN(DRAM1_BASE), 1024);
	copy(&f, &q, HOST(SRC), 0x0, 1024);
	ck_assert_int_eq(inject("dram-ecc-corrected", "3"), 0);
	/* a copy that does not read DRAM is no occasion */
	ck_assert(copied(HOST(SRC), HOST(DST)));
	ck_assert(copied(GEN(DRAM1_BASE), HOST(DST)));
	ck_assert(copied(0, HOST(DST)));
	ck_assert(copied(0, HOST(DST)));
	ck_assert(copied(0, HOST(DST)));
	ecc_words(0, 2u << 16, 1u << 16);
	ck_assert_int_eq(inject("dram-ecc-uncorrected", "1"), 0);
	ck_assert(!copied(GEN(DRAM1_BASE), HOST(DST)));
	ck_assert(stopped());
	ck_assert_uint_eq(next_error(&data), NEURON_NERR_DRAM_UE);
	ck_assert_uint_eq(data, GEN(DRAM1_BASE));
	ecc_words(0, 2u << 16, 1u << 16 | 1);
	ck_assert_int_eq(reset(NEURON_MISC_RESET_DEVICE), 0);
	bring_up();
	ck_assert(works());
	/* a reset does not clear the memory's error counts, which end at their width */
	ecc_words(0, 2u << 16, 1u << 16 | 1);
	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM(0, 0), 0xffff);
	ck_assert_int_eq(inject("dram-ecc-corrected", "1"), 0);
	ck_assert(works());
	ck_assert_uint_eq(sensor(NCORE_SENSOR_DRAM(0, 0)), 0xffff);
}
END_TEST

/* An ECC fault of one channel or stack counts only reads of that one. */
START_TEST(dram_ecc_memory)
{
	copy(&f, &q, HOST(SRC), GEN(DRAM1_BASE), 1024);
	copy(&f, &q, HOST(SRC), 0x0, 1024);
	ck_assert_int_eq(inject("dram-ecc-corrected", "1:after=1:memory=1"), 0);
	ck_assert_int_eq(inject("dram-ecc-uncorrected", "1:memory=0"), 0);
	for (unsigned int i = 0; i < 3; i++)
		ck_assert(copied(GEN(DRAM1_BASE), HOST(DST)));
	ecc_words(0, 0, 1u << 16);
	ck_assert(!copied(0, HOST(DST)));
	ck_assert(stopped());
	ck_assert_uint_eq(next_error(NULL), NEURON_NERR_DRAM_UE);
	ecc_words(0, 1, 1u << 16);
}
END_TEST

START_TEST(sram_ecc_dma)
{
	copy(&f, &q, HOST(SRC), CORE0, 1024);
	ck_assert_int_eq(inject("sram-ecc-corrected", "1"), 0);
	ck_assert(copied(CORE0, HOST(DST)));
	ecc_words(1u << 16, 0, 0);
	ck_assert_int_eq(inject("sram-ecc-uncorrected", "1"), 0);
	ck_assert(!copied(CORE0, HOST(DST)));
	ck_assert_uint_eq(next_error(NULL), NEURON_NERR_SRAM_UE);
	ecc_words(1u << 16 | 1, 0, 0);
	bring_up();
	ck_assert(works());
}
END_TEST

/* Programs: instructions through the copy queue into an engine's FIFO */
static void run_insn(unsigned int engine, const struct neuron_insn *insn)
{
	ck_assert_int_eq(neuron_isa_encode(insn, f.host + PROG), 1);
	copy(&f, &q, HOST(PROG), CORE0 + GEN(TPB_FIFO)(engine), 64);
	settle(&f);
}

static void run_notify(void)
{
	run_insn(NEURON_ENG_SP, &(struct neuron_insn){ .opcode = NEURON_OP_NOTIFY, .id = 5 });
}

static bool noted(unsigned int i)
{
	return get32(f.host + NOTES + i * NEURON_NQ_ENTRY_SIZE + NEURON_NQ_ENTRY_PHASE) == 1;
}

START_TEST(sram_ecc_engine)
{
	const struct neuron_insn clear = {
		.opcode = NEURON_OP_MEMSET,
		.partitions = 1,
		.dst = { .dtype = NEURON_DT_FP32, .num = { 1, 1, 1, 4 }, .step = { 0, 0, 0, 1 } },
	};
	uint64_t data;

	ck_assert_int_eq(inject("sram-ecc-uncorrected", "1"), 0);
	run_notify(); /* a notification reads no memory */
	ck_assert(noted(0));
	run_insn(NEURON_ENG_POOL, &clear);
	ck_assert_uint_eq(next_error(&data), NEURON_NERR_SRAM_UE);
	ck_assert_uint_eq(data, NEURON_OP_MEMSET);
	ecc_words(1, 0, 0);
	/* this engine has stopped, the others have not */
	run_insn(NEURON_ENG_POOL, &(struct neuron_insn){ .opcode = NEURON_OP_NOTIFY });
	run_notify();
	ck_assert(noted(1));
	ck_assert_int_eq(reset(NEURON_MISC_RESET_TPB), 0);
	run_insn(NEURON_ENG_POOL, &clear);
	ck_assert_uint_eq(next_error(NULL), 0);
}
END_TEST

START_TEST(engine_hang)
{
	ck_assert_int_eq(inject("engine-hang", "1:core=0"), 0);
	run_notify();
	ck_assert(!noted(0));
	ck_assert_uint_eq(next_error(NULL), 0);
	run_notify();
	ck_assert(!noted(0));
	ck_assert_int_eq(reset(NEURON_MISC_RESET_TPB), 0);
	run_notify();
	ck_assert(noted(0));
	ck_assert(!noted(1));
}
END_TEST

START_TEST(nq_overflow)
{
	ck_assert_int_eq(inject("nq-overflow", "1"), 0);
	run_notify();
	ck_assert(!noted(0));
	ck_assert_uint_eq(next_error(NULL), NEURON_NERR_NQ_OVERFLOW);
	ck_assert_uint_eq(ext_read(&f, GEN(NQ_OVERFLOWS)(0)), 1);
	run_notify();
	ck_assert(noted(0));
}
END_TEST

START_TEST(mailbox)
{
	uint8_t payload[16];

	put64(payload, STATUS);
	put64(payload + 8, STATUS);
	ck_assert_int_eq(inject("mailbox-silence", "1"), 0);
	put32(f.host + FWIO_RESP, 0);
	put64(f.host + FWIO_REQ + 8, STATUS);
	f.host[FWIO_REQ] = 9;
	f.host[FWIO_REQ + 1] = NEURON_FWIO_CMD_READ;
	f.host[FWIO_REQ + 2] = 16;
	f.host[FWIO_REQ + 3] = 0;
	put32(f.host + FWIO_REQ + 4, 0);
	put32(f.host + FWIO_REQ + 4, test_crc32c(f.host + FWIO_REQ, 16));
	fwio_ring(&f);
	ck_assert_uint_eq(get32(f.host + FWIO_RESP), 0);
	fwio_ring(&f);
	ck_assert_uint_eq(f.host[FWIO_RESP], 9);
	ck_assert_int_eq(inject("mailbox-bad-crc", "1"), 0);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 16), NEURON_FWIO_FAIL);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 16), NEURON_FWIO_OK);
	ck_assert_uint_eq(get32(f.host + FWIO_RESP) >> 16, 12);
	ck_assert_int_eq(inject("mailbox-short", "1"), 0);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 16), NEURON_FWIO_OK);
	ck_assert_uint_eq(get32(f.host + FWIO_RESP) >> 16, 8);
}
END_TEST

START_TEST(reset_hang)
{
	void *state;
	size_t size;

	ck_assert_int_eq(inject("reset-hang", "2"), 0);
	ck_assert_int_eq(reset(NEURON_MISC_RESET_DEVICE), NEURON_MISC_RESET_DEVICE);
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN(BUSY));
	/* a chip whose reset hangs is saved and loaded in that state */
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
	ncore_chip_resume(f.chip);
	ck_assert_int_eq(reset(NEURON_MISC_RESET_DEVICE), NEURON_MISC_RESET_DEVICE);
	ck_assert_int_eq(reset(NEURON_MISC_RESET_DEVICE), 0);
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN_STATUS(0));
	bring_up();
	ck_assert(works());
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, size, NULL), 0);
	ncore_chip_resume(f.chip);
	free(state);
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN(BUSY));
	injected_is("reset-hang", "off"); /* injected faults are not part of the state */
	ck_assert_int_eq(reset(NEURON_MISC_RESET_DEVICE), 0);
	bring_up();
	ck_assert(works());
	/* cores keep what they have */
	ck_assert_int_eq(inject("reset-hang", "always"), 0);
	ck_assert_int_eq(reset(NEURON_MISC_RESET_TPB), NEURON_MISC_RESET_TPB);
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN_STATUS(0));
	ck_assert_int_eq(inject("reset-hang", "off"), 0);
	ck_assert_int_eq(reset(NEURON_MISC_RESET_TPB), 0);
}
END_TEST

START_TEST(power)
{
	uint32_t a, b;

	ncore_sensor_set(f.chip, NCORE_SENSOR_POWER_BP, 1234);
	a = fwio_read(&f, MISC_DEV + NEURON_MISC_POWER(0));
	ck_assert_uint_eq(a & 0xffff, 1234);
	ck_assert_int_eq(inject("power-reading", "54321"), 0);
	b = fwio_read(&f, MISC_DEV + NEURON_MISC_POWER(0));
	ck_assert_uint_eq(b & 0xffff, 54321);
	ck_assert_uint_eq(b >> 16, (a >> 16) + 1);
	ck_assert_int_eq(inject("power-stale", "on"), 0);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_POWER(0)), b);
	ck_assert_int_eq(inject("power-stale", "off"), 0);
	ck_assert_int_eq(inject("power-reading", "off"), 0);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_POWER(0)),
			  ((b >> 16) + 1) << 16 | 1234);
}
END_TEST

/* A broken link is down at both ends, and nothing goes over it. */
START_TEST(link_down)
{
	const uint32_t up = GEN_STATUS(0);
	struct ncore_chip_config config;
	struct ncore_fabric *fabric;
	struct ncore_chip *alone = f.chip, *other;
	uint8_t addr[8];

	ck_assert_int_eq(ncore_fabric_new(NEURON_TOPOLOGY_LINE, 2, &fabric), 0);
	fixture_config(&f, &config);
	config.fabric = fabric;
	ck_assert_int_eq(ncore_chip_new(&config, &f.chip), 0);
	config.slot = 1;
	ck_assert_int_eq(ncore_chip_new(&config, &other), 0);

	put64(addr, GEN(WINDOW_EAST) | STATUS);
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN_STATUS(1));
	ck_assert_int_eq(inject("link-west-down", "on"), 0); /* this end of the line has no link */
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN_STATUS(1));

	ck_assert_int_eq(ncore_fault_set(other, NCORE_FAULT_LINK_WEST_DOWN, "on"), 0);
	ck_assert_uint_eq(fwio_read(&f, STATUS), up);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, addr, 8), NEURON_FWIO_FAIL);
	ck_assert_uint_eq(ncore_mmio_read(other, 0, MISC + GEN(READY_WORD), 4), up);
	ck_assert_int_eq(ncore_fault_set(other, NCORE_FAULT_LINK_WEST_DOWN, "off"), 0);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, addr, 8), NEURON_FWIO_OK);

	/* the same by the port's number */
	ck_assert_int_eq(ncore_fault_set(other, NCORE_FAULT_LINK_DOWN, "on:port=0"), 0);
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN_STATUS(1));
	ck_assert_int_eq(ncore_fault_set(other, NCORE_FAULT_LINK_DOWN, "on:port=0:port=1"), 0);
	ck_assert_uint_eq(fwio_read(&f, STATUS), up);
	ck_assert_int_eq(ncore_fault_set(other, NCORE_FAULT_LINK_DOWN, "off"), 0);
	ck_assert_uint_eq(fwio_read(&f, STATUS), GEN_STATUS(1));

	ck_assert_int_eq(inject("link-east-down", "on"), 0);
	ck_assert_uint_eq(ncore_mmio_read(other, 0, MISC + GEN(READY_WORD), 4), up);
	ck_assert_int_eq(reset(NEURON_MISC_RESET_DEVICE), 0); /* a reset repairs no cable */
	ck_assert_uint_eq(fwio_read(&f, STATUS), up);

	ncore_chip_free(other);
	ncore_chip_free(f.chip);
	ncore_fabric_free(fabric);
	f.chip = alone;
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fault");
	TCase *tc = tcase_create("fault");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, specifications);
	tcase_add_test(tc, occasions);
	tcase_add_test(tc, dma_abort);
	tcase_add_test(tc, dma_hang);
	tcase_add_test(tc, dram_ecc);
	tcase_add_test(tc, dram_ecc_memory);
	tcase_add_test(tc, sram_ecc_dma);
	tcase_add_test(tc, sram_ecc_engine);
	tcase_add_test(tc, engine_hang);
	tcase_add_test(tc, nq_overflow);
	tcase_add_test(tc, mailbox);
	tcase_add_test(tc, reset_hang);
	tcase_add_test(tc, power);
	tcase_add_test(tc, link_down);
	suite_add_tcase(s, tc);
	return check_run(s);
}
