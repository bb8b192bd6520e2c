/* SPDX-License-Identifier: MIT */
/* The mailbox, MISC RAM and the reset protocol, as a driver sees them (docs/hardware.md, Mailbox). */
#include "chip_fixture.h"

#include <string.h>

#define MISC GEN(APB_MISC_RAM)
#define MISC_DEV (GEN(REG)(GEN(APB_MISC_RAM)))

static struct fixture f;

static void setup(void)
{
	fixture_init(&f, 2);
	fixture_new_chip(&f);
}

static void teardown(void)
{
	fixture_free(&f);
}

/* RFC 3720, B.4: the oracle itself is checked against published vectors. */
START_TEST(crc_vectors)
{
	uint8_t buf[32];
	unsigned int i;

	memset(buf, 0, sizeof(buf));
	ck_assert_uint_eq(test_crc32c(buf, 32), 0x8a9136aa);
	memset(buf, 0xff, sizeof(buf));
	ck_assert_uint_eq(test_crc32c(buf, 32), 0x62a8ab43);
	for (i = 0; i < 32; i++)
		buf[i] = (uint8_t)i;
	ck_assert_uint_eq(test_crc32c(buf, 32), 0x46dd794e);
	for (i = 0; i < 32; i++)
		buf[i] = (uint8_t)(31 - i);
	ck_assert_uint_eq(test_crc32c(buf, 32), 0x113fdb5c);
	ck_assert_uint_eq(test_crc32c((const uint8_t *)"123456789", 9), 0xe3069283);
}
END_TEST

START_TEST(read_registers)
{
	uint8_t payload[24];

	apb_write(&f, MISC + 0xc0, 0x11223344);
	apb_write(&f, MISC + 0x1a0, 0x55667788);
	put64(payload, MISC_DEV + 0xc0);
	put64(payload + 8, MISC_DEV + GEN(READY_WORD));
	put64(payload + 16, MISC_DEV + 0x1a0);
	memset(f.host + FWIO_RESP, 0xee, 32);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 24), NEURON_FWIO_OK);
	ck_assert_uint_eq(get32(f.host + FWIO_RESP) >> 16, 4 + 12);
	ck_assert_uint_eq(get32(f.host + FWIO_RESP + 4), 0x11223344);
	ck_assert_uint_eq(get32(f.host + FWIO_RESP + 8), GEN_STATUS(0));
	ck_assert_uint_eq(get32(f.host + FWIO_RESP + 12), 0x55667788);
	ck_assert_uint_eq(f.host[FWIO_RESP + 16], 0xee);
}
END_TEST

/* Any device address: DRAM, a core's window, host memory, registers */
START_TEST(read_anywhere)
{
	put32(mem(&f, 0x1234560), 0xabad1dea);
	put32(mem(&f, GEN(DRAM1_BASE) + 64), 0x600dcafe);
	put32(f.host + 0x300000, 0xfeedf00d);
	ncore_mmio_write(f.chip, GEN(BAR_CORES),
			 GEN(TPB_BAR)(GEN_LAST_CORE) + GEN(TPB_SEM_SET) + 20, 4, 77);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + NEURON_SBUF_PART_STRIDE + 8, 4,
			 0x01020304);
	ck_assert_uint_eq(fwio_read(&f, 0x1234560), 0xabad1dea);
	ck_assert_uint_eq(fwio_read(&f, GEN(AXI_PORT1) | 0x1234560), 0xabad1dea);
	ck_assert_uint_eq(fwio_read(&f, GEN(DRAM1_BASE) + 64), 0x600dcafe);
	ck_assert_uint_eq(fwio_read(&f, HOST(0x300000)), 0xfeedf00d);
	ck_assert_uint_eq(fwio_read(&f, GEN(TPB)(GEN_LAST_CORE) + GEN(TPB_SEM_READ) + 20), 77);
	ck_assert_uint_eq(fwio_read(&f, GEN(TPB)(0) + NEURON_SBUF_PART_STRIDE + 8), 0x01020304);
	ck_assert_uint_eq(fwio_read(&f, GEN(REG)(0x500)), 0);
}
END_TEST

START_TEST(errors)
{
	uint8_t payload[256] = { 0 }, *req = f.host + FWIO_REQ, *resp = f.host + FWIO_RESP;

	ck_assert_int_eq(fwio_send(&f, 9, payload, 8), NEURON_FWIO_UNKNOWN_CMD);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 7), NEURON_FWIO_FAIL);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 0), NEURON_FWIO_FAIL);
	put64(payload, GEN(WINDOW_EAST) | MISC_DEV); /* nobody there */
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 8), NEURON_FWIO_FAIL);
	put64(payload, 0xa00000000); /* a hole */
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 8), NEURON_FWIO_FAIL);
	put64(payload, HOST(HOST_SIZE));
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 8), NEURON_FWIO_FAIL);
	put64(payload, HOST(0x300002)); /* between two words */
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 8), NEURON_FWIO_FAIL);
	ck_assert_uint_eq(get32(resp) >> 16, NEURON_FWIO_RESP_HDR);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_POST_METRIC, payload, 128), NEURON_FWIO_OK);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_POST_METRIC, payload, 129),
			 NEURON_FWIO_FAIL);

	/* one wrong bit anywhere in the request */
	put64(payload, MISC_DEV);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 8), NEURON_FWIO_OK);
	req[10] ^= 4;
	resp[0] = 0;
	fwio_ring(&f);
	ck_assert_uint_eq(resp[0], f.seq);
	ck_assert_uint_eq(resp[1], NEURON_FWIO_FAIL);
	/* a size below the header, with the header's own CRC */
	req[1] = NEURON_FWIO_CMD_POST_METRIC;
	req[2] = 3;
	put32(req + 4, 0);
	put32(req + 4, test_crc32c(req, NEURON_FWIO_REQ_HDR));
	memset(resp, 0, 4);
	fwio_ring(&f);
	ck_assert_uint_eq(resp[0], f.seq);
	ck_assert_uint_eq(resp[1], NEURON_FWIO_FAIL);
	/* sequence number 0 is never answered: the driver could not see it */
	req[0] = 0;
	memset(resp, 0x5a, 4);
	fwio_ring(&f);
	ck_assert_uint_eq(get32(resp), 0x5a5a5a5a);
}
END_TEST

/* A request whose buffers are not both in host memory is not answered. */
START_TEST(buffers_of_the_device)
{
	uint8_t payload[8], *resp = f.host + FWIO_RESP;

	put64(payload, MISC_DEV);
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, 8), NEURON_FWIO_OK);
	memset(resp, 0, 4);
	apb_write(&f, MISC + NEURON_MISC_FWIO_REQ_HI, 0);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(get32(resp), 0);
	fwio_ring(&f);
	ck_assert_uint_eq(resp[0], f.seq);
	memset(resp, 0, 4);
	apb_write(&f, MISC + NEURON_MISC_FWIO_RESP_HI, 0);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(get32(resp), 0);
}
END_TEST

START_TEST(sequence_wraps)
{
	unsigned int i;

	for (i = 0; i < 600; i++)
		ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_RESET), 0);
}
END_TEST

START_TEST(largest_request)
{
	static uint8_t payload[8190 * 8];
	unsigned int i;

	for (i = 0; i < 8190; i++) {
		put32(mem(&f, 0x10000 + 4 * i), i * 2654435761u);
		put64(payload + 8 * i, 0x10000 + 4 * i);
	}
	ck_assert_int_eq(fwio_send(&f, NEURON_FWIO_CMD_READ, payload, sizeof(payload)), 0);
	for (i = 0; i < 8190; i++)
		ck_assert_uint_eq(get32(f.host + FWIO_RESP + 4 + 4 * i), i * 2654435761u);
}
END_TEST

/*
 * The public driver's record for V1: a write of 0x1ec arms the reset, the doorbell starts it, it is
 * done at once, and 0x24 is lost.
 */
START_TEST(reset_protocol)
{
	put32(mem(&f, 0x4000), 0xd00dfeed);
	apb_write(&f, MISC + NEURON_MISC_DEVICE_ID, 5);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_SET), 4, 9);
	ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0x40, 4, 0xffffffff);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
	ck_assert_uint_eq(apb_read(&f, MISC + NEURON_MISC_RESET), 1);
	ck_assert_uint_eq(apb_read(&f, MISC + NEURON_MISC_DEVICE_ID), GEN(ROUTED) ? 0 : 5);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_RESET), 0);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + GEN(READY_WORD)), GEN_STATUS(0));
	ck_assert_uint_eq(apb_read(&f, MISC + NEURON_MISC_DEVICE_ID), 0);
	ck_assert_uint_eq(
		ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + GEN(TPB_SEM_READ), 4), 0);
	ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(0) + 0x40, 4), 0);
	ck_assert_uint_eq(get32(mem(&f, 0x4000)), 0xd00dfeed);
	ncore_chip_reset(f.chip, NCORE_RESET_PCI);
	ck_assert_uint_eq(get32(mem(&f, 0x4000)), 0);
}
END_TEST

/* A reset that is disarmed does not happen: the doorbell is the mailbox's again. */
START_TEST(reset_disarmed)
{
	apb_write(&f, MISC + NEURON_MISC_DEVICE_ID, 5);
	apb_write(&f, MISC + 0xc0, 6);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_DEVICE);
	apb_write(&f, MISC + NEURON_MISC_RESET, 0);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_DEVICE_ID), GEN(ROUTED) ? 0 : 5);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + 0xc0), 6);
}
END_TEST

START_TEST(tpb_reset_map)
{
	unsigned int nc;

	for (nc = 0; nc < GEN(NC_PER_DEVICE); nc++) {
		ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(nc) + GEN(TPB_SEM_SET), 4,
				 nc + 1);
		ncore_mmio_write(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(nc), 4, nc + 1);
	}
	apb_write(&f, MISC + NEURON_MISC_TPB_RESET_MAP, 0x5);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_TPB);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	for (nc = 0; nc < GEN(NC_PER_DEVICE); nc++) {
		uint64_t base = GEN(TPB_BAR)(nc);
		uint32_t want = 0x5 >> nc & 1 ? 0 : nc + 1;

		ck_assert_uint_eq(
			ncore_mmio_read(f.chip, GEN(BAR_CORES), base + GEN(TPB_SEM_READ), 4), want);
		ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), base, 4), want);
	}
	/* a map of 0, which is what the public driver writes, means all */
	apb_write(&f, MISC + NEURON_MISC_TPB_RESET_MAP, 0);
	apb_write(&f, MISC + NEURON_MISC_RESET, NEURON_MISC_RESET_TPB);
	apb_write(&f, MISC + NEURON_MISC_DOORBELL, 1);
	for (nc = 0; nc < GEN(NC_PER_DEVICE); nc++)
		ck_assert_uint_eq(ncore_mmio_read(f.chip, GEN(BAR_CORES), GEN(TPB_BAR)(nc), 4), 0);
}
END_TEST

START_TEST(sensors)
{
	uint32_t a, b;

	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM(1, 0), 3);
	ncore_sensor_set(f.chip, NCORE_SENSOR_DRAM(1, 1), 0x12);
	ncore_sensor_set(f.chip, NCORE_SENSOR_POWER_BP, 1234);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_ECC_DRAM(1)), 0x30012);
	ck_assert_uint_eq(fwio_read(&f, MISC_DEV + NEURON_MISC_ECC_DRAM(0)), 0);
	a = fwio_read(&f, MISC_DEV + NEURON_MISC_POWER(0));
	b = fwio_read(&f, MISC_DEV + NEURON_MISC_POWER(0));
	ck_assert_uint_eq(a & 0xffff, 1234);
	ck_assert_uint_eq(b & 0xffff, 1234);
	/* the driver drops a sample whose upper half has not changed */
	ck_assert_uint_ne(a >> 16, b >> 16);
	ck_assert_uint_ge(fwio_read(&f, MISC_DEV + NEURON_MISC_FW_API_VERSION), 3);
	/* the host cannot write the firmware's words */
	apb_write(&f, MISC + GEN(READY_WORD), ~0u);
	ck_assert_uint_eq(apb_read(&f, MISC + GEN(READY_WORD)), GEN_STATUS(0));
}
END_TEST

/* Set, increment, decrement: 7 + 5 - 2, the example of the record */
START_TEST(semaphores)
{
	unsigned int i;

	for (i = 0; i < GEN(SEMAPHORES); i++) {
		uint64_t o = GEN(TPB_BAR)(GEN_LAST_CORE) + 4 * i;

		ncore_mmio_write(f.chip, GEN(BAR_CORES), o + GEN(TPB_SEM_SET), 4, 7 + i);
		ncore_mmio_write(f.chip, GEN(BAR_CORES), o + GEN(TPB_SEM_INC), 4, 5);
		ncore_mmio_write(f.chip, GEN(BAR_CORES), o + GEN(TPB_SEM_DEC), 4, 2);
	}
	for (i = 0; i < GEN(SEMAPHORES); i++)
		ck_assert_uint_eq(
			fwio_read(&f, GEN(TPB)(GEN_LAST_CORE) + GEN(TPB_SEM_READ) + 4 * i), 10 + i);
	ncore_mmio_write(f.chip, GEN(BAR_CORES),
			 GEN(TPB_BAR)(0) + GEN(TPB_EVENTS) + 4 * (GEN(EVENTS) - 1), 4, 1);
	ck_assert_uint_eq(fwio_read(&f, GEN(TPB)(0) + GEN(TPB_EVENTS) + 4 * (GEN(EVENTS) - 1)), 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mailbox");
	TCase *t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, crc_vectors);
	tcase_add_test(t, read_registers);
	tcase_add_test(t, read_anywhere);
	tcase_add_test(t, errors);
	tcase_add_test(t, buffers_of_the_device);
	tcase_add_test(t, sequence_wraps);
	tcase_add_test(t, largest_request);
	tcase_add_test(t, reset_protocol);
	tcase_add_test(t, reset_disarmed);
	tcase_add_test(t, tpb_reset_map);
	tcase_add_test(t, sensors);
	tcase_add_test(t, semaphores);
	suite_add_tcase(s, t);
	return check_run(s);
}
