/* SPDX-License-Identifier: MIT */
/*
 * The public driver library: memory and copies. A public handle names an entry of the table here,
 * which knows the device and its chunk; it has the entry's generation in its upper half, so that a
 * handle that was freed is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rt_ndl.h"
#include "rt_tensor.h"

struct entry {
	ndlx_device_t *dev; /* NULL: free */
	uint64_t chunk;
	uint32_t generation, nc;
	void *va; /* its mapping */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the table */
static struct entry *table;
static uint32_t entries;

static uint64_t handle_of(uint32_t i)
{
	return (uint64_t)table[i].generation << 32 | (i + 1);
}

/* NULL: no such handle. The lock is held. */
static struct entry *find(uint64_t handle)
{
	uint32_t i = (uint32_t)handle - 1;

	if (i >= entries || !table[i].dev || table[i].generation != handle >> 32)
		return NULL;
	return &table[i];
}

static bool grow(void)
{
	uint32_t n = entries ? entries * 2 : 64;
	struct entry *more = reallocarray(table, n, sizeof(*more));

	if (!more)
		return false;
	memset(more + entries, 0, (n - entries) * sizeof(*more));
	table = more;
	entries = n;
	return true;
}

int rt_ndl_memory_add(ndlx_device_t *dev, uint64_t chunk, uint32_t nc, uint64_t *handle)
{
	uint32_t i = 0;
	int ret = 0;

	pthread_mutex_lock(&lock);
	while (i < entries && table[i].dev)
		i++;
	if (i == entries && !grow()) {
		ret = -ENOMEM;
	} else {
		table[i] = (struct entry){ dev, chunk, table[i].generation + 1, nc, NULL };
		*handle = handle_of(i);
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* A copy of the entry */
static int get(uint64_t handle, struct entry *copy)
{
	struct entry *entry;

	pthread_mutex_lock(&lock);
	entry = find(handle);
	if (entry)
		*copy = *entry;
	pthread_mutex_unlock(&lock);
	return entry ? 0 : -EINVAL;
}

int rt_ndl_chunk(uint64_t handle, ndlx_device_t **dev, uint64_t *chunk)
{
	struct entry entry;
	int ret = get(handle, &entry);

	if (!ret) {
		*dev = entry.dev;
		*chunk = entry.chunk;
	}
	return ret;
}

/* The device frees the chunks; only the table is cleared here. */
void rt_ndl_memory_drop(const ndlx_device_t *dev)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < entries; i++) {
		if (table[i].dev != dev)
			continue;
		if (table[i].va)
			ndlx_memory_unmap(table[i].dev, table[i].chunk, table[i].va);
		ndlx_memory_free(table[i].dev, table[i].chunk);
		table[i].dev = NULL;
	}
	pthread_mutex_unlock(&lock);
}

int ndl_memory_alloc(ndl_device_t *device, size_t size, uint64_t align, uint32_t host_memory,
		     uint32_t dram_channel, uint32_t dram_region, uint32_t nc_id,
		     uint32_t mem_alloc_type, uint64_t *mem_handle)
{
	const struct ndlx_mem_params params = {
		.size = size,
		.align = host_memory ? 0 : align,
		.host = host_memory,
		.channel = host_memory ? 0 : dram_channel,
		.region = host_memory ? 0 : dram_region,
		.nc = nc_id,
		.type = mem_alloc_type,
	};
	ndlx_device_t *dev = rt_ndl_device(device);
	uint64_t chunk;
	int ret;

	if (!dev || !mem_handle || mem_alloc_type >= NEURON_MEMALLOC_TYPE_MAX)
		return -EINVAL;
	ret = ndlx_memory_alloc(dev, &params, &chunk);
	if (ret)
		return ret;
	ret = rt_ndl_memory_add(dev, chunk, nc_id, mem_handle);
	if (ret)
		ndlx_memory_free(dev, chunk);
	return ret;
}

int ndl_memory_free(uint64_t mem_handle)
{
	struct entry *entry, copy = { 0 };

	pthread_mutex_lock(&lock);
	entry = find(mem_handle);
	if (entry) {
		copy = *entry;
		entry->dev = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (!copy.dev)
		return -EINVAL;
	if (copy.va)
		ndlx_memory_unmap(copy.dev, copy.chunk, copy.va);
	return ndlx_memory_free(copy.dev, copy.chunk);
}

int ndl_memory_get_pa(uint64_t mem_handle, uint64_t *pa)
{
	struct entry entry;

	return pa ? get(mem_handle, &entry) ?: ndlx_memory_get_pa(entry.dev, entry.chunk, pa)
		  : -EINVAL;
}

int ndl_memory_map(uint64_t mem_handle, void **va)
{
	struct entry *entry;
	int ret = -EINVAL;

	if (!va)
		return ret;
	pthread_mutex_lock(&lock);
	entry = find(mem_handle);
	if (entry) {
		ret = entry->va ? 0 : ndlx_memory_map(entry->dev, entry->chunk, &entry->va);
		*va = ret ? NULL : entry->va;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

int ndl_memory_unmap(uint64_t mem_handle)
{
	struct entry *entry;
	int ret = -EINVAL;

	pthread_mutex_lock(&lock);
	entry = find(mem_handle);
	if (entry && entry->va) {
		ret = ndlx_memory_unmap(entry->dev, entry->chunk, entry->va);
		entry->va = NULL;
	}
	pthread_mutex_unlock(&lock);
	return ret;
}

/* Copies */

int ndl_memory_buf_copyin(uint64_t mem_handle, void *buffer, uint64_t offset, size_t size)
{
	struct entry entry;

	return buffer ? get(mem_handle, &entry)
				?: ndlx_memory_buf_copyin(entry.dev, entry.chunk, buffer, offset,
							  size)
		      : -EINVAL;
}

int ndl_memory_buf_copyout(uint64_t mem_handle, void *buffer, uint64_t offset, size_t size)
{
	struct entry entry;

	return buffer ? get(mem_handle, &entry)
				?: ndlx_memory_buf_copyout(entry.dev, entry.chunk, buffer, offset,
							   size)
		      : -EINVAL;
}

/* libndl copies without a copy where that is faster, by the core's own queue. */
#define QUEUES 16
static bool queue_ok(int qid)
{
	return qid >= NEURON_DMA_H2T_DEFAULT_QID && qid < QUEUES;
}

int ndl_memory_buf_zerocopyin(uint64_t mem_handle, void *buffer, uint64_t offset, size_t size,
			      int qid, uint32_t bar4_wr_threshold)
{
	return queue_ok(qid) ? ndl_memory_buf_copyin(mem_handle, buffer, offset, size) : -EINVAL;
}

int ndl_memory_buf_zerocopyout(uint64_t mem_handle, void *buffer, uint64_t offset, size_t size,
			       int qid)
{
	return queue_ok(qid) ? ndl_memory_buf_copyout(mem_handle, buffer, offset, size) : -EINVAL;
}

static int copy_one(const neuron_memcpy_batch_t *batch, const nrt_tensor_batch_op_t *op, bool out)
{
	uint64_t offset;

	if (__builtin_add_overflow(batch->mem_handle_offset, op->offset, &offset))
		return -EINVAL;
	return out ? ndl_memory_buf_copyout(batch->mem_handle, op->buffer, offset, op->size)
		   : ndl_memory_buf_copyin(batch->mem_handle, op->buffer, offset, op->size);
}

int ndl_memory_buf_batch_copy(neuron_memcpy_batch_t *batches, uint64_t num_batches,
			      uint32_t direction, int qid)
{
	int ret = 0;

	if ((num_batches && !batches) || direction > 1 || !queue_ok(qid))
		return -EINVAL;
	for (uint64_t b = 0; b < num_batches && !ret; b++) {
		if (batches[b].num_ops && !batches[b].ops_ptr)
			return -EINVAL;
		for (uint32_t i = 0; i < batches[b].num_ops && !ret; i++)
			ret = copy_one(&batches[b], &batches[b].ops_ptr[i], direction);
	}
	return ret;
}

int ndl_memory_copy(uint64_t src_mem_handle, uint64_t dst_mem_handle, uint64_t src_offset,
		    uint64_t dst_offset, size_t size)
{
	struct entry src, dst;
	int ret = get(src_mem_handle, &src) ?: get(dst_mem_handle, &dst);

	if (ret || src.dev->device_index != dst.dev->device_index)
		return ret ? ret : -EINVAL;
	return ndlx_memory_copy(dst.dev, src.chunk, dst.chunk, src_offset, dst_offset, size);
}

/*
 * A core has one copy in progress beside the one that waits; here the copy is done when its handle
 * is given out, which is what a wait would find.
 */
int ndl_memory_copy_as(uint64_t src_mem_handle, uint64_t dst_mem_handle, uint64_t src_offset,
		       uint64_t dst_offset, size_t size, uint64_t prefetch_addr, int *wait_handle)
{
	int ret;

	if (!wait_handle || *wait_handle < (int)NEURON_DMA_H2T_CTX_HANDLE_NONE ||
	    *wait_handle >= NEURON_DMA_H2T_CTX_HANDLE_CNT)
		return -EINVAL;
	ret = ndl_memory_copy(src_mem_handle, dst_mem_handle, src_offset, dst_offset, size);
	if (!ret)
		*wait_handle = *wait_handle == NEURON_DMA_H2T_CTX_HANDLE_ASYNC1
				       ? NEURON_DMA_H2T_CTX_HANDLE_ASYNC2
				       : NEURON_DMA_H2T_CTX_HANDLE_ASYNC1;
	return ret;
}

int ndl_memory_copy_as_wait(uint64_t mem_handle, int wait_handle)
{
	struct entry entry;

	if (wait_handle != NEURON_DMA_H2T_CTX_HANDLE_ASYNC1 &&
	    wait_handle != NEURON_DMA_H2T_CTX_HANDLE_ASYNC2)
		return -EINVAL;
	return get(mem_handle, &entry);
}

int ndl_memset(const uint64_t addr, uint64_t offset, const int value, const size_t size)
{
	struct entry entry;

	return get(addr, &entry)
		       ?: ndlx_memset(entry.dev, entry.chunk, offset, (uint32_t)value & 0xff, size);
}

int ndl_program_engine(ndl_device_t *device, uint32_t nc_id, uint64_t dst, void *buffer,
		       uint64_t offset, size_t size)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	if (!dev || !buffer)
		return -EINVAL;
	if (__builtin_add_overflow(dst, offset, &dst))
		return -ENOMEM;
	return ndlx_core_write(dev, nc_id, dst, (char *)buffer + offset, size);
}

/* Mappings */

int ndl_get_hbm_va(ndl_device_t *device, int hbm_idx, void **va, size_t *size)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	if (!dev || hbm_idx < 0 || !va || !size || !dev->hbm_va_cnt)
		return -EINVAL;
	if ((uint32_t)hbm_idx >= dev->hbm_va_cnt)
		return -ENOENT;
	*va = dev->hbm_va[hbm_idx];
	*size = dev->hbm_size;
	return 0;
}

static bool inside(const void *va, const void *start, uint64_t size)
{
	return start && (uintptr_t)va >= (uintptr_t)start &&
	       (uintptr_t)va - (uintptr_t)start < size;
}

/* The memory of the device that the address is mapped from; -ENOENT: none */
static int memory_of(ndlx_device_t *dev, const void *va)
{
	int found = -ENOENT;

	for (uint32_t i = 0; i < dev->hbm_va_cnt; i++)
		if (inside(va, dev->hbm_va[i], dev->hbm_size))
			return (int)i;
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < entries && found < 0; i++) {
		uint64_t size, pa;

		if (table[i].dev != dev || !table[i].va ||
		    ndlx_memory_get_size(dev, table[i].chunk, &size) ||
		    !inside(va, table[i].va, size))
			continue;
		if (!ndlx_memory_get_pa(dev, table[i].chunk, &pa))
			found = ndlx_memory_channel(dev, pa);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

int ndl_get_va_placement(const void *va, int *device_index, int *hbm_index)
{
	if (!va || !device_index || !hbm_index)
		return -EINVAL;
	for (int i = 0; i < NDLX_MAX_DEVICES; i++) {
		ndlx_device_t *dev = rt_ndl_indexed(i);
		int memory = dev ? memory_of(dev, va) : -ENOENT;

		if (memory < 0 && !rt_tensor_placement(va, i, &memory))
			continue;
		*device_index = i;
		*hbm_index = memory;
		return 0;
	}
	return -ENOENT;
}

int ndl_get_dmabuf_fd(uint64_t addr, uint64_t size, int *fd)
{
	int ret = -EINVAL;

	if (!fd)
		return ret;
	for (int i = 0; i < NDLX_MAX_DEVICES && ret; i++) {
		ndlx_device_t *dev = rt_ndl_indexed(i);

		if (dev)
			ret = ndlx_get_dmabuf_fd(dev, addr, size, fd);
	}
	return ret;
}

/* The public handle of a device's chunk; 0: it was not allocated here */
static uint64_t public_handle(const ndlx_device_t *dev, uint64_t pa, uint64_t *start,
			      uint64_t *size)
{
	uint64_t handle = 0;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < entries && !handle; i++)
		if (table[i].dev == dev &&
		    !ndlx_memory_get_pa(table[i].dev, table[i].chunk, start) &&
		    !ndlx_memory_get_size(table[i].dev, table[i].chunk, size) && pa >= *start &&
		    pa - *start < *size)
			handle = handle_of(i);
	pthread_mutex_unlock(&lock);
	return handle;
}

int ndl_mem_get_mc_mmap_info(ndl_device_t *device, uint64_t pa, uint64_t *mmap_offset,
			     uint64_t *size, uint64_t *mem_handle)
{
	struct neuron_ioctl_mem_get_mc_mmap_info_v2 arg = { .pa = pa };
	ndlx_device_t *dev = rt_ndl_device(device);
	uint64_t start;
	int ret;

	if (!dev || !mmap_offset || !size || !mem_handle)
		return -EINVAL;
	*mem_handle = public_handle(dev, pa, &start, size);
	ret = ndlx_ioctl(dev, NEURON_IOCTL_MEM_MC_GET_INFO_V2, &arg);
	if (!ret) {
		*mmap_offset = arg.mmap_offset;
		*size = arg.size;
		return 0;
	}
	if (ret != -ENOTSUP)
		return ret;
	/* in process there is nothing to map; the address stands for itself */
	*mmap_offset = start;
	return *mem_handle ? 0 : -ENOMEM;
}

int ndl_mmap_bar_region(ndl_device_t *device, enum neuron_dm_block_type block, uint32_t block_id,
			enum neuron_dm_resource_type resource, void **va, uint64_t *size)
{
	ndlx_device_t *dev = rt_ndl_device(device);
	int ret;

	if (!dev || !va || !size)
		return -EINVAL;
	if (block < NEURON_DM_BLOCK_TPB || block > NEURON_DM_BLOCK_HBM ||
	    resource > NEURON_DM_RESOURCE_DMEM)
		return -EINVAL;
	ret = ndlx_block_map(dev, (enum neuron_mmap_block)block, block_id,
			     (enum neuron_mmap_resource)resource, va, size);
	return ret == -ENOTSUP ? rt_ndl_absent("there is no such view of these chips") : ret;
}

/* A buffer of the host for copies, which its core's users share by its lock */
int ndl_get_copy_buf(ndl_device_t *device, uint32_t nc_id, ndl_copy_buf_t **cpy_buf)
{
	ndlx_device_t *dev = rt_ndl_device(device);
	ndl_copy_buf_t *buf;
	int ret = 0;

	if (!cpy_buf || !rt_ndl_core_ok(dev, nc_id))
		return -EINVAL;
	buf = &device->cpy_bufs[nc_id];
	pthread_mutex_lock(&buf->lock);
	if (!buf->mem_handle)
		ret = ndl_memory_alloc(device, NDL_COPY_BUF_SIZE, 0, 1, 0, 0, nc_id,
				       NEURON_MEMALLOC_TYPE_MISC_HOST, &buf->mem_handle);
	if (!ret && !buf->mmap_va)
		ret = ndl_memory_map(buf->mem_handle, &buf->mmap_va);
	pthread_mutex_unlock(&buf->lock);
	if (!ret)
		*cpy_buf = buf;
	return ret;
}

int ndl_dump_device_allocation_info(ndl_device_t *device, uint32_t hbm_index,
				    struct neuron_ioctl_mem_chunk_info *data, uint32_t *num_entries)
{
	ndlx_device_t *dev = rt_ndl_device(device);

	if (!dev || !num_entries || (*num_entries && !data))
		return -EINVAL;
	return ndlx_dram_chunks(dev, hbm_index, data, num_entries);
}

int ndl_alloc_contiguous_scratchpad(ndl_device_t *device, uint64_t size, uint32_t hbm_index,
				    uint32_t nc_id, uint64_t *mem_handle)
{
	int ret = -EINVAL;

	for (uint32_t region = 0; region < NDLX_REGIONS; region++) {
		ret = ndl_memory_alloc(device, size, 0, 0, hbm_index, region, nc_id,
				       NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE,
				       mem_handle);
		if (ret != -ENOMEM)
			break;
	}
	return ret;
}

int ndl_memory_map_contiguous_scratchpad(uint64_t mem_handle, void **va, uint64_t size)
{
	struct entry entry;
	uint64_t real;
	int ret = get(mem_handle, &entry) ?: ndlx_memory_get_size(entry.dev, entry.chunk, &real);

	if (ret || size > real)
		return ret ? ret : -EINVAL;
	return ndl_memory_map(mem_handle, va);
}

int ndl_hbm_scrub_start(ndl_device_t *device, uint32_t nc_id, uint32_t hbm_index, uint32_t axi_port,
			uint32_t init_val)
{
	struct neuron_ioctl_hbm_scrub_start arg = { nc_id, hbm_index, axi_port, init_val };
	ndlx_device_t *dev = rt_ndl_device(device);
	int ret;

	if (!dev)
		return -EINVAL;
	ret = ndlx_ioctl(dev, NEURON_IOCTL_HBM_SCRUB_START, &arg);
	return ret == -ENOTSUP ? rt_ndl_absent("memories of chips in this process are zeros") : ret;
}

int ndl_hbm_scrub_wait(ndl_device_t *device, uint32_t nc_id, uint32_t hbm_index)
{
	struct neuron_ioctl_hbm_scrub_wait arg = { nc_id, hbm_index };
	ndlx_device_t *dev = rt_ndl_device(device);
	int ret;

	if (!dev)
		return -EINVAL;
	ret = ndlx_ioctl(dev, NEURON_IOCTL_HBM_SCRUB_WAIT, &arg);
	return ret == -ENOTSUP ? rt_ndl_absent("memories of chips in this process are zeros") : ret;
}
