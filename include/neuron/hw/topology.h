/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * How chips are linked, as rules: which port of which slot leads to which slot. The device core's
 * fabric links chips by them, libndl finds the port that leads to a neighbour.
 */
#ifndef NEURON_HW_TOPOLOGY_H
#define NEURON_HW_TOPOLOGY_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 *   line, ring  port 0 (east) of slot n with port 1 (west) of slot n + 1
 *   torus       the same in each row, and port 2 of a slot with port 3 of the one in the next row;
 *               as near to a square as the number of slots allows
 *   hypercube   port d of slot n with port d of slot n ^ 1 << d; slots are a power of two
 *   all         port p of slot n leads to slot n + 1 + p
 *   ultraserver four tori, one behind the other, a node each: ports 0 to 3 within the torus; ports
 *               5 and 6 (left) with the same ports of the slot at the same place of node ^ 1, ports
 *               4 and 7 (right) of node ^ 3
 * Lines, rings and tori of two link a pair of slots more than once.
 */
enum neuron_topology {
	NEURON_TOPOLOGY_LINE,
	NEURON_TOPOLOGY_RING,
	NEURON_TOPOLOGY_TORUS,
	NEURON_TOPOLOGY_HYPERCUBE,
	NEURON_TOPOLOGY_ALL,
	NEURON_TOPOLOGY_ULTRASERVER,
	NEURON_TOPOLOGY_COUNT,
};

#define NEURON_ULTRASERVER_NODES 4
#define NEURON_ULTRASERVER_LEFT \
	{                       \
		5, 6            \
	} /* ports */
#define NEURON_ULTRASERVER_RIGHT \
	{                        \
		4, 7             \
	}

int neuron_topology_find(const char *name); /* enum neuron_topology, or -ENOENT */
/* Ports of each of so many slots; 0: there is no such topology */
unsigned int neuron_topology_ports(enum neuron_topology topology, unsigned int slots);
/* Slot and port that a port is linked with; false: with none */
bool neuron_topology_link(enum neuron_topology topology, unsigned int slots, unsigned int slot,
			  unsigned int port, unsigned int *other, unsigned int *other_port);

#ifdef __cplusplus
}
#endif

#endif
