/* SPDX-License-Identifier: MIT */
/*
 * What the kernel module keeps for each core, for in-process chips: semaphores and events,
 * notification queues, the datastore, the core locks and states.
 */
#include "emu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WRITER_WAIT_NS (3ll * 1000000000) /* the public driver waits 2 to 4 s */
#define READER_WAIT_NS (700ll * 1000000) /* the public driver waits 0.5 to 1 s */
#define CINIT_WAIT_NS (5ll * 1000000000) /* ten times 500 ms */
#define WAIT_STEP_NS 20000

static int core_check(const struct emu_chip *chip, uint32_t nc, uint32_t index, uint32_t limit)
{
	if (nc >= chip->gen->cores)
		return -E2BIG;
	return index >= limit ? -EINVAL : 0;
}

int emu_semaphore(ndlx_device_t *dev, enum neuron_sem_access op, uint32_t nc, uint32_t index,
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
	pthread_mutex_lock(&chip->lock);
	ret = emu_claim(chip, emu_user(dev), nc);
	if (!ret)
		nhal_sem_write(&chip->hal, nc, op, index, *value);
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_event(ndlx_device_t *dev, bool set, uint32_t nc, uint32_t index, uint32_t *value)
{
	struct emu_chip *chip = emu_chip(dev);
	int ret = core_check(chip, nc, index, chip->gen->target->events);

	if (ret)
		return ret;
	if (set) {
		pthread_mutex_lock(&chip->lock);
		ret = emu_claim(chip, emu_user(dev), nc);
		if (!ret)
			nhal_event_set(&chip->hal, nc, index, *value);
		pthread_mutex_unlock(&chip->lock);
		return ret;
	}
	pthread_mutex_lock(&chip->fwio);
	ret = nhal_event_get(&chip->hal, nc, index, value);
	pthread_mutex_unlock(&chip->fwio);
	return ret;
}

/* Notification queues */

#define NQ_SIZE_MAX (64u << 20) /* the module's */

static void nq_free(struct emu_chip *chip, uint32_t nc, uint32_t type, uint32_t eng)
{
	struct emu_nq *nq = &chip->nq[nc][type][eng];

	if (!nq->ptr)
		return;
	nhal_nq_set(&chip->hal, nc, type, eng, 0, 0);
	emu_host_free(&chip->machine->host, nq->user, nq->addr,
		      nq->size < EMU_PAGE ? EMU_PAGE : nq->size);
	nq->ptr = NULL;
}

void emu_nq_drop(struct emu_chip *chip, uint32_t nc_map)
{
	for (uint32_t nc = 0; nc < chip->gen->cores; nc++)
		for (uint32_t type = 0; nc_map >> nc & 1 && type < NEURON_NQ_TYPES; type++)
			for (uint32_t eng = 0; eng < chip->gen->target->engines; eng++)
				nq_free(chip, nc, type, eng);
}

/* The lock is held. */
static int nq_make(struct emu_chip *chip, uint8_t user, const struct ndlx_nq_params *p)
{
	struct emu_nq *nq = &chip->nq[p->nc][p->type][p->engine];
	uint64_t size = p->size < EMU_PAGE ? EMU_PAGE : p->size;
	int ret;

	if (p->fresh)
		nq_free(chip, p->nc, p->type, p->engine);
	if (nq->ptr)
		return 0;
	nq->size = p->size;
	nq->user = user;
	ret = emu_host_alloc(&chip->machine->host, user, size, &nq->addr, &nq->ptr);
	if (!ret)
		nhal_nq_set(&chip->hal, p->nc, p->type, p->engine,
			    nhal_host_addr(chip->gen, nq->addr), p->size);
	return ret;
}

int emu_nq_init(ndlx_device_t *dev, const struct ndlx_nq_params *p, void **va)
{
	struct emu_chip *chip = emu_chip(dev);
	uint64_t regs;
	int ret;

	if (nhal_nq_regs(chip->gen, p->nc, p->type, p->engine, &regs) || p->size > NQ_SIZE_MAX)
		return -EINVAL;
	pthread_mutex_lock(&chip->lock);
	/* a core's queues go with the core, so those that exist are the claimant's */
	ret = emu_claim(chip, emu_user(dev), p->nc);
	if (!ret)
		ret = nq_make(chip, emu_user(dev), p);
	*va = ret ? NULL : chip->nq[p->nc][p->type][p->engine].ptr;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_nq_destroy(ndlx_device_t *dev, void *va)
{
	/* the queue lives as long as the device, and its mapping is the arena */
	return va ? 0 : -EINVAL;
}

/* Datastore */

/* The seat of a process with a datastore: pid 0 and its own pid are the caller's. NULL: none */
static struct emu_seat *nds_seat(struct emu_chip *chip, uint8_t user, int pid)
{
	const struct emu_user *users = chip->machine->user;

	if (!pid || pid == users[user].pid)
		return &chip->seat[user];
	for (unsigned int i = 0; i < EMU_USERS; i++)
		if (users[i].used && users[i].pid == pid && chip->seat[i].nds)
			return &chip->seat[i];
	return NULL;
}

static void *nds_new(struct emu_seat *seat, uint8_t user)
{
	void *p;

	if (user == EMU_OWN)
		return calloc(1, NDS_ENTRY_SIZE);
	/* others shall look at it, and its owner shall not cut it off under them */
	seat->nds_fd = memfd_create("neuron-datastore", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (seat->nds_fd < 0)
		return NULL;
	p = MAP_FAILED;
	if (!ftruncate(seat->nds_fd, NDS_ENTRY_SIZE) &&
	    !fcntl(seat->nds_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		p = mmap(NULL, NDS_ENTRY_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, seat->nds_fd, 0);
	if (p != MAP_FAILED)
		return p;
	close(seat->nds_fd);
	return NULL;
}

static void nds_free(struct emu_seat *seat, uint8_t user)
{
	if (user == EMU_OWN) {
		free(seat->nds);
	} else if (seat->nds) {
		munmap(seat->nds, NDS_ENTRY_SIZE);
		close(seat->nds_fd);
	}
	seat->nds = NULL;
	seat->nds_users = 0;
}

int emu_nds_open(ndlx_device_t *dev, int pid, void **data, size_t *size)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_seat *seat, *mine = &chip->seat[emu_user(dev)];
	int ret = 0;

	pthread_mutex_lock(&chip->lock);
	seat = nds_seat(chip, emu_user(dev), pid);
	if (seat == mine && !seat->nds)
		seat->nds = nds_new(seat, emu_user(dev));
	if (!seat)
		ret = -ENOENT;
	else if (!seat->nds)
		ret = -ENOMEM;
	else if (seat == mine)
		seat->nds_users++;
	*data = seat ? seat->nds : NULL;
	*size = NDS_ENTRY_SIZE;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

/*
 * Its owner maps it to write, and has it sealed then: nobody can after that. Until then others have
 * not seen it.
 */
int emu_nds_fd(ndlx_device_t *dev, int pid, bool seal, int *fd)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_seat *seat;
	int ret = 0;

	pthread_mutex_lock(&chip->lock);
	seat = nds_seat(chip, emu_user(dev), pid);
	if (!seat || !seat->nds)
		ret = -ENOENT;
	else if (seat != &chip->seat[emu_user(dev)] &&
		 !(fcntl(seat->nds_fd, F_GET_SEALS) & F_SEAL_FUTURE_WRITE))
		ret = -ENOENT;
	else if (seal && fcntl(seat->nds_fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		ret = -errno;
	if (!ret)
		*fd = fcntl(seat->nds_fd, F_DUPFD_CLOEXEC, 0);
	if (!ret && *fd < 0)
		ret = -errno;
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

int emu_nds_close(ndlx_device_t *dev, int pid, void *data, size_t size)
{
	struct emu_chip *chip = emu_chip(dev);
	struct emu_seat *seat = &chip->seat[emu_user(dev)];
	int ret = -EINVAL;

	pthread_mutex_lock(&chip->lock);
	if (data && data == seat->nds && seat->nds_users) {
		if (!--seat->nds_users)
			nds_free(seat, emu_user(dev));
		ret = 0;
	}
	pthread_mutex_unlock(&chip->lock);
	return ret;
}

void emu_nds_drop(struct emu_chip *chip, uint8_t user)
{
	if (user == EMU_OWN) /* its pointers end with the machine */
		return;
	pthread_mutex_lock(&chip->lock);
	nds_free(&chip->seat[user], user);
	pthread_mutex_unlock(&chip->lock);
}

/* Core locks */

static bool mine(const struct emu_core *c, uint8_t user, const struct neuron_uuid *uuid)
{
	return c->locker == user && !memcmp(&c->uuid, uuid, sizeof(*uuid));
}

/* Returns -EAGAIN if the caller has to wait. */
static int crwl_try(struct emu_core *c, uint8_t user, enum ndlx_crwl op,
		    const struct neuron_uuid *uuid)
{
	bool known = mine(c, user, uuid);

	switch (op) {
	case NDLX_CRWL_READER_ENTER:
		if (c->writer)
			return -EAGAIN;
		if (!known)
			return -ENOENT;
		c->readers++;
		return 0;
	case NDLX_CRWL_READER_EXIT:
		if (!known)
			return -ENOENT;
		if (!c->readers)
			return -EINVAL;
		c->readers--;
		return 0;
	case NDLX_CRWL_WRITER_ENTER:
		if (c->writer || c->readers)
			return -EAGAIN;
		c->writer = true;
		c->locker = user;
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

static bool interrupted(const ndlx_device_t *dev)
{
	return __atomic_load_n(&emu_chip(dev)->machine->user[emu_user(dev)].ending,
			       __ATOMIC_RELAXED);
}

int emu_crwl(ndlx_device_t *dev, enum ndlx_crwl op, uint32_t nc, const struct neuron_uuid *uuid)
{
	struct emu_chip *chip = emu_chip(dev);
	struct timespec step = { 0, WAIT_STEP_NS };
	int64_t left = op == NDLX_CRWL_WRITER_ENTER ? WRITER_WAIT_NS : READER_WAIT_NS;
	int ret;

	if (nc >= chip->gen->cores)
		return -EINVAL;
	for (;; left -= WAIT_STEP_NS) {
		pthread_mutex_lock(&chip->lock);
		ret = crwl_try(&chip->nc[nc], emu_user(dev), op, uuid);
		pthread_mutex_unlock(&chip->lock);
		if (ret != -EAGAIN)
			return ret;
		if (left <= 0 || interrupted(dev))
			return -EBUSY;
		nanosleep(&step, NULL);
	}
}

/* Returns -EAGAIN if another user initialises the core, whose end the caller waits for. */
static int cinit_try(struct emu_core *c, uint8_t user, uint32_t state, uint32_t *now)
{
	int ret = 0;

	if (state == NEURON_CINIT_STATE_STARTED && c->cinit == state && c->cinit_by != user)
		ret = -EAGAIN;
	else if (state == NEURON_CINIT_STATE_STARTED && c->cinit != NEURON_CINIT_STATE_COMPLETED)
		c->cinit = state;
	else if (state == NEURON_CINIT_STATE_COMPLETED && c->cinit == NEURON_CINIT_STATE_STARTED)
		c->cinit = state;
	if (!ret && c->cinit == NEURON_CINIT_STATE_STARTED)
		c->cinit_by = user;
	*now = c->cinit;
	return ret;
}

int emu_cinit(ndlx_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state)
{
	struct emu_chip *chip = emu_chip(dev);
	struct timespec step = { 0, WAIT_STEP_NS };
	int64_t left = CINIT_WAIT_NS;
	int ret;

	if (nc >= chip->gen->cores)
		return -E2BIG;
	for (;; left -= WAIT_STEP_NS) {
		pthread_mutex_lock(&chip->lock);
		ret = cinit_try(&chip->nc[nc], emu_user(dev), state, new_state);
		pthread_mutex_unlock(&chip->lock);
		if (!ret || left <= 0 || interrupted(dev))
			return 0;
		nanosleep(&step, NULL);
	}
}

int emu_started_count(ndlx_device_t *dev, uint32_t nc, uint64_t *count)
{
	struct emu_chip *chip = emu_chip(dev);

	if (nc >= chip->gen->cores)
		return -E2BIG;
	pthread_mutex_lock(&chip->lock);
	*count = chip->nc[nc].started;
	pthread_mutex_unlock(&chip->lock);
	return 0;
}

static void app_fill(const struct emu_chip *chip, uint8_t user, uint16_t flags,
		     struct neuron_app_info *app)
{
	app->pid = chip->machine->user[user].pid;
	for (uint32_t nc = 0; nc < chip->gen->cores; nc++) {
		const struct emu_core *c = &chip->nc[nc];

		if (!(flags & NEURON_APP_INFO_LOCK_INFO) || c->locker != user ||
		    !(c->writer || c->readers))
			continue;
		app->nc_lock_map |= (uint8_t)(1u << nc);
		if (nc < sizeof(app->uuid_data) / sizeof(app->uuid_data[0]))
			app->uuid_data[nc] = c->uuid;
	}
	for (uint32_t h = 1; flags & NEURON_APP_INFO_MEM_USAGE && h < chip->chunks; h++)
		if (chip->chunk[h].size && chip->chunk[h].user == user)
			*(chip->chunk[h].host ? &app->host_mem_size : &app->device_mem_size) +=
				chip->chunk[h].size;
}

int emu_apps(ndlx_device_t *dev, struct neuron_app_info **info, size_t *count, uint16_t flags)
{
	struct emu_chip *chip = emu_chip(dev);
	struct neuron_app_info *app = calloc(NEURON_MAX_PROCESS_PER_DEVICE, sizeof(*app));
	size_t n = 0;

	if (!app)
		return -ENOMEM;
	pthread_mutex_lock(&chip->lock);
	for (unsigned int i = 1; i < EMU_USERS && n < NEURON_MAX_PROCESS_PER_DEVICE; i++)
		if (chip->seat[i].opens)
			app_fill(chip, (uint8_t)i, flags, &app[n++]);
	pthread_mutex_unlock(&chip->lock);
	*info = app;
	*count = n;
	return 0;
}
