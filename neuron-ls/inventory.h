/* SPDX-License-Identifier: MIT */
/*
 * What neuron-ls knows about a machine: plain values, gathered once (gather.c), printed by the
 * layouts (layout.c, json.c, topology.c). Nothing here needs freeing, and no printer asks a device.
 */
#ifndef LS_INVENTORY_H
#define LS_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#define LS_MAX_CHIPS 64
#define LS_MAX_PROCESSES 16 /* the driver's limit for one device */
#define LS_MAX_NEIGHBOURS 8

struct ls_process {
	int pid;
	bool runtime; /* it is a Neuron runtime, whose version is known */
	char command[128]; /* printable ASCII */
	char version[32];
};

struct ls_chip {
	unsigned index;
	char bdf[16]; /* for example 0000:00:1f.0 */
	unsigned cores; /* as programs see them: logical ones where there are such */
	unsigned channels;
	uint64_t channel_bytes;
	unsigned neighbours[LS_MAX_NEIGHBOURS]; /* in the platform's order, not sorted */
	unsigned n_neighbours;
	bool east, west; /* the link is present */
	char cpus[128]; /* cpulist of the CPUs near it; empty: not known */
	int numa_node; /* -1: none */
	struct ls_process processes[LS_MAX_PROCESSES];
	unsigned n_processes;
};

struct ls_runtime {
	char address[128]; /* empty: no daemon was asked, or none answered */
	int pid;
	char version[32];
};

struct ls_inventory {
	char instance_type[64]; /* empty: not known */
	char instance_id[64];
	bool first_generation; /* Inferentia */
	unsigned cores_of_one; /* cores of a logical one; 0: this generation has no such */
	struct ls_runtime runtime;
	struct ls_chip chips[LS_MAX_CHIPS]; /* ascending by index */
	unsigned n_chips;
};

#endif
