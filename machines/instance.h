/* SPDX-License-Identifier: MIT */
/*
 * The instance types as data: what chips a machine has, where they sit and how they are linked. The
 * facts are in instances.json, of which neuron-vm makes machines and table.py this table.
 */
#ifndef NEURON_INSTANCE_H
#define NEURON_INSTANCE_H

#include <stddef.h>
#include <stdint.h>

#include "neuron/hw/gen.h"
#include "neuron/hw/topology.h"

struct neuron_instance_chip {
	uint8_t bus, slot, function;
	int8_t numa_node; /* of its bus; -1: the machine does not say */
	const char *cpus; /* those near it, as a list of Linux's; empty: not known */
};

struct neuron_instance {
	const char *name; /* "inf1.6xlarge", the machine's DMI product name */
	uint16_t xlarges; /* the size in the name */
	const struct neuron_gen *gen;
	enum neuron_topology topology;
	uint16_t chips;
	const struct neuron_instance_chip *chip; /* by index of the device */
};

extern const struct neuron_instance neuron_instances[];
extern const size_t neuron_instances_count;

/* NULL: no instance has this name */
const struct neuron_instance *neuron_instance_find(const char *name);

#endif
