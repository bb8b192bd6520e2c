/* SPDX-License-Identifier: MIT */
/* Which port leads to which device, by the topology of the instance */
#include <errno.h>

#include "instance.h"
#include "ndl_priv.h"

int link_port(const char *instance, int from, int to, const bool up[NEURON_PORTS_MAX])
{
	const struct neuron_instance *known = neuron_instance_find(instance);
	const enum neuron_topology topology = known ? known->topology : NEURON_TOPOLOGY_LINE;
	const unsigned int slots = known ? known->chips : NDL_MAX_DEVICES;

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
