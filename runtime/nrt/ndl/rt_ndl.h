/* SPDX-License-Identifier: MIT */
/*
 * Both driver libraries: the public one, whose names begin with ndl, which the ndl_*.c implement by
 * the project's own, whose names begin with ndlx. A public device is one of the own library's,
 * which begins with the public layout.
 */
#ifndef RT_NDL_H
#define RT_NDL_H

#include "rt_context.h"
#include "rt_log.h"

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
