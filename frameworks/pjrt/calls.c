// SPDX-License-Identifier: MIT
/*
 * Calls of the host in programs: the runtime hands them to the framework's function, whose address
 * the client's option host_callback gives (frameworks/python/neuron_emulator_jax/lowering/
 * callbacks.py has its contract). The function is the process's, as the numbers are that it takes.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "nrt/nrtx.h"
#include "profiler.h"

/* The contract's struct, in its order */
struct tensor {
	void *data;
	const int64_t *dims;
	uint32_t ndim;
	int32_t type;
};
typedef int entry_t(uint64_t index, uint32_t nin, const struct tensor *in, uint32_t nout,
		    const struct tensor *out, char *message, size_t size);

typedef void hold_t(uint64_t index, int more);

static _Atomic(entry_t *) entry;
static _Atomic(hold_t *) holder;
static _Thread_local const PJRT_Device *under_way;

static int32_t type_of(const char *xla)
{
	const struct npj_type *t = npj_type_named(xla);

	return t ? (int32_t)t->type : PJRT_Buffer_Type_INVALID;
}

/* Sizes that fit a program's arrays fit a signed number as well */
static_assert(sizeof(uint64_t) == sizeof(int64_t), "one array of sizes is the other");

static void give(struct tensor *to, const struct nrtx_host_array *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (struct tensor){ from[i].data, (const int64_t *)from[i].shape, from[i].ndim,
					 type_of(from[i].type) };
}

static int call(void *arg, uint64_t index, uint32_t nin, const struct nrtx_host_array *in,
		uint32_t nout, const struct nrtx_host_array *out, char *message, size_t size)
{
	entry_t *fn = atomic_load(&entry);
	struct tensor *t = calloc((size_t)nin + nout + 1, sizeof(*t));
	char name[24];
	int64_t began;
	int ret;

	(void)arg;
	if (!t || !fn) {
		snprintf(message, size, "%s", t ? "no function" : "out of memory");
		free(t);
		return 1;
	}
	give(t, in, nin);
	give(t + nin, out, nout);
	began = npj_event_now();
	ret = fn(index, nin, t, nout, t + nin, message, size);
	snprintf(name, sizeof(name), "%" PRIu64, index);
	npj_event_add("callback", name, began);
	free(t);
	return ret;
}

PJRT_Error *npj_calls_entry(int64_t address)
{
	NRT_STATUS status;

	atomic_store(&entry, (entry_t *)(uintptr_t)address);
	status = nrtx_host_function(NCC_HOST_TARGET, call, NULL);
	return npj_runtime_error(status, "calls of the host");
}

PJRT_Error *npj_calls_holder(int64_t address)
{
	atomic_store(&holder, (hold_t *)(uintptr_t)address);
	return NULL;
}

void npj_calls_hold(const struct ncc_program *p, bool hold)
{
	hold_t *fn = atomic_load(&holder);

	for (unsigned int i = 0; fn && p && i < p->ncalls; i++)
		fn(p->call[i], hold ? 1 : -1);
}

const PJRT_Device *npj_calls_enter(const PJRT_Device *device)
{
	const PJRT_Device *before = under_way;

	under_way = device;
	return before;
}

PJRT_Error *npj_calls_wait(const struct npj_value *v)
{
	if (!npj_calls_within(v->memory->device) || npj_event_ready(v->ready))
		return NULL;
	return npj_error(PJRT_Error_Code_FAILED_PRECONDITION,
			 "the array comes from a program on %s "
			 "that waits for the callback which wants it",
			 v->memory->device->description->text);
}

bool npj_calls_within(const PJRT_Device *device)
{
	return under_way == device;
}
