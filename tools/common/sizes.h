/* SPDX-License-Identifier: MIT */
/*
 * Outputs of which the data decide how many elements there are: such a one has room for the most,
 * and another output is the number, which the NEFF tells ("size of output0, dimension 1"). Called
 * by neuron-run and neuron-cli.
 */
#ifndef TOOLS_SIZES_H
#define TOOLS_SIZES_H

#include "npy.h"

struct sized_output {
	const char *name; /* the NEFF's */
	const char *source; /* what the NEFF says that it is; NULL or "": nothing */
	struct npy *npy; /* its elements */
};

/*
 * Cuts every output that another one has the size of, and says so on standard error with `tool` in
 * front.
 */
void sizes_cut(const char *tool, const struct sized_output *out, unsigned int n);

#endif
