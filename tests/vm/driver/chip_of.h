/* SPDX-License-Identifier: MIT */
/* The description of the chip behind a node, whichever driver is loaded: by its PCI function's id */
#ifndef DRIVER_CHIP_OF_H
#define DRIVER_CHIP_OF_H

#include "neuron/hw/gen.h"
#include "tap.h"

static inline const struct neuron_gen *chip_of(int fd)
{
	struct neuron_ioctl_device_bdf bdf = { 0 };
	const char *id;

	if (call(fd, NEURON_IOCTL_DEVICE_BDF, &bdf))
		return NULL;
	id = line_of("/sys/bus/pci/devices/0000:%02x:%02x.%x/device", bdf.bus_number, bdf.slot,
		     bdf.func);
	return id ? neuron_gen_of_pci((uint16_t)strtoul(id, NULL, 16)) : NULL;
}

#endif
