/* SPDX-License-Identifier: MIT */
/*
 * The public functions of an open device: each is its backend's, after the checks of arguments that
 * all backends need.
 */
#include <errno.h>
#include <stdlib.h>

#include "ndl_priv.h"

int ndl_get_nc_count(ndl_device_t *dev, uint32_t *count)
{
	int ret = machine_usable();

	if (!ret && dev->device_type != dev->gen->arch)
		ret = -ENOTSUP;
	if (!ret)
		*count = dev->gen->cores;
	return ret;
}

int ndl_bar_read(ndl_device_t *dev, unsigned int bar, const uint64_t *offset, uint32_t *data,
		 uint32_t count)
{
	return NDL_CALL(bar_read, bar, offset, data, count);
}

int ndl_bar_write(ndl_device_t *dev, unsigned int bar, const uint64_t *offset, const uint32_t *data,
		  uint32_t count)
{
	return NDL_CALL(bar_write, bar, offset, data, count);
}

int ndl_read_hw_counters(ndl_device_t *dev, const uint64_t *addr, uint32_t *data, uint32_t count)
{
	return NDL_CALL(read_hw_counters, addr, data, count);
}

int ndl_memory_alloc(ndl_device_t *dev, const struct ndl_mem_params *params, uint64_t *handle)
{
	*handle = 0;
	return NDL_CALL(mem_alloc, params, handle);
}

int ndl_memory_free(ndl_device_t *dev, uint64_t handle)
{
	return NDL_CALL(mem_free, handle);
}

int ndl_memory_get_pa(ndl_device_t *dev, uint64_t handle, uint64_t *pa)
{
	uint64_t size;

	return NDL_CALL(mem_info, handle, pa, &size);
}

int ndl_memory_get_size(ndl_device_t *dev, uint64_t handle, uint64_t *size)
{
	uint64_t pa;

	return NDL_CALL(mem_info, handle, &pa, size);
}

int ndl_memory_map(ndl_device_t *dev, uint64_t handle, void **va)
{
	*va = NULL;
	return NDL_CALL(mem_map, handle, va);
}

int ndl_memory_unmap(ndl_device_t *dev, uint64_t handle, void *va)
{
	return NDL_CALL(mem_unmap, handle, va);
}

int ndl_memory_copy(ndl_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		    uint64_t dst_offset, uint64_t size)
{
	return NDL_CALL(mem_copy, src, dst, src_offset, dst_offset, size);
}

int ndl_memory_move(ndl_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
		    uint64_t dst_offset, uint64_t size)
{
	if (dev->ops->mem_move)
		return NDL_CALL(mem_move, src, dst, src_offset, dst_offset, size);
	return ndl_memory_copy(dev, src, dst, src_offset, dst_offset, size);
}

int ndl_memory_buf_copyin(ndl_device_t *dev, uint64_t handle, const void *buf, uint64_t offset,
			  uint64_t size)
{
	return NDL_CALL(buf_copy, handle, (void *)buf, offset, size, true,
			size >= NDL_ZEROCOPY_MIN);
}

int ndl_memory_buf_copyout(ndl_device_t *dev, uint64_t handle, void *buf, uint64_t offset,
			   uint64_t size)
{
	return NDL_CALL(buf_copy, handle, buf, offset, size, false, size >= NDL_ZEROCOPY_MIN);
}

int ndl_memset(ndl_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value, uint64_t size)
{
	return NDL_CALL(mem_set, handle, offset, value, size);
}

int ndl_dram_map(ndl_device_t *dev, uint32_t channel, void **va, uint64_t *size)
{
	if (channel >= dev->gen->memories)
		return -EINVAL;
	return NDL_CALL(block_map, NEURON_MMAP_BLOCK_HBM, channel, NEURON_MMAP_RESOURCE_DMEM, va,
			size);
}

int ndl_block_map(ndl_device_t *dev, enum neuron_mmap_block block, uint32_t id,
		  enum neuron_mmap_resource resource, void **va, uint64_t *size)
{
	return NDL_CALL(block_map, block, id, resource, va, size);
}

int ndl_dram_chunks(ndl_device_t *dev, uint32_t channel, struct neuron_ioctl_mem_chunk_info *info,
		    uint32_t *count)
{
	if (channel >= dev->gen->memories)
		return -EINVAL;
	return NDL_CALL(dram_chunks, channel, info, count);
}

int ndl_core_write(ndl_device_t *dev, uint32_t nc, uint64_t address, const void *buf, uint64_t size)
{
	if (nc >= dev->gen->cores)
		return -EINVAL;
	return NDL_CALL(core_write, nc, address, buf, size);
}

int ndl_get_dmabuf_fd(ndl_device_t *dev, uint64_t va, uint64_t size, int *fd)
{
	return NDL_CALL(dmabuf_fd, va, size, fd);
}

int ndl_dma_eng_set_state(ndl_device_t *dev, uint32_t eng, uint32_t state)
{
	return NDL_CALL(eng_set_state, eng, state);
}

int ndl_dma_eng_get_state(ndl_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state)
{
	return NDL_CALL(eng_get_state, eng, state);
}

int ndl_dma_queue_init(ndl_device_t *dev, const struct ndl_queue_params *params)
{
	return NDL_CALL(queue_init, params, 1);
}

int ndl_dma_queue_init_batch(ndl_device_t *dev, const struct ndl_queue_params *params,
			     uint32_t count)
{
	if (count >= NEURON_DMA_QUEUE_INIT_BATCH_MAX)
		return -E2BIG;
	return count ? NDL_CALL(queue_init, params, count) : 0;
}

int ndl_dma_queue_release(ndl_device_t *dev, uint32_t eng, uint32_t qid)
{
	return NDL_CALL(queue_release, eng, qid);
}

int ndl_dma_queue_copy_start(ndl_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx_count,
			     uint32_t rx_count)
{
	return NDL_CALL(queue_start, eng, qid, tx_count, rx_count);
}

int ndl_dma_queue_get_state(ndl_device_t *dev, uint32_t eng, uint32_t qid,
			    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	return NDL_CALL(queue_state, eng, qid, tx, rx);
}

int ndl_dma_copy_descriptors(ndl_device_t *dev, uint64_t handle, const void *descs, uint64_t offset,
			     uint32_t count, enum neuron_dma_queue_type type)
{
	return NDL_CALL(copy_descs, handle, descs, offset, count, type);
}

int ndl_dma_descriptor_copyout(ndl_device_t *dev, uint32_t eng, uint32_t qid,
			       enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
			       void *descs)
{
	return NDL_CALL(descs_out, eng, qid, type, start, count, descs);
}

int ndl_nc_semaphore_read(ndl_device_t *dev, uint32_t nc, uint32_t index, uint32_t *value)
{
	return NDL_CALL(semaphore, NEURON_SEM_READ, nc, index, value);
}

int ndl_nc_semaphore_write(ndl_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDL_CALL(semaphore, NEURON_SEM_SET, nc, index, &value);
}

int ndl_nc_semaphore_increment(ndl_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDL_CALL(semaphore, NEURON_SEM_INC, nc, index, &value);
}

int ndl_nc_semaphore_decrement(ndl_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDL_CALL(semaphore, NEURON_SEM_DEC, nc, index, &value);
}

int ndl_nc_event_get(ndl_device_t *dev, uint32_t nc, uint32_t index, uint32_t *value)
{
	return NDL_CALL(event, false, nc, index, value);
}

int ndl_nc_event_set(ndl_device_t *dev, uint32_t nc, uint32_t index, uint32_t value)
{
	return NDL_CALL(event, true, nc, index, &value);
}

int ndl_notification_init(ndl_device_t *dev, const struct ndl_nq_params *params, void **va)
{
	*va = NULL;
	if (params->size & (params->size - 1) || params->size < NEURON_NQ_ENTRY_SIZE)
		return -EINVAL;
	return NDL_CALL(nq_init, params, va);
}

int ndl_notification_destroy(ndl_device_t *dev, void *va)
{
	return NDL_CALL(nq_destroy, va);
}

int ndl_wait_open(ndl_device_t *dev, uint32_t nc, struct ndl_waiter **out)
{
	struct ndl_waiter *waiter;
	int err;

	*out = NULL;
	if (nc >= dev->gen->cores)
		return -E2BIG;
	waiter = malloc(sizeof(*waiter));
	if (!waiter)
		return -ENOMEM;
	*waiter = (struct ndl_waiter){ .dev = dev, .nc = nc, .fd = -1, .wake_fd = -1 };
	err = NDL_CALL(wait_open, waiter);
	if (err) {
		free(waiter);
		return err;
	}
	*out = waiter;
	return 0;
}

int ndl_nds_open(ndl_device_t *dev, int pid, void **data, size_t *size)
{
	*data = NULL;
	return NDL_CALL(nds_open, pid, data, size);
}

int ndl_nds_close(ndl_device_t *dev, int pid, void *data, size_t size)
{
	return NDL_CALL(nds_close, pid, data, size);
}

int ndl_crwl_reader_enter(ndl_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDL_CALL(crwl, NDL_CRWL_READER_ENTER, nc, uuid);
}

int ndl_crwl_reader_exit(ndl_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDL_CALL(crwl, NDL_CRWL_READER_EXIT, nc, uuid);
}

int ndl_crwl_writer_enter(ndl_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDL_CALL(crwl, NDL_CRWL_WRITER_ENTER, nc, uuid);
}

int ndl_crwl_writer_downgrade(ndl_device_t *dev, uint32_t nc, const struct neuron_uuid *uuid)
{
	return NDL_CALL(crwl, NDL_CRWL_WRITER_DOWNGRADE, nc, uuid);
}

int ndl_reset_ncs(ndl_device_t *dev, uint32_t nc_map, uint32_t *request_id)
{
	return NDL_CALL(reset, nc_map, request_id);
}

int ndl_ready_ncs(ndl_device_t *dev, uint32_t request_id, int *result)
{
	return NDL_CALL(ready, request_id, result);
}

int ndl_nc_init_set_state(ndl_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state)
{
	return NDL_CALL(cinit, nc, state, new_state);
}

int ndl_nc_model_started_count(ndl_device_t *dev, uint32_t nc, uint64_t *count)
{
	return NDL_CALL(started_count, nc, count);
}

int ndl_get_all_apps_info(ndl_device_t *dev, struct neuron_app_info **info, size_t *count,
			  uint16_t flags)
{
	*info = NULL;
	*count = 0;
	return NDL_CALL(apps, info, count, flags);
}

int ndl_printk(ndl_device_t *dev, const char *text)
{
	return NDL_CALL(printk, text);
}
