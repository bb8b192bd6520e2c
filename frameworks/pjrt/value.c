// SPDX-License-Identifier: MIT
/* Values: what lies in a device's memory or the host's, and the counters of a device's memory */
#include <stdlib.h>
#include <string.h>

#include "nrt/nrt.h"
#include "calls.h"

struct npj_value *npj_value_new(PJRT_Memory *memory, size_t bytes, PJRT_Event *ready)
{
	struct npj_value *v = ready ? calloc(1, sizeof(*v)) : NULL;

	if (!v) {
		npj_event_unref(ready);
		return NULL;
	}
	v->refs = 1;
	v->memory = memory;
	v->bytes = bytes;
	v->ready = ready;
	npj_client_ref(memory->device->client);
	return v;
}

struct npj_value *npj_value_ref(struct npj_value *v)
{
	atomic_fetch_add(&v->refs, 1);
	return v;
}

static void count(PJRT_Device *d, size_t bytes)
{
	long long now = atomic_fetch_add(&d->in_use, (long long)bytes) + (long long)bytes;
	long long peak = atomic_load(&d->peak), largest = atomic_load(&d->largest);

	atomic_fetch_add(&d->allocations, 1);
	while (now > peak && !atomic_compare_exchange_weak(&d->peak, &peak, now))
		;
	while ((long long)bytes > largest &&
	       !atomic_compare_exchange_weak(&d->largest, &largest, (long long)bytes))
		;
}

static void release(struct npj_value *v)
{
	if (v->on_delete)
		v->on_delete(v->host, v->on_delete_arg);
	else
		free(v->host);
	v->host = NULL;
	if (!v->tensor)
		return;
	atomic_fetch_sub(&v->memory->device->in_use, (long long)v->bytes);
	/* in a child of fork the chip is the parent's */
	if (!npj_forked())
		npj_pool_keep(v->memory->device->pool, v->tensor, v->bytes);
	v->tensor = NULL;
}

void npj_value_unref(struct npj_value *v)
{
	PJRT_Client *client;

	if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
		return;
	client = v->memory->device->client;
	release(v);
	npj_event_unref(v->ready);
	free(v);
	npj_client_unref(client);
}

static NRT_STATUS device_memory(PJRT_Device *d, size_t bytes, nrt_tensor_t **tensor)
{
	NRT_STATUS status;

	*tensor = npj_pool_take(d->pool, bytes);
	if (*tensor)
		return NRT_SUCCESS;
	status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)d->vnc, bytes, "pjrt",
				     tensor);
	if (status == NRT_RESOURCE && npj_pools_empty(d->client))
		status = nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, (int)d->vnc, bytes,
					     "pjrt", tensor);
	return status;
}

PJRT_Error *npj_value_allocate(struct npj_value *v)
{
	PJRT_Device *d = v->memory->device;
	NRT_STATUS status;

	if (!v->bytes)
		return NULL;
	if (v->memory->kind != NPJ_DEVICE) {
		v->host = aligned_alloc(64, (v->bytes + 63) / 64 * 64);
		return v->host ? NULL : npj_no_memory();
	}
	if (npj_forked())
		return npj_forked_error();
	status = device_memory(d, v->bytes, &v->tensor);
	if (status) {
		PJRT_Error *reason = npj_runtime_error(status, "allocation"), *e;

		v->tensor = NULL;
		e = npj_error(reason->code,
			      "%s: no room for %zu bytes in its memory, "
			      "of which buffers of this process have %lld\n%s",
			      d->description->text, v->bytes, (long long)atomic_load(&d->in_use),
			      reason->message);
		npj_error_free(reason);
		return e;
	}
	count(d, v->bytes);
	return NULL;
}

static bool inside(const struct npj_value *v, size_t offset, size_t n)
{
	return offset <= v->bytes && n <= v->bytes - offset;
}

PJRT_Error *npj_value_write(struct npj_value *v, const void *data, size_t offset, size_t n)
{
	if (!inside(v, offset, n))
		return npj_error(PJRT_Error_Code_OUT_OF_RANGE,
				 "%zu bytes from byte %zu on of a buffer of %zu", n, offset,
				 v->bytes);
	if (!n)
		return NULL;
	if (v->host) {
		memcpy((char *)v->host + offset, data, n);
		return NULL;
	}
	if (npj_forked())
		return npj_forked_error();
	return npj_runtime_error(nrt_tensor_write(v->tensor, data, offset, n), "host to device");
}

PJRT_Error *npj_value_read(const struct npj_value *v, void *data, size_t offset, size_t n)
{
	if (!inside(v, offset, n))
		return npj_error(PJRT_Error_Code_OUT_OF_RANGE,
				 "%zu bytes from byte %zu on of a buffer of %zu", n, offset,
				 v->bytes);
	if (!n)
		return NULL;
	if (v->host) {
		memcpy(data, (const char *)v->host + offset, n);
		return NULL;
	}
	if (npj_forked())
		return npj_forked_error();
	return npj_runtime_error(nrt_tensor_read(v->tensor, data, offset, n), "device to host");
}

#define PIECE ((size_t)4 << 20) /* of what goes from device to device by the host */

static PJRT_Error *copy_by_host(struct npj_value *to, const struct npj_value *from)
{
	size_t piece = to->bytes < PIECE ? to->bytes : PIECE;
	void *bounce = malloc(piece);
	PJRT_Error *e = bounce ? NULL : npj_no_memory();

	for (size_t at = 0; at < to->bytes && !e; at += piece) {
		size_t n = to->bytes - at < piece ? to->bytes - at : piece;

		e = npj_value_read(from, bounce, at, n);
		if (!e)
			e = npj_value_write(to, bounce, at, n);
	}
	free(bounce);
	return e;
}

PJRT_Error *npj_value_copy(struct npj_value *to, const struct npj_value *from)
{
	if (!to->bytes)
		return NULL;
	if (from->host)
		return npj_value_write(to, from->host, 0, to->bytes);
	if (to->host)
		return npj_value_read(from, to->host, 0, to->bytes);
	if (npj_forked())
		return npj_forked_error();
	if (to->memory->device != from->memory->device)
		return copy_by_host(to, from);
	return npj_runtime_error(nrt_tensor_copy(from->tensor, 0, to->tensor, 0, to->bytes), "copy "
											     "on "
											     "the "
											     "devic"
											     "e");
}

void npj_value_move(struct npj_value *to, struct npj_value *from)
{
	to->tensor = from->tensor;
	from->tensor = NULL;
}

/* Work that waits for a value, without a thread */
struct later {
	void (*run)(void *arg);
	void *arg;
	struct npj_queue *queue;
};

/* Runs on the thread for transfers, as whoever made the value has other things to do. */
static void later(PJRT_Error *error, void *arg)
{
	struct later l = *(struct later *)arg;
	PJRT_Error *e;

	npj_error_free(error);
	free(arg);
	e = npj_queue_put(l.queue, l.run, l.arg);
	if (!e)
		return;
	npj_error_free(e);
	l.run(l.arg);
}

PJRT_Error *npj_when_ready(const struct npj_value *v, void (*run)(void *arg), void *arg)
{
	struct later *l;
	PJRT_Error *e;

	if (npj_event_ready(v->ready)) {
		run(arg);
		return NULL;
	}
	e = npj_forked_error() ?: npj_calls_wait(v);
	if (e)
		return e;
	l = malloc(sizeof(*l));
	if (!l)
		return npj_no_memory();
	*l = (struct later){ run, arg, v->memory->device->client->transfers };
	e = npj_event_then(v->ready, later, l);
	if (e)
		free(l);
	return e;
}
