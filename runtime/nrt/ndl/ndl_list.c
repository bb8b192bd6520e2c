/* SPDX-License-Identifier: MIT */
/* The devices that public functions opened: what is not in the list is refused. */
#include <stdlib.h>

#include "rt_ndl.h"

struct opened {
	struct opened *next;
	ndlx_device_t *dev;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list */
static struct opened *list;

ndlx_device_t *rt_ndl_device(const ndl_device_t *device)
{
	ndlx_device_t *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct opened *o = list; o && !found; o = o->next)
		if ((const void *)o->dev == device)
			found = o->dev;
	pthread_mutex_unlock(&lock);
	return found;
}

ndlx_device_t *rt_ndl_indexed(int index)
{
	ndlx_device_t *found = NULL;

	pthread_mutex_lock(&lock);
	for (struct opened *o = list; o && !found; o = o->next)
		if (o->dev->device_index == index)
			found = o->dev;
	pthread_mutex_unlock(&lock);
	return found;
}

bool rt_ndl_device_add(ndlx_device_t *dev)
{
	struct opened *opened = malloc(sizeof(*opened));

	if (!opened)
		return false;
	opened->dev = dev;
	pthread_mutex_lock(&lock);
	opened->next = list;
	list = opened;
	pthread_mutex_unlock(&lock);
	return true;
}

ndlx_device_t *rt_ndl_device_take(const ndl_device_t *device)
{
	struct opened **at, *found;
	ndlx_device_t *dev;

	pthread_mutex_lock(&lock);
	for (at = &list; *at && (const void *)(*at)->dev != device; at = &(*at)->next)
		;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&lock);
	dev = found ? found->dev : NULL;
	free(found);
	return dev;
}
