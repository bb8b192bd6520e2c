/* SPDX-License-Identifier: MIT */
/*
 * Tensors: a window on reference-counted storage in device memory, in host memory that libnrt
 * allocates, or in a buffer of the caller's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt_log.h"
#include "rt_tensor.h"
#include "rt_trace.h"

#define HOST_ALIGN 4096 /* a page, so that large copies pin whole pages */

static struct rt_storage *storage_new(nrt_tensor_placement_t placement, size_t size)
{
	struct rt_storage *storage = calloc(1, sizeof(*storage));

	if (!storage)
		return NULL;
	storage->refs = 1;
	storage->placement = placement;
	storage->size = size;
	pthread_mutex_init(&storage->lock, NULL);
	return storage;
}

static void storage_put(struct rt_storage *storage)
{
	if (!storage || __atomic_sub_fetch(&storage->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (storage->placement == NRT_TENSOR_PLACEMENT_DEVICE) {
		if (storage->va)
			rt_mapped_remove(storage);
		if (storage->va && rt_chunk_alive(&storage->chunk))
			ndlx_memory_unmap(storage->chunk.dev, storage->chunk.handle, storage->va);
		rt_chunk_free(&storage->chunk);
	} else if (storage->owned) {
		free(storage->va);
	}
	pthread_mutex_destroy(&storage->lock);
	free(storage);
}

static nrt_tensor_t *tensor_new(const char *name)
{
	nrt_tensor_t *tensor = calloc(1, sizeof(*tensor));

	if (!tensor)
		return NULL;
	tensor->name = strdup(name ? name : "");
	if (!tensor->name) {
		free(tensor);
		return NULL;
	}
	return tensor;
}

/* Events of a tensor: the core is that of a device tensor */
static int64_t core_of(const nrt_tensor_t *tensor)
{
	const struct rt_storage *s = tensor->storage;

	return s && s->core && rt_chunk_alive(&s->chunk) ? (int64_t)s->core->vnc : -1;
}

static uint64_t event_begin(enum rt_event type, const nrt_tensor_t *tensor, size_t size)
{
	const struct rt_event_data data = { .name = tensor->name, .size = size };

	return atomic_load_explicit(&rt_tracing, memory_order_relaxed)
		       ? rt_trace_begin(type, core_of(tensor), &data)
		       : 0;
}

static void event_end(enum rt_event type, const nrt_tensor_t *tensor, size_t size, uint64_t id)
{
	const struct rt_event_data data = { .name = tensor->name, .size = size };

	if (id)
		rt_trace_end(type, core_of(tensor), id, &data);
}

static NRT_STATUS allocate_host(struct rt_storage *storage)
{
	size_t rounded;

	if (__builtin_add_overflow(storage->size, (size_t)HOST_ALIGN - 1, &rounded))
		return rt_fail(NRT_INVALID, "NRT", "size %zu", storage->size);
	storage->va = aligned_alloc(HOST_ALIGN, rounded & ~((size_t)HOST_ALIGN - 1));
	if (!storage->va)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory: %zu bytes", storage->size);
	memset(storage->va, 0, storage->size);
	storage->owned = true;
	return NRT_SUCCESS;
}

static NRT_STATUS allocate_device(struct rt_storage *storage, int vnc)
{
	storage->core = vnc < 0 ? NULL : rt_core((uint32_t)vnc);
	if (!storage->core)
		return rt_fail(NRT_INVALID, "NRT", "core %d of %u", vnc, rt.ncores);
	return rt_chunk_alloc(storage->core, storage->size, rt_large_align(storage->size),
			      NEURON_MEMALLOC_TYPE_TENSORS_DEVICE, &storage->chunk);
}

EXPORT NRT_STATUS nrt_tensor_allocate(nrt_tensor_placement_t placement, int vnc, size_t size,
				      const char *name, nrt_tensor_t **result)
{
	RT_ENTER(status);
	nrt_tensor_t *tensor;
	uint64_t event;

	if (status)
		return status;
	if (!result || !size || placement > NRT_TENSOR_PLACEMENT_VIRTUAL)
		return rt_fail(NRT_INVALID, "NRT", "placement %d, size %zu", (int)placement, size);

	tensor = tensor_new(name);
	if (tensor)
		tensor->storage = storage_new(placement, size);
	if (!tensor || !tensor->storage) {
		nrt_tensor_free(&tensor);
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	}

	tensor->size = size;
	event = rt_trace_begin(RT_EVENT_nrt_tensor_allocate, vnc,
			       &(struct rt_event_data){ .name = tensor->name, .size = size });
	if (placement == NRT_TENSOR_PLACEMENT_DEVICE)
		status = allocate_device(tensor->storage, vnc);
	else
		status = allocate_host(tensor->storage);
	rt_trace_end(RT_EVENT_nrt_tensor_allocate, vnc, event,
		     &(struct rt_event_data){ .name = tensor->name, .size = size });
	if (status)
		nrt_tensor_free(&tensor);

	*result = tensor;
	return status;
}

EXPORT NRT_STATUS nrt_tensor_allocate_empty(const char *name, nrt_tensor_t **tensor)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!tensor)
		return rt_fail(NRT_INVALID, "NRT", "no place for the tensor");
	*tensor = tensor_new(name);
	return *tensor ? NRT_SUCCESS : rt_fail(NRT_RESOURCE, "NRT", "out of memory");
}

/*
 * Checks that [offset, offset + size) lies in the tensor; every access is refused here if a tensor
 * is missing or empty.
 */
static NRT_STATUS check_range(const nrt_tensor_t *tensor, size_t offset, size_t size)
{
	if (!tensor || !tensor->storage)
		return rt_fail(NRT_INVALID, "NRT", "the tensor has no storage");
	if (tensor->storage->placement == NRT_TENSOR_PLACEMENT_DEVICE &&
	    !rt_chunk_alive(&tensor->storage->chunk))
		return rt_fail(NRT_INVALID_HANDLE, "NRT",
			       "tensor '%s' is of an earlier initialization", tensor->name);
	if (offset > tensor->size || size > tensor->size - offset)
		return rt_fail(NRT_INVALID, "NRT", "tensor '%s': %zu bytes at %zu of %zu",
			       tensor->name, size, offset, tensor->size);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_tensor_allocate_slice(const nrt_tensor_t *source, size_t offset, size_t size,
					    const char *name, nrt_tensor_t **slice)
{
	RT_ENTER(status);
	nrt_tensor_t *tensor;

	if (!status)
		status = check_range(source, offset, size);
	if (status)
		return status;
	if (!slice || !size)
		return rt_fail(NRT_INVALID, "NRT", "an empty slice");
	tensor = tensor_new(name);
	if (!tensor)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	__atomic_add_fetch(&source->storage->refs, 1, __ATOMIC_RELAXED);
	tensor->storage = source->storage;
	tensor->offset = source->offset + offset;
	tensor->size = size;
	*slice = tensor;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_tensor_attach_buffer(nrt_tensor_t *tensor, void *buffer, size_t size)
{
	RT_ENTER(status);
	struct rt_storage *storage;

	if (status)
		return status;
	if (!tensor || !buffer || !size)
		return rt_fail(NRT_INVALID, "NRT", "tensor, buffer or size missing");
	storage = storage_new(NRT_TENSOR_PLACEMENT_VIRTUAL, size);
	if (!storage)
		return rt_fail(NRT_RESOURCE, "NRT", "out of memory");
	storage->va = buffer;
	rt_tensor_settle(tensor);
	storage_put(tensor->storage);
	tensor->storage = storage;
	tensor->offset = 0;
	tensor->size = size;
	return NRT_SUCCESS;
}

EXPORT void nrt_tensor_free(nrt_tensor_t **result)
{
	RT_HOLD(held);
	nrt_tensor_t *tensor = result ? *result : NULL;
	uint64_t event;
	int64_t core;

	if (!tensor)
		return;
	rt_tensor_settle(tensor);
	core = core_of(tensor);
	event = event_begin(RT_EVENT_nrt_tensor_free, tensor, tensor->size);
	storage_put(tensor->storage);
	rt_trace_end(RT_EVENT_nrt_tensor_free, core, event,
		     &(struct rt_event_data){ .name = tensor->name, .size = tensor->size });
	free(tensor->name);
	free(tensor);
	*result = NULL;
}

/* Reading and writing */

static NRT_STATUS device_error(const nrt_tensor_t *tensor, int err)
{
	return err ? rt_fail(rt_status_from_errno(err), "TDRV", "tensor '%s': %s", tensor->name,
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

NRT_STATUS rt_tensor_check(const nrt_tensor_t *tensor, size_t offset, size_t size)
{
	return check_range(tensor, offset, size);
}

static NRT_STATUS read_at(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
	struct rt_storage *s = tensor->storage;

	offset += tensor->offset;
	if (s->placement == NRT_TENSOR_PLACEMENT_DEVICE)
		return device_error(tensor, ndlx_memory_buf_copyout(s->chunk.dev, s->chunk.handle,
								    buf, offset, size));
	memcpy(buf, (char *)s->va + offset, size);
	return NRT_SUCCESS;
}

static NRT_STATUS write_at(const nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
	struct rt_storage *s = tensor->storage;

	offset += tensor->offset;
	if (s->placement == NRT_TENSOR_PLACEMENT_DEVICE)
		return device_error(tensor, ndlx_memory_buf_copyin(s->chunk.dev, s->chunk.handle,
								   buf, offset, size));
	memcpy((char *)s->va + offset, buf, size);
	return NRT_SUCCESS;
}

NRT_STATUS rt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
	NRT_STATUS status = check_range(tensor, offset, size);
	uint64_t event;

	if (!status && size && !buf)
		status = rt_fail(NRT_INVALID, "NRT", "no buffer");
	if (status)
		return status;
	event = event_begin(RT_EVENT_nrt_tensor_read, tensor, size);
	status = read_at(tensor, buf, offset, size);
	event_end(RT_EVENT_nrt_tensor_read, tensor, size, event);
	return status;
}

NRT_STATUS rt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset, size_t size)
{
	NRT_STATUS status = check_range(tensor, offset, size);
	uint64_t event;

	if (!status && size && !buf)
		status = rt_fail(NRT_INVALID, "NRT", "no buffer");
	if (status)
		return status;
	event = event_begin(RT_EVENT_nrt_tensor_write, tensor, size);
	status = write_at(tensor, buf, offset, size);
	event_end(RT_EVENT_nrt_tensor_write, tensor, size, event);
	return status;
}

EXPORT NRT_STATUS nrt_tensor_read(const nrt_tensor_t *tensor, void *buf, size_t offset, size_t size)
{
	RT_ENTER(status);

	if (status)
		return status;
	rt_tensor_settle(tensor);
	return rt_tensor_read(tensor, buf, offset, size);
}

EXPORT NRT_STATUS nrt_tensor_write(nrt_tensor_t *tensor, const void *buf, size_t offset,
				   size_t size)
{
	RT_ENTER(status);

	if (status)
		return status;
	rt_tensor_settle(tensor);
	return rt_tensor_write(tensor, buf, offset, size);
}

/* unsafe: not even executions that are under way on the tensor are waited for. */
static NRT_STATUS batch(const nrt_tensor_batch_t *batches, uint64_t n, bool unsafe, bool write)
{
	NRT_STATUS status = NRT_SUCCESS;

	if (n && !batches)
		return rt_fail(NRT_INVALID, "NRT", "no batches");
	for (uint64_t b = 0; b < n && !status; b++) {
		nrt_tensor_t *tensor = (nrt_tensor_t *)batches[b].tensor;

		if (batches[b].num_ops && !batches[b].ops)
			return rt_fail(NRT_INVALID, "NRT", "no operations");
		if (!unsafe)
			rt_tensor_settle(tensor);
		for (uint32_t i = 0; i < batches[b].num_ops && !status; i++) {
			const nrt_tensor_batch_op_t *op = &batches[b].ops[i];

			status = write ? rt_tensor_write(tensor, op->buffer, op->offset, op->size)
				       : rt_tensor_read(tensor, op->buffer, op->offset, op->size);
		}
	}
	return status;
}

EXPORT NRT_STATUS nrt_tensor_read_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
					bool unsafe)
{
	RT_ENTER(status);

	return status ? status : batch(batches, num_batches, unsafe, false);
}

EXPORT NRT_STATUS nrt_tensor_write_batch(const nrt_tensor_batch_t *batches, uint64_t num_batches,
					 bool unsafe)
{
	RT_ENTER(status);

	return status ? status : batch(batches, num_batches, unsafe, true);
}

NRT_STATUS rt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
			  size_t dst_offset, size_t size)
{
	NRT_STATUS status = check_range(src, src_offset, size);
	struct rt_storage *s, *d;
	uint64_t event;

	if (!status)
		status = check_range(dst, dst_offset, size);
	if (status)
		return status;
	s = src->storage;
	d = dst->storage;
	if (s->placement != NRT_TENSOR_PLACEMENT_DEVICE ||
	    d->placement != NRT_TENSOR_PLACEMENT_DEVICE || s->core != d->core)
		return rt_fail(NRT_INVALID, "NRT",
			       "'%s' and '%s' are not device tensors of one core", src->name,
			       dst->name);
	event = event_begin(RT_EVENT_nrt_tensor_copy, dst, size);
	status = device_error(dst, ndlx_memory_copy(s->chunk.dev, s->chunk.handle, d->chunk.handle,
						    src->offset + src_offset,
						    dst->offset + dst_offset, size));
	event_end(RT_EVENT_nrt_tensor_copy, dst, size, event);
	return status;
}

EXPORT NRT_STATUS nrt_tensor_copy(const nrt_tensor_t *src, size_t src_offset, nrt_tensor_t *dst,
				  size_t dst_offset, size_t size)
{
	RT_ENTER(status);

	if (status)
		return status;
	rt_tensor_settle(src);
	rt_tensor_settle(dst);
	return rt_tensor_copy(src, src_offset, dst, dst_offset, size);
}

EXPORT NRT_STATUS nrt_tensor_memset(nrt_tensor_t *tensor, uint64_t offset, int value, size_t size)
{
	RT_ENTER(status);
	struct rt_storage *s;

	if (!status)
		status = check_range(tensor, offset, size);
	if (status)
		return status;
	rt_tensor_settle(tensor);
	s = tensor->storage;
	offset += tensor->offset;
	if (s->placement == NRT_TENSOR_PLACEMENT_DEVICE)
		return device_error(tensor, ndlx_memset(s->chunk.dev, s->chunk.handle, offset,
							(uint32_t)value & 0xff, size));
	memset((char *)s->va + offset, value, size);
	return NRT_SUCCESS;
}

/* Queries */

EXPORT size_t nrt_tensor_get_size(const nrt_tensor_t *tensor)
{
	return tensor ? tensor->size : 0;
}

EXPORT NRT_STATUS nrt_tensor_get_lnc_index(const nrt_tensor_t *tensor, int *lnc_idx)
{
	RT_ENTER(status);

	if (!status)
		status = check_range(tensor, 0, 0);
	if (!status && !lnc_idx)
		status = rt_fail(NRT_INVALID, "NRT", "no place for the core");
	if (!status)
		*lnc_idx = tensor->storage->core ? (int)tensor->storage->core->vnc : -1;
	return status;
}

EXPORT void *nrt_tensor_get_va(const nrt_tensor_t *tensor)
{
	RT_HOLD(held);
	struct rt_storage *s = tensor ? tensor->storage : NULL;
	void *va;

	if (!s || (s->placement == NRT_TENSOR_PLACEMENT_DEVICE && !rt_chunk_alive(&s->chunk)))
		return NULL;
	pthread_mutex_lock(&s->lock);
	if (!s->va) {
		if (ndlx_memory_map(s->chunk.dev, s->chunk.handle, &s->va))
			s->va = NULL;
		else
			rt_mapped_add(s);
	}
	va = s->va;
	pthread_mutex_unlock(&s->lock);
	return va ? (char *)va + tensor->offset : NULL;
}

EXPORT NRT_STATUS nrt_tensor_get_device_allocation_info(const nrt_tensor_t *tensor,
							nrt_tensor_device_allocation_info_t *info)
{
	RT_ENTER(status);

	if (!status)
		status = check_range(tensor, 0, 0);
	if (status)
		return status;
	if (!info || tensor->storage->placement != NRT_TENSOR_PLACEMENT_DEVICE)
		return rt_fail(NRT_INVALID, "NRT", "'%s' is not a device tensor", tensor->name);
	info->physical_address = tensor->storage->chunk.pa + tensor->offset;
	info->size = tensor->storage->chunk.size;
	info->hbm_index =
		ndlx_memory_channel(tensor->storage->chunk.dev, tensor->storage->chunk.pa);
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_tensor_check_output_completion(const nrt_tensor_t *tensor, int64_t timeout_us,
						     uint64_t expected_count)
{
	const struct timespec pause = { .tv_nsec = 20000 };
	struct timespec start, now;

	rt_details_clear();
	if (!tensor)
		return rt_fail(NRT_INVALID, "NRT", "no tensor");
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (__atomic_load_n(&tensor->completions, __ATOMIC_ACQUIRE) < expected_count) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (timeout_us >= 0 &&
		    (now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 >=
			    timeout_us)
			return rt_fail(NRT_TIMEOUT, "NRT", "'%s' was written %llu times, not %llu",
				       tensor->name, (unsigned long long)tensor->completions,
				       (unsigned long long)expected_count);
		nanosleep(&pause, NULL);
	}
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_tensor_reset_output_completion(nrt_tensor_t *tensor)
{
	rt_details_clear();
	if (!tensor)
		return rt_fail(NRT_INVALID, "NRT", "no tensor");
	__atomic_store_n(&tensor->completions, 0, __ATOMIC_RELEASE);
	return NRT_SUCCESS;
}

/* Memory */

EXPORT NRT_STATUS nrt_memcpy_to_device(void *dest, const void *src, size_t n)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!dest || !src)
		return rt_fail(NRT_INVALID, "NRT", "no address");
	memcpy(dest, src, n); /* device memory is mapped as memory */
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_dmabuf_fd(uint64_t va, uint64_t size, int *fd)
{
	RT_ENTER(status);
	int err = -EINVAL;

	if (status)
		return status;
	if (!fd)
		return rt_fail(NRT_INVALID, "NRT", "no place for the descriptor");
	for (unsigned int i = 0; i < NDLX_MAX_DEVICES && err; i++)
		if (rt.devices[i].dev)
			err = ndlx_get_dmabuf_fd(rt.devices[i].dev, va, size, fd);
	return err ? rt_fail(NRT_INVALID, "TDRV", "dma-buf of %#llx: %s", (unsigned long long)va,
			     rt_errno_text(err))
		   : NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_hbm_mmap_va(int device_id, int hbm_index, void **addr, size_t *size)
{
	RT_ENTER(status);
	struct rt_device *device;
	uint64_t bytes;
	int err = 0;

	if (status)
		return status;
	if (!addr || !size || hbm_index < 0 || device_id < 0 || device_id >= NDLX_MAX_DEVICES ||
	    !rt.devices[device_id].dev)
		return rt_fail(NRT_INVALID, "NRT", "device %d, memory %d", device_id, hbm_index);
	if (hbm_index >= rt.gen->memories)
		return rt_fail(NRT_INVALID_HANDLE, "NRT", "memory %d of %u", hbm_index,
			       rt.gen->memories);
	device = &rt.devices[device_id];
	pthread_mutex_lock(&rt.lock);
	if (!device->hbm[hbm_index])
		err = ndlx_dram_map(device->dev, (uint32_t)hbm_index, &device->hbm[hbm_index],
				    &bytes);
	pthread_mutex_unlock(&rt.lock);
	if (err == -ENOTSUP)
		return rt_absent(NRT_INVALID, "chips of this generation map no whole memory");
	if (err)
		return rt_fail(NRT_FAILURE, "TDRV", "nd%d: %s", device_id, rt_errno_text(err));
	*addr = device->hbm[hbm_index];
	*size = rt.gen->memory[hbm_index].size;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_host_device_id_get(int device_id, uint32_t *host_device_id)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!host_device_id || device_id < 0 || device_id >= NDLX_MAX_DEVICES ||
	    !rt.devices[device_id].dev)
		return rt_fail(NRT_INVALID, "NRT", "device %d", device_id);
	*host_device_id = (uint32_t)device_id;
	return NRT_SUCCESS;
}

EXPORT NRT_STATUS nrt_get_attached_efa_bdf(const void *va, char *efa_bdf, size_t *len)
{
	RT_ENTER(status);

	if (status)
		return status;
	if (!va || !efa_bdf || !len)
		return rt_fail(NRT_INVALID, "NRT", "address, buffer or length missing");
	return rt_absent(NRT_FAILURE, "no network adapter is attached to a device");
}
