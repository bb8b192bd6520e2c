/* SPDX-License-Identifier: MIT */
/*
 * Which cores there are and which this process takes (machine.c). A core's number in the machine is
 * its device's index times the cores of a device, plus its number there, whether the devices before
 * it are plugged or not. What programs call cores are logical ones, each of one or two that follow
 * each other; a model's program runs on the first of them.
 */
#ifndef RT_MACHINE_H
#define RT_MACHINE_H

#include "ndlx.h"
#include "nrt/nrt.h"

struct rt_machine {
	int index[NDLX_MAX_DEVICES]; /* the devices that are there, increasing */
	uint32_t n;
	const struct neuron_gen *gen; /* the generation of all of them */
	uint32_t lnc; /* cores of a logical one */
};

struct rt_want {
	uint32_t start, end; /* inclusive */
	uint32_t count; /* of the cores that are there */
};

struct rt_mark {
	uint32_t first, count; /* a run of cores without a gap */
};

#define RT_MAX_MARKS ((NDLX_MAX_DEVICES + 1) / 2) /* reached when every second device is missing */

NRT_STATUS rt_machine(struct rt_machine *machine); /* needs no rt.lock: libndl has its own */
/* The cores that the environment lets this process take */
NRT_STATUS rt_cores_visible(const struct rt_machine *machine, struct rt_want *want);
NRT_STATUS rt_cores_mark(const struct rt_machine *machine, const struct rt_want *want,
			 struct rt_mark *marks, unsigned int *nmarks);
void rt_cores_unmark(const struct rt_mark *marks, unsigned int *nmarks);

/* In holders.c: says which processes have the device's cores of that bit map. */
void rt_holders_tell(int index, uint32_t map);

#endif
