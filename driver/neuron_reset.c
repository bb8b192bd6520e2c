// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resets: the first one at probe, the ones processes ask for, and the halting of a dead process's
 * cores. One work item a device serves the list of requests; whoever waits sleeps on nd->wait.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include <linux/slab.h>

#include "neuron_device.h"
#include "neuron_dma.h"
#include "neuron_dump.h"
#include "neuron_event.h"
#include "neuron_gate.h"
#include "neuron_guard.h"
#include "neuron_h2tq.h"
#include "neuron_hwerr.h"
#include "neuron_log.h"
#include "neuron_nq.h"
#include "neuron_params.h"
#include "neuron_pod.h"
#include "neuron_queue.h"
#include "neuron_reset.h"
#include "neuron_stats.h"

struct neuron_reset_req {
	struct list_head link;
	u32 id; /* tgid of the process, 0 for the driver's own */
	u32 nc_map;
	bool started;
	bool done;
	int result;
};

static u32 map_cores(const struct neuron_device *nd, u32 nc_map)
{
	return nc_map == NEURON_NC_MAP_DEVICE ? neuron_cores_all(nd)
					      : nc_map & neuron_cores_all(nd);
}

/* Brings DMA of the cores into service; reset_sem is held for writing */
static void cores_dma_start(struct neuron_device *nd, u32 cores)
{
	unsigned int nc;

	for (nc = 0; nc < nd->gen->cores; nc++) {
		if (!(cores & BIT(nc)))
			continue;
		nhal_core_dma_init(&nd->hal, nc);
		neuron_h2t_start(&nd->h2t[nc]);
	}
}

static int hardware_reset(struct neuron_device *nd, unsigned int type, u32 cores)
{
	int ret;

	mutex_lock(&nd->fwio_lock);
	ret = nhal_reset(&nd->hal, type, cores);
	if (!ret)
		nhal_device_id_write(&nd->hal, nd->index);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

/* Resets some cores without touching queues or owners; reset_sem is held for writing */
int neuron_cores_halt(struct neuron_device *nd, u32 nc_map)
{
	lockdep_assert_held_write(&nd->reset_sem);
	return hardware_reset(nd, NEURON_MISC_RESET_TPB, nc_map);
}

static void cores_forget(struct neuron_device *nd, u32 cores)
{
	unsigned int nc;

	mutex_lock(&nd->lock);
	for (nc = 0; nc < nd->gen->cores; nc++) {
		if (!(cores & BIT(nc)))
			continue;
		nd->cinit[nc] = NEURON_CINIT_STATE_INVALID;
		nd->model_started[nc] = 0;
		neuron_stat_add(nd, &nd->stats.reset_req[nc], 1);
	}
	mutex_unlock(&nd->lock);
}

static int reset_do(struct neuron_device *nd, u32 nc_map)
{
	bool device = nc_map == NEURON_NC_MAP_DEVICE;
	u32 cores = map_cores(nd, nc_map);
	unsigned int nc;
	int ret = 0;

	/* without a map a reset of one core is a reset of all */
	if (!device && !(nd->hal.features & NEURON_CAP_F_TPB_MAP))
		cores = neuron_cores_all(nd);

	down_write(&nd->reset_sem);
	for (nc = 0; nc < nd->gen->cores; nc++)
		if (cores & BIT(nc))
			neuron_h2t_park(&nd->h2t[nc]);
	neuron_h2tq_stop(nd, 0, cores);
	cores_forget(nd, cores);
	if (!neuron_no_reset)
		ret = hardware_reset(nd, device ? NEURON_MISC_RESET_DEVICE : NEURON_MISC_RESET_TPB,
				     cores);
	if (!ret) {
		neuron_queues_stop(nd, 0, cores);
		neuron_nqs_stop(nd, 0, cores);
		if (device)
			neuron_guard_start(nd);
		cores_dma_start(nd, cores);
	}
	up_write(&nd->reset_sem);

	if (ret) {
		nd_err(nd, "reset of %#x failed: %d\n", nc_map, ret);
		for (nc = 0; nc < nd->gen->cores; nc++)
			if (cores & BIT(nc)) {
				neuron_stat_add(nd, &nd->stats.reset_fail[nc], 1);
				if (ret == -ETIMEDOUT || ret == -EIO)
					neuron_hwerr(nd, NEURON_HWERR_CORE, nc);
			}
	}
	return ret;
}

static struct neuron_reset_req *req_find(struct neuron_device *nd, u32 id)
{
	struct neuron_reset_req *req;

	lockdep_assert_held(&nd->lock);
	list_for_each_entry(req, &nd->reset_reqs, link)
		if (req->id == id)
			return req;
	return NULL;
}

/* Takes the next request; the others that ask for no more than it are served with it */
static u32 reqs_start(struct neuron_device *nd, u32 *pid)
{
	struct neuron_reset_req *req;
	u32 map = 0;

	mutex_lock(&nd->lock);
	list_for_each_entry(req, &nd->reset_reqs, link) {
		if (req->done)
			continue;
		map |= req->nc_map;
		req->started = true;
		if (!*pid)
			*pid = req->id;
	}
	mutex_unlock(&nd->lock);
	return map;
}

static void reqs_done(struct neuron_device *nd, int result)
{
	struct neuron_reset_req *req, *next;

	mutex_lock(&nd->lock);
	list_for_each_entry_safe(req, next, &nd->reset_reqs, link) {
		if (!req->started || req->done)
			continue;
		req->done = true;
		req->result = result;
		if (!req->id) {
			list_del(&req->link);
			kfree(req);
		}
	}
	mutex_unlock(&nd->lock);
}

static void reset_hangs(struct neuron_device *nd, const struct neuron_reset_event *event, int error)
{
	struct neuron_hang hang = {
		.reason = NEURON_HANG_REASON_RESET,
		.cores = event->cores,
		.pid = event->pid,
		.error = error,
	};

	neuron_hang(nd, &hang);
}

static void reset_end(struct neuron_device *nd, struct neuron_reset_event *event, int ret)
{
	const bool first = nd->state == NEURON_STATE_RESET && !ret;

	if (first)
		nd_info(nd, "reset done, READY after %u us\n", event->duration_us);
	/* a failed reset of the device leaves nothing to work with */
	if (!ret)
		WRITE_ONCE(nd->state, NEURON_STATE_READY);
	else if (event->cores == NEURON_NC_MAP_DEVICE)
		WRITE_ONCE(nd->state, NEURON_STATE_INVALID);
	event->stage = ret ? NEURON_RESET_STAGE_FAILED : NEURON_RESET_STAGE_READY;
	event->error = -ret;
	neuron_event_reset(nd, event);
	if (ret == -ETIMEDOUT)
		reset_hangs(nd, event, ret);
	neuron_changed(nd);
	neuron_event_file(nd, NULL, "reset");
	if (first)
		neuron_pod_ready(nd);
}

static void reset_work(struct work_struct *work)
{
	struct neuron_device *nd = container_of(work, struct neuron_device, reset_work);
	struct neuron_reset_event event;
	u64 start;
	int ret;

	while (!READ_ONCE(nd->dead)) {
		start = ktime_get_ns();
		event = (struct neuron_reset_event){ .stage = NEURON_RESET_STAGE_START };
		event.cores = reqs_start(nd, &event.pid);
		if (!event.cores)
			break;
		neuron_event_reset(nd, &event);
		ret = reset_do(nd, event.cores);
		reqs_done(nd, ret);
		event.duration_us = div_u64(ktime_get_ns() - start, 1000);
		reset_end(nd, &event, ret);
	}
}

void neuron_reset_init(struct neuron_device *nd)
{
	INIT_WORK(&nd->reset_work, reset_work);
}

static bool others_use(struct neuron_device *nd, u32 id, u32 cores)
{
	unsigned int nc;

	lockdep_assert_held(&nd->lock);
	for (nc = 0; nc < nd->gen->cores; nc++)
		if (cores & BIT(nc) && nd->core_owner[nc] && nd->core_owner[nc] != id)
			return true;
	return false;
}

/*
 * 0, 1 when the id has a request already, -EBUSY when another process works on the cores.
 * id: the calling process, or 0 for the driver itself
 */
int neuron_reset_request(struct neuron_device *nd, u32 id, u32 nc_map)
{
	u32 cores = nd->hal.features & NEURON_CAP_F_TPB_MAP ? map_cores(nd, nc_map)
							    : neuron_cores_all(nd);
	struct neuron_reset_req *req;
	int ret = 0;

	if (!map_cores(nd, nc_map))
		return -EINVAL;
	req = kzalloc(sizeof(*req), GFP_KERNEL);
	if (!req)
		return -ENOMEM;
	req->id = id;
	req->nc_map = nc_map == NEURON_NC_MAP_DEVICE ? nc_map : map_cores(nd, nc_map);
	mutex_lock(&nd->lock);
	if (id && !neuron_attached_locked(nd))
		ret = -EACCES;
	else if (req_find(nd, id))
		ret = 1;
	else if (others_use(nd, id, cores))
		ret = -EBUSY;
	else
		list_add_tail(&req->link, &nd->reset_reqs);
	mutex_unlock(&nd->lock);
	if (ret) {
		kfree(req);
		return ret;
	}
	queue_work(system_unbound_wq, &nd->reset_work);
	return 0;
}

static bool req_finished(struct neuron_device *nd, u32 id)
{
	struct neuron_reset_req *req;
	bool finished;

	mutex_lock(&nd->lock);
	req = req_find(nd, id);
	finished = !req || req->done;
	mutex_unlock(&nd->lock);
	return finished;
}

/* A long time: the hal gives up before */
#define REQ_WAIT (300 * HZ)

static int req_wait(struct neuron_device *nd, u32 id)
{
	long left = REQ_WAIT;
	unsigned int seen;
	int ret = 0;

	do {
		seen = neuron_changes(nd);
		if (req_finished(nd, id))
			return 0;
		ret = neuron_wait_change(nd, seen, &left);
	} while (!ret);
	return ret;
}

/*
 * Sleeps until the request is done and takes it off; result: how it ended, -ENOENT: there was none
 */
int neuron_reset_wait(struct neuron_device *nd, u32 id, int *result)
{
	struct neuron_reset_req *req;
	int ret;

	*result = -ENOENT;
	ret = req_wait(nd, id);
	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	req = req_find(nd, id);
	if (req && req->done) {
		*result = req->result;
		list_del(&req->link);
		kfree(req);
	}
	mutex_unlock(&nd->lock);
	return 0;
}

/*
 * Drops the request of a process that goes. One that is being served must stay until it is over;
 * as the work item holds reset_sem meanwhile, the caller's next step waits for it.
 */
void neuron_reset_forget(struct neuron_device *nd, u32 id)
{
	struct neuron_reset_req *req;

	mutex_lock(&nd->lock);
	req = req_find(nd, id);
	if (req && (req->done || !req->started)) {
		list_del(&req->link);
		kfree(req);
	} else if (req) {
		req->id = 0; /* nobody's: freed when done */
	}
	mutex_unlock(&nd->lock);
}

void neuron_reset_stop(struct neuron_device *nd)
{
	struct neuron_reset_req *req, *next;

	cancel_work_sync(&nd->reset_work);
	mutex_lock(&nd->lock);
	list_for_each_entry_safe(req, next, &nd->reset_reqs, link) {
		list_del(&req->link);
		kfree(req);
	}
	mutex_unlock(&nd->lock);
}
