/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of ioctls, neuron_ioctl.c, and its parts. */
#ifndef NEURON_IOCTL_H
#define NEURON_IOCTL_H

#include <linux/fs.h>

#include "neuron_level.h"
#include "uapi/neuron/neuron_ioctl.h"

struct neuron_call;
struct neuron_device;

struct neuron_ioctl_entry {
	unsigned int cmd;
	unsigned short size; /* of the argument structure */
	unsigned short flags;
	unsigned short since; /* enum neuron_level */
	int (*fn)(struct neuron_device *nd, void *arg, struct neuron_call *call);
	const char *name;
};

#define NIOC_FREE 0x1 /* also on an O_WRONLY descriptor */
#define NIOC_ATTACHED 0x2
#define NIOC_OUT 0x4 /* copy the argument back on success */
#define NIOC_OUT_ERR 0x8 /* and on errors */
#define NIOC_HW 0x10 /* takes reset_sem for reading */
#define NEURON_IOC(c, s, f, h)                                                      \
	{                                                                           \
		.cmd = NEURON_IOCTL_##c, .size = s, .flags = f, .fn = h, .name = #c \
	}
/* A call that a driver level has, and those above it; below it there is no such number */
#define NEURON_IOC_SINCE(l, c, s, f, h)                                              \
	{                                                                            \
		.cmd = NEURON_IOCTL_##c, .size = s, .flags = f, .fn = h, .name = #c, \
		.since = NEURON_LEVEL_##l                                            \
	}
#define NEURON_IOC_ARG_MAX 288

long neuron_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
extern const struct neuron_ioctl_entry neuron_ioctl_info[], neuron_ioctl_mem[], neuron_ioctl_copy[],
	neuron_ioctl_dma[], neuron_ioctl_core[];
extern const unsigned int neuron_ioctl_info_count, neuron_ioctl_mem_count, neuron_ioctl_copy_count,
	neuron_ioctl_dma_count, neuron_ioctl_core_count;

#endif
