/* SPDX-License-Identifier: GPL-2.0-only */
/* The UltraServer that this instance is a node of, neuron_pod.c. */
#ifndef NEURON_POD_H
#define NEURON_POD_H

#include <linux/types.h>

struct neuron_device;

/* What there is to say of it; an instance that is no node of one has type 0 */
struct neuron_pod {
	u8 type, nodes;
	u32 state; /* NEURON_POD_STATE_* */
	s8 node; /* -1: none */
	u64 server; /* the UltraServer's number */
	u32 mode, modes; /* NEURON_POD_MODE_*, and a bit for each that can be */
};

int neuron_pod_init(void);
void neuron_pod_stop(void); /* before the devices go */
void neuron_pod_ready(struct neuron_device *nd); /* a device's first reset is done */
/* As the mode that is set shows it; 0, or -EBUSY: the nodes have not settled yet */
int neuron_pod_look(struct neuron_pod *pod);
/* As a mode for so many nodes (4 or 2) would show it; false: not settled */
bool neuron_pod_look_as(unsigned int nodes, struct neuron_pod *pod);
/* request: NEURON_POD_CTRL_*. timeout: seconds of an election */
int neuron_pod_control(u32 request, u32 mode, u32 timeout);
/* Are the cores of this node's chips counted from the other die? */
bool neuron_pod_flipped(void);

#endif
