/* SPDX-License-Identifier: MIT */
/* One in-process chip: bring-up and reset by hal's procedures, registers, the last close */
#include "emu.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static void chip_write32(void *opaque, unsigned int bar, uint64_t offset, uint32_t value)
{
	struct emu_chip *chip = opaque;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	ncore_mmio_write(chip->core, bar, offset, 4, value);
}

static int chip_wait(void *opaque, unsigned int us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };

	if (!us)
		sched_yield();
	else
		nanosleep(&ts, NULL);
	return 0;
}

static uint64_t chip_now(void *opaque)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static const struct nhal_ops hal_ops = { .write32 = chip_write32,
					 .wait = chip_wait,
					 .now_us = chip_now };

static int chip_dma(void *opaque, uint64_t addr, void *buf, uint64_t len, bool write)
{
	struct emu_chip *chip = opaque;

	return emu_host_rw(&chip->machine->host, addr, buf, len, write);
}

static const struct ncore_host_ops host_ops = { .dma_rw = chip_dma, .irq = emu_irq };

static int mailbox_init(struct emu_chip *chip)
{
	uint64_t addr;
	uint8_t *p;
	int ret = emu_host_alloc(&chip->machine->host, EMU_OWN, 2 * NEURON_FWIO_BUF_SIZE, &addr,
				 (void **)&p);

	if (ret)
		return ret;
	nhal_init(&chip->hal, chip->gen, &hal_ops, chip,
		  NEURON_CAP_F_FAST_RESET | NEURON_CAP_F_TPB_MAP | NEURON_CAP_F_PERF);
	nhal_mailbox_set(&chip->hal, p, nhal_host_addr(chip->gen, addr), p + NEURON_FWIO_BUF_SIZE,
			 nhal_host_addr(chip->gen, addr + NEURON_FWIO_BUF_SIZE));
	return 0;
}

static int core_init(struct emu_chip *chip, unsigned int nc)
{
	struct emu_core *c = &chip->nc[nc];
	struct nhal_h2t_mem *m = &c->h2t_mem;
	uint64_t size = 2 * NHAL_H2T_RING_BYTES + EMU_PAGE + EMU_STAGING_SIZE, addr;
	uint8_t *p;
	int ret = emu_host_alloc(&chip->machine->host, EMU_OWN, size, &addr, (void **)&p);

	if (ret)
		return ret;
	addr = nhal_host_addr(chip->gen, addr);
	m->tx = p;
	m->tx_addr = addr;
	m->rx = p + NHAL_H2T_RING_BYTES;
	m->rx_addr = addr + NHAL_H2T_RING_BYTES;
	m->completion = p + 2 * NHAL_H2T_RING_BYTES;
	m->completion_addr = addr + 2 * NHAL_H2T_RING_BYTES;
	c->staging = p + 2 * NHAL_H2T_RING_BYTES + EMU_PAGE;
	c->staging_addr = addr + 2 * NHAL_H2T_RING_BYTES + EMU_PAGE;
	c->cinit = NEURON_CINIT_STATE_INVALID;
	pthread_mutex_init(&c->lock, NULL);
	return 0;
}

/* The cores' locks are held, so that no copy is in progress. */
static int bring_up(struct emu_chip *chip, unsigned int type, uint32_t nc_map)
{
	int ret;

	for (unsigned int nc = 0; nc < chip->gen->cores; nc++)
		chip->nc[nc].broken |= nc_map >> nc & 1;
	pthread_rwlock_rdlock(&chip->machine->ids);
	pthread_mutex_lock(&chip->fwio);
	ret = nhal_reset(&chip->hal, type, nc_map);
	if (!ret)
		nhal_device_id_write(&chip->hal, (uint32_t)chip->index);
	pthread_mutex_unlock(&chip->fwio);
	pthread_rwlock_unlock(&chip->machine->ids);
	for (unsigned int nc = 0; !ret && nc < chip->gen->cores; nc++) {
		struct emu_core *c = &chip->nc[nc];

		if (!(nc_map >> nc & 1))
			continue;
		nhal_core_dma_init(&chip->hal, nc);
		nhal_h2t_init(&c->h2t, &chip->hal, nc, &c->h2t_mem);
		c->broken = false;
		c->cinit = NEURON_CINIT_STATE_INVALID;
		c->started = 0;
	}
	return ret;
}

static uint32_t all_cores(const struct emu_chip *chip)
{
	return (1u << chip->gen->cores) - 1;
}

int emu_chip_reset(struct emu_chip *chip, uint32_t nc_map)
{
	unsigned int type =
		nc_map == NEURON_NC_MAP_DEVICE ? NEURON_MISC_RESET_DEVICE : NEURON_MISC_RESET_TPB;
	uint32_t map = nc_map & all_cores(chip);
	int ret;

	if (!map)
		return -EINVAL;
	for (unsigned int nc = 0; nc < chip->gen->cores; nc++)
		pthread_mutex_lock(&chip->nc[nc].lock);
	pthread_mutex_lock(&chip->lock);
	emu_nq_drop(chip, map);
	ret = bring_up(chip, type, map);
	pthread_mutex_unlock(&chip->lock);
	for (unsigned int nc = chip->gen->cores; nc--;)
		pthread_mutex_unlock(&chip->nc[nc].lock);
	return ret;
}

int emu_chip_init(struct emu_chip *chip, struct emu_machine *machine, int index)
{
	struct ncore_chip_config config = {
		.gen = machine->gen,
		.ops = &host_ops,
		.opaque = chip,
		.pool = machine->pool,
		.fabric = machine->fabric,
		.slot = (unsigned int)index,
	};
	uint64_t size;
	int ret;

	chip->machine = machine;
	chip->index = index;
	chip->gen = machine->gen;
	pthread_mutex_init(&chip->lock, NULL);
	pthread_mutex_init(&chip->fwio, NULL);
	pthread_mutex_init(&chip->open_lock, NULL);

	chip->queue = calloc(chip->gen->dma_engines, sizeof(*chip->queue));
	if (!chip->queue)
		return -ENOMEM;

	ret = emu_irq_init(chip);
	if (!ret)
		ret = emu_mem_init(chip);
	if (!ret)
		ret = mailbox_init(chip);
	for (unsigned int nc = 0; !ret && nc < chip->gen->cores; nc++)
		ret = core_init(chip, nc);
	if (!ret)
		ret = ncore_chip_new(&config, &chip->core);

	if (ret)
		return ret;

	chip->dram = ncore_dram(chip->core, &size, NULL);
	return bring_up(chip, NEURON_MISC_RESET_DEVICE, all_cores(chip));
}

void emu_chip_fini(struct emu_chip *chip)
{
	if (!chip->machine)
		return;
	ncore_chip_free(chip->core);
	emu_mem_fini(chip);
	free(chip->queue);
}

static uint32_t cores_of(struct emu_chip *chip, uint8_t user)
{
	uint32_t map = 0;

	pthread_mutex_lock(&chip->lock);
	for (unsigned int nc = 0; nc < chip->gen->cores; nc++)
		if (user == EMU_OWN || chip->nc[nc].owner == user)
			map |= 1u << nc;
	pthread_mutex_unlock(&chip->lock);
	return map;
}

static void core_forget(struct emu_chip *chip, unsigned int nc, uint8_t user)
{
	struct emu_core *c = &chip->nc[nc];

	if (c->locker == user) {
		c->writer = false;
		c->readers = 0;
		c->locker = EMU_NOBODY;
	}
	/* nobody will complete what it started */
	if (c->cinit == NEURON_CINIT_STATE_STARTED && c->cinit_by == user)
		c->cinit = NEURON_CINIT_STATE_INVALID;
	if (c->owner == user)
		emu_unclaim(chip, nc);
}

/*
 * Does what the kernel module does when a process exits: stops its cores, takes away its queues, and
 * stops the cores again, because a queue may have fed one between the two; then its memory goes.
 */
void emu_chip_released(struct emu_chip *chip, uint8_t user)
{
	uint32_t map = cores_of(chip, user);

	emu_chip_reset(chip, map);
	emu_queues_stop(chip, user);
	if (user != EMU_OWN)
		emu_chip_reset(chip, map);
	emu_nds_drop(chip, user);
	emu_mem_free_all(chip, user);
	pthread_mutex_lock(&chip->lock);
	for (unsigned int nc = 0; nc < chip->gen->cores; nc++)
		core_forget(chip, nc, user);
	pthread_mutex_unlock(&chip->lock);
}
