/* SPDX-License-Identifier: GPL-2.0-only */
/* Interrupts, read() and poll() of a node, neuron_irq.c. */
#ifndef NEURON_IRQ_H
#define NEURON_IRQ_H

#include <linux/fs.h>

struct neuron_device;
struct poll_table_struct;

void neuron_irq_init(struct neuron_device *nd);
void neuron_irq_exit(struct neuron_device *nd);
void neuron_irq_wake(struct neuron_device *nd);
ssize_t neuron_read(struct file *file, char __user *buf, size_t size, loff_t *pos);
__poll_t neuron_poll(struct file *file, struct poll_table_struct *wait);

#endif
