/* SPDX-License-Identifier: MIT */
/* The tensors of queued requests, and the calls that wait for these */
#include "rt_tensor.h"
#include "rt_trace.h"

_Thread_local bool rt_in_queue;

/* Pending requests of storages; waits are rare, so one condition serves all */
static pthread_mutex_t pending_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pending_less = PTHREAD_COND_INITIALIZER;

void rt_tensor_pending(const nrt_tensor_t *tensor, bool on)
{
	if (!tensor || !tensor->storage)
		return;
	pthread_mutex_lock(&pending_lock);
	tensor->storage->pending += on ? 1 : -1u;
	if (!tensor->storage->pending)
		pthread_cond_broadcast(&pending_less);
	pthread_mutex_unlock(&pending_lock);
}

void rt_tensor_settle(const nrt_tensor_t *tensor)
{
	struct rt_storage *s = tensor ? tensor->storage : NULL;
	uint64_t event;

	/* a callback waits for nothing that comes behind it */
	if (!s || rt_in_queue || !__atomic_load_n(&s->pending, __ATOMIC_ACQUIRE))
		return;
	event = rt_trace_begin(RT_EVENT_tensor_block_while_exec, -1,
			       &(struct rt_event_data){ .name = tensor->name });
	pthread_mutex_lock(&pending_lock);
	while (s->pending)
		pthread_cond_wait(&pending_less, &pending_lock);
	pthread_mutex_unlock(&pending_lock);
	rt_trace_end(RT_EVENT_tensor_block_while_exec, -1, event,
		     &(struct rt_event_data){ .name = tensor->name });
}
