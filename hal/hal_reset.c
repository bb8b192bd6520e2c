// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * Reset and firmware status (docs/hardware.md, Reset). A chip that announces FAST_RESET is polled
 * at once and has shorter deadlines; any other gets the public driver's times.
 */
#include "hal.h"

#define MSEC 1000u
#define SEC 1000000u

/* The public driver's times; real firmware takes seconds and does not answer meanwhile */
#define FIRST_SLEEP_DEVICE_US (7 * SEC)
#define FIRST_SLEEP_TPB_US (3 * SEC)
#define POLL_US (500 * MSEC)
#define RETRY_DEVICE_US (30ull * SEC)
#define RETRY_TPB_US (10ull * SEC)
#define GIVE_UP_US (120ull * SEC)
#define READY_READS 5
/* FAST_RESET: the reset is over when its doorbell is, or it does not come; steps of the loop */
#define FAST_POLL_US 100
#define FAST_LOOKS_US (2 * MSEC) /* after these, the slower ones */
#define SLOW_POLL_US (20 * MSEC)
#define FAST_RETRY_US (250 * MSEC)
#define FAST_GIVE_UP_US (2ull * SEC)

static void reset_start(struct nhal *hal, unsigned int type, uint32_t tpb_map)
{
	if (type == NEURON_MISC_RESET_TPB)
		nhal_misc_write(hal, NEURON_MISC_TPB_RESET_MAP,
				hal->features & NEURON_CAP_F_TPB_MAP
					? neuron_gen_reset_map(hal->gen, tpb_map)
					: 0);
	nhal_misc_write(hal, NEURON_MISC_RESET, type);
	nhal_misc_write(hal, NEURON_MISC_DOORBELL, 1);
}

static unsigned int poll_step(bool fast, uint64_t since)
{
	if (!fast)
		return POLL_US;
	return since < FAST_LOOKS_US ? FAST_POLL_US : SLOW_POLL_US;
}

/* Wait for the reset word to clear, asking again at the public interval */
static int reset_wait(struct nhal *hal, unsigned int type, uint32_t tpb_map)
{
	bool fast = hal->features & NEURON_CAP_F_FAST_RESET;
	uint64_t retry = type == NEURON_MISC_RESET_DEVICE ? RETRY_DEVICE_US : RETRY_TPB_US;
	uint64_t give_up = fast ? FAST_GIVE_UP_US : GIVE_UP_US;
	uint64_t start = hal->ops->now_us(hal->opaque), asked = start, now;
	uint32_t word;
	int ret;

	if (fast)
		retry = FAST_RETRY_US;
	for (;;) {
		now = hal->ops->now_us(hal->opaque); /* a look after the deadline counts */
		ret = nhal_reg_read1(hal, nhal_misc_addr(hal->gen, NEURON_MISC_RESET), &word);
		if (!ret && !word)
			return 0;
		if (ret && ret != -ETIMEDOUT && ret != -EIO)
			return ret;
		if (now - start > give_up)
			return -ETIMEDOUT;
		if (now - asked > retry) {
			reset_start(hal, type, tpb_map);
			asked = now;
		}
		ret = hal->ops->wait(hal->opaque, poll_step(fast, now - asked));
		if (ret < 0)
			return ret;
	}
}

static int ready_check(struct nhal *hal)
{
	uint32_t status;
	unsigned int i;
	int ret;

	for (i = 0; i < READY_READS; i++) {
		ret = nhal_status_read(hal, &status);
		if (ret)
			return ret;
		if ((status & hal->gen->ready_mask) == hal->gen->ready_value)
			return 0;
	}
	return -EIO;
}

int nhal_reset(struct nhal *hal, unsigned int type, uint32_t tpb_map)
{
	int ret;

	if (type != NEURON_MISC_RESET_DEVICE && type != NEURON_MISC_RESET_TPB)
		return -EINVAL;
	reset_start(hal, type, tpb_map);
	if (!(hal->features & NEURON_CAP_F_FAST_RESET)) {
		ret = hal->ops->wait(hal->opaque, type == NEURON_MISC_RESET_DEVICE
							  ? FIRST_SLEEP_DEVICE_US
							  : FIRST_SLEEP_TPB_US);
		if (ret < 0)
			return ret;
	}
	ret = reset_wait(hal, type, tpb_map);
	return ret ? ret : ready_check(hal);
}

int nhal_status_read(struct nhal *hal, uint32_t *status)
{
	return nhal_reg_read1(hal, nhal_misc_addr(hal->gen, hal->gen->ready_word), status);
}

void nhal_device_id_write(struct nhal *hal, uint32_t id)
{
	if (!hal->gen->routing)
		nhal_misc_write(hal, NEURON_MISC_DEVICE_ID, id);
}

int nhal_neighbors_read(struct nhal *hal, int id[NEURON_PORTS_MAX])
{
	const struct neuron_gen *gen = hal->gen;
	uint64_t addr = nhal_misc_addr(gen, NEURON_MISC_DEVICE_ID);
	uint32_t status, word;
	unsigned int port;
	int ret;

	for (port = 0; port < NEURON_PORTS_MAX; port++)
		id[port] = -1;
	ret = nhal_status_read(hal, &status);
	for (port = 0; !ret && gen->ready_links && port < gen->window.ports; port++) {
		if (!(status >> port & 1))
			continue;
		ret = nhal_reg_read1(hal, nhal_neighbor_addr(gen, port, addr), &word);
		if (!ret)
			id[port] = (int)word;
	}
	return ret;
}
