/* SPDX-License-Identifier: MIT */
/* The instance neuron-ls runs on, from the firmware's tables. Called by gather.c. */
#ifndef LS_HOST_H
#define LS_HOST_H

#include <stddef.h>

/* "i-0123..." from the board's asset tag; empty elsewhere. `dmi` is normally the kernel's
 * /sys/class/dmi/id. */
void ls_host_instance_id(const char *dmi, char *id, size_t size);

#endif
