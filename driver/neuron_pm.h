/* SPDX-License-Identifier: GPL-2.0-only */
/* Suspend, resume and shutdown, neuron_pm.c. */
#ifndef NEURON_PM_H
#define NEURON_PM_H

#include <linux/pm.h>

struct pci_dev;

extern const struct dev_pm_ops neuron_pm_ops;
void neuron_shutdown(struct pci_dev *pdev);

#endif
