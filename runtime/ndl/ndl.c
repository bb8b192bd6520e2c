/* SPDX-License-Identifier: MIT */
/*
 * libndl's front: which machine, and the calls through to its backend. The machine is chosen under
 * one lock and then fixed until ndl_machine_close(); devices carry their own table.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ndl_priv.h"
#include "neuron/hw/ours.h"

#define NDL_LIBRARY_EMU_PREFIX "emu:"

static struct {
	pthread_mutex_t lock; /* protects all that follows */
	const struct ndl_backend *backend; /* NULL: not started */
	const struct ndl_backend *chosen;  /* by ndl_machine_set, for the next start */
	char instance[32];
} machine = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int choose(const char *name)
{
	if (!strcmp(name, "node")) {
		machine.chosen = &ndl_node_backend;
		machine.instance[0] = '\0';
		return 0;
	}
	if (!strncmp(name, NDL_LIBRARY_EMU_PREFIX, strlen(NDL_LIBRARY_EMU_PREFIX)))
		name += strlen(NDL_LIBRARY_EMU_PREFIX);
	if (!*name || strlen(name) >= sizeof(machine.instance))
		return -EINVAL;
	machine.chosen = &ndl_emu_backend;
	strcpy(machine.instance, name);
	return 0;
}

/* The backend, started; NULL with *err set */
static const struct ndl_backend *get(int *err)
{
	const struct ndl_backend *backend;
	const char *env;

	*err = 0;
	pthread_mutex_lock(&machine.lock);
	if (!machine.backend) {
		if (!machine.chosen) {
			env = secure_getenv("NEURON_EMU");
			*err = choose(env && *env ? env : "node");
		}
		if (!*err)
			*err = machine.chosen->start(machine.instance);
		if (!*err)
			machine.backend = machine.chosen;
		else
			machine.chosen = NULL;
	}
	backend = machine.backend;
	pthread_mutex_unlock(&machine.lock);
	return backend;
}

int ndl_machine_set(const char *name)
{
	int err;

	if (!name)
		return -EINVAL;
	pthread_mutex_lock(&machine.lock);
	err = machine.backend ? -EBUSY : choose(name);
	pthread_mutex_unlock(&machine.lock);
	return err;
}

int ndl_machine_close(void)
{
	int err = 0;

	pthread_mutex_lock(&machine.lock);
	if (machine.backend)
		err = machine.backend->stop();
	if (!err)
		machine.backend = machine.chosen = NULL;
	pthread_mutex_unlock(&machine.lock);
	return err;
}

bool ndl_machine_is_emu(void)
{
	int err;

	return get(&err) == &ndl_emu_backend;
}

const char *ndl_machine_instance(void)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	return backend ? backend->instance() : "";
}

int ndl_get_version(char *driver_version, size_t size)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	return backend ? backend->version(driver_version, size) : err;
}

int ndl_get_compatible_version(uint32_t *min, uint32_t *max)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	return backend ? backend->compatible(min, max) : err;
}

int ndl_feature_supported(uint64_t feature, bool *supported)
{
	int err;
	const struct ndl_backend *backend = get(&err);
	uint64_t flags;

	if (backend)
		err = backend->features(&flags);
	if (!err)
		*supported = (flags & feature) == feature;
	return err;
}

int ndl_available_devices(int *indexes, int size)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	return backend ? backend->available(indexes, size) : err;
}

int ndl_open_device(int index, const ndl_device_init_param_t *params, ndl_device_t **device)
{
	static const ndl_device_init_param_t defaults = { .initialize_device = true };
	int err;
	const struct ndl_backend *backend = get(&err);

	if (!backend)
		return err;
	if (index < 0 || index >= NDL_MAX_DEVICES)
		return -EINVAL;
	return backend->open(index, params ? params : &defaults, device);
}

int ndl_get_device_bdf(int index, struct ndl_bdf *bdf)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	return backend ? backend->bdf(index, bdf) : err;
}

int ndl_get_links(int index, bool *east, bool *west)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	return backend ? backend->links(index, east, west) : err;
}

int ndl_crwl_nc_range_mark(uint32_t count, uint32_t start, uint32_t end, uint32_t *first,
			   uint32_t *available)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	if (!backend)
		return err;
	if (!count || start > end)
		return -EINVAL;
	return backend->mark(count, start, end, first, available);
}

int ndl_crwl_nc_range_unmark(uint32_t first, uint32_t count)
{
	int err;
	const struct ndl_backend *backend = get(&err);

	return backend ? backend->unmark(first, count) : err;
}

/* A device's calls */

int ndl_close_device(ndl_device_t *device)
{
	return device->ops->close(device);
}

int ndl_isa_version(ndl_device_t *device, uint32_t *version)
{
	uint64_t addr = NEURON_V1_APB_BASE + NEURON_OURS_BAR0_OFFSET + NEURON_OURS_ISA_VERSION;

	return device->ops->read_hw_counters(device, &addr, version, 1);
}

int ndl_get_nc_count(ndl_device_t *device, uint32_t *count)
{
	return device->ops->nc_count(device, count);
}

int ndl_get_dram_size(ndl_device_t *device, uint32_t channel, uint64_t *size)
{
	return device->ops->dram_size(device, channel, size);
}

int ndl_bar_read(ndl_device_t *device, unsigned int bar, const uint64_t *offset, uint32_t *data,
		 uint32_t count)
{
	return device->ops->bar_read(device, bar, offset, data, count);
}

int ndl_bar_write(ndl_device_t *device, unsigned int bar, const uint64_t *offset,
		  const uint32_t *data, uint32_t count)
{
	return device->ops->bar_write(device, bar, offset, data, count);
}

int ndl_read_hw_counters(ndl_device_t *device, const uint64_t *addr, uint32_t *data,
			 uint32_t count)
{
	return device->ops->read_hw_counters(device, addr, data, count);
}

int ndl_memory_alloc(ndl_device_t *device, const struct ndl_mem_params *params, uint64_t *handle)
{
	return device->ops->mem_alloc(device, params, handle);
}

int ndl_memory_free(ndl_device_t *device, uint64_t handle)
{
	return device->ops->mem_free(device, handle);
}

int ndl_memory_get_pa(ndl_device_t *device, uint64_t handle, uint64_t *pa)
{
	uint64_t size;

	return device->ops->mem_info(device, handle, pa, &size);
}

int ndl_memory_get_size(ndl_device_t *device, uint64_t handle, uint64_t *size)
{
	uint64_t pa;

	return device->ops->mem_info(device, handle, &pa, size);
}

int ndl_memory_map(ndl_device_t *device, uint64_t handle, void **va)
{
	return device->ops->mem_map(device, handle, va);
}

int ndl_memory_unmap(ndl_device_t *device, uint64_t handle, void *va)
{
	return device->ops->mem_unmap(device, handle, va);
}

int ndl_memory_copy(ndl_device_t *device, uint64_t src, uint64_t dst, uint64_t src_offset,
		    uint64_t dst_offset, uint64_t size)
{
	return size ? device->ops->mem_copy(device, src, dst, src_offset, dst_offset, size) : 0;
}

int ndl_memory_buf_copyin(ndl_device_t *device, uint64_t handle, const void *buf, uint64_t offset,
			  uint64_t size)
{
	/* the backend reads it only */
	return size ? device->ops->buf_copy(device, handle, (void *)(uintptr_t)buf, offset, size,
					    true) :
		      0;
}

int ndl_memory_buf_copyout(ndl_device_t *device, uint64_t handle, void *buf, uint64_t offset,
			   uint64_t size)
{
	return size ? device->ops->buf_copy(device, handle, buf, offset, size, false) : 0;
}

int ndl_memset(ndl_device_t *device, uint64_t handle, uint64_t offset, uint32_t value,
	       uint64_t size)
{
	return size ? device->ops->mem_set(device, handle, offset, value, size) : 0;
}

int ndl_get_dmabuf_fd(ndl_device_t *device, uint64_t va, uint64_t size, int *fd)
{
	return device->ops->dmabuf_fd(device, va, size, fd);
}

int ndl_dma_eng_set_state(ndl_device_t *device, uint32_t eng, uint32_t state)
{
	return device->ops->eng_set_state(device, eng, state);
}

int ndl_dma_eng_get_state(ndl_device_t *device, uint32_t eng, struct neuron_dma_eng_state *state)
{
	return device->ops->eng_get_state(device, eng, state);
}

int ndl_dma_queue_init(ndl_device_t *device, const struct ndl_queue_params *params)
{
	return device->ops->queue_init(device, params, 1);
}

int ndl_dma_queue_init_batch(ndl_device_t *device, const struct ndl_queue_params *params,
			     uint32_t count)
{
	if (count >= NEURON_DMA_QUEUE_INIT_BATCH_MAX)
		return -E2BIG;
	return count ? device->ops->queue_init(device, params, count) : 0;
}

int ndl_dma_queue_release(ndl_device_t *device, uint32_t eng, uint32_t qid)
{
	return device->ops->queue_release(device, eng, qid);
}

int ndl_dma_queue_copy_start(ndl_device_t *device, uint32_t eng, uint32_t qid, uint32_t tx_count,
			     uint32_t rx_count)
{
	return device->ops->queue_start(device, eng, qid, tx_count, rx_count);
}

int ndl_dma_queue_get_state(ndl_device_t *device, uint32_t eng, uint32_t qid,
			    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	return device->ops->queue_state(device, eng, qid, tx, rx);
}

int ndl_dma_copy_descriptors(ndl_device_t *device, uint64_t handle, const void *descs,
			     uint64_t offset, uint32_t count, enum neuron_dma_queue_type type)
{
	return device->ops->copy_descriptors(device, handle, descs, offset, count, type);
}

int ndl_dma_descriptor_copyout(ndl_device_t *device, uint32_t eng, uint32_t qid,
			       enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
			       void *descs)
{
	return device->ops->descriptor_copyout(device, eng, qid, type, start, count, descs);
}

int ndl_nc_semaphore_increment(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value)
{
	return device->ops->semaphore(device, NDL_SEM_INC, nc, index, &value);
}

int ndl_nc_semaphore_decrement(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value)
{
	return device->ops->semaphore(device, NDL_SEM_DEC, nc, index, &value);
}

int ndl_nc_semaphore_read(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t *value)
{
	return device->ops->semaphore(device, NDL_SEM_READ, nc, index, value);
}

int ndl_nc_semaphore_write(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value)
{
	return device->ops->semaphore(device, NDL_SEM_WRITE, nc, index, &value);
}

int ndl_nc_event_get(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t *value)
{
	return device->ops->event(device, false, nc, index, value);
}

int ndl_nc_event_set(ndl_device_t *device, uint32_t nc, uint32_t index, uint32_t value)
{
	return device->ops->event(device, true, nc, index, &value);
}

int ndl_notification_init(ndl_device_t *device, const struct ndl_nq_params *params, void **va)
{
	if (!params->size || (params->size & (params->size - 1)))
		return -EINVAL;
	return device->ops->nq_init(device, params, va);
}

int ndl_notification_destroy(ndl_device_t *device, void *va)
{
	return device->ops->nq_destroy(device, va);
}

int ndl_nds_open(ndl_device_t *device, int pid, void **data, size_t *size)
{
	return device->ops->nds_open(device, pid, data, size);
}

int ndl_nds_close(ndl_device_t *device, int pid, void *data, size_t size)
{
	return device->ops->nds_close(device, pid, data, size);
}

uint64_t ndl_nds_get(const void *data, unsigned int nc, unsigned int counter)
{
	const uint64_t *word = (const void *)((const char *)data + NDS_NC_OFFSET(nc, counter));

	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

void ndl_nds_add(void *data, unsigned int nc, unsigned int counter, uint64_t value)
{
	uint64_t *word = (void *)((char *)data + NDS_NC_OFFSET(nc, counter));

	__atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

int ndl_crwl_reader_enter(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid)
{
	return device->ops->crwl(device, NDL_CRWL_READ_ENTER, nc, uuid);
}

int ndl_crwl_reader_exit(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid)
{
	return device->ops->crwl(device, NDL_CRWL_READ_EXIT, nc, uuid);
}

int ndl_crwl_writer_enter(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid)
{
	return device->ops->crwl(device, NDL_CRWL_WRITE_ENTER, nc, uuid);
}

int ndl_crwl_writer_downgrade(ndl_device_t *device, uint32_t nc, const struct neuron_uuid *uuid)
{
	return device->ops->crwl(device, NDL_CRWL_DOWNGRADE, nc, uuid);
}

int ndl_reset_ncs(ndl_device_t *device, uint32_t nc_map, uint32_t *request_id)
{
	return device->ops->reset(device, nc_map, request_id);
}

int ndl_ready_ncs(ndl_device_t *device, uint32_t request_id, int *result)
{
	return device->ops->ready(device, request_id, result);
}

int ndl_nc_init_set_state(ndl_device_t *device, uint32_t nc, uint32_t state, uint32_t *new_state)
{
	return device->ops->cinit(device, nc, state, new_state);
}

int ndl_nc_model_started_count(ndl_device_t *device, uint32_t nc, uint64_t *count)
{
	return device->ops->started_count(device, nc, count);
}

int ndl_get_all_apps_info(ndl_device_t *device, struct neuron_app_info **info, size_t *count,
			  uint16_t flags)
{
	return device->ops->apps_info(device, info, count, flags);
}

int ndl_printk(ndl_device_t *device, const char *text)
{
	return device->ops->printk(device, text);
}
