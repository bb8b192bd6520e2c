/* SPDX-License-Identifier: MIT */
/*
 * Storages of tensors that are mapped, so that an address can be found again; the lock is innermost.
 */
#include "rt_tensor.h"

static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_storage *mapped;

void rt_mapped_add(struct rt_storage *storage)
{
	pthread_mutex_lock(&mapped_lock);
	storage->next_mapped = mapped;
	mapped = storage;
	pthread_mutex_unlock(&mapped_lock);
}

void rt_mapped_remove(struct rt_storage *storage)
{
	struct rt_storage **at;

	pthread_mutex_lock(&mapped_lock);
	for (at = &mapped; *at && *at != storage; at = &(*at)->next_mapped)
		;
	if (*at)
		*at = storage->next_mapped;
	pthread_mutex_unlock(&mapped_lock);
}

bool rt_tensor_placement(const void *va, int device, int *memory)
{
	const struct rt_storage *s;
	bool found = false;

	pthread_mutex_lock(&mapped_lock);
	for (s = mapped; s && !found; s = s->next_mapped) {
		found = rt_chunk_alive(&s->chunk) && s->chunk.dev->device_index == device &&
			(uintptr_t)va >= (uintptr_t)s->va &&
			(uintptr_t)va - (uintptr_t)s->va < s->size;
		if (found)
			*memory = ndlx_memory_channel(s->chunk.dev, s->chunk.pa);
	}
	pthread_mutex_unlock(&mapped_lock);
	return found;
}
