// SPDX-License-Identifier: MIT
/* The driver's list of a device's processes (DEVICE_GET_ALL_APPS_INFO). */
#include "holders.h"
#include "process.h"

#include "ndlx.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int tm_nodes(int *indexes, int capacity)
{
	int n = ndlx_machine_is_own() ? 0 : ndlx_available_devices(indexes, capacity);

	return n > 0 || n == -EPERM ? n : 0;
}

/* Monitors have a node open, too, and keep nobody from using it */
static bool works(ndlx_device_t *dev, const struct neuron_app_info *app)
{
	char version[32];
	bool runtime;
	size_t size;
	void *nds;

	if (app->nc_lock_map || app->device_mem_size)
		return true;
	if (ndlx_nds_open(dev, app->pid, &nds, &size))
		return false;
	runtime = !ls_process_version(nds, size, version, sizeof(version));
	ndlx_nds_close(dev, app->pid, nds, size);
	return runtime;
}

bool tm_is_used(int index)
{
	const ndlx_device_init_param_t look = { .initialize_device = false };
	struct neuron_app_info *apps = NULL;
	ndlx_device_t *dev;
	bool used = false;
	size_t n = 0;

	if (ndlx_open_device(index, &look, &dev))
		return false;
	if (ndlx_get_all_apps_info(dev, &apps, &n, NEURON_APP_INFO_ALL))
		n = 0;
	for (size_t i = 0; i < n && !used; i++)
		used = apps[i].pid != getpid() && works(dev, &apps[i]);
	free(apps);
	ndlx_close_device(dev);
	return used;
}
