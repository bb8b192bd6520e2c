// SPDX-License-Identifier: GPL-2.0-only
/*
 * ioctls on NeuronCores: reset, semaphores and events, notification queues, datastores, and the
 * three kinds of ownership.
 */
#define pr_fmt(fmt) "neuron: " fmt

#include "neuron_device.h"
#include "neuron_crwl.h"
#include "neuron_gate.h"
#include "neuron_ioctl.h"
#include "neuron_mem.h"
#include "neuron_nds.h"
#include "neuron_nq.h"
#include "neuron_reset.h"
#include "neuron_user.h"

static int do_device_reset(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	neuron_reset_request(nd, current->tgid, NEURON_NC_MAP_DEVICE);
	return 0;
}

/* Deprecated form: 1 is ok, and so is having asked for nothing */
static int do_device_ready(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	int result, ret;

	ret = neuron_reset_wait(nd, current->tgid, &result);
	*(u8 *)arg = !result || result == -ENOENT;
	return ret;
}

static int do_reset_status(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	*(u8 *)arg = 1;
	return 0;
}

static int do_nc_reset(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_device_reset *a = arg;

	a->request_id = current->tgid;
	return neuron_reset_request(nd, current->tgid, a->nc_map);
}

static int do_nc_reset_ready(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_device_ready *a = arg;
	int result = -ENOENT, ret = 0;

	/* only one's own request */
	if (a->request_id == current->tgid)
		ret = neuron_reset_wait(nd, a->request_id, &result);
	a->result = result ? 1 : 0;
	return ret;
}

static int sem_check(const struct neuron_gen *gen, const struct neuron_ioctl_semaphore *a)
{
	if (a->nc_id >= gen->cores)
		return -E2BIG;
	return a->semaphore_index < gen->target->semaphores ? 0 : -EINVAL;
}

static int sem_write(struct neuron_device *nd, const struct neuron_ioctl_semaphore *a,
		     enum neuron_sem_access op)
{
	int ret = sem_check(nd->gen, a);

	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	ret = neuron_core_claim(nd, a->nc_id);
	if (!ret)
		nhal_sem_write(&nd->hal, a->nc_id, op, a->semaphore_index, a->value);
	mutex_unlock(&nd->lock);
	return ret;
}

static int do_sem_increment(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return sem_write(nd, arg, NEURON_SEM_INC);
}

static int do_sem_decrement(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return sem_write(nd, arg, NEURON_SEM_DEC);
}

static int do_sem_write(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return sem_write(nd, arg, NEURON_SEM_SET);
}

static int do_sem_read(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_semaphore *a = arg;
	int ret = sem_check(nd->gen, a);

	if (ret)
		return ret;
	mutex_lock(&nd->fwio_lock);
	ret = nhal_sem_read(&nd->hal, a->nc_id, a->semaphore_index, &a->value);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

static int event_check(const struct neuron_gen *gen, const struct neuron_ioctl_event *a)
{
	if (a->nc_id >= gen->cores)
		return -E2BIG;
	return a->event_index < gen->target->events ? 0 : -EINVAL;
}

static int do_event_set(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_event *a = arg;
	int ret = event_check(nd->gen, a);

	if (ret)
		return ret;
	mutex_lock(&nd->lock);
	ret = neuron_core_claim(nd, a->nc_id);
	if (!ret)
		nhal_event_set(&nd->hal, a->nc_id, a->event_index, a->value);
	mutex_unlock(&nd->lock);
	return ret;
}

static int do_event_get(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_event *a = arg;
	int ret = event_check(nd->gen, a);

	if (ret)
		return ret;
	mutex_lock(&nd->fwio_lock);
	ret = nhal_event_get(&nd->hal, a->nc_id, a->event_index, &a->value);
	mutex_unlock(&nd->fwio_lock);
	return ret;
}

static int do_nq_init_v1(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_notifications_init_v1 *a = arg;
	struct neuron_nq_args args = { .nc = a->nc_id,
				       .type = a->nq_type,
				       .eng = a->engine_index,
				       .size = a->size,
				       .host = true };
	u64 handle;

	return neuron_nq_init(nd, &args, &a->mmap_offset, &handle);
}

static int do_nq_init_v2(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_notifications_init_v2 *a = arg;
	struct neuron_nq_args args = { .dev_type = a->nq_dev_type,
				       .nc = a->nq_dev_id,
				       .type = a->nq_type,
				       .eng = a->engine_index,
				       .size = a->size,
				       .host = a->on_host_memory,
				       .channel = a->dram_channel,
				       .region = a->dram_region };

	return neuron_nq_init(nd, &args, &a->mmap_offset, &a->mem_handle);
}

static int do_nq_init_realloc(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_notifications_init_with_realloc_v2 *a = arg;
	struct neuron_nq_args args = { .dev_type = a->nq_dev_type,
				       .nc = a->nq_dev_id,
				       .type = a->nq_type,
				       .eng = a->engine_index,
				       .size = a->size,
				       .host = a->on_host_memory,
				       .force = a->force_alloc_mem,
				       .channel = a->dram_channel,
				       .region = a->dram_region };

	return neuron_nq_init(nd, &args, &a->mmap_offset, &a->mem_handle);
}

static int do_nothing(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return 0;
}

static int do_refuse(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	return -EPERM;
}

static int do_nds_acquire(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_neuron_ds_info *a = arg;

	return neuron_nds_acquire(nd, a->pid, &a->mmap_offset, &a->size);
}

/* Releases a datastore if the caller owns it; the call of another process is ignored */
static int do_nds_release(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_neuron_ds_info *a = arg;

	if (!a->pid || a->pid == current->tgid)
		neuron_nds_release(nd, current->tgid);
	return 0;
}

static int do_reader_enter(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl *a = arg;

	return neuron_crwl_reader_enter(nd, a->nc_id, a->uuid.value);
}

static int do_reader_exit(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl *a = arg;

	return neuron_crwl_reader_exit(nd, a->nc_id, a->uuid.value);
}

static int do_writer_enter(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl *a = arg;

	return neuron_crwl_writer_enter(nd, a->nc_id, a->uuid.value);
}

static int do_writer_downgrade(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl *a = arg;

	return neuron_crwl_writer_downgrade(nd, a->nc_id, a->uuid.value);
}

static int do_mark(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl_nc_map *a = arg;

	BUILD_BUG_ON(sizeof(unsigned long) != sizeof(a->bitmap));
	return neuron_mark(nd, a->nc_count, a->start_nc_index, a->end_nc_index,
			   &a->max_nc_available, (unsigned long *)&a->bitmap, 64);
}

static int do_mark_ext(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl_nc_map_ext *a = arg;

	return neuron_mark(nd, a->nc_count, a->start_nc_index, a->end_nc_index,
			   &a->max_nc_available, (unsigned long *)a->bitmap, 512);
}

static int do_unmark(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl_nc_map *a = arg;

	neuron_unmark(nd, (unsigned long *)&a->bitmap, 64);
	return 0;
}

static int do_unmark_ext(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_crwl_nc_map_ext *a = arg;

	neuron_unmark(nd, (unsigned long *)a->bitmap, 512);
	return 0;
}

static int do_cinit(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_cinit_set *a = arg;

	return neuron_cinit_set(nd, a->nc_id, a->state, &a->new_state);
}

static int do_model_started(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_nc_model_started_count *a = arg;

	if (a->nc_id >= nd->gen->cores)
		return -E2BIG;
	mutex_lock(&nd->lock);
	a->started_count = nd->model_started[a->nc_id];
	mutex_unlock(&nd->lock);
	return 0;
}

/* Start and status answer -1 where there is nothing to scrub, as the public driver does */
static int do_scrub_start(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_hbm_scrub_start *a = arg;

	if (!nd->gen->scrubs || a->hbm_index >= nd->gen->memories)
		return -EPERM;
	if (a->nc_id >= nd->gen->cores)
		return -EINVAL;
	return neuron_mem_scrub(nd, a->hbm_index, a->nc_id, a->init_val);
}

static int do_scrub_wait(struct neuron_device *nd, void *arg, struct neuron_call *call)
{
	struct neuron_ioctl_hbm_scrub_wait *a = arg;

	if (!nd->gen->scrubs || a->hbm_index >= nd->gen->memories)
		return -EPERM;
	return neuron_mem_scrub_result(nd, a->hbm_index);
}

#define S(name) sizeof(struct neuron_ioctl_##name)
#define HWA (NIOC_HW | NIOC_ATTACHED)

const struct neuron_ioctl_entry neuron_ioctl_core[] = {
	NEURON_IOC(SEMAPHORE_INCREMENT, S(semaphore), HWA, do_sem_increment),
	NEURON_IOC(SEMAPHORE_DECREMENT, S(semaphore), HWA, do_sem_decrement),
	NEURON_IOC(SEMAPHORE_READ, S(semaphore), NIOC_HW | NIOC_OUT, do_sem_read),
	NEURON_IOC(SEMAPHORE_WRITE, S(semaphore), HWA, do_sem_write),
	NEURON_IOC(EVENT_SET, S(event), HWA, do_event_set),
	NEURON_IOC(EVENT_GET, S(event), NIOC_HW | NIOC_OUT, do_event_get),
	NEURON_IOC(NOTIFICATIONS_INIT_V1, S(notifications_init_v1), HWA | NIOC_OUT, do_nq_init_v1),
	NEURON_IOC(NOTIFICATIONS_DESTROY_V1, 0, 0, do_nothing),
	NEURON_IOC(NOTIFICATIONS_INIT_V2, S(notifications_init_v2), HWA | NIOC_OUT, do_nq_init_v2),
	NEURON_IOC(NOTIFICATIONS_INIT_WITH_REALLOC_V2, S(notifications_init_with_realloc_v2),
		   HWA | NIOC_OUT, do_nq_init_realloc),
	NEURON_IOC(NOTIFICATIONS_QUEUE_INFO, 0, 0, do_refuse),
	NEURON_IOC(ACQUIRE_NEURON_DS, S(neuron_ds_info), NIOC_ATTACHED | NIOC_OUT, do_nds_acquire),
	NEURON_IOC(RELEASE_NEURON_DS, S(neuron_ds_info), NIOC_ATTACHED, do_nds_release),
	NEURON_IOC(CRWL_READER_ENTER, S(crwl), NIOC_ATTACHED, do_reader_enter),
	NEURON_IOC(CRWL_READER_EXIT, S(crwl), NIOC_ATTACHED, do_reader_exit),
	NEURON_IOC(CRWL_WRITER_ENTER, S(crwl), NIOC_ATTACHED, do_writer_enter),
	NEURON_IOC(CRWL_WRITER_DOWNGRADE, S(crwl), NIOC_ATTACHED, do_writer_downgrade),
	NEURON_IOC(CRWL_NC_RANGE_MARK, S(crwl_nc_map), NIOC_FREE | NIOC_OUT_ERR, do_mark),
	NEURON_IOC(CRWL_NC_RANGE_MARK_EXT0, S(crwl_nc_map_ext), NIOC_FREE | NIOC_OUT_ERR,
		   do_mark_ext),
	NEURON_IOC(CRWL_NC_RANGE_UNMARK, S(crwl_nc_map), NIOC_FREE, do_unmark),
	NEURON_IOC(CRWL_NC_RANGE_UNMARK_EXT0, S(crwl_nc_map_ext), NIOC_FREE, do_unmark_ext),
	NEURON_IOC(CINIT_SET_STATE, S(cinit_set), NIOC_ATTACHED | NIOC_OUT, do_cinit),
	NEURON_IOC(NC_MODEL_STARTED_COUNT, S(nc_model_started_count), NIOC_OUT, do_model_started),
	NEURON_IOC(DEVICE_RESET, 0, NIOC_ATTACHED, do_device_reset),
	NEURON_IOC(DEVICE_READY, 1, NIOC_ATTACHED | NIOC_OUT, do_device_ready),
	NEURON_IOC(DEVICE_RESET_STATUS, 1, NIOC_OUT, do_reset_status),
	NEURON_IOC(NC_RESET, S(device_reset), NIOC_ATTACHED | NIOC_OUT, do_nc_reset),
	NEURON_IOC(NC_RESET_READY, S(device_ready), NIOC_ATTACHED | NIOC_OUT, do_nc_reset_ready),
	NEURON_IOC(HBM_SCRUB_START, S(hbm_scrub_start), HWA, do_scrub_start),
	NEURON_IOC(HBM_SCRUB_WAIT, S(hbm_scrub_wait), NIOC_ATTACHED, do_scrub_wait),
};

const unsigned int neuron_ioctl_core_count = ARRAY_SIZE(neuron_ioctl_core);
