/* SPDX-License-Identifier: MIT */
/*
 * Who has the cores that this process did not get: the kernel module's list of a device's
 * processes, with the cores whose lock each has, and what procfs calls them. It goes to the call's
 * details and, because a status has no names, to the log.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rt_log.h"
#include "rt_machine.h"

/* " (name)", or nothing: a process of another pid namespace, or one that has just ended */
static void command_of(int pid, char *text, size_t size)
{
	char path[32], name[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	if (file && !fgets(name, sizeof(name), file))
		name[0] = '\0';
	if (file)
		fclose(file);

	/* a process chooses its name, and this becomes a line of a log */
	name[strcspn(name, "\n")] = '\0';
	for (char *c = name; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	text[0] = '\0';
	if (*name)
		snprintf(text, size, " (%s)", name);
}

static void cores_of(uint32_t map, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t nc = 0; map >> nc && used < size; nc++) {
		uint32_t last = nc;

		if (!(map >> nc & 1))
			continue;
		while (map >> (last + 1) & 1)
			last++;
		used += (size_t)snprintf(text + used, size - used, last > nc ? "%s%u-%u" : "%s%u",
					 used ? "," : "", nc, last);
		nc = last;
	}
}

static void tell(int index, const struct neuron_app_info *app, uint32_t map)
{
	char cores[32], command[48], line[160];

	cores_of(map, cores, sizeof(cores));
	command_of(app->pid, command, sizeof(command));
	snprintf(line, sizeof(line), "nd%d nc%s in use by pid %d%s%s", index, cores, app->pid,
		 command, app->pid == getpid() ? ", this process" : "");
	rt_log(RT_LOG_ERROR, "%s", line);
	rt_fail(NRT_LOAD_NOT_ENOUGH_NC, "NRT", "%s", line);
}

void rt_holders_tell(int index, uint32_t map)
{
	const ndlx_device_init_param_t look = { .initialize_device = false };
	struct neuron_app_info *apps = NULL;
	ndlx_device_t *dev;
	size_t n = 0;

	if (ndlx_open_device(index, &look, &dev))
		return;
	if (ndlx_get_all_apps_info(dev, &apps, &n, NEURON_APP_INFO_ALL))
		n = 0;
	for (size_t i = 0; i < n; i++)
		if (apps[i].nc_lock_map & map)
			tell(index, &apps[i], apps[i].nc_lock_map & map);
	free(apps);
	ndlx_close_device(dev);
}
