/* SPDX-License-Identifier: MIT */
/* The daemon, asked through its own socket. Called by gather.c. */
#ifndef LS_RUNTIME_H
#define LS_RUNTIME_H

#include "inventory.h"

/*
 * The daemon at NEURON_RTD_ADDRESS, or unix:/run/neuron.sock: its address, process and version
 * ("NA" when it does not answer in time), in printable ASCII, because any program may listen there.
 * All are empty when none listens.
 */
void ls_runtime_ask(struct ls_runtime *rt);

/*
 * The daemon's process has the version of the library that it uses in its datastore; it gets its
 * own instead, if it told it.
 */
void ls_runtime_name(struct ls_inventory *inv);

#endif
