// SPDX-License-Identifier: MIT
/*
 * Managers of transfers: buffers whose bytes come piece by piece, from any thread and in any order.
 * A buffer is ready when its last piece has come and all before it are copied, which each is within
 * its call.
 */
#include <stdlib.h>
#include <string.h>

#include "pjrt.h"

struct slot {
	struct npj_value *value;
	struct npj_shape shape;
	unsigned int pieces; /* under way */
	bool last, retrieved; /* the last piece was announced; the buffer is somebody's */
};

struct PJRT_AsyncHostToDeviceTransferManager {
	PJRT_Client *client;
	PJRT_Memory *memory;
	pthread_mutex_t lock; /* of the slots' states */
	size_t n;
	struct slot slot[];
};

static void manager_free(PJRT_AsyncHostToDeviceTransferManager *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct npj_value *v = m->slot[i].value;

		if (v && !npj_event_ready(v->ready))
			npj_event_set(v->ready, npj_error(PJRT_Error_Code_CANCELLED, "the buffer's "
										     "transfer was "
										     "given up"));
		npj_value_unref(v);
	}
	pthread_mutex_destroy(&m->lock);
	npj_client_unref(m->client);
	free(m);
}

static PJRT_Error *slot_init(struct slot *s, const PJRT_Client *c, PJRT_Memory *memory,
			     const PJRT_ShapeSpec *spec)
{
	PJRT_Error *e = npj_shape_set(&s->shape, spec->element_type, spec->dims, spec->num_dims);

	if (!e)
		e = npj_type_allowed(c, s->shape.type);
	if (e)
		return e;
	s->value = npj_value_new(memory, npj_device_bytes(&s->shape), npj_event_new());
	return s->value ? npj_value_allocate(s->value) : npj_no_memory();
}

PJRT_Error *
npj_Client_CreateBuffersForAsyncHostToDevice(PJRT_Client_CreateBuffersForAsyncHostToDevice_Args *a)
{
	PJRT_AsyncHostToDeviceTransferManager *m;
	PJRT_Memory *memory;
	PJRT_Error *e;

	NPJ_NEED(a->client, "client");
	if (a->num_shape_specs && !a->shape_specs)
		return NPJ_INVALID("shape_specs is NULL");
	e = npj_memory_of(a->client, a->memory, NULL, &memory);
	if (e)
		return e;
	if (a->num_shape_specs > SIZE_MAX / 2 / sizeof(m->slot[0]))
		return NPJ_INVALID("%zu shapes", a->num_shape_specs);
	m = calloc(1, sizeof(*m) + a->num_shape_specs * sizeof(m->slot[0]));
	if (!m)
		return npj_no_memory();
	m->client = npj_client_ref(a->client);
	m->memory = memory;
	m->n = a->num_shape_specs;
	pthread_mutex_init(&m->lock, NULL);
	for (size_t i = 0; i < m->n && !e; i++)
		e = slot_init(&m->slot[i], a->client, memory, &a->shape_specs[i]);
	if (e) {
		manager_free(m);
		return e;
	}
	a->transfer_manager = m;
	return NULL;
}

static PJRT_Error *slot_of(PJRT_AsyncHostToDeviceTransferManager *m, int index, struct slot **s)
{
	NPJ_NEED(m, "transfer_manager");
	if (index < 0 || (size_t)index >= m->n)
		return npj_error(PJRT_Error_Code_OUT_OF_RANGE, "buffer %d of %zu", index, m->n);
	*s = &m->slot[index];
	return NULL;
}

#define MANAGER(name)                                            \
	PJRT_Error *npj_AsyncHostToDeviceTransferManager_##name( \
		PJRT_AsyncHostToDeviceTransferManager_##name##_Args *a)

MANAGER(Destroy)
{
	if (a->transfer_manager)
		manager_free(a->transfer_manager);
	return NULL;
}

/* A piece begins, if the buffer takes one more */
static PJRT_Error *piece_begin(PJRT_AsyncHostToDeviceTransferManager *m, struct slot *s, bool last)
{
	PJRT_Error *e = NULL;

	pthread_mutex_lock(&m->lock);
	if (s->last)
		e = npj_error(PJRT_Error_Code_FAILED_PRECONDITION, "the buffer has had "
								   "its last transfer");
	else
		s->pieces++, s->last = last;
	pthread_mutex_unlock(&m->lock);
	return e;
}

/* A piece was copied, or failed, which takes the error; the buffer may be ready with it. */
static void piece_end(PJRT_AsyncHostToDeviceTransferManager *m, struct slot *s, PJRT_Error *e)
{
	bool complete;

	pthread_mutex_lock(&m->lock);
	s->pieces--;
	s->last = s->last || e;
	complete = e || (s->last && !s->pieces);
	pthread_mutex_unlock(&m->lock);
	if (complete)
		npj_event_set(s->value->ready, e);
}

MANAGER(TransferData)
{
	struct slot *s;
	PJRT_Error *e = slot_of(a->transfer_manager, a->buffer_index, &s);

	if (e)
		return e;
	if (a->offset < 0 || a->transfer_size < 0 || (!a->data && a->transfer_size))
		return NPJ_INVALID("%lld bytes at offset %lld", (long long)a->transfer_size,
				   (long long)a->offset);
	e = piece_begin(a->transfer_manager, s, a->is_last_transfer);
	if (e)
		return e;
	e = npj_value_write(s->value, a->data, (size_t)a->offset, (size_t)a->transfer_size);
	piece_end(a->transfer_manager, s, npj_error_copy(e));
	if (!e)
		a->done_with_h2d_transfer = npj_event_done();
	return e;
}

/* A whole buffer as the host has it, in a layout of its own */
MANAGER(TransferLiteral)
{
	int64_t stride[NPJ_MAX_DIMS];
	struct npj_shape given;
	struct slot *s;
	void *dense = NULL;
	PJRT_Error *e = slot_of(a->transfer_manager, a->buffer_index, &s);

	if (!e)
		e = npj_shape_set(&given, a->shape_element_type, a->shape_dims, a->shape_num_dims);
	if (!e && (given.type != s->shape.type || given.elements != s->shape.elements))
		e = NPJ_INVALID("a literal of another shape than the buffer's");
	if (!e && npj_type_wide(given.type))
		e = npj_error(PJRT_Error_Code_UNIMPLEMENTED, "a literal of a 64-bit type");
	if (!e)
		e = npj_layout_strides(&given, a->shape_layout, stride);
	if (!e && !a->data && given.elements)
		e = NPJ_INVALID("data is NULL");
	if (!e)
		e = piece_begin(a->transfer_manager, s, true);
	if (e)
		return e;
	if (!npj_is_dense(&given, stride)) {
		dense = malloc(s->value->bytes);
		if (dense)
			npj_gather(&given, dense, a->data, stride);
		else
			e = npj_no_memory();
	}
	if (!e)
		e = npj_value_write(s->value, dense ? dense : a->data, 0, s->value->bytes);
	free(dense);
	piece_end(a->transfer_manager, s, npj_error_copy(e));
	if (!e)
		a->done_with_h2d_transfer = npj_event_done();
	return e;
}

MANAGER(RetrieveBuffer)
{
	struct slot *s;
	PJRT_Error *e = slot_of(a->transfer_manager, a->buffer_index, &s);
	bool again;

	if (e)
		return e;
	pthread_mutex_lock(&a->transfer_manager->lock);
	again = s->retrieved;
	s->retrieved = true;
	pthread_mutex_unlock(&a->transfer_manager->lock);
	if (again)
		return npj_error(PJRT_Error_Code_FAILED_PRECONDITION,
				 "buffer %d was retrieved already", a->buffer_index);
	a->buffer_out =
		npj_buffer_new(a->transfer_manager->client, &s->shape, npj_value_ref(s->value));
	return a->buffer_out ? NULL : npj_no_memory();
}

MANAGER(Device)
{
	NPJ_NEED(a->transfer_manager, "transfer_manager");
	a->device_out = a->transfer_manager->memory->device;
	return NULL;
}

MANAGER(BufferCount)
{
	NPJ_NEED(a->transfer_manager, "transfer_manager");
	a->buffer_count = a->transfer_manager->n;
	return NULL;
}

MANAGER(BufferSize)
{
	struct slot *s;
	PJRT_Error *e = slot_of(a->transfer_manager, a->buffer_index, &s);

	if (!e)
		a->buffer_size = s->value->bytes;
	return e;
}

MANAGER(SetBufferError)
{
	struct slot *s;
	PJRT_Error *e = slot_of(a->transfer_manager, a->buffer_index, &s);

	if (!e)
		e = piece_begin(a->transfer_manager, s, true);
	if (e)
		return e;
	if (a->error_code == PJRT_Error_Code_OK)
		a->error_code = PJRT_Error_Code_UNKNOWN;
	piece_end(a->transfer_manager, s,
		  npj_error_sized(a->error_code, a->error_message,
				  a->error_message ? a->error_message_size : 0));
	return NULL;
}

/* A framework's words about transfers for its own traces: nothing depends on them. */
MANAGER(AddMetadata)
{
	NPJ_NEED(a->transfer_manager, "transfer_manager");
	return NULL;
}
