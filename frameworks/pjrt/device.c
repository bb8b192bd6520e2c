// SPDX-License-Identifier: MIT
/* Devices, which are the cores that this process has, and their descriptions */
#include <stdlib.h>
#include <string.h>

#include "pjrt.h"

PJRT_Error *npj_DeviceDescription_Id(PJRT_DeviceDescription_Id_Args *a)
{
	NPJ_NEED(a->device_description, "device_description");
	a->id = a->device_description->id;
	return NULL;
}

PJRT_Error *npj_DeviceDescription_ProcessIndex(PJRT_DeviceDescription_ProcessIndex_Args *a)
{
	NPJ_NEED(a->device_description, "device_description");
	a->process_index = a->device_description->process;
	return NULL;
}

PJRT_Error *npj_DeviceDescription_Attributes(PJRT_DeviceDescription_Attributes_Args *a)
{
	NPJ_NEED(a->device_description, "device_description");
	a->attributes = a->device_description->attribute;
	a->num_attributes = NPJ_DEVICE_ATTRIBUTES;
	return NULL;
}

PJRT_Error *npj_DeviceDescription_Kind(PJRT_DeviceDescription_Kind_Args *a)
{
	NPJ_NEED(a->device_description, "device_description");
	NPJ_TEXT(a->device_kind, a->device_kind_size, a->device_description->kind);
	return NULL;
}

PJRT_Error *npj_DeviceDescription_DebugString(PJRT_DeviceDescription_DebugString_Args *a)
{
	NPJ_NEED(a->device_description, "device_description");
	NPJ_TEXT(a->debug_string, a->debug_string_size, a->device_description->debug);
	return NULL;
}

PJRT_Error *npj_DeviceDescription_ToString(PJRT_DeviceDescription_ToString_Args *a)
{
	NPJ_NEED(a->device_description, "device_description");
	NPJ_TEXT(a->to_string, a->to_string_size, a->device_description->text);
	return NULL;
}

/* Refuses what only a device of this process has. */
static PJRT_Error *own(const PJRT_Device *d)
{
	NPJ_NEED(d, "device");
	if (npj_is_own(d))
		return NULL;
	return NPJ_INVALID("%s is a device of process %d", d->description->text,
			   d->description->process);
}

PJRT_Error *npj_Device_GetDescription(PJRT_Device_GetDescription_Args *a)
{
	NPJ_NEED(a->device, "device");
	a->device_description = a->device->description;
	return NULL;
}

PJRT_Error *npj_Device_IsAddressable(PJRT_Device_IsAddressable_Args *a)
{
	NPJ_NEED(a->device, "device");
	a->is_addressable = npj_is_own(a->device);
	return NULL;
}

PJRT_Error *npj_Device_LocalHardwareId(PJRT_Device_LocalHardwareId_Args *a)
{
	NPJ_NEED(a->device, "device");
	a->local_hardware_id = npj_is_own(a->device) ? (int)a->device->vnc : -1;
	return NULL;
}

PJRT_Error *npj_Device_AddressableMemories(PJRT_Device_AddressableMemories_Args *a)
{
	NPJ_NEED(a->device, "device");
	a->memories = a->device->memories;
	a->num_memories = npj_is_own(a->device) ? NPJ_KINDS : 0;
	return NULL;
}

PJRT_Error *npj_Device_DefaultMemory(PJRT_Device_DefaultMemory_Args *a)
{
	PJRT_Error *e = own(a->device);

	if (e)
		return e;
	a->memory = &a->device->memory[NPJ_DEVICE];
	return NULL;
}

/*
 * bytes_in_use and its peak are of this process's buffers; the limit is the memory that the device
 * has. Programs that are loaded take of it too.
 */
PJRT_Error *npj_Device_MemoryStats(PJRT_Device_MemoryStats_Args *a)
{
	nrt_vnc_memory_stats_t stats = { 0 };
	PJRT_Device *d = a->device;
	PJRT_Error *e = own(d) ?: npj_forked_error();
	size_t size;

	if (e)
		return e;
	*a = (PJRT_Device_MemoryStats_Args){
		.struct_size = a->struct_size,
		.extension_start = a->extension_start,
		.device = d,
		.bytes_in_use = atomic_load(&d->in_use),
		.peak_bytes_in_use = atomic_load(&d->peak),
		.peak_bytes_in_use_is_set = true,
		.num_allocs = atomic_load(&d->allocations),
		.num_allocs_is_set = true,
		.largest_alloc_size = atomic_load(&d->largest),
		.largest_alloc_size_is_set = true,
	};
	if (nrt_get_vnc_memory_stats(d->vnc, &stats, sizeof(stats), &size) == NRT_SUCCESS) {
		a->bytes_limit = (int64_t)stats.bytes_limit;
		a->bytes_limit_is_set = true;
	}
	return NULL;
}

PJRT_Error *npj_Device_ClearMemoryStats(PJRT_Device_ClearMemoryStats_Args *a)
{
	PJRT_Device *d = a->device;
	PJRT_Error *e = own(d);

	if (e)
		return e;
	atomic_store(&d->peak, atomic_load(&d->in_use));
	atomic_store(&d->allocations, 0);
	atomic_store(&d->largest, 0);
	return NULL;
}

static void nothing(void *p)
{
}

/* The attributes live as long as the description: there is nothing to delete. */
PJRT_Error *npj_Device_GetAttributes(PJRT_Device_GetAttributes_Args *a)
{
	NPJ_NEED(a->device, "device");
	a->attributes = a->device->description->attribute;
	a->num_attributes = NPJ_DEVICE_ATTRIBUTES;
	a->device_attributes = a->device->description;
	a->attributes_deleter = nothing;
	return NULL;
}
