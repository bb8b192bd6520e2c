// SPDX-License-Identifier: MIT
/*
 * From buffer to buffer, raw bytes, and buffers that begin otherwise than with a host's array: of no
 * bytes yet, of an error, of a value that another buffer will have, of memory that is the caller's.
 */
#include <stdlib.h>
#include <string.h>

#include "pjrt.h"

struct copying {
	struct npj_value *from, *to;
};

static void copy_now(void *arg)
{
	struct copying *c = arg;
	PJRT_Error *e = npj_error_copy(npj_event_wait(c->from->ready));

	if (!e)
		e = npj_value_allocate(c->to);
	if (!e)
		e = npj_value_copy(c->to, c->from);
	npj_value_unref(c->from);
	npj_event_set(c->to->ready, e);
	npj_value_unref(c->to);
	free(c);
}

static PJRT_Error *copy(PJRT_Buffer *b, PJRT_Memory *memory, PJRT_Buffer **result)
{
	struct npj_value *from, *to;
	struct copying *c;
	PJRT_Error *e = npj_buffer_value(b, &from);

	if (e)
		return e;
	if (memory->device->client != b->client)
		e = NPJ_INVALID("the memory to copy to is another client's");
	to = e ? NULL : npj_value_new(memory, from->bytes, npj_event_new());
	c = to ? malloc(sizeof(*c)) : NULL;
	if (!e && c) {
		*c = (struct copying){ from, npj_value_ref(to) };
		e = npj_when_ready(from, copy_now, c);
	} else if (!e) {
		e = npj_no_memory();
	}
	if (e) {
		free(c);
		if (c)
			npj_value_unref(to);
		npj_value_unref(to);
		npj_value_unref(from);
		return e;
	}
	*result = npj_buffer_new(b->client, &b->shape, to);
	return *result ? NULL : npj_no_memory();
}

PJRT_Error *npj_Buffer_CopyToDevice(PJRT_Buffer_CopyToDevice_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	NPJ_NEED(a->dst_device, "dst_device");
	return copy(a->buffer, &a->dst_device->memory[NPJ_DEVICE], &a->dst_buffer);
}

PJRT_Error *npj_Buffer_CopyToMemory(PJRT_Buffer_CopyToMemory_Args *a)
{
	NPJ_NEED(a->buffer, "buffer");
	NPJ_NEED(a->dst_memory, "dst_memory");
	return copy(a->buffer, a->dst_memory, &a->dst_buffer);
}

/* Raw bytes, as the device has them */
struct raw {
	struct npj_value *value;
	void *dst;
	size_t offset, size;
	PJRT_Event *event;
};

static void raw_now(void *arg)
{
	struct raw *r = arg;
	PJRT_Error *e = npj_error_copy(npj_event_wait(r->value->ready));

	if (!e)
		e = npj_value_read(r->value, r->dst, r->offset, r->size);
	npj_value_unref(r->value);
	npj_event_set(r->event, e);
	npj_event_unref(r->event);
	free(r);
}

/* *event is there afterwards, and the raw transfer has a reference to it. */
static PJRT_Error *raw_new(PJRT_Buffer *b, int64_t offset, int64_t size, struct raw **result)
{
	struct npj_value *v;
	struct raw *r;
	PJRT_Error *e = npj_buffer_value(b, &v);

	if (e)
		return e;
	if (offset < 0 || size < 0 || (size_t)offset > v->bytes ||
	    (size_t)size > v->bytes - (size_t)offset)
		e = npj_error(PJRT_Error_Code_OUT_OF_RANGE,
			      "%lld bytes from byte %lld on of a buffer of %zu", (long long)size,
			      (long long)offset, v->bytes);
	r = e ? NULL : calloc(1, sizeof(*r));
	if (r)
		r->event = npj_event_new();
	if (!e && (!r || !r->event))
		e = npj_no_memory();
	if (e) {
		npj_value_unref(v);
		free(r);
		return e;
	}
	r->value = v;
	r->offset = (size_t)offset;
	r->size = (size_t)size;
	*result = r;
	return NULL;
}

static void raw_free(struct raw *r)
{
	npj_value_unref(r->value);
	npj_event_unref(r->event);
	free(r);
}

PJRT_Error *npj_Buffer_CopyRawToHost(PJRT_Buffer_CopyRawToHost_Args *a)
{
	PJRT_Event *event;
	struct raw *r;
	PJRT_Error *e;

	e = raw_new(a->buffer, a->offset, a->transfer_size, &r);
	if (e)
		return e;
	if (!a->dst && r->size) {
		raw_free(r);
		return NPJ_INVALID("dst is NULL");
	}
	r->dst = a->dst;
	event = npj_event_ref(r->event);
	e = npj_when_ready(r->value, raw_now, r);
	if (e) {
		raw_free(r);
		npj_event_unref(event);
		return e;
	}
	a->event = event;
	return NULL;
}

/* The caller says later where the bytes go, or that it will not. */
static void raw_to(PJRT_Buffer_CopyRawToHostFuture_Callback_Args *a)
{
	struct raw *r = a->callback_data;
	PJRT_Error *e;

	if (a->error_code == PJRT_Error_Code_OK) {
		r->dst = a->dst;
		e = npj_when_ready(r->value, raw_now, r);
		if (!e)
			return;
	} else {
		e = npj_error_sized(a->error_code, a->error_message, a->error_message_size);
	}
	npj_event_set(r->event, e);
	raw_free(r);
}

PJRT_Error *npj_Buffer_CopyRawToHostFuture(PJRT_Buffer_CopyRawToHostFuture_Args *a)
{
	struct raw *r;
	PJRT_Error *e = raw_new(a->buffer, a->offset, a->transfer_size, &r);

	if (e)
		return e;
	a->event = npj_event_ref(r->event);
	a->callback_data = r;
	a->future_ready_callback = raw_to;
	return NULL;
}

/* A buffer of the shape, whose value has this event and is allocated or not */
static PJRT_Error *begin(PJRT_Client *c, const struct npj_shape *s, PJRT_Memory *memory,
			 PJRT_Event *ready, PJRT_Buffer **result)
{
	struct npj_value *v = npj_value_new(memory, npj_device_bytes(s), ready);

	if (!v)
		return npj_no_memory();
	*result = npj_buffer_new(c, s, v);
	return *result ? NULL : npj_no_memory();
}

static PJRT_Error *begin_shape(PJRT_Client *c, PJRT_Memory *memory, PJRT_Device *device,
			       struct npj_shape *s, PJRT_Memory **where)
{
	PJRT_Error *e = npj_memory_of(c, memory, device, where);

	return e ? e : npj_type_allowed(c, s->type);
}

PJRT_Error *npj_Client_CreateUninitializedBuffer(PJRT_Client_CreateUninitializedBuffer_Args *a)
{
	PJRT_Memory *memory;
	struct npj_shape s;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	e = npj_shape_set(&s, a->shape_element_type, a->shape_dims, a->shape_num_dims);
	if (!e)
		e = begin_shape(a->client, a->memory, a->device, &s, &memory);
	if (!e)
		e = begin(a->client, &s, memory, npj_event_done(), &a->buffer);
	if (e)
		return e;
	e = npj_value_allocate(a->buffer->value);
	if (e)
		npj_Buffer_Destroy(&(PJRT_Buffer_Destroy_Args){ .buffer = a->buffer });
	return e;
}

PJRT_Error *npj_Client_CreateErrorBuffer(PJRT_Client_CreateErrorBuffer_Args *a)
{
	PJRT_Event *failed;
	PJRT_Memory *memory;
	struct npj_shape s;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	if (a->error_code == PJRT_Error_Code_OK)
		return NPJ_INVALID("an error buffer of the code OK");
	e = npj_shape_set(&s, a->shape_element_type, a->shape_dims, a->shape_num_dims);
	if (!e)
		e = begin_shape(a->client, a->memory, NULL, &s, &memory);
	if (e)
		return e;
	failed = npj_event_new();
	if (!failed)
		return npj_no_memory();
	npj_event_set(failed, npj_error_sized(a->error_code, a->error_message,
					      a->error_message ? a->error_message_size : 0));
	return begin(a->client, &s, memory, failed, &a->buffer);
}

/* An alias: a value that takes another's memory once that is known */
struct PJRT_FulfillAliasBufferCallback {
	struct npj_value *value;
	struct npj_shape shape;
};

PJRT_Error *npj_Client_CreateAliasBuffer(PJRT_Client_CreateAliasBuffer_Args *a)
{
	PJRT_FulfillAliasBufferCallback *cb;
	PJRT_Memory *memory;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	cb = calloc(1, sizeof(*cb));
	if (!cb)
		return npj_no_memory();
	e = npj_shape_set(&cb->shape, a->shape_element_type, a->shape_dims, a->shape_num_dims);
	if (!e)
		e = begin_shape(a->client, a->memory, NULL, &cb->shape, &memory);
	if (!e)
		e = begin(a->client, &cb->shape, memory, npj_event_new(), &a->alias_buffer);
	if (e) {
		free(cb);
		return e;
	}
	cb->value = npj_value_ref(a->alias_buffer->value);
	a->fulfill_alias_buffer_cb = cb;
	return NULL;
}

PJRT_Error *npj_Client_FulfillAliasBuffer(PJRT_Client_FulfillAliasBuffer_Args *a)
{
	PJRT_FulfillAliasBufferCallback *cb = a->fulfill_alias_buffer_cb;
	struct npj_value *from = NULL;
	struct copying *c;
	PJRT_Error *e = NULL;

	NPJ_NEED(cb, "fulfill_alias_buffer_cb");
	if (a->status_code == PJRT_Error_Code_OK) {
		e = npj_buffer_value(a->buffer, &from);
		if (e)
			return e;
		if (from->bytes != cb->value->bytes)
			e = NPJ_INVALID("an alias of %zu bytes for a buffer of %zu",
					cb->value->bytes, from->bytes);
	} else {
		e = npj_error_sized(a->status_code, a->error_message,
				    a->error_message ? a->error_message_size : 0);
	}
	c = e ? NULL : malloc(sizeof(*c));
	if (c) {
		*c = (struct copying){ from, cb->value };
		e = npj_when_ready(from, copy_now, c);
	} else if (!e) {
		e = npj_no_memory();
	}
	if (e) {
		npj_event_set(cb->value->ready, e);
		npj_value_unref(cb->value);
		npj_value_unref(from);
		free(c);
	}
	free(cb);
	return NULL;
}

/* Memory of the caller's that goes on being its own: host memory alone can be that. */
PJRT_Error *npj_Client_CreateViewOfDeviceBuffer(PJRT_Client_CreateViewOfDeviceBuffer_Args *a)
{
	PJRT_Memory *memory;
	struct npj_shape s;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	NPJ_NEED(a->device_buffer_ptr, "device_buffer_ptr");
	e = npj_shape_set(&s, a->element_type, a->dims, a->num_dims);
	if (!e)
		e = begin_shape(a->client, a->memory, a->device, &s, &memory);
	if (!e && memory->kind == NPJ_DEVICE)
		e = npj_error(PJRT_Error_Code_UNIMPLEMENTED, "a view of memory that "
							     "was not allocated here: "
							     "of device memory there is none, of "
							     "host memory name \"unpinned_host\"");
	if (!e)
		e = begin(a->client, &s, memory, npj_event_done(), &a->buffer);
	if (e)
		return e;
	a->buffer->value->host = a->device_buffer_ptr;
	a->buffer->value->on_delete = a->on_delete_callback ? a->on_delete_callback : npj_keep;
	a->buffer->value->on_delete_arg = a->on_delete_callback_arg;
	return NULL;
}

void npj_keep(void *data, void *arg)
{
}

/* A donation that waits: the new buffer has the old one's value once the caller says so. */
struct donation {
	struct npj_value *from, *to;
};

static void donate_now(void *arg)
{
	struct donation *d = arg;
	PJRT_Error *e = npj_error_copy(npj_event_wait(d->from->ready));

	if (!e && atomic_load(&d->from->refs) == 1 && d->from->tensor) {
		npj_value_move(d->to, d->from);
	} else if (!e) {
		e = npj_value_allocate(d->to);
		if (!e)
			e = npj_value_copy(d->to, d->from);
	}
	npj_event_set(d->to->ready, e);
	npj_value_unref(d->from);
	npj_value_unref(d->to);
	free(d);
}

static void depended(PJRT_Buffer_DonateWithControlDependency_Callback_Args *a)
{
	struct donation *d = a->callback_data;
	PJRT_Error *e;

	if (a->error_code == PJRT_Error_Code_OK) {
		e = npj_when_ready(d->from, donate_now, d);
		if (!e)
			return;
	} else {
		e = npj_error_sized(a->error_code, a->error_message, a->error_message_size);
	}
	npj_event_set(d->to->ready, e);
	npj_value_unref(d->from);
	npj_value_unref(d->to);
	free(d);
}

PJRT_Error *npj_Buffer_DonateWithControlDependency(PJRT_Buffer_DonateWithControlDependency_Args *a)
{
	struct npj_value *from;
	struct donation *d;
	PJRT_Buffer *result = NULL;
	PJRT_Error *e = npj_buffer_value(a->buffer, &from);

	if (e)
		return e;
	d = malloc(sizeof(*d));
	if (d)
		e = begin(a->buffer->client, &a->buffer->shape, a->buffer->memory, npj_event_new(),
			  &result);
	if (!d || e) {
		free(d);
		npj_value_unref(from);
		return e ? e : npj_no_memory();
	}
	*d = (struct donation){ from, npj_value_ref(result->value) };
	npj_Buffer_Delete(&(PJRT_Buffer_Delete_Args){ .buffer = a->buffer });
	a->out_buffer = result;
	a->callback_data = d;
	a->dependency_ready_callback = depended;
	return NULL;
}
