/* SPDX-License-Identifier: MIT */
/* Which processes use a device of this machine, for who wants to use it. */
#ifndef TELEMETRY_HOLDERS_H
#define TELEMETRY_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>

/* The devices of the kernel module, in order; at most room. Returns how many. */
int tm_nodes(int *indexes, int room);
/*
 * Writes "pid 12 (command), pid 13 (command)" of the processes other than this one that work on
 * a device; false: there are none, or the driver does not say.
 */
bool tm_holders(int index, char *text, size_t size);

#endif
