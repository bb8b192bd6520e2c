/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel log, neuron_log.c. */
#ifndef NEURON_LOG_H
#define NEURON_LOG_H

#include <linux/printk.h>

#include "neuron_device.h"

#define nd_info(nd, fmt, ...) pr_info("nd%d: " fmt, (nd)->index, ##__VA_ARGS__)
#define nd_err(nd, fmt, ...) pr_err_ratelimited("nd%d: " fmt, (nd)->index, ##__VA_ARGS__)

void neuron_refused(struct neuron_device *nd, const char *what, int err);

#endif
