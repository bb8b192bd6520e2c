/* SPDX-License-Identifier: MIT */
/* A core of this process: its notification rings, the kernel module's lock of it, and its reset */
#include <errno.h>
#include <string.h>

#include "rt_core.h"
#include "rt_machine.h"
#include "rt_status.h"

static NRT_STATUS nq_make(struct rt_core *core, unsigned int type, unsigned int engine,
			  struct rt_nq *nq)
{
	struct ndlx_nq_params params = {
		.nc = core->nc,
		.type = type,
		.engine = engine,
		.size = RT_NQ_SIZE,
		.fresh = true,
	};
	void *ring;
	int err;

	if (nq->ring) {
		ndlx_notification_destroy(core->dev, (void *)(uintptr_t)nq->ring);
		nq->ring = NULL;
	}
	err = ndlx_notification_init(core->dev, &params, &ring);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV",
			       "notification queue of nd%u nc%u: %s", core->device, core->nc,
			       rt_errno_text(err));
	*nq = (struct rt_nq){ .ring = ring };
	return NRT_SUCCESS;
}

/* Makes fresh notification rings; a reset needs them as well. */
static NRT_STATUS make_rings(struct rt_core *core)
{
	NRT_STATUS status = nq_make(core, NEURON_NQ_NOTIFY, NEURON_ENG_SP, &core->done);

	if (!status)
		status = nq_make(core, NEURON_NQ_ERROR, 0, &core->error);
	return status ? status : rt_core_errors_read(core);
}

bool rt_nq_next(struct rt_nq *nq, struct rt_notification *entry)
{
	const uint8_t *p = nq->ring + (size_t)nq->next * NEURON_NQ_ENTRY_SIZE;
	const uint32_t *phase = (const void *)(p + NEURON_NQ_ENTRY_PHASE);

	/*
	 * the device writes the phase last, so a current phase means that the whole entry is there
	 */
	if (__atomic_load_n(phase, __ATOMIC_ACQUIRE) != NEURON_NQ_PHASE(nq->lap))
		return false;
	entry->type = p[NEURON_NQ_ENTRY_TYPE];
	entry->engine = p[NEURON_NQ_ENTRY_ENGINE];
	memcpy(&entry->code, p + NEURON_NQ_ENTRY_CODE, sizeof(entry->code));
	memcpy(&entry->id, p + NEURON_NQ_ENTRY_ID, sizeof(entry->id));
	memcpy(&entry->time, p + NEURON_NQ_ENTRY_TIME, sizeof(entry->time));
	memcpy(&entry->data, p + NEURON_NQ_ENTRY_DATA, sizeof(entry->data));
	memcpy(&entry->data2, p + NEURON_NQ_ENTRY_DATA2, sizeof(entry->data2));
	if (++nq->next == RT_NQ_ENTRIES) {
		nq->next = 0;
		nq->lap++;
	}
	return true;
}

NRT_STATUS rt_core_errors_read(struct rt_core *core)
{
	int err = ndlx_notification_read(core->dev, core->nc, NEURON_NQ_ERROR, 0, core->error.next);

	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "error queue of nd%u nc%u: %s",
			     core->device, core->nc, rt_errno_text(err))
		   : NRT_SUCCESS;
}

/* Drivers know a request by the process that has made it, and do not take another one meanwhile. */
static pthread_mutex_t resetting[NDLX_MAX_DEVICES] = { [0 ... NDLX_MAX_DEVICES - 1] =
							       PTHREAD_MUTEX_INITIALIZER };

int rt_cores_reset(ndlx_device_t *dev, uint32_t map)
{
	uint32_t request;
	int result = 0, err;

	pthread_mutex_lock(&resetting[dev->device_index]);
	err = ndlx_reset_ncs(dev, map, &request);
	if (!err)
		err = ndlx_ready_ncs(dev, request, &result);
	pthread_mutex_unlock(&resetting[dev->device_index]);
	return err ? err : result ? -EIO : 0;
}

bool rt_core_gone(const struct rt_core *core)
{
	return ndlx_alive(core->dev) == -ENODEV;
}

static NRT_STATUS was_reset(struct rt_core *core, int err)
{
	NRT_STATUS status;

	core->loaded = NULL;
	core->restless = core->used = err;
	if (err) {
		core->broken = true;
		return rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "TDRV", "reset of nd%u nc%u failed: %s",
			       core->device, core->nc, rt_errno_text(err));
	}
	status = make_rings(core);
	core->broken = status != NRT_SUCCESS;
	return status;
}

NRT_STATUS rt_core_reset(struct rt_core *core)
{
	return was_reset(core, rt_cores_reset(core->dev, 1u << core->nc));
}

void rt_core_reset_both(struct rt_core *core, struct rt_core *sibling)
{
	int err = rt_cores_reset(core->dev, 1u << core->nc | 1u << sibling->nc);

	was_reset(core, err);
	was_reset(sibling, err);
}

/*
 * Takes the kernel module's lock of the core, as a reader with this process's uuid; neuron-ls shows
 * it.
 */
static NRT_STATUS lock_core(struct rt_core *core, const struct neuron_uuid *uuid)
{
	int err = ndlx_crwl_writer_enter(core->dev, core->nc, uuid);

	/* with -EALREADY the caller has the lock as well */
	if (!err || err == -EALREADY)
		err = ndlx_crwl_writer_downgrade(core->dev, core->nc, uuid);
	core->locked = !err;
	if (err == -EBUSY)
		rt_holders_tell((int)core->device, 1u << core->nc);
	return err ? rt_fail(err == -EBUSY ? NRT_LOAD_NOT_ENOUGH_NC : rt_status_from_errno(err),
			     "TDRV", "nd%u nc%u is locked: %s", core->device, core->nc,
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_core_start(struct rt_core *core, const struct neuron_uuid *uuid)
{
	NRT_STATUS status = lock_core(core, uuid);
	uint32_t state = 0;

	if (status)
		return status;
	pthread_mutex_init(&core->exec, NULL);
	ndlx_nc_init_set_state(core->dev, core->nc, NEURON_CINIT_STATE_STARTED, &state);
	if (state == NEURON_CINIT_STATE_STARTED)
		ndlx_nc_init_set_state(core->dev, core->nc, NEURON_CINIT_STATE_COMPLETED, &state);
	status = make_rings(core);
	/* without a waiter the wait for an execution polls and sleeps alternately */
	if (!status && ndlx_wait_open(core->dev, core->nc, &core->waiter))
		core->waiter = NULL;
	return status;
}

void rt_core_stop(struct rt_core *core, const struct neuron_uuid *uuid)
{
	ndlx_wait_close(core->waiter);
	if (core->done.ring)
		ndlx_notification_destroy(core->dev, (void *)(uintptr_t)core->done.ring);
	if (core->error.ring)
		ndlx_notification_destroy(core->dev, (void *)(uintptr_t)core->error.ring);
	if (core->locked)
		ndlx_crwl_reader_exit(core->dev, core->nc, uuid);
}
