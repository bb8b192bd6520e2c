// SPDX-License-Identifier: MIT
/* The default goes by the driver's list of processes, so that a second program takes another chip. */
#include "device.h"
#include "holders.h"
#include "nrt/nrtx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64

/* Chips in this process, or those of a server */
static bool is_emulated(const char *name)
{
	return !strncmp(name, "emu:", 4) || !strncmp(name, "unix:", 5);
}

const char *device_default(const char *tool)
{
	static char name[128];
	const char *emulated = getenv("NEURON_EMU");
	int index[DEVICES_MAX], n;

	if (emulated && *emulated) {
		snprintf(name, sizeof(name), "%s%s", is_emulated(emulated) ? "" : "emu:", emulated);
		return name;
	}
	n = tm_nodes(index, DEVICES_MAX);
	if (!n)
		return DEVICE_EMU;
	/* one of those that are refused, so that it is said why none can be used */
	snprintf(name, sizeof(name), "nd%d", n > 0 ? index[0] : 0);
	for (int i = 0; i < n; i++) {
		if (tm_is_used(index[i]))
			continue;
		snprintf(name, sizeof(name), "nd%d", index[i]);
		break;
	}
	fprintf(stderr, "%s: on %s (--device " DEVICE_EMU " is in process)\n", tool, name);
	return name;
}

bool device_choose(const char *name, uint32_t first, uint32_t *start, NRT_STATUS *status)
{
	bool emulated = is_emulated(name);
	unsigned long index = 0;
	char range[32], *end;
	uint32_t cores;

	if (emulated) {
		*status = nrtx_machine_set(name);
	} else if (!strncmp(name, "nd", 2)) {
		errno = 0;
		index = strtoul(name + 2, &end, 10);
		if (errno || end == name + 2 || *end || index >= DEVICES_MAX)
			return false;
		*status = nrtx_machine_set("node");
	} else {
		return false;
	}
	if (!*status)
		*status = nrtx_cores_per_device(&cores);
	*start = first;
	if (*status || emulated)
		return true;
	/* takes this device only: another one may be in use or broken */
	snprintf(range, sizeof(range), "%lu-%lu", index * cores, (index + 1) * cores - 1);
	if (setenv("NEURON_RT_VISIBLE_CORES", range, 1))
		*status = NRT_RESOURCE;
	return true;
}
