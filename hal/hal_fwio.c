// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The firmware mailbox (docs/hardware.md, FWIO): requests and responses in host memory, the only
 * way to read a register. The buffers belong to the caller, who also serialises.
 */
#include "hal.h"

/* Public timing: fifteen tries, each sent again with a new number, one second each in 1 ms steps */
#define FWIO_ATTEMPTS 15
#define FWIO_TIMEOUT_US 1000000
#define FWIO_POLL_US 1000
/* The public driver's limit on registers in one request */
#define FWIO_READ_BATCH 100

void nhal_mailbox_set(struct nhal *hal, void *req, uint64_t req_addr, void *resp,
		      uint64_t resp_addr)
{
	hal->req = req;
	hal->req_addr = req_addr;
	hal->resp = resp;
	hal->resp_addr = resp_addr;
}

static uint32_t crc_update(uint32_t crc, const uint8_t *p, size_t len)
{
	unsigned int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? NEURON_FWIO_CRC32C_POLY : 0);
	}
	return crc;
}

uint32_t nhal_crc32c(const void *data, size_t len)
{
	return ~crc_update(0xffffffffu, data, len);
}

uint32_t nhal_fwio_build(uint8_t *buf, uint8_t seq, uint8_t cmd, const void *payload, uint32_t len)
{
	uint32_t size = NEURON_FWIO_REQ_HDR + len;

	if (payload && payload != buf + NEURON_FWIO_REQ_HDR)
		memmove(buf + NEURON_FWIO_REQ_HDR, payload, len);
	buf[0] = seq;
	buf[1] = cmd;
	nhal_put16(buf + 2, (uint16_t)size);
	nhal_put32(buf + 4, 0);
	nhal_put32(buf + 4, nhal_crc32c(buf, size));
	return size;
}

static void mailbox_ring(struct nhal *hal)
{
	nhal_misc_write(hal, NEURON_MISC_FWIO_REQ_LO, (uint32_t)hal->req_addr);
	nhal_misc_write(hal, NEURON_MISC_FWIO_REQ_HI, (uint32_t)(hal->req_addr >> 32));
	nhal_misc_write(hal, NEURON_MISC_FWIO_RESP_LO, (uint32_t)hal->resp_addr);
	nhal_misc_write(hal, NEURON_MISC_FWIO_RESP_HI, (uint32_t)(hal->resp_addr >> 32));
	nhal_misc_write(hal, NEURON_MISC_DOORBELL, 1);
}

static int mailbox_wait(struct nhal *hal)
{
	uint64_t start = hal->ops->now_us(hal->opaque);
	int ret;

	while (nhal_load_acquire(hal->resp) != hal->seq) {
		if (hal->ops->now_us(hal->opaque) - start > FWIO_TIMEOUT_US)
			return -ETIMEDOUT;
		ret = hal->ops->wait(hal->opaque, FWIO_POLL_US);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void request_number(struct nhal *hal)
{
	hal->seq = hal->seq == 255 ? 1 : (uint8_t)(hal->seq + 1);
}

/* One try; -EAGAIN and -ETIMEDOUT are worth another */
static int mailbox_try(struct nhal *hal, uint8_t cmd, uint32_t len, uint32_t expect)
{
	unsigned int size;
	int ret;

	request_number(hal);
	nhal_fwio_build(hal->req, hal->seq, cmd, NULL, len);
	hal->resp[0] = 0;
	mailbox_ring(hal);
	ret = mailbox_wait(hal);
	if (ret)
		return ret;
	hal->silent = false;
	if (hal->resp[1] == NEURON_FWIO_UNKNOWN_CMD)
		return -EOPNOTSUPP;
	size = hal->resp[2] | (unsigned int)hal->resp[3] << 8;
	if (hal->resp[1] != NEURON_FWIO_OK || size < expect)
		return -EAGAIN;
	return size == expect || cmd == NEURON_FWIO_CMD_POST_METRIC ? 0 : -EIO;
}

/*
 * A firmware that answered none of a call's tries gets one try a call from then on, until it
 * answers: those who wait behind one another do not wait fifteen seconds each.
 */
static int mailbox_call(struct nhal *hal, uint8_t cmd, uint32_t len, uint32_t expect)
{
	unsigned int i, unanswered = 0;
	int ret = -EIO;

	for (i = 0; i < FWIO_ATTEMPTS; i++) {
		ret = mailbox_try(hal, cmd, len, expect);
		if (ret != -EAGAIN && ret != -ETIMEDOUT)
			return ret;
		if (hal->silent)
			return ret;
		unanswered += ret == -ETIMEDOUT;
	}
	hal->silent = unanswered == FWIO_ATTEMPTS;
	return ret == -EAGAIN ? -EIO : ret;
}

static int read_batch(struct nhal *hal, const uint64_t *addr, uint32_t *value, unsigned int n)
{
	unsigned int i, b;
	int ret;

	for (i = 0; i < n; i++)
		nhal_put64(hal->req + NEURON_FWIO_REQ_HDR + 8 * i, addr[i]);
	ret = mailbox_call(hal, NEURON_FWIO_CMD_READ, 8 * n, NEURON_FWIO_RESP_HDR + 4 * n);
	if (ret)
		return ret;
	for (i = 0; i < n; i++) {
		value[i] = 0;
		for (b = 0; b < 4; b++)
			value[i] |= (uint32_t)hal->resp[NEURON_FWIO_RESP_HDR + 4 * i + b] << 8 * b;
	}
	return 0;
}

int nhal_reg_read(struct nhal *hal, const uint64_t *addr, uint32_t *value, unsigned int n)
{
	unsigned int batch;
	int ret;

	if (n > NHAL_FWIO_READ_MAX)
		return -EINVAL;
	for (; n; n -= batch, addr += batch, value += batch) {
		batch = n < FWIO_READ_BATCH ? n : FWIO_READ_BATCH;
		ret = read_batch(hal, addr, value, batch);
		if (ret)
			return ret;
	}
	return 0;
}

int nhal_reg_read1(struct nhal *hal, uint64_t addr, uint32_t *value)
{
	return nhal_reg_read(hal, &addr, value, 1);
}

/* Public timing: three tries of a minute; a firmware of the emulator's answers at once */
#define WORDS_ATTEMPTS 3
#define WORDS_TIMEOUT_US 60000000
#define WORDS_POLL_US 1000

static uint32_t misc_read(struct nhal *hal, unsigned int word)
{
	return hal->ops->read32(hal->opaque, hal->gen->bar_regs,
				neuron_gen_offset(hal->gen, NEURON_BLOCK_MISC, 0) + word);
}

/* Writes bytes as words, of which the last is filled with zeros */
static void misc_write_bytes(struct nhal *hal, unsigned int at, const void *bytes, unsigned int len)
{
	uint8_t word[4];
	unsigned int i, n;

	for (i = 0; i < len; i += 4) {
		n = len - i < 4 ? len - i : 4;
		memset(word, 0, sizeof(word));
		memcpy(word, (const uint8_t *)bytes + i, n);
		nhal_misc_write(hal, at + i, nhal_get32(word));
	}
}

static int words_wait(struct nhal *hal)
{
	uint64_t limit =
		hal->features & NEURON_CAP_F_FAST_RESET ? FWIO_TIMEOUT_US : WORDS_TIMEOUT_US;
	uint64_t start = hal->ops->now_us(hal->opaque);
	int ret;

	while (misc_read(hal, NEURON_MISC_DOORBELL)) {
		if (hal->ops->now_us(hal->opaque) - start > limit)
			return -ETIMEDOUT;
		ret = hal->ops->wait(hal->opaque, WORDS_POLL_US);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* The request lies in hal->req, where its CRC was made; -EAGAIN and -ETIMEDOUT as above */
static int words_try(struct nhal *hal, uint8_t cmd, unsigned int len)
{
	uint32_t answer;
	int ret;

	request_number(hal);
	nhal_fwio_build(hal->req, hal->seq, cmd, NULL, len);
	misc_write_bytes(hal, NEURON_MISC_METRIC, hal->req + NEURON_FWIO_REQ_HDR, len);
	nhal_misc_write(hal, NEURON_MISC_FWIO_REQ_HI, nhal_get32(hal->req));
	nhal_misc_write(hal, NEURON_MISC_FWIO_REQ_LO, nhal_get32(hal->req + 4));
	nhal_misc_write(hal, NEURON_MISC_FWIO_RESP_HI, 0);
	nhal_misc_write(hal, NEURON_MISC_FWIO_RESP_LO, 0);
	nhal_misc_write(hal, NEURON_MISC_ACK, 1);
	nhal_misc_write(hal, NEURON_MISC_DOORBELL, 1);
	ret = words_wait(hal);
	if (ret)
		return ret;
	answer = misc_read(hal, NEURON_MISC_FWIO_REQ_HI);
	if ((answer & 0xff) != hal->seq)
		return -EAGAIN;
	switch (answer >> 8 & 0xff) {
	case NEURON_FWIO_OK:
		return 0;
	case NEURON_FWIO_UNKNOWN_CMD:
		return -EOPNOTSUPP;
	default:
		return -EAGAIN;
	}
}

int nhal_words_call(struct nhal *hal, uint8_t cmd, const void *payload, unsigned int len)
{
	unsigned int i;
	int ret = -EIO;

	if (len > NEURON_MISC_METRIC_SIZE)
		return -E2BIG;
	memcpy(hal->req + NEURON_FWIO_REQ_HDR, payload, len);
	for (i = 0; i < WORDS_ATTEMPTS; i++) {
		ret = words_try(hal, cmd, len);
		if (ret != -EAGAIN && ret != -ETIMEDOUT)
			return ret;
	}
	return ret == -EAGAIN ? -EIO : ret;
}

void nhal_words_answer(struct nhal *hal, void *answer, unsigned int len)
{
	uint8_t word[4], *at = answer;
	unsigned int i, n;

	for (i = 0; i < len; i += 4) {
		n = len - i < 4 ? len - i : 4;
		nhal_put32(word, misc_read(hal, NEURON_MISC_METRIC + i));
		memcpy(at + i, word, n);
	}
}

int nhal_metric_post(struct nhal *hal, const void *blob, unsigned int len)
{
	if (len > NEURON_MISC_METRIC_SIZE)
		return -E2BIG;
	misc_write_bytes(hal, NEURON_MISC_METRIC, blob, len);
	memcpy(hal->req + NEURON_FWIO_REQ_HDR, blob, len);
	return mailbox_call(hal, NEURON_FWIO_CMD_POST_METRIC, len, NEURON_FWIO_RESP_HDR);
}
