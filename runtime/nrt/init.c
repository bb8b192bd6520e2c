/* SPDX-License-Identifier: MIT */
/* nrt_init and nrt_close: opening and closing of devices and cores */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "rt_queue.h"
#include "rt_context.h"
#include "rt_env.h"
#include "rt_comm.h"
#include "rt_model.h"
#include "rt_profile.h"
#include "rt_sendrecv.h"

static NRT_STATUS open_device(uint32_t index, uint32_t map)
{
	struct rt_device *device = &rt.devices[index];
	int err = ndlx_open_device((int)index, NULL, &device->dev);

	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "Could not open the nd%u: %s",
			       index, ndlx_error_text(err));
	if (rt_env_on("NEURON_RT_RESET_CORES", true)) {
		err = rt_cores_reset(device->dev, map);
		if (err)
			return rt_fail(NRT_HW_ERROR, "TDRV", "reset of nd%u failed: %s", index,
				       ndlx_error_text(err));
	}
	rt_device_know(device);
	return NRT_SUCCESS;
}

static NRT_STATUS open_core(struct rt_core *core, uint32_t vnc, uint32_t global, uint32_t map)
{
	NRT_STATUS status = NRT_SUCCESS;

	core->vnc = vnc;
	core->global = global;
	core->device = global / rt.gen->cores;
	core->nc = global % rt.gen->cores;
	if (!rt.devices[core->device].dev)
		status = open_device(core->device, map);
	core->dev = rt.devices[core->device].dev;
	rt_rounding_tell(core);
	return status ? status : rt_core_start(core, &rt.uuid);
}

/* A logical core: its first one, and the second one if it has two */
static NRT_STATUS open_logical(uint32_t vnc, uint32_t global, uint32_t map)
{
	struct rt_core *core = &rt.cores[vnc], *sibling = rt.siblings ? &rt.siblings[vnc] : NULL;
	NRT_STATUS status;

	rt.ncores++;
	status = open_core(core, vnc, global, map);
	if (status || !sibling)
		return status;
	core->sibling = sibling;
	return open_core(sibling, vnc, global + 1, map);
}

/* The bit map of the mark's cores that are on the same device as core `global` */
static uint32_t device_map(const struct rt_mark *mark, uint32_t global)
{
	const uint32_t per = rt.gen->cores;
	uint32_t map = 0;

	for (uint32_t g = global / per * per; g < global / per * per + per; g++)
		if (g >= mark->first && g - mark->first < mark->count)
			map |= 1u << (g % per);
	return map;
}

static NRT_STATUS open_cores(uint32_t count)
{
	rt.cores = calloc(count, sizeof(*rt.cores));
	rt.siblings = rt.lnc > 1 ? calloc(count, sizeof(*rt.siblings)) : NULL;
	if (!rt.cores || (rt.lnc > 1 && !rt.siblings))
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	for (const struct rt_mark *mark = rt.marks; mark < rt.marks + rt.nmarks; mark++) {
		for (uint32_t i = 0; i < mark->count; i += rt.lnc) {
			uint32_t global = mark->first + i;
			NRT_STATUS status =
				open_logical(rt.ncores, global, device_map(mark, global));

			if (status)
				return status;
		}
	}
	return NRT_SUCCESS;
}

static void close_all(void)
{
	for (uint32_t i = 0; i < rt.ncores; i++) {
		rt_core_stop(&rt.cores[i], &rt.uuid);
		if (rt.cores[i].sibling)
			rt_core_stop(rt.cores[i].sibling, &rt.uuid);
	}
	for (uint32_t i = 0; i < NDLX_MAX_DEVICES; i++) {
		if (!rt.devices[i].dev)
			continue;
		rt_nds_close(&rt.devices[i]);
		ndlx_close_device(rt.devices[i].dev);
		rt.devices[i] = (struct rt_device){ 0 };
	}
	rt_cores_unmark(rt.marks, &rt.nmarks);
	free(rt.cores);
	free(rt.siblings);
	rt.cores = rt.siblings = NULL;
	rt.ncores = 0;
}

/* Makes the 32 random bytes that tell this process from others. */
static NRT_STATUS make_uuid(void)
{
	if (getrandom(&rt.uuid, sizeof(rt.uuid), 0) != sizeof(rt.uuid))
		return rt_fail(NRT_FAILURE, "NRT", "no random numbers: %s", strerror(errno));
	return NRT_SUCCESS;
}

/* the first level at which a ring's length is any multiple of 16 */
#define DRIVER_LEVEL 7u

static NRT_STATUS init_locked(void)
{
	struct rt_machine machine;
	struct rt_want want;
	uint32_t min, max;
	NRT_STATUS status = rt_machine(&machine);
	int err;

	if (!status)
		status = rt_cores_visible(&machine, &want);
	if (status)
		return status;

	rt.gen = machine.gen;
	rt.lnc = machine.lnc;
	status = rt_rounding_read(rt.gen->target, &rt.rounding);
	if (status)
		return status;
	err = ndlx_get_compatible_version(&min, &max);
	if (err)
		return rt_fail(rt_status_from_errno(err), "NRT",
			       "Neuron Driver version cannot be determined: %s",
			       ndlx_error_text(err));
	if (max < DRIVER_LEVEL)
		return rt_fail(NRT_FAILURE, "NRT",
			       "driver too old: needs 2.9.4 or newer "
			       "(runtime level %u, it has up to %u)",
			       DRIVER_LEVEL, max);

	status = rt_cores_mark(&machine, &want, rt.marks, &rt.nmarks);
	if (status)
		return status;

	status = make_uuid();
	if (!status)
		status = open_cores(want.count / rt.lnc);
	__atomic_add_fetch(&rt.epoch, 1, __ATOMIC_RELEASE);
	if (status)
		close_all();
	return status;
}

EXPORT NRT_STATUS nrt_init(nrt_framework_type_t framework, const char *fw_version,
			   const char *fal_version)
{
	NRT_STATUS status = NRT_SUCCESS;

	rt_details_clear();
	pthread_mutex_lock(&rt.lock);
	while (rt.state == RT_CLOSING)
		pthread_cond_wait(&rt.changed, &rt.lock);
	if (rt.state != RT_INIT) {
		rt.framework = (int)framework;
		snprintf(rt.fw_version, sizeof(rt.fw_version), "%s", fw_version ? fw_version : "");
		snprintf(rt.fal_version, sizeof(rt.fal_version), "%s",
			 fal_version ? fal_version : "");
		status = init_locked();
		if (!status) {
			rt.state = RT_INIT;
			rt_queues_start();
		}
	}
	pthread_mutex_unlock(&rt.lock);
	if (!status)
		rt_inspect_from_environment();
	return status ? rt_fail(status, "NRT", "initialization failed") : status;
}

EXPORT void nrt_close(void)
{
	rt_details_clear();
	/* requests that are queued end first: their threads are calls too */
	rt_queues_stop();
	rt_sendrecv_close();
	rt_inspect_close();
	pthread_mutex_lock(&rt.lock);
	while (rt.state == RT_CLOSING)
		pthread_cond_wait(&rt.changed, &rt.lock);
	if (rt.state == RT_INIT) {
		rt.state = RT_CLOSING;
		while (rt.users)
			pthread_cond_wait(&rt.changed, &rt.lock);
		while (rt.models) {
			nrt_model_t *model = rt.models;

			rt.models = model->next;
			rt_model_go(model);
		}
		__atomic_add_fetch(&rt.epoch, 1, __ATOMIC_RELEASE);
		rt_stale_free();
		close_all();
		rt_comm_close();
		rt.state = RT_CLOSED;
		pthread_cond_broadcast(&rt.changed);
	}
	pthread_mutex_unlock(&rt.lock);
}
