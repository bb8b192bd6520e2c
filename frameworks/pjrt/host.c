// SPDX-License-Identifier: MIT
/*
 * Bytes from the host and to it. From the host they are copied within the call, whatever the caller
 * would allow, so that its memory is free at once. To the host they are copied within the call if
 * the value is there, else by the client's thread for transfers when it is.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "pjrt.h"

#define LARGE_PAGE ((uintptr_t)2 << 20)

PJRT_Error *npj_memory_of(PJRT_Client *c, PJRT_Memory *memory, PJRT_Device *device,
			  PJRT_Memory **result)
{
	if (!memory && !device && c->n)
		device = &c->device[0];
	if (!memory && !npj_is_own(device))
		return NPJ_INVALID("%s is a device of process %d", device->description->text,
				   device->description->process);
	*result = memory ? memory : &device->memory[NPJ_DEVICE];
	if ((*result)->device->client != c)
		return NPJ_INVALID("the memory is another client's");
	return npj_client_open(c);
}

/* The elements as the device has them, of host memory in any order; *dense is what to free */
static PJRT_Error *to_device_form(const struct npj_shape *s, const void *data,
				  const int64_t *stride, const void **form, void **to_free)
{
	bool dense = npj_is_dense(s, stride), wide = npj_type_wide(s->type);
	size_t bytes = s->elements * s->type->host;
	char *m;

	*form = data;
	*to_free = NULL;
	if (dense && !wide)
		return NULL;
	m = malloc((dense ? 0 : bytes) + (wide ? npj_device_bytes(s) : 0));
	if (!m)
		return npj_no_memory();
	*to_free = m;
	if (!dense)
		npj_gather(s, m, data, stride);
	*form = m;
	if (wide) {
		char *narrow = dense ? m : m + bytes;

		npj_narrow(s->type, narrow, dense ? data : m, s->elements);
		*form = narrow;
	}
	return NULL;
}

static PJRT_Error *fill(struct npj_value *v, const struct npj_shape *s, const void *data,
			const int64_t *stride)
{
	PJRT_Error *e = npj_value_allocate(v);
	void *to_free = NULL;
	const void *form;

	if (e || !s->elements)
		return e;
	e = to_device_form(s, data, stride, &form, &to_free);
	if (!e)
		e = npj_value_write(v, form, 0, v->bytes);
	free(to_free);
	return e;
}

/* A caller's description of an array on the host: its shape, strides and that it is there */
static PJRT_Error *described(const PJRT_Client_BufferFromHostBuffer_Args *a, struct npj_shape *s,
			     int64_t *stride)
{
	int64_t order[NPJ_MAX_DIMS];
	PJRT_Error *e = npj_shape_set(s, a->type, a->dims, a->num_dims);

	if (e)
		return e;
	e = npj_type_allowed(a->client, s->type);
	/* where the device's bytes go is not the caller's to say, but it may say what is so */
	if (!e && a->device_layout)
		e = npj_layout_strides(s, a->device_layout, order);
	if (!e && a->device_layout && !npj_is_dense(s, order))
		e = npj_error(PJRT_Error_Code_UNIMPLEMENTED, "device memory is row-major: "
							     "no other layout of it can be chosen");
	if (e)
		return e;
	if (!a->data && s->elements)
		return NPJ_INVALID("data is NULL");
	npj_dense(s, stride);
	if (!a->num_byte_strides)
		return NULL;
	if (a->num_byte_strides != s->ndim || !a->byte_strides)
		return NPJ_INVALID("%zu strides for %u dimensions", a->num_byte_strides, s->ndim);
	memcpy(stride, a->byte_strides, s->ndim * sizeof(*stride));
	return NULL;
}

PJRT_Error *npj_Client_BufferFromHostBuffer(PJRT_Client_BufferFromHostBuffer_Args *a)
{
	int64_t stride[NPJ_MAX_DIMS];
	struct npj_shape s;
	struct npj_value *v;
	PJRT_Memory *memory;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	e = npj_memory_of(a->client, a->memory, a->device, &memory);
	if (!e)
		e = described(a, &s, stride);
	if (e)
		return e;
	v = npj_value_new(memory, npj_device_bytes(&s), npj_event_done());
	if (!v)
		return npj_no_memory();
	e = fill(v, &s, a->data, stride);
	if (e) {
		npj_value_unref(v);
		return e;
	}
	a->buffer = npj_buffer_new(a->client, &s, v);
	if (!a->buffer)
		return npj_no_memory();
	a->done_with_host_buffer = npj_event_done();
	return NULL;
}

/* A read that is under way */
struct reading {
	struct npj_value *value;
	struct npj_shape shape;
	int64_t stride[NPJ_MAX_DIMS];
	void *dst;
	PJRT_Event *event;
};

/*
 * Frameworks read into memory that nobody has touched yet: the host has less to do for pages of
 * 2 MiB. A hint, so its result is nothing.
 */
static void large_pages(void *dst, size_t bytes)
{
	uintptr_t start = ((uintptr_t)dst + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	uintptr_t end = ((uintptr_t)dst + bytes) & ~(LARGE_PAGE - 1);

	if (bytes >= 2 * LARGE_PAGE && start < end)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

/* Copies a value that is there to the host */
static PJRT_Error *deliver(const struct npj_value *v, const struct npj_shape *s, void *dst,
			   const int64_t *stride)
{
	bool dense = npj_is_dense(s, stride), wide = npj_type_wide(s->type);
	size_t bytes = s->elements * s->type->host;
	PJRT_Error *e;
	char *m;

	if (!s->elements)
		return NULL;
	if (dense && !wide) {
		large_pages(dst, v->bytes);
		return npj_value_read(v, dst, 0, v->bytes);
	}
	m = malloc(v->bytes + (wide && !dense ? bytes : 0));
	if (!m)
		return npj_no_memory();
	e = npj_value_read(v, m, 0, v->bytes);
	if (!e && wide) {
		char *wider = dense ? dst : m + v->bytes;

		npj_widen(s->type, wider, m, s->elements);
		if (!dense)
			npj_scatter(s, dst, stride, wider);
	} else if (!e) {
		npj_scatter(s, dst, stride, m);
	}
	free(m);
	return e;
}

static void read_now(void *arg)
{
	struct reading *r = arg;
	PJRT_Error *e = npj_error_copy(npj_event_wait(r->value->ready));

	if (!e)
		e = deliver(r->value, &r->shape, r->dst, r->stride);
	npj_value_unref(r->value);
	npj_event_set(r->event, e);
	npj_event_unref(r->event);
	free(r);
}

/* Takes v. */
static PJRT_Error *read_later(PJRT_Buffer *b, struct npj_value *v, void *dst, const int64_t *stride,
			      PJRT_Event **event)
{
	struct reading *r = calloc(1, sizeof(*r));
	PJRT_Event *done = npj_event_new();
	PJRT_Error *e = r && done ? NULL : npj_no_memory();

	if (!e) {
		*r = (struct reading){
			.value = v, .shape = b->shape, .dst = dst, .event = npj_event_ref(done)
		};
		memcpy(r->stride, stride, sizeof(r->stride));
		e = npj_when_ready(v, read_now, r);
		if (!e) {
			*event = done;
			return NULL;
		}
		npj_event_unref(done);
	}
	npj_value_unref(v);
	npj_event_unref(done);
	free(r);
	return e;
}

PJRT_Error *npj_Buffer_ToHostBuffer(PJRT_Buffer_ToHostBuffer_Args *a)
{
	int64_t stride[NPJ_MAX_DIMS] = { 0 };
	struct npj_value *v;
	PJRT_Error *e = npj_buffer_value(a->src, &v);
	const struct npj_shape *s;

	if (e)
		return e;
	s = &a->src->shape;
	e = npj_layout_strides(s, a->host_layout, stride);
	if (!e && !a->dst)
		a->dst_size = npj_span(s, stride);
	else if (!e && a->dst_size < npj_span(s, stride))
		e = NPJ_INVALID("dst has %zu bytes, the array in this layout %zu", a->dst_size,
				npj_span(s, stride));
	if (!e && a->dst && !npj_event_ready(v->ready)) {
		if (npj_forked())
			e = npj_forked_error();
		else
			return read_later(a->src, v, a->dst, stride, &a->event);
	} else if (!e && a->dst) {
		e = npj_error_copy(npj_event_wait(v->ready));
		if (!e)
			e = deliver(v, s, a->dst, stride);
		if (!e)
			a->event = npj_event_done();
	} else if (!e) {
		a->event = npj_event_done();
	}
	npj_value_unref(v);
	return e;
}
