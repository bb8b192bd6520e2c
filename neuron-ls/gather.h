/* SPDX-License-Identifier: MIT */
/* Fills an inventory from the devices libndl finds. Called by neuron-ls.c. */
#ifndef LS_GATHER_H
#define LS_GATHER_H

#include "inventory.h"

#include <stddef.h>

/* Returns 0, or -errno with what is missing or refused in `why`. */
int ls_gather(struct ls_inventory *inv, char *why, size_t why_size);

#endif
