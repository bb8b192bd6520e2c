/* SPDX-License-Identifier: MIT */
/* The process's hold on the machine: nrt_init, nrt_close, cores, counts, resets. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "instance.h"
#include "neuron_version.h"
#include "nrt_priv.h"

struct rt rt = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.stale_lock = PTHREAD_MUTEX_INITIALIZER,
};

NRT_STATUS rt_hold(void)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_mutex_lock(&rt.lock);
	rt.users++;
	if (rt.state == RT_NEW)
		status = NRT_UNINITIALIZED;
	else if (rt.state != RT_INIT)
		status = NRT_CLOSED;
	pthread_mutex_unlock(&rt.lock);
	return status;
}

void rt_leave(NRT_STATUS *status)
{
	pthread_mutex_lock(&rt.lock);
	if (!--rt.users)
		pthread_cond_broadcast(&rt.changed);
	pthread_mutex_unlock(&rt.lock);
}

NRT_STATUS rt_enter(void)
{
	NRT_STATUS status = rt_hold();

	rt_details_clear();
	return status ? rt_fail(status, "NRT", "%s", nrtx_status_text(status)) : status;
}

struct rt_core *rt_core(uint32_t vnc)
{
	return vnc < rt.ncores ? &rt.cores[vnc] : NULL;
}

static NRT_STATUS nq_make(struct rt_core *core, unsigned int type, unsigned int engine,
			  struct rt_nq *nq)
{
	struct ndl_nq_params params = {
		.nc = core->nc,
		.type = type,
		.engine = engine,
		.size = RT_NQ_SIZE,
		.fresh = true,
	};
	void *ring;
	int err;

	if (nq->ring) {
		ndl_notification_destroy(core->dev, (void *)(uintptr_t)nq->ring);
		nq->ring = NULL;
	}
	err = ndl_notification_init(core->dev, &params, &ring);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV",
			       "notification queue of nd%u nc%u: %s", core->device, core->nc,
			       strerror(-err));
	*nq = (struct rt_nq){ .ring = ring };
	return NRT_SUCCESS;
}

NRT_STATUS rt_core_rings(struct rt_core *core)
{
	NRT_STATUS status = nq_make(core, NEURON_NQ_NOTIFY, NEURON_ENG_SP, &core->done);

	if (!status)
		status = nq_make(core, NEURON_NQ_ERROR, 0, &core->error);
	return status ? status : rt_core_errors_read(core);
}

NRT_STATUS rt_core_errors_read(struct rt_core *core)
{
	int err = ndl_notification_read(core->dev, core->nc, NEURON_NQ_ERROR, 0, core->error.next);

	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "error queue of nd%u nc%u: %s",
			     core->device, core->nc, strerror(-err))
		   : NRT_SUCCESS;
}

static int reset_device_cores(ndl_device_t *dev, uint32_t map)
{
	uint32_t request;
	int result = 0;
	int err = ndl_reset_ncs(dev, map, &request);

	if (!err)
		err = ndl_ready_ncs(dev, request, &result);
	return err ? err : result ? -EIO : 0;
}

bool rt_core_gone(const struct rt_core *core)
{
	return ndl_alive(core->dev) == -ENODEV;
}

NRT_STATUS rt_core_reset(struct rt_core *core)
{
	int err = reset_device_cores(core->dev, 1u << core->nc);
	NRT_STATUS status;

	core->loaded = NULL;
	core->used = err;
	if (err) {
		core->broken = true;
		return rt_fail(NRT_EXEC_UNIT_UNRECOVERABLE, "TDRV", "reset of nd%u nc%u failed: %s",
			       core->device, core->nc, strerror(-err));
	}
	status = rt_core_rings(core);
	core->broken = status != NRT_SUCCESS;
	return status;
}

/* The module's lock of the core, as a reader with this process's uuid: neuron-ls shows it */
static NRT_STATUS lock_core(struct rt_core *core)
{
	int err = ndl_crwl_writer_enter(core->dev, core->nc, &rt.uuid);

	/* -EALREADY comes with the lock */
	if (!err || err == -EALREADY)
		err = ndl_crwl_writer_downgrade(core->dev, core->nc, &rt.uuid);
	core->locked = !err;
	return err ? rt_fail(err == -EBUSY ? NRT_LOAD_NOT_ENOUGH_NC : rt_status_from_errno(err),
			     "TDRV", "nd%u nc%u is locked: %s", core->device, core->nc,
			     strerror(-err))
		   : NRT_SUCCESS;
}

static NRT_STATUS start_core(struct rt_core *core)
{
	NRT_STATUS status = lock_core(core);
	uint32_t state = 0;

	if (status)
		return status;
	pthread_mutex_init(&core->exec, NULL);
	ndl_nc_init_set_state(core->dev, core->nc, NEURON_CINIT_STATE_STARTED, &state);
	if (state == NEURON_CINIT_STATE_STARTED)
		ndl_nc_init_set_state(core->dev, core->nc, NEURON_CINIT_STATE_COMPLETED, &state);
	status = rt_core_rings(core);
	/* without one the wait for an execution looks and sleeps in turn */
	if (!status && ndl_wait_open(core->dev, core->nc, &core->waiter))
		core->waiter = NULL;
	return status;
}

static NRT_STATUS open_device(uint32_t index, uint32_t map)
{
	struct rt_device *device = &rt.devices[index];
	const char *reset = secure_getenv("NEURON_RT_RESET_CORES");
	int err = ndl_open_device((int)index, NULL, &device->dev);

	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "Could not open the nd%u: %s",
			       index, ndl_error_text(err));
	if (!reset || strcmp(reset, "0")) {
		err = reset_device_cores(device->dev, map);
		if (err)
			return rt_fail(NRT_HW_ERROR, "TDRV", "reset of nd%u failed: %s", index,
				       ndl_error_text(err));
	}
	if (ndl_isa_version(device->dev, &device->isa_version))
		device->isa_version = 0;
	rt_nds_open(device);
	return NRT_SUCCESS;
}

static NRT_STATUS open_core(struct rt_core *core, uint32_t global, uint32_t map)
{
	NRT_STATUS status = NRT_SUCCESS;

	core->vnc = rt.ncores;
	core->global = global;
	core->device = global / rt.gen->cores;
	core->nc = global % rt.gen->cores;
	if (!rt.devices[core->device].dev)
		status = open_device(core->device, map);
	core->dev = rt.devices[core->device].dev;
	rt.ncores++;
	return status ? status : start_core(core);
}

/* The cores of the mark that are on the device of one of them */
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
	if (!rt.cores)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	for (const struct rt_mark *mark = rt.marks; mark < rt.marks + rt.nmarks; mark++) {
		for (uint32_t i = 0; i < mark->count; i++) {
			uint32_t global = mark->first + i;
			NRT_STATUS status =
				open_core(&rt.cores[rt.ncores], global, device_map(mark, global));

			if (status)
				return status;
		}
	}
	return NRT_SUCCESS;
}

static void close_all(void)
{
	for (uint32_t i = 0; i < rt.ncores; i++) {
		struct rt_core *core = &rt.cores[i];

		ndl_wait_close(core->waiter);
		if (core->done.ring)
			ndl_notification_destroy(core->dev, (void *)(uintptr_t)core->done.ring);
		if (core->error.ring)
			ndl_notification_destroy(core->dev, (void *)(uintptr_t)core->error.ring);
		if (core->locked)
			ndl_crwl_reader_exit(core->dev, core->nc, &rt.uuid);
	}
	for (uint32_t i = 0; i < NDL_MAX_DEVICES; i++) {
		if (!rt.devices[i].dev)
			continue;
		rt_nds_close(&rt.devices[i]);
		ndl_close_device(rt.devices[i].dev);
		rt.devices[i] = (struct rt_device){ 0 };
	}
	rt_cores_unmark(rt.marks, &rt.nmarks);
	free(rt.cores);
	rt.cores = NULL;
	rt.ncores = 0;
}

/* 32 bytes that no other process has */
static NRT_STATUS make_uuid(void)
{
	if (getrandom(&rt.uuid, sizeof(rt.uuid), 0) != sizeof(rt.uuid))
		return rt_fail(NRT_FAILURE, "NRT", "no random numbers: %s", strerror(errno));
	return NRT_SUCCESS;
}

/* From here on rings have any length that is a multiple of 16 */
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
	err = ndl_get_compatible_version(&min, &max);
	if (err)
		return rt_fail(rt_status_from_errno(err), "NRT",
			       "Neuron Driver version cannot be determined: %s",
			       ndl_error_text(err));
	if (max < DRIVER_LEVEL)
		return rt_fail(NRT_FAILURE, "NRT",
			       "driver too old: needs 2.9.4 or newer (runtime level %u, it has up "
			       "to %u)",
			       DRIVER_LEVEL, max);
	status = rt_cores_mark(&machine, &want, rt.marks, &rt.nmarks);
	if (status)
		return status;
	status = make_uuid();
	if (!status)
		status = open_cores(want.count);
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
		status = init_locked();
		if (!status)
			rt.state = RT_INIT;
	}
	pthread_mutex_unlock(&rt.lock);
	return status ? rt_fail(status, "NRT", "initialization failed") : status;
}

EXPORT void nrt_close(void)
{
	rt_details_clear();
	pthread_mutex_lock(&rt.lock);
	while (rt.state == RT_CLOSING)
		pthread_cond_wait(&rt.changed, &rt.lock);
	if (rt.state == RT_INIT) {
		rt.state = RT_CLOSING;
		while (rt.users)
			pthread_cond_wait(&rt.changed, &rt.lock);
		while (rt.models) {
			nrt_model_t *model = rt.models;

			rt.models = model->next_model;
			rt_model_go(model);
		}
		__atomic_add_fetch(&rt.epoch, 1, __ATOMIC_RELEASE);
		rt_stale_free();
		close_all();
		rt.state = RT_CLOSED;
		pthread_cond_broadcast(&rt.changed);
	}
	pthread_mutex_unlock(&rt.lock);
}

/* Counts */

EXPORT NRT_STATUS nrtx_machine_set(const char *name)
{
	int err;

	rt_details_clear();
	err = ndl_machine_set(name);
	return err ? rt_fail(NRT_INVALID, "NRT", "machine '%s': %s", name, strerror(-err))
		   : NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_device_count(uint32_t *devices)
{
	struct rt_machine machine;
	NRT_STATUS status;

	rt_details_clear();
	status = rt_machine(&machine);
	if (!status)
		*devices = machine.n;
	return status;
}

EXPORT NRT_STATUS nrtx_cores_per_device(uint32_t *cores)
{
	struct rt_machine machine;
	NRT_STATUS status;

	rt_details_clear();
	status = rt_machine(&machine);
	*cores = status ? 0 : machine.gen->cores;
	return status;
}

EXPORT NRT_STATUS nrt_get_total_nc_count(uint32_t *nc_count)
{
	struct rt_machine machine;
	NRT_STATUS status;

	rt_details_clear();
	if (!nc_count)
		return NRT_INVALID;
	status = rt_machine(&machine);
	if (!status)
		*nc_count = machine.n * machine.gen->cores;
	return status;
}

EXPORT NRT_STATUS nrt_get_total_vnc_count(uint32_t *vnc_count)
{
	return nrt_get_total_nc_count(vnc_count);
}

EXPORT NRT_STATUS nrt_get_visible_nc_count(uint32_t *nc_count)
{
	struct rt_machine machine;
	struct rt_want want;
	NRT_STATUS status;

	if (!nc_count)
		return NRT_INVALID;
	pthread_mutex_lock(&rt.lock);
	*nc_count = rt.ncores;
	pthread_mutex_unlock(&rt.lock);
	if (*nc_count)
		return NRT_SUCCESS;
	rt_details_clear();
	status = rt_machine(&machine);
	if (!status)
		status = rt_cores_visible(&machine, &want);
	if (!status)
		*nc_count = want.count;
	return status;
}

EXPORT NRT_STATUS nrt_get_visible_vnc_count(uint32_t *vnc_count)
{
	return nrt_get_visible_nc_count(vnc_count);
}

EXPORT NRT_STATUS nrtx_device_bdf(uint32_t device, struct nrtx_bdf *bdf)
{
	struct ndl_bdf ndl;
	int err;

	rt_details_clear();
	err = ndl_get_device_bdf((int)device, &ndl);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "nd%u: %s", device,
			       strerror(-err));
	*bdf = (struct nrtx_bdf){ ndl.domain, ndl.bus, ndl.slot, ndl.func };
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_core_location(uint32_t vnc, uint32_t *device, uint32_t *nc)
{
	RT_ENTER(status);
	struct rt_core *core = status ? NULL : rt_core(vnc);

	if (status)
		return status;
	if (!core)
		return rt_fail(NRT_INVALID, "NRT", "core %u of %u", vnc, rt.ncores);
	*device = core->device;
	*nc = core->nc;
	return NRT_SUCCESS;
}

_Static_assert(sizeof(((struct nrtx_error_counters *)0)->memory) /
			       sizeof(((struct nrtx_error_counters *)0)->memory[0]) >=
		       NEURON_MEMORIES_MAX,
	       "a counter for each memory of any generation");

EXPORT NRT_STATUS nrtx_error_counters(uint32_t device, struct nrtx_error_counters *counters)
{
	RT_ENTER(status);
	struct ndl_errors errors;
	int err;

	if (status)
		return status;
	if (device >= NDL_MAX_DEVICES || !rt.devices[device].dev)
		return rt_fail(NRT_INVALID, "TDRV", "nd%u is not in use by this process", device);
	err = ndl_error_counters(rt.devices[device].dev, &errors);
	if (err)
		return rt_fail(rt_status_from_errno(err), "TDRV", "nd%u: %s", device,
			       strerror(-err));
	*counters = (struct nrtx_error_counters){
		.sram_corrected = errors.sram.corrected,
		.sram_uncorrected = errors.sram.uncorrected,
		.memories = rt.gen->memories,
	};
	for (unsigned int i = 0; i < counters->memories; i++) {
		counters->memory[i].corrected = errors.memory[i].corrected;
		counters->memory[i].uncorrected = errors.memory[i].uncorrected;
	}
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrtx_reset_cores(uint32_t start_core, uint32_t core_count)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (start_core >= rt.ncores || core_count > rt.ncores - start_core)
		return rt_fail(NRT_INVALID, "NRT", "cores %u..%u of %u", start_core,
			       start_core + core_count, rt.ncores);
	for (uint32_t i = start_core; i < start_core + core_count && !status; i++) {
		pthread_mutex_lock(&rt.cores[i].exec);
		status = rt_core_reset(&rt.cores[i]);
		pthread_mutex_unlock(&rt.cores[i].exec);
	}
	rt_stale_retry();
	return status;
}

EXPORT NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size)
{
	nrt_version_t version = { .rt_major = NRT_MAJOR_VERSION, .rt_minor = NRT_MINOR_VERSION };

	rt_details_clear();
	if (!ver || !size)
		return NRT_INVALID;
	snprintf(version.rt_detail, sizeof(version.rt_detail),
		 "neuron-emulator " NEURON_EMULATOR_BUILD);
	memcpy(ver, &version, size < sizeof(version) ? size : sizeof(version));
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_instance_info(nrt_instance_info_t *info, size_t length)
{
	/* the size in an instance's name, by its number here */
	static const uint16_t xlarges[] = {
		[NRT_INSTANCE_SIZE_1XL] = 1,   [NRT_INSTANCE_SIZE_2XL] = 2,
		[NRT_INSTANCE_SIZE_3XL] = 3,   [NRT_INSTANCE_SIZE_4XL] = 4,
		[NRT_INSTANCE_SIZE_6XL] = 6,   [NRT_INSTANCE_SIZE_8XL] = 8,
		[NRT_INSTANCE_SIZE_24XL] = 24, [NRT_INSTANCE_SIZE_32XL] = 32,
		[NRT_INSTANCE_SIZE_48XL] = 48,
	};
	const struct neuron_instance *instance;
	nrt_instance_info_t mine = {
		.family = NRT_INSTANCE_INF1,
		.size = NRT_INSTANCE_SIZE_UNKNOWN,
		.arch_name = "inf1",
		.device_revision = "1",
	};

	rt_details_clear();
	if (!info)
		return NRT_INVALID;
	instance = neuron_instance_find(ndl_machine_instance());
	for (uint32_t i = 0; instance && i < sizeof(xlarges) / sizeof(xlarges[0]); i++)
		if (xlarges[i] == instance->xlarges)
			mine.size = i;
	memcpy(info, &mine, length < sizeof(mine) ? length : sizeof(mine));
	return NRT_SUCCESS;
}
