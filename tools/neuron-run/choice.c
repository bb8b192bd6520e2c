// SPDX-License-Identifier: MIT
/* The choice goes by the driver's list of processes, so that a second neuron-run takes another
 * chip. */
#include "choice.h"
#include "holders.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 64

const char *choose_default(void)
{
	static char name[64];
	const char *emulated = getenv("NEURON_EMU");
	int index[DEVICES_MAX], n;
	char holders[256];

	if (emulated && *emulated) {
		snprintf(name, sizeof(name), "emu:%s", emulated);
		return name;
	}
	n = tm_nodes(index, DEVICES_MAX);
	if (!n)
		return CHOICE_EMU;
	snprintf(name, sizeof(name), "nd%d", index[0]);
	for (int i = 0; i < n; i++) {
		if (tm_holders(index[i], holders, sizeof(holders)))
			continue;
		snprintf(name, sizeof(name), "nd%d", index[i]);
		break;
	}
	fprintf(stderr, "neuron-run: on %s (--device " CHOICE_EMU " is in process)\n", name);
	return name;
}
