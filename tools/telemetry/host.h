/* SPDX-License-Identifier: MIT */
/* The machine that a tool runs on: its firmware's tables, and who listens at a socket. */
#ifndef LS_HOST_H
#define LS_HOST_H

#include <stddef.h>

/* "i-0123..." from the board's asset tag; empty elsewhere. `dmi` is normally the kernel's
 * /sys/class/dmi/id. */
void ls_host_instance_id(const char *dmi, char *id, size_t size);

/* The process that listens at a Unix socket, or 0. Does not wait. */
int ls_host_listener(const char *path);

#endif
