/* SPDX-License-Identifier: GPL-2.0-only */
/* Device numbers and nodes, neuron_cdev.c. */
#ifndef NEURON_CDEV_H
#define NEURON_CDEV_H

struct neuron_device;

int neuron_cdev_init(void);
void neuron_cdev_exit(void);
int neuron_cdev_add(struct neuron_device *nd);
void neuron_cdev_del(struct neuron_device *nd);
extern const struct file_operations neuron_fops;

#endif
