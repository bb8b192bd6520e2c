// SPDX-License-Identifier: MIT
/*
 * Mailbox requests, valid or broken: header, length, CRC, addresses, and buffers anywhere. Of an
 * answer the public record's promises are checked: the sequence byte, the size, and no byte beyond
 * it.
 */
#include "chips.h"

#define MISC GEN(APB_MISC_RAM)
#define REQ 0x10000u
#define RESP 0x40000u
#define RESP_MAX 0x10000u
#define MESSAGES 8

static uint32_t put_request(struct fuzz_in *in, struct fuzz_chip *c, uint32_t at)
{
	uint8_t flags = fuzz_u8(in), *req = c->host + at;
	uint32_t n, size, i;
	const uint8_t *p;
	size_t raw;

	req[0] = fuzz_u8(in);
	req[1] = flags & 0x80 ? fuzz_u8(in) : NEURON_FWIO_CMD_READ;
	if (flags & 0x40) { /* any payload */
		p = fuzz_bytes(in, fuzz_u16(in), &raw);
		memcpy(req + 8, p, raw);
		size = NEURON_FWIO_REQ_HDR + (uint32_t)raw;
	} else {
		n = flags & 0x20 ? fuzz_u16(in) % 8191 : fuzz_u8(in) % 20;
		for (i = 0; i < n; i++)
			fuzz_put(req + 8 + 8 * i, fuzz_address(in) & ~3ull, 8);
		size = NEURON_FWIO_REQ_HDR + 8 * n;
	}
	if (flags & 0x10)
		size = fuzz_u16(in);
	fuzz_put(req + 2, size, 2);
	memset(req + 4, 0, 4);
	fuzz_put(req + 4, flags & 8 ? fuzz_u32(in) : fuzz_crc32c(req, size), 4);
	return size;
}

static void ring(struct fuzz_chip *c, uint64_t req, uint64_t resp)
{
	chip_write(c, MISC + NEURON_MISC_FWIO_REQ_HI, (uint32_t)(req >> 32));
	chip_write(c, MISC + NEURON_MISC_FWIO_REQ_LO, (uint32_t)req);
	chip_write(c, MISC + NEURON_MISC_FWIO_RESP_HI, (uint32_t)(resp >> 32));
	chip_write(c, MISC + NEURON_MISC_FWIO_RESP_LO, (uint32_t)resp);
	/* otherwise the doorbell would trigger a reset */
	chip_write(c, MISC + NEURON_MISC_RESET, 0);
	chip_write(c, MISC + NEURON_MISC_DOORBELL, 1);
}

/* Puts both buffers where they belong: the answer is then known except for its values. */
static void good_buffers(struct fuzz_in *in, struct fuzz_chip *c)
{
	uint8_t *resp = c->host + RESP, seq;
	uint32_t size, got, i;

	memset(resp, 0xee, RESP_MAX + 64);
	size = put_request(in, c, REQ);
	seq = c->host[REQ];
	resp[0] = 0;
	ring(c, HOST(REQ), HOST(RESP));
	if (!seq) {
		fuzz_assert(!resp[0] && resp[1] == 0xee);
		return;
	}
	got = resp[2] | (uint32_t)resp[3] << 8;
	fuzz_assert(resp[0] == seq && resp[1] <= NEURON_FWIO_UNKNOWN_CMD);
	fuzz_assert(got >= NEURON_FWIO_RESP_HDR && got <= size + NEURON_FWIO_RESP_HDR);
	fuzz_assert(!resp[1] || got == NEURON_FWIO_RESP_HDR);
	for (i = got; i < RESP_MAX + 64; i++)
		fuzz_assert(resp[i] == 0xee);
}

static void any_buffers(struct fuzz_in *in, struct fuzz_chip *c)
{
	uint64_t req = fuzz_address(in), resp = fuzz_address(in);
	uint64_t at = req - GEN(WINDOW_HOST);

	if (at < HOST_SIZE - 0x20000)
		put_request(in, c, (uint32_t)at);
	ring(c, req, resp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, data + size };
	struct fuzz_chip *chip = chips_begin();
	unsigned int n;

	for (n = 0; n < MESSAGES && !fuzz_end(&in); n++) {
		uint8_t what = fuzz_u8(&in);
		struct fuzz_chip *c = &chip[(what & 3) % CHIPS];

		if (what & 0x80)
			chip_write(c, fuzz_register(&in), fuzz_u32(&in));
		else if (what & 0x40)
			any_buffers(&in, c);
		else
			good_buffers(&in, c);
	}
	chips_end();
	return 0;
}
