/* SPDX-License-Identifier: MIT */
/* The devices of this machine that are in use, for who wants to use one. */
#ifndef TELEMETRY_HOLDERS_H
#define TELEMETRY_HOLDERS_H

#include <stdbool.h>

/*
 * The devices of the kernel module, in order; at most room. Returns how many; -EPERM: the process's
 * control group refuses all.
 */
int tm_nodes(int *indexes, int capacity);
/* Do processes other than this one work on a device? false also when the driver does not say */
bool tm_is_used(int index);

#endif
