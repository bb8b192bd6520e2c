/* SPDX-License-Identifier: MIT */
/* A device of this process: what is asked of it once, and one that is opened for its memory alone */
#include "rt_context.h"

void rt_device_know(struct rt_device *device)
{
	if (ndlx_isa_version(device->dev, &device->isa_version))
		device->isa_version = 0;
	rt_nds_open(device);
}

int rt_device_join(uint32_t index, ndlx_device_t **dev)
{
	struct rt_device *device = &rt.devices[index];
	int err = 0;

	pthread_mutex_lock(&rt.lock);
	if (!device->dev) {
		err = ndlx_open_device((int)index, NULL, &device->dev);
		if (!err)
			rt_device_know(device);
	}
	*dev = device->dev;
	pthread_mutex_unlock(&rt.lock);
	return err;
}
