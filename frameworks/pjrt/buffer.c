// SPDX-License-Identifier: MIT
/*
 * Buffers: a shape, a memory and a reference to a value, until it is deleted or donated. What a
 * framework asks of one is answered from the handle; bytes come and go in host.c and copy.c.
 */
#include <stdlib.h>
#include <string.h>

#include "pjrt.h"

PJRT_Buffer *npj_buffer_new(PJRT_Client *c, const struct npj_shape *s, struct npj_value *v)
{
	PJRT_Buffer *b = v ? calloc(1, sizeof(*b)) : NULL;

	if (!b) {
		npj_value_unref(v);
		return NULL;
	}
	b->client = npj_client_ref(c);
	b->shape = *s;
	b->memory = v->memory;
	b->value = v;
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

PJRT_Error *npj_buffer_value(PJRT_Buffer *b, struct npj_value **v)
{
	*v = NULL;
	NPJ_NEED(b, "buffer");
	pthread_mutex_lock(&b->lock);
	if (b->value)
		*v = npj_value_ref(b->value);
	pthread_mutex_unlock(&b->lock);
	if (*v)
		return NULL;
	return NPJ_INVALID("the buffer has been deleted or donated");
}

static void forget(PJRT_Buffer *b)
{
	struct npj_value *v;

	pthread_mutex_lock(&b->lock);
	v = b->value;
	b->value = NULL;
	pthread_mutex_unlock(&b->lock);
	npj_value_unref(v);
}

PJRT_Error *npj_Buffer_Destroy(PJRT_Buffer_Destroy_Args *a)
{
	PJRT_Buffer *b = a->buffer;

	if (!b)
		return NULL;
	npj_value_unref(b->value);
	npj_value_unref(b->pinned);
	pthread_mutex_destroy(&b->lock);
	npj_client_unref(b->client);
	free(b);
	return NULL;
}

PJRT_Error *npj_Buffer_Delete(PJRT_Buffer_Delete_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	forget(a->buffer);
	return NULL;
}

PJRT_Error *npj_Buffer_IsDeleted(PJRT_Buffer_IsDeleted_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	pthread_mutex_lock(&a->buffer->lock);
	a->is_deleted = !a->buffer->value;
	pthread_mutex_unlock(&a->buffer->lock);
	return NULL;
}

PJRT_Error *npj_Buffer_ElementType(PJRT_Buffer_ElementType_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	a->type = a->buffer->shape.type->type;
	return NULL;
}

PJRT_Error *npj_Buffer_Dimensions(PJRT_Buffer_Dimensions_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	a->dims = a->buffer->shape.dim;
	a->num_dims = a->buffer->shape.ndim;
	return NULL;
}

PJRT_Error *npj_Buffer_UnpaddedDimensions(PJRT_Buffer_UnpaddedDimensions_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	a->unpadded_dims = a->buffer->shape.dim;
	a->num_dims = a->buffer->shape.ndim;
	return NULL;
}

/* No buffer has a dimension that is known only later. */
PJRT_Error *npj_Buffer_DynamicDimensionIndices(PJRT_Buffer_DynamicDimensionIndices_Args *a)
{
	static const size_t none;

	NPJ_NEED(a->buffer, "buffer");
	a->dynamic_dim_indices = &none;
	a->num_dynamic_dims = 0;
	return NULL;
}

/* Row-major for every buffer: one order of dimensions serves all, from its right place on. */
PJRT_Error *npj_Buffer_GetMemoryLayout(PJRT_Buffer_GetMemoryLayout_Args *a)
{
	static int64_t order[NPJ_MAX_DIMS];
	unsigned int n;

	NPJ_NEED(a->buffer, "buffer");
	for (unsigned int i = 0; i < NPJ_MAX_DIMS; i++)
		order[i] = NPJ_MAX_DIMS - 1 - i;
	n = a->buffer->shape.ndim;
	a->layout = (PJRT_Buffer_MemoryLayout){
		.struct_size = PJRT_Buffer_MemoryLayout_SIZE,
		.tiled = { .struct_size = PJRT_Buffer_MemoryLayout_Tiled_SIZE,
			   .minor_to_major = &order[NPJ_MAX_DIMS - n],
			   .minor_to_major_size = n },
		.type = PJRT_Buffer_MemoryLayout_Type_Tiled,
	};
	return NULL;
}

PJRT_Error *npj_Buffer_OnDeviceSizeInBytes(PJRT_Buffer_OnDeviceSizeInBytes_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	a->on_device_size_in_bytes = npj_device_bytes(&a->buffer->shape);
	return NULL;
}

PJRT_Error *npj_Buffer_Device(PJRT_Buffer_Device_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	a->device = a->buffer->memory->device;
	return NULL;
}

PJRT_Error *npj_Buffer_Memory(PJRT_Buffer_Memory_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	a->memory = a->buffer->memory;
	return NULL;
}

/* A buffer is on the CPU if it may be read in place: host memory, laid out as the framework has it.
 */
PJRT_Error *npj_Buffer_IsOnCpu(PJRT_Buffer_IsOnCpu_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	a->is_on_cpu =
		a->buffer->memory->kind != NPJ_DEVICE && !npj_type_wide(a->buffer->shape.type);
	return NULL;
}

PJRT_Error *npj_Buffer_ReadyEvent(PJRT_Buffer_ReadyEvent_Args *a)
{
	struct npj_value *v;
	PJRT_Error *e = npj_buffer_value(a->buffer, &v);

	if (e)
		return e;
	a->event = npj_event_ref(v->ready);
	npj_value_unref(v);
	return NULL;
}

/*
 * Where the bytes are for whoever reads them without the interface: host memory, or device memory
 * in this process's address space. The value stays until the handle goes, deleted or not.
 */
static PJRT_Error *address(PJRT_Buffer *b, void **result)
{
	struct npj_value *v, *before = NULL;
	PJRT_Error *e = npj_buffer_value(b, &v);

	if (e)
		return e;
	e = npj_error_copy(npj_event_wait(v->ready));
	*result = NULL;
	if (!e && v->bytes) {
		*result = v->host;
		if (!v->host && !npj_forked())
			*result = nrt_tensor_get_va(v->tensor);
		if (!*result)
			e = npj_error(PJRT_Error_Code_UNIMPLEMENTED, "the buffer's memory has no "
								     "address in this process");
	}
	if (e) {
		npj_value_unref(v);
		return e;
	}
	pthread_mutex_lock(&b->lock);
	before = b->pinned;
	b->pinned = v;
	pthread_mutex_unlock(&b->lock);
	npj_value_unref(before);
	return NULL;
}

PJRT_Error *npj_Buffer_UnsafePointer(PJRT_Buffer_UnsafePointer_Args *a)
{
	void *p = NULL;
	PJRT_Error *e = address(a->buffer, &p);

	a->buffer_pointer = (uintptr_t)p;
	return e;
}

PJRT_Error *
npj_Buffer_OpaqueDeviceMemoryDataPointer(PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args *a)
{
	return address(a->buffer, &a->device_memory_ptr);
}

PJRT_Error *
npj_Buffer_IncreaseExternalReferenceCount(PJRT_Buffer_IncreaseExternalReferenceCount_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	atomic_fetch_add(&a->buffer->external, 1);
	return NULL;
}

PJRT_Error *
npj_Buffer_DecreaseExternalReferenceCount(PJRT_Buffer_DecreaseExternalReferenceCount_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	if (atomic_fetch_sub(&a->buffer->external, 1) > 0)
		return NULL;
	atomic_fetch_add(&a->buffer->external, 1);
	return npj_error(PJRT_Error_Code_FAILED_PRECONDITION, "the buffer has no "
							      "external reference");
}

/* A buffer of another type over the same bytes: one more handle to the same value */
PJRT_Error *npj_Buffer_Bitcast(PJRT_Buffer_Bitcast_Args *a)
{
	struct npj_shape s;
	struct npj_value *v;
	PJRT_Error *e = npj_buffer_value(a->buffer, &v);

	if (e)
		return e;
	e = npj_shape_set(&s, a->element_type, a->dims, a->num_dims);
	if (!e)
		e = npj_type_allowed(a->buffer->client, s.type);
	if (!e && npj_device_bytes(&s) != v->bytes)
		e = NPJ_INVALID("a bitcast from %zu bytes to %zu", v->bytes, npj_device_bytes(&s));
	if (e) {
		npj_value_unref(v);
		return e;
	}
	a->out_buffer = npj_buffer_new(a->buffer->client, &s, v);
	return a->out_buffer ? NULL : npj_no_memory();
}
