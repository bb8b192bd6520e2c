/* SPDX-License-Identifier: MIT */
/*
 * libndl's node backend, a device: one ioctl for each function; the kernel module checks the
 * arguments
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "node.h"

#define CALL(dev, request, ...) node_ioctl(node_device(dev)->fd, (request), &(__VA_ARGS__))

static int node_close(ndlx_device_t *dev)
{
	struct node_device *node = node_device(dev);

	while (node->mappings)
		node_unmap(node, node->mappings->va);
	close(node->fd);
	pthread_mutex_destroy(&node->lock);
	free(node);
	return 0;
}

/*
 * The BAR of the registers takes a list of addresses, that of the cores takes one at a time. On
 * chips whose cores lie among the registers there is the first alone.
 */
static int bar_rw(ndlx_device_t *dev, bool write, unsigned int bar, const uint64_t *offset,
		  uint32_t *data, uint32_t count)
{
	bool cores = bar != dev->gen->bar_regs;
	uint64_t base = dev->csr_base[cores];
	uint32_t step = cores ? 1 : count;

	if (cores && bar != dev->gen->bar_cores)
		return -EINVAL;
	for (uint32_t i = 0; i < count; i += step) {
		struct neuron_ioctl_bar_rw arg = { .bar = bar, .data = data + i, .count = step };
		uint64_t *address = calloc(step, sizeof(*address));
		int err;

		if (!address)
			return -ENOMEM;
		for (uint32_t k = 0; k < step; k++)
			address[k] = base + offset[i + k];
		arg.address = (__u64 *)address;
		err = CALL(dev, write ? NEURON_IOCTL_BAR_WRITE : NEURON_IOCTL_BAR_READ, arg);
		free(address);
		if (err)
			return err;
	}
	return 0;
}

static int node_bar_read(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset,
			 uint32_t *data, uint32_t count)
{
	return bar_rw(dev, false, bar, offset, data, count);
}

static int node_bar_write(ndlx_device_t *dev, unsigned int bar, const uint64_t *offset,
			  const uint32_t *data, uint32_t count)
{
	return bar_rw(dev, true, bar, offset, (uint32_t *)(uintptr_t)data, count);
}

static int node_read_hw_counters(ndlx_device_t *dev, const uint64_t *addr, uint32_t *data,
				 uint32_t count)
{
	struct neuron_ioctl_read_hw_counters arg = {
		.address = (__u64 *)(uintptr_t)addr,
		.data = data,
		.count = count,
	};

	return CALL(dev, NEURON_IOCTL_READ_HW_COUNTERS, arg);
}

/* Memory */

/*
 * Uses the newest form that the driver has. Before there were memory types nothing depended on
 * them; before there was an alignment chunks were aligned to pages.
 */
static int node_mem_alloc(ndlx_device_t *dev, const struct ndlx_mem_params *params,
			  uint64_t *handle)
{
	__u64 result = 0;
	struct neuron_ioctl_mem_alloc_v2_mem_type64 arg = {
		.size = params->size,
		.align = params->align,
		.host_memory = params->host,
		.dram_channel = params->channel,
		.dram_region = params->region,
		.nc_id = params->nc,
		.mem_type = node_memory_type(params->type),
		.mem_handle = &result,
	};
	struct neuron_ioctl_mem_alloc_v2 v2 = { arg.size,	  arg.align,	   arg.host_memory,
						arg.dram_channel, arg.dram_region, arg.nc_id,
						arg.mem_handle };
	struct neuron_ioctl_mem_alloc v1 = { arg.size,	      arg.host_memory, arg.dram_channel,
					     arg.dram_region, arg.nc_id,       arg.mem_handle };
	int err;

	if (node_has(NEURON_IOCTL_MEM_ALLOC_V2MT64))
		err = CALL(dev, NEURON_IOCTL_MEM_ALLOC_V2MT64, arg);
	else if (node_has(NEURON_IOCTL_MEM_ALLOC_V2MT))
		err = CALL(dev, NEURON_IOCTL_MEM_ALLOC_V2MT, arg); /* without the padding */
	else if (node_has(NEURON_IOCTL_MEM_ALLOC_V2) || params->align > 4096)
		err = CALL(dev, NEURON_IOCTL_MEM_ALLOC_V2, v2);
	else
		err = CALL(dev, NEURON_IOCTL_MEM_ALLOC, v1);
	*handle = result;
	return err;
}

static int node_mem_free(ndlx_device_t *dev, uint64_t handle)
{
	struct neuron_ioctl_mem_free arg = { .mem_handle = handle };

	return CALL(dev, NEURON_IOCTL_MEM_FREE, arg);
}

static int extended_info(ndlx_device_t *dev, uint64_t handle,
			 struct neuron_ioctl_mem_get_extended_info *arg)
{
	int err;

	*arg = (struct neuron_ioctl_mem_get_extended_info){ .mem_handle = handle, .version = 1 };
	err = node_ioctl(node_device(dev)->fd, NEURON_IOCTL_MEM_GET_EXTENDED_INFO, arg);
	return err == -EFAULT ? -EINVAL : err; /* the public driver returns +22 for a bad handle */
}

static int node_mem_info(ndlx_device_t *dev, uint64_t handle, uint64_t *pa, uint64_t *size)
{
	struct neuron_ioctl_mem_get_extended_info arg;
	int err = extended_info(dev, handle, &arg);

	if (!err) {
		*pa = arg.pa;
		*size = arg.size;
	}
	return err;
}

static int node_mem_map(ndlx_device_t *dev, uint64_t handle, void **va)
{
	struct neuron_ioctl_mem_get_extended_info arg;
	int err = extended_info(dev, handle, &arg);

	return err ? err : node_map(node_device(dev), arg.mmap_offset, arg.size, true, va);
}

static int node_mem_unmap(ndlx_device_t *dev, uint64_t handle, void *va)
{
	(void)handle;
	return node_unmap(node_device(dev), va);
}

/* True if the 32-bit forms are enough. A driver that has only those has no larger chunks. */
static bool narrow(uint64_t offset, uint64_t size)
{
	return offset <= UINT32_MAX && size <= UINT32_MAX;
}

static int node_mem_copy(ndlx_device_t *dev, uint64_t src, uint64_t dst, uint64_t src_offset,
			 uint64_t dst_offset, uint64_t size)
{
	struct neuron_ioctl_mem_copy64 arg = {
		.src_mem_handle = src,
		.dst_mem_handle = dst,
		.size = size,
		.src_offset = src_offset,
		.dst_offset = dst_offset,
	};
	struct neuron_ioctl_mem_copy old = { src, dst, (uint32_t)size, (uint32_t)src_offset,
					     (uint32_t)dst_offset };

	if (node_has(NEURON_IOCTL_MEM_COPY64))
		return CALL(dev, NEURON_IOCTL_MEM_COPY64, arg);
	if (!narrow(src_offset, size) || !narrow(dst_offset, size))
		return -EINVAL;
	return size ? CALL(dev, NEURON_IOCTL_MEM_COPY, old) : 0;
}

/*
 * Zero copy by the form that the driver has; -EINVAL or -ENOTTY if it has none. Those that announce
 * the new form may complain of the old one, and refuse both for Trainium and Inferentia2.
 */
static int node_zerocopy(ndlx_device_t *dev, struct neuron_ioctl_mem_buf_copy64 *copy)
{
	struct neuron_ioctl_mem_buf_copy64zc arg = {
		.mem_handle = copy->mem_handle,
		.buffer = copy->buffer,
		.size = copy->size,
		.offset = copy->offset,
		.is_copy_to_device = copy->copy_to_mem_handle,
		.h2t_qid = NEURON_H2T_QUEUE_DEFAULT,
	};

	if (node_device(dev)->zerocopy_v2)
		return CALL(dev, NEURON_IOCTL_MEM_BUF_ZEROCOPY64_V2, arg);
	if (!node_has(NEURON_IOCTL_MEM_BUF_ZEROCOPY64))
		return -EINVAL;
	return CALL(dev, NEURON_IOCTL_MEM_BUF_ZEROCOPY64, *copy);
}

/* zero copy pins the caller's pages; a driver that lacks it refuses the number, not the copy */
static int node_buf_copy(ndlx_device_t *dev, uint64_t handle, void *buf, uint64_t offset,
			 uint64_t size, bool to_device, bool zerocopy)
{
	struct neuron_ioctl_mem_buf_copy64 arg = {
		.mem_handle = handle,
		.buffer = buf,
		.size = size,
		.offset = offset,
		.copy_to_mem_handle = to_device,
	};
	struct neuron_ioctl_mem_buf_copy old = { handle, buf, (uint32_t)size, (uint32_t)offset,
						 to_device };

	if (zerocopy) {
		int err = node_zerocopy(dev, &arg);

		if (err != -EINVAL && err != -ENOTTY)
			return err;
	}
	if (node_has(NEURON_IOCTL_MEM_BUF_COPY64))
		return CALL(dev, NEURON_IOCTL_MEM_BUF_COPY64, arg);
	if (!narrow(offset, size))
		return -EINVAL;
	return size ? CALL(dev, NEURON_IOCTL_MEM_BUF_COPY, old) : 0;
}

static int node_mem_set(ndlx_device_t *dev, uint64_t handle, uint64_t offset, uint32_t value,
			uint64_t size)
{
	struct neuron_ioctl_memset64 arg = {
		.mem_handle = handle,
		.offset = offset,
		.value = value,
		.size = size,
	};
	struct neuron_ioctl_memset old = { handle, offset, value, (uint32_t)size };

	if (node_has(NEURON_IOCTL_MEMSET64))
		return CALL(dev, NEURON_IOCTL_MEMSET64, arg);
	if (!narrow(offset, size))
		return -EINVAL;
	return size ? CALL(dev, NEURON_IOCTL_MEMSET, old) : 0;
}

static int node_dmabuf_fd(ndlx_device_t *dev, uint64_t va, uint64_t size, int *fd)
{
	struct neuron_ioctl_dmabuf_fd arg = { .va = va, .size = size, .fd = fd };

	return CALL(dev, NEURON_IOCTL_DMABUF_FD, arg);
}

/* DMA */

static int node_eng_set_state(ndlx_device_t *dev, uint32_t eng, uint32_t state)
{
	struct neuron_ioctl_dma_eng_set_state arg = { .eng_id = eng, .state = state };

	return CALL(dev, NEURON_IOCTL_DMA_ENG_SET_STATE, arg);
}

static int node_eng_get_state(ndlx_device_t *dev, uint32_t eng, struct neuron_dma_eng_state *state)
{
	struct neuron_ioctl_dma_eng_get_state arg = { .eng_id = eng, .state = state };

	return CALL(dev, NEURON_IOCTL_DMA_ENG_GET_STATE, arg);
}

static void fill_queue(struct neuron_ioctl_dma_queue_init *arg, const struct ndlx_queue_params *q)
{
	*arg = (struct neuron_ioctl_dma_queue_init){
		.eng_id = q->eng,
		.qid = q->qid,
		.tx_desc_count = q->tx_count,
		.rx_desc_count = q->rx_count,
		.tx_handle = q->tx_handle,
		.rx_handle = q->rx_handle,
		.axi_port = q->axi_port,
	};
}

static int node_queue_init(ndlx_device_t *dev, const struct ndlx_queue_params *params,
			   uint32_t count)
{
	struct neuron_ioctl_dma_queue_init_batch *batch;
	struct neuron_ioctl_dma_queue_init one;
	int err = 0;

	if (count == 1 || !node_has(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH)) {
		for (uint32_t i = 0; i < count && !err; i++) {
			fill_queue(&one, &params[i]);
			err = CALL(dev, NEURON_IOCTL_DMA_QUEUE_INIT, one);
		}
		return err;
	}
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	batch->count = count;
	for (uint32_t i = 0; i < count; i++)
		fill_queue(&batch->entries[i], &params[i]);
	err = node_ioctl(node_device(dev)->fd, NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, batch);
	free(batch);
	return err;
}

static int node_queue_release(ndlx_device_t *dev, uint32_t eng, uint32_t qid)
{
	struct neuron_ioctl_dma_queue_release arg = { .eng_id = eng, .qid = qid };

	return CALL(dev, NEURON_IOCTL_DMA_QUEUE_RELEASE, arg);
}

static int node_queue_start(ndlx_device_t *dev, uint32_t eng, uint32_t qid, uint32_t tx,
			    uint32_t rx)
{
	struct neuron_ioctl_dma_queue_copy_start arg = {
		.eng_id = eng,
		.qid = qid,
		.tx_desc_count = tx,
		.rx_desc_count = rx,
	};

	return CALL(dev, NEURON_IOCTL_DMA_QUEUE_COPY_START, arg);
}

static int node_queue_state(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
			    struct neuron_dma_queue_state *tx, struct neuron_dma_queue_state *rx)
{
	struct neuron_ioctl_dma_queue_get_state arg = {
		.eng_id = eng,
		.qid = qid,
		.tx = tx,
		.rx = rx,
	};

	return CALL(dev, NEURON_IOCTL_DMA_QUEUE_GET_STATE, arg);
}

static int node_copy_descriptors(ndlx_device_t *dev, uint64_t handle, const void *descs,
				 uint64_t offset, uint32_t count, enum neuron_dma_queue_type type)
{
	struct neuron_ioctl_dma_copy_descriptors64 arg = {
		.mem_handle = handle,
		.buffer = (void *)(uintptr_t)descs,
		.num_descs = count,
		.offset = offset,
		.queue_type = type,
	};
	struct neuron_ioctl_dma_copy_descriptors old = { handle, arg.buffer, count,
							 (uint32_t)offset, type };

	if (node_has(NEURON_IOCTL_DMA_COPY_DESCRIPTORS64))
		return CALL(dev, NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, arg);
	return narrow(offset, 0) ? CALL(dev, NEURON_IOCTL_DMA_COPY_DESCRIPTORS, old) : -EINVAL;
}

static int node_descriptor_copyout(ndlx_device_t *dev, uint32_t eng, uint32_t qid,
				   enum neuron_dma_queue_type type, uint32_t start, uint32_t count,
				   void *descs)
{
	struct neuron_ioctl_dma_descriptor_copyout arg = {
		.eng_id = eng,
		.qid = qid,
		.type = type,
		.start_index = start,
		.count = count,
		.buffer = descs,
	};

	return CALL(dev, NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, arg);
}

/* Synchronisation and notifications */

static int node_semaphore(ndlx_device_t *dev, enum neuron_sem_access op, uint32_t nc,
			  uint32_t index, uint32_t *value)
{
	static const unsigned long request[] = {
		[NEURON_SEM_READ] = NEURON_IOCTL_SEMAPHORE_READ,
		[NEURON_SEM_SET] = NEURON_IOCTL_SEMAPHORE_WRITE,
		[NEURON_SEM_INC] = NEURON_IOCTL_SEMAPHORE_INCREMENT,
		[NEURON_SEM_DEC] = NEURON_IOCTL_SEMAPHORE_DECREMENT,
	};
	struct neuron_ioctl_semaphore arg = {
		.nc_id = nc,
		.semaphore_index = index,
		.value = op == NEURON_SEM_READ ? 0 : *value,
	};
	int err = CALL(dev, request[op], arg);

	if (!err && op == NEURON_SEM_READ)
		*value = arg.value;
	return err;
}

static int node_event(ndlx_device_t *dev, bool set, uint32_t nc, uint32_t index, uint32_t *value)
{
	struct neuron_ioctl_event arg = { .nc_id = nc, .event_index = index };
	int err;

	if (set)
		arg.value = *value;
	err = CALL(dev, set ? NEURON_IOCTL_EVENT_SET : NEURON_IOCTL_EVENT_GET, arg);
	if (!err && !set)
		*value = arg.value;
	return err;
}

static int node_nq_init(ndlx_device_t *dev, const struct ndlx_nq_params *params, void **va)
{
	struct neuron_ioctl_notifications_init_with_realloc_v2 arg = {
		.nq_dev_id = params->nc,
		.nq_dev_type = NEURON_NQ_DEV_NC,
		.nq_type = params->type,
		.engine_index = neuron_gen_nq_slot(dev->gen, params->type, params->engine),
		.size = params->size,
		.on_host_memory = 1,
		.force_alloc_mem = params->fresh,
	};
	int err = CALL(dev, NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2, arg);

	return err ? err : node_map(node_device(dev), arg.mmap_offset, params->size, true, va);
}

static int node_nq_destroy(ndlx_device_t *dev, void *va)
{
	return node_unmap(node_device(dev), va);
}

/* Datastore */

static int node_nds_open(ndlx_device_t *dev, int pid, void **data, size_t *size)
{
	struct neuron_ioctl_neuron_ds_info arg = { .pid = pid };
	int err = CALL(dev, NEURON_IOCTL_ACQUIRE_NEURON_DS, arg);

	if (err)
		return err;
	*size = arg.size;
	return node_map(node_device(dev), arg.mmap_offset, arg.size, !pid, data);
}

static int node_nds_close(ndlx_device_t *dev, int pid, void *data, size_t size)
{
	struct neuron_ioctl_neuron_ds_info arg = { .pid = pid };
	int err = node_unmap(node_device(dev), data);

	(void)size;
	return err ? err : CALL(dev, NEURON_IOCTL_RELEASE_NEURON_DS, arg);
}

/* Ownership, reset, processes */

static int node_crwl(ndlx_device_t *dev, enum ndlx_crwl op, uint32_t nc,
		     const struct neuron_uuid *uuid)
{
	static const unsigned long request[] = {
		[NDLX_CRWL_READER_ENTER] = NEURON_IOCTL_CRWL_READER_ENTER,
		[NDLX_CRWL_READER_EXIT] = NEURON_IOCTL_CRWL_READER_EXIT,
		[NDLX_CRWL_WRITER_ENTER] = NEURON_IOCTL_CRWL_WRITER_ENTER,
		[NDLX_CRWL_WRITER_DOWNGRADE] = NEURON_IOCTL_CRWL_WRITER_DOWNGRADE,
	};
	struct neuron_ioctl_crwl arg = { .nc_id = nc, .uuid = *uuid };

	return CALL(dev, request[op], arg);
}

static int node_reset(ndlx_device_t *dev, uint32_t nc_map, uint32_t *request_id)
{
	struct neuron_ioctl_device_reset arg = { .nc_map = nc_map };
	int ret = node_refused(NEURON_IOCTL_NC_RESET);

	if (ret)
		return ret;
	ret = ioctl(node_device(dev)->fd, NEURON_IOCTL_NC_RESET, &arg);
	/* +1: this process has asked already, and its request goes on */
	if (ret < 0)
		return -errno;
	*request_id = ret ? (uint32_t)getpid() : arg.request_id;
	return 0;
}

static int node_ready(ndlx_device_t *dev, uint32_t request_id, int *result)
{
	struct neuron_ioctl_device_ready arg = { .request_id = request_id };
	int err = CALL(dev, NEURON_IOCTL_NC_RESET_READY, arg);

	*result = arg.result;
	return err;
}

static int node_cinit(ndlx_device_t *dev, uint32_t nc, uint32_t state, uint32_t *new_state)
{
	struct neuron_ioctl_cinit_set arg = { .nc_id = nc, .state = state };
	int err = CALL(dev, NEURON_IOCTL_CINIT_SET_STATE, arg);

	*new_state = arg.new_state;
	return err;
}

static int node_started_count(ndlx_device_t *dev, uint32_t nc, uint64_t *count)
{
	struct neuron_ioctl_nc_model_started_count arg = { .nc_id = nc };
	int err = CALL(dev, NEURON_IOCTL_NC_MODEL_STARTED_COUNT, arg);

	*count = arg.started_count;
	return err;
}

static int node_apps_info(ndlx_device_t *dev, struct neuron_app_info **info, size_t *count,
			  uint16_t flags)
{
	struct neuron_ioctl_get_apps_info *arg;
	size_t bytes = NEURON_MAX_PROCESS_PER_DEVICE * sizeof(arg->app_data[0]);
	int err;

	arg = calloc(1, sizeof(*arg) + bytes);
	*info = malloc(bytes);
	if (!arg || !*info) {
		err = -ENOMEM;
		goto out;
	}

	arg->apps_info_flags = flags;
	arg->capacity = NEURON_MAX_PROCESS_PER_DEVICE;
	err = node_ioctl(node_device(dev)->fd, NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, arg);
	if (!err && arg->size > NEURON_MAX_PROCESS_PER_DEVICE)
		err = -EPROTO;

	if (!err) {
		*count = arg->size;
		memcpy(*info, arg->app_data, arg->size * sizeof(arg->app_data[0]));
	}
out:
	if (err) {
		free(*info);
		*info = NULL;
	}
	free(arg);
	return err;
}

static int node_printk(ndlx_device_t *dev, const char *text)
{
	struct neuron_ioctl_printk arg = {
		.buffer = (void *)(uintptr_t)text,
		.size = (uint32_t)strlen(text) + 1,
	};

	return CALL(dev, NEURON_IOCTL_PRINTK, arg);
}

const struct ndlx_ops node_ops = {
	.close = node_close,
	.bar_read = node_bar_read,
	.bar_write = node_bar_write,
	.read_hw_counters = node_read_hw_counters,
	.mem_alloc = node_mem_alloc,
	.mem_free = node_mem_free,
	.mem_info = node_mem_info,
	.mem_map = node_mem_map,
	.mem_unmap = node_mem_unmap,
	.mem_copy = node_mem_copy,
	.buf_copy = node_buf_copy,
	.mem_set = node_mem_set,
	.block_map = node_block_map,
	.dram_chunks = node_dram_chunks,
	.core_write = node_core_write,
	.call = node_call,
	.dmabuf_fd = node_dmabuf_fd,
	.eng_set_state = node_eng_set_state,
	.eng_get_state = node_eng_get_state,
	.queue_init = node_queue_init,
	.queue_release = node_queue_release,
	.queue_start = node_queue_start,
	.queue_state = node_queue_state,
	.copy_descs = node_copy_descriptors,
	.descs_out = node_descriptor_copyout,
	.semaphore = node_semaphore,
	.event = node_event,
	.nq_init = node_nq_init,
	.nq_destroy = node_nq_destroy,
	.wait_open = node_wait_open,
	.wait_look = node_wait_look,
	.wait = node_wait,
	.wait_wake = node_wait_wake,
	.wait_close = node_wait_close,
	.datastore_open = node_nds_open,
	.datastore_close = node_nds_close,
	.crwl = node_crwl,
	.reset = node_reset,
	.ready = node_ready,
	.cinit = node_cinit,
	.started_count = node_started_count,
	.apps = node_apps_info,
	.printk = node_printk,
};
