// SPDX-License-Identifier: MIT
/*
 * Memories: each device has its own and two kinds of the host's, which differ by name alone, as the
 * chips' DMA reaches any host memory. A framework may keep things with a memory.
 */
#include <stdlib.h>
#include <string.h>

#include "pjrt.h"

const char *const npj_kind_name[NPJ_KINDS] = {
	[NPJ_DEVICE] = "device", [NPJ_PINNED] = "pinned_host", [NPJ_UNPINNED] = "unpinned_host"
};

struct npj_user_data {
	struct npj_user_data *next;
	const void *key;
	void *data;
	void (*destructor)(void *data);
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all memories' data */

static struct npj_user_data *find(const PJRT_Memory *m, const void *key)
{
	struct npj_user_data *u = m->data;

	while (u && u->key != key)
		u = u->next;
	return u;
}

static void *get_user_data(PJRT_Memory *m, const void *key)
{
	struct npj_user_data *u;
	void *data;

	pthread_mutex_lock(&lock);
	u = find(m, key);
	data = u ? u->data : NULL;
	pthread_mutex_unlock(&lock);
	return data;
}

static void set_user_data(PJRT_Memory *m, const void *key, void *data,
			  void (*destructor)(void *data))
{
	struct npj_user_data *u, before = { .data = NULL };

	pthread_mutex_lock(&lock);
	u = find(m, key);
	if (u) {
		before = *u;
	} else {
		u = malloc(sizeof(*u));
		if (u) {
			u->next = m->data;
			m->data = u;
		}
	}
	if (u) {
		u->key = key;
		u->data = data;
		u->destructor = destructor;
	}
	pthread_mutex_unlock(&lock);
	if (before.data && before.destructor)
		before.destructor(before.data);
}

const PJRT_Memory_FunctionTable npj_memory_functions = {
	.struct_size = sizeof(npj_memory_functions),
	.instance_struct_size = sizeof(PJRT_Memory),
	.get_user_data = get_user_data,
	.set_user_data = set_user_data,
};

void npj_memory_end(PJRT_Memory *m)
{
	for (struct npj_user_data *u = m->data, *next; u; u = next) {
		next = u->next;
		if (u->data && u->destructor)
			u->destructor(u->data);
		free(u);
	}
	m->data = NULL;
}

PJRT_Error *npj_Memory_Id(PJRT_Memory_Id_Args *a)
{
	NPJ_NEED(a->memory, "memory");
	a->id = a->memory->id;
	return NULL;
}

PJRT_Error *npj_Memory_Kind(PJRT_Memory_Kind_Args *a)
{
	NPJ_NEED(a->memory, "memory");
	NPJ_TEXT(a->kind, a->kind_size, npj_kind_name[a->memory->kind]);
	return NULL;
}

PJRT_Error *npj_Memory_Kind_Id(PJRT_Memory_Kind_Id_Args *a)
{
	NPJ_NEED(a->memory, "memory");
	a->kind_id = (int)a->memory->kind;
	return NULL;
}

PJRT_Error *npj_Memory_DebugString(PJRT_Memory_DebugString_Args *a)
{
	NPJ_NEED(a->memory, "memory");
	NPJ_TEXT(a->debug_string, a->debug_string_size, a->memory->text);
	return NULL;
}

PJRT_Error *npj_Memory_ToString(PJRT_Memory_ToString_Args *a)
{
	NPJ_NEED(a->memory, "memory");
	NPJ_TEXT(a->to_string, a->to_string_size, a->memory->text);
	return NULL;
}

PJRT_Error *npj_Memory_AddressableByDevices(PJRT_Memory_AddressableByDevices_Args *a)
{
	NPJ_NEED(a->memory, "memory");
	a->devices = &a->memory->device->client->own[a->memory->device->vnc];
	a->num_devices = 1;
	return NULL;
}
