/* SPDX-License-Identifier: MIT */
/*
 * What the kernel module keeps for each core, for in-process chips: semaphores and events,
 * notification queues, the datastore, the core locks and states. There is only one process, so the
 * entry of another pid does not exist.
 */
#include "emu.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WRITER_WAIT_NS (3ll * 1000000000) /* the public driver waits 2 to 4 s */
#define READER_WAIT_NS (700ll * 1000000) /* the public driver waits 0.5 to 1 s */
#define WAIT_STEP_NS 20000

static int core_check(const struct emu_chip *chip, uint32_t nc, uint32_t index, uint32_t limit)
{
	if (nc >= chip->gen->cores)
		return -E2BIG;
	return index >= limit ? -EINVAL : 0;
}

int emu_semaphore(ndl_device_t *dev, enum neuron_sem_access op, uint32_t nc, uint32_t index,
		  uint32_t *value)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = core_check(chip, nc, index, chip->gen->target->semaphores);

	if (ret)
		return ret;
	if (op == NEURON_SEM_READ) {
		pthread_mutex_lock(&chip->fwio);
		ret = nhal_sem_read(&chip->hal, nc, index, value);
		pthread_mutex_unlock(&chip->fwio);
		return ret;
	}
	nhal_sem_write(&chip->hal, nc, op, index, *value);
	return 0;
}

int emu_event(ndl_device_t *dev, bool set, uint32_t nc, uint32_t index, uint32_t *value)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = core_check(chip, nc, index, chip->gen->target->events);

	if (ret)
		return ret;
	if (set) {
		nhal_event_set(&chip->hal, nc, index, *value);
		return 0;
	}
	pthread_mutex_lock(&chip->fwio);
	ret = nhal_event_get(&chip->hal, nc, index, value);
	pthread_mutex_unlock(&chip->fwio);
	return ret;
}

/* Notification queues */

static void nq_free(struct emu_chip *chip, uint32_t nc, uint32_t type, uint32_t eng)
{
	struct emu_nq *nq = &chip->nq[nc][type][eng];

	if (!nq->ptr)
		return;
	nhal_nq_set(&chip->hal, nc, type, eng, 0, 0);
	emu_host_free(&chip->machine->host, nq->addr, nq->size < EMU_PAGE ? EMU_PAGE : nq->size);
	nq->ptr = NULL;
}

void emu_nq_drop(struct emu_chip *chip, uint32_t nc_map)
{
	for (uint32_t nc = 0; nc < chip->gen->cores; nc++)
		for (uint32_t type = 0; nc_map >> nc & 1 && type < NEURON_NQ_TYPES; type++)
			for (uint32_t eng = 0; eng < chip->gen->target->engines; eng++)
				nq_free(chip, nc, type, eng);
}

int emu_nq_init(ndl_device_t *dev, const struct ndl_nq_params *p, void **va)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_nq *nq;
	uint64_t regs, size = p->size < EMU_PAGE ? EMU_PAGE : p->size;
	int ret = 0;

	if (nhal_nq_regs(chip->gen, p->nc, p->type, p->engine, &regs))
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	nq = &chip->nq[p->nc][p->type][p->engine];
	if (p->fresh)
		nq_free(chip, p->nc, p->type, p->engine);
	if (!nq->ptr) {
		nq->size = p->size;
		ret = emu_host_alloc(&chip->machine->host, size, EMU_PAGE, &nq->addr, &nq->ptr);
		if (!ret)
			nhal_nq_set(&chip->hal, p->nc, p->type, p->engine,
				    nhal_host_addr(chip->gen, nq->addr), p->size);
	}
	*va = ret ? NULL : nq->ptr;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_nq_destroy(ndl_device_t *dev, void *va)
{
	/* the queue lives as long as the device, and its mapping is the arena */
	return va ? 0 : -EINVAL;
}

/* Datastore */

int emu_nds_open(ndl_device_t *dev, int pid, void **data, size_t *size)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = 0;

	if (pid && pid != getpid())
		return -ENOENT;
	pthread_mutex_lock(&chip->lock);
	if (!chip->nds)
		chip->nds = calloc(1, NDS_ENTRY_SIZE);
	if (!chip->nds)
		ret = -ENOMEM;
	else
		chip->nds_users++;
	*data = chip->nds;
	*size = NDS_ENTRY_SIZE;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_nds_close(ndl_device_t *dev, int pid, void *data, size_t size)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = -EINVAL;

	pthread_mutex_lock(&chip->lock);
	if (data && data == chip->nds && chip->nds_users) {
		if (!--chip->nds_users) {
			free(chip->nds);
			chip->nds = NULL;
		}
		ret = 0;
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

/* Core locks */

static bool mine(const struct emu_core *c, const struct neuron_uuid *uuid)
{
	return c->owned && !memcmp(&c->uuid, uuid, sizeof(*uuid));
}

/* Returns -EAGAIN if the caller has to wait. */
static int crwl_try(struct emu_core *c, enum ndl_crwl op, const struct neuron_uuid *uuid)
{
	bool known = mine(c, uuid);

	switch (op) {
	case NDL_CRWL_READER_ENTER:
		if (c->writer)
			return -EAGAIN;
		if (!known)
			return -ENOENT;
		c->readers++;
		return 0;
	case NDL_CRWL_READER_EXIT:
		if (!known)
			return -ENOENT;
		if (!c->readers)
			return -EINVAL;
		c->readers--;
		return 0;
	case NDL_CRWL_WRITER_ENTER:
		if (c->writer || c->readers)
			return -EAGAIN;
		c->writer = true;
		c->owned = true;
		c->uuid = *uuid;
		return known ? -EALREADY : 0;
	default:
		if (!c->writer)
			return -EINVAL;
		if (!known)
			return -ENOENT;
		c->writer = false;
		c->readers = 1;
		return 0;
	}
}

int emu_crwl(ndl_device_t *dev, enum ndl_crwl op, uint32_t nc, const struct neuron_uuid *uuid)
{
	struct emu_chip *chip = emu_chip(dev);
	struct timespec step = { 0, WAIT_STEP_NS };
	int64_t left = op == NDL_CRWL_WRITER_ENTER ? WRITER_WAIT_NS : READER_WAIT_NS;
	int ret;

	if (nc >= chip->gen->cores)
		return -EINVAL;
	for (;; left -= WAIT_STEP_NS) {
		pthread_mutex_lock(&chip->lock);
		ret = crwl_try(&chip->nc[nc], op, uuid);
		pthread_mutex_unlock(&chip->lock);
		if (ret != -EAGAIN)
			return ret;
		if (left <= 0)
			return -EBUSY;
		nanosleep(&step, NULL);
	}
}

int emu_cinit(ndl_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state)
{
	struct emu_chip *chip = emu_chip(dev);
	uint32_t *s;

	if (nc >= chip->gen->cores)
		return -E2BIG;
	pthread_mutex_lock(&chip->lock);
	s = &chip->nc[nc].cinit;
	if (state == NEURON_CINIT_STATE_STARTED && *s != NEURON_CINIT_STATE_COMPLETED)
		*s = state;
	else if (state == NEURON_CINIT_STATE_COMPLETED && *s == NEURON_CINIT_STATE_STARTED)
		*s = state;
	*new_state = *s;
	pthread_mutex_unlock(&chip->lock);
	return 0;
}

int emu_started_count(ndl_device_t *dev, uint32_t nc, uint64_t *count)
{
	struct emu_chip *chip = emu_chip(dev);

	if (nc >= chip->gen->cores)
		return -E2BIG;
	pthread_mutex_lock(&chip->lock);
	*count = chip->nc[nc].started;
	pthread_mutex_unlock(&chip->lock);
	return 0;
}

int emu_apps(ndl_device_t *dev, struct neuron_app_info **info, size_t *count, uint16_t flags)
{
	struct emu_chip *chip = emu_chip(dev);
	struct neuron_app_info *app = calloc(1, sizeof(*app));

	if (!app)
		return -ENOMEM;
	pthread_mutex_lock(&chip->lock);
	app->pid = getpid();
	for (uint32_t nc = 0; nc < chip->gen->cores; nc++) {
		struct emu_core *c = &chip->nc[nc];

		if (!(flags & NEURON_APP_INFO_LOCK_INFO) || !(c->writer || c->readers))
			continue;
		app->nc_lock_map |= (uint8_t)(1u << nc);
		app->uuid_data[nc] = c->uuid;
	}
	for (uint32_t h = 1; flags & NEURON_APP_INFO_MEM_USAGE && h < chip->chunks; h++)
		*(chip->chunk[h].host ? &app->host_mem_size : &app->device_mem_size) +=
			chip->chunk[h].size;
	pthread_mutex_unlock(&chip->lock);
	*info = app;
	*count = 1;
	return 0;
}
