/* SPDX-License-Identifier: MIT */
/*
 * Who has a device node open: the processes that a module's unloading waits for, whether they take
 * a device or only look (holders.c). No device is asked or opened.
 */
#ifndef LS_HOLDERS_H
#define LS_HOLDERS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "layout.h"

/* A device's number and its node, or a dma-buf of the driver's, which has no node */
struct ls_node {
	unsigned index;
	dev_t rdev;
	char path[32];
};

struct ls_holder {
	int node; /* in the list of nodes; -1: a dma-buf */
	int pid;
	unsigned open; /* descriptors */
	bool mapped; /* the node's memory is mapped, which holds it without a descriptor too */
	char command[128]; /* printable ASCII */
};

struct ls_holders {
	struct ls_holder *list; /* by node and process */
	unsigned n;
	unsigned hidden; /* processes of others at which this one may not look */
};

/* The nodes neuron0, neuron1, ... in a directory such as /dev, in order: how many, at most room */
unsigned ls_nodes(const char *dir, struct ls_node *nodes, unsigned capacity);
/* Fills out, whose list the caller frees, from a procfs such as /proc. 0 or -errno */
int ls_holders(const char *proc, const struct ls_node *nodes, unsigned n, struct ls_holders *out);
int ls_print_holders(const struct ls_holders *holders, const struct ls_node *nodes,
		     const struct ls_options *opt, FILE *out);

#endif
