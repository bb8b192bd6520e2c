/* SPDX-License-Identifier: MIT */
/* The ports between devices, by the topology of the instance */
#include <errno.h>

#include "instance.h"
#include "ndl_priv.h"

int link_port(const char *instance, int from, int to, const bool up[NEURON_PORTS_MAX])
{
	const struct neuron_instance *known = neuron_instance_find(instance);
	const enum neuron_topology topology = known ? known->topology : NEURON_TOPOLOGY_LINE;
	const unsigned int slots = known ? known->chips : NDLX_MAX_DEVICES;

	for (unsigned int port = 0; port < NEURON_PORTS_MAX; port++) {
		unsigned int other, other_port;

		if (up[port] &&
		    neuron_topology_link(topology, slots, (unsigned int)from, port, &other,
					 &other_port) &&
		    other == (unsigned int)to)
			return (int)port;
	}
	return -ENOENT;
}

/* The links between two devices: steps outwards from the first */
int link_distance(const char *instance, int from, int to)
{
	const struct neuron_instance *known = neuron_instance_find(instance);
	const enum neuron_topology topology = known ? known->topology : NEURON_TOPOLOGY_LINE;
	const unsigned int slots = known ? known->chips : NDLX_MAX_DEVICES;
	const unsigned int ports = neuron_topology_ports(topology, slots);
	unsigned int reached[NDLX_MAX_DEVICES] = { (unsigned int)from }, n = 1;
	int distance[NDLX_MAX_DEVICES];

	if (from < 0 || to < 0 || (unsigned int)from >= slots || (unsigned int)to >= slots)
		return -ENOENT;
	for (unsigned int i = 0; i < slots; i++)
		distance[i] = -ENOENT;
	distance[from] = 0;
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int port = 0; port < ports; port++) {
			unsigned int other, other_port;

			if (!neuron_topology_link(topology, slots, reached[i], port, &other,
						  &other_port) ||
			    distance[other] >= 0)
				continue;
			distance[other] = distance[reached[i]] + 1;
			reached[n++] = other;
		}
	}
	return distance[to];
}
