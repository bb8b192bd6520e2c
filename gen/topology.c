// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/* The rules of topology.h. */
#include "neuron/hw/topology.h"

#include <errno.h>
#include <string.h>

static const char *const names[NEURON_TOPOLOGY_COUNT] = {
	[NEURON_TOPOLOGY_LINE] = "line",   [NEURON_TOPOLOGY_RING] = "ring",
	[NEURON_TOPOLOGY_TORUS] = "torus", [NEURON_TOPOLOGY_HYPERCUBE] = "hypercube",
	[NEURON_TOPOLOGY_ALL] = "all",	   [NEURON_TOPOLOGY_ULTRASERVER] = "ultraserver",
};

int neuron_topology_find(const char *name)
{
	int i;

	for (i = 0; i < NEURON_TOPOLOGY_COUNT; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -ENOENT;
}

/* Slots in a row of a torus: the sides are as near to each other as they can be */
static unsigned int torus_width(unsigned int slots)
{
	unsigned int height, best = 1;

	for (height = 1; height * height <= slots; height++)
		if (slots % height == 0)
			best = height;
	return slots / best;
}

unsigned int neuron_topology_ports(enum neuron_topology topology, unsigned int slots)
{
	unsigned int n;

	switch (topology) {
	case NEURON_TOPOLOGY_LINE:
	case NEURON_TOPOLOGY_RING:
		return 2;
	case NEURON_TOPOLOGY_TORUS:
		return 4;
	case NEURON_TOPOLOGY_HYPERCUBE:
		if (slots & (slots - 1))
			return 0;
		for (n = 0; 1u << n < slots; n++)
			;
		return n ? n : 1;
	case NEURON_TOPOLOGY_ALL:
		return slots > 1 ? slots - 1 : 1;
	case NEURON_TOPOLOGY_ULTRASERVER:
		return slots % NEURON_ULTRASERVER_NODES ? 0 : 8;
	default:
		return 0;
	}
}

/* One step along a cycle of n slots that begins at first and whose members are step apart */
static unsigned int around(unsigned int slot, unsigned int first, unsigned int step, unsigned int n,
			   bool back)
{
	unsigned int at = (slot - first) / step;

	return first + (at + (back ? n - 1 : 1)) % n * step;
}

/* Four chips at the same place of four nodes: two links to the left, two to the right */
static unsigned int other_node(unsigned int slots, unsigned int slot, unsigned int port)
{
	const unsigned int chips = slots / NEURON_ULTRASERVER_NODES;
	static const unsigned char left[] = NEURON_ULTRASERVER_LEFT;
	const unsigned int node = slot / chips ^ (port == left[0] || port == left[1] ? 1 : 3);

	return node * chips + slot % chips;
}

bool neuron_topology_link(enum neuron_topology topology, unsigned int slots, unsigned int slot,
			  unsigned int port, unsigned int *other, unsigned int *other_port)
{
	const unsigned int ports = neuron_topology_ports(topology, slots);
	unsigned int first = 0, width;

	if (port >= ports || slot >= slots)
		return false;
	if (topology == NEURON_TOPOLOGY_ULTRASERVER) {
		*other = other_node(slots, slot, port);
		*other_port = port;
		if (port >= 4)
			return true;
		slots /= NEURON_ULTRASERVER_NODES;
		first = slot - slot % slots;
		slot -= first;
		topology = NEURON_TOPOLOGY_TORUS;
	}
	width = torus_width(slots);
	*other_port = port ^ 1; /* two ports a direction, and its opposite */
	switch (topology) {
	case NEURON_TOPOLOGY_LINE:
		*other = port ? slot - 1 : slot + 1; /* may wrap to a number past the last slot */
		break;
	case NEURON_TOPOLOGY_RING:
		*other = around(slot, 0, 1, slots, port == 1);
		break;
	case NEURON_TOPOLOGY_TORUS:
		*other = port < 2 ? around(slot, slot - slot % width, 1, width, port == 1)
				  : around(slot, slot % width, width, slots / width, port == 3);
		break;
	case NEURON_TOPOLOGY_HYPERCUBE:
		*other = slot ^ 1u << port;
		*other_port = port;
		break;
	default:
		*other = (slot + 1 + port) % slots;
		*other_port = ports - 1 - port;
	}
	if (*other >= slots || *other == slot)
		return false;
	*other += first;
	return true;
}
