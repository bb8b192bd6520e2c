// SPDX-License-Identifier: MIT
/* The driver's list of a device's processes (DEVICE_GET_ALL_APPS_INFO), with their commands. */
#include "holders.h"
#include "process.h"

#include "ndl.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int tm_nodes(int *indexes, int room)
{
	int n = ndl_machine_is_emu() ? 0 : ndl_available_devices(indexes, room);

	return n > 0 ? n : 0;
}

/* Monitors have a node open, too, and keep nobody from using it */
static bool works(ndl_device_t *dev, const struct neuron_app_info *app)
{
	char version[32];
	bool runtime;
	size_t size;
	void *nds;

	if (app->nc_lock_map || app->device_mem_size)
		return true;
	if (ndl_nds_open(dev, app->pid, &nds, &size))
		return false;
	runtime = !ls_process_version(nds, size, version, sizeof(version));
	ndl_nds_close(dev, app->pid, nds, size);
	return runtime;
}

static void append(char *text, size_t size, size_t *used, int pid)
{
	char command[64];
	int n;

	ls_process_command("/proc", pid, command, sizeof(command));
	n = snprintf(text + *used, size - *used, "%spid %d%s%s%s", *used ? ", " : "", pid,
		     *command ? " (" : "", command, *command ? ")" : "");
	if (n > 0)
		*used += (size_t)n < size - *used ? (size_t)n : size - *used - 1;
}

bool tm_holders(int index, char *text, size_t size)
{
	const ndl_device_init_param_t look = { .initialize_device = false };
	struct neuron_app_info *apps = NULL;
	ndl_device_t *dev;
	size_t n = 0, used = 0;

	text[0] = '\0';
	if (ndl_open_device(index, &look, &dev))
		return false;
	if (ndl_get_all_apps_info(dev, &apps, &n, NEURON_APP_INFO_ALL))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (apps[i].pid != getpid() && works(dev, &apps[i]))
			append(text, size, &used, apps[i].pid);
	free(apps);
	ndl_close_device(dev);
	return used > 0;
}
