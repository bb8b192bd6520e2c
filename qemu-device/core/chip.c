/* SPDX-License-Identifier: MIT */
/* The chip: creation, register dispatch, reset, rest. Called through ncore.h. */
#include "ncore.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "neuron/hw/inferentia.h"

struct ncore_pool {
	unsigned int threads;
};

struct ncore_fabric {
	unsigned int slots;
};

struct ncore_chip {
	struct ncore_chip_config cfg;
	void *dram;
	int dram_fd;
	uint64_t sensor[NCORE_SENSOR_COUNT];
};

#define DRAM_SIZE (NEURON_V1_DRAM_CHANNELS * NEURON_V1_DRAM_CHANNEL_SIZE)

static const char *const event_names[NCORE_EV_COUNT] = {
	[NCORE_EV_MMIO_READ] = "mmio_read",	[NCORE_EV_MMIO_WRITE] = "mmio_write",
	[NCORE_EV_FWIO] = "fwio",		[NCORE_EV_RESET] = "reset",
	[NCORE_EV_DOORBELL] = "doorbell",	[NCORE_EV_DESC] = "desc",
	[NCORE_EV_DMA_ERROR] = "dma_error",	[NCORE_EV_INSN] = "insn",
	[NCORE_EV_ENGINE_ERROR] = "engine_error", [NCORE_EV_NOTIFY] = "notify",
	[NCORE_EV_SEMAPHORE] = "semaphore",	[NCORE_EV_GUEST_ERROR] = "guest_error",
	[NCORE_EV_LINK] = "link",
};

const char *ncore_event_name(enum ncore_event ev)
{
	return (unsigned int)ev < NCORE_EV_COUNT ? event_names[ev] : NULL;
}

int ncore_pool_new(const struct ncore_pool_config *config, struct ncore_pool **pool)
{
	*pool = calloc(1, sizeof(**pool));
	return *pool ? 0 : -ENOMEM;
}

void ncore_pool_free(struct ncore_pool *pool)
{
	free(pool);
}

int ncore_fabric_new(enum ncore_topology topology, unsigned int slots, struct ncore_fabric **fabric)
{
	*fabric = calloc(1, sizeof(**fabric));
	return *fabric ? 0 : -ENOMEM;
}

void ncore_fabric_free(struct ncore_fabric *fabric)
{
	free(fabric);
}

int ncore_chip_new(const struct ncore_chip_config *config, struct ncore_chip **chip)
{
	struct ncore_chip *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->cfg = *config;
	c->dram_fd = -1;
	if (config->ops->alloc_mem) {
		int ret = config->ops->alloc_mem(config->opaque, "dram", DRAM_SIZE, &c->dram,
						 &c->dram_fd);

		if (ret < 0) {
			free(c);
			return ret;
		}
	} else {
		c->dram = mmap(NULL, DRAM_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (c->dram == MAP_FAILED) {
			free(c);
			return -ENOMEM;
		}
	}
	*chip = c;
	return 0;
}

void ncore_chip_free(struct ncore_chip *chip)
{
	if (!chip)
		return;
	if (chip->cfg.ops->free_mem)
		chip->cfg.ops->free_mem(chip->cfg.opaque, "dram", chip->dram, DRAM_SIZE,
					chip->dram_fd);
	else
		munmap(chip->dram, DRAM_SIZE);
	free(chip);
}

uint64_t ncore_mmio_read(struct ncore_chip *chip, unsigned int bar, uint64_t offset,
			 unsigned int size)
{
	return 0;
}

void ncore_mmio_write(struct ncore_chip *chip, unsigned int bar, uint64_t offset, unsigned int size,
		      uint64_t value)
{
}

void *ncore_dram(struct ncore_chip *chip, uint64_t *size, int *fd)
{
	*size = DRAM_SIZE;
	if (fd)
		*fd = chip->dram_fd;
	return chip->dram;
}

void ncore_chip_reset(struct ncore_chip *chip, enum ncore_reset kind)
{
}

void ncore_chip_pause(struct ncore_chip *chip)
{
}

void ncore_chip_resume(struct ncore_chip *chip)
{
}

bool ncore_chip_idle(struct ncore_chip *chip)
{
	return true;
}

int ncore_chip_wait_idle(struct ncore_chip *chip, int64_t timeout_ns)
{
	return 0;
}

int ncore_chip_save(struct ncore_chip *chip, void **buf, size_t *size)
{
	return -ENOTSUP;
}

int ncore_chip_load(struct ncore_chip *chip, const void *buf, size_t size, const char **reason)
{
	*reason = "not supported";
	return -ENOTSUP;
}

uint64_t ncore_guest_errors(struct ncore_chip *chip, enum ncore_guest_error kind)
{
	return 0;
}

uint64_t ncore_sensor_get(struct ncore_chip *chip, enum ncore_sensor sensor)
{
	return chip->sensor[sensor];
}

void ncore_sensor_set(struct ncore_chip *chip, enum ncore_sensor sensor, uint64_t value)
{
	chip->sensor[sensor] = value;
}
