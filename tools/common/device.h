/* SPDX-License-Identifier: MIT */
/*
 * The device that a program of libnrt works on, by what the user calls it: "ndN" is /dev/neuronN,
 * "emu:INSTANCE" chips in this process, "unix:PATH" those of a server. Called by neuron-run and
 * neuron-bench; `tool` is the program's name, for what is said on standard error.
 */
#ifndef TOOLS_DEVICE_H
#define TOOLS_DEVICE_H

#include <stdbool.h>

#include "nrt/nrt.h"

#define DEVICE_EMU "emu:inf1.xlarge" /* where there is no device */

/*
 * "emu:" and NEURON_EMU's instance, or its server; of /dev/neuron* the first that nobody uses, or
 * the first; DEVICE_EMU where there is none. The text lives as long as the process.
 */
const char *device_default(const char *tool);
/*
 * Has libnrt use the device, from core `first` of it on; *start is that core's number for it.
 * False: it is no name of a device. Before nrt_init.
 */
bool device_choose(const char *name, uint32_t first, uint32_t *start, NRT_STATUS *status);

#endif
