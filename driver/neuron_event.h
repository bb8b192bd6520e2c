/* SPDX-License-Identifier: GPL-2.0-only */
/* Events for whoever listens on netlink, neuron_event.c. */
#ifndef NEURON_EVENT_H
#define NEURON_EVENT_H

#include <linux/types.h>

#include "uapi/neuron/neuron_netlink.h"

struct neuron_device;
struct neuron_ecc;

struct neuron_reset_event {
	enum neuron_reset_stage stage;
	u32 cores; /* as in nc_map */
	u32 pid; /* 0: nobody's */
	u32 duration_us;
	u32 error;
};

struct neuron_hang {
	enum neuron_hang_reason reason;
	u32 cores;
	u32 engine, queue; /* of a copy */
	u32 pid; /* 0: not known */
	u32 dump; /* 0: none was made */
	int error;
};

int neuron_event_init(void);
void neuron_event_exit(void);
void neuron_event_device(struct neuron_device *nd, bool added);
void neuron_event_reset(struct neuron_device *nd, const struct neuron_reset_event *e);
void neuron_event_link(struct neuron_device *nd, u32 side, bool up);
void neuron_event_ecc(struct neuron_device *nd, u32 memory, const struct neuron_ecc *now,
		      const struct neuron_ecc *fresh);
void neuron_event_hang(struct neuron_device *nd, const struct neuron_hang *h);
#define NEURON_EVENT_HEALTH "health_status" /* in stats/hardware */
void neuron_event_health(struct neuron_device *nd, const char *file);
void neuron_event_file(struct neuron_device *nd, const char *dir, const char *file);

#endif
