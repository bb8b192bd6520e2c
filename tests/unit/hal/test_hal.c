// SPDX-License-Identifier: MIT
/*
 * The hal's register writes and messages against the public record: the ordered trace of the public
 * driver (tests/data/udma), the CRC-32C check value of the standard, and mailbox bytes written by
 * hand
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "../check_main.h"
#include "hal.h"

#define MAX_WRITES 4096
#define GEN (&neuron_gen_inferentia)

struct fake {
	struct {
		unsigned int bar;
		uint64_t offset;
		uint32_t value;
	} write[MAX_WRITES];
	unsigned int writes;
	uint64_t now, slept;
	/* the chip's side of the mailbox; answers when answer_after waits have passed */
	uint8_t req[NEURON_FWIO_BUF_SIZE], resp[NEURON_FWIO_BUF_SIZE];
	unsigned int requests, drop, fail_code;
	uint32_t reset_reads; /* how often the reset word still reads as set */
	uint32_t status, neighbor_east, neighbor_west;
	bool bad_crc;
	uint32_t misc[0x1000 / 4]; /* the mailbox in words: answers the same tries */
	bool words, odd_number;
};

static uint32_t fake_reg(struct fake *f, uint64_t addr)
{
	if (addr == 0xffff078e1ecull)
		return f->reset_reads ? f->reset_reads-- : 0;
	if (addr == 0xffff078e01cull)
		return f->status;
	if (addr == (0x800000000000ull | 0xffff078e024ull))
		return f->neighbor_east;
	if (addr == (0xc00000000000ull | 0xffff078e024ull))
		return f->neighbor_west;
	return (uint32_t)addr ^ 0x5a5a5a5a;
}

static uint32_t le32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

/* bitwise CRC-32C of its own, the request's field as zero */
static uint32_t ref_crc(const uint8_t *p, unsigned int len)
{
	uint32_t crc = 0xffffffff;
	unsigned int i, k;

	for (i = 0; i < len * 8; i++) {
		unsigned int byte = i / 8 >= 4 && i / 8 < 8 ? 0 : p[i / 8];

		k = (byte >> (i % 8)) & 1;
		crc = (crc >> 1) ^ (((crc ^ k) & 1) ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void fake_mailbox(struct fake *f)
{
	unsigned int size = f->req[2] | f->req[3] << 8, n = (size - 8) / 8, i, b;

	f->requests++;
	if (ref_crc(f->req, size) != le32(f->req + 4))
		f->bad_crc = true;
	if (f->drop) {
		f->drop--;
		return;
	}
	f->resp[1] = f->fail_code;
	if (f->req[1] == 2)
		n = 0;
	for (i = 0; i < n; i++) {
		uint64_t addr = le32(f->req + 8 + 8 * i) | (uint64_t)le32(f->req + 12 + 8 * i)
								   << 32;
		uint32_t v = fake_reg(f, addr);

		for (b = 0; b < 4; b++)
			f->resp[4 + 4 * i + b] = v >> (8 * b);
	}
	f->resp[2] = (4 + 4 * n) & 0xff;
	f->resp[3] = (4 + 4 * n) >> 8;
	f->resp[0] = f->req[0];
}

/* The header in 0x1f0 and 0x1f4, the payload from 0x100 on; the answer's header in the same words */
static void fake_words(struct fake *f)
{
	uint8_t msg[8 + 128];
	unsigned int i, k, size;

	for (k = 0; k < 2; k++)
		for (i = 0; i < 4; i++)
			msg[4 * k + i] = (uint8_t)(f->misc[0x1f0 / 4 + k] >> 8 * i);
	for (i = 0; i < 128; i++)
		msg[8 + i] = (uint8_t)(f->misc[0x100 / 4 + i / 4] >> 8 * (i % 4));
	size = msg[2] | msg[3] << 8;
	f->requests++;
	if (f->misc[0x1f8 / 4] || f->misc[0x1fc / 4] || f->misc[0xf0 / 4] != 1 ||
	    size > sizeof(msg) || ref_crc(msg, size) != le32(msg + 4))
		f->bad_crc = true;
	memcpy(f->req, msg, sizeof(msg));
	if (f->drop) {
		f->drop--;
		return;
	}
	f->misc[0x1f0 / 4] = (uint32_t)(msg[0] + f->odd_number) | f->fail_code << 8 | 8u << 16;
	f->misc[0x800 / 4] = 0;
}

static uint32_t fake_read(void *opaque, unsigned int bar, uint64_t offset)
{
	struct fake *f = opaque;

	ck_assert_uint_eq(bar, 0);
	return f->misc[(offset - 0x78e000) / 4];
}

static void fake_write(void *opaque, unsigned int bar, uint64_t offset, uint32_t value)
{
	struct fake *f = opaque;

	ck_assert_uint_lt(f->writes, MAX_WRITES);
	f->write[f->writes].bar = bar;
	f->write[f->writes].offset = offset;
	f->write[f->writes].value = value;
	f->writes++;
	if (bar == 0 && offset >= 0x78e000 && offset < 0x78f000)
		f->misc[(offset - 0x78e000) / 4] = value;
	if (f->words && bar == 0 && offset == 0x78e800)
		fake_words(f);
	else if (bar == 0 && offset == 0x78e800 && value == 1 && f->writes >= 5 &&
		 f->write[f->writes - 2].offset == 0x78e1f8)
		fake_mailbox(f);
}

static int fake_wait(void *opaque, unsigned int us)
{
	struct fake *f = opaque;

	f->now += us ? us : 1;
	f->slept += us;
	return 0;
}

static uint64_t fake_now(void *opaque)
{
	struct fake *f = opaque;

	return f->now;
}

static const struct nhal_ops fake_ops = { fake_write, fake_wait, fake_now, fake_read };

static struct fake fake;
static struct nhal hal;

static void setup(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.status = 0x80000000;
	nhal_init(&hal, GEN, &fake_ops, &fake, 0);
	nhal_mailbox_set(&hal, fake.req, 0x4000123450000ull, fake.resp, 0x4000123460000ull);
}

/* "# --- title ---" begins a section of the trace; fills table, returns its length */
static unsigned int trace_section(const char *title, uint32_t table[][2], unsigned int max)
{
	FILE *f = fopen(UDMA_TRACE, "r");
	char line[256];
	bool in = false;
	unsigned int n = 0, reg, value;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "# ---", 5))
			in = strstr(line, title) != NULL;
		else if (in && sscanf(line, "W %x = %x", &reg, &value) == 2 && n < max) {
			table[n][0] = reg;
			table[n++][1] = value;
		}
	}
	fclose(f);
	return n;
}

START_TEST(test_engine_init_is_the_trace)
{
	uint32_t table[256][2];
	unsigned int n = trace_section("engine initialisation", table, 256), i;
	static const uint64_t base[12] = { 0x40000,  0x80000,  0xc0000,	 0x140000,
					   0x180000, 0x1c0000, 0x240000, 0x280000,
					   0x2c0000, 0x340000, 0x380000, 0x3c0000 };

	ck_assert_uint_eq(n, 123);
	nhal_engine_init(&hal, _i);
	ck_assert_uint_eq(fake.writes, n);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(fake.write[i].bar, 0);
		ck_assert_uint_eq(fake.write[i].offset, base[_i] + table[i][0]);
		ck_assert_uint_eq(fake.write[i].value, table[i][1]);
	}
}
END_TEST

START_TEST(test_queue_init_is_the_trace)
{
	uint32_t table[64][2];
	unsigned int n = trace_section("initialisation of queue 15", table, 64), i;

	ck_assert_uint_eq(n, 14);
	nhal_queue_init(&hal, 2, 15, 0x400012340000ull, 8192, 0x400012360000ull, 8192);
	ck_assert_uint_eq(fake.writes, n);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(fake.write[i].offset, 0xc0000 + table[i][0]);
		ck_assert_uint_eq(fake.write[i].value, table[i][1]);
	}
}
END_TEST

/* The trace's copy of 65536 + 100 bytes: every descriptor word and both doorbells */
START_TEST(test_copy_is_the_trace)
{
	static uint8_t tx[NHAL_H2T_RING_BYTES], rx[NHAL_H2T_RING_BYTES];
	static uint32_t completion[8];
	const struct nhal_h2t_mem mem = {
		tx, rx, 0x400012340000ull, 0x400012360000ull, completion, 0x400000200000ull
	};
	struct nhal_h2t h2t;
	char line[256], half;
	unsigned int idx, w[4], i, found = 0;
	FILE *f;

	nhal_h2t_init(&h2t, &hal, 0, &mem);
	ck_assert_uint_eq(nhal_h2t_push(&h2t, 0x400000100000ull, 0x2000, 65636), 65636);
	fake.writes = 0;
	ck_assert_uint_eq(nhal_h2t_submit(&h2t, 0), 2);
	ck_assert_uint_eq(fake.writes, 2);
	ck_assert_uint_eq(fake.write[0].offset, 0xc0000 + 0x30038);
	ck_assert_uint_eq(fake.write[0].value, 3);
	ck_assert_uint_eq(fake.write[1].offset, 0xc0000 + 0x10038);
	ck_assert_uint_eq(fake.write[1].value, 3);

	f = fopen(UDMA_TRACE, "r");
	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%cX%u %x %x %x %x", &half, &idx, w, w + 1, w + 2, w + 3) != 6)
			continue;
		found++;
		for (i = 0; i < 4; i++)
			ck_assert_uint_eq(le32((half == 'T' ? tx : rx) + 16 * idx + 4 * i), w[i]);
	}
	fclose(f);
	ck_assert_uint_eq(found, 6);
	ck_assert_uint_eq(completion[0], 0xabcdef01);
	ck_assert(!nhal_h2t_done(&h2t, 0));
	completion[1] = 0xabcdef01;
	ck_assert(nhal_h2t_done(&h2t, 0));
}
END_TEST

/* Ring ids 1, 2, 3, 0, 1 over the laps; a batch never exceeds its limit */
START_TEST(test_ring_laps)
{
	static uint8_t desc[32 * 16];
	static const unsigned int lap_id[] = { 1, 2, 3, 0, 1 };
	struct nhal_ring ring;
	unsigned int lap, i, id;

	nhal_ring_init(&ring, desc, 32);
	for (lap = 0; lap < 5; lap++)
		for (i = 0; i < 32; i++) {
			ck_assert_ptr_eq(nhal_ring_next(&ring, &id), desc + 16 * i);
			ck_assert_uint_eq(id, lap_id[lap]);
		}
}
END_TEST

START_TEST(test_batch_limit)
{
	static uint8_t tx[NHAL_H2T_RING_BYTES], rx[NHAL_H2T_RING_BYTES];
	static uint32_t completion[8];
	const struct nhal_h2t_mem mem = {
		tx, rx, 0x400000000000ull, 0x400000100000ull, completion, 0x400000200000ull
	};
	struct nhal_h2t h2t;

	nhal_h2t_init(&h2t, &hal, 3, &mem);
	ck_assert_uint_eq(nhal_h2t_push(&h2t, 0, 0x1000000000ull, 1ull << 32), 2032ull << 16);
	ck_assert_uint_eq(nhal_h2t_push(&h2t, 0, 0x1000000000ull, 64), 0);
	ck_assert_uint_eq(nhal_h2t_submit(&h2t, 1), 2032);
	ck_assert_uint_eq(nhal_h2t_push(&h2t, 0, 0x1000000000ull, 64), 64);
}
END_TEST

START_TEST(test_crc_check_value)
{
	ck_assert_uint_eq(nhal_crc32c("123456789", 9), 0xe3069283); /* the standard's */
	ck_assert_uint_eq(nhal_crc32c("", 0), 0);
}
END_TEST

START_TEST(test_mailbox_sequence)
{
	uint32_t v;
	unsigned int i, seq = 1;

	for (i = 0; i < 600; i++) {
		ck_assert_int_eq(nhal_reg_read1(&hal, 0x1000 + i, &v), 0);
		ck_assert_uint_eq(v, (0x1000 + i) ^ 0x5a5a5a5a);
		seq = seq == 255 ? 1 : seq + 1;
		ck_assert_uint_eq(fake.req[0], seq);
		fake.writes = 0;
	}
	ck_assert(!fake.bad_crc);
}
END_TEST

START_TEST(test_mailbox_writes)
{
	static const uint64_t word[] = { 0x78e1f4, 0x78e1f0, 0x78e1fc, 0x78e1f8, 0x78e800 };
	static const uint32_t value[] = { 0x23450000, 0x40001, 0x23460000, 0x40001, 1 };
	uint32_t v;
	unsigned int i;

	ck_assert_int_eq(nhal_reg_read1(&hal, 0, &v), 0);
	ck_assert_uint_eq(fake.writes, 5);
	for (i = 0; i < 5; i++) {
		ck_assert_uint_eq(fake.write[i].offset, word[i]);
		ck_assert_uint_eq(fake.write[i].value, value[i]);
	}
}
END_TEST

START_TEST(test_mailbox_batches)
{
	static uint64_t addr[NHAL_FWIO_READ_MAX + 1];
	static uint32_t value[NHAL_FWIO_READ_MAX + 1];
	unsigned int i;

	for (i = 0; i < 250; i++)
		addr[i] = 0xfff00000000ull + 4 * i;
	ck_assert_int_eq(nhal_reg_read(&hal, addr, value, 250), 0);
	ck_assert_uint_eq(fake.requests, 3);
	for (i = 0; i < 250; i++)
		ck_assert_uint_eq(value[i], (uint32_t)addr[i] ^ 0x5a5a5a5a);
	ck_assert_int_eq(nhal_reg_read(&hal, addr, value, NHAL_FWIO_READ_MAX + 1), -EINVAL);
}
END_TEST

START_TEST(test_words)
{
	static const uint8_t long_one[NEURON_MISC_METRIC_SIZE + 1];
	const uint8_t payload[5] = { 1, 2, 3, 4, 5 };

	fake.words = true;
	ck_assert_int_eq(nhal_words_call(&hal, 5, payload, sizeof(payload)), 0);
	ck_assert_uint_eq(fake.requests, 1);
	ck_assert_uint_eq(fake.req[1], 5);
	ck_assert_uint_eq(fake.req[2], 8 + sizeof(payload));
	ck_assert_mem_eq(fake.req + 8, payload, sizeof(payload));
	ck_assert_int_eq(nhal_words_call(&hal, 3, long_one, sizeof(long_one)), -E2BIG);
	ck_assert_uint_eq(fake.requests, 1);
	ck_assert_int_eq(nhal_words_call(&hal, 3, long_one, sizeof(long_one) - 1), 0);
	ck_assert(!fake.bad_crc);

	/* three tries of a minute */
	fake.requests = 0;
	fake.drop = 2;
	ck_assert_int_eq(nhal_words_call(&hal, 5, payload, 1), 0);
	ck_assert_uint_eq(fake.requests, 3);
	ck_assert_uint_ge(fake.slept, 120000000);
	fake.drop = 3;
	ck_assert_int_eq(nhal_words_call(&hal, 5, payload, 1), -ETIMEDOUT);
	ck_assert_uint_eq(fake.requests, 6);
	fake.drop = 0;
	fake.fail_code = 1;
	ck_assert_int_eq(nhal_words_call(&hal, 5, payload, 1), -EIO);
	ck_assert_uint_eq(fake.requests, 9);
	fake.fail_code = 2;
	ck_assert_int_eq(nhal_words_call(&hal, 5, payload, 1), -EOPNOTSUPP);
	ck_assert_uint_eq(fake.requests, 10);
	/* an answer to another request is none */
	fake.fail_code = 0;
	fake.odd_number = true;
	ck_assert_int_eq(nhal_words_call(&hal, 5, payload, 1), -EIO);
	ck_assert_uint_eq(fake.requests, 13);
}
END_TEST

START_TEST(test_metric_limit)
{
	static const uint8_t blob[NEURON_MISC_METRIC_SIZE + 1];

	ck_assert_int_eq(nhal_metric_post(&hal, blob, sizeof(blob)), -E2BIG);
	ck_assert_uint_eq(fake.writes, 0);
	ck_assert_int_eq(nhal_metric_post(&hal, blob, sizeof(blob) - 1), 0);
}
END_TEST

START_TEST(test_mailbox_retries)
{
	uint32_t v;

	fake.drop = 3;
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), 0);
	ck_assert_uint_eq(fake.requests, 4);
	fake.requests = 0;
	fake.writes = 0;
	fake.fail_code = 1;
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), -EIO);
	ck_assert_uint_eq(fake.requests, 15);
	fake.requests = 0;
	fake.writes = 0;
	fake.fail_code = 2;
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), -EOPNOTSUPP);
	ck_assert_uint_eq(fake.requests, 1);
	fake.fail_code = 0;
}
END_TEST

/* A call makes fifteen tries, later calls one; the first answer, whatever it is, ends that. */
START_TEST(test_mailbox_silence)
{
	uint32_t v;

	fake.drop = 17;
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), -ETIMEDOUT);
	ck_assert_uint_eq(fake.requests, 15);
	fake.writes = 0;
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), -ETIMEDOUT);
	ck_assert_uint_eq(fake.requests, 16);
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), -ETIMEDOUT);
	fake.fail_code = 1;
	fake.writes = 0;
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), -EIO);
	ck_assert_uint_eq(fake.requests, 17 + 15);
	fake.fail_code = 0;
	fake.drop = 14;
	fake.writes = 0;
	ck_assert_int_eq(nhal_reg_read1(&hal, 4, &v), 0);
	ck_assert_uint_eq(v, 4 ^ 0x5a5a5a5a);
	ck_assert_uint_eq(fake.requests, 17 + 15 + 15);
}
END_TEST

START_TEST(test_reset_times)
{
	ck_assert_int_eq(nhal_reset(&hal, 1, 0xf), 0);
	ck_assert_uint_ge(fake.now, 7000000);
	ck_assert_uint_eq(fake.write[0].offset, 0x78e1ec);
	ck_assert_uint_eq(fake.write[0].value, 1);
	ck_assert_uint_eq(fake.write[1].offset, 0x78e800);
	setup();
	hal.features = NEURON_CAP_F_FAST_RESET | NEURON_CAP_F_TPB_MAP;
	fake.reset_reads = 3;
	ck_assert_int_eq(nhal_reset(&hal, 2, 0x5), 0);
	ck_assert_uint_lt(fake.now, 100000);
	ck_assert_uint_eq(fake.write[0].offset, 0x78e1d8);
	ck_assert_uint_eq(fake.write[0].value, 5);
	ck_assert_uint_eq(fake.write[1].value, 2);
	setup();
	ck_assert_int_eq(nhal_reset(&hal, 2, 0x5), 0);
	ck_assert_uint_eq(fake.write[0].value, 0); /* no TPB_MAP: all cores */
	ck_assert_int_eq(nhal_reset(&hal, 3, 0), -EINVAL);
}
END_TEST

/* A chip that announces fast resets is polled first, and the wait sleeps only between two polls. */
START_TEST(test_reset_without_sleep)
{
	hal.features = NEURON_CAP_F_FAST_RESET;
	ck_assert_int_eq(nhal_reset(&hal, 1, 0), 0);
	ck_assert_uint_eq(fake.slept, 0);
	setup();
	hal.features = NEURON_CAP_F_FAST_RESET;
	fake.reset_reads = 3;
	ck_assert_int_eq(nhal_reset(&hal, 2, 0), 0);
	ck_assert_uint_eq(fake.slept, 3 * 100);
}
END_TEST

START_TEST(test_reset_gives_up)
{
	fake.reset_reads = 1u << 30;
	ck_assert_int_eq(nhal_reset(&hal, 1, 0), -ETIMEDOUT);
	ck_assert_uint_gt(fake.now, 120000000);
	ck_assert_uint_lt(fake.now, 140000000);
	setup();
	hal.features = NEURON_CAP_F_FAST_RESET;
	fake.reset_reads = 1u << 30;
	ck_assert_int_eq(nhal_reset(&hal, 1, 0), -ETIMEDOUT);
	ck_assert_uint_gt(fake.now, 2000000);
	ck_assert_uint_lt(fake.now, 4000000);
	setup();
	fake.status = 3;
	ck_assert_int_eq(nhal_reset(&hal, 1, 0), -EIO);
}
END_TEST

START_TEST(test_neighbors)
{
	int id[NEURON_PORTS_MAX];

	ck_assert_int_eq(nhal_neighbors_read(&hal, id), 0);
	ck_assert_int_eq(id[0], -1);
	ck_assert_int_eq(id[1], -1);
	fake.status |= 3;
	fake.neighbor_east = 7;
	fake.neighbor_west = 5;
	ck_assert_int_eq(nhal_neighbors_read(&hal, id), 0);
	ck_assert_int_eq(id[0], 7);
	ck_assert_int_eq(id[1], 5);
	ck_assert_int_eq(id[2], -1);
}
END_TEST

START_TEST(test_addresses)
{
	unsigned int bar, nc;
	uint64_t offset, addr;

	ck_assert_int_eq(nhal_addr_to_bar(GEN, 0x1000000000ull, 1ull << 32, &bar, &offset), 0);
	ck_assert_uint_eq(bar, 4);
	ck_assert_uint_eq(offset, 1ull << 32);
	ck_assert_int_eq(nhal_addr_to_bar(GEN, 0xffffffffull, 2, &bar, &offset), -EINVAL);
	ck_assert_int_eq(nhal_addr_to_bar(GEN, 0x1000, ~0ull, &bar, &offset), -EINVAL);
	ck_assert_int_eq(nhal_addr_to_bar(GEN, 0xfffcc000000ull, 4, &bar, &offset), 0);
	ck_assert_uint_eq(bar, 2);
	ck_assert_uint_eq(offset, 0xc000000);
	ck_assert_int_eq(nhal_addr_to_core(GEN, 0xfffc8000000ull, 16, &nc), 0);
	ck_assert_uint_eq(nc, 2);
	ck_assert_int_eq(nhal_addr_to_core(GEN, 0xfffcfffffffull, 2, &nc), -EINVAL);
	ck_assert_int_eq(nhal_bar_to_addr(GEN, 2, 0xc000000, &addr), 0);
	ck_assert_uint_eq(addr, 0xfffcc000000ull);
	ck_assert_int_eq(nhal_bar_to_addr(GEN, 0, 0x78e01c, &addr), 0);
	ck_assert_uint_eq(addr, 0xffff078e01cull);
	ck_assert_int_eq(nhal_bar_to_addr(GEN, 2, 0x10000000, &addr), -EINVAL);
	ck_assert_int_eq(nhal_bar_to_addr(GEN, 4, 0, &addr), -EINVAL);
	ck_assert_uint_eq(nhal_sem_addr(GEN, 1, NEURON_SEM_DEC, 31), 0xfffc4000000ull + 0x270137c);
	ck_assert_uint_eq(nhal_event_addr(GEN, 0, 255), 0xfffc0000000ull + 0x27003fc);
	ck_assert_uint_eq(nhal_fifo_addr(GEN, 1, 0), 0xfffc4000000ull + 0x265c000);
	ck_assert_int_eq(nhal_nq_regs(GEN, 0, 1, 3, &offset), 0);
	ck_assert_uint_eq(offset, 0x404000 + 0xbfc + 3 * 0x104);
	ck_assert_int_eq(nhal_nq_regs(GEN, 4, 1, 0, &offset), -EINVAL);
	ck_assert_int_eq(nhal_nq_regs(GEN, 0, 5, 0, &offset), -EINVAL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hal");
	TCase *tc = tcase_create("hal");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, test_engine_init_is_the_trace, 0, 12);
	tcase_add_test(tc, test_queue_init_is_the_trace);
	tcase_add_test(tc, test_copy_is_the_trace);
	tcase_add_test(tc, test_ring_laps);
	tcase_add_test(tc, test_batch_limit);
	tcase_add_test(tc, test_crc_check_value);
	tcase_add_test(tc, test_mailbox_sequence);
	tcase_add_test(tc, test_mailbox_writes);
	tcase_add_test(tc, test_mailbox_batches);
	tcase_add_test(tc, test_metric_limit);
	tcase_add_test(tc, test_mailbox_retries);
	tcase_add_test(tc, test_mailbox_silence);
	tcase_add_test(tc, test_words);
	tcase_add_test(tc, test_reset_times);
	tcase_add_test(tc, test_reset_without_sleep);
	tcase_add_test(tc, test_reset_gives_up);
	tcase_add_test(tc, test_neighbors);
	tcase_add_test(tc, test_addresses);
	suite_add_tcase(s, tc);
	return check_run(s);
}
