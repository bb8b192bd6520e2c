/* SPDX-License-Identifier: MIT */
/* The chip under test, by its node: generation, address on PCI, binding and unbinding */
#ifndef DRIVER_CHIP_H
#define DRIVER_CHIP_H

#include "neuron/hw/gen.h"
#include "tap.h"

static inline const struct neuron_gen *chip_of(int index)
{
	const char *id = line_of("/sys/class/neuron_device/neuron%d/device/device", index);

	return id ? neuron_gen_of_pci((uint16_t)strtoul(id, NULL, 16)) : NULL;
}

/*
 * The generation of the chip behind an open node, whichever driver is loaded: by its PCI function's
 * id
 */
static inline const struct neuron_gen *chip_behind(int fd)
{
	struct neuron_ioctl_device_bdf bdf = { 0 };
	const char *id;

	if (call(fd, NEURON_IOCTL_DEVICE_BDF, &bdf))
		return NULL;
	id = line_of("/sys/bus/pci/devices/0000:%02x:%02x.%x/device", bdf.bus_number, bdf.slot,
		     bdf.func);
	return id ? neuron_gen_of_pci((uint16_t)strtoul(id, NULL, 16)) : NULL;
}

/* The chip's address on PCI, such as 0000:00:1f.0, while it is bound */
static inline const char *chip_address(int index)
{
	static char target[256];
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/class/neuron_device/neuron%d/device", index);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return "";
	target[n] = '\0';
	return strrchr(target, '/') + 1;
}

#endif
