/* SPDX-License-Identifier: MIT */
/*
 * The mailbox (FWIO): a request in host memory, answered inside the doorbell write. The sequence
 * byte, which the driver polls, is written last. Later firmware takes requests from MISC RAM's
 * words, too. chip->lock is held.
 */
#include "copy.h"
#include "event.h"
#include "misc.h"

#include <errno.h>
#include <string.h>

static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t crc = 0xffffffffu;
	unsigned int k;

	while (n--) {
		crc ^= *p++;
		for (k = 0; k < 8; k++)
			crc = crc >> 1 ^ (crc & 1 ? NEURON_FWIO_CRC32C_POLY : 0);
	}
	return ~crc;
}

static uint64_t misc_addr(struct ncore_chip *chip, uint32_t hi, uint32_t lo)
{
	return (uint64_t)ncore_load(&chip->misc[hi / 4]) << 32 | ncore_load(&chip->misc[lo / 4]);
}

/* Both buffers are the driver's, so they have to lie in host memory. */
static int host_addr(struct ncore_chip *chip, uint64_t addr, uint64_t *host)
{
	const struct neuron_windows *w = &chip->gen->window;

	if ((addr & ~(w->host_size - 1)) != w->host)
		return -EFAULT;
	*host = addr & ~w->host;
	return 0;
}

static int host_rw(struct ncore_chip *chip, uint64_t addr, void *buf, uint64_t len, bool write)
{
	return chip->ops->dma_rw(chip->cfg.opaque, addr, buf, len, write);
}

/* Reads the request into chip->fwio. Returns its size, or -errno when it cannot be answered. */
static int get_request(struct ncore_chip *chip, uint64_t addr)
{
	uint8_t *req = chip->fwio;
	unsigned int size;

	if (host_rw(chip, addr, req, NEURON_FWIO_REQ_HDR, false))
		return -EFAULT;
	size = req[2] | (unsigned int)req[3] << 8;
	if (size <= NEURON_FWIO_REQ_HDR)
		return NEURON_FWIO_REQ_HDR;
	/* The header is read once, so that what was checked is what is used. */
	if (host_rw(chip, addr + NEURON_FWIO_REQ_HDR, req + NEURON_FWIO_REQ_HDR,
		    size - NEURON_FWIO_REQ_HDR, false))
		return -EFAULT;
	return (int)size;
}

static uint8_t check_request(struct ncore_chip *chip, unsigned int size)
{
	uint8_t *req = chip->fwio;
	uint32_t crc = ncore_get32(req + 4);

	if ((req[2] | (unsigned int)req[3] << 8) != size)
		return NEURON_FWIO_FAIL;
	memset(req + 4, 0, 4);
	return crc32c(req, size) == crc ? NEURON_FWIO_OK : NEURON_FWIO_FAIL;
}

/* Values replace addresses from the front of the payload: value i lies before address i is read */
static uint8_t do_read(struct ncore_chip *chip, unsigned int *len)
{
	uint8_t *payload = chip->fwio + NEURON_FWIO_REQ_HDR;
	unsigned int i, n = *len / 8;
	uint32_t value;

	if (*len % 8 || !n)
		return NEURON_FWIO_FAIL;
	for (i = 0; i < n; i++) {
		uint64_t addr = ncore_get64(payload + 8 * i);

		if (ncore_device_read32(chip, addr, &value)) {
			ncore_guest_error(chip, NCORE_GE_UNDEFINED, addr, 0);
			return NEURON_FWIO_FAIL;
		}
		ncore_put32(payload + 4 * i, value);
	}
	*len = 4 * n;
	return NEURON_FWIO_OK;
}

static uint8_t run_request(struct ncore_chip *chip, unsigned int size, unsigned int *len)
{
	uint8_t error = check_request(chip, size);

	*len = size - NEURON_FWIO_REQ_HDR;
	if (!error) {
		switch (chip->fwio[1]) {
		case NEURON_FWIO_CMD_READ:
			error = do_read(chip, len);
			break;
		case NEURON_FWIO_CMD_POST_METRIC:
			error = *len <= NEURON_MISC_METRIC_SIZE ? NEURON_FWIO_OK : NEURON_FWIO_FAIL;
			*len = 0;
			break;
		default:
			error = NEURON_FWIO_UNKNOWN_CMD;
		}
	}
	if (error)
		*len = 0;
	return error;
}

static bool fault(struct ncore_chip *chip, enum ncore_fault fault)
{
	return ncore_fault_injected(chip, 1u << fault) &&
	       ncore_fault_occasion(chip, fault, NCORE_CORE_ANY, NCORE_FQ_ANY);
}

static int answer(struct ncore_chip *chip, uint64_t addr, uint8_t seq, uint8_t error,
		  unsigned int len)
{
	uint8_t *resp = chip->fwio + NEURON_FWIO_REQ_HDR - NEURON_FWIO_RESP_HDR;
	unsigned int size = NEURON_FWIO_RESP_HDR + len;

	resp[0] = seq;
	resp[1] = error;
	resp[2] = (uint8_t)size;
	resp[3] = (uint8_t)(size >> 8);
	if (host_rw(chip, addr + 1, resp + 1, size - 1, true))
		return -EFAULT;
	atomic_thread_fence(memory_order_release);
	return host_rw(chip, addr, resp, 1, true);
}

/* Requests in words: payload is what was asked with, and then what is answered */

static uint8_t get_data(struct ncore_chip *chip, uint8_t *payload, unsigned int *len)
{
	if (!*len)
		return NEURON_FWIO_FAIL;
	switch (payload[0]) {
	case NEURON_FWIO_DATA_PROFILE:
		ncore_put32(payload, 0);
		ncore_put32(payload + 4, ncore_load(&chip->misc[NEURON_MISC_PROFILE / 4]));
		*len = 8;
		return NEURON_FWIO_OK;
	case NEURON_FWIO_DATA_PROFILES:
		*len = 1 + 32;
		memset(payload, 0, *len);
		payload[0] = NEURON_PROFILES;
		payload[1] = (1 << NEURON_PROFILES) - 1;
		return NEURON_FWIO_OK;
	default:
		return NEURON_FWIO_FAIL;
	}
}

static uint8_t run_words(struct ncore_chip *chip, uint8_t *payload, unsigned int *len)
{
	const unsigned int n = *len;
	uint8_t word[4] = { 0 };

	*len = 0;
	switch (chip->fwio[1]) {
	case NEURON_FWIO_CMD_POST_METRIC:
		return NEURON_FWIO_OK;
	case NEURON_FWIO_CMD_POWER_PROFILE:
		if (n != 8 || payload[4] >= NEURON_PROFILES)
			return NEURON_FWIO_FAIL;
		ncore_misc_store(chip, NEURON_MISC_PROFILE, ncore_get32(payload + 4));
		return NEURON_FWIO_OK;
	case NEURON_FWIO_CMD_GET_DATA:
		*len = n;
		return get_data(chip, payload, len);
	case NEURON_FWIO_CMD_FEATURES:
		if (!n || n > sizeof(word))
			return NEURON_FWIO_FAIL;
		memcpy(word, payload, n);
		ncore_misc_store(chip, NEURON_MISC_FEATURES, ncore_get32(word));
		return NEURON_FWIO_OK;
	default:
		return NEURON_FWIO_UNKNOWN_CMD;
	}
}

static void words(struct ncore_chip *chip)
{
	uint8_t *msg = chip->fwio, *payload = msg + NEURON_FWIO_REQ_HDR;
	ncore_reg *header = &chip->misc[NEURON_MISC_FWIO_REQ_HI / 4];
	ncore_reg *data = &chip->misc[NEURON_MISC_METRIC / 4];
	unsigned int i, size, len = 0;
	uint8_t error = NEURON_FWIO_FAIL;

	for (i = 0; i < 2; i++)
		ncore_put32(msg + 4 * i, ncore_load(&header[i]));
	for (i = 0; i < NEURON_MISC_METRIC_SIZE / 4; i++)
		ncore_put32(payload + 4 * i, ncore_load(&data[i]));
	size = msg[2] | (unsigned int)msg[3] << 8;
	ncore_misc_store(chip, NEURON_MISC_DOORBELL, fault(chip, NCORE_FAULT_MAILBOX_SILENCE));
	if (ncore_load(&chip->misc[NEURON_MISC_DOORBELL / 4]))
		return;
	if (size >= NEURON_FWIO_REQ_HDR && size <= NEURON_FWIO_REQ_HDR + NEURON_MISC_METRIC_SIZE)
		error = check_request(chip, size);
	if (!error && fault(chip, NCORE_FAULT_MAILBOX_BAD_CRC))
		error = NEURON_FWIO_FAIL;
	if (!error) {
		len = size - NEURON_FWIO_REQ_HDR;
		error = run_words(chip, payload, &len);
	}
	if (error)
		len = 0;
	if (fault(chip, NCORE_FAULT_MAILBOX_SHORT))
		len -= len < 4 ? len : 4;

	ncore_event(chip, NCORE_EV_FWIO, msg[0], msg[1], size, error);
	size = NEURON_FWIO_REQ_HDR + len;
	msg[1] = error;
	msg[2] = (uint8_t)size;
	msg[3] = 0;
	memset(msg + 4, 0, 4);
	memset(payload + len, 0, 4);
	ncore_put32(msg + 4, crc32c(msg, size));
	for (i = 0; i < (len + 3) / 4; i++)
		ncore_store(&data[i], ncore_get32(payload + 4 * i));
	for (i = 0; i < 2; i++)
		ncore_store(&header[i], ncore_get32(msg + 4 * i));
}

void ncore_fwio_doorbell(struct ncore_chip *chip)
{
	uint64_t req, resp;
	uint8_t seq, cmd, error;
	unsigned int len, i;
	int size;

	if (ncore_fwio_words(chip) &&
	    !misc_addr(chip, NEURON_MISC_FWIO_RESP_HI, NEURON_MISC_FWIO_RESP_LO)) {
		words(chip);
		return;
	}
	/* Semaphores show what was written before. This may drop the lock, so it comes first. */
	for (i = 0; i < chip->gen->cores; i++)
		ncore_strand_sync(&chip->strand[i]);

	req = misc_addr(chip, NEURON_MISC_FWIO_REQ_HI, NEURON_MISC_FWIO_REQ_LO);
	resp = misc_addr(chip, NEURON_MISC_FWIO_RESP_HI, NEURON_MISC_FWIO_RESP_LO);
	if (host_addr(chip, req, &req) || host_addr(chip, resp, &resp) ||
	    (size = get_request(chip, req)) < 0) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, req, resp);
		return;
	}

	seq = chip->fwio[0];
	cmd = chip->fwio[1];
	/* The driver takes 0 for an answer that is not there yet. */
	if (!seq) {
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, req, 0);
		return;
	}
	if (fault(chip, NCORE_FAULT_MAILBOX_SILENCE))
		return;

	error = run_request(chip, (unsigned int)size, &len);
	if (fault(chip, NCORE_FAULT_MAILBOX_BAD_CRC)) {
		error = NEURON_FWIO_FAIL;
		len = 0;
	}
	if (fault(chip, NCORE_FAULT_MAILBOX_SHORT))
		len -= len < 4 ? len : 4;
	if (answer(chip, resp, seq, error, len))
		ncore_guest_error(chip, NCORE_GE_UNDEFINED, resp, 0);
	ncore_event(chip, NCORE_EV_FWIO, seq, cmd, (uint64_t)size, error);
}
