/* SPDX-License-Identifier: GPL-2.0-only */
/* Mappings of registers and core memory, neuron_view.c. */
#ifndef NEURON_VIEW_H
#define NEURON_VIEW_H

#include <linux/types.h>

struct neuron_device;
struct neuron_ioctl_resource_mmap_info;
struct vm_area_struct;

int neuron_view_info(struct neuron_device *nd, struct neuron_ioctl_resource_mmap_info *info);
/* -ENOENT: the mapping is of no view */
int neuron_view_map(struct neuron_device *nd, struct vm_area_struct *vma);
void neuron_views_end(struct neuron_device *nd);

#endif
