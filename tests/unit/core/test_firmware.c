/* SPDX-License-Identifier: MIT */
/*
 * Versions of the firmware, and what drivers then expect: readings of power, words of errors, the
 * mailbox in MISC RAM's words (docs/hardware.md, Versions of the firmware)
 */
#include "chip_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MISC GEN(APB_MISC_RAM)
#define HEADER 0x1f0
#define DATA 0x100
#define TRIGGER 0x800

static struct fixture f;

static void create(uint32_t version, uint16_t server)
{
	struct ncore_chip_config config;

	fixture_config(&f, &config);
	config.firmware_version = version;
	config.server = server;
	ncore_chip_free(f.chip);
	ck_assert_int_eq(ncore_chip_new(&config, &f.chip), 0);
}

static void setup(void)
{
	fixture_init(&f, 2);
	fixture_new_chip(&f);
}

static void teardown(void)
{
	fixture_free(&f);
}

/*
 * Sends a request as the public driver does from 2.25 on: payload, header, no buffers,
 * acknowledgement, doorbell
 */
static void ask(uint8_t seq, uint8_t cmd, const void *payload, unsigned int n)
{
	uint8_t msg[256] = { seq, cmd, (uint8_t)(n + 8) };
	unsigned int i;

	memcpy(msg + 8, payload, n);
	put32(msg + 4, test_crc32c(msg, n + 8));
	for (i = 0; i < (n + 3) / 4; i++)
		apb_write(&f, MISC + DATA + 4 * i, get32(msg + 8 + 4 * i));
	apb_write(&f, MISC + HEADER, get32(msg));
	apb_write(&f, MISC + HEADER + 4, get32(msg + 4));
	apb_write(&f, MISC + 0x1f8, 0);
	apb_write(&f, MISC + 0x1fc, 0);
	apb_write(&f, MISC + 0xf0, 1);
	apb_write(&f, MISC + TRIGGER, 1);
}

/* The error; what was answered, n bytes, is in got */
static int answer(uint8_t seq, uint8_t *got, unsigned int n)
{
	uint8_t msg[8 + 128];
	unsigned int i, size;
	uint32_t crc;

	ck_assert_uint_eq(apb_read(&f, MISC + TRIGGER), 0);
	put32(msg, apb_read(&f, MISC + HEADER));
	put32(msg + 4, apb_read(&f, MISC + HEADER + 4));
	for (i = 0; i < 32; i++)
		put32(msg + 8 + 4 * i, apb_read(&f, MISC + DATA + 4 * i));
	size = msg[2] | msg[3] << 8;
	ck_assert_uint_eq(msg[0], seq);
	ck_assert_uint_eq(size, 8 + n);
	crc = get32(msg + 4);
	put32(msg + 4, 0);
	ck_assert_uint_eq(test_crc32c(msg, size), crc);
	memcpy(got, msg + 8, n);
	return msg[1];
}

static const uint8_t profile[8] = { 0, 0, 0, 0, 4, 5, 6, 7 };

/* Errors that can be repaired, and how repairs went: a chip without such shows none */
static void repairs(uint32_t version)
{
	const uint32_t word = apb_read(&f, MISC + 0x64);

	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM(0, 0), 7);
	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM(0, 1), 5);
#ifdef TRAINIUM2_GEN
	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM_REPAIRABLE(0), 20);
	ncore_sensor_set(f.chip, NCORE_SENSOR_REPAIR, 1);
	ck_assert_uint_eq(apb_read(&f, MISC + 0x44), 7 << 16 | (version < 6 ? 25 : 5 << 12 | 20));
	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM(0, 1), 0xffff);
	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM_REPAIRABLE(0), 5000); /* at most 4095 */
	ck_assert_uint_eq(apb_read(&f, MISC + 0x44), 7 << 16 | 0xffff);
	ck_assert_uint_eq(word, 0);
	ck_assert_uint_eq(apb_read(&f, MISC + 0x64), 1);
	apb_write(&f, MISC + 0x64, 2); /* it is the firmware's */
	ck_assert_uint_eq(apb_read(&f, MISC + 0x64), 1);
#else
	ck_assert_uint_eq(apb_read(&f, MISC + 0x44), 7 << 16 | (version < 6 ? 5 : 5 << 12));
	apb_write(&f, MISC + 0x64, word + 2); /* a word as others */
	ck_assert_uint_eq(apb_read(&f, MISC + 0x64), word + 2);
#endif
}

START_TEST(versions)
{
	struct ncore_chip_config config;
	struct ncore_chip *none;
	uint32_t v;

	ck_assert_uint_eq(apb_read(&f, MISC), GEN(FIRMWARE));
	for (v = 1; v <= 7; v++) {
		create(v, 0);
		ck_assert_uint_eq(apb_read(&f, MISC), v);
		ncore_sensor_set(f.chip, NCORE_SENSOR_POWER_BP, 77);
		ck_assert_uint_eq(apb_read(&f, MISC + 0x54) & 0xffff, v < 3 ? 0 : 77);
		ncore_sensor_set(f.chip, NCORE_SENSOR_SRAM_ECC_CORR, 300);
		ncore_sensor_set(f.chip, NCORE_SENSOR_SRAM_ECC_UNCORR, 3);
		ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM(1, 1), 99);
		/* the SRAM's word is always the same */
		ck_assert_uint_eq(apb_read(&f, MISC + 0x40), 300 << 16 | 3);
		ck_assert_uint_eq(apb_read(&f, MISC + 0x48), v < 6 ? 99 : 15 << 12);
		repairs(v);
		/* as before, buffers in the host's memory are answered */
		ck_assert_uint_eq(fwio_read(&f, GEN(REG)(MISC)), v);
	}
	fixture_config(&f, &config);
	config.firmware_version = 8;
	ck_assert_int_eq(ncore_chip_new(&config, &none), -EINVAL);
}
END_TEST

START_TEST(words)
{
	uint8_t got[128], big[128] = { 1 };

	create(7, 0);
	ask(3, 3, profile, 8);
	ck_assert_int_eq(answer(3, got, 0), 0);
	ask(4, 4, "\1", 1);
	ck_assert_int_eq(answer(4, got, 8), 0);
	ck_assert_mem_eq(got, profile, 8);
	ask(5, 4, "\2\0\5", 3);
	ck_assert_int_eq(answer(5, got, 33), 0);
	ck_assert_mem_eq(got, "\5\x1f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
			 33);
	ask(6, 5, "\1\2\3\4", 4);
	ck_assert_int_eq(answer(6, got, 0), 0);
	ck_assert_uint_eq(apb_read(&f, MISC + 0xff4), 0x04030201);
	ask(7, 2, big, 128);
	ck_assert_int_eq(answer(7, got, 0), 0);
	/* the words behind it are the firmware's */
	apb_write(&f, MISC + 0xff0, 1);
	ck_assert_uint_eq(apb_read(&f, MISC + 0xff0), 0x07060504);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 1);
}
END_TEST

START_TEST(refused)
{
	static const uint8_t none[8] = { 0, 0, 0, 0, 5 };
	uint8_t got[128], msg[8 + 130] = { 1, 2, 8 + 130 };

	create(7, 0);
	/* more than there are words for, with the checksum of words that are not there */
	put32(msg + 4, test_crc32c(msg, sizeof(msg)));
	apb_write(&f, MISC + HEADER, get32(msg));
	apb_write(&f, MISC + HEADER + 4, get32(msg + 4));
	apb_write(&f, MISC + TRIGGER, 1);
	ck_assert_int_eq(answer(1, got, 0), 1);
	ask(1, 3, none, 8);
	ck_assert_int_eq(answer(1, got, 0), 1);
	ask(2, 3, profile, 7);
	ck_assert_int_eq(answer(2, got, 0), 1);
	ask(3, 4, "", 0);
	ck_assert_int_eq(answer(3, got, 0), 1);
	ask(4, 4, "\x10", 1);
	ck_assert_int_eq(answer(4, got, 0), 1);
	ask(5, 5, "\1\2\3\4\5", 5);
	ck_assert_int_eq(answer(5, got, 0), 1);
	ask(6, 1, profile, 8);
	ck_assert_int_eq(answer(6, got, 0), 2);
	/* another checksum; sizes that are none */
	ask(7, 3, profile, 8);
	apb_write(&f, MISC + DATA + 4, 1);
	apb_write(&f, MISC + HEADER, 8 | 3 << 8 | 16 << 16);
	apb_write(&f, MISC + TRIGGER, 1);
	ck_assert_int_eq(answer(8, got, 0), 1);
	for (uint32_t size = 0; size < 0x10000; size += size < 7 ? 1 : size == 7 ? 130 : 991) {
		apb_write(&f, MISC + HEADER, 9 | 2 << 8 | size << 16);
		apb_write(&f, MISC + TRIGGER, 1);
		ck_assert_int_eq(answer(9, got, 0), 1);
	}
	ask(10, 4, "\1", 1);
	ck_assert_int_eq(answer(10, got, 8), 0);
	ck_assert_uint_eq(get32(got + 4), 0x07060504); /* what was right before */
}
END_TEST

/* Only what the version has; then they are words like others */
START_TEST(before)
{
	uint8_t got[128];

	create(6, 0);
	ask(3, 3, profile, 8);
	ck_assert_uint_eq(apb_read(&f, MISC + HEADER), 3 | 3 << 8 | 16 << 16);
	ck_assert_uint_eq(ncore_guest_errors(f.chip, NCORE_GE_UNDEFINED), 1);
	apb_write(&f, MISC + 0xff0, 9);
	ck_assert_uint_eq(apb_read(&f, MISC + 0xff0), 9);
	create(7, 0);
	ask(3, 4, "\1", 1);
	ck_assert_int_eq(answer(3, got, 8), 0);
	ck_assert_uint_eq(get32(got + 4), 0);
}
END_TEST

static void inject(const char *name, const char *spec)
{
	int fault = ncore_fault_find(name, strlen(name));

	ck_assert_int_eq(ncore_fault_set(f.chip, (enum ncore_fault)fault, spec), 0);
}

START_TEST(faults)
{
	uint8_t got[128];

	create(7, 0);
	inject("mailbox-silence", "2");
	ask(3, 3, profile, 8);
	ck_assert_uint_eq(apb_read(&f, MISC + TRIGGER), 1);
	ask(4, 3, profile, 8);
	ck_assert_uint_eq(apb_read(&f, MISC + TRIGGER), 1);
	ask(5, 3, profile, 8);
	ck_assert_int_eq(answer(5, got, 0), 0);
	inject("mailbox-bad-crc", "1");
	ask(6, 4, "\1", 1);
	ck_assert_int_eq(answer(6, got, 0), 1);
	inject("mailbox-short", "1");
	ask(7, 4, "\1", 1);
	ck_assert_int_eq(answer(7, got, 4), 0);
	/* a request that was not answered ends with a reset */
	inject("mailbox-silence", "1");
	ask(8, 3, profile, 8);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
	apb_write(&f, MISC + TRIGGER, 1);
	ck_assert_uint_eq(apb_read(&f, MISC + TRIGGER), 0);
}
END_TEST

/* A request under way and what was set are state */
START_TEST(saved)
{
	const char *reason = NULL;
	uint8_t got[128];
	void *state;
	size_t size;

	create(7, 0);
	ask(3, 3, profile, 8);
	inject("mailbox-silence", "1");
	ask(4, 5, "\1", 1);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_save(f.chip, &state, &size), 0);
	create(7, 0);
	ncore_chip_pause(f.chip);
	ck_assert_int_eq(ncore_chip_load(f.chip, state, size, &reason), 0);
	ncore_chip_resume(f.chip);
	free(state);
	ck_assert_uint_eq(apb_read(&f, MISC + TRIGGER), 1);
	ask(5, 4, "\1", 1);
	ck_assert_int_eq(answer(5, got, 8), 0);
	ck_assert_mem_eq(got, profile, 8);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ask(6, 4, "\1", 1);
	ck_assert_int_eq(answer(6, got, 8), 0);
	ck_assert_uint_eq(get32(got + 4), 0);
}
END_TEST

START_TEST(server)
{
	ck_assert_uint_eq(apb_read(&f, MISC + 0x70), 0);
	create(0, 0x8123);
	ck_assert_uint_eq(apb_read(&f, MISC), GEN(FIRMWARE));
	ck_assert_uint_eq(apb_read(&f, MISC + 0x70), GEN(ROUTED) ? 0x8123 : 0);
	apb_write(&f, MISC + 0x70, 5);
	ck_assert_uint_eq(apb_read(&f, MISC + 0x70), GEN(ROUTED) ? 0x8123 : 5);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("firmware");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, versions);
	tcase_add_test(t, words);
	tcase_add_test(t, refused);
	tcase_add_test(t, before);
	tcase_add_test(t, faults);
	tcase_add_test(t, saved);
	tcase_add_test(t, server);
	suite_add_tcase(s, t);
	return check_run(s);
}
