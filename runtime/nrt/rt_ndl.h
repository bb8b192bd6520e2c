/* SPDX-License-Identifier: MIT */
/*
 * Both driver libraries in one file: the project's own, whose names here begin with ndlx, and the
 * public one, which the ndl_*.c implement by it. A public device is one of the own library's, which
 * begins with the public layout.
 */
#ifndef RT_NDL_H
#define RT_NDL_H

#define ndl_device ndlx_device
#define ndl_device_t ndlx_device_t
#define ndl_device_init_param ndlx_device_init_param
#define ndl_device_init_param_t ndlx_device_init_param_t
#define ndl_copy_buf ndlx_copy_buf
#include "rt_context.h"
#include "rt_log.h"
#undef ndl_device
#undef ndl_device_t
#undef ndl_device_init_param
#undef ndl_device_init_param_t
#undef ndl_copy_buf
#undef ndl_available_devices
#undef ndl_bar_read
#undef ndl_bar_write
#undef ndl_close_device
#undef ndl_crwl_nc_range_mark
#undef ndl_crwl_nc_range_unmark
#undef ndl_crwl_reader_enter
#undef ndl_crwl_reader_exit
#undef ndl_crwl_writer_downgrade
#undef ndl_crwl_writer_enter
#undef ndl_dma_copy_descriptors
#undef ndl_dma_descriptor_copyout
#undef ndl_dma_eng_get_state
#undef ndl_dma_eng_set_state
#undef ndl_dma_queue_copy_start
#undef ndl_dma_queue_get_state
#undef ndl_dma_queue_init
#undef ndl_dma_queue_init_batch
#undef ndl_dma_queue_release
#undef ndl_feature_supported
#undef ndl_get_all_apps_info
#undef ndl_get_compatible_version
#undef ndl_get_device_bdf
#undef ndl_get_dmabuf_fd
#undef ndl_get_version
#undef ndl_memory_alloc
#undef ndl_memory_buf_copyin
#undef ndl_memory_buf_copyout
#undef ndl_memory_copy
#undef ndl_memory_free
#undef ndl_memory_get_pa
#undef ndl_memory_map
#undef ndl_memory_unmap
#undef ndl_memset
#undef ndl_nc_event_get
#undef ndl_nc_event_set
#undef ndl_nc_init_set_state
#undef ndl_nc_model_started_count
#undef ndl_nc_semaphore_decrement
#undef ndl_nc_semaphore_increment
#undef ndl_nc_semaphore_read
#undef ndl_nc_semaphore_write
#undef ndl_nds_close
#undef ndl_nds_open
#undef ndl_notification_destroy
#undef ndl_notification_init
#undef ndl_open_device
#undef ndl_printk
#undef ndl_read_hw_counters
#undef ndl_ready_ncs
#undef ndl_reset_ncs

/* The functions of the public driver library are exported, and so is what implements them. */
#pragma GCC visibility push(default)
#include "ndl/ndl.h"
#include "nrt/nds/neuron_ds.h"
#include "nrt/nec.h"
#pragma GCC visibility pop

/* In ndl_list.c: devices that public functions opened. NULL: it is none, or closed */
bool rt_ndl_device_add(ndlx_device_t *device); /* false: out of memory */
ndlx_device_t *rt_ndl_device_take(const ndl_device_t *device); /* out of the list */
ndlx_device_t *rt_ndl_device(const ndl_device_t *device);
ndlx_device_t *rt_ndl_indexed(int index);
/* In ndl_device.c: any device, for questions to the driver that are about none; closed with
 * rt_ndl_any_close */
int rt_ndl_any(ndlx_device_t **device);

/* In ndl_memory.c: drops the handles of a device that is being closed. */
void rt_ndl_memory_drop(const ndlx_device_t *device);
/* The chunk behind a public handle; -EINVAL: none */
int rt_ndl_chunk(uint64_t mem_handle, ndlx_device_t **device, uint64_t *chunk);
int rt_ndl_memory_add(ndlx_device_t *device, uint64_t chunk, uint32_t nc, uint64_t *mem_handle);
/* In ndl_core.c: the same for its notification queues */
void rt_ndl_nq_drop(const ndlx_device_t *device);

/* A core or a device that does not take part */
static inline bool rt_ndl_core_ok(const ndlx_device_t *device, int64_t nc)
{
	return device && nc >= 0 && nc < device->gen->cores;
}

/* The result of a function that our chips or drivers have nothing for; the log has it once. */
#define rt_ndl_absent(reason) (rt_absent(NRT_INVALID, (reason)), -ENOTSUP)

#endif
