/* SPDX-License-Identifier: MIT */
/*
 * Which cores there are and which are ours (machine.c). A core's number counts the cores of each
 * index before its device's, and its own there, whether the devices before it are plugged or not.
 */
#ifndef RT_MACHINE_H
#define RT_MACHINE_H

#include "ndl.h"
#include "nrt/nrt.h"

struct rt_machine {
	int index[NDL_MAX_DEVICES]; /* of the devices that are there, increasing */
	uint32_t n;
	const struct neuron_gen *gen; /* of all of them */
};

struct rt_want {
	uint32_t start, end; /* inclusive */
	uint32_t count; /* of the cores there */
};

struct rt_mark {
	uint32_t first, count; /* cores without a gap */
};

#define RT_MAX_MARKS ((NDL_MAX_DEVICES + 1) / 2) /* every second device is missing */

NRT_STATUS rt_machine(struct rt_machine *machine); /* without rt.lock: libndl has its own */
/* What the environment lets this process take */
NRT_STATUS rt_cores_visible(const struct rt_machine *machine, struct rt_want *want);
NRT_STATUS rt_cores_mark(const struct rt_machine *machine, const struct rt_want *want,
			 struct rt_mark *marks, unsigned int *nmarks);
void rt_cores_unmark(const struct rt_mark *marks, unsigned int *nmarks);

#endif
