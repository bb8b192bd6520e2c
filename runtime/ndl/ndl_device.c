/* SPDX-License-Identifier: MIT */
/*
 * The public functions of an open device: each is its backend's, after the checks of arguments that
 * all backends need.
 */
#include <errno.h>
#include <stdlib.h>

#include "ndl_priv.h"

int ndlx_get_nc_count(ndlx_device_t *dev, uint32_t *count)
{
	int ret = machine_usable();

	if (!ret && dev->device_type != dev->gen->arch)
		ret = -ENOTSUP;
	if (!ret)
		*count = dev->gen->cores;
	return ret;
}

int ndlx_bar_read(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset, uint32_t *data,
		  uint32_t count)
{
	return NDLX_CALL(bar_read, bar, offset, data, count);
}

int ndlx_bar_write(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset,
		   const uint32_t *data, uint32_t count)
{
	return NDLX_CALL(bar_write, bar, offset, data, count);
}

int ndlx_read_hw_counters(ndlx_device_t *dev, const uint64_t *addr, uint32_t *data, uint32_t count)
{
	return NDLX_CALL(read_hw_counters, addr, data, count);
}

int ndlx_memory_alloc(ndlx_device_t *dev, const struct ndlx_mem_params *params, uint64_t *handle)
{
	*handle = 0;
	return NDLX_CALL(mem_alloc, params, handle);
}

int ndlx_memory_free(ndlx_device_t *dev, uint64_t handle)
{
	return NDLX_CALL(mem_free, handle);
}

int ndlx_memory_get_pa(ndlx_device_t *dev, uint64_t handle, uint64_t *pa)
{
	uint64_t size;

	return NDLX_CALL(mem_info, handle, pa, &size);
}

int ndlx_memory_get_size(ndlx_device_t *dev, uint64_t handle, uint64_t *size)
{
	uint64_t pa;

	return NDLX_CALL(mem_info, handle, &pa, size);
}

int ndlx_memory_map(ndlx_device_t *dev, uint64_t handle, void **va)
{
	*va = NULL;
	return NDLX_CALL(mem_map, handle, va);
}

int ndlx_memory_unmap(ndlx_device_t *dev, uint64_t handle, void *va)
{
	return NDLX_CALL(mem_unmap, handle, va);
}

int ndlx_memory_copy(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		     uint64_t dst_offset, uint64_t size)
{
	return NDLX_CALL(mem_copy, src, dst, src_offset, dst_offset, size);
}

int ndlx_memory_move(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		     uint64_t dst_offset, uint64_t size)
{
	if (dev->ops->mem_move)
		return NDLX_CALL(mem_move, src, dst, src_offset, dst_offset, size);
	return ndlx_memory_copy(dev, src, dst, src_offset, dst_offset, size);
}

int ndlx_memory_forget(ndlx_device_t *dev, uint64_t handle)
{
	return dev->ops->mem_forget ? NDLX_CALL(mem_forget, handle) : 0;
}

int ndlx_memory_buf_copyin(ndlx_device_t *dev, uint64_t handle, const void *buf, uint64_t offset,
			   uint64_t size)
{
	return NDLX_CALL(buf_copy, handle, (void *)buf, offset, size, true,
			 size >= NDLX_ZEROCOPY_MIN);
}

int ndlx_memory_buf_copyout(ndlx_device_t *dev, uint64_t handle, void *buf, uint64_t offset,
			    uint64_t size)
{
	return NDLX_CALL(buf_copy, handle, buf, offset, size, false, size >= NDLX_ZEROCOPY_MIN);
}

int ndlx_memset(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value, uint64_t size)
{
	return NDLX_CALL(mem_set, handle, offset, value, size);
}

int ndlx_dram_map(ndlx_device_t *dev, uint32_t channel, void **va, uint64_t *size)
{
	if (channel >= dev->gen->memories)
		return -EINVAL;
	return NDLX_CALL(block_map, NEURON_MMAP_BLOCK_HBM, channel, NEURON_MMAP_RESOURCE_DMEM, va,
			 size);
}

int ndlx_block_map(ndlx_device_t *dev, enum neuron_mmap_block block, uint32_t id,
		   enum neuron_mmap_resource resource, void **va, uint64_t *size)
{
	return NDLX_CALL(block_map, block, id, resource, va, size);
}

int ndlx_dram_chunks(ndlx_device_t *dev, uint32_t channel, struct neuron_ioctl_mem_chunk_info *info,
		     uint32_t *count)
{
	if (channel >= dev->gen->memories)
		return -EINVAL;
	return NDLX_CALL(dram_chunks, channel, info, count);
}

int ndlx_core_write(ndlx_device_t *dev, uint32_t nc, uint64_t address, const void *buf,
		    uint64_t size)
{
	if (nc >= dev->gen->cores)
		return -EINVAL;
	return NDLX_CALL(core_write, nc, address, buf, size);
}

int ndlx_get_dmabuf_fd(ndlx_device_t *dev, uint64_t va, uint64_t size, int *fd)
{
	return NDLX_CALL(dmabuf_fd, va, size, fd);
}

int ndlx_dma_eng_set_state(ndlx_device_t *dev, uint32_t eng, uint32_t state)
{
	return NDLX_CALL(eng_set_state, eng, state);
}

int ndlx_dma_eng_get_state(ndlx_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state)
{
	return NDLX_CALL(eng_get_state, eng, state);
}

int ndlx_dma_queue_init(ndlx_device_t *dev, const struct ndlx_queue_params *params)
{
	return NDLX_CALL(queue_init, params, 1);
}

int ndlx_dma_queue_init_batch(ndlx_device_t *dev, const struct ndlx_queue_params *params,
			      uint32_t count)
{
	if (count >= NEURON_DMA_QUEUE_INIT_BATCH_MAX)
		return -E2BIG;
	return count ? NDLX_CALL(queue_init, params, count) : 0;
}

int ndlx_dma_queue_release(ndlx_device_t *dev, uint32_t eng, uint32_t qid)
{
	return NDLX_CALL(queue_release, eng, qid);
}

int ndlx_dma_queue_copy_start(ndlx_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx_count,
			      uint32_t rx_count)
{
	return NDLX_CALL(queue_start, eng, qid, tx_count, rx_count);
}

int ndlx_dma_queue_get_state(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
			     struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	return NDLX_CALL(queue_state, eng, qid, tx, rx);
}

int ndlx_dma_copy_descriptors(ndlx_device_t *dev, uint64_t handle, const void *descs,
			      uint64_t offset, uint32_t count, enum neuron_dma_queue_type type)
{
	return NDLX_CALL(copy_descs, handle, descs, offset, count, type);
}

int ndlx_dma_descriptor_copyout(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
				enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
				void *descs)
{
	return NDLX_CALL(descs_out, eng, qid, type, start, count, descs);
}

int ndlx_nc_semaphore_read(ndlx_device_t *dev, uint32_t nc, uint32_t index, uint32_t *value)
{
	return NDLX_CALL(semaphore, NEURON_SEM_READ, nc, index, value);
}

int ndlx_nc_semaphore_write(ndlx_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDLX_CALL(semaphore, NEURON_SEM_SET, nc, index, &value);
}

int ndlx_nc_semaphore_increment(ndlx_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDLX_CALL(semaphore, NEURON_SEM_INC, nc, index, &value);
}

int ndlx_nc_semaphore_decrement(ndlx_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDLX_CALL(semaphore, NEURON_SEM_DEC, nc, index, &value);
}

int ndlx_nc_event_get(ndlx_device_t *dev, uint32_t nc, uint32_t index, uint32_t *value)
{
	return NDLX_CALL(event, false, nc, index, value);
}

int ndlx_nc_event_set(ndlx_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDLX_CALL(event, true, nc, index, &value);
}

int ndlx_notification_init(ndlx_device_t *dev, const struct ndlx_nq_params *params, void **va)
{
	*va = NULL;
	if (params->size & (params->size - 1) || params->size < NEURON_NQ_ENTRY_SIZE)
		return -EINVAL;
	return NDLX_CALL(nq_init, params, va);
}

int ndlx_notification_destroy(ndlx_device_t *dev, void *va)
{
	return NDLX_CALL(nq_destroy, va);
}

int ndlx_wait_open(ndlx_device_t *dev, uint32_t nc, struct ndlx_waiter **out)
{
	struct ndlx_waiter *waiter;
	int err;

	*out = NULL;
	if (nc >= dev->gen->cores)
		return -E2BIG;
	waiter = malloc(sizeof(*waiter));
	if (!waiter)
		return -ENOMEM;
	*waiter = (struct ndlx_waiter){ .dev = dev, .nc = nc, .fd = -1, .wake_fd = -1 };
	err = NDLX_CALL(wait_open, waiter);
	if (err) {
		free(waiter);
		return err;
	}
	*out = waiter;
	return 0;
}

int ndlx_nds_open(ndlx_device_t *dev, int pid, void **data, size_t *size)
{
	*data = NULL;
	return NDLX_CALL(datastore_open, pid, data, size);
}

int ndlx_nds_close(ndlx_device_t *dev, int pid, void *data, size_t size)
{
	return NDLX_CALL(datastore_close, pid, data, size);
}

int ndlx_crwl_reader_enter(ndlx_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDLX_CALL(crwl, NDLX_CRWL_READER_ENTER, nc, uuid);
}

int ndlx_crwl_reader_exit(ndlx_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDLX_CALL(crwl, NDLX_CRWL_READER_EXIT, nc, uuid);
}

int ndlx_crwl_writer_enter(ndlx_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDLX_CALL(crwl, NDLX_CRWL_WRITER_ENTER, nc, uuid);
}

int ndlx_crwl_writer_downgrade(ndlx_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDLX_CALL(crwl, NDLX_CRWL_WRITER_DOWNGRADE, nc, uuid);
}

int ndlx_reset_ncs(ndlx_device_t *dev, uint32_t nc_map, uint32_t *request_id)
{
	return NDLX_CALL(reset, nc_map, request_id);
}

int ndlx_ready_ncs(ndlx_device_t *dev, uint32_t request_id, int *result)
{
	return NDLX_CALL(ready, request_id, result);
}

int ndlx_nc_init_set_state(ndlx_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state)
{
	return NDLX_CALL(cinit, nc, state, new_state);
}

int ndlx_nc_model_started_count(ndlx_device_t *dev, uint32_t nc, uint64_t *count)
{
	return NDLX_CALL(started_count, nc, count);
}

int ndlx_get_all_apps_info(ndlx_device_t *dev, struct neuron_app_info **info, size_t *count,
			   uint16_t flags)
{
	*info = NULL;
	*count = 0;
	return NDLX_CALL(apps, info, count, flags);
}

int ndlx_printk(ndlx_device_t *dev, const char *text)
{
	return NDLX_CALL(printk, text);
}
