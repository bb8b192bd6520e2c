/* SPDX-License-Identifier: MIT */
/*
 * What the PCI bus says about chips, through libpci. `sysfs` is the bus's directory, NULL for the
 * machine's own. Called by gather.c; a machine without PCI counts as one without chips.
 */
#ifndef LS_PCI_H
#define LS_PCI_H

#include "inventory.h"

/* The number of Neuron devices on the bus, whether or not a driver has them. */
unsigned ls_pci_count(const char *sysfs);

/*
 * Sets the NUMA node and the near CPUs of each chip that is on the bus; -1 and empty for the
 * others.
 */
void ls_pci_locate(const char *sysfs, struct ls_chip *chips, unsigned n);

#endif
