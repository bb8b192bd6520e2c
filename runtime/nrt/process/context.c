/* SPDX-License-Identifier: MIT */
/* The process's hold on the machine, and the count of the calls in progress */
#include "rt_context.h"

struct rt rt = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER,
	.stale_lock = PTHREAD_MUTEX_INITIALIZER,
};

NRT_STATUS rt_hold(void)
{
	NRT_STATUS status = NRT_SUCCESS;

	pthread_mutex_lock(&rt.lock);
	rt.users++;
	if (rt.state == RT_NEW)
		status = NRT_UNINITIALIZED;
	else if (rt.state != RT_INIT)
		status = NRT_CLOSED;
	pthread_mutex_unlock(&rt.lock);
	return status;
}

void rt_leave(NRT_STATUS *status)
{
	pthread_mutex_lock(&rt.lock);
	if (!--rt.users)
		pthread_cond_broadcast(&rt.changed);
	pthread_mutex_unlock(&rt.lock);
}

NRT_STATUS rt_enter(void)
{
	NRT_STATUS status = rt_hold();

	rt_details_clear();
	return status ? rt_fail(status, "NRT", "%s", nrtx_status_text(status)) : status;
}

struct rt_core *rt_core(uint32_t vnc)
{
	return vnc < rt.ncores ? &rt.cores[vnc] : NULL;
}
